//! What a step says reaches others byte for byte, text or not.

use std::fs;

use cycod_engine::RunReport;
use expect_test::expect;

use crate::spread::check;
use crate::support::{Place, story};

/// Every byte but NUL, each lead byte of UTF-8 also before a quote, and what carries bytes on their way.
fn every_byte() -> Vec<u8> {
    let mut bytes: Vec<u8> = (1..=255).collect();
    bytes.extend((0xC0..=0xFF).flat_map(|lead| [lead, b'\'', lead, b'"', lead, b'\\', lead]));
    bytes.extend("é€🦀\u{10fe80}\u{10feff}".as_bytes());
    bytes.extend(b"\xf4\x8f\xba \r");
    bytes
}

/// Runs `command` after a step `a` that says `said`.
fn after(said: &[u8], command: &str) -> RunReport {
    after_in(said, command, "C.UTF-8")
}

fn after_in(said: &[u8], command: &str, locale: &'static str) -> RunReport {
    let tool = format!("description: d\nsteps:\n  - {{name: a, run: cat said}}\n  - name: b\n{command}");
    let place = Place::new(&tool)
        .tool("show", "description: d\nbash: printf %s '{X}'\nparameters: {X: {description: d}}\n")
        .variable("LC_ALL", locale);
    fs::write(place.project().join("said"), said).expect("a file");
    place.run(&[])
}

#[track_caller]
fn arrives(said: &[u8], command: &str, locale: &'static str) {
    let report = after_in(said, command, locale);
    assert!(report.refusal.is_none() && report.success, "{command}: {:?}", report.refusal);
    let arrived = report.steps[1].output.as_slice();
    assert!(arrived == said, "{command} in {locale}:\n{}\n{}", said.escape_ascii(), arrived.escape_ascii());
}

#[test]
fn in_the_quotes_of_every_shell() {
    let said = every_byte();
    for shell in ["bash", "sh", "zsh"] {
        for template in [
            r#"printf %s "{a.output}""#,
            r"printf %s '{a.output}'",
            r#"x="{a.output}"; printf %s "$x""#,
            r#"printf %s "$(printf %s "{a.output}")""#,
            r#"f() { printf %s "$1"; }; f "{a.output}""#,
            "x=$(cat <<'EOF'\n{a.output}\nEOF\n)\nprintf %s \"$x\"",
            "x=$(cat <<EOF\n{a.output}\nEOF\n)\nprintf %s \"$x\"",
        ] {
            let lines: String = template.lines().map(|line| format!("      {line}\n")).collect();
            for locale in ["C.UTF-8", "C"] {
                arrives(&said, &format!("    script: |\n{lines}    shell: {shell}\n"), locale);
            }
        }
    }
}

#[test]
fn as_words_of_a_command_without_quotes() {
    let said: Vec<u8> = every_byte().into_iter().filter(|byte| !b"\t\n\x0b\x0c\r ".contains(byte)).collect();
    for command in [
        "    bash: printf %s {a.output}\n",
        "    script: printf %s {a.output}\n    shell: sh\n",
        "    script: printf %s {a.output}\n    shell: zsh\n",
        "    run: printf %s {a.output}\n",
        "    bash: printf %s {a.output:shellescaped}\n",
    ] {
        arrives(&said, command, "C.UTF-8");
    }
    let report = after(b"a\xff \xfeb\n", "    bash: printf '<%s>' {a.output}\n");
    assert_eq!(report.output, b"<a\xff><\xfeb>");
}

#[test]
fn as_standard_input_with_nul() {
    let said = [&every_byte()[..], b"\0\0", &every_byte()].concat();
    arrives(&said, "    bash: cat\n    input: \"{a.output}\"\n", "C.UTF-8");
    let report = after(b"\xff\n", "    bash: cat\n    input: \"<{a.output}>\\n\"\n");
    assert_eq!(report.output, b"<\xff>\n");
}

#[test]
fn in_a_variable_of_the_environment() {
    let said = every_byte();
    for environment in ["{X: \"{a.output}\"}", "{variables: {X: \"{a.output}\"}}"] {
        arrives(&said, &format!("    bash: printf %s \"$X\"\n    environment: {environment}\n"), "C.UTF-8");
    }
}

#[test]
fn as_a_program_too_long_for_an_argument() {
    let said: Vec<u8> = every_byte().into_iter().cycle().take(3 << 20).chain(*b"x").collect();
    arrives(&said, "    bash: printf %s \"{a.output}\"\n", "C.UTF-8");
}

#[test]
fn as_a_part_of_a_program() {
    let report = after(b"\xffa\n", "    script: 'print \"{RAW:a.output}\";'\n    shell: perl\n");
    assert_eq!(report.output, b"\xffa", "{}", story(&report));
}

#[test]
fn a_secret_between_other_bytes_is_masked() {
    let report = after(
        b"\xffhunter2hunter2\xfe",
        "    bash: printf %s \"$MY_TOKEN\"\n    environment: {MY_TOKEN: \"{a.output}\"}\n",
    );
    assert_eq!(report.output, b"\xff****\xfe");
    let report = after(
        b"\xffhunter2hunter2\xfe",
        "    bash: printf %s \"{a.output}\"\n    output: {masked-values: [\"{a.output}\"]}\n",
    );
    assert_eq!(report.output, b"\xff****\xfe");
}

#[test]
fn only_newlines_go_from_the_end() {
    for (said, arrived) in [
        ("a\r\n", "a\r"),
        ("a \t\n\n\n", "a \t"),
        ("\n", ""),
        ("\na", "\na"),
        ("a\r\n\r\n", "a\r\n\r"),
        ("a\u{a0}\n", "a\u{a0}"),
    ] {
        for command in [
            "    bash: printf %s \"{a.output}\"\n",
            "    bash: cat\n    input: \"{a.output}\"\n",
            "    run: printf %s {a.output}\n",
        ] {
            if said.trim_ascii().len() < arrived.len() && command.contains("run:") {
                continue;
            }
            let report = after(said.as_bytes(), command);
            assert_eq!(
                report.output.escape_ascii().to_string(),
                arrived.as_bytes().escape_ascii().to_string(),
                "{said:?} {command}"
            );
        }
    }
}

#[test]
fn transforms_take_bytes_where_they_can() {
    let check = |transform: &str, expect: &str| {
        let report = after(b"\xff A\n", &format!("    bash: printf %s \"{{a.output:{transform}}}\"\n"));
        let told = match &report.refusal {
            Some(refusal) => refusal.to_string(),
            None => report.output.escape_ascii().to_string(),
        };
        assert_eq!(told, expect, "{transform}");
    };
    check("base64encode", "/yBB");
    check("urlencode", "%FF%20A");
    check("lowercase", r"\xff a");
    check("trim", r"\xff A");
    check("base64encode:lowercase", "/ybb");
    check("trim:base64encode", "/yBB");
    check("jsonescaped", "transform `jsonescaped` fails on `{a.output}`: the value is not UTF-8 text");
    check("base64decode", "transform `base64decode` fails on `{a.output}`: the value is not standard base64");
}

#[test]
fn conditions_tell_bytes_apart() {
    let check = |condition: &str, holds: bool| {
        let report = after(b"\xff10", &format!("    bash: 'true'\n    run-condition: \"{condition}\"\n"));
        assert_eq!(report.steps[1].status.name() == "ok", holds, "{condition}: {:?}", report.refusal);
    };
    check("{a.output} contains '10'", true);
    check("{a.output} == '\u{fffd}10'", false);
    check("{a.output} == '10'", false);
    check("{a.output} == 10", false);
    check("{a.output} matches '10$'", true);
}

#[test]
fn what_only_text_can_be_is_refused() {
    let told = |said: &[u8], command: &str| {
        let refusal = after(said, command).refusal.unwrap_or_else(|| panic!("{command}"));
        format!("{}: {}", refusal.code, refusal.why)
    };
    let bytes = b"a\xffb";
    expect!["not-text: `{a.output}` is not UTF-8 text, and only text is possible here"]
        .assert_eq(&told(bytes, "    use-tool: show\n    with: {X: \"{a.output}\"}\n"));
    expect!["nul-in-value: the directory's name holds a NUL character"]
        .assert_eq(&told(b"a\0b", "    bash: pwd\n    working-directory: \"{a.output}\"\n"));
    expect!["not-text: `{a.output}` is not UTF-8 text, and only text is possible here"]
        .assert_eq(&told(bytes, "    bash: pwd\n    working-directory: \"{a.output}\"\n"));
    expect!["unplaceable-value: the value of `a.output` holds a NUL byte, which no program can be given"]
        .assert_eq(&told(b"a\0b", "    bash: printf %s \"{a.output}\"\n"));
    expect!["unplaceable-value: the value of `a.output` holds a NUL byte, which no program can be given"]
        .assert_eq(&told(b"a\0b", "    run: printf %s {a.output}\n"));
    expect!["unplaceable-value: the value of `a.output` holds a NUL byte, which no program can be given"]
        .assert_eq(&told(b"a\0b\xff", "    bash: printf %s '{a.output}'\n"));
    expect!["nul-in-value: the value of the environment variable `X` holds a NUL character"]
        .assert_eq(&told(b"a\0b", "    bash: printf %s \"$X\"\n    environment: {X: \"{a.output}\"}\n"));
}

#[test]
fn the_result_of_a_tool_that_is_used_is_the_one_that_ended_last() {
    let place = Place::new(
        "description: d\nsteps:\n  - {name: a, use-tool: two}\n  - {name: b, bash: \"printf '<%s>' '{a.output}'\"}\n",
    )
    .tool(
        "two",
        "description: d\nsteps:\n  - {name: slow, bash: sleep 0.2; printf '\\377', parallel: true}\n  - {name: fast, bash: printf fast, parallel: true}\n",
    );
    let report = place.run(&[]);
    assert_eq!(report.output, b"<\xff>", "{}", story(&report));
}

#[test]
fn what_the_caller_sees_is_what_was_said() {
    check(
        "description: d\nbash: printf 'a\\r\\n\\n'\n",
        expect![[r#"
            exit 0 output "a\r\n\n"
              t ok 0 "a\r\n\n"
        "#]],
    );
}
