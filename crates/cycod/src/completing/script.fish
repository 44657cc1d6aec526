function __cycod_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l found (cycod completions fish --word="$word" -- $words[2..] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c cycod -e
complete -c cycod -f -a '(__cycod_complete)'
