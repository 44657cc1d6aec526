//! What a program runs that it reads from standard input, or from another descriptor, under a name of that; and what reads what is
//! written to `>(…)`.
//!
//! Each of these acts when its value stands in the script as one quoted word, and is refused.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts real shells itself; the crate under test starts nothing"
)]

#[path = "common/template.rs"]
mod template;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use cycod_shell::{Programs, Proof, Question, Reader, Shell, judge};

/// Programs that run the file `{F}`, with a text that acts there; and whether they know `-`.
const RUNNERS: &[(&str, &str, bool)] = &[
    ("bash {F}", "touch PWNED", false),
    ("bash -eu {F} a", "touch PWNED", false),
    ("env -u A sh {F}", "touch PWNED", false),
    (". {F}", "touch PWNED", false),
    ("source {F}", "touch PWNED", false),
    ("python3 {F}", "open('PWNED', 'w')", true),
    ("perl {F}", "open(F, '>', 'PWNED')", true),
    ("sed -nf {F} /etc/passwd", "1e touch PWNED", true),
    ("sed --file={F} /etc/passwd", "1w PWNED", true),
    ("gawk -f {F}", "BEGIN { system(\"touch PWNED\") }", true),
    ("mawk -f {F}", "BEGIN { system(\"touch PWNED\") }", true),
    ("make -f {F}", "all: ; touch PWNED", true),
    ("make --makefile={F}", "all: ; touch PWNED", true),
    ("curl -s -K {F}", "url=file:///etc/hostname\noutput=PWNED", true),
    ("sqlite3 -init {F} db .quit", ".shell touch PWNED", false),
    ("groff -U -Tascii {F}", ".sy touch PWNED", true),
    ("ssh -F {F} host", "ProxyCommand touch PWNED", false),
];

/// Names of standard input.
const INPUTS: &[&str] = &[
    "/dev/stdin",
    "/dev/fd/0",
    "/proc/self/fd/0",
    "/proc/thread-self/fd/0",
    "//dev/.//stdin",
    "/dev/../dev/stdin",
    "/dev/fd/../fd/0",
    "../../../../../../dev/stdin",
];

/// How a value gets to the standard input of `{C}`.
const FEEDS: &[&str] = &[
    r#"echo "{X}" | {C}"#,
    r#"{C} <<< "{X}""#,
    "{C} << END\n{X}\nEND",
    r#"v="{X}"; printf '%s\n' "$v" | { {C}; }"#,
    r#"f() { {C}; }; f < <(echo "{X}")"#,
    r#"echo "{X}" > x; {C} < x"#,
    r#"exec <<< "{X}"; {C}"#,
    r#"exec 3<<< "{X}"; {C} < /dev/fd/3"#,
    r#"exec 3<<< "{X}"; true | {C} <&3"#,
    r#"echo "{X}" | {C} < /dev/../dev/stdin"#,
];

/// How a value gets to descriptor 3 of `{C}`.
const DESCRIPTORS: &[&str] = &[
    r#"{C} 3<<< "{X}""#,
    r#"exec 3<<< "{X}"; {C}"#,
    r#"exec 3< <(echo "{X}"); {C} < /dev/null"#,
    r#"exec 3<<< "{X}"; true | {C}"#,
    r#"{ true | {C}; } 3<<< "{X}""#,
    r#"f() { true | {C}; }; f 3<<< "{X}""#,
    r#"echo "{X}" | { {C} 3<&0 < /dev/null; }"#,
];

/// What writes a value to where `{R}` says.
const WRITERS: &[&str] = &[
    r#"echo "{X}" {R}"#,
    r#"printf '%s\n' "{X}" {R}"#,
    r#"cat <<< "{X}" {R}"#,
    r#"sed p <<< "{X}" {R}"#,
    r#"{ echo "{X}"; } {R}"#,
    r#"( echo "{X}" ) {R}"#,
    r#"f() { echo "$1"; }; f "{X}" {R}"#,
    r#"for v in "{X}"; do echo "$v"; done {R}"#,
    r#"if true; then echo "{X}"; fi {R}"#,
    r#"exec {R}; echo "{X}""#,
    r#"echo "{X}" | tee /dev/null {R}"#,
];

/// What runs what is written to it.
const READERS: &[&str] = &[
    "> >(bash)",
    ">> >(sh)",
    "&> >(bash -s)",
    "&>> >(sh)",
    ">& >(sh)",
    "2>&1 > >(sh)",
    "1> >(cat | bash)",
    "> >(xargs -I% sh -c %)",
    "> >(bash /dev/stdin)",
    "> >(while read -r l; do eval \"$l\"; done)",
];

/// Further ways from one descriptor to another.
const OTHERS: &[&str] = &[
    r#"{ { echo "{X}" >&3; } | true; } 3>&1 | bash"#,
    r#"{ echo "{X}" > /dev/fd/3; } 3> >(bash)"#,
    r#"exec 3> >(bash); echo "{X}" >&3"#,
    r#"exec {fd}> >(bash); echo "{X}" >&$fd"#,
    r#"echo "{X}" >& x; bash x"#,
    r#"cd /dev; echo "cd $OLDPWD; {X}" | bash stdin"#,
    r#"echo "cd $PWD; {X}" | (cd /dev/fd; bash 0)"#,
    r#"p=/dev/fd; f=$p/0; echo "{X}" | bash "$f""#,
    r#"v="{X}" bash /dev/fd/0 <<< 'eval "$v"'"#,
    r#"v="{X}"; . /dev/stdin <<< 'eval "$v"'"#,
];

/// What may run a value in the same way; nothing shows that it does with the programs of every machine.
const PERHAPS: &[&str] = &[
    r#"X=";{X};" bash /proc/self/environ"#,
    r#"X=";{X};" bash < /proc/self/environ"#,
    r#"echo "{X}" | bash "$FILE""#,
    r#"echo "{X}" | bash "$DIRECTORY/$FILE""#,
    r#"cd /dev/fd; echo "{X}" | bash 0"#,
    r#"echo "{X}" | /dev/stdin"#,
    r#"echo "{X}" | node /dev/fd/0"#,
    r#"echo "{X}" | tar -cf t -T -"#,
    r#"echo "{X}" | psql -f -"#,
    r#"echo "{X}" | at -f - now"#,
    r#"echo "{X}" | docker build -f - ."#,
    r#"echo "{X}" | docker build -t a -"#,
    r#"echo "{X}" > D; podman build -f D ."#,
    r#"echo "{X}" | docker compose -f - up"#,
    r#"echo "{X}" | ansible-playbook /dev/stdin"#,
    r#"echo "{X}" | ansible-playbook -e @/dev/stdin a.yml"#,
    r#"echo "{X}" | docker run -i image"#,
    r#"echo "{X}" | docker run --rm -it image"#,
    r#"echo "{X}" | podman start -ai name"#,
    r#"echo "{X}" | docker attach name"#,
    r#"echo "{X}" | docker compose run service"#,
    r#"echo "{X}" | kubectl run a --image=b -i"#,
];

/// What reads values under such names, and runs none.
const HARMLESS: &[&str] = &[
    r#"echo "{X}" | cat -"#,
    r#"while read -r key value; do echo "$key {X} $value"; done < /proc/meminfo"#,
    r#"echo "{X}" | grep -f - a"#,
    r#"grep -f /dev/stdin a <<< "{X}""#,
    r#"tar -cf - -- "{X}""#,
    r#"echo "{X}" | diff - f"#,
    r#"echo "{X}" | jq . /dev/stdin"#,
    r#"echo "{X}" | wc -l /dev/fd/0"#,
    r#"echo "{X}" | tee /dev/stderr"#,
    r#"echo "{X}" > /dev/stderr; bash -c 'ls'"#,
    r#"xargs -a list echo "{X}""#,
    r#"echo "{X}" | curl -d @- http://a"#,
    r#"echo "{X}" | awk '{ print > "/dev/stderr" }'"#,
    r#"echo "{X}" | python3 "$HERE/script.py""#,
    r#"echo "{X}" | bash ./a.sh"#,
    r#"sed "$PROGRAM" <<< "{X}""#,
    r#"jq "$FILTER" <<< "{X}""#,
    r#"python3 /dev/stdin "{X}" <<< 'print(1)'"#,
    r#"bash /dev/fd/0 "{X}" <<< 'echo "$1"'"#,
    r#"docker run -v /proc:/host/proc -i image cat <<< "{X}""#,
    r#"echo "{X}" | docker run image"#,
    r#"echo "{X}" | git commit -F -"#,
    r#"echo "{X}" | { read -r v || exit 1; echo "$v"; }"#,
    r#"echo "{X}" | { grep a || exit 2; }; echo b >&2; bash ./2"#,
    r#"echo "{X}" >&2; bash 2 < a"#,
    r#"echo "{X}" > >(tee log)"#,
    r#"exec > >(tee log) 2>&1; ls -- "{X}""#,
    r#"exec 2> >(grep -v warning >&2); echo "{X}""#,
    r#"while read -r l; do echo "$l"; done <<< "{X}"; python3 "$SCRIPT" < a"#,
    r#"exec 3>&1; out=$(dialog --menu "{X}" 9 9 2>&1 1>&3); echo "$out""#,
];

fn is_placeable(script: &str) -> bool {
    let command = template::segments(script);
    let programs = Programs::default();
    let reader = Reader::Shell(Shell::Bash);
    let question = Question { reader, command: &command, environment: &[], input: &[], programs: &programs };
    judge(&question).command.iter().all(|verdict| verdict.proof <= Proof::Data)
}

/// Whether a value acts that stands in a script as one quoted word.
fn acts(script: &str, value: &str) -> bool {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let deep = directory.path().join("a/b");
    std::fs::create_dir_all(&deep).expect("the directory is writable");
    // What reads from `>(…)` may go on when the script is over.
    let script = format!(
        "{}\nexec 1>&- 2>&- 3>&-; for i in 1 2 3 4 5; do [ -e PWNED ] || sleep 0.02; done",
        script.replace("{X}", "$X_")
    );
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", &script]).current_dir(&deep).env("X_", value);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status().expect("bash is installed");
    deep.join("PWNED").exists()
}

/// Scripts, each with a value, by what they have in common.
fn attacks() -> Vec<(String, String, &'static str)> {
    let mut attacks = Vec::new();
    let mut number = 0;
    for (runner, value, reads_dash) in RUNNERS {
        let names = INPUTS.iter().chain(["-"].iter().filter(|_| *reads_dash));
        for name in names {
            let command = runner.replace("{F}", name);
            // Each name with some of the ways, which all come up with each program.
            for _ in 0..3 {
                number += 1;
                let feed = FEEDS[number % FEEDS.len()];
                attacks.push(((*runner).to_owned(), feed.replace("{C}", &command), *value));
            }
        }
        for name in ["/dev/fd/3", "/proc/self/fd/3", "/dev/../dev/fd/3"] {
            let command = runner.replace("{F}", name);
            for feed in DESCRIPTORS {
                attacks.push(((*runner).to_owned(), feed.replace("{C}", &command), *value));
            }
        }
    }
    for reader in READERS {
        for writer in WRITERS {
            attacks.push(((*reader).to_owned(), writer.replace("{R}", reader), "touch PWNED"));
        }
    }
    attacks.extend(OTHERS.iter().map(|script| ((*script).to_owned(), (*script).to_owned(), "touch PWNED")));
    attacks
}

#[test]
fn what_a_program_runs_under_a_name_of_its_input_is_refused() {
    let attacks = attacks();
    let scripts = attacks.iter().map(|(_, script, _)| script.as_str()).chain(PERHAPS.iter().copied());
    let open: String = scripts.filter(|script| is_placeable(script)).map(|script| format!("{script}\n")).collect();
    assert!(open.is_empty(), "these are let through:\n{open}");
}

/// The attacks are real: of each kind, some act with the programs of this machine.
#[test]
fn quoting_alone_lets_them_through() {
    let attacks = attacks();
    let (queue, idle) = (Mutex::new(attacks.iter()), Mutex::new(BTreeSet::new()));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some((_, script, value)) = queue.lock().expect("no thread panics with it").next() else {
                        return;
                    };
                    // A busy machine may need a second try.
                    if !acts(script, value) && !acts(script, value) {
                        idle.lock().expect("no thread panics with it").insert(script.clone());
                    }
                }
            });
        }
    });
    let idle = idle.into_inner().expect("no thread panics with it");
    let kinds: BTreeSet<&str> = attacks.iter().map(|(kind, ..)| kind.as_str()).collect();
    let is_idle =
        |kind: &&&str| attacks.iter().filter(|(other, ..)| other == **kind).all(|(_, script, _)| idle.contains(script));
    let dead: Vec<_> = kinds.iter().filter(is_idle).collect();
    assert!(dead.is_empty(), "nothing acts of: {dead:#?}");
    let report: String = idle.iter().map(|script| format!("{script}\n")).collect();
    assert!(idle.len() * 10 < attacks.len(), "{} of {} do nothing:\n{report}", idle.len(), attacks.len());
}

#[test]
fn what_a_program_only_reads_there_is_data() {
    let refused: Vec<_> = HARMLESS.iter().filter(|script| !is_placeable(script)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
