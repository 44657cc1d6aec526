use cycod_analysis::Totals;
use expect_test::{Expect, expect};

use crate::support::examined;

fn check(path: &str, text: &str, expect: &Expect) {
    let metrics = examined(path, text).metrics.expect("a language that is measured");
    let Totals { lines, code, comments, blank, functions, cyclomatic, cognitive, .. } = metrics.totals;
    let mut said = format!(
        "{}: {lines} lines, {code} code, {comments} comments, {blank} blank; {functions} functions, {cyclomatic} cyclomatic, {cognitive} cognitive\n",
        metrics.language.name()
    );
    for function in &metrics.functions {
        said.push_str(&format!(
            "  {}: {} lines {}, {} arguments, {} cyclomatic, {} cognitive\n",
            function.line,
            function.name.as_deref().unwrap_or("-"),
            function.lines,
            function.arguments,
            function.cyclomatic,
            function.cognitive
        ));
    }
    assert!(metrics.is_sound, "{path} parses");
    assert!(metrics.maintainability.is_some_and(|index| (0.0..=100.0).contains(&index)));
    expect.assert_eq(&said);
}

#[test]
fn every_language_is_measured() {
    check(
        "a.rs",
        "// A comment.\nfn f(a: i32, b: i32) -> i32 {\n    if a > b && b > 0 { a } else { b }\n}\n\nfn g() {}\n",
        &expect![[r#"
        Rust: 6 lines, 4 code, 1 comments, 1 blank; 2 functions, 5 cyclomatic, 3 cognitive
          2: f lines 3, 2 arguments, 3 cyclomatic, 3 cognitive
          6: g lines 1, 0 arguments, 1 cyclomatic, 0 cognitive
    "#]],
    );
    check(
        "a.py",
        "# A comment.\ndef f(a, b):\n    for x in a:\n        if x and b:\n            return x\n\nclass C:\n    def m(self): pass\n",
        &expect![[r#"
        Python: 8 lines, 6 code, 1 comments, 1 blank; 2 functions, 7 cyclomatic, 4 cognitive
          2: f lines 4, 2 arguments, 4 cyclomatic, 4 cognitive
          8: m lines 1, 1 arguments, 1 cyclomatic, 0 cognitive
    "#]],
    );
    check(
        "a.ts",
        "// A comment.\nfunction f(a: number, b?: string): number {\n  return a ? 1 : (() => 2)();\n}\n",
        &expect![[r#"
        TypeScript: 4 lines, 3 code, 1 comments, 0 blank; 2 functions, 4 cyclomatic, 1 cognitive
          2: f lines 3, 2 arguments, 2 cyclomatic, 1 cognitive
          3: - lines 1, 0 arguments, 1 cyclomatic, 0 cognitive
    "#]],
    );
    check(
        "a.tsx",
        "export const F = (p: { a: number }) => p.a ? <b>1</b> : null;\n",
        &expect![[r#"
        TypeScript: 1 lines, 1 code, 0 comments, 0 blank; 1 functions, 3 cyclomatic, 2 cognitive
          1: F lines 1, 1 arguments, 2 cyclomatic, 2 cognitive
    "#]],
    );
    check(
        "a.js",
        "/* A\n comment. */\nfunction f(a) { while (a) { if (a) break; } }\n",
        &expect![[r#"
        JavaScript: 3 lines, 1 code, 2 comments, 0 blank; 1 functions, 4 cyclomatic, 3 cognitive
          3: f lines 1, 1 arguments, 3 cyclomatic, 3 cognitive
    "#]],
    );
    check(
        "a.c",
        "/* A comment. */\nint f(int a, char *b) {\n  switch (a) { case 1: return 1; case 2: return 2; default: return 0; }\n}\n",
        &expect![[r#"
        C: 4 lines, 3 code, 1 comments, 0 blank; 1 functions, 4 cyclomatic, 1 cognitive
          2: f lines 3, 2 arguments, 3 cyclomatic, 1 cognitive
    "#]],
    );
    check(
        "a.cpp",
        "class A {\npublic:\n  int f(int a) { return a ? 1 : 2; }\n};\n",
        &expect![[r#"
        C++: 4 lines, 4 code, 0 comments, 0 blank; 1 functions, 4 cyclomatic, 1 cognitive
          3: f lines 1, 1 arguments, 2 cyclomatic, 1 cognitive
    "#]],
    );
    check(
        "a.go",
        "package main\n\n// A comment.\nfunc f(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}\n",
        &expect![[r#"
        Go: 9 lines, 7 code, 1 comments, 1 blank; 1 functions, 3 cyclomatic, 1 cognitive
          4: f lines 6, 2 arguments, 2 cyclomatic, 1 cognitive
    "#]],
    );
    check(
        "A.java",
        "class A {\n  int f(int a) { for (;;) { if (a > 0) return 1; } }\n}\n",
        &expect![[r#"
        Java: 3 lines, 3 code, 0 comments, 0 blank; 1 functions, 5 cyclomatic, 3 cognitive
          2: f lines 1, 1 arguments, 3 cyclomatic, 3 cognitive
    "#]],
    );
    check(
        "a.sh",
        "#!/bin/sh\n# A comment.\nf() {\n  if [ -n \"$1\" ]; then echo \"$1\"; fi\n}\n",
        &expect![[r#"
        Bash: 5 lines, 3 code, 2 comments, 0 blank; 1 functions, 3 cyclomatic, 1 cognitive
          3: f lines 3, 0 arguments, 2 cyclomatic, 1 cognitive
    "#]],
    );
}

#[test]
fn what_cannot_be_parsed_is_measured_in_part() {
    let metrics = examined("a.rs", "fn f() {}\nfn g( {{{\n").metrics.expect("it is measured");
    assert!(!metrics.is_sound);
    assert_eq!(metrics.totals.files, 1);
}

#[test]
fn a_file_without_code_has_no_maintainability() {
    for text in ["", "\n\n", "// Nothing.\n"] {
        let metrics = examined("a.rs", text).metrics.expect("it is measured");
        assert_eq!((metrics.maintainability, metrics.totals.functions), (None, 0), "{text:?}");
    }
}

#[test]
fn a_function_that_is_too_complex_is_named() {
    let mut text = String::from("def f(a, b, c, d, e, g, h, i):\n");
    for level in 0..8 {
        text.push_str(&format!("{}if a:\n", "    ".repeat(level + 1)));
    }
    text.push_str(&format!("{}pass\n", "    ".repeat(9)));
    crate::support::check(
        "a.py",
        &text,
        &expect![[r#"
        1:1 warning[complex-function] `f` is too complex: cognitive complexity 36 (of 25), cyclomatic 9 (of 30)
        1:1 info[many-arguments] `f` takes 8 arguments (of 8)
    "#]],
    );
}
