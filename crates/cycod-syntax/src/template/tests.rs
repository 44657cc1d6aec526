//! Templates: what is a placeholder, what is text, and what is said about each.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn names() -> KnownNames {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    KnownNames {
        parameters: own(&["NAME", "FILE", "author", "count", "SHOULD-RUN", "LOCATION", "DEBUG"]),
        steps: own(&["fetch", "try-https", "build.all", "1st"]),
        is_code: false,
        has_item: true,
    }
}

fn describe(text: &str, names: &KnownNames) -> String {
    let (template, diagnostics) = parse(text, |at| at as u32, names);
    let mut out = String::new();
    for segment in &template.segments {
        match segment {
            TemplatePart::Text(text) => {
                let _ = write!(out, "{text:?} ");
            }
            TemplatePart::Hole(hole) => {
                let covered = &text[hole.span.start as usize..hole.span.end as usize];
                let kinds: Vec<String> = match &hole.value {
                    HoleValue::Reference { of, .. } => vec![kind(of)],
                    HoleValue::Choice { .. } => template_references(hole),
                };
                let canonical = hole.to_string();
                let _ = write!(
                    out,
                    "<{}{}>",
                    kinds.join(","),
                    if canonical == covered { format!(" {covered}") } else { format!(" {covered} = {canonical}") }
                );
                out.push(' ');
            }
        }
    }
    let mut out = out.trim_end().to_owned();
    for diagnostic in diagnostics {
        let span = diagnostic.span().unwrap_or_default();
        let _ = write!(
            out,
            "\n  {:?}[{}] {:?} {}",
            diagnostic.severity,
            diagnostic.code.name(),
            &text[span.start as usize..span.end as usize],
            diagnostic.message
        );
        for help in
            diagnostic.notes.iter().map(|note| ("note", note)).chain(diagnostic.help.iter().map(|help| ("help", help)))
        {
            let _ = write!(out, "\n    {}: {}", help.0, help.1);
        }
    }
    out
}

fn kind(reference: &Reference) -> String {
    match reference {
        Reference::Parameter(_) => "parameter",
        Reference::Predefined(_) => "predefined",
        Reference::Step { .. } => "step",
        Reference::Item => "item",
        Reference::Environment(_) => "environment",
    }
    .to_owned()
}

fn template_references(hole: &Placeholder) -> Vec<String> {
    let template = Template::of(TemplatePart::Hole(hole.clone()));
    template.references().map(|(reference, _)| kind(reference)).collect()
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&describe(text, &names()));
}

/// Nothing in the text is a placeholder, and nothing is said about it.
#[track_caller]
fn check_text(text: &str) {
    assert_eq!(describe(text, &names()), format!("{text:?}"));
}

#[test]
fn references() {
    check("a {NAME} b{author}", expect![[r#""a " <parameter {NAME}> " b" <parameter {author}>"#]]);
    check(
        "{WORKSPACE}/{OS}{TOOL_NAME}",
        expect![[r#"<predefined {WORKSPACE}> "/" <predefined {OS}> <predefined {TOOL_NAME}>"#]],
    );
    check(
        "{fetch.output}{try-https.exit-code}{build.all.status}{1st.error}",
        expect!["<step {fetch.output}> <step {try-https.exit-code}> <step {build.all.status}> <step {1st.error}>"],
    );
    check(
        "{NAME:uppercase}{NAME:trim:lowercase:format(0.00)}{count:format(#,##0)}",
        expect![
            "<parameter {NAME:uppercase}> <parameter {NAME:trim:lowercase:format(0.00)}> <parameter {count:format(#,##0)}>"
        ],
    );
    check(
        "{RAW:NAME}{RAW:NAME:trim}{RAW:HOME}",
        expect!["<parameter {RAW:NAME}> <parameter {RAW:NAME:trim}> <predefined {RAW:HOME}>"],
    );
    check("{API_KEY}", expect!["<environment {API_KEY}>"]);
    check("{\"a\":{NAME}}", expect![[r#""{\"a\":" <parameter {NAME}> "}""#]]);
    check("{author}}", expect![[r#"<parameter {author}> "}""#]]);
    check("{NAME}{NAME}", expect!["<parameter {NAME}> <parameter {NAME}>"]);
}

#[test]
fn other_braces_are_text() {
    for text in [
        "jq '{author: .name}'",
        "jq 'map({author: .[0].x, n: length})'",
        "awk '{print $1}'",
        "awk '{ print author }'",
        "{\"NAME\": 1}",
        "{1..3}",
        "{a,b}",
        "{{NAME}}",
        "{{ NAME }}",
        "${NAME}",
        "${NAME:-x}",
        "$#{NAME}",
        "@{u}",
        "HEAD@{upstream}",
        "%{http_code}",
        "{}",
        "{ }",
        "{ NAME }",
        "{NAME",
        "NAME}",
        "{foo}",
        "{0}",
        "{fo-o}",
        "{.a}",
        "{name:x}",
        "{Foo}",
        "{NAME }",
        "{foo.bar}",
        "f() { echo hi; }",
        "*.{js,ts}",
        "{ [ -f x ] ? 1 : 2 }",
        "{x ? y : z}",
        "{print a ? \"x\" : \"y\"}",
        "{!x}",
        "(?<n>{3})",
        "a{3}b{1,2}",
        "\\{foo}",
        "sed 's/a\\{1,3\\}/b/'",
        "",
        "é{é}",
        "{NR==1{print}}",
        "{author: \"x\"}",
        "{author:.x}",
    ] {
        if text.is_empty() {
            assert_eq!(describe(text, &names()), "");
        } else {
            check_text(text);
        }
    }
}

#[test]
fn escapes() {
    check("\\{NAME}", expect![[r#""{NAME}""#]]);
    check("a\\{NAME:trim}b{NAME}", expect![[r#""a{NAME:trim}b" <parameter {NAME}>"#]]);
    check("\\\\{NAME}", expect![[r#""\\\\" <parameter {NAME}>"#]]);
    check("\\\\\\{NAME}", expect![[r#""\\\\{NAME}""#]]);
    check("\\{DEBUG ? 'a' : 'b'}", expect![[r#""{DEBUG ? 'a' : 'b'}""#]]);
}

#[test]
fn choices() {
    check("{DEBUG ? '--debug' : ''}", expect!["<parameter {DEBUG ? '--debug' : ''}>"]);
    check("{DEBUG?'a':'b'}", expect!["<parameter {DEBUG?'a':'b'} = {DEBUG ? 'a' : 'b'}>"]);
    check(
        "{count > 5 && !DEBUG ? \"it's\" : 'a \"b\" {x} \\' \\\\'}",
        expect![[
            r#"<parameter,parameter {count > 5 && !DEBUG ? "it's" : 'a "b" {x} \' \\'} = {(count > 5) && !DEBUG ? 'it\'s' : 'a "b" {x} \' \\'}>"#
        ]],
    );
    check(
        "{NAME == 'x' || NAME == json ? NAME : 3}",
        expect![
            "<parameter,parameter,parameter {NAME == 'x' || NAME == json ? NAME : 3} = {(NAME == 'x') || (NAME == 'json') ? NAME : '3'}>"
        ],
    );
    check(
        "{fetch.exit-code == 0 ? fetch.output : 'none'}",
        expect!["<step,step {fetch.exit-code == 0 ? fetch.output : 'none'}>"],
    );
    check(
        "{(NAME contains 'a') && NAME matches '^a+$' ? 'y' : 'n'}",
        expect![
            "<parameter,parameter {(NAME contains 'a') && NAME matches '^a+$' ? 'y' : 'n'} = {(NAME contains 'a') && (NAME matches '^a+$') ? 'y' : 'n'}>"
        ],
    );
    check("{CI ? 'ci' : HOME}", expect!["<environment,predefined {CI ? 'ci' : HOME}>"]);
    check("{SHOULD-RUN ? 1 : -2.5}", expect!["<parameter {SHOULD-RUN ? 1 : -2.5} = {SHOULD-RUN ? '1' : '-2.5'}>"]);
}

#[test]
fn the_item_in_small_letters_is_told() {
    check(
        "{item}",
        expect![[r#"
            "{item}"
              Warning[misspelt-placeholder] "item" `{item}` is text, because no parameter has this name
                note: names are case-sensitive in templates
                help: did you mean `ITEM`?"#]],
    );
}

#[test]
fn mistakes_are_told() {
    check(
        "{LOCATOIN}",
        expect![[r#"
        <environment {LOCATOIN}>
          Warning[misspelt-placeholder] "LOCATOIN" `LOCATOIN` is no parameter; its value is taken from the environment
            help: did you mean `LOCATION`?"#]],
    );
    check(
        "{location}",
        expect![[r#"
        "{location}"
          Warning[misspelt-placeholder] "location" `{location}` is text, because no parameter has this name
            note: names are case-sensitive in templates
            help: did you mean `LOCATION`?"#]],
    );
    check(
        "{fetch.outptu} {fetch.colour}",
        expect![[r#"
        "{fetch.outptu} {fetch.colour}"
          Error[unknown-step-attribute] "fetch.outptu" a step has no `outptu`, which is asked of `fetch`
            help: did you mean `fetch.output`?
          Error[unknown-step-attribute] "fetch.colour" a step has no `colour`, which is asked of `fetch`
            note: a step has `output`, `error`, `exit-code`, `duration`, `start-time`, `end-time`, `skipped`, `attempts`, `timed-out`, `status`"#]],
    );
    check(
        "{fecth.output} {zzz.output}",
        expect![[r#"
        "{fecth.output} {zzz.output}"
          Error[unknown-step-reference] "fecth.output" `fecth` is not a step of this tool
            help: did you mean `fetch`?
          Error[unknown-step-reference] "zzz.output" `zzz` is not a step of this tool
            note: the steps are `fetch`, `try-https`, `build.all`, `1st`"#]],
    );
    check(
        "curl -d @{FILE} %{NAME}",
        expect![[r#"
        "curl -d @{FILE} %{NAME}"
          Warning[not-a-placeholder] "@{FILE}" `@{FILE}` is text, not the value of `FILE`
            note: `@{` belongs to other programs and never starts a placeholder
            help: write `@"{FILE}"` if the value is meant
          Warning[not-a-placeholder] "%{NAME}" `%{NAME}` is text, not the value of `NAME`
            note: `%{` belongs to other programs and never starts a placeholder
            help: write `%"{NAME}"` if the value is meant"#]],
    );
    check(
        "{NAME:upper case} {NAME:format(00}",
        expect![[r#"
        "{NAME:upper case} {NAME:format(00}"
          Warning[not-a-placeholder] "{NAME:upper case}" `{NAME:upper case}` is text, not the value of `NAME`
            help: transforms are written `{name:transform}` and formats `{name:format(0.00)}`
          Warning[not-a-placeholder] "{NAME:format(00}" `{NAME:format(00}` is text, not the value of `NAME`
            help: transforms are written `{name:transform}` and formats `{name:format(0.00)}`"#]],
    );
    check(
        "{RAW:nmae}{RAW:zzzz}",
        expect![[r#"
        "{RAW:nmae}{RAW:zzzz}"
          Error[placeholder-syntax] "nmae" `RAW` wants a known name, which `nmae` is not
            help: did you mean `NAME`?
          Error[placeholder-syntax] "zzzz" `RAW` wants a known name, which `zzzz` is not"#]],
    );
    check(
        "{DEBUG ? a : b}",
        expect![[r#"
        "{DEBUG ? a : b}"
          Error[placeholder-syntax] "a" expected a quoted text, a number or a known name, found `a`
            help: write `'a'` if the text is meant"#]],
    );
    check(
        "{DEBUG ? 'a'}",
        expect![[r#"
        "{DEBUG ? 'a'}"
          Error[placeholder-syntax] "}" expected `:` here
            help: a choice is written `{condition ? 'a' : 'b'}`"#]],
    );
    check(
        "{DEBUG ? 'a' : 'b}",
        expect![[r#"
        "{DEBUG ? 'a' : 'b}"
          Error[condition-syntax] "'" this quote is never closed"#]],
    );
    check(
        "{NAME matches '(' ? 'a' : 'b'}",
        expect![[r#"
        "{NAME matches '(' ? 'a' : 'b'}"
          Error[bad-pattern] "'('" `(` is not a regular expression
            note: unclosed group"#]],
    );
    check(
        "{fetch.exitcode == 0 ? 'a' : 'b'}",
        expect![[r#"
        "{fetch.exitcode == 0 ? 'a' : 'b'}"
          Error[unknown-step-attribute] "fetch.exitcode" a step has no `exitcode`, which is asked of `fetch`
            help: did you mean `fetch.exit-code`?"#]],
    );
}

#[test]
fn a_tool_without_steps_has_no_step_references() {
    let names = KnownNames { parameters: vec!["a".to_owned()], ..KnownNames::default() };
    assert_eq!(describe("{foo.output} {a}", &names), "\"{foo.output} \" <parameter {a}>");
}

#[test]
fn a_parameter_hides_a_predefined_name() {
    let names = KnownNames { parameters: vec!["HOME".to_owned()], ..KnownNames::default() };
    assert_eq!(describe("{HOME}", &names), "<parameter {HOME}>");
}

#[test]
fn spans_go_through_the_origin() {
    let (template, _) = parse("ab{NAME}", |at| 100 + 2 * at as u32, &names());
    let span = template.holes().next().map(|hole| (hole.span.start, hole.span.end));
    assert_eq!(span, Some((104, 115)));
}

#[test]
fn hostile_braces_cost_little() {
    let names = names();
    for text in [
        "{".repeat(1 << 16),
        "{!".repeat(1 << 14),
        "{(".repeat(1 << 14),
        "{a==' ".repeat(1 << 13),
        "{a==\"?{b=='".repeat(1 << 12),
        "{NAME:a".repeat(1 << 13),
        "{NAME:format(".repeat(1 << 13),
    ] {
        let start = std::time::Instant::now();
        let (_, diagnostics) = parse(&text, |at| at as u32, &names);
        assert!(start.elapsed().as_secs() < 30, "{} took {:?}", &text[..8], start.elapsed());
        assert!(diagnostics.len() < 200_000);
    }
}

fn any_template() -> impl Strategy<Value = String> {
    let fragments = prop::sample::select(vec![
        "{NAME}",
        "{author}",
        "{NAME:trim}",
        "{RAW:NAME}",
        "{NAME:format(0)}",
        "{fetch.output}",
        "{HOME}",
        "{ENV}",
        "{",
        "}",
        "{{",
        "}}",
        "\\",
        "$",
        "@",
        "%",
        "#",
        "NAME",
        "author",
        ":",
        "trim",
        ".",
        "output",
        "?",
        " ? ",
        "'a'",
        "\"b\"",
        "'",
        "\"",
        " : ",
        "==",
        "&&",
        "||",
        "!",
        "(",
        ")",
        " ",
        "\n",
        "é",
        "RAW:",
        "{DEBUG ? 'a' : 'b'}",
        "{count > 3 ? NAME : ''}",
        "format(",
        "x",
        "fetch",
        "zzz",
        "1",
    ]);
    prop::collection::vec(fragments, 0..12).prop_map(|parts| parts.concat())
}

#[test]
fn a_template_is_written_as_it_was_read() {
    // Without the first escape, the brace would be text because of the `$`, and the second escape would mean something else.
    for text in ["$\\{NAME?\\{NAME}", "\\{NAME?{NAME}", "{DEBUG?'a':'b'}", "->\\{NAME?}{NAME}", "${NAME}"] {
        assert_eq!(parse(text, |at| at as u32, &names()).0.source(&names()), text);
    }
}

/// Texts of which nearly every part is escaped, begins a placeholder, or decides whether one begins.
fn any_braces() -> impl Strategy<Value = String> {
    let fragments = prop::sample::select(vec![
        "\\",
        "{",
        "}",
        "$",
        "@",
        "$#",
        "NAME",
        "{NAME}",
        "{NAME?",
        "{NAME ? 'a' : 'b'}",
        "{'a' == NAME ? 'b' : 'c'}",
        "\\{NAME?",
        " ",
        "\n",
        "->",
        "x",
    ]);
    prop::collection::vec(fragments, 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn places_are_in_the_text_and_the_source_is_what_was_read(text in any_template(), is_code: bool) {
        let names = KnownNames { is_code, ..names() };
        let (template, diagnostics) = parse(&text, |at| at as u32, &names);
        for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
            prop_assert!(text.get(label.span.start as usize..label.span.end as usize).is_some(), "{:?}", label);
        }
        if diagnostics.is_empty() {
            prop_assert_eq!(template.source(&names), text);
        }
    }

    #[test]
    fn a_text_is_written_without_placeholders(text in prop_oneof![any_template(), any_braces()], is_code: bool) {
        let names = KnownNames { is_code, ..names() };
        let source = Template::text(text.as_str()).source(&names);
        let (again, diagnostics) = parse(&source, |at| at as u32, &names);
        prop_assert!(again.holes().next().is_none(), "through {:?}", source);
        prop_assert!(diagnostics.iter().all(|found| found.severity == cycod_diagnostic::Severity::Warning), "{:?}", diagnostics);
        if !text.contains("\\{") {
            prop_assert_eq!(again.as_text(), Some(text.as_str()), "through {:?}", source);
        }
    }

    #[test]
    fn arbitrary_text_is_read_without_panic(text in "[{}\\\\$A-Z:?!'\"= ().a-z\n]{0,40}") {
        let _ = parse(&text, |at| at as u32, &names());
        let _ = parse(&text, |at| at as u32, &KnownNames::default());
    }
}

#[test]
fn braces_of_code_are_its_own() {
    let names =
        KnownNames { parameters: vec!["count".to_owned(), "HOME".to_owned()], is_code: true, ..KnownNames::default() };
    let found = |text: &str| {
        let (template, diagnostics) = parse(text, |at| at as u32, &names);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        template.holes().map(ToString::to_string).collect::<Vec<_>>()
    };
    for text in [
        "$ENV{HOME}",
        "\"$h{count} @h{count} %h{count}\"",
        "$h->{count} $$h{count} $My::h{count}",
        "$h{a}{count} $h[0]{count} $h->[0]->{count} $h{x}[1]{count}",
        "f'{WORKSPACE} {PATH} {OS}'",
        "${count} @{count} %{count}",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
    for text in ["print {count};", "x[{count}]", "({count})", "'item{count}'", "[1]{count}", "->x {count}"] {
        assert_eq!(found(text), ["{count}"], "{text}");
    }
    assert_eq!(found("{HOME}{count}"), ["{HOME}", "{count}"], "parameters keep their places");
}
