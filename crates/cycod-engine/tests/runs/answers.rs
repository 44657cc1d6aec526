//! What a tool gives back, in the kinds of content that hosts know.

use std::fs;

use cycod_diagnostic::Code;
use cycod_engine::{Block, Content, Payload, RunReport, ToolAnswer};
use expect_test::{Expect, expect};

use crate::support::Place;

fn answer(place: &Place) -> ToolAnswer {
    let (tool, report) = (place.engine().tool("t").expect("it loads"), place.run(&[]));
    ToolAnswer::of(&tool, &report)
}

/// Runs a tool and writes its answer down, a line for each block.
#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
fn check(tool: &str, expect: Expect) {
    expect.assert_eq(&written(&answer(&Place::new(&format!("description: A tool\n{tool}")))));
}

fn written(answer: &ToolAnswer) -> String {
    let mut text = String::new();
    for Block { content, annotations, .. } in &answer.blocks {
        text.push_str(&match content {
            Content::Text(said) => format!("text {said:?}"),
            Content::Image { media_type, bytes } => format!("image {media_type} {}", bytes.escape_ascii()),
            Content::Audio { media_type, bytes } => format!("audio {media_type} {}", bytes.escape_ascii()),
            Content::Resource { uri, media_type, payload: Payload::Text(text) } => {
                format!("resource {uri} {media_type:?} {text:?}")
            }
            Content::Resource { uri, media_type, payload: Payload::Bytes(bytes) } => {
                format!("resource {uri} {media_type:?} {}", bytes.escape_ascii())
            }
            Content::Link { uri, name, title, description, media_type } => {
                format!("link {uri} {name:?} {title:?} {description:?} {media_type:?}")
            }
        });
        text.extend(annotations.iter().map(|annotations| format!(" {annotations}")));
        text.push('\n');
    }
    text.extend(answer.structured.iter().map(|value| format!("structured {value}\n")));
    if answer.is_error {
        text.push_str("error\n");
    }
    text
}

#[test]
fn text_is_the_output() {
    check(
        "bash: echo hello; echo aside >&2\n",
        expect![[r#"
        text "hello\n"
    "#]],
    );
    check(
        "bash: echo aside >&2\n",
        expect![[r#"
        text "aside\n"
    "#]],
    );
    check("bash: 'true'\n", expect![""]);
    check(
        "steps:\n- {name: a, bash: echo one}\n- {name: b, bash: echo two}\n",
        expect![[r#"
        text "--- a ---\none\n--- b ---\ntwo\n"
    "#]],
    );
}

#[test]
fn a_failure_says_what_happened() {
    check(
        "bash: echo out; echo err >&2; exit 3\n",
        expect![[r#"
        text "out\nerr\n"
        text "exit code 3"
        error
    "#]],
    );
    check(
        "bash: echo out; sleep 60\ntimeout: 300\n",
        expect![[r#"
        text "out\n"
        text "{\"refusal\":{\"code\":\"timed-out\",\"where\":\"t\",\"why\":\"`t` was ended when the time of the run was over\",\"try\":\"raise `timeout`, or pass --timeout MS\"}}"
        error
    "#]],
    );
    check(
        "produces: application/json\nbash: echo '{'; exit 1\n",
        expect![[r#"
        text "{\n"
        text "exit code 1"
        error
    "#]],
    );
}

#[test]
fn json_is_held_to_its_schema() {
    let tool = |bash: &str| {
        format!(
            "returns: {{type: object, properties: {{n: {{type: integer}}, list: {{type: array, items: {{type: string}}}}}}, required: [n]}}\nbash: |\n  {bash}\n"
        )
    };
    check(
        &tool(r#"echo '{"n": 1, "list": []}'"#),
        expect![[r#"
        text "{\"n\": 1, \"list\": []}\n"
        structured {"n":1,"list":[]}
    "#]],
    );
    check(
        &tool(r#"echo '{"n": 1, "list": ["a", 2]}'"#),
        expect![[r#"
        text "{\"n\": 1, \"list\": [\"a\", 2]}\n"
        text "{\"refusal\":{\"code\":\"wrong-output\",\"where\":\"/list/1\",\"why\":\"the output of `t` is not what it promises: 2 is not of type \\\"string\\\"\",\"try\":\"fix the tool, or its `returns`\"}}"
        error
    "#]],
    );
    check(
        &tool("echo done"),
        expect![[r#"
        text "done\n"
        text "{\"refusal\":{\"code\":\"wrong-output\",\"why\":\"the output of `t` is not what it promises: it is not JSON: expected value at line 1 column 1\",\"try\":\"print one JSON value on standard output, and everything else on standard error\"}}"
        error
    "#]],
    );
    check(
        "produces: application/json\nbash: echo '[1, 2]'\n",
        expect![[r#"
        text "[1, 2]\n"
        structured [1,2]
    "#]],
    );
}

#[test]
fn an_output_that_was_cut_is_no_json() {
    let steps = "steps:\n- name: a\n  bash: printf '[%s]' '\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"'\n  output: {buffer-limit: 10}\n";
    let answer = answer(&Place::new(&format!("description: A tool\nproduces: application/json\n{steps}")));
    assert_eq!(answer.problem.expect("it is wrong").attempt.as_deref(), Some("raise `output.buffer-limit`"));
}

#[test]
fn one_file_of_a_media_type() {
    check(
        "produces: image/png\nbash: printf '\\x89PNG'\n",
        expect![[r#"
        image image/png \x89PNG
    "#]],
    );
    check(
        "produces: audio/wav\nbash: printf RIFF\n",
        expect![[r#"
        audio audio/wav RIFF
    "#]],
    );
    check(
        "produces: text/markdown\nbash: echo '# Title'\n",
        expect![[r##"
        text "# Title\n"
    "##]],
    );
    check(
        "produces: application/pdf\nbash: printf '%%PDF'\n",
        expect![[r#"
        resource cycod://tool/t Some("application/pdf") %PDF
    "#]],
    );
    check(
        "produces: application/yaml\nbash: 'echo a: 1'\n",
        expect![[r#"
        resource cycod://tool/t Some("application/yaml") "a: 1\n"
    "#]],
    );
}

#[test]
fn blocks_of_every_type() {
    check(
        r#"produces: content-blocks
bash: |
  mkdir -p '{TEMP}'; printf wave > '{TEMP}/a.wav'
  cat <<END
  [{"type": "text", "text": "Hello", "annotations": {"audience": ["user"], "priority": 0.5}},
   {"type": "image", "media-type": "image/png", "data": "iVBORw=="},
   {"type": "audio", "mimeType": "audio/wav", "file": "{TEMP}/a.wav"},
   {"type": "resource", "uri": "notes://1", "text": "one"},
   {"type": "resource", "uri": "notes://2", "media-type": "application/pdf", "data": "JVBERg=="},
   {"type": "link", "uri": "notes://3", "name": "three", "description": "The third"}]
  END
"#,
        expect![[r#"
            text "Hello" {"audience":["user"],"priority":0.5}
            image image/png \x89PNG
            audio audio/wav wave
            resource notes://1 None "one"
            resource notes://2 Some("application/pdf") %PDF
            link notes://3 "three" None Some("The third") None
        "#]],
    );
}

#[test]
fn blocks_that_are_wrong_are_shown_where() {
    let wrong = |blocks: &str| {
        let tool =
            format!("description: A tool\nproduces: content-blocks\nbash: |\n  cat <<'END'\n  {blocks}\n  END\n");
        let problem = answer(&Place::new(&tool)).problem.expect("it is wrong");
        let why = problem.why.split_once("promises: ").expect("a reason").1.to_owned();
        format!("{} {why}", problem.place.unwrap_or_default())
    };
    let cases = [
        (r#"{"type": "text"}"#, " it is not an array"),
        (r#"["text"]"#, "/0 it is not an object"),
        (r#"[{"text": "a"}]"#, "/0 it lacks `type`"),
        (r#"[{"type": "txt"}]"#, "/0/type `txt` is not a type of block; did you mean `text`?"),
        (r#"[{"type": "text", "text": 1}]"#, "/0/text it is not a text"),
        (
            r#"[{"type": "text", "text": "a"}, {"type": "text", "txt": "a"}]"#,
            "/1/txt a block of type `text` has no such key",
        ),
        (r#"[{"type": "text", "text": "a", "annotations": 1}]"#, "/0/annotations they are not an object"),
        (r#"[{"type": "image", "data": ""}]"#, "/0 it lacks `media-type`"),
        (
            r#"[{"type": "image", "media-type": "image/png", "data": "?"}]"#,
            "/0/data it is not base64: Invalid symbol 63, offset 0.",
        ),
        (
            r#"[{"type": "image", "media-type": "image/png", "file": "no.png"}]"#,
            "/0/file `no.png` cannot be read: No such file or directory (os error 2)",
        ),
        (
            r#"[{"type": "image", "media-type": "image/png", "file": "."}]"#,
            "/0/file `.` cannot be read: it is not a file",
        ),
        (
            r#"[{"type": "image", "media-type": "image/png", "file": "/etc/passwd"}]"#,
            "/0/file `/etc/passwd` cannot be read: it lies outside the tool's working and temporary directories",
        ),
    ];
    for (blocks, expect) in cases {
        assert_eq!(wrong(blocks), expect, "{blocks}");
    }
}

#[test]
fn a_link_out_of_the_directory_is_not_followed() {
    let place = Place::new(
        "description: A tool\nproduces: content-blocks\nbash: |\n  echo '[{\"type\": \"resource\", \"uri\": \"a:b\", \"file\": \"link\"}]'\n",
    );
    std::os::unix::fs::symlink("/etc/passwd", place.project().join("link")).expect("a link");
    let problem = answer(&place).problem.expect("it is wrong");
    assert!(problem.why.ends_with("it lies outside the tool's working and temporary directories"), "{}", problem.why);
    fs::remove_file(place.project().join("link")).expect("it is there");
    fs::write(place.project().join("link"), "here").expect("a file");
    assert_eq!(written(&answer(&place)), "resource a:b None here\n");
}

#[test]
fn what_another_program_answers_is_passed_on() {
    let tool = Place::new("description: A tool\nbash: ls\n").engine().tool("t").expect("it loads");
    let blocks = serde_json::json!([
        {"type": "text", "text": "a", "_meta": {"x": 1}},
        {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": "b"}},
        {"type": "resource", "resource": {"uri": "a:c", "blob": "AAE="}},
        {"type": "resource_link", "uri": "a:d", "name": "d"},
        {"type": "hologram", "data": 1},
    ]);
    let outcome = cycod_engine::ToolOutcome {
        blocks: Some(blocks),
        structured: Some(serde_json::json!({"n": 1})),
        is_error: true,
        ..Default::default()
    };
    let refused = RunReport::refused(cycod_engine::diagnostic::Refusal::new(Code::Cancelled, "no"));
    let report = RunReport { answer: Some(Box::new(outcome)), refusal: None, ..refused };
    expect![[r#"
        text "a"
        resource a:b Some("text/plain") "b"
        resource a:c None \x00\x01
        link a:d "d" None None None
        text "{\"type\":\"hologram\",\"data\":1}"
        structured {"n":1}
        error
    "#]]
    .assert_eq(&written(&ToolAnswer::of(&tool, &report)));
}

/// As [`check`], with variables whose names say that they hold secrets.
#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
fn check_secret(tool: &str, expect: Expect) {
    let place = Place::new(&format!("description: A tool\n{tool}"));
    let place = place.variable("PARTITION_KEY", "1000").variable("FORMAT_KEY", "text");
    expect.assert_eq(&written(&answer(&place)));
}

#[test]
fn a_promise_is_held_to_what_was_said_and_shown_without_secrets() {
    let returns = "returns: {type: object, properties: {count: {type: integer}}, required: [count]}\n";
    check_secret(
        &format!("{returns}bash: |\n  echo '{{\"count\": 1000, \"1000\": [\"a 1000 b\", 7]}}'\n"),
        expect![[r#"
            text "{\"count\": \"****\", \"****\": [\"a **** b\", 7]}\n"
            structured {"count":"****","****":["a **** b",7]}
        "#]],
    );
    // What is said of the wrong value shows no secret either.
    check_secret(
        "returns: {type: object, properties: {count: {type: string}}}\nbash: |\n  echo '{\"count\": 1000}'\n",
        expect![[r#"
            text "{\"count\": \"****\"}\n"
            text "{\"refusal\":{\"code\":\"wrong-output\",\"where\":\"/count\",\"why\":\"the output of `t` is not what it promises: **** is not of type \\\"string\\\"\",\"try\":\"fix the tool, or its `returns`\"}}"
            error
        "#]],
    );
    check_secret(
        "returns: {additionalProperties: {type: string}}\nbash: |\n  echo '{\"a1000\": 7}'\n",
        expect![[r#"
            text "{\"a****\": 7}\n"
            text "{\"refusal\":{\"code\":\"wrong-output\",\"where\":\"/a****\",\"why\":\"the output of `t` is not what it promises: 7 is not of type \\\"string\\\"\",\"try\":\"fix the tool, or its `returns`\"}}"
            error
        "#]],
    );
    check_secret(
        "produces: application/json\nbash: echo '{1000}'\n",
        expect![[r#"
            text "{****}\n"
            text "{\"refusal\":{\"code\":\"wrong-output\",\"why\":\"the output of `t` is not what it promises: it is not JSON: key must be a string at line 1 column 2\",\"try\":\"print one JSON value on standard output, and everything else on standard error\"}}"
            error
        "#]],
    );
}

#[test]
fn the_words_of_content_blocks_are_no_secrets() {
    check_secret(
        "produces: content-blocks\nbash: |\n  mkdir -p '{TEMP}'; printf 'n=1000' > '{TEMP}/1000.wav'\n  cat <<END\n  [{\"type\": \"text\", \"text\": \"a text of 1000\"}, {\"type\": \"audio\", \"mimeType\": \"audio/wav\", \"file\": \"{TEMP}/1000.wav\"}]\n  END\n",
        expect![[r#"
            text "a **** of ****"
            audio audio/wav n=****
        "#]],
    );
}

#[test]
fn the_last_step_that_runs_is_held_to_the_promise() {
    check_secret(
        "returns: {type: integer}\nsteps:\n- {name: a, bash: echo 1000}\n- {name: b, bash: echo 7, run-condition: '1 == 2'}\n",
        expect![[r#"
            text "\"****\"\n"
            structured "****"
        "#]],
    );
}
