use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cycod_process::{Program, Session, Spec, Stop};

use crate::support::*;

#[track_caller]
fn check(program: &Program, expect: &str) {
    check_on(&[Session::new().expect("a session opens"), Session::portable()], program, expect);
}

#[track_caller]
fn check_on(sessions: &[Session], program: &Program, expect: &str) {
    for session in sessions {
        let error = try_run(session, &Spec::new(program.clone()), &Stop::new().expect("descriptors are left"))
            .expect_err("the program does not start");
        let text = match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        assert_eq!(text, expect);
    }
}

fn file(directory: &Path, name: &str, mode: u32, text: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, text).expect("the directory is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the file is ours");
    path.to_str().expect("the name is text").to_owned()
}

#[test]
fn failures_to_start_name_what_failed() {
    let directory = tempfile::tempdir().expect("temporary files work");
    let plain = file(directory.path(), "plain", 0o644, "echo hi\n");
    let orphan = file(directory.path(), "orphan", 0o755, "#!/no/such/interpreter -x\n");
    let garbage = file(directory.path(), "garbage", 0o755, "\x7fELF rubbish\n");
    check(
        &Program::new("/no/such/program", "/"),
        "cannot execute `/no/such/program`: No such file or directory (os error 2)",
    );
    check(&Program::new(&plain, "/"), &format!("cannot execute `{plain}`: Permission denied (os error 13)"));
    check(
        &Program::new(&orphan, "/"),
        &format!(
            "cannot start `{orphan}`: its interpreter `/no/such/interpreter` cannot be executed: No such file or directory (os error 2)"
        ),
    );
    // A statically linked standard library gives what no kernel takes to a shell; only the warden is free of that.
    let sessions = [Session::new().expect("a session opens")];
    check_on(
        &sessions,
        &Program::new(&garbage, "/"),
        &format!("cannot execute `{garbage}`: Exec format error (os error 8)"),
    );
    check(
        &Program::new("/bin/sh", "/no/such/place"),
        "cannot enter directory `/no/such/place` to start `/bin/sh`: No such file or directory (os error 2)",
    );
}

#[test]
fn a_start_that_failed_leaves_the_session_usable() {
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    for _ in 0..20 {
        assert!(
            try_run(&session, &Spec::new(Program::new("/no/such", "/")), &stop)
                .is_err_and(|error| error.is_program_missing())
        );
        assert_eq!(run_in(&session, &sh("echo fine")).out(), "fine\n");
    }
}

#[test]
fn nul_bytes_are_refused_by_name() {
    let plain = || program("echo", &[]);
    for (program, what) in [
        (plain().arg("a\0b"), "an argument of `/"),
        (plain().env("A", "\0"), "the environment of `/"),
        (Program::new("/bin/\0sh", "/"), "the path of `/"),
        (Program::new("/bin/sh", "/\0"), "the directory of `/"),
    ] {
        for session in [Session::new().expect("a session opens"), Session::portable()] {
            let error = try_run(&session, &Spec::new(program.clone()), &Stop::new().expect("descriptors are left"))
                .expect_err("NUL has no place");
            assert!(error.to_string().starts_with(what) && error.to_string().ends_with("holds a NUL byte"), "{error}");
        }
    }
}

#[test]
fn too_many_arguments_are_an_error_of_their_own() {
    let session = Session::new().expect("a session opens");
    let spec = Spec::new(program("echo", &[]).arg("x".repeat(200_000)));
    let error =
        try_run(&session, &spec, &Stop::new().expect("descriptors are left")).expect_err("an argument ends at 128 KiB");
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("Argument list too long (os error 7)"));
}
