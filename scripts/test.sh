#!/bin/sh
# Installs what the tests need and runs every check. What costs only processor time runs beside what mostly waits.
set -eu
cd "$(dirname "$0")/.."
begun=$(date +%s)

need() { # need PROGRAM PACKAGE: a program of the system that tests run for real
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
missing=""
need bash bash
need zsh zsh
need fish fish
need dash dash
need cc gcc
need c++ g++
need jq jq
need rg ripgrep
need sqlite3 sqlite3
need python3 python3
need node nodejs
need perl perl
need Rscript r-base-core
need curl curl
need zip zip
need less less
need man man-db
need nano nano
need ksh ksh
need screen screen
need psql postgresql
need mariadbd mariadb-server
need git git
need ps procps
need strace strace
need script bsdutils
need tmux tmux
need ip iproute2
need setpriv util-linux
# Programs whose ways of running code are tried for real.
need ruby ruby
need php php-cli
need lua5.4 lua5.4
need gawk gawk
need mawk mawk
need tclsh tcl
need busybox busybox
need ed ed
need vim vim
need make make
need npm npm
need ssh openssh-client
need rsync rsync
need xxd xxd
need openssl openssl
need parallel parallel
need xargs findutils
need tar tar
need unshare util-linux
need chromium chromium
[ -d /usr/lib/postgresql ] || missing="$missing postgresql"
python3 -c 'import yaml' >/dev/null 2>&1 || missing="$missing python3-yaml"
/usr/bin/python3 -c 'import matplotlib, PIL' >/dev/null 2>&1 || missing="$missing python3-matplotlib python3-pil"
Rscript -e 'library(ggplot2)' >/dev/null 2>&1 || missing="$missing r-cran-ggplot2"
python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
if [ -n "$missing" ]; then
    echo "installing:$missing"
    root=""
    [ "$(id -u)" = 0 ] || root="sudo"
    $root apt-get update -qq
    # shellcheck disable=SC2086 # a list of packages
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing
fi
printf '\n== the installation took %s s\n' "$(($(date +%s) - begun))"

beside=$(mktemp -d)
step() { # step COMMAND…: says what runs, and afterwards how long it took, and how much time of a processor
    printf '\n== %s\n' "$*"
    since=$(date +%s)
    (
        "$@"
        times >"$beside/step.times"
    )
    printf '== %s took %s s, %s s of a processor\n' "$*" "$(($(date +%s) - since))" "$(processor step)"
}
processor() { # processor NAME: the seconds in the `times` that NAME left: its own, and of what it waited for
    awk '{ for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += part[1] * 60 + part[2] } } END { print int(sum) }' \
        "$beside/$1.times"
}
begin() { # begin NAME COMMANDS [PRIORITY]: runs beside the steps; usually, it gets only the processor time that they leave
    # A shell lets what runs in the background ignore Ctrl-C, which is tried there.
    nice -n "${3:-15}" env --default-signal=INT,QUIT sh -euc "trap 'times >&3' EXIT
$2" 3>"$beside/$1.times" >"$beside/$1.log" 2>&1 &
    echo $! >"$beside/$1.pid"
}
ended() { # ended NAME…: waits for what was begun, and shows what it said
    failed=""
    for name; do
        status=0
        wait "$(cat "$beside/$name.pid")" || status=$?
        rm "$beside/$name.pid"
        printf '\n== beside the steps: %s, with %s s of a processor\n' "$name" "$(processor "$name")"
        cat "$beside/$name.log"
        [ "$status" = 0 ] || failed="$failed $name"
    done
    [ -z "$failed" ] || {
        echo "failed:$failed" >&2
        return 1
    }
}
# Not in a session of its own: Linux divides the processor between sessions before it looks at priorities.
left() { # when a step fails, nothing new begins, and what ran beside it says how far it came
    for pid in "$beside"/*.pid; do
        [ -e "$pid" ] || continue
        kill "$(cat "$pid")" 2>/dev/null || :
        printf '\n== beside the step that failed: %s\n' "$(basename "$pid" .pid)"
        tail -n 60 "${pid%.pid}.log"
    done
    rm -rf "$beside"
}
trap left EXIT
trap 'exit 130' INT TERM

step cargo fmt --all --check
step cargo xtask tidy
begin prose 'sh scripts/prose.sh'
begin deny 'command -v cargo-deny >/dev/null 2>&1 || cargo install cargo-deny --locked --debug --quiet
    cargo deny check bans licenses sources'
begin runners 'sh scripts/runners.sh'
begin install 'sh scripts/outside.sh install servers analysers providers page apps login fleet deploy telemetry interpreters'
# A pattern of names finds the fuzz targets as well, which don't end.
step cargo test --workspace --exclude cycod-fuzz --locked --no-run
# The programs as the tests have them: alone, their dependencies would have other features, and be built once more. Copies,
# because what is built beside the steps has the same name.
. scripts/packages.sh
built=$(cargo test --workspace --exclude cycod-fuzz --locked --no-run --quiet --message-format json)
copies=${CARGO_TARGET_DIR:-$PWD/target}/copies
mkdir -p "$copies"
for name in cycod cycod-hub conformance; do cp "$(printf '%s\n' "$built" | executable "$name")" "$copies"; done
ended runners
# The tests often wait, and leave a third of the processors. What they leave is enough for what waits for nothing. They begin first:
# while one cargo builds, others wait for it.
begin fuzz 'sleep 20; cargo xtask fuzz 0'
begin growth "sleep 30; cargo test --workspace --exclude cycod-fuzz --locked --no-fail-fast --test 'g*'
    cargo test --workspace --exclude cycod-fuzz --locked --no-fail-fast --doc
    cargo clippy --workspace --all-targets --locked -- -D warnings"
step cargo test --workspace --exclude cycod-fuzz --locked --no-fail-fast --lib --bins --test '[!g]*'
# As a part of the workspace, so that the dependencies are those that are built.
begin smoke 'cargo test --workspace --exclude cycod-fuzz --no-default-features --test smoke --locked'
ended install
export CYCOD="$copies/cycod" HUB="$copies/cycod-hub" CLIENT="$copies/conformance"
begin hubs 'sh scripts/outside.sh hubs' 0
step sh scripts/outside.sh programs
ended prose deny hubs growth smoke fuzz
step cargo xtask fuzz 20
times >"$beside/all.times"
printf '\n== all took %s s, %s s of a processor\n' "$(($(date +%s) - begun))" "$(processor all)"
