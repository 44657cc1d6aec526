//! What a person types and nobody sees.

use std::{
    fmt,
    io::{self, IsTerminal, stdin},
};

use cycod_secret::Zeroizing;

use super::talk_is_terminal;

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
pub(crate) fn ask_hidden(question: &str) -> Result<Zeroizing<String>, Unasked> {
    if !(stdin().is_terminal() && talk_is_terminal()) {
        return Err(Unasked::Failed("there is no terminal to ask on".to_owned()));
    }
    let line = system::ask(question)?;
    let text = str::from_utf8(&line).map_err(|_| Unasked::Failed("what was typed is not UTF-8 text".to_owned()))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// What one key after another types, up to the end of the line or of what is typed.
fn line(mut next: impl FnMut() -> io::Result<Option<u8>>) -> Result<Zeroizing<Vec<u8>>, Unasked> {
    let mut line = Zeroizing::new(Vec::with_capacity(4096));
    loop {
        let byte = next().map_err(|error| Unasked::Failed(format!("cannot read the answer: {error}")))?;
        match byte {
            // Ctrl-D ends what is typed, Ctrl-C and Ctrl-\ give up, Ctrl-U starts again.
            None | Some(b'\n' | b'\r' | 0x04) => return Ok(line),
            Some(0x03 | 0x1c) => return Err(Unasked::GaveUp),
            Some(0x15) => line.clear(),
            Some(0x08 | 0x7f) => while line.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            Some(other) => line.push(other),
        }
    }
}

fn cannot_hide(error: impl fmt::Display) -> Unasked {
    Unasked::Failed(format!("cannot hide what is typed: {error}"))
}

#[cfg(unix)]
mod system {
    use std::{
        fs::File,
        io::{self, Read, stdin},
    };

    use cycod_secret::Zeroizing;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

    use super::{super::talk, Unasked, cannot_hide, line};

    /// The terminal as it was, which it is again however this ends.
    struct Restore(Termios);

    impl Drop for Restore {
        fn drop(&mut self) {
            _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
            talk("\n");
        }
    }

    pub(super) fn ask(question: &str) -> Result<Zeroizing<Vec<u8>>, Unasked> {
        let mut modes = tcgetattr(stdin()).map_err(cannot_hide)?;
        let _restore = Restore(modes.clone());
        // Byte by byte: an interrupt that ended the program would leave the terminal silent.
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Flush, &modes).map_err(cannot_hide)?;
        talk(question);
        // Not through the buffer of standard input, which keeps what went through it.
        let mut input = File::from(rustix::io::dup(stdin()).map_err(cannot_hide)?);
        line(|| {
            let mut byte = [0];
            loop {
                match input.read(&mut byte) {
                    Ok(count) => return Ok((count > 0).then_some(byte[0])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        })
    }
}

#[cfg(windows)]
mod system {
    use std::time::Duration;

    use cycod_process::UserConsole;
    use cycod_secret::Zeroizing;

    use super::{super::talk, Unasked, cannot_hide, line};

    /// As long as a person takes.
    const PATIENCE: Duration = Duration::from_secs(3600);

    pub(super) fn ask(question: &str) -> Result<Zeroizing<Vec<u8>>, Unasked> {
        let console = UserConsole::open().map_err(cannot_hide)?;
        let mut keys = console.keys().map_err(cannot_hide)?;
        keys.forget().map_err(cannot_hide)?;
        talk(question);
        let mut came = Zeroizing::new(Vec::new());
        let mut taken = 0;
        let typed = line(|| {
            while taken == came.len() {
                taken = 0;
                came.clear();
                keys.read(PATIENCE, &mut |character| {
                    came.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                })?;
            }
            taken += 1;
            Ok(Some(came[taken - 1]))
        });
        talk("\n");
        typed
    }
}
