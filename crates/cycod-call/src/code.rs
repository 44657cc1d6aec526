//! Program text that a tool gives to a parameter: the values in it are placed for those who read it.

use cycod_definition::{CodeReader, CommandText, Interpreter, Literal, Tool, Value, Verdicts, argument_verdicts};
use cycod_shell::{Refusal, Shell, Verdict, place, place_argv, place_inline, quoted_if_needed};
use cycod_syntax::template::Template;

use crate::{ArgumentProblem, OwnedPiece, resolve::Scope};

/// The text of a command with its values placed, for its readers besides a program that is started with it.
///
/// # Errors
/// A value cannot be placed.
pub fn placed(command: &CommandText, pieces: &[OwnedPiece]) -> Result<String, Refusal> {
    let pieces = OwnedPiece::as_pieces(pieces, &command.verdicts.command);
    let shell = match command.interpreter {
        Interpreter::Bash => Shell::Bash,
        Interpreter::Zsh => Shell::Zsh,
        Interpreter::PowerShell => Shell::PowerShell,
        Interpreter::Cmd => Shell::Cmd,
        Interpreter::Sh | Interpreter::PlatformDefault => Shell::Sh,
        Interpreter::Argv => {
            let words = place_argv(&pieces)?;
            return Ok(words.iter().map(|word| quoted_if_needed(word)).collect::<Vec<_>>().join(" "));
        }
        Interpreter::Program(_) => return place_inline(&pieces),
    };
    Ok(place(shell, &pieces)?.text)
}

/// The default of a parameter whose texts are program text for `reader`.
pub(crate) fn default(
    scope: &Scope<'_>,
    tool: &Tool,
    name: &str,
    literal: &Literal,
    reader: CodeReader,
) -> Result<Value, ArgumentProblem> {
    literal.value(&|template| match template.as_text() {
        Some(text) => Ok(Value::Text(text.to_owned())),
        None => default_text(scope, tool, name, template, reader).map(Value::Text),
    })
}

fn default_text(
    scope: &Scope<'_>,
    tool: &Tool,
    name: &str,
    template: &Template,
    reader: CodeReader,
) -> Result<String, ArgumentProblem> {
    let verdicts = Verdicts { command: argument_verdicts(tool, template, reader), ..Verdicts::default() };
    let refused = verdicts.command.iter().find(|verdict| !verdict.is_placeable());
    if let Some((verdict, code)) = refused.and_then(|verdict: &Verdict| Some((verdict, verdict.code?))) {
        return Err(unresolved(name, code, &verdict.reason));
    }
    let failed = |error: crate::ResolveError| unresolved(name, error.code(), &error.to_string());
    if reader == CodeReader::Other {
        return scope.text(template).map_err(failed);
    }
    let pieces = scope.pieces(template).map_err(failed)?;
    let command =
        CommandText { interpreter: reader.interpreter(), template: template.clone(), options: Vec::new(), verdicts };
    placed(&command, &pieces).map_err(|refusal| unresolved(name, refusal.code, &refusal.message))
}

/// Why a default gives no value.
pub(crate) fn unresolved(name: &str, code: cycod_diagnostic::Code, why: &str) -> ArgumentProblem {
    let message = format!("the default of `{name}` cannot be resolved: {why}");
    ArgumentProblem::new(name, code, message).help(format!("give `{name}`"))
}
