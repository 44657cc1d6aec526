#!/bin/sh
# Builds cycod and lets it work in this repository: a workflow of five tools, its shape, and a value that stays data.
set -eu
cd "$(dirname "$0")/.."

echo "Building cycod without what this does not show (docs/guide/install.md); the first time takes some minutes …" >&2
cargo build --profile try --quiet -p cycod --no-default-features
cycod=${CARGO_TARGET_DIR:-target}/$(rustc --print host-tuple)/try/cycod

show() { # show ARGUMENTS…: prints the command line as a person would type it, then runs it
    printf '\n$ cycod'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_=./:,-]*) printf " '%s'" "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n\n'
    # A terminal shows the steps as they go; elsewhere their log is only of interest when something fails.
    if [ -t 2 ]; then
        "$cycod" "$@"
    else
        said=$("$cycod" "$@" 2>&1 >&3) || { printf '%s\n' "$said" >&2; exit 1; }
    fi 3>&1
}

show list --category git --format simple
show tool graph rust-check
# Tools that came with a repository run when somebody has looked at them; what there is to look at is long.
printf '\n$ cycod trust project-report text-stats --yes\n\n'
"$cycod" tool trust project-report text-stats --yes 2>&1 | tail -n 1
show run project-report COUNT=5
# shellcheck disable=SC2016 # meant to stay as it is
show run text-stats 'TEXT=Nothing in here runs: $(touch pwned); `id`; "quotes" and '\''more'\''.' TOP=3
if [ -e pwned ]; then
    echo "error: a value was run" >&2
    exit 1
fi
