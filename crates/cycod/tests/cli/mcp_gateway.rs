//! What other servers offer besides tools, through `cycod mcp serve`, as a client on the wire meets it.

use serde_json::{Value, json};

use crate::{
    mcp_client::{cycod, with_server},
    serve::Client,
    support::{Place, until},
};

/// A user who has two servers that offer the same kinds of things, and one address that both claim.
fn with_servers() -> Place {
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../cycod-mcp-client/tests/servers/offers.py");
    let state = format!("state={}", place.home().join("state").display());
    let entry = |name: &str| json!({"command": "python3", "args": ["-u", script, name, state], "levels": {"*": "read"}, "env": {"API_KEY": "hunter-2222"}});
    let servers = json!({ "mcpServers": { "one": entry("one"), "two": entry("two") } });
    std::fs::create_dir_all(place.home().join(".cycod")).unwrap();
    std::fs::write(place.home().join(".cycod/mcp.json"), servers.to_string()).unwrap();
    for server in ["one", "two"] {
        cycod(&place, 0, &["mcp", "test", server]);
    }
    place
}

fn changes(place: &Place, what: &str) {
    std::fs::write(place.home().join("state"), what).unwrap();
}

fn both(place: &Place, check: impl Fn(&mut Client)) {
    check(&mut Client::legacy(place, &[], json!({})));
    check(&mut Client::modern(place, &[], json!({})));
}

fn by<'l>(list: &'l Value, key: &str, value: &str) -> &'l Value {
    let found = list.as_array().expect("a list").iter().find(|one| one[key] == value);
    found.unwrap_or_else(|| panic!("no {value} in {list}"))
}

fn read(client: &mut Client, uri: &str) -> Value {
    let mut answer = client.ask("resources/read", json!({ "uri": uri }));
    assert!(answer.get("error").is_none(), "{uri}: {answer}");
    answer["result"]["contents"][0].take()
}

#[test]
fn prompts_pass_by_names_of_their_servers() {
    both(&with_servers(), |client| {
        let prompts = client.ask("prompts/list", json!({}))["result"]["prompts"].take();
        assert_eq!(prompts.as_array().map(Vec::len), Some(2), "{prompts}");
        by(&prompts, "name", "mcp_two_review");
        let review = by(&prompts, "name", "mcp_one_review");
        assert_eq!((&review["title"], &review["description"]), (&json!("Review"), &json!("Reviews code\\u{e0041}")));
        assert_eq!(review["arguments"][0]["required"], true);
        assert_eq!(review["icons"], json!([{"src": "https://example.com/review.png"}]));
        assert_eq!(review["_meta"], json!({"example.com/kind": "review\\u{e0041}"}));
        let got = client.ask("prompts/get", json!({"name": "mcp_one_review", "arguments": {"code": "fn"}}));
        let messages = &got["result"]["messages"];
        assert_eq!(messages[0]["content"]["text"], "Review for one: fn\\u{e0041}", "{got}");
        assert_eq!(messages[1]["role"], "assistant");
        // A client without handshakes needs what a server with them leaves out.
        assert!(got["result"]["resultType"] == "complete" || !client.is_modern, "{got}");
        let link = messages[2]["content"]["uri"].as_str().expect("a link");
        assert_eq!(read(client, link)["text"], "read one://linked");
        let unknown = client.ask("prompts/get", json!({"name": "mcp_one_nothing"}));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    });
}

#[test]
fn resources_keep_their_addresses_and_two_servers_cannot_share_one() {
    both(&with_servers(), |client| {
        let resources = client.ask("resources/list", json!({}))["result"]["resources"].take();
        let notes = by(&resources, "uri", "one://notes");
        assert_eq!((&notes["description"], &notes["size"]), (&json!("About one"), &json!(5)));
        assert!(!resources.to_string().contains("bad"), "{resources}");
        let content = read(client, "one://notes");
        assert_eq!(content["text"], "notes of one\\u{e0041}, ****");
        assert_eq!((&content["uri"], &content["_meta"]), (&json!("one://notes"), &json!({"revision": 7})));
        assert_eq!(read(client, "one://picture")["blob"], "iVBORw0KGgo=");
        for server in ["one", "two"] {
            let address = format!("cycod://servers/{server}/shared://status");
            by(&resources, "uri", &address);
            let content = read(client, &address);
            assert_eq!(
                (&content["uri"], &content["text"]),
                (&json!(address), &json!(format!("{{\"server\": \"{server}\"}}")))
            );
        }
        for unreadable in ["shared://status", "three://x", "cycod://servers/three/x:y", "one://nothing"] {
            let answer = client.ask("resources/read", json!({ "uri": unreadable }));
            assert!(answer["error"]["message"].is_string(), "{unreadable}: {answer}");
        }
        let templates = client.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"].take();
        by(&templates, "uriTemplate", "one://rows/{color}");
        assert_eq!(read(client, "two://rows/blue")["text"], "read two://rows/blue");
    });
}

#[test]
fn a_resource_keeps_to_the_budget_and_all_of_it_can_be_read() {
    both(&with_servers(), |client| {
        let text = read(client, "one://long")["text"].as_str().expect("a text").to_owned();
        assert!(text.len() < 40_000 && text.starts_with("line 0\n"), "{} bytes", text.len());
        let whole = text.rsplit_once("cycod://runs/").expect("the address of all of it").1.trim_end_matches(']');
        let part = read(client, &format!("cycod://runs/{whole}?line=50001&count=1"));
        assert!(part["text"].as_str().is_some_and(|text| text.starts_with("line 50000")), "{part}");
        // A page for a host is not text for a model.
        assert_eq!(read(client, "ui://one/form")["text"].as_str().map(str::len), Some(200_013));
    });
}

#[test]
fn answers_keep_their_links_pictures_and_metadata() {
    both(&with_servers(), |client| {
        let tools = client.ask("tools/list", json!({}))["result"]["tools"].take();
        let tool = by(&tools, "name", "mcp_one_link");
        assert_eq!(tool["_meta"]["ui"]["resourceUri"], "ui://one/form");
        assert_eq!(tool["icons"][0]["src"], "data:image/png;base64,AA==");
        let result = client.call("mcp_one_link", json!({}));
        assert_eq!(result["_meta"], json!({"example.com/answer": "yes\\u{e0041}"}), "{result}");
        assert_eq!(result["content"][0]["_meta"], json!({"example.com/block": 1}));
        let link = &result["content"][1];
        assert_eq!((&link["uri"], &link["size"]), (&json!("one://linked"), &json!(9)));
        assert_eq!(link["icons"][0]["src"], "https://example.com/i.png");
        assert_eq!(read(client, "one://linked")["text"], "read one://linked");
        assert_eq!(result["content"][2]["uri"], "cycod://servers/one/shared://status");
        assert_eq!(read(client, "cycod://servers/one/shared://status")["text"], "{\"server\": \"one\"}");
    });
}

#[test]
fn values_are_completed_by_their_server() {
    both(&with_servers(), |client| {
        let mut complete = |reference: Value, typed: &str| {
            let argument = json!({"name": "tone", "value": typed});
            let context = json!({"arguments": {"code": "x"}});
            let asked = json!({"ref": reference, "argument": argument, "context": context});
            client.ask("completion/complete", asked)["result"]["completion"]["values"].take()
        };
        let prompt = json!({"type": "ref/prompt", "name": "mcp_one_review"});
        assert_eq!(complete(prompt, "ca"), json!(["calm", "code"]));
        let template = json!({"type": "ref/resource", "uri": "two://rows/{color}"});
        assert_eq!(complete(template, "re"), json!(["red", "re\\u{e0041}d2", "code"]));
    });
}

#[test]
fn a_model_is_told_how_servers_want_to_be_used() {
    let place = with_servers();
    let mut client = Client::modern(&place, &[], json!({}));
    let told = client.ask("server/discover", json!({}))["result"]["instructions"].take();
    let told = told.as_str().expect("instructions");
    assert!(
        told.contains("The server `one` says about what begins with `mcp_one_`:\n> Use one with care.\\u{e0041}"),
        "{told}"
    );
}

#[test]
fn a_change_reaches_who_asked_for_it() {
    let place = with_servers();
    let mut client = Client::legacy(&place, &["--auto-approve", "*"], json!({}));
    for uri in ["one://notes", "one://nothing"] {
        assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    }
    changes(&place, "new");
    client.call("mcp_one_change", json!({}));
    let told = client.wait(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "one://notes");
    client.wait(|message| message["method"] == "notifications/resources/list_changed");
    client.ask("resources/unsubscribe", json!({"uri": "one://notes"}));

    let mut client = Client::modern(&place, &["--auto-approve", "*"], json!({}));
    let filter = json!({"resourceSubscriptions": ["two://notes"]});
    client.begin("subscriptions/listen", json!({ "notifications": filter }));
    client.wait(|message| message["method"] == "notifications/subscriptions/acknowledged");
    until("the server was asked", || {
        client.call("mcp_two_change", json!({}));
        client.has(|message| message["method"] == "notifications/resources/updated")
    });
}

#[test]
fn what_changes_after_it_was_accepted_waits_until_it_is_accepted_again() {
    let place = with_servers();
    let list = |client: &mut Client, what: &str| client.ask(&format!("{what}/list"), json!({}))["result"][what].take();
    changes(&place, "prompt");
    {
        let mut client = Client::legacy(&place, &[], json!({}));
        let refused = client.ask("prompts/get", json!({"name": "mcp_one_review", "arguments": {"code": "x"}}));
        assert_eq!(refused["error"]["data"]["code"], "definition-changed", "{refused}");
        assert!(!refused.to_string().contains("send your keys"), "{refused}");
        assert!(
            refused["error"]["data"]["try"]
                .as_str()
                .is_some_and(|attempt| attempt == "cycod mcp accept one prompt:review"),
            "{refused}"
        );
        until("it is listed no more", || !list(&mut client, "prompts").to_string().contains("mcp_one_review"));
        let refused = client.ask("prompts/get", json!({"name": "mcp_one_review", "arguments": {"code": "x"}}));
        assert_eq!(refused["error"]["data"]["code"], "definition-changed", "{refused}");
    }
    let (_, err) = cycod(&place, 0, &["mcp", "test", "one"]);
    assert!(err.contains("prompt:review waits to be accepted"), "{err}");
    let (out, err) = cycod(&place, 0, &["mcp", "accept", "one", "prompt:review"]);
    assert!(out.contains("prompt:review: blocked: definition changed") && out.contains("send your keys"), "{out}");
    assert!(err.contains("Accepted 1 other definition of the server `one`"), "{err}");
    let mut client = Client::legacy(&place, &[], json!({}));
    assert!(list(&mut client, "prompts").to_string().contains("mcp_one_review"));
    drop(client);

    changes(&place, "new");
    cycod(&place, 0, &["mcp", "test", "two"]);
    both(&place, |client| {
        assert!(!list(client, "prompts").to_string().contains("newcomer"));
        // A resource that came later is there, without the words of its server.
        let resources = list(client, "resources");
        let later = by(&resources, "uri", "two://later");
        assert_eq!((&later["name"], later.get("title"), later.get("description")), (&json!("later"), None, None));
        assert_eq!(read(client, "two://later")["text"], "read two://later");
    });
}

#[test]
fn a_tool_that_changed_is_refused_so_until_it_is_accepted_and_works_at_once_after_that() {
    let state = Place::new();
    let state = state.home().join("state");
    let place = with_server(&["plain", "legacy", &format!("state={}", state.display())]);
    cycod(&place, 0, &["mcp", "test", "test"]);
    let mut client = Client::legacy(&place, &["--auto-approve", "*"], json!({}));
    let hello = |client: &mut Client| client.call("mcp_test_hello", json!({}));
    assert_eq!(hello(&mut client)["content"][0]["text"], "hello you");
    std::fs::write(&state, "description").unwrap();
    // What another process learns of the server reaches the list, from which the tool is then missing.
    cycod(&place, 0, &["mcp", "test", "test"]);
    until("it is listed no more", || {
        !client.ask("tools/list", json!({}))["result"].to_string().contains("mcp_test_hello")
    });
    let refused = hello(&mut client).to_string();
    assert!(refused.contains("definition-changed") && refused.contains("its description changed"), "{refused}");
    assert!(!refused.contains("IMPORTANT"), "{refused}");
    cycod(&place, 0, &["mcp", "accept", "test", "hello"]);
    assert_eq!(hello(&mut client)["content"][0]["text"], "hello you");
}

#[test]
fn what_is_offered_of_servers_is_selected_with_their_tools() {
    let place = with_servers();
    let offered = |arguments: &[&str]| {
        let mut client = Client::modern(&place, arguments, json!({}));
        ["prompts", "resources"].map(|what| {
            let list = client.ask(&format!("{what}/list"), json!({}))["result"][what].take();
            list.as_array().map_or(0, Vec::len)
        })
    };
    assert_eq!(offered(&[]), [2, 10]);
    assert_eq!(offered(&["--level", "read"]), [2, 10]);
    assert_eq!(offered(&["--group", "mcp/two"]), [1, 5]);
    assert_eq!(offered(&["--tools", "mcp_one_review"]), [1, 0]);
    assert_eq!(offered(&["--tag", "git"]), [0, 0]);
}

/// The text of a call's answer, in which the client answered one question with `answer`.
fn asked(client: &mut Client, tool: &str, method: &str, answer: &Value) -> (Value, Value) {
    let id = client.begin("tools/call", json!({"name": tool, "arguments": {}}));
    let question = client.wait(|message| message["method"] == method);
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let result = client.answer(id)["result"].take();
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    (question, serde_json::from_str(text).expect("JSON"))
}

#[test]
fn a_server_asks_the_user_of_the_client_that_calls() {
    let place = with_servers();
    let mut client = Client::legacy(&place, &[], json!({"elicitation": {}}));
    let yes = json!({"action": "accept", "content": {"ok": true}});
    let (question, answer) = asked(&mut client, "mcp_one_ask", "elicitation/create", &yes);
    assert_eq!(question["params"]["message"], "The server `one` asks:\nSure?");
    assert_eq!(answer, yes);
    drop(client);
    // A client that cannot be asked has not agreed.
    let mut client = Client::legacy(&place, &[], json!({}));
    let result = client.call("mcp_one_ask", json!({}));
    assert!(result.to_string().contains("decline"), "{result}");
}

#[test]
fn a_server_asks_a_model_where_its_entry_allows_it() {
    let place = with_servers();
    let path = place.home().join(".cycod/mcp.json");
    let mut servers: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    servers["mcpServers"]["one"]["sampling"] = json!(true);
    std::fs::write(&path, servers.to_string()).unwrap();
    let mut client = Client::legacy(&place, &[], json!({"sampling": {}}));
    let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Thought"}});
    let (question, answer) = asked(&mut client, "mcp_one_think", "sampling/createMessage", &said);
    assert_eq!(question["params"]["messages"][0]["content"]["text"], "Think");
    assert_eq!(answer["content"]["text"], "Thought");
    let refused = client.call("mcp_two_think", json!({}));
    assert!(refused.to_string().contains("so it may not ask a model"), "{refused}");
    drop(client);
    let mut client = Client::legacy(&place, &[], json!({}));
    let refused = client.call("mcp_one_think", json!({}));
    assert!(refused.to_string().contains("cannot ask a model"), "{refused}");
}

/// The code of an error, with what it says.
fn refused(answer: &Value) -> (String, String) {
    let data = &answer["error"]["data"];
    (data["code"].as_str().unwrap_or_default().to_owned(), answer.to_string())
}

fn complete(client: &mut Client, server: &str) -> Value {
    let reference = json!({"type": "ref/prompt", "name": format!("mcp_{server}_review")});
    client.ask("completion/complete", json!({"ref": reference, "argument": {"name": "tone", "value": "c"}}))
}

#[test]
fn rules_hold_for_resources_and_prompts_as_they_do_for_tools() {
    let place = with_servers();
    let rules = "rules:\n  - deny: 'mcp:one/resource:one://notes'\n    why: they are private\n  - deny: 'mcp:one/prompt:*'\n  \
                 - deny: 'mcp:two/resource:*(uri!~\"^two://\")'\n  - ask: 'mcp:two/prompt:review'\n";
    std::fs::write(place.home().join(".cycod/policy.yaml"), rules).unwrap();
    both(&place, |client| {
        for uri in ["one://notes", "cycod://servers/one/one://notes"] {
            let (code, said) = refused(&client.ask("resources/read", json!({ "uri": uri })));
            assert!(code == "denied-by-policy" && said.contains("they are private"), "{said}");
        }
        assert_eq!(read(client, "one://rows/blue")["text"], "read one://rows/blue");
        // A condition is about the address.
        assert_eq!(read(client, "two://rows/blue")["text"], "read two://rows/blue");
        let answer = client.ask("resources/read", json!({"uri": "cycod://servers/two/shared://status"}));
        assert_eq!(refused(&answer).0, "denied-by-policy", "{answer}");
        let review = |server: &str| json!({"name": format!("mcp_{server}_review"), "arguments": {"code": "x"}});
        assert_eq!(refused(&client.ask("prompts/get", review("one"))).0, "denied-by-policy");
        assert_eq!(refused(&complete(client, "one")).0, "denied-by-policy");
        // This client cannot ask its user, and nobody is asked about each letter that is typed.
        assert_eq!(refused(&client.ask("prompts/get", review("two"))).0, "not-approved");
        assert_ne!(refused(&complete(client, "two")).0, "");
    });
    let mut client = Client::legacy(&place, &[], json!({}));
    let (code, said) = refused(&client.ask("resources/subscribe", json!({"uri": "one://notes"})));
    assert_eq!(code, "denied-by-policy", "{said}");
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "two://notes"}))["result"], json!({}));

    std::fs::write(place.home().join(".cycod/policy.yaml"), "allow-only:\n  servers: [two]\n").unwrap();
    both(&place, |client| {
        let answer = client.ask("resources/read", json!({"uri": "one://rows/blue"}));
        assert_eq!(refused(&answer).0, "denied-by-policy", "{answer}");
        assert_eq!(read(client, "two://rows/blue")["text"], "read two://rows/blue");
    });
}

#[test]
fn the_user_is_asked_about_a_resource_where_a_rule_says_so() {
    let place = with_servers();
    std::fs::write(place.home().join(".cycod/policy.yaml"), "rules:\n  - ask: 'mcp:one/*'\n").unwrap();
    for yes in [true, false] {
        let answer = json!({"action": "accept", "content": {"approve": yes}});
        let mut client = Client::legacy(&place, &[], json!({"elicitation": {}}));
        let id = client.begin("resources/read", json!({"uri": "one://rows/blue"}));
        let question = client.wait(|message| message["method"] == "elicitation/create");
        let message = question["params"]["message"].as_str().expect("a message");
        assert!(message.contains("one/resource:one://rows/blue"), "{message}");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        assert_eq!(client.answer(id)["result"]["contents"][0]["text"] == "read one://rows/blue", yes);

        let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
        let mut params = json!({"name": "mcp_one_review", "arguments": {"code": "x"}});
        let asked = client.ask("prompts/get", params.clone());
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({"cycod/approval": answer});
        assert_eq!(client.ask("prompts/get", params).get("error").is_none(), yes);
    }
}

#[test]
fn what_is_read_of_servers_stands_in_the_history() {
    let place = with_servers();
    std::fs::write(place.home().join(".cycod/policy.yaml"), "rules:\n  - deny: 'mcp:two/*'\n").unwrap();
    let mut client = Client::modern(&place, &[], json!({}));
    let notes = read(&mut client, "one://notes")["text"].as_str().expect("a text").len();
    read(&mut client, "one://picture");
    client.ask("prompts/get", json!({"name": "mcp_one_review", "arguments": {"code": "x"}}));
    complete(&mut client, "one");
    client.ask("resources/read", json!({"uri": "two://notes"}));
    client.ask("resources/read", json!({"uri": "one://rows/gone?no"}));
    drop(client);
    let list = place.run(&["runs", "list", "--format", "json", "--limit", "0"]).stdout();
    let rows: Value = serde_json::from_str(&list).expect("JSON");
    let rows: Vec<&Value> = rows.as_array().expect("a list").iter().rev().collect();
    let told = |row: &Value| (row["tool"].clone(), row["status"].clone());
    let ok = |tool: &str| (json!(tool), json!("ok"));
    assert_eq!(told(rows[0]), ok("mcp_one_resources_read"), "{list}");
    assert_eq!(told(rows[1]), ok("mcp_one_resources_read"), "{list}");
    assert_eq!(told(rows[2]), ok("mcp_one_review"), "{list}");
    assert_eq!(told(rows[3]), ok("mcp_one_completion_complete"), "{list}");
    assert_eq!(told(rows[4]), (json!("mcp_two_resources_read"), json!("refused")), "{list}");
    assert!(!list.contains("hunter-2222"), "{list}");
    let shown = |at: usize| {
        let run = rows[at]["run"].as_str().or_else(|| rows[at]["id"].as_str()).expect("a name");
        place.run(&["runs", "show", run, "--format", "json"]).stdout()
    };
    let read = shown(0);
    assert!(read.contains("mcp: one/resource:one://notes") && read.contains("\"source\": \"mcp\""), "{read}");
    assert!(read.contains(&format!("\"bytes\": {notes}")) && !read.contains("hunter-2222"), "{read}");
    assert!(shown(1).contains("\"bytes\": 8"), "{}", shown(1));
    assert!(shown(2).contains("mcp: one/prompt:review"), "{}", shown(2));
    assert!(shown(3).contains("complete a value of one/prompt:review"), "{}", shown(3));
}
