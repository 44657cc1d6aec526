//! The pages of `cycod help`, which are also what `--help` prints.
//!
//! They are written by hand: an option is easier to understand beside the ones it belongs to than in the order in
//! which a parser wants it. The tests hold every page against the options that exist.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::cli::SHORT_FORMS;

/// Every page with the words that lead to it; the program's own has none.
pub(crate) const PAGES: &[(&str, &str)] = &[
    ("", include_str!("pages/cycod.txt")),
    ("init", include_str!("pages/init.txt")),
    ("run", include_str!("pages/run.txt")),
    ("list", include_str!("pages/list.txt")),
    ("test", include_str!("pages/test.txt")),
    ("validate", include_str!("pages/validate.txt")),
    ("trust", include_str!("pages/trust.txt")),
    ("import", include_str!("pages/import.txt")),
    ("info", include_str!("pages/info.txt")),
    ("tool", include_str!("pages/tool.txt")),
    ("tool search", include_str!("pages/tool-search.txt")),
    ("tool groups", include_str!("pages/tool-groups.txt")),
    ("tool get", include_str!("pages/tool-get.txt")),
    ("tool add", include_str!("pages/tool-add.txt")),
    ("tool create", include_str!("pages/tool-create.txt")),
    ("tool remove", include_str!("pages/tool-remove.txt")),
    ("tool edit", include_str!("pages/tool-edit.txt")),
    ("tool export", include_str!("pages/tool-export.txt")),
    ("tool call", include_str!("pages/tool-call.txt")),
    ("tool schema", include_str!("pages/tool-schema.txt")),
    ("tool schema-file", include_str!("pages/tool-schema-file.txt")),
    ("tool refresh", include_str!("pages/tool-refresh.txt")),
    ("tool graph", include_str!("pages/tool-graph.txt")),
    ("tool why", include_str!("pages/tool-why.txt")),
    ("tool confine", include_str!("pages/tool-confine.txt")),
    ("tool untrust", include_str!("pages/tool-untrust.txt")),
    ("agent", include_str!("pages/agent.txt")),
    ("agent run", include_str!("pages/agent-run.txt")),
    ("agent list", include_str!("pages/agent-list.txt")),
    ("agent replay", include_str!("pages/agent-replay.txt")),
    ("ui", include_str!("pages/ui.txt")),
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
    ("mcp confine", include_str!("pages/mcp-confine.txt")),
    ("mcp login", include_str!("pages/mcp-login.txt")),
    ("mcp serve", include_str!("pages/mcp-serve.txt")),
    ("mcp install", include_str!("pages/mcp-install.txt")),
    ("mcp uninstall", include_str!("pages/mcp-uninstall.txt")),
    ("mcp bundle", include_str!("pages/mcp-bundle.txt")),
    ("models", include_str!("pages/models.txt")),
    ("models list", include_str!("pages/models-list.txt")),
    ("models test", include_str!("pages/models-test.txt")),
    ("secret", include_str!("pages/secret.txt")),
    ("secret list", include_str!("pages/secret-list.txt")),
    ("secret set", include_str!("pages/secret-set.txt")),
    ("secret show", include_str!("pages/secret-show.txt")),
    ("secret remove", include_str!("pages/secret-remove.txt")),
    ("team", include_str!("pages/team.txt")),
    ("team join", include_str!("pages/team-join.txt")),
    ("team show", include_str!("pages/team-show.txt")),
    ("team sync", include_str!("pages/team-sync.txt")),
    ("team diff", include_str!("pages/team-diff.txt")),
    ("team leave", include_str!("pages/team-leave.txt")),
    ("team channel", include_str!("pages/team-channel.txt")),
    ("team page", include_str!("pages/team-page.txt")),
    ("team propose", include_str!("pages/team-propose.txt")),
    ("team review", include_str!("pages/team-review.txt")),
    ("team yank", include_str!("pages/team-yank.txt")),
    ("team root", include_str!("pages/team-root.txt")),
    ("team release", include_str!("pages/team-release.txt")),
    ("team verify", include_str!("pages/team-verify.txt")),
    ("worker", include_str!("pages/worker.txt")),
    ("worker run", include_str!("pages/worker-run.txt")),
    ("worker join", include_str!("pages/worker-join.txt")),
    ("worker approvers", include_str!("pages/worker-approvers.txt")),
    ("schedule", include_str!("pages/schedule.txt")),
    ("schedule add", include_str!("pages/schedule-add.txt")),
    ("schedule list", include_str!("pages/schedule-list.txt")),
    ("schedule show", include_str!("pages/schedule-show.txt")),
    ("schedule log", include_str!("pages/schedule-log.txt")),
    ("schedule apply", include_str!("pages/schedule-apply.txt")),
    ("schedule pause", include_str!("pages/schedule-pause.txt")),
    ("schedule resume", include_str!("pages/schedule-resume.txt")),
    ("schedule cancel", include_str!("pages/schedule-cancel.txt")),
    ("schedule remove", include_str!("pages/schedule-remove.txt")),
    ("runs", include_str!("pages/runs.txt")),
    ("runs list", include_str!("pages/runs-list.txt")),
    ("runs show", include_str!("pages/runs-show.txt")),
    ("runs artifacts", include_str!("pages/runs-artifacts.txt")),
    ("runs follow", include_str!("pages/runs-follow.txt")),
    ("runs tail", include_str!("pages/runs-tail.txt")),
    ("runs wait", include_str!("pages/runs-wait.txt")),
    ("runs cancel", include_str!("pages/runs-cancel.txt")),
    ("runs resume", include_str!("pages/runs-resume.txt")),
    ("runs apply", include_str!("pages/runs-apply.txt")),
    ("runs late", include_str!("pages/runs-late.txt")),
    ("runs rerun", include_str!("pages/runs-rerun.txt")),
    ("runs export", include_str!("pages/runs-export.txt")),
    ("runs verify", include_str!("pages/runs-verify.txt")),
    ("runs head", include_str!("pages/runs-head.txt")),
    ("runs prune", include_str!("pages/runs-prune.txt")),
    ("cache", include_str!("pages/cache.txt")),
    ("cache list", include_str!("pages/cache-list.txt")),
    ("cache clear", include_str!("pages/cache-clear.txt")),
    ("approvals", include_str!("pages/approvals.txt")),
    ("approvals list", include_str!("pages/approvals-list.txt")),
    ("approvals show", include_str!("pages/approvals-show.txt")),
    ("approvals approve", include_str!("pages/approvals-approve.txt")),
    ("approvals deny", include_str!("pages/approvals-deny.txt")),
    ("approvals watch", include_str!("pages/approvals-watch.txt")),
    ("approvals revoke", include_str!("pages/approvals-revoke.txt")),
    ("tools", include_str!("pages/tools.txt")),
    ("tools list", include_str!("pages/tools-list.txt")),
    ("tools enable", include_str!("pages/tools-enable.txt")),
    ("tools disable", include_str!("pages/tools-disable.txt")),
    ("tools info", include_str!("pages/tools-info.txt")),
    ("tools tokens", include_str!("pages/tools-tokens.txt")),
    ("tools budget", include_str!("pages/tools-budget.txt")),
    ("writing-tools", include_str!("pages/writing-tools.txt")),
    ("chat", include_str!("pages/chat.txt")),
    ("resume", include_str!("pages/resume.txt")),
    ("doctor", include_str!("pages/doctor.txt")),
    ("explain", include_str!("pages/explain.txt")),
    ("help", include_str!("pages/help.txt")),
    ("completions", include_str!("pages/completions.txt")),
    ("man", include_str!("pages/man.txt")),
];

/// The guides of `docs/guide/`, in the order of their index: the name of each, what it is about, and its text.
pub(crate) const GUIDES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/guides.rs"));

/// The text of a guide.
pub(crate) fn guide(name: &str) -> Option<&'static str> {
    GUIDES.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}

/// The page for `words`, such as `tool add`. The long form of a command has the page of its short form, in its own words.
pub(crate) fn page(words: &str) -> Option<Cow<'static, str>> {
    let found = |words: &str| PAGES.iter().find(|(known, _)| *known == words).map(|(_, page)| *page);
    if let Some(short) = words.strip_prefix("tool ").filter(|name| SHORT_FORMS.contains(name)) {
        let (heading, rest) = found(short)?.split_once('\n')?;
        let heading = heading.replacen("CYCOD ", "CYCOD TOOL ", 1);
        let rest = rest.replace(&format!("cycod {short}"), &format!("cycod tool {short}"));
        return Some(format!("{heading}\n{rest}").into());
    }
    found(words).map(Cow::Borrowed)
}

/// The words of every page but the program's own.
pub(crate) fn topics() -> impl Iterator<Item = String> + Clone {
    let long_forms = SHORT_FORMS.iter().map(|name| format!("tool {name}"));
    let own = PAGES.iter().map(|(known, _)| (*known).to_owned());
    let guides = GUIDES.iter().map(|(name, ..)| format!("guide {name}"));
    own.filter(|known| !known.is_empty()).chain(long_forms).chain(guides)
}
