//! Markdown tools: front matter says what the tool takes, a block of code does it.

use std::collections::BTreeMap;

use cycod_diagnostic::{Code, Diagnostic, SourceFile, Span};
use cycod_syntax::yaml::{self, MappingEntry, Node, NodeKind, Resolved, Scalar};

use super::{
    blocks::{Block, Page},
    drop_foreign,
    language::Language,
    markers,
    parts::{entry, mapping, plain, take, text},
    signature,
};
use crate::{
    Level, ParameterType,
    lower::{Sink, shape},
    table::{MARKDOWN, one_of},
};

/// The heading over the tool's code.
const HANDLER_HEADING: &str = "handler function";
/// The parameter that gets the directory in which the tool works.
const WORKING_DIR: &str = "working_dir";

/// Reads a Markdown tool; nothing when its front matter cannot be read.
pub(super) fn read(source: &SourceFile, sink: &Sink<'_>) -> Option<Node> {
    let text = &*source.text;
    let front = front_matter(text, sink)?;
    // The front matter starts at the start of the file, so that its places are the file's.
    let (root, found) = yaml::parse(&SourceFile::new(source.name.as_str(), &text[..front.end]));
    sink.extend(found);
    let code = code(&Page::read(text, front.body), front.end, text.len(), sink);
    let mut root = root?;
    if root.as_mapping().is_none() {
        return Some(root);
    }
    if code.language == Language::R {
        forgive_types(&mut root, sink);
    }
    shape::check(&root, &MARKDOWN, sink);
    let Node { span, kind: NodeKind::Mapping(mut entries) } = root else { return None };
    drop_foreign(&mut entries, &MARKDOWN);
    let runtime = take(&mut entries, "runtime");
    if !entries.iter().any(|entry| matches!(entry.key.as_str(), "parameters" | "input-schema")) {
        let own = signature::parameters(&code.scalar, code.language);
        if !own.is_empty() {
            entries.push(entry("parameters", code.language_span, mapping(own, code.span)));
        }
    }
    parameters(&mut entries, code.language, sink);
    can_register(&mut entries, sink);
    reads_only(&mut entries);
    let runtime = runtime.and_then(|runtime| {
        let is_named = runtime.value.as_mapping().is_some() && matches!(code.language, Language::R | Language::Python);
        let concerns = is_named || matches!(code.language, Language::JavaScript | Language::TypeScript);
        if !concerns {
            let message = format!("`runtime` has no effect on code in {}", code.language.name());
            let diagnostic = Diagnostic::warning(Code::UnusedKey, runtime.key_span, message);
            sink.report(diagnostic.note("it defines what runs JavaScript and TypeScript"));
        }
        concerns.then_some(runtime)
    });
    let node = Node { span: code.span, kind: NodeKind::Scalar(code.scalar) };
    entries.extend(code.language.keys(code.language_span, node, runtime));
    Some(mapping(entries, span))
}

/// Where the front matter ends.
struct FrontMatter {
    /// One past its last line, without the line that closes it.
    end: usize,
    /// Where the text after it starts.
    body: usize,
}

fn front_matter(text: &str, sink: &Sink<'_>) -> Option<FrontMatter> {
    let base = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut at = base;
    let mut opening = None;
    for line in text[base..].split_inclusive('\n') {
        let is_mark = line.trim_end() == "---";
        let end = at + line.len();
        match opening {
            None if is_mark => opening = Some(Span::new(at, at + 3)),
            // Blank lines above it are no text.
            None if line.trim().is_empty() => {}
            None => break,
            Some(_) if is_mark => return Some(FrontMatter { end: at, body: end }),
            Some(_) => {}
        }
        at = end;
    }
    sink.report(match opening {
        Some(opening) => Diagnostic::error(Code::FrontMatter, opening, "the front matter is not closed")
            .help("write a line `---` behind its last key"),
        None => Diagnostic::error(Code::FrontMatter, Span::new(base, base), "a Markdown tool starts with front matter")
            .help("start with a line `---`, then `name` and `description`, then another line `---`"),
    });
    None
}

/// What a tool does.
struct Found {
    language: Language,
    /// The word behind the fence.
    language_span: Span,
    scalar: Scalar,
    span: Span,
}

/// Finds the tool's code; where there is none, or several, that is reported.
fn code(page: &Page, after: usize, end: usize, sink: &Sink<'_>) -> Found {
    let nothing = || {
        let span = Span::new(after, after);
        let origins = vec![(0, span.start)];
        let scalar = Scalar { text: String::new(), style: yaml::ScalarStyle::Literal, tagged_text: false, origins };
        Found { language: Language::R, language_span: span, scalar, span }
    };
    let Some((block, others)) = handler(page, end, sink) else { return nothing() };
    if !block.is_closed {
        sink.report(
            Diagnostic::error(Code::UnclosedFence, block.opening, "this block of code is never closed")
                .help("write a line with the same fence behind the last line of the code"),
        );
    }
    let Some((word, language_span)) = &block.word else {
        sink.report(
            Diagnostic::error(Code::UnknownLanguage, block.opening, "the block has no language")
                .help(format!("write it behind the fence: {}", languages())),
        );
        return nothing();
    };
    let Some(language) = Language::named(word) else {
        unknown_language(word, *language_span, sink);
        return nothing();
    };
    for other in
        others.into_iter().filter(|other| other.word.as_ref().is_some_and(|(word, _)| Language::named(word).is_some()))
    {
        sink.report(
            Diagnostic::warning(Code::SeveralHandlers, other.opening, "a second block of code below the same heading")
                .label("not used")
                .also(block.opening, "this is the tool's code")
                .help("put it into the first, or below another heading"),
        );
    }
    let mut lines = block.code.text.lines().map(str::trim);
    if lines.all(|line| line.is_empty() || line.starts_with(language.comment())) {
        sink.report(
            Diagnostic::error(Code::EmptyHandler, block.opening, "the block of code is empty")
                .help("write into it what the tool does"),
        );
    }
    let scalar = markers::region(block, language, sink);
    Found { language, language_span: *language_span, scalar, span: block.code_span }
}

/// The block that is the tool's code, with those beside it that might be meant as well.
fn handler<'p>(page: &'p Page, end: usize, sink: &Sink<'_>) -> Option<(&'p Block, Vec<&'p Block>)> {
    let is_handler = |text: &str| text.trim().trim_end_matches(':').eq_ignore_ascii_case(HANDLER_HEADING);
    let headings: Vec<usize> = (0..page.headings.len()).filter(|&at| is_handler(&page.headings[at].text)).collect();
    let shows = |block: &&Block| block.word.as_ref().is_some_and(|(word, _)| Language::only_shows(word));
    match headings.as_slice() {
        [] => {
            // One that does not say what it is shows something more often than not.
            let mut blocks = page.blocks.iter().filter(|block| !shows(block));
            let first = blocks.clone().find(|block| block.word.is_some()).or_else(|| blocks.next());
            if first.is_none() {
                sink.report(
                    Diagnostic::error(Code::NoHandler, Span::new(end, end), "a Markdown tool needs a block of code")
                        .note(format!("it starts with three backticks and the language: {}", languages()))
                        .help("add it below a heading `## Handler Function`"),
                );
            }
            first.map(|first| (first, Vec::new()))
        }
        [only] => {
            let mut blocks = page.below(*only).filter(|block| !shows(block));
            let first = blocks.next();
            if first.is_none() {
                let span = page.headings[*only].span;
                sink.report(
                    Diagnostic::error(Code::NoHandler, span, "there is no code block below this heading")
                        .note(format!("it starts with three backticks and the language: {}", languages()))
                        .help("add the block, or move it below this heading"),
                );
            }
            first.map(|first| (first, blocks.collect()))
        }
        [first, others @ ..] => {
            let span = |at: usize| page.headings[at].span;
            let diagnostic =
                Diagnostic::error(Code::SeveralHandlers, span(others[0]), "a second heading `Handler Function`");
            sink.report(diagnostic.also(span(*first), "the first").help("keep one of them"));
            page.below(*first).find(|block| !shows(block)).map(|block| (block, Vec::new()))
        }
    }
}

fn languages() -> String {
    let mut names: Vec<&str> = Language::NAMES.into_iter().map(|(_, language)| language.name()).collect();
    names.dedup();
    one_of(&names)
}

fn unknown_language(word: &str, span: Span, sink: &Sink<'_>) {
    let diagnostic = Diagnostic::error(Code::UnknownLanguage, span, format!("`{word}` is not a language for tools"))
        .note(format!("it is {}", languages()));
    sink.report(match sink.did_you_mean(word, Language::NAMES.into_iter().map(|(name, _)| name)) {
        Some((near, help)) => diagnostic.help(help).fix(format!("write `{near}`"), crate::lower::replace(span, near)),
        None => diagnostic.help("or run it from a `bash` block"),
    });
}

/// Lets parameters of a function in R have types that we do not know: such a parameter takes anything, and the function
/// sees for itself what it was given.
fn forgive_types(root: &mut Node, sink: &Sink<'_>) {
    let NodeKind::Mapping(entries) = &mut root.kind else { return };
    let Some(parameters) = entries.iter_mut().find(|entry| entry.key == "parameters") else { return };
    let declared: Vec<&mut Node> = match &mut parameters.value.kind {
        NodeKind::Sequence(items) => items.iter_mut().collect(),
        NodeKind::Mapping(named) => named.iter_mut().map(|parameter| &mut parameter.value).collect(),
        NodeKind::Scalar(_) => return,
    };
    for parameter in declared {
        let NodeKind::Mapping(fields) = &mut parameter.kind else { continue };
        let Some(kind) = fields.iter_mut().find(|field| field.key == "type") else { continue };
        let known = || ParameterType::NAMES.iter().map(|(name, _)| *name);
        let Some(scalar) = kind.value.as_scalar() else { continue };
        if scalar.resolve() == Resolved::Null || known().any(|name| name == scalar.text) {
            continue;
        }
        let span = kind.value.span;
        let message = format!("`{}` is not a type that is known here", scalar.text);
        let diagnostic = Diagnostic::warning(Code::UnknownType, span, message).label("any value is taken");
        sink.report(match sink.did_you_mean(&scalar.text, known()) {
            Some((near, help)) => {
                diagnostic.help(help).fix(format!("write `{near}`"), crate::lower::replace(span, near))
            }
            None => diagnostic.note(format!("types are {}", one_of(&known().collect::<Vec<_>>()))),
        });
        kind.value = text("any", span);
    }
}

/// Turns a list of parameters into a mapping, and fills in what a parameter means that does not say it.
fn parameters(entries: &mut [MappingEntry], language: Language, sink: &Sink<'_>) {
    let Some(parameters) = entries.iter_mut().find(|entry| entry.key == "parameters") else { return };
    if let NodeKind::Sequence(items) = &mut parameters.value.kind {
        let mut named: Vec<MappingEntry> = Vec::new();
        let mut seen: BTreeMap<String, Span> = BTreeMap::new();
        for item in std::mem::take(items) {
            let Node { span, kind: NodeKind::Mapping(mut fields) } = item else { continue };
            let name = take(&mut fields, "name").map(|name| name.value);
            let Some((key_span, name)) = name.as_ref().and_then(|name| Some((name.span, &name.as_scalar()?.text)))
            else {
                let place = fields.first().map_or(span, |first| first.key_span);
                let diagnostic = Diagnostic::error(Code::InvalidName, place, "this parameter has no `name`");
                sink.report(diagnostic.help("add `name`, as in `- name: filepath`"));
                continue;
            };
            if let Some(first) = seen.insert(name.clone(), key_span) {
                let message = format!("a second parameter `{name}`");
                let diagnostic = Diagnostic::error(Code::DuplicateParameter, key_span, message);
                sink.report(diagnostic.also(first, "the first").help("give one of them another name"));
                continue;
            }
            named.push(entry(name, key_span, mapping(fields, span)));
        }
        parameters.value.kind = NodeKind::Mapping(named);
    }
    let NodeKind::Mapping(named) = &mut parameters.value.kind else { return };
    for parameter in named {
        if parameter.value.as_scalar().is_some_and(|scalar| scalar.resolve() == Resolved::Null) {
            parameter.value.kind = NodeKind::Mapping(Vec::new());
        }
        let span = parameter.key_span;
        let NodeKind::Mapping(fields) = &mut parameter.value.kind else { continue };
        // Who wrote the name into an entry of a mapping as well says nothing new.
        take(fields, "name");
        if !fields.iter().any(|field| matches!(field.key.as_str(), "type" | "schema")) {
            fields.push(entry("type", span, text("any", span)));
        }
        if parameter.key == WORKING_DIR {
            working_dir(fields, language);
        }
    }
}

/// Nobody has to give the directory in which the tool works. What its author calls `getwd()` is text; a function is given
/// the directory in its place, and a command stands in it.
fn working_dir(fields: &mut Vec<MappingEntry>, language: Language) {
    if let Some(default) = fields.iter_mut().find(|field| field.key == "default")
        && default.value.as_scalar().is_none_or(|scalar| scalar.text != "getwd()")
    {
        return;
    }
    fields.retain(|field| field.key != "required" && (field.key != "default" || language.has_functions()));
    if !language.has_functions() {
        let span = fields.first().map_or_else(Span::default, |first| first.key_span);
        fields.push(entry("default", span, text(".", span)));
    }
}

/// Turns `can_register` into `requires` and `enabled`.
fn can_register(entries: &mut Vec<MappingEntry>, sink: &Sink<'_>) {
    let Some(condition) = take(entries, "can_register") else { return };
    if condition.value.as_mapping().is_some() {
        if let Some(other) = entries.iter().find(|entry| entry.key == "requires") {
            let diagnostic =
                Diagnostic::error(Code::CanRegister, condition.key_span, "`can_register` repeats `requires`");
            sink.report(diagnostic.also(other.key_span, "here as well").help("keep one of them"));
            return;
        }
        entries.push(MappingEntry { key: "requires".to_owned(), ..condition });
        return;
    }
    let Some(scalar) = condition.value.as_scalar() else { return };
    match scalar.resolve() {
        Resolved::Null | Resolved::Bool(true) => {}
        Resolved::Bool(false) if !entries.iter().any(|entry| entry.key == "enabled") => {
            entries.push(entry("enabled", condition.key_span, plain("false", condition.value.span)));
        }
        Resolved::Bool(false) => {}
        _ => {
            let message = "code is not run to find out whether a tool can be used";
            sink.report(
                Diagnostic::warning(Code::CanRegister, condition.value.span, message)
                    .label("ignored")
                    .help("say what must be there: `requires: {commands: [git], env: [TOKEN], platforms: [linux]}`"),
            );
        }
    }
}

/// Gives the level read to a tool that says both that it is not risky and that it only reads, unless it says its level.
fn reads_only(entries: &mut Vec<MappingEntry>) {
    let is = |node: Option<&Node>, wanted: bool| {
        node.and_then(Node::as_scalar).is_some_and(|scalar| scalar.resolve() == Resolved::Bool(wanted))
    };
    let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let hints = value("hints");
    let hint = |name: &str| hints.and_then(|hints| hints.get(name));
    let reads = is(hint("read_only"), true) || is(hint("read-only"), true);
    if !(is(value("risky"), false) && reads) {
        return;
    }
    let span = hint("read_only").or_else(|| hint("read-only")).map_or_else(Span::default, |node| node.span);
    let says_level = |node: &Node| {
        let texts = node.as_sequence().unwrap_or(std::slice::from_ref(node)).iter().filter_map(Node::as_scalar);
        texts.into_iter().any(|tag| Level::NAMES.iter().any(|(name, _)| name.eq_ignore_ascii_case(&tag.text)))
    };
    let read = text(Level::Read.name(), span);
    match entries.iter_mut().find(|entry| entry.key == "tags") {
        Some(tags) if says_level(&tags.value) => {}
        Some(tags) => match &mut tags.value.kind {
            NodeKind::Sequence(items) => items.push(read),
            _ => {
                let one = std::mem::replace(&mut tags.value, read.clone());
                let of = if one.as_scalar().is_some_and(|scalar| scalar.resolve() == Resolved::Null) {
                    vec![read]
                } else {
                    vec![one, read]
                };
                tags.value.kind = NodeKind::Sequence(of);
            }
        },
        None => entries.push(entry("tags", span, Node { span, kind: NodeKind::Sequence(vec![read]) })),
    }
}
