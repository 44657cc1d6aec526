//! How a tool meets its callers, beside what it takes: what it gives back, how hosts see it, and what it asks others.

use cycod_syntax::template::Template;

/// What a tool's standard output is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Produces {
    /// Text for people and models.
    #[default]
    Text,
    /// One JSON value. Implied by `returns`.
    Json,
    /// A JSON array of content blocks: text, images, audio, resources and links.
    Blocks,
    /// The bytes of one file of this media type.
    Media(String),
}

/// How a host is shown the tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OfferedAs {
    /// As a tool that models call.
    #[default]
    Tool,
    /// As a prompt that people choose: what it prints becomes the message.
    Prompt,
    /// As a resource: what it prints is the resource's content.
    Resource {
        /// Its address; with `{parameter}` in it, a template of addresses (RFC 6570, level 1).
        uri: String,
    },
}

/// Whether a tool can run as a task, on hosts that know them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// It is called, and answers.
    #[default]
    Never,
    /// As a task wherever the host knows them, else as a call.
    Offered,
    /// Only as a task.
    Required,
}

/// A page that shows a call of a tool, on hosts that know such pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolPage {
    /// A list of objects, a row for each.
    Table,
    /// Numbers, each by its key.
    Chart,
    /// The steps of a workflow, with what each waits for.
    Graph,
    /// The parameters, to fill in and call it again.
    Form,
}

impl ToolPage {
    /// All of them.
    const ALL: [Self; 4] = [Self::Table, Self::Chart, Self::Graph, Self::Form];

    /// The names of all of them.
    pub const NAMES: &[&str] = &["table", "chart", "graph", "form"];

    /// What it is called in files and in addresses.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The one with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.name() == name)
    }
}

/// What the author says about a tool's effects. For our own tools only; nobody else's hints lower a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Doing it twice is the same as doing it once.
    pub idempotent: Option<bool>,
    /// It reaches things outside this machine.
    pub open_world: Option<bool>,
}

/// Something that is asked before the tool runs, of somebody other than its caller.
///
/// Its answers are parameters of the tool that no caller can give and no model sees in the schema.
#[derive(Clone, Debug)]
pub struct ToolQuestion {
    /// What it is called; the key of the question on the wire.
    pub name: String,
    /// Who is asked, and what.
    pub whom: Whom,
    /// The parameters that the answer fills, by name: those of a form, else the one called like the question.
    pub fields: Vec<String>,
    /// Whether it is asked while the tool runs as a task, not before, where it does run as one.
    pub within_task: bool,
}

impl ToolQuestion {
    /// The words of the question, where it has any.
    pub fn words(&self) -> Option<&Template> {
        match &self.whom {
            Whom::Person { message } | Whom::Consent { message } => Some(message),
            Whom::Model { prompt, .. } => Some(prompt),
            Whom::Roots => None,
        }
    }
}

/// Whom a question goes to.
#[derive(Clone, Debug)]
pub enum Whom {
    /// The person at the host, in a form with the question's fields.
    Person {
        /// What is asked. May refer to parameters; a question that refers to another's answer comes after it.
        message: Template,
    },
    /// The person at the host, for nothing but consent: the parameter is true then.
    Consent {
        /// What is asked. May refer to parameters.
        message: Template,
    },
    /// The host's model.
    Model {
        /// What is asked.
        prompt: Template,
        /// How long the answer may be, in tokens.
        max_tokens: u32,
    },
    /// The host: which directories it works in. The answer is a list of addresses.
    Roots,
}
