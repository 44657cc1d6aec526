use clap::{Arg, ArgMatches, Command};
use cycod_store::Head;
use serde_json::json;

use super::{failed, format_argument, history, is_json};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
};

/// `cycod runs verify`.
pub(crate) fn command() -> Command {
    let head = Arg::new("head").long("head").value_name("NUMBER:DIGEST");
    Command::new("verify")
        .about("Check that nothing in the history was changed or removed")
        .arg(head.help("Earlier output of `cycod runs head`"))
        .arg(format_argument())
}

/// Checks every row.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let kept = matches.get_one::<String>("head").map(|head| head.parse::<Head>()).transpose();
    let kept = kept.map_err(|error| CommandError::usage(error.to_string()))?;
    let verified = history(context).verify(kept).map_err(|error| failed(&error))?;
    let printer = &mut context.printer;
    if is_json(matches) {
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
