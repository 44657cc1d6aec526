//! Checks that the result of what has `cache` can be used again, and that its author says what decides it.

use cycod_diagnostic::{Code, Diagnostic};
use cycod_syntax::yaml::{MappingEntry, Node};

use crate::{
    Body, OutputMode, Privilege, Step, StepAction, StreamTarget, Tool,
    lower::{Lowering, View},
};

/// Checks `cache` of a tool and of its steps.
pub(crate) fn check(tool: &Tool, view: &View<'_>, lowering: &Lowering<'_>) {
    // Of an alias it is ignored, which is reported.
    if let Some(entry) = view.entry("cache").filter(|_| !matches!(tool.body, Body::Alias { .. })) {
        let why = match &tool.body {
            Body::Command(_) => secrets_of(tool),
            Body::Steps(_) => Some("a tool with steps has no result of its own; give `cache` to the steps"),
            _ => Some("only the result of a command can be used again"),
        };
        check_one(entry, why, lowering);
        check_keys(view, lowering);
    }
    let Body::Steps(steps) = &tool.body else { return };
    for view in view.objects("steps") {
        let Some(step) = view.text("name").and_then(|name| steps.iter().find(|step| step.name == name.scalar.text))
        else {
            continue;
        };
        if let Some(entry) = view.entry("cache") {
            check_one(entry, secrets_of(tool).or_else(|| why_not(step)), lowering);
            check_keys(&view, lowering);
        }
    }
}

/// Why no result of a tool is ever used again.
fn secrets_of(tool: &Tool) -> Option<&'static str> {
    if !tool.environment.secrets.is_empty() {
        Some("it can read secrets, and a result that depends on one is never stored")
    } else if tool.parameters.iter().any(|parameter| parameter.sensitive) {
        Some("the tool has a sensitive parameter, and a result that depends on a secret is never stored")
    } else if tool.interactive.is_some() {
        Some("the tool asks the user, whose answers may differ")
    } else if tool.security.privilege == Privilege::Elevated {
        Some("it runs with elevated rights")
    } else {
        None
    }
}

/// Why the result of a step is never used again.
fn why_not(step: &Step) -> Option<&'static str> {
    let is_streamed =
        step.output.mode == OutputMode::Stream && matches!(step.output.stream_callback, StreamTarget::File(_));
    if matches!(step.action, StepAction::Use(_)) {
        Some("it calls a tool; give `cache` to what that tool runs")
    } else if !step.environment.secrets.is_empty() || !step.output.masked_values.is_empty() {
        Some("it can read secrets, and a result that depends on one is never stored")
    } else if is_streamed {
        Some("its output goes to a `stream-file`; name that file in `outputs`, and write it in the command")
    } else {
        None
    }
}

fn check_one(entry: &MappingEntry, why: Option<&str>, lowering: &Lowering<'_>) {
    if let Some(why) = why {
        let diagnostic = Diagnostic::error(Code::NotCacheable, entry.key_span, "`cache` isn't possible here");
        lowering.sink.report(diagnostic.label(why).help("remove `cache`"));
    }
}

/// Checks that the inputs are named, and that every path can lead to a file of the tool's own places.
fn check_keys(view: &View<'_>, lowering: &Lowering<'_>) {
    let (Some(cache), Some(entry)) = (view.object("cache"), view.entry("cache")) else { return };
    if !cache.entries.iter().any(|entry| entry.key == "inputs") {
        let diagnostic = Diagnostic::error(Code::NotCacheable, entry.key_span, "`cache` doesn't name its `inputs`");
        lowering.sink.report(
            diagnostic
                .label("cycod can't know which files decide the result")
                .help("add `inputs` with the files that it reads, or `inputs: []` if it reads none"),
        );
    }
    let elsewhere = |node: &&Node| node.as_scalar().is_some_and(|scalar| leads_out(&scalar.text));
    for node in cache.one_or_many("inputs").iter().chain(cache.one_or_many("outputs")).filter(elsewhere) {
        let message = "this path leads out of the working directory";
        lowering.sink.report(
            Diagnostic::error(Code::NotCacheable, node.span, message)
                .help("name a path below the working directory, or below `{TEMP}`; `working-directory` can be set"),
        );
    }
}

/// Whether a pattern as its author wrote it can't be below the working directory.
fn leads_out(pattern: &str) -> bool {
    pattern.starts_with('/') || pattern.starts_with('~') || pattern.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::SourceFile;

    fn codes(text: &str) -> Vec<&'static str> {
        let loaded = crate::load(&SourceFile::new("a.yaml", text), None);
        loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect()
    }

    #[test]
    fn what_depends_on_secrets_has_no_cache() {
        let tool =
            |more: &str| format!("name: a\ndescription: b\nbash: ls\ncache: {{inputs: []}}\ntags: [read]\n{more}\n");
        assert_eq!(codes(&tool("")), [""; 0]);
        assert_eq!(codes(&tool("environment: {secrets: [T]}")), ["not-cacheable"]);
        assert_eq!(codes(&tool("security: {execution-privilege: elevated}")), ["not-cacheable"]);
        let secret = "name: a\ndescription: b\nbash: echo \"{P}\"\ncache: {inputs: []}\nparameters: {P: {type: string, description: d, sensitive: true}}\n";
        assert_eq!(codes(secret), ["not-cacheable"]);
        let masked = "name: a\ndescription: b\nsteps: [{name: s, bash: ls, cache: {inputs: []}, output: {masked-values: [hidden]}}]\n";
        assert_eq!(codes(masked), ["not-cacheable"]);
    }

    #[test]
    fn only_a_command_has_a_cache() {
        let calls = "name: a\ndescription: b\nuse-tool: x\ncache: {inputs: []}\n";
        assert_eq!(codes(calls), ["not-cacheable"]);
        let steps = "name: a\ndescription: b\ncache: {inputs: []}\nsteps: [{name: s, bash: ls}]\n";
        assert_eq!(codes(steps), ["not-cacheable"]);
        let step = "name: a\ndescription: b\nsteps: [{name: s, use-tool: x, cache: {inputs: []}}]\n";
        assert_eq!(codes(step), ["not-cacheable"]);
    }

    #[test]
    fn inputs_are_named_and_near() {
        let tool = |cache: &str| format!("name: a\ndescription: b\nbash: ls\ncache: {cache}\n");
        assert_eq!(codes(&tool("{outputs: [a]}")), ["not-cacheable"]);
        assert_eq!(codes(&tool("{inputs: ['src/**']}")), [""; 0]);
        for out in ["/etc/passwd", "../a", "~/a", "a/../../b"] {
            assert_eq!(codes(&tool(&format!("{{inputs: ['{out}']}}"))), ["not-cacheable"], "{out}");
            assert_eq!(codes(&tool(&format!("{{inputs: [], outputs: ['{out}']}}"))), ["not-cacheable"], "{out}");
        }
        assert_eq!(codes(&tool("{inputs: [], key: x}")), ["unknown-key"]);
    }
}
