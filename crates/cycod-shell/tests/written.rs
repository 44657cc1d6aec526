//! A file that a script writes with a value, and then runs or loads: ruled out however it is written, named and run.
//!
//! Each attack acts when its value stands in the script as one quoted word, with real shells and programs, and is refused.

#[path = "common/acting.rs"]
mod acting;
#[path = "common/template.rs"]
mod template;

use acting::{acts, all_act_and_are_refused, all_are_placeable, is_refused, judged};
use cycod_shell::Shell;

const SHELL: &str = "touch PWNED";
const ALIAS: &str = "[alias]\nzz = !touch PWNED";

/// Programs that write, and say so in different ways.
const WRITERS: &[(&str, &str)] = &[
    (r#"echo "{X}" | sudo tee g; bash g"#, SHELL),
    (r#"echo "{X}" | nice tee g; bash g"#, SHELL),
    (r#"cp /dev/stdin g <<< "{X}"; bash g"#, SHELL),
    (r#"echo "{X}" | install /dev/stdin g; bash g"#, SHELL),
    (r#"echo "{X}" | dd of=g; bash g"#, SHELL),
    (r#"echo "{X}" | sort -o g; bash g"#, SHELL),
    (r#"echo "{X}" | sort --output=g; bash g"#, SHELL),
    (r#"echo "{X}" | uniq - g; bash g"#, SHELL),
    (r#"echo "{X}" | sed -n "w g"; bash g"#, SHELL),
    (r#"echo "{X}" | awk '{print > "g"}'; bash g"#, SHELL),
    (r#"echo "{X}" | split - g; bash gaa"#, SHELL),
    (r#"echo "{X}" | csplit -f g - 1; bash g01"#, SHELL),
    (r#"X="{X}" envsubst <<< '$X' > g; bash g"#, SHELL),
    (r#"export X="{X}"; envsubst <<< '$X' > g; bash g"#, SHELL),
    (r#"echo a > g; sed -i "r /dev/stdin" g <<< "{X}"; sed -i 1d g; bash g"#, SHELL),
    (r#"printf 'a\n%s\n.\nw g\n' "{X}" | ed -s; bash g"#, SHELL),
    (r#"touch g; printf '0a\n%s\n.\nw\n' "{X}" | ed -s g; bash g"#, SHELL),
    (r#"echo "{X}" > h; vim -u NONE -es -c 'w! g' -c 'q!' h; bash g"#, SHELL),
    (r#"touch g; printf -- '--- g\n+++ g\n@@ -0,0 +1 @@\n+%s\n' "{X}" | patch -p0; bash g"#, SHELL),
    (r#"echo "{X}" | base64 | base64 -d > g; bash g"#, SHELL),
    (r#"echo "{X}" | openssl enc -base64 -out h; openssl enc -d -base64 -in h -out g; bash g"#, SHELL),
    (r#"echo "{X}" > h; curl -so g "file://$PWD/h"; bash g"#, SHELL),
    (r#"echo "{X}" > h; rsync h g; bash g"#, SHELL),
    (r#"echo "{X}" > h; tar cf a.tar h; rm h; mkdir d; tar xf a.tar -C d; bash d/h"#, SHELL),
    (r#"echo "{X}" > h; git init -q .; git hash-object -w h > id; git cat-file blob "$(cat id)" > g; bash g"#, SHELL),
    (r#"echo "{X}" | perl -ne 'open F, ">", "g"; print F'; bash g"#, SHELL),
    (r#"perl -e 'open F, ">", "g"; print F shift' "{X}"; bash g"#, SHELL),
    (r#"printf '%s' 'cat > "$1"' > w.sh; echo "{X}" | bash w.sh g; bash g"#, SHELL),
    (r#"printf '%s' 'echo "$1" > "$2"' > w.sh; bash w.sh "{X}" g; bash g"#, SHELL),
    (r#"printf '%s' 'echo "$X" > "$1"' > w.sh; X="{X}" bash w.sh g; bash g"#, SHELL),
    (r#"f() { nice tee "$1"; }; echo "{X}" | f g; bash g"#, SHELL),
    (r#"X="{X}" python3 -c 'import os; open("g", "w").write(os.environ["X"])'; bash g"#, SHELL),
    (r#"python3 -c 'import sys; open("g", "w").write(sys.argv[1])' "{X}"; bash g"#, SHELL),
    (r#"echo "{X}" | gzip > g.gz; gunzip g.gz; bash g"#, SHELL),
    // The file that holds it is named behind the one that is written, or in code alone.
    (r#"echo "{X}" > h; dd if=h of=g; bash g"#, SHELL),
    (r#"echo "{X}" > h; sed -n 'w g' h; bash g"#, SHELL),
    (r#"echo "{X}" > h; awk '{print > "g"}' h; bash g"#, SHELL),
    (r#"echo "{X}" > h; awk -v o=g '{print > o".sh"}' h; bash g.sh"#, SHELL),
    // A word that the code takes for a name, and one that names the output of a program which otherwise writes nothing.
    (r#"echo "{X}" > h; awk -v o=g '{print > o}' h; bash g"#, SHELL),
    (r#"echo "{X}" | awk -vo=g '{print > o}'; bash g"#, SHELL),
    (r#"echo "{X}" > h; awk '{print > o}' o=g h; bash g"#, SHELL),
    (r#"X="{X}" O=g awk 'BEGIN {print ENVIRON["X"] > ENVIRON["O"]}'; bash g"#, SHELL),
    (r#"export O=g; perl -e 'open F, ">", $ENV{O}; print F shift' "{X}"; bash g"#, SHELL),
    (r#"O=g python3 -c 'import os, sys; open(os.environ["O"], "w").write(sys.argv[1])' "{X}"; bash g"#, SHELL),
    (r#"find . -maxdepth 0 -fprintf g "{X}\n"; bash g"#, SHELL),
    (r#"echo "{X}" > f; split --filter=sh f"#, SHELL),
    (r#"git init -q .; git commit -qm a --allow-empty; git log --format="%n{X}" --output=g; bash g"#, SHELL),
    (r#"git init -q .; git commit -qm a --allow-empty; git show -s --output g --format="%n{X}"; bash g"#, SHELL),
    (r#"git init -q .; git config --file g user.name "{X}"; bash g"#, "$(touch PWNED)"),
    (r#"echo "{X}" > h; git init -q .; git add h; git mv h g; bash g"#, SHELL),
    (r#"echo "{X}" > h.txt; python3 -c 'print(open("h.txt").read())' | bash"#, SHELL),
    (r#"echo "{X}" > h.txt; python3 -c 'open("g.sh", "w").write(open("h.txt").read())'; bash g.sh"#, SHELL),
    (r#"echo "{X}" > h.txt; node -e 'fs.copyFileSync("h.txt", "g.sh")'; bash g.sh"#, SHELL),
    (r#"echo "{X}" > h.txt; perl -e 'open F, "h.txt"; print <F>' | bash"#, SHELL),
    (r#"echo "{X}" > h.txt; awk 'BEGIN { while (getline < "h.txt") print }' | bash"#, SHELL),
    (r#"echo "{X}" > h.csv; sqlite3 d.db "create table t (a)" ".import h.csv t" "select * from t" | bash"#, SHELL),
    (
        r#"echo "{X}" > h.csv; sqlite3 d.db "create table t (a)" ".import h.csv t" ".once g" "select * from t"; bash g"#,
        SHELL,
    ),
    (
        r#"echo "{X}" > h.csv; sqlite3 d.db "create table t (a)" ".import h.csv t"; sqlite3 d.db "select * from t" | bash"#,
        SHELL,
    ),
    (r#"echo "{X}" > h; ar rc a.a h; ar p a.a | bash"#, SHELL),
    (
        r#"export X="{X}"; dd if=/proc/self/environ of=g status=none; tr '\0' '\n' < g | sed -n 's/^X=//p' | bash"#,
        SHELL,
    ),
    (r#"echo "{X}" > h; : > main.c; gcc @h -c main.c"#, "-wrapper 'sh,-c,touch PWNED'"),
    // Programs that look through directories.
    (r#"echo "{X}" > h; tar c . | tar xO ./h | bash"#, SHELL),
    (r#"echo "{X}" > h; tar cf o.tar .; tar xOf o.tar ./h | bash"#, SHELL),
    (r#"echo "{X}" > h; grep -rh touch . | bash"#, SHELL),
    (r#"echo "{X}" > h; rg -I --no-line-number touch . | bash"#, SHELL),
    (r#"echo "{X}" > h; git init -q .; git add -A; git grep -h touch | bash"#, SHELL),
    (r#"echo "{X}" > h; git init -q .; git add -A; git diff --cached | sed -n 's/^+touch/touch/p' | bash"#, SHELL),
    // Names that programs make themselves.
    (r#"echo "{X}" > h; gzip h; zcat h.gz | bash"#, SHELL),
    (r#"echo "{X}" > h; xz h; xz -dc h.xz | bash"#, SHELL),
    (r#"echo "{X}" > h; gzip -S .sh h; gzip -dc -S .sh h.sh | bash"#, SHELL),
    (r#"echo "{X}" > h; perl -i.sh -pe 's/a/a/' h; bash h.sh"#, SHELL),
    (r#"echo "{X}" > h; sed -i.sh 's/a/a/' h; bash h.sh"#, SHELL),
    (r#"echo "{X}" > h; touch b; cp -b -S .sh b h; bash h.sh"#, SHELL),
    (r#"echo "{X}" > h; split h; bash xaa"#, SHELL),
    (r#"echo "{X}" > h; csplit h 1; bash xx01"#, SHELL),
    // Code that stands in what an interpreter reads.
    ("python3 - \"{X}\" <<'E'\nimport sys\nopen('g', 'w').write(sys.argv[1])\nE\nbash g", SHELL),
    ("export X=\"{X}\"; python3 - <<'E'\nimport os\nopen('g', 'w').write(os.environ['X'])\nE\nbash g", SHELL),
    ("node - \"{X}\" <<'E'\nrequire('fs').writeFileSync('g', process.argv[2])\nE\nbash g", SHELL),
    (r#"echo 'open F, ">", "g"; print F shift' | perl - "{X}"; bash g"#, SHELL),
    ("cat > w.py <<'E'\nimport sys\nopen('g', 'w').write(sys.argv[1])\nE\npython3 w.py \"{X}\"; bash g", SHELL),
    // A name that the code makes of parts.
    (r#"python3 -c 'import sys; n = 1; open(f"g{n}.sh", "w").write(sys.argv[1])' "{X}"; bash g1.sh"#, SHELL),
    (r#"python3 -c 'import sys; open("g-%02d.sh" % 1, "w").write(sys.argv[1])' "{X}"; bash g-01.sh"#, SHELL),
    (r#"python3 -c 'import sys; open(sys.argv[2] + ".sh", "w").write(sys.argv[1])' "{X}" g; bash g.sh"#, SHELL),
    (r#"perl -e '$n = "g"; open F, ">", "$n.sh"; print F shift' "{X}"; bash g.sh"#, SHELL),
    // A variable that the code names.
    (r#"echo '{}' > g.json; X="{X}" jq -r '.x = env.X | .x' g.json > g; bash g"#, SHELL),
    (r#"export X="{X}"; perl -e 'print $ENV{"X"}' | bash"#, SHELL),
    (r#"echo "{X}" > /dev/shm/cycod-test-g; . /dev/shm/cycod-test-g; rm /dev/shm/cycod-test-g"#, SHELL),
    (r#"mkdir a; echo "{X}" > a/g; cp -r a b; chmod +x b/*; run-parts b"#, "#!/bin/sh\ntouch PWNED"),
    // By a command within another one.
    (r#"echo "{X}" > a; find . -maxdepth 0 -exec cp a b \; -exec sh b \;"#, SHELL),
    // What one command of `find` writes, another one runs.
    (r#"find . -maxdepth 0 -exec sh -c 'echo "$1" > g' _ "{X}" \; -exec sh g \;"#, SHELL),
    (r#"find . -maxdepth 0 -exec perl -e 'open F, ">", "g"; print F shift' "{X}" \; -exec sh g \;"#, SHELL),
    (r#"echo "{X}" > Makefile; find . -maxdepth 0 -exec make \;"#, "all: ; touch PWNED"),
    (r#"echo "{X}" > Makefile; find . -maxdepth 0 -exec make -s -C . \; -print"#, "all: ; touch PWNED"),
    (r#"echo "{X}" > a; find . -maxdepth 0 -exec grep -rh touch --include a \; | sh"#, SHELL),
    // What git keeps of a file.
    (r#"git init -q; echo "{X}" > a; git add a; git commit -qm a; git show HEAD:a | sh"#, SHELL),
    (r#"git init -q; echo "{X}" > a; git add a; git commit -qm a; git show -s HEAD:a > b; sh b"#, SHELL),
    (
        r#"git init -q; echo "{X}" > a; git add a; git commit -qm a; git log -U1 --format= | sed -n 's/^+//p' | sh"#,
        SHELL,
    ),
    (r#"git init -q; echo "{X}" > a; git add a; git commit -qm a; git cat-file blob HEAD:a | sh"#, SHELL),
];

/// Two names of one path.
const NAMES: &[(&str, &str)] = &[
    (r#"echo "{X}" > $PWD/g; bash g"#, SHELL),
    (r#"echo "{X}" > g; bash "$(pwd)/g""#, SHELL),
    (r#"echo "{X}" > "$HOME/a"; bash ~/a"#, SHELL),
    (r#"echo "{X}" > ~/a; bash "$HOME/a""#, SHELL),
    (r#"D=$(mktemp -d); echo "{X}" > "$D/a.sh"; cd "$D"; bash a.sh; [ -e PWNED ] && touch "$OLDPWD/PWNED""#, SHELL),
    (r#"D=$(mktemp -d); cd "$D"; echo "{X}" > a.sh; bash "$D/a.sh"; [ -e PWNED ] && touch "$OLDPWD/PWNED""#, SHELL),
    (r#"OUT=$PWD/out; mkdir out; echo "{X}" > "$OUT/a"; bash out/a"#, SHELL),
    (r#"OUT=$PWD/out; mkdir out; echo "{X}" > out/a; bash "$OUT/a""#, SHELL),
    (r#"echo "{X}" > "$(pwd)/g"; . ./g"#, SHELL),
    (r#"n=g; echo "{X}" > "$n.sh"; bash g.sh"#, SHELL),
    (r#"echo "{X}" > "g-$(id -u).sh"; bash g-*.sh"#, SHELL),
    (r#"touch a.sh; for f in *.sh; do echo "{X}" > "$f"; done; bash a.sh"#, SHELL),
    (r#"echo "{X}" > "$(dirname "$PWD/x")/g"; bash g"#, SHELL),
    (r#"echo "{X}" > g; bash "$(realpath g)""#, SHELL),
    (r#"echo "{X}" > g; bash "$(readlink -f g)""#, SHELL),
    (r#"echo "{X}" > g; ln -s g h; bash h"#, SHELL),
    (r#"ln -s g h; echo "{X}" > h; bash g"#, SHELL),
    (r#"ln -s "$PWD/g" h; echo "{X}" > h; bash g"#, SHELL),
    (r#"ln -sfn "$PWD" d; echo "{X}" > d/g; bash g"#, SHELL),
];

/// Programs that run a file, and that load one.
const RUNNERS: &[(&str, &str)] = &[
    ("f() { echo {X} | $V ./g; }; V=tee; f; chmod +x g; V=; f", SHELL),
    (r#"mkdir d; echo "{X}" > d/g; find d -type f -exec bash {} \;"#, SHELL),
    (r#"echo "{X}" > g; find . -name g -exec sh {} +"#, SHELL),
    (r#"echo "{X}" > g; chmod +x g; find . -name g -exec {} \;"#, "#!/bin/sh\ntouch PWNED"),
    (r#"echo "{X}" > g; xargs -a g sh -c"#, "'touch PWNED'"),
    (r#"echo "{X}" > g; xargs --arg-file=g sh -c"#, "'touch PWNED'"),
    (r#"echo "{X}" > g; xargs -a g -I % sh -c %"#, SHELL),
    (r#"echo "{X}" > g; parallel -a g"#, SHELL),
    (r#"echo "{X}" > g; parallel :::: g"#, SHELL),
    (r#"mkdir d; echo "{X}" > d/g; chmod +x d/g; run-parts d"#, "#!/bin/sh\ntouch PWNED"),
    (r#"mkdir d; echo "{X}" > d/g; chmod +x d/g; run-parts "$PWD/d""#, "#!/bin/sh\ntouch PWNED"),
    (r#"D=$(mktemp -d); echo "{X}" > "$D/g"; chmod +x "$D/g"; run-parts "$D""#, "#!/bin/sh\ntouch PWNED"),
    (r#"echo "{X}" > g; ls | grep g | while read f; do bash $f; done"#, SHELL),
    (r#"echo "{X}" > g; ls | while read -r f; do bash "./$f"; done"#, SHELL),
    (r#"echo "{X}" > g; bash "$(ls | head -n 1)""#, SHELL),
    (r#"echo "{X}" > g; for f in $(ls); do bash "$f"; done"#, SHELL),
    (r#"echo "{X}" > g; ls | xargs -n1 bash"#, SHELL),
    (r#"echo "{X}" > g; ls | xargs -I% bash %"#, SHELL),
    (r#"echo "{X}" > g; for f in *; do bash "$f"; done"#, SHELL),
    (r#"echo "{X}" > g; a=(*); bash "${a[0]}""#, SHELL),
    (r#"echo "{X}" > g; mapfile -t a < <(ls); bash "${a[0]}""#, SHELL),
    (r#"echo "{X}" > g; make -f - <<< "include g""#, "all: ; touch PWNED"),
    (r#"echo "{X}" > g; printf 'include %s\n' g | make -f /dev/stdin"#, "all: ; touch PWNED"),
    (r#"echo "{X}" > Makefile; make"#, "all: ; touch PWNED"),
    (r#"mkdir d; echo "{X}" > d/Makefile; make -C d; [ -e d/PWNED ] && touch PWNED"#, "all: ; touch PWNED"),
    (r#"echo "{X}" > package.json; npm run a"#, r#"{"scripts": {"a": "touch PWNED"}}"#),
    (
        r#"git init -q .; echo "{X}" > .git/hooks/pre-commit; chmod +x .git/hooks/*; git commit --allow-empty -m a"#,
        "#!/bin/sh\ntouch PWNED",
    ),
    (
        r#"git init -q .; cd .git/hooks; echo "{X}" > pre-commit; chmod +x *; cd ../..; git commit --allow-empty -m a"#,
        "#!/bin/sh\ntouch PWNED",
    ),
    (r#"git init -q .; echo "{X}" >> .git/config; git zz"#, ALIAS),
    (r#"echo "{X}" >> ~/.gitconfig; git zz"#, ALIAS),
    (r#"echo "{X}" >> ~/.bashrc; bash -ic true"#, SHELL),
    (r#"echo "{X}" >> ~/.zshenv; zsh -c true"#, SHELL),
    (r#"mkdir d; echo "{X}" > d/__main__.py; python3 d"#, "open('PWNED', 'w')"),
    (r#"mkdir d; echo "{X}" > d/index.js; node d"#, "require('fs').writeFileSync('PWNED', '')"),
    (r#"echo "{X}" > g.py; python3 -m g"#, "open('PWNED', 'w')"),
    (r#"echo "{X}" > g; perl -e 'do "./g"'"#, "open F, '>', 'PWNED'"),
    (r#"echo "{X}" > g.js; node -e 'require("./g.js")'"#, "require('fs').writeFileSync('PWNED', '')"),
    (r#"echo "{X}" > g; python3 -c 'exec(open("g").read())'"#, "open('PWNED', 'w')"),
    (r#"source <(cat g) ; echo "{X}" > g; source <(cat g)"#, SHELL),
    (r#"echo "{X}" > g; bash < <(cat g)"#, SHELL),
    (r#"echo "{X}" > g; f=$(cat g); eval "$f""#, SHELL),
];

/// Variables that name a file to run or to load.
const VARIABLES: &[(&str, &str)] = &[
    (r#"echo "{X}" > g; BASH_ENV=g bash -c true"#, SHELL),
    (r#"echo "{X}" > g; export BASH_ENV=$PWD/g; bash -c true"#, SHELL),
    (r#"echo "{X}" > g; env BASH_ENV=g bash -c true"#, SHELL),
    (r#"BASH_ENV=g; export BASH_ENV; echo "{X}" > g; bash -c true"#, SHELL),
    (r#"export BASH_ENV="$(pwd)/g"; echo "{X}" > g; bash -c true"#, SHELL),
    (r#"declare -x BASH_ENV=g; echo "{X}" > g; bash -c true"#, SHELL),
    (r#"echo "{X}" > g; GIT_CONFIG_GLOBAL=$PWD/g git zz"#, ALIAS),
    (r#"echo "{X}" | nice tee g; GIT_CONFIG_GLOBAL=$PWD/g git zz"#, ALIAS),
    (r#"echo "{X}" > g.js; NODE_OPTIONS="--require ./g.js" node -e 1"#, "require('fs').writeFileSync('PWNED', '')"),
    (r#"echo "{X}" > g.js; NODE_OPTIONS=--require=./g.js node -e 1"#, "require('fs').writeFileSync('PWNED', '')"),
    (r#"echo "{X}" > g.pm; PERL5OPT="-I. -Mg" perl -e 1"#, "open F, '>', 'PWNED'; 1;"),
    (r#"mkdir d; echo "{X}" > d/g.pm; PERL5LIB=d perl -e 'use g'"#, "open F, '>', 'PWNED'; 1;"),
    (r#"mkdir d; echo "{X}" > d/json.py; PYTHONPATH=$PWD/d python3 -c 'import json'"#, "open('PWNED', 'w')"),
    (r#"echo "{X}" > .zshenv; ZDOTDIR=. zsh -c true"#, SHELL),
    (
        r#"echo 'int main() { return system("touch PWNED"); }' > p.c; gcc -w "{X}" -o tool1; PATH=$PWD:$PATH; tool1"#,
        "p.c",
    ),
    (
        r#"echo 'int main() { return system("touch PWNED"); }' > p.c; mkdir d; gcc -w "{X}" -o d/tool1; PATH=d:$PATH tool1"#,
        "p.c",
    ),
    (r#"sed -n 'wm.sh' <<< "{X}"; sh m.sh"#, SHELL),
    (r#"sed -n '/./wm.sh' <<< "{X}"; sh m.sh"#, SHELL),
    (r#"sed -n 's/t/t/wm.sh' <<< "{X}"; sh m.sh"#, SHELL),
    (r#"mkdir d; echo "{X}" > d/ls; chmod +x d/ls; PATH=$PWD/d:$PATH; ls"#, "#!/bin/sh\ntouch PWNED"),
    (r#"echo "{X}" > g; chmod +x g; git init -q .; EDITOR=./g git commit --allow-empty"#, "#!/bin/sh\ntouch PWNED"),
    (r#"echo "{X}" > g; chmod +x g; EDITOR="$PWD/g --wait" git config --global -e"#, "#!/bin/sh\ntouch PWNED"),
    (r#"echo "{X}" > g; MAKEFILES=g make -f /dev/null all"#, "all: ; touch PWNED"),
];

fn of_bash<'a>(attacks: &[(&'a str, &'a str)]) -> Vec<(Shell, &'a str, &'a str)> {
    attacks.iter().map(|(script, value)| (Shell::Bash, *script, *value)).collect()
}

/// Programs that look for their settings, or for code that other code names.
const FOUND: &[(&str, &str)] = &[
    // The source of a program: as make builds it by itself, and where another source includes it.
    (
        r#"printf '#include <stdio.h>\n#include <stdlib.h>\nint main() { puts("%s"); }\n' "{X}" > a.c; make a; ./a"#,
        r#"a"); system("touch PWNED"); puts(""#,
    ),
    (
        r#"printf '#define V "%s"\n' "{X}" > v.h; echo '#include <stdlib.h>
#include "v.h"
int main() { return V; }' > a.c; gcc a.c -o a; ./a"#,
        r#"" && system("touch PWNED") && ""#,
    ),
    (r#"echo "{X}" > json.py; python3 -c 'import json'"#, "import os; os.system('touch PWNED')"),
    (
        r#"mkdir m; echo "{X}" > m/h.py; echo 'import h' > m/a.py; python3 m/a.py"#,
        "import os; os.system('touch PWNED')",
    ),
    (r#"echo "{X}" > json.py; python3 -m json.tool h"#, "import os; os.system('touch PWNED')"),
    (r#"echo "{X}" > h.js; node -e 'require("./h.js")'"#, "require('fs').writeFileSync('PWNED', '')"),
    (
        r#"echo "{X}" > h.js; echo '{"scripts":{"a":"node h.js"}}' > package.json; npm run a"#,
        "require('fs').writeFileSync('PWNED', '')",
    ),
    (r#"echo "{X}" > H.pm; perl -I. -e 'use H'"#, "system('touch PWNED'); 1;"),
    (r#"echo "{X}" > h.rb; ruby -e 'require "./h"'"#, "system('touch PWNED')"),
    (r#"echo "{X}" > h.php; php -r 'include "h.php";'"#, "<?php system('touch PWNED');"),
    (r#"echo "{X}" > h.lua; lua -e 'require "h"'"#, "os.execute('touch PWNED')"),
    (r#"echo "{X}" > .Rprofile; Rscript -e 1"#, "system('touch PWNED')"),
    (r#"echo "{X}" > ~/.Rprofile; mkdir d; cd d; Rscript -e 1; mv PWNED .."#, "system('touch PWNED')"),
    (r#"echo "{X}" > ~/.curlrc; curl -s "file://$HOME/.curlrc""#, "output=PWNED"),
    (r#"echo "{X}" > "$HOME/.curlrc"; curl -s "file://$HOME/.curlrc""#, "output=PWNED"),
    (r#"echo "{X}" > h.sh; echo '. ./h.sh' > a.sh; bash a.sh"#, SHELL),
    (r#"echo "{X}" > h.sh; printf '#!/bin/sh\n. ./h.sh\n' > run; chmod +x run; ./run"#, SHELL),
    (r#"echo "{X}" > h.sh; printf 'a:\n\tsh h.sh\n' > Makefile; make"#, SHELL),
    // Before it is written, in a loop or a function.
    (r#"for i in 1 2; do python3 -c 'import json'; echo "{X}" > json.py; done"#, "import os; os.system('touch PWNED')"),
    (r#"f() { python3 -c 'import json'; }; echo "{X}" > json.py; f"#, "import os; os.system('touch PWNED')"),
    (
        r#"f() { if [ "$1" ]; then python3 -c 'import json'; else echo "{X}" > json.py; fi; }; f; f a"#,
        "import os; os.system('touch PWNED')",
    ),
];

#[test]
fn a_file_is_found_by_a_program_that_looks_for_it() {
    all_act_and_are_refused(&of_bash(FOUND));
}

/// The same of programs that are not installed everywhere.
const FOUND_BY_OTHERS: &[&str] = &[
    r#"printf 'web: %s\n' "{X}" > Procfile; foreman start"#,
    r#"echo "{X}" > Snakefile; snakemake -j1"#,
    r#"echo "{X}" > Earthfile; earthly +build"#,
    r#"echo "{X}" > SConstruct; scons"#,
    r#"echo "{X}" > models/a.sql; dbt run"#,
    r#"echo "{X}" > sql/V1__a.sql; flyway migrate"#,
    r#"printf 'a: "%s"' "{X}" > chart/templates/a.yaml; helm upgrade a ./chart"#,
];

#[test]
fn a_file_is_found_by_other_programs() {
    for script in FOUND_BY_OTHERS {
        assert!(is_refused(Shell::Bash, script, "a"), "{script}");
    }
}

/// Programs that keep no code and no settings under any such name, or ran before the file was there.
const OVERLOOKED: &[&str] = &[
    r#"echo "{X}" >> .gitignore; git add .gitignore; git commit -m a"#,
    r#"echo "TAG={X}" > .env.local; npx next build"#,
    r#"echo "{X}" > config.json; python3 app.py; ./app; node server.js"#,
    r#"npm run build; npx vite build; echo "{X}" > dist/config.js; aws s3 cp dist/config.js s3://b/"#,
    r#"mkdir -p ~/.config/app; echo "{X}" > ~/.config/app/a.conf; cat ~/.config/app/a.conf | grep a; ls -l ~/.config"#,
    r#"echo "{X}" > values.yaml; helm upgrade a . -f values.yaml; kubectl get pods"#,
    r#"printf 'a: "%s"' "{X}" > chart/values.yaml; helm upgrade a ./chart"#,
    r#"echo "{X}" > VERSION; foreman start; bazel build //..."#,
    r#"echo "{X}" > q.sql; git add q.sql; helm lint ./chart"#,
    r#"echo "{X}" > README.md; npm publish; npx eslint .; jest"#,
    r#"echo "{X}" > h.py; cat h.py; gzip h.py; git add h.py.gz"#,
];

#[test]
fn a_file_that_no_program_looks_for_is_data() {
    all_are_placeable(OVERLOOKED);
}

#[test]
fn a_file_is_written_by_whatever_gets_the_value() {
    all_act_and_are_refused(&of_bash(WRITERS));
}

#[test]
fn a_file_is_the_same_by_every_name() {
    all_act_and_are_refused(&of_bash(NAMES));
}

#[test]
fn a_file_is_run_by_whatever_may_take_it() {
    all_act_and_are_refused(&of_bash(RUNNERS));
}

#[test]
fn a_file_is_loaded_by_the_variable_that_names_it() {
    all_act_and_are_refused(&of_bash(VARIABLES));
}

/// What people write: files of data, and scripts of the project.
const EVERYDAY: &[&str] = &[
    r#"echo "{X}" > out.txt; cat out.txt; wc out.txt; ./build.sh"#,
    r#"echo "{X}" > out.txt; bash scripts/build.sh out.txt; python3 scripts/report.py"#,
    r#"jq --arg v "{X}" '.version = $v' file.json > tmp && mv tmp file.json && ./build.sh"#,
    r#"echo "VERSION={X}" >> .env; make build; docker compose up -d"#,
    r#"echo "{X}" >> "$GITHUB_OUTPUT"; bash ./build.sh"#,
    r#"T=$(mktemp); echo "{X}" > "$T"; jq . "$T"; ./build.sh; bash scripts/a.sh "$T"; rm "$T""#,
    r#"T=$(mktemp -d); trap 'rm -rf "$T"' EXIT; echo "{X}" > "$T/in"; python3 scripts/a.py "$T/in"; "$BIN" run"#,
    r#"echo "{X}" | tee log.txt; ./build.sh"#,
    r#"echo "{X}" | sort -o names.txt; find . -name '*.txt' -exec cat {} +; npm run build"#,
    r#"find . -name '*.md' -exec sh -c 'echo "$1" >> notes.txt' _ "{X}" \; -exec sh scripts/note.sh {} \;"#,
    r#"curl -sSfLo out.json -- "{X}"; jq . out.json; ./report.sh"#,
    r#"echo "{X}" > a.txt; for f in *.md; do cat "$f"; done; cargo build; go test ./..."#,
    r#"echo "{X}" > notes.md; gh release create v1 -F notes.md; git commit -am a; git push"#,
    r#"docker build -t "{X}" . && docker push "{X}"; ./deploy.sh"#,
    r#"export NAME="{X}"; ./run.sh > log; cat log; ./check.sh"#,
    r#"grep -r "{X}" . > hits; while read -r l; do echo "$l"; done < hits; ./build.sh"#,
    r#"HERE=$(cd "$(dirname "$0")" && pwd); echo "{X}" > "$HERE/out.txt"; bash "$HERE/lib.sh"; . "$HERE/env.sh""#,
    r#"echo "{X}" > out.txt; PATH="$HOME/bin:$PATH" tool=1 ls; export EDITOR=vim; PYTHONPATH=src python3 a.py"#,
    r#"echo "{X}" > out.json; python3 -c 'import json; print(json.load(open("out.json"))["a"])'; node -p 'require("./out.json").a'"#,
    r#"echo "{X}" > VERSION; awk '/VERSION/ {print $2}' VERSION; sed 's/VERSION/b/' VERSION; make build"#,
    r#"ROOT=$(git rev-parse --show-toplevel); echo "{X}" > out.txt; bash "$ROOT/build.sh"; "$ROOT/bin/tool""#,
    r#"$SUDO ./run.sh "{X}""#,
    r#"$RUN uvicorn --host "{X}" app.main:app"#,
    r#"$SUDO ./run.sh "{X}"; ./build.sh; $SUDO systemctl restart "{X}""#,
];

#[test]
fn a_file_of_data_is_no_program() {
    all_are_placeable(EVERYDAY);
}

/// Files that something runs without being told to, and what is fetched to where programs are looked for.
#[test]
fn what_runs_unasked_takes_no_value() {
    let mut open = String::new();
    for script in [
        r#"echo "{X}" > l; cp l ~/.bashrc"#,
        r#"echo "{X}" > l; mv l ~/.profile"#,
        r#"echo "{X}" > pre-commit; install -m 755 pre-commit .git/hooks/"#,
        r#"echo "{X}" > l; rsync l ~/.bashrc"#,
        r#"echo "{X}" > l; cp l /etc/profile.d/a.sh"#,
        r#"echo "{X}" > l; cp l .envrc"#,
        r#"echo "{X}" > l; cp l /etc/sudoers.d/a"#,
        r#"echo "{X}" > l; dd if=l of=/etc/rc.local"#,
        r#"echo "{X}" > ~/.gitconfig"#,
        r#"echo "{X}" >> .git/config"#,
        r#"echo "{X}" > ~/.vimrc"#,
        r#"echo "{X}" > .Rprofile"#,
        r#"echo "{X}" >> "$HOME/.tmux.conf""#,
        r#"echo "{X}" > ~/.ssh/rc"#,
        r#"mkdir -p bin; curl -fsSL "{X}" -o bin/zzz; chmod +x bin/zzz; PATH=$PWD/bin:$PATH; zzz --version"#,
        r#"curl -L "{X}" -o /usr/local/bin/zzz; zzz"#,
        r#"curl -L "{X}" > ~/.local/bin/zzz; chmod +x ~/.local/bin/zzz; zzz"#,
        r#"echo "{X}" > a.txt; git add a.txt; git commit -m a; git stash; git stash show -p | sh"#,
    ] {
        if judged(Shell::Bash, script).command.iter().all(cycod_shell::Verdict::is_placeable) {
            open.push_str(&format!("{script}\n"));
        }
    }
    assert!(open.is_empty(), "these are let through:\n{open}");
    all_are_placeable(&[
        r#"echo "//registry.npmjs.org/:_authToken={X}" > ~/.npmrc"#,
        r#"echo "{X}" > notes.txt; cp notes.txt ~/notes.txt"#,
        r#"echo "{X}" >> ~/.ssh/authorized_keys"#,
        r#"echo "{X}" > l; cp ~/.bashrc.new ~/.bashrc"#,
    ]);
}

/// What a program prints is no value, in a pipe and in a file.
#[test]
fn what_is_printed_to_a_file_is_no_value() {
    all_are_placeable(&[
        r#"git log --author="{X}" --format=%H > c.txt; while read -r c; do git show "$c"; done < c.txt"#,
        r#"docker ps -q --filter "name={X}" > ids.txt; xargs docker stop < ids.txt"#,
        r#"kubectl get pods -l "app={X}" -o name > p.txt; while read -r p; do kubectl logs "$p"; done < p.txt"#,
        r#"p=$(go list ./... | grep -- "{X}"); go vet $p; go test $p"#,
        r#"psql app -c "\copy (SELECT * FROM t LIMIT {N:number}) TO STDOUT CSV" > "out/{F}""#,
    ]);
}

/// Ways to write the file that is put for `FILE`.
const WRITES: &[&str] = &[
    r#"echo "{X}" > FILE"#,
    r#"printf '%s\n' "{X}" >> FILE"#,
    r#"cat > FILE <<< "{X}""#,
    "cat > FILE << E\n{X}\nE\n",
    r#"echo "{X}" | tee FILE"#,
    r#"echo "{X}" | sudo tee -a FILE"#,
    r#"echo "{X}" | timeout 5 nice -n 5 tee FILE"#,
    r#"cp /dev/stdin FILE <<< "{X}""#,
    r#"echo "{X}" | install -m 755 /dev/stdin FILE"#,
    r#"echo "{X}" | dd status=none of=FILE"#,
    r#"echo "{X}" | sort -o FILE"#,
    r#"echo "{X}" | sed -n 'w FILE'"#,
    r#"v="{X}"; echo "$v" > h; mv h FILE"#,
    r#"echo "{X}" > h; ln h FILE"#,
    r#"f() { echo "$1" > FILE; }; f "{X}""#,
    r#"{ echo '# a'; echo "{X}"; } > FILE"#,
    r#"X="{X}" envsubst <<< '$X' > FILE"#,
];

/// Names of one file: the one that it is written by, and the one that it is run by.
const SAME: &[&str] =
    &["g.sh", "./g.sh", "\"$PWD/g.sh\"", "\"$(pwd)/g.sh\"", "~/g.sh", "\"$HOME/g.sh\"", "$n.sh", "./?.sh"];

/// Ways to run the file that is put for `FILE`.
const RUNS: &[&str] = &[
    "bash FILE",
    "sh < FILE",
    ". FILE",
    "cat FILE | bash",
    r#"eval "$(cat FILE)""#,
    "nice bash FILE",
    "BASH_ENV=FILE bash -c true",
    "env BASH_ENV=FILE bash -c true",
    r"find FILE -exec bash {} \;",
    "ls FILE | while read -r f; do bash \"$f\"; done",
    "for f in $(echo FILE); do bash \"$f\"; done",
    "ls FILE | xargs -n1 bash",
    "xargs -a FILE env",
    "chmod +x FILE; FILE",
];

/// Every way to write a file, by every name, with every way to run it by every other.
#[test]
fn no_way_to_write_a_file_and_to_run_it_is_left() {
    let (mut idle, mut open, mut ran) = (String::new(), String::new(), 0);
    let mut number = 0;
    for write in WRITES {
        for written in SAME {
            for run in RUNS {
                // A name of the file with what stands for any directory is not written to, nor looked for where programs are.
                let other = SAME[number % SAME.len()];
                number += 1;
                let is_quoted = write.contains("'w FILE'") && *written != "g.sh" && *written != "./g.sh";
                if is_quoted || written.contains('?') || run.ends_with("; FILE") && !other.contains('/') {
                    continue;
                }
                let of_dd = write.contains("of=FILE") && written.starts_with('~');
                let script = format!("n=g; {}\n{}", write.replace("FILE", written), run.replace("FILE", other));
                let is_assigned = run.contains("=FILE") && other.contains('?');
                if of_dd || is_assigned {
                    continue;
                }
                if !is_refused(Shell::Bash, &script, SHELL) {
                    open.push_str(&format!("{script}\n---\n"));
                }
                // Each way, and each pair of names, has its turn; all of them at each run would take minutes.
                if number % 7 == 0 {
                    ran += 1;
                    if !acts(Shell::Bash, &script, SHELL) {
                        idle.push_str(&format!("{script}\n---\n"));
                    }
                }
            }
        }
    }
    assert!(open.is_empty(), "these are let through:\n{open}");
    assert!(idle.is_empty(), "these do nothing when a value is quoted:\n{idle}");
    assert!(ran > 100, "too little was tried: {ran}");
}

/// Where a program puts a value into a text that only it knows, the value is a plain word.
#[test]
fn what_is_put_into_a_text_with_structure_is_a_plain_word() {
    const INTO: [(Shell, &str); 6] = [
        (Shell::Bash, r#"V="{X}" envsubst < d.yaml | kubectl apply -f -"#),
        (Shell::Bash, r#"export V="{X}"; envsubst < d.tmpl > out.yaml"#),
        (Shell::Bash, r#"t=$(cat d.tmpl); v="{X}"; echo "${t//V/$v}" > out.yaml"#),
        (Shell::Bash, r#"echo -e "A={X}" > .env"#),
        (Shell::Sh, r#"echo "A={X}" > .env"#),
        (Shell::Zsh, r#"echo "A={X}" > .env"#),
    ];
    for (shell, script) in INTO {
        assert!(is_refused(shell, script, "x\\nLD_PRELOAD=/tmp/e.so"), "{script}");
        assert!(is_refused(shell, script, "x\n  command: [sh, -c, id]"), "{script}");
        assert!(!is_refused(shell, script, "1.2.3"), "{script}");
    }
    // A text that is only a text takes any.
    for script in [r#"V="{X}" envsubst < d.txt > out.txt"#, r#"echo -e "A={X}" > notes.txt"#] {
        assert!(!is_refused(Shell::Bash, script, "x\n  command: [sh, -c, id]"), "{script}");
    }
}
