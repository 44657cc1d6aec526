//! Whether code in another language only computes and prints, so that a value which it is handed stays data there.
//!
//! A rewrite that takes a value out of code must not hand it to code that runs what it gets: `os.system('ls {X}')`, `eval "{X}"`,
//! `require('{X}')`. So every name in the code that is called, or that stands where a command would, has to be one that is known to
//! compute. What is not understood is not offered.

use crate::track::HOLE;

/// What is known of a language.
struct Vocabulary {
    /// Names that may be called, or stand alone.
    known: &'static [&'static str],
    /// Modules that the code may load.
    modules: &'static [&'static str],
    /// A word without parentheses may be a call: `print $x`, `puts x`.
    calls_without_parentheses: bool,
    /// What begins a comment.
    comment: &'static str,
    /// Signs that stand before the name of a variable.
    sigils: &'static str,
    /// A string in backticks starts a program.
    runs_backticks: bool,
    /// A `.` may be part of a name.
    has_dots: bool,
}

const PYTHON: Vocabulary = Vocabulary {
    known: &[
        "False",
        "None",
        "True",
        "abs",
        "all",
        "and",
        "any",
        "as",
        "assert",
        "bin",
        "bool",
        "break",
        "bytearray",
        "bytes",
        "chr",
        "complex",
        "continue",
        "dict",
        "divmod",
        "elif",
        "else",
        "enumerate",
        "except",
        "filter",
        "finally",
        "float",
        "for",
        "format",
        "from",
        "frozenset",
        "hash",
        "hex",
        "if",
        "import",
        "in",
        "int",
        "is",
        "isinstance",
        "iter",
        "lambda",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "not",
        "oct",
        "open",
        "or",
        "ord",
        "pass",
        "pow",
        "print",
        "range",
        "repr",
        "return",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "try",
        "tuple",
        "while",
        "zip",
    ],
    modules: &[
        "base64",
        "binascii",
        "calendar",
        "collections",
        "csv",
        "datetime",
        "decimal",
        "difflib",
        "fractions",
        "functools",
        "glob",
        "hashlib",
        "hmac",
        "html",
        "ipaddress",
        "itertools",
        "json",
        "math",
        "operator",
        "os",
        "pathlib",
        "random",
        "re",
        "secrets",
        "statistics",
        "string",
        "sys",
        "textwrap",
        "time",
        "unicodedata",
        "urllib.parse",
        "uuid",
        "zlib",
    ],
    calls_without_parentheses: false,
    comment: "#",
    sigils: "",
    runs_backticks: false,
    has_dots: false,
};

const NODE: Vocabulary = Vocabulary {
    known: &[
        "Array",
        "BigInt",
        "Boolean",
        "Date",
        "Intl",
        "JSON",
        "Map",
        "Math",
        "Number",
        "Object",
        "RegExp",
        "Set",
        "String",
        "URL",
        "URLSearchParams",
        "atob",
        "btoa",
        "catch",
        "const",
        "decodeURI",
        "decodeURIComponent",
        "else",
        "encodeURI",
        "encodeURIComponent",
        "for",
        "if",
        "in",
        "isFinite",
        "isNaN",
        "let",
        "new",
        "of",
        "parseFloat",
        "parseInt",
        "require",
        "return",
        "structuredClone",
        "switch",
        "typeof",
        "var",
        "while",
    ],
    modules: &[
        "crypto",
        "fs",
        "node:crypto",
        "node:fs",
        "node:path",
        "node:querystring",
        "node:url",
        "path",
        "querystring",
        "url",
    ],
    calls_without_parentheses: false,
    comment: "//",
    sigils: "",
    runs_backticks: false,
    has_dots: false,
};

const PERL: Vocabulary = Vocabulary {
    known: &[
        "BEGIN",
        "END",
        "ENV",
        "STDERR",
        "STDIN",
        "STDOUT",
        "abs",
        "and",
        "ceil",
        "chomp",
        "chop",
        "chr",
        "cmp",
        "defined",
        "delete",
        "each",
        "else",
        "elsif",
        "eq",
        "exists",
        "first",
        "floor",
        "for",
        "foreach",
        "ge",
        "grep",
        "gt",
        "hex",
        "if",
        "index",
        "int",
        "join",
        "keys",
        "last",
        "lc",
        "lcfirst",
        "le",
        "length",
        "localtime",
        "lt",
        "map",
        "max",
        "min",
        "my",
        "ne",
        "next",
        "not",
        "oct",
        "or",
        "ord",
        "our",
        "pop",
        "pos",
        "print",
        "printf",
        "push",
        "reverse",
        "rindex",
        "say",
        "scalar",
        "shift",
        "sort",
        "splice",
        "split",
        "sprintf",
        "sqrt",
        "substr",
        "sum",
        "time",
        "uc",
        "ucfirst",
        "undef",
        "unless",
        "unshift",
        "until",
        "values",
        "wantarray",
        "while",
        "x",
        "xor",
    ],
    modules: &[],
    calls_without_parentheses: true,
    comment: "#",
    sigils: "$@%",
    runs_backticks: true,
    has_dots: false,
};

const RUBY: Vocabulary = Vocabulary {
    known: &[
        "ARGV", "BEGIN", "Base64", "CGI", "Date", "DateTime", "END", "ENV", "Float", "Integer", "JSON", "Math",
        "Rational", "STDIN", "Time", "and", "begin", "break", "case", "do", "each", "else", "elsif", "end", "false",
        "for", "format", "gsub", "if", "in", "next", "nil", "not", "or", "p", "pp", "print", "printf", "puts", "rand",
        "sprintf", "sub", "then", "true", "unless", "until", "when", "while",
    ],
    modules: &[],
    calls_without_parentheses: true,
    comment: "#",
    sigils: "$@:",
    runs_backticks: true,
    has_dots: false,
};

const PHP: Vocabulary = Vocabulary {
    known: &[
        "abs",
        "and",
        "array",
        "array_keys",
        "array_merge",
        "array_reverse",
        "array_slice",
        "array_sum",
        "array_unique",
        "array_values",
        "as",
        "base64_decode",
        "base64_encode",
        "basename",
        "bin2hex",
        "ceil",
        "count",
        "crc32",
        "date",
        "dechex",
        "dirname",
        "echo",
        "else",
        "elseif",
        "explode",
        "false",
        "floor",
        "for",
        "foreach",
        "gettype",
        "hash",
        "hexdec",
        "htmlspecialchars",
        "http_build_query",
        "if",
        "implode",
        "in_array",
        "intdiv",
        "intval",
        "is_numeric",
        "isset",
        "json_decode",
        "json_encode",
        "lcfirst",
        "ltrim",
        "max",
        "mb_strlen",
        "mb_strtolower",
        "mb_strtoupper",
        "mb_substr",
        "md5",
        "microtime",
        "min",
        "null",
        "number_format",
        "or",
        "parse_url",
        "password_hash",
        "pow",
        "preg_match",
        "preg_quote",
        "preg_replace",
        "preg_split",
        "print",
        "print_r",
        "printf",
        "range",
        "rawurlencode",
        "return",
        "round",
        "rtrim",
        "sha1",
        "sort",
        "sprintf",
        "sqrt",
        "str_pad",
        "str_repeat",
        "str_replace",
        "strcmp",
        "stripos",
        "strlen",
        "strpos",
        "strrev",
        "strtolower",
        "strtotime",
        "strtoupper",
        "strtr",
        "substr",
        "time",
        "trim",
        "true",
        "ucfirst",
        "ucwords",
        "urldecode",
        "urlencode",
        "var_dump",
        "while",
        "wordwrap",
    ],
    modules: &[],
    calls_without_parentheses: true,
    comment: "//",
    sigils: "$",
    runs_backticks: true,
    has_dots: false,
};

const R: Vocabulary = Vocabulary {
    known: &[
        "FALSE",
        "Inf",
        "NA",
        "NULL",
        "NaN",
        "Sys.Date",
        "Sys.time",
        "TRUE",
        "abs",
        "as.Date",
        "as.character",
        "as.integer",
        "as.numeric",
        "c",
        "cat",
        "ceiling",
        "chartr",
        "cos",
        "cumsum",
        "else",
        "exp",
        "floor",
        "for",
        "format",
        "grepl",
        "gsub",
        "if",
        "ifelse",
        "in",
        "is.na",
        "length",
        "list",
        "log",
        "max",
        "mean",
        "median",
        "message",
        "min",
        "names",
        "nchar",
        "order",
        "paste",
        "paste0",
        "pi",
        "print",
        "prod",
        "quantile",
        "range",
        "regmatches",
        "rep",
        "rev",
        "round",
        "sd",
        "seq",
        "seq_len",
        "sin",
        "sort",
        "sprintf",
        "sqrt",
        "startsWith",
        "strsplit",
        "sub",
        "substr",
        "substring",
        "sum",
        "table",
        "tan",
        "tolower",
        "toupper",
        "trimws",
        "unique",
        "unlist",
        "var",
        "which",
    ],
    modules: &[],
    calls_without_parentheses: false,
    comment: "#",
    sigils: "",
    runs_backticks: false,
    has_dots: true,
};

/// Whether code only computes and prints; placeholders stand in it as [`HOLE`].
pub(crate) fn only_computes(language: &str, code: &str) -> bool {
    match language {
        "python" => is_known(&PYTHON, code, true),
        "javascript" => is_known(&NODE, code, false) && !code.contains("import"),
        "perl" => is_known(&PERL, code, false),
        "ruby" => is_known(&RUBY, code, false),
        "php" => is_known(&PHP, code, false),
        "R" => is_known(&R, code, false),
        // It starts programs with `system` and pipes, and writes files with `>`.
        "awk" => {
            let code = without_strings(code).replace("||", "");
            let writes =
                |statement: &str| statement.split_once("print").is_some_and(|(_, printed)| printed.contains('>'));
            let is_written = code.split([';', '\n', '{', '}']).any(writes);
            !code.contains("system") && !code.contains(['|', '@']) && !is_written
        }
        // What they can load is named by words of their own.
        "jq" => !code.contains("import") && !code.contains("include"),
        "yq" => !code.contains("load"),
        _ => false,
    }
}

/// Code without what stands between double quotes.
fn without_strings(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find('"') {
        out.push_str(&rest[..start]);
        rest = end_of(&rest[start + 1..], '"').map_or("", |end| &rest[start + end + 2..]);
    }
    out + rest
}

/// Whether every name that is called is known.
fn is_known(vocabulary: &Vocabulary, code: &str, has_imports: bool) -> bool {
    let Some(tokens) = tokens(vocabulary, code) else { return false };
    let mut at = 0;
    while at < tokens.len() {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        if let Token::Word(word) = &tokens[at] {
            if has_imports && matches!(*word, "import" | "from") {
                let names = tokens[at + 1..].iter().take_while(|token| !matches!(token, Token::Sign(';' | '\n')));
                let text: String = names.map(Token::text).collect::<Vec<_>>().join(" ");
                at += 1 + tokens[at + 1..].iter().take_while(|token| !matches!(token, Token::Sign(';' | '\n'))).count();
                if !loads_known(vocabulary, &text) {
                    return false;
                }
                continue;
            }
            // The rest of this module starts programs.
            let is_of_os = *word == "os" && has_imports;
            if is_of_os && !matches!(tokens.get(at + 2), Some(Token::Word(name)) if OF_OS.contains(name)) {
                return false;
            }
            let is_called = matches!(tokens.get(at + 1), Some(Token::Sign('(')));
            let is_member = matches!(before, Some(Token::Sign('.')));
            let is_variable = matches!(before, Some(Token::Sign(sign)) if vocabulary.sigils.contains(*sign));
            let is_key =
                matches!(before, Some(Token::Sign('{'))) && matches!(tokens.get(at + 1), Some(Token::Sign('}')));
            if *word == "require" && !vocabulary.calls_without_parentheses {
                let is_loaded =
                    |name: &str| vocabulary.modules.contains(&name) || name.starts_with('.') && name.ends_with(".json");
                if !matches!(tokens.get(at + 2), Some(Token::String(name)) if is_loaded(name)) {
                    return false;
                }
            }
            let must_be_known =
                !is_member && !is_variable && !is_key && (is_called || vocabulary.calls_without_parentheses);
            if must_be_known && !vocabulary.known.contains(word) {
                return false;
            }
        }
        at += 1;
    }
    true
}

/// What Python code may use of `os`.
const OF_OS: [&str; 9] = ["cpu_count", "environ", "getcwd", "getenv", "linesep", "listdir", "path", "sep", "stat"];

/// Whether the modules of `import a, b` and `from a import b`, as text behind the first word, are known.
fn loads_known(vocabulary: &Vocabulary, text: &str) -> bool {
    let (names, imported) = text.split_once(" import ").unwrap_or((text, ""));
    if names.trim() == "os" && !imported.is_empty() && !OF_OS.contains(&imported.trim()) {
        return false;
    }
    let names = names.replace(" . ", ".");
    names.split(',').all(|name| {
        let name = name.split(" as ").next().unwrap_or_default().trim();
        vocabulary.modules.contains(&name)
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'c> {
    Word(&'c str),
    String(&'c str),
    Sign(char),
}

impl Token<'_> {
    fn text(&self) -> String {
        match self {
            Self::Word(text) | Self::String(text) => (*text).to_owned(),
            Self::Sign(sign) => sign.to_string(),
        }
    }
}

/// The words and signs of code, without what stands in strings; nothing where it is not understood.
fn tokens<'c>(vocabulary: &Vocabulary, code: &'c str) -> Option<Vec<Token<'c>>> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.' && vocabulary.has_dots;
        if rest.starts_with(vocabulary.comment) && !matches!(tokens.last(), Some(Token::Sign('$' | '{'))) {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if matches!(c, '"' | '\'') || c == '`' && !vocabulary.runs_backticks {
            let end = end_of(&rest[1..], c)?;
            let text = &rest[1..=end];
            // Code stands in strings, too: `#{…}`, `@{[ … ]}`, `${…}`.
            if c != '\'' && ["#{", "@{", "${"].iter().any(|mark| text.contains(mark)) && text.contains(['(', '`', '['])
            {
                return None;
            }
            tokens.push(Token::String(text));
            rest = &rest[end + 2..];
        } else if c == '`' {
            return None;
        } else if c == '/' && begins_pattern(tokens.last()) {
            let mut end = 1 + end_of(&rest[1..], '/')?;
            if matches!(tokens.last(), Some(Token::Word("s" | "tr" | "y"))) {
                end += 1 + end_of(&rest[end + 1..], '/')?;
                tokens.pop();
            } else if matches!(tokens.last(), Some(Token::Word("m" | "qr"))) {
                tokens.pop();
            }
            let flags = rest[end + 1..].chars().take_while(char::is_ascii_alphabetic).count();
            // `s/…/…/e` evaluates.
            if rest[end + 1..][..flags].contains('e') {
                return None;
            }
            tokens.push(Token::String(&rest[..end]));
            rest = &rest[end + 1 + flags..];
        } else if is_of_word(c) {
            let end = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
            if !c.is_ascii_digit() {
                tokens.push(Token::Word(&rest[..end]));
            } else {
                tokens.push(Token::Sign('0'));
            }
            rest = &rest[end..];
        } else {
            if c == '\n' || !c.is_whitespace() && c != HOLE as char {
                tokens.push(Token::Sign(c));
            } else if c == HOLE as char {
                tokens.push(Token::Sign('0'));
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    Some(tokens)
}

/// Where a string ends, counted from behind its first quote.
fn end_of(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// Whether a `/` begins a pattern here, and does not divide.
fn begins_pattern(before: Option<&Token<'_>>) -> bool {
    match before {
        None => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}' | '0'),
        Some(Token::Word(word)) => {
            matches!(
                *word,
                "and"
                    | "grep"
                    | "if"
                    | "m"
                    | "not"
                    | "or"
                    | "qr"
                    | "return"
                    | "s"
                    | "split"
                    | "tr"
                    | "unless"
                    | "when"
                    | "y"
            )
        }
        Some(Token::String(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_computes_is_told_from_what_may_run() {
        for (language, code) in [
            ("python", "print('Hello \0')"),
            ("python", "import json,sys; d=json.load(sys.stdin); print(d['\0'])"),
            ("python", "import urllib.parse as p\nfor i in range(3): print(p.quote('\0'))"),
            ("python", "from datetime import datetime; print(datetime.strptime('\0', '%Y'))"),
            ("python", "import os, glob; print(os.sep.join(glob.glob('\0')))"),
            ("javascript", "console.log('\0'.toUpperCase())"),
            ("javascript", "require('./package.json').\0"),
            ("javascript", "console.log(JSON.parse(require('fs').readFileSync('\0')).version)"),
            ("perl", "print if /\0/"),
            ("perl", "print uc(\"\0\"), \"\\n\" if $F[2] =~ m/a|b/i"),
            ("perl", "s/foo/\0/g"),
            ("perl", "print $ENV{HOME}"),
            ("ruby", "puts \"\0\".upcase"),
            ("ruby", "puts JSON.parse(STDIN.read)[\"\0\"]"),
            ("php", "echo strtoupper(\"\0\");"),
            ("R", "cat(toupper(\"\0\"), as.numeric(\"1\"))"),
            ("awk", "NR>=\0 && $3 > 2 { print $1 }"),
            ("awk", "{ printf \"%s > |\", \"<\0>\" }"),
            ("jq", ".a == \"\0\""),
        ] {
            assert!(only_computes(language, code), "{language}: {code}");
        }
        for (language, code) in [
            ("python", "exec('\0')"),
            ("python", "import os; os.system('ls \0')"),
            ("python", "from subprocess import run; run('\0', shell=True)"),
            ("python", "import json, os; os.popen('\0')"),
            ("python", "from os import system; system('\0')"),
            ("python", "__import__('\0')"),
            ("javascript", "require('child_process').execSync('ls \0')"),
            ("javascript", "require('\0')"),
            ("javascript", "new Function('\0')()"),
            ("javascript", "setTimeout('\0', 1)"),
            ("javascript", "`${eval('\0')}`"),
            ("perl", "system(\"ls \0\")"),
            ("perl", "print `ls \0`"),
            ("perl", "open F, \"\0\""),
            ("perl", "s/x/\0/e"),
            ("perl", "print \"@{[system('\0')]}\""),
            ("ruby", "system \"ls \0\""),
            ("ruby", "puts \"#{`ls`} \0\""),
            ("ruby", "Kernel.open(\"\0\")"),
            ("php", "include \"\0\";"),
            ("php", "array_map(\"\0\", [1]);"),
            ("R", "source(\"\0\")"),
            ("R", "eval(parse(text=\"\0\"))"),
            ("awk", "BEGIN { system(\"ls \0\") }"),
            ("awk", "BEGIN { \"date \0\" | getline d }"),
            ("awk", "{ print > \"\0\" }"),
            ("jq", "include \"\0\"; ."),
            ("lua", "print('\0')"),
        ] {
            assert!(!only_computes(language, code), "{language}: {code}");
        }
    }
}
