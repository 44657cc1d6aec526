//! Conditions: how they are read, what they give, and what is wrong with them.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::{
    decimal::Decimal,
    template::{KnownNames, StepAttribute},
};

fn names() -> KnownNames {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    KnownNames {
        parameters: own(&["NAME", "COUNT", "BIG", "VERSION", "LIST", "NONE", "FLAG"]),
        steps: own(&["fetch", "try-https", "count"]),
        is_code: false,
        has_item: false,
    }
}

fn number(text: &str) -> ConditionValue {
    ConditionValue::Number(Decimal::parse(text).expect("the test gives a number"), text.to_owned())
}

fn lookup(reference: &Reference) -> Option<ConditionValue> {
    Some(match reference {
        Reference::Parameter(name) => match name.as_str() {
            "NAME" => ConditionValue::Text("false".to_owned()),
            "COUNT" => number("10"),
            "BIG" => number("9007199254740993"),
            "VERSION" => ConditionValue::Text("1.0".to_owned()),
            "LIST" => ConditionValue::List(vec![
                ConditionValue::Text("a".to_owned()),
                number("2"),
                ConditionValue::Text("3".to_owned()),
                ConditionValue::Untyped("4".to_owned()),
            ]),
            "NONE" => ConditionValue::Null,
            _ => ConditionValue::Bool(true),
        },
        Reference::Step { attribute: StepAttribute::ExitCode, .. } => number("0"),
        Reference::Step { step, .. } if step == "count" => ConditionValue::Untyped(" 10.0 ".to_owned()),
        Reference::Step { .. } => ConditionValue::Untyped("v1.2 && ok".to_owned()),
        _ => return None,
    })
}

/// The tree with every operation in parentheses, or what is wrong, then the answer.
fn describe(text: &str, position: ExprPosition) -> String {
    let (expression, diagnostics) = parse(text, |at| at as u32, &names(), position);
    let mut out = match &expression {
        Some(expression) => format!(
            "{expression} => {}",
            match eval(expression, &lookup) {
                Ok(answer) => answer.to_string(),
                Err(error) => error.to_string(),
            }
        ),
        None => String::new(),
    };
    for diagnostic in diagnostics {
        let span = diagnostic.span().unwrap_or_default();
        let covered = text.get(span.start as usize..span.end as usize).unwrap_or("OUT OF BOUNDS");
        out.push_str(&format!(
            "{}{:?}[{}] {covered:?} {}",
            if out.is_empty() { "" } else { "\n" },
            diagnostic.severity,
            diagnostic.code.name(),
            diagnostic.message
        ));
        for extra in diagnostic.notes.iter().chain(&diagnostic.help) {
            out.push_str(&format!(" ({extra})"));
        }
    }
    out
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&describe(text, ExprPosition::RunCondition));
}

#[track_caller]
fn check_true(text: &str) {
    assert!(
        describe(text, ExprPosition::RunCondition).ends_with("=> true"),
        "{}",
        describe(text, ExprPosition::RunCondition)
    );
}

#[track_caller]
fn check_false(text: &str) {
    assert!(
        describe(text, ExprPosition::RunCondition).ends_with("=> false"),
        "{}",
        describe(text, ExprPosition::RunCondition)
    );
}

#[test]
fn precedence() {
    check(
        "!{FLAG} == false && {COUNT} > 3 || {NAME} contains als",
        expect!["((!FLAG == false) && (COUNT > 3)) || (NAME contains 'als') => true"],
    );
    check(
        "(({try-https.exit-code} == 0) || ({fetch.exit-code} == 0)) && ({fetch.exit-code} == 0)",
        expect!["((try-https.exit-code == 0) || (fetch.exit-code == 0)) && (fetch.exit-code == 0) => true"],
    );
    check("!({FLAG} || {FLAG})", expect!["!(FLAG || FLAG) => false"]);
    check("!!{FLAG}", expect!["!!FLAG => true"]);
}

#[test]
fn comparisons() {
    for text in [
        "{COUNT} == 10.0",
        "{COUNT} != 9",
        "{COUNT} >= 10",
        "{COUNT} > 9.5",
        "9 < 10",
        "abc == 'abc'",
        "1e3 == 1000",
        "99999999999999999999999 > 99999999999999999999998",
        "{FLAG} == true",
        "{LIST} contains a",
        "{LIST} contains 2.0",
        "{NAME} contains ''",
        "{fetch.output} contains '&& ok'",
        "{fetch.output} matches '^v[0-9]+\\.'",
        "'{fetch.output}' == 'v1.2 && ok'",
        "\"{COUNT}\" == 10",
        "{NAME}",
        "'it\\'s' == \"it's\"",
    ] {
        check_true(text);
    }
    for text in [
        "{COUNT} == 11",
        "{LIST} contains b",
        "{fetch.exit-code}",
        "''",
        "0",
        "0.0",
        "false",
        "!{NAME}",
        "1.0.0 == 1.0",
        "{fetch.output} matches 'x$'",
    ] {
        check_false(text);
    }
    check("{NAME} < 3", expect!["NAME < 3 => `<` orders numbers, and `{NAME}` is the text `false`"]);
    check("abc < abd", expect!["'abc' < 'abd' => `<` orders numbers, and one side is the text `abc`"]);
    check("{UNSET}", expect!["UNSET => `UNSET` has no value"]);
    check("true || {UNSET}", expect!["true || UNSET => true"]);
}

#[test]
fn what_is_a_text_is_compared_as_one() {
    for text in [
        "'1.0' == '1.0'",
        "'1.0' != '1'",
        "'1.0' != \"1\"",
        "' 7 ' != '7'",
        "{VERSION} != '1'",
        "{VERSION} == 1.0",
        "{VERSION} != 1",
        "{VERSION} != {count.output}",
        "{NAME} == false",
        "{LIST} contains 3",
        "!({LIST} contains 3.0)",
        "{COUNT} == '10'",
        "{COUNT} != '10.0'",
        "{FLAG} != 1",
    ] {
        check_true(text);
    }
}

#[test]
fn what_has_no_type_is_a_number_beside_one() {
    for text in [
        "{count.output} == 10",
        "{count.output} == {COUNT}",
        "{COUNT} >= {count.output}",
        "{count.output} < 10.5",
        "{count.output} != '10'",
        "{count.output} == ' 10.0 '",
        "{count.output} == {count.output}",
        "{fetch.output} != 0",
        "{LIST} contains 4.0",
        "!({LIST} contains '4.0')",
    ] {
        check_true(text);
    }
}

#[test]
fn numbers_are_compared_exactly() {
    for text in [
        "{BIG} != 9007199254740992",
        "{BIG} > 9007199254740992",
        "{BIG} == 9007199254740993.0",
        "0.1 != 0.1000000000000000000001",
        "0.30000000000000004 > 0.3",
        "1e400 > 1e399",
        "1e400 == 10e399",
        "1e-400 > 0",
        "-1e400 < -1e399",
        "123456789012345678901234567890123456789012345678901 > 123456789012345678901234567890123456789012345678900",
        "+5 == 5.",
        ".5 == 0.50",
        "007 == 7",
        "-0 == 0",
    ] {
        check_true(text);
    }
    check_false("0e99");
    check_true("1e-400");
}

#[test]
fn an_order_says_what_is_not_a_number() {
    let check = |text: &str, expect: Expect| {
        let told = describe(text, ExprPosition::RunCondition);
        expect.assert_eq(told.split_once(" => ").expect("it is read").1);
    };
    check("'9' < '10'", expect!["`<` orders numbers, and one side is the text `9`"]);
    check("{VERSION} >= 1", expect!["`>=` orders numbers, and `{VERSION}` is the text `1.0`"]);
    check("1 <= {VERSION}", expect!["`<=` orders numbers, and `{VERSION}` is the text `1.0`"]);
    check("{count.output} < '11'", expect!["`<` orders numbers, and one side is the text `11`"]);
    check(
        "{fetch.output} > 1",
        expect!["`>` orders numbers, and `{fetch.output}` is `v1.2 && ok`, which is not a number"],
    );
    check(
        "{count.output} < {count.output}",
        expect![
            "`<` orders numbers, and `{count.output}` is text (` 10.0 `), which counts as a number only next to one"
        ],
    );
    check("{FLAG} < 1", expect!["`<` orders numbers, and `{FLAG}` is the truth value `true`"]);
    check("{NONE} < 1", expect!["`<` orders numbers, and `{NONE}` has no value"]);
    check("{LIST} < 1", expect!["`<` orders numbers, and `{LIST}` is the list `a 2 3 4`"]);
}

#[test]
fn mistakes_are_told() {
    for (text, expect) in [
        ("", expect![[r#"Error[condition-syntax] "" the condition ends where a value was expected"#]]),
        (
            "{fetch.exit-code} = 0",
            expect![[r#"Error[condition-syntax] "=" `=` is not an operator (compare with `==`)"#]],
        ),
        (
            "{fetch.exit-code} == 0 and {FLAG}",
            expect![[r#"Error[condition-syntax] "and" `and` was not expected here (write `&&`)"#]],
        ),
        (
            "{fetch.exit-code} == 0 & {FLAG}",
            expect![[r#"Error[condition-syntax] "&" `&` is not an operator (write `&&` or `||`)"#]],
        ),
        (
            "1 == 2 == 3",
            expect![[
                r#"Error[condition-syntax] "=" comparisons cannot be chained (join them with `&&` or `||`, or use parentheses)"#
            ]],
        ),
        ("({FLAG}", expect![[r#"Error[condition-syntax] "(" this `(` is never closed"#]]),
        ("{FLAG})", expect![[r#"Error[condition-syntax] ")" a `)` with nothing to close"#]]),
        (
            "{fetch.exitcode} == 0",
            expect![[
                r#"Error[unknown-step-attribute] "{fetch.exitcode}" a step has no `exitcode`, which is asked of `fetch` (did you mean `fetch.exit-code`?)"#
            ]],
        ),
        (
            "{fecth.exit-code} == 0",
            expect![[
                r#"Error[unknown-step-reference] "{fecth.exit-code}" `fecth` is not a step of this tool (did you mean `fetch`?)"#
            ]],
        ),
        (
            "{fetch} == 0",
            expect![[
                r#"Error[unknown-name-in-condition] "{fetch}" `fetch` is not a known name (ask for one of its results, as in `{fetch.exit-code}`)"#
            ]],
        ),
        (
            "{name} == x",
            expect![[r#"Error[unknown-name-in-condition] "{name}" `name` is not a known name (did you mean `NAME`?)"#]],
        ),
        (
            "{NAME:trim} == x",
            expect![[
                r#"Error[unknown-name-in-condition] "{NAME:trim}" `NAME:trim` is not a known name (a condition compares the value itself; transforms are not applied here)"#
            ]],
        ),
        (
            "fetch.exit-code == 0",
            expect![[r#"
            'fetch.exit-code' == 0 => false
            Warning[unbraced-name] "fetch.exit-code" `fetch.exit-code` is a word here, not the value of that name"#]],
        ),
        ("'open == 1", expect![[r#"Error[condition-syntax] "'" this quote is never closed"#]]),
        ("{NAME", expect![[r#"Error[condition-syntax] "{" this `{` is never closed"#]]),
        (
            "{NAME} matches '['",
            expect![[r#"Error[bad-pattern] "'['" `[` is not a regular expression (unclosed character class)"#]],
        ),
        (
            "'x-{NAME}' == 'x-1'",
            expect![[
                r#"Error[condition-syntax] "'x-{NAME}'" a placeholder inside of a quoted text is not replaced here (compare the value itself: `{name} == 'text'`, or use `contains` or `matches`)"#
            ]],
        ),
        ("{NAME} == ", expect![[r#"Error[condition-syntax] "" the condition ends where a value was expected"#]]),
        ("== 1", expect![[r#"Error[condition-syntax] "=" expected a value before `==`"#]]),
    ] {
        check(text, expect);
    }
}

#[test]
fn bare_names_in_choices() {
    let check = |text: &str, expect: Expect| expect.assert_eq(&describe(text, ExprPosition::Ternary));
    check("COUNT > 3 && fetch.exit-code == 0", expect!["(COUNT > 3) && (fetch.exit-code == 0) => true"]);
    check("NAME == COUNT", expect!["NAME == COUNT => false"]);
    check("NAME == word", expect!["NAME == 'word' => false"]);
    check(
        "word == NAME",
        expect![[r#"Error[condition-syntax] "word" `word` is not a known name (write `'word'` if the text is meant)"#]],
    );
    check("DEBUG", expect!["DEBUG => `DEBUG` has no value"]);
    check(
        "NAEM == 'x'",
        expect![[r#"
        NAEM == 'x' => `NAEM` has no value
        Warning[misspelt-placeholder] "NAEM" `NAEM` is no parameter; its value is taken from the environment (did you mean `NAME`?)"#]],
    );
}

#[test]
fn hostile_conditions_end() {
    for text in [
        "(".repeat(100_000),
        "!".repeat(100_000),
        "1 && ".repeat(50_000) + "1",
        "'".repeat(99_999),
        "{".repeat(100_000),
    ] {
        let (expression, diagnostics) = parse(&text, |at| at as u32, &names(), ExprPosition::RunCondition);
        assert!(expression.is_none() && diagnostics.len() == 1, "{}", &text[..9]);
    }
}

fn any_condition() -> impl Strategy<Value = String> {
    let fragments = prop::sample::select(vec![
        "{NAME}",
        "{COUNT}",
        "{fetch.output}",
        "{nope}",
        "'a'",
        "\"b\"",
        "1",
        "-2.5",
        "word",
        "true",
        " == ",
        "!=",
        "<",
        ">=",
        "&&",
        " || ",
        "!",
        "(",
        ")",
        " contains ",
        " matches ",
        " ",
        "'",
        "\\",
        "{",
        "}",
        "é",
        "=",
        "fetch.output",
    ]);
    prop::collection::vec(fragments, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn any_condition_is_read_and_decided(text in any_condition(), ternary: bool) {
        let position = if ternary { ExprPosition::Ternary } else { ExprPosition::RunCondition };
        let (expression, diagnostics) = parse(&text, |at| at as u32, &names(), position);
        prop_assert!(expression.is_some() || !diagnostics.is_empty());
        for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
            prop_assert!(text.get(label.span.start as usize..label.span.end as usize).is_some(), "{:?}", label);
        }
        if let Some(expression) = &expression {
            let answer = eval(expression, &lookup);
            let (again, _) = parse(&expression.to_string(), |at| at as u32, &names(), ExprPosition::Ternary);
            let again = again.map(|again| eval(&again, &lookup));
            prop_assert_eq!(Some(answer), again, "written as {}", expression);
        }
    }
}
