//! What Windows does for a program: arguments, handles, jobs. It runs on Windows, and under Wine.
//!
//! The programs that are started are this one again, which then does what its first argument says.

#![cfg_attr(windows, allow(unsafe_code, reason = "a test makes a handle that may be inherited"))]
#![allow(clippy::print_stdout, reason = "this program is one that others start")]

#[cfg(not(windows))]
fn main() {}

#[cfg(windows)]
fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--print") => arguments.for_each(|argument| print!("[{argument}]")),
        Some("--copy") => drop(std::io::copy(&mut std::io::stdin(), &mut std::io::stdout())),
        Some("--channel") => tests::talk_over_descriptors(),
        Some("--wait") => std::thread::sleep(std::time::Duration::from_secs(60)),
        Some("--write") => {
            use std::io::Write;
            std::io::stderr().write_all(&[b'y'; 300_000]).expect("it is read");
            std::io::stdout().write_all(&[b'x'; 300_000]).expect("it is read");
        }
        Some("--fill") => println!("{}", vec![1_u8; 400 << 20].len()),
        Some("--compute") => while std::hint::black_box(true) {},
        Some("--exit") => std::process::exit(arguments.next().and_then(|code| code.parse().ok()).unwrap_or(0)),
        Some("--below") => print!("{:?}", cycod_process::below_a_run()),
        Some("--run-below") => print!("{}", tests::output_of(&tests::own(&["--below"]))),
        Some("--control") => {
            let control = cycod_process::ControlPipe::new().expect("a pipe");
            println!("{}", control.path().display());
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        Some("--detach") => match cycod_process::start_detached(&tests::own(&["--print", "on"]), b"") {
            Ok(mut output) => drop(std::io::copy(&mut output, &mut std::io::stdout())),
            Err(error) => print!("{error}"),
        },
        _ => tests::all(),
    }
}

#[cfg(windows)]
mod tests {
    use std::io::{Read, Write};
    use std::os::windows::ffi::OsStrExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use cycod_process::{
        ControlPipe, Conversation, EndedProcess, Ending, FileCreation, FileExposure, FileWriting, Inbox, Input,
        ProcessLimits, Program, Received, Session, Spec, StartError, Stop, Stream, create_private_directory,
        file_exposure, is_below_a_run, open_private_file, path_exposure, protect_for_user, speak, start_detached,
        unprotect_for_user,
    };
    use windows_sys::Win32::Foundation::{
        CloseHandle, GENERIC_READ, HANDLE_FLAG_INHERIT, INVALID_HANDLE_VALUE, SetHandleInformation,
    };
    use windows_sys::Win32::Security::Authorization::{
        ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
    };
    use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
    use windows_sys::Win32::Storage::FileSystem::{CREATE_NEW, CreateFileW, FILE_ATTRIBUTE_NORMAL};

    pub(super) fn all() {
        let tests: [(&str, fn()); 21] = [
            ("arguments_arrive_as_they_are", arguments_arrive_as_they_are),
            ("an_exit_code_and_input_arrive", an_exit_code_and_input_arrive),
            ("a_slow_reader_gets_everything_after_the_end", a_slow_reader_gets_everything_after_the_end),
            ("a_deadline_ends_the_whole_tree", a_deadline_ends_the_whole_tree),
            ("a_stop_ends_the_whole_tree", a_stop_ends_the_whole_tree),
            ("what_is_left_ends_with_the_session", what_is_left_ends_with_the_session),
            ("a_program_inherits_its_streams_only", a_program_inherits_its_streams_only),
            ("a_channel_is_beside_the_streams", a_channel_is_beside_the_streams),
            ("a_batch_file_is_no_program", a_batch_file_is_no_program),
            ("what_windows_does_not_offer_is_refused", what_windows_does_not_offer_is_refused),
            ("a_conversation_ends_with_its_tree", a_conversation_ends_with_its_tree),
            ("a_limit_is_kept_or_refused", a_limit_is_kept_or_refused),
            ("a_private_file_is_for_its_owner", a_private_file_is_for_its_owner),
            ("what_others_may_use_is_exposed", what_others_may_use_is_exposed),
            ("an_inbox_gets_what_each_writer_writes", an_inbox_gets_what_each_writer_writes),
            ("an_inbox_has_limits", an_inbox_has_limits),
            ("a_control_hears_each_that_speaks", a_control_hears_each_that_speaks),
            ("a_control_is_gone_with_its_process", a_control_is_gone_with_its_process),
            ("what_outlives_us_is_in_no_job_of_ours", what_outlives_us_is_in_no_job_of_ours),
            ("a_process_knows_that_it_is_below_a_run", a_process_knows_that_it_is_below_a_run),
            ("only_the_user_decrypts_what_is_protected", only_the_user_decrypts_what_is_protected),
        ];
        for (name, test) in tests {
            test();
            println!("test {name} ... ok");
        }
    }

    pub(super) fn own(arguments: &[&str]) -> Program {
        let path = std::env::current_exe().expect("this program");
        arguments
            .iter()
            .fold(with_system(Program::new(path, std::env::temp_dir())), |program, argument| program.arg(argument))
    }

    fn cmd(text: &str) -> Program {
        let path = PathBuf::from(std::env::var_os("COMSPEC").expect("Windows names its command interpreter"));
        let program = with_system(Program::new(path, std::env::temp_dir()));
        ["/d", "/s", "/c", text].into_iter().fold(program, Program::arg)
    }

    /// This program in a command for `cmd.exe`.
    fn named() -> String {
        format!("\"{}\"", std::env::current_exe().expect("this program").display())
    }

    /// A command for `cmd.exe` that waits, after something else.
    fn waiting(before: &str) -> String {
        format!("{before}{} --wait", named())
    }

    fn with_system(program: Program) -> Program {
        ["SYSTEMROOT", "PATH"].into_iter().fold(program, |program, name| match std::env::var_os(name) {
            Some(value) => program.env(name, value),
            None => program,
        })
    }

    fn run(spec: &Spec, stop: &Stop) -> (EndedProcess, String) {
        let session = Session::new().expect("a session");
        let mut output = Vec::new();
        let ended = session.run(spec, stop, &mut |stream, bytes| {
            if stream == Stream::Stdout {
                output.extend_from_slice(bytes);
            }
        });
        (ended.expect("it starts"), String::from_utf8_lossy(&output).into_owned())
    }

    /// What a program writes, in a run.
    pub(super) fn output_of(program: &Program) -> String {
        run(&Spec::new(program.clone()), &stop()).1
    }

    fn stop() -> Stop {
        Stop::new().expect("a token")
    }

    fn arguments_arrive_as_they_are() {
        let arguments = [
            "",
            " ",
            "plain",
            "two words",
            "\"",
            "a\"b",
            "\\",
            "\\\\",
            "ends\\",
            "ends with blank\\",
            "\\\"",
            "\\\\\"",
            "\"\"",
            "%PATH%",
            "a&b",
            "^",
            "*",
            "?",
            "tab\there",
            "line\nbreak",
            "ünï 🦀",
            "--x=\"y z\"",
        ];
        let expected: String = arguments.iter().map(|argument| format!("[{argument}]")).collect();
        let (ended, output) = run(&Spec::new(own(&[&["--print"], &arguments[..]].concat())), &stop());
        assert_eq!((ended.ending, output), (Ending::Exited(0), expected));
    }

    fn an_exit_code_and_input_arrive() {
        assert_eq!(run(&Spec::new(own(&["--exit", "7"])), &stop()).0.ending, Ending::Exited(7));
        let spec = Spec {
            input: Input::Bytes((*b"given\r\n").into()),
            ..Spec::new(cmd(&format!("{} --copy & exit 3", named())))
        };
        let (ended, output) = run(&spec, &stop());
        assert_eq!((ended.ending, output.trim_end()), (Ending::Exited(3), "given"));
    }

    fn a_slow_reader_gets_everything_after_the_end() {
        let behind = cmd(&format!("start /b \"\" {0} --wait & {0} --write", named()));
        for (program, is_held) in [(own(&["--write"]), false), (behind, true)] {
            let spec = Spec { linger: Duration::ZERO, ..Spec::new(program) };
            let mut bytes = [0, 0];
            let ended = Session::new().expect("a session").run(&spec, &stop(), &mut |stream, piece| {
                bytes[usize::from(stream == Stream::Stderr)] += piece.len();
                std::thread::sleep(Duration::from_millis(10));
            });
            let ended = ended.expect("it starts");
            assert_eq!((ended.ending, bytes), (Ending::Exited(0), [300_000; 2]));
            // Windows closes the pipes of a program in its own time.
            assert!(ended.pipe_held || !is_held);
        }
    }

    fn a_deadline_ends_the_whole_tree() {
        let begun = Instant::now();
        let spec = Spec { deadline: Some(begun + Duration::from_secs(2)), ..Spec::new(cmd(&waiting(""))) };
        let (ended, _) = run(&spec, &stop());
        assert_eq!(ended.ending, Ending::TimedOut { killed: true });
        // A process that is left would hold the pipe.
        assert!(!ended.pipe_held && begun.elapsed() < Duration::from_secs(20), "{ended:?}");
    }

    fn a_stop_ends_the_whole_tree() {
        let (token, begun) = (stop(), Instant::now());
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&Spec::new(cmd(&waiting(""))), &token).0);
            std::thread::sleep(Duration::from_secs(2));
            token.ask();
            running.join().expect("no panic")
        });
        assert_eq!(ended.ending, Ending::Stopped { killed: true });
        assert!(!ended.pipe_held && begun.elapsed() < Duration::from_secs(20), "{ended:?}");
    }

    fn what_is_left_ends_with_the_session() {
        let session = Session::new().expect("a session");
        let ended =
            session.run(&Spec::new(cmd(&waiting("start /b \"\" "))), &stop(), &mut |_, _| ()).expect("it starts");
        assert_eq!(ended.ending, Ending::Exited(0));
        let left = session.finish();
        assert_eq!((left.processes, left.survived), (1, 0));
    }

    fn a_program_inherits_its_streams_only() {
        let (mut read, write) = std::io::pipe().expect("a pipe");
        // SAFETY: the handle is open.
        let set = unsafe { SetHandleInformation(write.as_raw_handle(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) };
        assert_ne!(set, 0);
        let (mut conversation, _streams) =
            Conversation::start(own(&["--wait"]), ProcessLimits::default()).expect("it starts");
        drop(write);
        // With a copy of the handle in the program, this would wait for it.
        assert_eq!(read.read(&mut [0; 1]).expect("the pipe ends"), 0);
        assert!(!conversation.is_over());
    }

    /// Says what it finds at its descriptors, as a program in C sees them.
    pub(super) fn talk_over_descriptors() {
        // SAFETY: the functions of the C library, with buffers that live across the calls.
        unsafe extern "C" {
            fn _read(descriptor: i32, buffer: *mut u8, size: u32) -> i32;
            fn _write(descriptor: i32, buffer: *const u8, size: u32) -> i32;
        }
        let mut heard = [0; 64];
        // SAFETY: as above; the size is that of the buffer.
        let size = unsafe { _read(4, heard.as_mut_ptr(), 64) };
        let heard = heard[..usize::try_from(size).expect("it can be read")].to_vec();
        let mut nothing = Vec::new();
        std::io::stdin().read_to_end(&mut nothing).expect("it is at its end");
        println!("printed{}", nothing.len());
        eprint!("logged");
        let said = [b"heard ", heard.as_slice()].concat();
        // SAFETY: as above.
        let written = unsafe { _write(3, said.as_ptr(), said.len() as u32) };
        assert_eq!(usize::try_from(written), Ok(said.len()));
    }

    fn a_channel_is_beside_the_streams() {
        let spec = Spec { has_channel: true, ..Spec::new(own(&["--channel"])) };
        let (_conversation, mut streams) = Conversation::start_as(&spec).expect("it starts");
        streams.stdin.write_all(b"a\r\n\x1a\n").expect("it reads");
        drop(streams.stdin);
        let (mut said, mut logged) = (Vec::new(), Vec::new());
        streams.stdout.read_to_end(&mut said).expect("the pipe ends");
        streams.stderr.read_to_end(&mut logged).expect("the pipe ends");
        // Nothing is translated on the way.
        assert_eq!(said, b"heard a\r\n\x1a\n");
        assert_eq!(String::from_utf8_lossy(&logged), "printed0\nlogged");
        // And in a run.
        let ended = run(&Spec { input: Input::Bytes(b"b".as_slice().into()), ..spec }, &stop());
        assert_eq!((ended.0.ending, ended.1.contains("heard b")), (Ending::Exited(0), true), "{ended:?}");
    }

    fn a_batch_file_is_no_program() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("build.cmd");
        std::fs::write(&file, "@echo %1\r\n").expect("a file");
        let program = with_system(Program::new(&file, directory.path())).arg("a&b");
        let session = Session::new().expect("a session");
        let refused = session.run(&Spec::new(program), &stop(), &mut |_, _| panic!("it ran"));
        assert!(matches!(refused, Err(StartError::Execute { .. })), "{refused:?}");
        let missing = with_system(Program::new(directory.path().join("none.exe"), directory.path()));
        let missing = session.run(&Spec::new(missing), &stop(), &mut |_, _| ());
        assert!(missing.is_err_and(|error| error.is_program_missing()));
    }

    fn what_windows_does_not_offer_is_refused() {
        let session = Session::new().expect("a session");
        for limits in [
            ProcessLimits { file_size: Some(1), ..ProcessLimits::default() },
            ProcessLimits { open_files: Some(9), ..ProcessLimits::default() },
        ] {
            let refused =
                session.run(&Spec { limits, ..Spec::new(own(&["--print"])) }, &stop(), &mut |_, _| panic!("it ran"));
            assert!(matches!(refused, Err(StartError::Unsupported { .. })), "{refused:?}");
        }
    }

    fn a_conversation_ends_with_its_tree() {
        let program = cmd(&waiting(&format!("{} --copy & ", named())));
        let (conversation, mut streams) = Conversation::start(program, ProcessLimits::default()).expect("it starts");
        streams.stdin.write_all(b"x\r\n").expect("it reads");
        drop(streams.stdin);
        let mut line = [0; 1];
        streams.stdout.read_exact(&mut line).expect("it answers");
        assert_eq!(conversation.end(Duration::from_millis(300)), Ending::Stopped { killed: true });
        // The pipe ends when no process of the tree has it.
        streams.stdout.read_to_end(&mut Vec::new()).expect("the pipe ends");
    }

    /// Windows keeps both limits. Wine takes them and keeps neither, and there a program with a limit must not start.
    fn a_limit_is_kept_or_refused() {
        let memory = ProcessLimits { memory: Some(200 << 20), ..ProcessLimits::default() };
        let time = ProcessLimits { cpu_seconds: Some(1), ..ProcessLimits::default() };
        let mut refused = 0;
        for (limits, what) in [(memory, "--fill"), (time, "--compute")] {
            let session = Session::new().expect("a session");
            let deadline = Some(Instant::now() + Duration::from_secs(20));
            let spec = Spec { limits, deadline, ..Spec::new(own(&[what])) };
            let mut output = Vec::new();
            let ended = session.run(&spec, &stop(), &mut |_, bytes| output.extend_from_slice(bytes));
            match ended {
                Err(StartError::Unsupported { .. }) => refused += 1,
                ended => {
                    let ended = ended.expect("it starts");
                    let is_ended = match what {
                        "--fill" => ended.ending == Ending::MemoryExceeded,
                        _ => !matches!(ended.ending, Ending::TimedOut { .. } | Ending::Exited(0)),
                    };
                    assert!(is_ended && output.is_empty(), "{what}: {ended:?}");
                }
            }
        }
        assert_eq!(refused, if is_wine() { 2 } else { 0 });
        // Without a limit, both would do what they were told.
        assert_eq!(run(&Spec::new(own(&["--fill"])), &stop()).1.trim_end(), (400 << 20).to_string());
    }

    /// Wine says so in its registry; Windows has no such key.
    fn is_wine() -> bool {
        let reg = PathBuf::from(std::env::var_os("SYSTEMROOT").expect("Windows")).join("System32/reg.exe");
        let query = ["query", r"HKCU\Software\Wine"]
            .into_iter()
            .fold(with_system(Program::new(reg, std::env::temp_dir())), Program::arg);
        run(&Spec::new(query), &stop()).0.ending == Ending::Exited(0)
    }

    fn a_private_file_is_for_its_owner() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("private");
        create_private_directory(&directory).expect("a directory");
        let again = create_private_directory(&directory);
        assert!(again.is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists));
        assert_eq!(path_exposure(&directory).expect("it is there"), None);
        let path = directory.join("file");
        let open = |writing, creation| open_private_file(&path, writing, creation);
        let missing = open(FileWriting::No, FileCreation::No);
        assert!(missing.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound));
        let mut file = open(FileWriting::Anywhere, FileCreation::IfMissing).expect("a file");
        file.write_all(b"one").expect("room");
        assert_eq!(file_exposure(&file).expect("it is open"), None);
        let again = open(FileWriting::Anywhere, FileCreation::Always);
        assert!(again.is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists));
        open(FileWriting::AtEnd, FileCreation::No).expect("it is there").write_all(b"two").expect("room");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"onetwo");
        assert!(open(FileWriting::No, FileCreation::No).expect("it is there").write_all(b"three").is_err());
        // A path may be longer than what Windows takes without a prefix.
        let long = ["x".repeat(100), "y".repeat(100), "z".repeat(100)];
        let long = long.iter().fold(directory, |above, name| {
            let below = above.join(name);
            create_private_directory(&below).expect("a directory");
            below
        });
        drop(open_private_file(&long.join("file"), FileWriting::Anywhere, FileCreation::Always).expect("a file"));
    }

    fn what_others_may_use_is_exposed() {
        let place = tempfile::tempdir().expect("a directory");
        for (number, (list, expected)) in [
            ("D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)", None),
            ("D:P(A;;FA;;;OW)(A;;FR;;;WD)", Some(FileExposure::Others)),
            ("D:P(A;;FR;;;BU)(A;;FA;;;OW)", Some(FileExposure::Others)),
            // An entry without rights, and one that takes them away.
            ("D:P(A;;FA;;;OW)(D;;FA;;;WD)", None),
            // No list at all lets everyone do everything.
            ("D:NO_ACCESS_CONTROL", Some(FileExposure::Others)),
        ]
        .into_iter()
        .enumerate()
        {
            // Wine keeps of a list what fits in a mode of Unix: who a group is and what is denied is lost.
            if is_wine() && !list.contains("WD)") {
                continue;
            }
            let path = place.path().join(number.to_string());
            make(&path, list);
            assert_eq!(path_exposure(&path).expect("it is there"), expected, "{list}");
        }
    }

    /// What comes until it has been quiet for a while, by writer; an end is a dot.
    fn received(inbox: &mut Inbox) -> Vec<String> {
        let mut received: std::collections::BTreeMap<u64, String> = std::collections::BTreeMap::new();
        let mut quiet = 0;
        while quiet < 20 {
            let came = inbox.receive(&mut |writer, what| {
                received.entry(writer).or_default().push_str(&match what {
                    Received::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Received::Closed => ".".to_owned(),
                });
            });
            quiet = if came.expect("the pipe works") { 0 } else { quiet + 1 };
            std::thread::sleep(Duration::from_millis(5));
        }
        received.into_values().collect()
    }

    fn an_inbox_gets_what_each_writer_writes() {
        let mut inbox = Inbox::new().expect("a pipe");
        assert_eq!(received(&mut inbox), Vec::<String>::new());
        // Nothing that truncates: a pipe can't be.
        let open = |path: &Path| std::fs::File::options().write(true).open(path).expect("an end is ready");
        let (mut first, mut second) = (open(inbox.path()), open(inbox.path()));
        first.write_all(b"a\n").expect("room");
        second.write_all(b"b").expect("room");
        first.write_all(b"c\n").expect("room");
        drop(second);
        // A program that appends opens it for reading, too, and one that comes later writes as the first.
        let mut third = std::fs::File::options().read(true).write(true).open(inbox.path()).expect("an end is ready");
        third.write_all(b"d").expect("room");
        drop(third);
        assert_eq!(received(&mut inbox), ["a\nc\n", "b.", "d."]);
        drop(first);
        assert_eq!(received(&mut inbox), ["."]);
        // One after another, more than are ready at once.
        for _ in 0..40 {
            open(inbox.path()).write_all(b"e").expect("room");
            assert_eq!(received(&mut inbox), ["e."]);
        }
        // A program, too.
        let text = format!(
            "\"{}\" --print x > {}",
            std::env::current_exe().expect("this program").display(),
            inbox.path().display()
        );
        run(&Spec::new(cmd(&text)), &stop());
        assert_eq!(received(&mut inbox), ["[x]."]);
        let path = inbox.path().to_owned();
        drop(inbox);
        assert!(std::fs::File::options().write(true).open(path).is_err());
    }

    fn an_inbox_has_limits() {
        let mut inbox = Inbox::new().expect("a pipe");
        let path = inbox.path().to_owned();
        let mut writers = Vec::new();
        for _ in 0..20 {
            writers.extend(std::iter::from_fn(|| std::fs::File::options().write(true).open(&path).ok()).take(10));
            inbox.receive(&mut |_, _| ()).expect("the pipe works");
        }
        assert_eq!(writers.len(), 64);
        writers.clear();
        assert_eq!(received(&mut inbox).len(), 64);
        assert_ne!(Inbox::new().expect("a pipe").path(), path);
    }

    /// Says one byte to a control.
    fn say(path: &Path, byte: u8) {
        let mut pipe = speak(path).expect("it is there").expect("its process is");
        pipe.write_all(&[byte]).expect("it is heard");
    }

    fn a_control_hears_each_that_speaks() {
        let mut control = ControlPipe::new().expect("a pipe");
        let path = control.path().to_owned();
        // One that speaks and goes before anyone listens, and one that opens the pipe and says nothing.
        say(&path, b'a');
        assert_eq!(control.hear().expect("it works"), b'a');
        let silent = speak(&path).expect("it is there").expect("its process is");
        let hearing = std::thread::spawn(move || {
            let heard = [control.hear().expect("it works"), control.hear().expect("it works")];
            (heard, control)
        });
        // While the silent one is there, others are heard after it.
        say(&path, b'b');
        drop(silent);
        say(&path, b'c');
        let (heard, control) = hearing.join().expect("no panic");
        assert_eq!(heard, [b'b', b'c']);
        assert_ne!(ControlPipe::new().expect("a pipe").path(), control.path());
        // Nothing can be read from it.
        assert!(std::fs::File::options().read(true).write(true).open(&path).is_err());
        drop(control);
        assert!(speak(&path).expect("nothing is there").is_none());
    }

    fn a_control_is_gone_with_its_process() {
        let (conversation, mut streams) =
            Conversation::start(own(&["--control"]), ProcessLimits::default()).expect("it starts");
        let mut path = Vec::new();
        let mut byte = [0];
        while streams.stdout.read_exact(&mut byte).is_ok() && byte != *b"\n" {
            path.extend(byte);
        }
        let path = PathBuf::from(String::from_utf8(path).expect("a path").trim_end());
        assert!(speak(&path).expect("it is there").is_some());
        drop(conversation);
        assert!(speak(&path).expect("nothing is there").is_none());
    }

    fn what_outlives_us_is_in_no_job_of_ours() {
        let mut said = String::new();
        let mut output = start_detached(&own(&["--copy"]), b"given").expect("it starts");
        output.read_to_string(&mut said).expect("it ends");
        assert_eq!(said, "given");
        // In a job that ends all of it, the same is refused.
        let (ended, said) = run(&Spec::new(own(&["--detach"])), &stop());
        assert_eq!(ended.ending, Ending::Exited(0));
        assert!(said.contains("a run of cycod holds this process"), "{said}");
    }

    fn a_process_knows_that_it_is_below_a_run() {
        assert!(!is_below_a_run());
        let said = output_of;
        assert_eq!(said(&own(&["--below"])), "Some(Job)");
        // However it was started, and after the one that started it is gone.
        let orphan = cmd(&format!("start /b \"\" {} --below", named()));
        let spec = Spec { linger: Duration::from_secs(30), ..Spec::new(orphan) };
        assert_eq!(run(&spec, &stop()).1, "Some(Job)");
        // While others run, each with a job of its own, and when the first of them is gone.
        let waiting = || Conversation::start(own(&["--wait"]), ProcessLimits::default()).expect("it starts").0;
        let (first, second) = (waiting(), waiting());
        assert_eq!(said(&own(&["--below"])), "Some(Job)");
        drop(first);
        assert_eq!(said(&own(&["--below"])), "Some(Job)");
        drop(second);
        // A program below a program below a run, by a job of neither.
        assert_eq!(said(&own(&["--run-below"])), "Some(Job)");
        assert!(!is_below_a_run());
        let mut outside = String::new();
        let mut output = start_detached(&own(&["--below"]), b"").expect("it starts");
        output.read_to_string(&mut outside).expect("it ends");
        assert_eq!(outside, "None");
    }

    fn only_the_user_decrypts_what_is_protected() {
        let plain = b"quiet-value";
        let protected = protect_for_user(plain).expect("the user has a key");
        assert!(!protected.windows(plain.len()).any(|part| part == plain));
        assert_eq!(unprotect_for_user(&protected).expect("it is ours"), plain);
        let mut changed = protected;
        *changed.last_mut().expect("it isn't empty") ^= 1;
        assert!(unprotect_for_user(&changed).is_err());
        assert!(unprotect_for_user(b"").is_err());
    }

    /// Makes a file with an access list.
    fn make(path: &Path, list: &str) {
        let wide = |text: &std::ffi::OsStr| text.encode_wide().chain([0]).collect::<Vec<u16>>();
        let mut descriptor = std::ptr::null_mut();
        let (list, path) = (wide(list.as_ref()), wide(path.as_os_str()));
        // SAFETY: both texts end with a zero, and the descriptor, which nothing frees, outlives the calls.
        unsafe {
            let made = ConvertStringSecurityDescriptorToSecurityDescriptorW(
                list.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                std::ptr::null_mut(),
            );
            assert_ne!(made, 0);
            let attributes = SECURITY_ATTRIBUTES {
                nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
                lpSecurityDescriptor: descriptor,
                bInheritHandle: 0,
            };
            let file = CreateFileW(
                path.as_ptr(),
                GENERIC_READ,
                0,
                &raw const attributes,
                CREATE_NEW,
                FILE_ATTRIBUTE_NORMAL,
                std::ptr::null_mut(),
            );
            assert_ne!(file, INVALID_HANDLE_VALUE, "{}", std::io::Error::last_os_error());
            CloseHandle(file);
        }
    }
}
