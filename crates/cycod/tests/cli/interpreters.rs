//! Which interpreter runs a function: that of the project, the one that the author names, or one with the packages that the
//! code declares. With real environments.
#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::Place;

const PREFIX: &str = "import sys, os\ndef handler():\n    return sys.prefix + ' ' + os.environ.get('VIRTUAL_ENV', '-')";

/// A Markdown tool with a function.
fn tool(place: &Place, name: &str, front: &str, language: &str, code: &str) {
    let text =
        format!("---\nname: {name}\ndescription: A tool\ntags: [read]\n{front}---\n\n```{language}\n{code}\n```\n");
    place.write(&format!(".cycod/tools/{name}.md"), &text);
}

/// Runs a program that the tests need; says whether it did.
#[expect(clippy::disallowed_methods, reason = "the tests make what cycod is to find")]
fn made(program: &str, arguments: &[&str], directory: &Path) -> bool {
    let output = Command::new(program).args(arguments).current_dir(directory).output();
    output.is_ok_and(|output| output.status.success())
}

fn venv(place: &Place, name: &str) -> PathBuf {
    assert!(made("python3", &["-m", "venv", "--without-pip", name], &place.project()));
    place.project().join(name)
}

#[test]
fn a_function_is_run_by_the_environment_of_its_project() {
    let place = Place::new();
    tool(&place, "where", "", "python", PREFIX);
    let before = place.run(&["run", "where"]);
    assert!(before.stdout().ends_with(" -\n") || before.stdout().ends_with(" -"), "{}", before.block());
    venv(&place, ".venv");
    let ran = place.run(&["run", "where"]);
    let at = "[PLACE]/project/.venv";
    assert_eq!((ran.code(), ran.stdout().trim()), (0, format!("{at} {at}").as_str()), "{}", ran.block());
    for arguments in [&["info", "where"][..], &["run", "where", "--dry-run"]] {
        let shown = place.run(arguments).stdout();
        assert!(shown.contains("Python by `") && shown.contains("from `.venv`"), "{shown}");
    }
    let doctor = place.run(&["doctor"]).stdout();
    assert!(doctor.contains("tools of this project run Python by `"), "{doctor}");
}

#[test]
fn the_author_names_an_interpreter() {
    let place = Place::new();
    venv(&place, "tools/python");
    let at = "[PLACE]/project/tools/python";
    for (name, named) in [("file", "tools/python/bin/python"), ("directory", "tools/python")] {
        tool(&place, name, &format!("runtime: {{python: {named}}}\n"), "python", PREFIX);
        let ran = place.run(&["run", name]);
        assert_eq!((ran.code(), ran.stdout().starts_with(at)), (0, true), "{}", ran.block());
    }
    tool(&place, "missing", "runtime: {python: no/such}\n", "python", PREFIX);
    let ran = place.run(&["run", "missing"]);
    assert_eq!(ran.code(), 126, "{}", ran.block());
    assert!(ran.stderr().contains("`runtime` of the tool names `no/such`, which does not exist"), "{}", ran.block());
    tool(&place, "nothing", "runtime: {python: ''}\n", "python", PREFIX);
    assert!(place.run(&["validate", "nothing"]).block().contains("this names no interpreter"));
    place.write(
        ".cycod/tools/yaml.yaml",
        "description: T\ntags: [read]\nhandler:\n  language: python\n  runtime: {python: tools/python}\n  code: |\n    import sys\n    def handler():\n        return sys.prefix\n",
    );
    let ran = place.run(&["run", "yaml"]);
    assert_eq!(ran.stdout().trim(), at, "{}", ran.block());
}

#[test]
fn settings_name_interpreters() {
    let place = Place::new();
    venv(&place, "tools/python");
    venv(&place, ".venv");
    tool(&place, "where", "", "python", PREFIX);
    place.write(".cycod/config.yaml", "runtimes: {python: tools/python}\n");
    let ran = place.run(&["run", "where"]);
    assert!(ran.stdout().starts_with("[PLACE]/project/tools/python"), "{}", ran.block());
    // A project names what is its own.
    place.write(".cycod/config.yaml", "runtimes: {python: /usr/bin/env}\n");
    let ran = place.run(&["run", "where"]);
    assert!(ran.stdout().starts_with("[PLACE]/project/.venv"), "{}", ran.block());
    assert!(place.run(&["tools"]).block().contains("`/usr/bin/env` has no effect in a project"));
    place.write(".cycod/config.yaml", "");
    // What the user names is in the place of the first of the search path.
    let own = place.home().join("envs/own");
    assert!(made("python3", &["-m", "venv", "--without-pip", &own.display().to_string()], &place.project()));
    let config = place.home().join(".cycod/config.yaml");
    fs::create_dir_all(config.parent().expect("a directory")).expect("a directory");
    fs::write(&config, "runtimes: {python: ~/envs/own}\n").expect("a file");
    assert!(place.run(&["run", "where"]).stdout().starts_with("[PLACE]/project/.venv"));
    fs::remove_dir_all(place.project().join(".venv")).expect("it is there");
    let ran = place.run(&["run", "where"]);
    assert!(ran.stdout().starts_with("[PLACE]/home/envs/own"), "{}", ran.block());
}

/// A user's own tool goes everywhere with its user, and so not into what lies in somebody's project.
#[test]
fn a_tool_of_the_user_never_takes_the_interpreter_of_a_project() {
    let place = Place::new();
    venv(&place, ".venv");
    let page = format!("---\nname: mine\ndescription: T\ntags: [read]\n---\n\n```python\n{PREFIX}\n```\n");
    let tools = place.home().join(".cycod/tools");
    fs::create_dir_all(&tools).expect("a directory");
    fs::write(tools.join("mine.md"), &page).expect("a tool");
    let ran = place.run(&["run", "mine"]);
    assert_eq!((ran.code(), ran.stdout().contains("project/.venv")), (0, false), "{}", ran.block());
    fs::write(tools.join("mine.md"), page.replace("tags", "runtime: {python: .venv}\ntags")).expect("a tool");
    let ran = place.run(&["run", "mine"]);
    assert!(ran.stderr().contains("for a tool of no project"), "{}", ran.block());
}

#[test]
fn what_interprets_a_tool_is_trusted_with_it() {
    let place = Place::cloned();
    tool(&place, "where", "", "python", PREFIX);
    assert_eq!(place.run(&["trust", "where", "--yes"]).code(), 0);
    assert_eq!(place.run(&["run", "where"]).code(), 0);
    // An environment that appears, whatever is in it.
    place.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    place.write(".venv/bin/python3", "#!/bin/sh\necho pwned > pwned\n");
    assert!(made("chmod", &["+x", ".venv/bin/python3"], &place.project()));
    let ran = place.run(&["run", "where"]);
    assert_eq!(ran.code(), 3, "{}", ran.block());
    assert!(!place.project().join("pwned").exists());
    // Trusted, it is what runs; changed, it is not.
    let trusted = place.run(&["trust", "where", "--yes"]);
    for named in [".venv/bin/python3", ".venv/pyvenv.cfg", "the packages in `.venv`"] {
        assert!(trusted.block().contains(named), "{named}: {}", trusted.block());
    }
    fs::remove_file(place.project().join(".venv/bin/python3")).expect("it is there");
    symlink("/usr/bin/env", place.project().join(".venv/bin/python3")).expect("a link");
    assert_eq!(place.run(&["run", "where"]).code(), 3);
}

/// A directory that is a link leads to wherever its author likes.
#[test]
fn an_environment_outside_of_the_project_is_not_found() {
    let place = Place::new();
    let outside = tempfile::tempdir().expect("a directory");
    fs::create_dir(outside.path().join("bin")).expect("a directory");
    fs::write(outside.path().join("pyvenv.cfg"), "").expect("a file");
    fs::write(outside.path().join("bin/python3"), "").expect("a file");
    tool(&place, "where", "", "python", PREFIX);
    symlink(outside.path(), place.project().join(".venv")).expect("a link");
    let ran = place.run(&["run", "where"]);
    assert_eq!((ran.code(), ran.stdout().trim().ends_with(" -")), (0, true), "{}", ran.block());
}

#[test]
fn a_confined_function_reads_its_interpreter_and_nothing_more() {
    let place = Place::new();
    let venv = venv(&place, ".venv");
    fs::write(venv.join("lib/own.txt"), "own").expect("a file");
    place.write("secret.txt", "secret");
    let code = "import json, os, pathlib, sys\ndef handler(path):\n    base = pathlib.Path(os.path.realpath(sys.executable)).parent.parent\n    \
        if path == 'base':\n        path = str(base / 'share')\n    return str(os.path.exists(path)) + ' ' + sys.prefix";
    let front = "parameters: {path: {type: string, description: P, required: true}}\nsecurity: {required-permissions: [\"filesystem:read:.cycod\"]}\n";
    tool(&place, "sees", front, "python", code);
    let sees = |path: &str| {
        let ran = place.run(&["run", "sees", &format!("path={path}")]);
        assert_eq!(ran.code(), 0, "{}", ran.block());
        ran.stdout().trim().to_owned()
    };
    assert_eq!(sees(&venv.join("lib/own.txt").display().to_string()), "True [PLACE]/project/.venv");
    assert_eq!(sees(&place.project().join("secret.txt").display().to_string()), "False [PLACE]/project/.venv");
}

#[test]
fn an_environment_of_conda_is_found_by_its_name() {
    let place = Place::new();
    tool(&place, "where", "", "python", PREFIX);
    place.write("environment.yml", "name: climate # ours\ndependencies: [python]\n");
    let doctor = place.run(&["doctor"]).stdout();
    assert!(doctor.contains("the environment `climate` of `environment.yml` is not installed"), "{doctor}");
    // What makes a prefix of conda of an environment is this directory.
    let prefix = place.home().join("miniforge3/envs/climate");
    assert!(made("python3", &["-m", "venv", "--without-pip", &prefix.display().to_string()], &place.project()));
    fs::create_dir(prefix.join("conda-meta")).expect("a directory");
    let ran = place.run(&["run", "where"]);
    assert!(ran.stdout().starts_with("[PLACE]/home/miniforge3/envs/climate "), "{}", ran.block());
    // A name is no path.
    place.write("environment.yml", "name: ../../envs/climate\n");
    let ran = place.run(&["run", "where"]);
    assert!(!ran.stdout().contains("envs/climate"), "{}", ran.block());
}

/// A library as renv makes it: links into a cache outside of the project.
#[test]
fn r_finds_the_library_of_renv() {
    if !made("Rscript", &["--version"], Path::new("/")) {
        return;
    }
    let place = Place::new();
    let project = place.project();
    let version = "cat(paste(R.version$major, R.version$minor, sep = '.'))";
    let source = "dir.create('pkg/R', recursive = TRUE); writeLines(c('Package: onlyhere', 'Version: 1.0', 'Title: T', \
        'Description: D.', 'Author: A', 'Maintainer: A <a@example.com>', 'License: MIT'), 'pkg/DESCRIPTION'); \
        writeLines('export(answer)', 'pkg/NAMESPACE'); writeLines('answer <- function() 42L', 'pkg/R/a.R'); dir.create('cache'); \
        install.packages('pkg', lib = 'cache', repos = NULL, type = 'source', quiet = TRUE)";
    let outside = tempfile::tempdir().expect("a directory");
    assert!(made("Rscript", &["--vanilla", "-e", source], outside.path()));
    #[expect(clippy::disallowed_methods, reason = "the tests make what cycod is to find")]
    let output = Command::new("Rscript").args(["--vanilla", "-e", version]).output().expect("R");
    let version = String::from_utf8(output.stdout).expect("a version");
    let short: Vec<&str> = version.split('.').take(2).collect();
    let library = project.join(format!("renv/library/linux-any/R-{}/x86_64-pc-linux-gnu", short.join(".")));
    fs::create_dir_all(&library).expect("a directory");
    symlink(outside.path().join("cache/onlyhere"), library.join("onlyhere")).expect("a link");
    place.write("renv.lock", &format!("{{\"R\": {{\"Version\": \"{version}\"}}, \"Packages\": {{}}}}"));
    tool(&place, "open", "", "r", "function() onlyhere::answer()");
    let front = "security: {required-permissions: [\"filesystem:read:.cycod\"]}\n";
    tool(&place, "confined", front, "r", "function() onlyhere::answer()");
    for name in ["open", "confined"] {
        let ran = place.run(&["run", name]);
        assert_eq!((ran.code(), ran.stdout().trim()), (0, "42"), "{}", ran.block());
    }
    assert!(place.run(&["doctor"]).stdout().contains("renv/library/linux-any"));
}

#[test]
fn node_is_the_version_that_the_project_names() {
    let place = Place::new();
    let versions = place.home().join(".nvm/versions/node");
    for version in ["v20.1.0", "v20.11.3", "v22.0.0"] {
        let bin = versions.join(version).join("bin");
        fs::create_dir_all(&bin).expect("a directory");
        fs::write(bin.join("node"), format!("#!/bin/sh\nTHIS={version} exec node \"$@\"\n")).expect("a file");
        assert!(made("chmod", &["+x", "node"], &bin));
    }
    place.write(".nvmrc", "v20\n");
    tool(&place, "which", "", "javascript", "export function execute() { return process.env.THIS ?? '-' }");
    assert!(place.run(&["run", "which", "--dry-run"]).stdout().contains("v20.11.3/bin/node`, from `.nvmrc`"));
    place.write(".nvmrc", "18\n");
    let doctor = place.run(&["doctor"]).stdout();
    assert!(doctor.contains("no version manager has Node 18 of `.nvmrc`"), "{doctor}");
}
