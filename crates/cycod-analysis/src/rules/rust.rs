use big_code_analysis::tree_sitter::Node;

use super::{Subject, table};
use crate::syntax::{Invocation, text};

/// What begins the reason for `unsafe`.
const REASON: &str = "SAFETY:";

pub(super) fn check(node: Node<'_>, call: Option<&Invocation<'_>>, subject: &mut Subject<'_>) {
    if node.kind() == "unsafe_block" && !says_why(node, subject.source) {
        return subject.add(&table::UNDOCUMENTED_UNSAFE, node, "nothing says why this is sound");
    }
    let Some(call) = call else { return };
    let source = subject.source;
    // The name of a method in a chain may be too long to be read whole.
    let method = call.node.child_by_field_name("function").and_then(|function| function.child_by_field_name("field"));
    let last = method.map_or(call.last(), |method| text(method, source));
    match last {
        "danger_accept_invalid_certs" | "danger_accept_invalid_hostnames" | "set_verify"
            if call
                .argument(0)
                .is_some_and(|argument| matches!(text(argument, source), "true" | "SslVerifyMode::NONE")) =>
        {
            subject.add(&table::TLS_VERIFICATION_OFF, node, format!("`{last}` believes any certificate"));
        }
        "arg"
            if call.argument(0).is_some_and(|argument| {
                argument.kind() == "macro_invocation" || argument.kind() == "reference_expression"
            }) =>
        {
            let chain =
                &source[node.start_byte()..call.argument(0).map_or(node.end_byte(), |argument| argument.start_byte())];
            let is_shell = chain.len() < 400
                && ["\"sh\"", "\"bash\"", "\"/bin/sh\"", "\"/bin/bash\""]
                    .iter()
                    .any(|shell| chain.contains(&format!("Command::new({shell})")))
                && chain.contains(".arg(\"-c\")");
            let is_composed = call.argument(0).is_some_and(|argument| text(argument, source).contains("format!"));
            if is_shell && is_composed {
                subject.add(&table::SHELL_COMMAND, node, "a shell is given a command line that is put together");
            }
        }
        _ => {}
    }
}

/// Whether a comment on the lines before a block, or in it, says why it is sound.
fn says_why(block: Node<'_>, source: &str) -> bool {
    let inside = text(block, source);
    let mut above = source[..block.start_byte()].lines().rev();
    // What stands before the block on its own line may be the beginning of a statement.
    let own = above.next().unwrap_or_default();
    let comments = above.map(str::trim).take_while(|line| {
        line.starts_with("//") || line.starts_with("/*") || line.starts_with('*') || line.starts_with("#[")
    });
    own.contains(REASON)
        || inside.lines().take(3).any(|line| line.contains(REASON))
        || comments.take(30).any(|line| line.contains(REASON))
}
