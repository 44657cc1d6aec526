use crate::support::Place;

#[test]
fn every_shell_gets_a_script_with_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = place.run(&["completions", shell]);
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{shell}");
        for word in ["validate", "schema-file", "completions", "--strict"] {
            // Fish writes long options without their dashes.
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(ran.stdout().contains(word), "{shell} lacks {word}");
        }
    }
}

/// What bash would offer for a command line that ends where the cursor is.
fn offered(place: &Place, words: &[&str]) -> Vec<String> {
    let script = place.run(&["completions", "bash"]).stdout();
    place.write("completions.bash", &script);
    let list: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "source completions.bash; COMP_WORDS=(cycod {}); COMP_CWORD={}; _cycod_with_tools cycod '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        list.join(" "),
        words.len(),
        words.last().unwrap_or(&""),
        words.len().checked_sub(2).map_or("cycod", |at| words[at]),
    );
    let ran = place.shell(&ask);
    assert_eq!(ran.stderr(), "");
    let mut lines: Vec<String> = ran.stdout().lines().map(str::to_owned).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort_unstable();
    lines
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_options_and_tools() {
    let place = Place::with_tool("weather", "description: W\nbash: ls\n");
    place.tool("week", "description: W\nbash: ls\n");
    place.tool("other", "description: O\nbash: ls\n");
    assert_eq!(offered(&place, &["tool", "va"]), ["validate"]);
    assert_eq!(offered(&place, &["tool", "validate", "--st"]), ["--strict"]);
    assert_eq!(offered(&place, &["tool", "get", "we"]), ["weather", "week"]);
    assert_eq!(offered(&place, &["tool", "run", "weather", "zebra"]), Vec::<String>::new());
    assert_eq!(offered(&place, &["run", "we"]), ["weather", "week"]);
    place.write(".cycod/mcp.json", r#"{"mcpServers": {"wiki": {"command": "x"}, "files": {"command": "x"}}}"#);
    assert_eq!(offered(&place, &["mcp", "remove", "wi"]), ["wiki"]);
    assert_eq!(offered(&place, &["mcp", "unin"]), ["uninstall"]);
    assert_eq!(offered(&place, &["mcp", "install", "cod"]), ["codex"]);
}

/// Zsh asks for completions only while somebody types; that it can read the script is what can be shown here.
#[cfg(unix)]
#[test]
fn zsh_reads_the_script_and_is_sent_for_tools() {
    let place = Place::new();
    let script = place.run(&["completions", "zsh"]).stdout();
    let places = script.matches(":_cycod_tool_names'").count();
    let commands =
        "run test validate get info run test validate edit remove export schema graph why confine trust untrust enable disable info"
            .split(' ')
            .count();
    assert_eq!(places, commands, "{script}");
    assert_eq!(script.matches(":_cycod_server_names'").count(), "get remove test accept login".split(' ').count());
    place.write("_cycod", &script);
    let ran = place.shell("command -v zsh > /dev/null || exit 0; zsh -f -n _cycod");
    assert_eq!(ran.code(), 0, "{}", ran.block());
}

#[test]
fn man_pages() {
    let place = Place::new();
    let page = place.run(&["man"]).stdout();
    assert!(page.contains(".TH cycod 1"), "{page}");
    assert_eq!(place.run(&["man", "--output", "man"]).block(), "exit: 0\n--- stdout\n--- stderr\n");
    let list = place.read("man/cycod-tool-list.1");
    assert!(list.contains(".TH cycod-tool-list 1") && list.contains("\\-\\-category"), "{list}");
    assert!(place.project().join("man/cycod-explain.1").is_file());
}

#[test]
fn an_unknown_shell() {
    let ran = Place::new().run(&["completions", "fsh"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("did you mean `fish`?"), "{}", ran.block());
}
