use std::time::{Duration, Instant};

use cycod_model::{
    Cancel, ErrorKind, Facts, Key, Limits, ModelError, Provider as _, Remote, Service, StopReason, WireFormat,
};
use scripted_provider::{Before, Cut, Script, ScriptedProvider, Turn};

use crate::support::{Told, ask, asked, formats, limits, remote, request};

fn failing(format: WireFormat, before: Vec<Before>) -> (Result<String, ModelError>, Told) {
    let turn = Turn { before, ..Turn::text("At last, after all of that.") };
    let (reply, told) = asked(format, vec![turn]);
    (reply.map(|reply| reply.text), told)
}

fn status(status: u16) -> Before {
    Before { status: Some(status), ..Before::default() }
}

fn with(status: u16, headers: &[(&str, &str)]) -> Before {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Before { status: Some(status), headers, ..Before::default() }
}

#[test]
fn half_a_stream_is_no_answer() {
    for format in formats() {
        for cut in [Cut::Clean, Cut::Abrupt, Cut::AtOnce] {
            let turn =
                Turn { cut: Some(cut), ..Turn::text("An answer that never comes to its end, however long one waits.") };
            let (reply, told) = asked(format, vec![turn]);
            let error = reply.expect_err("half an answer");
            assert_eq!(error.kind, ErrorKind::Provider, "{format:?} {cut:?}: {error}");
            assert_eq!(told.again.len(), 3, "{format:?} {cut:?}: it was asked again");
        }
    }
}

#[test]
fn what_was_told_of_an_attempt_that_failed_is_taken_back() {
    for format in formats() {
        for cut in [Cut::Clean, Cut::Abrupt] {
            let (text, told) = failing(format, vec![Before { cut: Some(cut), ..Before::default() }]);
            assert_eq!(text.as_deref(), Ok("At last, after all of that."), "{format:?}");
            assert_eq!(told.text, "At last, after all of that.", "{format:?}");
            assert_eq!(told.again.len(), 1, "{format:?}");
        }
    }
}

#[test]
fn providers_that_are_busy_are_asked_again() {
    for format in formats() {
        let (text, told) = failing(format, vec![status(429), status(503), status(529)]);
        assert!(text.is_ok(), "{format:?}: {text:?}");
        assert_eq!(told.again.len(), 3, "{format:?}");
        let (text, _) = failing(format, vec![status(500); 4]);
        let error = text.expect_err("it never answers");
        assert_eq!((error.kind, error.status), (ErrorKind::Provider, Some(500)), "{format:?}");
        let (text, _) = failing(format, vec![status(429); 4]);
        assert_eq!(text.expect_err("it never answers").kind, ErrorKind::RateLimit, "{format:?}");
    }
}

#[test]
fn the_time_that_a_provider_wants_is_given_to_it() {
    let begun = Instant::now();
    let (text, told) = failing(WireFormat::OpenaiChat, vec![with(429, &[("retry-after", "1")])]);
    assert!(text.is_ok() && told.again.len() == 1, "{text:?}");
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    // Longer than anybody waits here: that is said at once.
    let (text, told) = failing(WireFormat::Anthropic, vec![with(429, &[("retry-after", "3600")])]);
    let error = text.expect_err("it wants an hour");
    assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
    assert!(told.again.is_empty());
}

#[test]
fn what_will_not_pass_is_not_tried_again() {
    for (before, kind) in [
        (status(400), ErrorKind::Provider),
        (status(401), ErrorKind::Provider),
        (status(404), ErrorKind::Provider),
        (with(503, &[("x-should-retry", "false")]), ErrorKind::Provider),
        (with(302, &[("location", "http://elsewhere.example/")]), ErrorKind::Provider),
        (
            Before {
                body: Some(r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#.to_owned()),
                ..status(429)
            },
            ErrorKind::RateLimit,
        ),
    ] {
        let (text, told) = failing(WireFormat::OpenaiChat, vec![before.clone()]);
        let error = text.expect_err("it is refused");
        assert_eq!(error.kind, kind, "{before:?}");
        assert!(told.again.is_empty(), "{before:?}");
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_what_it_says() {
    let raw = |text: &str| vec![Turn { raw: Some(text.to_owned()), ..Turn::default() }];
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let (reply, told) = asked(WireFormat::Anthropic, raw(overloaded));
    assert_eq!(reply.expect_err("overloaded").status, Some(529));
    assert_eq!(told.again.len(), 3);
    let limit = "data: {\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"quota\"}}\n\n";
    assert_eq!(asked(WireFormat::Gemini, raw(limit)).0.expect_err("a limit").kind, ErrorKind::RateLimit);
    let (reply, told) = asked(WireFormat::Ollama, raw("{\"error\":\"model runner has gone\"}\n"));
    assert!(reply.expect_err("an error").message.contains("model runner has gone"));
    assert!(told.again.is_empty());
    for format in formats() {
        let garbage = if format == WireFormat::Ollama { "garbage\n" } else { "data: garbage\n\n" };
        let error = asked(format, raw(garbage)).0.expect_err("garbage");
        assert!(error.message.contains("garbage"), "{format:?}: {error}");
        let error = asked(format, raw("\u{0}\u{1}\n\n\n")).0.expect_err("nothing at all");
        assert_eq!(error.kind, ErrorKind::Provider, "{format:?}: {error}");
    }
}

#[test]
fn an_answer_without_an_end_is_cut_off() {
    let small = Limits { bytes: 1 << 20, ..limits() };
    for format in formats() {
        for turn in [Turn { endless: true, ..Turn::default() }, Turn { huge: Some(4 << 20), ..Turn::default() }] {
            let provider = ScriptedProvider::start(Script::of(vec![turn]));
            let (reply, told) = ask(&remote(&provider, format, None, small), &request("hello"));
            let error = reply.expect_err("too large");
            assert_eq!(error.kind, ErrorKind::Generation, "{format:?}: {error}");
            assert!(error.message.contains("1048576 bytes"), "{error}");
            assert!(told.again.is_empty(), "{format:?}");
        }
    }
}

#[test]
fn more_calls_than_anybody_carries_out_are_an_error() {
    let call = |index: u64| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"id\":\"c{index}\",\"function\":{{\"name\":\"n\",\"arguments\":\"\"}}}}]}}}}]}}\n\n"
        )
    };
    let raw: String = (0..2000).map(call).collect();
    let (reply, _) = asked(WireFormat::OpenaiChat, vec![Turn { raw: Some(raw), ..Turn::default() }]);
    assert_eq!(reply.expect_err("too many").kind, ErrorKind::Generation);
}

#[test]
fn who_says_nothing_or_too_little_at_a_time_is_left() {
    let (provider, slow) = (
        ScriptedProvider::start(Script::of(vec![Turn { pause_ms: 60_000, ..Turn::text("late") }])),
        ScriptedProvider::start(Script::of(vec![Turn { pause_ms: 40, chop: Some(1), ..Turn::text("x".repeat(4000)) }])),
    );
    for format in formats() {
        let impatient = Limits { idle: Duration::from_millis(200), attempts: 1, ..limits() };
        let error = ask(&remote(&provider, format, None, impatient), &request("hello")).0.expect_err("silence");
        assert!(error.message.contains("sent nothing for 0.2 s"), "{format:?}: {error}");
        let impatient = Limits { whole: Duration::from_millis(600), ..limits() };
        let (reply, told) = ask(&remote(&slow, format, None, impatient), &request("hello"));
        let error = reply.expect_err("a trickle");
        assert!(error.message.contains("did not end its answer within 0.6 s"), "{format:?}: {error}");
        assert!(told.again.is_empty(), "{format:?}");
    }
}

#[test]
fn breaking_off_is_heard_at_once() {
    let provider = ScriptedProvider::start(Script::of(vec![Turn { pause_ms: 60_000, ..Turn::text("late") }]));
    for format in formats() {
        let model = remote(&provider, format, None, limits());
        let cancel = Cancel::default();
        let elsewhere = cancel.clone();
        let waits = std::thread::spawn(move || {
            let error = model.complete(&request("hello"), &cancel, &mut |_| {}).expect_err("it is broken off");
            (error.kind, Instant::now())
        });
        while provider.asked().iter().all(|asked| WireFormat::named(name(asked.format)) != Some(format)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let said = Instant::now();
        elsewhere.cancel();
        let (kind, heard) = waits.join().expect("it does not panic");
        assert_eq!(kind, ErrorKind::Cancelled, "{format:?}");
        // Far more than it takes, for a machine that does other things.
        assert!(heard.duration_since(said) < Duration::from_secs(5), "{format:?}");
    }
    // Also between two attempts.
    let provider = ScriptedProvider::start(Script::of(vec![Turn {
        before: vec![with(429, &[("retry-after", "60")])],
        ..Turn::default()
    }]));
    let model = remote(
        &provider,
        WireFormat::OpenaiChat,
        None,
        Limits { longest_pause: Duration::from_secs(60), ..Limits::default() },
    );
    let cancel = Cancel::default();
    let error = model.complete(&request("hello"), &cancel, &mut |_| cancel.cancel()).expect_err("it is broken off");
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

fn name(format: scripted_provider::Format) -> &'static str {
    match format {
        scripted_provider::Format::OpenaiChat => "openai",
        scripted_provider::Format::OpenaiResponses => "openai-responses",
        scripted_provider::Format::Anthropic => "anthropic",
        scripted_provider::Format::Gemini => "gemini",
        scripted_provider::Format::Ollama => "ollama",
    }
}

#[test]
fn a_key_is_shown_nowhere() {
    for format in formats() {
        let mut script = Script::default();
        script.key = Some("other".to_owned());
        let provider = ScriptedProvider::start(script);
        let model = remote(&provider, format, Some("sk-very-secret-1234"), limits());
        let error = ask(&model, &request("hello")).0.expect_err("a wrong key");
        let shown = format!("{error} {error:?} {model:?}");
        assert!(!shown.contains("very-secret"), "{format:?}: {shown}");
        assert!(error.message.contains("Incorrect API key provided: ****"), "{format:?}: {error}");
        assert!(
            error.attempt.as_deref().is_some_and(|attempt| attempt.contains("cycod secret set SCRIPTED_KEY")),
            "{error:?}"
        );
        assert_eq!(provider.asked()[0].key.as_deref(), Some("sk-very-secret-1234"), "{format:?}");
    }
}

#[test]
fn a_key_goes_nowhere_without_encryption() {
    let service = |base: &str, may_be_plain| Service {
        name: "office".to_owned(),
        format: WireFormat::OpenaiChat,
        base: base.to_owned(),
        key: Key::new("sk-x"),
        key_names: Vec::new(),
        may_be_plain,
    };
    let new = |service| Remote::new(service, "m", Facts::default(), limits()).map(drop).map_err(|error| error.message);
    assert!(
        new(service("http://models.example/v1", false)).is_err_and(|why| why.contains("unencrypted to models.example"))
    );
    assert_eq!(new(service("http://models.example/v1", true)), Ok(()));
    assert_eq!(new(service("https://models.example/v1", false)), Ok(()));
    for near in ["http://127.0.0.1:1/v1", "http://[::1]:1/v1", "http://localhost:1/v1"] {
        assert_eq!(new(service(near, false)), Ok(()), "{near}");
    }
    for wrong in ["", "models.example", "file:///etc/passwd", "http://", "https://user:pass@models.example"] {
        assert!(new(service(wrong, true)).is_err(), "{wrong}");
    }
    let bad = Service { key: Key::new("sk-\u{7f}\nx"), ..service("https://models.example", false) };
    assert!(new(bad).is_err_and(|why| !why.contains("sk-")));
}

#[test]
fn where_nobody_listens_is_said() {
    let gone = ScriptedProvider::start(Script::default()).url("openai");
    let service = Service {
        name: "here".to_owned(),
        format: WireFormat::OpenaiChat,
        base: gone,
        key: None,
        key_names: Vec::new(),
        may_be_plain: false,
    };
    let model = Remote::new(service, "m", Facts::default(), Limits { attempts: 2, ..limits() }).expect("an address");
    // The port may still be listened on for a moment: then nothing is said on it.
    let error = ask(&model, &request("hello")).0.expect_err("nobody is there");
    assert!(error.message.contains("`here`"), "{error}");
    assert_eq!(error.kind, ErrorKind::Provider);
}

#[test]
fn a_hundred_conversations_at_once_are_all_answered() {
    let provider = ScriptedProvider::start(Script::answering(|asked| Turn {
        pause_ms: 5,
        ..Turn::text(format!("to {}", asked.first))
    }));
    std::thread::scope(|scope| {
        let waits: Vec<_> = (0..100)
            .map(|number| {
                let model = remote(&provider, WireFormat::NAMES[number % 5].1, None, limits());
                scope.spawn(move || {
                    let reply = ask(&model, &request(&format!("number {number}"))).0.expect("it answers");
                    assert_eq!(reply.text, format!("to number {number}"));
                    assert_eq!(reply.stop, StopReason::End);
                })
            })
            .collect();
        for wait in waits {
            wait.join().expect("each is answered");
        }
    });
}
