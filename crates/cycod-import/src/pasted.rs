//! Values that a runner pastes into the text of a shell.
//!
//! A runner that writes `./deploy.sh {{target}}` into a shell's program makes code of the value. Two things keep it data.
//! Where it is certain in which kind of quotes the paste stands, the value is quoted for exactly that place before the
//! runner gets it. Everywhere else it is held to characters that mean nothing to any shell, so that being wrong about the
//! place is harmless.

/// Characters without a meaning in any shell, in one word.
pub(crate) const INERT: &str = "^[A-Za-z0-9_./:@%+=,-]*$";
/// The same in words: blanks separate, and do nothing else.
pub(crate) const INERT_WORDS: &str = "^[A-Za-z0-9_./:@%+=, -]*$";

/// Why a value is held to one word of them, or to several.
pub(crate) const WHY_INERT: &str = "only letters, digits and `_./:@%+=,-` are accepted, because";
pub(crate) const WHY_INERT_WORDS: &str = "only letters, digits, blanks and `_./:@%+=,-` are accepted, because";

/// Where in the text of a POSIX shell something is pasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside quotes.
    Unquoted,
    /// In `"…"`.
    Double,
    /// In `'…'`.
    Single,
    /// It cannot be told with certainty, or the text is not one shell's alone.
    Unclear,
}

impl Place {
    /// The place that two pastes of one value have in common.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Unclear }
    }

    /// A transform that makes a value one word, or a part of one, at this place.
    pub(crate) fn quoting(self, is_list: bool) -> Option<String> {
        let one = match self {
            // Nothing stays nothing: a word of its own would be something.
            Self::Unquoted => r#"one && "'" + one.replaceAll("'", "'\\''") + "'""#,
            Self::Double => r#"one.replace(/["\\$`]/g, "\\$&")"#,
            Self::Single => r#"one.replaceAll("'", "'\\''")"#,
            Self::Unclear => return None,
        };
        Some(if is_list {
            format!("value.map(one => {one})")
        } else {
            one.replace("one.", "value.").replace("one &&", "value &&")
        })
    }
}

/// Programs that read what they are given as code again, wherever on a command line they are named.
const READ_AGAIN: [&str; 42] = [
    "eval",
    "ssh",
    "su",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "jq",
    "yq",
    "xargs",
    "parallel",
    "perl",
    "ruby",
    "lua",
    "php",
    "python",
    "python2",
    "python3",
    "node",
    "bun",
    "deno",
    "Rscript",
    "osascript",
    "tclsh",
    "expect",
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "pwsh",
    "powershell",
    "cmd",
    "psql",
    "mysql",
    "sqlite3",
    "watch",
    "tmux",
    "screen",
    "script",
    "flock",
];

/// Commands that read what they are given as a name, as arithmetic or as code, where they are what is run.
const READ_ALWAYS: [&str; 25] = [
    "let",
    "declare",
    "typeset",
    "local",
    "readonly",
    "export",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "test",
    "[",
    "[[",
    "trap",
    "source",
    ".",
    "alias",
    "wait",
    "make",
    "gmake",
    "just",
    "task",
    "mise",
    "npm",
    "pnpm",
];

/// Words that stand before a command.
const BEFORE_A_COMMAND: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "time", "sudo", "exec", "command"];

/// Whether some program of a command line takes what it is given for code.
fn is_read_again(command: &str) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).trim_start_matches(['@', '-', '+']).to_owned();
    let words = command.split([' ', '\t', '\n', ';', '&', '|', '(', ')', '"', '\'', '=']);
    if words.map(name).any(|word| READ_AGAIN.contains(&word.as_str())) {
        return true;
    }
    command.split(['\n', ';', '&', '|', '(', '{']).any(|one| {
        let is_before = |word: &&str| {
            BEFORE_A_COMMAND.contains(&word.trim_start_matches(['@', '-', '+']))
                || word.contains('=') && !word.starts_with('=')
        };
        let mut words = one.split_whitespace().skip_while(is_before);
        let first = words.next().map(name).unwrap_or_default();
        READ_ALWAYS.contains(&first.as_str())
            || first == "printf" && words.next().is_some_and(|word| word.starts_with("-v"))
    })
}

/// Returns the place between two parts of a command's text.
pub(crate) fn place(before: &str, after: &str) -> Place {
    if is_read_again(&format!("{before}x{after}")) {
        return Place::Unclear;
    }
    let is_variable = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '@' | '*' | '?');
    let mut state = Place::Unquoted;
    let mut is_word_start = true;
    let mut characters = before.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        match (state, character) {
            (Place::Unquoted | Place::Double, '`') => return Place::Unclear,
            // A variable is what it is; everything longer has a grammar of its own.
            (Place::Unquoted | Place::Double, '$') if next.is_none_or(|next| !is_variable(next)) => {
                return Place::Unclear;
            }
            (Place::Unquoted | Place::Double, '\\') if next.is_none() => return Place::Unclear,
            (Place::Unquoted | Place::Double, '\\') => drop(characters.next()),
            (Place::Unquoted, '\'') => state = Place::Single,
            (Place::Unquoted, '"') => state = Place::Double,
            (Place::Unquoted, '(' | ')') => return Place::Unclear,
            (Place::Unquoted, '#') if is_word_start => return Place::Unclear,
            (Place::Unquoted, '<') if next == Some('<') => return Place::Unclear,
            (Place::Single, '\'') | (Place::Double, '"') => state = Place::Unquoted,
            _ => {}
        }
        is_word_start = state == Place::Unquoted && matches!(character, ' ' | '\t' | '\n' | ';' | '&' | '|');
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_certain_or_unclear() {
        for (before, expect) in [
            ("./deploy.sh ", Place::Unquoted),
            ("@echo hi > ", Place::Unquoted),
            ("git commit -m \"", Place::Double),
            ("git commit -m \"a b\" ", Place::Unquoted),
            ("echo '", Place::Single),
            ("echo 'it'\\''s ", Place::Single),
            ("echo \"it's ", Place::Double),
            ("echo $HOME ", Place::Unquoted),
            ("echo ${X} ", Place::Unclear),
            ("echo $(ls ", Place::Unclear),
            ("echo `ls ", Place::Unclear),
            ("echo $'", Place::Unclear),
            ("cat <<EOF\n", Place::Unclear),
            ("ls # ", Place::Unclear),
            ("ls a#b ", Place::Unquoted),
            ("ssh host ", Place::Unclear),
            ("bash -c \"", Place::Unclear),
            ("/usr/bin/python3 -c '", Place::Unclear),
            ("(cd x && ls ", Place::Unclear),
            ("ls \\", Place::Unclear),
        ] {
            assert_eq!(place(before, ""), expect, "{before}");
        }
    }

    #[test]
    fn what_is_read_again_is_unclear() {
        for (before, after, expect) in [
            ("echo ", " | sh", Place::Unclear),
            ("echo ", " | tee log", Place::Unquoted),
            ("cargo test ", "", Place::Unquoted),
            ("if test ", " -eq 1", Place::Unclear),
            ("[[ ", " -eq 1 ]]", Place::Unclear),
            ("A=1 make X=", "", Place::Unclear),
            ("let x=", "", Place::Unclear),
            ("printf '%s' ", "", Place::Unquoted),
            ("printf -v ", " x", Place::Unclear),
            ("@just other ", "", Place::Unclear),
            ("sudo docker exec c sh -c ", "", Place::Unclear),
        ] {
            assert_eq!(place(before, after), expect, "{before}…{after}");
        }
    }
}
