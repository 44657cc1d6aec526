//! The lines `TOOL BEGINS HERE` and `TOOL ENDS HERE`.
//!
//! Authors put them around the function, beside code that only prepares it, or inside of its body, where they say
//! nothing. Which of the two it is shows at the first of them: is a bracket open there, or is it indented?

use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_syntax::yaml::Scalar;

use super::{blocks::Block, language::Language, signature::bare};
use crate::lower::Sink;

const BEGIN: &str = "TOOL BEGINS HERE";
const END: &str = "TOOL ENDS HERE";

/// The part of a block that is the tool's function: what stands between the markers if that is a function by itself,
/// else the whole block.
pub(super) fn region(block: &Block, language: Language, sink: &Sink<'_>) -> Scalar {
    let whole = &block.code;
    if !language.has_functions() {
        return whole.clone();
    }
    let marks = marks(&whole.text, language);
    let find = |is_begin: bool| marks.iter().find(|mark| mark.is_begin == is_begin);
    let place = |mark: &Mark| {
        let line = whole.text[mark.start..mark.end].trim_end();
        let indent = line.len() - line.trim_start().len();
        Span { start: whole.origin(mark.start + indent), end: whole.origin(mark.start + line.len() - 1) + 1 }
    };
    let (begin, end) = match (find(true), find(false)) {
        (Some(begin), Some(end)) => (begin, end),
        (None, None) => return whole.clone(),
        (Some(lone), None) | (None, Some(lone)) => {
            let (is, other) = if lone.is_begin { (BEGIN, END) } else { (END, BEGIN) };
            sink.report(
                Diagnostic::warning(Code::HandlerMarkers, place(lone), format!("`{is}` stands here without `{other}`"))
                    .label("the whole block is used")
                    .help(format!("add `{} {other}`, or remove the line", language.comment())),
            );
            return whole.clone();
        }
    };
    if begin.start > end.start {
        sink.report(
            Diagnostic::error(Code::HandlerMarkers, place(end), format!("`{END}` stands before `{BEGIN}`"))
                .also(place(begin), "begins here")
                .help("exchange the two lines"),
        );
        return whole.clone();
    }
    if let Some(again) = marks.iter().find(|mark| mark.start != begin.start && mark.start != end.start) {
        sink.report(
            Diagnostic::error(
                Code::HandlerMarkers,
                place(again),
                "the region of the function is marked more than once",
            )
            .also(place(begin), "begins here")
            .help("mark one region"),
        );
        return whole.clone();
    }
    let is_inside = is_open(&whole.text[..begin.start], language)
        || (language == Language::Python && whole.text[begin.start..].starts_with([' ', '\t']));
    if is_inside {
        return whole.clone();
    }
    if !has_function(&whole.text[begin.end..end.start], language) {
        sink.report(
            Diagnostic::warning(Code::HandlerMarkers, place(begin), "what is marked is not a function")
                .label("the whole block is used")
                .help("put the function between the two lines, or remove them"),
        );
        return whole.clone();
    }
    cut(whole, begin.end, end.start)
}

/// A line that marks an end of the region.
struct Mark {
    is_begin: bool,
    start: usize,
    /// Where the next line starts.
    end: usize,
}

fn marks(code: &str, language: Language) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let end = start + line.len();
        if let Some(comment) = line.trim().strip_prefix(language.comment()) {
            if comment.contains(BEGIN) {
                marks.push(Mark { is_begin: true, start, end });
            } else if comment.contains(END) {
                marks.push(Mark { is_begin: false, start, end });
            }
        }
        start = end;
    }
    marks
}

/// Whether a bracket is open at the end of `code`. Texts and comments do not count.
fn is_open(code: &str, language: Language) -> bool {
    let depth = bare(code, language).bytes().fold(0_i64, |depth, byte| match byte {
        b'(' | b'[' | b'{' => depth + 1,
        b')' | b']' | b'}' => depth - 1,
        _ => depth,
    });
    depth > 0
}

/// Whether a function is written in `code`.
fn has_function(code: &str, language: Language) -> bool {
    let signs: &[&str] = match language {
        Language::R => &["function(", "function (", "\\("],
        Language::Python => &["def ", "lambda"],
        _ => &["function", "=>", "execute"],
    };
    let bare = bare(code, language);
    signs.iter().any(|sign| bare.contains(sign))
}

/// A part of a text, with the places of its own.
fn cut(whole: &Scalar, start: usize, end: usize) -> Scalar {
    let (from, to) = (start as u32, end as u32);
    let mut origins = vec![(0, whole.origin(start))];
    origins.extend(
        whole.origins.iter().filter(|(at, _)| (from + 1..to).contains(at)).map(|(at, source)| (at - from, *source)),
    );
    Scalar { text: whole.text[start..end].to_owned(), origins, ..whole.clone() }
}
