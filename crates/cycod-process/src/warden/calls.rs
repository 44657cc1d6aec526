//! A list of system calls, written in our process and made in another.
//!
//! What a warden and a program may do is little: system calls on memory prepared before. So what a confinement needs of them
//! is not code but data: the calls in their order, the texts and structures they point to, and what each is for, so that a
//! failure can be told by its number.

use std::ffi::{CStr, CString, OsStr, c_int, c_long};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::sys::{call, errno};
use crate::Mechanism;

/// One system call of a list.
#[derive(Debug)]
pub(super) struct Call {
    number: c_long,
    args: [usize; 6],
    /// Which arguments are the addresses of numbers that earlier calls left.
    loads: u8,
    /// Where the result goes, or null.
    store: *mut i32,
    /// The error number that is no failure; 0 for none, -1 for all.
    tolerated: i32,
}

/// Makes calls in order until one fails; returns which did, counted from zero, and its error number.
///
/// # Safety
/// There are so many calls at `first`, as [`Calls`] makes them, and it lives. Obeys the rule of [`super::sys`].
#[inline(never)]
pub(super) unsafe fn make(first: *const Call, count: usize) -> Option<(i32, i32)> {
    let mut at = 0_usize;
    // SAFETY: the caller's promise; a list loads and stores only numbers of its own.
    unsafe {
        while at < count {
            let one = first.add(at);
            let mut args = (*one).args;
            let mut arg = 0_usize;
            while arg < 6 {
                let place = args.as_mut_ptr().add(arg);
                if (*one).loads & 1_u8.wrapping_shl(arg as u32) != 0 {
                    *place = (*place as *const i32).read_volatile() as isize as usize;
                }
                arg = arg.wrapping_add(1);
            }
            let result = call((*one).number, args);
            if let Some(errno) = errno(result)
                && (*one).tolerated != errno
                && (*one).tolerated != -1
            {
                return Some((at as i32, errno));
            }
            if !(*one).store.is_null() {
                (*one).store.write_volatile(result as i32);
            }
            at = at.wrapping_add(1);
        }
    }
    None
}

/// A number that one call leaves for later ones, as a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(*mut i32);

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    Value(usize),
    Left(Slot),
}

impl From<c_int> for Arg {
    fn from(value: c_int) -> Arg {
        Arg::Value(value as isize as usize)
    }
}

impl From<u32> for Arg {
    fn from(value: u32) -> Arg {
        Arg::Value(value as usize)
    }
}

impl From<usize> for Arg {
    fn from(value: usize) -> Arg {
        Arg::Value(value)
    }
}

impl From<Slot> for Arg {
    fn from(slot: Slot) -> Arg {
        Arg::Left(slot)
    }
}

impl From<&'static CStr> for Arg {
    fn from(text: &'static CStr) -> Arg {
        Arg::Value(text.as_ptr() as usize)
    }
}

impl<T> From<*const T> for Arg {
    fn from(pointer: *const T) -> Arg {
        Arg::Value(pointer as usize)
    }
}

/// What a call is for.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    mechanism: Mechanism,
    doing: &'static str,
    /// The path it is done to, in `texts`.
    object: Option<usize>,
}

/// A list of calls with everything they point to.
#[derive(Debug)]
pub(super) struct Calls {
    calls: Vec<Call>,
    meanings: Vec<Meaning>,
    meaning: Meaning,
    texts: Vec<CString>,
    structures: Vec<Box<[u64]>>,
}

// SAFETY: the pointers lead into memory that the list owns on the heap, or to statics.
unsafe impl Send for Calls {}

impl Calls {
    pub(super) fn new(mechanism: Mechanism) -> Calls {
        Calls {
            calls: Vec::with_capacity(128),
            meanings: Vec::with_capacity(128),
            meaning: Meaning { mechanism, doing: "begin", object: None },
            texts: Vec::with_capacity(32),
            structures: Vec::with_capacity(32),
        }
    }

    pub(super) fn first(&self) -> *const Call {
        self.calls.as_ptr()
    }

    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// Says what the following calls are for.
    pub(super) fn toward(&mut self, mechanism: Mechanism, doing: &'static str) {
        self.meaning = Meaning { mechanism, doing, object: None };
    }

    /// Says to what the following calls are done; returns the path for them.
    pub(super) fn path(&mut self, doing: &'static str, path: &Path) -> *const libc::c_char {
        let text = self.text(path.as_os_str());
        self.meaning.doing = doing;
        self.meaning.object = Some(self.texts.len() - 1);
        text
    }

    /// Keeps a text, which holds no zero byte or ends there.
    pub(super) fn text(&mut self, text: &OsStr) -> *const libc::c_char {
        let bytes = text.as_bytes().split(|&byte| byte == 0).next().unwrap_or_default();
        let text = CString::new(bytes).unwrap_or_default();
        let start = text.as_ptr();
        self.texts.push(text);
        start
    }

    /// Keeps a structure, aligned to eight bytes, that the calls may change.
    pub(super) fn structure(&mut self, words: impl Into<Box<[u64]>>) -> *mut u64 {
        self.structures.push(words.into());
        self.structures.last_mut().map_or(std::ptr::null_mut(), |words| words.as_mut_ptr())
    }

    /// Makes room for a number.
    pub(super) fn slot(&mut self) -> Slot {
        Slot(self.structure([0]).cast())
    }

    /// A number in a structure of this list, `offset` bytes from its beginning.
    pub(super) fn slot_at(structure: *mut u64, offset: usize) -> Slot {
        Slot(structure.cast::<u8>().wrapping_add(offset).cast())
    }

    pub(super) fn add<const N: usize>(&mut self, number: c_long, arguments: [Arg; N]) -> &mut Call {
        let (mut args, mut loads) = ([0; 6], 0);
        for (place, argument) in arguments.into_iter().enumerate() {
            args[place] = match argument {
                Arg::Value(value) => value,
                Arg::Left(Slot(number)) => {
                    loads |= 1 << place;
                    number as usize
                }
            };
        }
        self.meanings.push(self.meaning);
        self.calls.push(Call { number, args, loads, store: std::ptr::null_mut(), tolerated: 0 });
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// What the call of this number was for.
    pub(super) fn explain(&self, number: i32) -> Option<(Mechanism, String)> {
        let meaning = self.meanings.get(usize::try_from(number).ok()?)?;
        let object = meaning.object.map(|object| self.texts[object].to_string_lossy());
        let doing = object.map_or_else(|| meaning.doing.to_owned(), |object| format!("{} `{object}`", meaning.doing));
        Some((meaning.mechanism, doing))
    }
}

impl Call {
    /// Leaves the result for later calls.
    pub(super) fn leave(&mut self, slot: Slot) -> &mut Call {
        self.store = slot.0;
        self
    }

    /// Takes one error for success.
    pub(super) fn or(&mut self, errno: c_int) -> &mut Call {
        self.tolerated = errno;
        self
    }

    /// Takes any error for success.
    pub(super) fn or_not(&mut self) -> &mut Call {
        self.or(-1)
    }
}

/// Adds a call: its number and its arguments, of whatever type.
macro_rules! add {
    ($calls:expr, $number:expr $(, $argument:expr)* $(,)?) => {
        $calls.add($number, [$($crate::warden::calls::Arg::from($argument)),*])
    };
}
pub(super) use add;
