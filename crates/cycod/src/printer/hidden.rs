//! What a person types and nobody sees.

use std::fmt;

use cycod_secret::Zeroizing;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unasked {
    /// The user pressed Ctrl-C.
    GaveUp,
    /// It cannot be asked, and why.
    Failed(String),
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GaveUp => f.write_str("nothing was given"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Asks for a line that is not shown.
///
/// # Errors
/// When there is no terminal, and when the person gives up.
#[cfg(unix)]
pub(crate) fn ask_hidden(question: &str) -> Result<Zeroizing<String>, Unasked> {
    use std::io::{IsTerminal, Read, stdin};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

    use super::talk;

    /// The terminal as it was, which it is again however this ends.
    struct Restore(Termios);

    impl Drop for Restore {
        fn drop(&mut self) {
            _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
            talk("\n");
        }
    }

    if !(stdin().is_terminal() && super::talk_is_terminal()) {
        return Err(Unasked::Failed("there is no terminal to ask on".to_owned()));
    }
    let failed = |error: rustix::io::Errno| Unasked::Failed(format!("cannot hide what is typed: {error}"));
    let mut modes = tcgetattr(stdin()).map_err(failed)?;
    let _restore = Restore(modes.clone());
    // Byte by byte: an interrupt that ended the program would leave the terminal silent.
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(stdin(), OptionalActions::Flush, &modes).map_err(failed)?;
    talk(question);
    let mut line = Zeroizing::new(Vec::with_capacity(4096));
    // Not through the buffer of standard input, which keeps what went through it.
    let mut input = std::fs::File::from(rustix::io::dup(stdin()).map_err(failed)?);
    loop {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(1..) => {}
            Ok(0) => break,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Unasked::Failed(format!("cannot read the answer: {error}"))),
        }
        match byte[0] {
            b'\n' | b'\r' => break,
            // Ctrl-D ends what is typed, Ctrl-C and Ctrl-\ give up, Ctrl-U begins anew.
            0x04 => break,
            0x03 | 0x1c => return Err(Unasked::GaveUp),
            0x15 => line.clear(),
            0x08 | 0x7f => while line.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            other => line.push(other),
        }
    }
    let text = str::from_utf8(&line).map_err(|_| Unasked::Failed("what was typed is not UTF-8 text".to_owned()))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// There is no way to hide what is typed.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub(crate) fn ask_hidden(_: &str) -> Result<Zeroizing<String>, Unasked> {
    Err(Unasked::Failed(
        "what is typed cannot be hidden on this system; give it by standard input or a file".to_owned(),
    ))
}
