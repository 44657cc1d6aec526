//! What the options of `cycod tool add` say about a tool, before any of it is checked.

use cycod_syntax::emit::{Emit, to_yaml};

use super::{
    options::Done,
    parameter::{ParameterDraft, typed},
};

/// A kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Step,
    Parameter,
    Test,
}

impl Group {
    /// A group of this kind, and the option that opens it.
    pub(crate) fn noun(self) -> (&'static str, &'static str) {
        match self {
            Self::Step => ("a step", "--step"),
            Self::Parameter => ("a parameter", "--parameter"),
            Self::Test => ("a test", "--test"),
        }
    }
}

/// What the options say about a tool, not yet looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) description: Option<String>,
    /// `bash`, `cmd`, `pwsh`, `run`, `script`.
    pub(crate) forms: Vec<(&'static str, String)>,
    pub(crate) shell: Option<String>,
    pub(crate) commands: Variants,
    pub(crate) steps: Vec<StepDraft>,
    pub(crate) parameters: Vec<ParameterDraft>,
    pub(crate) tests: Vec<TestDraft>,
    pub(crate) platforms: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) timeout: Option<String>,
    pub(crate) working_directory: Option<String>,
    pub(crate) input: Option<String>,
    pub(crate) privilege: Option<String>,
    pub(crate) isolation: Option<String>,
    pub(crate) permissions: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) inherit: Option<String>,
    /// The group that modifiers belong to now, and which of its kind.
    pub(crate) open: Option<(Group, usize)>,
}

/// `commands`: a text for each platform.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variants(Vec<(&'static str, String)>);

#[derive(Clone, Debug, Default)]
pub(crate) struct StepDraft {
    pub(crate) name: String,
    command: Option<String>,
    commands: Variants,
    pub(crate) continue_on_error: bool,
    pub(crate) on_failure: bool,
    pub(crate) condition: Option<String>,
    pub(crate) parallel: bool,
    pub(crate) wait_for: Vec<String>,
    pub(crate) attempts: Option<String>,
    pub(crate) delay: Option<String>,
    pub(crate) fallback: Option<String>,
    pub(crate) output_mode: Option<String>,
    pub(crate) buffer_limit: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TestDraft {
    pub(crate) name: String,
    description: String,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) exit_code: Option<String>,
    pub(crate) output: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) cleanup: Vec<String>,
}

impl Variants {
    pub(crate) fn add(&mut self, platform: &'static str, text: String) -> Done {
        if self.0.iter().any(|(known, _)| *known == platform) {
            return Err("is given twice".to_owned());
        }
        self.0.push((platform, text));
        Ok(())
    }

    fn emit(&self) -> Option<Emit> {
        let (default, platforms): (Vec<_>, Vec<_>) = self.0.iter().partition(|(platform, _)| *platform == "default");
        let entry = |(platform, text): &(&str, String)| ((*platform).to_owned(), Emit::text(text));
        let mut entries: Vec<(String, Emit)> = default.into_iter().map(entry).collect();
        entries.extend(
            mapping(platforms.into_iter().map(entry).collect()).map(|platforms| ("platforms".to_owned(), platforms)),
        );
        mapping(entries)
    }
}

impl Draft {
    /// Whether nothing was said about the tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The options that say what the tool does, in the order of the help page.
    pub(crate) fn executions(&self) -> Vec<String> {
        let mut given: Vec<String> = self.forms.iter().map(|(key, _)| format!("--{key}")).collect();
        if let Some((platform, _)) = self.commands.0.first() {
            given.push(format!("--command-{platform}"));
        }
        if !self.steps.is_empty() {
            given.push("--step".to_owned());
        }
        given
    }

    pub(crate) fn step(&mut self, name: String, command: String) -> Done {
        let step = self.named_step(name)?;
        match step.command.replace(command) {
            None => Ok(()),
            Some(_) => Err(format!("gives `{}` twice", step.name)),
        }
    }

    pub(crate) fn step_command(&mut self, name: String, platform: &'static str, command: String) -> Done {
        self.named_step(name)?.commands.add(platform, command)
    }

    /// Opens the step of this name, and creates it when there is none.
    fn named_step(&mut self, name: String) -> Result<&mut StepDraft, String> {
        let index = self.steps.iter().position(|step| step.name == name).unwrap_or_else(|| {
            self.steps.push(StepDraft { name, ..StepDraft::default() });
            self.steps.len() - 1
        });
        self.open = Some((Group::Step, index));
        self.open_step()
    }

    /// The step that modifiers belong to.
    pub(crate) fn open_step(&mut self) -> Result<&mut StepDraft, String> {
        match self.open {
            Some((Group::Step, index)) => self.steps.get_mut(index),
            _ => None,
        }
        .ok_or_else(|| "belongs to a step".to_owned())
    }

    pub(crate) fn parameter(&mut self, parameter: ParameterDraft) -> Done {
        if self.parameters.iter().any(|known| known.name == parameter.name) {
            return Err(format!("gives `{}` twice", parameter.name));
        }
        self.parameters.push(parameter);
        self.open = Some((Group::Parameter, self.parameters.len() - 1));
        Ok(())
    }

    pub(crate) fn test(&mut self, name: String, description: String) -> Done {
        if self.tests.iter().any(|known| known.name == name) {
            return Err(format!("gives `{name}` twice"));
        }
        self.tests.push(TestDraft { name, description, ..TestDraft::default() });
        self.open = Some((Group::Test, self.tests.len() - 1));
        Ok(())
    }

    /// The test that modifiers belong to.
    pub(crate) fn open_test(&mut self) -> Result<&mut TestDraft, String> {
        match self.open {
            Some((Group::Test, index)) => self.tests.get_mut(index),
            _ => None,
        }
        .ok_or_else(|| "belongs to a test".to_owned())
    }

    /// The name of the open group, as it was written.
    pub(crate) fn open_group(&self) -> Option<(Group, &str)> {
        let (group, index) = self.open?;
        let name = match group {
            Group::Step => &self.steps.get(index)?.name,
            Group::Parameter => &self.parameters.get(index)?.name,
            Group::Test => &self.tests.get(index)?.name,
        };
        Some((group, name))
    }

    /// Writes the definition.
    pub(crate) fn to_yaml(&self, name: &str) -> String {
        let mut entries = vec![("name".to_owned(), Emit::text(name))];
        entries.extend(self.entries());
        document(&entries)
    }

    fn entries(&self) -> Vec<(String, Emit)> {
        let mut entries = Entries::default();
        entries.text("description", self.description.as_ref());
        for (key, text) in &self.forms {
            entries.text(key, Some(text));
        }
        entries.text("shell", self.shell.as_ref());
        entries.add("commands", self.commands.emit());
        entries.add("steps", sequence(self.steps.iter().map(StepDraft::emit).collect()));
        let parameters = self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.emit()));
        entries.add("parameters", mapping(parameters.collect()));
        entries.add("tags", flow(&self.tags));
        entries.add("platforms", flow(&self.platforms));
        entries.add("timeout", self.timeout.as_deref().map(number));
        entries.text("working-directory", self.working_directory.as_ref());
        entries.text("input", self.input.as_ref());
        let mut environment = Entries::default();
        environment.add("variables", mapping(texts(&self.variables)));
        environment.add("inherit", self.inherit.as_deref().map(boolean));
        entries.add("environment", mapping(environment.0));
        let mut security = Entries::default();
        security.text("execution-privilege", self.privilege.as_ref());
        security.text("isolation", self.isolation.as_ref());
        security.add("required-permissions", sequence(self.permissions.iter().map(Emit::text).collect()));
        entries.add("security", mapping(security.0));
        entries.add("tests", sequence(self.tests.iter().map(|test| test.emit(&self.parameters)).collect()));
        entries.0
    }
}

/// Writes a definition with an empty line around what takes several.
pub(crate) fn document(entries: &[(String, Emit)]) -> String {
    let mut text = String::new();
    let mut previous_is_block = false;
    for (key, value) in entries {
        let is_block = matches!(value, Emit::Mapping(_) | Emit::Sequence(_));
        let entry = to_yaml(&Emit::Mapping(vec![(key.clone(), value.clone())]));
        // An empty line behind a text that keeps its line ends would become part of it.
        let keeps_ends = text.contains("|+\n") || text.contains("|2+\n");
        if (is_block || previous_is_block) && !text.is_empty() && !keeps_ends {
            text.push('\n');
        }
        previous_is_block = is_block;
        text.push_str(&entry);
    }
    text
}

impl StepDraft {
    fn emit(&self) -> Emit {
        let mut entries = Entries::default();
        entries.text("name", Some(&self.name));
        entries.text("bash", self.command.as_ref());
        entries.add("commands", self.commands.emit());
        entries.text("run-condition", self.condition.as_ref());
        entries.flag("parallel", self.parallel);
        entries.add("wait-for", flow(&self.wait_for));
        entries.flag("continue-on-error", self.continue_on_error);
        entries.flag("on-failure", self.on_failure);
        let mut retry = Entries::default();
        retry.add("attempts", self.attempts.as_deref().map(number));
        retry.add("delay", self.delay.as_deref().map(number));
        let mut handling = Entries::default();
        handling.add("retry", mapping(retry.0));
        handling.text("fallback", self.fallback.as_ref());
        entries.add("error-handling", mapping(handling.0));
        let mut output = Entries::default();
        output.text("mode", self.output_mode.as_ref());
        output.add("buffer-limit", self.buffer_limit.as_deref().map(number));
        entries.add("output", mapping(output.0));
        Emit::Mapping(entries.0)
    }
}

impl TestDraft {
    fn emit(&self, declared: &[ParameterDraft]) -> Emit {
        let mut entries = Entries::default();
        entries.text("name", Some(&self.name));
        entries.text("description", Some(&self.description));
        let value = |(name, text): &(String, String)| {
            let kind = declared.iter().find(|parameter| parameter.name == *name).map_or("string", ParameterDraft::kind);
            (name.clone(), typed(text, kind))
        };
        entries.add("parameters", mapping(self.parameters.iter().map(value).collect()));
        let mut expected = Entries::default();
        let one_or_more = |texts: &[String]| match texts {
            [only] => Some(Emit::text(only)),
            _ => sequence(texts.iter().map(Emit::text).collect()),
        };
        expected.add("exit-code", self.exit_code.as_deref().map(number));
        expected.add("output-contains", one_or_more(&self.output));
        expected.add("file-exists", one_or_more(&self.files));
        entries.add("expected", mapping(expected.0));
        entries.add("cleanup", sequence(self.cleanup.iter().map(Emit::text).collect()));
        Emit::Mapping(entries.0)
    }
}

/// The entries of a mapping; what is absent is left out.
#[derive(Default)]
pub(super) struct Entries(pub(super) Vec<(String, Emit)>);

impl Entries {
    pub(super) fn add(&mut self, key: &str, value: Option<Emit>) {
        self.0.extend(value.map(|value| (key.to_owned(), value)));
    }

    pub(super) fn text(&mut self, key: &str, text: Option<&String>) {
        self.add(key, text.map(Emit::text));
    }

    fn flag(&mut self, key: &str, is_set: bool) {
        self.add(key, is_set.then(|| Emit::Bare("true".to_owned())));
    }
}

pub(super) fn mapping(entries: Vec<(String, Emit)>) -> Option<Emit> {
    (!entries.is_empty()).then_some(Emit::Mapping(entries))
}

fn sequence(items: Vec<Emit>) -> Option<Emit> {
    (!items.is_empty()).then_some(Emit::Sequence(items))
}

fn flow(texts: &[String]) -> Option<Emit> {
    (!texts.is_empty()).then(|| Emit::FlowSequence(texts.iter().map(Emit::text).collect()))
}

fn texts(pairs: &[(String, String)]) -> Vec<(String, Emit)> {
    pairs.iter().map(|(name, value)| (name.clone(), Emit::text(value))).collect()
}

/// A number where the text is one; anything else is left to the loader to judge.
pub(super) fn number(text: &str) -> Emit {
    typed(text, "number")
}

pub(super) fn boolean(text: &str) -> Emit {
    typed(text, "boolean")
}
