//! `CreateProcessW` with a whole command line, the handles that it names and no others, and an environment of its own.

use std::ffi::{OsStr, OsString, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::os::windows::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle, WAIT_OBJECT_0};
use windows_sys::Win32::System::Console::{GetStdHandle, STD_HANDLE};
use windows_sys::Win32::System::Threading::{
    CREATE_BREAKAWAY_FROM_JOB, CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED,
    CREATE_UNICODE_ENVIRONMENT, CreateProcessW, DETACHED_PROCESS, DeleteProcThreadAttributeList,
    EXTENDED_STARTUPINFO_PRESENT, GetCurrentProcess, GetExitCodeProcess, INFINITE, InitializeProcThreadAttributeList,
    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROCESS_INFORMATION, ResumeThread, STARTF_USESTDHANDLES, STARTUPINFOEXW,
    TerminateProcess, UpdateProcThreadAttribute, WaitForSingleObject,
};

use super::mark::mark;
use super::{Hold, Job, hold_above, is_marked};
use crate::command_line::command_line;
use crate::{Program, StartError};

/// Which console a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Console {
    /// Ours, so that it can ask the user and Ctrl-C reaches it.
    Ours,
    /// One of its own that no one sees.
    Hidden,
    /// None, because it outlives us.
    None {
        /// Whether it has to leave the job that we are in.
        leaves_job: bool,
    },
}

/// A process that we started. Dropping it lets it run.
#[derive(Debug)]
pub(crate) struct Process(OwnedHandle);

impl Process {
    /// How it ended, if it has.
    pub(crate) fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        self.wait_for(0)
    }

    /// Waits until it ends.
    pub(crate) fn wait(&self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.wait_for(INFINITE)? {
                return Ok(status);
            }
        }
    }

    fn wait_for(&self, milliseconds: u32) -> io::Result<Option<ExitStatus>> {
        let handle = self.0.as_raw_handle();
        // SAFETY: the handle is open.
        if unsafe { WaitForSingleObject(handle, milliseconds) } != WAIT_OBJECT_0 {
            return Ok(None);
        }
        let mut code = 0;
        // SAFETY: the handle is open, and the code outlives the call.
        if unsafe { GetExitCodeProcess(handle, &raw mut code) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Some(ExitStatus::from_raw(code)))
    }
}

/// Starts a program in a job: it has run nothing before it is in there.
///
/// It inherits these handles: its standard streams, and behind them what it has as descriptors 3 and up.
pub(crate) fn start_in(
    job: &Job,
    program: &Program,
    handles: &[&OwnedHandle],
    console: Console,
) -> Result<Process, StartError> {
    let (process, thread) = create(program, handles, console)?;
    let prepare = |doing, source| {
        // SAFETY: the handle is open, and the process has not run.
        unsafe { TerminateProcess(process.0.as_raw_handle(), 1) };
        StartError::Prepare { program: program.path.clone(), doing, source }
    };
    // Of the two jobs, the one with less in it comes last.
    mark(&process.0).map_err(|source| prepare("mark it as a program of a run", source))?;
    job.add(&process.0).map_err(|source| prepare("put it into a job", source))?;
    resume(&thread).map_err(|source| prepare("let it run", source))?;
    Ok(process)
}

/// Starts a program in no job of ours.
pub(crate) fn start(program: &Program, streams: [&OwnedHandle; 3], console: Console) -> io::Result<Process> {
    let (process, thread) = create(program, &streams, console).map_err(|error| match error {
        StartError::Execute { source, .. }
        | StartError::Directory { source, .. }
        | StartError::Prepare { source, .. } => source,
        other => io::Error::other(other),
    })?;
    resume(&thread)?;
    Ok(process)
}

/// Starts a program that outlives us. Fails where a job that we are in would end it.
pub(crate) fn start_outside(program: &Program, streams: [&OwnedHandle; 3]) -> io::Result<Process> {
    if is_marked() {
        return Err(io::Error::other("a run of cycod holds this process, and ends all that it starts"));
    }
    let leaves_job = match hold_above()? {
        Hold::None => false,
        Hold::Leave => true,
        Hold::Ends => {
            return Err(io::Error::other("a job of Windows holds this process, and ends all that it starts"));
        }
    };
    start(program, streams, Console::None { leaves_job })
}

/// One of our own standard streams, for a program that shares it.
pub(crate) fn own_stream(which: STD_HANDLE) -> io::Result<OwnedHandle> {
    // SAFETY: plain call; the handle stays ours.
    let handle = unsafe { GetStdHandle(which) };
    if handle.is_null() || handle as isize == -1 {
        return File::options().read(true).write(true).open("NUL").map(OwnedHandle::from);
    }
    // SAFETY: the handle is open as long as this process does not close its own streams, which nothing in it does.
    unsafe { BorrowedHandle::borrow_raw(handle) }.try_clone_to_owned()
}

fn resume(thread: &OwnedHandle) -> io::Result<()> {
    // SAFETY: the handle is open.
    let before = unsafe { ResumeThread(thread.as_raw_handle()) };
    if before == u32::MAX { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Creates a process that waits to be resumed, and returns it with its thread.
fn create(program: &Program, handles: &[&OwnedHandle], console: Console) -> Result<(Process, OwnedHandle), StartError> {
    let path = || program.path.clone();
    let file = simplified(&program.path);
    let directory = simplified(&program.cwd);
    must_be_a_program(&file).map_err(|source| StartError::Execute { program: path(), source })?;
    let name = program.arg0.as_deref().unwrap_or(file.as_os_str());
    let arguments: Vec<Vec<u16>> = program.args.iter().map(|argument| argument.encode_wide().collect()).collect();
    let is_cmd = file.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("cmd"));
    let line = command_line(&name.encode_wide().collect::<Vec<u16>>(), &arguments, is_cmd);
    let mut line = line.map_err(|why| StartError::Unsupported { program: path(), what: why.0 })?;
    line.push(0);
    let environment = environment_block(&program.env);
    let prepare = |doing| move |source| StartError::Prepare { program: path(), doing, source };
    // Only these can be inherited, and only by this process.
    let given: Vec<OwnedHandle> = handles
        .iter()
        .map(|handle| inheritable(handle))
        .collect::<io::Result<_>>()
        .map_err(prepare("pass its streams on"))?;
    let raw: Vec<RawHandle> = given.iter().map(AsRawHandle::as_raw_handle).collect();
    let attributes = Attributes::inheriting(&raw).map_err(prepare("name the handles that it inherits"))?;
    let mut descriptors = descriptors(&raw);
    let mut startup = STARTUPINFOEXW::default();
    startup.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [startup.StartupInfo.hStdInput, startup.StartupInfo.hStdOutput, startup.StartupInfo.hStdError] =
        [raw[0], raw[1], raw[2]];
    startup.StartupInfo.cbReserved2 = descriptors.len() as u16;
    startup.StartupInfo.lpReserved2 =
        if descriptors.is_empty() { std::ptr::null_mut() } else { descriptors.as_mut_ptr() };
    startup.lpAttributeList = attributes.0.as_ptr().cast_mut().cast();
    let flags = match console {
        Console::Ours => 0,
        Console::Hidden => CREATE_NO_WINDOW,
        Console::None { leaves_job } => {
            DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP | if leaves_job { CREATE_BREAKAWAY_FROM_JOB } else { 0 }
        }
    };
    let mut created = PROCESS_INFORMATION::default();
    let (wide_file, wide_directory) = (terminated(&file), terminated(&directory));
    // SAFETY: every text ends with a zero, the environment with two; the line may be written to; the startup information and
    // what it points to outlive the call.
    let done = unsafe {
        CreateProcessW(
            wide_file.as_ptr(),
            line.as_mut_ptr(),
            std::ptr::null(),
            std::ptr::null(),
            1,
            flags | CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT,
            environment.as_ptr().cast::<c_void>(),
            wide_directory.as_ptr(),
            (&raw const startup).cast(),
            &raw mut created,
        )
    };
    if done == 0 {
        let source = io::Error::last_os_error();
        return Err(match directory.metadata() {
            Ok(meta) if meta.is_dir() => StartError::Execute { program: path(), source },
            _ => StartError::Directory { program: path(), cwd: program.cwd.clone(), source },
        });
    }
    // SAFETY: both were just opened for us.
    let (process, thread) =
        unsafe { (OwnedHandle::from_raw_handle(created.hProcess), OwnedHandle::from_raw_handle(created.hThread)) };
    Ok((Process(process), thread))
}

/// Refuses what is no program: Windows would give a batch file to `cmd.exe`, which reads its arguments as code.
fn must_be_a_program(file: &Path) -> io::Result<()> {
    let mut head = [0; 2];
    File::open(file)?.read_exact(&mut head).map_err(|_| io::Error::other("it is empty"))?;
    if head == *b"MZ" {
        return Ok(());
    }
    Err(io::Error::other("it is no program for Windows; run a script with its interpreter, a batch file with `cmd:`"))
}

/// A copy of a handle that a new process can inherit.
fn inheritable(handle: &OwnedHandle) -> io::Result<OwnedHandle> {
    let mut copy = std::ptr::null_mut();
    // SAFETY: the handle is open, and the copy outlives the call.
    let done = unsafe {
        let own = GetCurrentProcess();
        DuplicateHandle(own, handle.as_raw_handle(), own, &raw mut copy, 0, 1, DUPLICATE_SAME_ACCESS)
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened for us.
    Ok(unsafe { OwnedHandle::from_raw_handle(copy) })
}

/// What tells the C library of a new process which handles are its descriptors 3 and up, nothing where there are none.
///
/// This is how the library of Microsoft tells it to what `_spawn` starts (`lowio/ioinit.cpp` of the Universal CRT): the number of
/// descriptors, a byte of flags for each, and their handles, not aligned. Programs without that library don't see it.
fn descriptors(handles: &[RawHandle]) -> Vec<u8> {
    const IS_OPEN: u8 = 0x01;
    const IS_PIPE: u8 = 0x08;
    if handles.len() <= 3 {
        return Vec::new();
    }
    // The standard streams are found without it.
    let is_standard = |descriptor: usize| descriptor < 3;
    let mut told = (handles.len() as u32).to_ne_bytes().to_vec();
    told.extend((0..handles.len()).map(|descriptor| if is_standard(descriptor) { 0 } else { IS_OPEN | IS_PIPE }));
    for (descriptor, handle) in handles.iter().enumerate() {
        let handle = if is_standard(descriptor) { usize::MAX } else { handle.addr() };
        told.extend(handle.to_ne_bytes());
    }
    told
}

/// The list of attributes of a new process; what it names has to outlive it.
struct Attributes(Vec<usize>);

impl Attributes {
    fn inheriting(handles: &[RawHandle]) -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: without a list the call only says how large one is.
        unsafe { InitializeProcThreadAttributeList(std::ptr::null_mut(), 1, 0, &raw mut size) };
        let mut list = vec![0_usize; size.div_ceil(size_of::<usize>())];
        // SAFETY: the list has the size that was asked for.
        if unsafe { InitializeProcThreadAttributeList(list.as_mut_ptr().cast(), 1, 0, &raw mut size) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let mut list = Self(list);
        // SAFETY: the list is initialized, and the caller keeps the handles as long as it.
        let done = unsafe {
            UpdateProcThreadAttribute(
                list.0.as_mut_ptr().cast(),
                0,
                PROC_THREAD_ATTRIBUTE_HANDLE_LIST as usize,
                handles.as_ptr().cast(),
                size_of_val(handles),
                std::ptr::null_mut(),
                std::ptr::null(),
            )
        };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(list) }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the list is initialized, and no one uses it any more.
        unsafe { DeleteProcThreadAttributeList(self.0.as_mut_ptr().cast()) };
    }
}

/// Variables as Windows wants them: sorted without regard to case, of two names that differ in case only the later one.
fn environment_block(variables: &[(OsString, OsString)]) -> Vec<u16> {
    let upper = |name: &OsStr| name.to_string_lossy().to_uppercase();
    let sorted: std::collections::BTreeMap<String, &(OsString, OsString)> =
        variables.iter().map(|variable| (upper(&variable.0), variable)).collect();
    let mut block = Vec::new();
    for (name, value) in sorted.values() {
        block.extend(name.encode_wide());
        block.push(u16::from(b'='));
        block.extend(value.encode_wide());
        block.push(0);
    }
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    block
}

/// A path as programs know it: `C:\a` for `\\?\C:\a`, which `cmd.exe` and others cannot be in.
fn simplified(path: &Path) -> PathBuf {
    let wide: Vec<u16> = path.as_os_str().encode_wide().collect();
    let starts = |prefix: &str| wide.starts_with(&prefix.encode_utf16().collect::<Vec<u16>>());
    if starts(r"\\?\UNC\") {
        return PathBuf::from(OsString::from_wide(&[&[u16::from(b'\\')], &wide[7..]].concat()));
    }
    let is_drive = wide.get(5) == Some(&u16::from(b':')) && wide.get(6) == Some(&u16::from(b'\\'));
    // A longer one needs the prefix.
    if starts(r"\\?\") && is_drive && wide.len() < 4 + 260 {
        return PathBuf::from(OsString::from_wide(&wide[4..]));
    }
    path.to_owned()
}

pub(super) fn terminated(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}
