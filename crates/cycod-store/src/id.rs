use std::{
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::StoreError;

/// Names one run: the time in 48 bits, so that names sort by it, and 80 random bits, so that only who was told can ask for
/// its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId([u8; 16]);

impl RunId {
    /// Draws a new one.
    pub fn random() -> Result<RunId, StoreError> {
        let mut bytes = random::<16>()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        bytes[..6].copy_from_slice(&now.to_be_bytes()[10..]);
        Ok(RunId(bytes))
    }

    /// The one of these bytes.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> RunId {
        RunId(bytes)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl FromStr for RunId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<RunId, StoreError> {
        read_hex(text).map(RunId).ok_or_else(|| StoreError::BadId(text.to_owned()))
    }
}

/// Names one output of a run, such as `0f…9a/stdout`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputId {
    run: RunId,
    name: String,
}

impl OutputId {
    /// Where the name of every output begins when it is written as a URI.
    pub const SCHEME: &str = "cycod://runs/";

    /// Names an output; `name` is 1 to 80 of the characters `A-Z a-z 0-9 _ -`.
    pub fn new(run: RunId, name: &str) -> Result<OutputId, StoreError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > 80 || !name.bytes().all(is_plain) {
            return Err(StoreError::BadId(name.to_owned()));
        }
        Ok(OutputId { run, name: name.to_owned() })
    }

    /// Returns the run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Returns what the output is called within its run.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the URI, such as `cycod://runs/0f…9a/stdout`.
    pub fn uri(&self) -> String {
        format!("{}{self}", OutputId::SCHEME)
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}.{}", self.run, self.name)
    }
}

impl fmt::Display for OutputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.name)
    }
}

/// Reads both forms: `RUN/NAME` and the URI.
impl FromStr for OutputId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<OutputId, StoreError> {
        let bare = text.strip_prefix(OutputId::SCHEME).unwrap_or(text);
        let (run, name) = bare.split_once('/').ok_or_else(|| StoreError::BadId(text.to_owned()))?;
        OutputId::new(run.parse()?, name)
    }
}

/// Returns random bytes that nobody can guess.
///
/// # Errors
/// When the system has none to give.
pub fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    // `getrandom` finds the call of the kernel by its name at run time, which a static program cannot, and opens files instead.
    #[cfg(target_os = "linux")]
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) == Ok(N) {
        return Ok(bytes);
    }
    getrandom::fill(&mut bytes).map_err(StoreError::Random)?;
    Ok(bytes)
}

pub(crate) fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Reads exactly `2 * N` lower-case digits: one text for one value.
pub(crate) fn read_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
