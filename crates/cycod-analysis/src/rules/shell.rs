use big_code_analysis::tree_sitter::Node;

use super::{Subject, table};
use crate::syntax::{Invocation, children, is_constant, name, text};

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "python", "python3", "node"];

pub(super) fn check(node: Node<'_>, call: Option<&Invocation<'_>>, subject: &mut Subject<'_>) {
    if node.kind() == "pipeline" {
        return piped(node, subject);
    }
    let Some(call) = call else { return };
    let source = subject.source;
    let words: Vec<&str> = call.arguments.iter().map(|word| text(*word, source)).collect();
    match call.name.as_str() {
        "eval" if call.arguments.iter().any(|word| !is_constant(*word)) => {
            subject.add(&table::DANGEROUS_EVAL, node, "`eval` reads what variables hold as code");
        }
        "curl" if words.iter().any(|word| matches!(*word, "-k" | "--insecure")) => {
            subject.add(&table::TLS_VERIFICATION_OFF, node, "`curl` believes any certificate");
        }
        "wget" if words.contains(&"--no-check-certificate") => {
            subject.add(&table::TLS_VERIFICATION_OFF, node, "`wget` believes any certificate");
        }
        "chmod" if words.iter().any(|word| matches!(*word, "777" | "0777" | "a+w" | "o+w" | "a+rwx" | "666")) => {
            subject.add(&table::WORLD_WRITABLE, node, "everybody may write what this names");
        }
        "ssh" | "scp" if words.iter().any(|word| word.contains("StrictHostKeyChecking=no")) => {
            subject.add(&table::SSH_HOST_KEY_IGNORED, node, "any host is accepted as the right one");
        }
        _ => {}
    }
}

/// `curl … | sh`
fn piped(node: Node<'_>, subject: &mut Subject<'_>) {
    let source = subject.source;
    let programs: Vec<String> = children(node)
        .into_iter()
        .filter(|part| part.kind() == "command")
        .filter_map(|command| {
            let program = name(command.child_by_field_name("name")?, source);
            let is_root = matches!(&*program, "sudo" | "env");
            let next = children(command)
                .into_iter()
                .skip(1)
                .map(|word| text(word, source))
                .find(|word| !word.starts_with('-'));
            Some(if is_root { next.unwrap_or_default().to_owned() } else { program })
        })
        .collect();
    let fetched = programs.iter().position(|program| matches!(&**program, "curl" | "wget"));
    let run = programs.iter().rposition(|program| SHELLS.contains(&&**program));
    if fetched.zip(run).is_some_and(|(fetched, run)| fetched < run) {
        subject.add(&table::PIPE_TO_SHELL, node, "what is fetched is run unseen");
    }
}
