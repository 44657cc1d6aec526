#!/bin/sh
# Runs the official conformance suite against `cycod mcp serve` with the tool files beside this script, at both
# revisions, and fails unless every scenario passes that the revision requires.
#
#     server.sh CYCOD NODE SUITE     the program, a Node of 22 or newer, and the suite's index.js
set -eu
cycod=$1 node=$2 suite=$3
fixtures=$(cd "$(dirname "$0")" && pwd)/server

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
# A copy, because two of the tools write beside themselves. As a home directory, because a person's own tools need no consent.
cp -R "$fixtures" "$work/home"
cd "$work/home"
env -u CYCOD_HOME -u CYCOD_GLOBAL_DIR HOME="$work/home" "$cycod" mcp serve --http 127.0.0.1:0 --no-auth \
    </dev/null >"$work/server.out" 2>"$work/server.err" &
server=$!

url=
tries=0
while [ -z "$url" ]; do
    url=$(grep -o 'http://127\.0\.0\.1:[0-9]*[^ ]*' "$work/server.err" | head -n 1 || true)
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
        echo "the server did not say where it listens:" >&2
        cat "$work/server.err" >&2
        exit 1
    fi
    sleep 0.1
done

failed=0
for revision in 2025-11-25 2026-07-28; do
    echo "== server conformance at $revision"
    if "$node" "$suite" server --url "$url" --requirements "$revision" -o "$work/$revision" >"$work/log" 2>&1; then
        outcome="every required scenario passed"
    else
        outcome="FAILED"
        failed=1
    fi
    sed -n '/^=== SUMMARY ===/,$p' "$work/log"
    # What the suite's summary leaves out: why a check failed, and the warnings, which no count shows.
    jq -r '.[] | select(.status == "FAILURE" or .status == "WARNING") | "\(.status) \(.id): \(.errorMessage // .description)"' \
        "$work/$revision"/*/checks.json
    echo "== $revision: $outcome"
done
[ "$failed" = 0 ] || sed 's/^/server: /' "$work/server.err" >&2
exit "$failed"
