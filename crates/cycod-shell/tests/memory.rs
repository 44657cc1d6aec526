//! What is left of a value when the command that got it has ended, and no file holds it: what a program was told and prints when it
//! runs again, the names of files, and the words of processes.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real shells and programs, and is refused.

#[path = "common/acting.rs"]
mod acting;
#[path = "common/template.rs"]
mod template;

use acting::{acts, all_act_and_are_refused, all_are_placeable, is_refused, judged};
use cycod_shell::Shell;

const SHELL: &str = "touch PWNED";
const REPOSITORY: &str = "git init -q .; git commit -q --allow-empty -m a; ";

/// A name that a value decides, in every way in which names are listed.
const NAMES: &[(&str, &str)] = &[
    (r#"touch f; touch -- "{X}"; tar cf o.tar *"#, "-Itouch PWNED"),
    (r#"echo a > "{X}"; grep -rl a . | xargs tar cf o.tar"#, "a -Itouch${IFS}PWNED"),
    (r#"touch f; touch "./{X}"; tar cf o.tar *"#, "-Itouch PWNED"),
    (r#"touch f; mkdir d; touch d/f "d/{X}"; cd d; tar cf ../o.tar *; mv PWNED .."#, "-Itouch PWNED"),
    (r#"touch f; echo a > "./{X}"; tar cf o.tar *"#, "-Itouch PWNED"),
    (r#"touch f; echo a > "./{X}"; tar cf o.tar [!.]*"#, "-Itouch PWNED"),
    (r#"touch f; mkdir -p "./{X}"; tar cf o.tar *"#, "-Itouch PWNED"),
    (r#"touch f; cp f "./{X}"; tar cf o.tar *"#, "-Itouch PWNED"),
    (r#"touch f; touch "./{X}"; p='*'; tar cf o.tar $p"#, "-Itouch PWNED"),
    (r#"touch f; touch "./{X}"; a=(*); tar cf o.tar "${a[@]}""#, "-Itouch PWNED"),
    (r#"touch f; touch "./{X}"; set -- *; tar cf o.tar "$@""#, "-Itouch PWNED"),
    (r#"touch f; touch "./{X}"; f() { tar cf o.tar *; }; f"#, "-Itouch PWNED"),
    (r#"touch f; for i in 1 2; do tar cf o.tar *; touch "./{X}"; done"#, "-Itouch PWNED"),
    (r#"touch f; touch "./{X}"; mapfile -t a < <(ls); tar cf o.tar "${a[@]}""#, "-Itouch PWNED"),
    (r#"touch f; touch "./{X}"; while read -r n; do tar cf o.tar f "$n"; done < <(ls)"#, "-Itouch PWNED"),
    (r#"touch "./{X}"; sh < <(ls)"#, SHELL),
    (r#"touch "./{X}"; ls | sh"#, SHELL),
    (r#"touch "./{X}"; ls -1 > list; sh list"#, SHELL),
    (r#"touch "./{X}"; echo * | sh"#, SHELL),
    (r#"touch "./{X}"; printf '%s\n' t* | sh"#, SHELL),
    (r#"touch "./{X}.txt"; for f in *.txt; do sh -c "echo $f"; done"#, "a;touch PWNED;"),
    (r#"touch "./a{X}"; for f in a*; do sh -c "echo $f"; done"#, ";touch PWNED"),
    (r#"touch "./{X}"; for f in *; do eval "$f"; done"#, SHELL),
    (r#"touch "./{X}"; for f in ./*; do eval "${f#./}"; done"#, SHELL),
    (r#"touch "./{X}"; find . -name 't*' -printf '%f\n' | sh"#, SHELL),
    (r#"touch "./{X}"; find . -name 't*' -exec sh -c "echo {}" \;"#, "t;touch PWNED"),
    (r#"touch "./{X}"; ls | xargs -d '\n' -I% sh -c "echo %""#, "a;touch PWNED"),
    (r#"touch "./{X}"; eval "$(ls)""#, SHELL),
    (r#"touch "./{X}"; compgen -G 't*' | sh"#, SHELL),
    (r#"touch "./{X}"; find . -name 't*' -exec sh -c 'eval "${1#./}"' _ {} \;"#, SHELL),
    (r#"touch "./{X}"; sh -c "$(basename ./t*)""#, SHELL),
    (r#"touch "./{X}"; python3 -c 'import os; print(*(n for n in os.listdir(".") if n[0] == "t"))' | sh"#, SHELL),
    (r#"ln -s "{X}" link; readlink link | sh"#, SHELL),
    // Code that names files after what it reads.
    (r#"touch f; awk '{print > $1}' <<< "{X}"; sort *"#, "-oPWNED"),
    (r#"touch f; v="{X}" python3 -c 'import os; open(os.environ["v"], "w")'; sort *"#, "-oPWNED"),
    (r#"echo "{X}" > f; python3 -c 'for n in open("f"): open(n.strip(), "w")'; sort *"#, "-oPWNED"),
    (r#"touch f; echo "{X}" | sed -n 's/.*/touch -- &/e'; sort *"#, "-oPWNED"),
    (
        r#"touch f; f() { v="$1" perl -e 'open(F, ">", $ENV{"v"})'; }; f "{X}"; for i in *; do sort "$i"; done"#,
        "-oPWNED",
    ),
    (
        r#"touch "./{X}"; mkdir .o; tar cf .o/a.tar --exclude=.bin --exclude=.o .; tar tf .o/a.tar | sed 's,^./,,' | sh"#,
        SHELL,
    ),
    (r#"git init -q .; touch "./{X}"; git add "./{X}"; git ls-files | sh"#, SHELL),
    // What is unpacked has names of its own.
    (
        r#"touch f "./-Itouch PWNED"; tar cf o.tar ./f ./-I*; rm f ./-I*; mkdir d; tar xf "{X}" -C d; cd d; tar cf p.tar *; mv PWNED .."#,
        "o.tar",
    ),
    (
        r#"touch f "./-Itouch PWNED"; git init -q r; mv f ./-I* r; git -C r add .; git -C r commit -qm a; git clone -q "{X}" c; cd c; tar cf p.tar *; mv PWNED .."#,
        "./r",
    ),
    (r#"git init -q .; touch "./{X}"; git status --short | cut -c4- | tr -d '"' | sh"#, SHELL),
];

/// What a program was told.
const TOLD: &[(&str, &str)] = &[
    (r#"git commit -q --allow-empty -m "{X}"; git log -1 --format=%B | sh"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; eval "$(git log -1 --format=%B)""#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; m=$(git log -1 --format=%s); sh -c "echo $m""#, ";touch PWNED"),
    (r#"git commit -q --allow-empty -m "{X}"; nice git log -1 --format=%s | sh"#, SHELL),
    (r#"echo "{X}" | git commit -q --allow-empty -F -; git log -1 --format=%s | sh"#, SHELL),
    (r#"echo "{X}" > m; git commit -q --allow-empty -F m; git log -1 --format=%s | sh"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; git log --format=%B --output=g; sh g"#, SHELL),
    (r#"git commit -q --allow-empty -m "Fix: {X}"; git log -1 --format=%s | cut -d: -f2 | sh"#, SHELL),
    (r#"git checkout -q -b "{X}"; git branch --show-current | sh"#, "touch${IFS}PWNED"),
    (r#"git checkout -q -b "{X}"; sh -c "echo $(git rev-parse --abbrev-ref HEAD)""#, ";touch${IFS}PWNED"),
    (r#"git tag -m "{X}" v1; git tag -l --format='%(contents)' | sh"#, SHELL),
    (r#"git notes add -m "{X}"; git notes show | sh"#, SHELL),
    (r#"git config user.name "{X}"; git config user.name | sh"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; git log -1 --format=%s > s; sh s"#, SHELL),
    (r#"GIT_AUTHOR_NAME="{X}" git commit -q --allow-empty -m a; git log -1 --format=%an | sh"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; cat .git/COMMIT_EDITMSG | sh"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; sh < .git/COMMIT_EDITMSG"#, SHELL),
    (r#"git config user.name "{X}"; sed -n 's/.*name = //p' "$PWD/.git/config" | sh"#, SHELL),
    (r#"git checkout -q -b "{X}"; cut -d/ -f3 .git/HEAD | sh"#, "touch${IFS}PWNED"),
    (r#"git tag "{X}"; ls .git/refs/tags | sh"#, "touch${IFS}PWNED"),
    (r#"git commit -q --allow-empty -m "{X}"; sh < <(git log -1 --format=%s)"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; sh <(git log -1 --format=%s)"#, SHELL),
    (r#"git commit -q --allow-empty -m "{X}"; . <(git log -1 --format=%s)"#, SHELL),
    (
        r#"git commit -q --allow-empty -m "{X}"; git log -1 --format=%s > >(sh); for i in {1..500}; do [ -e PWNED ] && break; sleep 0.01; done"#,
        SHELL,
    ),
    (
        r#"git commit -q --allow-empty -m "{X}"; coproc { git log -1 --format=%s; sleep 2; }; sh <&"${COPROC[0]}""#,
        SHELL,
    ),
    (r#"say() { git log -1 --format=%s; }; git commit -q --allow-empty -m "{X}"; say | sh"#, SHELL),
    (r#"for i in 1 2; do git log -1 --format=%s | sh; git commit -q --allow-empty -m "{X}"; done"#, SHELL),
];

/// What processes were given.
const PROCESSES: &[(&str, &str)] = &[
    (r#": "{X}"; tr '\0' '\n' < /proc/$$/environ | grep ^cycod_X= | cut -d= -f2- | sh"#, SHELL),
    (r#"export x="{X}"; cat /proc/self/environ | tr '\0' '\n' | grep ^x= | cut -d= -f2- | sh"#, SHELL),
    (
        r#"x="{X}" perl -e 'sleep 9' & until grep -q perl /proc/$!/comm; do sleep 0.01; done; ps e -o args= $! | tr ' ' '\n' | grep ^x= | cut -d= -f2- | sh; kill $!"#,
        "touch${IFS}PWNED",
    ),
    (
        r#"perl -e 'sleep 9' "{X}" & until grep -q perl /proc/$!/comm; do sleep 0.01; done; ps -o args= $! | sed 's/.*sleep 9 //' | sh; kill $!"#,
        SHELL,
    ),
    (
        r#"perl -e 'sleep 9' "{X}" & until grep -q perl /proc/$!/comm; do sleep 0.01; done; pgrep -af 'sleep 9' -P $$ | sed 's/.*sleep 9 //' | sh; kill $!"#,
        SHELL,
    ),
    (
        r#"perl -e 'sleep 9' "{X}" & until grep -q perl /proc/$!/comm; do sleep 0.01; done; tr '\0' '\n' < /proc/$!/cmdline | tail -1 | sh; kill $!"#,
        SHELL,
    ),
];

/// What people write, and where nothing comes back as code.
const EVERYDAY: &[&str] = &[
    r#"git clone "{X}" r; for f in r/*.md; do cat "$f"; done"#,
    r#"mkdir d; tar xf "{X}" -C d; cat d/*.txt; cd d; wc -l ./*"#,
    r#"git clone "{X}" r; find r -name '*.py' | xargs wc -l; ls r; cd r; ls; grep -rn TODO ."#,
    r#"git clone --depth 1 "{X}" r && cd r && ls -la && git log -1"#,
    r#"unzip -q "{X}" -d d; for f in d/*; do mv "$f" "d/x-$(basename "$f")"; done"#,
    r#"mkdir -p "{X}"; ls"#,
    r#"mkdir -p "out/{X}"; for f in src/*.md; do cat "$f"; done"#,
    r#"mkdir -p -- "{X}"; cd -- "{X}"; curl -fsSL https://acme.test/install.sh | sh"#,
    r#"touch "notes/{X}.md"; grep -rn TODO notes; ls notes/*.md | wc -l"#,
    r#"cp "{X}" in/; tar czf in.tgz in; sha256sum *.tgz"#,
    r#"git checkout -- "{X}"; eval "$(ssh-agent -s)""#,
    r#"git checkout -b "{X}"; git push -u origin "$(git branch --show-current)""#,
    r#"git commit -m "{X}"; git log -1 --format=%B; git push"#,
    r#"git commit -m "{X}"; sha=$(git rev-parse HEAD); echo "$sha" > out.txt; docker build -t "app:$sha" ."#,
    r#"git tag "{X}"; git push --tags; gh release create "$(git describe --tags)""#,
    r#"eval "$(minikube docker-env)"; minikube image load "{X}""#,
    r#"docker build -t "{X}" .; docker push "{X}"; docker images"#,
    r#"curl -fsS -o data.json -- "{X}"; curl -fsSL https://acme.test/install.sh | sh"#,
    r#"d=$(date -d "{X}" +%F); eval "$(date +'y=%Y')"; echo "$d $y""#,
    r#"awk -v n="{X}" '$1 == n' in.txt > out.txt; eval "$(awk '{print "a=1"}' b.txt)""#,
    r#"grep -- "{X}" a; grep -h '^export ' env.txt | sh"#,
    r#"kill $(pgrep -f "{X}"); ps aux | head"#,
    r#"awk '{print $2}' <<< "{X}"; sort *.txt"#,
    r#"echo "{X}" | python3 -c 'import sys; print(sys.stdin.read().upper())'; wc -l ./*.txt"#,
    r#"cat /proc/cpuinfo /proc/loadavg; echo "{X}""#,
    r#"touch "{X}.log"; rm -f -- *.tmp; ls *.txt"#,
    r#"for f in "{X:options}"/*.jpg; do mv "$f" "${f%.jpg}.jpeg"; done"#,
    r#"for f in "{X:options}"/*; do wc -c "${f%.*}.txt"; basename "${f%/}"; done"#,
    r#"cd "{X:options}"; for r in */; do (cd "$r"; b=$(git status | wc -l); printf '%s %s\n' "${r%/}" "$b"); done"#,
    r#"ls -l "{X}"; for f in *; do rm "$f"; done"#,
    r#"find . -name "{X}" | xargs rm -rf"#,
    r#"find . -name "{X}" | xargs -I{} cp {} "{X}""#,
    r#"find . -type f -name "{X}" -print0 | xargs -0 grep -n -- "{Y}""#,
    r#"mapfile -t files < <(find "{X}" -name '*.py'); black "${files[@]}""#,
    r#"find "{X}" -name '*.md' -print0 | while IFS= read -r -d '' f; do grep -Hn -- "{Y}" "$f" || true; done"#,
    r#"r=$(curl -fsS "https://acme.test/{X}"); url=$(jq -r .u <<< "$r"); curl -fsSLO -- "$url""#,
];

fn check(attacks: &[(&str, &str)]) {
    let attacks: Vec<(Shell, &str, &str)> =
        attacks.iter().map(|(script, value)| (Shell::Bash, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[test]
fn a_value_in_the_name_of_a_file_is_found_where_names_are_listed() {
    check(NAMES);
}

/// A path begins with `./`, and the name behind a slash of it with anything.
#[test]
fn a_part_of_a_path_may_be_an_option() {
    for script in [
        r#"touch "{X:options}"; tar cf o.tar *"#,
        r#"mkdir -p "{X:options}"; cd d; tar cf o.tar *"#,
        r#"echo a > "{X:options}"; a=(*); tar cf o.tar "${a[@]}""#,
        r#"p="{X:options}"; tar cf o.tar f "${p##*/}""#,
        r#"tar cf o.tar f "$(basename "{X:options}")""#,
    ] {
        for value in ["./-Itouch PWNED", "d/-Itouch PWNED"] {
            assert!(is_refused(Shell::Bash, script, value), "{script}: {value}");
        }
        assert!(!is_refused(Shell::Bash, script, "./d-1/a -b"), "{script}");
    }
}

#[test]
fn what_a_program_was_told_is_found_where_it_prints_it() {
    let scripts: Vec<(String, &str)> =
        TOLD.iter().map(|(script, value)| (format!("{REPOSITORY}{script}"), *value)).collect();
    check(&scripts.iter().map(|(script, value)| (script.as_str(), *value)).collect::<Vec<_>>());
}

#[test]
fn what_processes_were_given_is_found_where_they_are_shown() {
    check(PROCESSES);
}

#[test]
fn what_people_write_is_data() {
    all_are_placeable(EVERYDAY);
}

#[test]
fn a_name_is_refused_only_where_it_would_be_an_option() {
    let script = r#"touch "./{X}"; tar cf o.tar *"#;
    for (value, refused) in [("notes", false), ("a b", false), ("a-b", false), ("-Ia", true), ("a/-Ia", true)] {
        assert_eq!(is_refused(Shell::Bash, script, value), refused, "{value}");
    }
    // `./*` is what keeps it a name.
    let safe = r#"touch "./{X}"; tar cf o.tar ./*"#;
    assert!(!is_refused(Shell::Bash, safe, "-Itouch PWNED") && !acts(Shell::Bash, safe, "-Itouch PWNED"));
}

#[test]
fn the_reason_says_how_a_value_came_back() {
    let reasons = [
        (r#"git commit -m "{X}"; git log | sh"#, "`git` keeps what it was told, and may print it later"),
        (r#"touch "./{X}"; ls | sh"#, "it is in the name of a file, and the command lists names"),
        (r#"echo "{X}"; ps aux | sh"#, "the words of processes are shown"),
    ];
    for (script, how) in reasons {
        let verdict = &judged(Shell::Bash, script).command[0];
        assert_eq!(verdict.reason, format!("`X` is in code that `sh` parses: no quoting keeps it data there; {how}"));
    }
}

#[test]
fn the_first_reason_is_that_of_the_code_itself() {
    let verdicts = judged(Shell::Bash, r#"python3 -c "print({X})" > "{Y}""#).command;
    assert!(verdicts[0].reason.starts_with("`X` is in code that `python3` parses"), "{}", verdicts[0].reason);
}
