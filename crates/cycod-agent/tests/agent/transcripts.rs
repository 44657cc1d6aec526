//! What was said is there afterwards, without secrets, and a session goes on from it.

use std::{fs, io::Write as _};

use cycod_agent::{Replay, Session, Transcript, TranscriptError};
use cycod_model::Message;
use cycod_schema::Dialect;
use serde_json::json;

use crate::support::{Bed, Place, Scripted, calls, says};

const LOGIN: &str = "description: Log in\nbash: echo \"as {WHO} with {PIN}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Who}\n  PIN: {type: string, description: The number, sensitive: true}\n";

fn bed() -> Bed {
    let script = vec![calls(&[("login", json!({"WHO": "Ada", "PIN": "s3cr3t-pin"}))]), says("The pin was s3cr3t-pin.")];
    Bed::new(Place::new().tool("login", LOGIN), Scripted::saying(script))
}

#[test]
fn a_session_goes_on_where_it_was_left() {
    let mut bed = bed();
    let directory = bed.place.root().join("agents");
    let id =
        bed.session.record(&directory, &json!({"task": "log in"}), &bed.engine).expect("it can be written").to_owned();
    bed.turn("log in").expect("the model answers");
    let file = fs::read_to_string(directory.join(format!("{id}.jsonl"))).expect("the transcript");
    assert!(!file.contains("s3cr3t"), "{file}");
    assert!(
        matches!(Session::resume(&directory, &id[..8], &bed.engine), Err(TranscriptError::Store(_))),
        "it is in use"
    );
    bed.session = Session::default();
    let (session, transcript) = Session::resume(&directory, &id[..8], &bed.engine).expect("one begins so");
    assert_eq!((transcript.id.as_str(), &transcript.about), (id.as_str(), &json!({"task": "log in"})));
    assert_eq!(session.messages().len(), 4);
    bed.session = session;
    bed.turn("and again").expect("the model answers");
    drop(std::mem::take(&mut bed.session));
    let transcript = Transcript::read(&directory, &id).expect("it can be read");
    assert_eq!(transcript.messages().len(), 6);
    assert!(matches!(Transcript::read(&directory, "zz"), Err(TranscriptError::Unknown(_))));
}

#[test]
fn what_broke_off_has_results_all_the_same() {
    let mut bed = bed();
    let directory = bed.place.root().join("agents");
    let id = bed.session.record(&directory, &json!({}), &bed.engine).expect("it can be written").to_owned();
    bed.turn("log in").expect("the model answers");
    drop(std::mem::take(&mut bed.session));
    // The process died during the call, while it wrote.
    let path = directory.join(format!("{id}.jsonl"));
    let text = fs::read_to_string(&path).expect("the transcript");
    let mut lines: Vec<&str> = text.lines().take(3).collect();
    lines.push("{\"at\": 1, \"mess");
    fs::write(&path, lines.join("\n")).expect("it can be written");
    let (session, _) = Session::resume(&directory, &id, &bed.engine).expect("it can be read");
    let [Message::User(_), Message::Model(reply), Message::Results(results)] = session.messages() else {
        panic!("{:?}", session.messages())
    };
    assert_eq!((reply.calls.len(), results.len(), results[0].is_error), (1, 1, true));
    drop(session);
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(b"{\"at\": 1}\n"))
        .expect("written");
    assert!(matches!(Transcript::read(&directory, &id), Err(TranscriptError::Malformed { .. })));
}

#[test]
fn a_transcript_answers_in_place_of_a_model() {
    let mut bed = bed();
    bed.turn("log in").expect("the model answers");
    let replay = Replay::of(Dialect::Openai, bed.session.messages());
    let said = bed.session.messages().to_vec();
    bed.session = Session::default();
    let asker = cycod_engine::Asker::from(cycod_engine::Surface::Agent);
    let with = cycod_agent::With {
        engine: &bed.engine,
        provider: &replay,
        tools: &bed.tools,
        asker: &asker,
        approver: &cycod_engine::Nobody,
        limits: &bed.limits,
        stop: &bed.stop,
        context: None,
    };
    bed.session.say("log in").expect("nothing is written");
    bed.session.turn(&with, &mut cycod_agent::Silent).expect("the transcript answers");
    assert_eq!(bed.session.messages(), said);
}
