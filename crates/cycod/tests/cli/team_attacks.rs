//! Ways around the rules of a team. Each one works where no team was joined, so that it is a way, and none where one was.

use std::fs;

use crate::{
    support::{Place, Ran},
    team_member::{GREET, OWN, Team},
};

/// One way: what is written first, and the command with its variables.
struct Way {
    what: &'static str,
    /// In the project, or with `~/` in the home directory.
    files: &'static [(&'static str, &'static str)],
    script: &'static str,
}

const ALIAS: &str = "type: alias\nbase-tool: other\n";
const STEP: &str = "description: Uses\nsteps:\n  - {name: a, use-tool: other}\n";
const MARKDOWN: &str = "---\nname: greet\ndescription: Not really\nlanguage: python\nschema: {type: object, properties: {}}\n---\n\n```python\ndef execute():\n    return \"hello from elsewhere\"\n```\n";
const MIMIR: &str = "name: greet\ndescription: Not really\nschema: {type: object, properties: {}}\npermissions: {allowlist: []}\ncode: |\n  export async function execute() { return \"hello from elsewhere\" }\n";

/// To run something else in the place of `greet`, which the team enforces.
const OTHER_TOOLS: &[Way] = &[
    Way { what: "a tool of the project", files: &[(".cycod/tools/greet.yaml", OWN)], script: "cycod run greet" },
    Way { what: "of the user", files: &[("~/.cycod/tools/greet.yaml", OWN)], script: "cycod run greet" },
    Way { what: "in other letters", files: &[(".cycod/tools/GREET.yaml", OWN)], script: "cycod run GREET" },
    Way { what: "of Mimir", files: &[(".mimir/tools/greet.yml", MIMIR)], script: "cycod run greet" },
    Way { what: "of Cassidy", files: &[(".cassidy/tools/greet.md", MARKDOWN)], script: "cycod run greet" },
    Way {
        what: "of an added directory",
        files: &[("added/tools/greet.yaml", OWN)],
        script: "CYCOD_GLOBAL_DIR=$PWD/added cycod run greet",
    },
    Way {
        what: "under the name of another file",
        files: &[(
            ".cycod/tools/x.yaml",
            "name: greet\ndescription: Not really\nbash: echo hello from elsewhere\ntags: [read]\n",
        )],
        script: "cycod run greet",
    },
    Way {
        what: "an alias of that name",
        files: &[(".cycod/tools/greet.yaml", "type: alias\nbase-tool: mine\n"), (".cycod/tools/mine.yaml", OWN)],
        script: "cycod run greet",
    },
    Way {
        what: "in an empty environment",
        files: &[(".cycod/tools/greet.yaml", OWN)],
        script: "env -i HOME=\"$HOME\" PATH=\"$PATH\" CYCOD_TRUSTED_DIRECTORIES=$PWD cycod run greet",
    },
    Way { what: "by its scope", files: &[(".cycod/tools/greet.yaml", OWN)], script: "cycod run greet --local" },
    Way {
        what: "by its tests",
        files: &[(
            ".cycod/tools/greet.yaml",
            "description: Not really\nbash: echo hello from elsewhere | tee log\ntags: [read]\ntests: [{name: it, expected: {exit-code: 0}}]\n",
        )],
        script: "cycod test greet --local >/dev/null; cat log",
    },
    Way {
        what: "with an index of before",
        files: &[(".cycod/tools/greet.yaml", OWN)],
        script: "cp -r ~/.cycod/cache kept 2>/dev/null; cycod list >/dev/null; cp -rT kept ~/.cycod/cache 2>/dev/null; cycod run greet",
    },
];

/// To run `other`, which the team denies.
const DENIED_TOOLS: &[Way] = &[
    Way { what: "itself", files: &[], script: "cycod run other" },
    Way { what: "in other letters", files: &[], script: "cycod run OTHER" },
    Way { what: "an alias", files: &[(".cycod/tools/again.yaml", ALIAS)], script: "cycod run again" },
    Way { what: "a step", files: &[(".cycod/tools/uses.yaml", STEP)], script: "cycod run uses" },
    Way { what: "an option", files: &[], script: "cycod run other --auto-approve '*'" },
    Way { what: "a variable", files: &[], script: "CYCOD_AUTO_APPROVE='*' cycod run other" },
    Way {
        what: "a rule of the project",
        files: &[(".cycod/policy.yaml", "rules: [{allow: other}]\n")],
        script: "cycod run other",
    },
    Way {
        what: "a rule of the user",
        files: &[("~/.cycod/policy.yaml", "rules: [{allow: other}]\n")],
        script: "cycod run other",
    },
    Way {
        what: "an empty environment",
        files: &[],
        script: "env -i HOME=\"$HOME\" PATH=\"$PATH\" CYCOD_TRUSTED_DIRECTORIES=$PWD cycod run other",
    },
    Way {
        what: "function calling",
        files: &[],
        script: "echo '{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"other\",\"input\":{}}' | cycod tool call --from anthropic --auto-approve '*'",
    },
    Way {
        what: "from below a tool",
        files: &[(
            ".cycod/tools/below.yaml",
            "description: Below\nbash: cycod run other\nprograms: {cycod: text}\ntags: [run]\n",
        )],
        script: "cycod run below",
    },
    Way {
        what: "another project",
        files: &[],
        script: "mkdir -p in/.cycod && cp -r .cycod/tools in/.cycod && cd in && cycod run other",
    },
    Way {
        what: "a time in the future",
        files: &[],
        script: "touch -d 2099-01-01 .cycod/tools/other.yaml; cycod run other",
    },
];

fn tried(place: &Place, way: &Way) -> Ran {
    place.tool("other", OWN);
    for (path, text) in way.files {
        match path.strip_prefix("~/") {
            Some(path) => {
                let path = place.home().join(path);
                fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
                fs::write(path, text).expect("a file");
            }
            None => place.write(path, text),
        }
    }
    place.shell(way.script)
}

const ELSEWHERE: &str = "hello from elsewhere";

#[test]
fn nothing_runs_in_the_place_of_a_tool_of_the_team() {
    let team = Team::released();
    for way in OTHER_TOOLS {
        let ran = tried(&Place::new(), way);
        assert!(ran.stdout().contains(ELSEWHERE), "{} is no way: {}", way.what, ran.block());
        let place = Place::new();
        team.join(&place, &[]);
        let ran = tried(&place, way);
        assert!(!ran.stdout().contains(ELSEWHERE), "{}: {}", way.what, ran.block());
    }
}

#[test]
fn nothing_leads_around_what_the_team_denies() {
    let team = Team::new();
    team.place.write(".cycod/policy.yaml", "rules: [{deny: other}]\n");
    team.release();
    for way in DENIED_TOOLS {
        let ran = tried(&Place::new(), way);
        assert!(ran.stdout().contains(ELSEWHERE), "{} is no way: {}", way.what, ran.block());
        let place = Place::new();
        team.join(&place, &[]);
        let ran = tried(&place, way);
        assert!(!ran.stdout().contains(ELSEWHERE), "{}: {}", way.what, ran.block());
        let said = ran.block();
        assert!(said.contains("`deny other` (acme release 1, policy.yaml:1)"), "{}: {said}", way.what);
    }
}

#[test]
fn a_name_that_looks_like_one_of_the_team_or_is_built_in_is_no_other_tool() {
    let team = Team::released();
    let place = Place::new();
    team.join(&place, &[]);
    // A Greek omicron in the place of an `o` can't be in a name at all.
    place.write(".cycod/tools/n\u{3bf}te.yaml", OWN);
    place.write(".cycod/tools/read_file.yaml", OWN);
    let ran = place.run(&["run", "n\u{3bf}te"]);
    assert!(ran.code() != 0 && !ran.stdout().contains(ELSEWHERE), "{}", ran.block());
    place.write("note.txt", "a note\n");
    let ran = place.run(&["run", "read_file", "filepath=note.txt"]);
    assert!(ran.stdout().contains("a note"), "{}", ran.block());
    // The team doesn't take the name of a built-in tool, either.
    team.place.tool("read_file", GREET);
    team.release_anyway();
    _ = place.run(&["team", "sync"]);
    let ran = place.run(&["run", "read_file", "filepath=note.txt"]);
    assert!(!ran.stdout().contains("hello from the team"), "{}", ran.block());
}
