//! Other servers at which each user has their own login: who calls there is who called here, and nobody else.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use cycod_engine::{
    Engine, RemoteCall, Remotes, Stop,
    definition::{Host, RemoteTool},
    diagnostic::Code,
    host,
};
use cycod_mcp_client::{Account, Identity, RemoteServers};
use cycod_mcp_server::{Equip, HttpAccess, ServerOptions, Upstreams};
use cycod_process::{Conversation, ProcessLimits, Program, find_program};
use serde_json::{Value as Json, json};

use crate::{
    bed::{Bed, PATIENCE, head_of, http, modern_ask, until},
    oauth::ISSUER,
    owners::Place,
};

/// A server that says who it thinks calls.
struct Upstream {
    port: u16,
    _program: Conversation,
}

impl Upstream {
    fn new(how: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/upstream.py");
        let path = host::current().unwrap().environment["PATH".as_ref() as &std::ffi::OsStr].clone();
        let python = find_program("python3".as_ref(), &path, Path::new("/")).unwrap();
        let program = Program::new(python, "/").env("PATH", path).arg("-u").arg(script).arg(how);
        let (program, streams) = Conversation::start(program, ProcessLimits::default()).unwrap();
        let mut port = String::new();
        BufReader::new(streams.stdout).read_line(&mut port).unwrap();
        Self { port: port.trim().parse().unwrap(), _program: program }
    }

    /// The entry that leads to it.
    fn entry(&self, more: &Json) -> Json {
        let mut entry = json!({"url": format!("http://127.0.0.1:{}/mcp", self.port), "levels": {"*": "read"}});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        json!({"mcpServers": {"tracker": entry}})
    }

    /// Every `Authorization` that it was sent.
    fn seen(&self) -> Vec<String> {
        let answer = get(&format!("http://127.0.0.1:{}/seen", self.port));
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }

    fn touch(&self, user: &str) {
        get(&format!("http://127.0.0.1:{}/touch?user={user}", self.port));
    }
}

fn get(address: &str) -> String {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // What it did not read makes it a reset.
    _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn account(user: &str) -> Account {
    Account::user(&format!("{ISSUER}#{user}")).unwrap()
}

/// The servers of a place, for its owner.
fn servers(host: &Host) -> Arc<RemoteServers> {
    let engine = Engine::builder(host.clone()).build();
    RemoteServers::of(&engine, Arc::new(cycod_mcp_client::NoPerson)).expect("a server is configured")
}

/// Does what a browser does whose user logs in as `user`.
fn login(servers: &Arc<RemoteServers>, account: &Account, user: &'static str) {
    let browse = move |address: &str| {
        let answer = get(&format!("{address}&user={user}"));
        let back =
            answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_else(|| panic!("{answer}"));
        get(back);
        None
    };
    servers.of_account(account).login("tracker", Identity::default(), Arc::new(browse)).unwrap();
}

/// Configures a server of ours that uses the other one; returns the host where it is.
fn configure(options: &mut ServerOptions, entry: &Json) -> Host {
    let home = options.host.home.clone();
    let project = home.join("project");
    fs::create_dir(&project).unwrap();
    fs::write(home.join(".cycod/mcp.json"), entry.to_string()).unwrap();
    let workflow =
        "description: Asks on the way\ntags: [read]\nsteps:\n  - name: ask\n    use-tool: mcp_tracker_whoami\n";
    fs::write(home.join(".cycod/tools/on_the_way.yaml"), format!("name: on_the_way\n{workflow}")).unwrap();
    options.host.working_directory.clone_from(&project);
    options.host.workspace = project;
    options.watched = vec![home.join(".cycod/cache/mcp"), home.join(".cycod/mcp/accepted")];
    let all: Arc<OnceLock<Arc<RemoteServers>>> = Arc::default();
    let known = Arc::clone(&all);
    let here = options.host.clone();
    options.upstreams =
        Some(Upstreams(Arc::new(move |_, account| Some(known.get_or_init(|| servers(&here)).of_account(account)))));
    let here = options.host.clone();
    options.equip = Some(Equip(Arc::new(move |engine, account| {
        all.get_or_init(|| servers(&here)).of_account(account).adopt_into(engine)
    })));
    options.host.clone()
}

fn place(entry: &Json) -> (Place, Host) {
    let mut here = None;
    let place = Place::with(|options| here = Some(configure(options, entry)));
    (place, here.unwrap())
}

fn names<'a>(answer: &'a Json, list: &str) -> Vec<&'a str> {
    let members = answer["said"]["result"][list].as_array().unwrap_or_else(|| panic!("{answer}"));
    members.iter().filter_map(|member| member["uri"].as_str().or(member["name"].as_str())).collect()
}

/// What a call of a tool says.
fn said(answer: &Json) -> String {
    let text = answer["said"]["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn who(place: &Place, user: &str) -> String {
    said(&place.call(user, "mcp_tracker_whoami", &json!({})))
}

#[test]
fn each_user_is_themselves_at_another_server() {
    let upstream = Upstream::new("closed");
    let (place, host) = place(&upstream.entry(&json!({"overrides": {"*": {"cache": 60_000}}})));
    let owner = servers(&host);
    login(&owner, &Account::Owner, "boss");
    login(&owner, &account("ann"), "ann");
    login(&owner, &account("bob"), "bob");

    // Answers that are kept, connections and the steps of workflows are each user's own.
    for user in ["ann", "bob", "ann", "bob"] {
        assert_eq!(who(&place, user), format!("you are {user}"));
        assert!(said(&place.call(user, "on_the_way", &json!({}))).contains(&format!("you are {user}")), "{user}");
    }
    for (user, other) in [("ann", "bob"), ("bob", "ann")] {
        let tools = place.ask(user, "tools/list", &json!({}));
        let tools = names(&tools, "tools");
        assert!(tools.contains(&&*format!("mcp_tracker_of_{user}")), "{tools:?}");
        assert!(!tools.iter().any(|tool| tool.contains(other) || tool.contains("boss")), "{tools:?}");
        let prompts = place.ask(user, "prompts/list", &json!({}));
        assert!(names(&prompts, "prompts").contains(&&*format!("mcp_tracker_prompt_{user}")), "{prompts}");
        let resources = place.ask(user, "resources/list", &json!({}));
        assert_eq!(names(&resources, "resources"), ["note:mine", &format!("note:{user}")]);
        let read = |uri: &str| place.ask(user, "resources/read", &json!({"uri": uri}))["said"].clone();
        assert_eq!(read("note:mine")["result"]["contents"][0]["text"], format!("you are {user}"));
        // A link that one was shown leads nowhere for another.
        assert_eq!(read(&format!("secret:{user}"))["result"]["contents"][0]["text"], format!("you are {user}"));
        assert!(read(&format!("secret:{other}"))["error"].is_object());
        assert!(read(&format!("note:{other}"))["error"].is_object());
        let prompt = place.ask(user, "prompts/get", &json!({"name": format!("mcp_tracker_prompt_{user}")}));
        assert_eq!(prompt["said"]["result"]["messages"][0]["content"]["text"], format!("you are {user}"));
        let called = place.call(user, &format!("mcp_tracker_of_{other}"), &json!({}));
        assert!(called["said"]["error"].is_object(), "{called}");
    }
    let tool = RemoteTool::new("tracker", "whoami");
    let of_owner = owner.call_tool(&tool, &[], &Stop::new().unwrap(), PATIENCE).unwrap();
    assert!(of_owner.output.starts_with(b"you are boss"));

    // What is sent there was given there: no token that we were sent is passed on.
    let seen = upstream.seen();
    assert!(seen.iter().all(|sent| sent.is_empty() || sent.starts_with("Bearer sesame-")), "{seen:?}");
    assert!(seen.iter().any(|sent| sent.starts_with("Bearer sesame-ann")));
}

#[test]
fn who_has_no_login_there_is_told_how_to_get_one() {
    for how in ["closed", "open"] {
        let upstream = Upstream::new(how);
        let (place, host) = place(&upstream.entry(&json!({})));
        let owner = servers(&host);
        login(&owner, &Account::Owner, "boss");
        login(&owner, &account("ann"), "ann");
        let refused = |user: &str| {
            let answer = place.call(user, "mcp_tracker_whoami", &json!({}));
            let told = said(&answer);
            assert!(told.contains("\"code\":\"login-needed\""), "{how}: {answer}");
            told
        };
        let told = refused("carol o'hara");
        assert!(
            told.contains("`tracker`")
                && told.contains(&format!("cycod mcp login tracker --as '{ISSUER}#carol o'\\\\''hara'")),
            "{told}"
        );
        if how == "closed" {
            let told = place.ask("carol", "server/discover", &json!({}));
            let told = told["said"]["result"]["instructions"].as_str().unwrap();
            assert!(told.contains(&format!("cycod mcp login tracker --as '{ISSUER}#carol'")), "{told}");
        }
        refused("carol");
        // Another process logs in for her; it counts at once, and as long as it is there.
        let elsewhere = servers(&host);
        login(&elsewhere, &account("carol"), "carol");
        elsewhere.of_account(&account("carol")).visit("tracker").unwrap();
        let begun = Instant::now();
        while place.call("carol", "mcp_tracker_whoami", &json!({}))["said"]["result"]["isError"] != false {
            assert!(begun.elapsed() < PATIENCE, "{how}: {}", place.call("carol", "mcp_tracker_whoami", &json!({})));
        }
        assert_eq!(who(&place, "carol"), "you are carol");
        assert_eq!(who(&place, "ann"), "you are ann");
        assert_eq!(elsewhere.of_account(&account("carol")).logout("tracker"), Ok(true));
        refused("carol");
        assert_eq!(who(&place, "ann"), "you are ann");
    }
}

#[test]
fn a_login_belongs_to_its_user_wherever_its_file_lies() {
    let upstream = Upstream::new("closed");
    let (_place, host) = place(&upstream.entry(&json!({})));
    let owner = servers(&host);
    login(&owner, &account("ann"), "ann");
    let directory = host.home.join(".cycod/mcp/logins");
    let file = fs::read_dir(&directory)
        .unwrap()
        .flatten()
        .find(|file| file.path().extension().is_some_and(|end| end == "json"))
        .unwrap();
    let of_ann = fs::read(file.path()).unwrap();
    login(&owner, &account("bob"), "bob");
    for file in fs::read_dir(&directory)
        .unwrap()
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|end| end == "json"))
    {
        fs::write(file.path(), &of_ann).unwrap();
    }
    let call = |user: &str| {
        let servers = servers(&host).of_account(&account(user));
        servers.call_tool(&RemoteTool::new("tracker", "whoami"), &[], &Stop::new().unwrap(), PATIENCE)
    };
    assert!(call("ann").unwrap().output.starts_with(b"you are ann"));
    assert_eq!(call("bob").unwrap_err().code, Code::LoginNeeded);
}

#[test]
fn a_run_calls_as_its_principal_whoever_opened_the_place() {
    let upstream = Upstream::new("closed");
    let (_place, host) = place(&upstream.entry(&json!({})));
    let owner = servers(&host);
    login(&owner, &Account::Owner, "boss");
    login(&owner, &account("ann"), "ann");
    let call = |servers: &RemoteServers, principal: &str| {
        let (tool, stop) = (RemoteTool::new("tracker", "whoami"), Stop::new().unwrap());
        let deadline = Instant::now() + PATIENCE;
        let call = RemoteCall { tool: &tool, arguments: &[], stop: &stop, deadline, trace: &[], principal };
        let outcome = servers.call(&call, &mut |_| {});
        outcome
            .map(|outcome| String::from_utf8(outcome.output).unwrap().lines().next().unwrap_or_default().to_owned())
            .map_err(|refusal| refusal.code)
    };
    assert_eq!(call(&owner, "local"), Ok("you are boss".to_owned()));
    assert_eq!(call(&owner, &format!("{ISSUER}#ann")), Ok("you are ann".to_owned()));
    for other in [
        "anyone",
        "token:12",
        "ann",
        &format!("{ISSUER}#bob"),
        &format!("{ISSUER} client ann"),
        "https://issuer.example.evil#ann",
    ] {
        assert_eq!(call(&owner, other), Err(Code::LoginNeeded), "{other}");
    }
    let of_ann = owner.of_account(&account("ann"));
    assert_eq!(call(&of_ann, "local"), Err(Code::InternalError));
    assert_eq!(call(&of_ann, &format!("{ISSUER}#bob")), Err(Code::InternalError));
}

#[test]
fn credentials_are_shared_only_where_the_entry_says_so() {
    let upstream = Upstream::new("closed");
    let (place, host) = place(&upstream.entry(&json!({"credentials": "shared"})));
    let owner = servers(&host);
    owner.visit("tracker").unwrap_err();
    login(&owner, &Account::Owner, "boss");
    owner.visit("tracker").unwrap();
    until(PATIENCE, "it is listed", || {
        place.ask("ann", "tools/list", &json!({})).to_string().contains("mcp_tracker_whoami")
    });
    assert_eq!((who(&place, "ann"), who(&place, "bob")), ("you are boss".to_owned(), "you are boss".to_owned()));

    // A client without a user has no login, and does not get the owner's.
    let upstream = Upstream::new("closed");
    let mut here = None;
    let bed = Bed::equipped(
        {
            let mut http = http();
            http.access = HttpAccess::Anyone;
            http
        },
        |options| {
            here = Some(configure(options, &upstream.entry(&json!({}))));
        },
    );
    login(&servers(&here.unwrap()), &Account::Owner, "boss");
    let params = json!({"name": "mcp_tracker_whoami", "arguments": {}});
    let answer = bed.post(&head_of("tools/call", "mcp_tracker_whoami"), &modern_ask("tools/call", &params)).message();
    let told = answer.to_string();
    assert!(told.contains("login-needed") && told.contains("--oauth-issuer") && told.contains("shared"), "{told}");
}

#[test]
fn what_changes_for_one_user_is_told_to_nobody_else() {
    let upstream = Upstream::new("closed");
    let (place, host) = place(&upstream.entry(&json!({})));
    let owner = servers(&host);
    let listen = |user: &'static str| {
        login(&owner, &account(user), user);
        assert_eq!(who(&place, user), format!("you are {user}"));
        let filter = json!({"notifications": {"resourceSubscriptions": ["note:mine"]}});
        let bearer = place.bearer(user);
        let mut headers = head_of("subscriptions/listen", "").to_vec();
        headers.push(("Authorization", &bearer));
        let stream = place.bed.begin(&headers, &modern_ask("subscriptions/listen", &filter));
        stream.set_read_timeout(Some(Duration::from_millis(1_500))).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while !line.contains("acknowledged") {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it is acknowledged");
        }
        reader
    };
    let (mut ann, mut bob) = (listen("ann"), listen("bob"));
    let hears = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        loop {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(read) if read > 0 && line.contains("resources/updated") => return true,
                Ok(read) if read > 0 => {}
                _ => return false,
            }
        }
    };
    // The other server knows of the subscription a little later.
    let begun = Instant::now();
    loop {
        upstream.touch("ann");
        if hears(&mut ann) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "ann hears of hers");
    }
    assert!(!hears(&mut bob), "bob hears of what is ann's");
    upstream.touch("bob");
    assert!(hears(&mut bob), "bob hears of his");
}

#[test]
fn what_the_owner_accepted_counts_for_every_user_and_the_rest_waits() {
    let upstream = Upstream::new("closed");
    let (place, host) = place(&upstream.entry(&json!({})));
    let owner = servers(&host);
    login(&owner, &Account::Owner, "boss");
    owner.visit("tracker").unwrap();
    login(&owner, &account("ann"), "ann");
    assert_eq!(who(&place, "ann"), "you are ann");
    let refused = said(&place.call("ann", "mcp_tracker_of_ann", &json!({})));
    assert!(refused.contains("definition-changed"), "{refused}");
    assert!(refused.contains(&format!("cycod mcp accept tracker --as '{ISSUER}#ann'")), "{refused}");

    // What is accepted for one user is not accepted for another, and not taken from the owner.
    let of_ann = servers(&host).of_account(&account("ann"));
    let proposals = of_ann.proposals("tracker").unwrap();
    of_ann.accept("tracker", &proposals).unwrap();
    until(PATIENCE, "it is accepted", || {
        said(&place.call("ann", "mcp_tracker_of_ann", &json!({}))).starts_with("you are ann")
    });
    assert!(owner.known_proposals("tracker").unwrap().is_empty());
    login(&owner, &account("bob"), "bob");
    assert_eq!(who(&place, "bob"), "you are bob");
    assert!(said(&place.call("bob", "mcp_tracker_of_bob", &json!({}))).contains("definition-changed"));
}
