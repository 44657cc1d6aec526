//! How a member's release stays new: by commands that start a sync in the background, and never wait for it.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::Path,
    process::{Child, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use serde_json::json;

use crate::{
    serve::Client,
    support::{Place, until},
    team_member::{GREET, Team, done, fails, greets, served, shown},
};

const QUARTER: Duration = Duration::from_secs(15 * 60);

fn tried(home: &Path) -> File {
    File::options().write(true).open(home.join(".cycod/team/tried")).expect("it is there")
}

/// Makes the last sync of a place look so old.
fn age(place: &Place, age: Duration) {
    tried(&place.home()).set_modified(SystemTime::now() - age).expect("a time");
}

fn is_due(place: &Place) -> bool {
    let at = tried(&place.home()).metadata().and_then(|metadata| metadata.modified()).expect("a time");
    at.elapsed().is_ok_and(|age| age > QUARTER)
}

/// Waits until the sync in the background has read release `number`.
#[track_caller]
fn has_release(place: &Place, number: u64) {
    until("the sync in the background ends", || shown(place)["number"] == number);
}

/// A source that takes connections and never answers; returns its address and how many have come.
fn silent() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/team/", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        let kept = Mutex::new(Vec::new());
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            kept.lock().expect("no panic").push(stream);
        }
    });
    (address, count)
}

/// Changes where the team of a place publishes.
fn moved(place: &Place, address: &str) {
    let path = place.home().join(".cycod/team/member.json");
    let mut json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("it is there")).expect("JSON");
    json["source"] = json!(address);
    fs::write(path, json.to_string()).expect("a file");
}

/// How many processes sync the team of a place.
fn syncing(place: &Place) -> usize {
    let home = place.home().join(".cycod").canonicalize().expect("it is there");
    let is_ours = |process: &Path| {
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        words.ends_with(b"\0team\0sync\0")
            && fs::read_link(process.join("cwd")).is_ok_and(|directory| directory == home)
    };
    let processes = fs::read_dir("/proc").expect("processes");
    processes.filter(|process| process.as_ref().is_ok_and(|process| is_ours(&process.path()))).count()
}

#[test]
fn a_command_after_a_while_brings_the_newest_release() {
    let team = Team::released();
    let place = team.joined();
    team.place.tool("greet", &GREET.replace("team", "new release"));
    team.release();
    // Of a quarter of an hour, a minute is left.
    age(&place, QUARTER - Duration::from_secs(60));
    greets(&place);
    // What is asked about the team itself starts nothing, and neither does the key that completes words.
    age(&place, QUARTER + Duration::from_secs(1));
    _ = done(&place, &["team", "show"]);
    _ = place.run(&["--help"]);
    assert!(is_due(&place));
    greets(&place);
    has_release(&place, 2);
    assert_eq!(done(&place, &["run", "greet"]).stdout(), "hello from the new release\n");
    assert!(!is_due(&place));
    // A time that has not come yet is of a wrong clock.
    tried(&place.home()).set_modified(SystemTime::now() + Duration::from_secs(100_000)).expect("a time");
    team.release();
    _ = done(&place, &["list"]);
    has_release(&place, 3);
}

#[test]
fn no_command_waits_for_the_source_and_one_sync_runs_at_a_time() {
    let team = Team::released();
    let place = team.joined();
    let (address, count) = silent();
    moved(&place, &address);
    age(&place, QUARTER * 2);
    let begun = Instant::now();
    let start = || -> Child {
        let mut command = place.command(&["run", "greet"]);
        command.stdout(Stdio::piped()).spawn().expect("it starts")
    };
    let all: Vec<Child> = (0..12).map(|_| start()).collect();
    for child in all {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello from the team\n");
    }
    until("the source is asked", || count.load(Ordering::SeqCst) > 0);
    // The source holds a sync for longer than this test takes, and a command that waited for it would, too.
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    assert_eq!((count.load(Ordering::SeqCst), syncing(&place)), (1, 1));
    // While it waits, no other begins, however old the last one becomes.
    age(&place, QUARTER * 2);
    _ = done(&place, &["list"]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((count.load(Ordering::SeqCst), syncing(&place)), (1, 1));
}

#[test]
fn the_user_decides_whether_commands_sync() {
    let team = Team::released();
    let place = team.joined();
    let (address, count) = served(team.out());
    moved(&place, &format!("{address}/"));
    age(&place, QUARTER * 2);
    let mut command = place.command(&["run", "greet"]);
    _ = place.ran(command.env("CYCOD_TEAM_SYNC", "off").output().expect("it starts"));
    assert!(is_due(&place));
    fs::write(place.home().join(".cycod/config.yaml"), "team: {autoSync: false}\n").expect("a file");
    greets(&place);
    assert!(is_due(&place));
    fs::remove_file(place.home().join(".cycod/config.yaml")).expect("it is there");
    // A project doesn't.
    place.write(".cycod/config.yaml", "team: {autoSync: false}\n");
    let warned = done(&place, &["tools", "list"]);
    assert!(warned.stderr().contains("`autoSync` has no effect in a project"), "{}", warned.block());
    until("the source is asked", || count.load(Ordering::SeqCst) > 0);
    assert!(!is_due(&place));
}

#[test]
fn nothing_is_started_from_below_a_run() {
    let team = Team::released();
    let place = team.joined();
    age(&place, QUARTER * 2);
    fs::create_dir_all(place.home().join(".cycod/tools")).expect("a directory");
    let below = "description: Lists\nbash: env -u CYCOD_TEAM_SYNC cycod list\nprograms: {cycod: text}\ntags: [run]\n";
    fs::write(place.home().join(".cycod/tools/below.yaml"), below).expect("a file");
    // The command around it would start a sync as well.
    let ran = place.shell("CYCOD_TEAM_SYNC=off cycod run below");
    assert!(ran.stdout().contains("greet"), "{}", ran.block());
    assert!(is_due(&place));
}

#[test]
fn a_release_that_was_refused_is_reported_by_every_command() {
    let team = Team::released();
    let place = team.joined();
    let document = team.out().join("release.json");
    let right = fs::read(&document).expect("it is there");
    fs::write(&document, [right.as_slice(), b" "].concat()).expect("a file");
    age(&place, QUARTER * 2);
    greets(&place);
    until("the sync in the background fails", || !shown(&place)["failure"].is_null());
    until("that is noted", || tried(&place.home()).metadata().is_ok_and(|metadata| metadata.len() > 0));
    let said = || done(&place, &["run", "greet"]).stderr();
    let stays = "warning: acme release 1 stays in force, because the newest release was refused";
    // Once a day with the reason.
    let loud = said();
    assert!(loud.starts_with(stays) && loud.contains("ask ada@example.com; more: cycod explain release-"), "{loud}");
    let quiet = said();
    assert!(quiet.starts_with(stays) && quiet.trim_end().ends_with("): cycod team show"), "{quiet}");
    let told = place.home().join(".cycod/cache/team-failure");
    let told = File::options().write(true).open(told).expect("it is there");
    told.set_modified(SystemTime::now() - Duration::from_hours(25)).expect("a time");
    assert_eq!(said(), loud);
    assert_eq!(said(), quiet);
    // That the source is away is usual.
    fs::rename(team.out(), team.out().with_extension("away")).expect("it moves");
    fails(&place, &["team", "sync"], 1, "error[team-unreachable]");
    assert_eq!(said(), "");
    fs::rename(team.out().with_extension("away"), team.out()).expect("it moves");
    fails(&place, &["team", "sync"], 1, "release 1 stays in force");
    assert_eq!(said(), quiet);
    fs::write(&document, right).expect("a file");
    _ = done(&place, &["team", "sync"]);
    assert_eq!(said(), "");
}

#[test]
fn a_server_hears_of_the_newest_release_and_tells_its_client() {
    let team = Team::released();
    let place = team.joined();
    team.place.tool("wave", GREET);
    team.release();
    age(&place, QUARTER * 2);
    // It syncs as it starts, and its client hears of that or finds it in the first list.
    let names = |client: &mut Client| client.ask("tools/list", json!({}))["result"]["tools"].to_string();
    let mut client = Client::legacy(&place, &[], json!({}));
    assert!(names(&mut client).contains("greet"));
    has_release(&place, 2);
    until("the new tool is listed", || names(&mut client).contains("wave"));
    // And of what another process brings.
    let changed = |message: &serde_json::Value| message["method"] == "notifications/tools/list_changed";
    std::thread::sleep(Duration::from_millis(500));
    while client.has(changed) {
        _ = client.wait(changed);
    }
    team.place.tool("nod", GREET);
    team.release();
    _ = done(&place, &["team", "sync"]);
    _ = client.wait(changed);
    assert!(names(&mut client).contains("nod"));
}
