use cycod_call::{Given, NoSteps, OwnedPiece, OwnedWords, json};
use cycod_definition::{NamedTransform, Platform, Value};
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

/// A text that transforms change, and that some of them fit only by chance.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]{4,12}",
        "[ a-zA-Zéß'\"\\\\$`%+/=&<>\n\t-]{4,12}",
        "[A-Za-z0-9+/]{8}",
        "(%[0-9A-F]{2}|[a-z]){4,8}",
        any::<String>().prop_filter("no command can carry it", |text| !text.contains('\0')),
    ]
    .prop_filter("shorter ones are not masked", |text| text.trim().chars().count() > 3)
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
        let text = call.text(&template(&tool, words), &NoSteps).expect("resolves");
        prop_assert_eq!(&*cycod_call::delivered(&joined), text.as_bytes());
    }

    /// Whatever transforms make of a secret is secret.
    #[test]
    fn what_transforms_make_of_a_secret_is_masked(
        secret in secret(),
        chain in vec(prop::sample::select(NamedTransform::NAMES.map(|(name, _)| name).to_vec()), 1..4),
        own in prop::sample::select(NamedTransform::NAMES.map(|(name, _)| name).to_vec()),
        number in "[1-9][0-9]{3,9}",
    ) {
        let chain = chain.join(":");
        let holes = ["S", "T", "L", "O", "D", "N", "API_TOKEN"].map(|name| format!("{{{name}:{chain}}}"));
        let more = ["{N:format(#,##0)}", "{N:format(00000000000000)}", "{T}", "{D}"].map(str::to_owned);
        let words: Vec<String> = holes.into_iter().chain(more).collect();
        let tool = command_tool(&format!("echo {}", words.join(" ")), &format!("
S: {{type: string, description: d, sensitive: true, format: '{{value:{own}}}'}}
T: {{type: string, description: d, sensitive: true, transform: {own}}}
L: {{type: array, description: d, sensitive: true}}
O: {{type: object, description: d, sensitive: true}}
D: {{type: string, description: d, default: 'x{{API_TOKEN}}x', transform: uppercase}}
N: {{type: number, description: d, sensitive: true, format: '0.000'}}
"));
        let text = || Value::Text(secret.clone());
        let arguments = vec![
            ("S".to_owned(), Given::Value(text())),
            ("T".to_owned(), Given::Value(text())),
            ("L".to_owned(), Given::Value(Value::List(vec![text(), Value::Text(secret.chars().rev().collect())]))),
            ("O".to_owned(), Given::Value(Value::Object(vec![("k".to_owned(), text())]))),
            ("N".to_owned(), Given::Value(Value::Number(number))),
        ];
        // A value that the parameter's own transform does not fit is no call.
        let Ok(call) = cycod_call::bind(&tool, arguments, &host(Platform::Linux), &run_context(), &TestScripts) else { return Ok(()) };
        let secrets = call.secrets();
        for word in words.iter().map(String::as_str).chain(["{S}", "{N}"]) {
            let Ok(pieces) = call.pieces(&template(&tool, word), &NoSteps) else { continue };
            for piece in pieces {
                let OwnedPiece::Value(value) = piece else { continue };
                let texts = match value.words {
                    OwnedWords::One(text) => vec![text],
                    OwnedWords::List { items, .. } => items,
                };
                for text in texts.into_iter().filter(|text| text.chars().count() >= 4) {
                    // Several are joined by what is no secret.
                    let shown = secrets.iter().fold(text.clone(), |shown, secret| shown.replace(secret, ""));
                    let left = shown.chars().filter(|c| c.is_alphanumeric()).count();
                    prop_assert!(left < 4, "{word}: {text:?} shows {shown:?}");
                }
            }
        }
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
