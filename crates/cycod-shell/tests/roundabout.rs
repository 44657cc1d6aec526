//! A value that comes back to the shell by another way than it went: as `$0`, as the directory that the shell works in, as a
//! variable that is printed, as an argument of a script that the command holds or writes itself.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real shells and programs, and is refused.

#[path = "common/acting.rs"]
mod acting;
#[path = "common/template.rs"]
mod template;

use acting::all_act_and_are_refused;
use cycod_shell::Shell;

const SHELL: &str = "touch PWNED";

/// The word behind the code of a shell, and what else `$0` may be.
const ZERO: &[(&str, &str)] = &[
    (r#"sh -c 'exec "$0" PWNED' "{X}""#, "touch"),
    (r#"sh -c '"$0" PWNED' "{X}""#, "touch"),
    (r#"bash -c '$0' "{X}""#, SHELL),
    (r#"bash -c 'eval "$0"' "{X}""#, SHELL),
    (r#"bash -c 'eval "${0}"' "{X}""#, SHELL),
    (r#"bash -c 'echo $(($0))' "{X}""#, "a[$(touch PWNED)]"),
    (r#"bash -c 'f() { eval "$0"; }; f a' "{X}""#, SHELL),
    (r#"bash -c '"${@:0}" PWNED' "{X}""#, "touch"),
    (r#"bash -c '"${@:0:1}" PWNED' "{X}""#, "touch"),
    (r#"bash -c 'eval "${*:0}"' "{X}""#, SHELL),
    (r#"bash -c 'x=$0; eval "$x"' "{X}""#, SHELL),
    (r#"bash -c 'find . "$0" +' "-okdir" 2> /dev/null; bash -c 'eval "$0"' "{X}""#, SHELL),
    (r#"a=("{X}"); bash -c 'eval "$0"' "${a[@]}""#, SHELL),
    (r#"a=(x "{X}"); bash -c 'eval "$1"' "${a[@]}""#, SHELL),
    (r#"set -- x "{X}"; bash -c 'eval "$1"' "$@""#, SHELL),
    (r#"find . -maxdepth 0 -exec sh -c 'eval "$0"' "{X}" \;"#, SHELL),
    (r#"xargs sh -c 'eval "$0"' "{X}" <<< a"#, SHELL),
    (r#"BASH_ARGV0="{X}"; eval "$0""#, SHELL),
    (r#"zsh -c 'eval "$0"' "{X}""#, SHELL),
];

/// The shell keeps where it is.
const DIRECTORY: &[(&str, &str)] = &[
    (r#"mkdir -p "{X}"; cd "{X}"; eval "echo $PWD""#, "$(touch $OLDPWD/PWNED)"),
    (r#"mkdir -p "{X}"; cd "{X}"; eval "ls $(pwd)""#, "$(touch $OLDPWD/PWNED)"),
    (r#"mkdir -p "{X}"; cd "{X}"; d=$PWD; bash -c "ls $d""#, "$(touch $OLDPWD/PWNED)"),
    (r#"mkdir -p "{X}"; pushd "{X}"; eval "echo $DIRSTACK""#, "$(touch $OLDPWD/PWNED)"),
    (r#"mkdir -p "{X}"; pushd "{X}"; eval "echo ${DIRSTACK[0]}""#, "$(touch $OLDPWD/PWNED)"),
    (r#"P=$PWD; export P; mkdir -p "{X}"; cd "{X}"; cd "$P"; eval "echo $OLDPWD""#, "$(touch $P/PWNED)"),
    (r#"mkdir -p "{X}"; cd "{X}"; sh -c "echo $PWD""#, "$(touch $OLDPWD/PWNED)"),
    (r#"f() { cd "$1"; eval "echo $PWD"; }; mkdir -p "{X}"; f "{X}""#, "$(touch $OLDPWD/PWNED)"),
    (r#"mkdir -p "{X}"; cd "{X}"; printf 'echo %s\n' "$PWD" | bash"#, "$(touch $OLDPWD/PWNED)"),
    (r#"mkdir -p "{X}"; cd "{X}"; ssh() { shift; eval "$@"; }; ssh host "ls $PWD""#, "$(touch $OLDPWD/PWNED)"),
];

/// Variables are printed.
const PRINTED: &[(&str, &str)] = &[
    (r#"export V="{X}"; printenv V | bash"#, SHELL),
    (r#"export V="{X}"; env | grep ^V= | bash"#, "a touch PWNED"),
    (r#"export V="{X}"; eval "$(env | sed -n 's/^V=//p')""#, SHELL),
    (r#"export V="{X}"; bash -c "$(env | sed -n 's/^V=//p')""#, SHELL),
    (r#"export V="{X}"; env -0 | tr '\0' '\n' | sed -n 's/^V=//p' | sh"#, SHELL),
    (r#"export V="{X}"; env > f; grep ^V= f | bash"#, "a touch PWNED"),
    (r#"V="{X}"; set | sed -n "s/^V='\(.*\)'/\1/p" | bash"#, SHELL),
    (r#"V="{X}"; declare -p V | sed 's/.*="\(.*\)"/\1/' | bash"#, SHELL),
    (r#"export V="{X}"; export -p | sed -n 's/.*V="\(.*\)"/\1/p' | bash"#, SHELL),
    (r#"V="{X}"; readonly V; readonly -p | sed -n 's/.*V="\(.*\)"/\1/p' | bash"#, SHELL),
    (r#"export V="{X}"; declare -x | sed -n 's/.*V="\(.*\)"/\1/p' | bash"#, SHELL),
    (r#"f() { local v="$1"; local -p | sed -n 's/.*v="\(.*\)"/\1/p' | bash; }; f "{X}""#, SHELL),
];

/// The script that gets the value stands in the command.
const SCRIPTS: &[(&str, &str)] = &[
    ("bash -s -- \"{X}\" <<'E'\neval \"$1\"\nE\n", SHELL),
    ("bash -s \"{X}\" <<'E'\n$1\nE\n", SHELL),
    (r#"bash -s -- "{X}" <<< 'eval "$1"'"#, SHELL),
    (r#"bash -s -- a "{X}" <<< 'eval "$2"'"#, SHELL),
    (r#"echo 'eval "$1"' | bash -s -- "{X}""#, SHELL),
    (r#"printf '%s\n' 'eval "$1"' | sh -s "{X}""#, SHELL),
    (r#"cat <<< 'eval "$1"' | bash -s -- "{X}""#, SHELL),
    (r#"bash /dev/stdin "{X}" <<< 'eval "$1"'"#, SHELL),
    (r#"echo 'eval "$1"' | bash /dev/stdin "{X}""#, SHELL),
    (r#". /dev/stdin "{X}" <<< 'eval "$1"'"#, SHELL),
    (r#"bash -s -- "{X}" < <(echo 'eval "$1"')"#, SHELL),
    (r#"s='eval "$1"'; bash -s -- "{X}" <<< "$s""#, SHELL),
    (r#"s='eval "$1"'; bash -c "$s" _ "{X}""#, SHELL),
    (r#"echo 'eval "$1"' > s.sh; bash s.sh "{X}""#, SHELL),
    (r#"echo 'eval "$1"' > s.sh; bash ./s.sh "{X}""#, SHELL),
    (r#"echo 'eval "$1"' > s.sh; . ./s.sh "{X}""#, SHELL),
    (r#"echo 'eval "$1"' | tee s.sh; bash s.sh "{X}""#, SHELL),
    (r#"f=s.sh; echo 'eval "$1"' > "$f"; bash "$f" "{X}""#, SHELL),
    (r#"echo '#!/bin/sh' > s; echo 'eval "$1"' >> s; chmod +x s; ./s "{X}""#, SHELL),
    ("cat > s.sh <<'E'\neval \"$1\"\nE\nbash s.sh \"{X}\"", SHELL),
    (r#"export V="{X}"; echo 'eval "$V"' > s.sh; bash s.sh"#, SHELL),
    (r#"export V="{X}"; echo 'eval "$V"' | bash"#, SHELL),
    (r#"V="{X}"; echo 'eval "$V"' > s.sh; . ./s.sh"#, SHELL),
];

/// Names of files that a value chose, as `find` gives them to the shell.
const NAMED: &[(&str, &str)] = &[
    (r#"mkdir -p "{X}"; find "{X}" -maxdepth 0 -exec sh -c 'eval "$1"' _ {} \;"#, SHELL),
    (r#"mkdir -p "{X}"; find "{X}" -maxdepth 0 -exec sh -c 'for f; do eval "$f"; done' _ {} +"#, SHELL),
    (r#"mkdir -p "{X}"; find "{X}" -maxdepth 0 -exec sh -c '{}' \;"#, SHELL),
    (r#"mkdir -p "{X}"; find "{X}" -maxdepth 0 -exec sh -c '$0' {} \;"#, SHELL),
    (r#"mkdir -p "{X}"; find . -name "{X}" -execdir sh -c 'eval "${1#./}"' _ {} \;"#, SHELL),
];

/// What the shell keeps of what it reads.
const KEPT: &[(&str, &str)] = &[
    (r#"select a in b c; do eval "$REPLY"; break; done <<< "{X}""#, SHELL),
    (r#"select a in b c; do $REPLY; break; done <<< "{X}""#, SHELL),
    (r#"echo "{X}" | select a in b c; do bash -c "$REPLY"; break; done"#, SHELL),
    (r#"read <<< "{X}"; eval "$REPLY""#, SHELL),
    (r#"mapfile <<< "{X}"; eval "$MAPFILE""#, SHELL),
    (r#"coproc cat; echo "{X}" >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; eval "$l""#, SHELL),
    (r#"set -- -a "{X}"; getopts a: o; eval "$OPTARG""#, SHELL),
    (r#"[[ "{X}" =~ .* ]]; eval "$BASH_REMATCH""#, SHELL),
    (r#": "{X}"; eval "$_""#, SHELL),
];

/// What zsh calculates, and where it looks for code.
const ZSH: &[(&str, &str)] = &[
    (r#"float y; y="{X}""#, "path[$(touch PWNED)]"),
    (r#"float y="{X}""#, "path[$(touch PWNED)]"),
    (r#"typeset -F y; y="{X}""#, "path[$(touch PWNED)]"),
    (r#"typeset -E 3 y; y="{X}""#, "path[$(touch PWNED)]"),
    (r#"integer y="{X}""#, "path[$(touch PWNED)]"),
    (r#"mkdir d; echo touch PWNED > d/foo; fpath=("{X}"); autoload foo; foo"#, "d"),
    (r#"mkdir d; echo touch PWNED > d/foo; fpath+=("{X}"); autoload foo; foo"#, "d"),
    (r#"mkdir d; echo 'echo > PWNED' > d/foo; chmod +x d/foo; path=("{X}"); foo"#, "d"),
    (r#"a() { touch PWNED }; chpwd_functions=("{X}"); cd ."#, "a"),
    (r#"cd_() { }; zsh -c 'eval "$0"' "{X}""#, SHELL),
    (r#"mkdir -p "{X}"; cd "{X}"; eval "echo $PWD""#, "$(touch $OLDPWD/PWNED)"),
    (r#"export V="{X}"; env | sed -n 's/^V=//p' | zsh"#, SHELL),
    (r#"V="{X}"; typeset -p V | sed "s/.*='\\(.*\\)'/\\1/" | zsh"#, SHELL),
    (r#"zsh -s "{X}" <<< 'eval $1'"#, SHELL),
];

/// Where the shell takes words apart.
const SPLIT: &[(&str, &str)] =
    &[(r#"IFS="{X}"; c="touchaPWNED"; $c"#, "a"), (r#"i="{X}"; IFS=$i; c="xtouchxPWNED"; ${c#x}"#, "x")];

#[track_caller]
fn check(attacks: &[(&str, &str)]) {
    let attacks: Vec<_> = attacks.iter().map(|(script, value)| (Shell::Bash, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[test]
fn zero_is_a_value() {
    check(ZERO);
}

#[test]
fn the_directory_is_a_value() {
    check(DIRECTORY);
}

#[test]
fn what_is_printed_of_variables_is_a_value() {
    check(PRINTED);
}

#[test]
fn a_script_of_the_command_gets_a_value() {
    check(SCRIPTS);
}

#[test]
fn what_find_names_is_a_value() {
    check(NAMED);
}

#[test]
fn what_the_shell_reads_is_a_value() {
    check(KEPT);
}

#[test]
fn what_zsh_does_with_a_value() {
    let attacks: Vec<_> = ZSH.iter().map(|(script, value)| (Shell::Zsh, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[test]
fn a_value_takes_words_apart() {
    check(SPLIT);
}
