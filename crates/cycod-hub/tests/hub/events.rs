//! The stream of events: what changed is told at once, once, and to members only.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_hub::{Hub, HubKey, HubStore, SqliteStore};
use cycod_team_sync::{EventPosition, HubEvent, ReviewDesk as _};

use crate::{
    polls::newest_tag,
    support::{Device, TOOL, Team, address, ask, now, proposal, refused, served, stable},
};

/// A stream that a test reads by line.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(at: std::net::SocketAddr, device: &Device, seen: Option<&str>) -> Self {
        let head = device.request("GET", "/v1/events", b"", 0).head;
        let seen = seen.map(|seen| format!("host: hub\r\nlast-event-id: {seen}\r\n"));
        let head = seen.map_or(head.clone(), |seen| head.replacen("host: hub\r\n", &seen, 1));
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        stream.write_all(head.as_bytes()).expect("it reads");
        Self(BufReader::new(stream))
    }

    /// The next line that begins so; nothing when the stream ends.
    fn next(&mut self, begins: &str) -> Option<String> {
        let began = Instant::now();
        loop {
            // Pulses come for ever.
            assert!(began.elapsed() < Duration::from_secs(20), "no line begins with {begins}");
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) if line.starts_with(begins) => return Some(line[begins.len()..].trim().to_owned()),
                Ok(_) => {}
                Err(error) => panic!("no line begins with {begins}: {error}"),
            }
        }
    }
}

/// Two hubs with one database: what one changes, the other tells.
pub(crate) fn events(first: Arc<dyn HubStore>, second: Arc<dyn HubStore>) {
    let team = Team::new(first);
    let (here, there) = (team.served(), served(Hub::new(second, HubKey::read(&team.key).expect("a key"))));
    let (ada, dana) = (team.device(&here, "ada").0, team.device(&here, "dana").0);
    let device = Device::enrolled(&team, address(&here), "cem");
    for at in [address(&here), address(&there)] {
        let mut stream = Stream::open(at, &device, None);
        let id = stream.next("id: ").expect("a position");
        assert_eq!(stream.next("event: ").as_deref(), Some("hello"));
        let began = Instant::now();
        let number = dana.release(&stable(), if at == address(&here) { 1 } else { 2 }).expect("a release").number;
        let next = stream.next("id: ").expect("an event");
        assert_eq!(stream.next("event: ").as_deref(), Some("release"));
        assert!(began.elapsed() < Duration::from_secs(5), "it doesn't wait for the next pulse: {:?}", began.elapsed());
        assert!(next.parse::<i64>().expect("a number") > id.parse::<i64>().expect("a number"));

        // Someone who was away gets each kind once that was missed, and nothing that was seen.
        for _ in 0..3 {
            let proposal =
                proposal("ada", None, format!("description: {number}\nbash: echo {:?}\n", Instant::now()).as_bytes());
            refused(ada.propose(&proposal, &[]), "is missing");
        }
        let first = proposal("ada", None, TOOL);
        if number == 2 {
            ada.propose(&first, &[TOOL]).expect("a proposal");
            let mut again = Stream::open(at, &device, Some(&next));
            assert_eq!(again.next("event: ").as_deref(), Some("hello"));
            assert_eq!(again.next("event: ").as_deref(), Some("proposals"));
            // After a row that the hub doesn't have, as it was restored from a backup, anything can be new.
            for seen in ["1", "999999"] {
                let mut old = Stream::open(at, &device, Some(seen));
                let kinds: Vec<_> = (0..4).map(|_| old.next("event: ").expect("an event")).collect();
                assert_eq!(kinds, ["hello", "members", "proposals", "release"], "after {seen}");
            }
        }
    }

    // The client of a member continues where it was.
    let (hub, _) = team.device(&there, "ben");
    let mut position = EventPosition::default();
    let follow = |position: &mut EventPosition, has: Option<&str>, longest| {
        let mut seen = Vec::new();
        hub.follow(has, position, Duration::from_secs(longest), &mut |event| {
            seen.push(event);
            !(matches!(event, HubEvent::Release) || seen.len() == 1 && longest == 20)
        })
        .map(|()| seen)
    };
    assert_eq!(follow(&mut position, None, 20), Ok(vec![HubEvent::Open]));
    _ = dana.release(&stable(), 3).expect("a release");
    assert_eq!(follow(&mut position, Some("\"none\""), 30), Ok(vec![HubEvent::Open, HubEvent::Release]));
    // One that begins hears of a release that it doesn't have, and of no other.
    let newest = newest_tag(address(&there), &device);
    assert_eq!(
        follow(&mut EventPosition::default(), Some("\"none\""), 30),
        Ok(vec![HubEvent::Open, HubEvent::Release])
    );
    assert_eq!(follow(&mut EventPosition::default(), Some(&newest), 20), Ok(vec![HubEvent::Open]));

    // Who is no longer a member hears nothing, at whatever hub.
    let mut stream = Stream::open(address(&there), &device, None);
    _ = stream.next("id: ").expect("a position");
    team.hub.remove_member("cem", now()).expect("removed");
    assert_eq!(stream.next("event: rel"), None, "the stream ends");
    let (status, answer) = ask(address(&there), &device.request("GET", "/v1/events", b"", 0));
    assert!(status == 401 && answer.contains("doesn't know this device"), "{answer}");
}

#[test]
fn two_hubs_with_one_file_tell_each_others_changes() {
    let scratch = tempfile::tempdir().expect("a directory");
    let open = || Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database"));
    events(open(), open());
}

/// Workers write all the time, which is nothing for the clients of members.
#[test]
fn what_is_no_change_wakes_no_stream() {
    let scratch = tempfile::tempdir().expect("a directory");
    let open = || Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database"));
    let team = Team::new(open());
    let source = served(Hub::new(open(), HubKey::read(&team.key).expect("a key")));
    let device = Device::enrolled(&team, address(&source), "cem");
    // The hub notices that enrolment as well.
    std::thread::sleep(Duration::from_secs(1));
    let mut stream = Stream::open(address(&source), &device, None);
    assert_eq!(stream.next("event: ").as_deref(), Some("hello"));
    assert_eq!(stream.next("data: ").as_deref(), Some("{}"));
    assert_eq!(stream.next("\r\n").as_deref(), Some(""), "the end of the chunk");
    stream.0.get_ref().set_read_timeout(Some(Duration::from_secs(1))).expect("a limit");
    let written = team
        .store
        .transaction(&mut |tx| tx.execute("INSERT INTO counters (name, value) VALUES ('test', 1)", &[]).map(drop));
    written.expect("it is written");
    let mut line = String::new();
    assert!(stream.0.read_line(&mut line).is_err(), "nothing is sent: {line}");
    stream.0.get_ref().set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    team.hub.remove_member("dana", now()).expect("removed");
    assert_eq!(stream.next("event: ").as_deref(), Some("members"));
}

#[test]
fn streams_are_signed_and_bounded() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let source = team.served();
    let at = address(&source);
    let device = Device::enrolled(&team, at, "cem");
    let sent = device.request("GET", "/v1/events", b"", 0);
    let mut forged = sent.clone();
    forged.head = forged.head.replace("/v1/events", "/v1/events?x");
    assert_eq!(ask(at, &forged).0, 401, "a signature is of one address");
    let (status, _) = ask(at, &Device::new().request("GET", "/v1/events", b"", 0));
    assert_eq!(status, 401);
    forged.head = sent.head.replace("host: hub", "host: hub\r\norigin: http://evil");
    assert_eq!(ask(at, &forged).0, 403);
    forged.head = sent.head.replace("host: hub", "host: hub\r\nlast-event-id: x");
    assert_eq!(ask(at, &forged).0, 400);
    let open = || {
        let mut stream = Stream::open(at, &device, None);
        stream.next("id: ").map(|_| stream)
    };
    let streams: Vec<_> = (0..8).map(|_| open().expect("a stream")).collect();
    let (status, answer) = ask(at, &device.request("GET", "/v1/events", b"", 0));
    assert!(status == 503 && answer.contains("too many streams"), "{answer}");
    // A client that hangs up makes room, without waiting for something to send.
    drop(streams);
    let began = Instant::now();
    while status_of(at, &device) != 200 {
        assert!(began.elapsed() < Duration::from_secs(5), "the streams are still open");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The status of a stream, which is closed at once.
fn status_of(at: std::net::SocketAddr, device: &Device) -> u16 {
    let mut stream = Stream::open(at, device, None);
    let status = stream.next("HTTP/1.1 ").expect("an answer");
    status[..3].parse().expect("a status")
}
