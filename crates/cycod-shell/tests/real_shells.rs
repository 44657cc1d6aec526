//! Values reach real shells byte for byte, whatever they hold and wherever they stand.
//!
//! Every program writes what it was given to file descriptor 3; the bytes are compared. The canary is a file that every
//! hostile value tries to create.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts the real shells itself; the crate under test starts nothing"
)]

#[path = "common/template.rs"]
mod template;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use cycod_shell::{
    Kind, Mode, Piece, Programs, Proof, Question, Reader, Segment, Shell, Value, Verdict, Words, judge, place,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

const SHELLS: [(Shell, &str, &[&str]); 4] = [
    (Shell::Bash, "bash", &["--noprofile", "--norc"]),
    (Shell::Sh, "dash", &[]),
    (Shell::Sh, "bash", &["--posix", "--noprofile", "--norc"]),
    (Shell::Zsh, "zsh", &["-f"]),
];

/// What is proven about a place is not looked at here.
static FREE: LazyLock<Verdict> = LazyLock::new(Verdict::free);

const PAYLOADS: [&str; 44] = [
    "; touch canary;",
    "&& touch canary",
    "|| touch canary",
    "| touch canary",
    "& touch canary",
    "$(touch canary)",
    "`touch canary`",
    "\ntouch canary\n",
    "'; touch canary; '",
    "\"; touch canary; \"",
    "' $(touch canary) '",
    "\" $(touch canary) \"",
    "> canary",
    ">canary",
    "< canary",
    ">> canary",
    "2> canary",
    "<(touch canary)",
    ">(touch canary)",
    "*",
    "?",
    "[a-z]*",
    "~",
    "~root",
    "~/x",
    "!",
    "!!",
    "#",
    "# x",
    "{a,b}",
    "{1..3}",
    "\\",
    "\\\\",
    "a\\",
    "$HOME",
    "${HOME}",
    "$'\\x41'",
    "%s%n",
    "-n",
    "a  b",
    "\tx\t",
    "EOF\ntouch canary\nEOF",
    "EOF",
    "\n\n",
];

fn value<'a>(text: &'a str, mode: Mode, kind: Kind) -> Piece<'a> {
    Piece::Value(Value { name: "V", words: Words::One(text.into()), mode, kind, sensitive: false, verdict: &FREE })
}

/// Runs a program and returns what it wrote to descriptor 3; `None` when it could not be parsed.
#[track_caller]
fn run(program: &str, options: &[&str], text: &str, directory: &Path) -> (Vec<u8>, String) {
    let script = directory.join("script");
    fs::write(&script, text).expect("the test's own directory is writable");
    let out = directory.join("out");
    let output = Command::new(program)
        .args(options)
        .arg(&script)
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", "/home/tester")
        .env("OUT", &out)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| {
            panic!("`{program}` cannot be started ({error}); install it: apt-get install -y bash dash zsh")
        });
    let bytes = fs::read(&out).unwrap_or_default();
    let _ = fs::remove_file(&out);
    (bytes, String::from_utf8_lossy(&output.stderr).into_owned())
}

const OBSERVER: &str = "exec 3>\"$OUT\"\nobs() { printf '%s\\0' \"$#\" \"$@\" >&3; }\ne=; u=; unset u\n";

fn observed(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("{}\0", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// A template with one or more holes for the same value, and what it must write.
#[derive(Debug, Clone, Default)]
struct Case {
    /// Author text; NUL is a hole.
    text: String,
    /// Expected bytes; the string of the value is put where NULs NULs stand: parts between holes.
    expect: Vec<Expect>,
}

#[derive(Debug, Clone)]
enum Expect {
    Bytes(Vec<u8>),
    Value,
}

/// Choices taken from a list of numbers, so that shrinking the list shrinks the program.
struct Choices<'a> {
    numbers: &'a [u8],
    shell: Shell,
}

impl Choices<'_> {
    fn pick(&mut self, count: usize) -> usize {
        match self.numbers.split_first() {
            Some((first, rest)) => {
                self.numbers = rest;
                usize::from(*first) % count
            }
            None => 0,
        }
    }

    fn noise(&mut self) -> &'static str {
        ["", "a", "it", "x.y", "-", "=", "a=", "%", ",", "@", ":", "+"][self.pick(12)]
    }

    /// A word, and the text before and after the value in what it becomes.
    fn word(&mut self, depth: usize) -> (String, String, String) {
        let (before, after) = (self.noise(), self.noise());
        let plain =
            |open: &str, close: &str| (format!("{open}{before}\0{after}{close}"), before.to_owned(), after.to_owned());
        let choice = self.pick(if depth == 0 { 6 } else { 15 });
        match choice {
            0 => plain("\"", "\""),
            1 => plain("'", "'"),
            2 if self.shell != Shell::Sh => plain("$'", "'"),
            2 => plain("\"its \\\" \\$ ", "\"").prefix("its \" $ "),
            3 => (format!("x{before}\0{after}"), format!("x{before}"), after.into()),
            4 => (format!("\"{before}$e\"\0'{after}'"), before.into(), after.into()),
            5 if self.shell != Shell::Sh => plain("$'it s\\t\\x41", "'").prefix("it s\tA"),
            5 => (format!("\"$e\0\"{after}"), String::new(), after.into()),
            6 | 7 => {
                let (inner, left, right) = self.word(depth - 1);
                (
                    format!("\"{before}$(printf '%sX' {inner} # it's \"\n){after}\""),
                    format!("{before}{left}"),
                    format!("{right}X{after}"),
                )
            }
            8 | 9 => {
                let (inner, left, right) = self.word(depth - 1);
                let body = backticked(&format!("printf '%sX' {inner}"), self.shell != Shell::Sh);
                (format!("\"{before}`{body}`{after}\""), format!("{before}{left}"), format!("{right}X{after}"))
            }
            10 => (format!("\"${{u-{before}\0{after}}}\""), before.into(), after.into()),
            11 => {
                let (inner, left, right) = self.word(depth - 1);
                // bash reads `$'…'` in there differently at different depths, and it is refused.
                if inner.contains("$'") { (inner, left, right) } else { (format!("${{u:-{inner}}}"), left, right) }
            }
            12 => (format!("\"${{u:-\"{before}\0{after}\"}}\""), before.into(), after.into()),
            13 => {
                let (inner, left, right) = self.word(depth - 1);
                (format!("\"$(case x in (y) ;; x) printf '%sX' {inner} ;; esac)\""), left, format!("{right}X"))
            }
            _ => {
                let doc = self.document(depth - 1);
                (format!("\"$(cat <<{}\n{}\n{}\nprintf X)\"", doc.0, doc.1, doc.2), doc.3, format!("{}\nX", doc.4))
            }
        }
    }

    /// Opener, body, closing line, and the text before and after the value.
    fn document(&mut self, depth: usize) -> (String, String, String, String, String) {
        let (before, after) = (self.noise(), self.noise());
        // A document inside another's expansion needs a delimiter of its own.
        let end = if depth == 4 { "EOF".to_owned() } else { format!("EOF{depth}") };
        let quoted = |opener: &str, closer: &str| {
            let left = format!("l1 $HOME `id` \\ \\$x \"it's\n{before}");
            (opener.to_owned(), format!("{left}\0{after}"), closer.to_owned(), left, after.to_owned())
        };
        match self.pick(7) {
            0 => (end.clone(), format!("{before}\0{after}"), end, before.into(), after.into()),
            1 => (
                format!("-{end}"),
                format!("\ta\n\t{before}\0{after}"),
                format!("\t\t{end}"),
                format!("a\n{before}"),
                after.into(),
            ),
            2 => quoted(&format!("'{end}'"), &end),
            3 => quoted(&format!("\\{end}"), &end),
            4 => quoted(&format!("\"E {end}\""), &format!("E {end}")),
            5 => (
                end.clone(),
                format!("\\$x \\\\ \"{before}$e\0{after}\" it's"),
                end,
                format!("$x \\ \"{before}"),
                format!("{after}\" it's"),
            ),
            _ if depth > 0 => {
                let (inner, left, right) = self.word(depth - 1);
                (
                    end.clone(),
                    format!("{before}$(printf '%sX' {inner}){after}"),
                    end,
                    format!("{before}{left}"),
                    format!("{right}X{after}"),
                )
            }
            _ => (end.clone(), format!("${{u-{before}\0{after}}}"), end, before.into(), after.into()),
        }
    }

    fn statement(&mut self, depth: usize, case: &mut Case) {
        let choice = if depth == 0 { self.pick(9) } else { self.pick(21) };
        match choice {
            0 | 1 => {
                let (word, left, right) = self.word(depth);
                case.text += &format!("obs a {word} b\n");
                case.words(&[("a", None), (&left, Some(&right)), ("b", None)]);
            }
            2 => {
                let (word, left, right) = self.word(depth);
                case.text += &format!("x={word} y={word}; obs \"$x\" \"$y\"\n");
                case.words(&[(&left, Some(&right)), (&left, Some(&right))]);
            }
            3 => {
                let doc = self.document(depth);
                case.text += &format!("cat >&3 <<{} # {{it's\n{}\n{}\n", doc.0, doc.1, doc.2);
                case.raw(&doc.3, &format!("{}\n", doc.4));
            }
            4 => {
                let one = self.document(depth);
                case.text += &format!("cat <<ONE - 4<<{} >&3\nfirst $((1+2))\nONE\n{}\n{}\n", one.0, one.1, one.2);
                case.expect.push(Expect::Bytes(b"first 3\n".to_vec()));
            }
            5 => {
                let (word, ..) = self.word(depth);
                let (other, left, right) = self.word(depth);
                case.text += &format!("case {word} in 'never mind') ;; {word}) obs yes {other};; *) obs no;; esac\n");
                case.words(&[("yes", None), (&left, Some(&right))]);
            }
            6 => {
                let (word, left, right) = self.word(depth);
                case.text += &format!("for i in x {word}; do obs \"$i\"; done # it's \0 `\n");
                case.words(&[("x", None)]);
                case.words(&[(&left, Some(&right))]);
            }
            7 if self.shell != Shell::Sh => {
                let (word, left, right) = self.word(depth);
                case.text += &format!("arr=(a {word} # it's )\n b); obs \"${{arr[@]}}\"\n");
                case.words(&[("a", None), (&left, Some(&right)), ("b", None)]);
            }
            8 if self.shell != Shell::Sh => {
                let (word, ..) = self.word(depth);
                case.text += &format!(
                    "if [[ {word} == {word} && ! x{word} < {word} || 1 -eq 2 ]]; then obs same; else obs same; fi\nx={word}; [[ $x == {word} ]] && obs eq\n"
                );
                case.words(&[("same", None)]);
                case.words(&[("eq", None)]);
            }
            7 | 8 => {
                case.text += "s=pre\0post; obs \"${s#\"pre\"\0}\" ${s%\"\0\"post} \"${s%\"\0post\"}\"\n";
                case.words(&[("post", None), ("pre", None), ("pre", None)]);
            }
            9 => self.wrapped("( ", ")\n", depth, case),
            10 => self.wrapped("f() {\n", "}\nf\n", depth, case),
            11 => self.wrapped("if true; then\n", "fi\n", depth, case),
            12 => self.wrapped("while :; do\n", "break\ndone\n", depth, case),
            13 => self.wrapped("case a in\n b) ;;\n (a|c)\n", ";;\nesac\n", depth, case),
            14 => self.wrapped("x=$( ", ")\n", depth, case),
            15 => self.wrapped("{ ", "}\n", depth, case),
            16 => {
                let mut inner = Case::default();
                self.statement(depth - 1, &mut inner);
                case.text += &format!("x=`{}`\n", backticked(&inner.text, false));
                case.expect.extend(inner.expect);
            }
            17 => self.wrapped("set -u; set -e\n", "set +e\n", depth, case),
            18 => self.wrapped("true && ! false &&\n", "", depth, case),
            19 if self.shell != Shell::Sh => {
                self.wrapped("cat <(\n", ") >/dev/null\nwait; sleep 0.01\n", depth.min(1), case);
            }
            _ => {
                self.statement(depth - 1, case);
                self.statement(depth - 1, case);
            }
        }
    }

    fn wrapped(&mut self, open: &str, close: &str, depth: usize, case: &mut Case) {
        case.text += open;
        self.statement(depth - 1, case);
        case.text += close;
    }
}

trait Prefix {
    fn prefix(self, text: &str) -> Self;
}

impl Prefix for (String, String, String) {
    fn prefix(self, text: &str) -> Self {
        (self.0, format!("{text}{}", self.1), self.2)
    }
}

fn backticked(text: &str, quoted: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('`', "\\`");
    if quoted { text.replace('"', "\\\"") } else { text }
}

impl Case {
    /// Expects one observation; a second part means that the value stands between the two.
    fn words(&mut self, words: &[(&str, Option<&str>)]) {
        self.expect.push(Expect::Bytes(format!("{}\0", words.len()).into_bytes()));
        for (left, right) in words {
            self.expect.push(Expect::Bytes(left.as_bytes().to_vec()));
            if let Some(right) = right {
                self.expect.push(Expect::Value);
                self.expect.push(Expect::Bytes(right.as_bytes().to_vec()));
            }
            self.expect.push(Expect::Bytes(vec![0]));
        }
    }

    fn raw(&mut self, left: &str, right: &str) {
        self.expect.push(Expect::Bytes(left.as_bytes().to_vec()));
        self.expect.push(Expect::Value);
        self.expect.push(Expect::Bytes(right.as_bytes().to_vec()));
    }

    fn expected(&self, value: &str) -> Vec<u8> {
        self.expect
            .iter()
            .flat_map(|part| if let Expect::Bytes(bytes) = part { bytes.clone() } else { value.as_bytes().to_vec() })
            .collect()
    }
}

fn pieces<'a>(text: &'a str, hole: &Piece<'a>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for (index, part) in text.split('\0').enumerate() {
        if index > 0 {
            pieces.push(hole.clone());
        }
        pieces.push(Piece::Text(part));
    }
    pieces
}

fn values() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&PAYLOADS[..]).prop_map(str::to_owned),
        2 => "[ -~\\n\\t]{0,12}",
        2 => prop::collection::vec(prop::sample::select(vec!["'", "\"", "$", "`", "\\", "\n", " ", "(", ")", "{", "}", "*", "~", "!", "#", "&", "|", ";", "<", ">", "EOF", "a", "é", "\u{1}", "\u{7f}", "\t", "\r", "ü", "中"]), 0..9).prop_map(|parts| parts.concat()),
        2 => prop::collection::vec(any::<char>().prop_filter("NUL is refused", |c| *c != '\0'), 0..12).prop_map(|chars| chars.into_iter().collect()),
        2 => "[a-zA-Z0-9 _./:@%+,=-]{0,8}",
    ]
}

#[test]
fn every_value_arrives_in_every_context() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cases = option_env!("CYCOD_SHELL_CASES").and_then(|count| count.parse().ok()).unwrap_or(900);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 600, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let strategy = (prop::collection::vec(any::<u8>(), 1..40), values());
    let refused = std::cell::Cell::new(0);
    let result = runner.run(&strategy, |(numbers, text)| {
        for (shell, program, options) in SHELLS {
            let mut case = Case::default();
            let mut choices = Choices { numbers: &numbers, shell };
            choices.statement(4, &mut case);
            let template = format!("{OBSERVER}{}", case.text);
            let placed = match place(shell, &pieces(&template, &value(&text, Mode::Word, Kind::Text))) {
                Ok(placed) => placed,
                // Nested quotes inside backticks, which dash and bash read differently in the role of a POSIX shell.
                Err(refusal) if shell == Shell::Sh && refusal.message.contains("inside backticks") => {
                    refused.set(refused.get() + 1);
                    continue;
                }
                Err(refusal) => {
                    return Err(TestCaseError::fail(format!(
                        "{program}: refused: {refusal} in\n{}",
                        case.text.replace('\0', "{V}")
                    )));
                }
            };
            let (bytes, stderr) = run(program, options, &placed.text, directory.path());
            let expected = case.expected(&text);
            if bytes != expected {
                return Err(TestCaseError::fail(format!(
                    "{program} {options:?}\n{}\n--- expected\n{:?}\n--- got\n{:?}\n--- stderr\n{stderr}",
                    placed.text,
                    String::from_utf8_lossy(&expected),
                    String::from_utf8_lossy(&bytes)
                )));
            }
            if directory.path().join("canary").exists() {
                return Err(TestCaseError::fail(format!("{program}: the value ran as code in\n{}", placed.text)));
            }
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    assert!(refused.get() * 20 < cases, "{} of {cases} programs were refused", refused.get());
}

#[test]
fn classic_payloads_are_data_in_classic_contexts() {
    const CONTEXTS: [&str; 17] = [
        "obs \0",
        "obs x\0y",
        "obs '\0'",
        "obs \"\0\"",
        "obs \"$(printf %s. '\0')\"",
        "obs \"`printf %s. \"\0\"`\"",
        "obs $(printf '%s' \"a\" >/dev/null; : \0)",
        "x=\0; obs \"$x\"",
        "f() { obs \"\0\"; }; f",
        "obs ${u:-\0}",
        "obs \"${u:-\0}\"",
        "case \0 in \0) obs yes;; esac",
        "obs ok # \0",
        "echo \"\0\" >/dev/null; obs ok",
        "cat >/dev/null <<EOF\n\0\nEOF\nobs ok",
        "cat >/dev/null <<'EOF'\n\0\nEOF\nobs ok",
        "eval : ; ( obs \"\0\" )",
    ];
    let directory = tempfile::tempdir().expect("a temporary directory");
    let payloads = PAYLOADS.iter().copied().chain(["", " ", "it's", "a\"b", "-H 'A: b'"]);
    for payload in payloads {
        let mut expected = Vec::new();
        for (shell, program, options) in SHELLS {
            expected.clear();
            let mut template = OBSERVER.to_owned();
            let dotted = format!("{payload}.");
            let glued = format!("x{payload}y");
            for context in CONTEXTS {
                template += context;
                template.push('\n');
                match context {
                    c if c.contains("%s.") => expected.extend(observed(&[&dotted])),
                    c if c.contains("obs ok") => expected.extend(observed(&["ok"])),
                    c if c.contains("obs yes") => expected.extend(observed(&["yes"])),
                    "obs x\0y" => expected.extend(observed(&[&glued])),
                    c if c.contains(": \0") => expected.extend(observed(&[])),
                    _ => expected.extend(observed(&[payload])),
                }
            }
            let placed = place(shell, &pieces(&template, &value(payload, Mode::Word, Kind::Text)))
                .expect("every context is supported");
            let (bytes, stderr) = run(program, options, &placed.text, directory.path());
            assert_eq!(
                String::from_utf8_lossy(&bytes),
                String::from_utf8_lossy(&expected),
                "{program} with {payload:?}\n{}\n{stderr}",
                placed.text
            );
            assert!(!directory.path().join("canary").exists(), "{program} ran {payload:?}");
        }
    }
}

#[test]
fn large_values_arrive() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text = "it's 200 KB of \"$(data)\"\n\t`x` \\ é*".repeat(6000);
    let template = format!("{OBSERVER}obs \0 '\0'\ncat >&3 <<'EOF'\n\0\nEOF\n");
    for (shell, program, options) in SHELLS {
        let placed = place(shell, &pieces(&template, &value(&text, Mode::Word, Kind::Text))).expect("a plain template");
        let (bytes, stderr) = run(program, options, &placed.text, directory.path());
        let mut expected = observed(&[&text, &text]);
        expected.extend_from_slice(text.as_bytes());
        expected.push(b'\n');
        assert!(bytes == expected, "{program}: {} bytes instead of {}; {stderr}", bytes.len(), expected.len());
    }
}

#[test]
fn arguments_act_as_words_and_globs_only() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["a.txt", "b.txt", "it's.md"] {
        fs::write(directory.path().join(name), "").expect("the test's own directory is writable");
    }
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "obs \0",
            "-H 'Content-Type: application/json' -d '{\"a\": 1}'",
            &["-H", "Content-Type: application/json", "-d", "{\"a\": 1}"],
        ),
        ("obs \0", "*.txt", &["a.txt", "b.txt"]),
        ("obs \0", "[a-b].txt it*", &["a.txt", "b.txt", "it's.md"]),
        ("obs \0", "[!a].txt ?.txt", &["b.txt", "a.txt", "b.txt"]),
        (
            "obs \0",
            "~/x ~root {a,b} $HOME `touch canary` $(touch canary)",
            &["/home/tester/x", "~root", "{a,b}", "$HOME", "`touch", "canary`", "$(touch", "canary)"],
        ),
        (
            "obs \0",
            "a; touch canary & b | c > canary\ntouch canary",
            &["a;", "touch", "canary", "&", "b", "|", "c", ">", "canary", "touch", "canary"],
        ),
        ("obs \0", "it's", &["it's"]),
        ("obs a \0 b", "", &["a", "b"]),
        ("obs x\0y", " a b ", &["x", "a", "b", "y"]),
        ("obs x\0y", "a b", &["xa", "by"]),
        ("obs \0#c", "a ", &["a", "#c"]),
        ("obs \0#c \0}", "", &["#c", "}"]),
        ("obs =\0 \0", "=ls", &["==ls", "=ls"]),
        ("obs \0", "!x a^b #c %1 a=b", &["!x", "a^b", "#c", "%1", "a=b"]),
        ("x=\0; obs \"$x\"", "*.txt a 'b'", &["*.txt a 'b'"]),
        ("x=\0; obs \"$x\"", "~/a b", &["/home/tester/a b"]),
        ("for i in \0; do set -- \"$@\" \"$i\"; done; obs \"$@\"", "*.txt 'a b'", &["a.txt", "b.txt", "a b"]),
        ("obs pre*\0", "'*' x", &["pre**", "x"]),
    ];
    for (shell, program, options) in SHELLS {
        for (template, text, expected) in cases {
            // A glob of the author that matches nothing, and a brace that closes nothing, are errors in zsh.
            if program == "zsh" && (template.contains(['*', '}']) || template.contains("=\0")) {
                continue;
            }
            let template = format!("{OBSERVER}{template}\n");
            let placed =
                place(shell, &pieces(&template, &value(text, Mode::Arguments, Kind::Text))).expect("a plain place");
            let (bytes, stderr) = run(program, options, &placed.text, directory.path());
            let expected = observed(expected);
            assert_eq!(
                String::from_utf8_lossy(&bytes),
                String::from_utf8_lossy(&expected),
                "{program}\n{}\n{stderr}",
                placed.text
            );
            assert!(!directory.path().join("canary").exists(), "{program} ran {text:?}");
        }
    }
}

/// What is said of each placeholder of a command of bash.
fn verdicts(command: &str) -> Vec<Verdict> {
    let programs = Programs::default();
    let question = Question {
        reader: Reader::Shell(Shell::Bash),
        command: &template::segments(command),
        environment: &[],
        input: &[],
        programs: &programs,
    };
    judge(&question).command
}

/// A rewrite means what the template meant, or there is none.
#[test]
fn a_rewrite_keeps_the_meaning() {
    let rewrites = |command: &str| {
        let found = verdicts(command).into_iter().find(|verdict| verdict.proof == Proof::Code);
        found.unwrap_or_else(|| panic!("{command} passes")).rewrite
    };
    for (query, rewritten) in [
        ("select * from t where a = '{V}'", "select * from t where a = :'v'"),
        ("select * from t where a like '{V}%'", "select * from t where a like :'v' || '%'"),
        ("select * from t where a like '%{V}%'", "select * from t where a like '%' || :'v' || '%'"),
        ("select 'it''s {V}' from t", "select 'it''s ' || :'v' from t"),
        ("select 'it''{V}' from t", "select 'it''' || :'v' from t"),
        ("select '{V}{W}', '{V}-{W}'", "select :'v' || :'w', :'v' || '-' || :'w'"),
        ("select * from {V} limit 3", "select * from :\"v\" limit 3"),
        ("drop table if exists \"{V}\"", "drop table if exists :\"v\""),
        ("select a from t order by {V}", "select a from t order by :\"v\""),
        ("select a from t where n > {V}", "select a from t where n > :'v'"),
    ] {
        let rewrite = rewrites(&format!("psql -c \"{}\"", query.replace('"', "\\\"")));
        let rewrite = rewrite.unwrap_or_else(|| panic!("no rewrite for {query}"));
        assert!(rewrite.contains(&format!("<<'SQL'\n{rewritten}\nSQL")), "{rewrite}");
    }
    for (command, rewritten) in [
        (r#"ssh web1 systemctl restart "{V}""#, r#"ssh web1 "systemctl restart {V:shellescaped}""#),
        (r#"ssh -p 22 web1 'tail -n 3' "{V}" > out"#, r#"ssh -p 22 web1 "tail -n 3 {V:shellescaped}" > out"#),
        (r#"ssh web1 'bash -s' -- "{V}" < a.sh"#, r#"ssh web1 "bash -s -- {V:shellescaped}" < a.sh"#),
        (r#"watch -n 1 kubectl get pods -n "{V}""#, r#"watch -n 1 "kubectl get pods -n {V:shellescaped}""#),
    ] {
        assert_eq!(rewrites(command).as_deref(), Some(rewritten), "{command}");
    }
    for (command, rewritten) in [
        (r#"jq ".a.\"{V}\"" f.json"#, r#"jq --arg v "{V}" '.a[$v]' f.json"#),
        (r#"jq ".\"{V}\" | length" f.json"#, r#"jq --arg v "{V}" '.[$v] | length' f.json"#),
        (r#"jq "{\"{V}\": 1}" f.json"#, r#"jq --arg v "{V}" '{($v): 1}' f.json"#),
        (r#"jq ".a == \"{V}\"" f.json"#, r#"jq --arg v "{V}" '.a == $v' f.json"#),
        (r#"node -e "console.log({\"{V}\": 1})""#, r#"node -e 'console.log({[process.argv[1]]: 1})' -- "{V}""#),
    ] {
        assert_eq!(rewrites(command).as_deref(), Some(rewritten), "{command}");
    }
    for command in [
        r#"psql -c "select {V} from t""#,
        r#"psql -c "select * from a_{V}""#,
        r#"psql -c "select \"a_{V}\" from t""#,
        r#"psql -c "select 1" -c "select '{V}'""#,
        r#"docker exec db psql -c "select '{V}'""#,
        r#"python3 -c "import {V}""#,
        r#"python3 -c "from {V} import a""#,
        r#"python3 -c "print(b'{V}')""#,
        r#"python3 -c "print(f'{V}')""#,
        r#"Rscript -e 'print(x$`{V}`)'"#,
        r#"Rscript -e 'count(x, {V})'"#,
        r#"ssh web1 "{V}" a"#,
        r#"ssh web1 ls "$HOME" "{V}""#,
    ] {
        assert_eq!(rewrites(command), None, "{command}");
    }
}

#[test]
fn rewrites_do_what_was_meant_with_any_value() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("in"), "a.c\nabc\n").expect("the test's own directory is writable");
    // A template that is refused, and what its rewrite prints for the value `v`.
    type Prints = fn(&str) -> String;
    let cases: [(&str, Prints); 10] = [
        ("bash -c \"printf %s '{V}'\"", |v| v.to_owned()),
        ("sh -c 'printf %s \"$0 a{V}b\"' name", |v| format!("name a{v}b")),
        ("eval \"printf %s '{V}'\"", |v| v.to_owned()),
        ("find in -exec sh -c 'printf %s%s \"$1\" \"{V}\"' _ x \\;", |v| format!("x{v}")),
        ("perl -e 'print \"hi {V}!\"'", |v| format!("hi {v}!")),
        ("awk 'BEGIN { printf \"%s\", \"<{V}>\" }'", |v| format!("<{v}>")),
        ("sed 's/a.c/{V}/' in | cat", |v| format!("{v}\n{v}\n")),
        ("python3 -c \"import sys as s; s.stdout.write('x' + '{V}')\"", |v| format!("x{v}")),
        ("python3 -c \"print(len(b'x') * '{V}', end='')\"", |v| v.to_owned()),
        ("bash <<'EOF'\nprintf %s \"<{V}>\"\nEOF", |v| format!("<{v}>")),
    ];
    for (command, expected) in cases {
        let refused = verdicts(command).remove(0);
        assert_eq!(refused.proof, Proof::Code, "{command}");
        let rewrite = refused.rewrite.unwrap_or_else(|| panic!("no rewrite for {command}"));
        let script = format!("exec >\"$OUT\"\n{rewrite}\n");
        let proven = verdicts(&script);
        for text in [
            "x",
            "it's \"$(touch canary)\" `id` \\n & /",
            "'; touch canary; '",
            "a b  c",
            "\"; system(\"touch canary\"); \"",
        ] {
            let mut places = proven.iter();
            let pieces: Vec<Piece<'_>> = template::segments(&script)
                .into_iter()
                .map(|segment| match segment {
                    Segment::Text(text) => Piece::Text(text),
                    _ => Piece::Value(Value {
                        name: "V",
                        words: Words::One(text.into()),
                        mode: Mode::Word,
                        kind: Kind::Text,
                        sensitive: false,
                        verdict: places.next().expect("each place has a verdict"),
                    }),
                })
                .collect();
            let placed = place(Shell::Bash, &pieces).unwrap_or_else(|error| panic!("{command}\n{rewrite}\n{error:?}"));
            let (bytes, stderr) = run("bash", &["--norc"], &placed.text, directory.path());
            assert_eq!(String::from_utf8_lossy(&bytes), expected(text), "{}\n{stderr}", placed.text);
            assert!(!directory.path().join("canary").exists(), "{rewrite} ran {text:?}");
        }
    }
}

/// What is said about a value that may be an option leaves the command what it is.
#[test]
fn a_hint_names_the_place_of_the_end_of_options() {
    for (command, place) in [
        (r#"grep -r "{V}" src"#, r#"`-- "{V}"`"#),
        (r#"cp -r src {V}"#, "`-- src`"),
        (r#"gcloud run deploy {V} --region a"#, "`-- {V}`"),
        (r#"doctl apps create-deployment {V}"#, "`-- {V}`"),
        (r#"kubectl rollout restart {V}"#, "`-- {V}`"),
        (r#"docker network inspect {V}"#, "`-- {V}`"),
        (r#"find . -name "*.md" -exec grep -l "{V}" {} +"#, r#"`-- "{V}"`"#),
        (r#"sudo -u app ls {V}"#, "`-- {V}`"),
        (r#"docker compose exec web ls {V}"#, "`-- {V}`"),
    ] {
        let found = verdicts(command).into_iter().find_map(|verdict| verdict.hint);
        let help = found.unwrap_or_else(|| panic!("no hint for {command}")).help;
        assert!(help.contains(place), "{command}: {help}");
    }
}
