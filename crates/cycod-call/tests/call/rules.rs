use std::sync::Arc;

use cycod_call::{Given, json};
use cycod_definition::{Loaded, Platform, Tool, Value, load};
use cycod_diagnostic::SourceFile;
use expect_test::expect;
use proptest::{collection::vec, prelude::*, sample::select};

use crate::support::{TestScripts, check_bind, host, run_context};

#[test]
fn texts() {
    let parameters = r"
L: {type: string, description: d, validation: {minLength: 2, maxLength: 4}}
P: {type: string, description: d, validation: {pattern: 'b$'}}
E: {type: string, description: d, validation: {enum: [celsius, kelvin, '5']}}
";
    check_bind(
        parameters,
        &[
            &["L=ab", "P=ab", "E=celsius"],
            &["L=é\u{301}🦀x", "E=5"],
            &["L=a", "P=b\n", "E=Celsius"],
            &["L=abcde", "P=bc", "E="],
        ],
        &expect![[r#"
            [L=ab | P=ab | E=celsius]
            L = "ab" (given)
            P = "ab" (given)
            E = "celsius" (given)
            [L=é́🦀x | E=5]
            L = "é́🦀x" (given)
            P = - (absent)
            E = "5" (given)
            [L=a | P=b
             | E=Celsius]
            invalid-argument: `L`: has 1 character, needs at least 2
            invalid-argument: `P`: `b\n` does not match the pattern `b$`
            invalid-argument: `E`: `Celsius` is not one of `celsius`, `kelvin`, `5`
              help: did you mean `celsius`?
            [L=abcde | P=bc | E=]
            invalid-argument: `L`: has 5 characters, may have at most 4
            invalid-argument: `P`: `bc` does not match the pattern `b$`
            invalid-argument: `E`: an empty text is not one of `celsius`, `kelvin`, `5`
        "#]],
    );
}

#[test]
fn numbers_are_compared_exactly() {
    let parameters = "
A: {type: integer, description: d, validation: {minimum: -5, maximum: 9007199254740993}}
B: {type: number, description: d, validation: {exclusiveMinimum: 0, exclusiveMaximum: 1}}
C: {type: number, description: d, validation: {multipleOf: 0.1}}
E: {type: number, description: d, validation: {enum: [1, 2.50]}}
";
    check_bind(
        parameters,
        &[
            &["A=9007199254740993", "B=1e-400", "C=0.3", "E=2.5"],
            &["A=9007199254740994", "B=0", "C=0.35", "E=3"],
            &["A=-6", "B=1.0", "C=1e300", "E=1.0"],
        ],
        &expect![[r#"
            [A=9007199254740993 | B=1e-400 | C=0.3 | E=2.5]
            A = 9007199254740993 (given)
            B = 1e-400 (given)
            C = 0.3 (given)
            E = 2.5 (given)
            [A=9007199254740994 | B=0 | C=0.35 | E=3]
            invalid-argument: `A`: `9007199254740994` is more than the maximum 9007199254740993
            invalid-argument: `B`: `0` must be more than 0
            invalid-argument: `C`: `0.35` is not a multiple of 0.1
            invalid-argument: `E`: `3` is not one of `1`, `2.50`
            [A=-6 | B=1.0 | C=1e300 | E=1.0]
            invalid-argument: `A`: `-6` is less than the minimum -5
            invalid-argument: `B`: `1.0` must be less than 1
        "#]],
    );
}

#[test]
fn lists_and_objects_are_checked_inside() {
    let parameters = "
A:
  type: array
  description: d
  validation:
    minItems: 1
    maxItems: 3
    uniqueItems: true
    items: {type: integer, minimum: 0}
O:
  type: object
  description: d
  validation:
    properties:
      name: {type: string, minLength: 1}
      tags: {type: array, items: {type: string, enum: [a, b]}}
    required: [name]
";
    check_bind(
        parameters,
        &[
            &["A:=[1, \"2\", 3.0]", "O:={\"name\": 5, \"extra\": [null]}"],
            &["A:=[]", "O:={}"],
            &["A:=[1, 1.0, -1, 4]", "O:={\"name\": \"\", \"tags\": [\"a\", \"c\"]}"],
            &["A:=[\"x\", 1]", "O:={\"name\": []}"],
        ],
        &expect![[r#"
            [A:=[1, "2", 3.0] | O:={"name": 5, "extra": [null]}]
            A = [1,2,3] (given)
            O = {"name":"5","extra":[null]} (given)
            [A:=[] | O:={}]
            invalid-argument: `A`: has 0 elements, needs at least 1
            invalid-argument: `O`: lacks the property `name`
            [A:=[1, 1.0, -1, 4] | O:={"name": "", "tags": ["a", "c"]}]
            invalid-argument: `A`: has 4 elements, may have at most 3
            invalid-argument: `A`: holds `1` more than once
            invalid-argument: `A[2]`: `-1` is less than the minimum 0
            invalid-argument: `O.name`: has 0 characters, needs at least 1
            invalid-argument: `O.tags[1]`: `c` is not one of `a`, `b`
            [A:=["x", 1] | O:={"name": []}]
            wrong-argument-type: `A[0]`: expected an integer, found `x`
              help: write it in digits, such as `42`
            wrong-argument-type: `O.name`: expected a string, found an array
              help: give an object or array as JSON text in a string
        "#]],
    );
}

#[test]
fn a_long_list_of_wrong_elements_is_told_in_part() {
    let parameters = "A: {type: array, description: d, validation: {items: {type: integer, enum: [1]}}}";
    check_bind(
        parameters,
        &[&["A:=[1,2,3,4,5,6,7,8,9,10,11,12,13,14]"], &["A:=[{},[],null,true]"]],
        &expect![[r#"
            [A:=[1,2,3,4,5,6,7,8,9,10,11,12,13,14]]
            invalid-argument: `A[1]`: `2` is not one of `1`
            invalid-argument: `A[2]`: `3` is not one of `1`
            invalid-argument: `A[3]`: `4` is not one of `1`
            invalid-argument: `A[4]`: `5` is not one of `1`
            invalid-argument: `A[5]`: `6` is not one of `1`
            invalid-argument: `A[6]`: `7` is not one of `1`
            invalid-argument: `A[7]`: `8` is not one of `1`
            invalid-argument: `A[8]`: `9` is not one of `1`
            invalid-argument: `A[9]`: `10` is not one of `1`
            invalid-argument: `A[10]`: `11` is not one of `1`
            invalid-argument: `A`: and 3 more of the kind
            [A:=[{},[],null,true]]
            wrong-argument-type: `A[0]`: expected an integer, found an object
              help: write it in digits, such as `42`
            wrong-argument-type: `A[1]`: expected an integer, found an array
              help: write it in digits, such as `42`
            wrong-argument-type: `A[2]`: expected an integer, found null
              help: write it in digits, such as `42`
            wrong-argument-type: `A[3]`: expected an integer, found `true`
              help: write it in digits, such as `42`
        "#]],
    );
}

fn value() -> impl Strategy<Value = Value> {
    let number = select(vec!["0", "1", "-1", "5.0", "1e3", "2.5", "0.3", "9007199254740993", "1e400", "1e-400"]);
    let text = select(vec![
        "",
        "a",
        "abc",
        "abcd",
        "five",
        "5",
        " 5.0 ",
        "1e3",
        "yes",
        "OFF",
        "[1,2]",
        "[1,",
        "[\"a\"]",
        "{\"k\":1}",
        "a,b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|number| Value::Number(number.to_owned())),
        text.prop_map(|text| Value::Text(text.to_owned())),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            proptest::collection::btree_map("[kl]", inner, 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Types with rules under which each value above passes or fails for one reason or another.
const PARAMETERS: [&str; 9] = [
    "type: any, validation: {enum: [1, '1', [5], {k: 1.0}, true]}",
    "type: string, validation: {minLength: 1, maxLength: 3}",
    "type: string, validation: {pattern: '^[0-9.]+$', enum: [5, abc]}",
    "type: number, validation: {minimum: 0, exclusiveMaximum: 9007199254740993, multipleOf: 0.1}",
    "type: integer, validation: {maximum: 9007199254740992}",
    "type: boolean, validation: {enum: [on]}",
    "type: array, validation: {uniqueItems: true, minItems: 1, items: {type: number, minimum: 0}}",
    "type: array, validation: {maxItems: 2, items: {type: string, minLength: 1}}",
    "type: object, validation: {required: [k], properties: {k: {type: integer, maximum: 5}, l: {type: array}}}",
];

fn loaded(parameter: &str) -> Loaded {
    let yaml =
        format!("name: t\ndescription: d\nrun: echo {{P}}\nparameters: {{P: {{description: d, {parameter}}}}}\n");
    load(&SourceFile::new("t.yaml", &*yaml), None)
}

fn bound(tool: Tool, arguments: Vec<(String, Given)>) -> Result<Option<Value>, String> {
    let call = cycod_call::bind(&Arc::new(tool), arguments, &host(Platform::Linux), &run_context(), &TestScripts);
    match call {
        Ok(call) => Ok(call.values[0].value.clone()),
        Err(problems) => Err(problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("\n")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file takes a value as a default exactly when a call takes it as an argument, with the same words when not
    /// and the same value when so.
    #[test]
    fn defaults_and_arguments_are_judged_alike(parameter in select(&PARAMETERS[..]), value in value()) {
        let tool = loaded(parameter).tool.expect("the parameter is fine without a default");
        let given = bound(tool, vec![("P".to_owned(), Given::Value(value.clone()))]);
        let with_default = loaded(&format!("{parameter}, default: {}", json::write(&value)));
        match (with_default.tool, given) {
            (Some(tool), Ok(given)) => prop_assert_eq!(bound(tool, Vec::new()), Ok(given)),
            (None, Err(refused)) => {
                let mut told: Vec<&str> = with_default
                    .diagnostics
                    .iter()
                    .map(|diagnostic| diagnostic.message.strip_prefix("the default of ").unwrap_or(&diagnostic.message))
                    .collect();
                let mut refused: Vec<&str> = refused.lines().collect();
                told.sort_unstable();
                refused.sort_unstable();
                prop_assert_eq!(told, refused);
            }
            (tool, given) => prop_assert!(false, "{:?} {given:?} {:?}", tool.is_some(), with_default.diagnostics),
        }
    }
}
