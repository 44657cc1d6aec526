use cycod_call::{Given, NoSteps, StepValue};
use cycod_definition::{Platform, Value};
use cycod_syntax::{
    condition::{self, ExprPosition},
    template::{HoleValue, KnownNames, Placeholder, StepAttribute, TemplatePart},
};
use expect_test::expect;

use crate::support::{
    TestScripts, TestSteps, bind, check_pieces, command, command_tool, host, run_context, show_pieces, template,
    text_literal, tool,
};

const ONE_OF_EACH: &str = "
S: {type: string, description: d}
W: {type: string, description: d, security: {escape-shell: true}}
R: {type: string, description: d, security: {escape-shell: false}}
N: {type: number, description: d}
B: {type: boolean, description: d}
E: {type: string, description: d, validation: {enum: [a, b]}}
A: {type: array, description: d}
O: {type: object, description: d}
T: {type: string, description: d, sensitive: true}
";

#[test]
fn values_are_placed_as_their_parameter_says() {
    check_pieces(
        ONE_OF_EACH,
        &["S=x y", "W=x y", "R=$(x)", "N=5.0", "B=yes", "E=a", "A=1", "A=b c", "O={\"k\":[1.0]}", "T=tttt"],
        &["f {S} {W} {R}", "f {N} {B} {E}", "f {A} {O}", "f {T} {RAW:S} {RAW:A}", "f {unknown} ${S} {{S}} \\{S}"],
        &expect![[r#"
            f {S} {W} {R}
                "f " <S Bare Text: "x y"> " " <W Word Text: "x y"> " " <R Raw Text: "$(x)">
            f {N} {B} {E}
                "f " <N Word Number: "5.0"> " " <B Word Boolean: "true"> " " <E Bare Enum: "a">
            f {A} {O}
                "f " <A Word Text: ["1", "b c"] by " "> " " <O Word Text: "{\"k\":[1.0]}">
            f {T} {RAW:S} {RAW:A}
                "f " <T Bare Text secret: "tttt"> " " <S Raw Text: "x y"> " " <A Raw Text: "1 b c">
            f {unknown} ${S} {{S}} \{S}
                "f {unknown} ${S} {{S}} {S}"
        "#]],
    );
}

#[test]
fn absent_values_are_no_words() {
    check_pieces(
        ONE_OF_EACH,
        &[],
        &["f {S} {W} {R}", "f '{N}' {B} {A} {O}", "f {S:uppercase} {N:format(000)}"],
        &expect![[r#"
            f {S} {W} {R}
                "f " <S Bare Text: ""> " " <W Bare Text: ""> " " <R Bare Text: "">
            f '{N}' {B} {A} {O}
                "f '" <N Bare Number: ""> "' " <B Bare Boolean: ""> " " <A Bare Text: ""> " " <O Bare Text: "">
            f {S:uppercase} {N:format(000)}
                "f " <S Bare Text: ""> " " <N Bare Number: "">
        "#]],
    );
}

#[test]
fn transforms_keep_what_is_known_of_a_value() {
    check_pieces(
        ONE_OF_EACH,
        &["S=It's", "N=1234.5", "B=true", "E=a", "A=a b", "A=c", "O={\"k\":1}"],
        &[
            "f {S:shellescaped} {S:shellescaped:uppercase} {A:shellescaped}",
            "f {N:trim} {N:base64encode} {N:format(#,##0)} {N:format(0.0)} {B:uppercase} {E:uppercase}",
            "f {A:uppercase} {O:jsonescaped} {S:jsonescaped}",
            "f {S:format(000)}",
        ],
        &expect![[r#"
            f {S:shellescaped} {S:shellescaped:uppercase} {A:shellescaped}
                "f " <S Fragment Text: "'It'\\''s'"> " " <S Word Text: "'IT'\\''S'"> " " <A Fragment Text: "'a b' 'c'">
            f {N:trim} {N:base64encode} {N:format(#,##0)} {N:format(0.0)} {B:uppercase} {E:uppercase}
                "f " <N Word Number: "1234.5"> " " <N Word Enum: "MTIzNC41"> " " <N Word Enum: "1,235"> " " <N Word Number: "1234.5"> " " <B Word Enum: "TRUE"> " " <E Bare Enum: "A">
            f {A:uppercase} {O:jsonescaped} {S:jsonescaped}
                "f " <A Word Text: ["A B", "C"] by " "> " " <O Word Text: "{\\\"k\\\":1}"> " " <S Bare Text: "It's">
            f {S:format(000)}
                format-failed: `{S}`: `It's` cannot be written in the number format `000`
        "#]],
    );
}

#[test]
fn predefined_transforms() {
    let tool = command_tool("true", "X: {type: string, description: d}");
    let mut shown = String::new();
    for (value, transform) in [
        ("ÀB ß", "lowercase"),
        ("straße", "uppercase"),
        ("\u{a0}\u{2003} a \t\n", "trim"),
        ("ab?>é", "base64encode"),
        ("YWI/PsOp", "base64decode"),
        ("YWI_PsOp", "base64decode"),
        ("YQ", "base64decode"),
        (" YQ==", "base64decode"),
        ("AZaz09-._~ /?é+&=", "urlencode"),
        ("%41+%c3%A9", "urldecode"),
        ("%4", "urldecode"),
        ("%zz", "urldecode"),
        ("%ff", "urldecode"),
        ("%é", "urldecode"),
        ("a\"b\\c\n\u{1}/é", "jsonescaped"),
        ("it's $(x)", "shellescaped"),
        ("", "shellescaped"),
        ("'", "shellescaped"),
    ] {
        let call = bind(&tool, &[&format!("X={value}")]);
        let result = call.text(&template(&tool, &format!("{{X:{transform}}}")), &NoSteps);
        let result = result.map_or_else(|error| error.to_string(), |text| format!("{text:?}"));
        shown.push_str(&format!("{value:?} {transform}: {result}\n"));
    }
    expect![[r#"
        "ÀB ß" lowercase: "àb ß"
        "straße" uppercase: "STRASSE"
        "\u{a0}\u{2003} a \t\n" trim: "a"
        "ab?>é" base64encode: "YWI/PsOp"
        "YWI/PsOp" base64decode: "ab?>é"
        "YWI_PsOp" base64decode: transform `base64decode` fails on `{X}`: the value is not standard base64
        "YQ" base64decode: transform `base64decode` fails on `{X}`: the value is not standard base64
        " YQ==" base64decode: transform `base64decode` fails on `{X}`: the value is not standard base64
        "AZaz09-._~ /?é+&=" urlencode: "AZaz09-._~%20%2F%3F%C3%A9%2B%26%3D"
        "%41+%c3%A9" urldecode: "A+é"
        "%4" urldecode: transform `urldecode` fails on `{X}`: a `%` is not followed by two hexadecimal digits
        "%zz" urldecode: transform `urldecode` fails on `{X}`: a `%` is not followed by two hexadecimal digits
        "%ff" urldecode: transform `urldecode` fails on `{X}`: the decoded bytes are not UTF-8 text
        "%é" urldecode: transform `urldecode` fails on `{X}`: a `%` is not followed by two hexadecimal digits
        "a\"b\\c\n\u{1}/é" jsonescaped: "a\\\"b\\\\c\\n\\u0001/é"
        "it's $(x)" shellescaped: "'it'\\''s $(x)'"
        "" shellescaped: "''"
        "'" shellescaped: "''\\'''"
    "#]]
    .assert_eq(&shown);
}

#[test]
fn formats_are_author_text_around_the_value() {
    let parameters = r#"
S: {type: string, description: d, format: "-n {value}"}
N: {type: number, description: d, format: "--count={value:format(000)}"}
P: {type: number, description: d, format: "0000"}
D: {type: boolean, description: d, default: false, format: "{value ? '--debug' : ''}"}
V: {type: boolean, description: d, format: "{value ? '--verbose' : ''}"}
L: {type: array, description: d, format: "--list {value}"}
X: {type: string, description: d, format: "{value:shellescaped}"}
R: {type: string, description: d, format: "{RAW:value}"}
C: {type: boolean, description: d, format: "--constant"}
"#;
    let commands =
        ["f {S} {N} {P}", "f {D} {V} {C}", "f {L} {X} {R}", "f {S:uppercase} {N:format(0.0)}", "f {V ? S : N}"];
    check_pieces(
        parameters,
        &["S=a b", "N=5", "P=7", "V=1", "L=1", "L=2", "X=q", "R=$(r)", "C=no"],
        &commands,
        &expect![[r#"
            f {S} {N} {P}
                "f -n " <S Bare Text: "a b"> " --count=" <N Word Enum: "005"> " " <P Word Enum: "0007">
            f {D} {V} {C}
                "f  --verbose --constant"
            f {L} {X} {R}
                "f --list " <L Word Text: ["1", "2"] by " "> " " <X Fragment Text: "'q'"> " " <R Raw Text: "$(r)">
            f {S:uppercase} {N:format(0.0)}
                "f -n " <S Bare Text: "A B"> " " <N Word Number: "5.0">
            f {V ? S : N}
                "f -n " <S Bare Text: "a b">
        "#]],
    );
    check_pieces(
        parameters,
        &[],
        &commands,
        &expect![[r#"
            f {S} {N} {P}
                "f   "
            f {D} {V} {C}
                "f   "
            f {L} {X} {R}
                "f   "
            f {S:uppercase} {N:format(0.0)}
                "f  " <N Bare Number: "">
            f {V ? S : N}
                "f "
        "#]],
    );
}

#[test]
fn choices() {
    let parameters =
        format!("{ONE_OF_EACH}V: {{type: any, description: d}}\nP: {{type: any, description: d, sensitive: true}}");
    check_pieces(
        &parameters,
        &["S=false", "N=0", "B=no", "A:=[]", "T=sesame", "V=false", "P=sesame"],
        &[
            "f {S ? 'yes' : 'no'} {N ? 'yes' : 'no'} {B ? 'yes' : 'no'} {A ? 'yes' : 'no'} {E ? 'yes' : 'no'}",
            "f {S == 'false' ? S : 'other'} {N < 1 ? N : 5} {E == '' ? 'empty' : 'not'}",
            "f {V < 3 ? 'a' : 'b'}",
            "f {P < 3 ? 'a' : 'b'}",
        ],
        &expect![[r#"
            f {S ? 'yes' : 'no'} {N ? 'yes' : 'no'} {B ? 'yes' : 'no'} {A ? 'yes' : 'no'} {E ? 'yes' : 'no'}
                "f yes no no no no"
            f {S == 'false' ? S : 'other'} {N < 1 ? N : 5} {E == '' ? 'empty' : 'not'}
                "f " <S Bare Text: "false"> " " <N Word Number: "0"> " empty"
            f {V < 3 ? 'a' : 'b'}
                undecidable-condition: `<` orders numbers, and `{V}` is `false`, which is not a number
            f {P < 3 ? 'a' : 'b'}
                undecidable-condition: `<` orders numbers, and `{P}` is not one
        "#]],
    );
}

#[test]
fn predefined_variables_share_one_instant() {
    check_pieces(
        "S: {type: string, description: d}",
        &[],
        &[
            "f {TOOL_NAME} {WORKSPACE} {TEMP}",
            "f {HOME} {OS}",
            "f {DATE} {TIME} {TIMESTAMP}",
            "f {JAVA_HOME} {API_TOKEN}",
            "f {NOT_SET}",
        ],
        &expect![[r#"
            f {TOOL_NAME} {WORKSPACE} {TEMP}
                "f " <TOOL_NAME Word Enum: "my-alias"> " " <WORKSPACE Word Text: "/work dir"> " " <TEMP Word Text: "/tmp/run-1">
            f {HOME} {OS}
                "f " <HOME Word Text: "/home/ada"> " " <OS Word Enum: "linux">
            f {DATE} {TIME} {TIMESTAMP}
                "f " <DATE Word Enum: "2024-02-28"> " " <TIME Word Enum: "23:59:59"> " " <TIMESTAMP Word Enum: "2024-02-28T23:59:59Z">
            f {JAVA_HOME} {API_TOKEN}
                "f " <JAVA_HOME Word Text: "/opt/java 21"> " " <API_TOKEN Word Text secret: "s3cr3t-value">
            f {NOT_SET}
                unset-variable: `{NOT_SET}` is neither a parameter nor a variable that is set in the environment
        "#]],
    );
    check_pieces(
        "DATE: {type: string, description: d}",
        &["DATE=today"],
        &["f {DATE}"],
        &expect![[r#"
            f {DATE}
                "f " <DATE Bare Text: "today">
        "#]],
    );
}

const STEPS: &str = "
name: t
description: d
programs: {f: text}
parameters:
  S: {type: string, description: d, default: s}
steps:
  - name: first
    bash: ls
  - name: second
    bash: 'f {first.output} \"{first.output:trim}\" {first.exit-code} {first.skipped} {first.status} {first.exit-code == 0 ? S : first.error} {RAW:first.output}'
";

fn steps(rest: StepValue) -> TestSteps {
    TestSteps {
        known: vec![
            ("first", StepAttribute::Output, Value::Text("a *\n b".to_owned())),
            ("first", StepAttribute::ExitCode, Value::Number("0".to_owned())),
            ("first", StepAttribute::Skipped, Value::Bool(false)),
            ("first", StepAttribute::Status, Value::Text("ok".to_owned())),
        ],
        rest,
    }
}

#[test]
fn results_of_steps() {
    let tool = tool(STEPS);
    let call = bind(&tool, &[]);
    let pieces = call.pieces(command(&tool), &steps(StepValue::Missing)).expect("all results are known");
    expect![[r#""f " <first.output Output Text: "a *\n b"> " \"" <first.output Output Text: "a *\n b"> "\" " <first.exit-code Word Number: "0"> " " <first.skipped Word Boolean: "false"> " " <first.status Word Enum: "ok"> " " <S Bare Text: "s"> " " <first.output Raw Text: "a *\n b">"#]].assert_eq(&show_pieces(&pieces));
    let later = TestSteps { known: Vec::new(), rest: StepValue::Later };
    let pieces = call.pieces(command(&tool), &later).expect("what comes later stays visible");
    expect![[r#""f {first.output} \"{first.output:trim}\" {first.exit-code} {first.skipped} {first.status} {first.exit-code == 0 ? S : first.error} {RAW:first.output}""#]].assert_eq(&show_pieces(&pieces));
    let missing = call.pieces(command(&tool), &NoSteps).expect_err("a result is missing");
    expect!["missing-step-result: `{first.output}` has no value: the step did not get that far"]
        .assert_eq(&format!("{}: {missing}", missing.code()));
}

#[test]
fn conditions_are_decided_over_values() {
    let tool = tool(STEPS);
    let call = bind(&tool, &[]);
    let names =
        KnownNames { parameters: vec!["S".to_owned()], steps: vec!["first".to_owned()], ..KnownNames::default() };
    let mut shown = String::new();
    for text in [
        "{first.exit-code} == 0",
        "{first.output} contains '*'",
        "{S} == s && !{first.skipped}",
        "{first.status} < 3",
        "{first.error} == ''",
    ] {
        let (expr, problems) =
            condition::parse(text, |at| u32::try_from(at).expect("short"), &names, ExprPosition::RunCondition);
        let expr = expr.unwrap_or_else(|| panic!("{text} parses: {problems:?}"));
        let known = call.condition(&expr, &steps(StepValue::Missing));
        let later = call.condition(&expr, &TestSteps { known: Vec::new(), rest: StepValue::Later });
        shown.push_str(&format!("{text}\n    {known:?}\n    {later:?}\n"));
    }
    expect![[r#"
        {first.exit-code} == 0
            Ok(true)
            Err(Later { name: "first.exit-code" })
        {first.output} contains '*'
            Ok(true)
            Err(Later { name: "first.output" })
        {S} == s && !{first.skipped}
            Ok(true)
            Err(Later { name: "first.skipped" })
        {first.status} < 3
            Err(Condition(NotOrdered { operator: "<", operand: "`{first.status}`", found: "is the text `ok`" }))
            Err(Later { name: "first.status" })
        {first.error} == ''
            Err(NoResult { name: "first.error" })
            Err(Later { name: "first.error" })
    "#]]
    .assert_eq(&shown);
}

#[test]
fn texts_and_literals() {
    let tool =
        command_tool("true", &format!("{ONE_OF_EACH}F: {{type: number, description: d, format: '-n {{value}}'}}"));
    let call = bind(&tool, &["S={N}", "N=5.0", "B=no", "A=a", "A=b c", "O={\"k\":1.0}", "F=3", "W=x"]);
    let mut shown = String::new();
    for text in [
        "{S} {N}",
        "{N}",
        "{B}",
        "{A}",
        "x{A}",
        "{O}",
        "{F}",
        "n={F}",
        "{E}",
        "[{E}]",
        "{N:format(000)}",
        "{S:lowercase}",
        "{B ? S : N}",
        "{B ? 'a' : '5'}",
        "plain",
        "",
    ] {
        let as_text = call.text(&template(&tool, text), &NoSteps);
        let as_literal = call.literal(&text_literal(&tool, text), &NoSteps);
        shown.push_str(&format!("{text:?}: {as_text:?} / {as_literal:?}\n"));
    }
    expect![[r#"
        "{S} {N}": Ok("{N} 5.0") / Ok(Text("{N} 5.0"))
        "{N}": Ok("5.0") / Ok(Number("5.0"))
        "{B}": Ok("false") / Ok(Bool(false))
        "{A}": Ok("a b c") / Ok(List([Text("a"), Text("b c")]))
        "x{A}": Ok("xa b c") / Ok(Text("xa b c"))
        "{O}": Ok("{\"k\":1.0}") / Ok(Object([("k", Number("1.0"))]))
        "{F}": Ok("3") / Ok(Number("3"))
        "n={F}": Ok("n=3") / Ok(Text("n=3"))
        "{E}": Ok("") / Ok(Null)
        "[{E}]": Ok("[]") / Ok(Text("[]"))
        "{N:format(000)}": Ok("005") / Ok(Text("005"))
        "{S:lowercase}": Ok("{n}") / Ok(Text("{n}"))
        "{B ? S : N}": Ok("5.0") / Ok(Number("5.0"))
        "{B ? 'a' : '5'}": Ok("5") / Ok(Text("5"))
        "plain": Ok("plain") / Ok(Text("plain"))
        "": Ok("") / Ok(Text(""))
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_transform_that_nobody_knows_is_an_error() {
    let tool = command_tool("true", "X: {type: string, description: d}");
    let call = bind(&tool, &["X=a"]);
    let mut unknown = template(&tool, "{X:trim}");
    let Some(TemplatePart::Hole(Placeholder { value: HoleValue::Reference { transforms, .. }, .. })) =
        unknown.segments.first_mut()
    else {
        panic!("the template is one placeholder")
    };
    *transforms = vec!["shellescape".to_owned()];
    let error = call.pieces(&unknown, &NoSteps).expect_err("there is no such transform");
    expect!["transform `shellescape` fails on `{X}`: there is no such transform"].assert_eq(&error.to_string());
}

/// A number may stand where other values may not, so a caller that says `Number` is not taken at its word.
#[test]
fn what_claims_to_be_a_number_has_to_be_one() {
    let tool = command_tool("f {X} {N}", "X: {description: d, type: any}\nN: {description: d, type: number}");
    let fake = || Given::Value(Value::Number("1;id".to_owned()));
    let bind = |name: &str| {
        let given = vec![(name.to_owned(), fake())];
        cycod_call::bind(&tool, given, &host(Platform::Linux), &run_context(), &TestScripts)
    };
    let pieces = bind("X").expect("any value is taken").pieces(command(&tool), &NoSteps).expect("resolves");
    expect![[r#""f " <X Word Text: "1;id"> " " <N Bare Number: "">"#]].assert_eq(&show_pieces(&pieces));
    assert!(bind("N").is_err());
}
