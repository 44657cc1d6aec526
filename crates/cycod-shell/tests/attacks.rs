//! Every way that two public catalogues know to make programs run something is refused, however a value gets there.
//!
//! `attacks/catalogue.txt` holds commands as an author might have written them. Below each stand, indented:
//!
//! ```text
//! value TEXT          what a caller gives for {X}; \n, \t, \r, \e, \xNN and \\ are escapes
//! input TEXT          what the program reads, with {X} in it
//! file NAME TEXT      a file that the script writes before, with {X} in it
//! variable NAME TEXT  a variable that is set before, with {X} in it
//! setup COMMANDS      what has to be there
//! seen                the attack was seen to work
//! terminal            it works at a terminal only, at which the input is typed
//! helped              it needs more than this value
//! never               it would change the machine: it is not tried
//! control             the same words where they cannot do harm
//! limit REASON        nothing refuses it, and `docs/guide/values.md` says so
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts the real programs itself; the crate under test starts nothing"
)]

#[path = "attacks/servers.rs"]
mod servers;
#[path = "common/template.rs"]
mod template;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

use servers::Server;

use cycod_shell::{Kind, Mode, Programs, Question, Reader, Shell, Value, Words, judge};

const CATALOGUE: &str = include_str!("attacks/catalogue.txt");

/// A library that creates the canary when it is loaded.
const LIBRARY: &str = "#include <stdio.h>\nvoid C_GetFunctionList(void) {}\n\
                       __attribute__((constructor)) static void loaded(void) { FILE *f = fopen(\"PWNED\", \"w\"); if (f) fclose(f); }\n";

#[derive(Debug, Default)]
struct Attack {
    line: usize,
    command: String,
    value: String,
    input: Option<String>,
    file: Option<(String, String)>,
    variable: Option<(String, String)>,
    setup: String,
    is_limit: bool,
    flags: Vec<String>,
}

impl Attack {
    fn is(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    fn program(&self) -> &str {
        self.command.split(' ').next().unwrap_or_default()
    }
}

fn catalogue() -> Vec<Attack> {
    let mut attacks: Vec<Attack> = Vec::new();
    for (line, text) in (1..).zip(CATALOGUE.lines()) {
        let Some(about) = text.strip_prefix("    ") else {
            if !text.is_empty() && !text.starts_with('#') {
                attacks.push(Attack { line, command: text.to_owned(), ..Attack::default() });
            }
            continue;
        };
        let attack = attacks.last_mut().expect("what is indented stands below a command");
        let (word, rest) = about.split_once(' ').unwrap_or((about, ""));
        let named = || {
            let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((name.to_owned(), unescaped(text)))
        };
        match word {
            "value" => attack.value = unescaped(rest),
            "input" => attack.input = Some(unescaped(rest)),
            "file" => attack.file = named(),
            "variable" => attack.variable = named(),
            "setup" => attack.setup = unescaped(rest),
            "limit" => attack.is_limit = true,
            "with" => {}
            _ => attack.flags.extend(about.split(' ').map(str::to_owned)),
        }
    }
    attacks
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('e') => out.push('\u{1b}'),
                Some('x') => {
                    let digits: String = characters.by_ref().take(2).collect();
                    out.push(u8::from_str_radix(&digits, 16).map_or('?', char::from));
                }
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (other, false) => out.push(other),
        }
    }
    out
}

/// Prefixes that start a program, each of which may stand before another.
const WRAPPERS: [&str; 12] = [
    "env",
    "env A=1",
    "env -i PATH=\"$PATH\"",
    "timeout 5",
    "timeout --signal=KILL 5",
    "nice -n 5",
    "nice -n5",
    "nohup",
    "stdbuf -o0",
    "setsid -w",
    "time -p",
    "sudo -n -u root",
];

/// The ways in which a value gets to the place of `{X}` in a command; each line is a whole script.
fn ways(attack: &Attack) -> Vec<String> {
    let command = &attack.command;
    let put = |new: &str| command.replace("{X}", new);
    let mut ways = Vec::new();
    if let Some((name, text)) = &attack.variable {
        let quoted = text.replace("{X}", "\"{X}\"");
        ways.push(format!("{name}={quoted} {command}"));
        ways.push(format!("export {name}={quoted}; {command}"));
        ways.push(format!("{name}={quoted}; export {name}; {command}"));
        ways.push(format!("env {name}={quoted} {command}"));
        ways.push(format!("v=\"{{X}}\"; env {name}={} {command}", text.replace("{X}", "\"$v\"")));
        return ways;
    }
    if let Some((name, text)) = &attack.file {
        ways.push(format!("cat > {name} <<'END'\n{text}\nEND\n{command}"));
        ways.push(format!("cat > {name} <<END\n{text}\nEND\n{command}"));
        if text == "{X}" {
            ways.push(format!("printf '%s\\n' \"{{X}}\" > {name}; {command}"));
            ways.push(format!("echo \"{{X}}\" | tee {name}; {command}"));
            ways.push(format!("v=\"{{X}}\"; echo \"$v\" >> {name}; {command}"));
        }
        return ways;
    }
    if let Some(text) = &attack.input {
        ways.push(format!("{command} <<'END'\n{text}\nEND"));
        ways.push(format!("{command} <<END\n{text}\nEND"));
        if text == "{X}" {
            ways.push(format!("printf '%s' \"{{X}}\" | {command}"));
            ways.push(format!("echo \"{{X}}\" | cat | {command}"));
            ways.push(format!("{command} <<< \"{{X}}\""));
            ways.push(format!("v=\"{{X}}\"; printf '%s\\n' \"$v\" | tee /dev/null | {command}"));
            ways.push(format!("f() {{ {command}; }}; echo \"{{X}}\" | f"));
            ways.push(format!("{{ echo a; echo \"{{X}}\"; }} | {command}"));
            ways.push(format!("{command} < <(echo \"{{X}}\")"));
        }
        return ways;
    }
    ways.push(command.clone());
    ways.push(put("\"{X}\""));
    ways.push(put("'{X}'"));
    ways.push(format!("v=\"{{X}}\"; {}", put("\"$v\"")));
    ways.push(format!("f() {{ {}; }}; f \"{{X}}\"", put("\"$1\"")));
    ways.push(format!("f() {{ local v=$1; {}; }}; f {{X}}", put("\"$v\"")));
    ways.push(format!("set -- \"{{X}}\"; {}", put("\"$1\"")));
    ways.push(format!("a=(\"{{X}}\"); {}", put("\"${a[0]}\"")));
    ways.push(format!("for v in \"{{X}}\"; do {}; done", put("\"$v\"")));
    ways.push(format!("v=$(printf '%s' \"{{X}}\"); {}", put("\"$v\"")));
    ways.push(format!("v=${{unset:-{{X}}}}; {}", put("\"$v\"")));
    ways.push(format!("run() {{ \"$@\"; }}; run {}", put("\"{X}\"")));
    ways.push(format!("if true; then ( {} ); fi", put("\"{X}\"")));
    ways.push(format!("case a in a) {} ;; esac", put("\"{X}\"")));
    if !command.contains('\'') {
        ways.push(format!("bash -euo pipefail -c '{}' _ \"{{X}}\"", put("\"$1\"")));
        ways.push(format!("v=\"{{X}}\"; eval '{}'", put("\"$v\"")));
        ways.push(format!("x=\"{{X}}\" bash <<'END'\n{}\nEND", put("\"$x\"")));
    }
    if !attack.value.contains('\n') {
        ways.push(format!("read -r v <<< \"{{X}}\"; {}", put("\"$v\"")));
        ways.push(format!("printf '%s\\n' \"{{X}}\" | while IFS= read -r v; do {}; done", put("\"$v\"")));
        ways.push(format!("mapfile -t a <<< \"{{X}}\"; {}", put("\"${a[0]}\"")));
    }
    if command.ends_with(" {X}") {
        ways.push(format!("a=({}); \"${{a[@]}}\"", put("\"{X}\"")));
        ways.push(format!("c={}; $c \"{{X}}\"", single_quoted(command.trim_end_matches(" {X}"))));
        ways.push(format!("a=(x); a+=(\"{{X}}\"); {}", put("\"${a[@]:1}\"")));
    }
    ways
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Whether a value is placed nowhere in a script, or refused.
fn is_refused(reader: Reader<'_>, script: &str, value: &str) -> bool {
    let command = template::segments(script);
    let programs = Programs::default();
    let question = Question { reader, command: &command, environment: &[], input: &[], programs: &programs };
    judge(&question).command.iter().any(|verdict| {
        let given = Value {
            name: "X",
            words: Words::One(value.into()),
            mode: Mode::Word,
            kind: Kind::Text,
            sensitive: false,
            verdict,
        };
        !verdict.is_placeable() || verdict.stops(&given).is_some()
    })
}

#[test]
fn every_way_of_the_catalogues_is_refused() {
    let (mut tried, mut wrong, mut over) = (0, BTreeMap::new(), Vec::new());
    let mut numbers = (1u32..).map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as usize);
    let mut any = |count: usize| numbers.next().unwrap_or_default() % count;
    for attack in catalogue().iter().filter(|attack| !attack.is("control") && !attack.is("helped")) {
        let mut check = |reader: Reader<'_>, script: &str| {
            tried += 1;
            if !is_refused(reader, script, &attack.value) {
                wrong.entry((attack.line, attack.command.clone())).or_insert_with(Vec::new).push(script.to_owned());
            }
        };
        if attack.is_limit {
            if ways(attack).iter().all(|script| is_refused(Reader::Shell(Shell::Bash), script, &attack.value)) {
                over.push(attack.line);
            }
            continue;
        }
        for script in ways(attack) {
            check(Reader::Shell(Shell::Bash), &script);
        }
        let is_operand = attack.input.is_none() && attack.file.is_none() && attack.variable.is_none();
        if is_operand {
            check(Reader::Words, &attack.command);
            check(Reader::Shell(Shell::Sh), &attack.command.replace("{X}", "\"{X}\""));
            check(Reader::Shell(Shell::Zsh), &attack.command);
            for depth in 1..=3 {
                let wrappers: Vec<&str> = (0..depth).map(|_| WRAPPERS[any(WRAPPERS.len())]).collect();
                check(Reader::Shell(Shell::Bash), &format!("{} {}", wrappers.join(" "), attack.command));
            }
        }
    }
    let report: String = wrong
        .iter()
        .map(|((line, command), scripts)| format!("{line}: {command}\n    {}\n", scripts[0].replace('\n', "\\n")))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {tried} ways, of {} attacks, are let through\n{report}",
        wrong.values().map(Vec::len).sum::<usize>(),
        wrong.len()
    );
    assert!(over.is_empty(), "no limit is left in these lines: {over:?}");
    assert!(tried > 10_000, "only {tried} ways were tried");
}

/// Programs of which at least one attack must act here, so that it is known that they were tried.
const PRESENT: [&str; 27] = [
    "bash", "busybox", "fish", "gawk", "git", "ksh", "less", "lua", "make", "man", "mariadb", "mawk", "mysql", "nano",
    "node", "perl", "php", "psql", "R", "rsync", "ruby", "screen", "sqlite3", "ssh", "tar", "tclsh", "zip",
];

/// What the attacks are tried with.
struct Lab {
    postgresql: Server,
    mariadb: Server,
}

impl Lab {
    fn new() -> Self {
        Self { postgresql: Server::postgresql(), mariadb: Server::mariadb() }
    }

    /// Runs a script in a directory of its own and tells whether the canary is there.
    fn acts(&self, attack: &Attack) -> bool {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        fs::write(path.join("lib.c"), LIBRARY).expect("the directory is writable");
        let socket = self.mariadb.directory().join("socket");
        fs::write(path.join(".my.cnf"), format!("[client]\nsocket={}\n", socket.display()))
            .expect("the directory is writable");
        if !attack.setup.is_empty() {
            self.run(path, &attack.setup, None);
        }
        let typed = attack.input.as_deref().unwrap_or_default().replace("{X}", &attack.value);
        self.run(path, &pasted(attack), attack.is("terminal").then_some(typed.as_str()));
        // What was started in the background gets a moment.
        let begin = Instant::now();
        while !path.join("PWNED").exists() && begin.elapsed() < Duration::from_millis(300) {
            thread::sleep(Duration::from_millis(10));
        }
        path.join("PWNED").exists()
    }

    /// Runs a script to its end; at a terminal until the canary is there, with this typed there.
    fn run(&self, directory: &Path, script: &str, typed: Option<&str>) {
        let at_terminal = format!("stty rows 24 cols 80; {script}");
        let mut command = match typed {
            Some(_) => Command::new("script"),
            None => Command::new("bash"),
        };
        match typed {
            Some(_) => {
                let quoted = single_quoted(&at_terminal);
                command.args(["-qec", &format!("bash --noprofile --norc -c {quoted}"), "/dev/null"]);
                command.env("TERM", "xterm").env("SHELL", "/bin/bash").stdin(Stdio::piped());
            }
            None => {
                command.args(["--noprofile", "--norc", "-c", script]).env("TERM", "dumb").stdin(Stdio::null());
            }
        }
        command.current_dir(directory).env("HOME", directory).env("PGHOST", self.postgresql.directory());
        command.env("PGUSER", "postgres").env("PGDATABASE", "postgres");
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let Ok(mut child) = command.spawn() else { return };
        let begin = Instant::now();
        let mut keyboard = child.stdin.take();
        let mut is_typed = false;
        let most = if typed.is_some() { Duration::from_secs(5) } else { Duration::from_secs(20) };
        while child.try_wait().ok().flatten().is_none() {
            if let (Some(keyboard), Some(typed)) = (&mut keyboard, typed.filter(|_| !is_typed))
                && begin.elapsed() > Duration::from_millis(700)
            {
                // The program is there by now.
                is_typed = true;
                let _ = keyboard.write_all(typed.as_bytes());
            }
            let is_done = typed.is_some() && directory.join("PWNED").exists();
            if is_done || begin.elapsed() > most {
                let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
                let _ = child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(3));
        }
    }
}

/// The command with the value pasted in as one quoted word, as a careful author would have a library do it.
fn pasted(attack: &Attack) -> String {
    let quoted = single_quoted(&attack.value);
    let mut script = String::new();
    if let Some((name, text)) = &attack.variable {
        script += &format!("export {name}={}; ", single_quoted(&text.replace("{X}", &attack.value)));
    }
    if let Some((name, text)) = &attack.file {
        script += &format!("printf %s {} > {name}; ", single_quoted(&text.replace("{X}", &attack.value)));
    }
    if let Some(text) = attack.input.as_ref().filter(|_| !attack.is("terminal")) {
        script += &format!("printf %s {} | ", single_quoted(&text.replace("{X}", &attack.value)));
    }
    script + &attack.command.replace("{X}", &quoted)
}

/// The attacks are real: pasted in as one quoted word, each that was seen to work works with the programs of this machine.
#[test]
fn quoting_alone_lets_them_through() {
    let attacks: Vec<Attack> = catalogue()
        .into_iter()
        .filter(|attack| attack.is("seen") && !["never", "helped"].iter().any(|flag| attack.is(flag)))
        .filter(|attack| !(attack.is("terminal") && attack.is_limit))
        .filter(|attack| is_installed(attack.program()))
        .collect();
    let lab = Lab::new();
    let (queue, failed) = (Mutex::new(attacks.iter()), Mutex::new(Vec::new()));
    let acted = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(attack) = queue.lock().expect("no thread panics with it").next() else { return };
                    // A busy machine may need a second try.
                    if lab.acts(attack) || lab.acts(attack) {
                        acted.lock().expect("no thread panics with it").push(attack.program());
                    } else {
                        let failure = format!("{}: {}", attack.line, pasted(attack));
                        failed.lock().expect("no thread panics with it").push(failure);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics with it");
    let acted = acted.into_inner().expect("no thread panics with it");
    // A program of another version may not fall for one that its entry in the catalogue was seen with.
    let report = failed.join("\n");
    assert!(
        failed.len() * 10 <= attacks.len(),
        "{} of {} attacks do nothing here:\n{report}",
        failed.len(),
        attacks.len()
    );
    let missing: Vec<&&str> = PRESENT.iter().filter(|program| !acted.contains(program)).collect();
    assert!(missing.is_empty(), "no attack acts with these programs: {missing:?}\n{report}");
}

fn is_installed(program: &str) -> bool {
    let found = |directory: &Path| directory.join(program).is_file();
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|directory| found(&directory)))
}
