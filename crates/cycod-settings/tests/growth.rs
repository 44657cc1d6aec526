//! Reading settings takes no longer than their length allows.

use growth::Grown;
#[expect(dead_code, reason = "the other tests need all of it")]
mod support;

use cycod_catalog::Scope;
use cycod_diagnostic::{RenderStyle, SourceFile, render_text, to_json};
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
    ("lists in lists", |n| format!("rules: {}", "[".repeat(n))),
    ("mappings in mappings", |n| lines(n, |i| " ".repeat(i.min(200)) + "a:")),
    ("anchors", |n| lines(n, |i| format!("k{i}: &a{i} 1")) + &lines(n, |i| format!("l{i}: *a{i}"))),
    ("aliases that double", |n| "a0: &a0 x\n".to_owned() + &lines(n, |i| format!("a{0}: &a{0} [*a{i}, *a{i}]", i + 1))),
    ("conditions", |n| {
        format!("rules:\n- deny: x({})\n", (0..n).map(|i| format!("A{i}=1, ")).collect::<String>() + "B=1")
    }),
    ("an expression", |n| format!("rules:\n- deny: x(A~\"{}\")\n", "(a|b)*".repeat(n))),
    ("long names that are alike", |n| format!("{}: a\n{}b: a\n", "auto-approv".repeat(n), "auto-approve".repeat(n))),
];

const SETTINGS: &[(&str, Grown)] = &[
    ("tools", |n| "tools:\n".to_owned() + &lines(n, |i| format!("  t{i}: {{enabled: true}}"))),
    ("patterns", |n| "tools:\n".to_owned() + &lines(n, |i| format!("  t{i}*: {{enabled: true}}"))),
    ("wrong values", |n| "tools:\n".to_owned() + &lines(n, |i| format!("  t{i}: [a]"))),
    ("unknown keys", |n| lines(n, |i| format!("tols{i}: a"))),
    ("keys twice", |n| "tools: {}\n".repeat(n)),
    ("enforced tools", |n| format!("enforcement:\n  tools: [{}]\n", lines(n, |i| format!("a{i},")))),
    ("groups", |n| "groups:\n".to_owned() + &lines(n, |i| format!("  g{i}: {{enabled: false}}"))),
    ("models", |n| "models:\n".to_owned() + &lines(n, |i| format!("  m{i}: {{provider: openai, model: a}}"))),
    ("keys in keys", |n| lines(n.min(5000), |i| " ".repeat(i.min(200)) + "tools:")),
    ("a long name", |n| format!("tools:\n  {}: {{enabled: true}}\n", "a".repeat(n))),
    ("stars", |n| format!("tools:\n  \"{}\": {{enabled: true}}\n", "a*".repeat(n))),
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
    ("nested objects", |n| "{\"a\":".repeat(n)),
    ("headers", |n| {
        let headers: String = (0..n).map(|i| format!("\"H{i}\": \"${{B{i}}}\",")).collect();
        servers(1, |_| format!("\"s\": {{\"url\": \"https://a.example\", \"headers\": {{{headers}\"C\": \"\"}}}}"))
    }),
    ("tools", |n| {
        let tools: String = (0..n).map(|i| format!("\"t{i}\",")).collect();
        servers(1, |_| format!("\"s\": {{\"command\": \"a\", \"tools\": [{tools}\"b\"]}}"))
    }),
    ("levels", |n| {
        let levels: String = (0..n).map(|i| format!("\"t{i}\": \"read\",")).collect();
        servers(1, |_| format!("\"s\": {{\"command\": \"a\", \"levels\": {{{levels}\"b\": \"read\"}}}}"))
    }),
    ("overrides", |n| {
        let overrides: String = (0..n).map(|i| format!("\"t{i}\": {{\"fixed-arguments\": {{\"a\": {i}}}}},")).collect();
        servers(1, |_| format!("\"s\": {{\"command\": \"a\", \"overrides\": {{{overrides}\"b\": {{}}}}}}"))
    }),
    ("fixed arguments", |n| {
        let arguments: String = (0..n).map(|i| format!("\"a{i}\": {i},")).collect();
        let fixed = format!("{{{arguments}\"b\": 1}}");
        servers(1, |_| {
            format!("\"s\": {{\"command\": \"a\", \"overrides\": {{\"t\": {{\"fixed-arguments\": {fixed}}}}}}}")
        })
    }),
    ("members of one name", |n| {
        servers(1, |_| format!("\"s\": {{{}\"command\": \"a\"}}", "\"command\": \"a\",".repeat(n)))
    }),
    ("names that differ in their case", |n| {
        servers(n, |i| {
            format!(
                "\"{}\": {{\"command\": \"a\"}}",
                (0..16).map(|bit| if i >> bit & 1 == 0 { 'a' } else { 'A' }).collect::<String>()
            )
        })
    }),
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
        render_text(&file.report, RenderStyle::Plain);
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
