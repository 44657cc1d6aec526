//! What an author can write so that a guard is not needed.

use cycod_code::Code;

use crate::flow::Finding;
use crate::flow::value::{Atom, Cut, Tag, Text};
use crate::hole::{Hole, Trust};
use crate::piece::Mode;
use crate::rewrite::{Position, Rewriter};
use crate::script::{Form, Part, Word};
use crate::track::HOLE;
use crate::verdict::{Hint, Rule};

/// The hint for a guard that refuses values it need not refuse.
pub(crate) fn of(finding: &Finding, rewriter: &Rewriter<'_>) -> Option<Hint> {
    let guard = finding.guard.as_ref()?;
    // An author who vouches for a value has looked at what it may be.
    let hole = rewriter.holes.get(finding.hole).filter(|hole| hole.trust != Trust::Data)?;
    let name = hole.name;
    let program = &guard.program;
    match guard.rule {
        // A part of it begins with `-` in few paths.
        Rule::Option { .. } if hole.options => None,
        Rule::Option { .. } => {
            let (help, insert) = against_option(finding, hole, program, rewriter);
            Some(Hint {
                code: Code::CouldBeOption,
                message: format!(
                    "a value of `{name}` that begins with `-` is refused: `{program}` would read it as an option"
                ),
                help,
                insert,
            })
        }
        Rule::Split => Some(Hint {
            code: Code::SplitByShell,
            message: format!("a value of `{name}` that holds a blank is refused: `{program}` has no quotes"),
            help: format!("write `\"{program}\"`; or use an array, `words=(…)` and `\"${{words[@]}}\"`"),
            insert: None,
        }),
        Rule::JsonString => {
            let escaped = format!("{}:jsonescaped}}", hole.shown.trim_end_matches('}'));
            Some(Hint {
                code: Code::ValueHasMeaning,
                message: format!("a value of `{name}` that holds `\"` or `\\` is refused: it is in a JSON string"),
                help: format!("write `{escaped}`; then any value passes"),
                insert: None,
            })
        }
        _ => None,
    }
}

/// What lets a value begin with `-`; and the text to insert, with the author's text between that place and the placeholder.
fn against_option(
    finding: &Finding,
    hole: &Hole<'_>,
    program: &str,
    rewriter: &Rewriter<'_>,
) -> (String, Option<(String, String)>) {
    let Some(end) = crate::programs::end_of_options(program) else {
        let base = program.split(' ').next().unwrap_or(program);
        let name = hole.name;
        let path = format!("if `{name}` is a path, write `path: true`, and it begins with `./`");
        let is_known = crate::programs::is_described(base);
        return (if is_known { format!("nothing ends the options of `{program}`; {path}") } else { path }, None);
    };
    // It may get the value from code that a shell runs: `find -exec sh -c 'grep "$1"' _ {X} \;`.
    let Some((words, index)) = words_around(finding.hole, rewriter).filter(|_| rewriter.is_direct(finding)) else {
        return (format!("write `{end}` before it in the command of `{program}`; then any value passes"), None);
    };
    let is_option = |word: &Word| matches!(word.parts.first(), Some(Part::Text { text, .. }) if text.starts_with('-'));
    let texts: Vec<Option<Text>> = words.iter().map(|word| text_of(word, rewriter)).collect();
    let Some(own) =
        words[..=index].iter().rposition(|word| is_named(word, program)).or_else(|| is_named_elsewhere(words))
    else {
        return (format!("write `{end}` before it in the command of `{program}`; then any value passes"), None);
    };
    let first = crate::programs::first_operand(&texts[own..]).map(|first| own + first).filter(|first| *first <= index);
    // Words behind the name of a subcommand may be those of others, which stand before the end of the options: `gcloud run deploy`.
    let is_later = program.contains(' ');
    let has_value = |at: &usize| words[*at].parts.iter().any(|part| !matches!(part, Part::Text { .. }));
    let begin = first.and_then(|first| if is_later { (first..=index).find(has_value) } else { Some(first) });
    let begin = begin.unwrap_or(index);
    let word = rewriter.shown(words[begin].span.clone());
    let before = index.checked_sub(1).and_then(|before| words[before].literal());
    if let Some(option) = before.filter(|option| first.is_none() && is_of(words, program) && is_open_option(option)) {
        let equals = if option.starts_with("--") { "=" } else { "" };
        return (format!("write `{option}{equals}{word}` if `{option}` takes it; then any value passes"), None);
    }
    if words[begin..].iter().any(is_option) {
        return (format!("put all options first, and write `{end} {word}` behind them; then any value passes"), None);
    }
    // Behind another program, such as `sudo`, a person has to look at it.
    let insert = first
        .filter(|_| own == 0)
        .and_then(|_| Some((format!("{end} "), before_placeholder(finding.hole, words, begin, rewriter)?)));
    (format!("write `{end} {word}`; then any value passes"), insert)
}

/// Whether a word is the name of the program that people call so.
fn is_named(word: &Word, program: &str) -> bool {
    let name = word.literal().and_then(|name| name.rsplit('/').next());
    name.is_some() && name == program.split(' ').next()
}

/// Whether a command begins with the program that people call so.
fn is_of(words: &[Word], program: &str) -> bool {
    words.first().is_some_and(|word| is_named(word, program))
}

/// The name of a program may be a variable.
fn is_named_elsewhere(words: &[Word]) -> Option<usize> {
    words.first().filter(|word| word.literal().is_none()).map(|_| 0)
}

/// Whether a word is an option whose argument may be the next word.
fn is_open_option(word: &str) -> bool {
    word.starts_with('-') && !word.trim_start_matches('-').is_empty() && !word.contains('=')
}

/// The words of the simple command in which a hole stands, and which of them it is in.
fn words_around<'a>(hole: usize, rewriter: &Rewriter<'a>) -> Option<(&'a [Word], usize)> {
    let (command, Position::Word(index)) = rewriter.command_of(hole)? else { return None };
    let Form::Simple { words, .. } = &command.form else { return None };
    Some((words, index))
}

/// A word as programs read it; nothing where it may be several words, or none.
pub(crate) fn text_of(word: &Word, rewriter: &Rewriter<'_>) -> Option<Text> {
    let is_one = |hole: &Hole<'_>| matches!(hole.mode, Mode::Word | Mode::Bare | Mode::Fragment) && !hole.is_list;
    let atom = |part: &Part| match part {
        Part::Text { text, .. } => Some(Atom::text(text)),
        Part::Hole { hole, quoted } => {
            let about = rewriter.holes.get(*hole).filter(|about| !about.shown.is_empty())?;
            (*quoted || is_one(about)).then_some(Atom::Value { hole: *hole, cut: Cut::WHOLE })
        }
        Part::Expansion(expansion) => {
            let is_one = expansion.quoted && expansion.name != "@" && expansion.subscript.is_none();
            is_one.then_some(Atom::Unknown(Tag::Somewhere))
        }
        Part::Output { quoted, .. } => quoted.then_some(Atom::Unknown(Tag::Somewhere)),
        _ => None,
    };
    word.parts.iter().map(atom).collect()
}

/// The author's text between the beginning of a word and the placeholder, when there is no other placeholder in between.
fn before_placeholder(hole: usize, words: &[Word], begin: usize, rewriter: &Rewriter<'_>) -> Option<String> {
    let is_known = |part: &Part| matches!(part, Part::Text { .. } | Part::Hole { .. });
    if !words.iter().flat_map(|word| &word.parts).all(is_known) {
        return None;
    }
    let place = words[begin].span.start;
    let behind = &rewriter.source[place..];
    let at = behind.find(HOLE as char)?;
    let is_this = rewriter.order.get(rewriter.source[..place].matches(HOLE as char).count()) == Some(&hole);
    is_this.then(|| behind[..at].to_owned())
}
