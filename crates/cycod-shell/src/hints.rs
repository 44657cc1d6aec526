//! What an author can write so that a guard is not needed.

use cycod_code::Code;

use crate::flow::Finding;
use crate::hole::Trust;
use crate::rewrite::{Position, Rewriter};
use crate::script::{Form, Part};
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
        Rule::Option { .. } => {
            let base = program.split(' ').next().unwrap_or(program);
            let end = crate::programs::end_of_options(program);
            let insert = end.and_then(|end| Some((format!("{end} "), before_word(finding.hole, base, rewriter)?)));
            let help = match (end, hole.shown.as_ref()) {
                (Some(end), shown) => format!("write `{end} {shown}`; then any value passes"),
                (None, _) => format!("`{program}` has no end of options; a path can begin with `./` (`path: true`)"),
            };
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

/// The author's text between the beginning of the word and the placeholder, when the end of options can stand before the word:
/// nothing behind it is meant as an option.
fn before_word(hole: usize, program: &str, rewriter: &Rewriter<'_>) -> Option<String> {
    let (command, Position::Word(index)) = rewriter.command_of(hole)? else { return None };
    let Form::Simple { words, .. } = &command.form else { return None };
    // The program must be the command itself, not one behind a wrapper.
    if words.first()?.literal()?.rsplit('/').next() != Some(program) {
        return None;
    }
    let is_option = |index: usize| match words[index].parts.first() {
        Some(Part::Text { text, .. }) => text.starts_with('-'),
        _ => false,
    };
    if (index..words.len()).any(is_option) {
        return None;
    }
    let place = words[index].span.start;
    let behind = &rewriter.source[place..];
    let at = behind.find(HOLE as char)?;
    let is_this = rewriter.order.get(rewriter.source[..place].matches(HOLE as char).count()) == Some(&hole);
    is_this.then(|| behind[..at].to_owned())
}
