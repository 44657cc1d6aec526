use std::fs;

use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::{
    catalog::ScopeFilter,
    graph::{self, Graph},
};

use crate::{
    charset::Charset, cli::Context, command_error::CommandError, options::parsed, scope::ScopeOptions, store::entry,
};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Mermaid,
    Svg,
}

/// What `cycod tool graph` takes.
#[derive(Parser)]
#[command(name = "graph", about = "Draw a tool's steps")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Output file; standard output when omitted or `-`
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool graph`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Draws what a tool's steps wait for, and so what can run at the same time.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let tool = entry(context, name, args.scope.filter()?.unwrap_or(ScopeFilter::Any))?
        .load()
        .map_err(cycod_engine::EngineError::from)?
        .tool;
    let graph = Graph::of(&tool);
    let output = args.output.as_ref().filter(|path| *path != "-");
    let text = match args.format {
        Format::Mermaid => graph.mermaid(),
        Format::Svg => graph.svg(),
        Format::Text => graph.text(match Charset::of(context.engine.host()) {
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
