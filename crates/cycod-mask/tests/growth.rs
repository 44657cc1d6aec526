//! Hiding secrets takes no longer than the text and the secrets allow, also where the text is written to be slow.

use cycod_mask::Masks;
use growth::Grown;

/// Texts that grow in one dimension each, around secrets made of few characters.
const TEXTS: &[(&str, Grown)] = &[
    ("beginnings", |n| "aaaaaaaaaaaaaaaa".repeat(n)),
    ("beginnings in lines", |n| "aaaaaaa\n".repeat(n)),
    ("almost the secret", |n| "aaaaaaaaaaaaaaab0aaaaaaaaaaaaaac".repeat(n)),
    ("the secret", |n| "aaaaaaaaaaaaaaab1".repeat(n)),
    ("the secret, one in the other", |n| "abcabcabcabcabcabc".repeat(n)),
    ("percent signs", |n| "%".repeat(n)),
    ("written for an address", |n| "%61".repeat(n)),
    ("written for an address again and again", |n| format!("%{}61", "25".repeat(n))),
    ("backslashes", |n| "\\".repeat(n)),
    ("written for JSON", |n| "\\u0061".repeat(n)),
    ("written for JSON again and again", |n| format!("{}u0061", "\\".repeat(n))),
    ("ampersands", |n| "&".repeat(n)),
    ("written for HTML", |n| "&#97;".repeat(n)),
    ("written for HTML with zeros", |n| format!("&#{}97;", "0".repeat(n))),
    ("written for HTML again and again", |n| format!("&{}#97;", "amp;".repeat(n))),
    ("names of HTML that do not end", |n| "&amp".repeat(n)),
    ("digits", |n| "61".repeat(n)),
    ("digits with separators", |n| "61:".repeat(n)),
    ("Base64", |n| "YWFh".repeat(n)),
    ("Base64 in lines", |n| "YWFhYWFhYWFh\n".repeat(n)),
    ("Base64 with signs", |n| "YWFh=+/-_".repeat(n)),
    ("one letter", |n| "Y".repeat(n)),
    ("words", |n| "correct horse battery ".repeat(n)),
    ("blanks", |n| format!("correct{}horse", " ".repeat(n))),
    ("blanks between letters", |n| "a ".repeat(n)),
    ("empty lines", |n| "\n".repeat(n)),
    ("line ends between letters", |n| "a\r\n".repeat(n)),
    ("colours", |n| "\u{1b}[31ma\u{1b}[0m".repeat(n)),
    ("a sequence that does not end", |n| format!("\u{1b}[{}", "1;".repeat(n))),
    ("sequences that do not begin anything", |n| "\u{1b}".repeat(n)),
    ("hidden characters", |n| "a\u{200b}".repeat(n)),
    ("capital letters", |n| "aA".repeat(n)),
    ("quotes", |n| "'a'\"a\"".repeat(n)),
    ("NUL", |n| "a\0".repeat(n)),
];

const JSON: &[(&str, Grown)] = &[
    ("texts", |n| format!("[{}\"\"]", "\"aaaaaaaa\",".repeat(n))),
    ("numbers", |n| format!("[{}1]", "20481024,".repeat(n))),
    ("members", |n| format!("{{{}\"a\": 1}}", (0..n).map(|i| format!("\"k{i}\": \"a\", ")).collect::<String>())),
    ("nested lists", |n| "[".repeat(n.min(120)) + &"]".repeat(n.min(120))),
    ("members that hold the secret", |n| {
        format!("{{{}\"a\": 1}}", (0..n).map(|i| format!("\"aaaaaaaaaaaaaaab1{i}\": 1, ")).collect::<String>())
    }),
];

const SECRETS: &[(&str, Grown)] = &[
    ("secrets", |n| (0..n).map(|i| format!("secret-number-{i}\n")).collect()),
    ("secrets that begin alike", |n| (0..n).map(|i| format!("aaaaaaaaaaaaaaaa{i}\n")).collect()),
    ("secrets that are numbers", |n| (0..n).map(|i| format!("{}\n", 10_000_000 + i)).collect()),
    ("a long secret", |n| "aB3$".repeat(n)),
    ("a long secret of one letter", |n| "a".repeat(n)),
    ("a long secret of digits", |n| "7".repeat(n)),
    ("a long secret of words", |n| "word ".repeat(n)),
];

fn masks() -> Masks {
    Masks::new(["aaaaaaaaaaaaaaab1", "abcabcabcabc", "correct horse battery staple", "20481024", "a+/%&\\\"' b=c"])
}

#[test]
fn secrets_are_hidden_in_the_time_that_the_text_allows() {
    let masks = masks();
    growth::check(TEXTS, |text| {
        masks.apply(text);
        masks.find_in(text);
    });
}

#[test]
fn secrets_are_hidden_in_a_stream_in_the_time_that_it_allows() {
    let masks = masks();
    growth::check(TEXTS, |text| {
        let mut stream = masks.stream();
        text.as_bytes().chunks(7).for_each(|piece| drop(stream.push(piece)));
        stream.finish();
    });
}

#[test]
fn secrets_are_hidden_in_json_in_the_time_that_it_allows() {
    let masks = masks();
    growth::check(JSON, |text| {
        masks.json_text(text.as_bytes());
        if let Ok(value) = serde_json::from_str(text) {
            masks.json(value);
        }
    });
}

#[test]
fn many_and_long_secrets_are_hidden_in_the_time_that_they_allow() {
    growth::check(SECRETS, |secrets| {
        let masks = Masks::new(secrets.lines());
        masks.apply("nothing that is secret, and aaaaaaaaaaaaaaaaaaaa 7777777");
    });
}
