use cycod_call::{Given, NoSteps, OwnedPiece, OwnedWords, json};
use cycod_definition::{Platform, Value};
use proptest::{collection::vec, prelude::*};

use crate::{
    agreement::{Judged, judge},
    support::{TestScripts, command, command_tool, host, run_context, template},
};

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinities", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,20})?",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        hostile_text().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            proptest::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+0-9.eE\\[\\]{}\", :xtrufalsn]{0,12}",
        Just("{N} {S:uppercase} \\{S}".to_owned()),
        Just("$(touch x); `y` 'z' \"q\"".to_owned()),
    ]
}

const PARAMETERS: &str = "
S: {type: string, description: d}
N: {type: number, description: d, validation: {minimum: -10, maximum: 1e30, multipleOf: 0.25}}
I: {type: integer, description: d, validation: {enum: [1, 2]}}
B: {type: boolean, description: d}
A: {type: array, description: d, validation: {uniqueItems: true, items: {type: integer}}}
O: {type: object, description: d, validation: {properties: {k: {type: array}}}}
";

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is declared and whatever is given, a call and the schema that models are told agree.
    #[test]
    fn a_call_takes_what_its_schema_takes(bytes in vec(any::<u8>(), 0..120)) {
        judge(&bytes);
    }

    /// Every value for every type is taken or refused with a message, and a value that is taken is of its type.
    #[test]
    fn coercion_is_total(given in vec((prop::sample::select(vec!["S", "N", "I", "B", "A", "O", "n", "Z"]), value(), any::<bool>()), 0..8)) {
        let tool = command_tool("true", PARAMETERS);
        let arguments = given.into_iter().map(|(name, value, as_text)| {
            let given = if as_text { Given::Text(json::write(&value)) } else { Given::Value(value) };
            (name.to_owned(), given)
        });
        let bound = cycod_call::bind(&tool, arguments.collect(), &host(Platform::Linux), &run_context(), &TestScripts);
        match bound {
            Ok(call) => for bound in &call.values {
                let fits = match (bound.name.as_str(), &bound.value) {
                    (_, None) | ("S", Some(Value::Text(_))) | ("B", Some(Value::Bool(_))) | ("O", Some(Value::Object(_))) => true,
                    ("N", Some(Value::Number(text))) => matches!(json::parse(text), Ok(Value::Number(_))),
                    ("I", Some(Value::Number(text))) => text == "1" || text == "2",
                    ("A", Some(Value::List(items))) => items.iter().all(|item| matches!(item, Value::Number(text) if !text.contains(['.', 'e', 'E']))),
                    _ => false,
                };
                prop_assert!(fits, "{bound:?}");
            },
            Err(problems) => for problem in problems {
                prop_assert!(!problem.message.is_empty() && !problem.message.contains(['\u{1b}', '\n', '\0']), "{problem:?}");
            },
        }
    }

    /// Without a `format`, a command and a text of the same template hold the same characters, whatever the values are.
    #[test]
    fn pieces_and_text_agree(text in "[^\0]{0,20}", items in vec("[^\0]{0,6}", 0..4), number in any::<i32>(), flag in any::<bool>()) {
        let words = "x {S} y{N}{S:uppercase}, {A} {B ? S : N} {B} {O} {S:urlencode} {TEMP}";
        let tool = command_tool(words, "
S: {type: string, description: d}
N: {type: number, description: d}
B: {type: boolean, description: d}
A: {type: array, description: d, delimiter: ', '}
O: {type: object, description: d}
");
        let arguments = vec![
            ("S".to_owned(), Given::Text(text)),
            ("N".to_owned(), Given::Text(number.to_string())),
            ("B".to_owned(), Given::Value(Value::Bool(flag))),
            ("A".to_owned(), Given::Value(Value::List(items.into_iter().map(Value::Text).collect()))),
        ];
        let call = cycod_call::bind(&tool, arguments, &host(Platform::Linux), &run_context(), &TestScripts).expect("all fit");
        let joined: String = call.pieces(command(&tool), &NoSteps).expect("resolves").into_iter().map(|piece| match piece {
            OwnedPiece::Text(text) => text,
            OwnedPiece::Value(value) => match value.words {
                OwnedWords::One(text) => text,
                OwnedWords::List { items, delimiter } => items.join(&delimiter),
            },
        }).collect();
        prop_assert_eq!(joined, call.text(&template(&tool, words), &NoSteps).expect("resolves"));
    }

    #[test]
    fn json_reads_back_what_it_wrote(value in value()) {
        prop_assert_eq!(json::parse(&json::write(&value)), Ok(value));
    }

    /// The reader takes exactly what another reader of JSON takes, apart from repeated keys and numbers beyond a machine's.
    #[test]
    fn json_agrees_with_serde(text in "[-+0-9.eE\\[\\]{}\"\\\\:, a-funrtls\n]{0,16}") {
        let ours = json::parse(&text);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => prop_assert!(ours.as_ref().err().is_none_or(|error| error.reason.contains("second time")), "{ours:?}"),
            Err(error) => prop_assert!(ours.is_err() || error.to_string().contains("out of range"), "{ours:?} {error}"),
        }
    }
}

#[test]
fn json_depth_is_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json::parse(&nested(json::MAX_DEPTH)).is_ok());
    assert!(json::parse(&nested(100_000)).is_err());
}

/// The cases of the comparison are neither all wrong nor all right.
#[test]
fn the_comparison_sees_both_sides() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    let judged: Vec<Judged> = (0..1_000).map(|_| judge(&(0..120).map(|_| byte()).collect::<Vec<_>>())).collect();
    for side in [Judged::Taken, Judged::Refused] {
        let seen = judged.iter().filter(|one| **one == side).count();
        assert!(seen > 150, "{side:?}: {seen}");
    }
}
