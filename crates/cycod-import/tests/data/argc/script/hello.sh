# @describe Says hello
# @option --times=1 <NUM> How often
# @arg name="the world" Whom
main() {
    echo "Hello, $argc_name"
}
eval "$(argc --argc-eval "$0" "$@")"
