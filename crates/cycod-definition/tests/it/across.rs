//! What a step leaves for the next one: a value that decides what a later step runs is code where it stands.
//!
//! Each attack acts when its steps run one after another in one directory, each with the value as one quoted word, and the tool
//! with these steps is refused at the placeholder of the earlier step, with a message that names the later one.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts real shells itself; the crate under test starts nothing"
)]

use std::process::{Command, Stdio};

use crate::report;

/// Steps, each as bash reads it, and a value.
const ATTACKS: &[(&[&str], &str)] = &[
    // What a value decides to unpack.
    (&["git clone -q {X} r", "make -C r"], "/repo"),
    (&["git clone -q {X} r", "cd r && make"], "/repo"),
    (&["git clone -q {X} r", "sh r/install.sh"], "/repo"),
    (&["git clone -q {X} r", ". r/env"], "/repo"),
    (&["git clone -q {X} r", "chmod +x r/install.sh; r/install.sh"], "/repo"),
    (&["git clone -q -- {X}", "cd repo; make"], "/repo"),
    (&["git clone -q {X} .", "make"], "/repo"),
    (&["git clone -q {X} r", "cd r; python3 setup.py"], "/repo"),
    (&["git clone -q {X} r", "cd r; python3 -m pkg"], "/repo"),
    (&["git clone -q {X} r", "PYTHONPATH=r python3 -c 'import pkg.__main__'"], "/repo"),
    (&["git clone -q {X} r", "ls r", "make -C r"], "/repo"),
    (&["git init -q r", "git -C r fetch -q {X} HEAD", "git -C r checkout -q FETCH_HEAD", "make -C r"], "/repo"),
    (&["git init -q .; git remote add origin {X}", "git pull -q origin HEAD", "make"], "/repo"),
    (&["git init -q .; git fetch -q {X} HEAD:a", "git checkout -q a; sh install.sh"], "/repo"),
    (&["tar xzf {X}", "sh install.sh"], "/a.tgz"),
    (&["tar xzf {X} -C \"$HOME\"", "sh \"$HOME/install.sh\""], "/a.tgz"),
    (&["cp -r {X} d", "sh d/install.sh"], "/repo"),
    // What a value is written to.
    (&["printf '%s' {X} > s.sh", "sh s.sh"], "touch PWNED"),
    (&["printf '%s' {X} > s.sh", "sh ./s.sh"], "touch PWNED"),
    (&["echo {X} > env", ". ./env"], "touch PWNED"),
    (&["cat <<E > s.sh\n{X}\nE", "bash s.sh"], "touch PWNED"),
    (&["cat <<E > s.sh\n#!/bin/sh\n{X}\nE\nchmod +x s.sh", "./s.sh"], "touch PWNED"),
    (&["echo {X} | tee s.sh", "sh s.sh"], "touch PWNED"),
    (&["echo {X} > a", "cp a b", "sh b"], "touch PWNED"),
    (&["echo {X} > a", "cat a | sh"], "touch PWNED"),
    (&["echo {X} > a", "eval \"$(cat a)\""], "touch PWNED"),
    (&["echo {X} > a", "read -r line < a; $line PWNED"], "touch"),
    (&["echo {X} > a", "xargs sh -c < a"], "'touch PWNED'"),
    (&["echo {X} > a", "while read -r l; do eval \"$l\"; done < a"], "touch PWNED"),
    (&["printf 'all:\\n\\t%s\\n' {X} > Makefile", "make"], "touch PWNED"),
    (&["printf '%s' {X} > s.py", "python3 s.py"], "open('PWNED', 'w')"),
    (&["printf '%s' {X} > mod.py", "python3 -c 'import mod'"], "open('PWNED', 'w')"),
    (&["printf '%s' {X} > p.awk", "awk -f p.awk /etc/hostname"], "BEGIN { system(\"touch PWNED\") }"),
    (&["printf '%s' {X} > p.sed", "sed -n -f p.sed /etc/hostname"], "w PWNED"),
    (&["printf '%s' {X} > q.sql", "sqlite3 db < q.sql"], ".shell touch PWNED"),
    (&["printf '%s' {X} > s.pl", "perl s.pl"], "system('touch PWNED')"),
    (&["curl -so s.sh file://{X}", "sh s.sh"], "/repo/install.sh"),
    (&["curl -s file://{X} > s.sh", "sh s.sh"], "/repo/install.sh"),
    (&["curl -sO file://{X}", "sh install.sh"], "/repo/install.sh"),
    (&["cp {X} s.sh", "sh s.sh"], "/repo/install.sh"),
    (&["mkdir bin; printf '%s' {X} > bin/ls; chmod +x bin/ls", "PATH=$PWD/bin:$PATH; ls"], "#!/bin/sh\ntouch PWNED"),
    // What a program was told, and a name that a value decides.
    (&["git init -q .; git commit -q --allow-empty -m {X}", "git log -1 --format=%s | sh"], "touch PWNED"),
    (&["git init -q .; git config user.name {X}", "ls", "eval \"$(git config user.name)\""], "touch PWNED"),
    (&["touch -- {X}", "ls | sh"], "touch PWNED"),
    (&["touch -- {X}", "for f in *; do sh -c \"echo $f\"; done"], ";touch PWNED"),
    // What the author puts somewhere decides what a later step does with a value.
    (&["cp /bin/sh grep", "./grep -c {X}"], "touch PWNED"),
    (&["printf 'eval \"$1\"' > run.sh", "sh run.sh {X}"], "touch PWNED"),
    (&["echo 'ls() { eval \"$1\"; }' > l", ". ./l; ls {X}"], "touch PWNED"),
];

/// A repository, an archive of it, and whatever of it is run makes the canary.
fn prepare(root: &std::path::Path) {
    let script = "mkdir repo repo/pkg; cd repo
        printf 'touch \"$CANARY\"\\n' | tee install.sh env > /dev/null
        printf 'all:\\n\\ttouch \"$(CANARY)\"\\n' > Makefile
        echo \"import os; open(os.environ['CANARY'], 'w')\" | tee setup.py pkg/__main__.py > pkg/__init__.py
        git init -q . && git add . && git commit -qm a; tar czf ../a.tgz install.sh Makefile";
    let status = shell(root, root, script, "").expect("bash is installed");
    assert!(status, "the repository of the test is made");
}

fn shell(root: &std::path::Path, directory: &std::path::Path, script: &str, value: &str) -> std::io::Result<bool> {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", script]).current_dir(directory);
    command.env("cycod_X", value).env("HOME", root).env("CANARY", directory.join("PWNED"));
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "a");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(|status| status.success())
}

/// Whether a value acts when the steps run one after another.
fn acts(root: &std::path::Path, steps: &[&str], value: &str) -> bool {
    let place = tempfile::tempdir_in(root).expect("a temporary directory");
    let value = match value.strip_prefix('/') {
        Some(path) => root.join(path).to_string_lossy().into_owned(),
        None => value.to_owned(),
    };
    for step in steps {
        let script = step.replace("file://{X}", "\"file://$cycod_X\"").replace("{X}", "\"$cycod_X\"");
        let script = script.replace("\n\"$cycod_X\"\n", "\n$cycod_X\n");
        shell(root, place.path(), &script, &value).expect("bash is installed");
    }
    place.path().join("PWNED").exists()
}

fn workflow(steps: &[&str]) -> String {
    let mut text =
        "name: t\ndescription: d\nparameters:\n  X: {type: string, description: d, required: true}\nsteps:\n"
            .to_owned();
    for (index, step) in steps.iter().enumerate() {
        text.push_str(&format!("  - name: s{index}\n    bash: |\n      {}\n", step.replace('\n', "\n      ")));
    }
    text
}

/// The errors of a tool, one a line: nothing when each value is data.
fn errors(yaml: &str) -> String {
    let (_, lines) = report(yaml, Some("t"));
    lines.lines().filter(|line| line.contains(" error[")).map(|line| format!("    {line}\n")).collect()
}

/// Whether these are errors about the place of a value, and nothing else.
fn are_about_values(errors: &str) -> bool {
    const CODES: [&str; 5] =
        ["evaluated-again", "unproven-place", "value-in-code", "value-chooses-program", "unknown-program"];
    let is_one = |line: &str| CODES.iter().any(|code| line.contains(&format!("error[{code}]")));
    !errors.is_empty() && errors.lines().all(is_one)
}

#[test]
#[cfg(unix)]
fn a_value_that_a_later_step_runs_is_code_where_it_stands() {
    let root = tempfile::tempdir().expect("a temporary directory");
    prepare(root.path());
    let (mut idle, mut open) = (String::new(), String::new());
    for (steps, value) in ATTACKS {
        if !acts(root.path(), steps, value) {
            idle.push_str(&format!("{steps:?}   {value}\n"));
        }
        let errors = errors(&workflow(steps));
        let names_step = (1..steps.len()).any(|index| errors.contains(&format!("step `s{index}`")));
        let is_own = steps.last().is_some_and(|last| last.contains("{X}"));
        if !are_about_values(&errors) || !names_step && !is_own {
            open.push_str(&format!("{steps:?}:\n{errors}"));
        }
    }
    assert!(idle.is_empty(), "these do nothing:\n{idle}");
    assert!(open.is_empty(), "these are let through:\n{open}");
}

/// The same where something other than the order of plain steps leads from one command to the next.
const ROUNDABOUT: &[&str] = &[
    // Where a step works.
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, bash: make, working-directory: r}",
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, run: npm install, working-directory: ./r}",
    "steps:\n  - {name: a, bash: 'git clone {X} {TEMP}/r'}\n  - {name: b, bash: make, working-directory: '{TEMP}/r'}",
    "steps:\n  - {name: a, bash: 'git clone {X} {TEMP}'}\n  - {name: b, bash: 'make -C {TEMP}'}",
    "steps:\n  - {name: a, bash: 'git clone {X} .', working-directory: '{TEMP}'}\n  - {name: b, bash: 'sh {TEMP}/a.sh'}",
    "steps:\n  - {name: a, bash: 'tar xzf {X}', working-directory: w}\n  - {name: b, bash: 'make -C w'}",
    "steps:\n  - {name: m, bash: mktemp -d}\n  - {name: a, bash: 'git clone {X} {m.output}'}\n  - {name: b, bash: 'make -C {m.output}'}",
    "file-paths: {working-directory: w}\nsteps:\n  - {name: a, bash: 'tar xzf {X}'}\n  - {name: b, bash: make}",
    // Who runs.
    "steps:\n  - {name: a, run: 'git clone {X} r'}\n  - {name: b, run: make -C r}",
    "steps:\n  - {name: a, run: 'curl -o s.sh {X}'}\n  - {name: b, run: sh s.sh}",
    "steps:\n  - {name: a, bash: 'printf %s {X} > s.py'}\n  - {name: b, script: 'exec(open(\"s.py\").read())', shell: python}",
    "steps:\n  - {name: a, bash: 'printf %s {X} > s.ps1'}\n  - {name: b, script: './s.ps1', shell: pwsh}",
    // Code of another language, which takes its values itself.
    "steps:\n  - {name: a, python: 'import os; open(\"s.sh\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, python: 'import os, json; v = json.load(open(os.environ[\"CYCOD_PARAMS\"])); open(\"s.sh\", \"w\").write(v[\"X\"])'}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, python: 'import os; e = os.environ; open(\"s.sh\", \"w\").write(e[\"CYCOD_PARAM_\" + \"X\"])'}\n  - {name: b, bash: . ./s.sh}",
    "steps:\n  - {name: a, python: 'import os; open(\"Makefile\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: make}",
    "steps:\n  - {name: a, python: 'import os; open(\"package.json\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: npm run a}",
    "steps:\n  - {name: a, python: 'import os; open(\"Dockerfile\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: docker build .}",
    "steps:\n  - {name: a, python: 'import os; open(\"q.sql\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: psql -f q.sql}",
    "steps:\n  - {name: a, python: 'import os; open(\"q.sql\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: 'sqlite3 db < q.sql'}",
    "steps:\n  - {name: a, python: 'import os; n = 1; open(f\"s{n}.sh\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: sh s1.sh}",
    "steps:\n  - {name: a, python: 'import os; print(os.environ[\"CYCOD_PARAM_X\"])', output: {mode: stream, stream-callback: file, stream-file: s}}\n  - {name: b, bash: sh s}",
    "steps:\n  - {name: a, python: 'import os; open(\"s.sh\", \"w\").write(os.environ[\"V\"])', environment: {variables: {V: '{X}'}}}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, python: 'import sys; open(\"s.sh\", \"w\").write(sys.stdin.read())', input: '{X}'}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, script: 'writeLines(Sys.getenv(\"CYCOD_PARAM_X\"), \"s.sh\")', shell: 'Rscript {0}'}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, script: 'require(\"fs\").writeFileSync(\"s.sh\", process.argv[2])', shell: 'node {0} {1}'}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, script: 'Set-Content s.sh {X}', shell: pwsh}\n  - {name: b, bash: sh s.sh}",
    "python: 'import os; open(\"s.sh\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'\nresources: {cleanup: [{final-command: sh s.sh}]}",
    "steps:\n  - {name: a, bash: 'printf %s {X} > mod.py'}\n  - {name: b, python: 'import sys; sys.path.append(\".\"); import mod'}",
    // Parallel steps, in either order.
    "steps:\n  - {name: b, bash: sh s.sh, parallel: true}\n  - {name: a, bash: 'printf %s {X} > s.sh', parallel: true}",
    "steps:\n  - {name: b, bash: cp s t, parallel: true}\n  - {name: a, bash: 'printf %s {X} > s', parallel: true}\n  - {name: c, bash: sh t}",
    "steps:\n  - {name: b, bash: sh s.sh, wait-for: a}\n  - {name: a, bash: 'printf %s {X} > s.sh', parallel: true}",
    // Other commands of the tool.
    "steps:\n  - {name: a, bash: 'printf %s {X} > s.sh', error-handling: {fallback: sh s.sh}}",
    "steps:\n  - {name: a, bash: 'false', error-handling: {fallback: 'printf %s {X} > s.sh'}}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\nresources: {cleanup: [{final-command: make -C r clean}]}",
    "bash: git clone {X} r\nresources: {cleanup: [{final-command: make -C r clean}]}",
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, bash: make -C r, run-condition: '{a.exit-code} == 0'}",
    // What installs, builds or queries.
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, bash: pip install ./r}",
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, bash: npm install ./r}",
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, bash: docker build -t a r}",
    "steps:\n  - {name: a, bash: 'git clone {X} r'}\n  - {name: b, bash: cargo install --path r}",
    "steps:\n  - {name: a, bash: 'printf %s {X} > q.sql'}\n  - {name: b, bash: psql -f q.sql}",
    "steps:\n  - {name: a, bash: 'printf %s {X} > f.jq'}\n  - {name: b, bash: jq -f f.jq a.json}",
    "steps:\n  - {name: a, bash: 'printf %s {X} > requirements.txt'}\n  - {name: b, bash: pip install -r requirements.txt}",
    "steps:\n  - {name: a, bash: 'wget -q {X}'}\n  - {name: b, bash: sh install.sh}",
    // What is written without a word of the script.
    "steps:\n  - {name: a, bash: 'printf %s {X}', output: {mode: stream, stream-callback: file, stream-file: s.sh}}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, bash: cat, input: '{X}', output: {mode: stream, stream-callback: file, stream-file: '{TEMP}/s.sh'}}\n  - {name: b, bash: 'sh {TEMP}/s.sh'}",
    "steps:\n  - {name: a, bash: 'cat > s.sh', input: '{X}'}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, bash: 'printf %s \"$V\" > s.sh', environment: {variables: {V: '{X}'}}}\n  - {name: b, bash: sh s.sh}",
    "steps:\n  - {name: a, bash: 'env > e'}\n  - {name: b, bash: . ./e}\nenvironment: {variables: {V: '{X}'}}",
];

#[test]
fn a_value_is_followed_by_every_way_to_a_later_command() {
    let mut open = String::new();
    for body in ROUNDABOUT {
        let yaml = format!(
            "name: t\ndescription: d\nparameters:\n  X: {{type: string, description: d, required: true}}\n{body}\n"
        );
        let errors = errors(&yaml);
        if !are_about_values(&errors) {
            open.push_str(&format!("{body}\n{errors}"));
        }
    }
    assert!(open.is_empty(), "these are let through:\n{open}");
}

/// What people do every day in several steps: each value is data.
const EVERYDAY: &[&str] = &[
    "steps:\n  - {name: a, bash: 'mkdir -p {X}'}\n  - {name: b, bash: 'for f in src/*.c; do cc -c \"$f\"; done'}",
    "steps:\n  - {name: a, bash: 'git commit -qam {X}'}\n  - {name: b, bash: 'git log -1 --format=%B; git push origin \"$(git branch --show-current)\"'}",
    "steps:\n  - {name: a, bash: 'git checkout -b {X}'}\n  - {name: b, bash: 'eval \"$(ssh-agent -s)\"; git push'}",
    "steps:\n  - {name: a, bash: 'f={X}; awk -v f=\"$f\" \"{ if (a > b) c = 1 }\" < in'}\n  - {name: b, bash: 'read -r a b < out'}",
    "bash: git clone https://github.com/acme/site.git site && make -C site VERSION={X}",
    "steps:\n  - {name: clone, bash: 'git clone --depth 1 https://github.com/acme/site.git site'}\n  - {name: build, bash: 'cd site && npm ci && npm run build'}\n  - {name: note, bash: 'echo built {X}'}",
    "steps:\n  - {name: get, bash: 'curl -fsSL https://acme.test/tool-{X}.tgz -o tool.tgz'}\n  - {name: unpack, bash: 'tar xzf tool.tgz -C vendor'}\n  - {name: show, bash: ls vendor}",
    "steps:\n  - {name: write, bash: 'printf \"# Report\\n%s\\n\" {X} > report.md'}\n  - {name: show, bash: cat report.md}",
    "steps:\n  - {name: csv, bash: 'printf \"name,score\\n\\\"%s\\\",1\\n\" {X} > scores.csv'}\n  - {name: import, bash: 'sqlite3 scores.db \".mode csv\" \".import scores.csv scores\"'}\n  - {name: query, bash: 'sqlite3 scores.db \"select count(*) from scores\"'}",
    "steps:\n  - {name: build, bash: cargo build --release}\n  - {name: test, bash: 'cargo test -- {X}'}",
    "steps:\n  - {name: install, bash: npm ci}\n  - {name: lint, bash: npx eslint .}\n  - {name: test, bash: 'npm test -- --grep {X}'}",
    "steps:\n  - {name: co, bash: 'git fetch origin && git checkout {X}'}\n  - {name: build, bash: make}",
    "steps:\n  - {name: branch, bash: 'git checkout -b {X}'}\n  - {name: commit, bash: 'git commit -am \"Work on {X}\"'}\n  - {name: push, bash: 'git push -u origin {X}'}",
    "steps:\n  - {name: get, bash: 'curl -fsSL \"https://api.acme.test/users/{X:urlencode}\" -o user.json'}\n  - {name: show, bash: 'jq -r .name user.json'}",
    "steps:\n  - {name: get, bash: 'curl -fsSL {X} -o data.csv'}\n  - {name: count, bash: wc -l data.csv}\n  - {name: head, bash: head -n 5 data.csv}",
    "steps:\n  - {name: get, bash: 'curl -fsSL {X} -o page.html'}\n  - {name: convert, bash: pandoc page.html -o page.md}",
    "steps:\n  - {name: get, bash: 'wget -q {X} -O image.png'}\n  - {name: resize, bash: convert image.png -resize 50% small.png}",
    "steps:\n  - {name: clone, bash: 'git clone --depth 1 {X} {TEMP}/r'}\n  - {name: count, bash: 'cloc {TEMP}/r'}",
    "steps:\n  - {name: clone, bash: 'git clone --depth 1 {X} {TEMP}/r'}\n  - {name: grep, bash: 'grep -rn TODO {TEMP}/r || true'}\n  - {name: clean, bash: 'rm -rf {TEMP}/r'}",
    "steps:\n  - {name: clone, bash: 'git clone {X} {TEMP}/r'}\n  - {name: log, bash: 'git -C {TEMP}/r log --oneline -5'}\n  - {name: build, bash: make}",
    "steps:\n  - {name: image, bash: 'docker build -t acme/app:{X} .'}\n  - {name: push, bash: 'docker push acme/app:{X}'}",
    "steps:\n  - {name: pull, bash: 'docker pull {X}'}\n  - {name: scan, bash: 'trivy image {X}'}",
    "steps:\n  - {name: plan, bash: 'terraform plan -out plan.out -var name={X}'}\n  - {name: apply, bash: terraform apply plan.out}",
    "steps:\n  - {name: set, bash: 'kubectl set image deployment/app app=acme/app:{X}'}\n  - {name: wait, bash: kubectl rollout status deployment/app}",
    "steps:\n  - {name: dump, bash: 'pg_dump -Fc app > {X}.dump'}\n  - {name: upload, bash: 'aws s3 cp {X}.dump s3://acme-backups/'}",
    "steps:\n  - {name: convert, bash: 'ffmpeg -i {X} -vn audio.mp3'}\n  - {name: info, bash: ffprobe -hide_banner audio.mp3}",
    "steps:\n  - {name: pack, bash: 'tar czf backup.tgz {X}'}\n  - {name: list, bash: tar tzf backup.tgz}\n  - {name: sum, bash: sha256sum backup.tgz}",
    "steps:\n  - {name: find, bash: 'find . -name {X} -type f > files.txt'}\n  - {name: count, bash: wc -l < files.txt}",
    "steps:\n  - {name: grep, bash: 'grep -rn {X} src > hits.txt || true'}\n  - {name: top, bash: 'cut -d: -f1 hits.txt | sort | uniq -c | sort -rn | head'}",
    "steps:\n  - {name: env, bash: 'echo VERSION={X} > .env'}\n  - {name: up, bash: docker compose up -d}",
    "steps:\n  - {name: version, bash: 'echo {X} > VERSION'}\n  - {name: build, bash: make dist}",
    "steps:\n  - {name: version, bash: 'npm version --no-git-tag-version {X}'}\n  - {name: build, bash: npm run build}",
    "steps:\n  - {name: log, bash: 'echo \"$(date) {X}\" >> app.log'}\n  - {name: tail, bash: tail -n 3 app.log}",
    "steps:\n  - {name: tests, bash: 'pytest -k {X} --junitxml=report.xml'}\n  - {name: sum, bash: 'grep -c testcase report.xml'}",
    "steps:\n  - {name: bench, bash: 'hyperfine --export-json bench.json \"./run.sh\"'}\n  - {name: show, bash: 'jq --arg n {X} \".results[0] + {name: \\$n}\" bench.json'}",
    "steps:\n  - {name: note, bash: 'printf \"%s\\n\" {X} > notes/today.txt'}\n  - {name: add, bash: 'git add notes && git commit -m \"Add note\"'}",
    "steps:\n  - {name: list, bash: 'ls {X} > list.txt'}\n  - {name: loop, bash: 'while read -r f; do echo \"$f\"; done < list.txt'}",
    "steps:\n  - {name: json, bash: 'jq -n --arg t {X} \"{text: \\$t}\" > payload.json'}\n  - {name: post, bash: curl -fsS -d @payload.json https://hooks.acme.test/a}",
    "steps:\n  - {name: msg, bash: 'printf \"%s\" {X} > message.txt'}\n  - {name: mail, bash: 'mail -s Report ops@acme.test < message.txt'}",
    "steps:\n  - {name: commit, bash: 'printf \"%s\" {X} > {TEMP}/msg'}\n  - {name: run, bash: 'git commit -F {TEMP}/msg'}",
    "steps:\n  - {name: tmp, bash: 'mktemp -d'}\n  - {name: copy, bash: 'cp -r {X} {tmp.output}/in'}\n  - {name: size, bash: 'du -sh {tmp.output}'}",
    "steps:\n  - {name: unzip, bash: 'unzip -o {X} -d {TEMP}/u'}\n  - {name: list, bash: 'find {TEMP}/u -type f | head'}",
    "steps:\n  - {name: unzip, bash: 'unzip -o {X} -d site'}\n  - {name: deploy, bash: rsync -a site/ web:/srv/site/}",
    "steps:\n  - {name: fmt, bash: cargo fmt}\n  - {name: add, bash: 'git add -A'}\n  - {name: commit, bash: 'git commit -m {X}'}",
    "steps:\n  - {name: ids, bash: 'gh pr list --search {X} --json number > prs.json'}\n  - {name: show, bash: 'jq length prs.json'}",
    "steps:\n  - {name: pr, bash: 'gh pr checkout 12'}\n  - {name: test, bash: make test}\n  - {name: say, bash: 'gh pr comment 12 --body {X}'}",
    "steps:\n  - {name: sort, bash: 'sort {X} > sorted.txt'}\n  - {name: diff, bash: 'diff -u sorted.txt expected.txt > out.diff || true'}",
    "steps:\n  - {name: yq, bash: 'yq -i \".image.tag = strenv(T)\" values.yaml', environment: {variables: {T: '{X}'}}}\n  - {name: helm, bash: helm upgrade app ./chart -f values.yaml}",
    "steps:\n  - {name: a, bash: 'curl -fsS {X} | tee page.html | wc -c'}\n  - {name: b, bash: 'grep -o \"<title>.*</title>\" page.html'}",
    "steps:\n  - {name: a, bash: 'echo {X} > config/name.txt'}\n  - {name: b, bash: python3 tools/generate.py}",
    "steps:\n  - {name: a, bash: 'echo {X} > input.txt'}\n  - {name: b, bash: ./scripts/process.sh input.txt}",
    "steps:\n  - {name: a, bash: 'echo {X} | base64 > secret.b64'}\n  - {name: b, bash: kubectl create secret generic s --from-file=secret.b64}",
    "steps:\n  - {name: a, bash: 'git log --author={X} --format=%H > commits.txt'}\n  - {name: b, bash: 'wc -l < commits.txt'}",
    "steps:\n  - {name: a, bash: 'python3 scripts/fetch.py {X} > out.json'}\n  - {name: b, bash: 'node scripts/render.js out.json > out.html'}",
    "steps:\n  - {name: a, bash: 'go build ./...'}\n  - {name: b, bash: 'go test ./... -run {X}'}",
    "steps:\n  - {name: a, bash: 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'}\n  - {name: b, bash: '.venv/bin/python app.py {X}'}",
    "steps:\n  - {name: a, bash: 'mkdir -p out && cp {X} out/'}\n  - {name: b, bash: 'zip -r out.zip out'}",
    "steps:\n  - {name: a, bash: 'git clone https://github.com/acme/{X}.git r'}\n  - {name: b, bash: 'ls r'}",
    "steps:\n  - {name: a, bash: 'curl -fsSLO https://acme.test/{X}.csv'}\n  - {name: b, bash: 'head -3 {X}.csv'}",
    "steps:\n  - {name: a, bash: 'wget -q {X}'}\n  - {name: b, bash: ls -la}",
    "steps:\n  - {name: a, use-tool: write_file, with: {filepath: todo.md, content: '- {X}'}}\n  - {name: b, bash: cat todo.md}",
    "bash: git diff {X} > changes.patch && wc -l changes.patch\nresources: {cleanup: [{final-command: rm -f changes.patch}]}",
    "steps:\n  - {name: a, bash: 'cp {X} app.conf'}\n  - {name: b, bash: make install}",
    "steps:\n  - {name: a, bash: 'echo {X} > data.txt', parallel: true}\n  - {name: b, bash: make docs, parallel: true}\n  - {name: c, bash: cat data.txt}",
    "steps:\n  - {name: a, bash: 'printf \"title: \\\"%s\\\"\\n\" {X} > meta.yaml'}\n  - {name: b, bash: hugo --minify}",
    "steps:\n  - {name: a, python: 'print(1)'}\n  - {name: b, bash: 'echo {X} {a.output}'}",
    "steps:\n  - {name: a, python: 'import os, csv; csv.writer(open(\"r.csv\", \"w\")).writerow([os.environ[\"CYCOD_PARAM_X\"]])'}\n  - {name: b, bash: wc -l r.csv}",
    "steps:\n  - {name: a, python: 'import os; import matplotlib.pyplot as p; p.title(os.environ[\"CYCOD_PARAM_X\"]); p.savefig(\"p.png\")'}\n  - {name: b, bash: cp p.png public/}",
    "steps:\n  - {name: a, python: 'import os, json; json.dump(os.environ[\"CYCOD_PARAM_X\"], open(\"c.json\", \"w\"))'}\n  - {name: b, bash: jq . c.json}\n  - {name: c, bash: npm run build}",
    "steps:\n  - {name: a, python: 'import os, glob; print([f for f in glob.glob(\"src/*.py\") if os.environ[\"CYCOD_PARAM_X\"] in open(f).read()])'}\n  - {name: b, bash: pytest -q tests}",
    "steps:\n  - {name: a, python: 'import os, subprocess; subprocess.run([\"python3\", \"tools/docs.py\", os.environ[\"CYCOD_PARAM_X\"]])'}\n  - {name: b, bash: mkdocs build}\n  - {name: c, bash: ./scripts/upload.sh}",
    "steps:\n  - {name: a, python: 'import os, sqlite3; sqlite3.connect(\"a.db\").execute(\"insert into t values (?)\", (os.environ[\"CYCOD_PARAM_X\"],))'}\n  - {name: b, bash: 'sqlite3 a.db \"select count(*) from t\"'}",
    "steps:\n  - {name: a, python: 'import os, docx; d = docx.Document(); d.add_paragraph(os.environ[\"CYCOD_PARAM_X\"]); d.save(\"l.docx\")'}\n  - {name: b, bash: libreoffice --convert-to pdf l.docx}",
    "steps:\n  - {name: a, script: 'png(\"p.png\"); plot(1, main = Sys.getenv(\"CYCOD_PARAM_X\")); dev.off()', shell: 'Rscript {0}'}\n  - {name: b, bash: make -C docs}",
    "steps:\n  - {name: a, script: 'Write-Output {X} | Out-File r.txt', shell: pwsh}\n  - {name: b, bash: 'cat r.txt; bash scripts/go.sh'}",
    "steps:\n  - {name: a, bash: 'curl -fsS {X} -o data.json'}\n  - {name: b, python: 'import json; print(len(json.load(open(\"data.json\"))))'}",
    "steps:\n  - {name: a, bash: 'curl -fsS {X} -o data.parquet'}\n  - {name: b, python: 'import pandas; print(pandas.read_parquet(\"data.parquet\").shape)'}",
];

/// Alarms in what people do every day, each with what is wrong with it.
const ALARMS: &[(&str, &str)] = &[
    // A name that begins with `-` is an option of `ping`.
    (
        "steps:\n  - {name: a, bash: 'printf \"%s\\n\" {X} > hosts'}\n  - {name: b, bash: 'xargs -n1 ping -c1 < hosts'}",
        "may begin with `-`",
    ),
    // `jq` writes nothing but a JSON text, in which a value is no script; that is not followed.
    (
        "steps:\n  - {name: a, bash: 'jq --arg v {X} \".version = \\$v\" package.json > new && mv new package.json'}\n  - {name: b, bash: npm run build}",
        "part of a file",
    ),
];

#[test]
fn what_people_do_in_several_steps_is_data() {
    let with = |body: &str| {
        format!("name: t\ndescription: d\nparameters:\n  X: {{type: string, description: d, required: true}}\n{body}\n")
    };
    let refused: String = EVERYDAY
        .iter()
        .map(|body| (body, errors(&with(body))))
        .filter(|(_, errors)| !errors.is_empty())
        .map(|(body, errors)| format!("{body}\n{errors}"))
        .collect();
    assert!(refused.is_empty(), "these are refused:\n{refused}");
    for (body, why) in ALARMS {
        assert!(errors(&with(body)).contains(why), "this is no alarm any more, or another one:\n{body}");
    }
}
