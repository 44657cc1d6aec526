"""The analysers as anybody installs them: what cycod makes of what they say, and how long it takes beside them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import CYCOD, Home, Table, expect  # noqa: E402

ALL = ["bandit", "clippy", "eslint", "ruff", "semgrep", "shellcheck"]
HARMLESS = ["bandit", "ruff", "semgrep", "shellcheck"]
# Where a person's Rust is, which another home does not change.
TOOLCHAIN = [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")]

SAMPLE = {
    "app.py": "import os\nimport sys\nfrom flask import request\n\n\ndef run():\n    name = request.args['name']\n    os.system('ls ' + name)\n",
    "-x.py": "import os\n",
    "broken.py": "def f(:\n",
    "run.sh": "#!/bin/bash\nrm $1\n",
    "web.js": "const unused = 1;\nif (a == null) debugger;\n",
    "eslint.config.js": "module.exports = [{ rules: { eqeqeq: 'warn', 'no-debugger': 'error' } }];\n",
    "rs/Cargo.toml": "[package]\nname = 'sample'\nversion = '0.1.0'\nedition = '2021'\n",
    "rs/src/lib.rs": "pub fn f(x: &Vec<u8>) -> bool {\n    x.len() == 0\n}\n",
}

# What each must have found, with the name that the file has in the answer.
FOUND = {
    "bandit": ("app.py", 8, "B605"),
    "clippy": ("rs/src/lib.rs", 1, "clippy::ptr_arg"),
    "eslint": ("web.js", 2, "no-debugger"),
    "ruff": ("-x.py", 1, "F401"),
    "semgrep": ("app.py", 8, "python-input-in-shell"),
    "shellcheck": ("run.sh", 2, "SC2086"),
}


def analyze(home, directory, *arguments):
    """Calls the tool in a directory."""
    command = [CYCOD, "tool", "run", "cli_analyze_code", "path=.", *arguments]
    done = subprocess.run(command, cwd=directory, env=home.environment, capture_output=True, timeout=300, check=False)
    expect(done.returncode == 0, done.stderr.decode() + done.stdout.decode())
    return json.loads(done.stdout)


def names(analyzers):
    return ["--param", f"analyzers={json.dumps(analyzers)}"]


def write(directory, files):
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def everything_is_found(home, project):
    write(project, SAMPLE)
    expect(analyze(home, project) == analyze(home, project), "the same code gives the same answer")
    left = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    expect(left == set(SAMPLE), f"left behind: {left - set(SAMPLE)}")
    answer = analyze(home, project, *names(ALL))
    fared = {analyzer["name"]: analyzer for analyzer in answer["analyzers"]}
    # What several report of one line is one finding that names all of them.
    found = {
        (by["analyzer"], finding["file"], finding["line"], by["rule"])
        for finding in answer["issues"] + answer["security_findings"]
        for by in [finding, *finding.get("also", [])]
    }
    for name in ALL:
        expect(fared[name]["status"] == "ran", fared[name])
        expect((name, *FOUND[name]) in found, f"{name}: {sorted(found)}")


def plain(name, files, rules):
    """How somebody would start an analyser."""
    of = {suffix: [str(path) for path in files if path.suffix == suffix] for suffix in (".py", ".sh")}
    return {
        "bandit": ["bandit", "--format", "json", "--quiet", "--exit-zero", *of[".py"]],
        "ruff": ["ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--quiet", "--output-format", "json", *of[".py"]],
        "semgrep": ["semgrep", "scan", "--config", rules, "--json", "--quiet", "--metrics=off", "--disable-version-check", "--no-git-ignore", *of[".py"]],
        "shellcheck": ["shellcheck", "--format=json1", *of[".sh"]],
    }[name]


def seconds(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


def beside_the_analysers(home, project):
    """What a call takes, beside the sum of what it starts: the figure is told, as machines differ."""
    packages = next(Path(sys.prefix, "lib").glob("python3*/site-packages"))
    for package in ("rich", "pydantic", "starlette"):
        shutil.copytree(packages / package, project / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    write(project, {"a/b.sh": "#!/bin/sh\nrm $1\n" * 100})
    files = [path.relative_to(project) for path in project.rglob("*") if path.is_file()]
    rules = str(Path(__file__).resolve().parents[2] / "crates/cycod-analysis/src/analyzers/semgrep.yaml")

    def start(name):
        subprocess.run(plain(name, files, rules), cwd=project, env=home.environment, capture_output=True, timeout=300, check=False)

    apart = sum(min(seconds(lambda: start(name)) for _ in range(2)) for name in HARMLESS)
    together = min(seconds(lambda: analyze(home, project)) for _ in range(2))
    return f"{together:.1f} s for {len(files)} files, {together / apart:.2f} times the {apart:.1f} s of the analysers"


def main():
    table = Table("outcome")
    for check in (everything_is_found, beside_the_analysers):
        with Home() as home, tempfile.TemporaryDirectory() as project:
            home.environment |= {name: os.environ.get(name, str(Path.home() / default)) for name, default in TOOLCHAIN}
            table.check(check.__name__.replace("_", " "), "outcome", lambda: check(home, Path(project).resolve()))
    return table.show("analysers")


sys.exit(main())
