//! What a command starts: the files that it names in whatever way, and that it says so when it cannot tell.

use cycod_shell::{FilePart, Programs, Question, ReadAs, Reader, Segment, Shell, Starts, starts};

fn starts_of(script: &str) -> Starts {
    starts(&Question {
        reader: Reader::Shell(Shell::Bash),
        command: &[Segment::Text(script)],
        environment: &[],
        input: &[],
        programs: &Programs::default(),
    })
}

/// What a script starts: a line for each file, with how it is read, then what cannot be told.
fn shown(script: &str) -> String {
    lines(&starts_of(script))
}

fn lines(found: &Starts) -> String {
    let path = |path: &[FilePart]| {
        let part = |part: &FilePart| match part {
            FilePart::Text(text) => text.clone(),
            FilePart::WorkingDirectory => "HERE".to_owned(),
            FilePart::Script => "SCRIPT".to_owned(),
            FilePart::ScriptDirectory => "BESIDE".to_owned(),
            FilePart::Workspace => "PROJECT".to_owned(),
            FilePart::Home => "HOME".to_owned(),
            FilePart::Unknown(what) => format!("[{what}]"),
        };
        path.iter().map(part).collect::<String>()
    };
    let mut lines: Vec<String> = found
        .files
        .iter()
        .map(|file| {
            let how = match file.read_as {
                ReadAs::Program => "start",
                ReadAs::Shell => "shell",
                ReadAs::Code => "code",
                ReadAs::Content => "content",
                ReadAs::Module => "module",
            };
            format!("{how} {}", path(&file.path))
        })
        .collect();
    lines.extend(found.loaders.iter().map(|loader| format!("{} by {}", loader.program, loader.files[0])));
    lines.extend(found.search.iter().map(|directory| format!("search {}", path(directory))));
    lines.extend(found.unpinned.iter().map(|what| format!("? {what}")));
    lines.join(", ")
}

/// Compares what each script starts with what is expected.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(script, expected)| (script, expected, shown(script)))
        .filter(|(_, expected, found)| found != *expected)
        .map(|(script, expected, found)| format!("{script}\n  expected: {expected}\n  found:    {found}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn files_that_are_named() {
    check(&[
        ("./run.sh a", "start ./run.sh"),
        ("bash scripts/run.txt", "shell scripts/run.txt"),
        ("sh < scripts/run.txt", "shell scripts/run.txt"),
        ("cat scripts/run.txt | sh", "shell scripts/run.txt"),
        ("cat a.txt | grep -v x | tail -n +2 | bash -s -- y", "shell a.txt, shell x, shell +2"),
        (". lib/a", "shell lib/a"),
        ("source lib/*.sh", "shell lib/*.sh"),
        ("bash -c '. ./x'", "shell ./x"),
        ("eval \"$(cat x)\"", "shell x"),
        ("bash <(cat x)", "shell x"),
        ("bash <<< \"$(< x)\"", "shell x"),
        ("find . -name a -exec ./x {} +", "start ./x"),
        ("sudo env A=1 nice -n 5 ./x", "start ./x"),
        ("F=./x; $F", "start ./x"),
        ("f() { \"$1\" a; }; f ./x", "start ./x"),
        ("cp a.txt b; sh b", "shell b, shell a.txt"),
        ("echo ./x | xargs -n1 sh", "shell ./x"),
        ("run-parts hooks.d", "code hooks.d"),
        ("node .", "code ."),
        ("python3 tools/a.py", "code tools/a.py"),
        ("awk -f a.awk b", "code a.awk"),
        ("trap ./x EXIT", "start ./x"),
        ("while read -r line; do eval \"$line\"; done < list", "shell list"),
        ("PY=$(command -v python3); \"$PY\" a.py", "code a.py"),
    ]);
}

#[test]
fn files_by_directories_that_are_known() {
    check(&[
        ("\"$(pwd)/x\"", "start HERE/x"),
        ("sh \"$PWD/x\"", "shell HERE/x"),
        (". \"$(dirname \"$0\")/lib\"", "shell BESIDE/lib"),
        (". $(dirname $0)/lib", "shell BESIDE/lib"),
        (". \"${BASH_SOURCE%/*}/lib\"", "shell BESIDE/lib"),
        ("d=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"; . \"$d/lib\"", "shell HERE/lib"),
        ("\"$(git rev-parse --show-toplevel)/x\"", "start HERE/x"),
        ("\"$(dirname \"$(dirname \"$(readlink -f \"$0\")\")\")/x\"", "start BESIDE/../x"),
        ("bash -c '\"$0\" a' ./x", "start ./x"),
    ]);
}

#[test]
fn programs_that_run_what_the_directory_says() {
    check(&[
        ("make all", "make by GNUmakefile"),
        ("npm run build", "npm run by package.json"),
        ("just a", "just by justfile"),
        ("cargo xtask a", "cargo xtask by Cargo.toml"),
        ("python3 -m scripts.job", "module scripts.job"),
        ("PATH=./bin:$PATH tool", "search ./bin, ? what `tool` starts or loads: no table describes it"),
        ("PATH=$PWD/bin:$PATH; ls", "search HERE/bin"),
        ("BASH_ENV=./x ls", "code ./x, ? what programs load by the variable `BASH_ENV`"),
        ("git commit -m x", "? what `git commit` starts or loads"),
        ("pre-commit run", "pre-commit run by .pre-commit-config.yaml"),
    ]);
}

#[test]
fn what_cannot_be_told_is_said() {
    check(&[
        ("curl -s https://x | sh", "shell https://x, ? what `curl` prints, which is run"),
        ("sh \"$(find . -name x)\"", "shell [$(find …)], shell ., shell x, ? what `find` prints, which is run"),
        ("ls *.sh | xargs -n1 sh", "shell [$(ls …)], shell *.sh, ? what `ls` prints, which is run"),
        ("\"$FOO/run.sh\"", "start [$FOO]/run.sh"),
        ("$FOO", "? the program that `$FOO` names"),
        ("bash -c \"$FOO\"", "? the code that `bash` evaluates"),
        ("python3 -c 'import x'", "? what code for `python3` starts or loads"),
        ("foo a", "? what `foo` starts or loads: no table describes it"),
        ("cd \"$FOO\" && ./x", "start ./x, ? relative programs in a directory that `$FOO` decides"),
    ]);
}

#[test]
fn what_starts_nothing_says_nothing() {
    let inert = [
        "ls -la; git status; grep -rn x . | head -5 | sort | uniq -c",
        "git log --oneline | awk '{print $1}' | xargs -n1 git show",
        "x=$(git rev-parse HEAD); echo \"$x\" > version.txt; cat version.txt",
        "curl -s https://x | jq -r .a",
        "for f in *.txt; do wc -l \"$f\"; done; [ -f a ] && rm a",
        "kubectl get pods -n \"$NS\" -o json; docker ps -a; gh pr list",
    ];
    check(&inert.map(|script| (script, "")));
}

/// The programs that a script starts, and the variables by which others may run.
fn programs(script: &str) -> String {
    let found = starts_of(script);
    let by_programs = found.by_programs.iter().map(|what| format!("({what})"));
    let unknown =
        found.unpinned.iter().filter(|what| !found.by_programs.contains(what)).map(|what| format!("? {what}"));
    let variables = found.variables.iter().map(|name| format!("${name}"));
    let lines: Vec<String> =
        found.commands.iter().cloned().chain(variables).chain(by_programs).chain(unknown).collect();
    lines.join(", ")
}

#[test]
fn programs_are_told_from_what_the_shell_does_itself() {
    for (script, expected) in [
        ("cd x && echo a | cat", "cat"),
        ("env echo a", "env, echo"),
        ("echo() { curl x; }; echo", "curl"),
        ("alias cat=curl; cat", "alias, cat"),
        ("PAGER=less man ls", "man, $PAGER"),
        ("read -r PATH; cat", "cat, $PATH"),
        (
            "declare -n X=PATH; X=.; cat",
            "? what a command starts that is not followed: a variable in it is a reference to another",
        ),
        ("python3 -c 'import os'", "python3, (what code for `python3` starts or loads)"),
        ("git -c alias.x='!curl' x", "git, ? what code for `git` starts or loads"),
        ("env -S 'curl x'", "env, curl"),
        ("env --split-string='curl x'", "env, curl"),
        ("unheard-of x", "unheard-of, (what `unheard-of` starts or loads: no table describes it)"),
    ] {
        assert_eq!(programs(script), expected, "{script}");
    }
}
