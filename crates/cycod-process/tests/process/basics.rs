use crate::support::*;
use cycod_process::Ending;

#[test]
fn hello() {
    let run = run(&sh("echo hi; echo err >&2; exit 7"));
    assert_eq!((run.out(), run.err(), run.ended.ending), ("hi\n", "err\n", Ending::Exited(7)));
}
