//! Scripts that bring one value to one place of one program, put together from a source of bytes.
//!
//! A script is a chain: the value goes through variables, functions, loops, arrays, pipes, files and shells inside of shells, and
//! at the end of the chain stands a command with options and words of the tables, behind up to three programs that start it.

use std::{fmt::Write as _, fs, path::Path};

use cycod_shell::Shell;
use toml_edit::{DocumentMut, Item, TableLike};

/// Choices made by bytes, so that a fuzzer can steer them. When the bytes end, every choice is the first, which ends every chain.
#[derive(Debug)]
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// A number below `count`, which is at least one.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let mut number = 0;
        let mut range = 1;
        while range < count {
            let Some((first, rest)) = self.bytes.split_first() else { break };
            self.bytes = rest;
            number = number << 8 | usize::from(*first);
            range <<= 8;
        }
        number % count
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What the tables say can be written in a call of one program, or of one of its subcommands.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its name, and the name of the subcommand.
    words: String,
    flags: Vec<String>,
    /// Options that take an argument.
    options: Vec<String>,
}

impl Program {
    pub(crate) fn name(&self) -> &str {
        self.words.split(' ').next().unwrap_or_default()
    }
}

/// Everything that `programs/*.toml` describes.
pub(crate) fn programs() -> Vec<Program> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find_map(|above| {
        let inside = ["programs", "crates/cycod-shell/programs"].map(|path| above.join(path));
        inside.into_iter().find(|path| path.join("coreutils.toml").is_file())
    });
    let mut files: Vec<_> = fs::read_dir(directory.expect("the tables stand beside the tests"))
        .expect("the tables can be read")
        .map(|entry| entry.expect("the tables can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let mut programs = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("the tables are text");
        let document: DocumentMut = text.parse().expect("the build script reads the same file");
        match document.get("program").and_then(Item::as_array_of_tables) {
            Some(tables) => tables.iter().for_each(|table| describe(table, &mut programs)),
            None => describe(document.as_table(), &mut programs),
        }
    }
    programs
}

fn describe(table: &dyn TableLike, programs: &mut Vec<Program>) {
    for name in strings(table.get("names")) {
        // A module of an interpreter is no program.
        if !name.contains(' ') {
            describe_entry(&name, table, table, programs);
        }
    }
}

fn describe_entry(words: &str, entry: &dyn TableLike, whole: &dyn TableLike, programs: &mut Vec<Program>) {
    let mut program = Program { words: words.to_owned(), flags: Vec::new(), options: Vec::new() };
    let shared =
        strings(entry.get("also")).into_iter().filter_map(|name| whole.get("shared")?.get(&name)?.as_table_like());
    for options in entry.get("options").and_then(Item::as_table_like).into_iter().chain(shared) {
        for (kind, item) in options.iter() {
            // What a shell would read otherwise is left out.
            let is_plain =
                |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+.:%".contains(&byte));
            let named = item.as_str().unwrap_or_default().split_whitespace().map(|name| name.trim_end_matches('?'));
            let named = named.filter(is_plain).map(str::to_owned);
            if kind == "flag" { program.flags.extend(named) } else { program.options.extend(named) }
        }
    }
    programs.push(program);
    for (name, item) in entry.get("sub").and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter) {
        if let Some(below) = item.as_table_like() {
            describe_entry(&format!("{words} {name}"), below, whole, programs);
        }
    }
}

fn strings(item: Option<&Item>) -> Vec<String> {
    let array = item.and_then(Item::as_array);
    array.into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

/// A script with `{X}` in it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) shell: Shell,
    /// Nothing but a program looks at the value or changes it: each passes it on as it is.
    pub(crate) is_exact: bool,
    /// It passes the value on as lines.
    pub(crate) needs_one_line: bool,
    /// It makes several words of the value on purpose.
    pub(crate) splits: bool,
}

impl Script {
    pub(crate) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), shell: Shell::Bash, is_exact: false, needs_one_line: false, splits: false }
    }
}

/// Makes a script for one of these programs.
pub(crate) fn script(choices: &mut Choices<'_>, programs: &[&Program]) -> Script {
    let shell = choices.pick(&[Shell::Bash, Shell::Bash, Shell::Bash, Shell::Sh, Shell::Zsh]);
    let mut maker = Maker { choices, programs, shell, names: 0, is_exact: true, needs_one_line: false, splits: false };
    let text = maker.statement("{X}", 4);
    // As a wrapper, `xargs` splits what the script gives it as input.
    let splits = maker.splits || text.contains("xargs");
    Script { text, shell, is_exact: maker.is_exact, needs_one_line: maker.needs_one_line, splits }
}

/// Programs that start another, up to its name.
const WRAPPERS: [&str; 16] = [
    "env",
    "env A=1 B=2",
    "env -u A",
    "timeout 5",
    "timeout -k 1 -s KILL 5",
    "timeout --preserve-status 5",
    "nice",
    "nice -n 5",
    "nohup",
    "stdbuf -oL",
    "setsid -w",
    "command",
    "command --",
    "builtin command",
    "xargs -r -n1 -t",
    "find . -maxdepth 0 -exec",
];

struct Maker<'a, 'b> {
    choices: &'a mut Choices<'b>,
    programs: &'a [&'a Program],
    shell: Shell,
    names: usize,
    is_exact: bool,
    needs_one_line: bool,
    splits: bool,
}

impl Maker<'_, '_> {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// A word that holds the value, where `inner` stands for the value inside of double quotes.
    fn word(&mut self, inner: &str) -> String {
        match self.choices.below(12) {
            0..=3 => format!("\"{inner}\""),
            4 | 5 => inner.to_owned(),
            6 => format!("\"a {inner} b\""),
            7 => format!("./\"{inner}\""),
            8 => format!("x{inner}"),
            9 => format!("\"{inner}\"y"),
            10 if inner == "{X}" => "'{X}'".to_owned(),
            11 => format!("\"$(printf '%s.' \"{inner}\")\""),
            _ => format!("\"{inner}{inner}\""),
        }
    }

    /// A word that is the value, and nothing else.
    fn alone(&mut self, inner: &str) -> String {
        match self.choices.below(3) {
            1 => inner.to_owned(),
            _ => format!("\"{inner}\""),
        }
    }

    /// Something that does something with the value.
    fn statement(&mut self, inner: &str, depth: usize) -> String {
        let choice = if depth == 0 { 0 } else { self.choices.below(50) };
        let is_bash = self.shell == Shell::Bash;
        let below = |maker: &mut Self, inner: &str| maker.statement(inner, depth - 1);
        match choice {
            8 => {
                let (name, word) = (self.name(), self.word(inner));
                let to = self.choices.pick(&["", "export ", "readonly ", "export A=1; "]);
                let used = self.used(&name);
                format!("{to}{name}={word}; {}", below(self, &used))
            }
            9 => {
                let (name, word) = (self.name(), self.alone(inner));
                let body = below(self, "$1");
                format!("{name}() {{ {body}\n}}; {name} {word} b")
            }
            10 => {
                let (name, word) = (self.name(), self.alone(inner));
                let used = self.choices.pick(&["$2", "$@", "$*", "${2}", "${2:-none}"]);
                let body = below(self, used);
                format!("{name}() {{ {body}\n}}; {name} a {word}")
            }
            11 => {
                let (function, name, word) = (self.name(), self.name(), self.word(inner));
                let body = below(self, &format!("${name}"));
                format!("{function}() {{ local {name}=\"$1\"; shift; {body}\n}}; {function} {word}")
            }
            12 | 13 => {
                let (name, word) = (self.name(), self.word(inner));
                let body = below(self, &format!("${name}"));
                format!("for {name} in {word} b; do {body}\ndone")
            }
            14 => {
                let word = self.alone(inner);
                let used = self.choices.pick(&["$1", "$2", "$@", "$*"]);
                format!("set -- a {word}; {}", below(self, used))
            }
            15 if is_bash => {
                let (name, word) = (self.name(), self.alone(inner));
                let used = match self.choices.below(4) {
                    0 => format!("${{{name}[0]}}"),
                    1 => format!("${{{name}[@]}}"),
                    2 => format!("${{{name}[*]}}"),
                    _ => format!("${{{name}[@]:0:1}}"),
                };
                let append = self.choices.pick(&["", "x+=(c); "]).replace('x', &name);
                format!("{name}=({word} b); {append}{}", below(self, &used))
            }
            16 | 17 => {
                let name = self.name();
                let made = self.substitution(inner);
                let used = self.used(&name);
                format!("{name}={made}; {}", below(self, &used))
            }
            18 => {
                let made = self.substitution(inner);
                let made = made.trim_matches('"').to_owned();
                below(self, &made)
            }
            19 if is_bash => {
                self.needs_one_line = true;
                let (name, word) = (self.name(), self.word(inner));
                format!("IFS= read -r {name} <<< {word}; {}", below(self, &format!("${name}")))
            }
            20 => {
                self.needs_one_line = true;
                let (name, word) = (self.name(), self.word(inner));
                let body = below(self, &format!("${name}"));
                format!("printf '%s\\n' {word} | while IFS= read -r {name}; do {body}\ndone")
            }
            21 if is_bash => {
                self.needs_one_line = true;
                let (name, word) = (self.name(), self.word(inner));
                format!("mapfile -t {name} <<< {word}; {}", below(self, &format!("${{{name}[0]}}")))
            }
            22 => {
                let word = self.alone(inner);
                let shell = self.choices.pick(&["sh -c", "bash -c", "bash -euo pipefail -c", "dash -ec", "bash -c --"]);
                let body = below(self, "$1");
                format!("{shell} {} _ {word}", quoted(&body))
            }
            23 => {
                let (name, word) = (self.name(), self.word(inner));
                let open = self.choices.pick(&["", "export ", "env "]);
                let end = if open == "export " { "; " } else { " " };
                let body = below(self, &format!("${name}"));
                format!("{open}{name}={word}{end}sh -c {}", quoted(&body))
            }
            24 => {
                let (name, word) = (self.name(), self.word(inner));
                let body = below(self, &format!("${name}"));
                format!("{name}={word}; eval {}", quoted(&body))
            }
            25 => {
                let (open, close) = self.choices.pick(&[
                    ("( ", "\n)"),
                    ("{ ", "\n}"),
                    ("if true; then ", "\nfi"),
                    ("case a in a) ", "\n;; esac"),
                    ("true && ", ""),
                    ("! ", ""),
                    ("while true; do ", "\nbreak; done"),
                    ("set -e; ", ""),
                    ("cd . && ", ""),
                ]);
                format!("{open}{}{close}", below(self, inner))
            }
            26 if is_bash => {
                let (name, word) = (self.name(), self.word(inner));
                format!("printf -v {name} '%s' {word}; {}", below(self, &format!("${name}")))
            }
            27 => {
                let word = self.word(inner);
                let file = self.name();
                let used = self.choices.pick(&["$(cat FILE)", "$(tail -n1 < FILE)"]).replace("FILE", &file);
                format!("printf '%s' {word} > {file}; {}", below(self, &used))
            }
            28 => self.pipe(inner),
            29 => {
                let word = self.alone(inner);
                self.needs_one_line = true;
                self.splits = true;
                let command = self.command(None);
                let xargs = self.choices.pick(&["xargs", "xargs -0", "xargs -I% ", "xargs -n1", "xargs -d '\\n'"]);
                let rest = if xargs.contains('%') { " %" } else { "" };
                format!("printf '%s' {word} | {xargs} {command}{rest}")
            }
            30 => {
                let command = self.command(None);
                let (open, close) = self.choices.pick(&[("EOF", "EOF"), ("'EOF'", "EOF"), ("-EOF", "\tEOF")]);
                let text = if open.starts_with('\'') && inner != "{X}" { "a" } else { inner };
                format!("{command} <<{open}\n{text}\n{close}")
            }
            31 => {
                self.is_exact = false;
                let word = self.word(inner);
                let (open, close) = self.choices.pick(&[
                    ("[ ", " = x ]"),
                    ("[ -n ", " ]"),
                    ("[ ", " ]"),
                    ("test -e ", ""),
                    ("test x = ", ""),
                    ("[ 1 -eq ", " ]"),
                    ("[[ -n ", " ]]"),
                    ("[[ x == ", " ]]"),
                    ("[[ ", " -eq 1 ]]"),
                    ("[[ -v ", " ]]"),
                ]);
                format!("{open}{word}{close} || {}", below(self, inner))
            }
            32 => {
                self.is_exact = false;
                let name = self.name();
                let form = self.choices.pick(&[
                    "N=$((X + 1))",
                    "let N=X",
                    "N=$((N + ${#N}))",
                    "declare -i N=X",
                    "((N = X))",
                    "N=x; N=\"${N:X}\"",
                    "N=(a b); N=\"${N[X]}\"",
                    "printf -v X a",
                    "read X <<< a",
                    "unset X",
                    "N=\"${!N}\"",
                    "local -n N=X",
                ]);
                let form = form.replace('N', &name).replace('X', inner);
                format!("{name}={}; {form}; {}", self.alone(inner), below(self, &format!("${name}")))
            }
            33 => {
                self.is_exact = false;
                let (name, word) = (self.name(), self.word(inner));
                let used = self.choices.pick(&["#x", "%x", "//a/b", ":1", "^", "@Q", "@P", "@E", "%%.*", "##*/", ",,"]);
                format!("{name}={word}; {}", below(self, &format!("${{{name}{used}}}")))
            }
            34 => {
                self.is_exact = false;
                let (name, word) = (self.name(), self.word(inner));
                let made = self.choices.pick(&[
                    "$(echo WORD)",
                    "$(basename WORD)",
                    "$(basename -- WORD)",
                    "$(dirname -- WORD)",
                    "$(echo WORD | tr a-z A-Z)",
                    "$(echo WORD | sed 's/a/b/')",
                    "$(printf WORD)",
                    "`echo WORD`",
                ]);
                let used = self.used(&name);
                format!("{name}={}; {}", made.replace("WORD", &word), below(self, &used))
            }
            35 => {
                self.is_exact = false;
                let word = self.word(inner);
                let end = self.choices.pick(&[
                    "sh f",
                    ". ./f",
                    "bash ./f",
                    "cat f | sh",
                    "sed -f f a.txt",
                    "awk -f f a.txt",
                    "make -f f",
                ]);
                format!("echo {word} > f; {end}")
            }
            36 => {
                self.is_exact = false;
                let word = self.alone(inner);
                let form = self.choices.pick(&[
                    "eval W",
                    "sh -c W",
                    "echo W | sh",
                    "sh <<< W",
                    "trap W EXIT",
                    "alias x=W; x",
                    "W",
                    "exec W",
                    "$(W)",
                    "source W",
                    "awk W a.txt",
                    "sed -n W a.txt",
                    "perl -e W",
                    "python3 -c W",
                ]);
                form.replace('W', &word)
            }
            37 => {
                let (function, word) = (self.name(), self.alone(inner));
                let command = self.command(None);
                let call = self.choices.pick(&["\"$@\"", "$@", "env \"$@\"", "command \"$@\""]);
                format!("{function}() {{ {call}\n}}; {function} {command} {word}")
            }
            // What zsh does beyond other shells.
            39 | 40 if self.shell == Shell::Zsh => {
                self.is_exact = false;
                let (name, word) = (self.name(), self.word(inner));
                let used = self.choices.pick(&[
                    "$V:t",
                    "${V:t}",
                    "$V:h:t",
                    "${(e)V}",
                    "$=V",
                    "${=V}",
                    "${~V}",
                    "$^V",
                    "$V[2,-1]",
                    "${V[2,-1]}",
                    "${(z)V}",
                    "${(s:,:)V}",
                    "${(P)V}",
                    "${(L)V}",
                    "${V:l}",
                    "${(Q)V}",
                    "${(g::)V}",
                    "${(f)V}",
                    "${${V}#x}",
                    "\"${(e)V}\"",
                ]);
                format!("{name}={word}; {}", below(self, &used.replace('V', &name)))
            }
            41 if self.shell == Shell::Zsh => {
                self.is_exact = false;
                let option = self.choices.pick(&[
                    "setopt shwordsplit",
                    "setopt GLOB_SUBST",
                    "setopt prompt_subst",
                    "emulate sh",
                    "emulate -R ksh",
                    "set -y",
                    "set -o shwordsplit",
                    "setopt ksharrays",
                    "options[shwordsplit]=on",
                    "setopt errexit",
                    "setopt rcquotes",
                    "setopt rc_expand_param",
                    "setopt magicequalsubst",
                ]);
                let name = self.name();
                format!("{option}; {name}={}; {}", self.word(inner), below(self, &format!("${name}")))
            }
            42 if self.shell == Shell::Zsh => {
                self.is_exact = false;
                let (name, word) = (self.name(), self.alone(inner));
                let form = self.choices.pick(&[
                    "N=(W b); F",
                    "N=(b W); F",
                    "printf '%d' W; F",
                    "printf '%*s' W a; F",
                    "integer N=W; F",
                    "functions[N]=W; N",
                    "hash N=W; N",
                    "alias N=W; eval N",
                    "aliases[N]=W; eval N",
                    "[[ -v W ]]",
                    "set -- W; N=($argv); F",
                ]);
                let form = form.replace('N', &name).replace('W', &word);
                let rest = below(self, &format!("${name}"));
                form.replace('F', &rest)
            }
            // A value that another way leads to what follows.
            43 => {
                self.is_exact = false;
                let word = self.word(inner);
                let file = self.name();
                match self.choices.below(8) {
                    0 => format!(": {word}; {}", below(self, "$_")),
                    1 if self.shell == Shell::Bash => {
                        format!("[[ {word} =~ (.*) ]]; {}", below(self, "${BASH_REMATCH[1]}"))
                    }
                    2 if self.shell == Shell::Bash => format!("[[ {word} =~ .* ]]; {}", below(self, "$BASH_REMATCH")),
                    3 if self.shell == Shell::Zsh => format!("[[ {word} =~ .* ]]; {}", below(self, "$MATCH")),
                    4 => format!(
                        "exec 3> {file}; printf '%s' {word} >&3; exec 3>&-; {}",
                        below(self, &format!("$(cat {file})"))
                    ),
                    5 => format!(
                        "exec 4>&1 > {file}; printf '%s' {word}; exec >&4; {}",
                        below(self, &format!("$(cat {file})"))
                    ),
                    6 => format!("cp {word} {file}; sh {file}"),
                    _ => {
                        let name = self.name();
                        format!(
                            "printf '%s\\n' {word} > {file}; exec 3< {file}; read -r {name} <&3; {}",
                            below(self, &format!("${name}"))
                        )
                    }
                }
            }
            44 => {
                self.is_exact = false;
                let (name, word) = (self.name(), self.word(inner));
                let open = self.choices.pick(&["", "env ", "export "]);
                let end = if open == "export " { "; " } else { " " };
                format!("{open}{name}={word}{end}make x")
            }
            // A part of it, or what it is read as.
            45..=47 => {
                self.is_exact = false;
                let (name, word) = (self.name(), self.alone(inner));
                let read = self.choices.pick(&[
                    "read N <<< W",
                    "read -r N <<< W",
                    "read -r a N <<< W",
                    "IFS=, read -r a N <<< W",
                    "IFS=/ read -ra N <<< W",
                    "mapfile -t N <<< W; N=\"${N[1]}\"",
                    "N=$(cut -d/ -f2 <<< W)",
                    "N=$(cut -d, -f2- <<< W)",
                    "N=$(basename W)",
                    "N=$(basename -s x -- W)",
                    "N=$(dirname -- W)",
                    "N=$(awk '{print $1}' <<< W)",
                    "N=$(awk '{print $NF}' <<< W)",
                    "N=$(awk -F, '{print $2}' <<< W)",
                    "N=$(tr -d x <<< W)",
                    "N=$(tr , - <<< W)",
                    "N=$(tr / - <<< W)",
                    "N=$(tr , ' ' <<< W)",
                    "N=$(tr , '\\n' <<< W)",
                    "N=$(echo W | tr , . | cut -d. -f2)",
                    "N=$(cut -d/ -f2 <<< W | cut -d, -f2)",
                    "N=$(sed 's/,/-/g' <<< W)",
                    "N=$(sed 's/,//' <<< W)",
                    "IFS=, read -ra N <<< W; N=\"${N[1]}\"",
                    "read -r -d , N <<< W",
                    "N=$(sed 's/^x//' <<< W)",
                    "N=$(sed 's/.*,//' <<< W)",
                    "N=$(xargs <<< W)",
                    "N=$(printf '%q' W)",
                    "N=$(printf '%s\\n' W | sort -u)",
                    "N=$(rev <<< W)",
                    "N=$(grep -o '[^/]*$' <<< W)",
                    "N=$(head -n1 <<< W)",
                    "N=$(tail -n1 <<< W)",
                    "N=$(head -c5 <<< W)",
                    "N=$(fold -w 3 <<< W)",
                    "N=W; N=${N#x}",
                    "N=W; N=${N##*/}",
                    "N=W; N=${N%%,*}",
                    "N=W; N=\"${N//,/ }\"",
                    "N=W; N=\"${N/x/}\"",
                    "N=W; N=\"${N//,/-}\"",
                    "N=W; N=\"${N//\\//-}\"",
                    "N=W; N=${N:1}",
                    "N=W; N=${N: -3}",
                    "N=W; N=\"${N@Q}\"",
                    "N=W; N=\"${N^}\"",
                    "set -- W; N=\"${1#*,}\"",
                    "N=$(realpath -m W)",
                    "N=$(date -d W +%s)",
                    "N=$(jq -Rr . <<< W)",
                    "N=$(base64 <<< W | base64 -d)",
                ]);
                if read.contains("<<<") && self.shell == Shell::Sh || read.contains("@Q") && !is_bash {
                    return self.command(Some(inner));
                }
                let rest = below(self, &format!("${name}"));
                format!("{}; {rest}", read.replace('N', &name).replace('W', &word))
            }
            // What is printed again and again, and what a value was changed to, falls apart where there are no quotes.
            38 => {
                self.is_exact = false;
                let command = self.command(None);
                let printed = self.choices.pick(&[
                    "for w in 1 2; do echo \"V\"; done",
                    "echo 1; echo \"V\"",
                    "[ -n \"V\" ] && echo \"-n V\" || echo x",
                    "if true; then echo \"V\"; else echo y; fi",
                    "printf '%s' -; echo \"V\"",
                    "echo \"V\" | cut -d, -f2",
                    "echo \"V\" | tr -d ,",
                    "echo \"V\" | tr , _",
                    "echo \"V\" | tr , ' '",
                    "echo \"V\" | tr / -",
                    "for w in $(echo \"V\" | tr , ' '); do echo \"$w\"; done",
                    "echo \"V\" | tr , ' ' | while read -r w; do echo \"$w\"; done",
                    "echo \"V\" | awk -F, '{print $2}'",
                    "echo \"V\" | head -n1",
                    "echo \"V\" | sed 's/^x//'",
                ]);
                let printed = printed.replace('V', inner);
                match self.choices.below(3) {
                    0 => format!("{command} \"$({printed})\""),
                    _ => format!("{command} $({printed})"),
                }
            }
            39 if is_bash => {
                self.is_exact = false;
                let (name, word, command) = (self.name(), self.alone(inner), self.command(None));
                let form = self.choices.pick(&["//,/ }", "//,/}", "#x}", "#*,}", "/#,/}", "//[,]/$' '}"]);
                let expansion = format!("${{{name}{form}");
                match self.choices.below(3) {
                    0 => format!("{name}={word}; {command} \"{expansion}\""),
                    _ => format!("{name}={word}; {command} {expansion}"),
                }
            }
            _ => self.command(Some(inner)),
        }
    }

    /// How a variable is written inside of double quotes.
    fn used(&mut self, name: &str) -> String {
        self.choices.pick(&["$N", "${N}", "${N:-x}", "${N-x}"]).replace('N', name)
    }

    /// A command substitution, in double quotes, that prints the value as it is.
    fn substitution(&mut self, inner: &str) -> String {
        let form = self.choices.pick(&[
            "\"$(printf '%s' \"V\")\"",
            "\"$(printf '%s\\n' \"V\")\"",
            "\"$(printf %s \"V\" | cat)\"",
            "\"$(cat <<EOF\nV\nEOF\n)\"",
            "\"$(v() { printf '%s' \"$1\"; }; v \"V\")\"",
        ]);
        form.replace('V', inner)
    }

    fn pipe(&mut self, inner: &str) -> String {
        let word = self.word(inner);
        let command = self.command(None);
        let form = self.choices.pick(&[
            "printf '%s' W | C",
            "printf '%s\\n' W | cat | C",
            "C < <(printf %s W)",
            "printf %s W | tee f | C",
        ]);
        form.replace('W', &word).replace('C', &command)
    }

    /// A command; with a value it has a place for it among its words.
    fn command(&mut self, inner: Option<&str>) -> String {
        let mut text = String::new();
        for _ in 0..[0, 0, 0, 1, 2, 3][self.choices.below(6)] {
            let wrapper = self.choices.pick(&WRAPPERS);
            text += wrapper;
            text.push(' ');
        }
        let in_find = text.contains("-exec");
        let program = self.choices.pick(self.programs);
        text += &program.words;
        let mut words = self.words(program);
        if let Some(inner) = inner {
            let word = self.word(inner);
            let at = self.choices.below(words.len() + 1);
            match self.choices.below(8) {
                0 if !program.options.is_empty() => {
                    let option = self.option(&program.options);
                    let joint = self.choices.pick(&["=", "", " "]);
                    words.insert(at, format!("{option}{joint}{word}"));
                }
                1 | 2 => words.insert(0, word),
                3 => {
                    words.push("--".to_owned());
                    words.push(word);
                }
                _ => words.push(word),
            }
        }
        for word in words {
            let _ = write!(text, " {word}");
        }
        if in_find {
            text += " \\;";
        }
        text
    }

    fn words(&mut self, program: &Program) -> Vec<String> {
        const TAME: [&str; 8] = ["a.txt", "x", "1", ".", "a", "'b c'", "-", "a=b"];
        let count = [0, 0, 1, 1, 2, 3][self.choices.below(6)];
        let mut words = Vec::new();
        for _ in 0..count {
            match self.choices.below(4) {
                0 if !program.flags.is_empty() => words.push(self.option(&program.flags)),
                1 if !program.options.is_empty() => {
                    let option = self.option(&program.options);
                    words.push(option);
                    words.push(self.choices.pick(&TAME).to_owned());
                }
                _ => words.push(self.choices.pick(&TAME).to_owned()),
            }
        }
        words
    }

    fn option(&mut self, from: &[String]) -> String {
        let option = from[self.choices.below(from.len())].clone();
        // A cluster of one-letter options.
        if option.len() == 2 && self.choices.below(4) == 1 {
            let other = &from[self.choices.below(from.len())];
            if other.len() == 2 {
                return format!("{option}{}", &other[1..]);
            }
        }
        option
    }
}

/// The text in single quotes, for a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
