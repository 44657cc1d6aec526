//! What a tool asks of others before it runs, round by round.

use std::sync::Arc;

use cycod_diagnostic::Code;
use cycod_engine::{
    AnswerTo, AskedOf, Engine, Given, Ignore, Nobody, PendingQuestion, PlanError, Surface, definition::Tool,
};
use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

use crate::support::Place;

const RELEASE: &str = r#"
description: A tool
bash: echo "{VERSION} {name} {channel} [{notes}] {roots} {sure}"
parameters:
  VERSION: {description: Which, required: true}
asks:
  sure: {person: "Release {VERSION} as {name}?"}
  form:
    person: "How is {VERSION} called?"
    fields:
      name: {description: The name, required: true, validation: {minLength: 2, pattern: "^[a-z]+$"}, default: "{idea}"}
      channel: {schema: {type: string, oneOf: [{const: a, title: Alpha}, {const: b, title: Beta}]}, required: true}
      notes: {}
  idea: {model: "A name for {VERSION}", max-tokens: 5}
  roots: {roots: true}
"#;

struct Asking {
    engine: Engine,
    tool: Arc<Tool>,
    arguments: Vec<(String, Given)>,
    answers: Vec<(String, AnswerTo)>,
}

impl Asking {
    fn new(tool: &str, arguments: &[(&str, &str)]) -> (Place, Self) {
        let place = Place::new(tool);
        let engine = place.engine();
        let tool = engine.tool("t").expect("it loads");
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), Given::Text((*value).to_owned()))).collect();
        (place, Self { engine, tool, arguments, answers: Vec::new() })
    }

    fn answer(&mut self, question: &str, answer: AnswerTo) {
        self.answers.push((question.to_owned(), answer));
    }

    fn accept(&mut self, question: &str, answer: Json) {
        self.answer(question, AnswerTo::Accept(answer));
    }

    fn next(&self) -> Result<Vec<PendingQuestion>, PlanError> {
        self.engine.questions(&self.tool, self.arguments.clone(), &self.answers, false, &self.engine.begin())
    }

    /// The next round: a line for each question.
    #[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
    fn round(&self, expect: Expect) {
        let lines = self.next().expect("there are questions").into_iter().map(|question| {
            let whom = match question.whom {
                AskedOf::Person { message, form } => format!("person {message:?} {form}"),
                AskedOf::Model { prompt, max_tokens } => format!("model {prompt:?} {max_tokens}"),
                AskedOf::Roots => "roots".to_owned(),
            };
            format!("{}{}: {whom}\n", question.name, if question.is_required { "" } else { "?" })
        });
        expect.assert_eq(&lines.collect::<String>());
    }

    fn refusal(&self) -> String {
        let error = match self.next() {
            Err(error) => error,
            Ok(questions) => {
                assert_eq!(questions, []);
                self.engine
                    .plan_answered(&self.tool, self.arguments.clone(), &self.answers, None, &self.engine.begin())
                    .expect_err("it is refused")
            }
        };
        let refusal = error.into_refusal("t");
        format!("{}: {}", refusal.code, refusal.why)
    }

    fn run(&self) -> String {
        let plan = self
            .engine
            .plan_answered(&self.tool, self.arguments.clone(), &self.answers, None, &self.engine.begin())
            .expect("a plan");
        let approved = self.engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        let report = self.engine.run(approved, &self.engine.control().expect("descriptors"), &mut Ignore);
        String::from_utf8(report.output).expect("text")
    }
}

#[test]
fn a_question_comes_after_what_its_words_refer_to() {
    let (_place, mut asking) = Asking::new(RELEASE, &[("VERSION", "1.0")]);
    asking.round(expect![[r#"
        idea: model "A name for 1.0" 5
        roots: roots
    "#]]);
    asking.accept("idea", json!({"idea": "ash", "more": 1}));
    asking.round(expect![[r#"
        form: person "How is 1.0 called?" {"type":"object","properties":{"name":{"type":"string","description":"The name","minLength":2,"default":"ash"},"channel":{"type":"string","oneOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}]},"notes":{"type":"string"}},"required":["channel"]}
        roots: roots
    "#]]);
    asking.accept("roots", json!({"roots": ["file:///a", "file:///b c"]}));
    asking.accept("form", json!({"name": "oak", "channel": "b"}));
    asking.round(expect![[r#"
        sure: person "Release 1.0 as oak?" {"type":"object","properties":{}}
    "#]]);
    asking.accept("sure", json!({}));
    asking.round(expect![""]);
    assert_eq!(asking.run(), "1.0 oak b [] file:///a file:///b c true\n");
}

#[test]
fn arguments_are_judged_before_anybody_is_asked() {
    let (_place, asking) = Asking::new(RELEASE, &[("VERSON", "1")]);
    assert_eq!(asking.refusal(), "unknown-argument: `VERSON` is not a parameter of `t`; `VERSION` is required");
}

#[test]
fn a_caller_cannot_answer() {
    let (_place, asking) = Asking::new(RELEASE, &[("VERSION", "1"), ("sure", "true")]);
    assert_eq!(asking.refusal(), "asked-parameter: `sure` is the answer to a question, not given by the caller");
    let error = asking.engine.plan(&asking.tool, vec![("VERSION".into(), Given::Text("1".into()))], None);
    assert_eq!(error.expect_err("nobody was asked").into_refusal("t").code, Code::QuestionUnanswered);
}

#[test]
fn answers_are_held_to_the_form() {
    for (answer, expect) in [
        (json!({"name": "x", "channel": "a"}), "invalid-argument: `name`: has 1 character, needs at least 2"),
        (
            json!({"name": "OAK", "channel": "a"}),
            "invalid-argument: `name`: `OAK` does not match the pattern `^[a-z]+$`",
        ),
        (
            json!({"name": "oak", "channel": "c"}),
            "invalid-argument: `channel`: \"c\" is not valid under any of the schemas listed in the 'oneOf' keyword",
        ),
        (json!({"name": {}, "channel": "a"}), "wrong-argument-type: `name`: expected a string, found an object"),
        (json!({"name": "oak"}), "question-unanswered: `channel` is the answer to a question that was not answered"),
    ] {
        let (_place, mut asking) = Asking::new(RELEASE, &[("VERSION", "1")]);
        asking.accept("idea", json!({"idea": "ash"}));
        asking.accept("roots", json!({"roots": []}));
        asking.accept("form", answer.clone());
        asking.accept("sure", json!({}));
        assert_eq!(asking.refusal(), expect, "{answer}");
    }
}

#[test]
fn declining_stops_the_tool_unless_all_is_optional() {
    for answer in [AnswerTo::Decline, AnswerTo::Cancel, AnswerTo::Accept(json!({"sure": false}))] {
        let (_place, mut asking) =
            Asking::new("description: A tool\nbash: echo ran\nasks: {sure: {person: Sure?}}\n", &[]);
        asking.answer("sure", answer);
        assert_eq!(asking.refusal(), "question-declined: the question `sure` was declined");
    }
    let tool = "description: A tool\nbash: echo \"[{note}] {mood}\"\nasks: {how: {person: How?, fields: {note: {}, mood: {default: fine}}}}\n";
    let (_place, mut asking) = Asking::new(tool, &[]);
    asking.round(expect![[r#"
        how?: person "How?" {"type":"object","properties":{"note":{"type":"string"},"mood":{"type":"string","default":"fine"}}}
    "#]]);
    asking.answer("how", AnswerTo::Decline);
    asking.round(expect![""]);
    assert_eq!(asking.run(), "[] fine\n");
}

#[test]
fn secrets_are_not_shown_to_whoever_is_asked() {
    let tool = "description: A tool\nbash: echo\nparameters: {KEY: {description: A key, sensitive: true}}\nasks: {sure: {person: 'Use {KEY}?'}}\n";
    let (_place, asking) = Asking::new(tool, &[("KEY", "hunter22")]);
    asking.round(expect![[r#"
        sure: person "Use ****?" {"type":"object","properties":{}}
    "#]]);
}

#[test]
fn what_waits_for_the_task_is_asked_within_it() {
    let tool =
        "description: A tool\nbash: echo ran\ntask: offered\nasks: {a: {person: A?}, b: {person: B?, within: task}}\n";
    let (_place, asking) = Asking::new(tool, &[]);
    let names = |is_task| -> Vec<String> {
        let questions =
            asking.engine.questions(&asking.tool, Vec::new(), &[], is_task, &asking.engine.begin()).expect("questions");
        questions.into_iter().map(|question| question.name).collect()
    };
    assert_eq!(names(false), ["a"]);
    assert_eq!(names(true), ["a", "b"]);
}

#[test]
fn an_alias_asks_what_its_base_asks() {
    let place =
        Place::new("type: alias\nbase-tool: base\ndefault-parameters: {VERSION: \"2\"}\n").tool("base", RELEASE);
    let engine = place.engine();
    let tool = engine.tool("t").expect("it loads");
    let questions = engine.questions(&tool, Vec::new(), &[], false, &engine.begin()).expect("questions");
    assert_eq!(questions[0].whom, AskedOf::Model { prompt: "A name for 2".into(), max_tokens: 5 });
}

#[test]
fn an_alias_cannot_answer() {
    let base = "description: A tool\nbash: echo \"ran {sure}\"\nasks: {sure: {person: Sure?}}\n";
    let place = Place::new("type: alias\nbase-tool: base\ndefault-parameters: {sure: true}\n").tool("base", base);
    let engine = place.engine();
    let tool = engine.tool("t").expect("it loads");
    let error = engine.questions(&tool, Vec::new(), &[], false, &engine.begin()).expect_err("it is refused");
    assert_eq!(error.into_refusal("t").code, Code::AskedParameter);

    let alias = "type: alias\nbase-tool: base\nparameters: {sure: {type: boolean, description: d, default: true}}\n";
    let place = Place::new(alias).tool("base", base);
    let engine = place.engine();
    let tool = engine.tool("t").expect("it loads");
    let questions = engine.questions(&tool, Vec::new(), &[], false, &engine.begin()).expect("it asks");
    assert_eq!((questions.len(), questions[0].is_required), (1, true));
    let error = engine.plan(&tool, Vec::new(), None).expect_err("nobody was asked");
    assert_eq!(error.into_refusal("t").code, Code::QuestionUnanswered);
}

#[test]
fn a_call_can_be_shown_before_anybody_is_asked() {
    let place = Place::new("description: A tool\nbash: echo \"ran {sure}\"\nasks: {sure: {person: Sure?}}\n");
    let engine = place.engine();
    let tool = engine.tool("t").expect("it loads");
    let plan = engine.plan_unasked(&tool, Vec::new(), None).expect("a plan to be shown");
    assert_eq!(engine.preview(&plan).commands(), ["echo \"ran \""]);
    let refusal = engine.approve(plan, Surface::Person, &Nobody).expect_err("it is only shown");
    assert_eq!(refusal.code, Code::ConfinementUnavailable);
}

#[test]
fn a_person_answers_with_arguments() {
    let (_place, mut asking) = Asking::new(
        RELEASE,
        &[
            ("VERSION", "1"),
            ("sure", "yes"),
            ("channel", "a"),
            ("name", "oak"),
            ("idea", "elm"),
            ("roots", "a:b"),
            ("roots", "c:d"),
        ],
    );
    asking.arguments = asking.engine.by_person(&asking.tool, asking.arguments.clone()).expect("a tool");
    asking.round(expect![""]);
    assert_eq!(asking.run(), "1 oak a [] a:b c:d true\n");
    asking.arguments.retain(|(name, _)| name != "sure");
    asking.arguments.push(("sure".into(), Given::Answer(Box::new(Given::Text("no".into())))));
    assert_eq!(asking.refusal(), "question-declined: the question `sure` was declined");
}

#[test]
fn a_tool_that_others_call_cannot_ask() {
    let place = Place::new("description: A tool\nsteps:\n- {name: a, use-tool: base, with: {sure: true}}\n")
        .tool("base", "description: A tool\nbash: echo ran\nasks: {sure: {person: Sure?}}\n");
    let engine = place.engine();
    let tool = engine.tool("t").expect("it loads");
    let error = engine.plan(&tool, Vec::new(), None).expect_err("it is refused");
    assert_eq!(error.into_refusal("t").code, Code::AskedParameter);
}
