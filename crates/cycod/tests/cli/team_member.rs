//! A team from the side of those who use its tools: joining, syncing, what binds, and what does not get around it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};

use crate::support::{Place, Ran};

pub(crate) const GREET: &str = "description: Greet\nbash: echo hello from the team\ntags: [read]\n";
pub(crate) const OWN: &str = "description: Not really\nbash: echo hello from elsewhere\ntags: [read]\n";

const FUNCTION: &str = "---\nname: function\ndescription: A function\nlanguage: python\nschema: {type: object, properties: {}}\n---\n\n```python\ndef execute():\n    return 'a note'\n```\n";

/// A team that publishes into a directory: a home and a project of its own, and the key `ada`.
pub(crate) struct Team {
    pub(crate) place: Place,
    pub(crate) root: String,
}

impl Team {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        #[expect(clippy::disallowed_methods, reason = "keys are those of the real program")]
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "ada@example.com", "-f", "ada"]);
        assert!(keygen.current_dir(place.project()).status().expect("ssh-keygen starts").success());
        let made = done(&place, &["team", "root", "--out", "out", "--team", "acme", "--key", "ada"]);
        let root = made.stdout().trim().to_owned();
        place.tool("greet", GREET);
        Self { place, root }
    }

    /// With its first release.
    pub(crate) fn released() -> Self {
        let team = Self::new();
        team.release();
        team
    }

    pub(crate) fn release(&self) {
        _ = done(&self.place, &["team", "release", "--out", "out", "--key", "ada"]);
    }

    /// Makes a release if nothing is wrong with it.
    pub(crate) fn release_anyway(&self) {
        _ = self.place.run(&["team", "release", "--out", "out", "--key", "ada"]);
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.place.project().join("out")
    }

    /// A place of someone who joins.
    pub(crate) fn joined(&self) -> Place {
        let place = Place::cloned();
        self.join(&place, &[]);
        place
    }

    pub(crate) fn join(&self, place: &Place, more: &[&str]) {
        let out = self.out();
        let mut words = vec!["team", "join", out.to_str().expect("a path"), "--yes", "--root", &self.root];
        words.extend(more);
        _ = done(place, &words);
    }

    /// A place on a machine that has joined.
    pub(crate) fn machine(&self) -> Place {
        let place = Place::cloned();
        place.machine("note", "");
        self.join(&place, &["--machine"]);
        place
    }
}

/// Runs a command that has to succeed.
#[track_caller]
pub(crate) fn done(place: &Place, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    ran
}

#[track_caller]
pub(crate) fn fails(place: &Place, arguments: &[&str], code: i32, says: &str) {
    let ran = place.run(arguments);
    assert!(ran.code() == code && ran.stderr().contains(says), "{says}: {}", ran.block());
}

pub(crate) fn shown(place: &Place) -> Value {
    let json: Value = serde_json::from_str(&done(place, &["team", "show", "--format", "json"]).stdout()).expect("JSON");
    json["teams"][0].clone()
}

#[track_caller]
pub(crate) fn greets(place: &Place) {
    assert_eq!(done(place, &["run", "greet"]).stdout(), "hello from the team\n");
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() && !from.is_symlink() {
        fs::create_dir_all(to).expect("a directory");
        for entry in fs::read_dir(from).expect("it is there") {
            let entry = entry.expect("an entry");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else if let Ok(target) = fs::read_link(from) {
        symlink(target, to).expect("a link");
    } else {
        _ = fs::copy(from, to).expect("a copy");
    }
}

#[test]
fn a_member_uses_what_the_team_releases() {
    let team = Team::released();
    let place = team.joined();
    greets(&place);
    let list = done(&place, &["list"]).stdout();
    assert!(list.contains("greet  team "), "{list}");
    let tools = done(&place, &["tools", "list"]).stdout();
    assert!(tools.contains("greet") && tools.contains("[Teams]"), "{tools}");
    let info = done(&place, &["info", "greet"]).stdout();
    for fact in ["teams, acme 1", "1 of acme, enforced", "ada@example.com (SHA256:", "trusted"] {
        assert!(info.contains(fact), "{fact}: {info}");
    }
    fails(&place, &["tools", "disable", "greet"], 3, "enforced by enterprise policy");
    let theirs = "is the team's: only its next release can change it";
    fails(&place, &["tool", "remove", "greet", "--force"], 1, theirs);
    let add = ["tool", "add", "x", "--description", "X", "--bash", "echo x", "--scope", "team"];
    fails(&place, &add, 1, theirs);
    let team_now = shown(&place);
    assert_eq!((&team_now["team"], &team_now["number"]), (&"acme".into(), &1.into()));
    assert_eq!(team_now["enforced"], json!(["greet"]));

    team.place.tool("greet", &GREET.replace("team", "new release"));
    team.place.tool("bye", OWN);
    team.release();
    greets(&place);
    let diff = done(&place, &["team", "diff"]).stdout();
    assert!(diff.contains("greet.yaml: other commands") && diff.contains("bye.yaml: new"), "{diff}");
    let sync = done(&place, &["team", "sync"]).stderr();
    assert!(sync.contains("acme, release 2 is in force, after release 1"), "{sync}");
    assert_eq!(done(&place, &["run", "greet"]).stdout(), "hello from the new release\n");
    assert!(done(&place, &["team", "sync"]).stderr().contains("nothing new"));
    assert!(done(&place, &["team", "diff"]).stdout().contains("nothing changes"));

    _ = done(&place, &["team", "leave", "--force"]);
    fails(&place, &["run", "greet"], 1, "greet");
    assert!(!place.home().join(".cycod/team").exists());
    fails(&place, &["team", "sync"], 1, "you have joined no team");
}

#[test]
fn two_releases_of_the_past_are_compared() {
    let team = Team::released();
    let place = team.joined();
    for number in 2..=5 {
        team.place.tool("greet", &GREET.replace("Greet", &format!("Greet {number}")));
        team.place.tool(&format!("tool{number}"), OWN);
        team.release();
        _ = done(&place, &["team", "sync"]);
    }
    let diff = |words: &[&str]| done(&place, &[&["team", "diff"], words].concat()).stdout();
    let once = |number: u64| format!("greet.yaml: other description\n  tool{number}.yaml: new");
    assert!(diff(&["1", "2"]).starts_with("acme, from release 1 to 2\n"), "{}", diff(&["1", "2"]));
    for number in 2..=5 {
        let two = diff(&[&(number - 1).to_string(), &number.to_string()]);
        assert!(two.contains(&once(number)), "{number}: {two}");
    }
    let back = diff(&["3", "1"]);
    assert!(back.contains("tool2.yaml: removed") && back.contains("tool3.yaml: removed"), "{back}");
    assert!(diff(&["4"]).contains("from release 4 to 5") && diff(&["5", "5"]).contains("nothing changes"));
    let json: Value = serde_json::from_str(&diff(&["1", "2", "--format", "json"])).expect("JSON");
    assert_eq!((&json["from"], &json["to"]), (&1.into(), &2.into()));
    fails(&place, &["team", "diff", "5", "6"], 1, "there is no such release; the newest is 5");
    fails(&place, &["team", "diff", "0"], 2, "0");

    // What is here needs no source: the release in force, and the two before it.
    let away = team.place.project().join("away");
    fs::rename(team.out(), &away).expect("renamed");
    assert!(diff(&["4", "5"]).contains(&once(5)) && diff(&["3", "4"]).contains(&once(4)));
    fails(&place, &["team", "diff", "2", "4"], 1, "team-unreachable");
    fails(&place, &["team", "diff", "4"], 1, "team-unreachable");
    fs::rename(&away, team.out()).expect("renamed");

    // A release that a later one has yet to replace is compared before it is in force.
    team.place.tool("tool6", OWN);
    team.release();
    assert!(diff(&["5", "6"]).contains("tool6.yaml: new") && shown(&place)["number"] == 5);

    // Nor does it need one that was never here, between two that were.
    team.place.tool("tool7", OWN);
    team.release();
    _ = done(&place, &["team", "sync"]);
    fs::rename(team.out(), &away).expect("renamed");
    assert!(diff(&["5", "7"]).contains("tool7.yaml: new") && diff(&["5", "7"]).contains("tool6.yaml: new"));
    fails(&place, &["team", "diff", "6", "7"], 1, "team-unreachable");
    fs::rename(&away, team.out()).expect("renamed");

    // In a directory that a cycod wrote which kept nothing, the past is gone.
    let blobs = team.out().join("blobs");
    for entry in fs::read_dir(&blobs).expect("it is there") {
        let path = entry.expect("an entry").path();
        if fs::read_to_string(&path).expect("text").contains("\"previous\"") {
            fs::remove_file(path).expect("removed");
        }
    }
    fails(&place, &["team", "diff", "1", "2"], 1, "`release 1`: it can't be found: the release before 7 is gone");
    assert!(diff(&["4", "5"]).contains("tool5.yaml: new"));
}

#[test]
fn joining_needs_consent_and_the_right_root() {
    let team = Team::released();
    let place = Place::cloned();
    let out = team.out();
    let join = ["team", "join", out.to_str().expect("a path")];
    let with = |more: &[&str]| join.iter().chain(more).map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let refused = |more: &[&str], code: i32, says: &str| {
        let words = with(more);
        fails(&place, &words.iter().map(String::as_str).collect::<Vec<_>>(), code, says);
    };
    refused(&[], 2, "there is no terminal to ask at");
    refused(&["--yes"], 2, "there is no terminal to ask at");
    refused(&["--root", &team.root], 2, "there is no terminal to ask at");
    refused(&["--yes", "--root", &"0".repeat(64)], 1, "error[release-wrong-key]");
    fails(&place, &["team", "join", "missing", "--yes", "--root", &team.root], 1, "error[team-unreachable]");
    fails(&place, &["team", "join", "ssh://host/x", "--yes", "--root", &team.root], 2, "isn't a source");
    assert!(!place.home().join(".cycod/team/member.json").exists());
    team.join(&place, &[]);
    refused(&["--yes", "--root", &team.root], 1, "joined already");
    // A tool can neither join nor leave.
    for words in ["team leave --force", "team join x --yes"] {
        place.tool(
            "grant",
            &format!("description: Grant\nbash: {} {words}\ntags: [read]\n", env!("CARGO_BIN_EXE_cycod")),
        );
        let mut run = place.command(&["run", "grant"]);
        let ran = place.ran(run.env("CYCOD_TRUSTED_DIRECTORIES", place.project()).output().expect("it starts"));
        assert!(ran.code() != 0, "{}", ran.block());
        greets(&place);
    }
}

#[test]
fn a_source_that_is_wrong_leaves_the_release_before_in_force() {
    let team = Team::released();
    let place = team.joined();
    let old = team.place.project().join("old");
    copy(&team.out(), &old);
    team.place.tool("greet", &GREET.replace("team", "new release"));
    team.release();
    _ = done(&place, &["team", "sync"]);
    let greets_anew = || assert_eq!(done(&place, &["run", "greet"]).stdout(), "hello from the new release\n");
    let new = team.place.project().join("new");
    copy(&team.out(), &new);
    let publish = |from: &Path| {
        _ = fs::remove_dir_all(team.out());
        copy(from, &team.out());
    };
    let refused = |code: &str| {
        fails(&place, &["team", "sync"], 1, &format!("error[{code}]"));
        greets_anew();
        assert_eq!(shown(&place)["failure"]["code"], code);
    };
    publish(&old);
    refused("release-rolled-back");
    publish(&new);
    fs::write(team.out().join("release.json.sigs"), "").expect("a file");
    refused("release-wrong-key");
    publish(&new);
    fs::write(team.out().join("parts/tools"), "{}").expect("a file");
    // The part that is here already is the right one.
    assert!(done(&place, &["team", "sync"]).stderr().contains("nothing new"));
    fs::remove_dir_all(team.out()).expect("it is there");
    refused("team-unreachable");
    publish(&new);
    _ = done(&place, &["team", "sync"]);
    assert_eq!(shown(&place)["failure"], Value::Null);
}

#[test]
fn what_was_changed_or_put_into_the_store_is_restored() {
    let team = Team::released();
    let place = team.joined();
    let active = place.home().join(".cycod/team/active");
    for spoil in [
        &|| fs::write(active.join("tools/greet.yaml"), OWN).expect("a file"),
        &|| fs::write(active.join("tools/evil.yaml"), OWN).expect("a file"),
        &|| fs::remove_file(active.join("tools/greet.yaml")).expect("it is there"),
        &|| fs::write(active.join("policy.yaml"), "rules: [{allow: run}]\n").expect("a file"),
        &|| fs::remove_file(active.join("about.json")).expect("it is there"),
    ] as [&dyn Fn(); 5]
    {
        spoil();
        let sync = done(&place, &["team", "sync"]).stderr();
        assert!(!sync.contains("nothing new"), "{sync}");
        greets(&place);
        assert_eq!(fs::read_dir(active.join("tools")).expect("it is there").count(), 1);
        assert!(!active.join("policy.yaml").exists());
    }
}

#[test]
fn a_store_that_lost_a_part_runs_nothing() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "rules:\n  - deny: other\n");
    team.release();
    let lose = |what: &str| {
        let place = team.joined();
        place.write("other.yaml", OWN);
        _ = place.shell("mkdir -p ~/.cycod/tools; cp other.yaml ~/.cycod/tools/other.yaml").code();
        fails(&place, &["run", "other"], 3, "error[denied-by-policy]");
        let path = place.home().join(".cycod/team").join(what);
        if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
            .expect("it is there");
        place
    };
    for part in ["active", "releases", "active/about.json"] {
        let place = lose(part);
        fails(&place, &["run", "other"], 3, "error[policy-broken]");
        fails(&place, &["run", "other"], 3, "cycod team sync");
        _ = done(&place, &["team", "sync"]);
        fails(&place, &["run", "other"], 3, "error[denied-by-policy]");
    }
    let place = lose("seen.json");
    fails(&place, &["team", "sync"], 1, "error[team-record-broken]");
    fails(&place, &["run", "other"], 3, "error[denied-by-policy]");
}

#[test]
fn nothing_takes_the_name_of_a_tool_of_the_team() {
    let team = Team::released();
    let place = team.joined();
    place.tool("greet", OWN);
    place.tool("x", &format!("name: GREET\n{OWN}"));
    place.write(".mimir/tools/greet.yml", "name: greet\ndescription: No\nschema: {type: object}\ncode: 'no'\n");
    _ = place.shell("mkdir -p ~/.cycod/tools; cp .cycod/tools/greet.yaml ~/.cycod/tools/").code();
    place.write(".cycod/config.yaml", "tools: {greet: {enabled: false}}\nenforcement: {disableLocalTools: true}\n");
    greets(&place);
    let list = done(&place, &["list"]).stdout();
    assert!(list.contains("shadowed"), "{list}");
    // A directory of a project that leads to the team's is the team's.
    let other = team.joined();
    fs::create_dir_all(other.project()).expect("a directory");
    symlink(other.home().join(".cycod/team/active"), other.project().join(".cycod")).expect("a link");
    greets(&other);
    fails(&other, &["tools", "disable", "greet"], 3, "enforced by enterprise policy");
}

#[test]
fn nothing_else_becomes_trusted_by_a_tool_of_the_team() {
    let team = Team::new();
    team.place.tool("wrapper", "description: Wrap\nuse-tool: helper\ntags: [read]\n");
    team.release();
    let place = team.joined();
    place.tool("helper", OWN);
    // The same text as a tool of the team, in a project.
    place.tool("mine", GREET);
    for name in ["wrapper", "helper", "mine"] {
        fails(&place, &["run", name], 3, "error[untrusted-tool]");
    }
    assert!(!place.home().join(".cycod/trust.json").exists());
}

#[test]
fn an_expired_release_denies_and_allows_nothing() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "rules:\n  - deny: other\n  - allow: write\n");
    team.release();
    let place = team.joined();
    _ = place.shell("mkdir -p ~/.cycod/tools").code();
    fs::write(place.home().join(".cycod/tools/other.yaml"), OWN).expect("a file");
    fs::write(place.home().join(".cycod/tools/note.yaml"), OWN.replace("read", "write")).expect("a file");
    let why = |name: &str| -> Value {
        serde_json::from_str(&done(&place, &["tool", "why", name, "--format", "json"]).stdout()).expect("JSON")
    };
    assert!(why("note").to_string().contains("allow write"), "{:#}", why("note"));
    let about = place.home().join(".cycod/team/active/about.json");
    let text = fs::read_to_string(&about).expect("it is there");
    let mut json: Value = serde_json::from_str(&text).expect("JSON");
    json["expires"] = (json["made"].as_i64().expect("a number") - 1).into();
    fs::write(&about, json.to_string()).expect("a file");
    fails(&place, &["run", "greet"], 3, "error[release-expired]");
    fails(&place, &["run", "greet"], 3, "try: cycod team sync");
    fails(&place, &["run", "other"], 3, "error[denied-by-policy]");
    assert!(!why("note").to_string().contains("allow write"), "{:#}", why("note"));
    assert!(done(&place, &["team", "show"]).stdout().contains("expired"));
    _ = done(&place, &["team", "sync"]);
    greets(&place);
}

#[test]
fn rules_of_the_team_are_named_with_the_release_and_whom_to_ask() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "rules:\n  - deny: other\n    why: it is slow\n");
    team.release();
    let place = team.joined();
    _ = place.shell("mkdir -p ~/.cycod/tools").code();
    fs::write(place.home().join(".cycod/tools/other.yaml"), OWN).expect("a file");
    fails(
        &place,
        &["run", "other"],
        3,
        "`deny other` (acme release 1, policy.yaml:2): it is slow; ask ada@example.com",
    );
    let mut allowed = place.command(&["run", "other", "--auto-approve", "*"]);
    let ran = place.ran(allowed.env("CYCOD_AUTO_APPROVE", "other").output().expect("it starts"));
    assert!(ran.stderr().contains("error[denied-by-policy]"), "{}", ran.block());
    let list = done(&place, &["policy", "list"]).stdout();
    assert!(list.contains("acme release 1"), "{list}");
    let why = done(&place, &["tool", "why", "other"]).stdout();
    assert!(why.contains("ask the team"), "{why}");
}

#[test]
fn what_the_lists_of_the_team_do_not_name_is_refused_with_the_list() {
    let team = Team::new();
    let policy = "allow-only:\n  tools: [greet, other]\n  sources: [teams, built-in]\n  models: [acme/*]\n  why: we audit them\n";
    team.place.write(".cycod/policy.yaml", policy);
    team.release();
    let place = team.joined();
    _ = place.shell("mkdir -p ~/.cycod/tools").code();
    fs::write(place.home().join(".cycod/tools/other.yaml"), OWN).expect("a file");
    fs::write(
        place.home().join(".cycod/policy.yaml"),
        "rules: [{allow: '*'}]\nallow-only: {sources: [custom, teams]}\n",
    )
    .expect("a file");
    greets(&place);
    let listed = "`allow-only: sources` (acme release 1, policy.yaml:3) doesn't name `custom`: we audit them; ask ada@example.com";
    fails(&place, &["run", "other"], 3, listed);
    fails(&place, &["run", "file_operations", "operation=list", "path=."], 3, "`allow-only: tools` (acme release 1");
    // Of the machine's user, the list is in force as well.
    let why = done(&place, &["tool", "why", "file_operations"]).stdout();
    assert!(why.contains("/.cycod/policy.yaml:2) doesn't name `built-in`"), "{why}");
    let mut command = place.command(&["agent", "say hello", "--model", "openai/gpt-4o"]);
    let ran = place.ran(command.env("OPENAI_API_KEY", "sk-none").output().expect("it starts"));
    assert!(ran.stderr().contains("`allow-only: models` (acme release 1"), "{}", ran.block());
    assert!(done(&place, &["team", "show"]).stdout().contains("allow-only"));
}

#[test]
fn what_runs_only_programs_that_the_team_names_runs() {
    let team = Team::new();
    let policy =
        "allow-only: {commands: [cat, git, sh, python, python3, find, basename, './scripts/*', 'mcp:files']}\n";
    team.place.write(".cycod/policy.yaml", policy);
    team.release();
    let place = Place::new();
    team.join(&place, &[]);
    greets(&place);
    place.write("note", "a note\n");
    place.write("scripts/say", "#!/bin/sh\necho a note\n");
    _ = place.shell("chmod +x scripts/say");
    let steps = "steps:\n  - {name: a, bash: cat note}\n  - {name: b, use-tool: greet}\n  - {name: c, bash: cat, input: '{a.output}'}";
    for body in [
        "bash: if [ -f note ]; then cd . && cat note | while read -r x; do echo \"$x\"; done; fi",
        "bash: f() { cat \"$1\"; }; f note",
        "bash: sh -c 'cat note'",
        "bash: find . -name note -exec cat {} +",
        "bash: X=note; cat \"$X\" || exit 1",
        "bash: ./scripts/say",
        "bash: cat {FILE}\nparameters: {FILE: {type: string, default: note, path: true}}",
        "bash: '{X} note'\nparameters: {X: {type: string, enum: [basename, cat], default: cat}}",
        "run: cat note",
        "python: print('a note')",
        steps,
    ] {
        place.tool("it", &format!("description: It\ntags: [run]\n{body}\n"));
        let ran = place.run(&["run", "it"]);
        assert!(ran.code() == 0 && ran.stdout().contains("a note"), "{body}: {}", ran.block());
    }
    for (tool, arguments) in [
        ("read_file", vec!["filepath=note"]),
        ("bash_execution", vec!["command=cat note"]),
        ("bash_execution", vec!["command=cat", "args=[\"note\"]"]),
    ] {
        let ran = place.run(&[vec!["run", tool], arguments].concat());
        assert!(ran.code() == 0 && ran.stdout().contains("a note"), "{tool}: {}", ran.block());
    }
    place.write(".cassidy/tools/function.md", FUNCTION);
    let ran = place.run(&["run", "function"]);
    assert!(ran.code() == 0 && ran.stdout().contains("a note"), "{}", ran.block());
    let said =
        "`allow-only: commands` (acme release 1, policy.yaml:1) doesn't name `basenam`, which `bash_execution` starts";
    fails(&place, &["run", "bash_execution", "command=basenam x"], 3, said);
    let why = done(&place, &["tool", "why", "bash_execution"]).stdout();
    assert!(why.contains("runs what cycod can't tell in advance: the arguments of `bash_execution`"), "{why}");
    assert!(done(&place, &["team", "show"]).stdout().contains("allow-only commands: cat git"));
}

#[test]
fn no_variable_moves_the_team_of_the_machine() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "rules:\n  - deny: other\n");
    team.release();
    let place = team.machine();
    place.tool("greet", OWN);
    place.tool("other", OWN);
    let elsewhere = place.path("elsewhere");
    let elsewhere = elsewhere.to_str().expect("a path");
    let ways: [&[(&str, &str)]; 5] = [
        &[],
        &[("CYCOD_GLOBAL_DIR", elsewhere)],
        &[("CYCOD_HOME", elsewhere)],
        &[("HOME", elsewhere), ("CYCOD_HOME", elsewhere)],
        &[("CYCOD_AUTO_APPROVE", "*"), ("HOME", elsewhere), ("CYCOD_GLOBAL_DIR", "")],
    ];
    for variables in ways {
        let with = |arguments: &[&str]| {
            let mut command = place.command(arguments);
            command.env("CYCOD_TRUSTED_DIRECTORIES", place.project()).envs(variables.iter().copied());
            place.ran(command.output().expect("it starts"))
        };
        let ran = with(&["run", "greet"]);
        assert_eq!(ran.stdout(), "hello from the team\n", "{variables:?}: {}", ran.block());
        let ran = with(&["run", "other"]);
        assert!(ran.stderr().contains("error[denied-by-policy]"), "{variables:?}: {}", ran.block());
    }
    fails(&place, &["team", "leave", "--force"], 1, "--machine");
    let out = team.out();
    let again = ["team", "join", out.to_str().expect("a path"), "--yes", "--root", &team.root];
    fails(&place, &again, 1, "this machine has joined the team acme");
}

#[test]
fn a_store_of_the_machine_that_others_can_change_runs_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let team = Team::released();
    for part in ["team", "team/member.json", "team/active/about.json"] {
        let place = team.machine();
        greets(&place);
        fs::set_permissions(place.path("machine").join(part), fs::Permissions::from_mode(0o777)).expect("permissions");
        let ran = place.run(&["run", "greet"]);
        let says = ["users other than its owner can change", "error[broken-tool]"];
        assert!(ran.code() != 0 && says.iter().any(|says| ran.stderr().contains(says)), "{}", ran.block());
        assert_eq!(ran.stdout(), "");
    }
    for part in ["team/active", "team/active/about.json"] {
        let place = team.machine();
        fs::remove_file(place.path("machine").join(part)).expect("it is there");
        place.tool("other", OWN);
        let mut command = place.command(&["run", "other"]);
        let ran = place.ran(command.env("CYCOD_TRUSTED_DIRECTORIES", place.project()).output().expect("it starts"));
        assert!(ran.stderr().contains("sudo cycod team sync --machine"), "{}", ran.block());
    }
}

/// Serves a directory over HTTP, and counts what is asked.
pub(crate) fn served(directory: PathBuf) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/team", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                request.push(byte[0]);
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let text = String::from_utf8_lossy(&request).into_owned();
            let path = text.split(' ').nth(1).and_then(|path| path.strip_prefix("/team/")).unwrap_or("none");
            let (status, body) = match fs::read(directory.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    (address, count)
}

#[test]
fn a_web_server_is_asked_for_what_has_changed() {
    let team = Team::new();
    for number in 0..20 {
        team.place.tool(&format!("tool-{number}"), &format!("description: Tool {number}\nbash: echo {number}\n"));
    }
    team.release();
    let (address, count) = served(team.out());
    let place = Place::cloned();
    _ = done(&place, &["team", "join", &address, "--yes", "--root", &team.root]);
    greets(&place);
    let asked = || count.swap(0, Ordering::SeqCst);
    assert!(asked() > 21);
    _ = done(&place, &["team", "sync"]);
    // The release with its signatures and the number of the newest root.
    assert_eq!(asked(), 1);
    team.place.tool("greet", &GREET.replace("team", "new release"));
    team.release();
    _ = done(&place, &["team", "sync"]);
    // And the list, and one file.
    assert_eq!(asked(), 3);
    assert_eq!(done(&place, &["run", "greet"]).stdout(), "hello from the new release\n");

    // A new root is noticed although the release is the same.
    _ = done(&team.place, &["team", "root", "--out", "out", "--key", "ada"]);
    assert!(!done(&place, &["team", "sync"]).stderr().contains("nothing new"));
    assert_eq!(asked(), 3);
    _ = done(&place, &["team", "sync"]);
    assert_eq!(asked(), 1);

    // What the file says is verified like the files that it stands for, and a server without it is read file by file.
    let latest = team.out().join("latest.json");
    let right = fs::read_to_string(&latest).expect("a file");
    let newest = fs::read_to_string(team.out().join("release.json")).expect("a file");
    for (wrong, code) in [
        ("{".to_owned(), "release-truncated"),
        (json!({"format": 2, "root": 2, "release": "", "signatures": ""}).to_string(), "release-malformed"),
        (json!({"format": 1, "root": 2, "release": newest, "signatures": ""}).to_string(), "release-wrong-key"),
        (right.replace("acme", "evil"), "release-wrong-key"),
        (right.replace(r#"\"number\": 2"#, r#"\"number\": 3"#), "release-wrong-key"),
    ] {
        assert_ne!(wrong, right);
        fs::write(&latest, wrong).expect("written");
        fails(&place, &["team", "sync"], 1, &format!("error[{code}]"));
    }
    fs::remove_file(&latest).expect("removed");
    asked();
    _ = done(&place, &["team", "sync"]);
    assert_eq!(asked(), 4, "the file, the next root, the release and its signatures");
}

#[test]
fn tools_of_a_team_are_parsed_once() {
    let team = Team::new();
    let text = |number: usize| format!("description: Tool {number}\nbash: echo {number}\ntags: [read]\n");
    (0..300).for_each(|number| team.place.tool(&format!("tool-{number}"), &text(number)));
    team.release();
    let place = team.joined();
    // An index of files is settled when they have been left alone for a moment.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let index = || {
        assert_eq!(done(&place, &["list"]).stdout().lines().count(), 302);
        let indexes = fs::read_dir(place.home().join(".cycod/cache/catalog")).expect("it is there");
        let indexes = indexes.map(|entry| entry.expect("an entry").metadata().expect("it is there"));
        indexes.map(|index| (index.len(), index.modified().expect("a time"))).max().expect("an index")
    };
    let first = index();
    assert!(first.0 > 300 * 64, "{first:?}");
    // It is written again only if something was read again.
    assert_eq!(index(), first);
}

/// A team's floors with a tool of each kind, in the home of a member.
fn floored(policy: &str) -> Place {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", policy);
    team.release();
    let place = team.joined();
    let tool = |name: &str, text: &str| {
        fs::create_dir_all(place.home().join(".cycod/tools")).expect("a directory");
        fs::write(place.home().join(format!(".cycod/tools/{name}.yaml")), text).expect("a file");
    };
    let echo = "description: Echo\nbash: echo hello\ntags: [run]\n";
    tool("free", echo);
    tool("reduced", &format!("{echo}security: {{execution-privilege: reduced}}\n"));
    tool("offline", &format!("{echo}security: {{required-permissions: ['filesystem:read:.']}}\n"));
    tool("online", &format!("{echo}security: {{required-permissions: ['network:external:example.com']}}\n"));
    tool("contained", &format!("{echo}security: {{isolation: container}}\n"));
    tool("elevated", &format!("{echo}security: {{execution-privilege: elevated}}\n"));
    tool("alias-free", "type: alias\nbase-tool: free\n");
    tool("uses-free", "description: Uses\nsteps:\n  - {name: a, use-tool: free}\n  - {name: b, use-tool: offline}\n");
    tool("uses-offline", "description: Uses\nsteps:\n  - {name: a, use-tool: offline}\n");
    tool(
        "function",
        "name: function\ndescription: Call\nschema: {type: object, properties: {}}\ncode: |\n  export async function execute() { return 1 }\n",
    );
    place
}

#[test]
fn a_floor_refuses_what_is_confined_less() {
    let all =
        ["free", "reduced", "offline", "online", "contained", "elevated", "alias-free", "uses-free", "uses-offline"];
    let below = |policy: &str| -> Vec<&str> {
        let place = floored(policy);
        // Whatever else allows them.
        fs::write(place.home().join(".cycod/policy.yaml"), "rules: [{allow: '*'}]\n").expect("a file");
        let decision = |name: &str| -> Value {
            let why = done(&place, &["tool", "why", name, "--format", "json"]).stdout();
            serde_json::from_str::<Value>(&why).expect("JSON")
        };
        let denied = |name: &&str| decision(name).to_string().contains("`floor: ");
        all.into_iter().filter(denied).collect()
    };
    assert_eq!(below("floor: {privilege: reduced}\n"), ["free", "elevated", "alias-free", "uses-free"]);
    assert_eq!(
        below("floor: {isolation: container}\n"),
        ["free", "reduced", "offline", "online", "elevated", "alias-free", "uses-free", "uses-offline"]
    );
    assert_eq!(below("floor: {network: declared}\n"), ["free", "reduced", "elevated", "alias-free", "uses-free"]);
    assert_eq!(below("floor: {network: none}\n"), ["free", "reduced", "online", "elevated", "alias-free", "uses-free"]);
}

#[test]
fn a_refusal_by_a_floor_names_the_rule_the_release_and_whom_to_ask() {
    let place = floored("floor:\n  privilege: reduced\n  network: none\n  why: nothing leaks\n");
    for (tool, says) in [
        (
            "free",
            "`floor: privilege: reduced` (acme release 1, policy.yaml:2): `free` starts programs that aren't confined",
        ),
        ("alias-free", "`floor: privilege: reduced` (acme release 1, policy.yaml:2): `alias-free` starts"),
        ("uses-free", "`free` starts programs that aren't confined: nothing leaks; ask ada@example.com"),
        ("function", "`function` starts programs that aren't confined"),
        ("reduced", "`floor: network: none` (acme release 1, policy.yaml:3): `reduced` can reach the network"),
        ("bash_execution", "`bash_execution` starts programs that aren't confined: nothing leaks; ask ada@example.com"),
    ] {
        let arguments: &[&str] = if tool == "bash_execution" { &["command=true"] } else { &[] };
        let ran = place.run(&[&["run", tool], arguments].concat());
        assert!(ran.code() == 3 && ran.stderr().contains("error[denied-by-policy]"), "{}", ran.block());
        assert!(ran.stderr().contains(says), "{says}: {}", ran.block());
    }
    assert_eq!(done(&place, &["run", "offline"]).stdout(), "hello\n");
    assert_eq!(done(&place, &["run", "uses-offline"]).code(), 0);
    // What starts no program is above every floor.
    place.write("note.txt", "a note\n");
    assert!(done(&place, &["run", "read_file", "filepath=note.txt"]).stdout().contains("a note"));
    let shown = done(&place, &["team", "show"]).stdout();
    assert!(shown.contains("floor privilege: reduced, floor network: none"), "{shown}");
    assert!(done(&place, &["policy", "list"]).stdout().contains("floor network: none"));
}

#[test]
fn a_floor_for_approval_asks_models_whatever_allows_them() {
    let place = floored("floor: {approval: run}\n");
    fs::write(place.home().join(".cycod/policy.yaml"), "rules: [{allow: '*'}]\n").expect("a file");
    let mut client = crate::serve::Client::modern(&place, &["--auto-approve", "*"], json!({}));
    let refused = client.call("free", json!({})).to_string();
    assert!(refused.contains("`floor: approval: run` (acme release 1, policy.yaml:1)"), "{refused}");
    assert!(client.call("greet", json!({})).to_string().contains("hello from the team"));
    // A person has consented by typing the command.
    assert_eq!(done(&place, &["run", "free"]).stdout(), "hello\n");
}

#[test]
fn nothing_runs_on_a_cycod_that_is_older_than_the_team_asks() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "min-version: 0.0.1\n");
    team.release();
    let place = team.joined();
    greets(&place);
    team.place.write(".cycod/policy.yaml", "min-version: 99.0.0\n");
    team.release();
    _ = done(&place, &["team", "sync"]);
    let says = "`min-version: 99.0.0` (acme release 2, policy.yaml:1): this is cycod ";
    for words in [&["run", "greet"] as &[&str], &["run", "read_file", "filepath=x"]] {
        let ran = place.run(words);
        assert!(ran.code() != 0 && ran.stderr().contains("error[newer-version-needed]"), "{}", ran.block());
        assert!(ran.stderr().contains(says) && ran.stderr().contains("; ask ada@example.com"), "{}", ran.block());
    }
    let mut command = place.command(&["agent", "say hello", "--model", "openai/gpt-4o"]);
    let ran = place.ran(command.env("OPENAI_API_KEY", "sk-none").output().expect("it starts"));
    assert!(ran.stderr().contains(says), "{}", ran.block());
}

#[test]
fn a_member_follows_a_channel() {
    let team = Team::released();
    let (stable, place) = (team.joined(), Place::cloned());
    let release = |more: &[&str]| {
        let words = [&["team", "release", "--out", "out", "--key", "ada"], more].concat();
        done(&team.place, &words).stderr()
    };
    let out = team.out();
    let join = ["team", "join", out.to_str().expect("a path"), "--yes", "--root", &team.root, "--channel", "beta"];
    fails(&place, &join, 1, "the team has no release in the channel `beta`");
    fails(
        &place,
        &["team", "join", "x", "--yes", "--root", &team.root, "--channel", "../x"],
        2,
        "no channel can be called",
    );
    team.place.tool("greet", &GREET.replace("hello", "hello, tester,"));
    team.place.write(".cycod/policy.yaml", "rules:\n  - deny: other\n    why: it is slow\n");
    assert!(release(&["--channel", "beta"]).contains("Wrote beta release 1 of acme"));
    _ = done(&place, &join);
    assert_eq!(done(&place, &["run", "greet"]).stdout(), "hello, tester, from the team\n");
    assert_eq!((&shown(&place)["channel"], &shown(&stable)["channel"]), (&"beta".into(), &"stable".into()));
    let text = done(&place, &["team", "show"]).stdout();
    assert!(text.contains("acme, beta release 1\n") && text.contains("  channel    beta\n"), "{text}");
    _ = place.shell("mkdir -p ~/.cycod/tools").code();
    fs::write(place.home().join(".cycod/tools/other.yaml"), OWN).expect("a file");
    fails(&place, &["run", "other"], 3, "`deny other` (acme beta release 1, policy.yaml:2): it is slow");
    assert!(done(&place, &["tool", "why", "other"]).stdout().contains("acme beta release 1"));

    // Who follows another channel has nothing of it, until it is promoted.
    _ = done(&stable, &["team", "sync"]);
    greets(&stable);
    let nightly = ["team", "release", "--out", "out", "--key", "ada", "--promote", "nightly"];
    fails(&team.place, &nightly, 1, "the channel `nightly` has no release");
    assert!(release(&["--promote", "beta"]).contains("with the files of beta release 1"));
    _ = done(&stable, &["team", "sync"]);
    assert_eq!(done(&stable, &["run", "greet"]).stdout(), "hello, tester, from the team\n");

    // There and back: what was seen of each channel stays known.
    fs::create_dir_all(team.place.path("old")).expect("a directory");
    assert_eq!(team.place.shell("cp -r out/. old").code(), 0);
    _ = release(&["--channel", "beta"]);
    _ = done(&place, &["team", "sync"]);
    let said = done(&place, &["team", "channel", "stable"]).stderr();
    assert!(said.contains("You follow the channel `stable` now: acme, release 2 is in force"), "{said}");
    assert!(done(&place, &["team", "sync"]).stderr().contains("acme, release 2: nothing new"));
    assert_eq!(team.place.shell("mv out new; mv old out").code(), 0);
    fails(&place, &["team", "channel", "beta"], 1, "error[release-rolled-back]");
    fails(&place, &["team", "channel", "beta"], 1, "you still follow `stable`");
    assert_eq!((&shown(&place)["channel"], &shown(&place)["number"]), (&"stable".into(), &2.into()));
    assert_eq!(team.place.shell("rm -r out; mv new out").code(), 0);
    _ = done(&place, &["team", "channel", "beta"]);
    assert_eq!(shown(&place)["number"], 2);

    // The release of one channel in the place of the other, as a server could send it.
    let copied = team.place.shell("cp out/release.json* out/channels/beta; cp out/parts/* out/channels/beta/parts");
    assert_eq!(copied.code(), 0);
    fails(&place, &["team", "sync"], 1, "it is of the channel `stable`, not of `beta`");
    assert_eq!(shown(&place)["number"], 2, "what was in force stays");
}

#[test]
fn a_clock_that_was_set_back_revives_nothing() {
    let team = Team::released();
    let place = team.joined();
    let about = place.home().join(".cycod/team/active/about.json");
    let text = fs::read_to_string(&about).expect("it is there");
    let mut json: Value = serde_json::from_str(&text).expect("JSON");
    // As the clock of this machine has shown, before someone set it back.
    json["seen_over"] = (json["expires"].as_i64().expect("a number") + 1).into();
    let set_back = || fs::write(&about, json.to_string()).expect("a file");
    set_back();
    fails(&place, &["run", "greet"], 3, "error[release-expired]");
    let show = done(&place, &["team", "show"]).stdout();
    assert!(show.contains("  expired ") && show.contains("if that was wrong: cycod team sync --trust-clock"), "{show}");
    fails(&place, &["team", "sync"], 1, "but it has shown");
    fails(&place, &["team", "sync"], 1, "error[release-expired]");
    fails(&place, &["run", "greet"], 3, "error[release-expired]");
    fails(&place, &["team", "sync", "--trust-clock"], 2, "only you can tell whether the clock is right");
    let answered = |answer: &str| {
        let words = "'cycod team sync --trust-clock' /dev/null";
        place.shell(&format!("printf '{answer}\\n' | script -qec {words}")).stdout()
    };
    let said = answered("n");
    assert!(said.contains("The clock of this machine shows ") && said.contains("nothing was changed"), "{said}");
    fails(&place, &["run", "greet"], 3, "error[release-expired]");
    assert!(answered("y").contains("acme, release 1: nothing new"));
    greets(&place);
    set_back();
    fails(&place, &["run", "greet"], 3, "error[release-expired]");
    // The next release needs no answer.
    team.release();
    _ = done(&place, &["team", "sync"]);
    greets(&place);
}
