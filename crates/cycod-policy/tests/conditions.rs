use cycod_definition::{Level, Value};
use cycod_policy::{Reading, Verdict};

use crate::support::{Tool, check, text};

/// The verdicts of a rule that denies and of one that allows, where nothing else is said about a model's write.
#[track_caller]
fn both(condition: &str, tool: &Tool, denies: bool, allows: bool) {
    let [deny, allow] = ["deny", "allow"].map(|verdict| format!("{verdict} push({condition})"));
    check(&[&deny], tool, if denies { Verdict::Deny } else { Verdict::Ask });
    check(&[&allow], tool, if allows { Verdict::Allow } else { Verdict::Ask });
}

fn push() -> Tool {
    Tool::new("push", Level::Write)
}

#[test]
fn texts() {
    let main = push().with("BRANCH", text("main"));
    for (condition, holds) in [
        ("BRANCH=main", true),
        ("branch = 'main'", true),
        ("BRANCH=\"main\"", true),
        ("BRANCH=Main", false),
        ("BRANCH!=main", false),
        ("BRANCH!=topic", true),
        ("BRANCH~ai", true),
        ("BRANCH~\"^(main|master)$\"", true),
        ("BRANCH~^a", false),
        ("BRANCH!~^a", true),
        ("BRANCH^=ma", true),
        ("BRANCH^=in", false),
        ("OTHER=main", false),
        ("OTHER!=main", false),
        ("BRANCH=main, BRANCH^=m", true),
        ("BRANCH=main, BRANCH^=x", false),
    ] {
        both(condition, &main, holds, holds);
    }
}

#[test]
fn doubts_count_against_the_call() {
    let check = |value: &str, condition: &str, denies, allows| {
        both(condition, &push().with("BRANCH", text(value)), denies, allows);
    };
    // The shell takes the quotes and blanks away.
    for spelling in ["\"main\"", "ma'in'", "m\\ain", " main ", "main\n", "\"main\" --force", "origin main"] {
        check(spelling, "BRANCH=main", true, false);
        check(spelling, "BRANCH!=main", true, false);
    }
    // It may become any name that there is.
    check("m*n", "BRANCH=main", true, false);
    check("[m]ain", "BRANCH=main", true, false);
    check("x*", "BRANCH=main", false, false);
    check("m*", "BRANCH~^main$", true, false);
    check("topic", "BRANCH=main", false, false);
    check("topic", "BRANCH!=main", true, true);
    check("", "BRANCH!=main", true, false);
    // An absent value is what the command makes of it.
    both("BRANCH!=main", &push().without("BRANCH"), true, false);
    both("BRANCH=main", &push().without("BRANCH"), false, false);
    // A value that arrives as it is has no other spellings; a program may be anything.
    both("BRANCH=main", &push().read_as("BRANCH", text("'main'"), Reading::Literal), false, false);
    both("BRANCH=main", &push().read_as("BRANCH", text("m$(echo a)in"), Reading::Code), true, false);
    both("BRANCH~^main$", &push().read_as("BRANCH", text("main"), Reading::Code), true, true);
}

#[test]
fn several_values() {
    let list = |items: &[&str]| push().with("BRANCH", Value::List(items.iter().map(|item| text(item)).collect()));
    both("BRANCH=main", &list(&["topic", "main"]), true, false);
    both("BRANCH=main", &list(&["main", "main"]), true, true);
    both("BRANCH!=main", &list(&["topic", "main"]), true, false);
    both("BRANCH!=main", &list(&["topic"]), true, true);
    both("BRANCH=main", &list(&[]), false, false);
    let object = Value::Object(vec![("to".to_owned(), text("main"))]);
    // The keys of an object arrive as well.
    both("BRANCH=main", &push().with("BRANCH", object.clone()), true, false);
    both("BRANCH=to", &push().with("BRANCH", object.clone()), true, false);
    both("BRANCH~^[tm]", &push().with("BRANCH", object), true, true);
    let counts = Value::Object(vec![("web".to_owned(), Value::Number("3".to_owned()))]);
    both("BRANCH<5", &push().with("BRANCH", counts.clone()), true, true);
    both("BRANCH>5", &push().with("BRANCH", counts), false, false);
}

#[test]
fn numbers_and_booleans_have_no_spelling() {
    let number = |text: &str| push().with("N", Value::Number(text.to_owned()));
    for spelling in ["5", "5.0", "50e-1"] {
        both("N=5", &number(spelling), true, true);
        both("N>4.5", &number(spelling), true, true);
        both("N<=5", &number(spelling), true, true);
        both("N<5", &number(spelling), false, false);
        both("N!=5.00", &number(spelling), false, false);
    }
    both("N=9007199254740992", &number("9007199254740993"), false, false);
    // A text that is no number may be one to the command.
    both("N>4", &push().with("N", text("0x10")), true, false);
    both("N>4", &push().with("N", text("3")), false, false);
    let force = push().with("FORCE", Value::Bool(true));
    for spelling in ["true", "TRUE", "yes", "1"] {
        both(&format!("FORCE={spelling}"), &force, true, true);
        both(&format!("FORCE!={spelling}"), &force, false, false);
    }
    both("FORCE=false", &force, false, false);
}

#[test]
fn paths_are_followed() {
    let path = |value: &str| push().with("PATH", text(value));
    for (value, inside) in [
        ("x", true),
        ("/work/src/x", true),
        ("../src/./x", true),
        ("../x", false),
        ("/work/srcs", false),
        ("~/x", false),
        ("/work/src/../../etc", false),
    ] {
        both("PATH under \"src\"", &path(value), inside, inside);
        both("PATH under /work/src", &path(value), inside, inside);
        both("PATH not under src", &path(value), !inside, !inside);
    }
    // By its name it is inside, by what it leads to it is not.
    both("PATH under src", &path("out/x"), true, false);
    both("PATH under /etc", &path("out/x"), true, false);
    both("PATH under ~/x", &path("~/x/y"), true, true);
    // A pattern for files may become anything below its fixed part.
    both("PATH under src/keys", &path("*.pem"), true, false);
    both("PATH under src/keys", &path("docs/*.pem"), false, false);
    both("PATH under src", &path("docs/*.pem"), true, true);
    check(&["deny push(PATH=/home/ada/.ssh/key)"], &path("~/.ssh/key"), Verdict::Deny);
    // Two words are two paths.
    both("PATH under src", &path("a /etc/passwd"), true, false);
    both("PATH not under src", &path("a /etc/passwd"), true, false);
}
