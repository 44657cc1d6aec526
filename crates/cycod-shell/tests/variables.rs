//! Where values go on the way to a program: through variables that name the program, through what zsh and `echo` make of a text,
//! through files and descriptors.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real shells and programs, and is refused.

#[path = "common/acting.rs"]
mod acting;
#[path = "common/template.rs"]
mod template;

use acting::{all_act_and_are_refused, judged, refuses};
use cycod_shell::{Mode, Shell, Verdict};

const PERL: &str = "open(F, '>', 'PWNED')";
const SHELL: &str = "touch PWNED";
const KEY: &str = "a[$(touch PWNED)]";

/// Scripts, each with a value that acts.
const ATTACKS: &[(&str, &str)] = &[
    // One of several programs is an interpreter.
    (r#"if [ -e none ]; then c=docker; else c=bash; fi; $c -c "{X}""#, SHELL),
    (r#"case a in b) c=podman ;; *) c=bash ;; esac; $c -c "{X}""#, SHELL),
    (r#"c=echo; f() { c=bash; }; f; $c -c "{X}""#, SHELL),
    (r#"for c in echo bash; do $c -c "{X}"; done"#, SHELL),
    (r#"c=echo; read -r c <<< bash; $c -c "{X}""#, SHELL),
    (r#"c=echo; eval "c=bash"; $c -c "{X}""#, SHELL),
    (r#"c=echo; export c=bash; $c -c "{X}""#, SHELL),
    (r#"c=echo; n=c; export "$n=bash"; $c -c "{X}""#, SHELL),
    (r#"c=echo; n=c; declare "$n=bash"; $c -c "{X}""#, SHELL),
    (r#"c=echo; printf -v c bash; $c -c "{X}""#, SHELL),
    (r#"c=echo; mapfile -t c <<< bash; $c -c "{X}""#, SHELL),
    (r#"f() { local c=bash; $c -c "{X}"; }; c=echo; f"#, SHELL),
    (r#"c="perl -e"; $c "{X}""#, PERL),
    (r#"c=(echo); c=(perl -e); "${c[@]}" "{X}""#, PERL),
    (r#"c=$(command -v perl || command -v podman); $c -e "{X}""#, PERL),
    (r#"c=$(which bash); $c -c "{X}""#, SHELL),
    (r#"c=${c:-bash}; $c -c "{X}""#, SHELL),
    (r#": "${c:=bash}"; $c -c "{X}""#, SHELL),
    (r#"${c:-perl} -e "{X}""#, PERL),
    // `shift` takes other words than it seems to.
    (r#"f() { shift; bash -c "$1"; }; f ls "{X}""#, SHELL),
    (r#"f() { shift 2; bash -c "$1"; }; f "{X}""#, SHELL),
    (r#"f() { shift; shift; bash -c "$1"; }; f a b "{X}""#, SHELL),
    (r#"f() { [ -z "$none" ] || shift; bash -c "$1"; }; f "{X}" ls"#, SHELL),
    (r#"f() { if [ -n "$none" ]; then shift; fi; bash -c "$1"; }; f "{X}" ls"#, SHELL),
    (r#"f() { shift | cat; bash -c "$1"; }; f "{X}" ls"#, SHELL),
    (r#"f() { (shift); bash -c "$1"; }; f "{X}" ls"#, SHELL),
    (r#"f() { a=$(shift); bash -c "$1"; }; f "{X}" ls"#, SHELL),
    (r#"f() { shift & wait; bash -c "$1"; }; f "{X}" ls"#, SHELL),
    (r#"f() { while [ $# -gt 0 ]; do bash -c "$1"; shift; done; }; f ls "{X}""#, SHELL),
    (r#"f() { while shift; [ $# -gt 1 ]; do :; done; bash -c "$1"; }; f a b "{X}""#, SHELL),
    (r#"f() { eval "shift"; bash -c "$1"; }; f ls "{X}""#, SHELL),
    (r#"f() { shift "$n"; bash -c "$1"; }; n=2; f a b "{X}""#, SHELL),
    (r#"f() { shift; bash -c "$1"; }; f $none ls "{X}""#, SHELL),
    (r#"f() { shift; bash -c "$1"; }; f $(true) ls "{X}""#, SHELL),
    (r#"f() { shift; set -- "$1"; bash -c "$1"; }; f ls "{X}""#, SHELL),
    (r#"f() { shift; g "$@"; }; g() { shift; bash -c "$1"; }; f a b "{X}""#, SHELL),
    (r#"f() { for a; do bash -c "$a"; done; }; g() { shift; f "$@"; }; g ls "{X}""#, SHELL),
    (r#"f() { bash -c "${@:2}"; }; f ls "{X}""#, SHELL),
    (r#"f() { bash -c "${@:2:1}"; }; f ls "{X}""#, SHELL),
    (r#"f() { shift; bash -c "${@:2}"; }; f ls ls "{X}""#, SHELL),
    (r#"f() { trap shift USR1; kill -USR1 $$; bash -c "$1"; }; f ls "{X}""#, SHELL),
    // The variable is empty, and the next word is the program.
    (r#"if false; then c=echo; fi; $c perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && c=echo; $c perl -e "{X}""#, PERL),
    (r#"true || c=echo; $c perl -e "{X}""#, PERL),
    (r#"case a in b) c=echo ;; esac; $c perl -e "{X}""#, PERL),
    (r#"while false; do c=echo; done; $c perl -e "{X}""#, PERL),
    (r#"for a in; do c=echo; done; $c perl -e "{X}""#, PERL),
    (r#"f() { c=echo; }; $c perl -e "{X}""#, PERL),
    (r#"f() { [ -z "$none" ] && return; c=echo; }; f; $c perl -e "{X}""#, PERL),
    (r#"f() { local c=echo; }; f; $c perl -e "{X}""#, PERL),
    (r#"f() { local c; $c perl -e "{X}"; }; c=echo; f"#, PERL),
    (r#"(c=echo); $c perl -e "{X}""#, PERL),
    (r#"c=echo | cat; $c perl -e "{X}""#, PERL),
    (r#"c=echo & wait; $c perl -e "{X}""#, PERL),
    (r#"true && c=echo & wait; $c perl -e "{X}""#, PERL),
    (r#"y=$(c=echo; ls); $c perl -e "{X}""#, PERL),
    (r#"c=echo true; $c perl -e "{X}""#, PERL),
    (r#"c=echo $c perl -e "{X}""#, PERL),
    (r#"env c=echo true; $c perl -e "{X}""#, PERL),
    (r#"$c perl -e "{X}"; c=echo"#, PERL),
    (r#"c=echo; unset c; $c perl -e "{X}""#, PERL),
    (r#"c=echo; f() { unset c; }; f; $c perl -e "{X}""#, PERL),
    (r#"c=echo; n=c; unset "$n"; $c perl -e "{X}""#, PERL),
    (r#"trap 'c=echo' USR1; $c perl -e "{X}""#, PERL),
    (r#"c=echo; bash -c '$c perl -e "$1"' _ "{X}""#, PERL),
    (r#"c=echo; x="{X}" bash -c '$c perl -e "$x"'"#, PERL),
    (r#"c=(echo); unset c; "${c[@]}" perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && c=(echo); "${c[@]}" perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && set -- echo; "$@" perl -e "{X}""#, PERL),
    (r#"[ -n "$none" ] && set -- echo; $1 perl -e "{X}""#, PERL),
    (r#"c=$(command -v no-such-program); $c perl -e "{X}""#, PERL),
    (r#"c=$(which no-such-program 2> none); $c bash -c "{X}""#, SHELL),
    (r#"c=$(type -P no-such-program); $c eval "{X}""#, SHELL),
    (r#"f() { eval "$1"; }; c=$(command -v no-such-program); $c f "{X}""#, SHELL),
    (r#"env $(command -v no-such-program) perl -e "{X}""#, PERL),
    (r#"nice -n 5 $(which no-such-program 2> none) bash -c "{X}""#, SHELL),
    (r#"y="{Y}"; $y perl -e "{X}""#, PERL),
    (r#"y="{Y}"; perl -c $y -e "{X}""#, "BEGIN { open(F, '>', 'PWNED') }"),
    // What stands before a value is empty.
    (r#"if false; then p=./; fi; touch -- x; sort "$p{X}" x"#, "-oPWNED"),
    (r#"sort "$none{X}" /dev/null"#, "-oPWNED"),
    // The shell splits elsewhere.
    (r#"IFS=,; a=-e,; perl $a "{X}""#, PERL),
    (r#"IFS=,; c=perl,-e; $c "{X}""#, PERL),
    (r#"s=$IFS; IFS=,; a=-e,; perl $a "{X}"; IFS=$s"#, PERL),
    (r#"s=,; IFS=$s; a=-e,; perl $a "{X}""#, PERL),
    (r#"for((i=0;i<1;i++)); do perl -e "{X}"; done"#, PERL),
    (r#"if((1)); then bash -c "{X}"; fi"#, SHELL),
    (r#"f() { local IFS=:; perl $1 "{X}"; }; f -e:"#, PERL),
];

const OUTPUT: &str = "-oPWNED";

/// Scripts of several shells, each with a value that acts.
const WAYS: &[(Shell, &str, &str)] = &[
    // zsh splits what commands print.
    (Shell::Zsh, r#"sort $(print -r -- "{X}") /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"touch x; sort $(echo "{X}" | head -n1)"#, "x -oPWNED"),
    (Shell::Zsh, r#"touch x; a=($(echo "{X}")); sort $a"#, "x -oPWNED"),
    (Shell::Zsh, r#"touch x; sort `echo "{X}"`"#, "x -oPWNED"),
    // zsh makes other texts of what a variable holds.
    (Shell::Zsh, r#"v="{X}"; sort ${=v} /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort $=v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort ${(z)v} /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort ${(s:,:)v} /dev/null"#, "/dev/null,-oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort $v:t /dev/null"#, "x/-oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort "$v:t" /dev/null"#, "x/-oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort $v[2,-1] /dev/null"#, "x-oPWNED"),
    (Shell::Zsh, r#"v="{X}"; sort ${v[2,-1]} /dev/null"#, "x-oPWNED"),
    (Shell::Zsh, r#"v="{X}"; : ${(e)v}"#, "$(touch PWNED)"),
    (Shell::Zsh, r#"v="{X}"; : "${(e)v}""#, "$(touch PWNED)"),
    (Shell::Zsh, r#"touch x; a=(-exec "{X}" PWNED \;); find x $a"#, "touch"),
    (Shell::Zsh, r#"f() { find . $argv; }; f -maxdepth 0 -exec "{X}" PWNED \;"#, "touch"),
    (Shell::Zsh, r#"f() { eval "$argv[1]"; }; f "{X}""#, SHELL),
    (Shell::Zsh, r#"v=""; - sort "{X}" /dev/null"#, OUTPUT),
    (Shell::Zsh, r#"a=(1); printf %d "{X}""#, "a[$(touch PWNED)]"),
    (Shell::Zsh, r#"a=(1); printf '%*s' "{X}" a"#, "a[$(touch PWNED)]"),
    // Options and tables of zsh.
    (Shell::Zsh, r#"setopt shwordsplit; v="{X}"; sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"setopt SH_WORD_SPLIT; v="{X}"; sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"emulate sh; v="{X}"; sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"set -y; v="{X}"; sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"set -o shwordsplit; v="{X}"; sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"zmodload zsh/parameter; options[shwordsplit]=on; v="{X}"; sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Bash, r#"zsh -f -y -c 'sort $1 /dev/null' _ "{X}""#, "/dev/null -oPWNED"),
    (Shell::Zsh, r#"functions[f]="{X}"; f"#, SHELL),
    (Shell::Zsh, r#"printf '#!/bin/sh\ntouch PWNED' > p; chmod +x p; hash c="{X}"; c"#, "./p"),
    (Shell::Bash, r#"printf '#!/bin/sh\ntouch PWNED' > p; chmod +x p; hash -p "{X}" c; c"#, "./p"),
    (Shell::Bash, r#"shopt -s expand_aliases; BASH_ALIASES[c]="{X}"; eval c"#, SHELL),
    // `echo` reads escapes.
    (Shell::Sh, r#"sort "$(echo "{X}")" /dev/null"#, r"-oPWNED"),
    (Shell::Sh, r#"v=$(echo "{X}"); sort "$v" /dev/null"#, r"-oPWNED"),
    (Shell::Sh, r#"echo "{X}" | while read -r v; do sort "$v" /dev/null; done"#, r"-oPWNED"),
    (Shell::Zsh, r#"sort "$(echo "{X}")" /dev/null"#, r"-oPWNED"),
    (Shell::Bash, r#"shopt -s xpg_echo; sort "$(echo "{X}")" /dev/null"#, r"-oPWNED"),
    (Shell::Bash, r#"sort "$(echo -Ee "{X}")" /dev/null"#, r"-oPWNED"),
    (Shell::Bash, r#"dash -c 'sort "$(echo "$1")" /dev/null' _ "{X}""#, r"-oPWNED"),
    // A part of a value, or what it is read as.
    (Shell::Bash, r#"read v <<< "{X}"; sort "$v" /dev/null"#, r"\-oPWNED"),
    (Shell::Bash, r#"read -r v <<< "{X}"; sort "$v" /dev/null"#, "  -oPWNED"),
    (Shell::Bash, r#"IFS=, read -r a v <<< "{X}"; sort "$v" /dev/null"#, "a,-oPWNED"),
    (Shell::Bash, r#"printf '%s\n' "{X}" | while read -r v; do sort "$v" /dev/null; done"#, "a\n-oPWNED"),
    (Shell::Bash, r#"mapfile -t v <<< "{X}"; sort "${v[1]}" /dev/null"#, "a\n-oPWNED"),
    (Shell::Bash, r#"v=$(cut -d/ -f2 <<< "{X}"); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(basename "{X}"); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(awk '{print $1}' <<< "{X}"); sort "$v" /dev/null"#, "  -oPWNED"),
    (Shell::Bash, r#"v=$(awk '{print $2}' <<< "{X}"); sort "$v" /dev/null"#, "a -oPWNED"),
    (Shell::Bash, r#"v=$(xargs <<< "{X}"); sort "$v" /dev/null"#, "  -oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | xargs); sort "$v" /dev/null"#, r"\-oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | xargs); sort "$v" /dev/null"#, "'-oPWNED'"),
    (Shell::Bash, r#"v=$(echo "{X}" | xargs); sort "$v" /dev/null"#, "\"-oPWNED\""),
    (Shell::Bash, r#"v=$(echo "{X}" | xargs); sort "$v" /dev/null"#, "\n-oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | xargs); sort $v /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | xargs); bash -c "$v""#, "touch PWNED"),
    // Fewer characters than usual divide words.
    (Shell::Bash, r#"IFS=$'\n'; v="{X}"; sort $v"#, "/dev/null\n-oPWNED"),
    (Shell::Bash, r#"IFS=' '; v="{X}"; sort $v"#, "/dev/null -oPWNED"),
    (Shell::Bash, r#"s=$IFS; IFS=$'\t'; v="{X}"; sort $v; IFS=$s"#, "/dev/null\t-oPWNED"),
    (Shell::Bash, r#"v=$(tail -n1 <<< "{X}"); sort "$v" /dev/null"#, "a\n-oPWNED"),
    (Shell::Bash, r#"v=$(sort <<< "{X}" | head -n1); sort "$v" /dev/null"#, "a\n-oPWNED"),
    (Shell::Bash, r#"v=$(grep P <<< "{X}"); sort "$v" /dev/null"#, "a\n-oPWNED"),
    (Shell::Bash, r#"v=$(rev <<< "{X}"); sort "$v" /dev/null"#, "DENWPo-"),
    (Shell::Bash, r#"v=$(tr x - <<< "{X}"); sort "$v" /dev/null"#, "xoPWNED"),
    (Shell::Bash, r#"v=$(sed 's/^x//' <<< "{X}"); sort "$v" /dev/null"#, "x-oPWNED"),
    (Shell::Bash, r#"v=$(sed 's/^ *//' <<< "{X}"); sort "$v" /dev/null"#, "  -oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v#x}" /dev/null"#, "x-oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v##*/}" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v:1}" /dev/null"#, "x-oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v/x/-}" /dev/null"#, "xoPWNED"),
    (Shell::Bash, r#"v="{X}"; sort ${v//,/ } /dev/null"#, "/dev/null,-oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v@E}" /dev/null"#, r"\055oPWNED"),
    (Shell::Bash, r#"v="{X}"; : "${v@P}""#, "$(touch PWNED)"),
    (Shell::Bash, r#"v=$(printf '%b' "{X}"); sort "$v" /dev/null"#, r"\055oPWNED"),
    (Shell::Bash, r#"v=$(awk -v v="{X}" 'BEGIN {print v}'); sort "$v" /dev/null"#, r"\055oPWNED"),
    (Shell::Bash, r#"v=$(base64 -d <<< "{X}"); sort "$v" /dev/null"#, "LW9QV05FRA=="),
    (Shell::Bash, r#"printf '%s\n' "{X}" | xargs sort /dev/null"#, r"\-oPWNED"),
    (Shell::Bash, r#"printf '%s\n' "{X}" | xargs sort /dev/null"#, "'-oPWNED'"),
    (Shell::Bash, r#"printf '%s\n' "{X}" | xargs -I% sort % /dev/null"#, "  -oPWNED"),
    (Shell::Bash, r#"printf '%s\n' "{X}" | xargs -n1 sort /dev/null"#, "/dev/null -oPWNED"),
    (Shell::Bash, r#"printf '%s\0' "{X}" | xargs -0 sort /dev/null"#, OUTPUT),
    (Shell::Bash, r#"printf '%s\n' "{X}" | xargs -d '\n' sort /dev/null"#, "/dev/null\n-oPWNED"),
    (Shell::Bash, r#"printf '%s\n' "{X}" | parallel -q sort {} /dev/null"#, OUTPUT),
    (Shell::Bash, r#"touch ax; v=$(basename "a{X}"); sort $v"#, "x -oPWNED"),
    (Shell::Bash, r#"v=$(basename -s x -- "{X}"); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(basename "{X}" x); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(env basename "{X}"); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(command basename "{X}"); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(dirname "{X}"); sort $v /dev/null"#, "/dev/null -oPWNED/a"),
    (Shell::Bash, r#"touch x; v=$(/bin/echo x "{X}"); sort $v"#, OUTPUT),
    (Shell::Bash, r#"v=$(nice printf '%s' "{X}"); sort "$v" /dev/null"#, OUTPUT),
    (Shell::Bash, r#"v=$(expr "{X}" : 'x\(.*\)'); sort "$v" /dev/null"#, "x-oPWNED"),
    (Shell::Bash, r#"sort $(realpath -m "{X}") /dev/null"#, "/dev/null -oPWNED"),
    // One character in the place of another, or of none; parts of parts.
    (Shell::Bash, r#"v="{X}"; sort "${v//\//-}" /dev/null"#, "/oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort ${v//\//-} /dev/null"#, "/oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v/,}" /dev/null"#, ",-oPWNED"),
    (Shell::Bash, r#"v="{X}"; sort "${v//x/}" /dev/null"#, "xx-oPWNED"),
    (Shell::Bash, r#"touch a; v="{X}"; sort ${v//,/ }"#, "a,-oPWNED"),
    (Shell::Bash, r#"v=$(tr / - <<< "{X}"); sort "$v" /dev/null"#, "/oPWNED"),
    (Shell::Bash, r#"v=$(tr , ' ' <<< "{X}"); for i in $v; do sort "$i" /dev/null; done"#, "a,-oPWNED"),
    (Shell::Bash, r#"for i in $(echo "{X}" | tr , '\n'); do sort "$i" /dev/null; done"#, "a,-oPWNED"),
    (Shell::Bash, r#"echo "{X}" | tr , '\n' | while read -r i; do sort "$i" /dev/null; done"#, "a,-oPWNED"),
    (Shell::Bash, r#"v=$(tr -d . <<< "{X}"); sort "$v" /dev/null"#, ".-oPWNED"),
    (Shell::Bash, r#"v=$(tr -d x <<< "{X}"); sort "$v" /dev/null"#, "xx-oPWNED"),
    (Shell::Bash, r#"v=$(tr -d '[:space:]' <<< "{X}"); sort "$v" /dev/null"#, " \t-oPWNED"),
    (Shell::Bash, r#"v=$(sed 's/\//-/g' <<< "{X}"); sort "$v" /dev/null"#, "/oPWNED"),
    (Shell::Bash, r#"v=$(sed 's/,//' <<< "{X}"); sort "$v" /dev/null"#, ",-oPWNED"),
    (Shell::Bash, r#"v=$(sed 's/./-/' <<< "{X}"); sort "$v" /dev/null"#, "xoPWNED"),
    (Shell::Bash, r#"v=$(sed 's|/|-|' <<< "{X}"); sort "$v" /dev/null"#, "/oPWNED"),
    (Shell::Bash, r#"v=$(cut -d: -f2 <<< "{X}" | cut -d, -f2); sort "$v" /dev/null"#, "a:b,-oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | tr / . | cut -d. -f2); sort "$v" /dev/null"#, "a/-oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | tr / - | cut -d- -f2 | tr _ -); sort "$v" /dev/null"#, "a/_oPWNED"),
    (Shell::Bash, r#"v=$(echo "{X}" | tr a / | tr / -); sort "$v" /dev/null"#, "aoPWNED"),
    (Shell::Bash, r#"v=$(basename "{X}" | cut -d, -f2); sort "$v" /dev/null"#, "a/b,-oPWNED"),
    (Shell::Bash, r#"IFS=, read -ra a <<< "{X}"; sort "${a[@]}""#, "/dev/null,-oPWNED"),
    (Shell::Bash, r#"IFS=',' read -r a b <<< "{X}"; sort "$b" /dev/null"#, "a,-oPWNED"),
    (Shell::Bash, r#"IFS=: IFS=, read -r a b <<< "{X}"; sort "$b" /dev/null"#, "a,-oPWNED"),
    (Shell::Bash, r#"echo "{X}" | while IFS=, read -r a b; do sort "$a" /dev/null; done"#, "a\n-oPWNED"),
    (Shell::Bash, r#"printf '%s\n' "{X}" | while read -r -d ';' v; do sort "$v" /dev/null; done"#, "a;-oPWNED;"),
    (Shell::Bash, r#"printf '%s' "{X}" | while read -r -N 7 v; do sort "$v" /dev/null; done"#, "abcdefg-oPWNED"),
    (Shell::Bash, r#"if [ -e none ]; then c=x; else c="{X}"; fi; sort "$(echo "$c")" /dev/null"#, OUTPUT),
    (Shell::Zsh, r#"sort $(print -r -- "{X}" | tr , ' ')"#, "/dev/null,-oPWNED"),
    // Words that commands print, and words that are other programs' arguments.
    (Shell::Bash, r#"id() { echo perl -e; }; env $(id -u) "{X}""#, PERL),
    (Shell::Bash, r#"env $(date +perl) -e "{X}""#, PERL),
    (Shell::Bash, r#"env $(hostname no-such-option 2> /dev/null) perl -e "{X}""#, PERL),
    (Shell::Bash, r#"env $(git branch --show-current 2> /dev/null) perl -e "{X}""#, PERL),
    // An option that takes nothing of the next word.
    (Shell::Bash, r#"ruby -F - <<< "{X}""#, "system('touch PWNED')"),
    (Shell::Bash, r#"perl -F - <<< "{X}""#, r#"BEGIN { system("touch PWNED") }"#),
    (Shell::Bash, r#"argv=("{X}"); eval "${argv[@]}""#, SHELL),
    (Shell::Zsh, r#"argv=("{X}"); eval "$argv""#, SHELL),
    (Shell::Zsh, r#"argv=("{X}"); eval "$1""#, SHELL),
    (Shell::Bash, r#"[[ a =~ a ]]; match="{X}"; eval "$match""#, SHELL),
    (Shell::Bash, r#"[[ "{X}" =~ .* ]]; eval "${BASH_REMATCH[@]}""#, SHELL),
    (Shell::Zsh, r#"[[ "{X}" =~ "(.*)" ]]; eval "$match""#, SHELL),
    (Shell::Zsh, r#"[[ "{X}" =~ "(.*)" ]]; eval "$match[1]""#, SHELL),
    (Shell::Bash, r#"A=1 exec > f; echo "{X}"; sh f"#, SHELL),
    (Shell::Bash, r#"command exec 3> f; echo "{X}" >&3; sh f"#, SHELL),
    // What the shell keeps.
    (Shell::Bash, r#": "{X}"; eval "$_""#, SHELL),
    (Shell::Bash, r#"[[ "{X}" =~ .* ]]; eval "$BASH_REMATCH""#, SHELL),
    (Shell::Bash, r#"[[ "{X}" =~ x(.*) ]]; sort "${BASH_REMATCH[1]}" /dev/null"#, "x-oPWNED"),
    (Shell::Zsh, r#"[[ "{X}" =~ .* ]]; eval "$MATCH""#, SHELL),
    (Shell::Bash, r#"set -- "{X}"; eval "${!#}""#, SHELL),
    // Files and descriptors.
    (Shell::Bash, r#"exec 3> f; echo "{X}" >&3; sh f"#, SHELL),
    (Shell::Bash, r#"exec > f; echo "{X}"; sh f"#, SHELL),
    (Shell::Bash, r#"echo "{X}" > f; exec 3< f; read -r v <&3; eval "$v""#, SHELL),
    (Shell::Bash, r#"exec < <(echo "{X}"); read -r v; eval "$v""#, SHELL),
    (Shell::Bash, r#"coproc cat; echo "{X}" >&"${COPROC[1]}"; read -r v <&"${COPROC[0]}"; eval "$v""#, SHELL),
    (Shell::Bash, r#"echo touch PWNED > p; cp "{X}" f; sh f"#, "p"),
    (Shell::Bash, r#"echo touch PWNED > p; ln -s "{X}" f; . ./f"#, "p"),
    (Shell::Bash, r#"echo touch PWNED > p; curl -so f "{X}"; sh f"#, "file://{DIRECTORY}/p"),
    // `make` pastes its environment.
    (Shell::Bash, r#"printf 'x: ; @: $(v)' > f; v="{X}" make -f f"#, "$(shell touch PWNED)"),
    (Shell::Bash, r#"printf 'x: ; @: $(v)' > f; export v="{X}"; make -f f"#, "; touch PWNED"),
    (Shell::Bash, r#"printf 'x: ; @: $(v)' > f; env v="{X}" make -f f"#, "; touch PWNED"),
    (Shell::Bash, r#"printf 'x: ; @: $(v)' > f; v=$(base64 -d <<< "{X}") make -f f"#, "JChzaGVsbCB0b3VjaCBQV05FRCk="),
    (Shell::Bash, r#"printf 'x: ; @: $(v)' > f; export v=$(rev <<< "{X}"); make -f f"#, ")DENWP hcuot llehs($"),
    (Shell::Bash, r#"printf 'x: ; @: $(v)' > Makefile; v="{X}" awk 'BEGIN { system("make") }'"#, "; touch PWNED"),
    (
        Shell::Bash,
        r#"printf 'x: ; @: $(v)' > Makefile; v="{X}" python3 -c 'import os; os.system("make")'"#,
        "; touch PWNED",
    ),
    (
        Shell::Bash,
        r#"printf 'x: ; @: $(v)' > Makefile; echo a > f; export v="{X}"; sed -n '1e make' f"#,
        "; touch PWNED",
    ),
    (Shell::Bash, r#"mkdir -p -- "{X}"; cd -- "{X}"; p=~+; eval "echo $p"; mv PWNED .."#, "a;touch PWNED;"),
    (
        Shell::Bash,
        r#"mkdir -p -- "{X}"; cd -- "{X}"; for p in ~+; do eval "echo $p"; done; mv PWNED .."#,
        "a;touch PWNED;",
    ),
    (Shell::Bash, r#"git init -q .; git commit -q --allow-empty -m "{X}"; sh .git/COMMIT_EDITMSG"#, SHELL),
    // A command that a setting says has the environment.
    (Shell::Bash, r#"v="{X}" git -c alias.e='!printenv v | sh' e"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; GIT_SSH_COMMAND='printenv v | sh; :' git ls-remote ssh://h/x"#, SHELL),
    // So has a shell that a program starts in its own way.
    (Shell::Bash, r#"v="{X}" env -S sh -c 'eval "$v"'"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; nice env --split-string='bash -c' 'eval "$v"'"#, SHELL),
    (Shell::Bash, r#"v="{X}" env -S "sh -c 'eval \"\$v\"'""#, SHELL),
    (Shell::Bash, r#"echo > f; v="{X}" tar -I 'eval "$v"; cat' -cf a.tar f"#, SHELL),
    (Shell::Bash, r#"echo > f; v="{X}" tar --checkpoint=1 --checkpoint-action=exec='eval "$v"' -cf a.tar f"#, SHELL),
    (Shell::Bash, r#"echo > f; v="{X}" rsync -e "sh -c 'eval \"\$v\"'" f h:f; true"#, SHELL),
    (Shell::Bash, r#"echo > f; v="{X}" sed -n '1e eval "$v"' f"#, SHELL),
    (Shell::Bash, r#"v="{X}" python3 -c 'import os; os.system("eval \"$v\"")'"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; lua5.4 -e 'os.execute("eval \"$v\"")'"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; sqlite3 :memory: '.shell eval "$v"'"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; vim -es -u NONE -c '!eval "$v"' -c q!"#, SHELL),
    (Shell::Bash, r#"v="{X}" gdb -batch -ex 'shell eval "$v"'"#, SHELL),
    (Shell::Bash, r#"echo 'import os; os.system("eval \"$v\"")' | v="{X}" python3"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; sqlite3 :memory: <<< '.shell eval "$v"'"#, SHELL),
    // What a process substitution prints is a script, too.
    (Shell::Bash, r#"v="{X}"; . <(echo 'eval "$v"')"#, SHELL),
    (Shell::Bash, r#"v="{X}"; source <(printf '%s\n' 'f() { eval "$1"; }'); f "$v""#, SHELL),
    (Shell::Bash, r#"export v="{X}"; bash <(echo 'eval "$v"')"#, SHELL),
    (Shell::Bash, r#"bash <(echo 'eval "$1"') "{X}""#, SHELL),
    (Shell::Zsh, r#"v="{X}"; . <(echo 'eval "$v"')"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; make -sf <(printf 'all:\n\t@eval "$$v"\n')"#, SHELL),
    (Shell::Bash, r#"exec 3< <(echo 'eval "$v"'); v="{X}"; . /dev/fd/3"#, SHELL),
    (Shell::Bash, r#"exec 3< <(echo 'eval "$v"'); export v="{X}"; bash /dev/fd/3"#, SHELL),
    // So is what `xargs` reads, and a file that the script writes for a program.
    (Shell::Bash, r#"echo 'eval "$v"' | v="{X}" xargs -d '\n' -I% sh -c %"#, SHELL),
    (Shell::Bash, r#"echo "sh -c 'eval \$v'" | v="{X}" xargs env"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; printf 'all:\n\t@eval "$$v"\n' > Makefile; make -s"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; printf 'all:\n\t@eval "$$v"\n' | make -sf -"#, SHELL),
    // Code that `read` and `mapfile` take from a text of the author's.
    (Shell::Bash, "IFS= read -r -d '' c <<'EOF'\neval \"$1\"\nEOF\nbash -c \"$c\" _ \"{X}\"", SHELL),
    (Shell::Bash, "v=\"{X}\"; IFS= read -r -d '' c <<'EOF'\neval \"$v\"\nEOF\neval \"$c\"", SHELL),
    (Shell::Bash, "while read -r c; do bash -c \"$c\" _ \"{X}\"; done <<'EOF'\nls\neval \"$1\"\nEOF", SHELL),
    (Shell::Bash, "while read -r c o; do \"$c\" \"$o\" \"{X}\"; done <<'EOF'\nwc -l\nsh -c\nEOF", SHELL),
    (Shell::Bash, "mapfile -t c <<'EOF'\nls\neval\nEOF\n\"${c[1]}\" \"{X}\"", SHELL),
    (Shell::Bash, r#"IFS=, read -ra c <<< 'ls,eval'; "${c[1]}" "{X}""#, SHELL),
    (Shell::Bash, r#"v="{X}"; c=ls; [ -n "$none" ] || c='eval "$v"'; eval "$c""#, SHELL),
    (Shell::Bash, r#"v="{X}"; c=ls; [ -n "$none" ] || c='eval "$v"'; trap "$c" EXIT"#, SHELL),
    // Variables whose names are in variables.
    (Shell::Bash, r#"for n in a b; do printf -v "$n" %s "{X}"; done; bash -c "$a""#, SHELL),
    (Shell::Bash, r#"for n in a b; do IFS= read -r "$n"; done <<< "{X}"; bash -c "$a""#, SHELL),
    (Shell::Bash, r#"for n in a b; do mapfile -t "$n"; done <<< "{X}"; eval "${a[0]}""#, SHELL),
    (Shell::Bash, r#"read -r GIT_SSH_COMMAND <<< "{X}"; export GIT_SSH_COMMAND; git ls-remote ssh://h/x"#, SHELL),
    (Shell::Bash, r#"printf -v GIT_SSH_COMMAND %s "{X}"; export GIT_SSH_COMMAND; git ls-remote ssh://h/x"#, SHELL),
    // An exported function has the name of a program.
    (Shell::Bash, r#"grep() { eval "$1"; }; export -f grep; bash -c 'grep "$1"' _ "{X}""#, SHELL),
    (
        Shell::Bash,
        r#"wc() { eval "$1"; }; declare -fx wc; echo "{X}" | xargs -d '\n' -I% bash -c 'wc "$1"' _ %"#,
        SHELL,
    ),
    // The shell expands what it prints before the commands that it traces.
    (Shell::Bash, r#"v="{X}"; PS4='+ $(eval "$v") '; set -x; ls"#, SHELL),
    // Whether the keys of an array are text depends on where that is said.
    (Shell::Bash, r#"f() { local -A s; s[$1]=1; }; f a; k="{X}"; s[$k]=1"#, KEY),
    (Shell::Bash, r#"if [ -n "$none" ]; then declare -A s; fi; k="{X}"; s[$k]=1"#, KEY),
    (Shell::Bash, r#"( declare -A s; s[a]=1 ); k="{X}"; s[$k]=1"#, KEY),
    (Shell::Bash, r#"declare -A s; unset s; k="{X}"; s[$k]=1"#, KEY),
    (Shell::Bash, r#"f() { unset s; s[$1]=1; }; declare -A s; f "{X}""#, KEY),
    (Shell::Bash, r#"declare -A s; f() { local -a s; s[$1]=1; }; f "{X}""#, KEY),
    (Shell::Bash, r#"declare -A s; bash -c 's[$1]=1' _ "{X}""#, KEY),
    (Shell::Bash, r#"declare -A s | cat; k="{X}"; s[$k]=1"#, KEY),
    // A subscript in quotes is expanded again.
    (Shell::Bash, r#"k="{X}"; n=(1); unset 'n[$k]'"#, KEY),
    (Shell::Bash, r#"k="{X}"; [ -v 'n[$k]' ]"#, KEY),
    (Shell::Bash, r#"k="{X}"; [[ -v 'n[$k]' ]]"#, KEY),
    (Shell::Bash, r#"k="{X}"; printf -v 'n[$k]' a"#, KEY),
    (Shell::Bash, r#"k="{X}"; read -r 'n[$k]' <<< a"#, KEY),
    (Shell::Bash, r#"echo 'import os; os.system("eval \"$v\"")' > a.py; v="{X}" python3 a.py"#, SHELL),
];

/// Scripts that write a script, which uses a value in a way that only its own text says.
const SCRIPTS: &[(Shell, &str, &str)] = &[
    (Shell::Bash, r#"t=$(mktemp); echo 'bash -c "$1"' > "$t"; bash "$t" "{X}""#, SHELL),
    (Shell::Bash, r#"t=$(mktemp); printf '#!/bin/bash\n(( $1 > 3 ))\n' > "$t"; chmod +x "$t"; "$t" "{X}""#, KEY),
    (Shell::Bash, r#"d=$(mktemp -d); echo 'eval "$1"' > "$d/w.sh"; bash "$d/w.sh" "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'eval "$1"' > w.sh; t=$(mktemp); cp w.sh $t; bash "$t" "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'eval "$1"' > w.sh; cp w.sh v.sh; bash v.sh "{X}""#, SHELL),
    (Shell::Bash, r#"dd of=w.sh status=none <<< 'eval "$1"'; bash w.sh "{X}""#, SHELL),
    (Shell::Bash, r#"tee w.sh <<< 'eval "$1"' > /dev/null; cp w.sh v; chmod +x v; ./v "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'x=$1' > w.sh; echo 'eval "$x"' >> w.sh; bash w.sh "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'echo "$1"' > w.sh; sed -i 's/echo/eval/' w.sh; bash w.sh "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'f() { eval "$1"; }' > l.sh; . ./l.sh; f "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'eval "$1"' > w.sh; . ./w.sh "{X}""#, SHELL),
    (Shell::Bash, r#"t=$(mktemp); echo 'eval "$1"' > "$t"; xargs -n1 -d '\n' bash "$t" <<< "{X}""#, SHELL),
    (
        Shell::Bash,
        r#"t=$(mktemp); echo 'eval "$1"' > "$t"; chmod +x "$t"; find . -maxdepth 0 -exec "$t" "{X}" \;"#,
        SHELL,
    ),
    (Shell::Bash, r#"sed s/N/1/ > w.sh <<< 'x=$N'; echo 'eval "$x"' >> w.sh; bash w.sh "{X}""#, SHELL),
    // It is read, printed or changed on the way to the shell.
    (Shell::Bash, r#"echo 'eval "$1"' > w.sh; bash -s -- "{X}" < w.sh"#, SHELL),
    (Shell::Bash, r#"echo 'eval "$v"' > w.sh; export v="{X}"; cat w.sh | bash"#, SHELL),
    (Shell::Bash, r#"echo 'eval "$1"' > w.sh; bash -c "$(cat w.sh)" _ "{X}""#, SHELL),
    (Shell::Bash, r#"echo 'eval "$v"' > w.sh; v="{X}"; eval "$(cat w.sh)""#, SHELL),
    (Shell::Bash, r#"export v="{X}"; sed s/N/3/ <<< '(( v > N ))' | bash"#, KEY),
    (Shell::Bash, r#"c='eval "$1"'; bash -c "$(tr -d '\r' <<< "$c")" _ "{X}""#, SHELL),
    (Shell::Bash, r#"export v="{X}"; bash < <(sed s/a/a/ <<< 'eval "$v"')"#, SHELL),
    (Shell::Bash, r#"v="{X}"; . <(sed s/a/a/ <<< 'eval "$v"')"#, SHELL),
    (Shell::Bash, r#"export v="{X}"; cat <(echo :) <(echo 'eval "$v"') | bash"#, SHELL),
];

#[test]
fn a_script_that_a_script_writes_is_followed_or_refused() {
    all_act_and_are_refused(SCRIPTS);
    for script in [
        r#"t=$(mktemp); echo 'echo "$1"' > "$t"; bash "$t" "{X}""#,
        r#"printf '#!/bin/sh\necho "$1"\n' > w.sh; chmod +x w.sh; ./w.sh "{X}""#,
        r#"echo 'echo "$1"' > w.sh; . ./w.sh "{X}""#,
        r#"echo 'f() { echo "$1"; }' > l.sh; . ./l.sh; f "{X}""#,
        r#"echo 'A=1' > .env; . ./.env; echo "{X}""#,
        r#"IFS=é read -r a b <<< 'xéy é'; echo "{X}" "$a" "$b""#,
        // What is fetched is as a program of the project is.
        r#"curl -fsSL https://example.org/i.sh | bash -s -- "{X}""#,
        r#"curl -fsSL https://example.org/i.sh > i.sh; bash i.sh "{X}""#,
        r#"eval "$(ssh-agent -s)"; v="{X}"; ssh-add -- "$v""#,
    ] {
        assert!(judged(Shell::Bash, script).command.iter().all(Verdict::is_placeable), "{script}");
    }
}

/// Programs that nobody described, or whose words are for a shell in a way that is theirs alone.
const STARTERS: [&str; 14] = [
    "faketime yesterday sh -c",
    "trickle -s sh -c",
    "torsocks sh -c",
    "infisical run --command",
    "guix shell -- sh -c",
    "pixi run sh -c",
    "lxc exec a -- sh -c",
    "toolbox run sh -c",
    "distrobox enter a -- sh -c",
    "flatpak run --command=sh a -c",
    "start-stop-daemon --start --exec /bin/sh -- -c",
    "volta run sh -c",
    "some-tool",
    "some-tool --hook",
];

#[test]
fn a_variable_that_a_program_hands_to_a_shell_is_judged_there() {
    let is_data = |script: &str| judged(Shell::Bash, script).command.iter().all(Verdict::is_placeable);
    for starter in STARTERS {
        for code in [r#"'eval "$v"'"#, r#"'bash -c "$v"'"#, r#""eval \"\${v}\"""#] {
            for script in [format!(r#"export v="{{X}}"; {starter} {code}"#), format!(r#"v="{{X}}" {starter} {code}"#)] {
                assert!(!is_data(&script), "{script}");
            }
        }
        let quoted = format!(r#"export v="{{X}}"; {starter} 'grep -- "$v" f'"#);
        assert!(is_data(&quoted), "{quoted}");
        // Another variable, and none.
        for code in [r#"'eval "$w"'"#, "'eval \"$(ls)\"'"] {
            let other = format!(r#"export v="{{X}}"; {starter} {code}"#);
            assert!(is_data(&other), "{other}");
        }
    }
    // What it reads.
    for (code, is_harmless) in [(r#"'eval "$v"'"#, false), (r#"'bash -c "$v"'"#, false), (r#"'grep -- "$v" f'"#, true)]
    {
        for script in [
            format!(r#"export v="{{X}}"; some-tool <<< {code}"#),
            format!(r#"export v="{{X}}"; echo {code} | faketime yesterday sh"#),
        ] {
            assert_eq!(is_data(&script), is_harmless, "{script}");
        }
    }
    // What is text, or has variables of its own.
    for command in [
        "echo 'use $v'",
        "git commit -m 'use $v'",
        "awk '{ print $v }' f",
        "jq -n --arg v 1 '$v'",
        "perl -e 'print $v'",
        "envsubst '$v' < f",
        "find . -name '$v'",
        "python3 -c 'import os; print(os.environ[\"v\"])'",
        // What is printed to a program is harmless there, or not for a shell.
        "bash <(echo 'grep -- \"$v\" f')",
        "bash <(curl -s https://example.org/install.sh)",
        "envsubst < <(echo 'a $v')",
        "make -f <(printf 'all:\\n\\t@grep -- \"$$v\" f\\n')",
        "printf 'services: { a: { image: \"a:$v\" } }' > compose.yml; docker compose up -d",
        "ls | xargs -I{} sh -c 'echo \"$v\" {}'",
    ] {
        let script = format!(r#"export v="{{X}}"; {command}"#);
        assert!(is_data(&script), "{script}");
    }
}

#[test]
fn a_variable_that_may_be_another_program_or_none_is_judged_as_that() {
    let attacks: Vec<_> = ATTACKS.iter().map(|(script, value)| (Shell::Bash, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[test]
fn a_value_that_comes_another_way_is_judged_as_what_it_becomes() {
    all_act_and_are_refused(WAYS);
}

/// Lists that are made of themselves.
#[test]
fn a_list_may_hold_what_it_held_before() {
    for (script, is_data) in [
        (r#"a=(); b=(x "{X}" y); a=("${b[@]}" "${a[@]}"); a+=("{X}-z"); echo "${a[@]}""#, true),
        (r#"a=(-c); a=(bash "${a[@]}"); "${a[@]}" "{X}""#, false),
        (r#"a=("{X}"); a=(bash -c "${a[@]}"); "${a[@]}""#, false),
    ] {
        assert_eq!(
            judged(Shell::Bash, script).command.iter().all(|verdict| verdict.is_placeable()),
            is_data,
            "{script}"
        );
    }
}

/// What people write: the variable is one of a few programs that are known.
const EVERYDAY: &[&str] = &[
    r#"c=podman; $c run --name {X} image"#,
    r#"c=podman; "$c" images --filter "reference={X}""#,
    r#"c="docker compose"; $c logs {X}"#,
    r#"if command -v podman > /dev/null; then c=podman; else c=docker; fi; $c tag {X} "local/{X}""#,
    r#"if command -v podman; then c=podman; elif command -v docker; then c=docker; else echo none; exit 1; fi; $c pull {X}"#,
    r#"die() { echo "$1" >&2; exit 1; }; if [ -e a ]; then c=podman; else die none; fi; $c pull {X}"#,
    r#"command -v podman > /dev/null && c=podman || c=docker; $c pull {X}"#,
    r#"command -v podman > /dev/null && c=podman || exit 1; $c pull {X}"#,
    r#"case "$a" in a) c=podman ;; b) c=docker ;; *) exit 1 ;; esac; $c pull {X}"#,
    r#"c=$(command -v docker || command -v podman); $c pull {X}"#,
    r#"c=$(which podman); "$c" pull {X}"#,
    r#"c=$(which podman); $c pull {X}"#,
    r#"c=$(command -v docker || command -v podman || exit 1); $c tag {X} "local/{X}:a""#,
    r#"sudo -E $(command -v just) recipe "{X}""#,
    r#"${podman:-podman} pull {X}"#,
    r#"$(command -v podman || command -v docker) pull {X}"#,
    r#"podman=${podman:-podman}; $podman pull {X}"#,
    r#": "${podman:=podman}"; $podman run --name "{X}" image"#,
    r#"f() { local c=podman; $c pull "$1"; }; f {X}"#,
    r#"c=docker; f() { "$c" pull "$1"; }; f {X}"#,
    r#"export c=docker; bash -c '$c pull "$1"' _ {X}"#,
    r#"c=docker; if [ -e a ]; then c=podman; fi; $c pull {X}"#,
    r#"c=(docker run); c+=(--rm); "${c[@]}" --name {X} image"#,
    r#"for c in docker podman; do $c pull {X}; done"#,
    // What `shift` leaves.
    r#"r() { shift; "$@"; }; r 5 wc -l -- "{X}""#,
    r#"r() { local n=$1; shift; until "$@"; do sleep "$n"; done; }; r 5 wc -l -- "{X}""#,
    r#"r() { shift 2; "$@"; }; r 5 a wc -l -- "{X}""#,
    r#"r() { "${@:2}"; }; r 5 wc -l -- "{X}""#,
    r#"step() { echo "==> $1"; shift; "$@"; }; step "counts {X}" wc -l -- "{X}""#,
    r#"die() { local c=$1; shift; echo "$*" >&2; exit "$c"; }; [ -e a ] || die 2 "no file {X}""#,
    r#"join() { local IFS="$1"; shift; echo "$*"; }; join , "{X}" b"#,
    r#"f() { local a=$1; shift; eval "$a=1"; echo "$*"; }; f v "{X}""#,
    r#"a() { b "$@"; }; b() { shift; "$@"; }; a 5 wc -l -- "{X}""#,
];

/// What people write with the means of a shell, none of which changes what the value is.
const OF_SHELLS: &[(Shell, &str)] = &[
    (Shell::Zsh, r#"set -euo pipefail; v="{X}"; ls -- $v"#),
    (Shell::Zsh, r#"setopt err_exit no_unset pipe_fail null_glob; for f in *.txt; do ls -- "{X}/$f"; done"#),
    (Shell::Zsh, r#"[[ -n $argv[1] ]] && ls -- "{X}""#),
    (Shell::Zsh, r#"local here=${0:A:h}; ls -- "{X}""#),
    (Shell::Zsh, r#"a=(${(f)"$(ls)"}); ls -- "{X}""#),
    (Shell::Zsh, r#"printf '%s\n' "{X}""#),
    (Shell::Sh, r#"echo "{X}""#),
    (Shell::Sh, r#"echo "{X}" | grep -q a"#),
    (Shell::Bash, r#"if [[ "{X}" =~ ^v([0-9]+)$ ]]; then docker tag a "b:${BASH_REMATCH[1]}"; fi"#),
    (Shell::Bash, r#"exec > >(tee log) 2>&1; ls -- "{X}""#),
    (Shell::Bash, r#"exec 2>&1; echo "{X}"; while read -r a; do ls -- "$a"; done < list"#),
    (Shell::Bash, r#"curl -sSfLo out.json -- "{X}"; jq . out.json; ./report.sh"#),
    (Shell::Bash, r#"git add -- "{X}" build.sh && ./build.sh"#),
    (Shell::Bash, r#"./build.sh "{X}" && ./test.sh "{X}" && ./build.sh"#),
    (Shell::Bash, r#"export NAME="{X}"; ./run.sh"#),
];

#[test]
fn a_variable_that_is_one_of_a_few_programs_is_those() {
    let mut wrong = String::new();
    let of_bash = EVERYDAY.iter().map(|script| (Shell::Bash, *script));
    for (shell, script) in of_bash.chain(OF_SHELLS.iter().copied()) {
        for verdict in judged(shell, script).command {
            if !verdict.is_placeable() {
                wrong.push_str(&format!("{script}\n    {}\n", verdict.describe()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// bash and zsh hand an assignment to these builtins as one word; `local a=$1` needs no quotes.
#[test]
fn what_is_declared_is_not_divided() {
    let wholes = [
        r#"f() { local a=$1; echo "$a"; }; f "{X}""#,
        r#"a="{X}"; export b=$a; readonly c=$a; declare -r d=$a; echo "$b$c$d""#,
    ];
    let divides = |verdict: &Verdict| refuses(verdict, "a b", Mode::Word);
    for shell in [Shell::Bash, Shell::Zsh] {
        for script in wholes {
            for verdict in judged(shell, script).command {
                assert!(!divides(&verdict), "{script}: {}", verdict.describe());
            }
        }
    }
    let divided = r#"f() { local a="$1"; echo $a; }; f "{X}""#;
    assert!(judged(Shell::Bash, divided).command.iter().any(|verdict| verdict.is_placeable() && divides(verdict)));
}
