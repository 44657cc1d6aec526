//! Skills that people keep, found and ranked.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value as Json, json};

use crate::support::Place;

const TOOL: &str = "cli_skills_search";

fn skill(name: &str, category: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ncategory: {category}\n---\n\n{body}\n")
}

fn place() -> Place {
    let place = Place::new();
    for (path, name, category, description, body) in [
        (
            ".claude/skills/review",
            "code-review",
            "Development",
            "Reviews changes for mistakes",
            "# Steps\n\n## Security checklist",
        ),
        (".agents/skills/scan", "security-scan", "Security", "Scans dependencies for vulnerabilities", "# Scanning"),
        (".cycod/skills/deploy", "deploy", "Operations", "Puts a release on a server; review it first", ""),
        (".github/skills/ü", "übersetzen", "Texte", "Übersetzt 日本語 ins Deutsche", ""),
    ] {
        place.file(&format!("{path}/SKILL.md"), skill(name, category, description, body));
    }
    place
}

fn names(answer: &Json) -> Vec<&str> {
    answer["results"].as_array().expect("results").iter().filter_map(|result| result["name"].as_str()).collect()
}

fn search(place: &Place, query: &str) -> Json {
    place.call(TOOL, json!({"query": query}))
}

fn at_home(place: &Place, path: &str, text: &str) -> PathBuf {
    let path = place.root().join("home").join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(&path, text).expect("written");
    path
}

#[test]
fn skills_are_ranked_by_what_they_are_about() {
    let place = place();
    let answer = search(&place, "security");
    assert_eq!(names(&answer), ["security-scan", "code-review"], "a name counts more than a heading: {answer:#}");
    assert_eq!(names(&search(&place, "review")), ["code-review", "deploy"]);
    assert_eq!(answer["total_results"], 2);
    assert_eq!(answer["searched"]["skills"], 4);
    let first = &answer["results"][0];
    assert_eq!(first["category"], "Security");
    assert_eq!(first["path"], ".agents/skills/scan/SKILL.md");
    let scores: Vec<f64> =
        answer["results"].as_array().expect("results").iter().filter_map(|one| one["match_score"].as_f64()).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)) && scores[0] > scores[1], "{scores:?}");
    assert!(search(&place, "Code Review")["results"][0]["match_score"].as_f64() > Some(0.9), "the name itself");
}

#[test]
fn beginnings_slips_and_scripts_are_understood() {
    let place = place();
    for (query, name) in [
        ("vulnerab", "security-scan"),
        ("secruity", "security-scan"),
        ("DEPLOYS", "deploy"),
        ("scanning", "security-scan"),
        ("日本", "übersetzen"),
        ("ÜBERSETZEN", "übersetzen"),
    ] {
        assert_eq!(names(&search(&place, query)).first(), Some(&name), "{query}");
    }
    assert!(names(&search(&place, "xyzzy plugh")).is_empty());
    // Without a word there is nothing to rank by.
    for query in ["", "   ", "(.*+?[{^$|\\", "🦀"] {
        let answer = search(&place, query);
        assert_eq!(names(&answer), ["code-review", "deploy", "security-scan", "übersetzen"], "{query}");
        assert_eq!(answer["results"][0]["match_score"], 0.0);
    }
    let long = "review ".repeat(1_500);
    assert_eq!(search(&place, &long), search(&place, "review"));
}

#[test]
fn a_category_is_known_or_the_nearest_is_named() {
    let place = place();
    let of = |category: &str| place.run(TOOL, json!({"query": "", "category": category}));
    let found = crate::support::answer(TOOL, &of("security"));
    assert_eq!(names(&found), ["security-scan"]);
    let failed = crate::support::answer(TOOL, &of("Securty"));
    assert_eq!(failed["success"], false);
    assert_eq!(failed["error_type"], "SearchError");
    assert!(failed["error"].as_str().is_some_and(|error| error.contains("did you mean `Security`?")), "{failed:#}");
}

#[test]
fn the_limit_cuts_and_does_not_count() {
    let place = place();
    let answer = place.call(TOOL, json!({"query": "", "limit": 2}));
    assert_eq!(names(&answer).len(), 2);
    assert_eq!(answer["total_results"], 4);
    let refused =
        place.run_with(TOOL, json!({"query": "", "limit": 101}), &[], &mut cycod_engine::Ignore, &place.control());
    assert!(refused.is_err());
}

#[test]
fn files_that_are_no_skills_are_reported() {
    let place = place();
    place.file(".claude/skills/prose/SKILL.md", "# No front matter\n");
    place.file(".claude/skills/open/SKILL.md", "---\nname: x\n");
    place.file(".claude/skills/binary/SKILL.md", [0xff, 0xfe, 0]);
    place.file(".claude/skills/bare/SKILL.md", "---\nlicense: MIT\n---\n\n# Title\n\nSays what it is for.\n");
    place.file(".claude/skills/by-area/data/load/SKILL.md", "---\nname: load\ndescription: Loads\n---\n");
    let answer = search(&place, "");
    assert_eq!(answer["broken"]["count"], 3, "{answer:#}");
    assert_eq!(answer["broken"]["first"].as_array().map(Vec::len), Some(3));
    let find = |name: &str| {
        answer["results"]
            .as_array()
            .expect("results")
            .iter()
            .find(|one| one["name"] == name)
            .expect("it is found")
            .clone()
    };
    assert_eq!(find("bare")["description"], "Says what it is for.");
    assert_eq!(find("load")["category"], "data", "where it lies says what it belongs to");
}

#[test]
fn the_places_of_hosts_are_looked_at_each_file_once() {
    let place = Place::new();
    let one = |name: &str| skill(name, "c", "d", "");
    for (path, name) in [
        (".claude/skills/a/SKILL.md", "a"),
        (".codex/skills/b/SKILL.md", "b"),
        (".config/opencode/skills/c/SKILL.md", "c"),
        (".claude/plugins/cache/market/plugin/1.0/skills/d/SKILL.md", "d"),
        (".claude/plugins/cache/market/plugin/1.0/other/e/SKILL.md", "e"),
        (".cycod/skills/f/SKILL.md", "f"),
    ] {
        at_home(&place, path, &one(name));
    }
    fs::create_dir_all(place.root().join("global/skills/g")).expect("a directory");
    fs::write(place.root().join("global/skills/g/SKILL.md"), one("g")).expect("a file");
    std::os::unix::fs::symlink(place.root().join("home/.claude/skills"), place.root().join("home/.agents"))
        .expect("a link");
    fs::create_dir_all(place.root().join("home/.gemini/skills")).expect("a directory");
    std::os::unix::fs::symlink(place.root().join("home/.claude/skills/a"), place.root().join("home/.gemini/skills/a"))
        .expect("a link");
    // A link that leads back to where it is.
    std::os::unix::fs::symlink("..", place.root().join("home/.codex/skills/loop")).expect("a link");
    let answer = search(&place, "");
    assert_eq!(
        names(&answer),
        ["a", "b", "c", "d", "f"],
        "a directory that is added for tools has no skills: {answer:#}"
    );
}

#[test]
fn every_change_shows_and_a_damaged_index_does_no_harm() {
    let place = place();
    let index = |place: &Place| -> Vec<PathBuf> {
        let directory = place.root().join("home/.cycod/cache/skills");
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let before = search(&place, "security");
    assert!(!index(&place).is_empty(), "what was read is kept");
    assert_eq!(search(&place, "security"), before);
    // Long enough for the times of the files to be believed.
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(search(&place, "security"), before);
    assert_eq!(search(&place, "security"), before, "now from the index alone");
    place.file(".claude/skills/new/SKILL.md", skill("security-new", "Security", "New", ""));
    assert_eq!(search(&place, "security")["total_results"], 3);
    place.file(".claude/skills/new/SKILL.md", skill("other", "Security", "Other", ""));
    assert_eq!(names(&search(&place, "other")), ["other"]);
    fs::remove_dir_all(place.project().join(".claude/skills/new")).expect("removed");
    assert_eq!(search(&place, "security"), before);
    for path in index(&place) {
        let whole = fs::read(&path).expect("it is there");
        for damaged in [Vec::new(), whole[..whole.len() / 2].to_vec(), vec![0xff; whole.len()], {
            let mut flipped = whole.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 1;
            flipped
        }] {
            fs::write(&path, damaged).expect("written");
            assert_eq!(search(&place, "security"), before);
        }
    }
}

#[test]
fn the_order_of_files_does_not_matter() {
    let (one, other) = (Place::new(), Place::new());
    let skills: Vec<(String, String)> = (0..40)
        .map(|number| {
            let subject = ["scan", "review", "deploy"][number % 3];
            (
                format!("s{number:02}"),
                skill(&format!("{subject}-{number:02}"), "c", &format!("Can {subject} and review"), ""),
            )
        })
        .collect();
    for (directory, text) in &skills {
        one.file(&format!(".claude/skills/{directory}/SKILL.md"), text);
    }
    for (directory, text) in skills.iter().rev() {
        other.file(&format!(".claude/skills/{directory}/SKILL.md"), text);
    }
    for query in ["review", "scan deploy", "can", "revew"] {
        assert_eq!(search(&one, query)["results"], search(&other, query)["results"], "{query}");
    }
}

#[test]
fn more_directories_are_named_by_a_setting() {
    let place = Place::new();
    let one = |name: &str| skill(name, "c", "d", "");
    place.file("tools/skills/a/SKILL.md", one("a"));
    at_home(&place, "elsewhere/b/SKILL.md", &one("b"));
    place.file(".cycod/config.yaml", "skills: {directories: [tools/skills, ~/elsewhere, ../home/elsewhere]}\n");
    assert_eq!(names(&search(&place, "")), ["a"], "a project names only directories of its own");
    at_home(&place, ".cycod/config.yaml", "skills: {directories: [~/elsewhere]}\n");
    assert_eq!(names(&search(&place, "")), ["a", "b"]);
    at_home(&place, ".cycod/config.yaml", "skills: {directories: ~/elsewhere}\n");
    let refused = place.run_with(TOOL, json!({"query": ""}), &[], &mut cycod_engine::Ignore, &place.control());
    assert!(refused.is_err_and(|why| why.contains("`directories` is a list")));
}
