use std::os::fd::AsRawFd;

use cycod_process::{Input, Session, Spec};

use crate::support::*;

#[test]
fn the_program_gets_its_own_descriptors_only() {
    // One of ours that every ordinary child would inherit.
    let leak = std::fs::File::open("/dev/zero").expect("the device is there");
    // SAFETY: plain call on a descriptor we own.
    unsafe { libc::fcntl(leak.as_raw_fd(), libc::F_SETFD, 0) };
    let list = "opendir my $d, '/proc/self/fd' or die; my $own = fileno $d; print join ' ', sort grep { /\\d/ && $_ != $own } readdir $d";
    for session in [Session::new().expect("a session opens"), Session::portable()] {
        let mut spec = perl(list);
        assert_eq!(run_in(&session, &spec).out(), "0 1 2", "{session:?}");
        spec.script = Some(b"text".as_slice().into());
        spec.input = Input::Bytes(b"text".as_slice().into());
        assert_eq!(run_in(&session, &spec).out(), "0 1 2 3", "{session:?}");
    }
}

#[test]
fn signals_are_as_a_program_expects_them() {
    // The test harness ignores SIGPIPE; neither that nor our mask may reach the program.
    let status = run(&Spec::new(program("grep", &["-E", "^Sig(Blk|Ign):", "/proc/self/status"])));
    let nothing = "0000000000000000";
    assert_eq!(status.out(), format!("SigBlk:\t{nothing}\nSigIgn:\t{nothing}\n"));
}

#[test]
fn environment_name_and_directory_are_as_given() {
    for session in [Session::new().expect("a session opens"), Session::portable()] {
        let mut program = program("sh", &["-c", "echo \"$0\"; pwd; env | sort | grep -v ^_= "])
            .env("A", "1")
            .env("A", "a b\nc")
            .env("PWD", "/usr");
        program.cwd = "/usr".into();
        let run = run_in(&session, &Spec::new(program.clone()));
        assert_eq!(
            run.out(),
            format!("{}\n/usr\nA=a b\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/usr\nc\n", program.path.display())
        );
        program.arg0 = Some("-other".into());
        program.args = vec!["-c".into(), "tr '\\0' ' ' < /proc/$$/cmdline".into()];
        assert_eq!(run_in(&session, &Spec::new(program)).out(), "-other -c tr '\\0' ' ' < /proc/$$/cmdline ");
    }
}

#[test]
fn it_has_a_process_group_of_its_own_and_no_terminal() {
    let own = "open F, '/proc/self/stat'; my @f = split ' ', (split /\\) /, <F>)[1]; \
               print $f[2] == $$, ' ', open(T, '+<', '/dev/tty') ? 'tty' : 'none'";
    for session in [Session::new().expect("a session opens"), Session::portable()] {
        assert_eq!(run_in(&session, &perl(own)).out(), "1 none", "{session:?}");
    }
}

#[test]
fn many_at_once_do_not_hold_each_others_pipes() {
    let session = Session::new().expect("a session opens");
    std::thread::scope(|scope| {
        for thread in 0..50 {
            let session = &session;
            scope.spawn(move || {
                for round in 0..4 {
                    let mut spec = sh(&format!("cat; echo {thread} {round}; exit {thread}"));
                    spec.input = Input::Bytes(vec![b'x'; 100_000].into());
                    let run = run_in(session, &spec);
                    assert_eq!(&run.stdout[100_000..], format!("{thread} {round}\n").as_bytes());
                    assert_eq!((run.ended.ending, run.ended.pipe_held), (cycod_process::Ending::Exited(thread), false));
                }
            });
        }
    });
}
