//! A program's arguments as the one text that Windows gives to a program.

/// Why there is no command line for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritable(pub(crate) &'static str);

const QUOTE: u16 = b'"' as u16;
const BACKSLASH: u16 = b'\\' as u16;
const BLANK: u16 = b' ' as u16;

/// The command line by which a program gets a name and arguments.
///
/// Programs split it by the rules of Microsoft's C runtime, and so does the standard library of Rust. `cmd.exe` is the
/// exception: what follows `/c` or `/k` is its program text, of which it reads each byte, so it gets that as written, in
/// the outer quotes that `/s` makes it remove.
pub(crate) fn command_line(name: &[u16], arguments: &[Vec<u16>], is_cmd: bool) -> Result<Vec<u16>, Unwritable> {
    if name.contains(&QUOTE) {
        return Err(Unwritable("a quotation mark in its name"));
    }
    let mut line = vec![QUOTE];
    line.extend(name);
    line.push(QUOTE);
    let is_text = |argument: &Vec<u16>| {
        matches!(**argument, [slash, letter] if slash == u16::from(b'/')
            && [b'c', b'C', b'k', b'K'].map(u16::from).contains(&letter))
    };
    let text = if is_cmd { arguments.iter().position(is_text).map(|at| at + 1) } else { None };
    let (words, text) = arguments.split_at(text.unwrap_or(arguments.len()));
    for word in words {
        line.push(BLANK);
        push_word(&mut line, word);
    }
    if !text.is_empty() {
        if text.iter().flatten().any(|&unit| unit == u16::from(b'\n') || unit == u16::from(b'\r')) {
            return Err(Unwritable("a command of several lines, of which cmd.exe runs only the first,"));
        }
        line.extend([BLANK, QUOTE]);
        line.extend(text.join(&BLANK));
        line.push(QUOTE);
    }
    Ok(line)
}

/// Appends a word so that the rules of the C runtime make the same word of it.
fn push_word(line: &mut Vec<u16>, word: &[u16]) {
    let is_plain = !word.is_empty()
        && word.iter().all(|&unit| {
            unit > BLANK && unit != QUOTE && !char::from_u32(u32::from(unit)).is_some_and(char::is_whitespace)
        });
    if is_plain {
        line.extend(word);
        return;
    }
    line.push(QUOTE);
    let mut backslashes = 0;
    for &unit in word {
        if unit == QUOTE {
            // Those before a quote count twice, and one more is the quote's own.
            line.extend(std::iter::repeat_n(BACKSLASH, backslashes + 1));
        }
        backslashes = if unit == BACKSLASH { backslashes + 1 } else { 0 };
        line.push(unit);
    }
    line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
    line.push(QUOTE);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, arguments: &[&str], is_cmd: bool) -> Result<String, Unwritable> {
        let wide = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
        let arguments: Vec<_> = arguments.iter().map(|argument| wide(argument)).collect();
        command_line(&wide(name), &arguments, is_cmd).map(|line| String::from_utf16(&line).expect("it was text"))
    }

    #[test]
    fn words_are_split_again_as_they_were() {
        let cases: &[(&[&str], &str)] = &[
            (&[], r#""p.exe""#),
            (&["plain", "--a=b", "100%", "a&b|c^d"], r#""p.exe" plain --a=b 100% a&b|c^d"#),
            (&["", "two words", "tab\tbed"], "\"p.exe\" \"\" \"two words\" \"tab\tbed\""),
            (&[r#"say "hi""#], r#""p.exe" "say \"hi\"""#),
            (&[r#"""#, r#"\""#, r#"\\""#], r#""p.exe" "\"" "\\\"" "\\\\\"""#),
            (&[r"C:\dir\", r"C:\my dir\", r"\\server\share"], r#""p.exe" C:\dir\ "C:\my dir\\" \\server\share"#),
            (&["ünï 🦀", "line\nbreak"], "\"p.exe\" \"ünï 🦀\" \"line\nbreak\""),
            (&["/c", "echo hi"], r#""p.exe" /c "echo hi""#),
        ];
        for (arguments, expected) in cases {
            assert_eq!(line("p.exe", arguments, false).as_deref(), Ok(*expected), "{arguments:?}");
        }
    }

    #[test]
    fn cmd_gets_its_text_as_written() {
        let cases: &[(&[&str], &str)] = &[
            (&["/d", "/s", "/c", "echo hi"], r#""cmd.exe" /d /s /c "echo hi""#),
            (&["/d", "/s", "/c", r#"echo "wide world""#], r#""cmd.exe" /d /s /c "echo "wide world"""#),
            (&["/d", "/s", "/c", r#""C:\my dir\a.exe" "x\""#], r#""cmd.exe" /d /s /c ""C:\my dir\a.exe" "x\"""#),
            (&["/s", "/K", "a", "b"], r#""cmd.exe" /s /K "a b""#),
            (&["/?"], r#""cmd.exe" /?"#),
        ];
        for (arguments, expected) in cases {
            assert_eq!(line("cmd.exe", arguments, true).as_deref(), Ok(*expected), "{arguments:?}");
        }
    }

    #[test]
    fn what_no_command_line_can_say_is_refused() {
        assert!(line(r#"a"b.exe"#, &[], false).is_err());
        assert!(line("cmd.exe", &["/d", "/s", "/c", "echo a\necho b"], true).is_err());
        assert!(line("cmd.exe", &["/d", "/s", "/c", "echo a\r"], true).is_err());
    }
}
