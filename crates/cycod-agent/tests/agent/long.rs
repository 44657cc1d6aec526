//! What is too long: results, conversations, lists of tools; and models that go in circles.

use std::fmt::Write as _;

use cycod_agent::Ending;
use cycod_model::{ErrorKind, Message, ModelError, Reply, Request, StopReason, TooLong, Usage};
use serde_json::json;

use crate::support::{Bed, Place, Scripted, calls, says};

const COUNT: &str =
    "description: Count\nbash: seq {N}\ntags: [read]\nparameters:\n  N: {type: integer, description: To what}\n";

#[test]
fn a_long_result_keeps_its_ends_and_the_rest_can_be_read() {
    let script = Scripted::by(|request, at| {
        Ok(match at {
            0 => calls(&[("count", json!({"N": 30_000}))]),
            1 => {
                let Some(Message::Results(results)) = request.messages.last() else { panic!("a result was told") };
                let uri =
                    results[0].text.split_whitespace().find(|word| word.starts_with("cycod://")).expect("an address");
                calls(&[("run_output", json!({"output": uri, "line": 15_000, "count": 2}))])
            }
            _ => says("done"),
        })
    });
    let mut bed = Bed::new(Place::new().tool("count", COUNT), script);
    bed.limits.result_tokens = 500;
    bed.turn("count").expect("the model answers");
    let Message::Results(first) = &bed.session.messages()[2] else { panic!("a result") };
    let text = &first[0].text;
    assert!(text.starts_with("1\n2\n") && text.ends_with("29999\n30000\n") && text.len() < 2_100, "{text}");
    assert!(bed.results()[0].text.starts_with("15000\n15001\n"), "{:?}", bed.results());
}

#[test]
fn old_outputs_give_way_to_references_and_the_last_ones_stay() {
    let script = Scripted::by(|_, at| {
        let reply = if at < 12 { calls(&[("count", json!({"N": 400 + at}))]) } else { says("done") };
        Ok(Reply { usage: Usage::default(), ..reply })
    });
    let mut bed = Bed::new(Place::new().tool("count", COUNT), script);
    bed.provider.window = Some(4_000);
    bed.limits.iterations = 20;
    assert_eq!(bed.turn("count").expect("the model answers").ending, Ending::Answered);
    assert!(bed.story.contains("made room: "), "{}", bed.story);
    let results: Vec<String> = bed
        .session
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Results(results) => Some(results[0].text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 12);
    assert!(
        results[0].starts_with("[left out to make room: ") && results[0].contains("cycod://runs/"),
        "{}",
        results[0]
    );
    assert!(results[11].starts_with("1\n2\n"), "{}", results[11]);
}

#[test]
fn outputs_that_speak_of_references_give_way_too() {
    let mark = COUNT.replace("seq {N}", "'echo \"[left out to make room: \"; seq {N}'");
    let script = Scripted::by(|_, at| {
        let reply = if at < 12 { calls(&[("count", json!({"N": 400 + at}))]) } else { says("done") };
        Ok(Reply { usage: Usage::default(), ..reply })
    });
    let mut bed = Bed::new(Place::new().tool("count", &mark), script);
    bed.provider.window = Some(4_000);
    bed.limits.iterations = 20;
    assert_eq!(bed.turn("count").expect("the model answers").ending, Ending::Answered);
    let Message::Results(first) = &bed.session.messages()[2] else { panic!("a result") };
    assert!(first[0].text.contains("cycod://runs/") && first[0].text.len() < 400, "{}", first[0].text);
}

#[test]
fn more_tools_than_fit_are_searched() {
    let mut place = Place::new().tool("count", COUNT);
    for at in 0..60 {
        let mut text = format!(
            "description: Paint a picture of kind {at} in oil on a very wide canvas\nbash: echo {at}\ntags: [read]\n"
        );
        let _ = writeln!(text, "parameters:\n  COLOUR: {{type: string, description: The colour of the sky}}");
        place = place.tool(&format!("paint{at}"), &text);
    }
    let script = Scripted::by(|_, at| {
        Ok(match at {
            0 => calls(&[("search_tools", json!({"query": "count numbers"}))]),
            1 => calls(&[("count", json!({"N": 2})), ("paint7", json!({"COLOUR": "blue"}))]),
            _ => says("done"),
        })
    });
    let mut bed = Bed::new(place, script);
    bed.limits.tool_tokens = Some(500);
    bed.turn("count").expect("the model answers");
    let asked = bed.provider.asked();
    let names = |at: usize| asked[at].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(0), ["run_output", "search_tools"]);
    assert_eq!(names(1), ["run_output", "search_tools", "count"]);
    assert_eq!(names(2).last().map(String::as_str), Some("paint7"));
    assert_eq!(bed.results()[0].text, "1\n2\n");
    let system = asked[0].system.as_deref().unwrap_or_default();
    assert!(system.contains("There are 61 tools") && !system.contains("paint7"), "{system}");
}

#[test]
fn a_model_that_goes_in_circles_is_told_and_then_ended() {
    let script = Scripted::by(|_, _| Ok(calls(&[("count", json!({"N": 1}))])));
    let mut bed = Bed::new(Place::new().tool("count", COUNT), script);
    let turned = bed.turn("count").expect("a circle is no error");
    assert_eq!(turned.ending, Ending::Repeats { tool: "count".to_owned() });
    assert_eq!((turned.spent.calls, turned.spent.iterations), (3, 5));
    assert!(bed.results()[0].text.contains("repeated-call"));
}

#[test]
fn what_changes_lets_the_others_bring_news() {
    let mark =
        "description: Mark\nbash: echo marked\ntags: [write]\nparameters:\n  N: {type: integer, description: Which}\n";
    let script = Scripted::by(|_, at| {
        Ok(match at {
            8 => says("done"),
            at if at % 2 == 0 => calls(&[("count", json!({"N": 1}))]),
            at => calls(&[("mark", json!({"N": at}))]),
        })
    });
    let mut bed = Bed::new(Place::new().tool("count", COUNT).tool("mark", mark), script);
    let approver = crate::support::Always(cycod_engine::Answer::Once);
    assert_eq!(bed.turn_with("go on", &approver).expect("the model answers").ending, Ending::Answered);
}

/// How many characters a request has, with all that it says.
fn length(request: &Request) -> usize {
    let said = |message: &Message| serde_json::to_string(message).expect("it is JSON").len();
    request.messages.iter().map(said).sum()
}

/// Refuses what is longer than a number of characters, in the words of one provider or in words that nobody has collected.
fn narrow(limit: usize, too_long: Option<TooLong>, reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::by(move |request, at| match length(request) {
        size if size > limit => {
            let error = ModelError { status: Some(400), too_long, ..ModelError::new(ErrorKind::Provider, "no") };
            Err(error)
        }
        _ => Ok(Reply { usage: Usage::default(), ..reply(at) }),
    })
}

#[test]
fn a_provider_that_finds_a_request_too_long_is_asked_once_more_with_less() {
    let said = TooLong { tokens: Some(6_000), limit: Some(4_000) };
    for too_long in [Some(said), Some(TooLong::default()), None] {
        let reply = |at| if at < 20 { calls(&[("count", json!({"N": 300 + at}))]) } else { says("done") };
        let mut bed = Bed::new(Place::new().tool("count", COUNT), narrow(12_000, too_long, reply));
        bed.limits.iterations = 30;
        bed.provider.window = Some(if too_long.is_some() { 100_000 } else { 4_500 });
        let turned = bed.turn("count").unwrap_or_else(|error| panic!("{too_long:?}: {error}\n{}", bed.story));
        assert_eq!(turned.ending, Ending::Answered, "{too_long:?}");
        assert!(bed.story.contains("made room"), "{too_long:?}: {}", bed.story);
    }
}

#[test]
fn what_stays_too_long_is_told_and_not_asked_for_ever() {
    let too_long = Some(TooLong { tokens: Some(6_000), limit: Some(4_000) });
    let mut bed = Bed::new(Place::new(), narrow(0, too_long, |_| says("never")));
    let error = bed.turn("hello").expect_err("nothing fits");
    assert!(matches!(error, cycod_agent::TurnError::TooLong { .. }), "{error:?}");
    assert!(bed.provider.asked().len() <= 2);
}

#[test]
fn long_answers_and_arguments_give_way_and_then_old_messages() {
    let long = "a long answer ".repeat(400);
    let reply = move |at: usize| {
        if at < 6 { Reply { text: long.clone(), ..calls(&[("count", json!({"N": at}))]) } } else { says("done") }
    };
    let mut bed = Bed::new(
        Place::new().tool("count", COUNT),
        Scripted::by(move |_, at| Ok(Reply { usage: Usage::default(), ..reply(at) })),
    );
    bed.provider.window = Some(6_000);
    bed.turn("count").expect("it answers");
    // A second question, after a text of the person that is long as well.
    for at in 0..8 {
        bed.turn(&format!("{at}: {}", "what I want ".repeat(700))).unwrap_or_else(|error| panic!("{at}: {error}"));
    }
    let asked = bed.provider.asked();
    let last = asked.last().expect("it was asked");
    let Message::User(first) = &last.messages[0] else { panic!("the person begins") };
    assert!(first.contains("earlier message") && first.contains("cycod://runs/"), "{first}");
    for request in &asked {
        for pair in request.messages.windows(2) {
            let is_answer = matches!(pair[1], Message::Results(_));
            assert_eq!(is_answer, matches!(&pair[0], Message::Model(reply) if !reply.calls.is_empty()), "{pair:?}");
        }
    }
}

#[test]
fn a_question_that_was_too_long_does_not_end_the_session() {
    let mut bed = Bed::new(Place::new(), Scripted::by(|_, _| Ok(Reply { usage: Usage::default(), ..says("done") })));
    bed.provider.window = Some(6_000);
    bed.turn("begin").expect("it answers");
    let error = bed.turn(&"a word ".repeat(6_000)).expect_err("nothing else can give way");
    assert!(matches!(error, cycod_agent::TurnError::TooLong { .. }), "{error:?}");
    bed.turn("a shorter question").expect("what was too long gives way");
    let asked = bed.provider.asked();
    let Some(Message::User(last)) = asked.last().and_then(|request| request.messages.last()) else {
        panic!("the person asks")
    };
    assert!(last.starts_with("a word a word") && last.ends_with("a shorter question"), "{last}");
    assert!(last.contains("cycod://runs/") && last.len() < 6_000, "{last}");
}

#[test]
fn a_call_that_was_cut_off_is_not_made_and_the_model_is_told_why() {
    let cut = |arguments: serde_json::Value| Reply {
        stop: StopReason::MaxTokens,
        ..calls(&[("count", json!({"N": 2})), ("count", arguments)])
    };
    for arguments in [json!("half"), serde_json::Value::Null] {
        let mut bed = Bed::new(Place::new().tool("count", COUNT), Scripted::saying(vec![cut(arguments)]));
        bed.turn("count").expect("it answers");
        let results = bed.results();
        assert_eq!((results[0].text.as_str(), results[1].is_error), ("1\n2\n", true));
        assert!(results[1].text.contains("cut-off-call") && results[1].text.contains("limit of tokens"), "{results:?}");
    }
}

#[test]
fn what_was_said_before_a_stop_stays_in_the_conversation() {
    let mut bed = Bed::new(Place::new(), Scripted::saying(vec![]));
    bed.provider = Scripted::by(|_, at| match at {
        0 => Err(ModelError::new(ErrorKind::Cancelled, "it was broken off")),
        _ => Ok(says("Two.")),
    });
    bed.provider.before = "One, ".to_owned();
    assert_eq!(bed.turn("count").expect("a stop is no error").ending, Ending::Stopped);
    bed.provider.before.clear();
    bed.turn("go on").expect("it answers");
    let asked = bed.provider.asked();
    let [Message::User(_), Message::Model(half), Message::User(_)] = asked[1].messages.as_slice() else {
        panic!("{:?}", asked[1].messages)
    };
    assert_eq!(half.text, "One, ");
}
