use std::sync::Arc;

use cycod_call::{Given, NoSteps};
use cycod_definition::{Literal, Platform, Tool, Value};
use cycod_diagnostic::{Code, Span, visible};
use cycod_syntax::template::{HoleValue, Placeholder, Reference, Template, TemplatePart};
use expect_test::expect;

use crate::support::{
    TestScripts, arguments, bind, check_bind, command, command_tool, describe, host, run_context, template,
    text_literal, tool, try_bind,
};

#[test]
fn text_is_read_as_the_declared_type() {
    let parameters = "
N: {type: number, description: d}
I: {type: integer, description: d}
B: {type: boolean, description: d}
S: {type: string, description: d}
";
    check_bind(
        parameters,
        &[
            &["N=42", "I=42", "B=true", "S=42"],
            &["N=5.0", "I=5.0", "B=YES", "S= x "],
            &["N= -1.50e3 ", "I=-1e3", "B=off", "S="],
            &["N=123456789012345678901234567890.5", "I=123456789012345678901234567890", "B=0", "S=true"],
            &["N:=5.10", "I:=7", "B:=1", "S:=5.0"],
            &["N:=\"5\"", "I:=\"7\"", "B:=\"no\"", "S:=false"],
            &["N:=null", "B:=null"],
        ],
        &expect![[r#"
            [N=42 | I=42 | B=true | S=42]
            N = 42 (given)
            I = 42 (given)
            B = true (given)
            S = "42" (given)
            [N=5.0 | I=5.0 | B=YES | S= x ]
            N = 5.0 (given)
            I = 5 (given)
            B = true (given)
            S = " x " (given)
            [N= -1.50e3  | I=-1e3 | B=off | S=]
            N = -1.50e3 (given)
            I = -1000 (given)
            B = false (given)
            S = "" (given)
            [N=123456789012345678901234567890.5 | I=123456789012345678901234567890 | B=0 | S=true]
            N = 123456789012345678901234567890.5 (given)
            I = 123456789012345678901234567890 (given)
            B = false (given)
            S = "true" (given)
            [N:=5.10 | I:=7 | B:=1 | S:=5.0]
            N = 5.10 (given)
            I = 7 (given)
            B = true (given)
            S = "5.0" (given)
            [N:="5" | I:="7" | B:="no" | S:=false]
            N = 5 (given)
            I = 7 (given)
            B = false (given)
            S = "false" (given)
            [N:=null | B:=null]
            N = - (absent)
            I = - (absent)
            B = - (absent)
            S = - (absent)
        "#]],
    );
}

#[test]
fn what_cannot_be_read_is_an_error_and_all_are_told_at_once() {
    let parameters = "
N: {type: number, description: d}
I: {type: integer, description: d}
B: {type: boolean, description: d}
S: {type: string, description: d}
A: {type: array, description: d}
O: {type: object, description: d}
";
    check_bind(
        parameters,
        &[
            &["N=4 2", "I=4.5", "B=maybe", "S:=[1]", "A:=\"a,b\"", "O=a", "Nn=1"],
            &["N=05", "I=0x10", "B=2", "A=[1,", "O={\"a\":1,\"a\":2}"],
            &["N=NaN", "I=1e999", "N=1", "B="],
            &["N:=true", "I:={}", "B:=[]", "A:={}", "O:=[]"],
            &["N=1e5\u{1b}[31m", "I=1\n2"],
        ],
        &expect![[r#"
            [N=4 2 | I=4.5 | B=maybe | S:=[1] | A:="a,b" | O=a | Nn=1]
            unknown-argument: `Nn` is not a parameter of `t`
              help: did you mean `N`?
            wrong-argument-type: `N`: expected a number, found `4 2`
              help: write it as in JSON: `42`, `-0.5`, `1e3`
            wrong-argument-type: `I`: expected an integer, found `4.5`
              help: write it in digits, such as `42`
            wrong-argument-type: `B`: expected a boolean, found `maybe`
              help: use `true` or `false` (also 1/0, yes/no, on/off)
            wrong-argument-type: `S`: expected a string, found an array
              help: give an object or array as JSON text in a string
            wrong-argument-type: `A`: expected an array, found `a,b`
              help: give JSON such as `["a", "b"]`; a comma in a text separates nothing
            wrong-argument-type: `O`: expected an object, found `a`
              help: give JSON such as `{"key": "value"}`
            [N=05 | I=0x10 | B=2 | A=[1, | O={"a":1,"a":2}]
            wrong-argument-type: `N`: expected a number, found `05`
              help: write it as in JSON: `42`, `-0.5`, `1e3`
            wrong-argument-type: `I`: expected an integer, found `0x10`
              help: write it in digits, such as `42`
            wrong-argument-type: `B`: expected a boolean, found `2`
              help: use `true` or `false` (also 1/0, yes/no, on/off)
            wrong-argument-type: `A`: expected an array, found `[1,`
              help: the text starts like JSON, but has no value at byte 3
            wrong-argument-type: `O`: expected an object, found `{"a":1,"a":2}`
              help: the text starts like JSON, but has the same key a second time at byte 7
            [N=NaN | I=1e999 | N=1 | B=]
            repeated-argument: `N` is given more than once
              help: only a parameter of type array takes several values
            wrong-argument-type: `I`: expected an integer, found `1e999`
              help: write it in digits, such as `42`
            wrong-argument-type: `B`: expected a boolean, found an empty text
              help: use `true` or `false` (also 1/0, yes/no, on/off)
            [N:=true | I:={} | B:=[] | A:={} | O:=[]]
            wrong-argument-type: `N`: expected a number, found `true`
              help: write it as in JSON: `42`, `-0.5`, `1e3`
            wrong-argument-type: `I`: expected an integer, found an object
              help: write it in digits, such as `42`
            wrong-argument-type: `B`: expected a boolean, found an array
              help: use `true` or `false` (also 1/0, yes/no, on/off)
            wrong-argument-type: `A`: expected an array, found an object
              help: give JSON such as `["a", "b"]`; a comma in a text separates nothing
            wrong-argument-type: `O`: expected an object, found an array
              help: give JSON such as `{"key": "value"}`
            [N=1e5\u{1b}[31m | I=1
            2]
            wrong-argument-type: `N`: expected a number, found `1e5\u{1b}[31m`
              help: write it as in JSON: `42`, `-0.5`, `1e3`
            wrong-argument-type: `I`: expected an integer, found `1\n2`
              help: write it in digits, such as `42`
        "#]],
    );
}

#[test]
fn lists_are_json_or_repeated() {
    let parameters = "
A: {type: array, description: d}
N: {type: array, description: d, validation: {items: {type: integer}}}
S: {type: string, description: d}
";
    check_bind(
        parameters,
        &[
            &["A=a,b"],
            &["A=a", "A=b,c", "A=[1]"],
            &["A=[\"a\", 1.50, null, {\"k\": [true]}]"],
            &["A:=[]", "N=3"],
            &["A=", "N=1", "N=2.0"],
            &["N:=[\"1\", 2, \"x\", 4.5]"],
            &["A=a", "A:=[1]", "S=a", "S=b"],
        ],
        &expect![[r#"
            [A=a,b]
            A = ["a,b"] (given)
            N = - (absent)
            S = - (absent)
            [A=a | A=b,c | A=[1]]
            A = ["a","b,c","[1]"] (given)
            N = - (absent)
            S = - (absent)
            [A=["a", 1.50, null, {"k": [true]}]]
            A = ["a",1.50,null,{"k":[true]}] (given)
            N = - (absent)
            S = - (absent)
            [A:=[] | N=3]
            A = [] (given)
            N = [3] (given)
            S = - (absent)
            [A= | N=1 | N=2.0]
            A = [""] (given)
            N = [1,2] (given)
            S = - (absent)
            [N:=["1", 2, "x", 4.5]]
            wrong-argument-type: `N[2]`: expected an integer, found `x`
              help: write it in digits, such as `42`
            wrong-argument-type: `N[3]`: expected an integer, found `4.5`
              help: write it in digits, such as `42`
            [A=a | A:=[1] | S=a | S=b]
            repeated-argument: `A` is given more than once
              help: give all elements in one JSON array
            repeated-argument: `S` is given more than once
              help: only a parameter of type array takes several values
        "#]],
    );
}

#[test]
fn names_match_in_any_case_when_only_one_fits() {
    let parameters = "
Location: {type: string, description: d}
format: {type: string, description: d}
FORMAT: {type: string, description: d}
";
    check_bind(
        parameters,
        &[
            &["LOCATION=x", "format=a", "FORMAT=b"],
            &["Format=a"],
            &["location=x", "Location=y"],
            &["Locaton=x", "zzz=1", "zzz=2"],
        ],
        &expect![[r#"
            [LOCATION=x | format=a | FORMAT=b]
            Location = "x" (given)
            format = "a" (given)
            FORMAT = "b" (given)
            [Format=a]
            unknown-argument: `Format` is not a parameter of `t`
              help: did you mean `format`?
            [location=x | Location=y]
            repeated-argument: `Location` is given more than once
              help: only a parameter of type array takes several values
            [Locaton=x | zzz=1 | zzz=2]
            unknown-argument: `Locaton` is not a parameter of `t`
              help: did you mean `Location`?
            unknown-argument: `zzz` is not a parameter of `t`
              help: it takes `Location`, `format`, `FORMAT`
        "#]],
    );
    let no_parameters = tool("name: t\ndescription: d\nbash: ls\n");
    expect![[r#"
        unknown-argument: `x` is not a parameter of `t`
          help: the tool takes no arguments
    "#]]
    .assert_eq(&describe(&try_bind(&no_parameters, &["x=1"])));
}

#[test]
fn required_absent_and_default() {
    let parameters = "
R: {type: string, description: The city, required: true}
D: {type: number, description: d, default: 5.0}
X: {type: string, description: d, default: 3}
O: {type: string, description: d}
";
    check_bind(
        parameters,
        &[&[], &["R="], &["R:=null"], &["R=x", "D=6", "X:=null"]],
        &expect![[r#"
        []
        missing-argument: `R` is required
          help: The city
        [R=]
        R = "" (given)
        D = 5.0 (default)
        X = "3" (default)
        O = - (absent)
        [R:=null]
        missing-argument: `R` is required
          help: The city
        [R=x | D=6 | X:=null]
        R = "x" (given)
        D = 6 (given)
        X = "3" (default)
        O = - (absent)
    "#]],
    );
}

/// What a default makes of values for a parameter that is program text is placed for its reader, or refused.
#[test]
fn a_default_that_is_program_text_takes_values_as_data() {
    let parameters = r#"
X: {type: string, description: d, required: true}
CMD: {type: string, description: d, placing: bash, default: "echo {X}"}
ALL: {type: array, description: d, placing: bash, default: ["echo {X}", "true"]}
"#;
    let shown = describe(&try_bind(&command_tool("true", parameters), &["X=a; touch PWNED"]));
    assert_eq!(shown.matches("'a; touch PWNED'").count(), 2, "{shown}");
    let parameters = r#"
X: {type: string, description: d, required: true}
CMD: {type: string, description: d, placing: bash, default: "sh -c {X}"}
"#;
    let shown = describe(&try_bind(&command_tool("true", parameters), &["X=touch PWNED"]));
    assert!(shown.contains("the default of `CMD` cannot be resolved"), "{shown}");
}

#[test]
fn defaults_refer_to_each_other_in_any_order() {
    let parameters = r#"
OUT: {type: string, description: d, default: "{DIR}/{REPO:uppercase}.txt"}
DIR: {type: string, description: d, default: "./checkout/{REPO}"}
REPO: {type: string, description: d, required: true, transform: lowercase}
COPY: {type: array, description: d, default: ["{REPO}", "{N}", 1.50]}
N: {type: number, description: d, default: 7}
SAME: {type: number, description: d, default: "{N}"}
WHERE: {type: string, description: d, default: "{WORKSPACE}|{TEMP}|{HOME}|{OS}|{TOOL_NAME}|{TIMESTAMP}"}
"#;
    check_bind(
        parameters,
        &[&["REPO=My Repo"], &["REPO={N}", "DIR=x{REPO}y"], &["DIR=d"]],
        &expect![[r#"
        [REPO=My Repo]
        OUT = "./checkout/my repo/MY REPO.txt" (default)
        DIR = "./checkout/my repo" (default)
        REPO = "my repo" (given)
        COPY = ["my repo",7,1.50] (default)
        N = 7 (default)
        SAME = 7 (default)
        WHERE = "/work dir|/tmp/run-1|/home/ada|linux|my-alias|2024-02-28T23:59:59Z" (default)
        [REPO={N} | DIR=x{REPO}y]
        OUT = "x{REPO}y/{N}.txt" (default)
        DIR = "x{REPO}y" (given)
        REPO = "{n}" (given)
        COPY = ["{n}",7,1.50] (default)
        N = 7 (default)
        SAME = 7 (default)
        WHERE = "/work dir|/tmp/run-1|/home/ada|linux|my-alias|2024-02-28T23:59:59Z" (default)
        [DIR=d]
        missing-argument: `REPO` is required
          help: d
    "#]],
    );
}

#[test]
fn dynamic_defaults_are_validated() {
    let parameters = r#"
A: {type: string, description: d, required: true}
B: {type: string, description: d, default: "{A}-{A}", validation: {maxLength: 5}}
C: {type: integer, description: d, default: "{A}"}
E: {type: string, description: d, default: "{NOT_SET}"}
F: {type: string, description: d, default: "{LANG}"}
"#;
    check_bind(
        parameters,
        &[&["A=12", "E="], &["A=abc", "E="], &["A=1"], &["A=1", "E=x", "F=y"]],
        &expect![[r#"
        [A=12 | E=]
        A = "12" (given)
        B = "12-12" (default)
        C = 12 (default)
        E = "" (given)
        F = "C" (default)
        [A=abc | E=]
        invalid-argument: `B` (its default): has 7 characters, may have at most 5
        wrong-argument-type: `C` (its default): expected an integer, found `abc`
          help: write it in digits, such as `42`
        [A=1]
        unset-variable: the default of `E` cannot be resolved: `{NOT_SET}` is neither a parameter nor a variable that is set in the environment
          help: give `E`
        [A=1 | E=x | F=y]
        A = "1" (given)
        B = "1-1" (default)
        C = 1 (default)
        E = "x" (given)
        F = "y" (given)
    "#]],
    );
}

/// Binds the tool with other defaults, as an alias gives it.
fn bind_alias(tool: &Arc<Tool>, given: &[&str], defaults: &[(String, Literal)]) -> String {
    let host = host(Platform::Linux);
    let mut tool = Tool::clone(tool);
    for (name, default) in defaults {
        let parameter = tool.parameters.iter_mut().find(|parameter| parameter.name == *name).expect("it is there");
        (parameter.default, parameter.required) = (Some(default.clone()), false);
    }
    describe(&cycod_call::bind(&Arc::new(tool), arguments(given), &host, &run_context(), &TestScripts))
}

#[test]
fn an_alias_replaces_defaults() {
    let tool = command_tool(
        "true",
        "
A: {type: string, description: d, required: true}
B: {type: number, description: d, default: 1, validation: {maximum: 10}}
C: {type: string, description: d, default: c}
",
    );
    let defaults =
        vec![("A".to_owned(), text_literal(&tool, "{C}!")), ("B".to_owned(), Literal::Number("10".to_owned()))];
    expect![[r#"
        A = "c!" (default)
        B = 10 (default)
        C = "c" (default)
    "#]]
    .assert_eq(&bind_alias(&tool, &[], &defaults));
    expect![[r#"
        A = "mine" (given)
        B = 3 (given)
        C = "c" (default)
    "#]]
    .assert_eq(&bind_alias(&tool, &["A=mine", "B=3"], &defaults));
    let wrong = vec![("B".to_owned(), Literal::Number("11".to_owned()))];
    expect![[r#"
        invalid-argument: `B` (its default): `11` is more than the maximum 10
    "#]]
    .assert_eq(&bind_alias(&tool, &["A=x"], &wrong));
    let circle = vec![("A".to_owned(), text_literal(&tool, "{C}")), ("C".to_owned(), text_literal(&tool, "{A}"))];
    expect![[r#"
        default-cycle: the defaults of `C` and `A` refer to each other
          help: give `C`
    "#]]
    .assert_eq(&bind_alias(&tool, &[], &circle));
    let itself = vec![("A".to_owned(), text_literal(&tool, "{A}"))];
    expect![[r#"
        default-cycle: the default of `A` refers to itself
          help: give `A`
    "#]]
    .assert_eq(&bind_alias(&tool, &[], &itself));
}

#[test]
fn transforms_come_after_validation() {
    let parameters = r"
L: {type: string, description: d, transform: lowercase, validation: {pattern: '^[A-Z]+$'}}
J: {type: string, description: d, transform: value.exclaim()}
N: {type: string, description: d, transform: value.count()}
D: {type: string, description: d, transform: base64decode}
X: {type: string, description: d, transform: value.nul()}
Q: {type: array, description: d, transform: urlencode}
";
    check_bind(
        parameters,
        &[
            &["L=ABC", "J=a", "N=four", "D=w6k=", "Q=a b", "Q=ü/ö"],
            &["L=abc", "J:=5"],
            &["D=w6k"],
            &["D=/w=="],
            &["X=1"],
        ],
        &expect![[r#"
            [L=ABC | J=a | N=four | D=w6k= | Q=a b | Q=ü/ö]
            L = "abc" (given)
            J = "a!" (given)
            N = 4 (given)
            D = "é" (given)
            X = - (absent)
            Q = ["a%20b","%C3%BC%2F%C3%B6"] (given)
            [L=abc | J:=5]
            invalid-argument: `L`: `abc` does not match the pattern `^[A-Z]+$`
            [D=w6k]
            transform-failed: transform `base64decode` fails on the value of `D`: the value is not standard base64
            [D=/w==]
            transform-failed: transform `base64decode` fails on the value of `D`: the decoded bytes are not UTF-8 text
            [X=1]
            nul-in-value: the value of `X` holds a NUL character
              help: no command can carry it; encode the value, for example as base64
        "#]],
    );
    let failing = command_tool("true", "J: {type: string, description: d, transform: value.nope()}");
    expect![[r#"
        transform-failed: transform `value.nope()` fails on the value of `J`: value.nope(): not a function
    "#]]
    .assert_eq(&describe(&try_bind(&failing, &["J=a"])));
}

#[test]
fn nul_is_refused_at_any_depth() {
    let parameters = "
S: {type: string, description: d}
A: {type: array, description: d}
O: {type: object, description: d}
";
    check_bind(
        parameters,
        &[&["S=a\0b", "A:=[[\"\\u0000\"]]", "O:={\"\\u0000\": 1}"]],
        &expect![[r#"
        [S=a\u{0}b | A:=[["\u0000"]] | O:={"\u0000": 1}]
        nul-in-value: the value of `S` holds a NUL character
          help: no command can carry it; encode the value, for example as base64
        nul-in-value: the value of `A` holds a NUL character
          help: no command can carry it; encode the value, for example as base64
        nul-in-value: the value of `O` holds a NUL character
          help: no command can carry it; encode the value, for example as base64
    "#]],
    );
}

#[test]
fn secrets_stay_out_of_messages_and_are_masked() {
    let yaml = r#"
name: t
description: d
bash: 'true'
environment:
  variables: {SERVICE_PASSWORD: "pw-{USER}", PLAIN: visible}
  secrets: [LISTED]
parameters:
  USER: {type: string, description: d, default: ada}
  LISTED: {type: string, description: d, validation: {maxLength: 12, pattern: '^[a-z-]*$'}}
  HIDDEN: {type: string, description: d, sensitive: true, transform: base64encode, validation: {maxLength: 20}}
  SHORT: {type: integer, description: d, sensitive: true}
  TRIES: {type: string, description: d, sensitive: true, transform: base64decode}
"#;
    let tool = tool(yaml);
    let wrong = describe(&try_bind(&tool, &["LISTED=UPPER-CASE-SECRET", "SHORT=sesame", "TRIES=opensesame!"]));
    expect![[r#"
        invalid-argument: `LISTED`: has 17 characters, may have at most 12
        invalid-argument: `LISTED`: `****` does not match the pattern `^[a-z-]*$`
        wrong-argument-type: `SHORT`: expected an integer, found `****`
          help: write it in digits, such as `42`
        transform-failed: transform `base64decode` fails on the value of `TRIES`
    "#]]
    .assert_eq(&wrong);
    let call = bind(&tool, &["LISTED=hunter-two", "HIDDEN=open sesame", "SHORT=123"]);
    expect![[r#"
        [
            "b3BlbiBzZXNhbWU=",
            "s3cr3t-value",
            "open sesame",
            "hunter-two",
            "pw-ada",
        ]"#]]
    .assert_eq(&format!("{:#?}", call.secrets()));
}

#[test]
fn what_becomes_long_of_a_short_secret_is_masked() {
    let yaml = "
name: t
description: d
bash: echo {T:urlencode}
parameters:
  T: {type: string, description: d, sensitive: true, transform: base64decode}
";
    let secrets = bind(&tool(yaml), &["T=AgoB"]).secrets();
    assert!(secrets.contains(&"%02%0A%01".to_owned()), "{secrets:?}");
}

#[test]
fn deprecated_parameters_warn_when_they_are_given() {
    let parameters = "
OLD: {type: string, description: d, deprecated: true, deprecated-message: it goes away, deprecated-alternative: NEW}
NEW: {type: string, description: d}
";
    let tool = command_tool("true", parameters);
    let given = bind(&tool, &["OLD=x"]);
    assert_eq!(given.warnings.len(), 1, "{:?}", given.warnings);
    assert!(given.warnings[0].starts_with("parameter `OLD` is deprecated"), "{:?}", given.warnings);
    assert!(bind(&tool, &["NEW=x"]).warnings.is_empty());
}

#[test]
fn paths_get_the_separator_of_the_platform() {
    let yaml = "
name: t
description: d
bash: 'true'
file-paths: {normalize: true}
parameters:
  P: {type: string, description: d, path: true, default: 'a\\b/c'}
  R: {type: string, description: d, default: 'a\\b/c'}
";
    let tool = tool(yaml);
    let value = |platform| {
        let call =
            cycod_call::bind(&tool, Vec::new(), &host(platform), &run_context(), &TestScripts).expect("defaults fit");
        [call.value("P").cloned(), call.value("R").cloned()]
    };
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(value(Platform::Linux), [text("a/b/c"), text(r"a\b/c")]);
    assert_eq!(value(Platform::Windows), [text(r"a\b\c"), text(r"a\b/c")]);
}

#[test]
fn programs_find_values_in_the_environment() {
    let parameters = "
my-name: {type: string, description: d}
N: {type: number, description: d}
L: {type: array, description: d}
BIG: {type: string, description: d}
ABSENT: {type: string, description: d}
";
    let tool = command_tool("true", parameters);
    let mut given = arguments(&["my-name=a b", "N=5.0", "L=x", "L=y"]);
    given.push(("BIG".to_owned(), Given::Text("z".repeat(100_000))));
    let call = cycod_call::bind(&tool, given, &host(Platform::Linux), &run_context(), &TestScripts).expect("all fit");
    expect![[r#"
        [
            (
                "CYCOD_PARAM_my_name",
                "a b",
            ),
            (
                "CYCOD_PARAM_N",
                "5.0",
            ),
            (
                "CYCOD_PARAM_L",
                "[\"x\",\"y\"]",
            ),
        ]"#]]
    .assert_eq(&format!("{:#?}", call.environment()));
    let json = call.arguments_json();
    assert!(
        json.starts_with(r#"{"my-name":"a b","N":5.0,"L":["x","y"],"BIG":"zzz"#) && json.len() > 100_000,
        "{}",
        &json[..80]
    );
}

#[test]
fn large_values_pass() {
    let tool = command_tool(
        "f {S} {A}",
        "S: {type: string, description: d, validation: {pattern: 'z$'}}\nA: {type: array, description: d}",
    );
    let large = format!("{}z", "{S}\"'$(x)".repeat(1 << 20));
    let list = (0..100_000).map(|number| Value::Number(number.to_string())).collect();
    let given = vec![("S".to_owned(), Given::Text(large.clone())), ("A".to_owned(), Given::Value(Value::List(list)))];
    let call = cycod_call::bind(&tool, given, &host(Platform::Linux), &run_context(), &TestScripts)
        .expect("size is no reason");
    assert_eq!(call.text(&template(&tool, "{S}"), &NoSteps), Ok(large));
    assert_eq!(call.pieces(command(&tool), &NoSteps).expect("resolves").len(), 4);
}

#[test]
fn a_long_chain_of_defaults_ends_in_an_error() {
    let link = |at: usize| format!("P{at}: {{type: string, description: d, default: '{{P{}}}'}}\n", at + 1);
    let chain = |length: usize| {
        let tool = command_tool(
            "true",
            &format!("{}P{length}: {{type: string, description: d}}", (0..length).map(link).collect::<String>()),
        );
        describe(&try_bind(&tool, &[]))
    };
    assert!(chain(150).starts_with("P0 = "));
    expect![[r#"
        default-cycle: the default of `P200` refers to a chain of over 200 defaults
          help: give `P200`
    "#]]
    .assert_eq(&chain(300));
}

#[test]
fn variables_of_windows_are_found_in_any_case() {
    let tool = command_tool("true", "S: {type: string, description: d, default: '{LANG}'}");
    let value = |platform, text: &str| {
        let call = cycod_call::bind(&tool, Vec::new(), &host(platform), &run_context(), &TestScripts).expect("binds");
        call.text(&Template::of(environment(text)), &NoSteps).map_err(|error| error.code())
    };
    assert_eq!(value(Platform::Windows, "JAVA_home"), Ok("/opt/java 21".to_owned()));
    assert_eq!(value(Platform::Linux, "JAVA_home"), Err(Code::UnsetVariable));
}

fn environment(name: &str) -> TemplatePart {
    let of = Reference::Environment(name.to_owned());
    let value = HoleValue::Reference { of, transforms: Vec::new(), format: None };
    TemplatePart::Hole(Placeholder { span: Span::new(0, 0), raw: false, value })
}

/// A tool with the schema of its arguments in YAML below `input-schema:`.
fn check_schema(schema: &str, calls: &[&[&str]], expect: &expect_test::Expect) {
    let schema: String = schema.trim_matches('\n').lines().map(|line| format!("  {line}\n")).collect();
    let tool = tool(&format!("name: t\ndescription: d\nbash: echo $CYCOD_PARAMS\ninput-schema:\n{schema}"));
    let call = |given: &&[&str]| format!("[{}]\n{}", visible(&given.join(" | ")), describe(&try_bind(&tool, given)));
    expect.assert_eq(&calls.iter().map(call).collect::<String>());
}

#[test]
fn all_arguments_are_held_to_the_schema_of_the_author() {
    let schema = r##"
type: object
$defs: {address: {type: object, properties: {street: {type: string}}, required: [street], additionalProperties: false}}
properties:
  n: {type: integer, minimum: 1}
  address: {$ref: "#/$defs/address"}
  kind: {type: string, enum: [phone, email]}
  phone: {type: string}
  nothing: {type: [string, "null"]}
required: [n]
if: {properties: {kind: {const: phone}}, required: [kind]}
then: {required: [phone]}
"##;
    check_schema(
        schema,
        &[
            &["n=5"],
            &["n:=5", "kind=phone", "phone=1"],
            &["n:=5", "kind=phone"],
            &["n:=0"],
            &["n=many"],
            &[],
            &["n:=1", "address:={\"street\": \"x\"}"],
            &["n:=1", "address={\"street\": \"x\"}"],
            &["n:=1", "address:={\"street\": 1, \"more\": 2}"],
            &["n:=1", "kind=phon"],
            &["n:=1", "nothing:=null"],
            &["n:=1", "phone:=null"],
            &["n:=1", "adress:={}"],
        ],
        &expect![[r#"
            [n=5]
            n = 5 (given)
            address = - (absent)
            kind = - (absent)
            phone = - (absent)
            nothing = - (absent)
            [n:=5 | kind=phone | phone=1]
            n = 5 (given)
            address = - (absent)
            kind = "phone" (given)
            phone = "1" (given)
            nothing = - (absent)
            [n:=5 | kind=phone]
            invalid-argument: "phone" is a required property
            [n:=0]
            invalid-argument: `n`: 0 is less than the minimum of 1
            [n=many]
            wrong-argument-type: `n`: expected an integer, found `many`
              help: write it in digits, such as `42`
            []
            missing-argument: `n` is required
            [n:=1 | address:={"street": "x"}]
            n = 1 (given)
            address = {"street":"x"} (given)
            kind = - (absent)
            phone = - (absent)
            nothing = - (absent)
            [n:=1 | address={"street": "x"}]
            n = 1 (given)
            address = {"street":"x"} (given)
            kind = - (absent)
            phone = - (absent)
            nothing = - (absent)
            [n:=1 | address:={"street": 1, "more": 2}]
            invalid-argument: `address.street`: 1 is not of type "string"
            invalid-argument: `address`: Additional properties are not allowed ('more' was unexpected)
            [n:=1 | kind=phon]
            invalid-argument: `kind`: `phon` is not one of `phone`, `email`
              help: did you mean `phone`?
            [n:=1 | nothing:=null]
            n = 1 (given)
            address = - (absent)
            kind = - (absent)
            phone = - (absent)
            nothing = null (given)
            [n:=1 | phone:=null]
            n = 1 (given)
            address = - (absent)
            kind = - (absent)
            phone = - (absent)
            nothing = - (absent)
            [n:=1 | adress:={}]
            unknown-argument: `adress` is not a parameter of `t`
              help: did you mean `address`?
        "#]],
    );
}

#[test]
fn null_is_an_argument_where_the_schema_says_so() {
    check_schema(
        "type: object\nproperties: {a: {type: [integer, \"null\"]}, b: {type: integer, default: 3}}\nrequired: [a, b]\n",
        &[&["a:=null"], &["a:=1", "b:=null"], &[]],
        &expect![[r#"
            [a:=null]
            a = null (given)
            b = 3 (default)
            [a:=1 | b:=null]
            a = 1 (given)
            b = 3 (default)
            []
            missing-argument: `a` is required
        "#]],
    );
}

#[test]
fn an_open_schema_takes_more_than_it_names() {
    let calls: &[&[&str]] = &[&["a:=1"], &["a:=1", "b:={\"c\": [1]}"], &["b=x\0y"]];
    check_schema(
        "type: object\nadditionalProperties: {type: object}\nproperties: {a: {}}\n",
        calls,
        &expect![[r#"
        [a:=1]
        a = 1 (given)
        [a:=1 | b:={"c": [1]}]
        a = 1 (given)
        b = {"c":[1]} (given)
        [b=x\u{0}y]
        nul-in-value: the value of `b` holds a NUL character
          help: no command can carry it; encode the value, for example as base64
    "#]],
    );
    check_schema(
        "type: object\n",
        calls,
        &expect![[r#"
        [a:=1]
        a = 1 (given)
        [a:=1 | b:={"c": [1]}]
        a = 1 (given)
        b = {"c":[1]} (given)
        [b=x\u{0}y]
        nul-in-value: the value of `b` holds a NUL character
          help: no command can carry it; encode the value, for example as base64
    "#]],
    );
    check_schema(
        "type: object\nadditionalProperties: false\nproperties: {a: {}}\n",
        calls,
        &expect![[r#"
        [a:=1]
        a = 1 (given)
        [a:=1 | b:={"c": [1]}]
        unknown-argument: `b` is not a parameter of `t`
          help: did you mean `a`?
        [b=x\u{0}y]
        unknown-argument: `b` is not a parameter of `t`
          help: did you mean `a`?
    "#]],
    );
}

#[test]
fn a_parameter_is_held_to_its_own_schema() {
    check_bind(
        "
A: {description: d, schema: {anyOf: [{type: integer, minimum: 3}, {const: all}]}}
S: {description: d, sensitive: true, schema: {type: string, pattern: '^[a-z]+$'}}
",
        &[&["A:=5", "S=ab"], &["A=all"], &["A:=2"], &["S=S3CRET"]],
        &expect![[r#"
            [A:=5 | S=ab]
            A = 5 (given)
            S = "ab" (given, sensitive)
            [A=all]
            A = "all" (given)
            S = - (absent, sensitive)
            [A:=2]
            invalid-argument: `A`: 2 is not valid under any of the schemas listed in the 'anyOf' keyword
            [S=S3CRET]
            invalid-argument: `S`: does not fit its schema
        "#]],
    );
}

/// What would do in the place of these arguments: for a program, and whether it does.
fn instead(tool: &std::sync::Arc<cycod_definition::Tool>, given: &[&str]) -> String {
    let problems = try_bind(tool, given).expect_err("they are wrong");
    let Some(instead) = problems[0].instead.as_ref() else { return "nothing is known".to_owned() };
    let arguments = instead.arguments.iter().chain(&instead.answers);
    let again = arguments.map(|(name, value)| (name.clone(), Given::Value(value.clone())));
    let bound = cycod_call::bind(tool, again.collect(), &host(Platform::Linux), &run_context(), &TestScripts);
    let fits = if bound.is_ok() || !instead.answers.is_empty() { "" } else { " (which is wrong)" };
    format!("{}{fits}", instead.as_json().unwrap_or_else(|| "a person has to answer".to_owned()))
}

#[test]
fn what_would_do_instead_is_told_and_does() {
    let tool = command_tool(
        "true",
        "
E: {type: string, description: d, required: true, examples: [one, two]}
C: {type: string, description: d, validation: {enum: [a, b]}}
N: {type: number, description: d, validation: {minimum: 2.5, multipleOf: 0.5}}
L: {type: array, description: d, validation: {minItems: 2, items: {type: integer}}}
B: {type: string, description: d, transform: base64decode, examples: [YQ==]}
S: {type: string, description: d, sensitive: true, validation: {minLength: 4}}
",
    );
    for (given, expect) in [
        (&[][..], expect![[r#"call again with {"E":"one"}"#]]),
        (&["C=c"], expect![[r#"call again with {"E":"one","C":"a"}"#]]),
        (&["E=x", "C=c"], expect![[r#"call again with {"E":"x","C":"a"}"#]]),
        (&["E=x", "N=1"], expect![[r#"call again with {"E":"x","N":2.5}"#]]),
        (&["E=x", "L=1"], expect![[r#"call again with {"E":"x","L":[1,1]}"#]]),
        (&["E=x", "B=!"], expect![[r#"call again with {"E":"x","B":"YQ=="}"#]]),
        (&["E=x", "Z=1"], expect![[r#"call again with {"E":"x"}"#]]),
        (&["e=x", "EE=y", "Z=1"], expect![[r#"call again with {"E":"x"}"#]]),
        (&["EE=y"], expect![[r#"call again with {"E":"y"}"#]]),
        (&["E=x", "S=abc"], expect![[r#"call again with {"E":"x","S":"...."}"#]]),
        (&["S=abcdef", "C=b"], expect![[r#"call again with the same arguments and {"E":"one"}"#]]),
        (&["E=x", "S=abcdef", "Z=1"], expect!["call again with the same arguments, without `Z`"]),
        (&["E=x", "E=y", "N=3"], expect![[r#"call again with {"E":"one","N":3}"#]]),
    ] {
        expect.assert_eq(&instead(&tool, given));
    }
    let unknown =
        command_tool("true", "P: {type: string, description: d, required: true, validation: {pattern: '^[0-9]{4}$'}}");
    assert_eq!(instead(&unknown, &[]), "nothing is known");
    let long = format!("E={}", "x".repeat(5000));
    expect![[r#"call again with the same arguments and {"C":"a"}"#]].assert_eq(&instead(&tool, &[&long, "C=c"]));
}
