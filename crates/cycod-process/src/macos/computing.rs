//! A process without powers, by a profile of Seatbelt that grants nothing.

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::{io, ptr};

/// What was open before can still be read and written: Seatbelt judges when something is opened.
const NOTHING: &CStr = c"(version 1)\n(deny default)\n";

// Of libSystem. Apple's header calls both deprecated, and browsers confine their processes so.
unsafe extern "C" {
    fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    fn sandbox_free_error(error: *mut c_char);
}

/// See [`crate::compute_only`]. Seatbelt has no limit of memory.
pub(crate) fn compute_only() -> io::Result<()> {
    let mut why = ptr::null_mut();
    // SAFETY: the profile ends with NUL, and the pointer outlives the call, which stores an error in it that is ours to free.
    if unsafe { sandbox_init(NOTHING.as_ptr(), 0, &raw mut why) } != 0 {
        let said = if why.is_null() {
            String::new()
        } else {
            // SAFETY: it is a text that ends with NUL, and no one else has it.
            unsafe {
                let said = CStr::from_ptr(why).to_string_lossy().into_owned();
                sandbox_free_error(why);
                said
            }
        };
        return Err(io::Error::other(format!("Seatbelt refused: {said}")));
    }
    match File::open("/") {
        Ok(_) => Err(io::Error::other("Seatbelt holds nothing: the process can still open directories")),
        Err(_) => Ok(()),
    }
}
