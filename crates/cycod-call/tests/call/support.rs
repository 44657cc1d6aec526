use std::{
    fmt::Write as _,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use cycod_call::{
    ArgumentProblem, Call, Given, NoSteps, OwnedPiece, OwnedWords, RunContext, ScriptFailed, StepValue, Steps,
    TransformRunner, ValueOrigin, json,
};
use cycod_definition::{Body, Command, Host, Literal, Platform, StepAction, Tool, Value, load};
use cycod_diagnostic::{SourceFile, visible};
use cycod_syntax::template::{KnownNames, StepAttribute, Template};
use expect_test::Expect;

pub(crate) fn tool(yaml: &str) -> Arc<Tool> {
    let loaded = load(&SourceFile::new("t.yaml", yaml), Some("t"));
    let problems: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    Arc::new(loaded.tool.unwrap_or_else(|| panic!("the tool of a test loads: {problems:?}")))
}

/// A tool whose one command is `command`, with `parameters` in YAML below `parameters:`.
pub(crate) fn command_tool(command: &str, parameters: &str) -> Arc<Tool> {
    let parameters: String = parameters.trim_matches('\n').lines().map(|line| format!("  {line}\n")).collect();
    let command = command.replace('\'', "''");
    tool(&format!(
        "name: t\ndescription: d\nprograms: {{f: text, x: text}}\nbash: '{command}'\nparameters:\n{parameters}"
    ))
}

pub(crate) fn host(platform: Platform) -> Arc<Host> {
    let environment =
        [("LANG", "C"), ("API_TOKEN", "s3cr3t-value"), ("JAVA_HOME", "/opt/java 21"), ("TOKENIZERS", "true")];
    Arc::new(Host {
        platform,
        home: PathBuf::from("/home/ada"),
        working_directory: PathBuf::from("/work dir/sub"),
        workspace: PathBuf::from("/work dir"),
        temp: PathBuf::from("/tmp"),
        environment: environment.map(|(name, value)| (name.into(), value.into())).into_iter().collect(),
        now: SystemTime::UNIX_EPOCH + Duration::from_millis(1_709_164_799_999),
        offered: cycod_definition::OfferedConfinement::nothing(),
    })
}

pub(crate) fn run_context() -> RunContext {
    RunContext { temp: PathBuf::from("/tmp/run-1"), tool_name: "my-alias".to_owned() }
}

/// Scripts without an engine: the script is the name of what to do.
pub(crate) struct TestScripts;

impl TransformRunner for TestScripts {
    fn transform(&self, script: &str, value: &Value) -> Result<Value, ScriptFailed> {
        match (script, value) {
            ("value.exclaim()", Value::Text(text)) => Ok(Value::Text(format!("{text}!"))),
            ("value.count()", Value::Text(text)) => Ok(Value::Number(text.len().to_string())),
            ("value.nul()", _) => Ok(Value::Text("a\0b".to_owned())),
            _ => Err(ScriptFailed(format!("{script}: not a function"))),
        }
    }
}

/// `K=V` is text from a command line, `K:=V` is JSON.
pub(crate) fn arguments(given: &[&str]) -> Vec<(String, Given)> {
    given
        .iter()
        .map(|argument| {
            let (name, text) = argument.split_once('=').expect("an argument of a test holds `=`");
            match name.strip_suffix(':') {
                Some(name) => (name.to_owned(), Given::Value(json::parse(text).expect("JSON of a test"))),
                None => (name.to_owned(), Given::Text(text.to_owned())),
            }
        })
        .collect()
}

pub(crate) fn try_bind(tool: &Arc<Tool>, given: &[&str]) -> Result<Call, Vec<ArgumentProblem>> {
    cycod_call::bind(tool, arguments(given), &host(Platform::Linux), &run_context(), &TestScripts)
}

#[track_caller]
pub(crate) fn bind(tool: &Arc<Tool>, given: &[&str]) -> Call {
    try_bind(tool, given).expect("the arguments of a test are right")
}

/// A template as a file of this tool would have it.
pub(crate) fn template(tool: &Tool, text: &str) -> Template {
    let steps = match &tool.body {
        Body::Steps(steps) => steps.iter().map(|step| step.name.clone()).collect(),
        _ => Vec::new(),
    };
    let parameters = tool.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    cycod_syntax::template::parse(
        text,
        |at| u32::try_from(at).expect("a short text"),
        &KnownNames { parameters, steps, ..KnownNames::default() },
    )
    .0
}

pub(crate) fn text_literal(tool: &Tool, text: &str) -> Literal {
    Literal::Text(template(tool, text))
}

/// The command of a tool of one command, or of its last step.
pub(crate) fn command(tool: &Tool) -> &Template {
    let command = match &tool.body {
        Body::Command(command) => command,
        Body::Steps(steps) => match &steps.last().expect("a step").action {
            StepAction::Command(command) => command,
            StepAction::Use(_) => panic!("the last step has a command"),
        },
        _ => panic!("the tool has a command"),
    };
    match command {
        Command::One(text) => &text.template,
        Command::ByPlatform(_) => panic!("the command is the same everywhere"),
    }
}

/// Everything a call knows, or everything that is wrong.
pub(crate) fn describe(result: &Result<Call, Vec<ArgumentProblem>>) -> String {
    let mut shown = String::new();
    match result {
        Ok(call) => {
            for bound in &call.values {
                let origin = match bound.origin {
                    ValueOrigin::Given => "given",
                    ValueOrigin::Default => "default",
                    ValueOrigin::Absent => "absent",
                };
                let value = bound.value.as_ref().map_or("-".to_owned(), json::write);
                let secret = if bound.sensitive { ", sensitive" } else { "" };
                writeln!(shown, "{} = {value} ({origin}{secret})", bound.name).expect("a String");
            }
            for warning in &call.warnings {
                writeln!(shown, "warning: {warning}").expect("a String");
            }
        }
        Err(problems) => {
            for problem in problems {
                writeln!(shown, "{}: {}", problem.code, problem.message).expect("a String");
                if let Some(help) = &problem.help {
                    writeln!(shown, "  help: {help}").expect("a String");
                }
            }
        }
    }
    shown
}

pub(crate) fn show_pieces(pieces: &[OwnedPiece]) -> String {
    let piece = |piece: &OwnedPiece| match piece {
        OwnedPiece::Text(text) => format!("{text:?}"),
        OwnedPiece::Value(value) => {
            let words = match &value.words {
                OwnedWords::One(text) => format!("{text:?}"),
                OwnedWords::List { items, delimiter } => format!("{items:?} by {delimiter:?}"),
            };
            let secret = if value.sensitive { " secret" } else { "" };
            format!("<{} {:?} {:?}{secret}: {words}>", value.name, value.mode, value.kind)
        }
    };
    pieces.iter().map(piece).collect::<Vec<_>>().join(" ")
}

/// Steps of a test: `Known` results by name, the rest as told.
pub(crate) struct TestSteps {
    pub(crate) known: Vec<(&'static str, StepAttribute, Value)>,
    pub(crate) rest: StepValue,
}

impl Steps for TestSteps {
    fn value(&self, step: &str, attribute: StepAttribute) -> StepValue {
        self.known
            .iter()
            .find(|(name, of, _)| *name == step && *of == attribute)
            .map_or(self.rest.clone(), |(_, _, value)| StepValue::Known(value.clone()))
    }
}

/// Binds each list of arguments and shows what came of it.
#[track_caller]
pub(crate) fn check_bind(parameters: &str, cases: &[&[&str]], expect: &Expect) {
    let tool = command_tool("true", parameters);
    let shown: Vec<String> = cases
        .iter()
        .map(|given| format!("[{}]\n{}", visible(&given.join(" | ")), describe(&try_bind(&tool, given))))
        .collect();
    expect.assert_eq(&shown.concat());
}

/// Resolves each command with the same arguments and shows its pieces.
#[track_caller]
pub(crate) fn check_pieces(parameters: &str, given: &[&str], commands: &[&str], expect: &Expect) {
    let mut shown = String::new();
    for text in commands {
        let tool = command_tool(text, parameters);
        let call = bind(&tool, given);
        match call.pieces(command(&tool), &NoSteps) {
            Ok(pieces) => writeln!(shown, "{text}\n    {}", show_pieces(&pieces)),
            Err(error) => writeln!(shown, "{text}\n    {}: {error}", error.code()),
        }
        .expect("a String");
    }
    expect.assert_eq(&shown);
}
