//! YAML as trees with places, and each mistake with its message.

use std::fmt::Write as _;

use cycod_diagnostic::{Diagnostic, Severity, SourceFile, apply_fixes};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// One line per value: what it is, and the source its span covers.
fn dump(text: &str, node: &Node, level: usize, out: &mut String) {
    let covered = &text[node.span.start as usize..node.span.end as usize];
    let pad = "  ".repeat(level);
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            let _ = write!(out, "{:?}", scalar.text);
            match scalar.resolve() {
                Resolved::Text => {}
                other => write!(out, " {other:?}").expect("a string takes all"),
            }
            if covered != scalar.text {
                let _ = write!(out, " <- {covered:?}");
            }
            out.push('\n');
        }
        NodeKind::Sequence(items) => {
            let _ = writeln!(out, "seq <- {covered:?}");
            for item in items {
                let _ = write!(out, "{pad}- ");
                dump(text, item, level + 1, out);
            }
        }
        NodeKind::Mapping(entries) => {
            let _ = writeln!(out, "map <- {covered:?}");
            for entry in entries {
                let key = &text[entry.key_span.start as usize..entry.key_span.end as usize];
                let _ =
                    write!(out, "{pad}{}{}: ", entry.key, if key == entry.key { "" } else { " (written otherwise)" });
                dump(text, &entry.value, level + 1, out);
            }
        }
    }
}

fn describe(source: &SourceFile, diagnostics: &[Diagnostic], out: &mut String) {
    for diagnostic in diagnostics {
        let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
        let span = diagnostic.span().unwrap_or_default();
        let place = source.position(span.start);
        let covered = source.text.get(span.start as usize..span.end as usize);
        let _ = writeln!(
            out,
            "{}:{} {severity}[{}] {}: {:?}",
            place.line,
            place.column,
            diagnostic.code.name(),
            diagnostic.message,
            covered.unwrap_or("OUT OF BOUNDS")
        );
        for label in &diagnostic.labels[1..] {
            let place = source.position(label.span.start);
            let _ = writeln!(out, "    {}:{} {}", place.line, place.column, label.text);
        }
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(out, "    help: {help}");
        }
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table of literals reads better")]
fn check(text: &str, expect: Expect) {
    let source = SourceFile::new("a.yaml", text);
    let (tree, diagnostics) = parse(&source);
    let mut out = String::new();
    if let Some(tree) = &tree {
        dump(text, tree, 0, &mut out);
        let mut broken = Vec::new();
        check_origins(text, tree, &mut broken);
        assert!(broken.is_empty(), "{broken:?}");
    }
    describe(&source, &diagnostics, &mut out);
    expect.assert_eq(&out);
}

/// Every character of a scalar that is written as itself must be found where it was written.
fn check_origins(text: &str, node: &Node, broken: &mut Vec<String>) {
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            let mut last = 0;
            for (offset, character) in scalar.text.char_indices() {
                let at = scalar.origin(offset);
                let found = text.get(at as usize..).and_then(|rest| rest.chars().next());
                let escaped = scalar.style == ScalarStyle::DoubleQuoted && found == Some('\\');
                // Between folded lines blanks are the break that was there, somewhere; or what looks like one was written.
                let folded = matches!(character, ' ' | '\t' | '\n')
                    && found.is_none_or(|found| found.is_whitespace() || found == '\u{feff}');
                if found != Some(character) && !escaped && !folded || at < last {
                    broken.push(format!(
                        "{character:?} at {offset} of {:?} is said to stand at {at}, where {found:?} is",
                        scalar.text
                    ));
                }
                last = at;
            }
        }
        NodeKind::Sequence(items) => items.iter().for_each(|item| check_origins(text, item, broken)),
        NodeKind::Mapping(entries) => entries.iter().for_each(|entry| check_origins(text, &entry.value, broken)),
    }
}

#[test]
fn values_know_their_bytes() {
    check(
        "name: a\nlist: [1, x]\nmap:\n  k: v\n  seq:\n  - a\n  - b: c\n# end\nempty:\nlast: ~\n",
        expect![[r#"
        map <- "name: a\nlist: [1, x]\nmap:\n  k: v\n  seq:\n  - a\n  - b: c\n# end\nempty:\nlast: ~"
        name: "a"
        list: seq <- "[1, x]"
          - "1" Integer(1)
          - "x"
        map: map <- "k: v\n  seq:\n  - a\n  - b: c"
          k: "v"
          seq: seq <- "- a\n  - b: c"
            - "a"
            - map <- "b: c"
              b: "c"
        empty: "" Null
        last: "~" Null
    "#]],
    );
    check(
        "\"quoted key\": 'it''s'\ndouble: \"a\\tb\\u00e9\\x41 \\\n   c\"\n",
        expect![[r#"
        map <- "\"quoted key\": 'it''s'\ndouble: \"a\\tb\\u00e9\\x41 \\\n   c\""
        quoted key (written otherwise): "it's" <- "'it''s'"
        double: "a\tbéA c" <- "\"a\\tb\\u00e9\\x41 \\\n   c\""
    "#]],
    );
    check(
        "\u{feff}a: b\r\nc: |\r\n  x\r\n  y\r\nd: e\r\n",
        expect![[r#"
        map <- "a: b\r\nc: |\r\n  x\r\n  y\r\nd: e"
        a: "b"
        c: "x\ny\n" <- "|\r\n  x\r\n  y"
        d: "e"
    "#]],
    );
}

#[test]
fn block_scalars() {
    check(
        "a: |\n  one\n    two\n\n  three\n\n# comment\nb: >-\n  folded\n  text\n\n  more\n   deeper\n  back\nc: |+2 # note | here\n    x\n\nd: |\ne: >\n\n  late\n",
        expect![[r#"
        map <- "a: |\n  one\n    two\n\n  three\n\n# comment\nb: >-\n  folded\n  text\n\n  more\n   deeper\n  back\nc: |+2 # note | here\n    x\n\nd: |\ne: >\n\n  late"
        a: "one\n  two\n\nthree\n" <- "|\n  one\n    two\n\n  three"
        b: "folded text\nmore\n deeper\nback" <- ">-\n  folded\n  text\n\n  more\n   deeper\n  back"
        c: "  x\n\n" <- "|+2 # note | here\n    x"
        d: "" <- "|"
        e: "\nlate\n" <- ">\n\n  late"
    "#]],
    );
    check(
        "- |\n  item\n- &x >\n  anchored\n- *x\n- - |-\n    nested\n",
        expect![[r#"
        seq <- "- |\n  item\n- &x >\n  anchored\n- *x\n- - |-\n    nested"
        - "item\n" <- "|\n  item"
        - "anchored\n" <- ">\n  anchored"
        - "anchored\n" <- "*x"
        - seq <- "- |-\n    nested"
          - "nested" <- "|-\n    nested"
    "#]],
    );
    check(
        "a: # comment with | and >\n  |\n  x\n",
        expect![[r#"
        map <- "a: # comment with | and >\n  |\n  x"
        a: "x\n" <- "|\n  x"
    "#]],
    );
}

#[test]
fn plain_scalars_over_lines() {
    check(
        "a: one\n  two\n\n  three\nb: 'x\n  y'\nc: \"x  \n\n  y\\n\n  z\"\n",
        expect![[r#"
        map <- "a: one\n  two\n\n  three\nb: 'x\n  y'\nc: \"x  \n\n  y\\n\n  z\""
        a: "one two\nthree" <- "one\n  two\n\n  three"
        b: "x y" <- "'x\n  y'"
        c: "x\ny\n z" <- "\"x  \n\n  y\\n\n  z\""
    "#]],
    );
}

#[test]
fn core_schema() {
    check(
        "on: yes\nversion: 1.0\ncount: 0x1F\nbig: 99999999999999999999\nt: !!str 5\nn: null\nb: true\nf: !!float 1.5\n",
        expect![[r#"
        map <- "on: yes\nversion: 1.0\ncount: 0x1F\nbig: 99999999999999999999\nt: !!str 5\nn: null\nb: true\nf: !!float 1.5"
        on: "yes"
        version: "1.0" Float(1.0)
        count: "0x1F" Integer(31)
        big: "99999999999999999999" BigInteger
        t: "5"
        n: "null" Null
        b: "true" Bool(true)
        f: "1.5" Float(1.5)
    "#]],
    );
}

#[test]
fn duplicate_keys() {
    check(
        "a: 1\nb: 2\na: 3\n",
        expect![[r#"
        map <- "a: 1\nb: 2"
        a: "1" Integer(1)
        b: "2" Integer(2)
        3:1 error[duplicate-key] the key `a` is given twice: "a"
            1:1 first given here
    "#]],
    );
    check(
        "f:\n  x: 1\n  in: {a: 1}\ng: 1\nf:\n  y: 2\n  x: 1\n  in: {b: 2}\n",
        expect![[r#"
        map <- "f:\n  x: 1\n  in: {a: 1}\ng: 1"
        f: map <- "x: 1\n  in: {a: 1}"
          x: "1" Integer(1)
          in: map <- "{a: 1}"
            a: "1" Integer(1)
            b: "2" Integer(2)
          y: "2" Integer(2)
        g: "1" Integer(1)
        5:1 warning[duplicate-key-merged] the key `f` is given twice; its entries are merged: "f"
            1:1 first given here
            help: write the entries under one key
    "#]],
    );
    check(
        "f: {x: 1}\nf: {x: 2}\n",
        expect![[r#"
        map <- "f: {x: 1}"
        f: map <- "{x: 1}"
          x: "1" Integer(1)
        2:1 error[duplicate-key] the key `f` is given twice: "f"
            1:1 first given here
    "#]],
    );
    check(
        "f: {x: 1}\nf: {y: 1}\nf: 3\n",
        expect![[r#"
        map <- "f: {x: 1}"
        f: map <- "{x: 1}"
          x: "1" Integer(1)
          y: "1" Integer(1)
        2:1 warning[duplicate-key-merged] the key `f` is given twice; its entries are merged: "f"
            1:1 first given here
            help: write the entries under one key
        3:1 error[duplicate-key] the key `f` is given twice: "f"
            1:1 first given here
    "#]],
    );
}

#[test]
fn aliases() {
    check(
        "base: &b {x: 1}\nuse: *b\nname: &n text\n*n : v\n",
        expect![[r#"
        map <- "base: &b {x: 1}\nuse: *b\nname: &n text\n*n : v"
        base: map <- "{x: 1}"
          x: "1" Integer(1)
        use: map <- "*b"
          x: "1" Integer(1)
        name: "text"
        text (written otherwise): "v"
    "#]],
    );
    check(
        "a: *nope\n",
        expect![[r#"
        map <- "a: *nope"
        a: "" Null <- "*nope"
        1:4 error[unknown-anchor] no anchor `&nope` before this alias: "*nope"
            help: put the value in quotes if the `*` belongs to it
    "#]],
    );
    check(
        "a: &a [*a]\n",
        expect![[r#"
        map <- "a: &a [*a]"
        a: seq <- "[*a]"
          - "" Null <- "*a"
        1:8 error[unknown-anchor] this alias stands inside of what it names: "*a"
    "#]],
    );
    check(
        "<<: {a: 1}\nb: 1\n",
        expect![[r#"
        map <- "<<: {a: 1}\nb: 1"
        b: "1" Integer(1)
        1:1 error[merge-key] merge keys (`<<`) are not supported: "<<"
            help: write the keys out, or name the whole mapping with an alias
    "#]],
    );
}

#[test]
fn refused_structure() {
    check(
        "? [a, b]\n: c\n{x: y}: z\nok: 1\n: none\n",
        expect![[r#"
        map <- "? [a, b]\n: c\n{x: y}: z\nok: 1"
        ok: "1" Integer(1)
        1:3 error[complex-key] a key must be a single word or text: "[a, b]"
            help: put the key in quotes if the brackets belong to it
        3:1 error[complex-key] a key must be a single word or text: "{x: y}"
            help: put the key in quotes if the brackets belong to it
        5:1 error[complex-key] a key is empty: ""
    "#]],
    );
    check(
        "a: !custom x\nb: !!int text\nc: !!map [x]\n",
        expect![[r#"
        map <- "a: !custom x\nb: !!int text\nc: !!map [x]"
        a: "x"
        b: "text"
        c: seq <- "[x]"
          - "x"
        1:4 error[yaml-tag] the tag `!custom` has no meaning here: "!custom"
            help: put the value in quotes if the `!` belongs to it
        2:4 error[yaml-tag] the tag `!!int` does not fit its value, which is not `int`: "!!int"
            help: put the value in quotes if the `!` belongs to it
        3:4 error[yaml-tag] the tag `!!map` does not fit its value, which is not `map`: "!!map"
            help: put the value in quotes if the `!` belongs to it
    "#]],
    );
    check(
        "a: 1\n---\nb: 2\n",
        expect![[r#"
        map <- "a: 1"
        a: "1" Integer(1)
        2:1 error[second-document] a second document starts here: "---"
            help: put each tool in a file of its own
    "#]],
    );
    check(
        "a: 1\n...\n",
        expect![[r#"
        map <- "a: 1"
        a: "1" Integer(1)
    "#]],
    );
    check(
        "",
        expect![[r#"
        1:1 error[empty-file] the file is empty: ""
    "#]],
    );
    check(
        "# nothing\n",
        expect![[r#"
        1:1 error[empty-file] the file is empty: ""
    "#]],
    );
    check(
        "%YAML 1.1\n---\na: 1\n",
        expect![[r#"
        1:1 error[yaml-syntax] a directive (`%` at the start of a line) is not supported: "%"
            help: delete it; files are read as YAML 1.2
    "#]],
    );
}

#[test]
fn syntax_errors() {
    check(
        "a:\n\tb: 1\n",
        expect![[r#"
            map <- "a:\n\tb: 1"
            a: map <- "b: 1"
              b: "1" Integer(1)
            2:1 error[yaml-syntax] a tab where YAML allows only spaces: "\t"
                help: indent with spaces
        "#]],
    );
    check(
        "a: [1, 2\nb: 3\n",
        expect![[r#"
        1:4 error[yaml-syntax] this `[` is not closed: "["
            2:2 what follows does not fit into it
            help: add the missing bracket, or quote the value
    "#]],
    );
    check(
        "a: 'open\nb: 3\n",
        expect![[r#"
        1:4 error[yaml-syntax] this quote is never closed: "'"
            help: add the closing quote, or quote the value in the other kind
    "#]],
    );
    check(
        "a: \"x\\d\"\n",
        expect![[r#"
        1:6 error[yaml-syntax] unknown escape in a double-quoted text: "\\d"
            help: write `\\` for a backslash, or use single quotes, where a backslash is itself
    "#]],
    );
    check(
        "a: b: c\n",
        expect![[r#"
        1:5 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
    "#]],
    );
    check(
        "steps:\n- a\n  b\nx\n",
        expect![[r#"
        4:1 error[yaml-syntax] expected `key: value` here: "x"
            help: check the indentation, and that a space follows the `:`
    "#]],
    );
    check(
        "a: @x\n",
        expect![[r#"
        1:4 error[yaml-syntax] a plain value cannot start with `@`: "@"
            help: put the value in quotes
    "#]],
    );
    check(
        "a: 'x' y\n",
        expect![[r#"
        1:8 error[yaml-syntax] text after the closing quote: "y"
            help: put the whole value in quotes of the other kind, or write it as a block after `|`
    "#]],
    );
    check(
        "a:\n    b: 1\n  c: 2\n",
        expect![[r#"
        3:3 error[yaml-syntax] expected `key: value` here: "c: 2"
            help: check the indentation, and that a space follows the `:`
    "#]],
    );
    check(
        "a: b\n c: d\n",
        expect![[r#"
        2:3 error[yaml-syntax] a `:` in a value that began on an earlier line: ":"
            1:4 began here
            help: check the indentation, and that each key is followed by `: `
    "#]],
    );
    check(
        "key value\nother: 1\n",
        expect![[r#"
        2:6 error[yaml-syntax] a `:` in a value that began on an earlier line: ":"
            1:1 began here
            help: check the indentation, and that each key is followed by `: `
    "#]],
    );
    check(
        "a: ]\n",
        expect![[r#"
        1:4 error[yaml-syntax] a closing bracket with nothing to close: "]"
            help: put the value in quotes if the bracket belongs to it
    "#]],
    );
    check(
        "a: [1}\n",
        expect![[r#"
        1:4 error[yaml-syntax] `}` closes what `[` opened: "["
    "#]],
    );
}

#[test]
fn commands_without_quotes() {
    check(
        "name: x\nsteps:\n  - bash: echo 'a' | jq '{author: .b}'   # note\n    run-condition: ok\n  - name: y\n    run: \"{X}\" --flag\n  - script: [ -f x ] && y\n",
        expect![[r#"
        map <- "name: x\nsteps:\n  - bash: echo 'a' | jq '{author: .b}'   # note\n    run-condition: ok\n  - name: y\n    run: \"{X}\" --flag\n  - script: [ -f x ] && y"
        name: "x"
        steps: seq <- "- bash: echo 'a' | jq '{author: .b}'   # note\n    run-condition: ok\n  - name: y\n    run: \"{X}\" --flag\n  - script: [ -f x ] && y"
          - map <- "bash: echo 'a' | jq '{author: .b}'   # note\n    run-condition: ok"
            bash: "echo 'a' | jq '{author: .b}'"
            run-condition: "ok"
          - map <- "name: y\n    run: \"{X}\" --flag"
            name: "y"
            run: "\"{X}\" --flag"
          - map <- "script: [ -f x ] && y"
            script: "[ -f x ] && y"
        3:11 warning[unquoted-command] the value of `bash` must be quoted, because `: ` in it would start another value: "echo 'a' | jq '{author: .b}'"
        6:10 warning[unquoted-command] the value of `run` must be quoted, because it continues after the closing quote: "\"{X}\" --flag"
        7:13 warning[unquoted-command] the value of `script` must be quoted, because it starts with a bracket: "[ -f x ] && y"
    "#]],
    );
    // Inside of a block the same line is text.
    check(
        "bash: |\n  run: a: b\nrun: c: d\nother: 1\n",
        expect![[r#"
        map <- "bash: |\n  run: a: b\nrun: c: d\nother: 1"
        bash: "run: a: b\n" <- "|\n  run: a: b"
        run: "c: d"
        other: "1" Integer(1)
        3:6 warning[unquoted-command] the value of `run` must be quoted, because `: ` in it would start another value: "c: d"
    "#]],
    );
    // A failure elsewhere stays a failure, told as the file is.
    check(
        "bash: a: b\nother: c: d\n",
        expect![[r#"
        1:7 warning[unquoted-command] the value of `bash` must be quoted, because `: ` in it would start another value: "a: b"
        2:9 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
    "#]],
    );
    check(
        "bash: a: b\nbash: c\n",
        expect![[r#"
        map <- "bash: a: b"
        bash: "a: b"
        1:7 warning[unquoted-command] the value of `bash` must be quoted, because `: ` in it would start another value: "a: b"
        2:1 error[duplicate-key] the key `bash` is given twice: "bash"
            1:1 first given here
    "#]],
    );
}

#[test]
fn comments_in_commands() {
    check(
        "bash: echo \"a # b\"\nrun: ls # list\ncmd: 'quoted' # fine\npwsh: |\n  x # y\nname: x # fine\n",
        expect![[r##"
        map <- "bash: echo \"a # b\"\nrun: ls # list\ncmd: 'quoted' # fine\npwsh: |\n  x # y\nname: x"
        bash: "echo \"a"
        run: "ls"
        cmd: "quoted" <- "'quoted'"
        pwsh: "x # y\n" <- "|\n  x # y"
        name: "x"
        1:15 warning[comment-in-command] the value of `bash` ends before ` #`, which starts a comment: "# b\""
        2:9 warning[comment-in-command] the value of `run` ends before ` #`, which starts a comment: "# list"
            help: quote the value if `#` belongs to it, or move the comment to a line of its own
    "##]],
    );
}

#[track_caller]
fn check_fixed(text: &str, expect: &str) {
    let source = SourceFile::new("a.yaml", text);
    let (_, diagnostics) = parse(&source);
    let fixed = apply_fixes(&source, &diagnostics);
    assert_eq!(fixed, expect);
    let (tree, diagnostics) = parse(&SourceFile::new("a.yaml", fixed.as_str()));
    assert!(tree.is_some() && diagnostics.is_empty(), "{diagnostics:?}");
}

#[test]
fn fixes_quote_commands() {
    check_fixed("bash: jq '{a: .b}'\n", "bash: 'jq ''{a: .b}'''\n");
    check_fixed("- run: \"{X}\" --y\r\n- a\r\n", "- run: '\"{X}\" --y'\r\n- a\r\n");
    check_fixed("bash: echo \"a # b\"\nx: 1\n", "bash: 'echo \"a # b\"'\nx: 1\n");
    check_fixed("fallback: echo \"a # b\"\n", "fallback: 'echo \"a # b\"'\n");
}

#[test]
fn limits_hold() {
    let errors = |text: &str| {
        let (_, diagnostics) = parse(&SourceFile::new("a.yaml", text));
        diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect::<Vec<_>>()
    };
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        let _ = writeln!(laughs, "a{level}: &a{level} [{alias}]");
    }
    assert_eq!(errors(&laughs), ["yaml-limit"]);
    assert_eq!(errors(&"[".repeat(100_000)), ["yaml-limit"]);
    assert_eq!(errors(&"- ".repeat(100_000)), ["yaml-limit"]);
    assert_eq!(errors(&"x".repeat(MAX_BYTES + 1)), ["yaml-limit"]);
    let mut tower = String::from("a0: &a0 [x]\n");
    for level in 1..100 {
        let _ = writeln!(tower, "a{level}: &a{level} [*a{}]", level - 1);
    }
    assert_eq!(errors(&tower), ["yaml-limit"]);
    assert_eq!(errors(&format!("{}x{}\n", "[".repeat(60), "]".repeat(60))), Vec::<&str>::new());
    let wide: String = (0..20_000).map(|n| format!("key{n}: 1\n")).collect();
    assert_eq!(errors(&wide), Vec::<&str>::new());
}

/// Two commands in the format's own documentation, as they stand there.
#[test]
fn documented_commands_load() {
    let command = "echo '{fetch-commits.output}' | jq 'group_by(.commit.author.name) | map({author: .[0].commit.author.name, count: length}) | sort_by(.count) | reverse'";
    let header = "curl -s -H \"Authorization: Bearer {API_KEY}\" \"{API_URL}\"";
    let text = format!(
        "name: t\nsteps:\n  - name: a\n    bash: {header}\n    output:\n      masked-values: [\"{{API_KEY}}\"]  # note\n  - name: count-authors\n    bash: {command}\n    error-handling:\n      retry:\n        attempts: 2\n"
    );
    let (tree, diagnostics) = parse(&SourceFile::new("t.yaml", text.as_str()));
    let codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect();
    assert_eq!(codes, ["unquoted-command", "unquoted-command"]);
    let steps = tree.as_ref().and_then(|tree| tree.get("steps")).and_then(Node::as_sequence).unwrap_or_default();
    let read: Vec<_> = steps.iter().filter_map(|step| step.get("bash")?.as_scalar()).collect();
    assert_eq!(read.iter().map(|scalar| scalar.text.as_str()).collect::<Vec<_>>(), [header, command]);
    // Every byte of the command is found where the author wrote it.
    for offset in 0..command.len() {
        assert_eq!(text.as_bytes()[read[1].origin(offset) as usize], command.as_bytes()[offset], "{offset}");
    }
}

/// Quotes are offered only where the text with them can be read.
#[test]
fn a_fix_leaves_a_text_that_can_be_read() {
    for text in ["\u{2028}[bash: \nbash: [", "\u{2028}{bash: \nbash: {a"] {
        let source = SourceFile::new("a.yaml", text);
        let (tree, diagnostics) = parse(&source);
        let fixed = apply_fixes(&source, &diagnostics);
        let (again, _) = parse(&SourceFile::new("a.yaml", fixed.as_str()));
        let has_error = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        assert!(has_error || tree.is_none() || again.is_some(), "{text:?}: {fixed:?}");
    }
}

#[test]
fn what_replaces_other_bytes_stands_where_they_are() {
    for text in ["bash: ]\nbash: \u{feff}a: \n\n  <<: ", "\u{2028}|\nbash: # x\n\ta: a: "] {
        let (tree, diagnostics) = parse(&SourceFile::new("t.yaml", text));
        let mut broken = Vec::new();
        tree.iter().for_each(|tree| check_origins(text, tree, &mut broken));
        for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
            assert!(text.get(label.span.start as usize..label.span.end as usize).is_some(), "{:?}", label.span);
        }
        assert!(broken.is_empty(), "{broken:?}");
    }
}

fn any_document() -> impl Strategy<Value = String> {
    let fragments = prop::sample::select(vec![
        "a: ",
        "b:\n",
        "  ",
        "    ",
        "- ",
        "\n",
        "\r\n",
        "\n\n",
        "|\n",
        ">-\n",
        "|+2\n",
        "bash: ",
        "run: ",
        "'",
        "\"",
        "''",
        "\\n",
        "\\u00e9",
        "\\",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        " #",
        "# x\n",
        "&x ",
        "*x",
        "!!str ",
        "!t ",
        "<<: ",
        "? ",
        "---\n",
        "...\n",
        "\t",
        "\u{feff}",
        "é",
        "日",
        "text",
        "two words",
        "1.0",
        "~",
        "@",
        "%",
        "\0",
        "\u{1b}",
        "\u{2028}",
    ]);
    prop::collection::vec(fragments, 0..24).prop_map(|parts| parts.concat())
}

fn spans_nest(text: &str, node: &Node, failures: &mut Vec<String>) {
    let span = node.span;
    if text.get(span.start as usize..span.end as usize).is_none() {
        failures.push(format!("{span:?} is no range of the text"));
    }
    match &node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter().for_each(|item| spans_nest(text, item, failures)),
        NodeKind::Mapping(entries) => {
            for entry in entries {
                if text.get(entry.key_span.start as usize..entry.key_span.end as usize).is_none() {
                    failures.push(format!("key {:?} has {:?}", entry.key, entry.key_span));
                }
                spans_nest(text, &entry.value, failures);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn any_text_is_read_without_panic(text in any_document()) {
        let source = SourceFile::new("a.yaml", text.as_str());
        let (tree, diagnostics) = parse(&source);
        let has_error = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        prop_assert!(tree.is_some() || has_error, "nothing is said");
        let mut failures = Vec::new();
        if let Some(tree) = &tree {
            spans_nest(&text, tree, &mut failures);
        }
        for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
            if text.get(label.span.start as usize..label.span.end as usize).is_none() {
                failures.push(format!("label {:?}", label.span));
            }
        }
        if let Some(tree) = &tree {
            check_origins(&text, tree, &mut failures);
        }
        prop_assert!(failures.is_empty(), "{:?}", failures);
        let fixed = apply_fixes(&source, &diagnostics);
        let (again, _) = parse(&SourceFile::new("a.yaml", fixed.as_str()));
        prop_assert!(tree.is_none() || has_error || again.is_some(), "the fix broke it: {fixed:?}");
    }

    #[test]
    fn arbitrary_text_is_read_without_panic(text in ".{0,60}") {
        let _ = parse(&SourceFile::new("a.yaml", text));
    }
}

#[test]
fn slips_in_json() {
    check(
        "{\n  // Why\n  \"a\": 1,\n  \"b\": 2\n}\n",
        expect![[r#"
        map <- "{\n  // Why\n  \"a\": 1,\n  \"b\": 2\n}"
        a (written otherwise): "1" Integer(1)
        b (written otherwise): "2" Integer(2)
        2:3 error[yaml-syntax] `//` starts no comment in a tool file: "// Why"
            help: write `#` before each line of it, or delete it
    "#]],
    );
    check(
        "{\n  \"a\": 1, /* one */ \"c\": \"http://x\",\n  \"b\": 2 /* two\n  * more */\n}\n",
        expect![[r#"
        map <- "{\n  \"a\": 1, /* one */ \"c\": \"http://x\",\n  \"b\": 2 /* two\n  * more */\n}"
        a (written otherwise): "1" Integer(1)
        c (written otherwise): "http://x" <- "\"http://x\""
        b (written otherwise): "2" Integer(2)
        2:11 error[yaml-syntax] `/*` starts no comment in a tool file: "/* one */"
            help: write `#` before each line of it, or delete it
        3:10 error[yaml-syntax] `/*` starts no comment in a tool file: "/* two\n  * more */"
            help: write `#` before each line of it, or delete it
    "#]],
    );
    check(
        "{\n  \"a\": \"x\"\n  \"b\": [\"y\" \"z\"]\n  \"c\": {\"d\": 1}\n  \"e\" 5\n}\n",
        expect![[r#"
        map <- "{\n  \"a\": \"x\"\n  \"b\": [\"y\" \"z\"]\n  \"c\": {\"d\": 1}\n  \"e\" 5\n}"
        a (written otherwise): "x" <- "\"x\""
        b (written otherwise): seq <- "[\"y\" \"z\"]"
          - "y" <- "\"y\""
          - "z" <- "\"z\""
        c (written otherwise): map <- "{\"d\": 1}"
          d (written otherwise): "1" Integer(1)
        e (written otherwise): "5" Integer(5)
        2:11 error[yaml-syntax] a `,` is missing here: ""
        3:12 error[yaml-syntax] a `,` is missing here: ""
        3:17 error[yaml-syntax] a `,` is missing here: ""
        4:16 error[yaml-syntax] a `,` is missing here: ""
        5:6 error[yaml-syntax] a `:` is missing here: ""
    "#]],
    );
    check(
        "{\n\u{a0}\u{a0}\"a\": 1,\n\u{a0} \"b\": \u{201c}x\u{201d}\n}\n",
        expect![[r#"
        map <- "{\n\u{a0}\u{a0}\"a\": 1,\n\u{a0} \"b\": “x”\n}"
        a (written otherwise): "1" Integer(1)
        b (written otherwise): "x" <- "“x”"
        2:1 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}\u{a0}"
            help: write plain spaces
        3:1 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}"
            help: write plain spaces
        3:8 error[yaml-syntax] `“` does not quote a text: "“"
        3:10 error[yaml-syntax] `”` does not quote a text: "”"
    "#]],
    );
    check(
        "{\n  \"a\": 1\n  \"b\": [2\n}\n",
        expect![[r#"
        2:9 error[yaml-syntax] a `,` is missing here: ""
        3:8 error[yaml-syntax] `}` closes what `[` opened: "["
    "#]],
    );
    check(
        "{\"//\": \"no comment\", 'a': http://x, b: 'it''s // here', c: ls // x, \"d\": \"\\\"//\"}\n",
        expect![[r#"
        map <- "{\"//\": \"no comment\", 'a': http://x, b: 'it''s // here', c: ls // x, \"d\": \"\\\"//\"}"
        // (written otherwise): "no comment" <- "\"no comment\""
        a (written otherwise): "http://x"
        b: "it's // here" <- "'it''s // here'"
        c: "ls // x"
        d (written otherwise): "\"//" <- "\"\\\"//\""
    "#]],
    );
    check(
        "{\n\t\"a\": 1,\n\t\"b\": 2,\n}\n",
        expect![[r#"
        map <- "{\n\t\"a\": 1,\n\t\"b\": 2,\n}"
        a (written otherwise): "1" Integer(1)
        b (written otherwise): "2" Integer(2)
    "#]],
    );
}

#[test]
fn slips_in_the_indentation() {
    check(
        "a:\n\u{a0}\u{a0}b: 1\n\u{a0} c: 2\n",
        expect![[r#"
        map <- "a:\n\u{a0}\u{a0}b: 1\n\u{a0} c: 2"
        a: map <- "b: 1\n\u{a0} c: 2"
          b: "1" Integer(1)
          c: "2" Integer(2)
        2:1 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}\u{a0}"
            help: write plain spaces
        3:1 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}"
            help: write plain spaces
    "#]],
    );
    check(
        "a:\n  - b: 1\n\u{a0}   c: 2\n",
        expect![[r#"
        map <- "a:\n  - b: 1\n\u{a0}   c: 2"
        a: seq <- "- b: 1\n\u{a0}   c: 2"
          - map <- "b: 1\n\u{a0}   c: 2"
            b: "1" Integer(1)
            c: "2" Integer(2)
        3:1 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}"
            help: write plain spaces
    "#]],
    );
    check(
        "a: 1\n\u{a0}b: 2\n",
        expect![[r#"
        map <- "a: 1\n\u{a0}b: 2"
        a: "1" Integer(1)
        b: "2" Integer(2)
        2:1 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}"
            help: write plain spaces
    "#]],
    );
    check(
        "a:\u{a0}1\nb: 2\n",
        expect![[r#"
        map <- "a:\u{a0}1\nb: 2"
        a: "1" Integer(1)
        b: "2" Integer(2)
        1:3 error[yaml-syntax] this looks like a space, and is the character U+00A0: "\u{a0}"
            help: write plain spaces
    "#]],
    );
    check(
        "a:\n\tb: 1\n\tc:\n\t\td: 2\n",
        expect![[r#"
        map <- "a:\n\tb: 1\n\tc:\n\t\td: 2"
        a: map <- "b: 1\n\tc:\n\t\td: 2"
          b: "1" Integer(1)
          c: map <- "d: 2"
            d: "2" Integer(2)
        2:1 error[yaml-syntax] a tab where YAML allows only spaces: "\t"
            help: indent with spaces
        3:1 error[yaml-syntax] a tab where YAML allows only spaces: "\t"
            help: indent with spaces
        4:1 error[yaml-syntax] a tab where YAML allows only spaces: "\t\t"
            help: indent with spaces
    "#]],
    );
    check(
        "a:\n  - b: 1\n\tc: 2\n",
        expect![[r#"
        map <- "a:\n  - b: 1\n\tc: 2"
        a: seq <- "- b: 1\n\tc: 2"
          - map <- "b: 1\n\tc: 2"
            b: "1" Integer(1)
            c: "2" Integer(2)
        3:1 error[yaml-syntax] a tab where YAML allows only spaces: "\t"
            help: indent with spaces
    "#]],
    );
    check(
        "a: |\n  \u{a0}x\n  \ty\nb: 'open\n",
        expect![[r#"
        4:4 error[yaml-syntax] this quote is never closed: "'"
            help: add the closing quote, or quote the value in the other kind
    "#]],
    );
    check(
        "a: \u{a0}x\n\"b \u{a0}\": y\n",
        expect![[r#"
        map <- "a: \u{a0}x\n\"b \u{a0}\": y"
        a: "\u{a0}x"
        b   (written otherwise): "y"
    "#]],
    );
}

#[test]
fn more_than_the_first_mistake() {
    check(
        "a: b: c\nd: @x\ne: 1\nf: 'open\ng: [1\nh: 2\n",
        expect![[r#"
        1:5 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
        2:4 error[yaml-syntax] a plain value cannot start with `@`: "@"
            help: put the value in quotes
        4:4 error[yaml-syntax] this quote is never closed: "'"
            help: add the closing quote, or quote the value in the other kind
        5:4 error[yaml-syntax] this `[` is not closed: "["
            6:2 what follows does not fit into it
            help: add the missing bracket, or quote the value
    "#]],
    );
    check(
        "a:\n  - b: x: y\n    c: 1\n  - @d\n  - e: \"\\q\"\n",
        expect![[r#"
        2:9 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
        4:5 error[yaml-syntax] a plain value cannot start with `@`: "@"
            help: put the value in quotes
        5:9 error[yaml-syntax] unknown escape in a double-quoted text: "\\q"
            help: write `\\` for a backslash, or use single quotes, where a backslash is itself
    "#]],
    );
    check(
        "a: x: y\n  b: 1\n  c: 2\nd: }\n",
        expect![[r#"
        1:5 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
        4:4 error[yaml-syntax] a closing bracket with nothing to close: "}"
            help: put the value in quotes if the bracket belongs to it
    "#]],
    );
    check(
        "a: {b: 1,\n  c: 2\nd: @e\n",
        expect![[r#"
        1:4 error[yaml-syntax] this `{` is not closed: "{"
            3:2 what follows does not fit into it
            help: add the missing bracket, or quote the value
        3:4 error[yaml-syntax] a plain value cannot start with `@`: "@"
            help: put the value in quotes
    "#]],
    );
    check(
        "bash: jq '{a: .b}' x\nb: c: d\ne: @f\n",
        expect![[r#"
        1:7 warning[unquoted-command] the value of `bash` must be quoted, because `: ` in it would start another value: "jq '{a: .b}' x"
        2:5 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
        3:4 error[yaml-syntax] a plain value cannot start with `@`: "@"
            help: put the value in quotes
    "#]],
    );
}

#[test]
fn what_is_missing_inside_brackets_is_not_the_end_of_the_text() {
    check(
        "tags: [read,, x]\nb: 1\n",
        expect![[r#"
        1:13 error[yaml-syntax] a value is missing before this `,`: ","
            help: write the value, or delete the `,`
    "#]],
    );
    check(
        r#"{"tags": ["read",, "x"], "c": }"#,
        expect![[r#"
        1:18 error[yaml-syntax] a value is missing before this `,`: ","
            help: write the value, or delete the `,`
    "#]],
    );
    check(
        "tags: {a\ntimeout: : 5\n",
        expect![[r#"
        1:7 error[yaml-syntax] this `{` is not closed: "{"
            2:10 what follows does not fit into it
            help: add the missing bracket, or quote the value
        2:10 error[yaml-syntax] this `:` starts a second value on the same line: ":"
            help: put the whole value in quotes, or write it as a block after `|`
    "#]],
    );
    check(
        "tags: [, a]\n",
        expect![[r#"
        1:8 error[yaml-syntax] a value is missing before this `,`: ","
            help: write the value, or delete the `,`
    "#]],
    );
}

#[test]
fn slips_that_touch_are_read() {
    for text in ["{é\u{2028}  ---\n", "{a'𑾰"] {
        let (_, diagnostics) = parse(&SourceFile::new("a.yaml", text));
        assert!(!diagnostics.is_empty(), "{text}");
    }
}
