//! Turns from what is said to what is answered.

use cycod_agent::{Ending, Limit, Limits, TurnError};
use cycod_engine::Answer;
use cycod_model::{ErrorKind, Message, ModelError};
use expect_test::expect;
use serde_json::json;

use crate::support::{Always, Bed, Place, Scripted, calls, says};

const GREET: &str = "description: Greet somebody\nbash: echo \"Hello, {WHO}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom}\n";
const TOUCH: &str = "description: Make a file\nbash: touch {NAME}\ntags: [write]\nparameters:\n  NAME: {type: string, description: Which}\n";

fn place() -> Place {
    Place::new().tool("greet", GREET).tool("make.file", TOUCH)
}

#[test]
fn calls_are_carried_out_and_their_results_go_back() {
    let script =
        vec![calls(&[("greet", json!({"WHO": "Ada"})), ("greet", json!({"WHO": "$(reboot)"}))]), says("Greeted.")];
    let mut bed = Bed::new(place(), Scripted::saying(script));
    let turned = bed.turn("greet them").expect("the model answers");
    assert_eq!((turned.ending, turned.answer.as_str()), (Ending::Answered, "Greeted."));
    assert_eq!((turned.spent.iterations, turned.spent.calls, turned.spent.usage.total()), (2, 2, 220));
    let texts: Vec<String> = bed.results().into_iter().map(|result| result.text).collect();
    assert_eq!(texts, ["Hello, Ada\n", "Hello, $(reboot)\n"]);
    let asked = bed.provider.asked();
    assert_eq!(asked[1].messages.len(), 3);
    assert!(asked[0].system.as_deref().is_some_and(|system| system.contains("- greet(WHO) [read-only]")));
}

#[test]
fn what_is_not_allowed_unasked_is_refused_and_taught() {
    let script = vec![calls(&[
        ("make_file", json!({"NAME": "canary"})),
        ("greeet", json!({})),
        ("greet", json!("WHO")),
        ("greet", json!({"WHOM": "Ada"})),
    ])];
    let mut bed = Bed::new(place(), Scripted::saying(script));
    bed.turn("go on").expect("the model answers");
    expect![[r#"
        asks 1
        replied with 4 calls
        call-0 make.file
        call-0 may run make.file?
        call-0 answered Unanswered(None)
        call-0 did not run failed not-approved
        call-1 did not run failed unknown-tool
        call-2 greet
        call-2 did not run failed wrong-argument-type
        call-3 greet
        call-3 did not run failed unknown-argument
        asks 2
        text "done"
        replied with 0 calls
    "#]]
    .assert_eq(&bed.story);
    let results = bed.results();
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    assert!(results[1].text.contains("did you mean `greet`?"), "{}", results[1].text);
}

#[test]
fn what_is_approved_runs() {
    let mut bed = Bed::new(place(), Scripted::saying(vec![calls(&[("make_file", json!({"NAME": "made"}))])]));
    bed.turn_with("make it", &Always(Answer::Once)).expect("the model answers");
    assert!(bed.place.project().join("made").exists());
}

#[test]
fn limits_end_a_turn_and_leave_it_whole() {
    let again = || Scripted::by(|_, at| Ok(calls(&[("greet", json!({"WHO": at.to_string()}))])));
    let check = |limits: Limits, expect: Limit| {
        let mut bed = Bed::new(place(), again());
        bed.limits = limits;
        let turned = bed.turn("go on for ever").expect("limits are no errors");
        assert_eq!(turned.ending, Ending::Limit(expect));
        let messages = bed.session.messages();
        assert!(matches!(messages.last(), Some(Message::Results(_))), "{messages:?}");
    };
    check(Limits { iterations: 2, ..Limits::default() }, Limit::Iterations(2));
    check(Limits { tokens: Some(150), ..Limits::default() }, Limit::Tokens(150));
    check(Limits { calls: Some(1), ..Limits::default() }, Limit::Calls(1));
}

#[test]
fn a_limit_of_money_needs_a_price() {
    let mut bed = Bed::new(place(), Scripted::saying(vec![]));
    bed.limits.cost = Some(1.0);
    assert!(matches!(bed.turn("hello"), Err(TurnError::NoPrice { .. })));
    assert_eq!(bed.provider.asked().len(), 0);
}

#[test]
fn a_stop_gives_every_call_a_result() {
    let mut bed = Bed::new(place(), Scripted::saying(vec![]));
    let stop = bed.stop.clone();
    bed.provider = Scripted::by(move |_, _| {
        stop.ask();
        Ok(calls(&[("greet", json!({"WHO": "Ada"})), ("make_file", json!({"NAME": "canary"}))]))
    });
    let turned = bed.turn("go on").expect("a stop is no error");
    assert_eq!(turned.ending, Ending::Stopped);
    let results = bed.results();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.is_error && result.text.contains("cancelled")), "{results:?}");
}

#[test]
fn what_was_said_is_kept_when_the_model_fails() {
    let fails = |_: &_, at| if at == 0 { Err(ModelError::new(ErrorKind::Provider, "gone")) } else { Ok(says("here")) };
    let mut bed = Bed::new(place(), Scripted::by(fails));
    assert!(matches!(bed.turn("one"), Err(TurnError::Model(_))));
    let turned = bed.turn("two").expect("it answers now");
    assert_eq!(turned.answer, "here");
    assert_eq!(bed.provider.asked()[1].messages, [Message::User("one\n\ntwo".to_owned())]);
}

#[test]
fn an_answer_is_of_its_own_turn() {
    let mut bed = Bed::new(place(), Scripted::saying(vec![says("the first")]));
    assert_eq!(bed.turn("one").expect("it answers").answer, "the first");
    bed.stop.ask();
    let turned = bed.turn("two").expect("a stop is no error");
    assert_eq!((turned.ending, turned.answer.as_str()), (Ending::Stopped, ""));
}
