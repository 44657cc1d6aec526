//! Recipes of `just`.
//!
//! A recipe's parameter is pasted where its body says `{{name}}`, so the body is read for these places. What the body
//! takes from the environment (`$name` of an exported parameter) or quotes itself (`quote(name)`) is data already.

mod lex;
mod read;

use std::collections::{HashMap, HashSet};

use cycod_diagnostic::Diagnostic;

use self::{
    lex::{Token, TokenKind},
    read::{Input, Justfile, Recipe},
};
use crate::{
    TaskLoss,
    draft::{Accepts, Body, Draft, Found, Parameter},
    pasted::{Place, Reading, WHY_INERT, place, reading_of_variable},
    source::{TaskSource, duplicate},
};

/// Reads the recipes of a justfile.
pub(crate) fn read(source: &TaskSource<'_>) -> Result<Found, Vec<Diagnostic>> {
    let file = read::read(source)?;
    let recipes = without_variants(&file)?;
    let all: HashMap<&str, &Recipe> = recipes.iter().map(|(recipe, _)| (recipe.name.as_str(), *recipe)).collect();
    let mut found = Found { losses: file.losses.clone(), ..Found::default() };
    for (recipe, platforms) in &recipes {
        match (Importer { source, file: &file, all: &all, recipe }).draft() {
            Ok(draft) => found.drafts.push(Draft { platforms: platforms.clone(), ..draft }),
            Err(loss) => found.losses.push(loss),
        }
    }
    let mut names: HashMap<&str, cycod_diagnostic::Span> =
        recipes.iter().map(|(recipe, _)| (recipe.name.as_str(), recipe.span)).collect();
    for alias in &file.aliases {
        if let Some(first) = names.insert(&alias.name, alias.span) {
            return Err(vec![duplicate("recipe", &alias.name, first, alias.span)]);
        }
        let line = source.line(alias.span.start as usize);
        let Some(base) = all.get(alias.of.as_str()) else {
            let what = format!("alias `{}`", alias.name);
            let why = format!("`{}` is not a recipe of this file", alias.of);
            found.losses.push(TaskLoss { line, what, why });
            continue;
        };
        let is_private = alias.is_private || alias.name.starts_with('_');
        found.drafts.push(Draft {
            task: alias.name.clone(),
            line,
            description: base.doc.clone().unwrap_or_else(|| format!("Another name of `{}`", base.name)),
            body: Body::Alias(base.name.clone()),
            withheld: Some(if is_private { "it is private" } else { "it is only another name" }.to_owned()),
            ..Draft::default()
        });
    }
    Ok(found)
}

/// Attributes that hold a recipe to a platform, with what we call it.
const PLATFORMS: [(&str, &str); 4] = [("linux", "linux"), ("macos", "macos"), ("windows", "windows"), ("unix", "unix")];
/// Platforms that we do not know.
const OTHER_PLATFORMS: [&str; 5] = ["android", "dragonfly", "freebsd", "netbsd", "openbsd"];

/// The recipes, variants for several platforms taken together, with the platforms they are for.
fn without_variants(file: &Justfile) -> Result<Vec<(&Recipe, Vec<&'static str>)>, Vec<Diagnostic>> {
    let mut kept: Vec<(&Recipe, Vec<&'static str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut problems = Vec::new();
    let is_held = |recipe: &Recipe| {
        PLATFORMS.iter().any(|(name, _)| recipe.attribute(name).is_some())
            || OTHER_PLATFORMS.iter().any(|name| recipe.attribute(name).is_some())
    };
    for recipe in &file.recipes {
        let platforms: Vec<&'static str> =
            PLATFORMS.iter().filter(|(name, _)| recipe.attribute(name).is_some()).map(|(_, ours)| *ours).collect();
        match places.get(recipe.name.as_str()).and_then(|place| kept.get_mut(*place)) {
            None => {
                places.insert(&recipe.name, kept.len());
                kept.push((recipe, platforms));
            }
            Some((known, known_platforms)) if is_held(known) && is_held(recipe) => {
                known_platforms.extend(platforms);
                known_platforms.dedup();
            }
            Some((known, _)) if file.is_set("allow-duplicate-recipes") => *known = recipe,
            Some((known, _)) => problems.push(duplicate("recipe", &recipe.name, known.span, recipe.span)),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

/// What `[arg(…)]` says of a parameter.
type Options = Vec<(String, Option<String>)>;

struct Importer<'a> {
    source: &'a TaskSource<'a>,
    file: &'a Justfile,
    all: &'a HashMap<&'a str, &'a Recipe>,
    recipe: &'a Recipe,
}

impl Importer<'_> {
    fn draft(&self) -> Result<Draft, TaskLoss> {
        let recipe = self.recipe;
        let line = self.source.line(recipe.span.start as usize);
        let mut draft = Draft::of_runner(&recipe.name, line, "just", self.source.below(""));
        let name = self.source.file_name();
        if recipe.attribute("no-cd").is_some() {
            // It works where it is called from, which then is not where its file lies.
            draft.directory = None;
            draft.say(["--justfile"]);
            draft.template(self.source.below(name));
        } else if !matches!(name.to_ascii_lowercase().as_str(), "justfile" | ".justfile") {
            draft.say(["--justfile", name]);
        }
        let questions = self.questions(line)?;
        if !questions.is_empty() {
            draft.say(["--yes"]);
            draft.confirm = Some(questions.join(" "));
        }
        draft.say([recipe.name.as_str()]);
        draft.description = self.description();
        draft.group = recipe.attribute("group").and_then(|group| group.texts.first().cloned());
        if recipe.attribute("private").is_some() || recipe.name.starts_with('_') {
            draft.withheld = Some("it is private".to_owned());
        }
        for name in OTHER_PLATFORMS {
            if let Some(attribute) = recipe.attribute(name) {
                draft.lose(self.source.line(attribute.at), format!("`[{name}]`"), "tools know no such platform");
            }
        }
        self.parameters(&mut draft);
        Ok(draft)
    }

    /// What just would ask before this recipe and those that run together with it.
    fn questions(&self, line: usize) -> Result<Vec<String>, TaskLoss> {
        let mut questions = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut open = vec![self.recipe];
        while let Some(recipe) = open.pop() {
            if !seen.insert(&recipe.name) {
                continue;
            }
            self.source.visit(recipe.dependencies.len(), "recipe", &self.recipe.name, line)?;
            if let Some(confirm) = recipe.attribute("confirm") {
                let question = confirm.texts.first().cloned();
                questions.push(question.unwrap_or_else(|| format!("Run recipe `{}`?", recipe.name)));
            }
            open.extend(recipe.dependencies.iter().rev().filter_map(|(name, _)| self.all.get(name.as_str())));
        }
        Ok(questions)
    }

    fn description(&self) -> String {
        let recipe = self.recipe;
        match recipe.attribute("doc") {
            Some(doc) => doc.texts.first().cloned(),
            None => recipe.doc.clone(),
        }
        .unwrap_or_else(|| {
            let commands: Vec<String> = recipe.body.iter().map(|(_, line)| line.trim().to_owned()).collect();
            match (commands.is_empty(), recipe.dependencies.as_slice()) {
                (true, []) => format!("Recipe `{}` of {}", recipe.name, self.source.path),
                (true, dependencies) => {
                    let names: Vec<&str> = dependencies.iter().map(|(name, _)| name.as_str()).collect();
                    format!("Run {}", names.join(", "))
                }
                (false, _) => format!("Run `{}`", commands.join("; ").trim_start_matches(['@', '-'])),
            }
        })
    }

    fn parameters(&self, draft: &mut Draft) {
        let inputs = &self.recipe.parameters;
        let options = self.options();
        let options_of = |input: &Input| options.get(input.name.as_str()).map_or(&[][..], Vec::as_slice);
        let is_option = |input: &Input| options_of(input).iter().any(|(key, _)| key == "long" || key == "short");
        let has_options = inputs.iter().any(is_option);
        for input in inputs.iter().filter(|input| is_option(input)) {
            let options = options_of(input);
            let parameter = self.parameter(draft, input, options, false);
            let option = |key: &str| options.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
            let short = option("short").flatten().map(|short| format!("-{short}"));
            let long = option("long").map(|long| format!("--{}", long.unwrap_or_else(|| input.name.clone())));
            let word = long.or(short).unwrap_or_default();
            let is_switch = option("value").is_some() || option("flag").is_some();
            let mut parameter = parameter;
            if parameter.is_list() && parameter.transform.take().is_some() {
                parameter.hold_inert(false);
            }
            let parameter = if is_switch {
                Parameter {
                    accepts: Accepts::Switch,
                    description: parameter.description,
                    default: Some("false".to_owned()),
                    ..Parameter::default()
                }
            } else {
                parameter
            };
            draft.pass(&input.name, parameter.into_option(&word));
        }
        if has_options && inputs.iter().any(|input| !is_option(input)) {
            draft.say(["--"]);
        }
        let positional: Vec<&Input> = inputs.iter().filter(|input| !is_option(input)).collect();
        for (index, input) in positional.iter().enumerate() {
            let parameter = self.parameter(draft, input, options_of(input), index + 1 < positional.len());
            draft.pass(&input.name, parameter);
        }
    }

    /// What `[arg(…)]` says of each parameter.
    fn options(&self) -> HashMap<&str, Options> {
        let mut options: HashMap<&str, Options> = HashMap::new();
        for attribute in self.recipe.attributes.iter().filter(|attribute| attribute.name == "arg") {
            let first = attribute.texts.first().map(String::as_str);
            if let Some(name) = first.or_else(|| attribute.named.first().map(|(name, _)| name.as_str())) {
                options.entry(name).or_default().extend(attribute.named.iter().cloned());
            }
        }
        options
    }

    fn parameter(
        &self,
        draft: &mut Draft,
        input: &Input,
        options: &[(String, Option<String>)],
        is_followed: bool,
    ) -> Parameter {
        let line = self.source.line(input.at);
        let said = |key: &str| options.iter().find(|(known, _)| known == key).and_then(|(_, value)| value.clone());
        let mut parameter = Parameter {
            accepts: if input.many.is_some() { Accepts::Words } else { Accepts::Text },
            description: said("help").unwrap_or_else(|| format!("`{}` of the recipe", input.name)),
            is_required: input.default.is_none() && input.many != Some('*'),
            // The pattern holds for the whole value.
            pattern: said("pattern").map(|pattern| format!("^(?:{pattern})$")),
            ..Parameter::default()
        };
        if input.many == Some('+') && input.default.is_none() {
            parameter.at_least = Some(1);
        }
        match input.default.as_deref() {
            None => {}
            Some([only]) if only.text().is_some() => {
                let text = only.text().unwrap_or_default();
                if !parameter.is_list() {
                    parameter.default = Some(text.to_owned());
                } else if !text.is_empty() {
                    draft.lose(
                        line,
                        format!("the default of `{}`", input.name),
                        "just fills it in when nothing is given",
                    );
                }
            }
            Some(tokens) => {
                let shown = match tokens {
                    [first, .., last] => &self.source.text[first.at..last.end],
                    [only] => &self.source.text[only.at..only.end],
                    [] => "",
                };
                let what = format!("the default `{shown}` of `{}`", input.name);
                parameter.description = format!("{}; otherwise `{shown}`", parameter.description);
                if is_followed {
                    // Without it, what is given for the next would arrive in its place.
                    parameter.is_required = true;
                    draft.lose(line, what, "just works it out; it must be given here, because other parameters follow");
                } else {
                    draft.lose(line, what, "just works it out when nothing is given");
                }
            }
        }
        if let Some(place) = self.pasted(&input.name, &mut HashSet::new()) {
            let has_own_pattern = parameter.pattern.is_some();
            if has_own_pattern {
                let why = "just pastes the value into a shell's text: see that the pattern lets nothing through that acts there";
                draft.lose(line, format!("any safety of `{}` beyond its pattern", input.name), why);
            } else if !parameter.quote(place) {
                parameter.hold_inert(false);
                if !parameter.is_list() {
                    parameter.hold_no_option();
                }
                let why = format!("{WHY_INERT} just pastes them into the text of a program");
                draft.lose(line, format!("other values of `{}`", input.name), why);
            } else if place.reads_options() && !parameter.is_list() {
                parameter.hold_no_option();
            }
        } else {
            let own = parameter.pattern.take();
            let is_data = parameter.hold_for(self.handed_on(&input.name));
            if own.is_some() {
                parameter.pattern = own;
                parameter.is_vouched = is_data;
            } else if !is_data {
                let why = format!("{WHY_INERT} the recipe does more with them than hand them on");
                draft.lose(line, format!("other values of `{}`", input.name), why);
            }
        }
        parameter
    }

    /// Where the recipe pastes a parameter; nothing where it never does.
    fn pasted(&self, name: &str, seen: &mut HashSet<(String, String)>) -> Option<Place> {
        if !seen.insert((self.recipe.name.clone(), name.to_owned())) {
            return None;
        }
        // Nobody writes recipes that call each other this deep.
        if seen.len() > 200 || !self.source.effort.spend(self.recipe.parameters.len()) {
            return Some(Place::UNCLEAR);
        }
        let mut place: Option<Place> = None;
        let mut meet = |found: Place| place = Some(place.map_or(found, |place| place.and(found)));
        for found in self.pastes(name) {
            meet(found);
        }
        // A default of a later parameter, or an argument of another recipe.
        for input in &self.recipe.parameters {
            if input.default.as_deref().is_some_and(|tokens| mentions(tokens, name))
                && self.pasted(&input.name, seen).is_some()
            {
                meet(Place::UNCLEAR);
            }
        }
        let mut is_data_elsewhere = self.is_exported(name) || self.file.is_set("positional-arguments");
        for (dependency, arguments) in &self.recipe.dependencies {
            let Some(recipe) = self.all.get(dependency.as_str()) else {
                if arguments.iter().any(|tokens| mentions(tokens, name)) {
                    meet(Place::UNCLEAR);
                }
                continue;
            };
            for (index, tokens) in arguments.iter().enumerate().filter(|(_, tokens)| mentions(tokens, name)) {
                let last = recipe.parameters.len().saturating_sub(1);
                let Some(input) = recipe.parameters.get(index.min(last)) else { continue };
                let below = Importer { recipe, ..*self };
                match below.pasted(&input.name, seen) {
                    Some(found) if tokens.len() == 1 && input.many.is_none() => meet(found),
                    Some(_) => meet(Place::UNCLEAR),
                    None => is_data_elsewhere = true,
                }
            }
        }
        // What is quoted for one place is wrong where it arrives as it is.
        if is_data_elsewhere { place.map(|_| Place::UNCLEAR) } else { place }
    }

    /// What becomes of a parameter that is nowhere pasted as it is: the worst of what commands do that get it from the
    /// environment, among their arguments, or quoted by just.
    fn handed_on(&self, name: &str) -> Reading {
        let first = self.recipe.body.first().map_or("", |(_, line)| line.trim_start());
        let is_program = first.starts_with("#!") || self.recipe.attribute("script").is_some();
        if is_program && !is_shell_script(first) || !is_program && !self.is_posix() {
            // A program of another language gets it as data, as every program does.
            return Reading::Data;
        }
        let plain = |line: &str| without_interpolations(line.trim_start().trim_start_matches('@'));
        let lines: Vec<String> = self.recipe.body.iter().map(|(_, line)| plain(line)).collect();
        let text = lines.join("\n");
        if !self.source.effort.spend(text.len()) {
            return Reading::Unproven;
        }
        let mut reading = Reading::Data;
        if self.recipe.body.iter().any(|(_, line)| line.contains("quote(")) {
            reading = Reading::DataButOptions;
        }
        if self.is_exported(name) {
            reading = reading.max(reading_of_variable(name, &text));
        }
        if self.file.is_set("positional-arguments") || self.recipe.attribute("positional-arguments").is_some() {
            // Which of them it is, does not matter where none of them is read again.
            let signs = ["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$@", "$*"];
            let text = signs.iter().fold(text, |text, sign| text.replace(sign, "$argument"));
            reading = reading.max(reading_of_variable("argument", &text));
        }
        reading
    }

    fn is_exported(&self, name: &str) -> bool {
        self.file.is_set("export")
            || self.recipe.attribute("positional-arguments").is_some()
            || self.recipe.parameters.iter().any(|input| input.name == name && input.is_exported)
    }

    /// The places of the body where a parameter is pasted.
    fn pastes(&self, name: &str) -> Vec<Place> {
        let first = self.recipe.body.first().map_or("", |(_, line)| line.trim_start());
        let is_program = first.starts_with("#!") || self.recipe.attribute("script").is_some();
        let is_posix = if is_program { first.starts_with("#!") && is_shell_script(first) } else { self.is_posix() };
        // The lines of a program are one text, but for the first, which names the interpreter.
        let lines = self.recipe.body.iter().skip(usize::from(first.starts_with("#!")));
        let lines: Vec<&str> = lines.map(|(_, line)| line.as_str()).collect();
        let length: usize = lines.iter().map(|line| line.len()).sum();
        if !self.source.effort.spend(length / 4) {
            return vec![Place::UNCLEAR];
        }
        let mut places = Vec::new();
        let is_list = self.recipe.parameters.iter().any(|input| input.name == name && input.many.is_some());
        let mut has_quoted = false;
        let mut before = String::new();
        for (index, line) in lines.iter().enumerate() {
            let is_continued = line.ends_with('\\');
            let indented = line.trim_start();
            let is_begun = is_program || !before.is_empty();
            let mut rest = if is_begun { indented } else { indented.trim_start_matches(['@', '-']) };
            while let Some(open) = rest.find("{{") {
                if rest[open..].starts_with("{{{{") {
                    before.push_str(&rest[..open]);
                    before.push_str("{{");
                    rest = &rest[open + 4..];
                    continue;
                }
                before.push_str(&rest[..open]);
                let inside = &rest[open + 2..];
                let read = lex::interpolation(inside);
                let Some((tokens, end)) = read else {
                    // It cannot be read: whatever it holds may be the parameter.
                    places.push(Place::UNCLEAR);
                    break;
                };
                let after = &inside[end..];
                if mentions(&tokens, name) {
                    // What follows on other lines belongs to the command where the line goes on, or is a program's.
                    let more = lines[index + 1..].iter().take(if is_program || is_continued { 20 } else { 0 });
                    let after: String = std::iter::once(after).chain(more.copied()).collect::<Vec<_>>().join("\n");
                    let is_known = is_posix && self.source.effort.spend(before.len() + after.len());
                    let found = if is_known { place(&before, &after, is_list) } else { Place::UNCLEAR };
                    match (tokens.len(), found) {
                        (1, found) => places.push(found),
                        // Quoted by just itself, which is right outside of quotes alone.
                        (_, found) if found.is_unquoted() && is_quoted(&tokens, name) => has_quoted = true,
                        _ => places.push(Place::UNCLEAR),
                    }
                }
                // What nobody knows here may open a quote or close one; `$(` makes what follows unclear.
                before.push_str(self.stands_for(&tokens).as_deref().unwrap_or("$("));
                rest = after;
            }
            before.push_str(rest);
            // Each line has a shell of its own, but for those of a program.
            if is_program || is_continued {
                before.push('\n');
            } else {
                before.clear();
            }
        }
        // What we quote for one place would be quoted again at the other.
        if has_quoted && !places.is_empty() {
            places.push(Place::UNCLEAR);
        }
        places
    }

    /// Whether lines are read by a shell that quotes as POSIX says.
    fn is_posix(&self) -> bool {
        let shell = self.file.settings.get("shell").and_then(|setting| setting.values.first());
        shell.is_none_or(|shell| is_posix_shell(shell))
            && !["windows-shell", "windows-powershell"].iter().any(|name| self.file.settings.contains_key(*name))
    }

    /// What an interpolation becomes as far as quotes are concerned, where that is known.
    fn stands_for(&self, tokens: &[Token]) -> Option<String> {
        let [only] = tokens else {
            return is_call_of_quote(tokens).then(|| "x".to_owned());
        };
        if let Some(text) = only.text() {
            return Some(text.to_owned());
        }
        let name = only.name()?;
        if self.recipe.parameters.iter().any(|input| input.name == name) {
            // It is quoted for its place, or cannot hold a quote.
            return Some("x".to_owned());
        }
        self.file.literals.get(name).cloned()
    }
}

/// A line with a word in place of each interpolation.
fn without_interpolations(line: &str) -> String {
    let mut parts = line.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('x');
        text.push_str(part.split_once("}}").map_or("", |(_, behind)| behind));
    }
    text
}

fn is_posix_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next().unwrap_or_default(), "sh" | "bash" | "dash" | "zsh" | "ksh")
}

/// Whether the first line of a script names a shell.
fn is_shell_script(first: &str) -> bool {
    let mut words = first.trim_start_matches("#!").split_whitespace();
    let program = words.next().unwrap_or_default();
    if program.ends_with("/env") { words.next().is_some_and(is_posix_shell) } else { is_posix_shell(program) }
}

fn mentions(tokens: &[Token], name: &str) -> bool {
    tokens.iter().any(|token| token.name() == Some(name) || matches!(token.kind, TokenKind::Text(None)))
}

fn is_call_of_quote(tokens: &[Token]) -> bool {
    matches!(tokens, [quote, open, .., close] if quote.name() == Some("quote") && open.is("(") && close.is(")"))
}

/// Whether every mention is inside of `quote(…)` alone.
fn is_quoted(tokens: &[Token], name: &str) -> bool {
    is_call_of_quote(tokens) && mentions(&tokens[2..tokens.len() - 1], name) && {
        // `quote(a) + b(…)` ends with a parenthesis too: the first has to be closed by the last.
        let mut depth = 0_usize;
        tokens[1..].iter().enumerate().all(|(index, token)| {
            if token.is("(") {
                depth += 1;
            } else if token.is(")") {
                depth = depth.saturating_sub(1);
            }
            depth > 0 || index + 2 == tokens.len()
        })
    }
}
