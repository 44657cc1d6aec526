//! What a profile says is read back by a reader of its own, and asked as Seatbelt would: the last rule that meets a request
//! decides.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use proptest::collection::vec;
use proptest::prelude::*;

use super::profile::Unheld;
use super::{Profile, confined};
use crate::{Confinement, Mechanism, Mount, MountAccess, Network, Program, Root, StartError};

/// A word, a text in quotes, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Word(String),
    Text(String),
    List(Vec<Expression>),
}

use Expression::{List, Text, Word};

/// Reads all that is there, by the rules of Scheme for quotes and comments.
fn read(text: &str) -> Vec<Expression> {
    fn list(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, is_inner: bool) -> Vec<Expression> {
        let mut all = Vec::new();
        while let Some(c) = rest.next() {
            match c {
                '(' => all.push(List(list(rest, true))),
                ')' if is_inner => return all,
                ')' => panic!("a list ends that has not begun"),
                ';' => while rest.next_if(|c| *c != '\n').is_some() {},
                '"' => {
                    let mut text = String::new();
                    loop {
                        match rest.next().expect("a text ends") {
                            '"' => break,
                            '\\' => text.push(rest.next().expect("something follows")),
                            c => text.push(c),
                        }
                    }
                    all.push(Text(text));
                }
                c if c.is_whitespace() => {}
                c => {
                    let mut word = String::from(c);
                    while let Some(c) = rest.next_if(|c| !c.is_whitespace() && !"()\";".contains(*c)) {
                        word.push(c);
                    }
                    all.push(Word(word));
                }
            }
        }
        assert!(!is_inner, "a list has no end");
        all
    }
    list(&mut text.chars().peekable(), false)
}

/// One rule: whether it allows, what, and of what. Without filters it is of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    allows: bool,
    operations: Vec<String>,
    filters: Vec<Filter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Filter {
    Literal(PathBuf),
    Subpath(PathBuf),
    /// One that is not about paths: its expressions.
    Other(Vec<Expression>),
}

/// The rules of a profile after `(version 1)` and `(deny default)`, with each parameter replaced as `sandbox-exec` gets it.
fn rules(profile: &Profile) -> Vec<Rule> {
    let mut parameters = BTreeMap::new();
    let arguments = profile.arguments();
    assert_eq!(arguments[..2], [OsString::from("-p"), OsString::from(&profile.text)]);
    for pair in arguments[2..].chunks(2) {
        let definition = pair[1].to_str().expect("the tests have readable paths");
        let (name, path) = definition.split_once('=').expect("a definition");
        assert_eq!(pair[0], "-D");
        assert_eq!(parameters.insert(name.to_owned(), PathBuf::from(path)), None, "{name} is defined once");
    }
    let word = |name: &str| Word(name.to_owned());
    let path_of = |value: &Expression| match value {
        Text(text) => PathBuf::from(text),
        List(call) => match &call[..] {
            [Word(param), Text(name)] if param == "param" => parameters[name].clone(),
            other => panic!("no path: {other:?}"),
        },
        Word(other) => panic!("no path: {other}"),
    };
    let all = read(&profile.text);
    assert_eq!(all[..2], [List(vec![word("version"), word("1")]), List(vec![word("deny"), word("default")])]);
    let rule = |expression: &Expression| {
        let List(parts) = expression else { panic!("no rule: {expression:?}") };
        let is_operation = |part: &&Expression| matches!(part, Word(_));
        let words: Vec<String> = parts
            .iter()
            .take_while(is_operation)
            .map(|part| match part {
                Word(word) => word.clone(),
                _ => unreachable!("only words were taken"),
            })
            .collect();
        let filters = parts[words.len()..].iter().map(|filter| match filter {
            List(parts) => match &parts[..] {
                [Word(kind), path] if kind == "literal" => Filter::Literal(path_of(path)),
                [Word(kind), path] if kind == "subpath" => Filter::Subpath(path_of(path)),
                other => Filter::Other(other.to_vec()),
            },
            other => panic!("no filter: {other:?}"),
        });
        let filters = filters.collect();
        assert!(["allow", "deny"].contains(&words[0].as_str()), "{words:?}");
        Rule { allows: words[0] == "allow", operations: words[1..].to_vec(), filters }
    };
    all[2..].iter().map(rule).collect()
}

/// Whether a profile allows an operation on a path.
fn allows(rules: &[Rule], operation: &str, path: &Path) -> bool {
    let covers = |pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => operation.starts_with(start),
        None => operation == pattern,
    };
    let meets = |filter: &Filter| match filter {
        Filter::Literal(literal) => path == literal,
        Filter::Subpath(above) => path.starts_with(above),
        Filter::Other(_) => false,
    };
    let meets = |rule: &&Rule| {
        rule.operations.iter().any(covers) && (rule.filters.is_empty() || rule.filters.iter().any(meets))
    };
    rules.iter().rev().find(meets).is_some_and(|rule| rule.allows)
}

fn mount(path: &str, access: MountAccess) -> Mount {
    Mount { source: path.into(), target: path.into(), access }
}

fn profile(terms: &Confinement) -> Profile {
    Profile::of(terms, &[]).expect("it can be held")
}

#[test]
fn profiles_are_as_they_were() {
    let minimal = Confinement::new(Root::Minimal)
        .mount(mount("/Users/ada/project", MountAccess::Read))
        .mount(mount("/Users/ada/project/out", MountAccess::Write))
        .mount(mount("/opt/homebrew", MountAccess::Execute));
    expect_file!["../../tests/data/seatbelt/minimal.sb"].assert_eq(&profile(&minimal).text);
    let reduced = Confinement::new(Root::ReadOnly)
        .mount(mount("/Users/ada/project", MountAccess::Write))
        .mount(mount("/Users/ada/project", MountAccess::Execute))
        .network(Network::Host);
    expect_file!["../../tests/data/seatbelt/reduced.sb"].assert_eq(&profile(&reduced).text);
    let [minimal, reduced] = [minimal, reduced].map(|terms| profile(&terms).paths);
    assert_eq!(minimal[..3], ["/Users/ada/project", "/Users/ada/project/out", "/opt/homebrew"].map(PathBuf::from));
    assert_eq!(reduced[0], Path::new("/Users/ada/project"));
}

#[test]
fn the_system_can_be_used_and_nothing_else() {
    for (network, is_open) in [(Network::None, false), (Network::Host, true)] {
        let minimal = rules(&profile(&Confinement::new(Root::Minimal).network(network.clone())));
        let reduced = rules(&profile(&Confinement::new(Root::ReadOnly).network(network)));
        for all in [&minimal, &reduced] {
            assert!(allows(all, "process-exec", Path::new("/bin/sh")));
            assert!(allows(all, "file-read-data", Path::new("/private/etc/hosts")));
            assert!(allows(all, "file-write-data", Path::new("/dev/null")));
            assert_eq!(allows(all, "network-outbound", Path::new("/private/var/run/mDNSResponder")), is_open);
            for path in
                ["/private/tmp/x", "/private/var/folders/x", "/private/var/run/x", "/dev/disk0", "/Library/Keychains/x"]
            {
                assert!(!allows(all, "file-read-data", Path::new(path)), "{path}");
            }
            for path in ["/Users/ada/x", "/private/tmp/x", "/usr/local/bin/x", "/dev/disk0", "/"] {
                for operation in ["file-write-data", "file-write-create", "file-write-unlink"] {
                    assert!(!allows(all, operation, Path::new(path)), "{operation} {path}");
                }
            }
            for operation in
                ["network-outbound", "file-link", "job-creation", "forbidden-exec-sugid", "appleevent-send"]
            {
                assert!(!allows(all, operation, Path::new("/Users/ada/x")), "{operation}");
            }
            let asked = |operation: &str| all.iter().any(|rule| rule.operations.iter().any(|known| known == operation));
            assert_eq!(["network-bind", "network-inbound", "system-socket"].map(asked), [is_open; 3]);
        }
        assert!(!allows(&minimal, "file-read-data", Path::new("/Users/ada/x")));
        assert!(!allows(&minimal, "file-read-metadata", Path::new("/Users/ada/x")));
        assert!(!allows(&minimal, "file-read-data", Path::new("/System/Volumes/Data/Users/ada/x")));
        assert!(allows(&reduced, "file-read-data", Path::new("/Users/ada/x")));
    }
}

/// A service that can be asked is a way out: to what starts programs, to secrets, to the clipboard.
#[test]
fn no_service_is_reached_that_does_more_than_answer() {
    let all = rules(&profile(&Confinement::new(Root::ReadOnly).network(Network::Host)));
    let services: BTreeSet<String> = all
        .iter()
        .filter(|rule| rule.operations.iter().any(|operation| operation.starts_with("mach")))
        .flat_map(|rule| {
            assert!(rule.allows && !rule.filters.is_empty(), "{rule:?}");
            rule.filters.iter().map(|filter| match filter {
                Filter::Other(parts) => match &parts[..] {
                    [Word(kind), Text(name)] if kind == "global-name" => name.clone(),
                    other => panic!("more than one service: {other:?}"),
                },
                other => panic!("no service: {other:?}"),
            })
        })
        .collect();
    let expected = [
        "com.apple.SystemConfiguration.DNSConfiguration",
        "com.apple.SystemConfiguration.configd",
        "com.apple.networkd",
        "com.apple.system.notification_center",
        "com.apple.system.opendirectoryd.libinfo",
        "com.apple.trustd",
        "com.apple.trustd.agent",
    ];
    assert_eq!(services, expected.map(str::to_owned).into());
}

#[test]
fn what_cannot_be_held_is_refused() {
    let check = |terms: &Confinement, expect: &str| {
        assert_eq!(Profile::of(terms, &[]).map_err(|unheld| unheld.to_string()), Err(expect.to_owned()));
    };
    let minimal = Confinement::new(Root::Minimal);
    check(&Confinement { processes: Some(5), ..minimal.clone() }, "limit the number of processes");
    let moved = Mount { source: "/Users/ada/data".into(), target: "/data".into(), access: MountAccess::Read };
    check(&minimal.clone().mount(moved), "show `/Users/ada/data` as `/data`");
    for path in ["data", "/data/../etc", "/data/./x", "/data//x", "/data/", ""] {
        let expect = format!("grant `{path}`, which is no absolute path");
        check(&minimal.clone().mount(mount(path, MountAccess::Write)), &expect);
    }
    assert_eq!(Unheld::Hosts.to_string(), "allow some hosts and no others");
}

/// Names as hostile as a file system takes them, and some that are near others.
fn name() -> impl Strategy<Value = String> {
    let hostile = "[^/\0]{1,12}|[a-c]{1,2}|\\)\\(allow default\\)|\"\\) \\(allow file-write\\*|\\\\|;|#\\||P0|\\(param \"P1\"\\)|x{300}";
    hostile.prop_filter("a name", |name| name != "." && name != "..")
}

fn path() -> impl Strategy<Value = PathBuf> {
    vec(name(), 1..4).prop_map(|names| Path::new("/").join(names.join("/")))
}

fn access() -> impl Strategy<Value = MountAccess> {
    prop_oneof![Just(MountAccess::Read), Just(MountAccess::Execute), Just(MountAccess::Write)]
}

proptest! {
    /// Whatever paths are called, a profile grants what was asked for and nothing else.
    #[test]
    fn a_profile_says_exactly_what_was_asked_for(
        is_minimal: bool, is_open: bool, granted in vec((path(), access()), 0..5), ways in vec(path(), 0..3),
        directories in vec(path(), 0..2), probes in vec(path(), 0..4),
    ) {
        let root = if is_minimal { Root::Minimal } else { Root::ReadOnly };
        let network = || if is_open { Network::Host } else { Network::None };
        let empty = Confinement::new(root).network(network());
        let mounts: Vec<Mount> = granted
            .iter()
            .map(|(path, access)| Mount { source: path.clone(), target: path.clone(), access: *access })
            .collect();
        let terms = Confinement { mounts, directories: directories.clone(), ..empty.clone() };
        let profile = Profile::of(&terms, &ways).expect("it can be held");
        let (all, without) = (rules(&profile), rules(&self::profile(&empty)));

        // No byte of a path is part of the program.
        let letters = |c: char| c.is_ascii_alphanumeric() || " \n()\"*-./_:".contains(c);
        prop_assert!(profile.text.chars().all(letters));
        let asked = profile.text.matches("(param ").count();
        prop_assert!(profile.paths.len() <= asked);

        // Beyond what every program has there is one rule for each mount and one for each directory on the way.
        let added: Vec<&Rule> = all.iter().filter(|rule| !without.contains(rule)).collect();
        let mut expected: Vec<Rule> = granted
            .iter()
            .map(|(path, access)| Rule {
                allows: true,
                operations: match access {
                    MountAccess::Read => vec!["file-read*".to_owned()],
                    MountAccess::Execute => ["file-read*", "process-exec", "file-map-executable"].map(str::to_owned).to_vec(),
                    MountAccess::Write => ["file-read*", "file-write*"].map(str::to_owned).to_vec(),
                },
                filters: vec![Filter::Subpath(path.clone())],
            })
            .collect();
        let seen = granted.iter().map(|(path, _)| path).chain(&directories).chain(&ways);
        let on_the_way: BTreeSet<&Path> =
            seen.flat_map(|path| path.ancestors()).filter(|path| *path != Path::new("/")).collect();
        expected.extend(on_the_way.iter().map(|path| Rule {
            allows: true,
            operations: vec!["file-read-metadata".to_owned()],
            filters: vec![Filter::Literal(path.to_path_buf())],
        }));
        prop_assert_eq!(added, expected.iter().collect::<Vec<_>>());

        // And asked as Seatbelt is asked, no path has more than a mount above it gives.
        let below = granted.iter().map(|(path, _)| path.join("below"));
        for probe in probes.iter().cloned().chain(below).chain(granted.iter().map(|(path, _)| path.clone())) {
            let given = |needed: &[MountAccess]| {
                granted.iter().any(|(path, access)| probe.starts_with(path) && needed.contains(access))
            };
            let every = [MountAccess::Read, MountAccess::Execute, MountAccess::Write];
            for (operation, needed) in [
                ("file-read-data", &every[..]),
                ("process-exec", &[MountAccess::Execute]),
                ("file-map-executable", &[MountAccess::Execute]),
                ("file-write-create", &[MountAccess::Write]),
                ("file-write-data", &[MountAccess::Write]),
                ("file-link", &[]),
                ("mach-lookup", &[]),
            ] {
                let expect = allows(&without, operation, &probe) || given(needed);
                prop_assert_eq!(allows(&all, operation, &probe), expect, "{} {:?}", operation, probe);
            }
        }
    }
}

#[test]
fn the_program_of_the_system_becomes_the_program() {
    let place = tempfile::tempdir().expect("a directory");
    let real = place.path().canonicalize().expect("it is there");
    let [data, link] = ["data", "link"].map(|name| real.join(name));
    fs::create_dir(&data).expect("made");
    std::os::unix::fs::symlink("data", &link).expect("made");
    let program = Program::new("/bin/echo", &real).arg("-D").arg("P0=/").env("A", "1");
    let granted = Mount { source: data.clone(), target: link.clone(), access: MountAccess::Write };
    let terms = Confinement::new(Root::Minimal).mount(granted);
    let wrapped = confined(&program, &terms).expect("it can be held");
    assert_eq!(wrapped.path, Path::new("/usr/bin/sandbox-exec"));
    assert_eq!((&wrapped.env, &wrapped.cwd), (&program.env, &program.cwd));
    let own = wrapped.args.iter().position(|argument| argument == "--").expect("they end");
    assert_eq!(wrapped.args[own..], ["--", "/bin/echo", "-D", "P0=/"].map(OsString::from));
    let defined = |path: &Path| {
        wrapped.args[..own].iter().any(|argument| {
            argument
                .to_str()
                .is_some_and(|text| text.split_once('=').is_some_and(|(_, value)| Path::new(value) == path))
        })
    };
    assert!(defined(&data) && defined(&link), "{:?}", wrapped.args);
}

#[test]
fn a_mount_that_is_not_where_it_was_is_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let real = place.path().canonicalize().expect("it is there");
    let [data, link, missing] = ["data", "link", "missing"].map(|name| real.join(name));
    fs::create_dir(&data).expect("made");
    std::os::unix::fs::symlink("data", &link).expect("made");
    let program = Program::new("/bin/echo", "/");
    let refusal = |source: &Path, target: &Path| {
        let granted = Mount { source: source.to_owned(), target: target.to_owned(), access: MountAccess::Write };
        match confined(&program, &Confinement::new(Root::Minimal).mount(granted)) {
            Err(StartError::Confine { mechanism: Mechanism::Seatbelt, doing, .. }) => doing,
            other => panic!("it was not refused: {other:?}"),
        }
    };
    assert_eq!(refusal(&link, &link), format!("find out where `{}` leads", link.display()));
    assert_eq!(refusal(&missing, &missing), format!("find out where `{}` leads", missing.display()));
    assert_eq!(refusal(&data, Path::new("/data")), format!("show `{}` as `/data`", data.display()));
}
