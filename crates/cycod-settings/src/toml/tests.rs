use expect_test::expect;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{append, parse, remove, set_key};

fn entry() -> Value {
    json!({"command": "C:\\bin\\cycod.exe", "args": ["mcp", "serve"]})
}

#[test]
fn a_table_is_added_and_taken_out() {
    let text = "# mine\nmodel = \"o\"\n\n[mcp_servers.a]\ncommand = \"npx\" # it\n";
    let after = append(text, "mcp_servers", "cycod", &entry()).expect("it is TOML");
    expect![[r#"
        # mine
        model = "o"

        [mcp_servers.a]
        command = "npx" # it

        [mcp_servers.cycod]
        command = 'C:\bin\cycod.exe'
        args = ["mcp", "serve"]
    "#]]
    .assert_eq(&after);
    assert_eq!(remove(&after, "mcp_servers", "cycod"), Ok(Some(text.to_owned())));
    let made = append("", "mcp_servers", "cycod", &entry()).expect("an empty file");
    assert_eq!(remove(&made, "mcp_servers", "cycod"), Ok(None));
}

#[test]
fn what_its_user_added_goes_with_it_and_nothing_else() {
    let text = "[mcp_servers.cycod] # ours\ncommand = \"x\"\nargs = [\n  \"a\",\n]\n\n# a\n[a]\nb = 1\n\n[mcp_servers.cycod.env]\nA = \"1\"\n\n[[c]]\n";
    let after = remove(text, "mcp_servers", "cycod").expect("it is there").expect("there is more");
    assert_eq!(after, "\n# a\n[a]\nb = 1\n\n\n[[c]]\n");
}

#[test]
fn keys_are_set_where_they_are() {
    let text = "[mcp_servers.cycod] # ours\ncommand = \"/old\" # here\nenv = { A = \"1\" }\n";
    let text = set_key(text, "mcp_servers", "cycod", "command", &json!("/new")).expect("it is there");
    assert_eq!(text, "[mcp_servers.cycod] # ours\ncommand = \"/new\" # here\nenv = { A = \"1\" }\n");
    assert!(set_key(&text, "mcp_servers", "cycod", "args", &json!(["a"])).is_err());
}

#[test]
fn other_ways_of_writing() {
    let dotted = "mcp_servers.a.command = \"x\"\nmcp_servers.cycod = { command = \"y\" }\n";
    assert_eq!(remove(dotted, "mcp_servers", "cycod"), Ok(Some("mcp_servers.a.command = \"x\"\n".to_owned())));
    let inline = "mcp_servers = { cycod = { command = \"y\" } }\n";
    assert!(remove(inline, "mcp_servers", "cycod").is_err());
    assert!(append("mcp_servers = {}\n", "mcp_servers", "cycod", &entry()).is_err());
    assert!(append("a = \n", "mcp_servers", "cycod", &entry()).is_err());
    assert!(append(&format!("a = {}", "[".repeat(100_000)), "mcp_servers", "cycod", &entry()).is_err());
    let spread = "mcp_servers.cycod.command = \"x\"\nmcp_servers.cycod.args = []\n";
    assert!(remove(spread, "mcp_servers", "cycod").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Taking out what was put in restores every byte.
    #[test]
    fn remove_undoes_append(
        mark in select(vec!["", "\u{feff}"]),
        lines in vec(select(vec!["", "# é", "a = 1", "b = \"\"\"\nx\n\"\"\"", "[t]", "[mcp_servers]", "[mcp_servers.x]", "command = 'y'", "[[u]]", "c.d = { e = [1, 2] }", "[mcp_servers.x.env]"]), 0..8),
        newline in select(vec!["\n", "\r\n"]),
        ends in any::<bool>(),
    ) {
        let text = format!("{mark}{}{}", lines.join(newline), if ends { newline } else { "" });
        prop_assume!(parse(&text).is_ok());
        let after = append(&text, "mcp_servers", "cycod", &entry()).expect("it is TOML");
        let mut expected = parse(&text).expect("it is TOML").to_json();
        expected["mcp_servers"]["cycod"] = entry();
        prop_assert_eq!(parse(&after).map(|root| root.to_json()), Ok(expected));
        let before = remove(&after, "mcp_servers", "cycod").expect("it is there");
        prop_assert_eq!(before.unwrap_or_default(), text);
    }
}
