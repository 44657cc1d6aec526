//! Targets of `make`.
//!
//! `make` expands the values of variables that are given on its command line, `$(shell …)` included, and pastes them into
//! the text of a shell. So a variable becomes a parameter only for values that mean nothing to either.

use std::collections::{HashMap, HashSet};

use cycod_diagnostic::Diagnostic;

use crate::{
    Loss,
    draft::{Draft, Found, Parameter},
    pasted::WHY_INERT_WORDS,
    source::Source,
};

/// A line of a makefile with its continuations, and where it begins.
struct Line<'a> {
    number: usize,
    text: String,
    /// The comment at its end, without `#`.
    comment: &'a str,
}

/// A target with the rules that were written for it.
#[derive(Default)]
struct Target {
    name: String,
    line: usize,
    help: Option<String>,
    prerequisites: Vec<String>,
    recipe: Vec<String>,
}

/// A variable that is meant to be set from outside: `NAME ?= value`.
struct Variable {
    name: String,
    value: String,
    help: Option<String>,
}

/// Names by which make knows its own makefile.
const STANDARD: [&str; 3] = ["makefile", "Makefile", "GNUmakefile"];

/// Reads the targets of a makefile.
pub(crate) fn read(source: &Source<'_>) -> Result<Found, Vec<Diagnostic>> {
    source.check()?;
    let mut file = Makefile::of(source);
    file.read();
    Ok(file.found())
}

struct Makefile<'a> {
    source: &'a Source<'a>,
    targets: Vec<Target>,
    /// Where each target is among them.
    places: HashMap<String, usize>,
    variables: Vec<Variable>,
    /// Every other variable, with its value.
    fixed: Vec<(String, String)>,
    phony: HashSet<String>,
    has_phony: bool,
    losses: Vec<Loss>,
}

impl<'a> Makefile<'a> {
    fn of(source: &'a Source<'a>) -> Self {
        Self {
            source,
            targets: Vec::new(),
            places: HashMap::new(),
            variables: Vec::new(),
            fixed: Vec::new(),
            phony: HashSet::new(),
            has_phony: false,
            losses: Vec::new(),
        }
    }

    fn read(&mut self) {
        let mut current: Vec<usize> = Vec::new();
        let mut above: Vec<String> = Vec::new();
        let mut is_in_define = false;
        for line in lines(self.source.text) {
            let text = line.text.as_str();
            let words: Vec<&str> = text.split_whitespace().collect();
            if is_in_define {
                is_in_define = words.first() != Some(&"endef");
                continue;
            }
            if let Some(recipe) = text.strip_prefix('\t').filter(|_| !current.is_empty()) {
                for index in &current {
                    self.targets[*index].recipe.push(recipe.to_owned());
                }
                above.clear();
                continue;
            }
            let Some(first) = words.first() else {
                if let Some(help) = line.comment.strip_prefix('#') {
                    above.push(help.trim().to_owned());
                } else if !line.comment.is_empty() && !above.is_empty() {
                    above.push(line.comment.trim().to_owned());
                } else {
                    above.clear();
                }
                continue;
            };
            let help = line.comment.strip_prefix('#').map(|help| help.trim().to_owned());
            let help = help.or_else(|| (!above.is_empty()).then(|| above.join(" ")));
            above.clear();
            match *first {
                "define" => is_in_define = !text.contains("endef"),
                "include" | "-include" | "sinclude" => {
                    let what = format!("`{}`", text.trim());
                    let why = "its targets are in another file: import that one as well".to_owned();
                    self.losses.push(Loss { line: line.number, what, why });
                }
                "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif" | "vpath" | "unexport" | "undefine" => {}
                _ if self.variable(text, help.as_deref()) => {}
                _ => current = self.rule(&line, help.as_deref()),
            }
        }
    }

    /// Reads `NAME = value` in all its forms; false where the line is no assignment.
    fn variable(&mut self, text: &str, help: Option<&str>) -> bool {
        let Some(equals) = text.find('=') else { return false };
        let (before, value) = (&text[..equals], text[equals + 1..].trim());
        let name = before.trim_end_matches(['?', ':', '+', '!']).trim();
        let sign = &before[before.trim_end_matches(['?', ':', '+', '!']).len()..];
        let words: Vec<&str> = name.split_whitespace().collect();
        let words: Vec<&str> =
            words.into_iter().skip_while(|word| matches!(*word, "export" | "override" | "private")).collect();
        let [name] = words.as_slice() else { return text.trim_start().starts_with("export ") };
        if name.contains([':', '$']) && sign != "?" && name.contains(':') {
            return false;
        }
        let is_simple = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        if sign == "?" && is_simple && !self.variables.iter().any(|variable| variable.name == **name) {
            let (name, value) = ((*name).to_owned(), value.to_owned());
            self.variables.push(Variable { name, value, help: help.map(str::to_owned) });
        } else {
            self.fixed.push(((*name).to_owned(), value.to_owned()));
        }
        true
    }

    /// Reads `targets: prerequisites`; returns which targets the recipe below it is for.
    fn rule(&mut self, line: &Line<'_>, help: Option<&str>) -> Vec<usize> {
        let text = line.text.as_str();
        let Some(colon) = colon(text) else { return Vec::new() };
        let behind = text[colon..].trim_start_matches([':', '&']);
        let (behind, command) = behind.split_once(';').map_or((behind, None), |(behind, it)| (behind, Some(it)));
        let names: Vec<&str> = text[..colon].trim_end_matches('&').split_whitespace().collect();
        // `target: VARIABLE = value` sets a variable for this target alone.
        if behind.contains('=') && !behind.contains('$') {
            return Vec::new();
        }
        let prerequisites: Vec<String> = behind.split_whitespace().map(str::to_owned).collect();
        if names == [".PHONY"] {
            self.has_phony = true;
            self.phony.extend(prerequisites);
            return Vec::new();
        }
        let mut indices = Vec::new();
        for name in names {
            if name.starts_with('.') && !name.contains('/') {
                continue;
            }
            if name.contains('%') || name.contains('$') || name.contains('(') {
                let why = if name.contains('%') {
                    "it is a pattern, and no task by itself: call make for one of its files by a tool of your own"
                } else {
                    "its name is worked out by make"
                };
                let what = format!("rule `{name}`");
                self.losses.push(Loss { line: line.number, what, why: why.to_owned() });
                continue;
            }
            let index = *self.places.entry(name.to_owned()).or_insert(self.targets.len());
            if index == self.targets.len() {
                self.targets.push(Target { name: name.to_owned(), line: line.number, ..Target::default() });
            }
            let target = &mut self.targets[index];
            target.help = target.help.take().or_else(|| help.map(str::to_owned));
            target.prerequisites.extend(prerequisites.iter().filter(|name| *name != "|").cloned());
            target.recipe.extend(command.map(str::to_owned));
            indices.push(index);
        }
        indices
    }

    fn found(&self) -> Found {
        let mut found = Found { losses: self.losses.clone(), ..Found::default() };
        for target in &self.targets {
            found.drafts.push(self.draft(target));
        }
        found
    }

    fn draft(&self, target: &Target) -> Draft {
        let mut draft = Draft::of_runner(&target.name, target.line, "make", self.source.below(""));
        draft.say(["--no-print-directory"]);
        if !STANDARD.contains(&self.source.file_name()) {
            draft.say(["-f", self.source.file_name()]);
        }
        let is_phony = self.phony.contains(&target.name);
        if target.name.starts_with('_') {
            draft.withheld = Some("its name begins with `_`, as of what is not called by hand".to_owned());
        } else if self.has_phony && !is_phony && target.help.is_none() {
            draft.withheld = Some("it makes a file, and is neither in .PHONY nor described by `##`".to_owned());
        }
        draft.description = target.help.clone().unwrap_or_else(|| match target.recipe.first() {
            Some(first) => format!("Run `{}`", first.trim().trim_start_matches(['@', '-', '+'])),
            None => format!("Make {}", target.prerequisites.join(", ")),
        });
        if target.name.starts_with('-') {
            draft.say(["--"]);
        }
        draft.say([target.name.as_str()]);
        for variable in self.variables_of(target) {
            // Without it make looks into the environment before it takes its own default, so none is given here.
            let default = match variable.value.as_str() {
                "" => String::new(),
                value => format!("; otherwise `{value}`"),
            };
            let help = variable.help.clone();
            let help = help.unwrap_or_else(|| format!("The variable `{}` of the makefile", variable.name));
            let mut parameter = Parameter::described(format!("{help}{default}"));
            parameter.hold_inert(true);
            let why = format!("{WHY_INERT_WORDS} make expands and pastes them into the text of a shell");
            draft.lose(target.line, format!("other values of `{}`", variable.name), why);
            draft.assign(&variable.name, parameter);
        }
        draft
    }

    /// The variables meant to be set that a target makes use of, by itself, by others or by what it needs.
    fn variables_of(&self, target: &Target) -> Vec<&Variable> {
        let mut used: HashSet<&str> = HashSet::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut open = vec![target];
        while let Some(target) = open.pop() {
            // Nobody makes a thousand things at once; who does is not slowed down.
            if seen.len() > 1000 || !seen.insert(&target.name) {
                continue;
            }
            used.extend(target.recipe.iter().chain(&target.prerequisites).flat_map(|text| references(text)));
            let needed = target.prerequisites.iter().filter_map(|name| self.places.get(name));
            open.extend(needed.map(|index| &self.targets[*index]));
        }
        let mut open: Vec<&str> = used.iter().copied().collect();
        while let Some(name) = open.pop() {
            let variables = self.variables.iter().map(|variable| (&variable.name, &variable.value));
            let values = variables.chain(self.fixed.iter().map(|(name, value)| (name, value)));
            for (_, value) in values.filter(|(known, _)| *known == name) {
                open.extend(references(value).filter(|name| used.insert(name)));
            }
        }
        self.variables.iter().filter(|variable| used.contains(variable.name.as_str())).collect()
    }
}

/// The lines, continuations joined and comments taken off.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut numbered = text.lines().enumerate();
    while let Some((index, first)) = numbered.next() {
        let is_recipe = first.starts_with('\t');
        let mut joined = first.trim_end_matches('\r').to_owned();
        while joined.ends_with('\\') && !joined.ends_with("\\\\") {
            let Some((_, next)) = numbered.next() else { break };
            joined.pop();
            joined.push(' ');
            joined.push_str(next.trim());
        }
        // A recipe's `#` is the shell's.
        let hash = if is_recipe { None } else { comment(&joined) };
        let shown = hash.map_or("", |_| first.find('#').map_or("", |at| &first[at + 1..]));
        joined.truncate(hash.unwrap_or(joined.len()));
        lines.push(Line { number: index + 1, text: joined, comment: shown });
    }
    lines
}

/// Where a comment begins.
fn comment(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    (0..bytes.len()).find(|&at| bytes[at] == b'#' && (at == 0 || bytes[at - 1] != b'\\'))
}

/// The `:` of a rule, outside of references.
fn colon(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The names of variables that a text refers to as `$(NAME)` or `${NAME}`, those in functions included.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let opened = text.match_indices(['(', '{']).filter(|(at, _)| text[..*at].ends_with('$'));
    opened.filter_map(|(at, _)| {
        let inside = &text[at + 1..];
        let end = inside.find([')', '}', ':', ' ', ',', '$']).unwrap_or(inside.len());
        let name = &inside[..end];
        (!name.is_empty() && !inside[end..].starts_with([' ', ','])).then_some(name)
    })
}
