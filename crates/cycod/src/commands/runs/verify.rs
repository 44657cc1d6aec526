use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_store::Head;
use serde_json::json;

use super::{failed, history};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::{TextOrJson, parsed},
};

/// What `cycod runs verify` takes.
#[derive(Parser)]
#[command(name = "verify", about = "Check that nothing in the history was changed or removed")]
struct Arguments {
    /// Earlier output of `cycod runs head`
    #[arg(long, value_name = "NUMBER:DIGEST")]
    head: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs verify`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Checks every row.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let kept = args.head.as_ref().map(|head| head.parse::<Head>()).transpose();
    let kept = kept.map_err(|error| CommandError::usage(error.to_string()))?;
    let verified = history(context).verify(kept).map_err(|error| failed(&error))?;
    let printer = &mut context.printer;
    if args.format.is_json() {
        let findings = verified.findings.iter();
        let findings = findings.map(|found| json!({"row": found.seq, "run": found.run, "what": found.to_string()}));
        printer.json(
            &json!({
                "ok": verified.findings.is_empty(), "rows": verified.rows, "first": verified.first,
                "head": verified.head.to_string(), "findings": findings.collect::<Vec<_>>(),
            })
            .to_string(),
        );
    } else {
        for finding in &verified.findings {
            printer.line(&cycod_engine::diagnostic::visible(&finding.to_string()));
        }
        match verified.rows {
            0 => printer.line("nothing was run yet"),
            rows if verified.findings.is_empty() => {
                printer.line(&format!(
                    "{rows} rows, from {} to {}, are as they were written",
                    verified.first, verified.head.seq
                ));
                printer.line(&format!("head: {}", verified.head));
            }
            _ => {}
        }
    }
    Ok(if verified.findings.is_empty() { 0 } else { exit::FAILURE })
}
