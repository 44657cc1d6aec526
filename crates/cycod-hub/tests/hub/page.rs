//! The pages of the hub, as requests meet them. What a browser shows of them is in `tests/page/hub.mjs`.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use cycod_hub::{HubStore, SqliteStore};
use cycod_team::ReviewVerdict;
use cycod_team_sync::{HubEvent, ReviewDesk as _, TeamHub};

use crate::{
    fleet::{a_run_waits, by_hand},
    schedules::a_schedule_missed,
    scratch::Postgres,
    support::{TOOL, Team, address, now, open, proposal, review, stable},
};

/// Sends a request of a browser; returns the status and the whole answer.
fn browse(hub: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(hub).expect("it listens");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {hub}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("it reads");
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.get(9..12).and_then(|status| status.parse().ok()).expect("a status"), answer)
}

/// What a browser sends with a form of a page of this hub.
fn own(hub: SocketAddr) -> String {
    format!("origin: http://{hub}\r\nsec-fetch-site: same-origin\r\n")
}

/// The cookie of an answer.
fn cookie(answer: &str) -> String {
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(line.contains("; HttpOnly; SameSite=Strict; Path=/"), "{line}");
    format!("cookie: {}\r\n", line.split(';').next().expect("a value"))
}

fn code(address: &str) -> String {
    format!("code={}", address.split('#').nth(1).expect("a code"))
}

fn whole(store: Arc<dyn HubStore>) {
    let team = Team::new(store);
    let source = team.served();
    let hub = address(&source);
    let (ada, device) = team.device(&source, "ada");
    let (ben, _) = team.device(&source, "ben");
    let proposed = proposal("ada", None, TOOL);
    ada.propose(&proposed, &[TOOL]).expect("a proposal");

    // Nothing is shown without a session, and a request for a code is one that a device signed.
    for path in ["/", "/members", "/releases", "/fleet", "/flows", "/audit", "/nowhere"] {
        let (status, answer) = browse(hub, "GET", path, "", "");
        assert!(status == 401 && !answer.contains("ada"), "{path}: {answer}");
        assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
    }
    assert_eq!(browse(hub, "POST", "/v1/codes", "", "{}").0, 401);

    // A code counts once, in a form of this hub, and for a minute.
    let form = code(&ada.page().expect("a code"));
    let crosses =
        ["", "sec-fetch-site: same-origin\r\n", "origin: http://evil.example\r\nsec-fetch-site: same-origin\r\n"];
    for headers in crosses {
        assert_eq!(browse(hub, "POST", "/in", headers, &form).0, 403, "{headers}");
    }
    let (status, answer) = browse(hub, "POST", "/in", &own(hub), &form);
    assert_eq!(status, 303, "{answer}");
    let session = cookie(&answer);
    assert_eq!(browse(hub, "POST", "/in", &own(hub), &form).0, 401);
    assert_eq!(browse(hub, "POST", "/in", &own(hub), "code=").0, 401);
    let (status, answer) = browse(
        hub,
        "POST",
        "/in",
        &format!("{}x-forwarded-proto: https\r\n", own(hub)),
        &code(&ben.page().expect("a code")),
    );
    assert!(status == 303 && answer.contains("; Secure"), "{answer}");

    let shown = |path: &str| {
        let (status, answer) = browse(hub, "GET", path, &session, "");
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    };
    let list = shown("/");
    assert!(list.contains("0 of 1 reviews") && list.contains("not yet: ben, dana"), "{list}");
    let page = shown(&format!("/proposal/{}", proposed.digest()));
    assert!(page.contains("tools/deploy.yaml") && page.contains("higher-level"), "{page}");
    ben.review(proposed.digest(), &review("ben", proposed.digest(), ReviewVerdict::Approve)).expect("a review");
    assert!(shown("/").contains("approved"), "{}", shown("/"));
    let (dana, _) = team.device(&source, "dana");
    assert_eq!(dana.release(&stable(), 1).expect("a release").number, 2);
    assert!(shown("/").contains("No proposal waits."));
    assert!(shown("/?state=closed").contains(&proposed.digest().to_string()));
    assert!(shown("/release/2").contains("tools/deploy.yaml"));
    assert!(shown("/audit?check=all").contains("follow from each other"));
    for missing in ["/release/9", "/release/x", "/proposal/00", "/nowhere", "/in/../x"] {
        assert_eq!(browse(hub, "GET", missing, &session, "").0, 404, "{missing}");
    }
    team.hub.set_subject("cem", Some(&"https://login.example#<b>".parse().expect("a subject")), now()).expect("set");
    assert!(
        shown("/members").contains("logs in as <code>https://login.example#&lt;b&gt;</code>"),
        "{}",
        shown("/members")
    );
    // A page of a list that is not there is the last one.
    assert!(shown("/audit?page=99999999999").contains("console"));

    assert!(shown("/fleet").contains("No workers yet."), "{}", shown("/fleet"));
    a_run_waits(&team, &source);
    let fleet = shown("/fleet");
    for part in ["build-1", "running", "gpu", "deploy for ada", "every worker that fits is busy", "waiting"] {
        assert!(fleet.contains(part), "{part}: {fleet}");
    }

    assert!(shown("/flows").contains("No schedules yet.") && shown("/flows").contains("No durable runs"));
    a_schedule_missed(&team, &source);
    let flows = shown("/flows");
    for part in ["nightly", "Europe/Berlin", "active", "0 3 * * *", "missed", "no hub was running", "waiting", "deploy"]
    {
        assert!(flows.contains(part), "{part}: {flows}");
    }

    let changes = [
        "INSERT INTO flows (run, member, device, ticket, signature, tool, labels, state, cancelled, pieces, stored, cut, made, \
         ended, expires) VALUES ('r', 'ada', '', '', '', 'release', '', 'running', 0, 0, 0, 0, 1, 0, 9999999999)",
        "INSERT INTO flow_questions (run, about, step, worker, awakeable, state, asked, expires, answer, decider) \
         VALUES ('r', '{}', 'send<b>', 'build-7', '', 'open', 1, 9999999999999, '', '')",
    ];
    // A device that follows what waits for its member hears of it at once; another member's device doesn't.
    let listen = |hub: &TeamHub, longest: u64, on_open: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            let (opened, is_open) = std::sync::mpsc::channel();
            scope.spawn(move || is_open.recv().map(|()| on_open()));
            let mut heard = Vec::new();
            _ = hub.follow_approvals(Duration::from_secs(longest), &mut |event| {
                heard.push(event);
                event != HubEvent::Open || opened.send(()).is_ok()
            });
            heard
        })
    };
    let ask = || changes.iter().for_each(|change| by_hand(&team, change));
    assert_eq!(listen(&ada, 8, &ask), [HubEvent::Open, HubEvent::Approvals]);
    let answered = || by_hand(&team, "UPDATE flow_questions SET state = 'open', asked = 2");
    assert_eq!(listen(&ben, 8, &answered), [HubEvent::Open], "it is Ada's run, and nothing new");
    let flows = shown("/flows");
    for part in ["Lost steps", "send&lt;b&gt;", "build-7", "2286-11-20", "a member has to decide about a lost step"] {
        assert!(flows.contains(part), "{part}: {flows}");
    }
    assert!(!flows.contains("came late"), "{flows}");
    // The worker reports nevertheless. What becomes of that, both pages say.
    let task = |id: &str, state: &str, result: &str, work: &str| {
        let insert = "INSERT INTO tasks (id, member, device, ticket, signature, tool, labels, again, state, worker, fence, piece, \
                      pieces, lease_until, lost, cancelled, made, ended, watched, expires, result, late, run, work)";
        format!(
            "{insert} VALUES ('{id}', 'ada', '', '', '', 'release', '', 0, '{state}', 'build-7', 1, 0, 0, 0, '', 0, 1, 0, 0, \
                 9999999999, '{result}', 'L', 'r', '{work}')"
        )
    };
    by_hand(&team, &task("r.1", "lost", "", "{\"attempt\":{}}"));
    let flows = shown("/flows");
    for part in [
        "a result came late, and counts with <code>--lost done</code>",
        "cycod runs late r.1",
        "whose result came late",
    ] {
        assert!(flows.contains(part), "{part}: {flows}");
    }
    assert!(shown("/fleet").contains("counts if its member decides so"), "{}", shown("/fleet"));
    by_hand(&team, "UPDATE tasks SET state = 'done', result = late WHERE id = 'r.1'");
    assert!(shown("/fleet").contains("counts, because a member decided so"), "{}", shown("/fleet"));
    by_hand(&team, "UPDATE tasks SET work = 'x', result = 'R' WHERE id = 'r.1'");
    assert!(
        shown("/fleet").contains("and doesn&#39;t count") || shown("/fleet").contains("and doesn't count"),
        "{}",
        shown("/fleet")
    );

    // A session ends where it is ended, and with the member.
    assert_eq!(browse(hub, "POST", "/out", &format!("{}{session}", own(hub)), "").0, 303);
    assert_eq!(browse(hub, "GET", "/", &session, "").0, 401);
    let (_, answer) = browse(hub, "POST", "/in", &own(hub), &code(&open(&source, &device).page().expect("a code")));
    let session = cookie(&answer);
    let kept = code(&ada.page().expect("a code"));
    assert_eq!(browse(hub, "GET", "/", &session, "").0, 200);
    team.hub.remove_member("ada", now()).expect("removed");
    assert_eq!(browse(hub, "GET", "/", &session, "").0, 401);
    assert_eq!(browse(hub, "POST", "/in", &own(hub), &kept).0, 401);
}

#[test]
fn a_member_looks_at_the_hub() {
    whole(Arc::new(SqliteStore::in_memory().expect("a database")));
}

#[test]
fn the_same_with_postgresql() {
    let server = Postgres::start();
    whole(Arc::new(cycod_hub::PostgresStore::open(&server.url()).expect("a database")));
}
