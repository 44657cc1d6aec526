//! Code of the two small languages that stand in most scripts, `awk` and `sed`: whether it runs what it reads as a command.
//!
//! `system("date")`, `"date" | getline` and `print | "sort"` run a command of the author's. All else that they run is made of what the
//! code reads, or read by what they run.

use crate::programs;

/// Whether the author's code runs a command that is not the author's alone.
pub(super) fn runs_what_it_reads(language: &str, code: &str) -> bool {
    match language {
        "awk" => awk_runs(&tokens(code)),
        "sed" => sed_runs(code),
        _ => false,
    }
}

#[derive(Debug, PartialEq)]
enum Token {
    Text(String),
    Word(String),
    Pattern,
    Sign(char),
}

fn tokens(code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = code.chars().peekable();
    while let Some(c) = characters.next() {
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let may_begin = match tokens.last() {
            None => true,
            Some(Token::Sign(sign)) => *sign != ')' && *sign != ']',
            Some(_) => false,
        };
        match c {
            '#' => while characters.next_if(|c| *c != '\n').is_some() {},
            '"' => tokens.push(Token::Text(until(&mut characters, '"'))),
            '/' if may_begin => {
                until(&mut characters, '/');
                tokens.push(Token::Pattern);
            }
            // The end of a line in the middle of a command.
            '\\' => {
                characters.next_if_eq(&'\n');
            }
            c if is_of_word(c) => {
                let mut word = c.to_string();
                while let Some(c) = characters.next_if(|c| is_of_word(*c)) {
                    word.push(c);
                }
                tokens.push(Token::Word(word));
            }
            ' ' | '\t' | '\r' => {}
            c => tokens.push(Token::Sign(c)),
        }
    }
    tokens
}

/// What stands until a mark that no backslash is before.
fn until(characters: &mut impl Iterator<Item = char>, mark: char) -> String {
    let mut text = String::new();
    while let Some(c) = characters.next().filter(|c| *c != mark) {
        text.push(c);
        if c == '\\' {
            text.extend(characters.next());
        }
    }
    text
}

fn awk_runs(tokens: &[Token]) -> bool {
    let at = |index: Option<usize>| index.and_then(|index| tokens.get(index));
    let is_sign =
        |token: Option<&Token>, signs: &str| matches!(token, Some(Token::Sign(sign)) if signs.contains(*sign));
    // A text that nothing is put together with.
    let is_alone = |index: Option<usize>| {
        let index = index.filter(|index| matches!(tokens.get(*index), Some(Token::Text(_))));
        index.is_some_and(|index| {
            let (before, behind) = (at(index.checked_sub(1)), at(Some(index + 1)));
            (before.is_none() || is_sign(before, "|&(;{}=\n!,")) && (behind.is_none() || is_sign(behind, "|&);}\n"))
        })
    };
    tokens.iter().enumerate().any(|(index, token)| match token {
        Token::Word(word) if word == "system" => !is_alone(Some(index + 2)),
        // A function by the name that a variable holds; and what is loaded.
        Token::Sign('@') => true,
        Token::Sign('|') if !is_sign(at(Some(index + 1)), "|") && !is_sign(at(index.checked_sub(1)), "|") => {
            let next = index + 1 + usize::from(is_sign(at(Some(index + 1)), "&"));
            match at(Some(next)) {
                Some(Token::Word(word)) if word == "getline" => !is_alone(index.checked_sub(1)),
                Some(Token::Text(command)) => !is_alone(Some(next)) || reads_code(command),
                _ => true,
            }
        }
        _ => false,
    })
}

/// Whether a command reads its input as code, or makes words of a command of it.
fn reads_code(command: &str) -> bool {
    command
        .split(|c: char| c.is_whitespace() || "|;&".contains(c))
        .any(|word| programs::runs_shell_code(word) || word == "xargs")
}

/// The command `e`, and the flag `e` of `s`.
fn sed_runs(code: &str) -> bool {
    let mut rest = code;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ";{}".contains(c));
        rest = behind_address(rest);
        let mut characters = rest.chars();
        match characters.next() {
            None => return false,
            // `e` alone runs what it reads; `e date` runs `date`.
            Some('e') => {
                let own = characters.as_str().split(['\n', ';', '}']).next().unwrap_or_default();
                if own.trim().is_empty() {
                    return true;
                }
                rest = &characters.as_str()[own.len()..];
            }
            Some('s' | 'y') => {
                let Some(mark) = characters.next() else { return false };
                until(&mut characters, mark);
                until(&mut characters, mark);
                let behind = characters.as_str();
                let flags = behind.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
                if rest.starts_with('s') && flags.split('w').next().is_some_and(|flags| flags.contains('e')) {
                    return true;
                }
                let end = if flags.contains('w') { behind.find('\n').unwrap_or(behind.len()) } else { flags.len() };
                rest = &behind[end..];
            }
            // Labels.
            Some(':' | 'b' | 't' | 'T') => {
                let name = characters.as_str();
                rest = &name[name.find([';', '\n', '}']).unwrap_or(name.len())..];
            }
            // Text and names of files go on until the end of the line.
            Some('a' | 'i' | 'c' | 'r' | 'R' | 'w' | 'W' | '#') => {
                let ends = |(at, line): &(usize, &str)| !line[..*at].ends_with('\\');
                let line = characters.as_str();
                let end = line.match_indices('\n').map(|(at, _)| (at, line)).find(ends);
                rest = &line[end.map_or(line.len(), |(at, _)| at)..];
            }
            Some(_) => rest = characters.as_str(),
        }
    }
}

/// The command behind the lines that it is for.
fn behind_address(command: &str) -> &str {
    let mut rest = command;
    loop {
        let next = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$,!~+ \t".contains(c));
        let mark = match next.chars().next() {
            Some('/') => '/',
            Some('\\') => next.chars().nth(1).unwrap_or('/'),
            _ => return next,
        };
        let mut characters = next.chars();
        let _ = characters.by_ref().find(|c| *c == mark);
        until(&mut characters, mark);
        rest = characters.as_str().trim_start_matches(['I', 'M']);
    }
}

#[cfg(test)]
mod tests {
    use super::runs_what_it_reads;

    #[test]
    fn code_that_runs_what_it_reads_is_told_from_the_rest() {
        for (language, code, expected) in [
            ("awk", "{ system($0) }", true),
            ("awk", "{ system(\"echo \" $1) }", true),
            ("awk", "BEGIN { system(\"date\") }", false),
            ("awk", "BEGIN { \"date\" | getline d; print d }", false),
            ("awk", "{ (\"date -d \" $1) | getline d }", true),
            ("awk", "{ c = \"date\" $1; c | getline d }", true),
            ("awk", "{ print $1 | \"sort -n\" } END { close(\"sort -n\") }", false),
            ("awk", "{ print $1 | \"sort -n\" $2 }", true),
            ("awk", "{ print \"mv \" $1 | \"sh\" }", true),
            ("awk", "{ print $1 | \"xargs rm\" }", true),
            ("awk", "{ print |& \"sort\" }", false),
            ("awk", "/a|b/ { print $1 }", false),
            ("awk", "$1 ~ /a|b/ || $2 == \"x|sh\" { n++ } # a | b", false),
            ("awk", "{ while ((getline l < f) > 0) n = l / 2 }", false),
            ("awk", "{ f = \"g\"; @f() }", true),
            ("sed", "s/a/b/g", false),
            ("sed", "s/^/echo /e", true),
            ("sed", "s|^|echo |gep", true),
            ("sed", "1,3s/a/b/;/x y/!e", true),
            ("sed", "e date", false),
            ("sed", "/e/d; s/e/e/; y/e/f/", false),
            ("sed", "s/a/b/w out.e\np", false),
            ("sed", "1i\\\ne", false),
            ("sed", "a e\n$e", true),
            ("sed", ":e;N;be", false),
            ("sed", "/a/{s/x/y/e}", true),
            ("python", "system(1)", false),
        ] {
            assert_eq!(runs_what_it_reads(language, code), expected, "{language}: {code}");
        }
    }
}
