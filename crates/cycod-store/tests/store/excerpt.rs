use cycod_store::{Excerpt, tokens};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::store;

/// Writes the random id of a run as `RUN`.
#[track_caller]
fn check(bytes: &[u8], cap: usize, expected: &Expect) {
    let store = store();
    let mut kept = store.keep(bytes, 1 << 20);
    let run = kept.id().run().to_string();
    expected.assert_eq(&kept.excerpt(cap).unwrap().text.replace(&run, "RUN"));
}

#[test]
fn what_fits_is_shown_whole() {
    check(b"one\ntwo", 2, &expect!["one\ntwo"]);
    check(b"", 2, &expect![""]);
}

#[test]
fn the_middle_is_left_out_between_lines() {
    let lines: String = (1..=2000).map(|number| format!("line {number}\n")).collect();
    check(
        lines.as_bytes(),
        50,
        &expect![[r#"
            line 1
            line 2
            line 3
            line 4
            line 5
            line 6
            [… 18,811 bytes, 1,990 lines left out; all of it: cycod://runs/RUN/stdout …]
            line 1997
            line 1998
            line 1999
            line 2000
        "#]],
    );
}

#[test]
fn a_long_line_is_cut_between_characters() {
    check(
        "é😀".repeat(5000).as_bytes(),
        40,
        &expect![[r#"
            é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é
            [… 29,826 bytes, 1 line left out; all of it: cycod://runs/RUN/stdout …]
            😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀"#]],
    );
}

#[test]
fn what_is_not_text_is_described() {
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 1226]].concat();
    check(&png, 100, &expect!["[1,234 bytes, image/png; all of it: cycod://runs/RUN/stdout]"]);
    check(b"caf\xe9", 100, &expect!["[4 bytes, application/octet-stream; all of it: cycod://runs/RUN/stdout]"]);
}

#[test]
fn what_an_excerpt_refers_to_is_found() {
    let store = store();
    let mut kept = store.keep(&[b'x'; 5000], 1 << 20);
    assert!(!kept.is_stored());
    kept.excerpt(100).unwrap();
    assert_eq!(crate::all(&store.outputs.get(kept.id()).unwrap().unwrap()), [b'x'; 5000]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// An excerpt never has more tokens than asked for, and what it shows and leaves out is everything.
    #[test]
    fn an_excerpt_keeps_to_its_cap(text in "([a-z]{0,30}|[é😀]{0,9}|\n){0,60}", cap in 0usize..120) {
        let store = store();
        let mut kept = store.keep(text.as_bytes(), 1 << 20);
        let Excerpt { text: shown, left_out } = kept.excerpt(cap).unwrap();
        prop_assert!(tokens(&shown) <= cap.max(1));
        match left_out {
            None => prop_assert_eq!(shown, text),
            Some(left_out) => {
                prop_assert!(tokens(&text) > cap.max(1));
                let (from, bytes) = (usize::try_from(left_out.from).unwrap(), usize::try_from(left_out.bytes).unwrap());
                let missing = &text[from..from + bytes];
                prop_assert_eq!(missing.lines().count() as u64, left_out.lines);
                if let Some((head, rest)) = shown.split_once("[…") && let Some((_, tail)) = rest.split_once("…]\n") {
                    prop_assert!(text.starts_with(&head[..from]));
                    prop_assert_eq!(&text[from + bytes..], tail);
                }
            }
        }
    }
}
