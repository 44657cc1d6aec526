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
