//! Reports for a terminal, in the look of rustc.
//!
//! Only the lines that a label touches are handed to the printer, each cut to a window around its labels and
//! with hidden characters written out, so that a file can neither drive the terminal nor flood it.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::visible::{is_hidden_between, push_escape, visible};
use crate::{Diagnostic, Label, LineColumn, Severity, Shown, SourceFile};

/// Whether rendered text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderStyle {
    /// Text only.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// A source file with everything found in it.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// The file.
    pub source: SourceFile,
    /// What was found, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

impl SourceReport {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// The diagnostics in source order; those about the whole file come first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Diagnostic> {
        let mut order: Vec<&Diagnostic> = self.diagnostics.iter().collect();
        order.sort_by_key(|diagnostic| diagnostic.span().map(|span| span.start));
        order.into_iter()
    }
}

/// How much of a long line is shown before the first label on it, and altogether.
const BEFORE: usize = 48;
const SHOWN: usize = 120;
/// How long a message, label, note or help may be.
const MAX_TEXT: usize = 2000;

/// Returns every diagnostic of a report as text for a terminal, in source order.
pub fn render_text(report: &SourceReport, style: RenderStyle) -> Shown {
    let renderer = match style {
        RenderStyle::Plain => Renderer::plain(),
        RenderStyle::Coloured => Renderer::styled(),
    };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let lines = LineStarts::of(&report.source.text);
    let mut text = String::new();
    for diagnostic in report.in_order() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&render(&renderer, &report.source.name, diagnostic, &lines));
        text.push('\n');
    }
    // Every text in it went through `shown` or `push_line`.
    Shown::rendered(text)
}

fn render(renderer: &Renderer, name: &str, diagnostic: &Diagnostic, lines: &LineStarts<'_>) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::HELP.with_name("hint"),
    };
    let title = level.primary_title(shown(&diagnostic.message)).id(diagnostic.code.name());
    let name = shown(name);
    let mut group = Group::with_title(title);
    group = match diagnostic.labels.first() {
        Some(primary) => {
            let LineColumn { line, column } = lines.position(primary.span.start);
            group.element(Origin::path(name).line(line).char_column(column))
        }
        None => group.element(Origin::path(name)),
    };
    // An empty file has nothing to show.
    if !diagnostic.labels.is_empty() && !lines.text.is_empty() {
        let excerpt = Excerpt::new(&diagnostic.labels, lines);
        let mut annotations = Vec::new();
        for (index, (label, (start, end))) in diagnostic.labels.iter().zip(&excerpt.places).enumerate() {
            let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation: Annotation<'_> = kind.span(*start..*end);
            let text = Some(shown(&label.text)).filter(|text| !text.is_empty());
            annotations.push(annotation.label(text));
        }
        let snippet = Snippet::source(excerpt.text).line_start(excerpt.first_line);
        group = group.element(snippet.annotations(annotations));
    }
    let mut messages: Vec<(Level<'_>, &str)> = Vec::new();
    messages.extend(diagnostic.notes.iter().map(|note| (Level::NOTE, note.as_str())));
    // What a fix does is said once: the help says it already, in the words of the case.
    let help = diagnostic.help.as_deref().or(diagnostic.fix.as_ref().map(|fix| fix.title.as_str()));
    messages.extend(help.map(|help| (Level::HELP, help)));
    for (level, message) in messages {
        group = group.element(level.message(shown(message)));
    }
    let rendered = renderer.render(&[group]);
    let mut lines: Vec<&str> = rendered.lines().map(str::trim_end).collect();
    // The place is given by us, because a cut line has other columns; the printer then takes the excerpt for
    // one of another file and says so with a line that holds nothing but `:::`.
    if let Some(at) = lines.iter().position(|line| line.contains(":::") && is_separator(line)) {
        lines.remove(at);
    }
    lines.join("\n").trim_end().to_owned()
}

/// Whether a line shows nothing but `:::`, colours aside.
fn is_separator(line: &str) -> bool {
    let mut in_escape = false;
    let seen = line.chars().filter(|character| {
        let hidden = in_escape || *character == '\u{1b}';
        in_escape = hidden && !character.is_ascii_alphabetic();
        !hidden && *character != ' '
    });
    seen.eq(":::".chars())
}

/// Returns a text as it may reach a terminal, cut when it is very long.
fn shown(text: &str) -> String {
    let cut = text.char_indices().nth(MAX_TEXT).map_or(text.len(), |(end, _)| end);
    let mut shown = visible(&text[..cut]).into_owned();
    if cut < text.len() {
        shown.push('…');
    }
    shown
}

/// The lines that labels touch, made fit for a terminal.
struct Excerpt {
    text: String,
    first_line: usize,
    /// Where each label stands in `text`.
    places: Vec<(usize, usize)>,
}

impl Excerpt {
    fn new(labels: &[Label], lines: &LineStarts<'_>) -> Self {
        let spans: Vec<(usize, usize)> = labels
            .iter()
            .map(|label| {
                let start = lines.floor(label.span.start);
                // A label that ends with a line break ends before it.
                let end = lines.floor(label.span.end).max(start);
                let held = &lines.text[start..end];
                let end = start + held.trim_end_matches(['\n', '\r']).len();
                // What stands in a line break stands at the end of its line.
                let within = |at: usize| at.min(lines.range(lines.line_of(at)).1);
                (within(start), within(end))
            })
            .collect();
        let first = spans.iter().map(|(start, _)| lines.line_of(*start)).min().unwrap_or(0);
        let last = spans.iter().map(|(_, end)| lines.line_of(*end)).max().unwrap_or(first);
        let mut text = String::new();
        let mut places = vec![(usize::MAX, usize::MAX); spans.len()];
        for line in first..=last {
            let (start, end) = lines.range(line);
            let touching = |(from, to): &&(usize, usize)| lines.line_of(*from) == line || lines.line_of(*to) == line;
            let near = spans
                .iter()
                .any(|(from, to)| lines.line_of(*from).abs_diff(line) <= 2 || lines.line_of(*to).abs_diff(line) <= 2);
            let from = spans
                .iter()
                .filter(touching)
                .map(|(from, to)| if lines.line_of(*from) == line { *from } else { *to })
                .min();
            if near {
                push_line(&lines.text[start..end], start, from.unwrap_or(start), &spans, &mut text, &mut places);
            }
            text.push('\n');
        }
        text.pop();
        for (start, end) in &mut places {
            *start = (*start).min(text.len());
            *end = (*end).min(text.len()).max(*start);
        }
        Self { text, first_line: first + 1, places }
    }
}

/// Writes one line and notes where the ends of the spans come to stand.
fn push_line(
    line: &str,
    line_start: usize,
    focus: usize,
    spans: &[(usize, usize)],
    text: &mut String,
    places: &mut [(usize, usize)],
) {
    let focus = focus - line_start;
    let before = line[..focus].char_indices().rev().nth(BEFORE).map_or(0, |(at, _)| at);
    let is_long = line.len() - before > SHOWN || before > 0;
    let window_start = if line.len() > SHOWN { before } else { 0 };
    let window_end = if is_long {
        line[window_start..].char_indices().nth(SHOWN).map_or(line.len(), |(at, _)| window_start + at)
    } else {
        line.len()
    };
    let first = text.len();
    if window_start > 0 {
        text.push('…');
    }
    let mut note = |at: usize, shown: usize| {
        for ((start, end), (shown_start, shown_end)) in spans.iter().zip(places.iter_mut()) {
            if *start == line_start + at {
                *shown_start = shown;
            }
            if *end == line_start + at {
                *shown_end = shown;
            }
        }
    };
    // What lies outside of the window stands at its edge.
    for at in (0..window_start).filter(|at| spans.iter().any(|(s, e)| [*s, *e].contains(&(line_start + at)))) {
        note(at, first);
    }
    let mut before = None;
    let mut characters = line[window_start..window_end].char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        note(window_start + offset, text.len());
        let after = characters.peek().map(|(_, after)| *after);
        if is_hidden_between(before, character, after) {
            push_escape(text, character);
        } else {
            text.push(character);
        }
        before = Some(character);
    }
    let cut = window_end < line.len();
    for at in spans.iter().flat_map(|(start, end)| [*start, *end]) {
        if at >= line_start + window_end && at <= line_start + line.len() {
            note(at - line_start, text.len());
        }
    }
    if cut {
        text.push('…');
    }
}

/// The starts of all lines of a text, which find the positions of many offsets quickly.
pub struct LineStarts<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineStarts<'a> {
    /// Reads a text once.
    pub fn of(text: &'a str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// Returns the nearest character boundary at or before an offset.
    fn floor(&self, offset: u32) -> usize {
        let mut at = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Returns the line of an offset, from 0.
    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the bytes of a line without its line break.
    fn range(&self, line: usize) -> (usize, usize) {
        let start = self.starts[line];
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        (start, start + self.text[start..end].trim_end_matches(['\n', '\r']).len())
    }

    /// Returns the line and column of a byte offset; an offset past the end means the end.
    pub fn position(&self, offset: u32) -> LineColumn {
        let at = self.floor(offset);
        let line = self.line_of(at);
        LineColumn { line: line + 1, column: self.text[self.starts[line]..at].chars().count() + 1 }
    }
}
