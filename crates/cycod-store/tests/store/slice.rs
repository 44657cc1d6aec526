use cycod_store::{OutputPosition, Slice, tokens};
use proptest::prelude::*;

use crate::store;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Who goes on where a slice ended gets everything, each slice within the cap.
    #[test]
    fn slices_follow_each_other(
        text in "([a-z]{0,30}|[é😀]{0,9}|\n){0,40}",
        is_text: bool,
        lines: bool,
        count in 1u64..20,
        cap in 1usize..20,
    ) {
        let bytes = if is_text { text.into_bytes() } else { [b"\xff", text.as_bytes()].concat() };
        let kept = store().keep(&bytes, 1 << 20);
        let mut next = Some(if lines { OutputPosition::Line(1) } else { OutputPosition::Byte(0) });
        let mut together: Vec<u8> = Vec::new();
        while let Some(from) = next {
            let slice = kept.slice(from, count, cap).unwrap();
            prop_assert_eq!(slice.offset, together.len() as u64);
            let newlines = together.iter().filter(|byte| **byte == b'\n').count() as u64;
            prop_assert_eq!(slice.line, newlines + 1);
            prop_assert!(!slice.bytes.is_empty() || bytes.is_empty());
            if is_text {
                prop_assert!(tokens(std::str::from_utf8(&slice.bytes).unwrap()) <= cap);
            } else {
                prop_assert!(slice.bytes.len().div_ceil(3) <= cap);
            }
            let shown_lines = slice.bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            match from {
                OutputPosition::Line(_) => prop_assert!(shown_lines <= count),
                OutputPosition::Byte(_) => prop_assert!(slice.bytes.len() as u64 <= count.max(4)),
            }
            together.extend(slice.bytes);
            next = slice.next;
        }
        prop_assert_eq!(together, bytes);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// The index of lines leads to the same places as counting, also when it was thinned out.
    #[test]
    fn lines_are_found_in_large_outputs(lengths in prop::collection::vec(0usize..200_000, 1..12), number in 1u64..14) {
        let lines: Vec<String> = lengths.iter().map(|length| "x".repeat(*length) + "\n").collect();
        let store = store();
        let kept = store.keep(lines.concat().as_bytes(), 0);
        let before: usize = lines.iter().take(usize::try_from(number).unwrap() - 1).map(String::len).sum();
        let slice = store.outputs.get(kept.id()).unwrap().unwrap().slice(OutputPosition::Line(number), 1, 1 << 20).unwrap();
        prop_assert_eq!(slice.offset, before as u64);
        prop_assert_eq!(slice.line, number.min(lines.len() as u64 + 1));
        let line = lines.get(usize::try_from(number).unwrap() - 1).map_or("", String::as_str);
        prop_assert_eq!(slice.bytes, line.as_bytes());
    }
}

#[test]
fn a_byte_within_a_character_begins_with_it() {
    let kept = store().keep("a😀b".as_bytes(), 100);
    for offset in 1..5 {
        let slice = kept.slice(OutputPosition::Byte(offset), 1, 10).unwrap();
        assert_eq!(
            (slice.offset, slice.bytes.as_slice(), slice.next),
            (1, "😀".as_bytes(), Some(OutputPosition::Byte(5)))
        );
    }
}

#[test]
fn beyond_the_end_is_nothing() {
    let kept = store().keep(b"one\ntwo\n", 100);
    let nothing = Slice { bytes: Vec::new(), offset: 8, line: 3, next: None };
    for from in [
        OutputPosition::Line(3),
        OutputPosition::Line(u64::MAX),
        OutputPosition::Byte(8),
        OutputPosition::Byte(u64::MAX),
    ] {
        assert_eq!(kept.slice(from, u64::MAX, usize::MAX).unwrap(), nothing);
    }
}
