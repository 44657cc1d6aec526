#!/bin/sh
# Runs the official conformance suite against our client, for both eras; every required scenario must pass.
#
#   tests/conformance/client.sh CLIENT NODE SUITE [REVISION...]
#
# CLIENT is the example `conformance` of cycod-mcp-client, NODE a Node of 22.19 or newer, SUITE the `dist/index.js` of
# @modelcontextprotocol/conformance.
set -eu

client=$1
node=$2
suite=$3
shift 3
[ $# -gt 0 ] || set -- 2025-11-25 2026-07-28

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

status=0
for revision; do
    echo "client, $revision"
    # The suite ends with 1 when a required scenario fails.
    if ! "$node" "$suite" client --command "$client" --requirements "$revision" -o "$out/$revision" > "$out/log" 2>&1; then
        status=1
        tail -n 80 "$out/log"
    fi
    echo "  $(grep -c '^✓' "$out/log") scenarios passed; not required, and failed:"
    sed -n '/^Not scored/,$s/^  ✗/    /p' "$out/log"
done
exit $status
