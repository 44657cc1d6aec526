//! Checks that each secret has a host that it may go to, and that commands put none where other users can read it.

use cycod_diagnostic::{Code, Diagnostic, MOST_REPORTED};
use cycod_syntax::template::{HoleValue, Placeholder, Reference, TemplatePart, TernaryBranch};

use crate::{AccessKind, CommandText, Interpreter, Permission, Tool, lower::Lowering};

/// Holds secrets against the permissions that get them to their hosts, and the places where commands put them against who
/// can look there.
pub(crate) fn check(tool: &Tool, lowering: &Lowering<'_>) {
    for (host, span) in lowering.secret_hosts.borrow().iter() {
        if !tool.security.permissions.iter().any(|permission| reaches(permission, host)) {
            let message = format!("the secret is for `{host}`, which the tool may not reach");
            lowering.sink.report(
                Diagnostic::error(Code::SecretWithoutPermission, *span, message)
                    .note("only a tool that is confined to its hosts can have a secret replaced on the way to one")
                    .help(format!("add `network:external:{host}` to `security.required-permissions`")),
            );
        }
    }
    for text in tool.commands().flat_map(crate::Command::texts) {
        arguments(tool, text, lowering);
    }
}

/// Whether a permission allows to reach `host`, a name with or without a port.
fn reaches(permission: &Permission, host: &str) -> bool {
    let Some(target) = permission.target.as_text() else { return false };
    let name = |text: &str| match text.rsplit_once(':') {
        Some((name, port)) if port == "*" || port.parse::<u16>().is_ok() => name.to_ascii_lowercase(),
        _ => text.to_ascii_lowercase(),
    };
    let (target, host) = (name(target), name(host));
    let is_network = matches!(permission.access, AccessKind::NetworkExternal | AccessKind::NetworkLoopback);
    is_network && (target == host || target.strip_prefix('*').is_some_and(|rest| host.ends_with(rest)))
}

/// Warns of secrets among the arguments of programs: other users can read those while the program runs.
fn arguments(tool: &Tool, text: &CommandText, lowering: &Lowering<'_>) {
    let mut before = String::new();
    let mut reported = 0;
    for segment in &text.template.segments {
        // Each report looks at all that stands before it.
        if reported == MOST_REPORTED {
            return;
        }
        let hole = match segment {
            TemplatePart::Text(text) => {
                before.push_str(text);
                continue;
            }
            TemplatePart::Hole(hole) => hole,
        };
        let Some(name) = secret_in(tool, hole) else {
            before.push('x');
            continue;
        };
        let program = match &text.interpreter {
            Interpreter::Bash | Interpreter::Sh | Interpreter::Zsh | Interpreter::PlatformDefault => program(&before),
            Interpreter::Argv => before.split_whitespace().next(),
            Interpreter::PowerShell => Some("pwsh"),
            Interpreter::Cmd => Some("cmd"),
            // What is placed into its text is refused when it is secret; see the preparation of a run.
            Interpreter::Program(_) => None,
        };
        if let Some(program) = program {
            reported += 1;
            let message = format!("`{name}` is secret, and stands among the arguments of `{program}`");
            let is_header = program == "curl" && before.contains(": ");
            let help = match is_header {
                true => {
                    format!("let `curl` read the header, such as\nprintf 'X-Key: %s' \"{{{name}}}\" | curl -H @- …")
                }
                false => format!("let `{program}` read it from its environment or its standard input"),
            };
            lowering.sink.report(
                Diagnostic::warning(Code::SecretInArgument, hole.span, message)
                    .label("every user of the machine can read it there")
                    .help(help),
            );
        }
        before.push('x');
    }
}

/// The name of the secret whose value the tool's commands get at `hole`.
fn secret_in<'a>(tool: &Tool, hole: &'a Placeholder) -> Option<&'a str> {
    let is_listed = |name: &str| tool.environment.secrets.iter().any(|secret| secret.name == name);
    let is_secret = |reference: &Reference| match reference {
        Reference::Parameter(name) => {
            is_listed(name) || tool.parameter(name).is_some_and(|parameter| parameter.sensitive)
        }
        Reference::Environment(name) => {
            tool.kept_secrets().any(|secret| secret.name == *name && secret.hosts.is_empty())
        }
        _ => false,
    };
    let references = match &hole.value {
        HoleValue::Reference { of, .. } => vec![of],
        HoleValue::Choice { then, otherwise, .. } => [then, otherwise]
            .into_iter()
            .filter_map(|branch| match branch {
                TernaryBranch::Reference(reference) => Some(reference),
                TernaryBranch::Text(_) => None,
            })
            .collect(),
    };
    references.into_iter().find(|reference| is_secret(reference)).and_then(|reference| match reference {
        Reference::Parameter(name) | Reference::Environment(name) => Some(name.as_str()),
        _ => None,
    })
}

/// The program of which a value at the end of `before` is an argument; none where the shell keeps it to itself.
///
/// This looks no further than a warning needs: quotes, substitutions and what separates commands.
fn program(before: &str) -> Option<&str> {
    let (mut start, mut quote, mut outer) = (0, None, Vec::new());
    let mut characters = before.char_indices().peekable();
    let mut last = ' ';
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(characters.next()),
            (_, '$') if characters.next_if(|(_, next)| *next == '(').is_some() => {
                outer.push((start, quote));
                (start, quote) = (at + 2, None);
            }
            (Some('"'), '"') => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, ')') => (start, quote) = outer.pop().unwrap_or((at + 1, None)),
            (None, '&') if matches!(last, '<' | '>') => {}
            (None, ';' | '|' | '&' | '\n' | '(') => start = at + 1,
            _ => {}
        }
        last = character;
    }
    let command = &before[start..];
    // Here-documents and here-strings reach a program by a descriptor.
    if command.contains("<<") || before.lines().rev().skip(1).any(|line| line.contains("<<")) {
        return None;
    }
    const SKIPPED: [&str; 14] =
        ["then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec", "command", "builtin", "nohup"];
    const BUILTIN: [&str; 16] = [
        "echo", "printf", "read", "export", "local", "declare", "typeset", "readonly", "test", "[", "[[", ":", "case",
        "set", "return", "eval",
    ];
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let mut words = command.split_ascii_whitespace().skip_while(|word| SKIPPED.contains(word) || is_assignment(word));
    words.next().filter(|word| !BUILTIN.contains(word))
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::SourceFile;

    use super::program;

    #[test]
    fn the_program_that_gets_a_value() {
        let check = |before: &str, expect: Option<&str>| assert_eq!(program(before), expect, "{before:?}");
        check("curl -H \"Authorization: ", Some("curl"));
        check("set -e; A=1 curl -u ", Some("curl"));
        check("echo ", None);
        check("cat 2>&1 | curl ", Some("curl"));
        check("echo \"a; curl ", None);
        check("TOKEN=", None);
        check("X=\"$(gh auth login ", Some("gh"));
        check("X=\"$(date) ", None);
        check("printf %s ", None);
        check("if [ ", None);
        check("curl -H @- <<< ", None);
        check("curl -d @- <<END\n", None);
    }

    fn codes(text: &str) -> Vec<&'static str> {
        let loaded = crate::load(&SourceFile::new("a.yaml", text), None);
        loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect()
    }

    #[test]
    fn a_secret_for_a_host_needs_the_permission_to_reach_it() {
        let tool = |permission: &str| {
            format!(
                "name: a\ndescription: b\nbash: curl https://api.github.com\nenvironment:\n  secrets: [{{name: T, for: api.github.com}}]\nsecurity:\n  required-permissions: [\"{permission}\"]\n"
            )
        };
        assert_eq!(codes(&tool("network:external:api.github.com")), [""; 0]);
        assert_eq!(codes(&tool("network:external:API.github.com:443")), [""; 0]);
        assert_eq!(codes(&tool("network:external:*.github.com")), [""; 0]);
        assert_eq!(codes(&tool("network:external:github.com")), ["secret-without-permission"]);
        assert_eq!(codes(&tool("filesystem:read:api.github.com")), ["secret-without-permission"]);
    }

    #[test]
    fn entries_say_what_they_are() {
        let tool = |secrets: &str| format!("name: a\ndescription: b\nbash: ls\nenvironment: {{secrets: {secrets}}}\n");
        assert_eq!(codes(&tool("T")), [""; 0]);
        assert_eq!(codes(&tool("[T, {name: U, secret: u.v}]")), [""; 0]);
        assert_eq!(codes(&tool("[{secret: u}]")), ["invalid-name"]);
        assert_eq!(codes(&tool("[{name: U, secret: a/b}]")), ["invalid-name"]);
        assert_eq!(codes(&tool("[{name: U, fro: x}]")), ["unknown-key"]);
        assert_eq!(codes(&tool("[{name: U, for: 'https://x'}]")), ["unknown-permission"]);
        assert_eq!(codes(&tool("[[U]]")), ["wrong-type"]);
    }

    #[test]
    fn arguments_are_read_by_everybody() {
        let tool = |command: &str| {
            format!(
                "name: a\ndescription: b\n{command}\nenvironment: {{secrets: [T, {{name: H, for: x.org}}]}}\nsecurity: {{required-permissions: ['network:external:x.org']}}\n"
            )
        };
        assert_eq!(codes(&tool("bash: 'curl -H \"A: {T}\" x'")), ["secret-in-argument"]);
        assert_eq!(codes(&tool("run: 'curl -H {T}'")), ["secret-in-argument"]);
        assert_eq!(codes(&tool("bash: 'printf %s \"{T}\" | curl -H @- x'")), [""; 0]);
        // What the tool sees of a secret for a host is none.
        assert_eq!(codes(&tool("run: 'curl -H {H}'")), [""; 0]);
    }
}
