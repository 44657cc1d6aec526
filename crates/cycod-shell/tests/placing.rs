//! What is written for a value, by place, mode and shell.

use std::sync::LazyLock;

use cycod_shell::{Kind, Mode, Piece, Shell, Value, Verdict, Words, place, place_argv, place_inline};
use expect_test::{Expect, expect};

/// Whatever the place: what is proven about it is not looked at here.
static FREE: LazyLock<Verdict> = LazyLock::new(Verdict::free);

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
                "words" => Mode::Arguments,
                "output" => Mode::Output,
                "shellescaped" => Mode::Fragment,
                "raw" => Mode::Raw,
                _ => Mode::Bare,
            },
            kind: match mode {
                "number" => Kind::Number,
                "boolean" => Kind::Boolean,
                "enum" => Kind::Enum,
                _ => Kind::Text,
            },
            sensitive: false,
            verdict: &FREE,
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
            ("curl {V:words} url", "-H 'Content-Type: application/json' -X POST"),
            ("curl {V:words} url", "-d '{\"a\": 1}' --x=\"it's\""),
            ("ls {V:words}", "*.rs ~/src [a-z]?.txt"),
            ("ls {V:words}", "~root {a,b} $HOME `id` a;b >f !x"),
            ("echo {V:words}", "it's"),
            ("echo {V:words}", "a\\"),
            ("echo a {V:words} b", ""),
            ("echo a{V:words}b", ""),
            ("echo a{V:words}b", " x "),
            ("echo {V:words}#c", "a "),
            ("if{V:words}; x", ""),
            ("echo --x={V:words}", "a b"),
            ("echo {V:words}{W:words}", "a 'b c'"),
            ("echo {V:words}", "a;rm\nb"),
            ("echo {V:list} \"{V:list}\" x{V:list}y", "a b|it's|c"),
            ("echo {V:output} \"{V:output}\"", "a  *\n$b"),
            ("echo {V:shellescaped} \"{V:shellescaped}\"", "'it'\\''s'"),
            ("echo {V:word}", ""),
            ("cd {V:words} && x=~{V:words}", "~"),
            ("a=({V:words})", "[x]=1 [a-z]"),
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
            error[value-in-arithmetic]: `V` is in arithmetic, where text would be run as an expression
              try: declare `V` with `type: integer`
            error[value-in-arithmetic]: `N` is 1.5, and the arithmetic of this shell knows whole numbers only
              try: declare `N` with `type: integer`, or calculate with `awk`
            error[unsupported-place]: `V` is where no value can be placed: this form of `${…}` cannot take a value
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` is where no value can be placed: the delimiter of a here-document cannot hold a value
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` is where no value can be placed: the name of a loop variable cannot be a value
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[value-in-arithmetic]: `V` is in arithmetic, where text would be run as an expression
              try: declare `V` with `type: integer`
            error[unsupported-place]: `V` is where no value can be placed: a `)` before it closes nothing
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
            error[unsupported-place]: `V` is where no value can be placed: `$'…'` means different things in different POSIX shells
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` is where no value can be placed: `[[` is not part of a POSIX shell
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `N` is where no value can be placed: `((` before it means different things in different POSIX shells
              try: assign it to a variable first, `value={N}`, and use `"$value"` there
            error[unsupported-place]: `V` is where no value can be placed: a `$'` before it means different things in different POSIX shells
              try: assign it to a variable first, `value={V}`, and use `"$value"` there
            error[unsupported-place]: `V` is where no value can be placed: array literals are not part of a POSIX shell
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
        error[unsupported-place]: `V` is where no value can be placed: zsh reads the right side of `=~` as a regular expression even when it is quoted
          try: assign it to a variable first, `value={V}`, and use `"$value"` there
        echo ${(f)x} 1
        error[unsupported-place]: `V` is where no value can be placed: this form of `${…}` cannot take a value
          try: assign it to a variable first, `value={V}`, and use `"$value"` there
        error[unsupported-place]: `V` is where no value can be placed: a parenthesised pattern cannot take a value in this shell
          try: assign it to a variable first, `value={V}`, and use `"$value"` there
        error[value-in-arithmetic]: `V` is in arithmetic, where text would be run as an expression
          try: declare `V` with `type: integer`
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
            error[unsupported-place]: `V` is where no value can be placed: PowerShell ends an argument where a quote closes; put `"…"` around the whole argument
              try: assign it first, `$value = {V}`, and use `"$value"` there
            error[unsupported-place]: `V` is where no value can be placed: the text directly before it would join its quotes
              try: assign it first, `$value = {V}`, and use `"$value"` there
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
            rem 
        "#]],
    );
}

#[test]
fn argument_vectors_need_no_shell() {
    let mut out = String::new();
    for (template, value) in [
        ("git commit -m {V:word} --author='{V} <a@b>' x\\ y \"\\$z\"", "it's $x; *"),
        ("curl {V:words} url", "-H 'A: b' *"),
        ("curl {V} url", "-H 'A: b' *"),
        ("ls {V} x", ""),
        ("ls {V:word} x", ""),
        ("ls {V:list} x{V:list}", "a b|c"),
        ("ls 'a {V}", "x"),
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
        ["curl", "-H 'A: b' *", "url"]
        ["ls", "x"]
        ["ls", "", "x"]
        ["ls", "a b", "c", "xa b,c"]
        error[malformed-words]: the command ends inside a quote
          try: close the quote, or write `\'` or `\"` for a quote that is text
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
        ("x = '{My-value}'", "it's"),
        ("x = {V:raw}", "f()"),
    ] {
        match place_inline(&pieces(template, &[("V", value), ("N", value), ("My-value", value)])) {
            Ok(text) => out += &format!("{text}\n"),
            Err(refusal) => out += &format!("error[{}]: {}\n  try: {}\n", refusal.code, refusal.message, refusal.try_),
        }
    }
    expect![[r#"
        print(5)
        error[unplaceable-value]: the value of `N` is not of its type
          try: give a number, or `true` or `false`, as its type says
        x = 'a/b.c'
        error[inline-value]: the value of `My-value` would be read as code by this interpreter
          try: read it from the environment variable `CYCOD_PARAM_My_value` in the script
        x = f()
    "#]]
    .assert_eq(&out);
}
