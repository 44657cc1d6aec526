use big_code_analysis::LANG;

/// A language whose syntax is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Bash, and what of other shells is like it.
    Bash,
    /// C.
    C,
    /// C++, and headers.
    Cpp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript.
    TypeScript,
    /// TypeScript with markup.
    Tsx,
}

/// The languages by the endings of files.
const ENDINGS: [(Language, &[&str]); 10] = [
    (Language::Bash, &["sh", "bash"]),
    (Language::C, &["c"]),
    (Language::Cpp, &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "h"]),
    (Language::Go, &["go"]),
    (Language::Java, &["java"]),
    (Language::JavaScript, &["js", "mjs", "cjs", "jsx"]),
    (Language::Python, &["py", "pyi"]),
    (Language::Rust, &["rs"]),
    (Language::TypeScript, &["ts", "mts", "cts"]),
    (Language::Tsx, &["tsx"]),
];

/// The languages by what a script's first line names.
const INTERPRETERS: [(Language, &[&str]); 3] = [
    (Language::Bash, &["sh", "bash", "dash", "ksh"]),
    (Language::JavaScript, &["node", "nodejs"]),
    (Language::Python, &["python", "python2", "python3", "pypy", "pypy3"]),
];

impl Language {
    /// Returns the language of a file: by its ending, or without one by its first line.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some((_, ending)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
            let is_ending =
                |(_, endings): &&(Self, &[&str])| endings.iter().any(|known| known.eq_ignore_ascii_case(ending));
            return ENDINGS.iter().find(is_ending).map(|(language, _)| *language);
        }
        let mut words = text.strip_prefix("#!")?.lines().next()?.split_ascii_whitespace();
        let mut program = words.next()?.rsplit('/').next()?;
        if program == "env" {
            program = words.find(|word| !word.starts_with('-'))?;
        }
        let program = program.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit());
        INTERPRETERS.iter().find(|(_, known)| known.contains(&program)).map(|(language, _)| *language)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "Bash",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::TypeScript | Self::Tsx => "TypeScript",
        }
    }

    /// The grammar.
    pub(crate) fn grammar(self) -> LANG {
        match self {
            Self::Bash => LANG::Bash,
            Self::C => LANG::C,
            Self::Cpp => LANG::Cpp,
            Self::Go => LANG::Go,
            Self::Java => LANG::Java,
            Self::JavaScript => LANG::Javascript,
            Self::Python => LANG::Python,
            Self::Rust => LANG::Rust,
            Self::TypeScript => LANG::Typescript,
            Self::Tsx => LANG::Tsx,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_of_a_file() {
        let of = |path: &str, text: &str| Language::of(path, text).map_or("none", Language::name);
        assert_eq!(of("a/b.rs", ""), "Rust");
        assert_eq!(of("a.d.TS", ""), "TypeScript");
        assert_eq!(of("x.h", ""), "C++");
        assert_eq!(of("run", "#!/usr/bin/env -S python3.11 -u\n"), "Python");
        assert_eq!(of("run", "#!/bin/sh"), "Bash");
        assert_eq!(of("run", "#!"), "none");
        assert_eq!(of("a.txt", "#!/bin/sh"), "none");
        assert_eq!(of(".rs", ""), "none");
    }
}
