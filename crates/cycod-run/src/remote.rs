use std::{fmt, sync::Arc, time::Instant};

use cycod_definition::{RemoteTool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_process::Stop;

/// The way to tools that other programs offer.
pub trait Remotes: fmt::Debug + Send + Sync {
    /// Whether tools of this server are called here.
    fn serves(&self, server: &str) -> bool;

    /// The keys and logins that a server is given by its own entry. A run never shows them, whatever the server answers.
    fn secrets(&self, server: &str) -> Vec<String>;

    /// Calls a tool and waits for its result, for the call's stop or for its deadline, whichever is first.
    ///
    /// What the other side says while it works goes to `follow`.
    ///
    /// # Errors
    /// A refusal when there is no result: the server does not start, does not answer or breaks the protocol, or the tool
    /// is blocked because its definition changed. A tool that says itself that it failed is not an error.
    fn call(&self, call: &RemoteCall<'_>, follow: &mut dyn FnMut(RemoteNews)) -> Result<ToolOutcome, Refusal>;
}

/// Several ways, each to servers of its own.
#[derive(Debug, Default)]
pub struct AllRemotes(Vec<Arc<dyn Remotes>>);

impl AllRemotes {
    /// Adds a way to servers to which none of the others leads.
    pub fn add(&mut self, remotes: Arc<dyn Remotes>) {
        self.0.push(remotes);
    }
}

impl Remotes for AllRemotes {
    fn serves(&self, server: &str) -> bool {
        self.0.iter().any(|remotes| remotes.serves(server))
    }

    fn secrets(&self, server: &str) -> Vec<String> {
        self.0.iter().find(|remotes| remotes.serves(server)).map(|remotes| remotes.secrets(server)).unwrap_or_default()
    }

    fn call(&self, call: &RemoteCall<'_>, follow: &mut dyn FnMut(RemoteNews)) -> Result<ToolOutcome, Refusal> {
        let RemoteTool { server, tool, .. } = call.tool;
        let Some(remotes) = self.0.iter().find(|remotes| remotes.serves(server)) else {
            let why = format!("`{tool}` belongs to the server `{server}`, and nothing here can reach it");
            return Err(Refusal::new(Code::RemoteUnreachable, why).place(server));
        };
        remotes.call(call, follow)
    }
}

/// What another program says about a call while it works.
#[derive(Clone, Debug, PartialEq)]
pub enum RemoteNews {
    /// How far it is.
    Progress {
        /// How much is done; it only grows.
        done: f64,
        /// How much there is to do.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// Something for the record.
    Log {
        /// How urgent it is, as syslog names it.
        level: &'static str,
        /// What it says.
        message: String,
    },
}

impl RemoteNews {
    /// Something that is neither urgent nor a sign of trouble.
    pub fn info(message: impl Into<String>) -> Self {
        Self::Log { level: "info", message: message.into() }
    }
}

impl fmt::Display for RemoteNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Progress { message: Some(message), .. } | Self::Log { message, .. } => f.write_str(message),
            Self::Progress { done, total: Some(total), .. } => write!(f, "{done}/{total}"),
            Self::Progress { done, .. } => write!(f, "{done}"),
        }
    }
}

/// One call of a tool of another program.
#[derive(Clone, Copy, Debug)]
pub struct RemoteCall<'a> {
    /// Which tool.
    pub tool: &'a RemoteTool,
    /// Its arguments, as they were bound; absent ones are left out, and so are those that are fixed.
    pub arguments: &'a [(String, Value)],
    /// Ends the call from outside.
    pub stop: &'a Stop,
    /// When it must have ended.
    pub deadline: Instant,
    /// How the other program learns in which span of a trace it works: names of W3C Trace Context with their values.
    pub trace: &'a [(&'static str, String)],
    /// For whom the tool is called: the user of this machine, or a principal that a server let in.
    pub principal: &'a str,
}

/// What a tool answered that is no process: another program's, a built-in one, a function.
#[derive(Clone, Debug, Default)]
pub struct ToolOutcome {
    /// Its text, for people, models and later steps.
    pub output: Vec<u8>,
    /// What went wrong, for people, models and later steps, where it is not in the output.
    pub error: Vec<u8>,
    /// Its content blocks as they were on the wire, for hosts that can show more than text.
    pub blocks: Option<serde_json::Value>,
    /// Its structured content.
    pub structured: Option<serde_json::Value>,
    /// What another program says to hosts about it: an object, passed on as it is.
    pub meta: Option<serde_json::Value>,
    /// Whether it says of itself that it failed.
    pub is_error: bool,
}
