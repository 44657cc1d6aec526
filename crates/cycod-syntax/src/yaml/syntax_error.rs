//! What the YAML parser complains about, in the words of a person who wants to fix it.

use cycod_diagnostic::{Code, Diagnostic, Span};
use granit_parser::{ErrorKind, ScanError};

use super::read::Context;
use super::{MAX_DEPTH, Places};

/// Returns the diagnostic for an error of the parser; `base` is where the parsed text starts in `source`.
pub(super) fn diagnostic(
    error: &ScanError,
    source: &str,
    base: usize,
    context: &Context,
    places: &Places,
) -> Diagnostic {
    use ErrorKind as E;
    let at = (base + error.marker().byte_offset().unwrap_or(0)).min(source.len());
    let rest = source.get(at..).unwrap_or_default();
    // One character, or the end of the line before when the text simply stops.
    let (start, end) = match rest.chars().next() {
        Some(character) if !matches!(character, '\n' | '\r') => (at, at + character.len_utf8()),
        _ => {
            let kept = source.get(..at).unwrap_or_default().trim_end().len();
            (kept, kept)
        }
    };
    let at_end = rest.trim().is_empty();
    let says = |message: &str| Diagnostic::error(Code::YamlSyntax, places.span(start, end), message);
    match error.kind() {
        E::RecursionLimitExceeded => {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            Diagnostic::error(Code::YamlLimit, places.span(start, end), message)
        }
        E::MappingValueNotAllowed
        | E::InvalidColonPlacement
        | E::ExpectedFlowSequenceSeparator
        | E::ExpectedFlowMappingSeparator
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping
            if context.bracket.is_some_and(|open| open < at && source[open..at].contains('\n')) =>
        {
            let open = context.bracket.unwrap_or(at);
            Diagnostic::error(
                Code::YamlSyntax,
                places.span(open, open + 1),
                format!("this `{}` is not closed", &source[open..open + 1]),
            )
            .also(places.span(start, end), "what follows does not fit into it")
            .help("add the missing bracket, or quote the value")
        }
        E::MappingValueNotAllowed if source[context.last_start.min(at)..at].contains('\n') => {
            let began = context.last_start;
            says("a `:` in a value that began on an earlier line")
                .also(
                    places.span(began, began + source[began..].chars().next().map_or(0, char::len_utf8)),
                    "began here",
                )
                .help("check the indentation, and that each key is followed by `: `")
        }
        E::MappingValueNotAllowed | E::InvalidColonPlacement => says("this `:` starts a second value on the same line")
            .label("a plain value cannot hold `: `")
            .help("put the whole value in quotes, or write it as a block after `|`"),
        E::SimpleKeyExpected | E::ExpectedBlockMappingKey | E::InvalidSimpleKey => {
            let line = rest.find('\n').map_or(rest, |newline| &rest[..newline]).trim_end();
            Diagnostic::error(
                Code::YamlSyntax,
                places.span(start, end.max(at + line.len())),
                "expected `key: value` here",
            )
            .help("check the indentation, and that a space follows the `:`")
        }
        E::UnclosedFlowCollection { open } => {
            let close = if *open == '[' { ']' } else { '}' };
            says(&format!("this `{open}` is never closed"))
                .help(format!("add the missing `{close}`, or quote the value"))
        }
        E::MismatchedFlowCollectionEnd { open, close } => says(&format!("`{close}` closes what `{open}` opened")),
        // The parser also says that the text ends where it meets something that begins no value.
        E::UnexpectedEofFlowSequence | E::UnexpectedEofFlowMapping | E::UnexpectedEofImplicitFlowMapping => {
            match at_end {
                true => says("the text ends inside brackets"),
                false if rest.starts_with(',') => {
                    says("a value is missing before this `,`").help("write the value, or delete the `,`")
                }
                false => says("expected a value here"),
            }
        }
        E::UnclosedQuotedScalar => unclosed_quote(source, context.last, at, places),
        E::InvalidQuotedScalarIndent | E::DocumentIndicatorInQuotedScalar if at_end => {
            unclosed_quote(source, context.last, at, places)
        }
        E::InvalidQuotedScalarIndent => unclosed_quote(source, context.last, at, places)
            .note("a quoted text may continue over several lines when each is indented deeper than its key"),
        E::UnknownQuotedScalarEscape => unknown_escape(source, at, places)
            .help("write `\\\\` for a backslash, or use single quotes, where a backslash is itself"),
        E::UnexpectedCharacter { character } => {
            says(&format!("a plain value cannot start with `{character}`")).help("put the value in quotes")
        }
        other => match fixed(other) {
            Some((message, "")) => says(message),
            Some((message, help)) => says(message).help(help),
            None => says(&format!("not YAML: {other}")),
        },
    }
}

/// The message and the help, if there is one, of mistakes about which nothing else has to be known.
fn fixed(kind: &ErrorKind) -> Option<(&'static str, &'static str)> {
    use ErrorKind as E;
    Some(match kind {
        E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabNotAllowed
        | E::TabAtBlockScalarStart
        | E::TabInPlainScalar => ("a tab where YAML allows only spaces", "indent with spaces"),
        E::MisplacedFlowCollectionEnd => {
            ("a closing bracket with nothing to close", "put the value in quotes if the bracket belongs to it")
        }
        E::ExpectedFlowMappingSeparator => ("expected `,` or `}` here", ""),
        E::ExpectedFlowSequenceSeparator => ("expected `,` or `]` here", ""),
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => (
            "text after the closing quote",
            "put the whole value in quotes of the other kind, or write it as a block after `|`",
        ),
        E::InvalidQuotedScalarHexEscape
        | E::InvalidLowSurrogateHexEscape
        | E::InvalidLowSurrogate
        | E::MissingLowSurrogate
        | E::UnpairedLowSurrogate
        | E::InvalidUnicodeEscape => ("this escape does not name a character", ""),
        E::InvalidIndentation | E::ExpectedBlockSequenceEntry => {
            ("the indentation fits no level above", "align the line with the others of its level")
        }
        E::InvalidBlockScalarIndent => ("a line of the block is indented less than its first line", ""),
        E::ZeroBlockScalarIndent | E::InvalidBlockScalarHeader => {
            ("nothing but an indentation digit, `-` or `+` may follow `|` or `>`", "")
        }
        E::BlockSequenceEntryNotAllowed | E::BlockEntryInFlowCollection => {
            ("a list item is not allowed here", "start the list on a line of its own")
        }
        E::InvalidBlockEntryWhitespace => ("`-` must be followed by a space", ""),
        E::MappingKeyNotAllowed => ("a key is not allowed here", ""),
        E::InvalidMappingValueWhitespace | E::FlowMappingValueAdjacentCollection => {
            ("`:` must be followed by a space", "")
        }
        E::CommentNotSeparated => ("a comment needs a space before its `#`", ""),
        E::CommentInterceptedScalar => ("a comment in the middle of a value of several lines", ""),
        E::BomInsideDocument => ("a byte-order mark in the middle of the text", "delete it"),
        E::MissingAnchorOrAliasName => {
            ("`&` and `*` start the name of an anchor", "put the value in quotes if the character belongs to it")
        }
        E::UndeclaredTagHandle
        | E::InvalidGlobalTagCharacter
        | E::InvalidTagTerminator
        | E::MissingTagUri
        | E::UnclosedVerbatimTag
        | E::InvalidTagEscape
        | E::ExpectedTagBang => {
            ("`!` starts a tag, which this is not", "put the value in quotes if the `!` belongs to it")
        }
        E::DirectiveDisallowed => {
            ("a directive (`%` at the start of a line) is not supported", "delete it; files are read as YAML 1.2")
        }
        E::ExpectedDocumentStart | E::InvalidDocumentEnd | E::MissingDocumentEndBeforeDirective => {
            ("text outside of the document", "indent it as part of the value above, or give it a key")
        }
        E::PlainScalarStartsWithDashFlowIndicator | E::UnexpectedEndOfPlainScalar | E::InvalidFlowScalarIndent => {
            ("this is not a value", "put it in quotes")
        }
        E::UnexpectedEof | E::UnexpectedEofBlockMapping | E::UnexpectedEofBlockSequence => {
            ("the text ends where a value was expected", "")
        }
        E::ExpectedNodeContent => ("expected a value here", ""),
        _ => return None,
    })
}

/// Points at the quote that was opened, found from the end of the last thing that was read.
fn unclosed_quote(source: &str, last: usize, at: usize, places: &Places) -> Diagnostic {
    let between = source.get(last..at).unwrap_or_default();
    let open = between.find(['"', '\'']).map_or(at, |offset| last + offset);
    let span: Span = places.span(open, (open + 1).min(source.len().max(open)));
    Diagnostic::error(Code::YamlSyntax, span, "this quote is never closed")
        .help("add the closing quote, or quote the value in the other kind")
}

/// Points at the first escape of a double-quoted text that YAML does not have.
fn unknown_escape(source: &str, quote: usize, places: &Places) -> Diagnostic {
    let mut characters = source.get(quote..).unwrap_or_default().char_indices();
    let mut span = places.span(quote, (quote + 1).min(source.len()));
    while let Some((offset, character)) = characters.next() {
        if character == '\\'
            && let Some((next_offset, next)) = characters.next()
            && !"0abt\tnvfre \"/\\N_LPxuU\n\r".contains(next)
        {
            span = places.span(quote + offset, quote + next_offset + next.len_utf8());
            break;
        }
    }
    Diagnostic::error(Code::YamlSyntax, span, "unknown escape in a double-quoted text")
}
