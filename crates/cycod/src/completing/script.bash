# Bash cuts words at `=` and `:`, so the words are read from the line again.
_cycod() {
    local word value at last=-1 line="${COMP_LINE:0:COMP_POINT}"
    local -a words=()
    for ((at = 0; at <= COMP_CWORD; at++)); do
        word="${COMP_WORDS[at]}"
        if [[ $last -ge 0 && "$line" != [[:space:]]* ]]; then
            words[last]+="$word"
        else
            line="${line#"${line%%[![:space:]]*}"}"
            last=$((last + 1))
            words[last]="$word"
        fi
        line="${line#"$word"}"
    done
    word="${words[last]}"
    # What stands before the part that bash replaces.
    local before="${word%"$2"}"
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        COMPREPLY+=("${value#"$before"}")
    done < <(cycod completions bash --word="$word" -- "${words[@]:1:last-1}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _cycod -o bashdefault -o default cycod
