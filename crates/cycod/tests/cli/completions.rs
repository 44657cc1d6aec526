use crate::support::Place;

/// A tool with a choice, and one parameter of each kind that completes.
const DEPLOY: &str = "description: Bring a version to its servers
bash: echo \"{ENV} {VERSION} {DRY_RUN}\"
tags: [write, careful]
parameters:
  ENV: {description: Where to, required: true, validation: {enum: [staging, production]}}
  VERSION: {description: Which one, default: latest}
  DRY_RUN: {type: boolean, description: Only say what would happen, default: false}
";

fn place() -> Place {
    let place = Place::with_tool("deploy", DEPLOY);
    place.tool("week", "description: W\nbash: ls\ntags: [read]\n");
    place.tool("weather", "description: The weather\nbash: ls\ntags: [read]\n");
    place
}

/// What may stand at the end of a line, each with what it means.
fn asked(place: &Place, line: &str) -> Vec<(String, String)> {
    let mut words: Vec<&str> = line.split(' ').collect();
    let word = format!("--word={}", words.pop().unwrap_or_default());
    let ran = place.run(&[&["completions", "bash", &word, "--"], words.as_slice()].concat());
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{line}");
    let pair = |line: &str| line.split_once('\t').map(|(word, about)| (word.to_owned(), about.to_owned()));
    ran.stdout().lines().map(|line| pair(line).expect("a tab")).collect()
}

fn offered(place: &Place, line: &str) -> Vec<String> {
    asked(place, line).into_iter().map(|(word, _)| word).collect()
}

#[test]
fn every_shell_gets_a_script() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = place.run(&["completions", shell]);
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{shell}");
        assert!(ran.stdout().contains(&format!("cycod completions {shell} ")), "{shell}");
    }
    let elvish = place.run(&["completions", "elvish"]).stdout();
    assert!(elvish.contains("validate") && elvish.contains("--strict"), "{elvish}");
}

#[test]
fn commands_options_and_their_values() {
    let place = place();
    for (line, expect) in [
        ("tool va", &["validate"][..]),
        ("validate --st", &["--strict"]),
        ("va", &["validate"]),
        ("--color never va", &["validate"]),
        ("list --color a", &["auto", "always"]),
        ("list --format j", &["json"]),
        ("list --format=j", &["--format=json"]),
        ("list -", &[]),
        ("mcp unin", &["uninstall"]),
        ("mcp install cod", &["codex"]),
        ("models li", &["list"]),
        ("help tool conf", &["confine"]),
        ("help guide tru", &["trust"]),
        ("explain no-na", &["no-name"]),
        ("nonsense x", &[]),
        ("tool run weather zebra", &[]),
        ("tool add we", &[]),
    ] {
        let found = offered(&place, line);
        if line.ends_with(" -") {
            assert!(found.contains(&"--tag".to_owned()) && found.contains(&"--help".to_owned()), "{found:?}");
        } else {
            assert_eq!(found, expect, "{line}");
        }
    }
    assert!(asked(&place, "exp").contains(&("explain".to_owned(), "Explain an error code".to_owned())));
    place.write(".cycod/mcp.json", r#"{"mcpServers": {"wiki": {"command": "x"}, "files": {"command": "x"}}}"#);
    assert_eq!(offered(&place, "mcp remove wi"), ["wiki"]);
}

#[test]
fn tools_parameters_and_choices() {
    let place = place();
    for (line, expect) in [
        ("run we", &["weather", "week"][..]),
        ("tool get we", &["weather", "week"]),
        ("tool trust week we", &["weather", "week"]),
        ("run deploy ", &["ENV=", "VERSION=", "DRY_RUN="]),
        ("run deploy ENV=staging ", &["VERSION=", "DRY_RUN="]),
        ("run deploy --env staging V", &["VERSION="]),
        ("run deploy e", &["ENV="]),
        ("run deploy ENV=", &["ENV=staging", "ENV=production"]),
        ("run deploy ENV=s", &["ENV=staging"]),
        ("run deploy DRY_RUN=t", &["DRY_RUN=true"]),
        ("run deploy VERSION=", &[]),
        ("run deploy --e", &["--env"]),
        ("run deploy --env ", &["staging", "production"]),
        ("run deploy --env=p", &["--env=production"]),
        ("run deploy --param E", &["ENV="]),
        ("run deploy --timeout ", &[]),
        ("why deploy ENV=s", &["ENV=staging"]),
        ("tool why deploy ENV=s", &["ENV=staging"]),
        ("list --tag c", &["careful"]),
        ("list --tag careful,r", &["careful,read"]),
        ("agent --tools week,we", &["week,weather", "week,week"]),
    ] {
        let expect = if line.starts_with("why") { &[] } else { expect };
        assert_eq!(offered(&place, line), expect, "{line}");
    }
    let about = asked(&place, "run deploy ENV");
    assert_eq!(about, [("ENV=".to_owned(), "Where to".to_owned())]);
    assert_eq!(asked(&place, "run dep"), [("deploy".to_owned(), "Bring a version to its servers".to_owned())]);
}

#[test]
fn runs_and_requests() {
    let place = place();
    assert_eq!(place.run(&["run", "week"]).code(), 0);
    let found = asked(&place, "runs show ");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].0, "last");
    assert!(found[1].1.starts_with("week, "), "{found:?}");
    assert_eq!(place.run(&["runs", "show", &found[1].0]).code(), 0);
    assert_eq!(offered(&place, "runs list --status f"), ["failed"]);
    assert_eq!(offered(&place, "approvals approve "), Vec::<String>::new());
}

/// A completion looks at an index: however many tools there are, it opens the same few files.
#[cfg(target_os = "linux")]
#[test]
fn a_completion_opens_few_files() {
    let opened = |count: usize| {
        let place = place();
        for number in 0..count {
            place.tool(&format!("tool-{number}"), "description: One of many\nbash: ls\ntags: [read]\n");
        }
        // What was written this moment is not in the index yet.
        std::thread::sleep(std::time::Duration::from_secs(3));
        assert_eq!(place.run(&["list", "--format", "simple"]).stdout().lines().count(), count + 3);
        let trace = |line: &str| {
            let (before, word) = line.rsplit_once(' ').expect("two words");
            let ran = place.shell(&format!(
                "strace -f -qq -e trace=open,openat,execve -o trace cycod completions bash --word='{word}' -- {before}"
            ));
            assert!(ran.stdout().contains('\t'), "{line}: {}", ran.block());
            place.read("trace").lines().count()
        };
        ["run tool-1", "run deploy EN", "list --tag ca"].map(trace)
    };
    let (few, many) = (opened(20), opened(5000));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= few + 8 && many < 150, "{few} files with few tools, {many} with many");
    }
}

/// With 5,000 tools, a completion looks at each file once, and reads the index twice: the names, and what is offered.
#[cfg(target_os = "linux")]
#[test]
fn a_completion_makes_few_system_calls() {
    let place = place();
    for number in 0..5000 {
        place.tool(&format!("tool-{number}"), "description: One of many\nbash: ls\ntags: [read]\n");
    }
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(place.run(&["list", "--format", "simple"]).stdout().lines().count(), 5003);
    for (word, count) in [("tool-499", 11), ("TOOL-499", 11), ("week", 1), ("", 1000)] {
        let asked = format!("strace -f -qq -o trace cycod completions bash --word='{word}' -- run");
        let ran = place.shell(&asked);
        assert_eq!(ran.stdout().lines().count(), count, "{word}");
        let trace = place.read("trace");
        // A call that another thread interrupts is on two lines.
        let calls: Vec<&str> = trace.lines().filter(|line| !line.contains(" resumed>")).collect();
        let looks = calls.iter().filter(|line| line.contains("stat")).count();
        let others = calls.len() - looks;
        assert!(looks < 5000 + 100 && others < 500, "{word}: {looks} files looked at, {others} other calls");
    }
}

/// People type, press Tab, and see what comes.
#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::{Place, place};
    use crate::terminal::Terminal;

    fn shell(place: &Place, words: &str, begin: &str) -> Terminal {
        let terminal = Terminal::run(place, 100, &[("PS1", "$ ")], words);
        std::thread::sleep(std::time::Duration::from_millis(500));
        terminal.enter(begin);
        terminal.press(&["Enter"]);
        terminal.enter("echo rea''dy");
        terminal.press(&["Enter"]);
        terminal.wait("\nready");
        terminal
    }

    #[track_caller]
    fn completes(terminal: &Terminal, begun: &str, expect: &str) {
        terminal.enter(begun);
        // A shell that has not shown its prompt yet does not hear a Tab.
        for _ in 0..20 {
            terminal.press(&["Tab"]);
            std::thread::sleep(std::time::Duration::from_millis(1500));
            if terminal.shown().contains(expect) {
                return;
            }
        }
        terminal.wait(expect);
    }

    /// A whole call, with a press of Tab in each word.
    fn a_call(terminal: &Terminal) {
        completes(terminal, "cycod run de", "cycod run deploy");
        completes(terminal, "E", "cycod run deploy ENV=");
        completes(terminal, "st", "cycod run deploy ENV=staging");
        completes(terminal, "--ver", "cycod run deploy ENV=staging --version");
        terminal.enter("2");
        terminal.press(&["Enter"]);
        terminal.wait("staging 2 false");
    }

    #[test]
    fn in_bash() {
        let place = place();
        let terminal = shell(&place, "bash --norc --noprofile -i", "eval \"$(cycod completions bash)\"");
        a_call(&terminal);
    }

    #[test]
    fn in_zsh() {
        let place = place();
        let begin = "autoload -U compinit && compinit -u && eval \"$(cycod completions zsh)\"";
        let terminal = shell(&place, "zsh -f -i", begin);
        a_call(&terminal);
        // The name of a tool is one thing, what it is for another.
        completes(&terminal, "cycod run wea", "cycod run weather");
        terminal.press(&["C-u"]);
        terminal.enter("cycod run w");
        terminal.press(&["Tab", "Tab"]);
        terminal.wait("weather  -- The weather");
    }

    #[test]
    fn in_fish() {
        let place = place();
        let terminal = shell(&place, "fish --no-config --private -i", "cycod completions fish | source");
        a_call(&terminal);
        let ran = place.shell("fish --no-config -c 'cycod completions fish | source; complete -C \"cycod run wea\"'");
        assert_eq!(ran.stdout(), "weather\tThe weather\n", "{}", ran.block());
        let ran =
            place.shell("fish --no-config -c 'cycod completions fish | source; complete -C \"cycod run deploy \"'");
        assert!(ran.stdout().contains("ENV=\tWhere to\n"), "{}", ran.block());
    }
}

#[test]
fn man_pages() {
    let place = Place::new();
    let page = place.run(&["man"]).stdout();
    assert!(page.contains(".TH cycod 1"), "{page}");
    assert_eq!(place.run(&["man", "--output", "man"]).block(), "exit: 0\n--- stdout\n--- stderr\n");
    let list = place.read("man/cycod-tool-list.1");
    assert!(list.contains(".TH cycod-tool-list 1") && list.contains("\\-\\-category"), "{list}");
    assert!(place.project().join("man/cycod-explain.1").is_file());
}

#[test]
fn an_unknown_shell() {
    let ran = Place::new().run(&["completions", "fsh"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("did you mean `fish`?"), "{}", ran.block());
}
