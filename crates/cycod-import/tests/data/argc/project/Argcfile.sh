#!/usr/bin/env bash
# @describe The project's commands
# @meta require-tools git
set -e

# @flag --verbose  Say more

# @cmd Upload a file
# to the server, as it is.
# @alias up,put
# @flag   -f --force            Overwrite
# @option -r --retries=3 <INT>  How often to try
# @option --tag* <TAG>          A tag
# @option --mode[=fast|safe]    How
# @option --user!               Who
# @option -x                    A short one
# @arg file! <PATH>             The file
# @arg more*                    More files
# @env TOKEN!                   For the server
upload() {
    echo "$argc_file"
}

# @cmd
# @arg target[`_targets`]  Which
# @option --name=`_name`
build() { :; }

# @cmd Tests
test() { :; }

# @cmd Unit tests
test::unit() { :; }

_targets() { echo a; }

eval "$(argc --argc-eval "$0" "$@")"
