//! A decision takes no longer than the rules and the call allow.

use growth::Grown;
#[expect(dead_code, reason = "the other tests need all of it")]
mod support;

use cycod_definition::{Level, Value};
use cycod_policy::{Layer, Origin, Pattern, Policy, Reading, Rule, Surface, Verdict};
use support::{Tool, question};

/// Rules of a policy, each in a line.
const RULES: &[(&str, Grown)] = &[
    ("names", |n| lines(n, |i| format!("deny tool{i}"))),
    ("names that begin alike", |n| lines(n, |i| format!("deny git-*-{i}"))),
    ("beginnings of other lengths", |n| lines(n.min(1500), |i| format!("deny {}*", "g".repeat(i % 250 + 1)))),
    ("rules of one name", |n| lines(n, |_| "deny git-push(A=1)".to_owned())),
    ("rules that allow", |n| lines(n, |i| format!("allow git-push(A={i})"))),
    ("paths", |n| lines(n, |i| format!("deny git-push(A=/work/{i}/**)"))),
    ("expressions", |n| lines(n, |i| format!("deny git-push(A~^b{i}$)"))),
    ("levels", |n| lines(n, |_| "ask run(A=b)".to_owned())),
    ("tags", |n| lines(n, |i| format!("deny tool:tag{i}"))),
    ("tools of servers", |n| lines(n, |i| format!("deny mcp:server{i}/*"))),
    ("conditions of a rule", |n| format!("deny git-push({}A=1)", (0..n).map(|_| "A=a, ").collect::<String>())),
    ("a name", |n| format!("deny {}", "a".repeat(n))),
    ("stars", |n| format!("deny {}x", "g*".repeat(n))),
    ("an expression", |n| format!("deny git-push(A~{})", "(a|b)*".repeat(n))),
    ("nested parentheses", |n| format!("deny git-push(A~{}a{})", "(".repeat(n), ")".repeat(n))),
    ("parts of a path", |n| format!("deny git-push(A={})", "a/**/".repeat(n))),
];

/// Values of an argument.
const VALUES: &[(&str, Grown)] = &[
    ("a text", |n| "a".repeat(n)),
    ("words", |n| "a b ".repeat(n)),
    ("options", |n| "--a=b ".repeat(n)),
    ("a path", |n| "/a".repeat(n)),
    ("a path that goes back", |n| "a/../".repeat(n)),
    ("dots", |n| "../".repeat(n)),
    ("quotes", |n| "'\"".repeat(n)),
    ("backslashes", |n| "\\".repeat(n)),
    ("substitutions", |n| "$(a ".repeat(n)),
    ("lines", |n| "a\n".repeat(n)),
    ("commas", |n| "a,b=".repeat(n)),
];

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|index| line(index) + "\n").collect()
}

fn tool(value: Value, reading: Reading) -> Tool {
    Tool::new("git-push", Level::Run).tagged("vcs").read_as("A", value, reading)
}

fn rule(line: &str) -> Option<Rule> {
    let (verdict, pattern) = line.split_once(' ')?;
    let (_, verdict) = Verdict::NAMES.iter().find(|(name, _)| *name == verdict)?;
    Some(Rule::new(*verdict, Pattern::parse(pattern).ok()?, Origin::new(Layer::User, "here")))
}

#[test]
fn a_decision_takes_the_time_that_the_rules_allow() {
    let tool = tool(Value::Text("b0".to_owned()), Reading::Words);
    growth::check(RULES, |rules| {
        let policy = Policy::new(rules.lines().filter_map(rule).collect(), Vec::new());
        let question = question(&tool, Surface::Mcp);
        policy.decide(&question);
        policy.explain(&question);
    });
}

#[test]
fn a_decision_takes_the_time_that_the_call_allows() {
    let rules =
        ["deny git-push(A=x)", "deny git-push(A~^(a|b)*c$)", "deny git-push(A=/a/**/c)", "ask git-push(A=a*b*c)"];
    let policy = Policy::new(rules.into_iter().filter_map(rule).collect(), Vec::new());
    assert!(!policy.rules().is_empty());
    growth::check(VALUES, |text| {
        let values =
            [Value::Text(text.to_owned()), Value::List(text.split(' ').map(|one| Value::Text(one.into())).collect())];
        for value in values {
            for reading in [Reading::Words, Reading::Code] {
                policy.decide(&question(&tool(value.clone(), reading), Surface::Mcp));
            }
        }
    });
}
