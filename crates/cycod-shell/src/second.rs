//! Finds values in code that a second program parses: `bash -c "… {X}"`, `python3 -c`, `awk`, SQL, `[[ {X} -eq 1 ]]`.
//!
//! The shell hands such a value over byte for byte, and that is the trouble: the next parser takes it for code. What runs
//! what is a table over the words of a command, seen through prefixes such as `sudo` and `env`.

use std::ops::Range;

use crate::harmless::is_number;
use crate::piece::{Kind, Mode, Shell, Value};
use crate::refusal::{Problem, code};
use crate::track::{Command, Feed, HOLE, Role, Spot, Track, is_comparison, track};

/// A hole in code.
#[derive(Debug, Clone)]
pub(crate) struct Danger {
    pub(crate) hole: usize,
    /// The value cannot do harm there: a number, a boolean, an enum, or a fragment where a shell expects a word.
    pub(crate) allowed: bool,
    /// The fragment's own text must reach the next shell.
    pub(crate) fragment: bool,
    command: usize,
    language: Language,
    program: String,
    /// The word that is code; `None` when the code comes by a pipe or a here-document.
    word: Option<usize>,
    document: Option<usize>,
}

impl Danger {
    /// Only the shell's own builtins would parse the value.
    pub(crate) fn is_builtin(&self) -> bool {
        matches!(self.language, Language::Name | Language::Arithmetic | Language::Eval)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    /// A shell that takes arguments after its code.
    Shell,
    /// `eval` and `trap`: code for the shell itself.
    Eval,
    /// `ssh`, `su`, `watch`: a shell that is given one text and no arguments.
    Remote,
    Python,
    Perl,
    Ruby,
    Node,
    Php,
    R,
    Awk,
    Sed,
    Jq,
    Yq,
    Sql,
    PowerShell,
    Other,
    /// A builtin that evaluates what it is given as a name with a subscript, or as arithmetic.
    Name,
    Arithmetic,
}

/// One word, as the program sees it; holes are NULs.
#[derive(Debug, Clone, Default)]
struct Decoded {
    text: String,
    /// Holes that stand in `text`, in order.
    holes: Vec<usize>,
    /// Holes within substitutions.
    inner: Vec<usize>,
    /// Part of the text is known only at run time.
    dynamic: bool,
    substitution: bool,
    index: usize,
}

pub(crate) fn dangers(shell: Shell, source: &str, found: &Track, values: &[(&Value<'_>, usize)]) -> Vec<Danger> {
    let mut dangers = Vec::new();
    for (index, command) in found.commands.iter().enumerate() {
        let mut check = Check { source, shell, values, command, index, dangers: &mut dangers };
        if command.test {
            let words: Vec<Decoded> = command
                .words
                .iter()
                .enumerate()
                .map(|(index, word)| decode(source, &word.span, &word.holes, index))
                .collect();
            check.test(&words);
            continue;
        }
        for word in &command.words {
            let text = &source[word.span.clone()];
            if word.holes.is_empty() {
                continue;
            }
            if word.role == Role::Assignment && text.starts_with("PS4=") {
                check.flag_all(word.holes.clone(), Language::Eval, "PS4", None, None);
            }
            // `n={X}; echo $((n))` evaluates the value as much as `$(({X}))` does. Only bash and zsh look into variables so.
            if shell != Shell::Sh && word.role != Role::HereString {
                let assigned = text.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
                if let Some(name) = assigned.filter(|name| is_identifier(name) && is_calculated(name, source, found)) {
                    check.flag_all(word.holes.clone(), Language::Arithmetic, &format!("$(({name}))"), None, None);
                }
            }
        }
        let words: Vec<Decoded> = command
            .words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.role == Role::Plain)
            .map(|(index, word)| decode(source, &word.span, &word.holes, index))
            .collect();
        check.command(&words);
    }
    dangers.sort_by_key(|danger| danger.hole);
    dangers.dedup_by_key(|danger| danger.hole);
    dangers
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a variable stands in arithmetic somewhere, or was declared an integer.
fn is_calculated(name: &str, source: &str, found: &Track) -> bool {
    let is_word = |text: &str| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == name);
    // Subscripts of an associative array are text.
    let associative = source.contains(" -A");
    if found
        .arithmetic
        .iter()
        .any(|(span, subscript)| !(*subscript && associative) && source.get(span.clone()).is_some_and(is_word))
    {
        return true;
    }
    source.split(['\n', ';', '&', '|']).any(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| !matches!(*word, "declare" | "typeset" | "local" | "readonly" | "export" | "integer"));
        words.next().is_some_and(|first| {
            let rest: Vec<&str> = words.collect();
            (first == "integer" || rest.iter().any(|word| word.starts_with('-') && word.contains('i')))
                && rest.iter().any(|word| word.split('=').next() == Some(name))
        })
    })
}

struct Check<'a> {
    source: &'a str,
    shell: Shell,
    values: &'a [(&'a Value<'a>, usize)],
    command: &'a Command,
    index: usize,
    dangers: &'a mut Vec<Danger>,
}

/// Options that take the next word as their value, per program.
fn takes_value(program: &str, option: &str) -> bool {
    let list: &[&str] = match program {
        "env" => &["-u", "-C", "--unset", "--chdir"],
        "sudo" | "doas" => {
            &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group", "--chdir"]
        }
        "nice" => &["-n"],
        "ionice" => &["-c", "-n", "-p"],
        "timeout" => &["-s", "-k", "--signal", "--kill-after"],
        "stdbuf" => &["-i", "-o", "-e"],
        "exec" => &["-a"],
        "xargs" => &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-E",
            "-s",
            "-a",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "--replace",
        ],
        "flock" => &["-w", "-E", "--timeout"],
        "time" => &["-f", "-o"],
        "sshpass" => &["-p", "-f", "-d"],
        "chroot" => &["--userspec", "--groups"],
        "docker" | "podman" | "nerdctl" => &[
            "-e",
            "-u",
            "-w",
            "-v",
            "-p",
            "--name",
            "--env",
            "--user",
            "--workdir",
            "--volume",
            "--network",
            "--mount",
            "--entrypoint",
            "--platform",
            "-m",
            "--memory",
            "--cpus",
        ],
        "kubectl" => &["-n", "-c", "--namespace", "--container", "--context"],
        "ssh" | "rsh" | "slogin" => &[
            "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S",
            "-W", "-w", "-B", "-P",
        ],
        "awk" => &["-F", "-v", "-f", "--assign", "--field-separator", "--file"],
        "sed" => &["-f", "-l", "--file"],
        "jq" | "yq" => &["-L", "--indent", "-f", "--from-file"],
        "sqlite3" | "duckdb" => &["-cmd", "-separator", "-nullvalue", "-newline", "-init"],
        "watch" => &["-n", "--interval"],
        "parallel" => &["-j", "--jobs", "-a", "--arg-file", "--delay", "--results"],
        "shell" => &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
        "python" => &["-W", "-X", "-m"],
        "perl" => &["-I", "-M"],
        "ruby" => &["-I", "-r"],
        "node" => &["-r", "--require", "--import"],
        "php" => &["-d", "-c"],
        "read" => &["-p", "-d", "-n", "-N", "-t", "-u", "-i", "-k"],
        "mapfile" => &["-d", "-n", "-O", "-s", "-u", "-c", "-C"],
        _ => &[],
    };
    list.contains(&option)
}

fn language_of(program: &str) -> Option<(Language, &'static str, &'static [&'static str])> {
    let stem =
        program.strip_suffix(".exe").unwrap_or(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match stem {
        "python" | "pypy" | "python3-" => (Language::Python, "python", &["-c"]),
        "perl" => (Language::Perl, "perl", &["-e", "-E"]),
        "ruby" => (Language::Ruby, "ruby", &["-e"]),
        "node" | "nodejs" | "bun" => (Language::Node, "node", &["-e", "-p", "-pe", "--eval", "--print"]),
        "deno" => (Language::Node, "node", &["eval"]),
        "php" => (Language::Php, "php", &["-r", "--run"]),
        "Rscript" | "R" => (Language::R, "R", &["-e"]),
        "lua" | "luajit" | "osascript" | "julia" | "elixir" | "groovy" | "expect" | "scala" | "ghc" | "tclsh"
        | "clojure" | "guile" | "racket" | "mongosh" | "mongo" => {
            (Language::Other, "other", &["-e", "-E", "-c", "--eval"])
        }
        "psql" => (Language::Sql, "psql", &["-c", "--command"]),
        "mysql" | "mariadb" => (Language::Sql, "mysql", &["-e", "--execute"]),
        "clickhouse" | "clickhouse-client" => (Language::Sql, "clickhouse", &["-q", "--query"]),
        _ => return None,
    })
}

impl Check<'_> {
    fn flag(
        &mut self,
        hole: usize,
        language: Language,
        program: &str,
        word: Option<usize>,
        document: Option<usize>,
        fragment: bool,
    ) {
        let value = self.values[hole].0;
        let known = match value.kind {
            Kind::Text => false,
            Kind::Number => match &value.words {
                crate::Words::One(text) => text.is_empty() || is_number(text),
                crate::Words::List { .. } => false,
            },
            Kind::Boolean | Kind::Enum => language != Language::Arithmetic,
        };
        let fragment = fragment && value.mode == Mode::Fragment;
        self.dangers.push(Danger {
            hole,
            allowed: known || fragment || value.mode == Mode::Raw,
            fragment,
            command: self.index,
            language,
            program: program.to_owned(),
            word,
            document,
        });
    }

    fn flag_all(
        &mut self,
        holes: Range<usize>,
        language: Language,
        program: &str,
        word: Option<usize>,
        document: Option<usize>,
    ) {
        for hole in holes {
            self.flag(hole, language, program, word, document, false);
        }
    }

    /// Flags every hole of a word that is code.
    fn code(&mut self, language: Language, program: &str, word: &Decoded) {
        let open = if matches!(language, Language::Shell | Language::Eval | Language::Remote) {
            open_places(&word.text)
        } else {
            Vec::new()
        };
        for (index, &hole) in word.holes.iter().enumerate() {
            self.flag(hole, language, program, Some(word.index), None, open.get(index).copied().unwrap_or(false));
        }
        for &hole in &word.inner {
            self.flag(hole, language, program, None, None, false);
        }
    }

    /// Words that a program joins with blanks and hands to a shell.
    fn joined(&mut self, language: Language, program: &str, words: &[Decoded]) {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let open = open_places(&text.join(" "));
        let mut place = 0;
        for word in words {
            for &hole in &word.holes {
                self.flag(hole, language, program, Some(word.index), None, open.get(place).copied().unwrap_or(false));
                place += 1;
            }
            for &hole in &word.inner {
                self.flag(hole, language, program, None, None, false);
            }
        }
    }

    /// The program reads its code from its input.
    fn input(&mut self, language: Language, program: &str) {
        for (holes, feed) in self.command.fed.clone() {
            let document = if let Feed::Document(index) = feed { Some(index) } else { None };
            self.flag_all(holes, language, program, None, document);
        }
        for word in self.command.words.iter().filter(|word| word.role == Role::HereString) {
            self.flag_all(word.holes.clone(), language, program, None, None);
        }
        // `bash < <(echo {X})`: only a process substitution hands over text; a path is a path.
        for word in self
            .command
            .words
            .iter()
            .filter(|word| word.role == Role::Redirect && self.source[word.span.clone()].starts_with("<("))
        {
            self.flag_all(word.holes.clone(), language, program, None, None);
        }
    }

    fn command(&mut self, words: &[Decoded]) {
        let mut at = 0;
        let mut replace: Option<String> = None;
        for _ in 0..32 {
            let Some(first) = words.get(at) else { return };
            if first.dynamic || !first.holes.is_empty() {
                return;
            }
            let program = first.text.rsplit('/').next().unwrap_or_default();
            let rest = &words[at + 1..];
            let skip = |from: &[Decoded], name: &str| options(from, name);
            match program {
                "env" => {
                    let mut next = skip(rest, "env");
                    while rest.get(next).is_some_and(|word| word.text.contains('=')) {
                        next += 1;
                    }
                    at += 1 + next;
                }
                "sudo" | "doas" => {
                    let mut next = skip(rest, "sudo");
                    while rest.get(next).is_some_and(|word| word.text.contains('=')) {
                        next += 1;
                    }
                    at += 1 + next;
                }
                "nohup" | "setsid" | "command" | "builtin" | "exec" | "nice" | "ionice" | "stdbuf" | "time"
                | "noglob" | "nocorrect" | "chronic" | "caffeinate" | "busybox" | "unbuffer" | "strace" | "sshpass"
                | "systemd-run" | "unshare" | "proxychains" | "then" | "do" => at += 1 + skip(rest, program),
                "timeout" | "chroot" => at += 2 + skip(rest, program),
                "xargs" => {
                    for (index, word) in rest.iter().enumerate() {
                        if word.text == "-I" || word.text == "--replace" {
                            replace = rest.get(index + 1).map(|word| word.text.clone());
                        } else if let Some(mark) = word.text.strip_prefix("-I") {
                            replace = Some(mark.to_owned());
                        }
                    }
                    at += 1 + skip(rest, "xargs");
                }
                "find" | "fd" => match rest
                    .iter()
                    .position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
                {
                    Some(next) => at += 2 + next,
                    None => return,
                },
                "docker" | "podman" | "nerdctl" | "kubectl" => {
                    let Some(verb) = rest.iter().position(|word| matches!(word.text.as_str(), "exec" | "run")) else {
                        return;
                    };
                    let dashes = rest.iter().position(|word| word.text == "--");
                    at += match dashes {
                        Some(dashes) => 2 + dashes,
                        None => 3 + verb + skip(&rest[verb + 1..], program),
                    };
                }
                "flock" => {
                    let next = skip(rest, "flock") + 1;
                    if rest.get(next).is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command")) {
                        if let Some(word) = rest.get(next + 1) {
                            self.code(Language::Remote, "flock -c", word);
                        }
                        return;
                    }
                    at += 1 + next;
                }
                _ => return self.program(program, rest, replace.as_deref()),
            }
        }
    }

    fn program(&mut self, program: &str, rest: &[Decoded], replace: Option<&str>) {
        match program {
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "ksh93" | "mksh" | "ash" | "fish" | "rbash" => {
                self.shell(program, rest, replace);
            }
            "eval" => self.joined(Language::Eval, "eval", rest),
            "trap" => {
                if let Some(word) = rest.get(options(rest, "trap")) {
                    self.code(Language::Eval, "trap", word);
                }
            }
            "alias" => {
                for word in rest {
                    self.code(Language::Remote, "alias", word);
                }
            }
            "source" | "." => {
                if let Some(word) = rest.first().filter(|word| word.substitution) {
                    self.code(Language::Shell, program, word);
                }
                if rest.first().is_some_and(|word| word.text == "/dev/stdin") {
                    self.input(Language::Shell, program);
                }
            }
            "ssh" | "rsh" | "slogin" => {
                for (index, word) in rest.iter().enumerate() {
                    if (word.text == "-o" || word.text.starts_with("-oProxyCommand"))
                        && let Some(next) = rest
                            .get(index + usize::from(word.text == "-o"))
                            .filter(|next| next.text.contains("Command"))
                    {
                        self.code(Language::Remote, "ssh -o", next);
                    }
                }
                let host = options(rest, "ssh");
                let remote = rest.get(host + 1..).unwrap_or_default();
                self.joined(Language::Remote, program, remote);
                if remote.is_empty()
                    || remote.first().is_some_and(|word| matches!(word.text.as_str(), "bash" | "sh" | "zsh" | "sudo"))
                {
                    self.input(Language::Remote, program);
                } else if let Some((language, ..)) = remote.first().and_then(|word| language_of(&word.text)) {
                    self.input(language, &remote[0].text);
                }
            }
            "su" | "runuser" => self.after_option(Language::Remote, "su -c", rest, &["-c", "--command"]),
            "watch" if !rest.iter().any(|word| word.text == "-x" || word.text == "--exec") => {
                let from = options(rest, "watch");
                self.joined(Language::Remote, "watch", rest.get(from..).unwrap_or_default());
            }
            "parallel" => {
                let from = options(rest, "parallel");
                let template = rest.get(from..).unwrap_or_default();
                let to = template.iter().position(|word| word.text.starts_with(":::")).unwrap_or(template.len());
                self.joined(Language::Remote, "parallel", &template[..to]);
            }
            "at" | "batch" | "crontab" => self.input(Language::Remote, program),
            "awk" | "gawk" | "mawk" | "nawk" => {
                let from = options(rest, "awk");
                if !rest[..from.min(rest.len())]
                    .iter()
                    .any(|word| word.text.starts_with("-f") || word.text.starts_with("--file"))
                    && let Some(word) = rest.get(from)
                {
                    self.code(Language::Awk, program, word);
                }
            }
            "sed" | "gsed" => self.sed(program, rest),
            "jq" | "gojq" | "jaq" | "yq" => self.filter(program, rest),
            "sqlite3" | "duckdb" => {
                let from = options(rest, "sqlite3");
                for (index, word) in rest.iter().enumerate() {
                    if matches!(word.text.as_str(), "-cmd" | "-c")
                        && let Some(next) = rest.get(index + 1)
                    {
                        self.code(Language::Sql, program, next);
                    }
                }
                for word in rest.get(from + 1..).unwrap_or_default() {
                    self.code(Language::Sql, program, word);
                }
                if rest.len() <= from + 1 {
                    self.input(Language::Sql, program);
                }
            }
            "powershell" | "pwsh" | "powershell.exe" | "pwsh.exe" => {
                if let Some(at) = rest.iter().position(|word| {
                    let option = word.text.to_ascii_lowercase();
                    option.len() > 1 && ("-command".starts_with(&option) || "-encodedcommand".starts_with(&option))
                }) {
                    for word in &rest[at + 1..] {
                        self.code(Language::PowerShell, program, word);
                    }
                }
                if rest.last().is_some_and(|word| word.text == "-") || rest.is_empty() {
                    self.input(Language::PowerShell, program);
                }
            }
            "cmd" | "cmd.exe" => {
                for word in rest {
                    self.code(Language::Other, program, word);
                }
            }
            "let" => {
                for word in rest {
                    self.code(Language::Arithmetic, "let", word);
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "integer" => {
                let integer = program == "integer"
                    || rest.iter().any(|word| word.text.starts_with('-') && word.text.contains('i'));
                for word in rest {
                    let name_ends = word.text.find('=').unwrap_or(word.text.len());
                    let before = word.text[..name_ends].matches(HOLE as char).count();
                    for (index, &hole) in word.holes.iter().enumerate() {
                        if index < before {
                            self.flag(hole, Language::Name, program, Some(word.index), None, false);
                        } else if integer {
                            self.flag(hole, Language::Arithmetic, program, Some(word.index), None, false);
                        }
                    }
                }
            }
            "unset" | "read" | "mapfile" | "readarray" | "getopts" | "vared" => {
                let name = if program == "readarray" { "mapfile" } else { program };
                let mut skipped = false;
                for (index, word) in rest.iter().enumerate() {
                    if !(skipped || program == "getopts" && index != 1) {
                        self.code(Language::Name, program, word);
                    }
                    skipped = takes_value(name, &word.text);
                }
            }
            "printf" | "test" | "[" | "wait" => {
                let option = match program {
                    "printf" => "-v",
                    "wait" => "-p",
                    _ => "-v",
                };
                for (index, word) in rest.iter().enumerate() {
                    if word.text == option
                        && (program != "printf" || index == 0)
                        && let Some(next) = rest.get(index + 1)
                    {
                        self.code(Language::Name, program, next);
                    }
                }
                if self.shell == Shell::Zsh && program != "printf" {
                    self.comparisons(rest);
                }
            }
            _ => {
                if let Some((language, name, flags)) = language_of(program) {
                    self.interpreter(language, name, program, rest, flags);
                }
            }
        }
    }

    /// `[[ a -eq b ]]` evaluates both sides as arithmetic, `-v` a name.
    fn test(&mut self, words: &[Decoded]) {
        for (index, word) in words.iter().enumerate() {
            if matches!(word.text.as_str(), "-v" | "-R")
                && let Some(next) = words.get(index + 1)
            {
                self.code(Language::Name, "[[ -v", next);
            }
        }
        self.comparisons(words);
    }

    fn comparisons(&mut self, words: &[Decoded]) {
        for (index, word) in words.iter().enumerate() {
            if is_comparison(word.text.as_bytes()) {
                for side in [index.checked_sub(1), Some(index + 1)].into_iter().flatten() {
                    if let Some(side) = words.get(side) {
                        self.code(Language::Arithmetic, &word.text, side);
                    }
                }
            }
        }
    }

    fn shell(&mut self, program: &str, rest: &[Decoded], replace: Option<&str>) {
        let mut at = 0;
        let mut code = false;
        let mut standard_input = false;
        while let Some(word) = rest.get(at) {
            if !(word.text.starts_with('-') || word.text.starts_with('+')) || word.text == "-" || word.text == "--" {
                break;
            }
            if !word.text.starts_with("--") {
                code |= word.text.starts_with('-') && word.text.contains('c');
                standard_input |= word.text.starts_with('-') && word.text.contains('s');
            }
            at += 1 + usize::from(takes_value("shell", &word.text));
        }
        if rest.get(at).is_some_and(|word| word.text == "--") {
            at += 1;
        }
        match rest.get(at) {
            Some(word) if code => {
                self.code(Language::Shell, program, word);
                if replace.is_some_and(|mark| !mark.is_empty() && word.text.contains(mark)) {
                    self.input(Language::Shell, program);
                }
            }
            Some(word) if word.substitution => self.code(Language::Shell, program, word),
            Some(word) if !standard_input && word.text != "-" && word.text != "/dev/stdin" => {}
            _ => self.input(Language::Shell, program),
        }
    }

    fn after_option(&mut self, language: Language, program: &str, rest: &[Decoded], flags: &[&str]) {
        for (index, word) in rest.iter().enumerate() {
            if flags.contains(&word.text.as_str()) {
                if let Some(next) = rest.get(index + 1) {
                    self.code(language, program, next);
                }
            } else if flags.iter().any(|flag| {
                flag.starts_with("--") && word.text.strip_prefix(flag).is_some_and(|tail| tail.starts_with('='))
            }) {
                self.code(language, program, word);
            }
        }
    }

    fn interpreter(&mut self, language: Language, name: &str, program: &str, rest: &[Decoded], flags: &[&str]) {
        let mut at = 0;
        while let Some(word) = rest.get(at) {
            let text = word.text.as_str();
            let cluster = matches!(language, Language::Perl | Language::Ruby | Language::Python | Language::Php)
                && text.len() > 1
                && text.starts_with('-')
                && !text.starts_with("--")
                && !text.contains(HOLE as char)
                && flags.iter().any(|flag| text.ends_with(&flag[1..]))
                && text[1..].bytes().all(|byte| byte.is_ascii_alphanumeric());
            if flags.contains(&text) || cluster {
                if let Some(next) = rest.get(at + 1) {
                    self.code(language, program, next);
                }
                if language == Language::Python || language == Language::Php {
                    return;
                }
                at += 2;
                continue;
            }
            if flags.iter().any(|flag| {
                text.len() > flag.len()
                    && text.starts_with(flag)
                    && (flag.len() == 2 || text[flag.len()..].starts_with('='))
            }) {
                self.code(language, program, word);
                at += 1;
                continue;
            }
            if !text.starts_with('-') || text == "-" {
                break;
            }
            at += 1 + usize::from(takes_value(name, text));
        }
        let script = rest.get(at);
        if script.is_some_and(|word| word.substitution) {
            self.code(language, program, &rest[at]);
        }
        let ran_code = rest.iter().take(at).any(|word| flags.contains(&word.text.as_str()));
        if language == Language::Sql
            || !ran_code && script.is_none_or(|word| word.text == "-" || word.text == "/dev/stdin")
        {
            self.input(language, program);
        }
    }

    fn sed(&mut self, program: &str, rest: &[Decoded]) {
        let mut scripted = false;
        let mut at = 0;
        while let Some(word) = rest.get(at) {
            let text = word.text.as_str();
            if text == "--" {
                at += 1;
                break;
            }
            if text.starts_with("--expression=") {
                self.code(Language::Sed, program, word);
                scripted = true;
            } else if text == "--expression"
                || text.starts_with('-') && !text.starts_with("--") && !text.starts_with("-i") && text.ends_with('e')
            {
                if let Some(next) = rest.get(at + 1) {
                    self.code(Language::Sed, program, next);
                }
                scripted = true;
                at += 1;
            } else if text.starts_with("-e") {
                self.code(Language::Sed, program, word);
                scripted = true;
            } else if takes_value("sed", text) {
                scripted |= text != "-l";
                at += 1;
            } else if !text.starts_with('-') {
                break;
            }
            at += 1;
        }
        if let Some(word) = rest.get(at).filter(|_| !scripted) {
            self.code(Language::Sed, program, word);
        }
    }

    fn filter(&mut self, program: &str, rest: &[Decoded]) {
        let language = if program == "yq" { Language::Yq } else { Language::Jq };
        let mut at = 0;
        let mut from_file = false;
        while let Some(word) = rest.get(at) {
            let text = word.text.as_str();
            at += match text {
                "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => 3,
                "-f" | "--from-file" => {
                    from_file = true;
                    2
                }
                "eval" | "e" | "eval-all" | "ea" if language == Language::Yq => 1,
                _ if takes_value("jq", text) => 2,
                _ if text.starts_with('-') && text.len() > 1 => 1,
                _ => break,
            };
        }
        if let Some(word) = rest.get(at).filter(|_| !from_file) {
            self.code(language, program, word);
        }
    }
}

/// How many leading words are options of `program`, with their values.
fn options(words: &[Decoded], program: &str) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word.text == "--" {
            return at + 1;
        }
        if !word.text.starts_with('-') || word.text == "-" {
            break;
        }
        at += 1 + usize::from(takes_value(program, &word.text));
    }
    at
}

/// For each hole of shell code: whether it stands where a word is read, outside of quotes.
fn open_places(text: &str) -> Vec<bool> {
    track(Shell::Bash, text.as_bytes())
        .holes
        .iter()
        .map(|hole| matches!(hole.spot, Spot::Words | Spot::One { .. }))
        .collect()
}

/// Removes the shell's quoting from a word.
fn decode(source: &str, span: &Range<usize>, holes: &Range<usize>, index: usize) -> Decoded {
    let bytes = source[span.clone()].as_bytes();
    let mut decoded = Decoded { index, ..Decoded::default() };
    if holes.is_empty() && bytes.iter().all(|&byte| crate::track::is_word_byte(byte) || byte == b'=') {
        source[span.clone()].clone_into(&mut decoded.text);
        return decoded;
    }
    let mut text = Vec::with_capacity(bytes.len());
    let mut hole = holes.start;
    let mut quote = 0u8;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (_, HOLE) => {
                decoded.holes.push(hole);
                hole += 1;
                text.push(HOLE);
            }
            (0, b'\'') | (0, b'"') => quote = byte,
            (b'\'' | b'a', b'\'') | (b'"', b'"') => quote = 0,
            (b'\'', _) => text.push(byte),
            (_, b'\\') => {
                at += 1;
                match bytes.get(at) {
                    Some(b'\n') if quote != b'a' => {}
                    Some(b'n') if quote == b'a' => text.push(b'\n'),
                    Some(b't') if quote == b'a' => text.push(b'\t'),
                    Some(&HOLE) => at -= 1,
                    Some(&escaped) => {
                        if quote == b'"' && !matches!(escaped, b'$' | b'`' | b'"' | b'\\') {
                            text.push(b'\\');
                        }
                        text.push(escaped);
                    }
                    None => text.push(b'\\'),
                }
            }
            (b'a', _) => text.push(byte),
            (0, b'$') if bytes.get(at + 1) == Some(&b'\'') => {
                quote = b'a';
                at += 1;
            }
            (_, b'$' | b'`') | (0, b'<' | b'>') => {
                let end = expansion(bytes, at);
                if end == at + 1 && byte == b'$' {
                    text.push(byte);
                } else {
                    decoded.dynamic = true;
                    decoded.substitution |= matches!(byte, b'<' | b'>');
                    for &inside in &bytes[at..end] {
                        if inside == HOLE {
                            decoded.inner.push(hole);
                            hole += 1;
                        } else {
                            text.push(inside);
                        }
                    }
                }
                at = end;
                continue;
            }
            _ => text.push(byte),
        }
        at += 1;
    }
    decoded.text =
        String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    decoded
}

/// Where an expansion that begins at `at` ends.
fn expansion(bytes: &[u8], at: usize) -> usize {
    if bytes[at] == b'`' {
        let mut end = at + 1;
        while end < bytes.len() && bytes[end] != b'`' {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        return (end + 1).min(bytes.len());
    }
    let (open, close) = match bytes.get(at + 1) {
        Some(b'(') => (b'(', b')'),
        Some(b'{') if bytes[at] == b'$' => (b'{', b'}'),
        Some(next) if bytes[at] == b'$' && (next.is_ascii_alphabetic() || *next == b'_') => {
            let length =
                bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            return at + 1 + length;
        }
        Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') if bytes[at] == b'$' => return at + 2,
        _ => return at + 1,
    };
    let mut depth = 0usize;
    let mut quote = 0;
    let mut end = at + 1;
    while end < bytes.len() {
        let byte = bytes[end];
        match (quote, byte) {
            (0 | b'"', b'\\') => end += 1,
            (0, b'\'' | b'"') => quote = byte,
            (b'\'', b'\'') | (b'"', b'"') => quote = 0,
            (0, _) if byte == open => depth += 1,
            (0, _) if byte == close => {
                depth -= 1;
                if depth == 0 {
                    return end + 1;
                }
            }
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

// Telling.

/// What is wrong with a danger, and the command rewritten.
pub(crate) fn problem(danger: &Danger, source: &str, found: &Track, values: &[(&Value<'_>, usize)]) -> Problem {
    let name = values[danger.hole].0.name;
    let rewrite = rewrite(danger, source, found, values);
    let program = &danger.program;
    let (slug, message) = match danger.language {
        Language::Arithmetic => (
            code::ARITHMETIC,
            format!("`{name}` is evaluated as arithmetic by `{program}`, which runs commands hidden in it"),
        ),
        Language::Name => (
            code::SECOND_PARSE,
            format!(
                "`{name}` is taken for a variable's name by `{program}`, which runs commands hidden in a subscript"
            ),
        ),
        _ => (
            code::SECOND_PARSE,
            format!("`{name}` stands in code that `{program}` parses, where no quoting keeps it data"),
        ),
    };
    let help = match (danger.language, rewrite.is_some()) {
        (Language::Arithmetic, _) => format!("declare `{name}` with `type: integer`, or compare text with `==`"),
        (Language::Name, _) => format!(
            "write the variable's name yourself, or list the allowed names in `validation: {{enum: […]}}` of `{name}`"
        ),
        (_, true) => "pass the value beside the code".to_owned(),
        (Language::Sed, _) => {
            format!("use `awk` with `ENVIRON`, or `perl` with `$ENV{{\"{name}\"}}`: `sed` cannot be given data")
        }
        (Language::Sql, _) => {
            "use the client's bound parameters, or list the allowed values in `validation: {enum: […]}`".to_owned()
        }
        (Language::Shell | Language::Eval | Language::Remote, _) => {
            format!(
                "write the code without the value and pass the value as an argument (`\"$1\"`), or use `{{{name}:shellescaped}}` outside of quotes"
            )
        }
        _ => format!(
            "write the code without the value and read it from the environment, `{name}={{{name}}}` before the command"
        ),
    };
    Problem { code: slug, message, help, rewrite }
}

fn shown(text: &str, holes: impl Iterator<Item = usize>, values: &[(&Value<'_>, usize)]) -> String {
    let mut holes = holes;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match (character, character == HOLE as char) {
            (_, true) => {
                out.push_str(&holes.next().map_or_else(String::new, |hole| format!("{{{}}}", values[hole].0.name)));
            }
            _ => out.push(character),
        }
    }
    out
}

/// How a language is given data, and how code names it there. What comes out stands in a template again, so that a bare
/// name in braces must not appear.
fn reference(language: Language, position: usize, name: &str, positional: bool) -> String {
    match language {
        Language::Shell | Language::Eval => format!("${position}"),
        Language::Python => format!("sys.argv[{position}]"),
        Language::Perl if positional => format!("$ARGV[{}]", position - 1),
        Language::Perl => format!("$ENV{{\"{name}\"}}"),
        Language::Ruby if positional => format!("ARGV[{}]", position - 1),
        Language::Ruby => format!("ENV[\"{name}\"]"),
        Language::Node if positional => format!("process.argv[{position}]"),
        Language::Node => format!("process.env.{name}"),
        Language::Php if positional => format!("$argv[{position}]"),
        Language::Php => format!("getenv(\"{name}\")"),
        Language::R => format!("Sys.getenv(\"{name}\")"),
        Language::Awk => format!("ENVIRON[\"{name}\"]"),
        Language::Jq => format!("${}", name.to_ascii_lowercase().replace('-', "_")),
        Language::Yq => format!("strenv({name})"),
        Language::PowerShell => format!("$env:{name}"),
        _ => String::new(),
    }
}

fn glue(language: Language) -> Option<&'static str> {
    Some(match language {
        Language::Python | Language::Ruby | Language::Node | Language::PowerShell | Language::Yq => " + ",
        Language::Perl | Language::Php => " . ",
        Language::Awk => " ",
        _ => return None,
    })
}

fn rewrite(danger: &Danger, source: &str, found: &Track, values: &[(&Value<'_>, usize)]) -> Option<String> {
    let command = &found.commands[danger.command];
    let language = danger.language;
    if let Some(document) = danger.document {
        return rewrite_document(language, &found.documents[document], command, source, found, values);
    }
    let word = &command.words[danger.word?];
    let decoded = decode(source, &word.span, &word.holes, danger.word?);
    if decoded.holes.is_empty() || !decoded.inner.is_empty() {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for &hole in &decoded.holes {
        if !names.contains(&values[hole].0.name) {
            names.push(values[hole].0.name);
        }
    }
    // Words that follow the code are arguments already; ours come after them.
    let after: Vec<usize> =
        (danger.word? + 1..command.words.len()).filter(|&index| command.words[index].role == Role::Plain).collect();
    let before = &source[command.span.start..word.span.start];
    let behind_start = word.span.end;
    let before_holes = found
        .holes
        .iter()
        .enumerate()
        .filter(|(_, hole)| (command.span.start..word.span.start).contains(&hole.at))
        .map(|(index, _)| index);
    let behind = source.get(behind_start..command.span.end)?;
    let behind_holes = found
        .holes
        .iter()
        .enumerate()
        .filter(|(_, hole)| (behind_start..command.span.end).contains(&hole.at))
        .map(|(index, _)| index);
    let (before, behind) = (shown(before, before_holes, values), shown(behind, behind_holes, values));
    let positional = after.is_empty() && !matches!(language, Language::Perl | Language::Ruby)
        || after.is_empty() && !before.contains('n') && !before.contains("-p");
    let braces = |name: &str| format!("{{{name}}}");
    let arguments: Vec<String> = names.iter().map(|name| braces(name)).collect();
    let arguments = arguments.join(" ");
    let environment: String = names.iter().map(|name| format!("{name}={{{name}}} ")).collect();
    match language {
        Language::Remote => {
            // Fragments, outside of the inner quotes.
            let code = splice_shell(
                &decoded.text,
                |index| format!("{{{}:shellescaped}}", values[decoded.holes[index]].0.name),
                true,
            );
            Some(format!("{before}{}{behind}", double_quoted(&code, decoded.dynamic)))
        }
        Language::Shell | Language::Eval => {
            // `find -exec … \;` ends with a word of its own.
            let terminator = after
                .last()
                .map(|&index| &source[command.words[index].span.clone()])
                .filter(|text| matches!(*text, "\\;" | "';'" | "\";\"" | "+"));
            if terminator == Some("+") {
                return None;
            }
            let given = after.len() - usize::from(terminator.is_some());
            let offset = if language == Language::Shell { given.saturating_sub(1) } else { 0 };
            let code = splice_shell(
                &decoded.text,
                |index| {
                    let name = values[decoded.holes[index]].0.name;
                    let position = 1 + offset + names.iter().position(|known| *known == name).unwrap_or(0);
                    if position > 9 { format!("${{{position}}}") } else { format!("${position}") }
                },
                false,
            );
            let code = requoted(&code, &decoded)?;
            Some(match language {
                Language::Eval => format!("set -- {arguments}; {before}{code}{behind}"),
                _ if given == 0 => format!("{before}{code} _ {arguments}{behind}"),
                _ if terminator.is_some() => {
                    let (head, tail) = behind.trim_end().rsplit_once(' ')?;
                    format!("{before}{code}{head} {arguments} {tail}")
                }
                _ => format!("{before}{code}{behind} {arguments}"),
            })
        }
        Language::Sed => sed_as_perl(&decoded, &names, &environment, &before, &behind, values),
        Language::Jq => {
            let code = splice_strings(&decoded, language, |name| reference(language, 0, name, false), values)?;
            let flags: String = names
                .iter()
                .map(|name| format!("--arg {} {{{name}}} ", &reference(language, 0, name, false)[1..]))
                .collect();
            Some(format!("{before}{flags}{}{behind}", requoted(&code, &decoded)?))
        }
        Language::Sql if danger.program == "psql" => {
            let code = decoded.text.replace("'\0'", "\0");
            let code = shown_with(&code, &decoded, values, |name| format!(":'{}'", name.to_ascii_lowercase()));
            let flags: String =
                names.iter().map(|name| format!(" -v {}={{{name}}}", name.to_ascii_lowercase())).collect();
            let head = before.trim_end().strip_suffix("-c")?.trim_end().to_owned();
            Some(format!("{head}{flags}{behind} <<'SQL'\n{code}\nSQL"))
        }
        Language::Python => {
            let offset = after.len();
            let code = splice_strings(
                &decoded,
                language,
                |name| {
                    reference(
                        language,
                        1 + offset + names.iter().position(|known| *known == name).unwrap_or(0),
                        name,
                        true,
                    )
                },
                values,
            )?;
            let code = if code.starts_with("import sys;") { code } else { format!("import sys; {code}") };
            Some(format!("{before}{}{behind} {arguments}", requoted(&code, &decoded)?))
        }
        Language::Node | Language::Perl | Language::Ruby | Language::Php if positional => {
            let code = splice_strings(
                &decoded,
                language,
                |name| reference(language, 1 + names.iter().position(|known| *known == name).unwrap_or(0), name, true),
                values,
            )?;
            let dashes = if language == Language::Php { " --" } else { "" };
            Some(format!("{before}{}{dashes} {arguments}{behind}", requoted(&code, &decoded)?))
        }
        Language::Node
        | Language::Perl
        | Language::Ruby
        | Language::Php
        | Language::Awk
        | Language::Yq
        | Language::PowerShell
        | Language::R => {
            let code = splice_strings(&decoded, language, |name| reference(language, 1, name, false), values)?;
            Some(format!("{environment}{before}{}{behind}", requoted(&code, &decoded)?))
        }
        Language::Sql | Language::Other | Language::Name | Language::Arithmetic => None,
    }
}

fn shown_with(text: &str, decoded: &Decoded, values: &[(&Value<'_>, usize)], write: impl Fn(&str) -> String) -> String {
    let mut index = 0;
    text.split(HOLE as char)
        .enumerate()
        .map(|(part, text)| {
            if part == 0 {
                return text.to_owned();
            }
            let name = values[decoded.holes[index]].0.name;
            index += 1;
            format!("{}{text}", write(name))
        })
        .collect()
}

/// Shell code with each hole replaced as the quotes around it allow.
fn splice_shell(text: &str, write: impl Fn(usize) -> String, leave_quotes: bool) -> String {
    let inner = track(Shell::Bash, text.as_bytes());
    let mut out = String::new();
    let mut at = 0;
    for (index, hole) in inner.holes.iter().enumerate() {
        out.push_str(&text[at..hole.at]);
        at = hole.at + 1;
        let new = write(index);
        out.push_str(&match (hole.spot, leave_quotes) {
            (Spot::Single, true) => format!("'{new}'"),
            (Spot::Double, true) => format!("\"{new}\""),
            (_, true) => new,
            (Spot::Single, false) => format!("'\"{new}\"'"),
            (Spot::Words | Spot::One { .. } | Spot::Pattern, false) => format!("\"{new}\""),
            (_, false) => new,
        });
    }
    out.push_str(&text[at..]);
    // Quotes that held nothing but the value.
    if leave_quotes {
        return out.replace("''{", "{").replace("}''", "}").replace("\"\"{", "{").replace("}\"\"", "}");
    }
    out.replace("''\"", "\"").replace("\"''", "\"")
}

/// Code with each hole replaced by a reference, strings around it closed and joined.
fn splice_strings(
    decoded: &Decoded,
    language: Language,
    write: impl Fn(&str) -> String,
    values: &[(&Value<'_>, usize)],
) -> Option<String> {
    let text = decoded.text.as_bytes();
    let mut out: Vec<u8> = Vec::new();
    let mut quote = 0u8;
    let mut opened = 0;
    let mut index = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        match (quote, byte) {
            (_, HOLE) => {
                let new = write(values[decoded.holes[index]].0.name);
                index += 1;
                if quote == 0 && language == Language::Jq && out.ends_with(b".") {
                    out.extend_from_slice(format!("[{new}]").as_bytes());
                } else if quote == 0 && language == Language::Awk && is_in_pattern(&out) {
                    if !out.ends_with(b"/") || text.get(at + 1) != Some(&b'/') {
                        return None;
                    }
                    // The pattern is the value and nothing else.
                    out.pop();
                    at += 1;
                    let compared = out.trim_ascii_end().ends_with(b"~");
                    out.extend_from_slice(if compared { new } else { format!("$0 ~ {new}") }.as_bytes());
                } else if quote == 0 {
                    out.extend_from_slice(new.as_bytes());
                } else if quote == b'`' {
                    out.extend_from_slice(format!("${{{new}}}").as_bytes());
                } else if out.len() == opened && text.get(at + 1) == Some(&quote) {
                    // The string is the value and nothing else.
                    out.pop();
                    out.extend_from_slice(new.as_bytes());
                    quote = 0;
                    at += 1;
                } else if language == Language::Jq {
                    out.extend_from_slice(format!("\\({new})").as_bytes());
                } else {
                    let glue = glue(language)?;
                    let quote_text = quote as char;
                    if out.len() == opened {
                        out.pop();
                        out.extend_from_slice(format!("{new}{glue}{quote_text}").as_bytes());
                        opened = out.len();
                    } else if text.get(at + 1) == Some(&quote) {
                        out.extend_from_slice(format!("{quote_text}{glue}{new}").as_bytes());
                        quote = 0;
                        at += 1;
                    } else {
                        out.extend_from_slice(format!("{quote_text}{glue}{new}{glue}{quote_text}").as_bytes());
                        opened = out.len();
                    }
                }
            }
            (0, b'\'' | b'"') => {
                if text[at..].starts_with(&[byte, byte, byte]) {
                    return None;
                }
                quote = byte;
                out.push(byte);
                opened = out.len();
            }
            (0, b'`') if language == Language::Node => {
                quote = byte;
                out.push(byte);
            }
            (0, _) => out.push(byte),
            (_, b'\\') => {
                out.push(byte);
                at += 1;
                if let Some(&escaped) = text.get(at).filter(|next| **next != HOLE) {
                    out.push(escaped);
                } else {
                    continue;
                }
            }
            _ => {
                out.push(byte);
                if byte == quote {
                    quote = 0;
                }
            }
        }
        at += 1;
    }
    String::from_utf8(out).ok()
}

/// Whether awk code so far leaves a `/pattern` open. A division counts as one, and then there is no rewrite.
fn is_in_pattern(code: &[u8]) -> bool {
    code.iter().filter(|byte| **byte == b'/').count() % 2 == 1
}

/// Code as one shell word again. Code that the outer shell expands in part cannot be requoted safely.
fn requoted(code: &str, decoded: &Decoded) -> Option<String> {
    (!decoded.dynamic).then(|| format!("'{}'", code.replace('\'', "'\\''")))
}

fn double_quoted(code: &str, dynamic: bool) -> String {
    let mut out = String::from("\"");
    for character in code.chars() {
        if matches!(character, '"' | '\\') || matches!(character, '$' | '`') && !dynamic {
            out.push('\\');
        }
        out.push(character);
    }
    out + "\""
}

/// `s/{A}/{B}/flags` as the perl that does the same with data.
fn sed_as_perl(
    decoded: &Decoded,
    names: &[&str],
    environment: &str,
    before: &str,
    behind: &str,
    values: &[(&Value<'_>, usize)],
) -> Option<String> {
    let text = decoded.text.strip_prefix('s')?;
    let delimiter = text.chars().next().filter(|c| matches!(c, '/' | '|' | '#' | ',' | '@'))?;
    let parts: Vec<&str> = text[1..].split(delimiter).collect();
    let [pattern, replacement, flags] = parts[..] else { return None };
    if names.is_empty()
        || !flags.chars().all(|flag| matches!(flag, 'g' | 'i' | 'I'))
        || pattern.contains('\\')
        || replacement.contains(['\\', '&'])
        || before.contains("-e")
    {
        return None;
    }
    let split = pattern.matches(HOLE as char).count();
    let render = |text: &str, from: usize, quote: bool| {
        let mut index = from;
        text.split(HOLE as char)
            .enumerate()
            .map(|(part, text)| {
                let text = if quote { text.to_owned() } else { text.replace('$', "\\$").replace('@', "\\@") };
                if part == 0 {
                    return text;
                }
                let name = values[decoded.holes[index]].0.name;
                index += 1;
                if quote { format!("\\Q$ENV{{\"{name}\"}}\\E{text}") } else { format!("$ENV{{\"{name}\"}}{text}") }
            })
            .collect::<String>()
    };
    let edit = if before.contains(" -i") { "-i -pe" } else { "-pe" };
    let print = if before.contains(" -n") { return None } else { edit };
    let (pattern, replacement) = (render(pattern, 0, true), render(replacement, split, false));
    Some(format!(
        "{environment}perl {print} 's{delimiter}{pattern}{delimiter}{replacement}{delimiter}{}'{behind}",
        flags.to_ascii_lowercase()
    ))
}

fn rewrite_document(
    language: Language,
    document: &crate::track::Document,
    command: &Command,
    source: &str,
    found: &Track,
    values: &[(&Value<'_>, usize)],
) -> Option<String> {
    let body = source.get(document.body.clone())?;
    let holes: Vec<usize> = found
        .holes
        .iter()
        .enumerate()
        .filter(|(_, hole)| document.body.contains(&hole.at))
        .map(|(index, _)| index)
        .collect();
    // A document that expands has text for the outer shell in it.
    if !document.quoted && body.contains(['$', '`', '\\']) || !document.layers.is_empty() {
        return None;
    }
    let decoded = Decoded { text: body.to_owned(), holes, ..Decoded::default() };
    let mut names: Vec<&str> = Vec::new();
    for &hole in &decoded.holes {
        if !names.contains(&values[hole].0.name) {
            names.push(values[hole].0.name);
        }
    }
    let head = source.get(command.span.start..document.opener.start)?.trim_end_matches(['-', ' ', '<']);
    if head.contains(HOLE as char) {
        return None;
    }
    let arguments: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    let arguments = arguments.join(" ");
    let environment: String = names.iter().map(|name| format!("{name}={{{name}}} ")).collect();
    let delimiter = String::from_utf8_lossy(&document.delimiter);
    let position = |name: &str| 1 + names.iter().position(|known| *known == name).unwrap_or(0);
    Some(match language {
        Language::Shell => {
            let code = splice_shell(
                &decoded.text,
                |index| format!("${}", position(values[decoded.holes[index]].0.name)),
                false,
            );
            let option = if head.contains(" -s") { "" } else { " -s" };
            format!("{head}{option} -- {arguments} <<'{delimiter}'\n{code}{delimiter}")
        }
        Language::Python => {
            let code =
                splice_strings(&decoded, language, |name| reference(language, position(name), name, true), values)?;
            let code = if code.starts_with("import sys\n") { code } else { format!("import sys\n{code}") };
            let dash = if head.ends_with(" -") { "" } else { " -" };
            format!("{head}{dash} {arguments} <<'{delimiter}'\n{code}{delimiter}")
        }
        Language::Node | Language::Perl | Language::Ruby | Language::Php | Language::R => {
            let code = splice_strings(&decoded, language, |name| reference(language, 1, name, false), values)?;
            format!("{environment}{head} <<'{delimiter}'\n{code}{delimiter}")
        }
        _ => return None,
    })
}
