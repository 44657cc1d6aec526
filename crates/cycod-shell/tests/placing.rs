//! What is written for a value, by place, mode and shell.

use cycod_shell::{Kind, Mode, Piece, Shell, Value, Words, inspect, place, place_argv, place_inline};
use expect_test::{Expect, expect};

/// Splits `{NAME}` into values; the mode follows the name as in `{V:word}`.
fn pieces<'a>(template: &'a str, values: &[(&'a str, &'a str)]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((start, end)) = rest.match_indices('{').find_map(|(start, _)| {
        let end = rest[start..].find('}')? + start;
        rest[start + 1..end].starts_with(|c: char| c.is_ascii_uppercase()).then_some((start, end))
    }) {
        let (name, mode) = rest[start + 1..end].split_once(':').unwrap_or((&rest[start + 1..end], ""));
        let text = values.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
        pieces.push(Piece::Text(&rest[..start]));
        pieces.push(Piece::Value(Value {
            name,
            words: if mode == "list" {
                Words::List {
                    items: text.split('|').filter(|item| !item.is_empty()).map(str::to_owned).collect(),
                    delimiter: ",",
                }
            } else {
                Words::One(text.into())
            },
            mode: match mode {
                "word" => Mode::Word,
                "output" => Mode::Output,
                "shellescaped" => Mode::Fragment,
                "raw" => Mode::Raw,
                _ => Mode::Arguments,
            },
            kind: match mode {
                "number" => Kind::Number,
                "boolean" => Kind::Boolean,
                "enum" => Kind::Enum,
                _ => Kind::Text,
            },
            sensitive: false,
        }));
        rest = &rest[end + 1..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn placed(shell: Shell, template: &str, values: &[(&str, &str)]) -> String {
    match place(shell, &pieces(template, values)) {
        Ok(placed) => placed.text,
        Err(refusal) => format!("error[{}]: {}\n  try: {}", refusal.code, refusal.message, refusal.try_),
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(shell: Shell, lines: &[(&str, &str)], expect: Expect) {
    let text: String = lines
        .iter()
        .map(|(template, value)| placed(shell, template, &[("V", value), ("W", value), ("N", value)]) + "\n")
        .collect();
    expect.assert_eq(&text);
}

#[test]
fn harmless_values_stay_readable() {
    check(
        Shell::Bash,
        &[
            ("curl 'wttr.in/{V}'", "São Paulo"),
            ("git log {V}", "origin/main"),
            ("git log --author={V} -n 1", "Ann"),
            ("echo \"{V}\"", "a b"),
            ("{V} x", "if"),
            ("echo $HOME{V} \"$HOME{V}\"", "x"),
            ("echo 2{V}>f {V}>f", "2"),
            ("echo ~{V} x~{V}", "root"),
            ("echo a{V}(", "@"),
            ("echo {1..{N:number}}", "5"),
            ("case {V} in {V}) ;; esac; [[ a =~ {V} ]]", "a.c"),
            ("cat <<EOF\nE{V}\nE{V}\nEOF", "OF"),
        ],
        expect![[r#"
            curl 'wttr.in/São Paulo'
            git log origin/main
            git log --author=Ann -n 1
            echo "a b"
            'if' x
            cycod_V='x'; echo $HOME'x' "$HOME${cycod_V}"
            echo 2'2'>f '2'>f
            echo ~'root' x~'root'
            echo a'@'(
            echo {1..5}
            case 'a.c' in 'a.c') ;; esac; [[ a =~ 'a.c' ]]
            cycod_V='OF'; cat <<EOF
            E${cycod_V}
            E${cycod_V}
            EOF
        "#]],
    );
}

#[test]
fn every_context_has_its_own_writing() {
    check(
        Shell::Bash,
        &[
            ("echo {V:word} \"{V}\" '{V}' $'{V}' # {V}", "$x"),
            ("x={V} y=a{V}; echo > {V} <<< {V}", "$x y"),
            ("echo \"$(echo {V:word})\" `echo \"{V}\"`", "$x"),
            ("echo ${u:-{V}} \"${u:-{V}}\" ${u#{V}} \"${u#{V}}\"", "$x"),
            ("cat <<EOF\n{V}\nEOF", "$x"),
            ("cat <<'E O' <<-X\n$a`b\\{V}\nE O\n\t{V}\n\tX", "$x"),
            ("a=({V} b) m[1]={V}; [[ {V} == {V} ]]", "$x"),
            ("echo $((1-{N:number})) ${x:{N:number}:1} ${a[{N:number}]}; ((i+={N:number}))", "-3"),
            ("echo $((1+{N:number}))", "007"),
            ("for i in {V}; do f() { echo \"{V}\"; }; done", "$x"),
            ("echo \"\\\\{V}\" \"cost $\"{V:word}", "$x"),
        ],
        expect![[r#"
            cycod_V='$x'; echo "${cycod_V}" "${cycod_V}" ''"${cycod_V}"'' $''"${cycod_V}"$'' # ${cycod_V}
            cycod_V='$x y'; x="${cycod_V}" y=a"${cycod_V}"; echo > "${cycod_V}" <<< "${cycod_V}"
            cycod_V='$x'; echo "$(echo "${cycod_V}")" `echo "${cycod_V}"`
            cycod_V='$x'; echo ${u:-"${cycod_V}"} "${u:-${cycod_V}}" ${u#"${cycod_V}"} "${u#"${cycod_V}"}"
            cycod_V='$x'; cat <<EOF
            ${cycod_V}
            EOF
            cycod_V='$x'; cat <<cycod_END <<-X
            \$a\`b\\${cycod_V}
            cycod_END
            	${cycod_V}
            	X
            cycod_V='$x'; a=("${cycod_V}" b) m[1]="${cycod_V}"; [[ "${cycod_V}" == "${cycod_V}" ]]
            echo $((1-(-3))) ${x:(-3):1} ${a[ -3]}; ((i+=(-3)))
            echo $((1+7))
            cycod_V='$x'; for i in "${cycod_V}"; do f() { echo "${cycod_V}"; }; done
            cycod_V='$x'; echo "\\${cycod_V}" "cost $""${cycod_V}"
        "#]],
    );
}

#[test]
fn arguments_are_words_and_nothing_else() {
    check(
        Shell::Bash,
        &[
            ("curl {V} url", "-H 'Content-Type: application/json' -X POST"),
            ("curl {V} url", "-d '{\"a\": 1}' --x=\"it's\""),
            ("ls {V}", "*.rs ~/src [a-z]?.txt"),
            ("ls {V}", "~root {a,b} $HOME `id` a;b >f !x"),
            ("echo {V}", "it's"),
            ("echo {V}", "a\\"),
            ("echo a {V} b", ""),
            ("echo a{V}b", ""),
            ("echo a{V}b", " x "),
            ("echo {V}#c", "a "),
            ("if{V}; x", ""),
            ("echo --x={V}", "a b"),
            ("echo {V}{W}", "a 'b c'"),
            ("echo {V}", "a;rm\nb"),
            ("echo {V:list} \"{V:list}\" x{V:list}y", "a b|it's|c"),
            ("echo {V:output} \"{V:output}\"", "a  *\n$b"),
            ("echo {V:shellescaped} \"{V:shellescaped}\"", "'it'\\''s'"),
            ("echo {V:word}", ""),
            ("cd {V} && x=~{V}", "~"),
            ("a=({V})", "[x]=1 [a-z]"),
        ],
        expect![[r#"
            curl -H 'Content-Type: application/json' -X POST url
            cycod_V='{"a": 1}'; cycod_V_2='--x=it'\''s'; curl -d "${cycod_V}" "${cycod_V_2}" url
            ls *.rs ~/src [a-z]?.txt
            cycod_V='~root'; cycod_V_2='{a,b}'; cycod_V_3='$HOME'; cycod_V_4='`id`'; cycod_V_5='a;b'; cycod_V_6='>f'; cycod_V_7='!x'; ls "${cycod_V}" "${cycod_V_2}" "${cycod_V_3}" "${cycod_V_4}" "${cycod_V_5}" "${cycod_V_6}" "${cycod_V_7}"
            cycod_V='it'\''s'; echo "${cycod_V}"
            cycod_V='a\'; echo "${cycod_V}"
            echo a  b
            echo a''b
            echo a'' x ''b
            echo 'a' ''#c
            if''; x
            echo --x=a b
            echo 'a' 'b c''a' 'b c'
            cycod_V='a;rm'; echo "${cycod_V}" b
            cycod_V='it'\''s'; cycod_V_2='a b,it'\''s,c'; echo 'a b' "${cycod_V}" c "${cycod_V_2}" x'a b' "${cycod_V}" cy
            cycod_V='*'; cycod_V_2='$b'; cycod_V_3='a  *
            $b'; echo a "${cycod_V}" "${cycod_V_2}" "${cycod_V_3}"
            cycod_V='it'\''s'; cycod_V_2=''\''it'\''\'\'''\''s'\'''; echo "${cycod_V}" "${cycod_V_2}"
            echo ''
            cycod_V='~'; cd ~ && x=~"${cycod_V}"
            cycod_V='[x]=1'; cycod_V_2='[a-z]'; a=("${cycod_V}" "${cycod_V_2}")
        "#]],
    );
}

#[test]
fn uncertain_places_are_refused() {
    check(
        Shell::Bash,
        &[
            ("echo $(({V}))", "1"),
            ("echo $(({N:number}))", "1.5"),
            ("echo ${x//{V}/y}", "1"),
            ("cat <<{V}\nx", "1"),
            ("for {V} in x; do :; done", "1"),
            ("a[{V}]=1", "1"),
            ("echo x\\\n) {V}", "1"),
            ("echo {V}", "a\0b"),
        ],
        expect![[r#"
            error[value-in-arithmetic]: `V` stands in arithmetic, where text would be run as an expression
              try: declare `V` with `type: integer`
            error[value-in-arithmetic]: `N` is 1.5, and the arithmetic of this shell knows whole numbers only
              try: declare `N` with `type: integer`, or calculate with `awk`
            error[unsupported-place]: `V` stands where no value can be placed: this form of `${…}` cannot take a value
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` stands where no value can be placed: the delimiter of a here-document cannot hold a value
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` stands where no value can be placed: the name of a loop variable cannot be a value
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[value-in-arithmetic]: `V` stands in arithmetic, where text would be run as an expression
              try: declare `V` with `type: integer`
            error[unsupported-place]: `V` stands where no value can be placed: a `)` before it closes nothing
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unplaceable-value]: the value of `V` holds a NUL byte, which no program can be given
              try: pass the data in a file, and its path as the value
        "#]],
    );
    check(
        Shell::Sh,
        &[
            ("echo $'{V}'", "1"),
            ("[[ {V} ]]", "1"),
            ("(({N:number}))", "1"),
            ("echo $'a\\'b' {V}", "1"),
            ("a=(x) {V}", "1"),
        ],
        expect![[r#"
            error[unsupported-place]: `V` stands where no value can be placed: `$'…'` means different things in different POSIX shells
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` stands where no value can be placed: `[[` is not part of a POSIX shell
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `N` stands where no value can be placed: `((` before it means different things in different POSIX shells
              try: assign it to a variable first, `value={N}`, and use `"$value"` there
            error[unsupported-place]: `V` stands where no value can be placed: a `$'` before it means different things in different POSIX shells
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` stands where no value can be placed: array literals are not part of a POSIX shell
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
        "#]],
    );
    check(
        Shell::Zsh,
        &[
            ("[[ x =~ {V} ]]", "1"),
            ("echo ${(f)x} {V}", "1"),
            ("echo ${(f){V}}", "1"),
            ("ls *({V})", "1"),
            ("echo ={V} $x[{V}]", "1"),
        ],
        expect![[r#"
        error[unsupported-place]: `V` stands where no value can be placed: zsh reads the right side of `=~` as a regular expression even when it is quoted
          try: assign it to a variable first, `value={V}`, and use `"$value"` there
        echo ${(f)x} 1
        error[unsupported-place]: `V` stands where no value can be placed: this form of `${…}` cannot take a value
          try: assign it to a variable first, `value={V}`, and use `"$value"` there
        error[unsupported-place]: `V` stands where no value can be placed: a parenthesised pattern cannot take a value in this shell
          try: assign it to a variable first, `value={V}`, and use `"$value"` there
        error[value-in-arithmetic]: `V` stands in arithmetic, where text would be run as an expression
          try: declare `V` with `type: integer`
    "#]],
    );
}

#[test]
fn code_that_another_program_parses_is_refused_with_a_rewrite() {
    let mut out = String::new();
    for template in [
        "bash -c \"echo {V} '{V}' \\\"{W}\\\"\"",
        "sudo -u x env A=1 timeout 5 sh -ec 'ls {V}' name",
        "eval \"x={V}\"",
        "trap 'rm {V}' EXIT",
        "ssh -p 22 host \"ls '{V}'\"",
        "ssh host ls {V}",
        "su bob -c \"id {V}\"",
        "python3 -c \"print('{V}' + 'a {V} b', {W})\"",
        "python -c \"import os, glob; print('\\\\n'.join(glob.glob('{V}')))\"",
        "node -e \"console.log('{V}', \\`a {V}\\`)\"",
        "perl -ne 'print if /{V}/' file",
        "perl -e 'print \"hi {V}\"'",
        "ruby -e 'puts \"{V}\"'",
        "php -r 'echo \"{V}\";'",
        "awk '/x/ { print \"{V}\" }' file",
        "sed -i 's/{V}/{W}/g' file",
        "sed -n '/{V}/p'",
        "curl x | jq '.a[] | select(.n == \"{V}\") | \"x {V}\"'",
        "yq '.a = \"{V}\"' f",
        "psql -c \"select '{V}'\" db",
        "sqlite3 db \"select '{V}'\"",
        "find . -exec sh -c 'echo {V}' \\;",
        "xargs -I@ bash -c 'x @ {V}'",
        "pwsh -Command \"Get-Item '{V}'\"",
        "bash <<EOF\necho \"{V}\"\nEOF",
        "python3 <<'EOF'\nprint('{V}')\nEOF",
        "cat <<EOF | ssh host\n{V}\nEOF",
        "echo \"{V}\" | bash",
        "bash <<< \"{V}\"",
        "bash <(echo {V})",
        "bash -c \"$(echo {V})\"",
        "docker exec -it c bash -c 'x {V}'",
        "let \"x = {V}\"",
        "declare -i x={V}",
        "export {V}=1",
        "read {V}",
        "printf -v {V} x",
        "[[ {V} -eq 1 ]]",
        "[[ -v {V} ]]",
        "n={V}; if (( n > 3 )); then :; fi",
        "declare -i n; n={V}",
        "n={V}; [[ $n -lt 3 ]] && echo ${x:$n}",
        "find . -exec sh -c 'echo {V} $1' _ x \\;",
        "osascript -e 'display \"{V}\"'",
    ] {
        out += &placed(Shell::Bash, template, &[("V", "x"), ("W", "y")]);
        out.push('\n');
    }
    expect![[r#"
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: pass the value beside the code: bash -c 'echo "$1" "$1" "$2"' _ {V} {W}
        error[value-in-code]: `V` stands in code that `sh` parses, where no quoting keeps it data
          try: pass the value beside the code: sudo -u x env A=1 timeout 5 sh -ec 'ls "$1"' name {V}
        error[value-in-code]: `V` stands in code that `eval` parses, where no quoting keeps it data
          try: pass the value beside the code: set -- {V}; eval 'x="$1"'
        error[value-in-code]: `V` stands in code that `trap` parses, where no quoting keeps it data
          try: pass the value beside the code: set -- {V}; trap 'rm "$1"' EXIT
        error[value-in-code]: `V` stands in code that `ssh` parses, where no quoting keeps it data
          try: pass the value beside the code: ssh -p 22 host "ls {V:shellescaped}"
        error[value-in-code]: `V` stands in code that `ssh` parses, where no quoting keeps it data
          try: pass the value beside the code: ssh host ls "{V:shellescaped}"
        error[value-in-code]: `V` stands in code that `su -c` parses, where no quoting keeps it data
          try: pass the value beside the code: su bob -c "id {V:shellescaped}"
        error[value-in-code]: `V` stands in code that `python3` parses, where no quoting keeps it data
          try: pass the value beside the code: python3 -c 'import sys; print(sys.argv[1] + '\''a '\'' + sys.argv[1] + '\'' b'\'', sys.argv[2])' {V} {W}
        error[value-in-code]: `V` stands in code that `python` parses, where no quoting keeps it data
          try: pass the value beside the code: python -c 'import sys; import os, glob; print('\''\n'\''.join(glob.glob(sys.argv[1])))' {V}
        error[value-in-code]: `V` stands in code that `node` parses, where no quoting keeps it data
          try: pass the value beside the code: node -e 'console.log(process.argv[1], `a ${process.argv[1]}`)' {V}
        error[value-in-code]: `V` stands in code that `perl` parses, where no quoting keeps it data
          try: pass the value beside the code: V={V} perl -ne 'print if /$ENV{"V"}/' file
        error[value-in-code]: `V` stands in code that `perl` parses, where no quoting keeps it data
          try: pass the value beside the code: perl -e 'print "hi " . $ARGV[0]' {V}
        error[value-in-code]: `V` stands in code that `ruby` parses, where no quoting keeps it data
          try: pass the value beside the code: ruby -e 'puts ARGV[0]' {V}
        error[value-in-code]: `V` stands in code that `php` parses, where no quoting keeps it data
          try: pass the value beside the code: php -r 'echo $argv[1];' -- {V}
        error[value-in-code]: `V` stands in code that `awk` parses, where no quoting keeps it data
          try: pass the value beside the code: V={V} awk '/x/ { print ENVIRON["V"] }' file
        error[value-in-code]: `V` stands in code that `sed` parses, where no quoting keeps it data
          try: pass the value beside the code: V={V} W={W} perl -i -pe 's/\Q$ENV{"V"}\E/$ENV{"W"}/g' file
        error[value-in-code]: `V` stands in code that `sed` parses, where no quoting keeps it data
          try: use `awk` with `ENVIRON`, or `perl` with `$ENV{"V"}`: `sed` cannot be given data
        error[value-in-code]: `V` stands in code that `jq` parses, where no quoting keeps it data
          try: pass the value beside the code: jq --arg v {V} '.a[] | select(.n == $v) | "x \($v)"'
        error[value-in-code]: `V` stands in code that `yq` parses, where no quoting keeps it data
          try: pass the value beside the code: V={V} yq '.a = strenv(V)' f
        error[value-in-code]: `V` stands in code that `psql` parses, where no quoting keeps it data
          try: pass the value beside the code: psql -v v={V} db <<'SQL'
        select :'v'
        SQL
        error[value-in-code]: `V` stands in code that `sqlite3` parses, where no quoting keeps it data
          try: use the client's bound parameters, or list the allowed values in `validation: {enum: […]}`
        error[value-in-code]: `V` stands in code that `sh` parses, where no quoting keeps it data
          try: pass the value beside the code: find . -exec sh -c 'echo "$1"' _ {V} \;
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: pass the value beside the code: xargs -I@ bash -c 'x @ "$1"' _ {V}
        error[value-in-code]: `V` stands in code that `pwsh` parses, where no quoting keeps it data
          try: pass the value beside the code: V={V} pwsh -Command 'Get-Item $env:V'
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: pass the value beside the code: bash -s -- {V} <<'EOF'
        echo "$1"
        EOF
        error[value-in-code]: `V` stands in code that `python3` parses, where no quoting keeps it data
          try: pass the value beside the code: python3 - {V} <<'EOF'
        import sys
        print(sys.argv[1])
        EOF
        error[value-in-code]: `V` stands in code that `ssh` parses, where no quoting keeps it data
          try: write the code without the value and pass the value as an argument (`"$1"`), or use `{V:shellescaped}` outside of quotes
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: write the code without the value and pass the value as an argument (`"$1"`), or use `{V:shellescaped}` outside of quotes
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: write the code without the value and pass the value as an argument (`"$1"`), or use `{V:shellescaped}` outside of quotes
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: write the code without the value and pass the value as an argument (`"$1"`), or use `{V:shellescaped}` outside of quotes
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: write the code without the value and pass the value as an argument (`"$1"`), or use `{V:shellescaped}` outside of quotes
        error[value-in-code]: `V` stands in code that `bash` parses, where no quoting keeps it data
          try: pass the value beside the code: docker exec -it c bash -c 'x "$1"' _ {V}
        error[value-in-arithmetic]: `V` is evaluated as arithmetic by `let`, which runs commands hidden in it
          try: declare `V` with `type: integer`, or compare text with `==`
        error[value-in-arithmetic]: `V` is evaluated as arithmetic by `$((x))`, which runs commands hidden in it
          try: declare `V` with `type: integer`, or compare text with `==`
        error[value-in-code]: `V` is taken for a variable's name by `export`, which runs commands hidden in a subscript
          try: write the variable's name yourself, or list the allowed names in `validation: {enum: […]}` of `V`
        error[value-in-code]: `V` is taken for a variable's name by `read`, which runs commands hidden in a subscript
          try: write the variable's name yourself, or list the allowed names in `validation: {enum: […]}` of `V`
        error[value-in-code]: `V` is taken for a variable's name by `printf`, which runs commands hidden in a subscript
          try: write the variable's name yourself, or list the allowed names in `validation: {enum: […]}` of `V`
        error[value-in-arithmetic]: `V` is evaluated as arithmetic by `-eq`, which runs commands hidden in it
          try: declare `V` with `type: integer`, or compare text with `==`
        error[value-in-code]: `V` is taken for a variable's name by `[[ -v`, which runs commands hidden in a subscript
          try: write the variable's name yourself, or list the allowed names in `validation: {enum: […]}` of `V`
        error[value-in-arithmetic]: `V` is evaluated as arithmetic by `$((n))`, which runs commands hidden in it
          try: declare `V` with `type: integer`, or compare text with `==`
        error[value-in-arithmetic]: `V` is evaluated as arithmetic by `$((n))`, which runs commands hidden in it
          try: declare `V` with `type: integer`, or compare text with `==`
        error[value-in-arithmetic]: `V` is evaluated as arithmetic by `$((n))`, which runs commands hidden in it
          try: declare `V` with `type: integer`, or compare text with `==`
        error[value-in-code]: `V` stands in code that `sh` parses, where no quoting keeps it data
          try: pass the value beside the code: find . -exec sh -c 'echo "$2" $1' _ x {V} \;
        error[value-in-code]: `V` stands in code that `osascript` parses, where no quoting keeps it data
          try: write the code without the value and read it from the environment, `V={V}` before the command
    "#]].assert_eq(&out);
}

#[test]
fn values_of_known_shape_may_stand_in_code() {
    check(
        Shell::Bash,
        &[
            ("python3 -c 'print({N:number})'", "-1.5e3"),
            ("python3 -c 'print({N:number})'", "exit()"),
            ("python3 -c 'print({V:enum})'", "x"),
            ("bash -c 'echo {V:raw}'", "$HOME"),
            ("ssh host ls {V:shellescaped}", "'a b'"),
            ("ssh host \"ls {V:shellescaped}\"", "'it'\\''s'"),
            ("ssh host \"ls '{V:shellescaped}'\"", "'a b'"),
            ("bash -c 'echo \"$1\"' _ {V}", "$x"),
            ("bash script {V} < {V}", "$x"),
            ("curl {V} | bash", "x"),
            ("python3 script.py {V}", "$x"),
            ("awk -v x={V:word} '{print x}' {V}", "$x"),
            ("jq --arg x {V:word} '.a == $x' {V}", "$x"),
            ("grep -e {V:word}; sed -f {V:word}; read -p {V:word} answer; export X={V}", "$x"),
            ("X={V} awk 'BEGIN { print ENVIRON[\"X\"] }'", "$x"),
            ("bash -c 'echo hi' # {V}", "$x"),
            ("n={N:number}; echo $((n + 1)) m={V}", "7"),
            ("declare -A m; k={V}; echo \"${m[$k]}\" $((kk + 1))", "$x"),
        ],
        expect![[r#"
            python3 -c 'print(-1.5e3)'
            error[value-in-code]: `N` stands in code that `python3` parses, where no quoting keeps it data
              try: pass the value beside the code: python3 -c 'import sys; print(sys.argv[1])' {N}
            python3 -c 'print(x)'
            bash -c 'echo $HOME'
            cycod_V=''\''a b'\'''; ssh host ls "${cycod_V}"
            cycod_V=''\''it'\''\'\'''\''s'\'''; ssh host "ls ${cycod_V}"
            error[value-in-code]: `V` stands in code that `ssh` parses, where no quoting keeps it data
              try: pass the value beside the code: ssh host "ls {V:shellescaped}"
            cycod_V='$x'; bash -c 'echo "$1"' _ "${cycod_V}"
            cycod_V='$x'; bash script "${cycod_V}" < "${cycod_V}"
            curl x | bash
            cycod_V='$x'; python3 script.py "${cycod_V}"
            cycod_V='$x'; awk -v x="${cycod_V}" '{print x}' "${cycod_V}"
            cycod_V='$x'; jq --arg x "${cycod_V}" '.a == $x' "${cycod_V}"
            cycod_V='$x'; grep -e "${cycod_V}"; sed -f "${cycod_V}"; read -p "${cycod_V}" answer; export X="${cycod_V}"
            cycod_V='$x'; X="${cycod_V}" awk 'BEGIN { print ENVIRON["X"] }'
            cycod_V='$x'; bash -c 'echo hi' # ${cycod_V}
            n=7; echo $((n + 1)) m=7
            cycod_V='$x'; declare -A m; k="${cycod_V}"; echo "${m[$k]}" $((kk + 1))
        "#]],
    );
}

#[test]
fn names_of_variables_avoid_the_authors() {
    expect![[
        r#"cycod_V_2='$a'; cycod_FILE_NAME='$b'; cycod_V=1; echo "${cycod_V_2}" "${cycod_V_2}" "${cycod_FILE_NAME}""#
    ]]
    .assert_eq(&placed(
        Shell::Bash,
        "cycod_V=1; echo {V:word} {V:word} {FILE-NAME:word}",
        &[("V", "$a"), ("FILE-NAME", "$b")],
    ));
}

#[test]
fn powershell_takes_single_quoted_literals() {
    check(
        Shell::PowerShell,
        &[
            ("Get-Item {V} -Path:{V} '{V}' \"a {V}\" # {V}", "it's $(x) ‘y’ \"z\""),
            ("$x = {N:number} + 1; @\"\n{V}\n\"@", "5"),
            ("@'\n{V}\n'@", "$x"),
            ("@'\n{V}\n'@", "\n'@; x"),
            ("git add {V:list}; f {V:list}", "a b|c"),
            ("git add {V} x", ""),
            ("echo {V}.txt", "a"),
            ("echo @{V}", "a"),
            ("iex \"echo {V}\"", "a"),
            ("powershell -Command \"x {V}\"", "a"),
            ("\"$({V})\"; cmd /c dir {V}", "a"),
        ],
        expect![[r#"
            Get-Item 'it''s $(x) ‘‘y’’ "z"' -Path:'it''s $(x) ‘‘y’’ "z"' 'it''s $(x) ‘‘y’’ "z"' "a $('it''s $(x) ‘‘y’’ "z"')" # 
            $x = 5 + 1; @"
            $('5')
            "@
            @'
            $x
            '@
            error[unplaceable-value]: the value of `V` could end this here-string
              try: use a here-string with double quotes, `@"…"@`
            git add 'a b','c'; f 'a b','c'
            git add  x
            error[unsupported-place]: `V` stands where no value can be placed: PowerShell ends an argument where a quote closes; put `"…"` around the whole argument
              try: assign it first, `$value = {V}`, and use `"$value"` there
            error[unsupported-place]: `V` stands where no value can be placed: the text directly before it would join its quotes
              try: assign it first, `$value = {V}`, and use `"$value"` there
            error[value-in-code]: `V` stands in code that `iex` parses, where no quoting keeps it data
              try: set `$env:V = {V}` before it, and read that variable in the code
            error[value-in-code]: `V` stands in code that `powershell` parses, where no quoting keeps it data
              try: set `$env:V = {V}` before it, and read that variable in the code
            error[value-in-code]: `V` stands in code that `cmd` parses, where no quoting keeps it data
              try: set `$env:V = {V}` before it, and read that variable in the code
        "#]],
    );
}

#[test]
fn cmd_refuses_what_it_cannot_quote() {
    check(
        Shell::Cmd,
        &[
            ("dir {V} \"{V}\"", "a b & c"),
            ("dir {V} /x:{V}", "C:\\x"),
            ("dir \"{V}\"", "C:\\x y\\"),
            ("echo {V}", "50%"),
            ("echo {V}", "a\"b"),
            ("echo {V}", "wow!"),
            ("echo {V}", "a\nb"),
            ("call x {V}", "a^b"),
            ("rem {V}", "a&b"),
        ],
        expect![[r#"
            dir "a b & c" "a b & c"
            dir C:\x /x:C:\x
            error[unplaceable-value]: the value of `V` ends with a backslash, which would escape the quote after it
              try: remove the backslash at its end
            error[unplaceable-value]: the value of `V` holds '%', which cmd.exe cannot be given safely
              try: use `pwsh:` for this tool, where every value can be placed
            error[unplaceable-value]: the value of `V` holds '"', which cmd.exe cannot be given safely
              try: use `pwsh:` for this tool, where every value can be placed
            error[unplaceable-value]: the value of `V` holds '!', which cmd.exe cannot be given safely
              try: use `pwsh:` for this tool, where every value can be placed
            error[unplaceable-value]: the value of `V` holds '\n', which cmd.exe cannot be given safely
              try: use `pwsh:` for this tool, where every value can be placed
            error[value-in-code]: `V` stands in a line that `call` reads a second time
              try: use `pwsh:` for this tool, or pass the value in the environment
            rem 
        "#]],
    );
}

#[test]
fn argument_vectors_need_no_shell() {
    let mut out = String::new();
    for (template, value) in [
        ("git commit -m {V:word} --author='{V} <a@b>' x\\ y \"\\$z\"", "it's $x; *"),
        ("curl {V} url", "-H 'A: b' *"),
        ("ls {V} x", ""),
        ("ls {V:word} x", ""),
        ("ls {V:list} x{V:list}", "a b|c"),
        ("ls 'a {V}", "x"),
        ("python3 -c 'print(\"{V}\")'", "x"),
        ("printf -v {V}", "x"),
    ] {
        match place_argv(&pieces(template, &[("V", value)])) {
            Ok(words) => out += &format!("{words:?}\n"),
            Err(refusal) => out += &format!("error[{}]: {}\n  try: {}\n", refusal.code, refusal.message, refusal.try_),
        }
    }
    expect![[r#"
        ["git", "commit", "-m", "it's $x; *", "--author=it's $x; * <a@b>", "x y", "$z"]
        ["curl", "-H", "A: b", "*", "url"]
        ["ls", "x"]
        ["ls", "", "x"]
        ["ls", "a b", "c", "xa b,c"]
        error[malformed-words]: the command ends inside a quote
          try: close the quote, or write `\'` or `\"` for a quote that is text
        error[value-in-code]: `V` stands in code that `python3` parses, where no quoting keeps it data
          try: pass the value beside the code: python3 -c 'import sys; print(sys.argv[1])' {V}
        ["printf", "-v", "x"]
    "#]]
    .assert_eq(&out);
}

#[test]
fn inline_code_takes_plain_values_only() {
    let mut out = String::new();
    for (template, value) in [
        ("print({N:number})", "5"),
        ("print({N:number})", "f()"),
        ("x = '{V}'", "a/b.c"),
        ("x = '{MY-VALUE}'", "it's"),
        ("x = {V:raw}", "f()"),
    ] {
        match place_inline(&pieces(template, &[("V", value), ("N", value), ("MY-VALUE", value)])) {
            Ok(text) => out += &format!("{text}\n"),
            Err(refusal) => out += &format!("error[{}]: {}\n  try: {}\n", refusal.code, refusal.message, refusal.try_),
        }
    }
    expect![[r#"
        print(5)
        error[inline-value]: the value of `N` would be read as code by this interpreter
          try: read it from the environment variable `CYCOD_PARAM_N` in the script
        x = 'a/b.c'
        error[inline-value]: the value of `MY-VALUE` would be read as code by this interpreter
          try: read it from the environment variable `CYCOD_PARAM_MY_VALUE` in the script
        x = f()
    "#]]
    .assert_eq(&out);
}

#[test]
fn inspection_names_every_place() {
    let template = "{V} {V} \"{V}\" '{V}' $'{V}' $(({V})) x={V} > {V} ${u:-{V}} # {V}\ncat <<A <<'B'\n{V}\nA\n{V}\nB\npython -c '{V}'";
    let out: String = inspect(Shell::Bash, &pieces(template, &[]))
        .into_iter()
        .map(|finding| {
            format!(
                "{} {:?}{}\n",
                finding.piece,
                finding.context,
                finding.problem.map_or_else(String::new, |problem| format!(" {}", problem.message))
            )
        })
        .collect();
    expect![[r#"
        1 Command
        3 Unquoted
        5 DoubleQuoted
        7 SingleQuoted
        9 AnsiQuoted
        11 Arithmetic `V` stands in arithmetic, where text would be run as an expression
        13 Unquoted
        15 SingleWord
        17 ExpansionWord
        19 Comment
        21 HereDocument
        23 QuotedHereDocument
        25 SingleQuoted `V` stands in code that `python` parses, where no quoting keeps it data
    "#]]
    .assert_eq(&out);
}
