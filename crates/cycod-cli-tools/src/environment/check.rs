use serde_json::{Map, Value as Json, json};

/// What was looked at, and how it is.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// What it is called, in snake case.
    pub(crate) name: String,
    /// What it belongs to, for people.
    group: &'static str,
    state: State,
    /// What was found.
    pub(crate) message: String,
    /// How to fix it: a command where there is one.
    pub(crate) fix: Option<String>,
    /// Programs that something here cannot do without.
    pub(crate) missing: Vec<String>,
    pub(crate) details: Map<String, Json>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// It is not there, and nobody here needs it.
    Absent,
    /// Something that not everybody needs, or that may become a failure.
    Warning,
    Failed,
}

impl Check {
    pub(crate) fn ok(group: &'static str, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(group, name.into(), State::Ok, message.into())
    }

    pub(crate) fn absent(group: &'static str, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(group, name.into(), State::Absent, message.into())
    }

    pub(crate) fn warning(group: &'static str, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(group, name.into(), State::Warning, message.into())
    }

    pub(crate) fn failed(group: &'static str, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(group, name.into(), State::Failed, message.into())
    }

    fn new(group: &'static str, name: String, state: State, message: String) -> Self {
        Self { name, group, state, message, fix: None, missing: Vec::new(), details: Map::new() }
    }

    /// Says how to fix it.
    #[must_use]
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Names a program that something here cannot do without.
    #[must_use]
    pub(crate) fn missing(mut self, program: impl Into<String>) -> Self {
        self.missing.push(program.into());
        self
    }

    /// Adds what only who asks for it is told.
    #[must_use]
    pub(crate) fn detail(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.state != State::Failed
    }

    pub(crate) fn is_warning(&self) -> bool {
        self.state == State::Warning
    }

    /// Whether it is there and as it should be.
    pub(crate) fn is_ok(&self) -> bool {
        self.state == State::Ok
    }

    pub(crate) fn health(&self) -> &'static str {
        match self.state {
            State::Ok | State::Absent => "healthy",
            State::Warning => "degraded",
            State::Failed => "unhealthy",
        }
    }

    pub(crate) fn to_json(&self, verbose: bool) -> Json {
        let status = match self.state {
            State::Ok => "ok",
            State::Absent => "absent",
            State::Warning => "warning",
            State::Failed => "failed",
        };
        let mut json = json!({
            "name": self.name, "group": self.group, "passed": self.has_passed(), "status": status,
            "message": self.message,
        });
        if let Some(fix) = &self.fix {
            json["fix"] = json!(fix);
        }
        if verbose && !self.details.is_empty() {
            json["details"] = Json::Object(self.details.clone());
        }
        json
    }
}

/// Names things, the first few of them.
pub(crate) fn named(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Counts things.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
