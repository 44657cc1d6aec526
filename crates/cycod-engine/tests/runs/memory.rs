//! What a run holds in memory when somebody else takes its bytes.

use std::{
    process::{Command, Stdio},
    sync::Arc,
};

use cycod_engine::{Event, Ignore, Nobody, RunReport, Sink, Surface};
use expect_test::{Expect, expect};

use crate::support::{Place, story};

/// Runs `t` and keeps at most `keep` bytes of each stream in the report.
fn run_keeping(place: &Place, keep: u64, sink: &mut dyn Sink) -> RunReport {
    let engine = place.engine();
    let plan = place.plan(&engine, &[]);
    let mut control = engine.control().expect("descriptors");
    control.keep = Some(keep);
    engine.run(engine.approve(plan, Surface::Person, &Nobody).expect("a person may"), &control, sink)
}

#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
fn check(tool: &str, keep: u64, expect: Expect) {
    let other = "description: d\nbash: printf from-other\n";
    expect.assert_eq(&story(&run_keeping(&Place::new(tool).tool("other", other), keep, &mut Ignore)));
}

#[test]
fn only_the_limit_of_the_step_cuts() {
    check(
        "description: d\nbash: printf 0123456789\n",
        4,
        expect![[r#"
            exit 0 output "0123"
              t ok 0 "0123"
        "#]],
    );
    check(
        "description: d\nsteps:\n  - {name: a, bash: 'printf 0123456789', output: {buffer-limit: 6}}\n",
        4,
        expect![[r#"
            exit 0 output "0123" truncated
              a ok 0 "0123"
        "#]],
    );
    check(
        "description: d\nsteps:\n  - {name: a, bash: 'printf 0123456789', output: {buffer-limit: 6, truncation: false}}\n",
        0,
        expect![[r#"
            exit 1 output "" truncated refused[output-too-large]
              a failed 1
        "#]],
    );
}

#[test]
fn what_others_use_is_held() {
    check(
        "description: d\nsteps:\n  - {name: a, bash: 'printf 0123456789'}\n  - {name: b, bash: 'printf x{a.output}'}\n",
        2,
        expect![[r#"
            exit 0 output "x0"
              a ok 0 "0123456789"
              b ok 0 "x0"
        "#]],
    );
    check(
        "description: d\nsteps:\n  - {name: a, use-tool: other}\n  - {name: b, bash: 'printf x >&2', run-condition: '{a.output} == from-other'}\n",
        0,
        expect![[r#"
            exit 0 output ""
              a ok 0 "from-other"
                other ok 0 "from-other"
              b ok 0
        "#]],
    );
    check(
        "description: d\nsteps:\n  - {name: a, use-tool: other}\n  - {name: b, bash: 'printf 012'}\n",
        3,
        expect![[r#"
            exit 0 output "012"
              a ok 0 "fro"
                other ok 0 "fro"
              b ok 0 "012"
        "#]],
    );
}

/// Bytes of our memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).expect("a number") << 10
}

const BYTES: u64 = 200_000_000;

#[test]
#[ignore = "a process of its own for `memory_stays_flat`"]
fn much_output() {
    struct Count {
        bytes: u64,
        most: u64,
    }
    impl Sink for Count {
        fn event(&mut self, event: &Event<'_>) {
            if let Event::Output { bytes, .. } = event {
                assert!(bytes.iter().all(|&byte| byte == b'x'));
                self.bytes += bytes.len() as u64;
                self.most = self.most.max(resident());
            }
        }
    }
    let place = Place::new(&format!(
        "description: d\nsteps:\n  - {{name: a, bash: \"head -c {BYTES} /dev/zero | tr '\\\\0' x\", output: {{buffer-limit: 1GB}}}}\n"
    ));
    let small = Place::new("description: d\nbash: echo x\n");
    run_keeping(&small, 0, &mut Ignore);
    let before = resident();
    let mut count = Count { bytes: 0, most: 0 };
    let report = run_keeping(&place, 64 << 10, &mut count);
    assert!(report.success && !report.truncated, "{}", story(&report));
    assert_eq!((count.bytes, report.output.len()), (BYTES, 64 << 10));
    let grown = count.most.max(resident()).saturating_sub(before);
    assert!(grown < 10_000_000, "grew by {grown} bytes");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "memory is measured in a process that does nothing else")]
fn memory_stays_flat() {
    let own = std::env::current_exe().expect("we are a file");
    let output = Command::new(own)
        .args(["--ignored", "--exact", "--nocapture", "memory::much_output"])
        .stdin(Stdio::null())
        .output()
        .expect("we start again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test has another name");
}

#[test]
fn a_pool_serves_the_runs_of_an_engine() {
    let place = Place::new("description: d\nbash: echo hello\n");
    let pool = Arc::new(cycod_process::Pool::new(cycod_process::PoolSize::default()).expect("descriptors"));
    let engine = place.builder().shells(Arc::clone(&pool)).build();
    crate::support::eventually("a prepared shell is used", || {
        let plan = place.plan(&engine, &[]);
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        let report = engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore);
        assert_eq!(report.output, b"hello\n");
        pool.served() > 0
    });
}
