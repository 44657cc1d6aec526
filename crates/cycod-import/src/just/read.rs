//! What a justfile holds: recipes, aliases, settings, variables.

use std::collections::HashMap;

use cycod_diagnostic::{Diagnostic, Span};

use super::lex::{Token, TokenKind, line};
use crate::{
    proposal::TaskLoss,
    source::{TaskSource, syntax},
};

/// A justfile.
#[derive(Debug, Default)]
pub(super) struct Justfile {
    pub(super) recipes: Vec<Recipe>,
    pub(super) aliases: Vec<Alias>,
    /// Variables whose value is a literal text.
    pub(super) literals: HashMap<String, String>,
    /// Settings, with their text where they have one.
    pub(super) settings: HashMap<String, Setting>,
    pub(super) losses: Vec<TaskLoss>,
}

/// A line `set name := …`.
#[derive(Debug)]
pub(super) struct Setting {
    /// The texts of its value; `true` and `false` as they are.
    pub(super) values: Vec<String>,
}

/// Another name of a recipe.
#[derive(Debug)]
pub(super) struct Alias {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) span: Span,
    pub(super) is_private: bool,
}

/// A recipe.
#[derive(Debug, Default)]
pub(super) struct Recipe {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) doc: Option<String>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) parameters: Vec<Input>,
    /// Recipes that run before or behind it, each with the tokens of its arguments.
    pub(super) dependencies: Vec<(String, Vec<Vec<Token>>)>,
    /// The lines of the body, each with the byte it begins at.
    pub(super) body: Vec<(usize, String)>,
}

/// A parameter of a recipe.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) at: usize,
    /// `+`, `*`, or neither.
    pub(super) many: Option<char>,
    pub(super) is_exported: bool,
    /// The tokens of its default.
    pub(super) default: Option<Vec<Token>>,
}

/// An attribute such as `[confirm("Really?")]`.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) at: usize,
    /// Texts without a name.
    pub(super) texts: Vec<String>,
    /// Texts with one; a bare name has none.
    pub(super) named: Vec<(String, Option<String>)>,
}

impl Recipe {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

impl Justfile {
    /// Whether a setting that is on or off is on.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.settings.get(name).is_some_and(|setting| setting.values.first().is_none_or(|value| value != "false"))
    }
}

/// Reads a justfile.
pub(super) fn read(source: &TaskSource<'_>) -> Result<Justfile, Vec<Diagnostic>> {
    source.check()?;
    let text = source.text;
    let mut file = Justfile::default();
    let mut at = text.strip_prefix('\u{feff}').map_or(0, |rest| text.len() - rest.len());
    let mut doc: Option<String> = None;
    let mut attributes: Vec<Attribute> = Vec::new();
    while at < text.len() {
        let unclosed = |at: usize| {
            vec![
                syntax(Span::new(at, at + 1), "the quote that opens here is never closed")
                    .help("just would not read the file either"),
            ]
        };
        let (tokens, next) = line(text, at, text.len()).map_err(unclosed)?;
        let start = std::mem::replace(&mut at, next);
        match tokens.first() {
            None => {
                // Only a comment right above a recipe is about it.
                doc = None;
                continue;
            }
            Some(first) if first.kind == TokenKind::Comment => {
                let comment = text[first.at..first.end].trim_start_matches('#').trim();
                // The first line of a file may name its interpreter.
                doc = (!comment.starts_with('!')).then(|| comment.to_owned());
                continue;
            }
            _ => {}
        }
        let tokens: Vec<Token> = tokens.into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
        if tokens[0].is("[") {
            attributes.extend(read_attributes(&tokens));
            // `[private] recipe:` may stand on one line.
            let Some(behind) = end_of_attributes(&tokens).filter(|behind| *behind < tokens.len()) else { continue };
            at = tokens[behind].at;
            continue;
        }
        let item = Item { source, tokens: &tokens, line: source.line(start) };
        let is_private = attributes.iter().any(|attribute| attribute.name == "private");
        if item.is_recipe() {
            let mut recipe = item.recipe(&mut file.losses);
            (recipe.body, at) = body(text, at);
            recipe.doc = doc.take().filter(|doc| !doc.is_empty());
            recipe.attributes = std::mem::take(&mut attributes);
            file.recipes.push(recipe);
        } else {
            item.other(&mut file, is_private);
        }
        doc = None;
        attributes.clear();
    }
    Ok(file)
}

/// The indented lines that follow, and the byte behind them.
fn body(text: &str, mut at: usize) -> (Vec<(usize, String)>, usize) {
    let mut lines = Vec::new();
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |found| at + found + 1);
        let line = text[at..end].trim_end_matches(['\n', '\r']);
        if !line.is_empty() && !line.starts_with([' ', '\t']) {
            break;
        }
        lines.push((at, line.to_owned()));
        at = end;
    }
    while lines.last().is_some_and(|(_, line)| line.trim().is_empty()) {
        lines.pop();
    }
    (lines, at)
}

/// The index behind the `]` that closes the first bracket, where more follows.
fn end_of_attributes(tokens: &[Token]) -> Option<usize> {
    let mut index = 0;
    while tokens.get(index).is_some_and(|token| token.is("[")) {
        index += 1 + tokens[index..].iter().position(|token| token.is("]"))?;
    }
    Some(index)
}

fn read_attributes(tokens: &[Token]) -> Vec<Attribute> {
    let mut found: Vec<Attribute> = Vec::new();
    let mut depth = 0_usize;
    let mut pending: Option<String> = None;
    for token in tokens {
        match &token.kind {
            TokenKind::Sign("[") => {}
            TokenKind::Sign("]") if depth == 0 => {}
            TokenKind::Sign("(") => depth += 1,
            TokenKind::Sign(")") => depth = depth.saturating_sub(1),
            TokenKind::Name(name) if depth == 0 => {
                found.push(Attribute { name: name.clone(), at: token.at, texts: Vec::new(), named: Vec::new() });
            }
            TokenKind::Name(name) => {
                pending = Some(name.clone());
                if let Some(attribute) = found.last_mut() {
                    attribute.named.push((name.clone(), None));
                }
            }
            TokenKind::Text(Some(text)) => {
                let Some(attribute) = found.last_mut() else { continue };
                match pending.take() {
                    Some(_) => {
                        if let Some((_, value)) = attribute.named.last_mut() {
                            *value = Some(text.clone());
                        }
                    }
                    None => attribute.texts.push(text.clone()),
                }
            }
            TokenKind::Sign(",") => pending = None,
            _ => {}
        }
    }
    found
}

/// One logical line at the left margin.
struct Item<'a> {
    source: &'a TaskSource<'a>,
    tokens: &'a [Token],
    line: usize,
}

impl Item<'_> {
    /// Whether it has a `:` of its own, before anything that makes it an assignment.
    fn is_recipe(&self) -> bool {
        let first = usize::from(self.tokens[0].is("@"));
        let Some(name) = self.tokens.get(first).and_then(Token::name) else { return false };
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(first) {
            match token.kind {
                TokenKind::Sign("(" | "[" | "{") => depth += 1,
                TokenKind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
                TokenKind::Sign(":=") if depth == 0 => return false,
                TokenKind::Sign(":") if depth == 0 => {
                    // `mod`, `import`, `set` are words like others where a recipe has their name.
                    let is_word = matches!(name, "mod" | "import" | "set" | "alias" | "export" | "unexport");
                    return !is_word
                        || index == first + 1
                        || self.tokens[first + 1..index].iter().all(|token| token.text().is_none());
                }
                _ => {}
            }
        }
        false
    }

    fn recipe(&self, losses: &mut Vec<TaskLoss>) -> Recipe {
        let mut tokens = self.tokens.iter().peekable();
        if tokens.peek().is_some_and(|token| token.is("@")) {
            tokens.next();
        }
        let mut recipe = Recipe::default();
        if let Some(token) = tokens.next() {
            recipe.name = token.name().unwrap_or_default().to_owned();
            recipe.span = Span::new(token.at, token.end);
        }
        let (mut many, mut is_exported) = (None, false);
        while let Some(token) = tokens.next() {
            match &token.kind {
                TokenKind::Sign(":") => break,
                TokenKind::Sign("+") => many = Some('+'),
                TokenKind::Sign("*") => many = Some('*'),
                TokenKind::Sign("$") => is_exported = true,
                TokenKind::Name(name) => {
                    let mut default = None;
                    if tokens.peek().is_some_and(|token| token.is("=")) {
                        tokens.next();
                        default = Some(value(&mut tokens));
                    }
                    recipe.parameters.push(Input { name: name.clone(), at: token.at, many, is_exported, default });
                    (many, is_exported) = (None, false);
                }
                _ => {
                    let why = "it is not understood in the head of a recipe".to_owned();
                    let what = format!("`{}`", &self.source.text[token.at..token.end]);
                    losses.push(TaskLoss { line: self.source.line(token.at), what, why });
                }
            }
        }
        while let Some(token) = tokens.next() {
            match &token.kind {
                TokenKind::Name(name) => recipe.dependencies.push((path(name, &mut tokens), Vec::new())),
                TokenKind::Sign("(") => {
                    let Some(name) = tokens.next().and_then(Token::name) else { continue };
                    let name = path(name, &mut tokens);
                    let mut arguments = Vec::new();
                    while tokens.peek().is_some_and(|token| !token.is(")")) {
                        arguments.push(value(&mut tokens));
                    }
                    tokens.next();
                    recipe.dependencies.push((name, arguments));
                }
                _ => {}
            }
        }
        recipe
    }

    fn other(&self, file: &mut Justfile, is_private: bool) {
        let names: Vec<&str> = self.tokens.iter().map_while(Token::name).collect();
        let texts: Vec<&str> = self.tokens.iter().filter_map(Token::text).collect();
        let assigned = self.tokens.iter().position(|token| token.is(":="));
        let mut lose =
            |what: String, why: &str| file.losses.push(TaskLoss { line: self.line, what, why: why.to_owned() });
        match names.as_slice() {
            ["set", name] => {
                let behind = &self.tokens[assigned.map_or(self.tokens.len(), |at| at + 1)..];
                let words = behind.iter().filter_map(|token| token.name().or_else(|| token.text()));
                let values = words.map(str::to_owned).collect();
                file.settings.insert((*name).to_owned(), Setting { values });
            }
            ["alias", name] if assigned.is_some() => {
                let span = self.tokens.get(1).map(|token| Span::new(token.at, token.end)).unwrap_or_default();
                let of = self.tokens[assigned.map_or(0, |at| at + 1)..].iter();
                let of: Vec<&str> = of.filter_map(Token::name).collect();
                file.aliases.push(Alias { name: (*name).to_owned(), of: of.join("::"), span, is_private });
            }
            ["import"] => lose(
                format!("import of `{}`", texts.first().unwrap_or(&"")),
                "its recipes are in another file: import that one as well",
            ),
            ["mod", name] => lose(
                format!("module `{name}`"),
                "its recipes are in another file: import that one as well, with a --prefix",
            ),
            ["export", name] | ["unexport", name] | [name] if assigned.is_some() || names[0] == "unexport" => {
                if let Some([only]) = assigned.and_then(|at| self.tokens.get(at + 1..))
                    && let Some(text) = only.text()
                {
                    file.literals.insert((*name).to_owned(), text.to_owned());
                }
            }
            ["unexport"] => {}
            _ => {
                let shown: String =
                    self.source.text[self.tokens[0].at..].chars().take_while(|c| *c != '\n').take(40).collect();
                lose(format!("`{shown}`"), "it is neither a recipe nor anything else that is known of justfiles");
            }
        }
    }
}

/// A name that may be one of a module: `module::recipe`.
fn path<'a>(first: &str, tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a Token>>) -> String {
    let mut path = first.to_owned();
    while tokens.next_if(|token| token.is("::")).is_some() {
        path.push_str("::");
        path.push_str(tokens.next().and_then(Token::name).unwrap_or_default());
    }
    path
}

/// The tokens of one value: a text, a name, a call, something in parentheses, joined by `/` or `+`.
fn value<'a>(tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a Token>>) -> Vec<Token> {
    let mut taken = Vec::new();
    while let Some(first) = tokens.next() {
        taken.push(first.clone());
        let is_open = first.is("(")
            || first.name().is_some() && tokens.peek().is_some_and(|next| next.is("(") && next.at == first.end);
        if is_open {
            let mut depth = usize::from(first.is("("));
            for token in tokens.by_ref() {
                taken.push(token.clone());
                if token.is("(") {
                    depth += 1;
                } else if token.is(")") {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
        }
        // A sign that joins two values stands right behind the first in all that people write.
        match tokens.next_if(|next| next.is("/")) {
            Some(sign) => taken.push(sign.clone()),
            None => break,
        }
    }
    taken
}
