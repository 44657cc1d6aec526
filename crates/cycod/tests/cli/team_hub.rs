//! A team at a hub, as its people use it: joining, proposing, reviewing, releasing and syncing without a directory.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use cycod_hub::{Hub, HubKey, HubLogin, HubServer, SqliteStore};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    serve::Client,
    support::{Place, Ran, until},
    team_member::shown,
};

const SCAN: &str = "description: Search a file\nbash: echo scanned by the team\ntags: [read]\n";

#[expect(clippy::disallowed_methods, reason = "keys are those of the real program")]
pub(crate) fn key(place: &Place, name: &str) {
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]).current_dir(place.project());
    assert!(keygen.status().expect("ssh-keygen starts").success());
}

#[track_caller]
pub(crate) fn done(place: &Place, words: &[&str]) -> Ran {
    let ran = place.run(words);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    ran
}

#[track_caller]
pub(crate) fn fails(ran: &Ran, says: &str) {
    assert!(ran.code() != 0 && ran.stderr().contains(says), "{says}: {}", ran.block());
}

/// Serves a hub until the process ends; returns its address.
pub(crate) fn served(hub: Hub) -> String {
    served_with(hub, |_| None)
}

/// The same with a login, which may depend on the address.
pub(crate) fn served_with(hub: Hub, login: impl FnOnce(&str) -> Option<HubLogin> + Send + 'static) -> String {
    let (tell, told) = mpsc::channel();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let server = HubServer::listen(hub, ([127, 0, 0, 1], 0).into()).await.expect("an address");
            let login = login(&format!("http://{}", server.address()));
            tell.send(server.address()).expect("the test waits");
            server.with_login(login).run(|error| panic!("{error}")).await;
        });
    };
    cycod_thread::Thread::named("hub").detach(serve).expect("a thread");
    format!("http://{}", told.recv().expect("it listens"))
}

/// A hub whose root Ada signed, with the people as members; returns it, its address and the SHA-256 of the root.
pub(crate) fn hub(ada: &Place, people: &[(&Place, &str, bool)]) -> (Hub, String, String) {
    let release_key = ada.path("release.key");
    let hub_key = HubKey::generate().expect("a key");
    hub_key.write(&release_key).expect("a file");
    let public = ada.path("release.key.pub");
    let public = public.to_str().expect("a path");
    let mut words = "team root --out first --team acme --key ada --author-key ada.pub".split(' ').collect::<Vec<_>>();
    words.extend(["--release-key", public]);
    let reviewers: Vec<String> = people.iter().skip(1).map(|(_, name, _)| format!("{name}.pub")).collect();
    for (name, (place, _, _)) in reviewers.iter().zip(&people[1..]) {
        ada.write(name, &place.read(name));
        words.extend(["--review-key", name]);
    }
    let root = done(ada, &words).stdout().trim().to_owned();
    let read = |name: &str| (name.to_owned(), fs::read(ada.project().join("first").join(name)).expect("a file"));
    let roots: BTreeMap<String, Vec<u8>> = ["root/1.json", "root/1.json.sigs"].into_iter().map(read).collect();
    let store = SqliteStore::open(&ada.path("hub.db")).expect("a database");
    let hub = Hub::new(std::sync::Arc::new(store), hub_key);
    hub.take_roots(&roots, Timestamp::now()).expect("a root");
    for (place, name, is_admin) in people {
        let key = place.read(&format!("{name}.pub")).parse().expect("a key");
        hub.add_member(name, &key, *is_admin, Timestamp::now()).expect("a member");
    }
    let address = served(hub.clone());
    (hub, address, root)
}

#[test]
fn three_people_and_a_machine_use_a_hub() {
    let [ada, ben, cem] = [(); 3].map(|()| Place::new());
    let ci = Place::cloned();
    for (place, name) in [(&ada, "ada"), (&ben, "ben"), (&cem, "cem"), (&cem, "eve")] {
        key(place, name);
    }
    let people = [(&ada, "ada", false), (&ben, "ben", false), (&cem, "cem", true)];
    let (hub, address, root) = hub(&ada, &people);
    let join = |place: &Place, more: &[&str]| {
        let mut words = vec!["team", "join", &address, "--yes", "--root", &root];
        words.extend(more);
        place.run(&words)
    };
    fails(&join(&cem, &[]), "which must know who you are");
    fails(&join(&cem, &["--key", "eve"]), "no member of this hub signed");
    fails(&join(&ci, &["--token", "00"]), "the token is wrong");
    for (place, name, _) in &people {
        let joined = join(place, &["--key", name]);
        assert_eq!(joined.code(), 0, "{}", joined.block());
        assert!(joined.stderr().contains(&format!("knows you as {name}")), "{}", joined.block());
    }
    let token = hub.token("ada", 1, Timestamp::now()).expect("a token");
    let joined = join(&ci, &["--token", &token]);
    assert!(joined.code() == 0 && !joined.stdout().contains(&token), "{}", joined.block());

    ada.tool("scan", SCAN);
    _ = done(&ada, &["team", "propose", "--key", "ada", "--why", "find keys"]);
    let list = done(&ben, &["team", "review", "--format", "json"]).stdout();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let proposal = list["proposals"][0]["proposal"].as_str().expect("a digest").to_owned();
    fails(&ada.run(&["team", "release"]), "is no administrator");
    let reviewed = done(&ben, &["team", "review", &proposal, "--approve", "--key", "ben"]);
    assert!(reviewed.stdout().contains("+bash: echo scanned by the team"), "{}", reviewed.block());
    let released = done(&cem, &["team", "release"]).stderr();
    assert!(released.contains("The hub made release 2 of acme"), "{released}");
    assert!(released.contains(&format!("with proposal {}", &proposal[..8])), "{released}");
    for place in [&ci, &ben] {
        _ = done(place, &["team", "sync"]);
        assert_eq!(done(place, &["run", "scan"]).stdout(), "scanned by the team\n");
    }
    let device = ci.home().join(".cycod/team/device.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(device).expect("it is there").permissions());
    assert_eq!(mode & 0o077, 0, "only its owner reads the key of a device");

    // A channel of the hub: begun by its administrator, followed by a machine.
    fails(&ada.run(&["team", "propose", "--channel", "beta", "--key", "ada", "--why", "x"]), "in the channel `beta`");
    assert!(done(&cem, &["team", "release", "--channel", "beta"]).stderr().contains("beta release 1 of acme"));
    let followed = done(&ci, &["team", "channel", "beta"]).stderr();
    assert!(followed.contains("acme, beta release 1 is in force"), "{followed}");
    assert!(done(&cem, &["team", "release", "--channel", "beta"]).stderr().contains("beta release 2 of acme"));
    assert!(done(&ci, &["team", "sync"]).stderr().contains("beta release 2 is in force, after release 1"));
    _ = done(&ci, &["team", "channel", "stable"]);

    // Ben withdraws it, and the next release is without it.
    let version = ben.run(&["team", "yank", "scan", "--key", "ben", "--why", "too loud"]).stderr();
    let version = version.split("has scan@").nth(1).expect("the hint").lines().next().expect("a line").trim();
    let scan = format!("scan@{version}");
    fails(&ada.run(&["team", "yank", &scan, "--key", "ada", "--why", "x"]), "doesn't name ada");
    _ = done(&ben, &["team", "yank", &scan, "--key", "ben", "--why", "too loud"]);
    let released = done(&cem, &["team", "release"]).stderr();
    assert!(released.contains("without tools/scan.yaml: it was withdrawn"), "{released}");
    _ = done(&ben, &["team", "sync"]);
    fails(&ben.run(&["run", "scan"]), "scan");
    assert!(done(&ben, &["team", "sync"]).stderr().contains("acme, release 3: nothing new"));

    // Cem has only the first release, and reads the others at the hub.
    assert!(done(&cem, &["team", "diff", "1", "2"]).stdout().contains("  scan.yaml: new"));
    assert!(done(&cem, &["team", "diff", "2", "3"]).stdout().contains("  scan.yaml: removed"));

    hub.remove_member("ada", Timestamp::now()).expect("removed");
    fails(&ci.run(&["team", "sync"]), "doesn't know this device");
    assert_eq!(done(&ci, &["run", "scan"]).stdout(), "scanned by the team\n");
}

/// `cycod team sync --watch`, until the test ends.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A machine learns of a release from the hub: no interval has passed since its last sync.
#[test]
fn a_release_is_in_force_as_the_hub_makes_it() {
    let [ada, ben, cem] = [(); 3].map(|()| Place::new());
    let [watching, serving] = [(); 2].map(|()| Place::cloned());
    for (place, name) in [(&ada, "ada"), (&ben, "ben"), (&cem, "cem")] {
        key(place, name);
    }
    let (hub, address, root) = hub(&ada, &[(&ada, "ada", false), (&ben, "ben", false), (&cem, "cem", true)]);
    for (place, name) in [(&cem, "cem"), (&watching, "ada"), (&serving, "ben")] {
        let token = hub.token(name, 1, Timestamp::now()).expect("a token");
        _ = done(place, &["team", "join", &address, "--yes", "--root", &root, "--token", &token]);
    }

    let mut command = watching.command(&["team", "sync", "--watch"]);
    let mut watch = Watch(command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts"));
    let lines = BufReader::new(watch.0.stderr.take().expect("a pipe")).lines();
    let (tell, told) = mpsc::channel();
    let read = move || lines.map_while(Result::ok).for_each(|line| drop(tell.send(line)));
    cycod_thread::Thread::named("watch").detach(read).expect("a thread");
    let line = || told.recv_timeout(Duration::from_secs(20)).expect("a line");
    assert_eq!(line(), "acme, release 1: nothing new");
    for number in 2..4 {
        _ = done(&cem, &["team", "release"]);
        assert_eq!(line(), format!("acme, release {number} is in force, after release {}", number - 1));
    }

    // A server as well, once its stream is open.
    _ = done(&serving, &["team", "sync"]);
    let mut client = Client::legacy(&serving, &[], json!({}));
    _ = client.ask("tools/list", json!({}));
    let number = || shown(&serving)["number"].as_u64().expect("a number");
    assert_eq!(number(), 3);
    until("the server syncs", || {
        _ = done(&cem, &["team", "release"]);
        std::thread::sleep(Duration::from_secs(2));
        number() > 3
    });
    drop(client);

    // Who leaves the team is not told any more.
    _ = done(&watching, &["team", "leave", "--force"]);
    _ = done(&cem, &["team", "release"]);
    until("the watch ends", || watch.0.try_wait().expect("it is ours").is_some_and(|status| status.code() == Some(1)));
}
