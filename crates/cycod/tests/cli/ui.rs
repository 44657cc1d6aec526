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
    mcp_client::with_server,
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

/// The addresses of forms.
const ACTIONS: [&str; 11] = [
    "/tool/greet/run",
    "/tool/greet/trust",
    "/tool/greet/trust/stop",
    "/tool/greet/edit",
    "/tool/greet/edit/fix",
    "/tool/greet/edit/test",
    "/policy/test/greet",
    "/server/test/check",
    "/server/test/consent",
    "/server/test/accept",
    "/machine",
];

/// A page and a browser that came in.
pub(crate) struct Page {
    server: Child,
    address: String,
    cookie: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

impl Page {
    pub(crate) fn open(place: &Place, options: &[&str]) -> Self {
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

    /// The address of the stream of a page.
    fn stream_of(&self, path: &str) -> String {
        let shown = self.get(path).body;
        let live = shown.split("data-live=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a stream");
        live.replace("&amp;", "&")
    }

    /// Reads a stream until it says something.
    fn wait_for(&self, stream: &str, text: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).expect("it listens");
        connection.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let head = format!("GET {stream} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", self.address, self.cookie);
        connection.write_all(head.as_bytes()).expect("it is read");
        let mut told = Vec::new();
        let mut part = [0; 4096];
        while !String::from_utf8_lossy(&told).contains(text) {
            let length = connection.read(&mut part).expect("it is told");
            assert_ne!(length, 0, "the stream goes on");
            told.extend(&part[..length]);
        }
        String::from_utf8_lossy(&told).into_owned()
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
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
    for path in [
        "/",
        "/runs",
        "/run/x",
        "/approvals",
        "/tool/greet",
        "/live?page=runs",
        "/policy",
        "/policy/test/greet",
        "/tool/greet/edit",
        "/trust",
        "/tool/greet/trust",
        "/servers",
        "/costs",
        "/machine",
    ] {
        let answer = page.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("greet"), "{path}: {}", answer.body);
    }
    for path in ACTIONS {
        assert_eq!(page.post(path, "arg.WHO=x&run=1").status, 401, "{path}");
    }
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
        for action in ACTIONS {
            assert_eq!(page.ask("POST", action, &headers, body).status, expected, "{action} {headers:?}");
        }
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
    for path in
        ["/", "/runs", "/approvals", "/tool/greet", "/policy", "/trust", "/servers", "/costs", "/machine", "/nothing"]
    {
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
fn a_run_of_many_steps_is_shown_a_page_at_a_time() {
    let steps = |last: &str| -> String {
        let step = |n: usize| format!("- {{name: s{n}, bash: {}}}\n", if n == 230 { last } else { "echo" });
        format!("description: d\ntags: [read]\nsteps:\n{}", (1..=230).map(step).collect::<String>())
    };
    let place = Place::with_tool("many", &steps("exit 3"));
    place.tool("waits", &steps("sleep 600"));
    assert_eq!(place.run(&["run", "many"]).code(), 3);
    let page = Page::open(&place, &[]);
    let runs = page.get("/runs?tool=many").body;
    let run = runs.split("href=\"/run/").nth(1).and_then(|rest| rest.split('"').next()).expect("a run");
    let run = format!("/run/{run}");
    let shown = |address: &str| -> (Vec<String>, String) {
        let body = page.get(address).body;
        let rows = body.split("id=\"step-s").skip(1).filter_map(|rest| Some(format!("s{}", rest.split_once('"')?.0)));

        (rows.collect(), body)
    };
    // What failed comes first to a reader.
    let (rows, body) = shown(&run);
    assert_eq!((rows.len(), rows[0].as_str(), rows[29].as_str()), (30, "s201", "s230"), "{body}");
    assert!(body.contains("1 step failed: ") && body.contains(&format!("{run}?step=s230\"")), "{body}");
    assert!(
        body.contains("<span>201–230 of 230</span>") && body.contains("<ol class=\"steps\" start=\"201\">"),
        "{body}"
    );
    let (rows, body) = shown(&format!("{run}?steps=1"));
    assert_eq!((rows.len(), rows[0].as_str()), (100, "s1"), "{body}");
    assert!(body.contains(&format!("rel=\"next\" href=\"{run}?steps=2\"")) && !body.contains("rel=\"prev\""), "{body}");
    // A step is shown where it is, and stays selected on another page.
    let (rows, body) = shown(&format!("{run}?step=s150"));
    assert_eq!((rows.len(), rows[0].as_str()), (100, "s101"), "{body}");
    assert!(body.contains(&format!("href=\"{run}?step=s150&amp;steps=3\"")), "{body}");
    for beyond in ["0", "4", "18446744073709551615", "x"] {
        let (rows, body) = shown(&format!("{run}?steps={beyond}"));
        assert!(!rows.is_empty() && body.contains("of 230"), "{beyond}: {body}");
    }
    // While it runs, the page goes along.
    let started = page.post("/tool/waits/run", "run=1");
    let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address").to_owned();
    until("the last step runs", || page.get(&path).body.contains("step-s230"));
    let (rows, body) = shown(&path);
    assert_eq!(rows.len(), 30, "{body}");
    page.post(&format!("{path}/cancel"), "");
}

#[test]
fn lists_come_a_page_at_a_time() {
    let place = Place::cloned();
    for n in 0..130 {
        place.tool(&format!("tool-{n:03}"), "description: d\nbash: echo\ntags: [run]\n");
    }
    let rules = |n: usize| format!("- deny: tool-{n:03}\n");
    place.write(".cycod/policy.yaml", &format!("rules:\n{}", (0..130).map(rules).collect::<String>()));
    let page = Page::open(&place, &[]);
    for (list, row, next) in [
        ("/trust", "/trust\"", "/trust?page=2"),
        ("/policy", "</span>deny</span>", "/policy?page=2"),
        ("/", "href=\"/tool/", "/?page=2"),
    ] {
        let first = page.get(list).body;
        assert_eq!(first.matches(row).count() - usize::from(list == "/trust"), 100, "{list}: {first}");
        assert!(
            first.contains("1–100 of ") && first.contains(&format!("rel=\"next\" href=\"{next}\"")),
            "{list}: {first}"
        );
        let second = page.get(next).body;
        assert!(second.contains("101–") && second.contains("rel=\"prev\""), "{list}: {second}");
    }
}

#[test]
fn what_is_refused_is_a_page_that_leads_on() {
    let place = place();
    let page = Page::open(&place, &[]);
    for (answer, status) in [
        (page.get("/tool/nothing"), 404),
        (page.get("/run/0123456789abcdef"), 404),
        (page.post("/approvals/0123456789abcdef0123456789abcdef", "answer=once"), 409),
    ] {
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(
            answer.body.contains("<nav class=\"rail\"") && answer.body.contains("role=\"alert\""),
            "{}",
            answer.body
        );
    }
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
    let typed = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%1B%5B31m";
    for path in [
        &format!("/policy?verdict=deny&pattern={typed}&for={typed}&instead={typed}"),
        &format!("/costs?max={typed}&dialect={typed}"),
        &format!("/tool/{typed}/edit"),
        &format!("/tool/{typed}/trust"),
        &format!("/server/{typed}"),
        &format!("/policy/test?tool={typed}"),
        "/tool/evil/edit",
        "/tool/evil/trust",
        "/policy/test/evil",
        "/trust",
        "/machine",
    ] {
        let answer = page.get(path);
        let is_page = answer.head.contains("text/html");
        assert!(!is_page || !answer.body.contains("<script>alert"), "{path}: {}", answer.body);
    }
    let checked = page.post("/tool/evil/edit/check", &format!("text={typed}"));
    assert!(
        !checked.body.contains("<script>alert") && checked.body.contains("&lt;script&gt;alert"),
        "{}",
        checked.body
    );
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
fn a_tool_is_trusted_as_it_was_shown() {
    let place = Place::cloned();
    place.tool("greet", TOOL);
    let page = Page::open(&place, &[]);
    let list = page.get("/trust").body;
    assert!(list.contains("href=\"/tool/greet/trust\"") && list.contains(">new<"), "{list}");
    let shown = page.get("/tool/greet/trust").body;
    assert!(shown.contains("echo &quot;Hello, {WHO}&quot;"), "{shown}");
    let (card, digest) = (hidden(&shown, "card").to_owned(), hidden(&shown, "digest").to_owned());
    let answer = |card: &str, digest: &str| format!("card={card}&subject=greet&digest={digest}");
    let path = "/tool/greet/trust";
    let is_trusted = || place.run(&["trust", "--check"]).code() == 0;

    // Nothing but the answer to what was shown counts: not one without its card, of another digest, from another site, from a
    // browser without a session, or about what is another tool by now.
    let other = "0".repeat(64);
    assert_eq!(page.post(path, &answer("", &digest)).status, 409);
    assert_eq!(page.post(path, &answer(&format!("{card}x"), &digest)).status, 409);
    assert_eq!(page.post(path, &answer(&card, &other)).status, 409);
    assert_eq!(page.post(path, &format!("card={card}&subject=other&digest={digest}")).status, 409);
    let host = ("Host", page.address.as_str());
    let cookie = ("Cookie", page.cookie.as_str());
    let origin = format!("http://{}", page.address);
    let ours = ("Origin", origin.as_str());
    let body = answer(&card, &digest);
    let foreign = [host, cookie, ("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(page.ask("POST", path, &foreign, &body).status, 403);
    assert_eq!(page.ask("POST", path, &[host, ours, ("Sec-Fetch-Site", "same-origin")], &body).status, 401);
    place.tool("greet", &TOOL.replace("Hello", "Goodbye"));
    assert_eq!(page.post(path, &body).status, 409, "it has changed since it was shown");
    assert!(!is_trusted());
    place.tool("greet", TOOL);
    // An answer about a tool is none about a call, and the other way around.
    assert_eq!(page.post("/approvals/abcdefgh", &format!("answer=once&card={card}")).status, 409);

    let shown = page.get(path).body;
    let body = answer(hidden(&shown, "card"), hidden(&shown, "digest"));
    assert_eq!(page.post(path, &body).status, 303);
    assert!(is_trusted());
    // What it is trusted as, and no change of it.
    place.tool("greet", &TOOL.replace("Hello", "<b>Goodbye"));
    assert!(!is_trusted());
    assert_eq!(page.post(path, &body).status, 409, "it was used");
    let changed = page.get(path).body;
    assert!(
        changed.contains("<del>-bash: echo &quot;Hello") && changed.contains("<ins>+bash: echo &quot;&lt;b&gt;"),
        "{changed}"
    );
    assert!(page.get("/trust").body.contains(">changed<"));
    assert!(!is_trusted());
    let body = answer(hidden(&changed, "card"), hidden(&changed, "digest"));
    assert_eq!(page.post(path, &body).status, 303);
    assert!(is_trusted());
    assert_eq!(page.post(&format!("{path}/stop"), "").status, 303);
    assert!(!is_trusted());
    assert_eq!(page.get("/tool/nothing/trust").status, 404);
}

#[test]
fn another_session_cannot_answer_what_this_one_was_shown() {
    let place = Place::cloned();
    place.tool("greet", TOOL);
    let page = Page::open(&place, &[]);
    let other = Page::open(&place, &[]);
    let shown = page.get("/tool/greet/trust").body;
    let body = format!("card={}&subject=greet&digest={}", hidden(&shown, "card"), hidden(&shown, "digest"));
    assert_eq!(other.post("/tool/greet/trust", &body).status, 409);
    assert_eq!(page.post("/tool/greet/trust", &body).status, 303);
}

/// A project with a server that came with it, and one of the user that changes what it offers when a file says so.
fn with_servers() -> (Place, Place) {
    let elsewhere = Place::new();
    let place = with_server(&["plain", "legacy", &format!("state={}", elsewhere.home().join("state").display())]);
    place.write(
        ".cycod/mcp.json",
        r#"{"mcpServers": {"theirs": {"command": "<b>their-server", "args": ["--all"], "env": {"MODE": "x"}}}}"#,
    );
    (place, elsewhere)
}

#[test]
fn servers_are_shown_and_met_only_on_demand() {
    let (place, _state) = with_servers();
    let page = Page::open(&place, &[]);
    let list = page.get("/servers").body;
    assert!(list.contains("href=\"/server/test\"") && list.contains("not met yet"), "{list}");
    assert!(list.contains("&lt;b&gt;their-server") && list.contains("waits for you"), "{list}");
    assert_eq!(page.get("/server/nothing").status, 404);
    assert!(page.get("/server/test").body.contains("Nothing is known yet"));
    let met = page.post("/server/test/check", "").body;
    assert!(met.contains("It answered in") && met.contains("mcp_test_hello"), "{met}");
    assert!(page.get("/servers").body.contains(">10<"), "its tools are known now");
    // One that is not accepted is not started.
    let refused = page.post("/server/theirs/check", "").body;
    assert!(refused.contains("server-not-accepted") && refused.contains("Let this server be started?"), "{refused}");
    let read_only = Page::open(&place, &["--read-only"]);
    assert_eq!(read_only.post("/server/test/check", "").status, 403);
    assert!(!read_only.get("/server/theirs").body.contains("class=\"primary\""));
}

#[test]
fn a_server_of_the_project_is_accepted_as_it_was_shown() {
    let (place, _state) = with_servers();
    let page = Page::open(&place, &[]);
    let path = "/server/theirs/consent";
    let shown = page.get("/server/theirs").body;
    assert!(shown.contains("MODE=x &#39;&lt;b&gt;their-server&#39; --all") || shown.contains("MODE=x"), "{shown}");
    let (card, digest) = (hidden(&shown, "card").to_owned(), hidden(&shown, "digest").to_owned());
    assert_eq!(page.post(path, &format!("digest={digest}")).status, 409);
    assert_eq!(page.post(path, &format!("card={card}&digest={}", "0".repeat(64))).status, 409);
    place.write(".cycod/mcp.json", r#"{"mcpServers": {"theirs": {"command": "rm", "args": ["-rf", "x"]}}}"#);
    assert_eq!(page.post(path, &format!("card={card}&digest={digest}")).status, 409, "it is another server now");
    let is_accepted = || !place.run(&["mcp", "list"]).stdout().contains("not accepted");
    assert!(!is_accepted());
    let shown = page.get("/server/theirs").body;
    let body = format!("card={}&digest={}", hidden(&shown, "card"), hidden(&shown, "digest"));
    assert_eq!(page.post(path, &body).status, 303);
    assert!(is_accepted());
    assert_eq!(page.post(path, &body).status, 409, "there is nothing more to accept");
}

#[test]
fn a_change_of_a_server_is_accepted_as_it_was_shown() {
    let (place, elsewhere) = with_servers();
    let page = Page::open(&place, &[]);
    assert_eq!(page.post("/server/test/check", "").status, 200);
    let state = elsewhere.home().join("state");
    fs::write(&state, "description").expect("a file");
    let met = page.post("/server/test/check", "").body;
    assert!(
        met.contains("<del>- &quot;Says hello&quot;") && met.contains("<ins>+ ") && met.contains("&lt;IMPORTANT&gt;"),
        "{met}"
    );
    assert!(page.get("/servers").body.contains("1 to accept"));
    let path = "/server/test/accept";
    let shown = page.get("/server/test").body;
    let (card, digest) = (hidden(&shown, "card").to_owned(), hidden(&shown, "digest").to_owned());
    let body = |card: &str, digest: &str| format!("card={card}&tool=hello&digest={digest}");
    assert_eq!(page.post(path, &body("", &digest)).status, 409);
    assert_eq!(page.post(path, &body(&card, &"0".repeat(64))).status, 409);
    // It changes again before the answer comes.
    fs::write(&state, "title").expect("a file");
    assert_eq!(page.post("/server/test/check", "").status, 200);
    assert_eq!(page.post(path, &body(&card, &digest)).status, 409);
    let shown = page.get("/server/test").body;
    assert_eq!(page.post(path, &body(hidden(&shown, "card"), hidden(&shown, "digest"))).status, 303);
    assert!(!page.get("/servers").body.contains("to accept"));
    let (out, _) = crate::mcp_client::cycod(&place, 0, &["tool", "run", "mcp_test_hello", "name=Ada"]);
    assert_eq!(out, "hello Ada");
}

/// A text as a value of a form, with the line ends that browsers send.
fn encoded(text: &str) -> String {
    text.replace('\n', "\r\n").bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// What the editor sends.
fn edited(page: &str, text: &str) -> String {
    format!("opened={}&card={}&text={}", hidden(page, "opened"), hidden(page, "card"), encoded(text))
}

#[test]
fn a_tool_is_edited_with_what_is_found_in_it() {
    let place = place();
    let path = "/tool/greet/edit";
    let page = Page::open(&place, &[]);
    let shown = page.get(path).body;
    assert!(shown.contains("description: Greet somebody") && shown.contains("<mark>COUNT</mark>"), "{shown}");
    // A mistake is shown in its line, with its fix; nothing is written.
    let clean = page.post(&format!("{path}/check"), &edited(&shown, "description: d\nbash: ls\ntags: [read]\n")).body;
    assert!(clean.contains("No problems."), "{clean}");
    let wrong = format!("{TOOL}timout: 5000\n");
    let found = page.post(&format!("{path}/check"), &edited(&shown, &wrong)).body;
    assert!(found.contains("<mark>timout</mark>") && found.contains("unknown-key"), "{found}");
    let fix = found.split("name=\"fix\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a fix");
    let fixed = page.post(&format!("{path}/fix"), &format!("{}&fix={fix}", edited(&found, &wrong))).body;
    assert!(fixed.contains("timeout: 5000") && !fixed.contains("unknown-key"), "{fixed}");
    // The name of another fix changes nothing.
    let same = page.post(&format!("{path}/fix"), &format!("{}&fix=7:no-name", edited(&found, &wrong))).body;
    assert!(same.contains("timout: 5000"), "{same}");
    assert_eq!(place.read(".cycod/tools/greet.yaml"), TOOL);

    let longer = TOOL.replace("Greet somebody", "Greet somebody, with all the words that one can find for it");
    let checked = page.post(&format!("{path}/check"), &edited(&shown, &longer)).body;
    assert!(checked.contains(" in the file, <strong>"), "{checked}");
    let saved = page.post(path, &edited(&shown, &longer));
    assert_eq!(saved.status, 303, "{}", saved.body);
    assert_eq!(place.read(".cycod/tools/greet.yaml"), longer, "with the line ends that it had");
    assert_eq!(page.post(path, &edited(&shown, TOOL)).status, 409, "the file is another one than was opened");
    for missing in ["/tool/read_file/edit", "/tool/nothing/edit"] {
        assert_eq!(page.get(missing).status, 404, "{missing}");
        assert_eq!(page.post(missing, "text=x").status, 404, "{missing}");
    }
}

#[test]
fn the_editor_overwrites_nothing_and_trusts_only_what_was_typed_in_it() {
    let place = Place::cloned();
    place.tool("greet", TOOL);
    assert_eq!(place.run(&["trust", "greet", "--yes"]).code(), 0);
    let is_trusted = || place.run(&["trust", "--check"]).code() == 0;
    let path = "/tool/greet/edit";
    let page = Page::open(&place, &[]);
    let shown = page.get(path).body;
    let mine = TOOL.replace("Hello", "Mine");
    // Without the card of this session, nothing is written.
    let bare = format!("opened={}&text={}", hidden(&shown, "opened"), encoded(&mine));
    assert_eq!(page.post(path, &bare).status, 409);
    let other = Page::open(&place, &[]);
    assert_eq!(other.post(path, &edited(&shown, &mine)).status, 409);
    let origin = format!("http://{}", page.address);
    let host = ("Host", page.address.as_str());
    let cookie = ("Cookie", page.cookie.as_str());
    let foreign = [host, cookie, ("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(page.ask("POST", path, &foreign, &edited(&shown, &mine)).status, 403);
    let bare = [host, ("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(page.ask("POST", path, &bare, &edited(&shown, &mine)).status, 401);
    assert_eq!(place.read(".cycod/tools/greet.yaml"), TOOL);
    // Somebody else changes the file: both texts are shown, and the next answer is about what is there now.
    let theirs = TOOL.replace("Hello", "<b>Theirs");
    place.tool("greet", &theirs);
    let conflict = page.post(path, &edited(&shown, &mine));
    assert_eq!(conflict.status, 409);
    assert!(conflict.body.contains("<del>-bash: echo &quot;&lt;b&gt;Theirs"), "{}", conflict.body);
    assert!(conflict.body.contains("<ins>+bash: echo &quot;Mine"), "{}", conflict.body);
    assert_eq!(place.read(".cycod/tools/greet.yaml"), theirs);
    assert_eq!(page.post(path, &edited(&conflict.body, &mine)).status, 303);
    assert_eq!(place.read(".cycod/tools/greet.yaml"), mine);
    // What was there was not trusted, so what is saved over it isn't either.
    assert!(!is_trusted());
    assert_eq!(place.run(&["trust", "greet", "--yes"]).code(), 0);
    let shown = page.get(path).body;
    assert_eq!(page.post(path, &edited(&shown, TOOL)).status, 303);
    assert!(is_trusted(), "as after `cycod tool edit`");
    let read_only = Page::open(&place, &["--read-only"]);
    let shown = read_only.get(path).body;
    assert!(shown.contains(" readonly") && !shown.contains("class=\"primary\""), "{shown}");
    assert_eq!(read_only.post(path, &edited(&shown, &mine)).status, 403);
}

#[test]
fn tests_run_from_the_editor() {
    let place = place();
    place.tool(
        "greet",
        &format!("{TOOL}tests:\n- {{name: good, parameters: {{WHO: you}}, expected: {{output-contains: you}}}}\n- {{name: bad, parameters: {{WHO: you}}, expected: {{output-contains: me}}}}\n"),
    );
    let page = Page::open(&place, &[]);
    let shown = page.get("/tool/greet/edit").body;
    assert!(shown.contains("name=\"test\" value=\"good\"") && !shown.contains("passed"), "{shown}");
    let one = page.post("/tool/greet/edit/test", "test=good").body;
    assert!(one.contains("passed") && !one.contains("failed"), "{one}");
    let all = page.post("/tool/greet/edit/test", "").body;
    assert!(all.contains("passed") && all.contains("failed") && all.contains("output with"), "{all}");
    // A test is a call like others: what a rule denies doesn't run.
    assert_eq!(place.run(&["policy", "add", "deny", "greet", "--user"]).code(), 0);
    let denied = page.post("/tool/greet/edit/test", "test=good").body;
    assert!(!denied.contains("passed") && denied.contains("is not allowed to run here"), "{denied}");
}

#[test]
fn costs_are_listed_with_a_plan_that_fits() {
    let place = place();
    let page = Page::open(&place, &[]);
    let costs = page.get("/costs").body;
    assert!(costs.contains("href=\"/tool/greet\"") && !costs.contains("A plan for"), "{costs}");
    let tokens = place.run(&["tools", "tokens", "--format", "json"]).stdout();
    let tokens: serde_json::Value = serde_json::from_str(&tokens).expect("JSON");
    let total = tokens["total_tokens"].as_u64().expect("a number");
    let shown = costs.replace(',', "");
    assert!(shown.contains(&format!("<strong>{total}</strong> tokens")), "{costs}");
    let plan = page.get("/costs?max=500").body;
    assert!(
        plan.contains("A plan for 500 tokens") && plan.contains("turn off") && plan.contains("cycod tools disable"),
        "{plan}"
    );
    let fits = page.get("/costs?max=100000&dialect=openai").body;
    assert!(fits.contains("The tools fit."), "{fits}");
    let wrong = page.get("/costs?max=%3Cb%3Emany").body;
    assert!(wrong.contains("isn&#39;t a number of tokens") || wrong.contains("isn't a number of tokens"), "{wrong}");
    assert!(!wrong.contains("<b>many"));
}

#[test]
fn the_machine_is_checked() {
    let place = place();
    let page = Page::open(&place, &[]);
    let quick = page.get("/machine").body;
    assert!(quick.contains("No program was started for this.") && quick.contains("confinement"), "{quick}");
    assert_eq!(place.run(&["runs", "list", "--all", "--format", "json"]).stdout().trim(), "[]", "looking runs nothing");
    let whole = page.post("/machine", "").body;
    assert!(!whole.contains("No program was started") && whole.contains("bash"), "{whole}");
    // What a rule asks about is not started from here.
    assert_eq!(place.run(&["policy", "add", "ask", "cli_check_environment", "--user"]).code(), 0);
    let asked = page.post("/machine", "").body;
    assert!(asked.contains("cycod doctor") && asked.contains("No program was started"), "{asked}");
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
fn rules_are_shown_with_their_origin_and_tested() {
    let place = place();
    place.write(".cycod/policy.yaml", "rules:\n- deny: greet(WHO=<b>)\n  why: no markup\n- allow: write\n");
    let page = Page::open(&place, &[]);
    let rules = page.get("/policy").body;
    assert!(rules.contains("greet(WHO=&lt;b&gt;)") && rules.contains("no markup"), "{rules}");
    assert!(rules.contains(".cycod/policy.yaml:2"), "{rules}");
    // What came with the project allows nothing until its user agrees, and the page says how.
    assert!(rules.contains("cycod policy accept"), "{rules}");

    assert_eq!(page.get("/policy/test?tool=nothing").status, 404);
    let form = page.get("/policy/test?tool=greet").body;
    assert!(form.contains("name=\"arg.WHO\"") && form.contains("any call of the tool"), "{form}");
    let denied = page.post("/policy/test/greet", "arg.WHO=%3Cb%3E").body;
    assert_eq!(denied.matches("</span>deny</span>").count(), 3, "{denied}");
    assert!(denied.contains("no markup"), "{denied}");
    let allowed = page.post("/policy/test/greet", "arg.WHO=you").body;
    assert_eq!(allowed.matches("</span>allow</span>").count(), 3, "{allowed}");
    let wrong = page.post("/policy/test/greet", "arg.WHO=you&arg.COUNT=500").body;
    assert!(wrong.contains("is more than the maximum 9"), "{wrong}");
    assert_eq!(place.run(&["runs", "list", "--format", "json"]).stdout().trim(), "[]", "nothing ran");
}

#[test]
fn a_change_of_rules_is_compared_with_the_calls_that_were_made() {
    let place = place();
    place.tool("shout", "description: d\nbash: echo {WORD}\nparameters: {WORD: {type: string, description: w, sensitive: true}}\ntags: [write]\n");
    assert_eq!(place.run(&["policy", "add", "deny", "shout", "--user", "--for", "mcp"]).code(), 0);
    let page = Page::open(&place, &[]);
    let none = page.get("/policy?verdict=deny&pattern=greet").body;
    assert!(none.contains("No calls yet in this project"), "{none}");
    for who in ["a", "b", "c"] {
        assert_eq!(place.run(&["run", "greet", &format!("WHO={who}")]).code(), 0);
    }
    assert_eq!(place.run(&["run", "shout", "WORD=x"]).code(), 0);
    let narrow = page.get("/policy?verdict=deny&pattern=greet(WHO%3Db)").body;
    assert!(narrow.contains("<strong>1 of the last 4 calls</strong>"), "{narrow}");
    let broad = page.get("/policy?verdict=ask&pattern=greet").body;
    assert!(broad.contains("<strong>3 of the last 4 calls</strong>"), "{broad}");
    assert!(broad.contains("cycod policy add ask greet --user"), "{broad}");
    let others = page.get("/policy?verdict=deny&pattern=greet&for=model").body;
    assert!(others.contains("Nothing would have been different"), "{others}");
    // A value that the history doesn't hold may be anything, so a rule about it may apply.
    let withheld = page.get("/policy?verdict=deny&pattern=shout(WORD%3Dz)").body;
    assert!(withheld.contains("<strong>1 of the last 4 calls</strong>"), "{withheld}");
    // Without a rule that is there.
    let rules: serde_json::Value =
        serde_json::from_str(&place.run(&["policy", "list", "--format", "json"]).stdout()).expect("JSON");
    let at = rules[0]["place"].as_str().expect("a place").replace('/', "%2F");
    let removed = page.get(&format!("/policy?instead={at}")).body;
    assert!(
        removed.contains("Nothing would have been different") && removed.contains("cycod policy remove"),
        "{removed}"
    );
    let wrong = page.get("/policy?verdict=deny&pattern=greet(").body;
    assert!(wrong.contains("aria-invalid=\"true\"") && !wrong.contains("id=\"outcome\""), "{wrong}");
    let unknown = page.get("/policy?verdict=deny&pattern=gret").body;
    assert!(unknown.contains("did you mean <code>greet</code>?"), "{unknown}");
    let after: serde_json::Value =
        serde_json::from_str(&place.run(&["policy", "list", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(rules, after, "nothing is changed");
}

#[test]
fn read_only_pages_do_nothing() {
    let place = place();
    let page = Page::open(&place, &["--read-only"]);
    assert!(!page.get("/tool/greet").body.contains("class=\"primary\""));
    assert_eq!(page.post("/tool/greet/run", "arg.WHO=x&run=1").status, 403);
    for path in ACTIONS.into_iter().chain(["/approvals/abcdefgh"]) {
        assert_eq!(page.post(path, "answer=once").status, 403, "{path}");
    }
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

/// A request that comes between a page and its stream reaches the page.
#[test]
fn a_request_that_comes_before_the_stream_is_not_missed() {
    let place = Place::with_tool("mark", "description: d\nbash: echo done >> marks\ntags: [run]\n");
    let page = Page::open(&place, &[]);
    let live = page.stream_of("/approvals");
    let mut client = Client::legacy(&place, &["--wait-for-approval", "60"], serde_json::json!({}));
    std::thread::scope(|scope| {
        let called = scope.spawn(move || client.call("mark", serde_json::json!({})));
        until("it waits", || page.get("/approvals").body.contains("action=\"/approvals/"));
        page.wait_for(&live, "/approvals/");
        let body = page.get("/approvals").body;
        let id = body.split("action=\"/approvals/").nth(1).and_then(|rest| rest.split('"').next()).expect("one");
        let answer = format!("answer=no&card={}", hidden(&body, "card"));
        assert_eq!(page.post(&format!("/approvals/{id}"), &answer).status, 303);
        called.join().expect("an answer");
    });
}

/// So does a run, which leads to older ones without what was only for the stream.
#[test]
fn a_run_that_comes_before_the_stream_is_not_missed() {
    let place = place();
    let page = Page::open(&place, &[]);
    let live = page.stream_of("/runs");
    assert_eq!(place.run(&["run", "greet", "WHO=you"]).code(), 0);
    let told = page.wait_for(&live, "greet");
    assert!(!told.contains("seen="), "{told}");
}
