use std::time::Duration;

use cycod_store::{FoundLine, Search, SearchResult, StoreError, StoredOutput, tokens};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::store;

const PIECE: usize = 1024 * 1024;

fn search(pattern: &str) -> Search<'_> {
    Search { pattern, from: 0, max_matches: 1000, context: 0, cap: 100_000, time: Duration::from_secs(600) }
}

#[track_caller]
fn check(bytes: &[u8], search: &Search<'_>, expected: &Expect) {
    let found = store().keep(bytes, 1 << 20).search(search).unwrap();
    expected.assert_eq(&found.to_string());
}

#[test]
fn shows_lines_as_grep_does() {
    let text: String = (1..=30).map(|number| format!("line {number}\n")).collect();
    check(
        text.as_bytes(),
        &Search { context: 1, ..search("^line .?[59]$") },
        &expect![[r#"
            4-line 4
            5:line 5
            6-line 6
            --
            8-line 8
            9:line 9
            10-line 10
            --
            14-line 14
            15:line 15
            16-line 16
            --
            18-line 18
            19:line 19
            20-line 20
            --
            24-line 24
            25:line 25
            26-line 26
            --
            28-line 28
            29:line 29
            30-line 30
        "#]],
    );
    check(
        text.as_bytes(),
        &Search { max_matches: 2, context: 1, ..search("[59]") },
        &expect![[r#"
            4-line 4
            5:line 5
            6-line 6
            --
            8-line 8
            9:line 9
            10-line 10
            [there is more; continue from byte 71]
        "#]],
    );
    check(
        text.as_bytes(),
        &Search { from: 71, max_matches: 1, ..search("[59]") },
        &expect![[r#"
            15:line 15
            [there is more; continue from byte 111]
        "#]],
    );
}

#[test]
fn ends_of_lines_are_what_is_expected() {
    check(
        b"dos\r\nunix\nlast",
        &search("(dos|unix|last)$"),
        &expect![[r#"
            1:dos
            2:unix
            3:last
        "#]],
    );
    check(
        b"\n\nx",
        &search("^$"),
        &expect![[r#"
            1:
            2:
        "#]],
    );
    check(
        b"",
        &search(""),
        &expect![[r#"
            [no line matches]
        "#]],
    );
}

#[test]
fn beyond_the_end_is_nothing() {
    let nothing = SearchResult { lines: Vec::new(), matches: 0, next: None };
    let kept = store().keep(b"one\ntwo", 100);
    for from in [7, 8, 1 << 20, u64::MAX] {
        assert_eq!(kept.search(&Search { from, ..search("o") }).unwrap(), nothing);
    }
}

#[test]
fn bytes_that_are_not_text_are_shown_as_such() {
    check(
        b"caf\xe9 au lait\n",
        &search("au"),
        &expect![[r#"
            1:caf\xe9 au lait
        "#]],
    );
}

#[test]
fn of_a_long_line_what_is_around_each_match_is_shown() {
    let line = format!("{}needle{}needle{}", "a".repeat(500), "b".repeat(2000), "c".repeat(500));
    let found = store().keep(line.as_bytes(), 1 << 20).search(&search("needle")).unwrap();
    let places: Vec<(u64, u64, usize)> =
        found.lines.iter().map(|line| (line.number, line.offset, line.text.len())).collect();
    assert_eq!(places, [(1, 500, 406), (1, 2506, 406)]);
    assert!(found.lines.iter().all(|line| line.text.contains("needle") && line.text.starts_with('…')));
}

#[test]
fn a_pattern_that_is_too_much_is_refused() {
    let kept = store().keep(b"x", 100);
    for pattern in ["(", r"(\w{100}){1000}", r"(a)\1"] {
        assert!(matches!(kept.search(&search(pattern)), Err(StoreError::Pattern(_))), "{pattern}");
    }
}

#[test]
fn the_time_is_kept_and_every_call_comes_further() {
    let kept = store().keep(&b"some line\n".repeat(500_000), 0);
    let (mut from, mut calls) = (0, 0);
    while let Some(next) = kept.search(&Search { from, time: Duration::ZERO, ..search("nothing") }).unwrap().next {
        assert!(next > from);
        (from, calls) = (next, calls + 1);
    }
    assert!(calls > 2);
}

/// Every match of a line that is longer than what is looked at at once: at the borders, across them, and not twice.
#[test]
fn matches_are_found_across_the_borders_of_pieces() {
    let needle = "<needle>";
    for around in [PIECE, 2 * PIECE - 64 * 1024] {
        for shift in [0, 1, 4, needle.len(), needle.len() + 1] {
            let at = around - shift;
            let line = format!("first\n{}{needle}{}\nlast", "-".repeat(at - 6), "-".repeat(PIECE + 1));
            let kept = store().keep(line.as_bytes(), 0);
            for pattern in ["<needle>", "<[a-z]+>", r"\bneedle\b"] {
                let found = kept.search(&search(pattern)).unwrap();
                let expected = at as u64 + u64::from(pattern.starts_with('\\'));
                let offsets: Vec<u64> = found.lines.iter().map(|line| line.offset).collect();
                assert_eq!((offsets, found.lines[0].number), (vec![expected], 2), "{pattern} at {at}");
            }
            assert_eq!(kept.search(&search("^-")).unwrap().matches, 1);
            assert_eq!(kept.search(&search("-$")).unwrap().matches, 1);
            assert_eq!(kept.search(&search("^last$")).unwrap().lines[0].number, 3);
        }
    }
}

/// What a search finds, going on for as long as it says there is more.
fn go_on(kept: &StoredOutput, mut search: Search<'_>) -> Vec<FoundLine> {
    let mut lines = Vec::new();
    loop {
        let found: SearchResult = kept.search(&search).unwrap();
        assert!(found.matches > 0 || found.next.is_none());
        assert!(tokens(&found.to_string()) <= search.cap, "{found}");
        lines.extend(found.lines.into_iter().filter(|line| line.is_match));
        match found.next {
            None => return lines,
            Some(next) => {
                assert!(next > search.from);
                search.from = next;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same lines as looking at each by itself, however small the answers are.
    #[test]
    fn finds_what_each_line_holds(
        text in "([ab]{0,3}|c|[é😀]|\n|\r\n){0,80}",
        pattern in prop::sample::select(vec!["a", ".", "^", "$", "é", "a[bc]*", "^b", "c$", "(a|b)+c", "^$", "é.", "[^a]b", r"\bb"]),
        max_matches in 1usize..5,
        context in 0usize..3,
        cap in 40usize..90,
    ) {
        let kept = store().keep(text.as_bytes(), 40);
        let regex = regex::Regex::new(pattern).unwrap();
        let expected: Vec<(u64, String)> = (1..)
            .zip(text.lines())
            .filter(|(_, line)| regex.is_match(line))
            .map(|(number, line)| (number, line.to_owned()))
            .collect();
        let lines = go_on(&kept, Search { max_matches, context, cap, ..search(pattern) });
        let mut found: Vec<(u64, String)> = lines.into_iter().map(|line| (line.number, line.text)).collect();
        // A line that is cut has an entry for each part with a match.
        found.dedup_by_key(|(number, _)| *number);
        prop_assert_eq!(found.len(), expected.len());
        for ((number, text), (expected_number, line)) in found.iter().zip(&expected) {
            prop_assert_eq!(number, expected_number);
            prop_assert!(text == line || text.contains('…') && line.contains(text.trim_matches('…')), "{} {}", text, line);
        }
    }
}
