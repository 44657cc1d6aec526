//! Checks that a tool that is to run on a worker needs nothing that only the machine of the caller has.

use cycod_diagnostic::{Code, Diagnostic};
use cycod_syntax::yaml::MappingEntry;

use crate::{
    Body, Privilege, Produces, RunSite, Tool,
    lower::{Lowering, View},
};

/// Reports the keys that can't be next to `on: fleet`.
pub(crate) fn check(tool: &Tool, view: &View<'_>, lowering: &Lowering<'_>) {
    // Of an alias it is ignored, which is reported.
    if tool.on != RunSite::Fleet || matches!(tool.body, Body::Alias { .. }) {
        return;
    }
    let report = |entry: &MappingEntry, why: &str| {
        let message = format!("`{}` isn't possible with `on: fleet`", entry.key);
        let diagnostic = Diagnostic::error(Code::NotForFleet, entry.key_span, message);
        lowering.sink.report(diagnostic.label(why).help(format!("remove `{}`, or `on`", entry.key)));
    };
    let steps = view.objects("steps");
    for view in std::iter::once(view).chain(&steps) {
        view.entry("artifacts").into_iter().for_each(|entry| report(entry, "the files would stay on the worker"));
    }
    if let (Produces::Blocks | Produces::Media(_), Some(entry)) = (&tool.produces, view.entry("produces")) {
        report(entry, "only text and JSON come back from a worker");
    }
    if let (Privilege::Elevated, Some(security)) = (tool.security.privilege, view.object("security")) {
        security
            .entry("execution-privilege")
            .into_iter()
            .for_each(|entry| report(entry, "no user is at a worker to grant elevated rights"));
    }
}
