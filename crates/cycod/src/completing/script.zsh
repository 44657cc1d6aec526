#compdef cycod

_cycod() {
    local line value about
    local -a lines done shown open open_shown
    lines=("${(@f)$(cycod completions zsh --word="${(Q)words[CURRENT]}" -- "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
    for line in $lines; do
        value="${line%%$'\t'*}"
        about="${line#*$'\t'}"
        [[ -n "$about" ]] && about="$value  -- $about" || about="$value"
        if [[ "$value" == *= ]]; then
            open+=("$value") open_shown+=("$about")
        else
            done+=("$value") shown+=("$about")
        fi
    done
    if (( ! $#open && ! $#done )); then
        _files
        return
    fi
    (( $#done )) && compadd -l -d shown -a done
    (( $#open )) && compadd -l -S '' -d open_shown -a open
}

if [[ "${funcstack[1]}" == _cycod ]]; then
    _cycod "$@"
elif (( $+functions[compdef] )); then
    compdef _cycod cycod
fi
