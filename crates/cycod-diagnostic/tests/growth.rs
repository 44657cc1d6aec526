//! What is shown takes no longer than its length allows.

use cycod_diagnostic::{
    Code, Diagnostic, Passing, RenderStyle, Shown, SourceFile, SourceReport, Span, apply_fixes, closest, is_slip,
    most_important, render_text, to_json, visible, visible_json, wrapped,
};
use growth::Grown;

/// Lines that programs write.
const LINES: &[(&str, Grown)] = &[
    ("letters", |n| "a".repeat(n)),
    ("words", |n| "a b ".repeat(n)),
    ("blanks", |n| " ".repeat(n)),
    ("lines", |n| "a\n".repeat(n)),
    ("empty lines", |n| "\n".repeat(n)),
    ("lines that begin with blanks", |n| "  a\n".repeat(n)),
    ("carriage returns", |n| "a\r".repeat(n)),
    ("ends of lines as on Windows", |n| "a\r\n".repeat(n)),
    ("colours", |n| "\u{1b}[31ma\u{1b}[0m".repeat(n)),
    ("a sequence that does not end", |n| format!("\u{1b}[{}", "1;".repeat(n))),
    ("control characters", |n| "\u{1}\u{7}".repeat(n)),
    ("NUL", |n| "\0".repeat(n)),
    ("combining characters", |n| "a".to_owned() + &"\u{301}".repeat(n)),
    ("joiners", |n| "👩\u{200d}".repeat(n)),
    ("joiners alone", |n| "\u{200d}".repeat(n)),
    ("variation selectors", |n| "\u{fe0f}".repeat(n)),
    ("directions", |n| "\u{202e}a".repeat(n)),
    ("tags", |n| "\u{e0041}".repeat(n)),
    ("flags", |n| "\u{1f1e9}".repeat(n)),
    ("wide characters", |n| "漢".repeat(n)),
    ("tabs", |n| "\t".repeat(n)),
    ("texts of JSON", |n| "\"a\\u001b\\\"\" ".repeat(n)),
    ("backslashes", |n| "\\".repeat(n)),
];

/// A word and what it could be meant to be, each in a line.
const WORDS: &[(&str, Grown)] = &[
    ("candidates", |n| "word\n".to_owned() + &(0..n).map(|i| format!("ward{i}\n")).collect::<String>()),
    ("a long word", |n| format!("{}\nword", "a".repeat(n))),
    ("long words", |n| format!("{}\n{}b", "a".repeat(n), "a".repeat(n))),
    ("long words that differ", |n| format!("{}\n{}", "ab".repeat(n), "ba".repeat(n))),
];

/// Files with a problem in each word.
const FILES: &[(&str, Grown)] = &[
    ("lines", |n| "a: b\n".repeat(n)),
    ("words in one line", |n| "a b ".repeat(n)),
    ("a long word", |n| format!("{}\nb\n", "a".repeat(n))),
    ("wide characters", |n| "漢\n".repeat(n)),
    ("control characters", |n| "\u{1b}\n".repeat(n)),
];

#[test]
fn lines_are_shown_in_the_time_that_their_length_allows() {
    growth::check_up_to(1 << 20, LINES, |text| {
        drop((visible(text), visible_json(text)));
        drop((Shown::from(text).on_one_line(), Shown::from(text).quoted("| "), Shown::from(text).hanging(2)));
        Shown::of_bytes(text.as_bytes());
    });
}

#[test]
fn pieces_are_shown_in_the_time_that_their_length_allows() {
    growth::check(LINES, |text| {
        for size in [1, 7, 4096] {
            let mut passing = Passing::default();
            text.as_bytes().chunks(size).for_each(|piece| drop(passing.pass(piece)));
            passing.finish();
        }
    });
}

#[test]
fn lines_are_wrapped_in_the_time_that_their_length_allows() {
    growth::check(LINES, |text| drop((wrapped(text, 72), wrapped(text, 8))));
}

#[test]
fn what_is_meant_is_found_in_the_time_that_the_words_allow() {
    growth::check(WORDS, |words| {
        let mut words = words.lines();
        let word = words.next().unwrap_or_default();
        let candidates: Vec<&str> = words.collect();
        closest(word, candidates.iter().copied());
        candidates.iter().for_each(|other| _ = is_slip(word, other));
    });
}

#[test]
fn problems_are_reported_in_the_time_that_their_number_allows() {
    growth::check(FILES, |text| {
        let source = SourceFile::new("file", text);
        let mut diagnostics = Vec::new();
        let mut at = 0;
        for word in text.split_inclusive(char::is_whitespace) {
            let span = Span::new(at, at + word.trim_end().len());
            at += word.len();
            diagnostics.push(Diagnostic::error(Code::UnknownKey, span, "it is wrong").also(Span::new(0, 1), "as here"));
        }
        let diagnostics = most_important(diagnostics);
        apply_fixes(&source, &diagnostics);
        let report = SourceReport { source, diagnostics };
        render_text(&report, RenderStyle::Plain);
        to_json(&report);
    });
}
