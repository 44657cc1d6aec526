//! Asks an output that is JSON with a jq program.
//!
//! A jq program can loop, recurse and allocate without end, within single steps of the interpreter, so nothing but the
//! kernel can hold it. It runs in a process of its own, which the caller starts with the arguments of a [`JqJob`]; there
//! [`work`] gives up nearly everything the process could use, then evaluates. Whatever happens to that process,
//! [`JqAnswer::read`] makes an answer or an error of what it wrote.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_thread::Thread;
use jaq_core::{Compiler, Ctx, Vars, data::JustLut, load, unwrap_valr};
use jaq_json::{Val, read, write};
use serde_json::{Value, json};

use crate::{
    OutputId, Outputs, Retention, StoreError, StoredOutput,
    excerpt::{count, is_continuation, room, whole_characters},
};

/// The largest output that is read, in bytes.
pub const LARGEST: u64 = 64 << 20;
/// How much memory the process gets, in bytes.
pub const MEMORY: u64 = 2 << 30;
/// How much processor time the process gets; the caller ends it after this time on the clock, too.
pub const TIME: Duration = Duration::from_secs(5);

/// How deep a program may recurse, in bytes of stack.
const STACK: usize = 256 << 20;

/// One question, as arguments for the process that answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JqJob {
    args: [OsString; 5],
}

impl JqJob {
    /// Returns the arguments to hand to [`work`], in this order.
    pub fn args(&self) -> &[OsString] {
        &self.args
    }
}

/// What a program gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JqAnswer {
    /// Results as JSON, one on each line, from the byte asked for on.
    pub text: String,
    /// The byte of all results to go on from, when there are more.
    pub next: Option<u64>,
    /// What the program failed with, after these results.
    pub error: Option<String>,
}

impl StoredOutput {
    /// Asks a jq program about each JSON value of the output, as many as there are.
    ///
    /// The answer begins at byte `from` of the results, 0 or [`JqAnswer::next`], and has at most `cap` tokens.
    pub fn jq(&mut self, program: &str, from: u64, cap: usize) -> Result<JqJob, StoreError> {
        if !self.is_text() {
            return Err(StoreError::NotForJq { why: "is not text".to_owned() });
        }
        if self.bytes() > LARGEST {
            return Err(StoreError::NotForJq { why: format!("has {}", count(self.bytes(), "byte")) });
        }
        self.store()?;
        let directory = self.outputs().directory().as_os_str().to_owned();
        let args = [self.id().to_string(), from.to_string(), cap.to_string(), program.to_owned()].map(OsString::from);
        let [id, from, cap, program] = args;
        Ok(JqJob { args: [directory, id, from, cap, program] })
    }
}

impl JqAnswer {
    /// Reads what [`work`] wrote. A process that was ended by its limits wrote nothing that can be read.
    pub fn read(stdout: &[u8]) -> Result<JqAnswer, StoreError> {
        let json: Value = serde_json::from_slice(stdout).map_err(|_| StoreError::JqStopped)?;
        let text = |key: &str| json[key].as_str().map(str::to_owned);
        Ok(JqAnswer {
            text: text("text").ok_or(StoreError::JqStopped)?,
            next: json["next"].as_u64(),
            error: text("error"),
        })
    }
}

/// Answers a question in a process that does nothing else: takes the arguments of [`JqJob::args`], writes what
/// [`JqAnswer::read`] reads.
///
/// From here on the process has little memory and time left, and opens no more than the one file.
pub fn work(args: &[OsString], stdout: &mut dyn Write) -> io::Result<()> {
    confine()?;
    let args = args.to_owned();
    // A program recurses on the stack of this thread. When it is exceeded the process ends, which is why it is one.
    let answer = Thread::named("jq").stack(STACK).start(move || answer(&args))?.join();
    let (text, next, error) = match answer {
        Ok(Ok(answer)) => (answer.text, answer.next, answer.error),
        Ok(Err(error)) => (String::new(), None, Some(error)),
        Err(broken) => return Err(io::Error::other(broken)),
    };
    write!(stdout, "{}", json!({"text": text, "next": next, "error": error}))?;
    stdout.flush()
}

#[cfg(unix)]
fn confine() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    limit(Resource::Cpu, TIME.as_secs())?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::As, MEMORY)?;
    Ok(())
}

/// The caller's limits are all there are.
#[cfg(not(unix))]
fn confine() -> io::Result<()> {
    Ok(())
}

fn answer(args: &[OsString]) -> Result<JqAnswer, String> {
    let [directory, id, from, cap, program] = args else { return Err("expected five arguments".to_owned()) };
    let number = |text: &OsString| text.to_str().and_then(|text| text.parse::<u64>().ok()).ok_or("expected a number");
    let (from, cap) = (number(from)?, number(cap)?);
    let program = program.to_str().ok_or("the program is not UTF-8")?;
    let input = read_input(Path::new(directory), id).map_err(|error| error.to_string())?;
    let mut window =
        Window { skip: from, room: room(usize::try_from(cap).unwrap_or(usize::MAX)), text: Vec::new(), is_full: false };
    let error = evaluate(program, &input, &mut window).err();
    window.text.truncate(whole_characters(&window.text));
    let next = window.is_full.then_some(from + window.text.len() as u64);
    let text = String::from_utf8_lossy(&window.text).into_owned();
    // A full window ends the evaluation, too.
    Ok(JqAnswer { text, next, error: error.filter(|_| next.is_none()) })
}

fn read_input(directory: &Path, id: &OsString) -> Result<Vec<u8>, StoreError> {
    let text = id.to_string_lossy();
    let outputs = Outputs::existing(PathBuf::from(directory), Retention::default());
    let kept = outputs.get(&text.parse::<OutputId>()?)?.ok_or_else(|| StoreError::BadId(text.into_owned()))?;
    kept.block(0, LARGEST)
}

type Data = JustLut<Val>;

fn evaluate(program: &str, input: &[u8], out: &mut Window) -> Result<(), String> {
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    // A program sees its input and nothing else.
    let functions =
        jaq_core::funs::<Data>().chain(jaq_std::funs()).chain(jaq_json::funs()).filter(|(name, ..)| *name != "env");
    let arena = load::Arena::default();
    let file = load::File { code: program, path: () };
    let modules = load::Loader::new(definitions).load(&arena, file).map_err(|errors| {
        let said = errors.into_iter().flat_map(|(_, error)| match error {
            load::Error::Io(errors) => errors.into_iter().map(|(_, error)| error).collect::<Vec<_>>(),
            load::Error::Lex(errors) => {
                errors.iter().map(|(expected, at)| misread(program, expected.as_str(), at)).collect()
            }
            load::Error::Parse(errors) => {
                errors.iter().map(|(expected, at)| misread(program, expected.as_str(), at)).collect()
            }
        });
        said.collect::<Vec<_>>().join("; ")
    })?;
    let filter = Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
        let unknown = errors.into_iter().flat_map(|(_, errors)| errors);
        unknown.map(|(name, kind)| format!("there is no {} `{name}`", kind.as_str())).collect::<Vec<_>>().join("; ")
    })?;
    let layout = write::Pp::default();
    for input in read::parse_many(input) {
        let input = input.map_err(|error| format!("the output is not JSON: {error}"))?;
        let context = Ctx::<Data>::new(&filter.lut, Vars::new([]));
        for result in filter.id.run((context, input)).map(unwrap_valr) {
            let result = result.map_err(|error| error.to_string())?;
            let written = write::write(out, &layout, 0, &result).and_then(|()| out.write_all(b"\n"));
            written.map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn misread(program: &str, expected: &str, found: &str) -> String {
    let at = load::span(program, found).start;
    let found: String = found.chars().take(20).collect();
    let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
    format!("the program cannot be read: expected {expected}, found {found} at byte {at}")
}

/// Takes a part of what is written to it; when it has that part, writing fails.
struct Window {
    /// How many bytes are still before the part.
    skip: u64,
    /// How many characters still fit.
    room: usize,
    text: Vec<u8>,
    is_full: bool,
}

impl Write for Window {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        for &byte in &bytes[skipped..] {
            if !is_continuation(byte) {
                self.is_full = self.room == 0;
                if self.is_full {
                    return Err(io::Error::other("enough"));
                }
                self.room -= 1;
            }
            self.text.push(byte);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
