use crate::support::{Place, story};

#[test]
fn ten_megabytes_pass_between_steps() {
    let place = Place::new(
        "description: d\nsteps:\n  - {name: a, bash: \"head -c 10000000 /dev/zero | tr '\\\\0' \\\"'\\\"\"}\n  - {name: b, bash: \"printf '%s' \\\"{a.output}\\\" | wc -c\"}\n",
    );
    let report = place.run(&[]);
    assert_eq!(
        String::from_utf8_lossy(&report.output).trim(),
        "10000000",
        "{}",
        &story(&report)[..200.min(story(&report).len())]
    );
}

#[test]
fn a_large_argument_reaches_a_shell() {
    let place = Place::new(
        "description: d\nbash: printf '%s' \"{TEXT}\" | cksum\nparameters:\n  TEXT: {type: string, description: t}\n",
    );
    let text = "it's $HOME `x` \\ \"q\"\n".repeat(200_000);
    let direct = Place::new(
        "description: d\nbash: cksum\ninput: '{TEXT}'\nparameters:\n  TEXT: {type: string, description: t}\n",
    );
    assert_eq!(place.run(&[("TEXT", &text)]).output, direct.run(&[("TEXT", &text)]).output);
}

#[test]
fn a_secret_is_not_in_the_arguments_that_ps_shows() {
    let place = Place::new(
        "description: d\nbash: tr '\\0' ' ' < /proc/$$/cmdline | grep -c \"{PASS}\"; true\nparameters:\n  PASS: {type: string, description: p, sensitive: true}\n",
    );
    let report = place.run(&[("PASS", "correct horse")]);
    assert_eq!(String::from_utf8_lossy(&report.output), "0\n", "{}", story(&report));
}
