//! Filters that leave parts of what they read: where a part of a value begins, as far as that can be told.

use super::expand::cut_text;
use super::value::{Cut, Field, Text, literal};

/// What a filter prints of these texts, when each can be told; the filter's words have to be the author's alone.
pub(super) fn filtered(fields: &[Field], texts: &[Text]) -> Option<Vec<Text>> {
    let words = author_words(fields)?;
    let (name, words) = words.split_first()?;
    let how = match *name {
        "cut" => cut(words),
        "tr" => translated(words),
        // Whole lines of it, in some order; what begins with a `-` is an option with a meaning that need not be known.
        "head" | "tail" => lines(words, |word| !word.contains('c') && !word.starts_with("--b")),
        "sort" => lines(words, |word| !word.starts_with("-o") && !word.starts_with("--o") && !word.starts_with("--d")),
        "uniq" => lines(words, |word| !word.starts_with('-')),
        "grep" | "egrep" | "fgrep" => selected(words),
        "awk" | "gawk" | "mawk" => field(words),
        // Without a command, it prints the words that it reads.
        "xargs" if is_xargs_alone(fields) => Some(Cut::WORD),
        "sed" => shortened(words),
        _ => None,
    }?;
    texts.iter().map(|text| cut_text(text, how)).collect()
}

/// The words of a command that are its author's alone.
pub(super) fn author_words<'f>(fields: &'f [Field]) -> Option<Vec<&'f str>> {
    let word = |field: &'f Field| if let Field::Word(text) = field { literal(text) } else { None };
    fields.iter().map(word).collect()
}

/// Whether a filter prints numbers only: `wc -l`, `grep -c x`, `tr -cd 0-9`, `grep -oE '[0-9]+'`, `jq '.count | tonumber'`.
pub(super) fn prints_digits(fields: &[Field]) -> bool {
    let Some(words) = author_words(fields) else { return false };
    let Some((name, words)) = words.split_first() else { return false };
    let is_digits = |text: &str| {
        let class = ["[0-9]", "[[:digit:]]", "\\d"].into_iter().find_map(|class| {
            text.trim_start_matches('^').trim_start_matches("-\\?").trim_start_matches("-?").strip_prefix(class)
        });
        class.is_some_and(|rest| rest.chars().all(|c| "+*?\\${,}0123456789".contains(c)))
    };
    let option = |letter: char| {
        words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    match *name {
        "wc" => words.iter().all(|word| word.starts_with('-')),
        "grep" | "egrep" | "fgrep" if option('H') || option('n') || option('b') => false,
        "grep" | "egrep" | "fgrep" => {
            option('c') || option('q') || option('o') && words.last().is_some_and(|pattern| is_digits(pattern))
        }
        "tr" => matches!(words, ["-cd" | "-dc", "0-9" | "[0-9]" | "[:digit:]" | "0-9\\n" | "[:digit:]\\n"]),
        "sed" => {
            matches!(words, ["s/[^0-9]//g"] | ["s/[^0-9]*//g"] | ["-E" | "-r" | "-e", "s/[^0-9]//g" | "s/[^0-9]+//g"])
        }
        "jq" | "gojq" | "jaq" => words.last().is_some_and(|code| {
            let last = code.rsplit('|').next().map(str::trim);
            matches!(last, Some("tonumber" | "length" | "floor")) && !code.contains(',') && !option('f')
        }),
        _ => false,
    }
}

/// Whether a filter prints no signs but those that it reads, so that what a guard looks for in a value is also there afterward.
pub(super) fn keeps_characters(fields: &[Field]) -> bool {
    const FILTERS: &[&str] = &[
        "awk", "cat", "column", "cut", "egrep", "expand", "fgrep", "fmt", "fold", "gawk", "grep", "head", "join",
        "mawk", "nl", "paste", "rev", "sed", "shuf", "sort", "tac", "tail", "tee", "tr", "uniq", "unexpand",
    ];
    let Some(words) = author_words(fields) else { return false };
    let Some((name, words)) = words.split_first() else { return false };
    // A sign that the author writes may take the place of another one.
    FILTERS.contains(name) && !words.iter().any(|word| word.contains(['[', '\\']) || word.contains("%c"))
}

/// Whether this is `xargs` without options and without a command.
pub(super) fn is_xargs_alone(fields: &[Field]) -> bool {
    matches!(fields, [Field::Word(text)] if literal(text) == Some("xargs"))
}

/// Lines of the input, if every option is one of `keeps`, and no other file is read.
fn lines(words: &[&str], keeps: impl Fn(&str) -> bool) -> Option<Cut> {
    let is_count = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || c == '+');
    let fits = |word: &&str| word.starts_with('-') && keeps(word) || is_count(word);
    words.iter().all(fits).then_some(Cut::LINE)
}

/// `cut -d. -f1`, `cut -c1-7`.
fn cut(words: &[&str]) -> Option<Cut> {
    let mut delimiter = '\t';
    let (mut has_fields, mut from_start) = (false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "-s" {
            continue;
        }
        let (option, attached) = (word.get(..2)?, word.get(2..)?);
        let argument = if attached.is_empty() { *words.next()? } else { attached };
        match option {
            "-d" => {
                let mut characters = argument.chars();
                delimiter = characters.next()?;
                if characters.next().is_some() {
                    return None;
                }
            }
            "-f" => has_fields = true,
            "-c" | "-b" => from_start = argument.starts_with("1-") || argument.starts_with('-') || argument == "1",
            _ => return None,
        }
    }
    match (has_fields, from_start) {
        (true, false) => Cut::LINE.and(Cut::behind(delimiter)?),
        // Of each line.
        (false, true) => Some(Cut::LINE),
        _ => None,
    }
}

/// `tr A-Z a-z` changes no beginning to a sign; `tr / -` may, and `tr -d .` takes some away.
fn translated(words: &[&str]) -> Option<Cut> {
    const CASES: &[&str] = &["A-Z", "a-z", "[A-Z]", "[a-z]", "[:upper:]", "[:lower:]"];
    let one = |text: &str| {
        let mut characters = match text {
            "\\n" => "\n",
            "\\r" => "\r",
            text => text,
        }
        .chars();
        characters.next().filter(|_| characters.next().is_none())
    };
    match words {
        [from, to] if CASES.contains(from) && CASES.contains(to) => Some(Cut::BEGINNING),
        ["-d", "[:space:]" | "[:blank:]"] => Some(Cut::BLANKS_TAKEN),
        ["-d", taken] => one(taken).and_then(Cut::taken),
        [from, to] => Cut::turned(one(from)?, one(to)?),
        _ => None,
    }
}

/// Lines that `grep` selects; not with `-o`, which prints parts of them, nor with what it prints before them.
fn selected(words: &[&str]) -> Option<Cut> {
    let (pattern, options) = words.split_last()?;
    let is_plain = |word: &&str| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|letter| "EFGPivwxsqa".contains(letter)))
    };
    (!pattern.starts_with('-') && options.iter().all(is_plain)).then_some(Cut::LINE)
}

/// `awk '{print $1}'`, with a separator of one character or none.
fn field(words: &[&str]) -> Option<Cut> {
    let (separator, program) = match words {
        [program] => (None, program),
        ["-F", separator, program] => (Some(*separator), program),
        [option, program] => (Some(option.strip_prefix("-F")?), program),
        _ => return None,
    };
    let number = program.trim().strip_prefix('{')?.strip_suffix('}')?.trim().trim_end_matches(';');
    let number = number.strip_prefix("print")?.trim().strip_prefix('$')?;
    let is_field = number == "NF" || number.parse::<u8>().is_ok_and(|number| number > 0);
    let cut = match separator.map(|separator| separator.chars().collect::<Vec<_>>()).as_deref() {
        None => Cut::WORD,
        // A blank and some letters mean something else.
        Some([only]) if !only.is_ascii_alphanumeric() && !" \\".contains(*only) => {
            Cut::LINE.and(Cut::behind(*only)?)?
        }
        _ => return None,
    };
    is_field.then_some(cut)
}

/// `sed 's/,/_/g'`: one character in the place of another, or of nothing.
fn substituted(program: &str, sign: char) -> Option<Cut> {
    let mut characters = program.chars();
    let mut next = || match characters.next()? {
        '\\' => Some((true, characters.next()?)),
        other => Some((false, other)),
    };
    let (is_escaped, from) = next()?;
    // Escaped, it is that character, or the pattern is another one.
    if !(from.is_ascii_punctuation() || from == ' ')
        || "+?(){}|".contains(from)
        || from != sign && is_escaped != ".*[]^$".contains(from)
    {
        return None;
    }
    let ends = |(is_escaped, character): (bool, char)| !is_escaped && character == sign;
    if !is_escaped && from == sign || !ends(next()?) {
        return None;
    }
    let to = next()?;
    let cut = if ends(to) {
        Cut::taken(from)
    } else if to.0 || to.1 == '&' || !ends(next()?) {
        None
    } else {
        Cut::turned(from, to.1)
    };
    matches!(characters.as_str(), "" | "g").then_some(cut)?
}

/// `sed 's/^v//'` and `sed 's/.git$//'`.
fn shortened(words: &[&str]) -> Option<Cut> {
    let program = match words {
        [program] | ["-e" | "-E" | "-r", program] => program.strip_prefix('s')?,
        _ => return None,
    };
    let sign = program.chars().next().filter(char::is_ascii_punctuation)?;
    if let Some(cut) = substituted(&program[1..], sign) {
        return Some(cut);
    }
    let (pattern, rest) = program[1..].split_once(sign)?;
    if rest.strip_prefix(sign) != Some("") || pattern.contains('\\') && pattern.trim_end_matches('$').ends_with('\\') {
        return None;
    }
    if let Some(taken) = pattern.strip_prefix('^') {
        let mut characters = taken.chars();
        let only = characters.next().filter(char::is_ascii_alphanumeric)?;
        return characters.next().is_none().then(|| Cut::without(only))?;
    }
    // What goes from the end leaves the beginning.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./\\".contains(c);
    let taken = pattern.strip_suffix('$')?;
    taken.chars().all(is_plain).then_some(Cut::BEGINNING)
}
