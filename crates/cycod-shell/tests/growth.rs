//! Judging stays quick when a command grows in any dimension.

#[path = "common/template.rs"]
mod template;

use cycod_shell::{Programs, Question, Reader, Shell, judge};
use growth::Grown;

/// Commands that grow in one dimension each.
const DIMENSIONS: &[(&str, Grown)] = &[
    ("placeholders", |n| format!("echo {}", "{X} ".repeat(n))),
    ("placeholders in one word", |n| format!("echo \"{}\"", "{X}".repeat(n))),
    ("words", |n| format!("git log {} {{X}}", "a ".repeat(n))),
    ("options", |n| format!("git log {} {{X}}", "--oneline ".repeat(n))),
    ("operands before an option", |n| format!("jupyter nbconvert {} --execute", "{X} ".repeat(n))),
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
    ("names of files", |n| lines(n, |i| format!("touch \"f{i}{{X}}\"\ncat f{i}*")) + "ls | cat"),
    ("what a program is told", |n| lines(n, |_| "git commit -m \"{X}\"\na=$(git log -1)".to_owned())),
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

#[test]
fn judging_takes_the_time_that_the_length_allows() {
    let programs = Programs::default();
    growth::check(DIMENSIONS, |source| {
        let segments = template::segments(source);
        let reader = Reader::Shell(Shell::Bash);
        let question = Question { reader, command: &segments, environment: &[], input: &[], programs: &programs };
        assert!(!judge(&question).command.is_empty());
    });
}
