//! How deeply code is nested, told without parsing it.
//!
//! The parser goes as deep as the code is nested, and where `f<(` may begin types or a comparison it may read what follows
//! twice, and what is nested in that twice again. Code of strangers is read when their tools are looked at, so what would end
//! the process, or keep it for years, must be known before. This looks at tokens only, and passes nothing of which it cannot
//! tell where it ends.

/// How many brackets may stand in one another.
const MOST_OPEN: usize = 100;

/// How many of them may follow a `<` that is not closed.
const MOST_UNDECIDED: usize = 8;

/// How many `<` may be open.
const MOST_ANGLES: usize = 100;

/// Why code is not parsed, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unparsable {
    /// It is nested too deeply here.
    TooDeep(usize),
    /// Here may begin a regular expression, or a division, and the brackets and quotes in it are not paired.
    Ambiguous(usize),
}

/// What stands before a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value: what follows is an operator.
    Value,
    /// An operator, or nothing: what follows is a value.
    Operator,
    /// Either.
    Either,
}

/// A bracket that is open.
struct Open {
    kind: u8,
    /// How many `<` stand before it in the same brackets, not closed.
    angles: usize,
    /// Whether a condition stands inside, after which a statement begins.
    is_condition: bool,
}

/// What is open at a place.
#[derive(Default)]
struct Nesting {
    open: Vec<Open>,
    /// How many brackets have a `<` before them.
    undecided: usize,
    /// How many `<` are open in the innermost brackets, and in those around.
    angles: usize,
    outer: usize,
}

impl Nesting {
    fn push(&mut self, kind: u8, is_condition: bool) {
        self.open.push(Open { kind, angles: self.angles, is_condition });
        self.undecided += usize::from(self.angles > 0);
        self.outer += self.angles;
        self.angles = 0;
    }

    /// Closes the innermost brackets, if they are of this kind.
    fn pop(&mut self, kind: u8) -> Option<Open> {
        let closed = self.open.pop_if(|open| open.kind == kind)?;
        self.undecided -= usize::from(closed.angles > 0);
        self.outer -= closed.angles;
        self.angles = closed.angles;
        Some(closed)
    }

    fn is_too_deep(&self) -> bool {
        self.open.len() > MOST_OPEN || self.undecided > MOST_UNDECIDED || self.outer + self.angles > MOST_ANGLES
    }
}

/// Where the space or the comment ends that begins here, if one does.
fn blank_end(code: &str, start: usize) -> Option<usize> {
    let rest = &code[start..];
    let first = rest.chars().next()?;
    if first.is_whitespace() || first == '\u{feff}' {
        return Some(start + first.len_utf8());
    }
    if rest.starts_with("//") {
        return Some(line_end(code, start + 1));
    }
    rest.starts_with("/*").then(|| code[start + 2..].find("*/").map_or(code.len(), |end| start + 2 + end + 2))
}

/// Tells whether code must not be parsed.
pub(super) fn look(code: &str) -> Result<(), Unparsable> {
    let bytes = code.as_bytes();
    let mut nesting = Nesting::default();
    let mut before = Before::Operator;
    // The word before, and whether a line ended since.
    let mut word = "";
    let mut is_after_dot = false;
    let mut is_new_line = false;
    let mut at = 0;
    while let Some(char) = code[at..].chars().next() {
        let start = at;
        at += char.len_utf8();
        if let Some(end) = blank_end(code, start) {
            at = end;
            is_new_line |= !code[start..].starts_with("//") && code[start..at].contains(is_line_end);
            continue;
        }
        let last = std::mem::take(&mut word);
        let is_member = std::mem::take(&mut is_after_dot);
        let begins_line = std::mem::take(&mut is_new_line);
        before = match char {
            '/' => match regular_expression(bytes, at) {
                None => Before::Operator,
                Some(_) if before == Before::Value && !begins_line => Before::Operator,
                Some(end) if before == Before::Operator || is_alike(&code[at..end - 1]) => {
                    at = end;
                    if before == Before::Operator { Before::Value } else { Before::Either }
                }
                Some(_) => return Err(Unparsable::Ambiguous(start)),
            },
            '"' | '\'' => {
                at = text_end(bytes, at, char);
                Before::Value
            }
            '`' => template(code, &mut at, &mut nesting),
            '(' | '[' | '{' => {
                let is_condition = char == '(' && !is_member && ["if", "while", "for", "with", "await"].contains(&last);
                nesting.push(char as u8, is_condition);
                Before::Operator
            }
            ')' => match nesting.pop(b'(') {
                Some(open) if !open.is_condition => Before::Value,
                _ => Before::Either,
            },
            ']' => {
                nesting.pop(b'[');
                Before::Value
            }
            '}' if nesting.pop(b'`').is_some() => template(code, &mut at, &mut nesting),
            '}' => {
                nesting.pop(b'{');
                Before::Either
            }
            '<' => {
                nesting.angles += 1;
                Before::Operator
            }
            '>' => {
                let is_arrow = code[..start].ends_with('=');
                nesting.angles -= usize::from(!is_arrow && nesting.angles > 0);
                Before::Either
            }
            ';' => {
                nesting.angles = 0;
                Before::Operator
            }
            '.' if code[at..].starts_with("..") => {
                at += 2;
                Before::Operator
            }
            '.' => {
                is_after_dot = true;
                Before::Operator
            }
            '+' | '-' if code[at..].starts_with(char) => {
                at += 1;
                after_postfix(before, begins_line)
            }
            '!' => after_postfix(before, begins_line),
            char if is_word(char) => {
                at = code[at..].find(|char| !is_word(char)).map_or(code.len(), |end| at + end);
                if is_member {
                    Before::Value
                } else {
                    word = &code[start..at];
                    if begins_statement(word) {
                        nesting.angles = 0;
                    }
                    after_word(word)
                }
            }
            _ => Before::Operator,
        };
        if nesting.is_too_deep() {
            return Err(Unparsable::TooDeep(start));
        }
    }
    Ok(())
}

/// What may follow a mark that stands after a value or before one; after a value it stands on the same line.
fn after_postfix(before: Before, begins_line: bool) -> Before {
    match before {
        Before::Value if begins_line => Before::Either,
        before => before,
    }
}

/// What may follow a word: names are values, and after some words of the language stands one.
fn after_word(word: &str) -> Before {
    match word {
        "return" | "typeof" | "instanceof" | "case" | "throw" | "void" | "delete" | "new" => Before::Operator,
        "in" | "of" | "do" | "else" | "yield" | "await" | "default" | "extends" | "debugger" | "break" | "continue" => {
            Before::Either
        }
        _ => Before::Value,
    }
}

/// Whether no type and no expression goes on with a word: what began before it has ended.
fn begins_statement(word: &str) -> bool {
    let words = [
        "if", "for", "while", "do", "else", "return", "switch", "try", "catch", "finally", "throw", "break", "continue",
    ];
    words.contains(&word)
}

fn is_line_end(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_word(char: char) -> bool {
    match char {
        '_' | '$' | '#' | '@' | '\\' => true,
        char if char.is_ascii() => char.is_ascii_alphanumeric(),
        char => !char.is_whitespace() && char != '\u{feff}',
    }
}

fn line_end(code: &str, at: usize) -> usize {
    code[at..].find(is_line_end).map_or(code.len(), |end| at + end)
}

/// Where a text ends; one that is not closed ends with its line, as the parser says.
fn text_end(bytes: &[u8], mut at: usize, quote: char) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' if bytes[at..].starts_with(b"\r\n") => at += 2,
            b'\\' => at += 1,
            b'\n' | b'\r' => return at,
            byte if char::from(byte) == quote => return at,
            _ => {}
        }
    }
    bytes.len()
}

/// Goes to where a template, or a part of one, ends, and returns what stands there.
fn template(code: &str, at: &mut usize, nesting: &mut Nesting) -> Before {
    let bytes = code.as_bytes();
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        match byte {
            b'\\' => *at += 1,
            b'`' => return Before::Value,
            b'$' if bytes.get(*at) == Some(&b'{') => {
                *at += 1;
                nesting.push(b'`', false);
                return Before::Operator;
            }
            _ => {}
        }
    }
    *at = bytes.len();
    Before::Value
}

/// Where a regular expression ends that would begin here, if it ends on its line.
fn regular_expression(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut is_in_class = false;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        match byte {
            b'\n' | b'\r' => return None,
            b'\\' => at += 1,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'/' if !is_in_class => return Some(at),
            _ => {}
        }
    }
}

/// Whether something is as deep as a regular expression as it is as code between two divisions: not at all.
fn is_alike(inside: &str) -> bool {
    // No code has one, but in names.
    let has_escape = inside.match_indices('\\').any(|(at, _)| !inside[at + 1..].starts_with('u'));
    let mut open = Vec::new();
    let is_paired = inside.chars().all(|char| match char {
        '"' | '\'' | '`' | '<' | ';' => false,
        '(' | '[' | '{' => {
            open.push(char);
            open.len() < 10
        }
        ')' => open.pop() == Some('('),
        ']' => open.pop() == Some('['),
        '}' => open.pop() == Some('{'),
        _ => true,
    });
    has_escape || (is_paired && open.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(code: &str) {
        assert_eq!(look(code), Ok(()), "{code}");
    }

    fn deep(code: &str) {
        assert!(matches!(look(code), Err(Unparsable::TooDeep(_))), "{}", &code[..code.len().min(80)]);
    }

    #[test]
    fn ordinary_code_passes() {
        passes(
            "const f = async <T extends Map<string, Array<{ a: Promise<T> }>>>(x: T) => { if (a < b) { return x as Set<T>; } };",
        );
        passes(
            "const a = (b + c) / 2 / (d); const e = /[(]/.test('((('); // ((((\nconst f = `(${g(`(${h}`)}`; /* ((( */",
        );
        passes("if (x) /[)]\\)/.test(y); const z = x! / 2; for (const a of b) /a/.exec(c); x++ / 2; ({}) / 1 / 2");
        passes("const s = 'it\\'s ('; const t = \"(\"; const u = 'a\\\r\n(((';");
        let many = "export function f(a: number) { return [a < 1, { b: a > 2 }].map((x) => x) }\n".repeat(2_000);
        passes(&many);
        passes(&"const a = b < c\nif (d) {\n".repeat(50).replace("{\n", "{}\n"));
    }

    #[test]
    fn bombs_do_not() {
        for open in
            ["(", "[", "{", "`${", "f<(a=", "f<{[", "a<", "(a=", "async(a=", "<T>(", "class{[", "()=>{", "if(a){"]
        {
            deep(&open.repeat(5_000));
        }
    }

    #[test]
    fn what_is_hidden_is_found() {
        // Each holds something that looks as if it closed what it does not.
        for closing in [
            "')'",
            "\")\"",
            "`)`",
            "/)/",
            "/*)*/",
            "//)\n",
            "'a\\\r\n)'",
            "...typeof/)/",
            "return/[)]/",
            "return\u{a0}/)/",
            "x\n/\\)/",
            "if(a)/\\)/",
            "a.b/c/d,/)/",
            "}\n/\\)/",
            "1/2,/)/",
            "typeof\u{feff}/)/",
        ] {
            let code = format!("({closing},").repeat(5_000);
            assert!(look(&code).is_err(), "{closing}");
        }
        // What cannot be told apart is not passed at all.
        assert_eq!(look("if (a) /)/.test(b)"), Err(Unparsable::Ambiguous(7)));
        assert_eq!(look("let a\n/'/;((((("), Err(Unparsable::Ambiguous(6)));
        assert_eq!(look("`${ yield /}/ ((("), Err(Unparsable::Ambiguous(10)));
    }
}
