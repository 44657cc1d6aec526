//! Reading settings takes no longer than their length allows.

use growth::Grown;
#[expect(dead_code, reason = "the other tests need all of it")]
mod support;

use cycod_catalog::Scope;
use cycod_diagnostic::{SourceFile, Style, render_text, to_json};
use cycod_settings::{Servers, config::Settings, policy::RuleFile};

use support::Place;

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|index| line(index) + "\n").collect()
}

const POLICIES: &[(&str, Grown)] = &[
    ("rules", |n| "rules:\n".to_owned() + &lines(n, |i| format!("- deny: tool{i}"))),
    ("rules of one text", |n| "rules:\n".to_owned() + &lines(n, |_| "- deny: tool".to_owned())),
    ("mistakes", |n| "rules:\n".to_owned() + &lines(n, |i| format!("- deni: tool{i}"))),
    ("wrong patterns", |n| "rules:\n".to_owned() + &lines(n, |i| format!("- deny: x{i}(A==1)"))),
    ("a long list", |n| format!("auto-approve: [{}]\n", lines(n, |i| format!("a{i},")))),
    ("a list in one text", |n| format!("auto-approve: \"{}\"\n", "read,".repeat(n))),
    ("arguments", |n| format!("auto-approve: [\"x({})\"]\n", (0..n).map(|i| format!("A{i}=1,")).collect::<String>())),
    ("stars", |n| format!("auto-approve: [\"{}\"]\n", "a*".repeat(n))),
    ("surfaces", |n| format!("rules:\n- deny: x\n  for: [{}]\n", "mcp,".repeat(n))),
    ("unknown keys", |n| lines(n, |i| format!("auto-aprove{i}: a"))),
    ("keys twice", |n| "auto-approve: a\n".repeat(n)),
    ("comments", |n| "# a\n".repeat(n)),
];

const SETTINGS: &[(&str, Grown)] = &[
    ("tools", |n| "tools:\n".to_owned() + &lines(n, |i| format!("  t{i}: {{enabled: true}}"))),
    ("patterns", |n| "tools:\n".to_owned() + &lines(n, |i| format!("  t{i}*: {{enabled: true}}"))),
    ("wrong values", |n| "tools:\n".to_owned() + &lines(n, |i| format!("  t{i}: [a]"))),
    ("unknown keys", |n| lines(n, |i| format!("tols{i}: a"))),
    ("keys twice", |n| "tools: {}\n".repeat(n)),
    ("enforced tools", |n| format!("enforcement:\n  tools: [{}]\n", lines(n, |i| format!("a{i},")))),
    ("directories of skills", |n| format!("skills:\n  directories: [{}]\n", lines(n, |i| format!("a{i},")))),
];

const SERVERS: &[(&str, Grown)] = &[
    ("servers", |n| servers(n, |i| format!("\"s{i}\": {{\"command\": \"a\"}}"))),
    ("servers of one name", |n| servers(n, |_| "\"s\": {\"command\": \"a\"}".to_owned())),
    ("arguments", |n| {
        servers(1, |_| format!("\"s\": {{\"command\": \"a\", \"args\": [{}\"b\"]}}", "\"a\",".repeat(n)))
    }),
    ("variables", |n| {
        let variables: String = (0..n).map(|i| format!("\"A{i}\": \"${{B{i}}}\",")).collect();
        servers(1, |_| format!("\"s\": {{\"command\": \"a\", \"env\": {{{variables}\"C\": \"\"}}}}"))
    }),
    ("unknown keys", |n| {
        let keys: String = (0..n).map(|i| format!("\"comand{i}\": 1,")).collect();
        servers(1, |_| format!("\"s\": {{{keys}\"command\": \"a\"}}"))
    }),
    ("nested lists", |n| "[".repeat(n)),
    ("comments", |n| "/* a */\n".repeat(n) + "{}"),
];

fn servers(count: usize, server: impl Fn(usize) -> String) -> String {
    let servers: Vec<String> = (0..count).map(server).collect();
    format!("{{\"mcpServers\": {{{}}}}}", servers.join(",\n"))
}

#[test]
fn a_policy_is_read_in_the_time_that_its_length_allows() {
    growth::check(POLICIES, |text| {
        let file = RuleFile::of(Scope::User, "policy.yaml".into(), SourceFile::new("policy.yaml", text));
        render_text(&file.report, Style::Plain);
        to_json(&file.report);
    });
}

#[test]
fn settings_are_read_in_the_time_that_their_length_allows() {
    let place = Place::new();
    growth::check(SETTINGS, |text| {
        place.write("project/.cycod/config.yaml", text);
        drop(Settings::load(&place.scopes(), &place.host()));
    });
}

#[test]
fn servers_are_read_in_the_time_that_their_length_allows() {
    let place = Place::new();
    growth::check(SERVERS, |text| {
        place.write("project/.cycod/mcp.json", text);
        drop(Servers::load(&place.scopes()));
    });
}
