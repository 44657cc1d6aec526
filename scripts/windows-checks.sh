#!/bin/sh
# Runs the program for Windows under Wine as a user would, and compares what it prints. scripts/windows.sh calls it:
#
#     sh scripts/windows-checks.sh cycod.exe DIRECTORY
set -eu
. "$(dirname "$0")/checks.sh"
program=$1 directory=$2
rm -rf "$directory"
mkdir -p "$directory/project/.cycod/tools"
cd "$directory/project"
unset HOME CYCOD_HOME
# Wine decides where the home of its user is.
home=$(wine winepath -u "$(wine cmd /c 'echo %USERPROFILE%' 2>/dev/null | tr -d '\r')" 2>/dev/null | tr -d '\r')/.cycod
rm -rf "$home"

cycod() {
    timeout 120 wine "$program" "$@"
}

# cmd.exe, and the program below it.
still_running() {
    pgrep -fa 'ping.*-n 60'
}

tool greet <<'END'
name: greet
description: Greets someone.
cmd: echo hello "{WHO}"
tags: [read]
parameters:
  WHO:
    type: string
    description: Who.
    required: true
END
tool slow <<'END'
name: slow
description: Waits, with another program below it.
cmd: ping -n 60 127.0.0.1
tags: [read]
timeout: 3000
END
tool patient <<'END'
name: patient
description: Waits for a long time, with another program below it.
cmd: echo begun & ping -n 60 127.0.0.1
tags: [read]
END
tool lasting <<'END'
name: lasting
description: Goes on where it was interrupted.
tags: [read]
steps:
  - {name: first, cmd: 'echo first>> ran.txt & echo one'}
  - {name: second, cmd: 'if exist go (echo after {first.output}) else (ping -n 60 127.0.0.1)'}
END
tool brief <<'END'
name: brief
description: Ends soon.
cmd: echo from the background & exit 3
tags: [read]
END
tool confined <<'END'
name: confined
description: May reach nothing.
cmd: echo reached
tags: [read]
security:
  required-permissions: ["filesystem:read:."]
END
for privilege in reduced elevated; do
    tool $privilege <<END
name: $privilege
description: Asks for other rights.
cmd: echo reached
tags: [read]
security: {execution-privilege: $privilege}
END
done
tool container <<'END'
name: container
description: Asks for a container.
cmd: echo reached
tags: [read]
security: {isolation: container}
END
tool grants <<END
name: grants
description: Starts cycod.
cmd: '$(printf 'Z:%s' "$program" | tr / '\\') trust --all --yes'
tags: [run]
END
tool detaches <<END
name: detaches
description: Starts cycod.
cmd: '$(printf 'Z:%s' "$program" | tr / '\\') tool run brief --background'
tags: [run]
END
tool steps <<'END'
name: steps
description: Two steps.
tags: [read]
steps:
  - {name: first, cmd: echo one}
  - {name: second, cmd: 'echo got "{first.output}"'}
END
tool bare <<'END'
name: bare
description: Prints the variables that are left.
cmd: set
tags: [read]
environment: {inherit: false}
END
tool memory <<'END'
name: memory
description: Asks for a limit of memory.
cmd: echo reached
tags: [read]
resources: {max-memory: 10MB}
END
tool lines <<'END'
name: lines
description: A text of two lines.
cmd: |
  echo one
  echo two
tags: [read]
END
tool busy <<'END'
name: busy
description: Reports how far it is.
cmd: 'echo {"progress": 1, "total": 2, "message": "half"} >> "%CYCOD_REPORT%" & ping -n 2 127.0.0.1'
tags: [read]
reports: true
END
tool batch <<'END'
name: batch
description: A batch file as a program.
run: ./build {V}
tags: [read]
parameters: {V: {type: string, description: A value., required: true}}
END
cat >.cycod/tools/counts.md <<'END'
---
description: A function in Node.js.
tags: [read]
runtime: node
parameters: {WHO: {type: string, description: A value., required: true}}
---

```typescript
import { execSync } from 'node:child_process';
import path from 'node:path';
export async function execute({ WHO }: { WHO: string }) {
  console.log('printed');
  if (WHO === 'nobody') throw new Error('there is nobody');
  if (WHO === 'forever') execSync('ping -n 60 127.0.0.1', { stdio: 'inherit' });
  return { who: WHO, below: execSync('echo below').toString().trim(), directory: path.basename(process.cwd()) };
}
```
END
cat >.cycod/tools/sums.md <<'END'
---
description: A function in Python.
tags: [read]
parameters: {VALUES: {type: array, description: Numbers., required: true}}
---

```python
import os
def handler(VALUES):
    print("printed")
    return {"sum": sum(VALUES), "directory": os.path.basename(os.getcwd())}
```
END
cat >.cycod/tools/statistics.md <<'END'
---
description: A function in R.
tags: [read]
---

```r
function() 1
```
END
printf '@echo %%1\r\n' >build.cmd
cat >.cycod/tools/script.md <<'END'
---
description: A function that needs a process without powers.
tags: [read]
---

```typescript
export function execute() { return 1; }
```
END

check "version" 0 '^cycod [0-9]' --version
check "validate" 0 '' tool validate greet
check "dry run" 0 'cmd.exe|echo hello' tool run greet --param WHO=world --dry-run
check "trust" 0 '' tool trust --all --yes
check "run" 0 '^hello "wide world"$' tool run greet --param "WHO=wide world"
check "a hostile value is refused" 1 'unplaceable-value' tool run greet --param 'WHO=a" & echo hacked'
check "list" 0 'greet' tool list
check "history" 0 'greet' runs list
check "the chain of the history" 0 '' runs verify
chmod 755 "$home"
check "a directory that others can use is refused" 1 '.cycod. is open to others.*icacls' runs list
chmod 700 "$home"
chmod 644 "$home/history.db"
check "a history that others can read is refused" 1 'history.db. is open to others' runs list
chmod 600 "$home/history.db"
check "the history, private again" 0 'greet' runs list
check "steps" 0 'got "one"' tool run steps
check "the environment without what is inherited" 0 'SYSTEMROOT|SystemRoot' tool run bare
check "doctor" 0 'cmd: `C:' doctor
printf 'quiet-value' >"$directory/input"
input=$directory/input
check "a secret" 0 '' secret set token --yes
input=/dev/null
check "secrets" 0 'token' secret list
case $(cat "$home/secrets.key") in
*AGE-SECRET-KEY*) wrong "the key of secrets is encrypted" "it is plain" ;;
*DPAPI:*) echo "ok    the key of secrets is encrypted" ;;
*) wrong "the key of secrets is encrypted" "$(head -c 100 "$home/secrets.key")" ;;
esac
for file in secrets.age secrets.key history.db; do
    mode=$(stat -c %A "$home/$file")
    case $mode in *---) echo "ok    $file is private" ;; *) wrong "$file is private" "$mode" ;; esac
done
for confined in confined reduced elevated container; do
    check "confinement is refused: $confined" 3 'confinement-unavailable' tool run $confined
done
check "no tool grants anything" 3 'approval-by-a-tool' tool run grants
check "nothing outlives a run" 1 'background-unavailable' tool run detaches
# Wine keeps no limit of memory.
check "a limit that isn't kept is refused" 126 'a memory limit on this platform' tool run memory
check "several lines for cmd.exe are refused" 126 'runs only the first' tool run lines
check "a batch file is no program" 126 'is a batch file' tool run batch "V=a & b"
check "a function in Node.js" 0 '"who": ?"a\\" & b"' tool run counts --param 'WHO=a" & b'
check "a function of Node.js that fails" 1 'there is nobody.*|counts.md:12' tool run counts --param WHO=nobody
check "a function of Node.js that lasts" 124 '' tool run counts --param WHO=forever --timeout 3000
none_left "nothing is left of it"
check "a function in Python" 0 '"sum": ?6' tool run sums --param VALUES=[1,2,3]
# An environment of the project, as `python -m venv` makes it on Windows.
cat >.cycod/tools/prefix.md <<'END'
---
description: Tells which Python it is.
tags: [read]
---

```python
import sys
def handler(): return sys.prefix
```
END
python=$(wine python -c 'import sys; print(sys.prefix)' 2>/dev/null </dev/null | cat | tr -d '\r')
mkdir -p .venv/Scripts
cp "$(wine winepath -u "$python" 2>/dev/null | tr -d '\r')/python.exe" .venv/Scripts/
printf 'home = %s\nversion = 3.11.9\n' "$python" >.venv/pyvenv.cfg
check "trust with an environment" 0 '' tool trust --all --yes
check "a function in Python of the project's environment" 0 '\.venv"?$' tool run prefix
rm -r .venv
check "trust without it" 0 '' tool trust --all --yes
check "a function in Python without an environment" 0 'python"?$' tool run prefix
check "a function in R is refused" 1 'unsupported-platform.*function in R' tool run statistics
check "a script of the engine is refused" 1 'process without powers' tool run script

check "time-out" 124 '' tool run slow
none_left "nothing is left after a time-out"

interrupted() { # interrupted TITLE SIGNAL STATUS
    wine "$program" tool run slow --timeout 60000 >/dev/null 2>&1 </dev/null &
    run=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        ! pgrep -f 'ping.*-n 60' >/dev/null || break
    done
    pgrep -f 'ping.*-n 60' >/dev/null || wrong "$1" "the tool didn't start"
    kill -"$2" $run
    ended_as "$1" "$3"
    none_left "$1: nothing is left"
}
interrupted "Ctrl-C" INT 130
interrupted "a kill" KILL 137

# Runs that outlive the process that started them, which others list, end and wait for.
in_background() { # in_background TITLE TOOL: starts it, and takes its ID
    # Into a file: what Wine starts keeps the standard error of the program that started it, which would be a pipe of ours.
    got=0
    cycod tool run "$2" --background --timeout 300000 >"$directory/begun" 2>"$directory/begun.err" </dev/null || got=$?
    id=$(tr -d '\r' <"$directory/begun" | grep -Ex '[0-9a-f]{32}' || echo none)
    if [ $got = 0 ] && [ "$id" != none ]; then
        echo "ok    $1"
    else
        wrong "$1" "exit code $got: $(cat "$directory/begun" "$directory/begun.err")"
    fi
}
has_begun() { # has_begun TITLE
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -z "$(still_running)" ] || return 0
        sleep 1
    done
    wrong "$1" "nothing is there"
}
in_background "a run in the background" patient
has_begun "a run in the background runs"
check "it is in the list" 0 'patient.*running|running.*patient' runs list --status running
check "waiting for it" 124 'still runs' runs wait "$id" --timeout 1s
check "another process ends it" 0 "^$id: " runs cancel "$id"
none_left "a canceled run leaves nothing"
check "it has ended already" 0 'has ended already' runs cancel "$id"
left=$(find "$home/runs" -type f)
if [ -z "$left" ]; then echo "ok    no control is left"; else wrong "no control is left" "$left"; fi
in_background "another run in the background" brief
check "its output and exit code" 3 'from the background' runs wait "$id"
in_background "a run whose process is killed" patient
has_begun "a run whose process is killed runs"
mode=$(stat -c %A "$home/runs/$id/control")
case $mode in *---) echo "ok    its control is private" ;; *) wrong "its control is private" "$mode" ;; esac
# shellcheck disable=SC2046 # a list of numbers
kill -9 $(pgrep -f -- --background-run)
none_left "nothing is left of it"
check "the history reports it" 0 'interrupted' runs show "$id"

# A durable run that is interrupted, and goes on elsewhere with what it had.
wine "$program" tool run lasting --durable >/dev/null 2>&1 </dev/null &
run=$!
has_begun "a durable run"
kill -9 $run
ended_as "a durable run is killed" 137
none_left "nothing is left of it but its state"
: >go
check "it is interrupted" 0 'lasting.*interrupted' runs list
check "it goes on" 0 'after .*one' runs resume last
ran=$(tr -d '\r ' <ran.txt)
if [ "$ran" = first ]; then echo "ok    its first step ran once"; else wrong "its first step ran once" "$ran"; fi
check "the chain of the history is whole" 0 '' runs verify

# Under Wine, every file belongs to the user, as one does that a user has put there.
machine=$WINEPREFIX/drive_c/ProgramData/cycod
rm -rf "$machine"
mkdir -p "$machine/tools"
printf 'name: greet\ndescription: Another one.\ncmd: echo replaced\ntags: [read]\n' >"$machine/tools/greet.yaml"
check "a tool of the machine that a user owns is broken" 1 'unsafe-machine-file|belongs to S-1-5-21' run greet WHO=a
check "it is told how to take it over" '[01]' 'icacls .*setowner' validate greet
printf 'allow: [run]\n' >"$machine/policy.yaml"
check "with rules of the machine that a user owns nothing runs" 3 'policy-broken' run brief
rm -rf "$machine"

# A server that cycod starts: itself, in another project.
mkdir -p ../served/.cycod/tools
cp .cycod/tools/greet.yaml ../served/.cycod/tools/
own=$(printf 'Z:%s' "$program" | tr / '\\')
served=$(printf 'Z:%s' "$directory/served" | tr / '\\')
check "a server is added" 0 'own' mcp add own --yes --cwd "$served" -- "$own" mcp serve
check "a server is tested" 0 'mcp_own_greet' mcp test own
check "a tool of a server" 0 'hello .*a & b' run mcp_own_greet 'WHO=a & b'

answers=$(
    {
        echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"checks","version":"1"}}}'
        echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"WHO":"a & b"}}}'
        echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"busy","arguments":{},"_meta":{"progressToken":"p"}}}'
        sleep 10
    } | timeout 60 wine "$program" mcp serve 2>"$directory/mcp.err"
) || true
case $answers in
*'hello \"a & b\"'*) echo "ok    mcp serve" ;;
*) wrong "mcp serve" "$answers $(cat "$directory/mcp.err")" ;;
esac
case $answers in
*'"message":"half"'*) echo "ok    what a tool reports" ;;
*) wrong "what a tool reports" "$answers" ;;
esac

finish
