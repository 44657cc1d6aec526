//! Targets of `make`.
//!
//! `make` expands the values of variables that are given on its command line, `$(shell …)` included, and pastes them into
//! the text of a shell. So a variable becomes a parameter only for values that mean nothing to either.

use std::collections::{HashMap, HashSet};

use cycod_diagnostic::Diagnostic;

use crate::{
    TaskLoss,
    draft::{Draft, Found, Parameter},
    pasted::{Reading, WHY_INERT_WORDS, reading},
    source::TaskSource,
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
    /// Variables that conditions between the lines of its recipe ask for.
    asks: Vec<String>,
    /// Those without which make stops there.
    demands: Vec<String>,
}

/// A variable of the makefile.
struct Variable {
    name: String,
    line: usize,
    /// Its values, one behind the other where `+=` adds to it.
    value: String,
    help: Option<String>,
    /// How it was first set: `?`, `:`, `+` or nothing before the `=`.
    sign: String,
    /// It is set more than once, by `override`, or for some targets alone.
    is_intricate: bool,
}

impl Variable {
    /// Whether a caller is meant to set it, or may without changing how the makefile works: `NAME ?= value`, or one word that is
    /// no path.
    fn is_for_callers(&self) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:@%+,-".contains(&byte);
        match self.sign.as_str() {
            "?" => true,
            "" | ":" | "::" => !self.is_intricate && self.value.bytes().all(is_word),
            _ => false,
        }
    }
}

/// What a caller can set for a target.
struct Settable<'a> {
    name: &'a str,
    value: &'a str,
    help: Option<&'a str>,
    is_required: bool,
}

/// Names that stand anywhere in a makefile.
struct Words<'a> {
    /// Those that loops of make give to what they go over.
    loops: HashSet<&'a str>,
    /// Those of variables that it refers to.
    written: HashSet<&'a str>,
}

/// Names by which make knows its own makefile.
const STANDARD: [&str; 3] = ["makefile", "Makefile", "GNUmakefile"];

/// Reads the targets of a makefile.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    source.check()?;
    let mut file = Makefile::of(source);
    file.read();
    Ok(file.found())
}

struct Makefile<'a> {
    source: &'a TaskSource<'a>,
    targets: Vec<Target>,
    /// Where each target is among them.
    places: HashMap<String, usize>,
    variables: Vec<Variable>,
    /// Where each variable is among them.
    set: HashMap<String, usize>,
    /// Variables whose absence the makefile reports as an error, outside of all targets.
    demanded: HashSet<String>,
    /// Variables that conditions outside of all targets ask for, with the line.
    conditions: Vec<(String, usize)>,
    phony: HashSet<String>,
    has_phony: bool,
    losses: Vec<TaskLoss>,
}

impl<'a> Makefile<'a> {
    fn of(source: &'a TaskSource<'a>) -> Self {
        Self {
            source,
            targets: Vec::new(),
            places: HashMap::new(),
            variables: Vec::new(),
            set: HashMap::new(),
            demanded: HashSet::new(),
            conditions: Vec::new(),
            phony: HashSet::new(),
            has_phony: false,
            losses: Vec::new(),
        }
    }

    fn read(&mut self) {
        let mut current: Vec<usize> = Vec::new();
        // Whether a rule was the last that was read, also one of which nothing becomes.
        let mut is_rule = false;
        let mut above: Vec<String> = Vec::new();
        let mut is_in_define = false;
        // The variable that the line before asks for by `ifndef`, and whether it does so in a recipe.
        let mut absent: Option<(String, bool)> = None;
        let lines = lines(self.source.text);
        for (index, line) in lines.iter().enumerate() {
            // A condition belongs to the recipe that goes on below it.
            let goes_on = lines.get(index + 1).is_some_and(|next| next.text.starts_with('\t'));
            let text = line.text.as_str();
            let words: Vec<&str> = text.split_whitespace().collect();
            if is_in_define {
                is_in_define = words.first() != Some(&"endef");
                continue;
            }
            if let Some((name, is_of_recipe)) = absent.take().filter(|_| text.contains("$(error")) {
                // Between the lines of a recipe it is asked when this target is made, elsewhere always.
                if is_of_recipe {
                    current.iter().for_each(|index| self.targets[*index].demands.push(name.clone()));
                } else {
                    self.demanded.insert(name);
                }
                continue;
            }
            if let Some(recipe) = text.strip_prefix('\t').filter(|_| is_rule) {
                for (place, index) in current.iter().enumerate() {
                    if place > 0 && !self.source.effort.spend(recipe.len()) {
                        break;
                    }
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
                "define" => {
                    is_in_define = !text.contains("endef");
                    let name = words.get(1).copied().unwrap_or_default();
                    self.set(name.trim_end_matches(['=', ':', '?', '+']), line.number, "define", "", None, true);
                }
                "ifdef" | "ifndef" | "ifeq" | "ifneq" => {
                    let asked = asked_for(text, &words);
                    let is_of_recipe = goes_on && !current.is_empty();
                    let first = asked.first().filter(|_| asks_for_absence(text, &words));
                    absent = first.map(|name| (name.clone(), is_of_recipe));
                    for name in asked {
                        if is_of_recipe {
                            current.iter().for_each(|index| self.targets[*index].asks.push(name.clone()));
                        } else {
                            self.conditions.push((name, line.number));
                        }
                    }
                }
                "include" | "-include" | "sinclude" => {
                    let what = format!("`{}`", text.trim());
                    let why = "its targets are in another file: import that one as well".to_owned();
                    self.losses.push(TaskLoss { line: line.number, what, why });
                }
                "else" | "endif" | "vpath" | "unexport" | "undefine" => {}
                _ if self.variable(line, help.as_deref()) => {
                    current.clear();
                    is_rule = false;
                }
                _ => {
                    is_rule = colon(text).is_some();
                    current = self.rule(line, help.as_deref());
                }
            }
        }
    }

    /// Reads `NAME = value` in all its forms; false where the line is no assignment.
    fn variable(&mut self, line: &Line<'_>, help: Option<&str>) -> bool {
        let text = line.text.as_str();
        let Some(equals) = text.find('=') else { return false };
        let (before, value) = (&text[..equals], text[equals + 1..].trim());
        let name = before.trim_end_matches(['?', ':', '+', '!']).trim();
        let sign = &before[before.trim_end_matches(['?', ':', '+', '!']).len()..];
        let words: Vec<&str> = name.split_whitespace().collect();
        let is_override = words.contains(&"override");
        let words: Vec<&str> =
            words.into_iter().skip_while(|word| matches!(*word, "export" | "override" | "private")).collect();
        let [name] = words.as_slice() else { return text.trim_start().starts_with("export ") };
        if name.contains([':', '$']) && sign != "?" && name.contains(':') {
            return false;
        }
        self.set(name, line.number, sign, value, help, is_override);
        true
    }

    /// The variable of this name, where the makefile sets it.
    fn known(&self, name: &str) -> Option<&Variable> {
        self.set.get(name).map(|index| &self.variables[*index])
    }

    /// Notes that a variable is set.
    fn set(&mut self, name: &str, line: usize, sign: &str, value: &str, help: Option<&str>, is_intricate: bool) {
        let help = help.map(str::to_owned);
        match self.set.get(name).map(|index| &mut self.variables[*index]) {
            Some(known) => {
                if !known.value.is_empty() && !value.is_empty() {
                    known.value.push(' ');
                }
                known.value.push_str(value);
                known.is_intricate = true;
                known.help = known.help.take().or(help);
            }
            None => {
                self.set.insert(name.to_owned(), self.variables.len());
                let (name, value, sign) = (name.to_owned(), value.to_owned(), sign.to_owned());
                self.variables.push(Variable { name, line, value, help, sign, is_intricate });
            }
        }
    }

    /// Reads `targets: prerequisites`; returns which targets the recipe below it is for.
    fn rule(&mut self, line: &Line<'_>, help: Option<&str>) -> Vec<usize> {
        let text = line.text.as_str();
        let Some(colon) = colon(text) else { return Vec::new() };
        let behind = text[colon..].trim_start_matches([':', '&']);
        let (behind, command) = behind.split_once(';').map_or((behind, None), |(behind, it)| (behind, Some(it)));
        let names: Vec<&str> = text[..colon].trim_end_matches('&').split_whitespace().collect();
        // `target: VARIABLE = value` sets a variable for this target alone.
        if let Some((name, value)) = behind.split_once('=') {
            let name = name.trim_end_matches(['?', ':', '+', '!']).trim().trim_start_matches("export ").trim();
            if !name.contains(['$', ' ']) {
                self.set(name, line.number, "target", value.trim(), None, true);
                return Vec::new();
            }
        }
        // Its name may be a list that a variable holds.
        let prerequisites: Vec<String> = self.expanded(behind).split_whitespace().map(str::to_owned).collect();
        if names == [".PHONY"] {
            self.has_phony = true;
            self.phony.extend(prerequisites);
            return Vec::new();
        }
        let mut indices = Vec::new();
        for name in names {
            // Each of several targets needs all of them.
            if !indices.is_empty() && !self.source.effort.spend(behind.len()) {
                break;
            }
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
                self.losses.push(TaskLoss { line: line.number, what, why: why.to_owned() });
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

    /// A text with the variables in it that the makefile sets to literal texts.
    fn expanded(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..8 {
            let Some((at, end, value)) = reference_spans(&text)
                .into_iter()
                .find_map(|(at, end, name)| self.known(name).map(|known| (at, end, &known.value)))
            else {
                break;
            };
            if !self.source.effort.spend(text.len() + value.len()) {
                break;
            }
            text.replace_range(at..end, value);
        }
        text
    }

    fn found(&self) -> Found {
        let mut found = Found { losses: self.losses.clone(), ..Found::default() };
        let mut unsettable: Vec<&Variable> = Vec::new();
        let mut is_unsettable: HashSet<&str> = HashSet::new();
        let mut asked: HashSet<&str> = HashSet::new();
        let conditions: HashSet<&str> = self.conditions.iter().map(|(name, _)| name.as_str()).collect();
        let words = Words { loops: self.loops(), written: self.written() };
        for target in &self.targets {
            let (draft, used) = match self.draft(target, &words) {
                Ok(made) => made,
                Err(loss) => {
                    found.losses.push(loss);
                    continue;
                }
            };
            if draft.withheld.is_none() {
                asked.extend(used.iter().filter_map(|name| conditions.get(name.as_str())));
                let fixed = self.variables_of(&used).filter(|variable| {
                    // What make works out is its own affair.
                    is_for_callers(&variable.name)
                        && !variable.is_for_callers()
                        && !variable.value.contains('$')
                        && matches!(variable.sign.as_str(), "" | ":" | "::")
                });
                for variable in fixed {
                    if is_unsettable.insert(&variable.name) {
                        unsettable.push(variable);
                    }
                }
            }
            found.drafts.push(draft);
        }
        if let Some(first) = unsettable.first() {
            let names: Vec<String> = unsettable.iter().map(|variable| format!("`{}`", variable.name)).collect();
            let why =
                "the makefile sets them to paths, to several words or more than once; call make yourself for others"
                    .to_owned();
            found.losses.push(TaskLoss {
                line: first.line,
                what: format!("other values of {}", names.join(", ")),
                why,
            });
        }
        for (name, line) in &self.conditions {
            let is_set = self.known(name).is_some_and(Variable::is_for_callers);
            if !is_set && is_for_callers(name) && !asked.contains(name.as_str()) {
                asked.insert(name);
                let why = "a condition around targets asks for it; set it in the environment".to_owned();
                found.losses.push(TaskLoss { line: *line, what: format!("the variable `{name}`"), why });
            }
        }
        found
    }

    /// The variables with these names, in the order of the makefile.
    fn variables_of(&self, names: &HashSet<String>) -> impl Iterator<Item = &Variable> {
        let mut indices: Vec<usize> = names.iter().filter_map(|name| self.set.get(name).copied()).collect();
        indices.sort_unstable();
        indices.into_iter().map(|index| &self.variables[index])
    }

    /// Whether a target is called for what it does, and not for a file that it makes.
    fn is_task(&self, target: &Target, depth: usize) -> bool {
        if self.phony.contains(&target.name) || target.help.is_some() {
            return true;
        }
        let is_known = self.source.effort.spend(target.prerequisites.len());
        let is_there = self.source.beside.contains(&target.name);
        if !is_known || is_there || target.name.contains(['/', '.', '~']) || depth > 20 {
            return false;
        }
        if target.recipe.is_empty() {
            // It stands for others.
            let is_task = |name: &String| {
                self.places.get(name).is_some_and(|index| self.is_task(&self.targets[*index], depth + 1))
            };
            return !target.prerequisites.is_empty() && target.prerequisites.iter().all(is_task);
        }
        !target.recipe.iter().any(|line| makes(line, &target.name))
    }

    fn draft(&self, target: &Target, words: &Words<'_>) -> Result<(Draft, HashSet<String>), TaskLoss> {
        let mut draft = Draft::of_runner(&target.name, target.line, "make", self.source.below(""));
        draft.say(["--no-print-directory"]);
        if !STANDARD.contains(&self.source.file_name()) {
            draft.say(["-f", self.source.file_name()]);
        }
        if target.name.starts_with('_') {
            draft.withheld = Some("its name begins with `_`, as of what is not called by hand".to_owned());
        } else if self.has_phony && !self.is_task(target, 0) {
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
        let needed = self.with_needed(target)?;
        let used = self.used_by(&needed);
        self.parameters(target, &needed, &used, words, &mut draft);
        Ok((draft, used))
    }

    fn parameters(
        &self,
        target: &Target,
        needed: &[&Target],
        used: &HashSet<String>,
        words: &Words<'_>,
        draft: &mut Draft,
    ) {
        let texts: Vec<&str> = needed.iter().flat_map(|target| target.recipe.iter().map(String::as_str)).collect();
        if texts.iter().any(|text| text.contains("MAKECMDGOALS")) {
            let why = "make takes them for targets: one that is the name of a target would make it as well";
            draft.lose(target.line, "the words behind the target", why);
        }
        for settable in self.settable(needed, used, words) {
            let line = target.line;
            if self.reading(&texts, settable.name).is_some_and(|reading| reading >= Reading::Names) {
                let why = "its value would name or be what runs";
                draft.lose(line, format!("the variable `{}`", settable.name), why);
                continue;
            }
            // Without it make looks into the environment before it takes its own default, so none is given here.
            let default = match settable.value {
                "" => String::new(),
                value => format!("; otherwise `{value}`"),
            };
            let help = settable.help.map(str::to_owned);
            let help = help.unwrap_or_else(|| format!("The variable `{}` of the makefile", settable.name));
            let mut parameter = Parameter::described(format!("{help}{default}"));
            parameter.is_required = settable.is_required;
            parameter.hold_inert(true);
            let why = format!("{WHY_INERT_WORDS} make expands and pastes them into the text of a shell");
            draft.lose(line, format!("other values of `{}`", settable.name), why);
            draft.assign(settable.name, parameter);
        }
    }

    /// The worst that a program does with the value of a variable; nothing where no recipe pastes it.
    fn reading(&self, texts: &[&str], name: &str) -> Option<Reading> {
        let mut worst = None;
        for text in texts {
            worst = worst.max(self.readings(text, name).into_iter().max());
            // Nothing is worse. Once the effort is spent, this is what the first text says.
            if worst == Some(Reading::Code) {
                break;
            }
        }
        worst
    }

    fn readings(&self, text: &str, name: &str) -> Vec<Reading> {
        // Of what is not looked at, the worst is to be expected.
        if !self.source.effort.spend(text.len() / 4 + 4) {
            return vec![Reading::Code];
        }
        let text = self.unfolded(text, name, 0);
        // A long variable makes a long text of a short line.
        if !self.source.effort.spend(text.len()) {
            return vec![Reading::Code];
        }
        let holes: Vec<(usize, usize)> = reference_spans(&text)
            .into_iter()
            .filter(|(_, _, known)| *known == name)
            .map(|(at, end, _)| (at, end))
            .collect();
        // What else make puts there is a word like any other.
        let plain = |text: &str| {
            let mut plain = String::new();
            let mut last = 0;
            for (at, end, _) in reference_spans(text) {
                if at >= last {
                    plain.push_str(&text[last..at]);
                    plain.push('x');
                    last = end;
                }
            }
            plain.push_str(&text[last..]);
            let parts = plain.split("$$").map(|part| {
                let signs = ["$@", "$<", "$^", "$*", "$?", "$+"];
                signs.iter().fold(part.to_owned(), |part, sign| part.replace(sign, "x"))
            });
            parts.collect::<Vec<_>>().join("$")
        };
        let is_in_function = |at: usize| {
            let opened = text[..at].match_indices("$(").filter(|(at, _)| !text[..*at].ends_with('$'));
            opened.last().is_some_and(|(open, _)| !text[open..at].contains(')'))
        };
        holes
            .into_iter()
            .map(|(at, end)| {
                if !self.source.effort.spend(text.len()) {
                    return Reading::Code;
                }
                if is_in_function(at) {
                    return Reading::Unproven;
                }
                let before = plain(&text[..at]);
                reading(before.trim_start().trim_start_matches(['@', '-', '+']), &plain(&text[end..]), true)
            })
            .collect()
    }

    /// A text in which every variable that the makefile sets to a text is replaced by it, but for the one named.
    fn unfolded(&self, text: &str, but: &str, depth: usize) -> String {
        let mut unfolded = String::new();
        let mut last = 0;
        for (at, end, name) in reference_spans(text) {
            let known = self.known(name).filter(|_| name != but);
            let Some(known) = known.filter(|_| at >= last && depth < 6 && unfolded.len() < 10_000) else { continue };
            unfolded.push_str(&text[last..at]);
            unfolded.push_str(&self.unfolded(&known.value, but, depth + 1));
            last = end;
        }
        unfolded.push_str(&text[last..]);
        unfolded
    }

    /// A target with all that it needs.
    fn with_needed<'t>(&'t self, target: &'t Target) -> Result<Vec<&'t Target>, TaskLoss> {
        let (name, line) = (target.name.as_str(), target.line);
        let mut seen: HashSet<&str> = HashSet::new();
        let mut found = Vec::new();
        let mut open = vec![target];
        while let Some(target) = open.pop() {
            if !seen.insert(&target.name) {
                continue;
            }
            let length: usize = target.recipe.iter().map(String::len).sum();
            self.source.visit(length + target.prerequisites.len(), "target", name, line)?;
            found.push(target);
            let needed = target.prerequisites.iter().filter_map(|name| self.places.get(name));
            open.extend(needed.map(|index| &self.targets[*index]));
        }
        Ok(found)
    }

    /// The variables that targets make use of, by themselves or by others.
    fn used_by(&self, needed: &[&Target]) -> HashSet<String> {
        let mut used: HashSet<String> = HashSet::new();
        for target in needed {
            used.extend(target.asks.iter().chain(&target.demands).cloned());
            let texts = target.recipe.iter().chain(&target.prerequisites);
            used.extend(texts.flat_map(|text| references(text)).map(str::to_owned));
        }
        let mut open: Vec<String> = used.iter().cloned().collect();
        while let Some(name) = open.pop() {
            if let Some(variable) = self.known(&name) {
                self.source.effort.spend(variable.value.len());
                let new = references(&variable.value).filter(|name| used.insert((*name).to_owned()));
                open.extend(new.map(str::to_owned).collect::<Vec<_>>());
            }
        }
        used
    }

    /// What a caller can set for a target, in the order of the makefile; behind it what the makefile never sets.
    fn settable<'t>(&'t self, needed: &[&'t Target], used: &HashSet<String>, words: &Words<'t>) -> Vec<Settable<'t>> {
        let demanded: HashSet<&String> = needed.iter().flat_map(|target| &target.demands).collect();
        let is_required = |name: &str, value: &str| {
            value.is_empty() && (demanded.contains(&name.to_owned()) || self.demanded.contains(name))
        };
        let own = self.variables_of(used).filter(|variable| is_for_callers(&variable.name));
        let own = own.filter(|variable| variable.is_for_callers());
        let mut settable: Vec<Settable<'_>> = own
            .map(|variable| Settable {
                name: &variable.name,
                value: &variable.value,
                help: variable.help.as_deref(),
                is_required: is_required(&variable.name, &variable.value),
            })
            .collect();
        // In the order in which they are used.
        let mut seen: HashSet<&str> = HashSet::new();
        let mut free: Vec<&str> = Vec::new();
        let texts = needed.iter().flat_map(|target| target.demands.iter().chain(&target.asks).map(String::as_str));
        let texts: Vec<&str> = texts
            .chain(self.demanded.iter().map(String::as_str))
            .chain(needed.iter().flat_map(|target| &target.recipe).flat_map(|text| references(text)))
            .chain(self.variables_of(used).flat_map(|known| references(&known.value)))
            .collect();
        for name in texts {
            let Some(name) = words.written.get(name).copied() else { continue };
            if !self.set.contains_key(name) && is_for_callers(name) && !words.loops.contains(name) && seen.insert(name)
            {
                free.push(name);
            }
        }
        settable.extend(free.into_iter().map(|name| Settable {
            name,
            value: "",
            help: None,
            is_required: is_required(name, ""),
        }));
        settable
    }

    /// The names of variables that the makefile refers to anywhere.
    fn written(&self) -> HashSet<&str> {
        let texts = self.targets.iter().flat_map(|target| target.recipe.iter().map(String::as_str));
        let texts = texts.chain(self.variables.iter().map(|variable| variable.value.as_str()));
        let asked =
            self.targets.iter().flat_map(|target| target.demands.iter().chain(&target.asks)).map(String::as_str);
        texts.flat_map(references).chain(asked).chain(self.demanded.iter().map(String::as_str)).collect()
    }

    /// Names that loops of make give to what they go over.
    fn loops(&self) -> HashSet<&str> {
        let texts = self.targets.iter().flat_map(|target| target.recipe.iter().map(String::as_str));
        let texts = texts.chain(self.variables.iter().map(|variable| variable.value.as_str()));
        let mut names = HashSet::new();
        for text in texts {
            for word in ["foreach ", "let "] {
                let behind = text.match_indices(word).map(|(at, _)| &text[at + word.len()..]);
                names.extend(behind.filter_map(|rest| rest.split(',').next()).flat_map(str::split_whitespace));
            }
        }
        names
    }
}

/// Whether a variable of this name is one for callers: none of those by which make itself, its built-in rules or the system say
/// something.
fn is_for_callers(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let is_named = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    is_plain && is_named && !OWN.contains(&name) && !name.starts_with("MAKE") && !name.ends_with("FLAGS")
}

/// Variables of make's own, of its built-in rules and of every environment.
const OWN: [&str; 34] = [
    "AR",
    "AS",
    "CC",
    "CO",
    "CPP",
    "CTANGLE",
    "CURDIR",
    "CWEAVE",
    "CXX",
    "FC",
    "GET",
    "HOME",
    "LD",
    "LDLIBS",
    "LEX",
    "LINT",
    "LOADLIBES",
    "LOGNAME",
    "M2C",
    "MAKE",
    "OS",
    "PATH",
    "PC",
    "PWD",
    "RM",
    "SHELL",
    "SUFFIXES",
    "TANGLE",
    "TERM",
    "TEX",
    "USER",
    "VPATH",
    "WEAVE",
    "YACC",
];

/// The variables that a condition asks for.
fn asked_for(text: &str, words: &[&str]) -> Vec<String> {
    match words {
        ["ifdef" | "ifndef", name, ..] => vec![(*name).to_owned()],
        _ => references(text).map(str::to_owned).collect(),
    }
}

/// Whether a condition holds where a variable is not set.
fn asks_for_absence(text: &str, words: &[&str]) -> bool {
    let behind = text.trim_start().strip_prefix("ifeq").map(|rest| rest.replace([' ', '\t', '"', '\''], ""));
    words.first() == Some(&"ifndef")
        || behind.is_some_and(|rest| rest.starts_with("(,") || rest.ends_with(",)") || rest.starts_with("($(strip"))
}

/// Whether a line of a recipe writes a file of the target's name.
fn makes(line: &str, name: &str) -> bool {
    // What is only printed, looked up among the goals or handed to another make is not written.
    let words: Vec<&str> = line.trim_start_matches(['@', '-', '+', ' ']).split_whitespace().collect();
    let is_talk = matches!(words.first(), Some(&("echo" | "printf" | "$(MAKE)" | "make"))) && !line.contains('>');
    let said = line.replace("$(filter-out $@", "");
    if !is_talk && ["$@", "$(@", "${@", "$*", "$(*"].iter().any(|sign| said.contains(sign)) {
        return true;
    }
    let words: Vec<&str> =
        line.split([' ', '\t', ';', '&', '|', '(', ')', '"', '\'']).filter(|word| !word.is_empty()).collect();
    let is_it = |word: &str| word.trim_start_matches("./") == name;
    let is_behind = |sign: &str| {
        words.windows(2).any(|pair| pair[0].ends_with(sign) && pair[0].len() <= sign.len() + 1 && is_it(pair[1]))
            || words.iter().any(|word| word.strip_prefix(sign).is_some_and(is_it))
    };
    let writers = ["touch", "cp", "mv", "ln", "install", "mkdir", "tar", "zip", "curl", "wget", "git"];
    let is_written = words.first().is_some_and(|first| writers.contains(&first.trim_start_matches(['@', '-', '+'])))
        && words.last().is_some_and(|last| is_it(last));
    [">", ">>", "-o", "--output", "--output=", "-O"].into_iter().any(is_behind) || is_written
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

/// The references `$(NAME)` and `${NAME}` of a text, each with where it begins and ends.
fn reference_spans(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    for (at, open) in
        text.match_indices(['(', '{']).filter(|(at, _)| text[..*at].ends_with('$') && !text[..*at].ends_with("$$"))
    {
        let inside = &text[at + 1..];
        let close = if open == "(" { ')' } else { '}' };
        let Some(end) = inside.find([')', '}', ':', ' ', ',', '$']) else { continue };
        if end > 0 && inside[end..].starts_with(close) {
            found.push((at - 1, at + 1 + end + 1, &inside[..end]));
        }
    }
    found
}
