//! A caller that waits for what panicked learns it at once.

use std::{thread, time::Duration};

use cycod_thread::{Thread, caught};

const SAID: &str = "this is a bug in cycod: oh no";

fn oh_no() {
    panic!("oh {}", "no");
}

#[test]
fn work_that_panics_is_an_error() {
    assert_eq!(caught(oh_no).unwrap_err().to_string(), SAID);
    assert_eq!(caught(|| 1), Ok(1));
}

#[test]
fn a_thread_that_panics_is_an_error_for_its_caller() {
    let name = Thread::named("shown").start(|| thread::current().name().map(str::to_owned)).unwrap().join();
    assert_eq!(name.unwrap().as_deref(), Some("shown"));
    assert_eq!(Thread::named("broken").start(oh_no).unwrap().join().unwrap_err().to_string(), SAID);
    Thread::named("broken").detach(oh_no).unwrap();
}

#[test]
fn a_scope_outlives_what_panics_in_it() {
    let mut number = 1;
    thread::scope(|scope| {
        Thread::named("unjoined").scoped(scope, oh_no).unwrap();
        let broken = Thread::named("joined").stack(64 << 10).scoped(scope, oh_no).unwrap();
        assert_eq!(broken.join().unwrap_err().to_string(), SAID);
        let counted = Thread::named("counting").scoped(scope, || number += 1).unwrap();
        assert_eq!(counted.join(), Ok(()));
    });
    assert_eq!(number, 2);
}

#[test]
fn an_answer_is_waited_for_as_long_as_somebody_wants() {
    let slow = Thread::named("slow").answer(|| thread::sleep(Duration::from_millis(200))).unwrap();
    assert_eq!(slow.wait_for(Duration::from_millis(1)), None);
    assert_eq!(slow.wait(), Ok(()));
    assert!(slow.wait().is_err(), "it is given once");
    let broken = Thread::named("broken").answer(oh_no).unwrap();
    assert_eq!(broken.wait_for(Duration::from_secs(60)).unwrap().unwrap_err().to_string(), SAID);
}

#[cfg(feature = "tokio")]
#[test]
fn a_task_that_panics_is_an_error_for_its_caller() {
    use cycod_thread::{blocking, detach_task, guarded, task, task_on};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert_eq!(task(async { oh_no() }).await.unwrap_err().to_string(), SAID);
        assert_eq!(task_on(&tokio::runtime::Handle::current(), async { 1 }).await, Ok(1));
        assert_eq!(blocking(oh_no).await.unwrap_err().to_string(), SAID);
        assert_eq!(guarded(async { oh_no() }).await.unwrap_err().to_string(), SAID);
        detach_task(async { oh_no() });
        let endless = task(std::future::pending::<()>());
        endless.abort();
        assert!(endless.await.unwrap_err().to_string().contains("stopped before its end"));
    });
}
