# What the scripts share that run the program as a user would and compare what it prints; they read it with `.`.
#
# Such a script says how the program is called, as `cycod WORD…`, and how what a run started is found, as `still_running`.

failures=0

tool() { # tool NAME: writes a tool from standard input
    cat >".cycod/tools/$1.yaml"
}

wrong() { # wrong TITLE WHY
    echo "WRONG $1: $2"
    failures=$((failures + 1))
}

input=/dev/null
check() { # check TITLE STATUS PATTERN WORD…: runs cycod and compares its exit code and its output, both streams as one
    title=$1 status=$2 pattern=$3
    shift 3
    got=0
    output=$(cycod "$@" 2>&1 <"$input") || got=$?
    output=$(printf %s "$output" | tr -d '\r')
    if printf %s $got | grep -Eqx -- "$status" && printf '%s\n' "$output" | grep -Eq -- "$pattern"; then
        echo "ok    $title"
    else
        wrong "$title" "exit code $got (expected $status), and no /$pattern/ in:"
        printf '%s\n' "$output" | sed 's/^/      /'
    fi
}

none_left() { # none_left TITLE: everything that a run started is gone with it
    sleep 1
    left=$(still_running || true)
    if [ -z "$left" ]; then echo "ok    $1"; else wrong "$1" "still running: $left"; fi
}

ended_as() { # ended_as TITLE STATUS: the background job `run` ends with this exit code
    got=0
    wait $run || got=$?
    if [ $got = "$2" ]; then echo "ok    $1"; else wrong "$1" "exit code $got, expected $2"; fi
}

finish() { # finish: says how it went
    [ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
    echo "all checks passed"
}
