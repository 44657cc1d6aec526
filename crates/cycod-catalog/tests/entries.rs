//! Which tool a name leads to.

use cycod_catalog::{Availability, LoadError, Scope, ScopeFilter, State, Switches};
use cycod_definition::{Level, Platform, ToolName};
use cycod_diagnostic::Code;
use expect_test::expect;

use crate::place::{Place, named, tool};

#[test]
fn the_machine_wins_then_an_earlier_scope_and_the_others_are_shown() {
    let place = Place::new();
    for directory in ["home/project/.cycod", "home/.cycod", "global"] {
        place.write(&format!("{directory}/tools/build.yaml"), tool(directory));
    }
    place.write("global/tools/only.yaml", tool("global"));
    place
        .write("home/project/.cycod/tools/lint.yaml", tool("local"))
        .write("home/.cycod/tools/lint.yaml", tool("user"));
    expect![[r#"
        build (global, read) global/tools/build.yaml: active
        build (local, read) home/project/.cycod/tools/build.yaml: shadowed by global/tools/build.yaml
        build (user, read) home/.cycod/tools/build.yaml: shadowed by global/tools/build.yaml
        lint (local, read) home/project/.cycod/tools/lint.yaml: active
        lint (user, read) home/.cycod/tools/lint.yaml: shadowed by home/project/.cycod/tools/lint.yaml
        only (global, read) global/tools/only.yaml: active
    "#]]
    .assert_eq(&place.list());

    let catalog = place.open();
    let found = |filter| catalog.find("BUILD", filter).map(|entry| (entry.scope, entry.summary.description.clone()));
    let of = |scope, text: &str| Some((scope, Some(text.to_owned())));
    assert_eq!(found(ScopeFilter::Any), of(Scope::Global, "global"));
    assert_eq!(found(ScopeFilter::Only(Scope::User)), of(Scope::User, "home/.cycod"));
    assert_eq!(found(ScopeFilter::Only(Scope::Global)), of(Scope::Global, "global"));
    assert!(catalog.find("nothing", ScopeFilter::Any).is_none());
    assert_eq!(catalog.suggest("bild").as_deref(), Some("build"));
}

#[test]
fn the_name_in_the_file_wins_over_the_files_own() {
    let place = Place::new();
    place.write("home/.cycod/tools/b.yaml", named("build")).write("home/.cycod/tools/a.yml", tool("a"));
    expect![[r#"
        a (user, read) home/.cycod/tools/a.yml: active
        build (user, read) home/.cycod/tools/b.yaml: active
    "#]]
    .assert_eq(&place.list());
    assert!(place.open().find("b", ScopeFilter::Any).is_none());
}

#[test]
fn one_name_twice_in_a_scope_is_an_error_on_both() {
    let place = Place::new();
    place
        .write("home/.cycod/tools/build.yaml", tool("one"))
        .write("home/.cycod/tools/other.yaml", named("Build"))
        .write("home/.cycod/tools/fine.yaml", tool("fine"))
        .write("global/tools/build.yaml", tool("global"));
    expect![[r#"
        build (global, read) global/tools/build.yaml: active
        build (user, read) home/.cycod/tools/build.yaml: duplicate with home/.cycod/tools/other.yaml
        Build (user, read) home/.cycod/tools/other.yaml: duplicate with home/.cycod/tools/build.yaml
        fine (user, read) home/.cycod/tools/fine.yaml: active
    "#]]
    .assert_eq(&place.list());

    let entry = place.open().find("build", ScopeFilter::Only(Scope::User)).expect("there is one");
    let Err(LoadError::Broken { diagnostics, .. }) = entry.load() else { panic!("a duplicate does not load") };
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].code, Code::DuplicateName);
    assert_eq!(diagnostics[0].message, "the name `build` is used twice in the user scope");
    assert!(diagnostics[0].notes[0].contains("other.yaml"), "{:?}", diagnostics[0].notes);

    // The other file goes away after the list was made: there is nothing wrong any more.
    std::fs::remove_file(place.path("home/.cycod/tools/other.yaml")).expect("removed");
    assert!(entry.load().is_ok());
}

#[test]
fn a_duplicate_is_pointed_at_where_the_name_stands() {
    let place = Place::new();
    place.write("home/.cycod/tools/a.yaml", named("x")).write("home/.cycod/tools/b.yaml", named("x"));
    let entry = place.open().find("x", ScopeFilter::Any).expect("there is one");
    let (source, diagnostics) = entry.diagnostics();
    let duplicate = diagnostics.iter().find(|diagnostic| diagnostic.code == Code::DuplicateName).expect("an error");
    let span = duplicate.span().expect("a place");
    assert_eq!(&source.text[span.start as usize..span.end as usize], "x");
}

/// R can't be started there as functions need it.
#[test]
fn a_function_in_r_is_for_no_windows() {
    let mut place = Place::new();
    let page = |front: &str| format!("---\ndescription: d\n{front}---\n\n```r\nfunction() 1\n```\n");
    place.write("home/.cycod/tools/any.md", page(""));
    place.write("home/.cycod/tools/one.md", page("platforms: [linux, windows]\n"));
    place.host.platform = Platform::Windows;
    let catalog = place.open();
    let on = |name: &str| match catalog.find(name, ScopeFilter::Any).expect("there is one").availability {
        Availability::Unavailable(reasons) => reasons[0].to_string(),
        Availability::Available => "available".to_owned(),
    };
    assert_eq!([on("any"), on("one")], ["runs only on linux, macos", "runs only on linux"]);
}

#[test]
fn a_broken_tool_keeps_its_name() {
    let place = Place::new();
    place.write("home/project/.cycod/tools/build.yaml", "description: [\n");
    place.write("home/.cycod/tools/build.yaml", tool("user"));
    let entry = place.open().find("build", ScopeFilter::Any).expect("there is one");
    assert_eq!(entry.scope, Scope::Local);
    assert_eq!(entry.level, Level::Run);
    assert!(matches!(entry.state, State::Broken { .. }), "{:?}", entry.state);
    assert!(matches!(entry.load(), Err(LoadError::Broken { .. })));
    assert!(!entry.diagnostics().1.is_empty());
    let user = place.open().find("build", ScopeFilter::Only(Scope::User)).expect("there is one");
    assert_eq!(user.state, State::Shadowed { by: entry.path });
    assert!(user.load().is_ok(), "a shadowed tool can be looked at");
}

#[test]
fn loading_reads_the_file_as_it_is_now() {
    let place = Place::new();
    place.write("home/.cycod/tools/build.yaml", tool("before"));
    let entry = place.open().find("build", ScopeFilter::Any).expect("there is one");
    place.write("home/.cycod/tools/build.yaml", tool("after"));
    assert_eq!(entry.load().expect("it loads").tool.description.as_deref(), Some("after"));
    place.write("home/.cycod/tools/build.yaml", named("other"));
    let Err(LoadError::Changed { was, is, .. }) = entry.load() else { panic!("it is another tool now") };
    assert_eq!((was.as_str(), is.as_str()), ("build", "other"));
    std::fs::remove_file(&entry.path).expect("removed");
    assert!(matches!(entry.load(), Err(LoadError::Broken { .. })));
}

#[test]
fn a_level_is_that_of_the_worst_tool_used() {
    let place = Place::new();
    let uses = |name: &str| format!("description: d\nuse-tool: {name}\ntags: [read]\n");
    place
        .write("home/.cycod/tools/look.yaml", tool("looks"))
        .write("home/.cycod/tools/change.yaml", "description: d\nbash: touch x\ntags: [write]\n")
        .write("home/.cycod/tools/a.yaml", uses("look"))
        .write("home/.cycod/tools/b.yaml", uses("change"))
        .write("home/.cycod/tools/c.yaml", uses("B"))
        .write("home/.cycod/tools/d.yaml", uses("missing"))
        .write("home/.cycod/tools/e.yaml", uses("f"))
        .write("home/.cycod/tools/f.yaml", uses("e"));
    let catalog = place.open();
    for (name, level) in [("a", Level::Read), ("b", Level::Write), ("c", Level::Write), ("d", Level::Run)] {
        let entry = catalog.find(name, ScopeFilter::Any).expect("there is one");
        assert_eq!((entry.level, &entry.state), (level, &State::Active), "{name}");
        let listed = catalog.entries().into_iter().find(|entry| entry.name == name).expect("it is listed");
        assert_eq!(listed, entry, "a list and a look-up agree on {name}");
    }
    // A cycle ends.
    assert!(catalog.find("e", ScopeFilter::Any).is_some());
}

#[test]
fn a_tool_that_cannot_run_here_is_listed_with_the_reasons() {
    let mut place = Place::new();
    place.host.environment = [("PATH".into(), place.path("bin").into())].into();
    place.directory("bin");
    place.write(
        "home/.cycod/tools/t.yaml",
        "description: d\nbash: ls\ntags: [read]\nmin-cycod-version: 99.0.0\n\
         requires:\n  commands: [frobnicate]\n  env: [A_TOKEN]\n",
    );
    place.write("home/.cycod/tools/w.yaml", "description: d\nrun: ls\ntags: [read]\nplatforms: [windows, macos]\n");
    let reasons = |name: &str| match place.open().find(name, ScopeFilter::Any).expect("there is one").availability {
        Availability::Available => String::new(),
        Availability::Unavailable(reasons) => reasons.iter().map(|reason| format!("{reason}\n")).collect::<String>(),
    };
    expect![[r#"
        `bash`, which runs its commands, is not on the PATH
        requires `frobnicate`, which is not on the PATH
        requires the environment variable `A_TOKEN`
        requires cycod 99.0.0 or newer
    "#]]
    .assert_eq(&reasons("t"));
    expect!["runs only on windows, macos\n"].assert_eq(&reasons("w"));
    assert_eq!(place.list().matches("active").count(), 2);
}

#[cfg(unix)]
#[test]
fn a_program_counts_only_when_it_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut place = Place::new();
    place.host.environment = [("PATH".into(), place.path("bin").into())].into();
    place.write("bin/bash", "").write("home/.cycod/tools/t.yaml", tool("t"));
    let availability = || place.open().find("t", ScopeFilter::Any).expect("there is one").availability;
    assert_ne!(availability(), Availability::Available);
    std::fs::set_permissions(place.path("bin/bash"), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(availability(), Availability::Available);
}

#[test]
fn names_of_built_in_tools_cannot_be_taken() {
    let place = Place::new();
    place.write("home/.cycod/tools/shell.yaml", tool("mine"));
    let reserved = ToolName::new("Shell").expect("a name");
    let mut scopes = place.scopes();
    scopes.reserve(&reserved);
    let catalog = cycod_catalog::Catalog::open(scopes, &place.host);
    let entry = catalog.find("shell", ScopeFilter::Any).expect("there is one");
    assert!(
        matches!(&entry.state, State::Broken { problem } if problem.code == Code::ReservedName),
        "{:?}",
        entry.state
    );
    let Err(LoadError::Broken { diagnostics, .. }) = entry.load() else { panic!("it does not load") };
    assert_eq!(diagnostics[0].code, Code::ReservedName);
    assert_eq!(diagnostics[0].notes, ["built-in tools are `shell`"]);
}

/// Everything called `off` is off.
#[derive(Debug)]
struct Configured;

impl Switches for Configured {
    fn turned_off(&self, name: &str, scope: Scope, own: bool) -> Option<String> {
        (name == "off" || !own && scope == Scope::User).then(|| "here".to_owned())
    }
}

#[test]
fn what_is_configured_is_marked() {
    let place = Place::new();
    for directory in ["home/project/.cycod", "home/.cycod", "global"] {
        place.write(&format!("{directory}/tools/Scan.yaml"), tool(directory));
    }
    place.write("home/.cycod/tools/off.yaml", tool("x"));
    place.write("home/.cycod/tools/own.yaml", "description: d\nbash: ls\nenabled: false\n");
    let mut catalog = place.open();
    catalog.heed(std::sync::Arc::new(Configured));
    let entries = catalog.entries();
    let told: Vec<String> = entries
        .iter()
        .map(|entry| {
            let off = entry.availability.turned_off().map(|place| format!(", off {place}")).unwrap_or_default();
            format!("{} {} {}{off}", entry.name, entry.scope, entry.is_active())
        })
        .collect();
    let expect = [
        "off user true, off here",
        "own user true, off here",
        "Scan global true",
        "Scan local false",
        "Scan user false",
    ];
    assert_eq!(told, expect);
    let found = catalog.find("scan", ScopeFilter::Any).expect("it is there");
    assert_eq!((found.scope, found.is_active()), (Scope::Global, true));
    let off = catalog.find("off", ScopeFilter::Any).expect("it is there");
    // Its commands are for Bash.
    assert_eq!(off.availability.if_on() == Availability::Available, cfg!(unix));
    assert_eq!(off.summary.estimated_tokens, Some(1 + 9));
    assert!(off.availability != Availability::Available && off.load().is_ok());
}
