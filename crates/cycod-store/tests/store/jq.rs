use std::{ffi::OsString, io::stdout, path::Path, process::Child};

use cycod_store::{
    StoreError, StoredOutput,
    jq::{JqAnswer, JqJob, LARGEST, work},
    tokens,
};
use expect_test::{Expect, expect};

use crate::{child, id, store};

const BETWEEN: char = '\u{1f}';
const MARK: &str = "ANSWER ";

/// Asks in a process of its own, as callers do.
fn ask(kept: &mut StoredOutput, program: &str, from: u64, cap: usize) -> Result<JqAnswer, StoreError> {
    let job = kept.jq(program, from, cap)?;
    read(start(&job))
}

fn start(job: &JqJob) -> Child {
    let args: Vec<&str> = job.args().iter().map(|arg| arg.to_str().unwrap()).collect();
    child::start("jq", Path::new(&args.join(&BETWEEN.to_string())))
}

fn read(child: Child) -> Result<JqAnswer, StoreError> {
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answer = said.split_once(MARK).and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(answer, _)| answer);
    JqAnswer::read(answer.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "the worker writes to what it is given")]
pub(crate) fn answer(args: &Path) {
    let args: Vec<OsString> = args.to_str().unwrap().split(BETWEEN).map(OsString::from).collect();
    print!("\n{MARK}");
    work(&args, &mut stdout()).unwrap();
    println!();
}

#[track_caller]
fn check(input: &str, program: &str, expected: &Expect) {
    let store = store();
    let answer = ask(&mut store.keep(input.as_bytes(), 1 << 20), program, 0, 100).unwrap();
    let error = answer.error.map_or(String::new(), |error| format!("error: {error}\n"));
    expected.assert_eq(&format!("{}{error}", answer.text));
}

#[test]
fn answers_about_one_value_and_about_many() {
    check(
        r#"{"items":[{"id":1,"ok":true},{"id":2,"ok":false}]}"#,
        ".items[] | select(.ok) | .id",
        &expect![[r#"
        1
    "#]],
    );
    check(
        "{\"n\":1}\n{\"n\":2}\n",
        ".n + 1",
        &expect![[r#"
        2
        3
    "#]],
    );
    check(
        r#"["b","a",10000000000000000000001]"#,
        "sort | @json, length",
        &expect![[r#"
        "[10000000000000000000001,\"a\",\"b\"]"
        3
    "#]],
    );
}

#[test]
fn says_what_is_wrong() {
    check(
        "[1]",
        ".[0] | .a",
        &expect![[r#"
        error: cannot index 1 with "a"
    "#]],
    );
    check(
        "[1]",
        ".[",
        &expect![[r#"
            error: the program cannot be read: expected closing bracket, found the end at byte 2
        "#]],
    );
    check(
        "[1]",
        "nosuch(1)",
        &expect![[r#"
        error: there is no filter `nosuch`
    "#]],
    );
    check(
        "1 2 {",
        ".",
        &expect![[r#"
            1
            2
            error: the output is not JSON: byte offset 5: value or end of sequence expected
        "#]],
    );
}

#[test]
fn sees_nothing_but_its_input() {
    check(
        "null",
        "env",
        &expect![[r#"
        error: there is no filter `env`
    "#]],
    );
    check(
        "null",
        "$ENV",
        &expect![[r#"
        error: there is no variable `$ENV`
    "#]],
    );
    check(
        "null",
        r#"import "/etc/passwd" as p; ."#,
        &expect![[r#"
        error: module loading not supported
    "#]],
    );
}

#[test]
fn answers_follow_each_other() {
    let store = store();
    let mut kept = store.keep("[\"é\", \"😀\", 123456789]".repeat(5).as_bytes(), 0);
    let (mut text, mut from) = (String::new(), Some(0));
    while let Some(at) = from {
        let answer = ask(&mut kept, ".[]", at, 3).unwrap();
        assert!(tokens(&answer.text) <= 3 && !answer.text.is_empty());
        text += &answer.text;
        from = answer.next;
    }
    assert_eq!(text, "\"é\"\n\"😀\"\n123456789\n".repeat(5));
}

/// Elsewhere the limits are those of who starts the process.
#[test]
#[cfg(unix)]
fn nothing_a_program_does_goes_beyond_its_process() {
    let store = store();
    let mut kept = store.keep(b"1", 0);
    let endless = [
        r#""x" * 1000000000000"#,                      // memory at once
        "reduce range(60) as $i (1; [., .]) | tojson", // a little memory that becomes a long text
        "def f: 1 + f; f",                             // stack
        "last(range(1e15))",                           // time
    ];
    let children: Vec<Child> = endless.iter().map(|program| start(&kept.jq(program, 0, 100).unwrap())).collect();
    for (program, child) in endless.iter().zip(children) {
        let answer = read(child);
        assert!(matches!(answer, Err(StoreError::JqStopped)), "{program}: {answer:?}");
    }
    assert_eq!(ask(&mut kept, "def f: ., f; f", 0, 2).unwrap().text, "1\n1\n1\n1\n");
}

#[test]
fn too_large_or_not_text_is_refused() {
    let store = store();
    assert!(matches!(store.keep(b"\xff", 10).jq(".", 0, 1), Err(StoreError::NotForJq { .. })));
    let mut spool = store.outputs.spool(id("stdout"), crate::maker(), 0);
    let piece = vec![b' '; 1 << 20];
    for _ in 0..=LARGEST >> 20 {
        spool.write(&piece).unwrap();
    }
    let refused = spool.finish().unwrap().jq(".", 0, 1).unwrap_err();
    expect!["jq reads JSON text up to 67108864 bytes, this output has 68,157,440 bytes; use `search` or `slice` to take a part"]
        .assert_eq(&refused.to_string());
}
