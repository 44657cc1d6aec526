//! A job of Windows: a program with all that it starts, under limits.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::IO::{CreateIoCompletionPort, GetQueuedCompletionStatus};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_BREAKAWAY_OK,
    JOB_OBJECT_LIMIT_JOB_MEMORY, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_LIMIT_PROCESS_TIME,
    JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, JOBOBJECT_ASSOCIATE_COMPLETION_PORT, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectAssociateCompletionPortInformation,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::SystemServices::JOB_OBJECT_MSG_JOB_MEMORY_LIMIT;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// A program and all it starts. No process leaves its job, and all end when the last handle to it closes, which is when
/// this is dropped or we end.
#[derive(Debug)]
pub(crate) struct Job {
    handle: OwnedHandle,
    /// What tells that the limit of memory was reached, if there is one.
    port: Option<Port>,
}

/// What the processes of a job may use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobLimits {
    /// Bytes of memory, all together.
    pub(crate) memory: Option<u64>,
    /// Seconds of processor time, each.
    pub(crate) cpu_seconds: Option<u64>,
}

/// The exit code of what we end.
const ENDED: u32 = 1;

impl Job {
    /// Makes a job without processes.
    ///
    /// Fails with `Unsupported` where the system takes the limits and doesn't keep them, as Wine does.
    pub(crate) fn new(limits: JobLimits) -> io::Result<Self> {
        // SAFETY: plain call; no attributes and no name.
        let handle = owned(unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) })?;
        let memory = match limits.memory {
            Some(bytes) => Some((usize::try_from(bytes).unwrap_or(usize::MAX), Port::of(&handle)?)),
            None => None,
        };
        let mut wanted = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let mut kept_back = 0;
        if let Some(seconds) = limits.cpu_seconds {
            kept_back |= JOB_OBJECT_LIMIT_PROCESS_TIME;
            // In steps of 100 nanoseconds.
            wanted.BasicLimitInformation.PerProcessUserTimeLimit =
                i64::try_from(seconds.saturating_mul(10_000_000)).unwrap_or(i64::MAX);
        }
        if let Some((bytes, _)) = &memory {
            kept_back |= JOB_OBJECT_LIMIT_JOB_MEMORY;
            wanted.JobMemoryLimit = *bytes;
        }
        wanted.BasicLimitInformation.LimitFlags = kept_back | JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let job = Self { handle, port: memory.map(|(_, port)| port) };
        // SAFETY: the structure is of the kind and size that the call names.
        let set = unsafe {
            SetInformationJobObject(
                job.handle.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const wanted).cast(),
                size_of_val(&wanted) as u32,
            )
        };
        if set == 0 {
            return Err(io::Error::last_os_error());
        }
        let kept = job.limits()?;
        let is_kept = kept.BasicLimitInformation.LimitFlags & kept_back == kept_back
            && kept.BasicLimitInformation.PerProcessUserTimeLimit
                == wanted.BasicLimitInformation.PerProcessUserTimeLimit
            && kept.JobMemoryLimit == wanted.JobMemoryLimit;
        if is_kept || kept_back == 0 { Ok(job) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn limits(&self) -> io::Result<JOBOBJECT_EXTENDED_LIMIT_INFORMATION> {
        limits_of(self.handle.as_raw_handle())
    }

    /// Whether its processes wanted more memory than they may have together.
    pub(crate) fn exceeds_memory(&self) -> bool {
        self.port.as_ref().is_some_and(Port::tells_of_memory)
    }

    /// The most memory that its processes had together, in bytes.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.limits().ok().map(|limits| limits.PeakJobMemoryUsed as u64).filter(|&peak| peak > 0)
    }

    /// Adds a process, which must not have run yet: what it started before would be in no job.
    pub(crate) fn add(&self, process: &OwnedHandle) -> io::Result<()> {
        // SAFETY: both handles are open.
        let added = unsafe { AssignProcessToJobObject(self.handle.as_raw_handle(), process.as_raw_handle()) };
        if added == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// How many of its processes run.
    pub(crate) fn running(&self) -> u32 {
        let mut count = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the structure is of the kind and size that the call names.
        let asked = unsafe {
            QueryInformationJobObject(
                self.handle.as_raw_handle(),
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
        unsafe { TerminateJobObject(self.handle.as_raw_handle(), ENDED) };
    }
}

/// The limits of a job; without a handle, of the one that we are in.
fn limits_of(job: HANDLE) -> io::Result<JOBOBJECT_EXTENDED_LIMIT_INFORMATION> {
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    // SAFETY: the structure is of the kind and size that the call names.
    let asked = unsafe {
        QueryInformationJobObject(
            job,
            JobObjectExtendedLimitInformation,
            (&raw mut limits).cast(),
            size_of_val(&limits) as u32,
            std::ptr::null_mut(),
        )
    };
    if asked == 0 { Err(io::Error::last_os_error()) } else { Ok(limits) }
}

/// What a job that we are in means for a program that is to outlive us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// No job ends it, or it isn't in that.
    None,
    /// It has to leave the job, which lets it.
    Leave,
    /// The job ends it.
    Ends,
}

/// Returns what the job that we are in means for a program that is to outlive us.
pub(crate) fn hold_above() -> io::Result<Hold> {
    let mut is_in_one = 0;
    // SAFETY: plain call about ourselves; the result is written to a variable of its type.
    if unsafe { IsProcessInJob(GetCurrentProcess(), std::ptr::null_mut(), &raw mut is_in_one) } == 0 {
        return Err(io::Error::last_os_error());
    }
    if is_in_one == 0 {
        return Ok(Hold::None);
    }
    let flags = limits_of(std::ptr::null_mut())?.BasicLimitInformation.LimitFlags;
    let has = |flag| flags & flag != 0;
    Ok(if has(JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK) || !has(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE) {
        Hold::None
    } else if has(JOB_OBJECT_LIMIT_BREAKAWAY_OK) {
        Hold::Leave
    } else {
        Hold::Ends
    })
}

/// Where the system tells what happens in a job.
#[derive(Debug)]
struct Port(OwnedHandle);

impl Port {
    fn of(job: &OwnedHandle) -> io::Result<Self> {
        // SAFETY: plain call; the port is for no file.
        let port = owned(unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, std::ptr::null_mut(), 0, 1) })?;
        let told = JOBOBJECT_ASSOCIATE_COMPLETION_PORT {
            CompletionKey: std::ptr::null_mut(),
            CompletionPort: port.as_raw_handle(),
        };
        // SAFETY: the structure is of the kind and size that the call names, and both handles are open.
        let set = unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectAssociateCompletionPortInformation,
                (&raw const told).cast(),
                size_of_val(&told) as u32,
            )
        };
        if set == 0 { Err(io::Error::last_os_error()) } else { Ok(Self(port)) }
    }

    /// Takes what was told, without waiting, and looks for the limit of memory in it.
    fn tells_of_memory(&self) -> bool {
        let (mut message, mut key, mut about) = (0, 0, std::ptr::null_mut());
        loop {
            // SAFETY: the handle is open, and each result is written to a variable of its type.
            let told = unsafe {
                GetQueuedCompletionStatus(self.0.as_raw_handle(), &raw mut message, &raw mut key, &raw mut about, 0)
            };
            if told == 0 || message == JOB_OBJECT_MSG_JOB_MEMORY_LIMIT {
                return told != 0;
            }
        }
    }
}

pub(super) fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller was just given the handle, and no one else owns it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
