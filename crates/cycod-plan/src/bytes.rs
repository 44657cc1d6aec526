//! Bytes of steps at the end of their way: in the words, files and variables that a program is given.

use std::{borrow::Cow, ffi::OsString};

use cycod_call::delivered;
use cycod_definition::Interpreter;
use cycod_diagnostic::{Code, Refusal};

use crate::{CommandWord, Prepared};

impl Prepared {
    /// Puts the bytes back that were carried through the placing of values.
    pub(crate) fn delivered(mut self, interpreter: &Interpreter, step: &str) -> Result<Self, Refusal> {
        self.shown = String::from_utf8_lossy(&delivered(&self.shown)).into_owned();
        if matches!(interpreter, Interpreter::Program(_)) {
            // Its words are the author's and arguments of the call, which carry nothing.
            return Ok(self);
        }
        let refuse = |why: &str| {
            Refusal::new(Code::NotText, why)
                .place(step)
                .attempt("write the bytes into a file in the step that makes them, and read that file here")
        };
        let takes_bytes = !matches!(interpreter, Interpreter::PowerShell | Interpreter::Cmd);
        for argument in &mut self.arguments {
            let CommandWord::Text(word) = argument else { continue };
            let Some(text) = word.to_str() else { continue };
            let Cow::Owned(bytes) = delivered(text) else { continue };
            if !takes_bytes && std::str::from_utf8(&bytes).is_err() {
                return Err(refuse("the output of a step is not UTF-8 text, and this shell cannot take it"));
            }
            *word = os_string(bytes)
                .ok_or_else(|| refuse("the output of a step is not UTF-8 text, and cannot be an argument here"))?;
        }
        if let Some(script) = &mut self.script
            && let Ok(text) = std::str::from_utf8(script)
            && let Cow::Owned(bytes) = delivered(text)
        {
            *script = bytes;
        }
        Ok(self)
    }
}

/// The bytes that a text carries.
pub(crate) fn into_delivered(text: String) -> Vec<u8> {
    match delivered(&text) {
        Cow::Owned(bytes) => bytes,
        Cow::Borrowed(_) => text.into_bytes(),
    }
}

/// The value of an environment variable.
pub(crate) fn variable(name: &str, value: Vec<u8>) -> Result<OsString, Refusal> {
    if value.contains(&0) {
        let why = format!("the value of the environment variable `{name}` holds a NUL character");
        return Err(Refusal::new(Code::NulInValue, why).attempt("give it to the program by `input`, or in a file"));
    }
    os_string(value).ok_or_else(|| {
        let why = format!("the value of the environment variable `{name}` is not UTF-8 text");
        Refusal::new(Code::NotText, why).attempt("give it to the program by `input`, or in a file")
    })
}

/// Bytes as the system takes them, where it takes any.
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    #[cfg(unix)]
    return Some(std::os::unix::ffi::OsStringExt::from_vec(bytes));
    #[cfg(not(unix))]
    return String::from_utf8(bytes).ok().map(OsString::from);
}

/// What can be looked for of bytes that are not to be shown: all of it, or the texts between what is none.
pub(crate) fn texts_in(bytes: &[u8]) -> Vec<String> {
    bytes.utf8_chunks().map(|chunk| chunk.valid().to_owned()).filter(|text| !text.is_empty()).collect()
}
