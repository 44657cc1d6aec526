#!/bin/sh
# Runs the official conformance suite against our client, for both eras; every required scenario must pass.
#
#   tests/conformance/client.sh NODE SUITE [REVISION...]
#
# NODE is a Node of 22.19 or newer, SUITE the `dist/index.js` of @modelcontextprotocol/conformance.
set -eu

node=$1
suite=$2
shift 2
[ $# -gt 0 ] || set -- 2025-11-25 2026-07-28

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
built=$(cargo build --quiet -p cycod-mcp-client --example conformance --message-format json)
driver=$(echo "$built" | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

status=0
for revision; do
    echo "client, $revision"
    # The suite ends with 1 when a required scenario fails.
    if ! "$node" "$suite" client --command "$driver" --requirements "$revision" -o "$out/$revision" > "$out/log" 2>&1; then
        status=1
        tail -n 80 "$out/log"
    fi
    echo "  $(grep -c '^✓' "$out/log") scenarios passed; not required, and failed:"
    sed -n '/^Not scored/,$s/^  ✗/    /p' "$out/log"
done
exit $status
