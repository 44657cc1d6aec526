//! `cycod ui`, as a browser meets it: over HTTP, with forms and the stream. How it looks and what its script does is tested in a
//! real browser, in `tests/page`.
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
    time::Duration,
};

use expect_test::expect;

use crate::{
    background::{process_of, state},
    serve::Client,
    support::{Place, until},
};

const TOOL: &str = r#"
description: Greet somebody
bash: echo "Hello, {WHO}"
parameters:
  WHO: {type: string, description: Whom, required: true}
  COUNT: {type: integer, description: How often, validation: {minimum: 1, maximum: 9}}
tags: [read]
"#;

/// A page and a browser that came in.
struct Page {
    server: Child,
    address: String,
    cookie: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

impl Page {
    fn open(place: &Place, options: &[&str]) -> Self {
        let (server, address, code) = started(place, options);
        let mut page = Self { server, address, cookie: String::new() };
        let answer = page.post("/in", &format!("code={code}"));
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        assert!(cookie.contains("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        page.cookie = cookie.split(';').next().expect("a pair").to_owned();
        page
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        write!(stream, "{head}\r\n{body}").expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.replace("\r\n", "\n"), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("Host", &self.address), ("Cookie", &self.cookie)], "")
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.address);
        let headers = [
            ("Host", self.address.as_str()),
            ("Cookie", &self.cookie),
            ("Origin", &origin),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.ask("POST", path, &headers, body)
    }
}

fn started(place: &Place, options: &[&str]) -> (Child, String, String) {
    let port = free_port();
    let options = [&["ui", "--without-terminal", "--port", &port], options].concat();
    let mut server =
        place.command(&options).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut said = BufReader::new(server.stderr.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let address = said.find_map(|line| Some(line.trim().strip_prefix("http://")?.to_owned())).expect("an address");
    let (address, code) = address.split_once("/in#").expect("the way in");
    (server, address.to_owned(), code.to_owned())
}

/// A port that nothing uses; the next one who asks gets another.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port().to_string()
}

/// The value of a hidden field.
fn hidden<'a>(html: &'a str, name: &str) -> &'a str {
    let (_, rest) =
        html.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("no {name}: {html}"));
    rest.split('"').next().expect("a value")
}

fn place() -> Place {
    Place::with_tool("greet", TOOL)
}

#[test]
fn only_a_browser_with_the_code_gets_in() {
    let place = place();
    let (server, address, code) = started(&place, &[]);
    let page = Page { server, address, cookie: String::new() };
    for path in ["/", "/runs", "/run/x", "/approvals", "/tool/greet", "/live?page=runs"] {
        let answer = page.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("greet"), "{path}: {}", answer.body);
    }
    assert_eq!(page.post("/tool/greet/run", "arg.WHO=x&run=1").status, 401);
    assert_eq!(page.post("/in", "code=wrong").status, 403);
    assert_eq!(page.post("/in", &format!("code={code}")).status, 303);
    assert_eq!(page.post("/in", &format!("code={code}")).status, 403, "a code works once");
}

#[test]
fn other_sites_and_other_names_get_nothing() {
    let place = place();
    let page = Page::open(&place, &[]);
    let host = ("Host", page.address.as_str());
    let cookie = ("Cookie", page.cookie.as_str());
    let origin = format!("http://{}", page.address);
    let ours = ("Origin", origin.as_str());
    let same = ("Sec-Fetch-Site", "same-origin");
    let body = "arg.WHO=x&run=1";
    for (headers, expected) in [
        (vec![("Host", "evil.example"), cookie, ours, same], 421),
        (vec![("Host", "localhost:1"), cookie, ours, same], 421),
        (vec![host, cookie, ("Origin", "https://evil.example"), same], 403),
        (vec![host, cookie, ("Origin", "null"), same], 403),
        (vec![host, cookie, ours, ("Sec-Fetch-Site", "cross-site")], 403),
        (vec![host, cookie, ours], 403),
        (vec![host, cookie, same], 403),
        (vec![host, ours, same], 401),
    ] {
        assert_eq!(page.ask("POST", "/tool/greet/run", &headers, body).status, expected, "{headers:?}");
    }
    assert_eq!(page.ask("GET", "/", &[host, cookie, ("Sec-Fetch-Site", "cross-site")], "").status, 403);
    assert_eq!(page.ask("DELETE", "/", &[host, cookie, ours, same], "").status, 405);
    let history = place.run(&["runs", "list", "--format", "json"]).stdout();
    assert_eq!(history.trim(), "[]", "nothing ran");
    // The same request of the page itself runs.
    assert_eq!(page.ask("POST", "/tool/greet/run", &[host, cookie, ours, same], body).status, 303);
}

#[test]
fn every_page_says_what_browsers_may_do_with_it() {
    let place = place();
    let page = Page::open(&place, &[]);
    for path in ["/", "/runs", "/approvals", "/tool/greet", "/nothing"] {
        let head = page.get(path).head;
        for header in [
            "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
             img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(header), "{path}: {header}: {head}");
        }
    }
    for (path, _) in ["/nothing", "/tool/nothing", "/run/0123", "/tool/greet/more"].map(|path| (path, ())) {
        assert_eq!(page.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_form_shows_what_would_run_and_runs_it() {
    let place = place();
    let page = Page::open(&place, &[]);
    let list = page.get("/").body;
    assert!(list.contains("href=\"/tool/greet\"") && list.contains("Greet somebody"), "{list}");
    let form = page.get("/tool/greet").body;
    assert!(form.contains("name=\"arg.WHO\"") && form.contains("min=\"1\" max=\"9\""), "{form}");

    let preview = page.post("/tool/greet/preview", "arg.WHO=it%27s+%24%28reboot%29&arg.COUNT=");
    assert_eq!(preview.status, 200);
    assert!(preview.body.contains("cycod_WHO='it'\\''s $(reboot)'"), "{}", preview.body);

    let wrong = page.post("/tool/greet/run", "arg.WHO=&arg.COUNT=500&run=1");
    assert_eq!(wrong.status, 422);
    assert!(wrong.body.contains("`500` is more than the maximum 9"), "{}", wrong.body);
    assert!(wrong.body.contains("value=\"500\""), "what was typed is still there");

    let started = page.post("/tool/greet/run", "arg.WHO=%3Cb%3Eyou%3C%2Fb%3E&run=1");
    assert_eq!(started.status, 303, "{}", started.body);
    let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address").to_owned();
    let id = path.strip_prefix("/run/").expect("a run");
    until("it ends", || state(&place, id) == "ok");
    let run = page.get(&path).body;
    assert!(run.contains("Hello, &lt;b&gt;you&lt;/b&gt;"), "{run}");
    assert!(!run.contains("<b>you"), "{run}");
    assert!(page.get("/runs").body.contains(&path));
    let again = page.get(&format!("/tool/greet?from={id}")).body;
    assert!(again.contains("&lt;b&gt;you&lt;/b&gt;</textarea>"), "{again}");
}

#[test]
fn the_page_of_a_run_lists_the_files_that_it_kept() {
    let place = place();
    let artifact = "a<b>.html";
    place.tool(
        "make",
        &format!("description: M\nbash: echo x > 'a<b>.html'\nartifacts: ['{artifact}']\ntags: [write]\n"),
    );
    let ran = place.run(&["run", "make", "--format", "json"]).stdout();
    let uri = ran.split("cycod://runs/").nth(1).unwrap_or_else(|| panic!("no artifact: {ran}"));
    let run = Page::open(&place, &[]).get(&format!("/run/{}", &uri[..32])).body;
    assert!(run.contains("a&lt;b&gt;.html") && run.contains("(2 bytes)"), "{run}");
    assert!(run.contains(&format!("cycod runs artifacts {}", &uri[..32])), "{run}");
}

#[test]
fn hostile_names_and_texts_are_texts() {
    let place = place();
    place.tool("evil", "name: evil\ndescription: \"</p><script>alert(1)</script>\\u202e\"\ntitle: \"<img src=x>\"\nbash: printf '%b' '\\033[31m<script>\\r\\n'\ntags: [read]\n");
    let page = Page::open(&place, &[]);
    for path in ["/", "/tool/evil"] {
        let body = page.get(path).body;
        assert!(
            !body.contains("<script>alert") && !body.contains("<img src=x") && !body.contains('\u{202e}'),
            "{body}"
        );
        assert!(body.contains("&lt;script&gt;alert(1)"), "{body}");
    }
    let started = page.post("/tool/evil/run", "run=1");
    let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address").to_owned();
    until("it ends", || state(&place, path.trim_start_matches("/run/")) == "ok");
    let run = page.get(&path).body;
    assert!(run.contains("&lt;script&gt;") && !run.contains('\u{1b}'), "{run}");
}

#[test]
fn a_run_is_followed_from_any_position_and_goes_on_without_the_page() {
    let place = Place::with_tool(
        "slow",
        "description: d\nbash: for n in $(seq 1 200); do echo line $n; sleep 0.01; done\ntags: [read]\n",
    );
    let mut page = Page::open(&place, &[]);
    let started = page.post("/tool/slow/run", "run=1");
    let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address").to_owned();
    let id = path.trim_start_matches("/run/").to_owned();
    let stream = |page: &Page, seen: &str| {
        let path = format!("/live?page=run&id={id}");
        let headers = [("Host", page.address.as_str()), ("Cookie", &page.cookie), ("Last-Event-ID", seen)];
        page.ask("GET", &path, &headers, "").body
    };
    let whole = stream(&page, "0");
    let lines = |text: &str| text.matches("<div>line ").count();
    let logs: String = whole.lines().filter(|line| line.starts_with("data: {\"html\":\"<div>")).collect();
    assert_eq!(lines(&logs), 200, "each line once: {logs}");
    assert!(whole.contains("event: bye"), "{whole}");
    // Halfway, the rest comes and nothing twice.
    let events: Vec<&str> = whole.split("\n\n").filter(|event| event.contains("event: log")).collect();
    let half = &events[events.len() / 2];
    let number = half.lines().find_map(|line| line.strip_prefix("id: ")).expect("a number");
    let rest = stream(&page, number);
    let rest: String = rest.lines().filter(|line| line.starts_with("data: {\"html\":\"<div>")).collect();
    let before: usize = events[..=events.len() / 2].iter().map(|event| lines(event)).sum();
    assert_eq!(before + lines(&rest), 200);

    // The page is killed while a run goes on: the run ends as it would.
    let started = page.post("/tool/slow/run", "run=1");
    let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address").to_owned();
    let id = path.trim_start_matches("/run/");
    page.server.kill().expect("it runs");
    page.server.wait().expect("it ends");
    until("it ends", || state(&place, id) == "ok");
}

#[test]
fn a_run_is_cancelled_from_the_page() {
    let place = Place::with_tool("wait", "description: d\nbash: sleep 600\ntimeout: 700000\ntags: [read]\n");
    let page = Page::open(&place, &[]);
    let started = page.post("/tool/wait/run", "run=1");
    let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address").to_owned();
    let id = path.trim_start_matches("/run/");
    process_of(&place, id);
    assert_eq!(page.post(&format!("{path}/cancel"), "").status, 303);
    until("it ends", || state(&place, id) == "cancelled");
    assert_eq!(page.post(&format!("{path}/cancel"), "").status, 409);
}

#[test]
fn what_a_model_waits_for_is_approved_as_it_was_shown() {
    let place = Place::with_tool(
        "mark",
        "description: d\nbash: echo {WORD} >> marks\nparameters: {WORD: {type: string, description: w}}\ntags: [run]\n",
    );
    let page = Page::open(&place, &[]);
    let call = |word: &'static str| {
        let mut client = Client::legacy(&place, &["--wait-for-approval", "60"], serde_json::json!({}));
        std::thread::scope(|scope| {
            let called = scope.spawn(move || client.call("mark", serde_json::json!({"WORD": word})));
            until("it is asked", || page.get("/approvals").body.contains("action=\"/approvals/"));
            let shown = page.get("/approvals").body;
            assert!(shown.contains(word) && shown.contains("marks"), "{shown}");
            let id = shown.split("action=\"/approvals/").nth(1).and_then(|rest| rest.split('"').next()).expect("one");
            let (card, digest) = (hidden(&shown, "card").to_owned(), hidden(&shown, "call").to_owned());
            // Another browser has not seen it, and an answer without what was shown does not count.
            let path = format!("/approvals/{id}");
            assert_eq!(page.post(&path, "answer=once").status, 409);
            assert_eq!(page.post(&path, &format!("answer=once&card={card}x&call={digest}")).status, 409);
            assert_eq!(page.post(&path, &format!("answer=maybe&card={card}")).status, 400);
            let other = page.get("/approvals").body;
            let other = hidden(&other, "card").to_owned();
            assert_ne!(card, other, "each time it is shown, the answer is another one");
            let answer = if word == "yes" { "once" } else { "no&reason=not+today" };
            assert_eq!(page.post(&path, &format!("answer={answer}&card={card}")).status, 303);
            assert_eq!(page.post(&path, &format!("answer=once&card={card}")).status, 409, "it was used");
            called.join().expect("an answer").to_string()
        })
    };
    call("yes");
    let refused = call("no");
    assert!(refused.contains("not today"), "{refused}");
    expect![[r#"
        yes
    "#]]
    .assert_eq(&place.read("marks"));
}

#[test]
fn an_untrusted_tool_does_not_run() {
    let place = Place::cloned();
    place.tool("greet", TOOL);
    let page = Page::open(&place, &[]);
    let refused = page.post("/tool/greet/run", "arg.WHO=you&run=1");
    assert!(refused.body.contains("untrusted-tool") && refused.body.contains("cycod trust greet"), "{}", refused.body);
    assert_eq!(place.run(&["runs", "list", "--status", "ok", "--format", "json"]).stdout().trim(), "[]");
}

#[test]
fn a_call_that_a_rule_asks_about_runs_as_it_was_shown() {
    let place = place();
    assert_eq!(place.run(&["policy", "add", "ask", "greet", "--user"]).code(), 0);
    let page = Page::open(&place, &[]);
    let asked = page.post("/tool/greet/run", "arg.WHO=you&run=1");
    assert_eq!(asked.status, 200);
    assert!(asked.body.contains("wants to run") && asked.body.contains("Run it"), "{}", asked.body);
    let (card, call) = (hidden(&asked.body, "card"), hidden(&asked.body, "call"));
    // Other arguments are another call, which is asked about again.
    let other = page.post("/tool/greet/run", &format!("arg.WHO=me&run=1&card={card}&call={call}"));
    assert_eq!(other.status, 200);
    assert!(other.body.contains("wants to run"));
    assert_eq!(page.post("/tool/greet/run", &format!("arg.WHO=you&run=1&card={card}&call={call}")).status, 303);
}

#[test]
fn read_only_pages_do_nothing() {
    let place = place();
    let page = Page::open(&place, &["--read-only"]);
    assert!(!page.get("/tool/greet").body.contains("class=\"primary\""));
    assert_eq!(page.post("/tool/greet/run", "arg.WHO=x&run=1").status, 403);
    assert_eq!(page.post("/approvals/abcdefgh", "answer=once").status, 403);
}

#[test]
fn below_a_run_and_without_a_terminal_there_is_no_page() {
    let place = place();
    let refused = place.run(&["ui"]);
    assert_eq!(refused.code(), 3, "{}", refused.block());
    place.tool("open", "description: d\nbash: cycod ui --without-terminal\ntags: [run]\n");
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_cycod")).expect("the program");
    let directory = program.parent().expect("a directory").display().to_string();
    let path = format!("{directory}:/usr/bin:/bin");
    let output = place.command(&["run", "open"]).env("PATH", path).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("approval-by-a-tool"), "{text}");
}
