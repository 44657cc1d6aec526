#!/bin/sh
# Installs the runners of tasks that the tests of `cycod import` run for real, below target/runners, once.
set -eu
cd "$(dirname "$0")/.."

runners=${CARGO_TARGET_DIR:-target}/runners
mkdir -p "$runners"
runners=$(cd "$runners" && pwd)
just=1.59.0 task=3.54.0 poe=0.49.0 taskipy=1.14.1 mise=2026.9.15 argc=1.24.0

# The stamp is written last, so that an installation that was cut off is made anew.
stamp="$just $task $poe $taskipy $mise $argc"
[ "$(cat "$runners/stamp" 2>/dev/null)" != "$stamp" ] || exit 0
rm -rf "$runners"
mkdir -p "$runners/bin"
pip() { # pip NAME PACKAGE: a package of Python in an environment of its own
    python3 -m venv "$runners/$1"
    "$runners/$1/bin/pip" install --quiet --disable-pip-version-check "$2"
}
pip just "rust-just==$just"
pip task "go-task-bin==$task"
pip poe "poethepoet==$poe"
# It has the same name as another runner, so it stays in its own directory.
pip taskipy "taskipy==$taskipy"
npm install --silent --no-audit --no-fund --prefix "$runners/mise" "@jdxcode/mise@$mise"
cargo install argc --version "$argc" --locked --debug --quiet --root "$runners/argc"
for program in just/bin/just task/bin/task poe/bin/poe mise/node_modules/.bin/mise argc/bin/argc; do
    ln -s "../$program" "$runners/bin/${program##*/}"
done
mv "$runners/taskipy/bin/task" "$runners/taskipy/task"
echo "$stamp" >"$runners/stamp"
