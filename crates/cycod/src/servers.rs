//! The MCP servers of others, as the terminal shows them.

use cycod_app::server_problem;
use cycod_engine::definition::Host;
use cycod_settings::Servers;

use crate::printer::Printer;

/// Warns of what keeps configured servers from being used.
pub(crate) fn warn_of_mistakes(configured: &Servers, host: &Host, printer: &mut Printer) {
    for problem in configured.problems.iter().filter(|problem| !problem.is_warning) {
        printer.warn(&server_problem(problem, host));
    }
}
