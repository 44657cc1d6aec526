# What scripts share that need packages of Debian, or programs that cargo built; they read it with `.`.

packages() { # packages PROGRAM PACKAGE…: installs what is missing, told by a program or file that it brings
    missing=""
    while [ $# -gt 0 ]; do
        [ -e "$1" ] || command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
        shift 2
    done
    [ -n "$missing" ] || return 0
    root=""
    [ "$(id -u)" = 0 ] || root="sudo"
    $root apt-get update -qq
    # shellcheck disable=SC2086 # a list of packages
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

executable() { # executable NAME: the path of a program or an example that cargo built, by its messages as JSON
    jq -r --arg name "$1" 'select(.reason == "compiler-artifact" and (.target.kind[0] | IN("bin", "example")) and
        .target.name == $name and .profile.test == false and .executable) | .executable' | tail -n 1
}
