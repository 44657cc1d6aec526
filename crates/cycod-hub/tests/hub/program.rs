//! The program `cycod-hub`, as its administrator uses it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use cycod_hub::HubKey;
use cycod_team_sync::{DeviceKey, EnrolmentProof, ReviewDesk as _, TeamHub, find_hub};

use crate::{
    scratch::Postgres,
    support::{Signer, root, stable},
};

#[expect(clippy::disallowed_methods, reason = "the program itself is what is tried")]
fn program(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cycod-hub"));
    command.args(words).current_dir(directory);
    command
}

/// Runs the program to its end; returns what it printed.
#[track_caller]
pub(crate) fn done(directory: &Path, words: &[&str]) -> String {
    let output = program(directory, words).output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
pub(crate) fn fails(directory: &Path, words: &[&str], says: &str) {
    let output = program(directory, words).output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(says), "{says}: {error}");
}

/// A hub that runs until it is dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(directory: &Path) -> Self {
        let words = ["serve", "--data", "data", "--listen", "127.0.0.1:0"];
        let mut child = program(directory, &words).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let url = line.trim().rsplit(' ').next().expect("an address").to_owned();
        assert!(line.starts_with("The hub of acme is at http://127.0.0.1:"), "{line}");
        Self { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Begins a hub, with a root that lets its key sign.
pub(crate) fn begin(directory: &Path, more: &[&str]) {
    let words: Vec<&str> = ["init", "--data", "data"].iter().chain(more).copied().collect();
    assert!(done(directory, &words).contains("--release-key data/release.key.pub"));
    fails(directory, &words, "has a hub already");
    fails(directory, &["serve", "--data", "data"], "the hub has no root yet");
    let key = HubKey::read(&directory.join("data/release.key")).expect("a key");
    let (files, _) = root(&key.public().expect("a key"));
    fs::create_dir_all(directory.join("out/root")).expect("a directory");
    for (path, bytes) in files {
        fs::write(directory.join("out").join(path), bytes).expect("a file");
    }
    assert_eq!(done(directory, &["root", "--data", "data", "out"]), "Root 1 of acme is in force\n");
    for name in ["ada", "dana"] {
        let key = serde_json::to_value(Signer::new(name).key()).expect("JSON");
        fs::write(directory.join(format!("{name}.pub")), key.as_str().expect("text")).expect("a file");
    }
    let add = ["member", "add", "--data", "data", "ada@example.com", "--key", "ada.pub"];
    assert_eq!(done(directory, &add), "ada@example.com is a member\n");
    let add = ["member", "add", "--data", "data", "dana", "--key", "dana.pub", "--admin"];
    assert_eq!(done(directory, &add), "dana is a member who can release\n");
}

fn with<'a>(words: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [words, more].concat()
}

fn whole(more: &[&str]) {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path();
    begin(directory, more);
    let mode = |path: PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(directory.join("data")), 0o700, "the tools may not be for everyone's eyes");
    assert_eq!(mode(directory.join("data/release.key")), 0o600);
    let token = done(directory, &["token", "--data", "data", "dana"]);
    let served = Served::start(directory);
    let (address, _) = find_hub(&served.url.parse().expect("an address")).expect("it answers").expect("a hub");
    let hub = TeamHub::open(address, DeviceKey::generate().expect("a key")).expect("a client");
    assert_eq!(hub.enrol(&EnrolmentProof::Token(token.trim().to_owned())), Ok("dana".to_owned()));
    assert_eq!(hub.release(&stable(), 1).expect("a release").number, 2);

    // While it runs, members come and go.
    let list = done(directory, &["member", "list", "--data", "data"]);
    assert!(list.contains("member  ada@example.com") && list.contains("admin   dana"), "{list}");
    assert_eq!(done(directory, &["member", "remove", "--data", "data", "dana"]), "dana is no longer a member\n");
    let error = hub.proposals().expect_err("removed");
    assert!(error.message.contains("doesn't know this device"), "{error}");
    fails(directory, &["member", "remove", "--data", "data", "dana"], "there is no member `dana`");
    fails(directory, &["token", "--data", "data", "eve"], "there is no member `eve`");
    let audit = done(directory, &["audit", "--data", "data"]);
    assert!(audit.contains(" dana release 2") && audit.contains("console remove dana"), "{audit}");
    assert_eq!(audit.lines().count(), 9, "eight rows, and the digest of the last: {audit}");

    // Who logs in as whom, and where.
    let subject = ["member", "subject", "--data", "data", "ada@example.com"];
    let ada = "https://login.example#248289";
    assert_eq!(done(directory, &with(&subject, &[ada])), format!("ada@example.com logs in as {ada}\n"));
    let list = done(directory, &["member", "list", "--data", "data"]);
    assert!(list.lines().any(|line| line.starts_with("member  ada@") && line.ends_with(ada)), "{list}");
    assert_eq!(list.matches("logs in as").count(), 1, "{list}");
    assert_eq!(done(directory, &with(&subject, &["--none"])), "ada@example.com can't join with a login\n");
    fails(directory, &with(&subject, &["248289"]), "a subject is written as ISSUER#SUBJECT");
    fails(directory, &with(&subject, &["login.example#248289"]), "a subject is written as ISSUER#SUBJECT");
    fails(directory, &subject, "<ISSUER#SUBJECT>");
    let serve = ["serve", "--data", "data", "--listen", "127.0.0.1:0"];
    let [issuer, client] = [["--oauth-issuer", "http://login.example"], ["--oauth-client", "cycod"]];
    let audience = ["--oauth-audience", "https://hub.example"];
    fails(directory, &with(&serve, &[issuer, audience].concat()), "--oauth-client <ID>");
    fails(directory, &with(&serve, &[issuer, client].concat()), "--oauth-audience <URL>");
    fails(directory, &with(&serve, &audience), "--oauth-issuer <URL>");
    fails(directory, &with(&serve, &[issuer, audience, client].concat()), "`http://login.example` is not");

    // A wrong address of the issuer is an error before someone logs in.
    let mut command =
        program(directory, &with(&serve, &["--oauth-issuer", "http://127.0.0.1:1", "--oauth-client", "x"]));
    let mut child = command.args(audience).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(
        line.starts_with("error: logins don't work yet: no keys for access tokens in `http://127.0.0.1:1`"),
        "{line}"
    );
    child.kill().expect("it runs");
    _ = child.wait();

    // After a restart, all of it is there.
    drop(served);
    let served = Served::start(directory);
    assert!(find_hub(&served.url.parse().expect("an address")).expect("it answers").is_some());
    assert_eq!(done(directory, &["recover", "--data", "data", "--after", "7"]), "Made release 8 of acme\n");
    fails(directory, &["recover", "--data", "data", "--after", "7"], "a higher number than 7");
    assert_eq!(done(directory, &["root", "--data", "data", "out"]), "Root 1 of acme is in force\n");
}

#[test]
fn an_administrator_begins_a_hub_and_looks_after_it() {
    whole(&[]);
}

#[test]
fn the_same_with_postgresql() {
    let server = Postgres::start();
    whole(&["--database", &server.url()]);
}

#[test]
fn a_database_that_asks_for_encryption_is_refused_at_once() {
    let scratch = tempfile::tempdir().expect("a directory");
    let words = ["init", "--data", "data", "--database", "postgres://hub@127.0.0.1/hub?sslmode=require"];
    fails(scratch.path(), &words, "doesn't connect with sslmode=require");
    assert!(!scratch.path().join("data/release.key").exists());
}

/// A program in the place of `cycod`, which says how it was started and ends with the file `stop`.
const STANDING_IN: &str = "#!/bin/sh\necho $$ > \"$CYCOD_HOME/pid\"\necho \"$CYCOD_HOME $*\" >> log\n\
     [ \"$2\" = join ] || while [ ! -e stop ]; do sleep 0.05; done\n";

/// Puts it on a search path of its own.
fn with_workers(directory: &Path) -> String {
    let bin = directory.join("bin");
    fs::create_dir(&bin).expect("a directory");
    fs::write(bin.join("cycod"), STANDING_IN).expect("a program");
    fs::set_permissions(bin.join("cycod"), fs::Permissions::from_mode(0o755)).expect("permissions");
    format!("{}:/usr/bin:/bin", bin.display())
}

#[test]
fn a_hub_to_try_workers() {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path();
    let begin = |words: &[&str], path: &str| {
        let mut command = program(directory, words);
        command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let words = ["dev", "--data", "data", "--listen", "127.0.0.1:0"];
    fails(directory, &["dev", "--data", "data", "--listen", "0.0.0.0:0"], "on this machine only");
    assert!(!directory.join("data").exists());
    let ended = begin(&words, "/nowhere").wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("workers are processes of `cycod`"), "{said}");

    let mut child = begin(&words, &with_workers(directory));
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let url = lines.next().expect("a line").rsplit(' ').next().expect("an address").to_owned();
    let join = lines.find(|line| line.contains("team join")).expect("how to join");
    let words: Vec<&str> = join.split_whitespace().collect();
    assert_eq!((&words[..4], words[4], words[6]), (&["cycod", "team", "join", &*url][..], "--token", "--root"));

    // The token and the root are those of the hub.
    let (address, team) = find_hub(&url.parse().expect("an address")).expect("it answers").expect("a hub");
    assert_eq!(team, "dev");
    let device = DeviceKey::generate().expect("a key");
    let hub = TeamHub::open(address.clone(), device.clone()).expect("a client");
    assert_eq!(hub.enrol(&EnrolmentProof::Token(words[5].to_owned())).expect("a device"), "you");
    let place = cycod_catalog::TeamPlace::within(directory, false);
    let store = cycod_team_sync::TeamStore::with_device(place, device);
    let root = words[7].parse().expect("a digest");
    let source = cycod_team_sync::TeamSource::Web(address);
    assert!(store.fetch(&source, Some(root), &stable(), jiff::Timestamp::now()).is_ok());

    // Its workers have homes of their own; with their end, it ends.
    let log = || fs::read_to_string(directory.join("data/log")).unwrap_or_default();
    let began = std::time::Instant::now();
    while log().lines().count() < 4 {
        assert!(began.elapsed().as_secs() < 60, "{}", log());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for number in 1..=2 {
        let home = directory.join(format!("data/worker-{number}"));
        assert!(log().contains(&format!("{} worker join {url} --token ", home.display())), "{}", log());
        assert!(log().lines().any(|line| line == format!("{} worker", home.display())), "{}", log());
    }
    fs::write(directory.join("data/stop"), "").expect("a file");
    assert!(child.wait().expect("it ends").success());
}

/// A worker that was killed starts again, and none outlives the hub, whatever ends that.
#[test]
fn a_hub_to_try_keeps_its_workers() {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path();
    let mut command = program(directory, &["dev", "--data", "data", "--listen", "127.0.0.1:0"]);
    command.env("PATH", with_workers(directory)).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let log = || fs::read_to_string(directory.join("data/log")).unwrap_or_default();
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let began = std::time::Instant::now();
        while !holds() {
            assert!(began.elapsed().as_secs() < 60, "{what}: {}", log());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let pid = |number: usize| {
        let path = directory.join(format!("data/worker-{number}/pid"));
        fs::read_to_string(path).unwrap_or_default().trim().to_owned()
    };
    #[expect(clippy::disallowed_methods, reason = "no program under test, but the one that kills it")]
    let kill = |pid: &str| {
        assert!(Command::new("/bin/kill").args(["-9", pid]).status().expect("it starts").success());
    };
    until("both begin", &|| log().lines().count() == 4);
    // One that ends at once isn't started again.
    std::thread::sleep(std::time::Duration::from_millis(3_100));
    let killed = pid(1);
    kill(&killed);
    let said = lines.find(|line| line.starts_with("worker-1 ended")).expect("it says so");
    assert_eq!(said, "worker-1 ended (signal: 9 (SIGKILL)), and starts again");
    until("it starts again", &|| log().lines().count() == 5 && pid(1) != killed);

    child.kill().expect("it is killed");
    drop(child.wait());
    // Nobody may collect it any more.
    let is_gone =
        |number| fs::read_to_string(format!("/proc/{}/stat", pid(number))).map_or(true, |stat| stat.contains(") Z "));
    until("the workers end", &|| is_gone(1) && is_gone(2));
}

/// What durable runs need is found or named, and nothing of it may be open to other machines.
#[test]
fn an_administrator_learns_what_durable_runs_need() {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path();
    begin(directory, &[]);
    fails(directory, &["serve", "--data", "data", "--restate", "192.0.2.1:8080"], "has to be on this machine");
    fails(directory, &["conductor", "--data", "data", "--admin", "192.0.2.1:9070"], "has to be on this machine");
    fails(directory, &["conductor", "--data", "data", "--listen", "0.0.0.0:0"], "listens there only");
    assert!(!directory.join("data/restate.pem").exists());

    let restate = answering();
    let here = restate.to_string();
    let examined = |path: &Path, at: &str| {
        let words = ["doctor", "--data", "data", "--restate", at, "--admin", at];
        let output = program(directory, &words).env("PATH", path).output().expect("it starts");
        (output.status.success(), String::from_utf8(output.stdout).expect("text"))
    };
    let (is_well, said) = examined(Path::new("/nowhere"), &here);
    assert!(!is_well, "{said}");
    for line in [
        "warning  cycod: it isn't on the search path",
        "problem  restate-server: neither on the search path nor in `node_modules`",
        "         try: npm i @restatedev/restate-server-",
        "ok       hub: acme, in data\n",
        "ok       database: SQLite\n",
        "ok       clock: 20",
        "warning  workers: there are none",
        "problem  identity key: data/restate.pem isn't there yet: the conductor makes it",
        "warning  restate.toml: data/restate.toml: No such file",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }

    let os = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let package = format!("node_modules/@restatedev/restate-server-{os}");
    for (path, text) in [
        (directory.join("bin/cycod"), STANDING_IN),
        (directory.join(package).join("bin/restate-server"), "#!/bin/sh\necho restate-server 1.7.12\n"),
    ] {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    _ = cycod_hub::RestateKey::of(&directory.join("data")).expect("a key");
    let configured = |text: &str| fs::write(directory.join("data/restate.toml"), text).expect("a file");
    let signing = "[worker.invoker]\nrequest-identity-private-key-pem-file = \"data/restate.pem\"\n";
    configured(&format!("disable-telemetry = true\n{signing}"));
    let bin = directory.join("bin");
    let (is_well, said) = examined(&bin, &here);
    assert!(is_well, "{said}");
    for line in [
        "bin/restate-server, 1.7.12\n".to_owned(),
        format!("ok       Restate's admin: {here}, on this machine only, version 1.7.12\n"),
        format!("ok       conductor: {here}, with flows of version {}\n", cycod_flow::VERSION),
        "ok       telemetry: off\n".to_owned(),
        "ok       identity key: publickeyv1_".to_owned(),
    ] {
        assert!(said.contains(&line), "{line}: {said}");
    }
    let words = ["doctor", "--data", "data", "--restate", &here, "--admin", &here, "--format", "json"];
    let output = program(directory, &words).env("PATH", &bin).output().expect("it starts");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(output.status.success() && found["all_passed"] == true, "{found}");
    let check = found["checks"].as_array().expect("a list").iter().find(|check| check["name"] == "workers");
    assert_eq!(check.expect("it is checked")["status"], "warning", "{found}");

    // Each part that is wrong is named, alone.
    let problem = |at: &str, line: &str| {
        let (is_well, said) = examined(&bin, at);
        assert!(!is_well && said.contains(&format!("problem  {line}")), "{line}: {said}");
        said
    };
    configured(signing);
    let said = problem(&here, "telemetry: Restate reports to its makers that it runs");
    assert_eq!(said.matches("problem").count(), 1, "{said}");
    configured("disable-telemetry = true\n");
    _ = problem(&here, "restate.toml: Restate doesn't sign its requests");
    // Where Restate answers is in its configuration.
    let bound = |part: &str| format!("[{part}]\nbind-address = \"{here}\"\n");
    configured(&format!("disable-telemetry = true\n{}{}{signing}", bound("ingress"), bound("admin")));
    let output = program(directory, &["doctor", "--data", "data"]).env("PATH", &bin).output().expect("it starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && said.contains(&format!("ok       Restate's ingress: {here}, ")), "{said}");
    configured("=");
    _ = problem(&here, "restate.toml: data/restate.toml");
    configured(&format!("disable-telemetry = true\n{signing}"));
    fs::set_permissions(directory.join("data/restate.pem"), fs::Permissions::from_mode(0o644)).expect("permissions");
    _ = problem(&here, "identity key: everyone on this machine can read data/restate.pem");
    fs::set_permissions(directory.join("data/restate.pem"), fs::Permissions::from_mode(0o600)).expect("permissions");
    let none = { std::net::TcpListener::bind("127.0.0.1:0").expect("an address").local_addr().expect("an address") };
    _ = problem(&none.to_string(), "Restate's ingress: Restate doesn't answer at");
    // The record of the hub goes on at a time that hasn't come.
    let hub = cycod_hub::Hub::new(
        std::sync::Arc::new(cycod_hub::SqliteStore::open(&directory.join("data/hub.db")).expect("a database")),
        HubKey::read(&directory.join("data/release.key")).expect("a key"),
    );
    let ahead = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    _ = hub.token("dana", 1, ahead).expect("a token");
    _ = problem(&here, "clock: it is 20");
}

/// A server that answers as Restate does, and is the conductor as well.
fn answering() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
    let address = listener.local_addr().expect("an address");
    let serve = move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            _ = stream.read_line(&mut line);
            let answer = match line.split(' ').nth(1) {
                Some("/restate/health") => serde_json::json!({"services": []}),
                Some("/version") => serde_json::json!({"version": "1.7.12"}),
                Some("/services/ToolRun") => serde_json::json!({
                    "deployment_id": "dp_1",
                    "metadata": {"flow-version": cycod_flow::VERSION.to_string()},
                }),
                Some("/deployments/dp_1") => serde_json::json!({"uri": format!("http://{address}/")}),
                _ => continue,
            };
            let answer = answer.to_string();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
            _ = stream.get_mut().write_all(format!("{head}{answer}").as_bytes());
        }
    };
    cycod_thread::Thread::named("restate").detach(serve).expect("a thread");
    address
}
