//! How long a decision takes with a thousand rules, beside asking each of them in turn.

#![expect(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use cycod_definition::{Level, Privilege, Value};
use cycod_policy::{
    Argument, Held, Layer, Origin, Pattern, Places, Policy, Question, Reading, Rule, Standing, Subject, Surface,
    Verdict,
};

fn measure(name: &str, mut work: impl FnMut()) {
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(700) {
        let start = Instant::now();
        (0..100).for_each(|_| work());
        best = best.min(start.elapsed() / 100);
    }
    println!("{name:<52} {:>8.2} µs", best.as_secs_f64() * 1e6);
}

fn policy(count: usize, pattern: impl Fn(usize) -> String) -> Policy {
    let rule = |at: usize| {
        let verdict = [Verdict::Deny, Verdict::Ask, Verdict::Allow][at % 3];
        let pattern = Pattern::parse(&pattern(at)).expect("a pattern");
        Rule::new(verdict, pattern, Origin::new(Layer::User, "~/.cycod/policy.yaml:1"))
    };
    Policy::new((0..count).map(rule).collect(), Vec::new())
}

fn main() {
    let tags = ["vcs", "network", "release"].map(str::to_owned);
    let (branch, remote, depth) =
        (Value::Text("topic-17".to_owned()), Value::Text("origin".to_owned()), Value::Number("3".to_owned()));
    let argument = |name, value| Argument { name, value: Held::Value(value), reading: Reading::Words, meant: None };
    let place = Path::new("/home/ada/project");
    let question = Question {
        tool: Subject {
            name: "git-push",
            level: Level::Run,
            tags: &tags,
            source: "mcp",
            remote: Some(("github", "push_files")),
            programs: None,
            arguments: vec![argument("BRANCH", &branch), argument("REMOTE", &remote), argument("DEPTH", &depth)],
        },
        reached: Vec::new(),
        privilege: Privilege::SameAsUser,
        asks_always: false,
        asks_unless_named: &[],
        surface: Surface::Mcp,
        standing: Standing::Trusted,
        unmet: &[],
        programs: Vec::new(),
        places: Places { workspace: place, directory: place, others: &[], home: place, real: Path::to_owned },
    };
    let mixed = |at: usize| match at % 10 {
        0..=3 => format!("tool-{at}"),
        4 => format!("tool:tag-{at}"),
        5 => format!("team-{at}-*"),
        6 => format!("mcp:server-{at}/*"),
        7 => format!("mcp:github/tool_{at}"),
        8 => format!("tool:git-push(BRANCH=release-{at})"),
        _ => format!("git-push(REMOTE~^mirror{at}$)"),
    };
    let sets: [(&str, Policy); 5] = [
        ("no rules", policy(0, mixed)),
        ("1,000 rules of all kinds", policy(1000, mixed)),
        ("1,000 rules, each with one tool's name", policy(1000, |at| format!("tool-{at}"))),
        ("1,000 conditions on the tool's own argument", policy(1000, |at| format!("git-push(BRANCH=release-{at})"))),
        ("1,000 names that begin alike", policy(1000, |at| format!("git-*-{at}"))),
    ];
    for (name, policy) in &sets {
        measure(name, || drop(black_box(policy.decide(black_box(&question)))));
        measure(&format!("  one after the other: {name}"), || {
            let first = policy.rules().iter().find(|rule| {
                rule.surfaces.contains(question.surface)
                    && rule.pattern.matches(rule.verdict, &question.tool, &question.places)
            });
            black_box(first);
        });
    }
}
