//! What a client is offered by the subject of its token.

use std::{fs, path::Path};

use serde_json::{Value as Json, json};

use crate::{
    bed::{Bed, PATIENCE, head_of, http, initialize, modern_ask, until},
    owners::Place,
};

const PROFILES: &str = "profiles:
  all: {subjects: [ann]}
  some: {subjects: [bob, \"ci-*\"], tools: [hello]}
  others: {subjects: [\"ci-x*\"], tools: [flood]}
  narrow: {clients: [narrow], tools: [flood]}
";

fn configure(home: &Path, profiles: &str) {
    fs::write(home.join(".cycod/config.yaml"), profiles).unwrap();
    let skill = home.join(".cycod/skills/greeting");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: greeting\ndescription: Greet\n---\nSay hello.\n").unwrap();
}

fn place() -> Place {
    Place::with(|options| {
        let home = options.host.home.clone();
        configure(&home, PROFILES);
        let project = home.join("project");
        fs::create_dir(&project).unwrap();
        options.host.working_directory.clone_from(&project);
        options.host.workspace = project;
    })
}

/// The tools of ours that an answer lists.
fn listed(answer: &Json) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| ["asks", "flood", "hello", "slow", "stubborn", "tasked"].contains(name)).collect()
}

const ALL: [&str; 6] = ["asks", "flood", "hello", "slow", "stubborn", "tasked"];

#[test]
fn a_token_is_offered_what_the_profiles_of_its_subject_offer() {
    let place = place();
    let tools = |who: &str| {
        let answer = place.ask(who, "tools/list", &json!({}));
        let names: Vec<String> = listed(&answer["said"]).into_iter().map(str::to_owned).collect();
        // In a session it is the same, and so is what can be called.
        let id = place.session(who);
        let in_session = in_session(&place, &place.bearer(who), &id, &json!({"method": "tools/list"}));
        assert_eq!(listed(&in_session), names, "{who}");
        for tool in ["hello", "flood"] {
            let called = place.call(who, tool, &json!({}));
            assert_eq!(called["said"]["error"].is_null(), names.iter().any(|name| name == tool), "{who}: {called}");
        }
        names
    };
    assert_eq!(tools("ann"), ALL);
    assert_eq!(tools("bob"), ["hello"]);
    assert_eq!(tools("ci-1"), ["hello"]);
    // Of two patterns, the one with more letters counts.
    assert_eq!(tools("ci-x1"), ["flood"]);
    for other in ["carol", "Ann", "ann ", "ann\u{0}", "*", "ci-", "xann", "bob@else"] {
        let expected: &[&str] = if other == "ci-" { &["hello"] } else { &[] };
        assert_eq!(tools(other), expected, "{other:?}");
    }
}

#[test]
fn a_token_that_no_profile_names_is_offered_nothing_else_either() {
    let place = place();
    let all = |who: &str| {
        let length = |method: &str, list: &str| {
            let answer = place.ask(who, method, &json!({}));
            answer["said"]["result"][list].as_array().unwrap_or_else(|| panic!("{answer}")).len()
        };
        (length("skills/list", "skills"), length("prompts/list", "prompts"), length("resources/list", "resources"))
    };
    assert_eq!(all("ann").0, 1);
    assert_eq!(all("carol"), (0, 0, 0));
    let skill = json!({"uri": "skill://greeting/SKILL.md"});
    assert!(place.ask("ann", "resources/read", &skill)["said"]["error"].is_null());
    assert!(!place.ask("carol", "resources/read", &skill)["said"]["error"].is_null());
    let told = place.ask("carol", "server/discover", &json!({}));
    let told = told["said"]["result"]["instructions"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
    assert!(told.contains("offers 0 tools"), "{told}");
}

/// What a request of a session answers.
fn in_session(place: &Place, bearer: &str, id: &str, message: &Json) -> Json {
    let mut message = message.clone();
    message["jsonrpc"] = json!("2.0");
    message["id"] = json!(7);
    place.bed.post(&[("Authorization", bearer), ("Mcp-Session-Id", id)], &message).message()
}

#[test]
fn only_a_subject_is_one() {
    let place = place();
    let of = |claims: Json| {
        let bearer = place.bearer_of(&claims);
        let mut headers = head_of("tools/list", "").to_vec();
        headers.push(("Authorization", &bearer));
        let response = place.bed.post(&headers, &modern_ask("tools/list", &json!({})));
        (response.status, response.message())
    };
    // A client that is called as a subject is not that subject.
    let (status, answer) = of(json!({"sub": null, "client_id": "ann"}));
    assert_eq!((status, listed(&answer)), (200, vec![]));
    assert_eq!(of(json!({"sub": "", "client_id": null})).0, 401);
    let (_, answer) = of(json!({"sub": "ann", "client_id": "carol"}));
    assert_eq!(listed(&answer), ALL);

    // Without tokens of subjects, profiles that name some are nobody's, and the others hold.
    let bed = Bed::equipped(http(), |options| configure(&options.host.home, PROFILES));
    let tools = |bed: &Bed| {
        let answer = bed.post(&head_of("tools/list", ""), &modern_ask("tools/list", &json!({}))).message();
        listed(&answer).len()
    };
    assert_eq!(tools(&bed), 2);
    // A profile that names some by now is not what the server was started with.
    let bed = Bed::equipped(http(), |options| {
        configure(&options.host.home, PROFILES);
        options.profile = Some("all".to_owned());
    });
    assert_eq!(tools(&bed), 0);
}

#[test]
fn a_session_stays_what_it_was_given() {
    let place = place();
    let (ann, carol) = (place.bearer("ann"), place.bearer("carol"));
    let mut handshake = initialize();
    handshake["params"]["clientInfo"]["name"] = json!("narrow");
    let id = place.bed.post(&[("Authorization", &ann)], &handshake).header("mcp-session-id").unwrap().to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(place.bed.post(&[("Authorization", &ann), ("Mcp-Session-Id", &id)], &initialized).status, 202);
    let list = json!({"method": "tools/list", "params": {}});
    assert_eq!(listed(&in_session(&place, &ann, &id, &list)), ["flood"]);
    // Another name, in a request or by another handshake, is none of this session.
    let renamed = json!({"method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/clientInfo": {"name": "wide", "version": "1"},
    }}});
    assert_eq!(listed(&in_session(&place, &ann, &id, &renamed)), ["flood"]);
    place.bed.post(&[("Authorization", &ann), ("Mcp-Session-Id", &id)], &initialize());
    assert_eq!(listed(&in_session(&place, &ann, &id, &list)), ["flood"]);
    // A token of somebody else is not taken in it, and one of the same subject is.
    assert_eq!(in_session(&place, &carol, &id, &list)["error"]["message"], "there is no such session");
    let again = place.bearer_of(&json!({"sub": "ann", "jti": "another"}));
    assert_eq!(listed(&in_session(&place, &again, &id, &list)), ["flood"]);
    let client = place.bearer_of(&json!({"sub": null, "client_id": "ann"}));
    assert_eq!(in_session(&place, &client, &id, &list)["error"]["message"], "there is no such session");

    // The user changes what it gets, at once.
    let tools = |who: &str| listed(&place.ask(who, "tools/list", &json!({}))["said"]).len();
    assert_eq!((tools("ann"), tools("bob")), (6, 1));
    configure(place.bed.home(), "profiles:\n  all: {subjects: [ann], tools: [hello]}\n");
    until(PATIENCE, "the change counts", || (tools("ann"), tools("bob")) == (1, 0));
    assert_eq!(listed(&in_session(&place, &ann, &id, &list)), ["hello"]);
}
