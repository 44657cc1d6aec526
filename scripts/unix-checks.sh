#!/bin/sh
# Runs the program as a user would, on Linux or macOS, and compares what it prints and what it leaves behind:
#
#     sh scripts/unix-checks.sh cycod DIRECTORY
#
# It is for machines on which the whole test suite doesn't run. All that it writes is in DIRECTORY, which it makes.
set -eu
. "$(dirname "$0")/checks.sh"
program=$1
mkdir "$2"
directory=$(cd "$2" && pwd -P)
system=$(uname -s)
mkdir -p "$directory/project/.cycod/tools" "$directory/home"
cd "$directory/project"
export HOME="$directory/home" CYCOD_HOME="$directory/home/.cycod"

cycod() {
    "$program" "$@"
}

still_running() {
    pgrep -f 'sleep 98765'
}

tool greet <<'END_OF_TOOL'
name: greet
description: Greets someone.
bash: echo hello {WHO}
tags: [read]
parameters: {WHO: {type: string, description: Who., required: true}}
END_OF_TOOL
tool slow <<'END_OF_TOOL'
name: slow
description: Waits, with another program below it.
bash: sleep 98765 & sleep 98765
tags: [read]
timeout: 2000
END_OF_TOOL
tool quick <<'END_OF_TOOL'
name: quick
description: Ends, and leaves a program behind.
bash: sleep 98765 >/dev/null 2>&1 & echo ended
tags: [read]
END_OF_TOOL
tool steps <<'END_OF_TOOL'
name: steps
description: Two steps.
tags: [read]
steps:
  - {name: first, bash: echo one}
  - {name: second, bash: 'echo got {first.output}'}
END_OF_TOOL
tool reporting <<'END_OF_TOOL'
name: reporting
description: Reports its progress.
bash: 'echo "{\"progress\": 1, \"total\": 2}" >"$CYCOD_REPORT"; echo done'
tags: [read]
reports: true
END_OF_TOOL
confined() { # confined NAME COMMAND PERMISSIONS
    tool "$1" <<END_OF_TOOL
name: $1
description: Is confined.
bash: $2
tags: [read]
security: {required-permissions: [$3]}
END_OF_TOOL
}
mkdir in out
echo within >in/file
echo secret >"$directory/home/file"
confined reads 'cat in/file' '"filesystem:read:in"'
confined reads-more "cat $directory/home/file" '"filesystem:read:in"'
confined writes 'echo new >out/file; cat out/file' '"filesystem:write:out"'
confined writes-more 'echo new >in/other' '"filesystem:write:out", "filesystem:read:in"'
confined executes 'cp /bin/echo out/echo; out/echo executed' '"filesystem:write:out"'
# shellcheck disable=SC2016 # the tool's own variable
confined temporary 'f=$(mktemp) && echo kept >"$f" && cat "$f"' '"filesystem:read:in"'
confined connects 'curl -sS --max-time 5 http://127.0.0.1:9/' '"filesystem:read:in"'

check "version" 0 '^cycod [0-9]' --version
check "validate" 0 '' tool validate greet
check "trust" 0 '' tool trust --all --yes
check "run" 0 '^hello wide world; echo hacked$' tool run greet --param 'WHO=wide world; echo hacked'
check "list" 0 'greet' tool list
check "history" 0 'greet' runs list
check "the chain of the history" 0 '' runs verify
check "steps" 0 'got one' tool run steps
check "progress" 0 'done' tool run reporting
check "doctor" 0 'confinement' doctor
printf 'quiet-value' >"$directory/input"
input=$directory/input
check "a secret" 0 '' secret set token --yes
input=/dev/null
check "secrets" 0 'token' secret list
check "a confined tool reads what it declares" 0 '^within$' tool run reads
check "it reads nothing else" '[1-9].*' 'permission-missing|not permitted|No such file' tool run reads-more
check "it writes what it declares" 0 '^new$' tool run writes
check "it writes nothing else" '[1-9].*' 'permission-missing|not permitted|Read-only' tool run writes-more
check "it executes nothing that it wrote" '[1-9].*' 'permission-missing|not permitted|Permission denied' tool run executes
check "it has temporary files" 0 '^kept$' tool run temporary
check "it has no network" '[1-9].*' 'permission-missing|not permitted|refused|connect' tool run connects
[ ! -e in/other ] || wrong "it writes nothing else" "in/other is there"

check "time-out" 124 '' tool run slow
none_left "nothing is left after a time-out"
check "a run ends with its program" 0 '^ended$' tool run quick
none_left "nothing is left after a run"
"$program" tool run slow --timeout 60000 >/dev/null 2>&1 </dev/null &
run=$!
sleep 3
kill -TERM $run
ended_as "a request to end" 143
none_left "nothing is left after a request to end"

if [ "$system" = Darwin ]; then
    security create-keychain -p cycod "$directory/home/checks.keychain"
    security default-keychain -s "$directory/home/checks.keychain"
    security unlock-keychain -p cycod "$directory/home/checks.keychain"
    input=$directory/input
    check "a secret in the Keychain" 0 '' secret set kept --vault keyring --yes
    input=/dev/null
    check "secrets in the Keychain" 0 'kept.*keyring' secret list
    check "it is removed" 0 '' secret remove kept --yes
fi

finish
