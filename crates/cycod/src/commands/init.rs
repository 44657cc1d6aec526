//! `cycod init`: a first tool that fits the project, and what to do with it.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::command_line::sample_arguments;
use cycod_engine::{catalog::Scope, definition::ToolName, diagnostic::SourceFile};
use serde_json::json;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::import::first_task,
    options::{TextOrJson, parsed},
    store,
};

/// What `cycod init` takes.
#[derive(Parser)]
#[command(name = "init", about = "Write a first tool that fits this project")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod init`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// The command by which the projects of a language run their tests, with the file that tells the language.
const TESTS: [(&str, &str, &str); 3] =
    [("Cargo.toml", "Rust", "cargo test"), ("go.mod", "Go", "go test ./..."), ("mix.exs", "Elixir", "mix test")];

/// What is going to be written.
pub(super) struct First {
    pub(super) name: ToolName,
    pub(super) text: String,
    /// The file that it was made from, and what it is there.
    pub(super) from: Option<(&'static str, String, String)>,
    /// How to make tools of the rest of that file.
    pub(super) rest: Option<Step>,
}

/// A command to type next, and why.
pub(super) struct Step {
    command: String,
    why: String,
}

impl Step {
    pub(super) fn new(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self { command: command.into(), why: why.into() }
    }
}

/// Writes a first tool where the project has none, and says what to do next.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let json = args.format.is_json();
    let here: Vec<_> =
        context.engine.catalog().entries().into_iter().filter(|entry| entry.scope == Scope::Local).collect();
    if let Some(entry) = here.iter().find(|entry| entry.name.as_str() == "test").or_else(|| here.first()) {
        let (name, count) = (entry.name.to_string(), here.len());
        let path = store::shown(&entry.path, context.engine.host());
        let load = entry.load().ok().map(|opened| opened.tool);
        let sample = load.as_ref().map(sample_arguments).unwrap_or_default();
        if !json {
            let are = if count == 1 { "a tool".to_owned() } else { format!("{count} tools") };
            context.printer.text(&format!("This project has {are} already; nothing was written.\n"));
        }
        return told(context, json, (&name, &path, false), None, next(&name, &sample, None));
    }
    let first = first(context, !json);
    let target = store::target(context, Scope::Local);
    let source = SourceFile::new(format!("{}.yaml", first.name), first.text.as_str());
    let not_done = format!("tool `{}` was not written", first.name);
    let tool = store::checked(context, &source, Some(first.name.as_str()), &target, &not_done)?;
    let written = store::save(context, Scope::Local, &first.name, &first.text, false)?;
    let path = store::shown(&written.path, context.engine.host());
    if !json {
        let (why, name) = (first.reason(), &first.name);
        context.printer.text(&format!("Wrote the tool `{name}`: {path}\n  {why}\n"));
    }
    // What is written is trusted, and what is trusted is shown.
    context.printer.say(&format!("\n{}", context.engine.described(&tool).trim_end()));
    let steps = next(first.name.as_str(), &sample_arguments(&tool), first.rest);
    told(context, json, (first.name.as_str(), &path, true), first.from, steps)
}

impl First {
    fn reason(&self) -> String {
        match &self.from {
            Some((noun, task, file)) if task.is_empty() => format!("It runs the tests of this {noun} project ({file})"),
            Some((noun, task, file)) => format!("It runs the {noun} `{task}` of {file}"),
            None => "It is a small example: change the file, and it is your own".to_owned(),
        }
    }
}

/// Tells what was written, if anything was, and what to type next.
fn told(
    context: &mut Context,
    json: bool,
    (name, path, is_new): (&str, &str, bool),
    from: Option<(&'static str, String, String)>,
    steps: Vec<Step>,
) -> Result<u8, CommandError> {
    if json {
        let from = from.map(|(_, task, file)| {
            let task = Some(task).filter(|task| !task.is_empty());
            json!({"file": file, "task": task})
        });
        let next: Vec<_> = steps.iter().map(|step| json!({"command": step.command, "why": step.why})).collect();
        context.printer.json_of(&json!({"tool": name, "path": path, "written": is_new, "from": from, "next": next}));
        return Ok(0);
    }
    context.printer.text("\nNext:\n");
    for Step { command, why } in steps {
        context.printer.page(&format!("\n  {command}\n      {why}\n"));
    }
    Ok(0)
}

/// What to type after a tool was written.
fn next(name: &str, sample: &str, rest: Option<Step>) -> Vec<Step> {
    let mut steps = vec![
        Step::new(format!("cycod run {name}{sample}"), "Run it"),
        Step::new(format!("cycod tool edit {name}"), "Change it"),
    ];
    steps.extend(rest);
    steps.extend([
        Step::new(
            "cycod trust --mine",
            "Change tools here without being asked to trust them again; others review them once in their clone",
        ),
        Step::new("cycod mcp install HOST", "Offer the tools to an editor or assistant; see: cycod help mcp install"),
    ]);
    steps
}

/// The first tool: a task of a file that has some, the tests of a language, or an example.
fn first(context: &mut Context, is_said: bool) -> First {
    if let Some(first) = first_task(context, is_said) {
        return first;
    }
    let has = |name: &str| context.engine.host().working_directory.join(name).is_file();
    let tests = TESTS.iter().find(|(file, ..)| has(file)).copied();
    let python = ("pyproject.toml", "Python", "python3 -m pytest");
    if let Some((file, language, command)) = tests.or_else(|| (has(python.0) && uses_pytest(context)).then_some(python))
    {
        return First {
            name: ToolName::new("test").expect("it is a name"),
            text: format!(
                "description: Run the tests of this {language} project\nbash: {command}\ntags: [run]\ntimeout: 600000\n"
            ),
            from: Some((language, String::new(), file.to_owned())),
            rest: None,
        };
    }
    First { name: ToolName::new("hello").expect("it is a name"), text: EXAMPLE.to_owned(), from: None, rest: None }
}

fn uses_pytest(context: &Context) -> bool {
    let file = context.engine.host().working_directory.join("pyproject.toml");
    crate::commands::add::read_text(&file.to_string_lossy()).is_ok_and(|text| text.contains("pytest"))
}

const EXAMPLE: &str = r#"description: Greet someone
bash: echo "Hello, {NAME}!"
tags: [read]
parameters:
  NAME:
    description: Who to greet
    default: World
tests:
  - name: greets by name
    parameters: {NAME: Ada}
    expected: {output-contains: "Hello, Ada!"}
"#;
