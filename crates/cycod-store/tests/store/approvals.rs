use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use cycod_store::{
    Approvals, Digest, StoreError,
    approvals::{Asked, PendingRequest, RequestId, StandingAnswer},
};
use serde_json::{Value, json};

use crate::{Place, child, files, hostile::write_private};

/// A moment. Time is what the caller says it is.
const NOW: u64 = 1_000_000;

impl Place {
    fn approvals(&self) -> Approvals {
        Approvals::open(&self.path().join("approvals"))
    }

    fn queue(&self) -> Vec<String> {
        let queue = self.path().join("approvals/queue");
        if queue.exists() { files(&queue) } else { Vec::new() }
    }
}

fn key(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn parked(asked: Asked) -> RequestId {
    match asked {
        Asked::Parked(id) => id,
        other => panic!("{other:?}"),
    }
}

fn park(approvals: &Approvals, text: &str) -> RequestId {
    parked(approvals.ask(&key(text), &json!({"tool": text}), false, NOW).unwrap())
}

#[test]
fn an_answer_is_taken_once_by_the_same_call() {
    let place = Place::new();
    let approvals = place.approvals();
    let id = park(&approvals, "a");
    assert_eq!(park(&approvals, "a"), id, "who asks again is the same request");
    assert_ne!(park(&approvals, "b"), id);
    approvals.answer(&id, &json!("yes"), NOW + 5).unwrap();
    assert!(matches!(approvals.answer(&id, &json!("no"), NOW + 5), Err(StoreError::AlreadyAnswered(_))));
    // Another call does not get it.
    assert!(matches!(approvals.ask(&key("c"), &json!({}), false, NOW + 5).unwrap(), Asked::Parked(_)));
    let taken = approvals.ask(&key("a"), &json!({}), false, NOW + 6).unwrap();
    assert!(matches!(taken, Asked::Answered(Value::String(yes)) if yes == "yes"));
    assert!(matches!(approvals.answer(&id, &json!("yes"), NOW + 6), Err(StoreError::NotWaiting(_))));
    assert_ne!(park(&approvals, "a"), id, "it is used up");
}

#[test]
fn everything_has_an_end() {
    let place = Place::new();
    let approvals = place.approvals();
    let (open, answered) = (park(&approvals, "open"), park(&approvals, "answered"));
    approvals.answer(&answered, &json!("yes"), NOW + 599).unwrap();
    assert_eq!(approvals.pending(NOW + 599).unwrap().len(), 2);
    let left: Vec<RequestId> = approvals.pending(NOW + 600).unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(left, [answered], "an answer lasts as long again");
    assert!(matches!(approvals.answer(&open, &json!("yes"), NOW + 600), Err(StoreError::NotWaiting(_))));
    assert!(matches!(approvals.ask(&key("answered"), &json!({}), false, NOW + 1_199).unwrap(), Asked::Parked(_)));
    // A clock that was set back makes nothing last.
    assert_eq!(approvals.pending(NOW - 10_000).unwrap(), []);
    assert_eq!(place.queue(), [""; 0]);
}

#[test]
fn who_waits_gets_the_answer_or_withdraws() {
    let place = Place::new();
    let approvals = place.approvals();
    let wait = |text: &str| match approvals.ask(&key(text), &json!({}), true, NOW).unwrap() {
        Asked::Awaited(waiting) => waiting,
        other => panic!("{other:?}"),
    };
    let mut one = wait("a");
    let two = wait("a");
    assert_ne!(one.id(), two.id(), "each has a request of its own");
    assert!(approvals.pending(NOW).unwrap().iter().all(|pending| pending.is_awaited));
    approvals.answer(one.id(), &json!("yes"), NOW).unwrap();
    assert_eq!(one.take().unwrap(), Some(json!("yes")));
    let id = two.id().clone();
    drop((one, two));
    assert!(matches!(approvals.answer(&id, &json!("yes"), NOW), Err(StoreError::NotWaiting(_))));
    assert_eq!(place.queue(), [""; 0]);

    // Who waits no more may leave it to the next same call.
    let three = wait("a");
    let id = three.id().clone();
    assert_eq!(three.park().unwrap(), None);
    approvals.answer(&id, &json!("late"), NOW).unwrap();
    assert!(matches!(approvals.ask(&key("a"), &json!({}), true, NOW).unwrap(), Asked::Answered(_)));
}

#[test]
fn of_many_who_answer_one_does() {
    let place = Place::new();
    let approvals = place.approvals();
    for round in 0..20 {
        let id = park(&approvals, &round.to_string());
        let answers: Vec<bool> = thread::scope(|scope| {
            let answer = |who: u64| {
                let (approvals, id) = (place.approvals(), &id);
                scope.spawn(move || match approvals.answer(id, &json!(who), NOW) {
                    Ok(()) => true,
                    Err(StoreError::AlreadyAnswered(_)) => false,
                    Err(error) => panic!("{error}"),
                })
            };
            let answers: Vec<_> = (0..4).map(answer).collect();
            answers.into_iter().map(|answer| answer.join().unwrap()).collect()
        });
        assert_eq!(answers.iter().filter(|won| **won).count(), 1, "{answers:?}");
        let winner = answers.iter().position(|won| *won).unwrap();
        match approvals.ask(&key(&round.to_string()), &json!({}), false, NOW).unwrap() {
            Asked::Answered(answer) => assert_eq!(answer, json!(winner)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn processes_race_to_answer_and_to_take() {
    let place = Place::new();
    let approvals = place.approvals();
    let ids: Vec<RequestId> = (0..40).map(|at| park(&approvals, &at.to_string())).collect();
    let answer: Vec<_> = (0..2).map(|_| child::start("answer all", place.path())).collect();
    let won: usize = answer.into_iter().map(|child| said(child, "answered")).sum();
    assert_eq!(won, ids.len());
    let take: Vec<_> = (0..2).map(|_| child::start("take all", place.path())).collect();
    let taken: usize = take.into_iter().map(|child| said(child, "taken")).sum();
    assert_eq!(taken, ids.len());
}

/// What a process says of how often it did something.
fn said(child: std::process::Child, word: &str) -> usize {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let number = text.lines().find_map(|line| line.split_once(word)?.1.trim().parse().ok());
    number.unwrap_or_else(|| panic!("{text}"))
}

/// Parts for other processes.
pub(crate) fn play(part: &str, place: &Path) {
    let approvals = Approvals::open(&place.join("approvals"));
    match part {
        "answer all" => {
            let all = approvals.pending(NOW).unwrap();
            let answered = all.iter().filter(|one| approvals.answer(&one.id, &json!("yes"), NOW).is_ok()).count();
            println!("answered {answered}");
        }
        "take all" => {
            let take = |at: usize| {
                matches!(approvals.ask(&key(&at.to_string()), &json!({}), false, NOW), Ok(Asked::Answered(_)))
            };
            println!("taken {}", (0..40).filter(|at| take(*at)).count());
        }
        "wait forever" => {
            println!("ready");
            let mut kept = Vec::new();
            for round in 0_u64.. {
                if let Ok(Asked::Awaited(waiting)) = approvals.ask(&key(&round.to_string()), &json!({}), true, NOW) {
                    kept.push(waiting);
                }
                if kept.len() > 20 {
                    kept.clear();
                }
            }
        }
        "answer forever" => {
            println!("ready");
            loop {
                for PendingRequest { id, .. } in approvals.pending(NOW).unwrap() {
                    drop(approvals.answer(&id, &json!({"answer": "x".repeat(2_000)}), NOW));
                }
            }
        }
        "remember forever" => {
            println!("ready");
            for round in 0.. {
                approvals.remember(&standing(&format!("{}", round % 50), None, None)).unwrap();
                println!("kept {}", round % 50);
            }
        }
        part => panic!("no part `{part}`"),
    }
}

#[test]
fn a_kill_at_any_moment_leaves_whole_requests_and_no_dead_ones() {
    let place = Place::new();
    let approvals = place.approvals();
    for round in 0..25 {
        let mut children = ["wait forever", "answer forever"].map(|part| child::start(part, place.path()));
        for child in &mut children {
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            lines.find(|line| line.as_ref().unwrap().contains("ready")).expect("it begins").unwrap();
        }
        thread::sleep(Duration::from_micros(round * 900));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // The process that waited is dead, so nothing waits; and nothing that is there is torn.
        assert_eq!(approvals.pending(NOW).unwrap(), []);
        assert_eq!(place.queue(), [""; 0]);
    }
}

#[test]
fn a_thousand_wait_and_no_more() {
    let place = Place::new();
    let approvals = place.approvals();
    // The others are made by hand: what is slow about real ones is waiting for the disk.
    park(&approvals, "0");
    let queue = place.path().join("approvals/queue");
    let first = fs::read_dir(&queue).unwrap().next().unwrap().unwrap().path();
    let names = (0..999).map(|at: u32| {
        let letters: String = format!("{at:03}").chars().map(|digit| char::from(b'a' + (digit as u8 - b'0'))).collect();
        queue.join(format!("zzzzz{letters}.{}.json", key(&at.to_string())))
    });
    let request = fs::read(first).unwrap();
    for name in names {
        write_private(&name, &request);
    }
    assert_eq!(approvals.pending(NOW).unwrap().len(), 1_000);
    let refused = approvals.ask(&key("one more"), &json!({}), false, NOW);
    assert!(matches!(refused, Err(StoreError::QueueFull { most: 1_000 })), "{refused:?}");
    assert!(matches!(approvals.ask(&key("0"), &json!({}), false, NOW), Ok(Asked::Parked(_))), "one that is there");
    assert_eq!(approvals.pending(NOW + 600).unwrap(), []);
    park(&approvals, "one more");

    let large = json!({"arguments": "x".repeat(2 << 20)});
    let refused = approvals.ask(&key("large"), &large, false, NOW);
    assert!(matches!(refused, Err(StoreError::RequestTooLarge { .. })), "{refused:?}");
}

#[test]
fn hostile_names_and_files_are_refused() {
    for name in ["", "../../..", "a/../../b", "aaaaaaa", "aaaaaaaaa", "AAAAAAAA", "aaaaaaa\0", "aaaaaaal", "aaaa.aaa"] {
        assert!(name.parse::<RequestId>().is_err(), "{name:?}");
    }
    let place = Place::new();
    let approvals = place.approvals();
    let id = park(&approvals, "a");
    let queue = place.path().join("approvals/queue");
    // An answer to another request is no answer to this one.
    let answer = queue.join(format!("{id}.answer"));
    let write = |path: &Path, text: &str| {
        fs::write(path, text).unwrap();
        #[cfg(unix)]
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    };
    for text in ["", "{", "[]", &json!({"key": key("b").to_string(), "answer": "yes"}).to_string()] {
        write(&answer, text);
        assert!(approvals.ask(&key("a"), &json!({}), false, NOW).is_err(), "{text}");
    }
    fs::remove_file(&answer).unwrap();
    #[cfg(unix)]
    {
        // Neither a link to somewhere else nor a file that others can write is followed.
        let elsewhere = place.path().join("elsewhere");
        write(&elsewhere, &json!({"key": key("a").to_string(), "expires": NOW + 9, "answer": "yes"}).to_string());
        std::os::unix::fs::symlink(&elsewhere, &answer).unwrap();
        assert!(approvals.ask(&key("a"), &json!({}), false, NOW).is_err());
        fs::remove_file(&answer).unwrap();
        fs::copy(&elsewhere, &answer).unwrap();
        fs::set_permissions(&answer, std::os::unix::fs::PermissionsExt::from_mode(0o622)).unwrap();
        assert!(matches!(approvals.ask(&key("a"), &json!({}), false, NOW), Err(StoreError::NotPrivate { .. })));
    }
}

fn standing(text: &str, session: Option<&str>, expires: Option<u64>) -> StandingAnswer {
    let session = session.map(str::to_owned);
    StandingAnswer { key: key(text), session, given: NOW, expires, about: json!({"tool": text}) }
}

#[test]
fn what_stands_holds_for_its_key_and_session() {
    let place = Place::new();
    let approvals = place.approvals();
    assert!(!approvals.has_standing());
    let (always, session) = (standing("a", None, None), standing("b", Some("s"), Some(NOW + 10)));
    approvals.remember(&always).unwrap();
    approvals.remember(&session).unwrap();
    let find = |text: &str, session: Option<&str>, now: u64| approvals.standing(&key(text), session, now).unwrap();
    assert_eq!(find("a", None, NOW), Some(always.clone()));
    assert_eq!(find("a", Some("any"), NOW), Some(always.clone()));
    assert_eq!(find("b", Some("s"), NOW), Some(session));
    assert_eq!(find("b", Some("s"), NOW + 10), None);
    assert_eq!(find("b", Some("t"), NOW), None);
    assert_eq!(find("b", None, NOW), None);
    assert_eq!(approvals.all_standing(NOW).unwrap().len(), 2);
    assert_eq!(approvals.all_standing(NOW + 10).unwrap(), std::slice::from_ref(&always));
    assert!(approvals.revoke(&always.name()).unwrap() && !approvals.revoke(&always.name()).unwrap());
    assert_eq!(find("a", None, NOW), None);
}

#[test]
fn what_cannot_be_read_stands_for_nothing() {
    let place = Place::new();
    let approvals = place.approvals();
    let (one, other) = (standing("a", None, None), standing("b", None, None));
    approvals.remember(&one).unwrap();
    approvals.remember(&other).unwrap();
    let path = |of: &StandingAnswer| place.path().join(format!("approvals/standing/{}.json", of.name()));
    // One that was moved to the name of another does not stand for that.
    fs::rename(path(&one), path(&other)).unwrap();
    assert!(approvals.standing(&key("b"), None, NOW).is_err());
    fs::write(path(&other), "").unwrap();
    assert!(approvals.standing(&key("b"), None, NOW).is_err() && approvals.all_standing(NOW).is_err());
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let place = Place::new();
    for round in 0..20 {
        let mut child = child::start("remember forever", place.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut kept = Vec::new();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(3 * round) || kept.is_empty() {
            let line = lines.next().expect("it goes on").unwrap();
            kept.extend(line.split_once("kept ").map(|(_, which)| which.to_owned()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for which in kept {
            assert!(place.approvals().standing(&key(&which), None, NOW).unwrap().is_some(), "{which}");
        }
        place.approvals().all_standing(NOW).unwrap();
    }
}

#[test]
fn a_look_costs_the_same_however_many_stand() {
    let place = Place::new();
    let approvals = place.approvals();
    for at in 0..200 {
        approvals.remember(&standing(&at.to_string(), None, None)).unwrap();
    }
    let fastest = (0..200).map(|at| {
        let (began, key) = (Instant::now(), key(&at.to_string()));
        assert!(approvals.standing(&key, Some("s"), NOW).unwrap().is_some());
        began.elapsed()
    });
    // It takes some ten microseconds; the bound is for a machine that does much else.
    assert!(fastest.min().unwrap() < Duration::from_millis(2));
}

#[test]
fn somebody_watches_as_long_as_they_do() {
    let place = Place::new();
    let approvals = place.approvals();
    assert!(!approvals.is_watched());
    let (one, two) = (approvals.watch().unwrap(), approvals.watch().unwrap());
    assert!(approvals.is_watched());
    drop(one);
    assert!(approvals.is_watched());
    drop(two);
    assert!(!approvals.is_watched());
}
