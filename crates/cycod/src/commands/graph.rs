use std::fs;

use clap::{Arg, ArgMatches, Command};
use cycod_engine::{
    catalog::ScopeFilter,
    graph::{self, Graph},
};

use crate::{
    charset::Charset,
    cli::Context,
    command_error::CommandError,
    scope::{scope, with_scope},
    store::entry,
};

/// `cycod tool graph`.
pub(crate) fn command() -> Command {
    let command = Command::new("graph")
        .about("Draw a tool's steps")
        .arg(Arg::new("name").value_name("TOOL_NAME").required(true))
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(["text", "mermaid", "svg"])
                .default_value("text")
                .help("Output format"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("FILE")
                .help("Output file; standard output when omitted or `-`"),
        );
    with_scope(command)
}

/// Draws what a tool's steps wait for, and so what can run at the same time.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
    let tool = entry(context, name, scope(matches)?.unwrap_or(ScopeFilter::Any))?
        .load()
        .map_err(cycod_engine::EngineError::from)?
        .tool;
    let graph = Graph::of(&tool);
    let output = matches.get_one::<String>("output").filter(|path| *path != "-");
    let text = match matches.get_one::<String>("format").map(String::as_str) {
        Some("mermaid") => graph.mermaid(),
        Some("svg") => graph.svg(),
        _ => graph.text(match Charset::of(context.engine.host()) {
            Charset::Unicode => graph::Charset::Unicode,
            Charset::Ascii => graph::Charset::Ascii,
        }),
    };
    match output {
        Some(path) => {
            fs::write(path, text).map_err(|error| CommandError::failure(format!("cannot write `{path}`: {error}")))?;
            context.printer.say(&format!("Drew tool `{}` to {path}", tool.name));
        }
        None => context.printer.data(text.as_bytes()),
    }
    Ok(0)
}
