use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_LIMIT_PROCESS_TIME,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};

/// A program and all it starts. No process leaves its job, and all end when the last handle to it closes, which is when
/// this is dropped or we end.
#[derive(Debug)]
pub(crate) struct Job(OwnedHandle);

/// The exit code of what we end.
const ENDED: u32 = 1;

impl Job {
    /// Makes a job without processes. Each of its processes may use so many seconds of processor time.
    pub(crate) fn new(cpu_seconds: Option<u64>) -> io::Result<Self> {
        // SAFETY: plain call; no attributes and no name.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `handle` was just opened and no one else owns it.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut limits.BasicLimitInformation;
        basic.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        if let Some(seconds) = cpu_seconds {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
            // In steps of 100 nanoseconds.
            basic.PerProcessUserTimeLimit = i64::try_from(seconds.saturating_mul(10_000_000)).unwrap_or(i64::MAX);
        }
        // SAFETY: the structure is of the kind and size that the call names.
        let set = unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        };
        if set == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
    }

    /// Adds a process, which must not have run yet: what it started before would be in no job.
    pub(crate) fn add(&self, process: &OwnedHandle) -> io::Result<()> {
        // SAFETY: both handles are open.
        let added = unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle()) };
        if added == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// How many of its processes run.
    pub(crate) fn running(&self) -> u32 {
        let mut count = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the structure is of the kind and size that the call names.
        let asked = unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut count).cast(),
                size_of_val(&count) as u32,
                std::ptr::null_mut(),
            )
        };
        if asked == 0 { 0 } else { count.ActiveProcesses }
    }

    /// Ends all its processes.
    pub(crate) fn end(&self) {
        // SAFETY: the handle is open. A job without processes is ended already.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), ENDED) };
    }
}
