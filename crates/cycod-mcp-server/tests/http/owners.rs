//! Everything that a client can name belongs to the one who made it: for another it is as if it did not exist.

use std::sync::{Arc, Mutex};

use cycod_mcp_server::{Equip, HttpAccess, IssuerKeys, OAuth, ServerOptions};
use cycod_store::{History, NewRow, RowDurability, RowKind, RunId};
use serde_json::{Value as Json, json};

use crate::{
    bed::{Bed, call, head_of, http, initialize, modern_ask},
    oauth::{AUDIENCE, ISSUER, Signer, write_keys},
};

/// Tools whose calls leave something behind that can be named.
const TOOLS: [(&str, &str); 4] = [
    ("flood", "description: Says much\ntags: [read]\nrun: seq 1 30000\n"),
    ("slow", "description: Takes long\ntags: [read]\ntimeout: 120000\nbash: sleep 60\n"),
    ("tasked", "description: Runs as a task\ntags: [read]\ntask: offered\nbash: sleep 60\n"),
    ("asks", "description: Asks\ntags: [read]\nrun: echo done\nasks:\n  sure:\n    person: Really?\n"),
];

/// A server with two principals.
pub(crate) struct Place {
    pub(crate) bed: Bed,
    signer: Signer,
    history: Arc<Mutex<Option<Arc<History>>>>,
}

impl Place {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same, set up in another way.
    pub(crate) fn with(prepare: impl FnOnce(&mut ServerOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let signer = Signer::ed();
        let IssuerKeys::File(keys) = write_keys(directory.path(), &[signer.published("ed")]) else { unreachable!() };
        let mut http = http();
        http.access = HttpAccess::OAuth(OAuth {
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            keys: IssuerKeys::File(keys),
            scopes: Vec::new(),
        });
        let history: Arc<Mutex<Option<Arc<History>>>> = Arc::default();
        let place = Arc::clone(&history);
        let bed = Bed::equipped(http, |options| {
            for (name, text) in TOOLS {
                let path = options.host.home.join(".cycod/tools").join(format!("{name}.yaml"));
                std::fs::write(path, format!("name: {name}\n{text}")).unwrap();
            }
            prepare(options);
            let kept = Arc::new(History::at(&options.host.home));
            *place.lock().unwrap() = Some(Arc::clone(&kept));
            let before = options.equip.take();
            options.equip = Some(Equip(Arc::new(move |engine, account| {
                let engine = match &before {
                    Some(Equip(equip)) => equip(engine, account),
                    None => engine,
                };
                engine.history(Arc::clone(&kept))
            })));
        });
        Self { bed, signer, history }
    }

    pub(crate) fn bearer(&self, who: &str) -> String {
        self.bearer_of(&json!({"sub": who}))
    }

    /// A token that says this.
    pub(crate) fn bearer_of(&self, claims: &Json) -> String {
        format!("Bearer {}", self.signer.token("ed", claims))
    }

    /// What the server answers to a request of the era without handshakes.
    pub(crate) fn ask(&self, who: &str, method: &str, params: &Json) -> Json {
        let name = ["name", "uri", "taskId"].iter().find_map(|key| params[key].as_str()).unwrap_or_default();
        let bearer = self.bearer(who);
        let mut headers = head_of(method, name).to_vec();
        headers.push(("Authorization", &bearer));
        let response = self.bed.post(&headers, &modern_ask(method, params));
        json!({"status": response.status, "said": response.message()})
    }

    pub(crate) fn call(&self, who: &str, tool: &str, arguments: &Json) -> Json {
        self.ask(who, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// An output that is too large to hand over.
    fn output(&self, who: &str) -> String {
        let answer = self.call(who, "flood", &json!({})).to_string();
        let at = answer.find("cycod://runs/").unwrap_or_else(|| panic!("{answer}"));
        let end = answer[at..].find(|c: char| c.is_whitespace() || "\\\"".contains(c)).unwrap();
        answer[at..at + end].to_owned()
    }

    fn run(&self, who: &str) -> String {
        let answer = self.call(who, "run_start", &json!({"tool": "slow"}));
        answer["said"]["result"]["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// A run that goes on by itself, as the history knows it.
    fn background(&self, who: &str) -> String {
        // The history is opened with the first engine.
        self.call(who, "hello", &json!({}));
        let run = RunId::random().unwrap().to_string();
        let body = json!({"principal": format!("{ISSUER}#{who}"), "through": {"tool": "x", "background": true}});
        let event = NewRow { kind: RowKind::Call, run: &run, tool: "hello", surface: "mcp", status: "", body: &body };
        let history = self.history.lock().unwrap().clone().unwrap();
        history.write(&event, RowDurability::Process).unwrap();
        let body = json!({});
        let event = NewRow { kind: RowKind::End, run: &run, tool: "", surface: "", status: "ok", body: &body };
        history.write(&event, RowDurability::Process).unwrap();
        run
    }

    fn task(&self, who: &str) -> String {
        let answer = self.call(who, "tasked", &json!({}));
        answer["said"]["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn ticket(&self, who: &str) -> String {
        let answer = self.call(who, "asks", &json!({}));
        answer["said"]["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub(crate) fn session(&self, who: &str) -> String {
        let bearer = self.bearer(who);
        let response = self.bed.post(&[("Authorization", &bearer)], &initialize());
        let id = response.header("mcp-session-id").expect("a session").to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.bed.post(&[("Authorization", &bearer), ("Mcp-Session-Id", &id)], &initialized).status, 202);
        id
    }

    fn in_session(&self, who: &str, id: &str, method: &str) -> Json {
        let bearer = self.bearer(who);
        let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", id)];
        let response = match method {
            "POST" => self.bed.post(&headers, &call(1, "hello", &json!({}))),
            _ => self.bed.send(method, "/mcp", &[&headers[..], &[("Accept", "text/event-stream")]].concat(), ""),
        };
        json!({"status": response.status, "said": response.body})
    }
}

/// A kind of address: how one comes to be, and one of the ways to use it.
type Case = (&'static str, fn(&Place, &str) -> String, fn(&Place, &str, &str) -> Json);

const CASES: [Case; 16] = [
    ("read an output", Place::output, |place, who, uri| place.ask(who, "resources/read", &json!({"uri": uri}))),
    ("read a part of an output", Place::output, |place, who, uri| {
        place.ask(who, "resources/read", &json!({"uri": format!("{uri}?line=10&count=2")}))
    }),
    ("look into an output", Place::output, |place, who, uri| {
        place.call(who, "run_output", &json!({"output": uri, "line": 3}))
    }),
    ("search an output", Place::output, |place, who, uri| {
        place.call(who, "run_output", &json!({"output": uri, "search": "^77$"}))
    }),
    ("an output without its scheme", Place::output, |place, who, uri| {
        let bare = uri.trim_start_matches("cycod://runs/");
        place.call(who, "run_output", &json!({"output": bare, "offset": 0}))
    }),
    ("how far a run is", Place::run, |place, who, run| place.call(who, "run_status", &json!({"run": run}))),
    ("wait for a run", Place::run, |place, who, run| {
        place.call(who, "run_wait", &json!({"run": run, "timeout_ms": 0}))
    }),
    ("cancel a run", Place::run, |place, who, run| place.call(who, "run_cancel", &json!({"run": run}))),
    ("a run in the background", Place::background, |place, who, run| {
        place.call(who, "run_status", &json!({"run": run}))
    }),
    ("cancel a run in the background", Place::background, |place, who, run| {
        place.call(who, "run_cancel", &json!({"run": run}))
    }),
    ("a task", Place::task, |place, who, task| place.ask(who, "tasks/get", &json!({"taskId": task}))),
    ("answer a task", Place::task, |place, who, task| {
        place.ask(who, "tasks/update", &json!({"taskId": task, "inputResponses": {}}))
    }),
    ("cancel a task", Place::task, |place, who, task| place.ask(who, "tasks/cancel", &json!({"taskId": task}))),
    ("go on with a question", Place::ticket, |place, who, ticket| {
        let sure = json!({"sure": {"action": "accept", "content": {}}});
        let params = json!({"name": "asks", "arguments": {}, "requestState": ticket, "inputResponses": sure});
        place.ask(who, "tools/call", &params)
    }),
    ("call in a session", Place::session, |place, who, id| place.in_session(who, id, "POST")),
    ("end a session", Place::session, |place, who, id| place.in_session(who, id, "DELETE")),
];

/// An address of the same form that nobody was given.
fn missing(address: &str) -> String {
    let digits: String = address.chars().filter(char::is_ascii_hexdigit).collect();
    let longest = address.split(|c: char| !c.is_ascii_hexdigit()).max_by_key(|part| part.len()).unwrap_or(&digits);
    let turned = longest.chars().map(|c| if c == '0' { '1' } else { '0' }).collect::<String>();
    address.replace(longest, &turned)
}

#[test]
fn what_one_made_does_not_exist_for_another() {
    let place = Place::new();
    let mut wrong = Vec::new();
    for (what, make, act) in CASES {
        let address = make(&place, "ann");
        let nowhere = missing(&address);
        assert_ne!(address, nowhere, "{what}");
        let of = |answer: Json, address: &str| {
            let bare = address.trim_start_matches("cycod://runs/");
            answer.to_string().replace(address, "ADDRESS").replace(bare, "ADDRESS")
        };
        let (theirs, none) = (of(act(&place, "bob", &address), &address), of(act(&place, "bob", &nowhere), &nowhere));
        let mine = of(act(&place, "ann", &address), &address);
        if theirs != none || mine == none {
            wrong.push(format!("{what}:\n  bob     {theirs:.300}\n  missing {none:.300}\n  ann     {mine:.300}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A client that subscribes to an address learns nothing from the answer.
#[test]
fn a_subscription_does_not_tell_what_exists() {
    let place = Place::new();
    let uri = place.output("ann");
    let bearer = place.bearer("bob");
    let id = place.session("bob");
    let subscribe = |uri: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
        let response = place.bed.post(&[("Authorization", &bearer), ("Mcp-Session-Id", &id)], &message);
        (response.status, response.message())
    };
    assert_eq!(subscribe(&uri), subscribe(&missing(&uri)));
}
