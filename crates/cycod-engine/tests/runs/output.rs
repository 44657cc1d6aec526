use cycod_engine::{Event, Stream};
use expect_test::expect;

use crate::spread::check;
use crate::support::{Collected, Place, story};

#[test]
fn a_limit_cuts_and_says_so() {
    check(
        "description: d\nsteps:\n  - {name: a, bash: 'printf 0123456789', output: {buffer-limit: 4}}\n  - {name: b, bash: 'printf {a.output}'}\n",
        expect![[r#"
            exit 0 output "0123" truncated
              a ok 0 "0123\n[truncated: the first 4 of 10 bytes]\n"
              b ok 0 "0123"
        "#]],
    );
}

#[test]
fn a_limit_without_truncation_fails() {
    check(
        "description: d\nsteps:\n  - {name: a, bash: 'printf 0123456789', output: {buffer-limit: 4, truncation: false}}\n",
        expect![[r#"
            exit 1 output "0123\n[truncated: the first 4 of 10 bytes]\n" truncated refused[output-too-large]
              a failed 1 "0123\n[truncated: the first 4 of 10 bytes]\n"
        "#]],
    );
}

#[test]
fn a_stream_can_go_to_a_file() {
    let place = Place::new(
        "description: d\nsteps:\n  - {name: a, bash: 'echo hello; echo secret-word', output: {mode: stream, stream-callback: file, stream-file: out.log, masked-values: [secret-word]}}\n",
    );
    let report = place.run(&[]);
    assert!(report.success, "{}", story(&report));
    assert_eq!(std::fs::read_to_string(place.project().join("out.log")).expect("the file"), "hello\n****\n");
}

#[test]
fn events_tell_the_story_in_order() {
    let place =
        Place::new("description: d\nsteps:\n  - {name: a, bash: echo one}\n  - {name: b, bash: echo two >&2}\n");
    let mut collected = Collected::default();
    assert!(place.run_with(&[], &mut collected, |_| {}).success);
    let told: Vec<String> = collected
        .0
        .iter()
        // A busy machine is quiet between any two of them.
        .filter(|event| !matches!(event, Event::Quiet))
        .map(|event| match event {
            Event::StepStarted { step, attempt, command } => format!("{step} starts {attempt} {command}"),
            Event::Output { step, stream, bytes, .. } => format!(
                "{step} {} {:?}",
                if *stream == Stream::Stdout { "out" } else { "err" },
                String::from_utf8_lossy(bytes)
            ),
            Event::StepEnded { step, status, .. } => format!("{step} {}", status.name()),
            other => format!("{other:?}"),
        })
        .collect();
    expect![[r#"
        a starts 1 echo one
        a out "one\n"
        a ok
        b starts 1 echo two >&2
        b err "two\n"
        b ok"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn secrets_are_masked_at_every_boundary_but_not_between_steps() {
    let place = Place::new(
        r#"
description: d
environment: {variables: {API_TOKEN: "{KEYWORD}"}}
steps:
  - {name: a, bash: 'printf "%s" "$API_TOKEN"'}
  - {name: b, bash: '[ "{a.output}" = hunter2-hunter2 ] && echo same; printf hunter2; sleep 0.05; printf -- -hunter2; echo {KEYWORD} >&2'}
parameters:
  KEYWORD: {type: string, description: k, sensitive: true}
"#,
    );
    let mut collected = Collected::default();
    let report = place.run_with(&[("KEYWORD", "hunter2-hunter2")], &mut collected, |_| {});
    expect![[r#"
        exit 0 output "same\n****" error "****\n"
          a ok 0 "****"
          b ok 0 "same\n****"
    "#]]
    .assert_eq(&story(&report));
    let everything = format!("{report:?}{:?}", collected.0).replace("raw_output", "");
    let shown = String::from_utf8_lossy(&report.transcript).into_owned()
        + &report.commands().join("\n")
        + &format!("{:?}", collected.0);
    assert!(!shown.contains("hunter2-hunter2"), "{everything}");
}

#[test]
fn the_transcript_is_headed_per_step() {
    let report = Place::new(
        "description: d\nsteps:\n  - {name: a, bash: 'echo one; echo err >&2'}\n  - {name: b, bash: printf two}\n",
    )
    .run(&[]);
    expect![[r#"
        --- a ---
        one
        err
        --- b ---
        two
    "#]]
    .assert_eq(&String::from_utf8_lossy(&report.transcript));
}

#[test]
fn output_that_is_not_text_stays_what_it_is() {
    let report = Place::new("description: d\nbash: printf '\\377\\000\\376'\n").run(&[]);
    assert_eq!(report.output, [0xff, 0, 0xfe]);
}
