//! What a function takes, as far as its first line tells.
//!
//! A tool whose front matter says nothing about parameters takes what its function takes. Nothing is evaluated: the
//! names are read, and whether each has a default.

use cycod_syntax::yaml::{MappingEntry, Scalar};

use super::{
    language::Language,
    parts::{entry, mapping, plain, text},
};

/// A parameter of a function.
#[derive(Debug, PartialEq, Eq)]
struct Formal {
    name: String,
    /// Where it stands in the code.
    at: usize,
    kind: &'static str,
    is_required: bool,
}

/// The parameters of the function in `code` as entries of a tool; nothing when it does not say them by name.
pub(super) fn parameters(code: &Scalar, language: Language) -> Vec<MappingEntry> {
    let formals = match language {
        Language::R => r(&code.text),
        Language::Python => python(&code.text),
        _ => Vec::new(),
    };
    let of = |formal: Formal| {
        let start = code.origin(formal.at);
        let span = cycod_diagnostic::Span { start, end: start + formal.name.len() as u32 };
        let mut fields = vec![entry("type", span, text(formal.kind, span))];
        if formal.is_required {
            fields.push(entry("required", span, plain("true", span)));
        }
        entry(&formal.name, span, mapping(fields, span))
    };
    formals.into_iter().map(of).collect()
}

/// The code with everything in texts and comments blanked out: what is left is as long, and in the same places.
pub(super) fn bare(code: &str, language: Language) -> String {
    let mut bare = String::with_capacity(code.len());
    let mut rest = code;
    let blank = |part: &str, bare: &mut String| {
        bare.extend(part.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    };
    while let Some(c) = rest.chars().next() {
        let is_slashed = language.comment() == "//";
        let length = if rest.starts_with(language.comment()) {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_slashed && rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(quote) =
            ["\"\"\"", "'''"].into_iter().find(|quote| language == Language::Python && rest.starts_with(quote))
        {
            rest[3..].find(quote).map_or(rest.len(), |end| end + 6)
        } else if matches!(c, '"' | '\'') || (c == '`' && language != Language::Python) {
            text_length(rest, c)
        } else {
            bare.push(if c.is_ascii() { c } else { '_' });
            (1..c.len_utf8()).for_each(|_| bare.push('_'));
            rest = &rest[c.len_utf8()..];
            continue;
        };
        blank(&rest[..length], &mut bare);
        rest = &rest[length..];
    }
    bare
}

/// How long the text is that `quote` opens, with its quotes.
fn text_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The last function that stands by itself, which is what a block yields.
fn r(code: &str) -> Vec<Formal> {
    let bare = bare(code, Language::R);
    let bytes = bare.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
    let mut depth = 0_i32;
    let mut found = None;
    for (at, &byte) in bytes.iter().enumerate() {
        if depth == 0 && (at == 0 || !is_word(bytes[at - 1])) {
            let after = bare[at..].strip_prefix("function").or_else(|| bare[at..].strip_prefix('\\'));
            if let Some(after) = after
                && after.trim_start().starts_with('(')
            {
                found = Some(bare.len() - after.trim_start().len());
            }
        }
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    let Some(open) = found else { return Vec::new() };
    let formal = |(at, part): (usize, &str)| {
        let name = part.split('=').next().unwrap_or_default().trim();
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '.') && name != "...";
        is_name.then(|| Formal {
            name: name.to_owned(),
            at: at + (part.len() - part.trim_start().len()),
            kind: "any",
            is_required: !part.contains('='),
        })
    };
    parts(&bare, open).into_iter().filter_map(formal).collect()
}

/// The function called `handler`, or the only one.
fn python(code: &str) -> Vec<Formal> {
    let bare = bare(code, Language::Python);
    let mut functions: Vec<(&str, usize)> = Vec::new();
    let mut start = 0;
    for line in bare.split_inclusive('\n') {
        let header = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ");
        if let Some((name, after)) = header.and_then(|header| header.split_once('(')) {
            let name = name.trim();
            // One that starts with `_` only helps the others.
            if !name.starts_with('_') {
                functions.push((name, start + line.len() - after.len() - 1));
            }
        }
        start += line.len();
    }
    let chosen = functions.iter().find(|(name, _)| *name == "handler").or(match functions.as_slice() {
        [only] => Some(only),
        _ => None,
    });
    let Some((_, open)) = chosen else { return Vec::new() };
    let formal = |(at, part): (usize, &str)| {
        let (declared, default) = part.split_once('=').map_or((part, None), |(left, right)| (left, Some(right)));
        let (name, hint) = declared.split_once(':').unwrap_or((declared, ""));
        let name = name.trim();
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_').then(|| Formal {
            name: name.to_owned(),
            at: at + (part.len() - part.trim_start().len()),
            kind: match hint.trim() {
                "str" => "string",
                "int" => "integer",
                "float" => "number",
                "bool" => "boolean",
                "list" => "array",
                "dict" => "object",
                _ => "any",
            },
            is_required: default.is_none(),
        })
    };
    parts(&bare, *open).into_iter().filter_map(formal).collect()
}

/// What stands between the bracket at `open` and its end, at its commas, each with its place.
fn parts(bare: &str, open: usize) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut depth = 0_i32;
    let mut start = open + 1;
    for (at, byte) in bare.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 1 => {
                parts.push((start, &bare[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            parts.push((start, &bare[start..at]));
            return parts;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(formals: Vec<Formal>) -> String {
        let one =
            |formal: Formal| format!("{}{}:{}", formal.name, if formal.is_required { "!" } else { "" }, formal.kind);
        formals.into_iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn functions_in_r() {
        for (code, expect) in [
            ("function(path) readLines(path)", "path!:any"),
            (
                "# function(no)\nhelper <- function(x) x\nfunction(a, b = c(1, 2), ..., d.e = \"f(\") {\n a }",
                "a!:any b:any d.e:any",
            ),
            ("\\(x) x", "x!:any"),
            ("function() NULL", ""),
            ("lapply(1:3, function(i) i)", ""),
            ("f <- function(x", ""),
            ("my.function(x)", ""),
            ("", ""),
        ] {
            assert_eq!(shown(r(code)), expect, "{code}");
        }
    }

    #[test]
    fn functions_in_python() {
        for (code, expect) in [
            (
                "def run(path: str, n: int = 3, *args, deep=False, **rest):\n    pass\n",
                "path!:string n:integer deep:any",
            ),
            (
                "def helper(x):\n    pass\n\nasync def handler(a: dict[str, int], b: 'x' = '=,)'):\n    pass\n",
                "a!:any b:any",
            ),
            ("def one(x):\n  pass\ndef two(y):\n  pass\n", ""),
            ("'''\ndef no(x):\n'''\ndef yes(y):\n  pass\n", "y!:any"),
            ("def _help(x):\n  pass\ndef go(y):\n  pass\n", "y!:any"),
            ("class A:\n    def f(self): pass\n", ""),
        ] {
            assert_eq!(shown(python(code)), expect, "{code}");
        }
    }
}
