//! Judging stays quick when a command grows in any dimension. What would take too long is given up, and not proven.

#[path = "common/template.rs"]
mod template;

use std::time::{Duration, Instant};

use cycod_shell::{Programs, Question, Reader, Shell, judge};

/// A command of this size.
type Grown = fn(usize) -> String;

/// Commands that grow in one dimension each.
const DIMENSIONS: &[(&str, Grown)] = &[
    ("placeholders", |n| format!("echo {}", "{X} ".repeat(n))),
    ("placeholders in one word", |n| format!("echo \"{}\"", "{X}".repeat(n))),
    ("words", |n| format!("git log {} {{X}}", "a ".repeat(n))),
    ("options", |n| format!("git log {} {{X}}", "--oneline ".repeat(n))),
    ("clusters", |n| format!("ls -{} {{X}}", "l".repeat(n))),
    ("unknown options", |n| format!("rg {} {{X}}", "--none a ".repeat(n))),
    ("statements", |n| "git log -- \"{X}\"\n".repeat(n)),
    ("pipes", |n| format!("echo {{X}} {} | cat", "| sort ".repeat(n))),
    ("variables", |n| lines(n, |i| format!("v{i}=\"{{X}}\"")) + "git log -- \"$v1\""),
    ("variables of variables", |n| {
        "v0={X}\n".to_owned() + &lines(n, |i| format!("v{}=\"$v{i}\"", i + 1)) + "git log \"$v1\""
    }),
    ("one variable", |n| lines(n, |i| format!("v=\"{i} {{X}}\"")) + "git log -- \"$v\""),
    ("a variable of itself", |n| "v={X}\n".to_owned() + &lines(n, |i| format!("v=\"$v {i}\"")) + "git log -- \"$v\""),
    ("appended elements", |n| lines(n, |i| format!("a+=(\"{{X}}\" {i})")) + "git log -- \"${a[@]}\""),
    ("arguments of themselves", |n| {
        "set -- {X}\n".to_owned() + &lines(n, |i| format!("set -- {i} \"$@\"")) + "git log -- $@"
    }),
    ("functions", |n| lines(n, |i| format!("f{i}() {{ git log -- \"$1\"; }}\nf{i} \"{{X}}\""))),
    ("functions of functions", |n| {
        "f0() { echo \"$1\"; }\n".to_owned()
            + &lines(n, |i| format!("f{}() {{ f{i} \"$1\"; f{i} a; }}", i + 1))
            + &format!("f{n} {{X}}")
    }),
    ("choices", |n| format!("v=a\n{}git log -- $v {{X}}", lines(n, |i| format!("[ a ] && v=b{i}")))),
    ("choices in one command", |n| {
        lines(n, |i| format!("[ a ] && v{i}=b\nv{i}=c"))
            + &format!("git log {} {{X}}", lines(n, |i| format!("$v{i} \\")))
    }),
    ("options in variables", |n| {
        lines(n, |i| format!("[ a ] && o{i}=--oneline"))
            + "git log "
            + &(0..n).map(|i| format!("$o{i} ")).collect::<String>()
            + "{X}"
    }),
    ("files", |n| lines(n, |i| format!("echo \"{{X}}\" > f{i}\ncat f{i}"))),
    ("copies", |n| "echo {X} > f0\n".to_owned() + &lines(n, |i| format!("cp f{i} f{}", i + 1)) + "cat f1"),
    ("substitutions", |n| format!("git log -- {}\"{{X}}\"{}", "\"$(echo ".repeat(n), ")\"".repeat(n))),
    ("subshells", |n| format!("{}git log -- \"{{X}}\"{}", "( ".repeat(n), " )".repeat(n))),
    ("ifs", |n| format!("{}git log -- \"{{X}}\"{}", "if a; then ".repeat(n), "; fi".repeat(n))),
    ("loops", |n| format!("{}git log -- \"{{X}}\"{}", "for i in a b; do ".repeat(n), "; done".repeat(n))),
    ("wrappers", |n| format!("{} git log -- {{X}}", "env timeout 5 ".repeat(n))),
    ("shells in shells", |n| {
        (0..n.min(40)).fold("git log -- \"$1\"".to_owned(), |code, _| format!("sh -c {} _ \"$1\"", quoted(&code, n)))
            + " {X}"
    }),
    ("documents", |n| "cat <<EOF\n{X}\nEOF\n".repeat(n)),
    ("lines of a document", |n| format!("cat <<EOF\n{}EOF\n", "a {X} b\n".repeat(n))),
    ("code", |n| format!("python3 -c \"{}\"", "print('{X}')\n".repeat(n))),
    ("arithmetic", |n| format!("n={{X}}; echo $((n{}))", " + n".repeat(n))),
    ("cases", |n| format!("case {{X}} in {} esac", lines(n, |i| format!("a{i}) echo {{X}};;")))),
    ("quotes", |n| format!("echo {}", "'a'\"{X}\"".repeat(n))),
    ("names", |n| format!("git log -- \"{{X}}\" {}", "$HOME/a ".repeat(n))),
];

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|index| line(index) + "\n").collect()
}

/// Quoting doubles with each level, so that deep ones stay short.
fn quoted(code: &str, _: usize) -> String {
    if code.len() > 2_000 { "'git log'".to_owned() } else { format!("'{}'", code.replace('\'', "'\\''")) }
}

fn time(source: &str) -> Duration {
    let segments = template::segments(source);
    let programs = Programs::default();
    let reader = Reader::Shell(Shell::Bash);
    let begin = Instant::now();
    let judgement = judge(&Question { reader, command: &segments, environment: &[], input: &[], programs: &programs });
    let time = begin.elapsed();
    assert!(!judgement.command.is_empty());
    time
}

/// The size of the largest commands that are tried, in bytes.
const LARGEST: usize = 64 * 1024;

/// How long judging one may take, without optimisation and on a busy machine.
const LIMIT: Duration = Duration::from_secs(3);

#[test]
fn no_command_of_64_kilobytes_takes_long() {
    let mut wrong = String::new();
    for (name, command) in DIMENSIONS {
        let mut size = 25;
        loop {
            let source = command(size);
            // The faster of two: other processes only slow it down.
            let taken = time(&source).min(time(&source));
            if taken > LIMIT {
                wrong += &format!("{name}: {taken:?} for {size}, {} bytes\n", source.len());
            }
            if taken > LIMIT || source.len() * 4 > LARGEST || size > LARGEST {
                eprintln!("{name}: {taken:?} for {size}, {} bytes", source.len());
                break;
            }
            size *= 4;
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
