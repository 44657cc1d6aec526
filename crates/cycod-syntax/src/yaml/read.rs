//! From the events of the parser to a tree with spans.

use std::collections::HashMap;

use cycod_diagnostic::{Code, Diagnostic, Span};
use granit_parser::{Event, Parser, Tag, options};

use super::{
    MAX_DEPTH, MAX_NODES, MappingEntry, Node, NodeKind, Places, Resolved, Scalar, ScalarStyle, origin, syntax_error,
};

/// A tree, when there is one, with what is wrong in it.
pub(super) type Read = (Option<Node>, Vec<Diagnostic>);

/// Reads a document, or returns what is wrong when it is not YAML at all.
pub(super) fn read(text: &str, places: &Places) -> Result<Read, Vec<Diagnostic>> {
    let base = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let options = options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = Reader { text, places, last: base, ..Reader::new(text, places) };
    for event in Parser::new_from_str_with_options(&text[base..], options) {
        match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or_default();
                let range = base + range.start..base + range.end;
                let tag_start = span.tag_start().and_then(|mark| mark.byte_offset()).map(|at| base + at);
                if reader.take(event, range.start, range.end, tag_start).is_break() {
                    break;
                }
            }
            Err(error) => {
                reader.diagnostics.push(syntax_error::diagnostic(&error, text, base, &reader.context(), places));
                reader.diagnostics.sort_by_key(|diagnostic| diagnostic.span().unwrap_or_default());
                return Err(reader.diagnostics);
            }
        }
    }
    if reader.root.is_none() && reader.diagnostics.is_empty() {
        let empty = Diagnostic::error(Code::EmptyFile, Span::default(), "the file is empty");
        reader.diagnostics.push(empty);
    }
    Ok((reader.root, reader.diagnostics))
}

/// What had been read when the parser gave up, which often tells more than where it did.
pub(super) struct Context {
    /// End of the last thing read.
    pub(super) last: usize,
    /// Start of the last scalar read.
    pub(super) last_start: usize,
    /// The bracket that is open.
    pub(super) bracket: Option<usize>,
}

/// A collection that is not closed yet.
struct Open {
    start: usize,
    anchor: usize,
    depth: usize,
    kind: OpenKind,
}

enum OpenKind {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<MappingEntry>, key: Key },
}

/// What a mapping waits for.
enum Key {
    Wanted,
    Read(String, Span),
    /// The key was refused; its value is dropped.
    Refused,
}

/// What an anchor names.
struct Anchored {
    node: Node,
    size: usize,
    depth: usize,
}

struct Reader<'a> {
    text: &'a str,
    places: &'a Places,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
    /// End of the last thing read, in the parsed text.
    last: usize,
    /// Start of the last scalar read.
    last_start: usize,
    documents: usize,
    root: Option<Node>,
    diagnostics: Vec<Diagnostic>,
}

use std::ops::ControlFlow::{self, Break, Continue};

impl<'a> Reader<'a> {
    fn new(text: &'a str, places: &'a Places) -> Self {
        let (open, anchors, diagnostics) = (Vec::new(), HashMap::new(), Vec::new());
        Self { text, places, open, anchors, nodes: 0, last: 0, last_start: 0, documents: 0, root: None, diagnostics }
    }

    fn take(&mut self, event: Event<'_>, start: usize, end: usize, tag_start: Option<usize>) -> ControlFlow<()> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let span = self.places.span(start, end);
                    self.report(
                        Diagnostic::error(Code::SecondDocument, span, "a second document starts here")
                            .help("put each tool in a file of its own"),
                    );
                    return Break(());
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(&text, style, tag.as_deref(), start, end, tag_start);
                self.last_start = start;
                self.last = end;
                return self.add(node, anchor, 1, 0);
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", tag_start, start);
                let start = self.first_dash(start);
                return self.push(start, end, anchor, OpenKind::Sequence(Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", tag_start, start);
                let kind = OpenKind::Mapping { entries: Vec::new(), key: Key::Wanted };
                return self.push(start, end, anchor, kind);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(start, end),
            Event::Alias(id) => {
                self.last = end;
                let span = self.places.span(start, end);
                let Some(anchored) = self.anchors.get(&id) else {
                    // Only an anchor that is still open has no node yet: the alias is inside of itself.
                    self.report(Diagnostic::error(
                        Code::UnknownAnchor,
                        span,
                        "this alias stands inside of what it names",
                    ));
                    return self.add(null(span), 0, 1, 0);
                };
                let (size, depth) = (anchored.size, anchored.depth);
                if self.nodes + size > MAX_NODES {
                    let message = format!("with its aliases copied out the document has more than {MAX_NODES} values");
                    self.report(Diagnostic::error(Code::YamlLimit, span, message));
                    self.root = None;
                    return Break(());
                }
                let mut node = anchored.node.clone();
                node.span = span;
                return self.add(node, 0, size, depth);
            }
            Event::UnresolvedAlias(name) => {
                self.last = end;
                let span = self.places.span(start, end);
                self.report(
                    Diagnostic::error(Code::UnknownAnchor, span, format!("no anchor `&{name}` before this alias"))
                        .help("put the value in quotes if the `*` belongs to it"),
                );
                return self.add(null(span), 0, 1, 0);
            }
            _ => {}
        }
        Continue(())
    }

    /// What had been read when the parser gave up.
    fn context(&self) -> Context {
        let is_bracket = |start: &usize| self.text[*start..].starts_with(['[', '{']);
        // The parser looks ahead: a bracket may have been passed that it has not told of yet.
        let ahead = &self.text[self.last..];
        let next = self.text.len() - ahead.trim_start_matches([':', '-', ' ', '\t', '\n', '\r']).len();
        let bracket = self.open.last().map(|open| open.start).filter(is_bracket).or(Some(next).filter(is_bracket));
        Context { last: self.last, last_start: self.last_start, bracket }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn scalar(
        &mut self,
        text: &str,
        style: granit_parser::ScalarStyle,
        tag: Option<&Tag>,
        start: usize,
        end: usize,
        tag_start: Option<usize>,
    ) -> Node {
        let style = match style {
            granit_parser::ScalarStyle::Plain => ScalarStyle::Plain,
            granit_parser::ScalarStyle::SingleQuoted => ScalarStyle::SingleQuoted,
            granit_parser::ScalarStyle::DoubleQuoted => ScalarStyle::DoubleQuoted,
            granit_parser::ScalarStyle::Literal => ScalarStyle::Literal,
            granit_parser::ScalarStyle::Folded => ScalarStyle::Folded,
        };
        // The parser gives an absent value the text `~` ...
        let absent = style == ScalarStyle::Plain && start == end;
        let text = if absent { "" } else { text };
        // ... and the place before the colon of its key.
        let after_colon = absent && start == self.last && self.text[start..].starts_with(':');
        let (start, end) = if after_colon { (start + 1, start + 1) } else { (start, end) };
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let header = if is_block { self.block_header(start) } else { start };
        let runs = origin::origins(text, style, self.text, header, end);
        let span = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let content_end = text.trim_end_matches(['\n', ' ', '\t']).len();
                let in_source = runs.iter().rev().find(|(at, _)| *at <= content_end);
                let content_end = match in_source {
                    Some((at, source)) if content_end > 0 => source + content_end - at,
                    _ => header + 1,
                };
                self.places.span(header, content_end.clamp(header, end.max(header)))
            }
            _ => self.places.span(start, end),
        };
        let origins =
            self.places.runs(&runs, text.len()).into_iter().map(|(at, source)| (at as u32, source as u32)).collect();
        let mut scalar = Scalar { text: text.to_owned(), style, tagged_text: false, origins };
        if let Some(tag) = tag {
            let resolved = scalar.resolve();
            let fits = match tag.core_suffix() {
                Some("str") => {
                    scalar.tagged_text = true;
                    true
                }
                Some("null") => resolved == Resolved::Null,
                Some("bool") => matches!(resolved, Resolved::Bool(_)),
                Some("int") => matches!(resolved, Resolved::Integer(_) | Resolved::BigInteger),
                Some("float") => matches!(resolved, Resolved::Float(_)),
                _ => false,
            };
            if !fits {
                self.refuse_tag(tag, tag_start, start);
            }
        }
        Node { span, kind: NodeKind::Scalar(scalar) }
    }

    /// Finds the `|` or `>` of the block scalar whose content starts at `content`.
    fn block_header(&self, content: usize) -> usize {
        let between = self.text.get(self.last..content).unwrap_or_default();
        let mut blank_before = true;
        let mut in_comment = false;
        for (offset, character) in between.char_indices() {
            match character {
                '\n' | '\r' => in_comment = false,
                '#' if blank_before => in_comment = true,
                '|' | '>' if blank_before && !in_comment => return self.last + offset,
                _ => {}
            }
            blank_before = matches!(character, ' ' | '\t' | '\n' | '\r' | ':' | '-' | '\u{feff}');
        }
        content
    }

    /// Returns where a sequence starts; the parser names the first item when the dashes are not indented.
    fn first_dash(&self, start: usize) -> usize {
        if self.text[start..].starts_with(['-', '[']) {
            return start;
        }
        let between = self.text.get(self.last..start).unwrap_or_default();
        let line = between.rfind('\n').map_or(0, |newline| newline + 1);
        between[line..].find('-').map_or(start, |dash| self.last + line + dash)
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, expected: &str, tag_start: Option<usize>, start: usize) {
        if let Some(tag) = tag.filter(|tag| tag.core_suffix() != Some(expected)) {
            self.refuse_tag(tag, tag_start, start);
        }
    }

    fn refuse_tag(&mut self, tag: &Tag, tag_start: Option<usize>, start: usize) {
        let tag_start = tag_start.unwrap_or(start);
        let written = self.text.get(tag_start..).unwrap_or_default();
        let len = written.find([' ', '\t', '\n', '\r', ',', ']', '}']).unwrap_or(written.len());
        let diagnostic = match tag.core_suffix() {
            Some(kind @ ("null" | "bool" | "int" | "float" | "seq" | "map")) => Diagnostic::error(
                Code::YamlTag,
                self.places.span(tag_start, tag_start + len),
                format!("the tag `{}` does not fit its value, which is not `{kind}`", tag.original()),
            ),
            _ => Diagnostic::error(
                Code::YamlTag,
                self.places.span(tag_start, tag_start + len),
                format!("the tag `{}` has no meaning here", tag.original()),
            ),
        };
        self.report(diagnostic.help("put the value in quotes if the `!` belongs to it"));
    }

    fn push(&mut self, start: usize, end: usize, anchor: usize, kind: OpenKind) -> ControlFlow<()> {
        self.last = end;
        if self.open.len() >= MAX_DEPTH {
            return self.too_deep(self.places.span(start, end));
        }
        self.nodes += 1;
        self.open.push(Open { start, anchor, depth: 0, kind });
        Continue(())
    }

    fn too_deep(&mut self, span: Span) -> ControlFlow<()> {
        self.report(Diagnostic::error(Code::YamlLimit, span, format!("nested more than {MAX_DEPTH} levels deep")));
        self.root = None;
        Break(())
    }

    fn close(&mut self, start: usize, end: usize) -> ControlFlow<()> {
        let Some(open) = self.open.pop() else { return Continue(()) };
        // The end of a flow collection is its bracket; that of a block, the end of what is in it.
        if end > start {
            self.last = end;
        }
        let close = if end > start { end } else { self.last.max(open.start) };
        let kind = match open.kind {
            OpenKind::Sequence(items) => NodeKind::Sequence(items),
            OpenKind::Mapping { entries, .. } => NodeKind::Mapping(unique(entries, &mut self.diagnostics)),
        };
        let mut span = self.places.span(open.start, close);
        if end == start {
            let inner = match &kind {
                NodeKind::Sequence(items) => items.last().map(|item| item.span.end),
                NodeKind::Mapping(entries) => entries.iter().map(|entry| entry.value.span.end).max(),
                NodeKind::Scalar(_) => None,
            };
            span.end = inner.unwrap_or(span.end).max(span.start);
        }
        let node = Node { span, kind };
        let size = if open.anchor > 0 { size(&node) } else { 1 };
        self.finish(node, open.anchor, size, open.depth + 1)
    }

    /// Adds a node that was read whole: a scalar or an alias.
    fn add(&mut self, node: Node, anchor: usize, size: usize, depth: usize) -> ControlFlow<()> {
        if self.open.len() + depth > MAX_DEPTH {
            return self.too_deep(node.span);
        }
        self.nodes += size;
        self.finish(node, anchor, size, depth)
    }

    fn finish(&mut self, node: Node, anchor: usize, size: usize, depth: usize) -> ControlFlow<()> {
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { node: node.clone(), size, depth });
            self.nodes += size;
        }
        if self.nodes > MAX_NODES {
            let message = format!("the document has more than {MAX_NODES} values");
            self.report(Diagnostic::error(Code::YamlLimit, node.span, message));
            self.root = None;
            return Break(());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Continue(());
        };
        parent.depth = parent.depth.max(depth);
        match &mut parent.kind {
            OpenKind::Sequence(items) => items.push(node),
            OpenKind::Mapping { entries, key } => match std::mem::replace(key, Key::Wanted) {
                Key::Read(key, key_span) => entries.push(MappingEntry { key, key_span, value: node }),
                Key::Refused => {}
                Key::Wanted => {
                    let (span, is_plain) =
                        (node.span, matches!(&node.kind, NodeKind::Scalar(s) if s.style == ScalarStyle::Plain));
                    let refused = match node.kind {
                        NodeKind::Scalar(scalar) if scalar.text == "<<" && is_plain => {
                            Diagnostic::error(Code::MergeKey, span, "merge keys (`<<`) are not supported")
                                .note("they are not part of YAML 1.2")
                                .help("write the keys out, or name the whole mapping with an alias")
                        }
                        NodeKind::Scalar(scalar) if !scalar.text.is_empty() => {
                            *key = Key::Read(scalar.text, span);
                            return Continue(());
                        }
                        NodeKind::Scalar(_) => Diagnostic::error(Code::ComplexKey, span, "a key is empty"),
                        _ => Diagnostic::error(Code::ComplexKey, span, "a key must be a single word or text")
                            .help("put the key in quotes if the brackets belong to it"),
                    };
                    *key = Key::Refused;
                    self.report(refused);
                }
            },
        }
        Continue(())
    }
}

fn null(span: Span) -> Node {
    let origins = vec![(0, span.start)];
    let scalar = Scalar { text: String::new(), style: ScalarStyle::Plain, tagged_text: false, origins };
    Node { span, kind: NodeKind::Scalar(scalar) }
}

fn size(node: &Node) -> usize {
    1 + match &node.kind {
        NodeKind::Scalar(_) => 0,
        NodeKind::Sequence(items) => items.iter().map(size).sum(),
        NodeKind::Mapping(entries) => entries.iter().map(|entry| 1 + size(&entry.value)).sum(),
    }
}

/// Returns the entries with each key once: what repeats is merged where nothing conflicts, else reported.
fn unique(entries: Vec<MappingEntry>, diagnostics: &mut Vec<Diagnostic>) -> Vec<MappingEntry> {
    let mut order: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    order.sort_unstable();
    if order.windows(2).all(|pair| pair[0] != pair[1]) {
        return entries;
    }
    let mut kept: Vec<MappingEntry> = Vec::with_capacity(entries.len());
    let mut index: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let Some(&first) = index.get(&entry.key) else {
            index.insert(entry.key.clone(), kept.len());
            kept.push(entry);
            continue;
        };
        let first = &mut kept[first];
        let both_mappings = first.value.as_mapping().is_some() && entry.value.as_mapping().is_some();
        let key = &entry.key;
        if both_mappings && agree(&first.value, &entry.value) {
            diagnostics.push(
                Diagnostic::warning(
                    Code::DuplicateKeyMerged,
                    entry.key_span,
                    format!("the key `{key}` is given twice; its entries are merged"),
                )
                .label("again here")
                .also(first.key_span, "first given here")
                .help("write the entries under one key"),
            );
            merge(&mut first.value, entry.value);
        } else {
            let mut diagnostic =
                Diagnostic::error(Code::DuplicateKey, entry.key_span, format!("the key `{key}` is given twice"))
                    .label("again here")
                    .also(first.key_span, "first given here");
            if both_mappings {
                diagnostic = diagnostic.note("the two mappings cannot be merged, because they disagree");
            }
            diagnostics.push(diagnostic);
        }
    }
    kept
}

/// Whether two values can both hold: equal, or mappings that agree on every key they share.
fn agree(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (NodeKind::Scalar(a), NodeKind::Scalar(b)) => {
            a.text == b.text && (a.resolve() == Resolved::Text) == (b.resolve() == Resolved::Text)
        }
        (NodeKind::Sequence(a), NodeKind::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
        }
        (NodeKind::Mapping(a_entries), NodeKind::Mapping(b_entries)) => {
            let by_key: HashMap<&str, &Node> =
                a_entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect();
            b_entries.iter().all(|entry| by_key.get(entry.key.as_str()).is_none_or(|value| agree(value, &entry.value)))
        }
        _ => false,
    }
}

/// Adds to `into` what only `from` has; the two agree.
fn merge(into: &mut Node, from: Node) {
    let (NodeKind::Mapping(into), NodeKind::Mapping(from)) = (&mut into.kind, from.kind) else { return };
    let index: HashMap<String, usize> = into.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
    for entry in from {
        match index.get(&entry.key) {
            Some(&at) => merge(&mut into[at].value, entry.value),
            None => into.push(entry),
        }
    }
}
