use big_code_analysis::tree_sitter::Node;

use super::{Subject, is_composed_sql, table};
use crate::syntax::{Invocation, children, constant, is_constant, text};

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "/bin/sh", "/bin/bash", "cmd"];

pub(super) fn check(node: Node<'_>, call: Option<&Invocation<'_>>, subject: &mut Subject<'_>) {
    let source = subject.source;
    if node.kind() == "keyed_element" {
        let parts = children(node);
        let is_off =
            parts.len() == 2 && text(parts[0], source) == "InsecureSkipVerify" && text(parts[1], source) == "true";
        if is_off {
            subject.add(&table::TLS_VERIFICATION_OFF, node, "`InsecureSkipVerify: true` believes any certificate");
        }
        return;
    }
    let Some(call) = call else { return };
    let called = call.name.as_str();
    match called {
        "exec.Command" | "exec.CommandContext" => {
            let words = &call.arguments[usize::from(called == "exec.CommandContext").min(call.arguments.len())..];
            let is_shell = words
                .first()
                .and_then(|program| constant(*program, source))
                .is_some_and(|program| SHELLS.contains(&program));
            let is_line = words
                .get(1)
                .and_then(|flag| constant(*flag, source))
                .is_some_and(|flag| matches!(flag, "-c" | "/c" | "/C"));
            match words.get(2) {
                Some(line) if is_shell && is_line && !is_constant(*line) => {
                    subject.add(
                        &table::SHELL_COMMAND,
                        node,
                        format!("`{called}` gives a shell a command line that is put together"),
                    );
                }
                Some(_) if is_shell && is_line => {
                    subject.add(&table::SHELL_USED, node, format!("`{called}` goes through a shell"));
                }
                _ => {}
            }
        }
        "md5.New" | "md5.Sum" | "sha1.New" | "sha1.Sum" => {
            subject.add(&table::WEAK_HASH, node, format!("`{called}` can be forged"));
        }
        "des.NewCipher" | "des.NewTripleDESCipher" | "rc4.NewCipher" => {
            subject.add(&table::WEAK_CIPHER, node, format!("`{called}` can be broken"));
        }
        "template.HTML" | "template.JS" | "template.URL" | "template.HTMLAttr"
            if call.argument(0).is_some_and(|text| !is_constant(text)) =>
        {
            subject.add(&table::HTML_INJECTION, node, format!("`{called}` says that a text is safe as it is"));
        }
        "ssh.InsecureIgnoreHostKey" => {
            subject.add(&table::SSH_HOST_KEY_IGNORED, node, "any host is accepted as the right one");
        }
        _ if matches!(
            call.last(),
            "Query" | "QueryRow" | "Exec" | "QueryContext" | "QueryRowContext" | "ExecContext"
        ) =>
        {
            let sql = call.argument(usize::from(call.last().ends_with("Context")));
            if sql.is_some_and(|sql| is_composed_sql(sql, source)) {
                subject.add(&table::SQL_INJECTION, node, "values are put into a command of SQL");
            }
        }
        _ => {}
    }
}
