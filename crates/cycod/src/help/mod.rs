//! The pages of `cycod help`, which are also what `--help` prints.
//!
//! They are written by hand: an option is easier to understand beside the ones it belongs to than in the order in
//! which a parser wants it. The tests hold every page against the options that exist.

#[cfg(test)]
mod tests;

/// Every page with the words that lead to it; the program's own has none.
pub(crate) const PAGES: &[(&str, &str)] = &[
    ("", include_str!("pages/cycod.txt")),
    ("tool", include_str!("pages/tool.txt")),
    ("tool list", include_str!("pages/tool-list.txt")),
    ("tool get", include_str!("pages/tool-get.txt")),
    ("tool add", include_str!("pages/tool-add.txt")),
    ("tool remove", include_str!("pages/tool-remove.txt")),
    ("tool test", include_str!("pages/tool-test.txt")),
    ("tool validate", include_str!("pages/tool-validate.txt")),
    ("tool edit", include_str!("pages/tool-edit.txt")),
    ("tool export", include_str!("pages/tool-export.txt")),
    ("tool import", include_str!("pages/tool-import.txt")),
    ("tool run", include_str!("pages/tool-run.txt")),
    ("tool call", include_str!("pages/tool-call.txt")),
    ("tool schema", include_str!("pages/tool-schema.txt")),
    ("tool schema-file", include_str!("pages/tool-schema-file.txt")),
    ("tool graph", include_str!("pages/tool-graph.txt")),
    ("tool why", include_str!("pages/tool-why.txt")),
    ("tool confine", include_str!("pages/tool-confine.txt")),
    ("tool trust", include_str!("pages/tool-trust.txt")),
    ("tool untrust", include_str!("pages/tool-untrust.txt")),
    ("policy", include_str!("pages/policy.txt")),
    ("policy list", include_str!("pages/policy-list.txt")),
    ("policy check", include_str!("pages/policy-check.txt")),
    ("policy add", include_str!("pages/policy-add.txt")),
    ("policy remove", include_str!("pages/policy-remove.txt")),
    ("policy accept", include_str!("pages/policy-accept.txt")),
    ("mcp", include_str!("pages/mcp.txt")),
    ("mcp list", include_str!("pages/mcp-list.txt")),
    ("mcp get", include_str!("pages/mcp-get.txt")),
    ("mcp add", include_str!("pages/mcp-add.txt")),
    ("mcp remove", include_str!("pages/mcp-remove.txt")),
    ("mcp import", include_str!("pages/mcp-import.txt")),
    ("mcp test", include_str!("pages/mcp-test.txt")),
    ("mcp accept", include_str!("pages/mcp-accept.txt")),
    ("mcp login", include_str!("pages/mcp-login.txt")),
    ("mcp serve", include_str!("pages/mcp-serve.txt")),
    ("mcp install", include_str!("pages/mcp-install.txt")),
    ("mcp uninstall", include_str!("pages/mcp-uninstall.txt")),
    ("secret", include_str!("pages/secret.txt")),
    ("secret list", include_str!("pages/secret-list.txt")),
    ("secret set", include_str!("pages/secret-set.txt")),
    ("secret show", include_str!("pages/secret-show.txt")),
    ("secret remove", include_str!("pages/secret-remove.txt")),
    ("runs", include_str!("pages/runs.txt")),
    ("runs list", include_str!("pages/runs-list.txt")),
    ("runs show", include_str!("pages/runs-show.txt")),
    ("runs tail", include_str!("pages/runs-tail.txt")),
    ("runs rerun", include_str!("pages/runs-rerun.txt")),
    ("runs export", include_str!("pages/runs-export.txt")),
    ("runs verify", include_str!("pages/runs-verify.txt")),
    ("runs head", include_str!("pages/runs-head.txt")),
    ("runs prune", include_str!("pages/runs-prune.txt")),
    ("approvals", include_str!("pages/approvals.txt")),
    ("approvals list", include_str!("pages/approvals-list.txt")),
    ("approvals show", include_str!("pages/approvals-show.txt")),
    ("approvals approve", include_str!("pages/approvals-approve.txt")),
    ("approvals deny", include_str!("pages/approvals-deny.txt")),
    ("approvals watch", include_str!("pages/approvals-watch.txt")),
    ("approvals revoke", include_str!("pages/approvals-revoke.txt")),
    ("tools", include_str!("pages/tools.txt")),
    ("explain", include_str!("pages/explain.txt")),
    ("help", include_str!("pages/help.txt")),
    ("completions", include_str!("pages/completions.txt")),
    ("man", include_str!("pages/man.txt")),
];

/// The page for `words`, such as `tool list`.
pub(crate) fn page(words: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == words).map(|(_, page)| *page)
}
