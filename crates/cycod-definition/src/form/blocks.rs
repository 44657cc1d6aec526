//! The headings and the blocks of code of a Markdown text.

use cycod_diagnostic::Span;
use cycod_syntax::yaml::{Scalar, ScalarStyle};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// What of a Markdown text concerns a tool.
#[derive(Default)]
pub(super) struct Page {
    pub(super) headings: Vec<Heading>,
    pub(super) blocks: Vec<Block>,
}

/// A heading.
pub(super) struct Heading {
    pub(super) level: u8,
    pub(super) text: String,
    pub(super) span: Span,
}

/// A block of code between fences.
pub(super) struct Block {
    /// The first word behind the opening fence.
    pub(super) word: Option<(String, Span)>,
    /// The line that opens it.
    pub(super) opening: Span,
    pub(super) code: Scalar,
    /// Where the code stands, from its first to its last character.
    pub(super) code_span: Span,
    pub(super) is_closed: bool,
    /// How many headings stand before it.
    headings_before: usize,
}

impl Page {
    /// Reads the text from `body` on.
    pub(super) fn read(text: &str, body: usize) -> Self {
        let mut page = Self::default();
        let mut heading: Option<Heading> = None;
        let mut block: Option<Block> = None;
        for (event, range) in Parser::new_ext(&text[body..], Options::empty()).into_offset_iter() {
            let range = body + range.start..body + range.end;
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let span = Span::new(range.start, text[..range.end].trim_end().len());
                    heading = Some(Heading { level: level as u8, text: String::new(), span });
                }
                Event::End(TagEnd::Heading(_)) => page.headings.extend(heading.take()),
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    block = Some(Block::open(text, range, &info, page.headings.len()));
                }
                Event::End(TagEnd::CodeBlock) => {
                    page.blocks.extend(block.take().map(|block| block.finish()));
                }
                Event::Text(piece) => match (&mut block, &mut heading) {
                    (Some(block), _) => block.add(&piece, range.start),
                    (None, Some(heading)) => heading.text.push_str(&piece),
                    (None, None) => {}
                },
                Event::Code(piece) => {
                    if let Some(heading) = &mut heading {
                        heading.text.push_str(&piece);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// The blocks below a heading, up to the next one that is not below it.
    pub(super) fn below(&self, heading: usize) -> impl Iterator<Item = &Block> {
        let level = self.headings[heading].level;
        let next = self.headings.iter().skip(heading + 1).position(|other| other.level <= level);
        let end = next.map_or(self.headings.len(), |next| heading + 1 + next);
        self.blocks.iter().filter(move |block| (heading + 1..=end).contains(&block.headings_before))
    }
}

impl Block {
    fn open(text: &str, range: std::ops::Range<usize>, info: &str, headings_before: usize) -> Self {
        let whole = &text[range.clone()];
        let line = whole.lines().next().unwrap_or_default();
        let opening = Span::new(range.start, range.start + line.trim_end().len());
        // `{r, echo=FALSE}` is how some write what others write as `r`.
        let word = info.trim_start_matches(['{', '.', ' ']).split([' ', '\t', ',', '}']).next().unwrap_or_default();
        let word = (!word.is_empty()).then(|| {
            let span = line.find(word).map_or(opening, |at| Span::new(range.start + at, range.start + at + word.len()));
            (word.to_owned(), span)
        });
        let code = Scalar { text: String::new(), style: ScalarStyle::Literal, tagged_text: false, origins: Vec::new() };
        let is_closed = closes(line, whole);
        Self { word, opening, code, code_span: opening, is_closed, headings_before }
    }

    fn add(&mut self, piece: &str, at: usize) {
        let length = self.code.text.len() as u32;
        let at = at as u32;
        let goes_on = self.code.origins.last().is_some_and(|(text, source)| at == source + (length - text));
        if !goes_on {
            self.code.origins.push((length, at));
        }
        self.code.text.push_str(piece);
    }

    fn finish(mut self) -> Self {
        if self.code.origins.is_empty() {
            self.code.origins.push((0, self.opening.end));
        }
        let end = self.code.text.trim_end().len();
        self.code_span = Span { start: self.code.origin(0), end: self.code.origin(end.saturating_sub(1)) + 1 };
        if end == 0 {
            self.code_span = self.opening;
        }
        self
    }
}

/// Whether the last line of a block closes the fence that its first line opens.
fn closes(opening: &str, whole: &str) -> bool {
    let fence = opening.trim_start();
    let Some(sign) = fence.chars().next() else { return false };
    let least = fence.chars().take_while(|&c| c == sign).count();
    let mut lines = whole.lines();
    lines.next();
    lines.next_back().is_some_and(|last| {
        // Inside of a quotation or a list, its marks stand before the fence.
        let last = last.trim_end().trim_start_matches(['>', ' ', '\t']);
        last.chars().all(|c| c == sign) && last.chars().count() >= least
    })
}
