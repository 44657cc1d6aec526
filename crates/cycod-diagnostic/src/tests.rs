//! How diagnostics look: whole reports, as a terminal and a model get them.

use expect_test::{Expect, expect};

use crate::{
    Code, Diagnostic, Edit, Passing, RenderStyle, Shown, SourceFile, SourceReport, Span, apply_fixes, count, is_hidden,
    render_text, shown, to_json, visible, visible_json,
};

const UNKNOWN: Code = Code::UnknownStep;

fn at(text: &str, needle: &str) -> Span {
    let start = text.find(needle).expect("the needle is in the text");
    Span::new(start, start + needle.len())
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn check(text: &str, diagnostics: Vec<Diagnostic>, expect: Expect) {
    let report = SourceReport { source: SourceFile::new("tools/a.yaml", text), diagnostics };
    expect.assert_eq(render_text(&report, RenderStyle::Plain).as_str());
}

const WEATHER: &str = "name: weather\nsteps:\n  - name: fetch\n    wait-for: [ftch]\n    bash: ls\n";

#[test]
fn looks_like_rustc() {
    let diagnostic =
        Diagnostic::error(UNKNOWN, at(WEATHER, "ftch"), "step `fetch` waits for `ftch`, which is not a step")
            .label("no step has this name")
            .also(at(WEATHER, "fetch"), "the step")
            .note("the steps are `fetch`")
            .help("did you mean `fetch`?");
    let warning = Diagnostic::warning(Code::QuotedScalar, at(WEATHER, "ls"), "a warning").fix("quote it", Vec::new());
    check(
        WEATHER,
        vec![warning, diagnostic],
        expect![[r#"
        error[unknown-step]: step `fetch` waits for `ftch`, which is not a step
         --> tools/a.yaml:4:16
          |
        3 |   - name: fetch
          |           ----- the step
        4 |     wait-for: [ftch]
          |                ^^^^ no step has this name
          |
          = note: the steps are `fetch`
          = help: did you mean `fetch`?

        warning[quoted-scalar]: a warning
         --> tools/a.yaml:5:11
          |
        5 |     bash: ls
          |           ^^
          |
          = help: quote it
    "#]],
    );
}

#[test]
fn several_lines_and_the_end_of_the_file() {
    let text = "a: |\n  one\n  two\n  three\n  four\n  five\nb: c\n";
    check(
        text,
        vec![
            Diagnostic::error(UNKNOWN, at(text, "|\n  one\n  two\n  three\n  four\n  five"), "too long")
                .label("all of this"),
            Diagnostic::error(UNKNOWN, Span::new(text.len(), text.len()), "something is missing").label("here"),
            Diagnostic::error(UNKNOWN, Span { start: 9999, end: 99999 }, "out of bounds"),
        ],
        expect![[r#"
        error[unknown-step]: too long
         --> tools/a.yaml:1:4
          |
        1 |   a: |
          |  ____^
        2 | |   one
        3 | |   two
        4 | |   three
        5 | |   four
        6 | |   five
          | |______^ all of this

        error[unknown-step]: something is missing
         --> tools/a.yaml:8:1
          |
        8 |
          | ^ here

        error[unknown-step]: out of bounds
         --> tools/a.yaml:8:1
          |
        8 |
          | ^
    "#]],
    );
}

#[test]
fn the_whole_file_and_the_empty_file() {
    let whole = Diagnostic { labels: Vec::new(), ..Diagnostic::error(UNKNOWN, Span::default(), "no `description`") };
    check(
        "a: b\n",
        vec![whole.help("say what the tool does")],
        expect![[r#"
        error[unknown-step]: no `description`
        --> tools/a.yaml
         = help: say what the tool does
    "#]],
    );
    check(
        "",
        vec![Diagnostic::error(UNKNOWN, Span::default(), "the file is empty")],
        expect![[r#"
        error[unknown-step]: the file is empty
        --> tools/a.yaml:1:1
    "#]],
    );
}

#[test]
fn hidden_characters_are_shown() {
    let text = "a: x\u{1b}[2J\u{202e}evil\u{200b} y\r\nb: \u{9b}31m\tend\n";
    let message = "a \u{1b}]0;title\u{7} b";
    let diagnostic = Diagnostic::error(UNKNOWN, at(text, "evil"), message)
        .label("\u{202e}label")
        .note("\u{1b}[31mnote")
        .help("\u{feff}help");
    let second = Diagnostic::error(UNKNOWN, at(text, "end"), "after a tab");
    check(
        text,
        vec![diagnostic, second],
        expect![[r#"
        error[unknown-step]: a \u{1b}]0;title\u{7} b
         --> tools/a.yaml:1:10
          |
        1 | a: x\u{1b}[2J\u{202e}evil\u{200b} y
          |                      ^^^^ \u{202e}label
          |
          = note: \u{1b}[31mnote
          = help: \u{feff}help

        error[unknown-step]: after a tab
         --> tools/a.yaml:2:9
          |
        2 | b: \u{9b}31m    end
          |                 ^^^
    "#]],
    );
    let report = SourceReport {
        source: SourceFile::new("\u{1b}[31mname", text),
        diagnostics: vec![Diagnostic::error(UNKNOWN, at(text, "evil"), message)],
    };
    let plain = render_text(&report, RenderStyle::Plain);
    assert!(plain.as_str().chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
    let coloured = render_text(&report, RenderStyle::Coloured);
    let coloured = coloured.as_str();
    assert!(
        coloured.contains('\u{1b}') && !coloured.contains("\u{1b}[2J") && !coloured.contains("\u{1b}]0"),
        "{coloured:?}"
    );
}

#[test]
fn long_lines_are_cut() {
    let text = format!("a: {}NEEDLE{}\n", "x".repeat(500_000), "y".repeat(500_000));
    let diagnostic = Diagnostic::error(UNKNOWN, at(&text, "NEEDLE"), "m".repeat(100_000))
        .label("here")
        .also(Span::new(0, 1), "the key");
    let report = SourceReport { source: SourceFile::new("a.yaml", text.as_str()), diagnostics: vec![diagnostic] };
    let rendered = render_text(&report, RenderStyle::Plain);
    assert!(rendered.as_str().len() < 4000, "{}", rendered.as_str().len());
    let all = Diagnostic::error(UNKNOWN, Span::new(0, text.len()), "all");
    check(
        &text,
        vec![Diagnostic::error(UNKNOWN, at(&text, "NEEDLE"), "long").label("here"), all],
        expect![[r#"
        error[unknown-step]: all
         --> tools/a.yaml:1:1
          |
        1 | a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        error[unknown-step]: long
         --> tools/a.yaml:1:500004
          |
        1 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxNEEDLEyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
          |                                                   ^^^^^^ here
    "#]],
    );
}

#[test]
fn wide_characters_keep_the_underline() {
    let text = "名前: 天気 x\n";
    check(
        text,
        vec![Diagnostic::error(UNKNOWN, at(text, "天気"), "wide").label("here")],
        expect![[r#"
        error[unknown-step]: wide
         --> tools/a.yaml:1:5
          |
        1 | 名前: 天気 x
          |       ^^^^ here
    "#]],
    );
}

#[test]
fn json_has_everything() {
    let edit = Edit { span: at(WEATHER, "ftch"), replacement: "fetch".to_owned() };
    let diagnostic = Diagnostic::error(UNKNOWN, at(WEATHER, "ftch"), "no such step")
        .label("here")
        .note("a note")
        .help("some help")
        .fix("write `fetch`", vec![edit]);
    let whole = Diagnostic { labels: Vec::new(), ..Diagnostic::warning(UNKNOWN, Span::default(), "whole file") };
    let report = SourceReport { source: SourceFile::new("a.yaml", WEATHER), diagnostics: vec![diagnostic, whole] };
    expect![[r#"
        [
          {
            "code": "unknown-step",
            "severity": "warning",
            "message": "whole file",
            "file": "a.yaml",
            "labels": [],
            "notes": [],
            "help": null,
            "fix": null
          },
          {
            "code": "unknown-step",
            "severity": "error",
            "message": "no such step",
            "file": "a.yaml",
            "line": 4,
            "column": 16,
            "end-line": 4,
            "end-column": 20,
            "labels": [
              {
                "line": 4,
                "column": 16,
                "end-line": 4,
                "end-column": 20,
                "text": "here"
              }
            ],
            "notes": [
              "a note"
            ],
            "help": "some help",
            "fix": {
              "title": "write `fetch`",
              "edits": [
                {
                  "start": 52,
                  "end": 56,
                  "replacement": "fetch"
                }
              ]
            }
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&to_json(&report)).expect("JSON writes"));
}

#[track_caller]
fn check_fixes(text: &str, fixes: &[&[(&str, &str)]], expect: &str) {
    let diagnostics: Vec<Diagnostic> = fixes
        .iter()
        .map(|edits| {
            let edits =
                edits.iter().map(|(needle, new)| Edit { span: at(text, needle), replacement: (*new).to_owned() });
            Diagnostic::error(UNKNOWN, Span::default(), "x").fix("fix", edits.collect())
        })
        .collect();
    assert_eq!(apply_fixes(&SourceFile::new("a", text), &diagnostics), expect);
}

#[test]
fn fixes_apply_whole_or_not_at_all() {
    check_fixes("one two three", &[], "one two three");
    check_fixes("one two three", &[&[("three", "3")], &[("one", "1")]], "1 two 3");
    check_fixes("one two three", &[&[("two", "2")], &[("one", "1"), ("wo th", "!")]], "one 2 three");
    check_fixes("one two three", &[&[("one", "1")], &[("one", "uno")]], "1 two three");
    let beyond = Diagnostic::error(UNKNOWN, Span::default(), "x")
        .fix("fix", vec![Edit { span: Span::new(50, 60), replacement: "y".to_owned() }]);
    assert_eq!(apply_fixes(&SourceFile::new("a", "é"), &[beyond]), "é");
    let inside = Diagnostic::error(UNKNOWN, Span::default(), "x")
        .fix("fix", vec![Edit { span: Span::new(1, 2), replacement: "y".to_owned() }]);
    assert_eq!(apply_fixes(&SourceFile::new("a", "é"), &[inside]), "é");
}

#[test]
fn counts_read_well() {
    let error = || Diagnostic::error(UNKNOWN, Span::default(), "x");
    let warning = || Diagnostic::warning(UNKNOWN, Span::default(), "x");
    assert_eq!(count(&[]), "no problems");
    assert_eq!(count(&[error()]), "1 error");
    assert_eq!(count(&[warning(), error(), warning()]), "1 error, 2 warnings");
}

#[test]
fn a_place_inside_a_line_break_is_the_end_of_its_line() {
    for text in ["?\r\r", "\r\n\r", "a\r\r\nb", "\r"] {
        for start in 0..=text.len() {
            for end in start..=text.len() {
                let diagnostic =
                    Diagnostic::error(Code::TooMany, Span::new(start, end), "bad").also(Span::new(end, end), "there");
                let report = SourceReport { source: SourceFile::new("t.yaml", text), diagnostics: vec![diagnostic] };
                assert!(
                    render_text(&report, RenderStyle::Plain).as_str().contains("too-many"),
                    "{text:?} {start}..{end}"
                );
            }
        }
    }
}

#[test]
fn everything_that_unicode_hides_is_hidden() {
    let invisible = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]";
    let invisible = regex::Regex::new(invisible).expect("it is one");
    for character in ('\0'..=char::MAX).filter(|character| !matches!(character, '\n' | '\t')) {
        let text = character.to_string();
        if invisible.is_match(&text) {
            assert!(visible(&text).is_ascii(), "{:?} is not shown", character.escape_unicode().to_string());
        }
    }
}

#[test]
fn joiners_stay_where_writing_needs_them() {
    let stays = |text: &str| assert_eq!(visible(text), text);
    stays("👩\u{200d}👧 and 👩🏽\u{200d}💻, ❤\u{fe0f}\u{200d}🔥, 1\u{fe0f}\u{20e3}, 漢\u{e0100}");
    stays("می\u{200c}خواهم श\u{94d}\u{200d} ന\u{d4d}\u{200d} ශ\u{dca}\u{200d}රී ᠠ\u{180e}ᠨ");
    let check = |text: &str, expect: &str| assert_eq!(visible(text), expect);
    check("r\u{200d}m a\u{200c}b 1\u{fe0f} a\u{fe0f}", "r\\u{200d}m a\\u{200c}b 1\\u{fe0f} a\\u{fe0f}");
    check("\u{fe0f}\u{200d}👧", "\\u{fe0f}\\u{200d}👧");
    check("\u{200d}👧 👩\u{200d} 👩\u{200d}\u{200d}👧", "\\u{200d}👧 👩\\u{200d} 👩\\u{200d}\\u{200d}👧");
    check("❤\u{fe0f}\u{fe0f} م\u{200c} م\u{202e}م", "❤\u{fe0f}\\u{fe0f} م\\u{200c} م\\u{202e}م");
    // What was shown once is shown in the same way again.
    let all: String = ('\0'..=char::MAX).collect();
    assert_eq!(visible(&visible(&all)), visible(&all));
}

#[test]
fn json_says_the_same_when_it_is_shown() {
    let value = serde_json::json!({"a\u{202e}": "b\u{7f}\u{9b}\u{e0041}é\n\u{1b}"});
    let (plain, shown) = (value.to_string(), visible_json(&value.to_string()).into_owned());
    assert!(plain != shown && !shown.chars().any(is_hidden), "{shown}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("it is JSON"), value);
}

#[test]
fn only_our_styles_reach_a_terminal() {
    let bold = anstyle::Style::new().bold();
    let mut text = shown!["\u{1b}[8m", Shown::styled("\u{1b}[2Jx", bold), &String::from(" \r"), &visible("\u{202e}")];
    assert_eq!(text.as_str(), "\\u{1b}[8m\u{1b}[1m\\u{1b}[2Jx\u{1b}[0m \\r\\u{202e}");
    text = shown!["a\nb\n\n   c\td\n e"];
    assert_eq!(text.clone().hanging(2).as_str(), "a\n  b\n\n   c\td\n   e");
    assert_eq!(text.clone().quoted("  | ").as_str(), "  | a\n  | b\n  |\n  |    c\td\n  |  e");
    assert_eq!(text.on_one_line().as_str(), "a\\nb\\n\\n   c d\\n e");
}

#[test]
fn pieces_are_shown_as_the_whole_is() {
    let whole = "a\r\nb\rc é👩\u{200d}👧\u{200d} ❤\u{fe0f} 1\u{fe0f}\u{20e3}\r\n\u{202e}\u{9b}m".as_bytes();
    let whole = [whole, b"\x9bm\xc3(\xf0\x9f\x91", b"\r"].concat();
    let expect = Shown::of_bytes(&whole);
    assert_eq!(
        expect.as_str(),
        "a\nb\\rc é👩\u{200d}👧\\u{200d} ❤\u{fe0f} 1\u{fe0f}\u{20e3}\n\\u{202e}\\u{9b}m\\x9bm\\xc3(\\xf0\\x9f\\x91\\r"
    );
    for size in 1..whole.len() {
        let mut passing = Passing::default();
        let mut shown: Shown = whole.chunks(size).map(|piece| passing.pass(piece)).collect();
        shown.push(passing.finish());
        assert_eq!(shown, expect, "in pieces of {size}");
    }
}
