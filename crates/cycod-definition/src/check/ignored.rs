//! Keys that say how a command runs, where no command does: beside `use-tool`, and on an alias.
//!
//! The tool that is called, or stands behind the alias, brings its own environment, directory and limits. A key
//! that would have to reach into it is reported, because its author expects something that will not happen.

use cycod_diagnostic::{Code, Diagnostic};
use cycod_syntax::yaml::MappingEntry;

use crate::{
    Body, Environment, Isolation, Privilege, Security, Step, StepAction, Tool,
    lower::{Lowering, View},
};

/// Reports what a step that calls a tool cannot give to it; its `fallback`, if any, is a command and takes it all.
pub(crate) fn in_step(step: &Step, view: &View<'_>, lowering: &Lowering<'_>) {
    let StepAction::Use(tool_use) = &step.action else { return };
    if step.fallback.is_some() {
        return;
    }
    let report = |key: &str, entry: &MappingEntry, loss: Loss| {
        let message =
            format!("`{key}` has no effect on step `{}`, which calls the tool `{}`", step.name, tool_use.tool);
        not_for_a_tool(message, entry, loss, lowering);
    };
    for key in ["shell", "shell-options", "working-directory", "input"] {
        view.entry(key).into_iter().for_each(|entry| report(key, entry, Loss::Effect));
    }
    match view.entry("environment") {
        Some(entry) if restricts(&step.environment) => report("environment", entry, Loss::Restriction),
        entry => entry.into_iter().for_each(|entry| report("environment", entry, Loss::Effect)),
    }
    each_below(view, "output", |_| true, report);
}

/// Reports what concerns the commands of a tool that has none, because all it does is call others.
pub(crate) fn in_tool(tool: &Tool, view: &View<'_>, lowering: &Lowering<'_>) {
    if let (false, Some(entry)) = (matches!(tool.body, Body::Steps(_) | Body::Alias { .. }), view.entry("max-parallel"))
    {
        let message = "`max-parallel` has no effect on a tool without `steps`";
        lowering.sink.warning(Code::UnusedKey, entry.key_span, message);
    }
    let first_calls = match &tool.body {
        Body::Use(_) => true,
        Body::Steps(steps) => steps.first().is_some_and(|step| {
            matches!(step.action, StepAction::Use(_)) && step.fallback.is_none() && step.input.is_none()
        }),
        Body::Command(_) | Body::Alias { .. } | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => return,
    };
    if let (true, Some(entry)) = (first_calls, view.entry("input")) {
        let message = "`input` has no effect, because what would read it calls another tool";
        not_for_a_tool(message.to_owned(), entry, Loss::Effect, lowering);
    }
    let nothing_to_run = match &tool.body {
        Body::Steps(steps) => !steps.is_empty(),
        _ => true,
    };
    if !nothing_to_run || tool.commands().next().is_some() {
        return;
    }
    let report = |key: &str, entry: &MappingEntry, loss: Loss| {
        not_for_a_tool(format!("`{key}` has no effect on a tool that only calls others"), entry, loss, lowering);
    };
    for key in ["shell", "shell-options", "working-directory", "interactive", "interactive-options", "reports"] {
        let entry = view.entry(key).filter(|_| key != "interactive" || tool.interactive.is_some());
        entry.into_iter().for_each(|entry| report(key, entry, Loss::Effect));
    }
    each_below(view, "environment", |key| key != "secrets", report);
    each_below(view, "file-paths", |key| key == "working-directory", report);
    each_below(view, "resources", |key| key == "max-memory", report);
}

/// Reports what an alias cannot change about its base.
///
/// Confinement that would not be applied is an error: nothing runs with less of it than a file asks for.
pub(crate) fn in_alias(tool: &Tool, view: &View<'_>, lowering: &Lowering<'_>) {
    let Body::Alias { base, .. } = &tool.body else { return };
    let message = |key: &str| format!("`{key}` has no effect on an alias");
    let report = |key: &str, entry: &MappingEntry, loss: Loss| {
        let help = format!("set it in `{base}`, or remove it");
        let diagnostic = loss.diagnostic(Code::IgnoredByAlias, entry, message(key));
        lowering.sink.report(diagnostic.label(format!("`{base}` decides this")).help(help));
    };
    const KEYS: [&str; 29] = [
        "artifacts",
        "cache",
        "durable",
        "max-parallel",
        "on",
        "on-lost",
        "schedule",
        "runs-on",
        "workspace",
        "keep-on",
        "input-schema",
        "returns",
        "produces",
        "rank",
        "page",
        "hints",
        "asks",
        "reports",
        "task",
        "with",
        "shell",
        "shell-options",
        "working-directory",
        "ignore-errors",
        "input",
        "interactive",
        "interactive-options",
        "file-paths",
        "function-calling",
    ];
    for key in KEYS {
        view.entry(key).into_iter().for_each(|entry| report(key, entry, Loss::Effect));
    }
    each_below(view, "environment", |_| true, report);
    each_below(view, "resources", |key| key != "timeout", report);
    if let Some(entry) = view.entry("security") {
        if confines(&tool.security) {
            let diagnostic = Diagnostic::error(Code::IgnoredByAlias, entry.key_span, message("security"));
            lowering.sink.report(
                diagnostic
                    .label(format!("`{base}` decides this"))
                    .note("the tool would run with less confinement than this asks for")
                    .help(format!("move it to `{base}`")),
            );
        } else {
            report("security", entry, Loss::Effect);
        }
    }
}

fn confines(security: &Security) -> bool {
    security.privilege == Privilege::Reduced
        || security.isolation == Isolation::Container
        || !security.permissions.is_empty()
}

/// What is lost with a key that has no effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Something that would have been done, or done otherwise.
    Effect,
    /// Something that would have been kept from happening.
    Restriction,
}

impl Loss {
    fn diagnostic(self, code: Code, entry: &MappingEntry, message: String) -> Diagnostic {
        match self {
            Self::Effect => Diagnostic::warning(code, entry.key_span, message),
            Self::Restriction => Diagnostic::error(code, entry.key_span, message),
        }
    }
}

fn restricts(environment: &Environment) -> bool {
    !environment.inherit || !environment.secrets.is_empty()
}

fn not_for_a_tool(message: String, entry: &MappingEntry, loss: Loss, lowering: &Lowering<'_>) {
    lowering.sink.report(
        loss.diagnostic(Code::IgnoredWithUseTool, entry, message)
            .label("the tool decides this for itself")
            .help("give the tool a parameter for it and set that in `with`, or remove the key"),
    );
}

/// Visits the keys of the mapping at `outer` that `wanted` picks, by their full names.
fn each_below(view: &View<'_>, outer: &str, wanted: impl Fn(&str) -> bool, visit: impl Fn(&str, &MappingEntry, Loss)) {
    let Some(section) = view.object(outer) else { return };
    for entry in section.entries.iter().filter(|entry| wanted(&entry.key)) {
        let Some(key) = section.section.key(&entry.key) else { continue };
        let loss = if key.restricts { Loss::Restriction } else { Loss::Effect };
        visit(&format!("{outer}.{}", entry.key), entry, loss);
    }
}
