use expect_test::expect;
use serde_json::json;

use crate::support::Place;

fn project() -> Place {
    let place = Place::new();
    place.file("README.md", format!("# Weather\n\nTells the weather.\n{}", "More.\n".repeat(100)));
    place.file("AGENTS.md", "Be brief.\n");
    place.file(".gitignore", "target\n");
    place.file("target/x.o", "");
    place.file("src/main.rs", "");
    place.file("src/deep/er/and/er/far.rs", "");
    place.file("web/index.ts", "");
    place
}

#[test]
fn a_project_is_described() {
    let place = project();
    place.check(
        "get_context",
        json!({"level": "minimal"}),
        &expect![[r#"
            # project

            Directory: ROOT/project
            Files: 5 (Markdown 2, Rust 2, TypeScript 1)
            Git: not a repository

            ## Files

            AGENTS.md
            README.md
            src/ (2 files)
            web/ (1 file)
        "#]],
    );
    let said = place.said("get_context", json!({}));
    expect![[r#"
        # project

        Directory: ROOT/project
        Files: 5 (Markdown 2, Rust 2, TypeScript 1)
        Git: not a repository

        ## Files

        AGENTS.md
        README.md
        src/ (2 files)
          deep/ (1 file)
            er/ (1 file)
          main.rs
        web/ (1 file)
          index.ts

        ## AGENTS.md

        Be brief.

        ## README.md

        # Weather

        Tells the weather.
        …
        More.
        More.
        More.
        More.
        More.
        More.
        More.
        … read the file for more
    "#]]
    .assert_eq(&said.replace(&"More.\n".repeat(50), "…\n"));
}

#[test]
fn its_history_is_told() {
    let place = project();
    let script = "git init -q -b main; git -c user.name=a -c user.email=b commit -q --allow-empty -m 'First one'";
    assert!(place.call("bash_execution", json!({"command": script})).success);
    let said = place.said("get_context", json!({"level": "minimal"}));
    assert!(said.contains("\nGit: main, 5 changed files\n  "), "{said}");
    assert!(said.contains(" First one\n\n## Files"), "{said}");
}

#[test]
fn a_large_project_is_told_in_short() {
    let place = Place::new();
    for directory in 0..50 {
        for file in 0..40 {
            place.file(&format!("d{directory:02}/f{file:02}.py"), "");
        }
    }
    let said = place.said("get_context", json!({"level": "comprehensive"}));
    assert!(said.contains("Files: 2000 (Python 2000)"), "{said}");
    assert!(said.contains("d49/ (40 files)"), "every directory is named before the files in them: {said}");
    assert!(said.contains("… 1650 more"), "{said}");
}
