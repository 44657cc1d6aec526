use cycod_engine::{
    ArgumentProblem, EngineError, Instead, PlanError,
    diagnostic::{Code, Refusal},
};

use cycod_app::command_line::{pair, pair_or_place};

/// How long a command line may be that is written out to be given again.
const LONGEST: usize = 2000;

/// Why a command did not do what it was asked to, for the one place that shows it.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// The exit code.
    pub(crate) exit: u8,
    /// What is wrong: a lowercase fragment.
    pub(crate) message: String,
    /// The code of a page in `docs/errors/`, where there is one.
    pub(crate) code: Option<Code>,
    /// How to go on, one line each.
    pub(crate) hints: Vec<String>,
    /// The refusal of a call, for results that are read by programs.
    pub(crate) refusal: Option<Box<Refusal>>,
}

/// Exit codes that do not come from a tool.
pub(crate) mod exit {
    use cycod_engine::diagnostic::Exit;

    /// Something failed.
    pub(crate) const FAILURE: u8 = Exit::Failure.number();
    /// The command line is wrong.
    pub(crate) const USAGE: u8 = Exit::Usage.number();
    /// Running was not approved.
    pub(crate) const NOT_APPROVED: u8 = Exit::NotApproved.number();
    /// A limit of an agent was reached, other than that of time.
    pub(crate) const LIMIT: u8 = 4;
    /// A limit of time ended the run.
    pub(crate) const TIMED_OUT: u8 = Exit::TimedOut.number();
    /// The user pressed Ctrl-C.
    pub(crate) const INTERRUPTED: u8 = 130;
}

impl CommandError {
    /// A failure.
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self { exit: exit::FAILURE, message: message.into(), code: None, hints: Vec::new(), refusal: None }
    }

    /// A wrong command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: exit::USAGE, ..Self::failure(message) }
    }

    /// Arguments that do not fit their tool: every problem, each with its help.
    pub(crate) fn arguments(tool: &str, problems: Vec<ArgumentProblem>) -> Self {
        let mut hints = Vec::new();
        for (index, problem) in problems.iter().enumerate() {
            hints.extend((index > 0).then(|| format!("also: {}", problem.message)));
            hints.extend(problem.help.as_ref().map(|help| format!("help: {help}")));
        }
        let message = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        let again = problems.first().and_then(|problem| problem.instead.as_ref()).map(|instead| again(tool, instead));
        let mut refusal = PlanError::Arguments(problems).into_refusal(tool);
        if let Some(again) = again {
            hints.push(format!("try: {again}"));
            refusal.attempt = Some(again);
        }
        Self { exit: exit::USAGE, message, code: Some(refusal.code), hints, refusal: Some(Box::new(refusal)) }
    }

    /// Says how to go on.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// How a person calls `tool` again.
fn again(tool: &str, instead: &Instead) -> String {
    let whole = || {
        let given = instead.arguments.iter().chain(&instead.answers);
        let words: Option<Vec<String>> = given.map(|(name, value)| pair(name, value)).collect();
        Some(format!("cycod run {tool} {}", words?.join(" ")).trim_end().to_owned())
    };
    let part = || {
        let words: Vec<String> = instead.changes().map(|(name, value)| pair_or_place(name, value)).collect();
        let with = if words.is_empty() { String::new() } else { format!(" with {}", words.join(" ")) };
        format!("the same again{with}{}", instead.without())
    };
    whole().filter(|line| !instead.has_secret && line.len() <= LONGEST).unwrap_or_else(part)
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let rule = refusal.rule.as_ref().map(|rule| format!("rule: {rule}"));
        let attempt = refusal.attempt.as_ref().map(|attempt| {
            if attempt.starts_with("did you mean") { attempt.clone() } else { format!("try: {attempt}") }
        });
        Self {
            exit: refusal.code.exit().number(),
            message: refusal.why.clone(),
            code: Some(refusal.code),
            hints: rule.into_iter().chain(attempt).collect(),
            refusal: Some(Box::new(refusal)),
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        error.into_refusal().into()
    }
}
