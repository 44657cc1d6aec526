use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{edit::edit, *};
use crate::failure::Failure;

const PLAIN: Edit<'_> = Edit { pattern: "", replacement: "", regex: false, all: false };

fn edited(text: &[u8], how: Edit<'_>) -> Result<(Vec<u8>, Vec<usize>), String> {
    edit(text, how, Path::new("f")).map_err(|failure| match failure {
        Failure::Failed(text) => text,
        Failure::Refused(refusal) => refusal.why,
    })
}

#[track_caller]
fn check(text: &str, how: Edit<'_>, expect: &Expect) {
    expect.assert_eq(&match edited(text.as_bytes(), how) {
        Ok((text, lines)) => format!("{lines:?} {:?}", String::from_utf8(text).expect("text")),
        Err(error) => error,
    });
}

#[test]
fn one_place_is_changed() {
    check("a\nb.c\nd\n", Edit { pattern: "b.c", replacement: "$1 x", ..PLAIN }, &expect![[r#"[2] "a\n$1 x\nd\n""#]]);
    check(
        "a b",
        Edit { pattern: "A", replacement: "x", ..PLAIN },
        &expect!["`pattern` is not in `f`: read the file and copy the exact text, with its spaces"],
    );
    check(
        "a\na\n",
        Edit { pattern: "a", replacement: "x", ..PLAIN },
        &expect![
            "`pattern` is in `f` 2 times (lines 1, 2): give more of the text around the place that is meant, or `all: true`"
        ],
    );
    check(
        "}\n\n\nfn\n",
        Edit { pattern: "\n\n", replacement: "\n", ..PLAIN },
        &expect![
            "`pattern` is in `f` 2 times (lines 1, 2): give more of the text around the place that is meant, or `all: true`"
        ],
    );
    check(
        "}\n\n\nfn\n",
        Edit { pattern: "\n\n", replacement: "\n", all: true, ..PLAIN },
        &expect![[r#"[1] "}\n\nfn\n""#]],
    );
    check("a\na\n", Edit { pattern: "a", replacement: "x", all: true, ..PLAIN }, &expect![[r#"[1, 2] "x\nx\n""#]]);
    check(
        "a",
        PLAIN,
        &expect!["`pattern` is empty: give the text to replace; to add to a file, replace existing text"],
    );
    check(
        "a",
        Edit { pattern: "a", replacement: "a", ..PLAIN },
        &expect!["`pattern` and `replacement` are the same, so there is nothing to change"],
    );
    check(
        "fn a() {\n\tb();\n}\n",
        Edit { pattern: "fn a() {\n    b();\n}", replacement: "", ..PLAIN },
        &expect![
            "`pattern` is not in `f`: it begins like line 1, but spaces or what follows differ; read them and copy the exact text"
        ],
    );
}

#[test]
fn expressions_change_when_asked_for() {
    let how = Edit { pattern: r"(\w+) = (\d+)$", replacement: "$2 = ${1}", regex: true, all: true };
    check("a = 1\nb = 22\n", how, &expect![[r#"[1, 2] "1 = a\n22 = b\n""#]]);
    check("a = 1\r\nb = 22\r\n", how, &expect![[r#"[1, 2] "1 = a\r\n22 = b\r\n""#]]);
    check("", how, &expect!["`pattern` is not in `f`: no part of it matches the expression; nothing was changed"]);
    check(
        "",
        Edit { pattern: "(", ..how },
        &expect![[r#"
        `pattern` is not a regular expression that can be used: regex parse error:
            (
            ^
        error: unclosed group"#]],
    );
}

#[test]
fn line_ends_are_kept() {
    let how = Edit { pattern: "a\nb", replacement: "x\ny\nz", ..PLAIN };
    check("a\r\nb\r\n", how, &expect![[r#"[1] "x\r\ny\r\nz\r\n""#]]);
    check("a\nb\n", how, &expect![[r#"[1] "x\ny\nz\n""#]]);
}

#[test]
fn what_is_not_text_stays() {
    let how = Edit { pattern: "é", replacement: "e", ..PLAIN };
    assert_eq!(edited(b"\xff\xc3\xa9\xfe", how), Ok((b"\xffe\xfe".to_vec(), vec![1])));
}

/// Bytes of any kind, often such as patterns begin or end with.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let of_patterns = prop::sample::select(b"abc.*\n".to_vec());
    prop::collection::vec(prop_oneof![of_patterns, any::<u8>()], 0..40)
}

proptest! {
    #[test]
    fn an_edit_changes_one_place_and_nothing_else(
        before in bytes(), pattern in "[a-c.*\\\\\n$(]{1,6}", replacement in ".{0,6}", after in bytes(),
    ) {
        let text = [&before, pattern.as_bytes(), &after].concat();
        // In a file of CRLF, a line's end is two bytes.
        prop_assume!(!text.windows(2).any(|pair| pair == b"\r\n"));
        let how = Edit { pattern: &pattern, replacement: &replacement, ..PLAIN };
        let places = text.windows(pattern.len()).filter(|window| window == &pattern.as_bytes()).count();
        match edited(&text, how) {
            Ok((changed, lines)) => {
                prop_assert_eq!((lines.len(), places), (1, 1));
                prop_assert_eq!(changed, [before.as_slice(), replacement.as_bytes(), &after].concat());
            }
            Err(_) => prop_assert!(places > 1 || pattern == replacement),
        }
    }

    #[test]
    fn a_file_of_crlf_stays_one(
        lines in prop::collection::vec("[a-d]{0,3}", 1..12), at in any::<prop::sample::Index>(), replacement in "[x\n]{0,5}",
    ) {
        let text = lines.iter().map(|line| format!("{line}\r\n")).collect::<String>();
        let at = at.index(lines.len());
        let pattern = lines[at..].iter().take(2).map(|line| format!("{line}\n")).collect::<String>();
        let how = Edit { pattern: &pattern, replacement: &replacement, all: true, ..PLAIN };
        if pattern != replacement {
            let (changed, _) = edited(text.as_bytes(), how).expect("it is there");
            let changed = String::from_utf8(changed).expect("text");
            prop_assert_eq!(changed.matches('\n').count(), changed.matches("\r\n").count());
        }
    }

    #[test]
    fn a_pattern_that_is_not_there_changes_nothing(text in "[a-d\n]{0,40}", pattern in "[e-h]{1,4}") {
        let how = Edit { pattern: &pattern, replacement: "x", ..PLAIN };
        prop_assert!(edited(text.as_bytes(), how).is_err());
    }
}
