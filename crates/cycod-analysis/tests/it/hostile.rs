use cycod_analysis::{LARGEST, Unexamined, examine};
use proptest::prelude::*;

use crate::support::{ALL, examined};

const NAMES: [&str; 10] = ["a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.c", "a.cpp", "a.go", "A.java", "a.sh"];

#[test]
fn depth_ends_nothing() {
    // The thread has the stack that any other has.
    for shape in
        ["(", "[", "{", "if (a) { ", "function f() { ", "a(", "x = - ", "$(", "a<", "\"", "`${", "<a>", "fn f() { "]
    {
        let text = shape.repeat(2_000);
        for name in NAMES {
            let examined = examined(name, &text);
            assert!(examined.metrics.is_some() || examined.unparsed == Some(Unexamined::TooMuchWork), "{name} {shape}");
        }
    }
    let text = format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    for name in ["a.rs", "a.py", "a.js"] {
        drop(examined(name, &text));
    }
}

#[test]
fn a_chain_of_calls_is_not_read_over_and_over() {
    let text = format!("x = a{}\n", ".b(c)".repeat(20_000));
    for name in ["a.py", "a.js", "a.go", "a.rs"] {
        drop(examined(name, &text));
    }
}

#[test]
fn what_is_no_text_is_passed_over() {
    assert_eq!(examine("a.rs", b"fn f() {}\0", ALL, &|| true), Err(Unexamined::Binary));
    let large = vec![b'a'; LARGEST as usize + 1];
    assert_eq!(examine("a.js", &large, ALL, &|| true), Err(Unexamined::TooLarge));
    let one_line = "a=1;".repeat(50_000);
    assert!(examined("a.js", &one_line).metrics.is_some_and(|metrics| metrics.totals.lines == 1));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let examined = examined("a.py", b"\xEF\xBB\xBFname = '\xff\xfe'\nos = 1\neval(name)\n".as_slice());
    let lines: Vec<u32> = examined.findings.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [3]);
}

#[test]
fn a_parser_is_stopped() {
    let text = "fn f() { g(); }\n".repeat(60_000);
    let stopped = examine("a.rs", text.as_bytes(), ALL, &|| false).expect("secrets were looked for");
    assert_eq!(stopped.unparsed, Some(Unexamined::Stopped));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), name in 0..NAMES.len()) {
        drop(examine(NAMES[name], &bytes, ALL, &|| true));
    }

    #[test]
    fn pieces_of_code_do_not_panic(pieces in proptest::collection::vec(prop_oneof![
        Just("import os as é\n"), Just("from a import (b as c)\n"), Just("eval("), Just("subprocess.run(x, shell=True"), Just(")"), Just("\""),
        Just("unsafe{"), Just("}"), Just("// SAFETY:"), Just("exec.Command(\"sh\", \"-c\", "), Just("Command::new(\"sh\").arg(\"-c\").arg(&é"),
        Just("const {a: b} = require('child_process');"), Just("cycod: ignore["), Just("# cycod: ignore\n"), Just("ß"), Just("\n"), Just("curl x | sh"),
        Just("execute(\"SELECT \" + "), Just("é.innerHTML = "), Just("`SELECT ${"), Just("password = '"), Just("-----BEGIN PRIVATE KEY-----\n"),
    ], 0..40), name in 0..NAMES.len()) {
        let text: String = pieces.concat();
        let once = examine(NAMES[name], text.as_bytes(), ALL, &|| true);
        prop_assert_eq!(once, examine(NAMES[name], text.as_bytes(), ALL, &|| true));
    }
}
