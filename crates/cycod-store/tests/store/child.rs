//! This very program as another process: one that can be killed, or whose memory can be measured.
#![expect(clippy::disallowed_methods, reason = "a process to kill cannot be this one")]

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use cycod_store::{History, Keep, Outputs, Pin, PinKey, Pins, Retention, secret_key};
use serde_json::json;

const PART: &str = "CYCOD_STORE_TEST_PART";
const PLACE: &str = "CYCOD_STORE_TEST_PLACE";

/// What a process is started under whose files cannot grow beyond some hundred kilobytes.
const FILLED: &str = r#"trap "" XFSZ; ulimit -f 400; exec "$0" "$@""#;

/// Starts a process that plays a part. What it prints can be read.
pub(crate) fn start(part: &str, place: &Path) -> Child {
    let program = env::current_exe().unwrap();
    let is_filling = part.starts_with("fill ");
    let mut command = Command::new(if is_filling { Path::new("/bin/sh") } else { &program });
    if is_filling {
        command.arg("-c").arg(FILLED).arg(&program);
    }
    command.args(["--exact", "child::play", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env(PLACE, place).stdout(Stdio::piped()).spawn().unwrap()
}

/// Lets a process play its part to the end.
pub(crate) fn run(part: &str, place: &Path) -> String {
    let output = start(part, place).wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
#[ignore = "is a part for another process"]
fn play() {
    let place = PathBuf::from(env::var_os(PLACE).expect("started by `start`"));
    match env::var(PART).unwrap().as_str() {
        "spool forever" => spool_forever(&place),
        "spool and tidy" => spool_and_tidy(&place),
        "pin forever" => pin_forever(&place),
        "pin" => pin(&place),
        "write runs" => write_runs(&place),
        "write and drop runs forever" => write_and_drop_runs_forever(&place),
        "write runs forever" => write_runs_forever(&place),
        "key" => println!("key {:02x?}", secret_key(&place).unwrap()),
        "fill the history" => super::history::fill(&place),
        "fill the disk" => super::outputs::fill_the_disk(&place),
        "jq" => super::jq::answer(&place),
        "large" => super::large::measure(&place),
        part => super::approvals::play(part, &place),
    }
}

/// Keeps outputs that anybody can check: each is one byte, repeated.
fn spool_forever(place: &Path) {
    let outputs = Outputs::open(place, Retention::default()).unwrap();
    println!("ready");
    for round in 0u64.. {
        let letter = b'a' + (round % 26) as u8;
        let mut spool = outputs.spool(super::id("stdout"), crate::maker(), 1000);
        for _ in 0..=round % 40 {
            spool.write(&[letter; 3000]).unwrap();
        }
        spool.finish().unwrap();
    }
}

/// Keeps outputs where there is room for a few, and asks for each at once.
fn spool_and_tidy(place: &Path) {
    let retention = Retention { max_bytes: 100_000, ..Retention::default() };
    for round in 0..60 {
        let outputs = Outputs::open(place, retention).unwrap();
        let mut spool = outputs.spool(super::id("stdout"), crate::maker(), 0);
        spool.write(&vec![b'a'; 500 * round]).unwrap();
        spool.write(&vec![b'a'; 500]).unwrap();
        let kept = spool.finish().unwrap();
        // Another process may have made room, which takes nothing from who has it open.
        assert!(super::all(&kept).iter().all(|byte| *byte == b'a'));
        outputs.get(kept.id()).unwrap();
    }
}

fn pin_forever(place: &Path) {
    println!("ready");
    for round in 0u64.. {
        let definition = json!({"description": "x".repeat((round % 50_000) as usize)});
        Pins::open(place)
            .set(PinKey::new("tool", "server", &format!("t{}", round % 10)), Pin::new(definition, round))
            .unwrap();
    }
}

fn pin(place: &Path) {
    for round in 0..20 {
        let key = PinKey::new("tool", &std::process::id().to_string(), &round.to_string());
        Pins::open(place).set(key, Pin::new(json!({"round": round}), round)).unwrap();
    }
}

fn write_runs(place: &Path) {
    let history = History::at(place);
    for _ in 0..50 {
        super::history::write_run(&history, "t");
    }
}

/// Says which runs were written, each at once.
fn write_runs_forever(place: &Path) {
    let history = History::at(place);
    println!("ready");
    loop {
        println!("written {}", super::history::write_run(&history, "t"));
    }
}

fn write_and_drop_runs_forever(place: &Path) {
    let history = History::at(place);
    println!("ready");
    loop {
        super::history::write_run(&history, "t");
        history.prune(Keep { runs: 3, ..Keep::default() }).unwrap();
    }
}
