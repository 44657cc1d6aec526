//! Where tools are looked for.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use cycod_catalog::{Overrides, Scope, ScopeFilter, Scopes};
use cycod_definition::{Host, Platform};
use expect_test::{Expect, expect};

use crate::place::{Place, tool};

#[expect(clippy::needless_pass_by_value, reason = "reads as a literal")]
fn check(place: &Place, expected: Expect) {
    let scopes = place.scopes();
    let mut shown = format!("workspace {}\n", place.shown(scopes.workspace()));
    for directory in scopes.directories() {
        _ = writeln!(shown, "{} {:?} {}", directory.scope, directory.style, place.shown(&directory.path));
    }
    expected.assert_eq(&shown);
}

#[test]
fn without_any_marker_the_working_directory_owns_the_local_scope() {
    check(
        &Place::new(),
        expect![[r#"
            workspace home/project
            local Cycod home/project/.cycod/tools
            user Cycod home/.cycod/tools
            user Cassidy home/.cassidy/tools
            user Mimir home/.mimir/tools
            global Cycod global/tools
        "#]],
    );
}

#[test]
fn the_nearest_ancestor_wins() {
    let mut place = Place::new();
    place.directory("home/project/.cycod").directory("home/project/.mimir").directory("home/project/.cassidy");
    place.stand_in("home/project/deep/er");
    check(
        &place,
        expect![[r#"
            workspace home/project
            local Cycod home/project/.cycod/tools
            local Cassidy home/project/.cassidy/tools
            local Mimir home/project/.mimir/tools
            user Cycod home/.cycod/tools
            user Cassidy home/.cassidy/tools
            user Mimir home/.mimir/tools
            global Cycod global/tools
        "#]],
    );
    place.directory("home/project/deep/.cycod");
    assert_eq!(place.scopes().workspace(), place.path("home/project/deep"));
}

#[test]
fn the_search_ends_at_the_root_of_a_repository() {
    for marker in [".git", ".hg", ".jj", ".svn"] {
        let mut place = Place::new();
        place.directory("home/project/.cycod").directory(&format!("home/project/inner/{marker}"));
        place.stand_in("home/project/inner/deep");
        assert_eq!(place.scopes().workspace(), place.path("home/project/inner/deep"), "{marker}");
        place.directory("home/project/inner/.cycod");
        assert_eq!(place.scopes().workspace(), place.path("home/project/inner"), "{marker}: the root itself counts");
    }
    // In a worktree and in a submodule `.git` is a file.
    let mut place = Place::new();
    place.directory("home/project/.cycod").write("home/project/inner/.git", "gitdir: elsewhere\n");
    place.stand_in("home/project/inner/deep");
    assert_eq!(place.scopes().workspace(), place.path("home/project/inner/deep"));
}

#[test]
fn a_file_called_like_the_directory_is_no_scope() {
    let mut place = Place::new();
    place.directory("home/project/.cycod").write("home/project/inner/.cycod", "a file");
    place.stand_in("home/project/inner");
    assert_eq!(place.scopes().workspace(), place.path("home/project"));
}

#[test]
fn the_users_directory_is_no_project() {
    let mut place = Place::new();
    place.directory("home/.cycod");
    place.stand_in("home/elsewhere");
    assert_eq!(place.scopes().workspace(), place.path("home/elsewhere"));
    // What lies above the home directory is not the user's.
    place.directory(".cycod");
    assert_eq!(place.scopes().workspace(), place.path("home/elsewhere"));
}

#[test]
fn in_the_home_directory_the_two_scopes_are_one() {
    let mut place = Place::new();
    place.write("home/.cycod/tools/mine.yaml", tool("mine")).directory("home/.mimir");
    place.stand_in("home");
    check(
        &place,
        expect![[r#"
            workspace home
            user Cycod home/.cycod/tools
            user Cassidy home/.cassidy/tools
            user Mimir home/.mimir/tools
            global Cycod global/tools
        "#]],
    );
    let catalog = place.open();
    assert_eq!(catalog.entries().len(), 1);
    for filter in [ScopeFilter::Any, ScopeFilter::Only(Scope::Local), ScopeFilter::Only(Scope::User)] {
        assert!(catalog.find("mine", filter).is_some(), "{filter:?}");
    }
    assert!(catalog.find("mine", ScopeFilter::Only(Scope::Global)).is_none());
    assert_eq!(place.scopes().written(Scope::Local), place.path("home/.cycod/tools"));
}

#[cfg(unix)]
#[test]
fn a_linked_home_is_still_home() {
    let mut place = Place::new();
    place.directory("home/.cycod");
    std::os::unix::fs::symlink(place.path("home"), place.path("link")).expect("a link");
    place.host.home = place.path("link");
    place.stand_in("home/elsewhere");
    assert_eq!(place.scopes().workspace(), place.path("home/elsewhere"));
    place.host.working_directory = place.path("home");
    let local = place.scopes().directories().iter().filter(|directory| directory.scope == Scope::Local).count();
    assert_eq!(local, 0, "listed once, as the user's");
}

#[test]
fn an_override_stands_in_for_the_users_directory() {
    let mut place = Place::new();
    place.directory("home/project/.cycod");
    place.stand_in("home/project/deep");
    let of_user = |host: &Host| {
        let overrides = Overrides::from_environment(&host.environment);
        let scopes = Scopes::discover(host, &overrides);
        (scopes.written(Scope::User), scopes.written(Scope::Global), scopes.workspace().to_owned())
    };
    let environment = |home: PathBuf| {
        BTreeMap::from([("CYCOD_HOME".into(), home.into()), ("CYCOD_GLOBAL_DIR".into(), "/opt/cycod".into())])
    };
    place.host.environment = environment(place.path("elsewhere")).into();
    let expected = (place.path("elsewhere/tools"), PathBuf::from("/etc/cycod/tools"), place.path("home/project"));
    assert_eq!(of_user(&place.host), expected);
    // A user directory that lies in an ancestor does not make a project of it.
    place.host.environment = environment(place.path("home/project/.cycod")).into();
    assert_eq!(of_user(&place.host).2, place.path("home/project/deep"));
    place.host.environment = [("CYCOD_HOME".into(), "".into())].into();
    assert_eq!(of_user(&place.host).0, place.path("home/.cycod/tools"));
}

#[test]
fn each_platform_has_its_global_directories() {
    let global = |platform: Platform, variable: &str| {
        let mut place = Place::new();
        place.host.platform = platform;
        place.host.environment = [(variable.into(), r"D:\Data".into())].into();
        let scopes = Scopes::discover(&place.host, &Overrides::default());
        let global = scopes.directories().iter().filter(|directory| directory.scope == Scope::Global);
        global.map(|directory| directory.path.clone()).collect::<Vec<_>>()
    };
    let unix = ["/etc/cycod/tools", "/usr/local/share/cycod/tools"].map(PathBuf::from);
    assert_eq!(global(Platform::Linux, "ProgramData"), unix);
    assert_eq!(global(Platform::Macos, "ProgramData"), unix);
    let windows = PathBuf::from(r"C:\ProgramData\cycod").join("tools");
    assert_eq!(global(Platform::Windows, "PROGRAMDATA"), [windows], "no variable moves it");
}
