//! The console: what it shows, and the keys that a person presses in it.

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT,
    ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING, FlushConsoleInputBuffer, GetConsoleMode,
    GetConsoleScreenBufferInfo, GetStdHandle, INPUT_RECORD, KEY_EVENT, ReadConsoleInputW, STD_ERROR_HANDLE, STD_HANDLE,
    STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetConsoleMode, WriteConsoleW,
};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// How many events are read at once.
const EVENTS: usize = 32;

/// How much text the system takes at once, in units of UTF-16. Its limit is that of a buffer of 64 KB.
const MOST_TEXT: usize = 8 << 10;

/// The virtual code of the Alt key, `VK_MENU`.
const ALT: u16 = 0x12;

/// The console that this process is attached to, wherever its standard streams lead.
#[derive(Debug)]
pub struct UserConsole {
    input: File,
    output: File,
}

impl UserConsole {
    /// Opens the console, where a standard stream of this process leads to it. Other programs have a console, too, but one that
    /// no one sees.
    ///
    /// # Errors
    /// Where this process has none, or none that is seen.
    pub fn open() -> io::Result<Self> {
        let is_console = |stream: STD_HANDLE| {
            // SAFETY: plain call without pointers; the handle is only asked about.
            mode_of(unsafe { GetStdHandle(stream) }).is_ok()
        };
        if ![STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE].into_iter().any(is_console) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let open = |name| File::options().read(true).write(true).open(name);
        let console = Self { input: open("CONIN$")?, output: open("CONOUT$")? };
        shows_styles(&console.output);
        Ok(console)
    }

    /// How many columns and rows its window has.
    pub fn size(&self) -> Option<(usize, usize)> {
        console_size(&self.output)
    }

    /// Writes a text, in which the system obeys escape sequences if it can.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut left = &units[..];
        while !left.is_empty() {
            let (length, mut written) = (left.len().min(MOST_TEXT), 0);
            // SAFETY: the handle is open, and the text is as long as the call is told.
            let done = unsafe {
                WriteConsoleW(self.output.as_raw_handle(), left.as_ptr(), length as u32, &raw mut written, ptr::null())
            };
            if done == 0 || written == 0 {
                return Err(io::Error::last_os_error());
            }
            left = &left[(written as usize).min(length)..];
        }
        Ok(())
    }

    /// Has the console hand over each key, Ctrl-C among them, and show none, until what is returned is dropped.
    ///
    /// # Errors
    /// Those of the system.
    pub fn keys(&self) -> io::Result<ConsoleKeys<'_>> {
        let before = mode_of(self.input.as_raw_handle())?;
        let raw =
            before & !(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT | ENABLE_PROCESSED_INPUT | ENABLE_VIRTUAL_TERMINAL_INPUT);
        // SAFETY: the handle is open.
        if unsafe { SetConsoleMode(self.input.as_raw_handle(), raw) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(ConsoleKeys { console: self, before, high: None })
    }
}

/// The keys of a console, one by one.
#[derive(Debug)]
pub struct ConsoleKeys<'a> {
    console: &'a UserConsole,
    /// The mode of the console before.
    before: u32,
    /// The first half of a character of which the second has not come.
    high: Option<u16>,
}

impl ConsoleKeys<'_> {
    /// Throws away what was typed and not read.
    ///
    /// # Errors
    /// Those of the system.
    pub fn forget(&mut self) -> io::Result<()> {
        self.high = None;
        // SAFETY: the handle is open.
        if unsafe { FlushConsoleInputBuffer(self.input()) } == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until a character was typed, at most for `longest`, and gives all that were to `typed`, which may be none. Keys without a
    /// character, such as arrows, are passed over.
    ///
    /// # Errors
    /// Those of the system, for example when the console is gone.
    pub fn read(&mut self, longest: Duration, typed: &mut dyn FnMut(char)) -> io::Result<()> {
        let end = Instant::now() + longest;
        let mut is_typed = false;
        while !is_typed && self.wait(end.saturating_duration_since(Instant::now()))? {
            let mut records = [INPUT_RECORD::default(); EVENTS];
            let mut count = 0;
            // SAFETY: the handle is open, and there is room for as many events as the call is told.
            if unsafe { ReadConsoleInputW(self.input(), records.as_mut_ptr(), EVENTS as u32, &raw mut count) } == 0 {
                return Err(io::Error::last_os_error());
            }
            for record in &records[..count as usize] {
                for unit in units_of(record) {
                    let pair = [self.high.take(), Some(unit)];
                    for read in char::decode_utf16(pair.into_iter().flatten()) {
                        match read {
                            Ok(character) => {
                                is_typed = true;
                                typed(character);
                            }
                            Err(_) if (0xD800..0xDC00).contains(&unit) => self.high = Some(unit),
                            Err(_) => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for an event, at most for `longest`, and tells whether there is one.
    fn wait(&self, longest: Duration) -> io::Result<bool> {
        let milliseconds = u32::try_from(longest.as_millis()).unwrap_or(u32::MAX - 1);
        // SAFETY: the handle is open.
        match unsafe { WaitForSingleObject(self.input(), milliseconds) } {
            WAIT_OBJECT_0 => Ok(true),
            WAIT_TIMEOUT => Ok(false),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn input(&self) -> HANDLE {
        self.console.input.as_raw_handle()
    }
}

impl Drop for ConsoleKeys<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open.
        unsafe { SetConsoleMode(self.input(), self.before) };
    }
}

/// What an event types, in UTF-16: the character of a key as often as it repeats.
fn units_of(record: &INPUT_RECORD) -> impl Iterator<Item = u16> + use<> {
    // SAFETY: the kind of event says which part of the union is there; of the character, each bit pattern is a number.
    let key = (u32::from(record.EventType) == KEY_EVENT).then(|| unsafe { record.Event.KeyEvent });
    key.into_iter().flat_map(|key| {
        // SAFETY: as above.
        let unit = unsafe { key.uChar.UnicodeChar };
        // A character that was typed by its number comes when the Alt key is released.
        let is_typed = unit != 0 && (key.bKeyDown != 0 || key.wVirtualKeyCode == ALT);
        std::iter::repeat_n(unit, if is_typed { usize::from(key.wRepeatCount.max(1)) } else { 0 })
    })
}

/// How many columns and rows the window of a console has, none where the handle is of no console.
pub fn console_size(console: &impl AsRawHandle) -> Option<(usize, usize)> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is open, and the answer outlives the call.
    if unsafe { GetConsoleScreenBufferInfo(console.as_raw_handle(), &raw mut info) } == 0 {
        return None;
    }
    let window = info.srWindow;
    let length = |first: i16, last: i16| usize::try_from(i32::from(last) - i32::from(first) + 1).ok();
    Some((length(window.Left, window.Right)?, length(window.Top, window.Bottom)?)).filter(|&(c, r)| c > 0 && r > 0)
}

/// Has a console obey escape sequences, and tells whether it does: before Windows 10, none does. A terminal that is no console of
/// Windows, such as that of Git for Windows, needs not be told.
pub fn shows_styles(terminal: &impl AsRawHandle) -> bool {
    let handle = terminal.as_raw_handle();
    // SAFETY: the handle is open.
    mode_of(handle)
        .map_or(true, |mode| unsafe { SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) } != 0)
}

fn mode_of(console: HANDLE) -> io::Result<u32> {
    let mut mode = 0;
    // SAFETY: the handle is open, and the mode outlives the call.
    if unsafe { GetConsoleMode(console, &raw mut mode) } == 0 { Err(io::Error::last_os_error()) } else { Ok(mode) }
}
