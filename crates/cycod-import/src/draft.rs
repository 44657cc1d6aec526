//! A tool as it is put together, before it has a name of its own.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use cycod_shell::{quoted, quoted_if_needed};
use cycod_syntax::{
    decimal::{Decimal, fits_machines},
    emit::{Emit, to_yaml},
};
use regex::Regex;

use crate::{
    names::{self, Taken},
    pasted::{INERT, INERT_NO_OPTION, INERT_WORDS, Place, Reading, reading},
    proposal::TaskLoss,
    source::escaped,
};

/// What is read of a source.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) drafts: Vec<Draft>,
    /// What belongs to no task.
    pub(crate) losses: Vec<TaskLoss>,
}

/// How long a task of a runner may take: builds and tests take longer than a tool's usual minute.
pub(crate) const PATIENCE: u64 = 600_000;

/// A tool for one task.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The task's name in the source.
    pub(crate) task: String,
    /// The name wanted for the tool, where the task's is not it.
    pub(crate) wanted: Option<String>,
    pub(crate) line: usize,
    pub(crate) description: String,
    pub(crate) group: Option<String>,
    pub(crate) body: Body,
    pub(crate) parameters: Vec<Parameter>,
    /// A template.
    pub(crate) directory: Option<String>,
    /// Names with templates.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) requires: Vec<String>,
    /// A program of the project's own, whose arguments are its own matter.
    pub(crate) own_program: Option<String>,
    pub(crate) platforms: Vec<&'static str>,
    /// The question to the person before it runs.
    pub(crate) confirm: Option<String>,
    pub(crate) is_prompt: bool,
    pub(crate) is_read_only: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) timeout: Option<u64>,
    pub(crate) version: Option<String>,
    /// Why it is made only for who names it.
    pub(crate) withheld: Option<String>,
    pub(crate) losses: Vec<TaskLoss>,
    /// The names of its parameters.
    pub(crate) names: Taken,
}

/// What a tool executes.
#[derive(Debug)]
pub(crate) enum Body {
    /// A program with its arguments.
    Run(Vec<Word>),
    /// A template for a shell.
    Shell { shell: &'static str, text: String },
    /// Another task.
    Alias(String),
}

impl Default for Body {
    fn default() -> Self {
        Self::Run(Vec::new())
    }
}

/// A word of a command line.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    /// As it is.
    Text(String),
    /// A parameter, by its name in the tool.
    Value(String),
    /// A template that is one word.
    Template(String),
    /// A variable set on the command line: `name=value`.
    Assigned(String, String),
}

/// What a parameter accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Accepts {
    #[default]
    Text,
    Number,
    Integer,
    Switch,
    /// Words, each arriving as one.
    Words,
}

/// One input of a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) accepts: Accepts,
    pub(crate) description: String,
    pub(crate) is_required: bool,
    /// A text, or for a switch `true` or `false`.
    pub(crate) default: Option<String>,
    pub(crate) choices: Vec<String>,
    pub(crate) pattern: Option<String>,
    pub(crate) at_least: Option<u64>,
    pub(crate) at_most: Option<u64>,
    /// Other rules, by their name in a tool file.
    pub(crate) rules: Vec<(&'static str, String)>,
    pub(crate) transform: Option<String>,
    /// Its transform or its pattern makes any value data where the task pastes it.
    pub(crate) is_vouched: bool,
    /// Its values may be options of what runs: that is what they are for.
    pub(crate) takes_options: bool,
    pub(crate) format: Option<String>,
}

impl Draft {
    /// A task that `program` runs in the source's directory.
    pub(crate) fn of_runner(task: &str, line: usize, program: &str, directory: String) -> Self {
        Self {
            task: task.to_owned(),
            line,
            body: Body::Run(vec![Word::Text(program.to_owned())]),
            directory: Some(directory),
            requires: vec![program.to_owned()],
            tags: vec![program.to_owned()],
            timeout: Some(PATIENCE),
            ..Self::default()
        }
    }

    /// Adds words to the command line.
    pub(crate) fn say<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.words(words.into_iter().map(|word| Word::Text(word.to_owned())));
    }

    /// Adds a word that is a template.
    pub(crate) fn template(&mut self, template: String) {
        self.words([Word::Template(template)]);
    }

    fn words(&mut self, more: impl IntoIterator<Item = Word>) {
        if let Body::Run(words) = &mut self.body {
            words.extend(more);
        }
    }

    /// Adds a parameter and returns its name in the tool.
    pub(crate) fn take(&mut self, name: &str, mut parameter: Parameter) -> String {
        parameter.name = names::parameter(name, &mut self.names);
        let name = parameter.name.clone();
        self.parameters.push(parameter);
        name
    }

    /// Adds a parameter and puts it at the end of the command line.
    pub(crate) fn pass(&mut self, name: &str, parameter: Parameter) {
        let name = self.take(name, parameter);
        self.words([Word::Value(name)]);
    }

    /// Adds a parameter that sets a variable of the runner.
    pub(crate) fn assign(&mut self, variable: &str, parameter: Parameter) {
        let is_always_given = parameter.is_required || parameter.default.is_some();
        let format = format!("{}={{value}}", escaped(variable, &["value".to_owned()]));
        let parameter = if is_always_given { parameter } else { Parameter { format: Some(format), ..parameter } };
        let name = self.take(variable, parameter);
        let word = if is_always_given { Word::Assigned(variable.to_owned(), name) } else { Word::Value(name) };
        self.words([word]);
    }

    /// Adds further words that go to the end of the command line.
    pub(crate) fn pass_more(&mut self, description: &str) {
        let accepts = Accepts::Words;
        self.pass("args", Parameter { accepts, takes_options: true, ..Parameter::described(description) });
    }

    pub(crate) fn lose(&mut self, line: usize, what: impl Into<String>, why: impl Into<String>) {
        self.losses.push(TaskLoss { line, what: what.into(), why: why.into() });
    }

    /// Whether it holds what no command line can.
    pub(crate) fn has_nul(&self) -> bool {
        let is_in_command = match &self.body {
            Body::Run(words) => words.iter().any(|word| match word {
                Word::Text(text) | Word::Template(text) | Word::Value(text) => text.contains('\0'),
                Word::Assigned(variable, _) => variable.contains('\0'),
            }),
            Body::Shell { text, .. } => text.contains('\0'),
            Body::Alias(_) => false,
        };
        let texts = |parameter: &Parameter| {
            [&parameter.default, &parameter.format, &parameter.transform]
                .into_iter()
                .flatten()
                .any(|text| text.contains('\0'))
                || parameter.choices.iter().any(|choice| choice.contains('\0'))
        };
        is_in_command
            || self.parameters.iter().any(texts)
            || self.environment.iter().any(|(name, value)| format!("{name}{value}").contains('\0'))
    }

    /// Returns the tool file.
    pub(crate) fn to_yaml(&self, name: &str, base: Option<&str>, remark: &str) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let mut entries = Entries::default();
        entries.text("name", Some(name));
        entries.text("description", Some(&self.description));
        entries.text("group", self.group.as_deref());
        entries.text("version", self.version.as_deref());
        match &self.body {
            Body::Run(words) => entries.text("run", Some(&command_line(words, &parameters))),
            Body::Shell { shell: "bash", text } => entries.text("bash", Some(text)),
            Body::Shell { shell, text } => {
                entries.text("shell", Some(shell));
                entries.text("script", Some(text));
            }
            Body::Alias(_) => {
                entries.text("type", Some("alias"));
                entries.text("base-tool", base);
                return format!("# {remark}\n{}", to_yaml(&Emit::Mapping(entries.0)));
            }
        }
        entries.text("working-directory", self.directory.as_deref());
        if let Some(program) = &self.own_program {
            entries.mapping("programs", vec![(program.clone(), Emit::text("text"))]);
        }
        let declared = self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.emit(&parameters)));
        entries.mapping("parameters", declared.collect());
        if let Some(question) = &self.confirm {
            let ask = vec![("person".to_owned(), Emit::text(escaped(question, &parameters)))];
            entries.mapping("asks", vec![("confirmed".to_owned(), Emit::Mapping(ask))]);
        }
        let variables = self.environment.iter().map(|(name, value)| (name.clone(), Emit::text(value)));
        let variables: Vec<(String, Emit)> = variables.collect();
        if !variables.is_empty() {
            entries.mapping("environment", vec![("variables".to_owned(), Emit::Mapping(variables))]);
        }
        if !self.requires.is_empty() {
            entries.mapping("requires", vec![("commands".to_owned(), flow(&self.requires))]);
        }
        if !self.platforms.is_empty() {
            entries.add("platforms", flow(&self.platforms));
        }
        if self.is_prompt {
            entries.text("offer", Some("prompt"));
        }
        let level = if self.is_read_only { "read" } else { "run" };
        let tags: Vec<&str> = self.tags.iter().map(String::as_str).chain([level]).collect();
        entries.add("tags", flow(&tags));
        if let Some(timeout) = self.timeout {
            entries.add("timeout", Emit::Bare(timeout.to_string()));
        }
        format!("# {remark}\n{}", to_yaml(&Emit::Mapping(entries.0)))
    }
}

/// A pattern, ready to match; nothing when it is wrong. Parameters of one source have few different ones, and each takes a
/// millisecond to compile.
fn compiled(pattern: &str) -> Option<Regex> {
    const MOST: usize = 64;
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(regex) = known.get(pattern) {
            return regex.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        let regex = Regex::new(pattern).ok();
        known.insert(pattern.to_owned(), regex.clone());
        regex
    })
}

impl Parameter {
    pub(crate) fn described(description: impl Into<String>) -> Self {
        Self { description: description.into(), ..Self::default() }
    }

    pub(crate) fn is_list(&self) -> bool {
        self.accepts == Accepts::Words
    }

    /// Holds a value to what means nothing to a shell; `words` lets it be several.
    pub(crate) fn hold_inert(&mut self, words: bool) {
        // What is given for a choice is the author's own.
        if self.choices.is_empty() && matches!(self.accepts, Accepts::Text | Accepts::Words) {
            self.pattern = Some(if words { INERT_WORDS } else { INERT }.to_owned());
            self.is_vouched = true;
        }
    }

    /// Quotes a value for the place where a runner pastes it; false where there is no such way.
    pub(crate) fn quote(&mut self, place: Place) -> bool {
        match place.quoting(self.is_list()) {
            Some(transform) if self.pattern.is_none() => {
                self.transform = Some(transform);
                self.is_vouched = true;
                true
            }
            _ => false,
        }
    }

    /// Takes a value as the runner hands it on: as it is, to what `reading` says.
    pub(crate) fn hold_for(&mut self, reading: Reading) -> bool {
        match reading {
            Reading::Data | Reading::DataButOptions => {
                if reading == Reading::DataButOptions && !self.is_list() {
                    self.hold_no_option();
                }
                self.is_vouched = true;
                true
            }
            Reading::Unproven | Reading::Names | Reading::Code => {
                self.hold_inert(false);
                if !self.is_list() {
                    self.hold_no_option();
                }
                false
            }
        }
    }

    /// Holds words that a runner puts behind its commands to plain ones where one of these would run them; says whether it does.
    ///
    /// Words may be options of the task's own program, so only what a word that is none means to it counts.
    pub(crate) fn hold_behind<'a>(&mut self, commands: impl IntoIterator<Item = &'a str>) -> bool {
        let is_run = commands.into_iter().any(|command| reading(&format!("{command} "), "", false) == Reading::Code);
        if is_run {
            self.hold_inert(false);
        }
        is_run
    }

    /// Keeps a value from being read as an option by a program that looks for options anywhere.
    pub(crate) fn hold_no_option(&mut self) {
        let is_text = self.choices.is_empty() && matches!(self.accepts, Accepts::Text | Accepts::Words);
        match self.pattern.as_deref() {
            None if is_text => self.pattern = Some("^([^-]|$)".to_owned()),
            Some(INERT) => self.pattern = Some(INERT_NO_OPTION.to_owned()),
            _ => {}
        }
    }

    /// Makes it an option of its program: `--name=value`, or `--name` where it is a switch.
    pub(crate) fn into_option(mut self, option: &str) -> Self {
        // Nothing but the runner's own word that it takes a value tells an option of an unusual name from other text.
        let is_usual = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        let takes_text = matches!(self.accepts, Accepts::Text | Accepts::Words);
        self.is_vouched |= takes_text && !option.chars().all(is_usual);
        let is_long = option.starts_with("--");
        let join = if is_long { "=" } else { "" };
        match self.accepts {
            Accepts::Switch => self.format = Some(switch(option, true)),
            Accepts::Words => {
                let quoted = serde_json::Value::from(format!("{option}{join}")).to_string();
                self.transform = Some(format!("value.map(one => {quoted} + one)"));
            }
            _ => self.format = Some(format!("{}{{value}}", author(&format!("{option}{join}")))),
        }
        self
    }

    /// Takes away what contradicts itself, as sources may; returns what that was, with the reason.
    pub(crate) fn settle(&mut self) -> Vec<(String, &'static str)> {
        let mut lost = Vec::new();
        let mut seen = HashSet::new();
        self.choices.retain(|choice| seen.insert(choice.clone()));
        let are_bare = self.choices.iter().all(|choice| self.bare(choice).is_some());
        match self.accepts {
            Accepts::Switch => self.choices.clear(),
            Accepts::Integer | Accepts::Number if !are_bare => self.accepts = Accepts::Text,
            _ => {}
        }
        if let Some(pattern) = self.pattern.take_if(|pattern| compiled(pattern).is_none()) {
            lost.push((
                format!("the pattern `{pattern}`"),
                "it is no regular expression of ours, which have no lookaround",
            ));
        }
        let rule = |name: &str| self.rule(name);
        let is_empty =
            |least: Option<Decimal>, most: Option<Decimal>| least.zip(most).is_some_and(|(least, most)| least > most);
        if is_empty(rule("minimum"), rule("maximum")) || is_empty(rule("minLength"), rule("maxLength")) {
            self.rules.clear();
            lost.push(("the limits".to_owned(), "no value is within them"));
        }
        if self.at_least.zip(self.at_most).is_some_and(|(least, most)| least > most) {
            (self.at_least, self.at_most) = (None, None);
            lost.push(("the limits".to_owned(), "no number of values is within them"));
        }
        if let Some(default) = self.default.clone()
            && !self.takes(&default)
        {
            self.default = None;
            lost.push((format!("the default `{default}`"), "it is none of the values that are accepted"));
        }
        lost
    }

    /// The limit that a rule sets.
    fn rule(&self, name: &str) -> Option<Decimal> {
        Decimal::read(&self.rules.iter().find(|(known, _)| *known == name)?.1)
    }

    /// Whether a default is a value that the parameter accepts.
    fn takes(&self, default: &str) -> bool {
        let matches = |text: &str| {
            self.pattern.as_deref().and_then(compiled).is_none_or(|pattern| pattern.is_match(text))
                && (self.choices.is_empty() || self.choices.iter().any(|choice| choice == text))
        };
        let is_within = |size: &str, names: [&str; 2]| {
            let [least, most] = names.map(|name| self.rule(name));
            Decimal::read(size)
                .is_some_and(|size| least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most))
        };
        match self.accepts {
            Accepts::Switch => self.bare(default).is_some(),
            Accepts::Integer | Accepts::Number => {
                self.bare(default).is_some() && matches(default) && is_within(default, ["minimum", "maximum"])
            }
            Accepts::Text => {
                matches(default) && is_within(&default.chars().count().to_string(), ["minLength", "maxLength"])
            }
            Accepts::Words => {
                let items: Vec<&str> = default.split('\n').filter(|item| !item.is_empty()).collect();
                let count = items.len() as u64;
                items.iter().all(|item| matches(item))
                    && self.at_least.is_none_or(|least| count >= least)
                    && self.at_most.is_none_or(|most| count <= most)
            }
        }
    }

    fn emit(&self, names: &[String]) -> Emit {
        let kind = match self.accepts {
            Accepts::Text => "string",
            Accepts::Number => "number",
            Accepts::Integer => "integer",
            Accepts::Switch => "boolean",
            Accepts::Words => "array",
        };
        let mut entries = Entries::default();
        entries.text("type", Some(kind));
        entries.text("description", Some(&self.description));
        if self.is_required && self.default.is_none() {
            entries.add("required", Emit::Bare("true".to_owned()));
        }
        if let Some(default) = &self.default {
            entries.add("default", self.literal(default, names));
        }
        let mut one = Entries::default();
        one.text("pattern", self.pattern.as_deref());
        if !self.choices.is_empty() {
            let choices = self.choices.iter().map(|choice| self.bare(choice).unwrap_or_else(|| Emit::text(choice)));
            one.add("enum", Emit::FlowSequence(choices.collect()));
        }
        for (rule, value) in &self.rules {
            one.add(rule, Emit::Bare(value.clone()));
        }
        let mut rules = Entries::default();
        if self.is_list() {
            let mut items = Entries(vec![("type".to_owned(), Emit::text("string"))]);
            items.0.append(&mut one.0);
            rules.mapping("items", items.0);
            for (rule, limit) in [("minItems", self.at_least), ("maxItems", self.at_most)] {
                if let Some(limit) = limit {
                    rules.add(rule, Emit::Bare(limit.to_string()));
                }
            }
        } else {
            rules = one;
        }
        entries.mapping("validation", rules.0);
        entries.text("transform", self.transform.as_deref());
        entries.text("placing", self.is_vouched.then_some("data"));
        if self.takes_options {
            entries.add("options", Emit::Bare("true".to_owned()));
        }
        entries.text("format", self.format.as_deref());
        if self.accepts == Accepts::Text {
            let escape = ("escape-shell".to_owned(), Emit::Bare("true".to_owned()));
            entries.mapping("security", vec![escape]);
        }
        Emit::Mapping(entries.0)
    }

    fn literal(&self, text: &str, names: &[String]) -> Emit {
        if self.is_list() {
            let items = text.split('\n').filter(|item| !item.is_empty()).map(|item| Emit::text(escaped(item, names)));
            return Emit::FlowSequence(items.collect());
        }
        self.bare(text).unwrap_or_else(|| Emit::text(escaped(text, names)))
    }

    /// A number or boolean, where the parameter is one.
    fn bare(&self, text: &str) -> Option<Emit> {
        let is_bare = match self.accepts {
            Accepts::Number => fits_machines(text),
            Accepts::Integer => text.parse::<i64>().is_ok(),
            Accepts::Switch => matches!(text, "true" | "false"),
            Accepts::Text | Accepts::Words => false,
        };
        is_bare.then(|| Emit::Bare(text.to_owned()))
    }
}

/// A word of the source's own, as it stands in a `format`.
pub(crate) fn author(word: &str) -> String {
    escaped(&quoted_if_needed(word), &["value".to_owned()])
}

/// The `format` of a switch that is a word when it is on, or when it is off.
pub(crate) fn switch(word: &str, when: bool) -> String {
    let word = quoted_if_needed(word).replace('\\', "\\\\").replace('\'', "\\'");
    if when { format!("{{value ? '{word}' : ''}}") } else { format!("{{value ? '' : '{word}'}}") }
}

/// Keys in the order they were added; what has no value is left out.
#[derive(Default)]
struct Entries(Vec<(String, Emit)>);

impl Entries {
    fn add(&mut self, key: &str, value: Emit) {
        self.0.push((key.to_owned(), value));
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(key, Emit::text(value));
        }
    }

    fn mapping(&mut self, key: &str, entries: Vec<(String, Emit)>) {
        if !entries.is_empty() {
            self.add(key, Emit::Mapping(entries));
        }
    }
}

fn flow<T: AsRef<str>>(texts: &[T]) -> Emit {
    Emit::FlowSequence(texts.iter().map(|text| Emit::text(text.as_ref())).collect())
}

/// A template for `run`.
fn command_line(words: &[Word], parameters: &[String]) -> String {
    let word = |word: &Word| match word {
        Word::Text(text) => escaped(&quoted_if_needed(text), parameters),
        Word::Value(name) => format!("{{{name}}}"),
        Word::Template(template) if template.contains([' ', '\'', '"', '\\', '\n', '\t']) => quoted(template),
        Word::Template(template) => template.clone(),
        Word::Assigned(variable, name) => format!("{}={{{name}}}", escaped(&quoted_if_needed(variable), parameters)),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}
