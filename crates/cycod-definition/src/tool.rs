//! The definition of a tool, as one file gives it.

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc, time::Duration};

use cycod_schedule::Schedule;
use cycod_shell::{Directory, Programs};
use cycod_syntax::template::{Reference, Template, TemplatePart};
use serde_json::Value as Json;

use crate::{
    Caching, ChangelogEntry, Cleanup, Command, CommandText, Deprecation, Environment, FilePaths, FleetWorkspace,
    FunctionCalling, Handler, Hints, Interactive, JsonSchema, Level, Literal, Metadata, OfferedAs, OnLost, Parameter,
    Platform, Produces, Requires, Resources, RunSite, Secret, Security, Stated, Step, StepAction, TaskSupport,
    TestCase, ToolPage, ToolQuestion, ToolUse, Value, order::Place,
};

/// The name of a tool: `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`, compared without regard to case.
#[derive(Clone, Debug)]
pub struct ToolName(String);

impl ToolName {
    /// Returns the name, or nothing when `text` is not of the required form.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = text.bytes();
        let starts_well = bytes.next().is_some_and(|first| first.is_ascii_alphanumeric());
        let goes_on_well = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
        (starts_well && goes_on_well && text.len() <= 64).then(|| Self(text.to_owned()))
    }

    /// The name as its author wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which names are compared.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for ToolName {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for ToolName {}

/// A tool, as one file defines it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is called.
    pub name: ToolName,
    /// What it is for, in its author's words. An alias without one takes its base's.
    pub description: Option<String>,
    /// What people see instead of the name.
    pub title: Option<String>,
    /// The group it is listed under.
    pub group: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// The oldest version of this program that can run it.
    pub min_cycod_version: Option<semver::Version>,
    /// What it does.
    pub body: Body,
    /// What it takes, in source order.
    pub parameters: Vec<Parameter>,
    /// A JSON Schema for everything it takes, written out by its author; its properties are the parameters.
    pub input_schema: Option<JsonSchema>,
    /// The JSON Schema of its output. Present, the output is one JSON value that is held to it.
    pub returns: Option<JsonSchema>,
    /// What its standard output is.
    pub produces: Produces,
    /// What of its value matters most, in this order: names of properties, each with those that lead to it.
    pub rank: Vec<Vec<String>>,
    /// The page that hosts show for a call.
    pub page: Option<ToolPage>,
    /// How hosts are shown it.
    pub offer: OfferedAs,
    /// What its author says about its effects.
    pub hints: Hints,
    /// What is asked of others before it runs, in source order.
    pub asks: Vec<ToolQuestion>,
    /// Whether its processes are given a channel on which they report progress and log messages.
    pub reports: bool,
    /// Whether a host may, or must, run it as a task: something it looks in on later.
    pub task: TaskSupport,
    /// How its function-calling schema is made.
    pub function_calling: FunctionCalling,
    /// What it may do and how it is fenced in.
    pub security: Security,
    /// The environment of its processes.
    pub environment: Environment,
    /// Where it works and how paths are written.
    pub file_paths: FilePaths,
    /// Where it is found in lists.
    pub metadata: Metadata,
    /// How it is tested.
    pub tests: Vec<TestCase>,
    /// The smaller of `timeout` and `resources.timeout`; [`Tool::DEFAULT_TIMEOUT`] when neither is given. What the script
    /// engine runs has [`Tool::DEFAULT_ENGINE_TIMEOUT`].
    pub timeout: Option<Duration>,
    /// Where it works; empty means everywhere.
    pub platforms: BTreeSet<Platform>,
    /// Its top-level tags: the only ones with a security meaning.
    pub tags: Vec<String>,
    /// Whether a run that a crash interrupted can go on where it was.
    pub durable: bool,
    /// What follows when that interrupted a step, unless the step says so.
    pub on_lost: Option<OnLost>,
    /// When the team's hub starts it, once a member permits that.
    pub schedule: Option<Schedule>,
    /// Where it runs, unless the caller says so.
    pub on: RunSite,
    /// The labels that a worker must offer to run it on the fleet.
    pub runs_on: Vec<String>,
    /// The files of the project that it has on the fleet.
    pub workspace: FleetWorkspace,
    /// Whether the steps of a durable run stay with the worker that has begun it.
    pub keep_on: bool,
    /// How many of its steps run at once at the most.
    pub max_parallel: Option<usize>,
    /// The default of `continue-on-error` for every step, and whether a failing single command counts as success.
    pub ignore_errors: bool,
    /// What the first step reads from standard input.
    pub input: Option<Template>,
    /// Present when the tool talks with a person.
    pub interactive: Option<Interactive>,
    /// Limits and cleanup.
    pub resources: Resources,
    /// The files that a run keeps: patterns of paths from the working directory.
    pub artifacts: Vec<Template>,
    /// Present when the result of its one command is used again instead of running it.
    pub cache: Option<Caching>,
    /// What must be there for it to run.
    pub requires: Requires,
    /// What it says about programs that are not known.
    pub programs: Programs,
    /// What it rests on that another file says about programs.
    pub stated: Stated,
    /// Present when it should no longer be used.
    pub deprecated: Option<Deprecation>,
    /// Its history.
    pub changelog: Vec<ChangelogEntry>,
    /// A lower bound of the level by `risky` and `riskLevel`; never lowers it.
    pub declared_risk: Option<Level>,
    /// Whether its author has it switched on; one that is off is listed, and neither offered nor run.
    pub enabled: bool,
    /// What its author says it costs a model, in tokens.
    pub token_cost: Option<u64>,
    /// Whether anything in it refers to `{TEMP}`, so that a run needs a directory of its own.
    pub uses_temp: bool,
    /// What its file says that has no effect, each with its line.
    pub ignored: Vec<String>,
    /// What it was read from.
    pub origin: SourceOrigin,
}

/// What a tool was read from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceOrigin {
    /// All that is said about it, as [`exact_json`](crate::exact_json) writes it.
    pub document: Arc<Json>,
    /// Its file, when it is in one.
    pub file: Option<PathBuf>,
}

/// What a tool does when it is called.
#[derive(Clone, Debug)]
pub enum Body {
    /// Runs one command.
    Command(Command),
    /// Runs steps along their dependencies.
    Steps(Vec<Step>),
    /// Calls another tool.
    Use(ToolUse),
    /// Is another tool with other defaults.
    Alias {
        /// The tool behind it.
        base: String,
        /// Defaults that replace the base's.
        defaults: Vec<(String, Literal)>,
    },
    /// Calls a function in a language.
    Handler(Handler),
    /// Is carried out by this program itself, which knows it by this name, whatever an alias of it is called.
    BuiltIn(ToolName),
    /// Is offered by another program over the Model Context Protocol.
    Remote(RemoteTool),
}

/// What is asked of another program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteRequest {
    /// To carry out a tool.
    #[default]
    Tool,
    /// To read a resource.
    Resource,
    /// To fill in a prompt.
    Prompt,
    /// To complete a value of a prompt, or of a template of resources.
    Completion,
}

impl RemoteRequest {
    /// The method of the Model Context Protocol.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tool => "tools/call",
            Self::Resource => "resources/read",
            Self::Prompt => "prompts/get",
            Self::Completion => "completion/complete",
        }
    }
}

/// A tool of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteTool {
    /// The server, as it is called in the configuration.
    pub server: String,
    /// What the server calls the tool; of another request, `resource:ADDRESS` or `prompt:NAME`.
    pub tool: String,
    /// What is asked of the server.
    pub request: RemoteRequest,
    /// The arguments that its user fixed: every call has them, and no caller gives them.
    pub fixed: Vec<(String, Value)>,
    /// The most of its output that a model gets at once, in tokens.
    pub output_tokens: Option<usize>,
}

impl RemoteTool {
    /// A tool of a server, about which its user said nothing.
    pub fn new(server: impl Into<String>, tool: impl Into<String>) -> Self {
        let (server, tool) = (server.into(), tool.into());
        Self { server, tool, request: RemoteRequest::Tool, fixed: Vec::new(), output_tokens: None }
    }

    /// The fixed argument that a caller means by `name`, whatever the case: servers may not tell them apart.
    pub fn fixed_argument(&self, name: &str) -> Option<&str> {
        let folded = name.to_lowercase();
        self.fixed.iter().map(|(fixed, _)| fixed.as_str()).find(|fixed| fixed.to_lowercase() == folded)
    }
}

impl fmt::Display for RemoteTool {
    /// Writes `SERVER/TOOL`, with the arguments that are fixed, and what else is asked than to carry it out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.request == RemoteRequest::Completion {
            f.write_str("complete a value of ")?;
        }
        write!(f, "{}/{}", self.server, self.tool)?;
        if self.fixed.is_empty() {
            return Ok(());
        }
        let fixed = self.fixed.iter().map(|(name, value)| (name.clone(), value.to_json()));
        write!(f, ", always with {}", Json::Object(fixed.collect()))
    }
}

/// What reaches a command beside its own text.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'a> {
    /// Variables of its step.
    pub(crate) environment: &'a [(String, Template)],
    /// What it reads from standard input.
    pub(crate) input: Option<&'a Template>,
    /// It is meant for certain platforms only.
    pub(crate) is_elsewhere: bool,
    /// Where it works.
    pub(crate) directory: Directory,
    /// When it runs, among the commands of its tool.
    pub(crate) when: When<'a>,
}

impl When<'_> {
    /// Its place in the order of the commands of a tool, of which it is the one of this number.
    pub(crate) fn place(self, number: usize) -> Place {
        match self {
            Self::Alone => Place::Step(0, 0),
            Self::Step { index, is_fallback, .. } => Place::Step(index, usize::from(is_fallback)),
            Self::Cleanup | Self::Tested(_) => Place::Behind(number),
        }
    }
}

impl Reached<'_> {
    /// Nothing reaches it, and where it works is not known.
    pub(crate) const NOTHING: Self =
        Self { environment: &[], input: None, is_elsewhere: false, directory: Directory::Other, when: When::Alone };
}

/// When a command runs, among those of its tool.
#[derive(Clone, Copy)]
pub(crate) enum When<'a> {
    /// It is the tool's only one.
    Alone,
    /// As this step, or as its fallback.
    Step { index: usize, step: &'a Step, is_fallback: bool },
    /// Behind all steps, to clean up.
    Cleanup,
    /// Behind the test of this name.
    Tested(&'a str),
}

/// Where commands work whose author says this about it.
fn directory(template: Option<&Template>) -> Directory {
    let Some(template) = template else { return Directory::Usual };
    match template.segments.as_slice() {
        [TemplatePart::Text(text)] if text == "." => Directory::Usual,
        [TemplatePart::Hole(hole)] if hole.to_string() == "{WORKSPACE}" => Directory::OfProject,
        _ => Directory::Other,
    }
}

impl Tool {
    /// The default of `timeout`.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// The default of `timeout` for what the script engine of this program runs.
    pub const DEFAULT_ENGINE_TIMEOUT: Duration = Duration::from_secs(30);

    /// The built-in tool that carries it out.
    pub fn built_in(&self) -> Option<&ToolName> {
        match &self.body {
            Body::BuiltIn(name) => Some(name),
            _ => None,
        }
    }

    /// Whether the built-in tool called `name` carries it out.
    pub fn is_built_in(&self, name: &str) -> bool {
        self.built_in().is_some_and(|built_in| built_in.as_str().eq_ignore_ascii_case(name))
    }

    /// The parameter called `name`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The parameter that a caller means by `name`: the one of this very name, else the only one that differs just in case.
    pub fn parameter_meant(&self, name: &str) -> Option<usize> {
        let parameters = &self.parameters;
        if let Some(index) = parameters.iter().position(|parameter| parameter.name == name) {
            return Some(index);
        }
        let folded = name.to_lowercase();
        let mut alike = (0..parameters.len()).filter(|index| parameters[*index].name.to_lowercase() == folded);
        let first = alike.next();
        if alike.next().is_some() { None } else { first }
    }

    /// The parameter that an argument of this name is given to.
    pub fn parameter_given(&self, name: &str) -> Option<&Parameter> {
        self.parameters.get(self.parameter_meant(name)?)
    }

    /// Whether the author's schema leaves open what else may be given.
    pub fn takes_more(&self) -> bool {
        self.input_schema.as_ref().is_some_and(|schema| {
            let schema = schema.json();
            schema.get("properties").is_none()
                || schema.get("patternProperties").is_some()
                || schema.get("additionalProperties").is_some_and(|more| *more != false)
        })
    }

    /// The environment variables that must be there when it runs: what it requires and is not given otherwise.
    pub fn required_variables(&self) -> impl Iterator<Item = &str> {
        let is_given = |name: &str| {
            self.environment.variables.iter().any(|(known, _)| known == name)
                || self.kept_secrets().any(|secret| secret.name == name)
        };
        self.requires.env.iter().map(String::as_str).filter(move |name| !is_given(name))
    }

    /// The programs that must be on the caller's `PATH` when it runs; on a `PATH` of its own nobody can look before.
    pub fn required_commands(&self) -> impl Iterator<Item = &str> {
        let has_path = self.environment.variables.iter().any(|(name, _)| name.eq_ignore_ascii_case("PATH"));
        self.requires.commands.iter().map(String::as_str).filter(move |_| !has_path)
    }

    /// The parameters that a caller gives; the others are answers to the tool's questions.
    pub fn given_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.asked)
    }

    /// The answers that a question needs, by parameter: those its words and the defaults of its fields refer to, directly
    /// or through other defaults.
    pub fn answers_for<'a>(&'a self, ask: &'a ToolQuestion) -> BTreeSet<&'a str> {
        let in_default = |name: &str| -> Vec<&str> {
            let default = self.parameter(name).and_then(|parameter| parameter.default.as_ref());
            default.map(Literal::templates).into_iter().flatten().flat_map(parameters_in).collect()
        };
        let mut pending: Vec<&str> = ask.words().into_iter().flat_map(parameters_in).collect();
        pending.extend(ask.fields.iter().flat_map(|field| in_default(field)));
        let mut seen = BTreeSet::new();
        while let Some(name) = pending.pop() {
            if seen.insert(name) {
                pending.extend(in_default(name));
            }
        }
        seen.retain(|name| self.parameter(name).is_some_and(|parameter| parameter.asked));
        seen
    }

    /// The secrets that neither a parameter nor a variable gives, so that a run has to be given them; those of steps too.
    pub fn kept_secrets(&self) -> impl Iterator<Item = &Secret> {
        let steps = match &self.body {
            Body::Steps(steps) => steps.as_slice(),
            _ => &[],
        };
        let environments = std::iter::once(&self.environment).chain(steps.iter().map(|step| &step.environment));
        environments.flat_map(|environment| self.kept_in(environment))
    }

    /// The secrets of `environment`, the tool's or a step's, that neither a parameter nor a variable gives.
    pub fn kept_in<'a>(&'a self, environment: &'a Environment) -> impl Iterator<Item = &'a Secret> {
        let is_given = |secret: &Secret| {
            self.parameter(&secret.name).is_some() || environment.sets(secret) || self.environment.sets(secret)
        };
        environment.secrets.iter().filter(move |secret| !is_given(secret))
    }

    /// Every command the tool can run: its own or its steps', fallbacks, cleanup, and the cleanup of its tests.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        let (own, steps) = match &self.body {
            Body::Command(command) => (Some(command), &[][..]),
            Body::Steps(steps) => (None, steps.as_slice()),
            Body::Use(_) | Body::Alias { .. } | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => {
                (None, &[][..])
            }
        };
        let of_steps = steps.iter().flat_map(|step| {
            let action = match &step.action {
                StepAction::Command(command) => Some(command),
                StepAction::Use(_) => None,
            };
            action.into_iter().chain(&step.fallback)
        });
        let cleanup = self.resources.cleanup.iter().filter_map(|action| match action {
            Cleanup::Command(command) => Some(command),
            Cleanup::DeleteTempFiles => None,
        });
        let of_tests = self.tests.iter().flat_map(|test| &test.cleanup);
        own.into_iter().chain(of_steps).chain(cleanup).chain(of_tests)
    }

    /// Every command text with what reaches it beside the tool's own variables.
    pub(crate) fn command_texts(&self) -> Vec<(&CommandText, Reached<'_>)> {
        let directory = directory(self.file_paths.working_directory.as_ref());
        let when = When::Alone;
        let nothing = Reached { environment: &[], input: None, is_elsewhere: false, directory, when };
        let own = Reached { input: self.input.as_ref(), ..nothing };
        let mut commands: Vec<(&Command, Reached<'_>)> = Vec::new();
        match &self.body {
            Body::Command(command) => commands.push((command, own)),
            Body::Steps(steps) => {
                for (index, step) in steps.iter().enumerate() {
                    let input = step.input.as_ref().or(if index == 0 { own.input } else { None });
                    let directory = step.working_directory.as_ref().map_or(directory, |own| self::directory(Some(own)));
                    let reached = Reached { environment: &step.environment.variables, input, directory, ..nothing };
                    let action = match &step.action {
                        StepAction::Command(command) => Some(command),
                        StepAction::Use(_) => None,
                    };
                    for (is_fallback, command) in [(false, action), (true, step.fallback.as_ref())] {
                        let when = When::Step { index, step, is_fallback };
                        commands.extend(command.map(|command| (command, Reached { when, ..reached })));
                    }
                }
            }
            _ => {}
        }
        let cleanup = self.resources.cleanup.iter().filter_map(|action| match action {
            Cleanup::Command(command) => Some(command),
            Cleanup::DeleteTempFiles => None,
        });
        commands.extend(cleanup.map(|command| (command, Reached { when: When::Cleanup, ..nothing })));
        for test in &self.tests {
            let when = When::Tested(&test.name);
            commands.extend(test.cleanup.iter().map(|command| (command, Reached { when, ..nothing })));
        }
        let texts = commands.into_iter().flat_map(|(command, reached)| {
            command.texts_by_place().map(move |(text, is_elsewhere)| (text, Reached { is_elsewhere, ..reached }))
        });
        texts.collect()
    }

    /// Every command text with the variables that are set for it, in the order of its verdicts, and with what it reads.
    pub fn surroundings(
        &self,
    ) -> impl Iterator<Item = (&CommandText, impl Iterator<Item = &Template>, Option<&Template>)> {
        self.command_texts().into_iter().map(|(text, reached)| {
            let variables = self.environment.variables.iter().chain(reached.environment).map(|(_, value)| value);
            (text, variables, reached.input)
        })
    }

    /// Calls `visit` for every command text, in the order of [`Tool::command_texts`].
    pub(crate) fn each_command_text_mut(&mut self, visit: &mut dyn FnMut(&mut CommandText)) {
        let mut command = |command: &mut Command| command.each_text_mut(visit);
        match &mut self.body {
            Body::Command(own) => command(own),
            Body::Steps(steps) => {
                for step in steps {
                    if let StepAction::Command(own) = &mut step.action {
                        command(own);
                    }
                    step.fallback.iter_mut().for_each(&mut command);
                }
            }
            _ => {}
        }
        for action in &mut self.resources.cleanup {
            if let Cleanup::Command(own) = action {
                command(own);
            }
        }
        self.tests.iter_mut().flat_map(|test| &mut test.cleanup).for_each(&mut command);
    }

    /// Every template by which the tool makes something of values, the formats of its parameters included.
    pub fn templates(&self) -> Vec<&Template> {
        let mut templates: Vec<&Template> =
            self.commands().flat_map(Command::texts).map(|text| &text.template).collect();
        match &self.body {
            Body::Steps(steps) => templates.extend(steps.iter().flat_map(Step::templates)),
            Body::Use(tool_use) => {
                tool_use.with.iter().for_each(|(_, value)| value.collect_templates(&mut templates));
            }
            Body::Alias { defaults, .. } => {
                defaults.iter().for_each(|(_, value)| value.collect_templates(&mut templates));
            }
            Body::Command(_) | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => {}
        }
        for parameter in &self.parameters {
            parameter.default.iter().for_each(|value| value.collect_templates(&mut templates));
            templates.extend(parameter.format.iter().map(|format| &format.template));
        }
        templates.extend(self.environment.variables.iter().map(|(_, value)| value));
        templates.extend(self.file_paths.working_directory.iter().chain(&self.file_paths.temp_directory));
        templates.extend(self.security.permissions.iter().map(|permission| &permission.target));
        templates.extend(self.asks.iter().filter_map(ToolQuestion::words));
        templates.extend(&self.artifacts);
        templates.extend(self.cache.iter().flat_map(Caching::templates));
        templates.extend(&self.input);
        templates.extend(self.interactive.iter().filter_map(|interactive| interactive.default_response.as_ref()));
        for test in &self.tests {
            test.parameters.iter().for_each(|(_, value)| value.collect_templates(&mut templates));
            let expected = &test.expected;
            let told = expected.output_contains.iter().chain(&expected.output_contains_any);
            templates.extend(told.chain(&expected.file_exists).chain(&expected.directory_exists));
        }
        templates
    }

    /// The tools this one calls or stands for, by name.
    pub fn uses(&self) -> Vec<&str> {
        match &self.body {
            Body::Command(_) | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => Vec::new(),
            Body::Use(tool_use) => vec![&tool_use.tool],
            Body::Alias { base, .. } => vec![base],
            Body::Steps(steps) => steps.iter().filter_map(Step::used_tool).collect(),
        }
    }
}

fn parameters_in(template: &Template) -> impl Iterator<Item = &str> {
    template.references().filter_map(|(reference, _)| match reference {
        Reference::Parameter(name) => Some(name.as_str()),
        _ => None,
    })
}
