use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use expect_test::expect;
use serde_json::json;

use crate::support::Place;

/// Runs a script that makes things as they are to be.
#[track_caller]
fn make(place: &Place, script: &str) -> String {
    let report = place.call("bash_execution", json!({"command": format!("set -e\n{script}"), "timeout": 60_000}));
    let said = String::from_utf8_lossy(&report.output).into_owned();
    assert!(report.success, "{script}: {said}");
    said
}

fn repository() -> Place {
    let place = Place::new();
    fs::write(
        place.root().join("home/.gitconfig"),
        "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n",
    )
    .expect("written");
    make(
        &place,
        "git init -q; echo .cycod > .git/info/exclude
        echo one > a.txt; git add a.txt; GIT_COMMITTER_DATE=2024-01-01T00:00Z git commit -qm first --date 2024-01-01T00:00Z",
    );
    place
}

fn git(operation: &str, arguments: &[&str]) -> serde_json::Value {
    json!({"operation": operation, "args": arguments})
}

#[test]
fn the_state_of_a_repository_is_told() {
    let place = repository();
    place.file("a.txt", "two\n");
    place.file("b.txt", "new\n");
    let said = place.said("git", json!({"operation": "status"}));
    assert!(said.contains("modified:   a.txt"), "{said}");
    place.check(
        "git",
        git("status", &["-s"]),
        &expect![[r#"
         M a.txt
        ?? b.txt
    "#]],
    );
    place.check(
        "git",
        git("diff", &["-U0", "--", "a.txt"]),
        &expect![[r#"
        diff --git a/a.txt b/a.txt
        index 5626abf..f719efd 100644
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -one
        +two
    "#]],
    );
    place.check(
        "git",
        git("log", &["--format=%an %ad %s", "--date", "short", "-1"]),
        &expect![[r#"
        Ada 2024-01-01 first
    "#]],
    );
    place.check(
        "git",
        git("branch", &[]),
        &expect![[r#"
        * main
    "#]],
    );
}

#[test]
fn work_is_committed_and_branches_are_changed() {
    let place = repository();
    place.file("a.txt", "two\n");
    place.check("git", git("checkout", &["-q", "-b", "work"]), &expect![[r#""#]]);
    let said = place.said("git", git("commit", &["-am", "second"]));
    assert!(said.contains("] second\n 1 file changed"), "{said}");
    place.check("git", git("checkout", &["-q", "main"]), &expect![[r#""#]]);
    assert_eq!(place.read("a.txt"), "one\n");
    place.check(
        "git",
        git("branch", &["-d", "work"]),
        &expect![[r#"
        exit 1
        error: the branch 'work' is not fully merged
        hint: If you are sure you want to delete it, run 'git branch -D work'
        hint: Disable this message with "git config advice.forceDeleteBranch false"
        exit code 1
    "#]],
    );
    let said = place.said("git", git("branch", &["-D", "work"]));
    assert!(said.starts_with("Deleted branch work"), "{said}");
    place.check(
        "git",
        git("commit", &["-m", "nothing"]),
        &expect![[r#"
        exit 1
        On branch main
        nothing to commit, working tree clean
        exit code 1
    "#]],
    );
    place.check(
        "git",
        git("commit", &[]),
        &expect![[r#"
        exit 1
        On branch main
        nothing to commit, working tree clean
        exit code 1
    "#]],
    );
}

#[test]
fn options_that_reach_further_are_refused() {
    let place = repository();
    for (operation, arguments) in [
        ("diff", &["--output=x"][..]),
        ("diff", &["--no-index", "a.txt", "/etc/passwd"]),
        ("diff", &["/dev/null", "/etc/passwd"]),
        ("diff", &["--", "../outside", "a.txt"]),
        ("log", &["--show-signature"]),
        ("commit", &["-F", "/etc/passwd"]),
    ] {
        let said = place.said("git", git(operation, arguments));
        assert!(said.contains("refused[git-option]") || said.contains("refused[outside-workspace]"), "{said}");
    }
    let said = place.said("git", git("diff", &["-S", "../outside", "a.txt"]));
    assert_eq!(said, "", "the value of an option is no path");
    place.check(
        "git",
        git("diff", &["--ext-diff"]),
        &expect![[r#"
        exit 1
        refused[git-option]: `git diff --ext-diff` is not carried out by this tool
        try: leave it out, or run git by `bash_execution`
    "#]],
    );
    place.check(
        "git",
        git("diff", &["--", "../outside"]),
        &expect![[r#"
        exit 1
        refused[outside-workspace]: `../outside` lies outside the repository `ROOT/project`
        try: name something in the repository
    "#]],
    );
}

/// A repository that tries to start a program in every way there is, each of which makes a file beside the project.
fn hostile() -> Place {
    let place = repository();
    let marks = place.root().join("outside");
    let script = r#"
        mark() { printf '#!/bin/sh\ntouch %s/%s\n%s\n' "$MARKS" "$1" "$2" > "$1.sh"; chmod +x "$1.sh"; }
        here=$PWD
        mark fsmonitor; mark pager cat; mark editor; mark external; mark command; mark textconv 'cat "$1"'
        mark clean cat; mark process; mark smudge cat; mark required cat; mark gpg; mark driver; mark ssh; mark askpass; mark helper
        mkdir hooks
        for hook in post-index-change reference-transaction pre-commit post-checkout fsmonitor-watchman; do
            mark hook-$hook; cp hook-$hook.sh hooks/$hook
        done
        cp hooks/* .git/hooks/
        echo '* diff=evil filter=evil merge=evil' > .gitattributes
        echo 'e.txt filter=a=b' >> .gitattributes
        for file in a.txt e.txt; do echo "$file" >> $file; done
        git -c core.hooksPath=/dev/null add a.txt e.txt .gitattributes
        git -c core.hooksPath=/dev/null commit -qm second
        commit=$(git cat-file commit HEAD | sed '/^$/,$d'; printf 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n')
        git -c core.hooksPath=/dev/null update-ref HEAD "$(printf '%s\n' "$commit" | git hash-object -t commit -w --stdin)"
        git init -q sub; (cd sub; echo x > x; git add x; git commit -qm sub; git config core.fsmonitor "touch $MARKS/submodule; false"
            git config filter.other.clean "touch $MARKS/submodule; cat"; echo '* filter=other' > .gitattributes
            echo y > x; touch -d 2001-01-01 x)
        git -c core.hooksPath=/dev/null add sub 2> warning; git -c core.hooksPath=/dev/null commit -qm sub
        git config core.fsmonitor "$here/fsmonitor.sh"
        git config core.pager "$here/pager.sh"
        for command in status diff log branch; do git config pager.$command "$here/pager.sh"; done
        git config core.editor "$here/editor.sh"
        git config diff.external "$here/external.sh"
        git config diff.evil.command "$here/command.sh"
        git config diff.evil.textconv "$here/textconv.sh"
        git config filter.evil.clean "$here/clean.sh"
        git config filter.evil.smudge "$here/smudge.sh"
        git config filter.evil.required true
        git config "filter.a=b.clean" "$here/required.sh"
        git config gpg.program "$here/gpg.sh"
        git config log.showSignature true
        git config merge.evil.driver "$here/driver.sh %A"
        git config core.sshCommand "$here/ssh.sh"
        git config core.askPass "$here/askpass.sh"
        git config credential.helper "$here/helper.sh"
        git config alias.status "!$here/helper.sh"
        git config diff.submodule diff
        git config status.submoduleSummary true
        git config core.hooksPath "$here/hooks"
        touch -d 2001-01-01 a.txt e.txt; echo changed >> a.txt; echo changed >> e.txt
    "#;
    make(&place, &format!("MARKS={}\n{script}", marks.display()));
    forget(&marks);
    place
}

/// The names of the programs that were started, which are forgotten.
fn forget(marks: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(marks).expect("it exists") {
        let entry = entry.expect("an entry");
        names.push(entry.file_name().to_string_lossy().into_owned());
        fs::remove_file(entry.path()).expect("removed");
    }
    names.sort();
    names
}

#[test]
fn a_repository_cannot_start_programs() {
    let place = hostile();
    let marks = place.root().join("outside");
    // Git by itself does start them.
    make(&place, "git status > /dev/null; git diff > /dev/null; git log -p > /dev/null; git branch x; true");
    let started = forget(&marks);
    for name in
        ["fsmonitor", "clean", "command", "gpg", "hook-reference-transaction", "required", "submodule", "textconv"]
    {
        assert!(started.iter().any(|started| started == name), "{name} is no test: {started:?}");
    }
    for (operation, arguments) in [
        ("status", &[][..]),
        ("status", &["-v", "--porcelain=v2", "--ignored"]),
        ("diff", &[]),
        ("diff", &["HEAD~1", "--stat"]),
        ("diff", &["--cached"]),
        ("log", &["-p"]),
        ("log", &["--format=%H %G? %GS", "-m", "-p", "--stat"]),
        ("log", &["-L", "1,1:a.txt"]),
        ("log", &["--oneline", "--graph", "-c"]),
        ("branch", &["-v"]),
        ("branch", &["y"]),
        ("branch", &["-D", "y"]),
    ] {
        let report = place.call("git", git(operation, arguments));
        let said = place.shown(&report);
        assert!(report.success, "{operation} {arguments:?}: {said}");
        assert_eq!(forget(&marks), [""; 0], "{operation} {arguments:?}: {said}");
    }
    let said = place.said("git", git("diff", &["-U0"]));
    assert!(said.contains("+changed"), "{said}");
    // What has no way to be told not to convert does without.
    let said = place.said("git", git("status", &["-vv"]));
    assert_eq!(forget(&marks), [""; 0], "{said}");
}

/// Every file below a directory, with what is in it and when it was changed.
fn all(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("it exists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(all(&path));
        } else {
            let changed = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
            files.insert(path.clone(), (fs::read(&path).expect("it is read"), changed));
        }
    }
    files
}

#[test]
fn nothing_is_written_to_look() {
    let place = repository();
    // Its time says that it may have changed, which git would like to note down.
    make(&place, "touch -d 2001-01-01 a.txt; cp -r .git ../outside/copy; git diff > /dev/null");
    let (index, before) = (place.project().join(".git/index"), place.root().join("outside/copy/index"));
    assert_ne!(fs::read(&index).expect("an index"), fs::read(before).expect("an index"), "else this is no test");
    make(&place, "touch -d 2002-01-01 a.txt");
    let before = all(&place.project());
    for (operation, arguments) in [
        ("status", &[][..]),
        ("status", &["-vv", "--ignored"]),
        ("diff", &[]),
        ("diff", &["--stat", "HEAD"]),
        ("log", &["-p", "--all", "-m"]),
    ] {
        let report = place.call("git", git(operation, arguments));
        assert!(report.success, "{}", place.shown(&report));
        assert!(all(&place.project()) == before, "git {operation} {arguments:?} wrote something");
    }
}

#[test]
fn nothing_is_fetched_to_look() {
    let place = repository();
    let marks = place.root().join("outside");
    let script = r#"
        echo two > a.txt; git commit -qam second
        git config remote.origin.url "ext::sh -c touch% $MARKS/fetched"
        git config remote.origin.promisor true
        git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
        git config extensions.partialClone origin
        git config core.repositoryFormatVersion 1
        git config protocol.ext.allow always
        blob=$(git rev-parse HEAD~1:a.txt)
        rm -f ".git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)"
    "#;
    make(&place, &format!("MARKS={}\n{script}", marks.display()));
    make(&place, "git log -p > /dev/null 2>&1 || true");
    assert_eq!(forget(&marks), ["fetched"], "else this is no test");
    let report = place.call("git", git("log", &["-p"]));
    assert!(!report.success, "{}", place.shown(&report));
    assert_eq!(forget(&marks), [""; 0]);
}

#[test]
fn a_repository_cannot_show_what_lies_elsewhere() {
    let place = repository();
    make(
        &place,
        "git init -q ../outside/private; cd ../outside/private; echo secret > s; git add s; git commit -qm secret",
    );
    let refused = |what: &str| {
        let said = place.said("git", git("log", &["-p"]));
        assert!(said.contains("refused[outside-workspace]: the repository says that its"), "{what}: {said}");
        assert!(!said.contains("secret"), "{what}: {said}");
    };
    make(&place, "git config core.worktree ../../outside/private");
    refused("core.worktree");
    make(&place, "git config core.worktree /");
    refused("core.worktree above");
    make(
        &place,
        "git config --unset core.worktree; mv .git kept; echo \"gitdir: $PWD/../outside/private/.git\" > .git",
    );
    refused("a file .git");
    make(&place, "rm .git; ln -s ../outside/private/.git .git");
    refused("a link .git");
    make(&place, "rm .git; mv kept .git; echo ../../outside/private/.git > .git/commondir");
    refused("commondir");
    make(&place, "rm .git/commondir; echo \"$PWD/../outside/private/.git/objects\" > .git/objects/info/alternates");
    refused("alternates");
    make(&place, "mv .git/objects kept; ln -s ../../outside/private/.git/objects .git/objects");
    refused("objects");
}

#[test]
fn worktrees_and_enclosing_repositories_are_used() {
    let place = repository();
    let project = place.project();
    make(&place, "mkdir -p sub; git worktree add -q wt; echo x > wt/x");
    let said = |directory: &Path, operation: &str, arguments: &[&str]| {
        let report =
            place.call_in(directory, "git", git(operation, arguments), &mut cycod_engine::Ignore, &place.control());
        place.shown(&report)
    };
    assert_eq!(said(&project.join("wt"), "status", &["-sb"]), "## wt\n?? x\n");
    assert_eq!(said(&project.join("sub"), "log", &["--format=%s"]), "first\n");
    make(&place, "mkdir -p ../outside/linked; git worktree add -q ../outside/linked/other");
    assert_eq!(said(&place.root().join("outside/linked/other"), "status", &["-sb"]), "## other\n");
}

#[test]
fn without_a_repository_it_is_told_how_to_make_one() {
    let place = Place::new();
    make(&place, "git init -q --bare fake; cd fake");
    place.check("git", git("status", &[]), &expect![[r#"
        exit 1
        git cannot be used in `ROOT/project`: not a git repository (or any of the parent directories): .git: make one with `git init`
    "#]]);
    let report = place.call_in(
        &place.project().join("fake"),
        "git",
        git("log", &[]),
        &mut cycod_engine::Ignore,
        &place.control(),
    );
    let said = place.shown(&report);
    assert!(said.contains("git cannot be used in `ROOT/project/fake`"), "{said}");
}

#[test]
fn a_repository_of_the_home_directory_shows_no_keys() {
    let place = Place::new();
    fs::write(place.root().join("home/.gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n").expect("written");
    make(
        &place,
        "cd ..; git init -q; mkdir -p home/.ssh; echo KEY1 > home/.ssh/key; git add home; git commit -qm first
        echo KEY2 >> home/.ssh/key",
    );
    let key = "home/.ssh/key";
    for (operation, arguments) in [
        ("diff", &[] as &[&str]),
        ("diff", &["HEAD"]),
        ("diff", &["--stat"]),
        ("log", &["-p"]),
        ("log", &["-1", "-U5", "--cc", "-m"]),
        ("log", &["-p", "--", key]),
        ("log", &["--format=%s", "--patch", "HEAD", key]),
        ("log", &["-S", "KEY", "--word-diff"]),
        ("log", &["-L", "1,1:../home/.ssh/key"]),
    ] {
        let said = place.said("git", git(operation, arguments));
        assert!(!said.contains("KEY"), "{operation} {arguments:?}: {said}");
    }
    let said = place.said("git", git("diff", &[]));
    assert!(said.contains("refused[holds-a-secret]: `git diff` would show files of `ROOT`"), "{said}");
    assert!(place.said("git", git("log", &["-p", "--format=%s"])).contains("first"));
    assert!(place.said("git", git("status", &["-s"])).contains(" M ../home/.ssh/key"));
}
