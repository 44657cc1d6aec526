//! One small file for each thing that can be wrong with one, and what is said about it.
//!
//! `line:column-line:column severity[code]: message`, further places, help and the title of the fix.

use cycod_definition::Loaded;
use cycod_diagnostic::{SourceFile, apply_fixes};
use expect_test::{Expect, expect};

use crate::report;

/// Every fix, applied alone, takes its problem away.
#[track_caller]
fn fixes_mend(yaml: &str, loaded: &Loaded) {
    for diagnostic in loaded.diagnostics.iter().filter(|diagnostic| diagnostic.fix.is_some()) {
        let fixed = apply_fixes(&SourceFile::new("tool.yaml", yaml), std::slice::from_ref(diagnostic));
        let (again, lines) = report(&fixed, None);
        let same = |loaded: &Loaded| {
            loaded
                .diagnostics
                .iter()
                .filter(|other| other.code == diagnostic.code && other.message == diagnostic.message)
                .count()
        };
        if serde_json::from_str::<serde_json::Value>(yaml).is_ok() {
            serde_json::from_str::<serde_json::Value>(&fixed).expect("JSON stays JSON");
        }
        assert!(same(&again) < same(loaded), "the fix of {} fixes:\n{fixed}\n{lines}", diagnostic.code);
    }
}

/// Fixing everything, again and again, comes to an end with nothing left to fix.
#[track_caller]
fn fixing_ends(yaml: &str) {
    let mut text = yaml.to_owned();
    for _ in 0..5 {
        let (loaded, _) = report(&text, None);
        if loaded.diagnostics.iter().all(|diagnostic| diagnostic.fix.is_none()) {
            return;
        }
        text = apply_fixes(&SourceFile::new("tool.yaml", &*text), &loaded.diagnostics);
    }
    panic!("still something to fix after five rounds:\n{text}");
}

#[track_caller]
fn check(yaml: &str, expect: Expect) {
    let (loaded, lines) = report(yaml, None);
    expect.assert_eq(&lines);
    fixes_mend(yaml, &loaded);
    fixing_ends(yaml);
}

mod files {
    use super::*;

    #[test]
    fn empty_file() {
        check(
            "",
            expect![[r#"
            1:1-1:1 error[empty-file]: the file is empty
        "#]],
        );
    }

    #[test]
    fn only_a_comment() {
        check(
            "# nothing\n",
            expect![[r#"
            1:1-1:1 error[empty-file]: the file is empty
        "#]],
        );
    }

    #[test]
    fn a_list_is_no_tool() {
        check(
            "- a\n- b\n",
            expect![[r#"
            1:1-2:4 error[not-a-mapping]: a tool is a mapping of keys such as `name` and `bash`
        "#]],
        );
    }

    #[test]
    fn a_word_is_no_tool() {
        check(
            "hello\n",
            expect![[r#"
            1:1-1:6 error[not-a-mapping]: a tool is a mapping of keys such as `name` and `bash`
        "#]],
        );
    }

    #[test]
    fn empty_mapping() {
        check(
            "{}\n",
            expect![[r#"
                1:1-1:3 error[no-name]: a tool needs a `name`
                1:1-1:3 error[no-description]: a tool needs a `description`
                  help: describe its purpose; people and models choose tools by that
                1:1-1:3 error[no-command]: a tool does not define what to execute
                  help: add one of `bash`, `cmd`, `pwsh`, `run`, `script`, `python`, `commands`, `steps`, `handler` or `use-tool`
            "#]],
        );
    }

    #[test]
    fn json() {
        check("{\"name\": \"a\", \"description\": \"b\", \"bash\": \"ls\"}", expect![[r#""#]]);
    }

    #[test]
    fn json_with_two_commands() {
        check(
            "{\"name\": \"a\", \"description\": \"b\", \"bash\": \"ls\", \"cmd\": \"dir\"}",
            expect![[r#"
            1:35-1:41 error[several-commands]: a tool says in two ways what it executes
              also 1:49: another
              help: keep one of them, or make them steps
        "#]],
        );
    }

    #[test]
    fn fixed_json_stays_json() {
        check(
            r#"{"name": "my tool", "descripton": "b", "base-tool": "x", "timeout": "5", "ignore-errors": "yes", "parameters": {"P": {"type": "sting", "default": "a b'", "validation": {"enum": ["a b's"]}}}}"#,
            expect![[r#"
                1:1-1:8 error[no-description]: a tool needs a `description`
                  help: describe its purpose; people and models choose tools by that
                1:10-1:19 error[invalid-name]: `my tool` cannot name a tool
                  fix: write `my-tool`
                1:21-1:33 warning[unknown-key]: a tool has no key `descripton`
                  help: did you mean `description`?
                  fix: write `description`
                1:40-1:51 error[alias-without-type]: `base-tool` needs `type: alias`
                  fix: add `type: alias`
                1:69-1:72 warning[quoted-scalar]: `timeout` is text that reads as `5`
                  fix: remove the quotes
                1:91-1:96 error[wrong-type]: `ignore-errors` takes `true` or `false`
                  fix: write `true`
                1:113-1:116 warning[no-description]: parameter `P` has no description
                  help: describe its purpose; people and models choose its value by that
                1:127-1:134 error[unknown-choice]: `type` cannot be `sting`
                  help: did you mean `string`?
                  fix: write `string`
                1:147-1:153 error[invalid-default]: the default of `P`: `a b'` is not one of `a b's`
                  help: did you mean `a b's`?
                  fix: write `a b's`
            "#]],
        );
    }

    #[test]
    fn fixed_json_on_lines_stays_json() {
        check(
            "{\n  \"description\": \"b\",\n  \"name\": \"a\",\n  \"base-tool\": \"x\"\n}\n",
            expect![[r#"
            4:3-4:14 error[alias-without-type]: `base-tool` needs `type: alias`
              fix: add `type: alias`
        "#]],
        );
    }

    #[test]
    fn second_document() {
        check(
            "name: a\ndescription: b\nbash: ls\n---\nname: c\n",
            expect![[r#"
            4:1-4:4 error[second-document]: a second document starts here
              help: put each tool in a file of its own
        "#]],
        );
    }

    #[test]
    fn everything_at_once() {
        check(
            "name: a b\ndescripton: b\nbsh: ls\ntimeout: soon\nplatforms: [linus]\nsecurity: {isolaton: none}\nparameters: {1X: {type: strin}}\n",
            expect![[r#"
            1:1-1:5 error[no-description]: a tool needs a `description`
              help: describe its purpose; people and models choose tools by that
            1:7-1:10 error[invalid-name]: `a b` cannot name a tool
              fix: write `a-b`
            2:1-2:11 warning[unknown-key]: a tool has no key `descripton`
              help: did you mean `description`?
              fix: write `description`
            3:1-3:4 error[unknown-key]: a tool has no key `bsh`
              help: did you mean `bash`?
              fix: write `bash`
            4:10-4:14 error[wrong-type]: `timeout` takes milliseconds, at least 1
            5:13-5:18 error[unknown-choice]: an item of `platforms` cannot be `linus`
              help: did you mean `linux`?
              fix: write `linux`
            6:12-6:20 error[unknown-key]: `security` has no key `isolaton`
              help: did you mean `isolation`?
              fix: write `isolation`
            7:14-7:16 error[invalid-name]: `1X` cannot name a parameter
            7:25-7:30 error[unknown-choice]: `type` cannot be `strin`
              help: did you mean `string`?
              fix: write `string`
        "#]],
        );
    }
}

mod names {
    use super::*;

    #[test]
    fn no_name_and_no_file_name() {
        check(
            "description: b\nbash: ls\n",
            expect![[r#"
            1:1-1:12 error[no-name]: a tool needs a `name`
        "#]],
        );
    }

    #[test]
    fn name_with_spaces() {
        check(
            "name: my tool\ndescription: b\nbash: ls\n",
            expect![[r#"
            1:7-1:14 error[invalid-name]: `my tool` cannot name a tool
              fix: write `my-tool`
        "#]],
        );
    }

    #[test]
    fn name_of_signs() {
        check(
            "name: '***'\ndescription: b\nbash: ls\n",
            expect![[r#"
            1:7-1:12 error[invalid-name]: `***` cannot name a tool
        "#]],
        );
    }

    #[test]
    fn name_is_a_number() {
        check("name: 7\ndescription: b\nbash: ls\n", expect![[r#""#]]);
    }

    #[test]
    fn name_is_empty() {
        check(
            "name:\ndescription: b\nbash: ls\n",
            expect![[r#"
                1:6-1:6 error[wrong-type]: `name` has no value
            "#]],
        );
    }

    #[test]
    fn name_is_a_list() {
        check(
            "name: [a]\ndescription: b\nbash: ls\n",
            expect![[r#"
            1:7-1:10 error[wrong-type]: `name` takes text, not a list
        "#]],
        );
    }
}

mod descriptions {
    use super::*;

    #[test]
    fn no_description() {
        check(
            "name: a\nbash: ls\n",
            expect![[r#"
            1:1-1:5 error[no-description]: a tool needs a `description`
              help: describe its purpose; people and models choose tools by that
        "#]],
        );
    }

    #[test]
    fn empty_description() {
        check(
            "name: a\ndescription:\nbash: ls\n",
            expect![[r#"
                2:13-2:13 error[wrong-type]: `description` has no value
            "#]],
        );
    }

    #[test]
    fn version_keeps_its_text() {
        check("name: a\ndescription: b\nbash: ls\nversion: 1.0\n", expect![[r#""#]]);
    }

    #[test]
    fn odd_version() {
        check(
            "name: a\ndescription: b\nbash: ls\nversion: latest\n",
            expect![[r#"
            4:10-4:16 warning[invalid-version]: `latest` is not a version
        "#]],
        );
    }

    #[test]
    fn odd_min_version() {
        check(
            "name: a\ndescription: b\nbash: ls\nmin-cycod-version: new\n",
            expect![[r#"
            4:20-4:23 error[invalid-version]: `new` is not a version
        "#]],
        );
    }
}

mod keys {
    use super::*;

    #[test]
    fn a_command_line_of_another_format() {
        check(
            "name: x\ndescription: A test\ncommand: echo {X}\nparameters:\n  X: {type: string, description: Any, required: true}\n",
            expect![[r#"
                3:1-3:8 error[unknown-key]: a tool has no key `command`
                  help: a command line has its place at `bash`, a program without a shell at `run`
                  fix: write `bash`
                5:3-5:4 warning[unused-parameter]: parameter `X` is never used
                  help: write `{X}` where its value belongs, or remove it
            "#]],
        );
    }

    #[test]
    fn unknown_key() {
        check(
            "name: a\ndescription: b\nbash: ls\nfrobnicate: 1\n",
            expect![[r#"
            4:1-4:11 warning[unknown-key]: a tool has no key `frobnicate`
        "#]],
        );
    }

    #[test]
    fn near_key() {
        check(
            "name: a\ndescription: b\nbash: ls\ntimout: 1\n",
            expect![[r#"
            4:1-4:7 warning[unknown-key]: a tool has no key `timout`
              help: did you mean `timeout`?
              fix: write `timeout`
        "#]],
        );
    }

    #[test]
    fn underscore_for_hyphen() {
        check(
            "name: a\ndescription: b\nbash: ls\nworking_directory: /\n",
            expect![[r#"
                4:1-4:18 warning[unknown-key]: a tool has no key `working_directory`
                  help: write `working-directory`
                  fix: write `working-directory`
            "#]],
        );
    }

    #[test]
    fn misspelt_command() {
        check(
            "name: a\ndescription: b\nbsah: ls\n",
            expect![[r#"
            3:1-3:5 error[unknown-key]: a tool has no key `bsah`
              help: did you mean `bash`?
              fix: write `bash`
        "#]],
        );
    }

    #[test]
    fn misspelt_command_beside_another() {
        check(
            "name: a\ndescription: b\nbash: ls\nstep: []\n",
            expect![[r#"
            4:1-4:5 error[unknown-key]: a tool has no key `step`
              help: did you mean `steps`?
              fix: write `steps`
        "#]],
        );
    }

    #[test]
    fn own_keys() {
        check("name: a\ndescription: b\nbash: ls\nx-owner: me\n", expect![[r#""#]]);
    }

    #[test]
    fn unknown_key_in_security() {
        check(
            "name: a\ndescription: b\nbash: ls\nsecurity: {isolate: container}\n",
            expect![[r#"
            4:12-4:19 error[unknown-key]: `security` has no key `isolate`
        "#]],
        );
    }

    #[test]
    fn own_keys_are_not_for_security() {
        check(
            "name: a\ndescription: b\nbash: ls\nsecurity: {x-a: 1}\n",
            expect![[r#"
            4:12-4:15 error[unknown-key]: `security` has no key `x-a`
        "#]],
        );
    }

    #[test]
    fn unknown_key_in_parameter_security() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, security: {escape: true}}}\n",
            expect![[r#"
            4:45-4:51 error[unknown-key]: a parameter's `security` has no key `escape`
        "#]],
        );
    }

    #[test]
    fn few_known_keys_are_listed() {
        check(
            "name: a\ndescription: b\nsteps: [{name: s, bash: ls, error-handling: {restart: 3}}]\n",
            expect![[r#"
            3:46-3:53 warning[unknown-key]: `error-handling` has no key `restart`
        "#]],
        );
    }

    #[test]
    fn synonym() {
        check(
            "name: a\ndescription: b\ntool: other\n",
            expect![[r#"
            3:1-3:5 warning[key-synonym]: `tool` is another name for `use-tool`
              fix: write `use-tool`
        "#]],
        );
    }
}

mod types {
    use super::*;

    #[test]
    fn a_list_of_another_format() {
        check(
            "name: x\ndescription: A test\nbash: echo {X}\nparameters:\n  X: {type: 'string[]', description: Any, required: true}\n",
            expect![[r#"
                5:13-5:23 error[unknown-choice]: `type` cannot be `string[]`
                  help: a list is of type `array`; each element is one word
                  fix: write `array`
            "#]],
        );
    }

    #[test]
    fn text_for_number() {
        check(
            "name: a\ndescription: b\nbash: ls\ntimeout: soon\n",
            expect![[r#"
            4:10-4:14 error[wrong-type]: `timeout` takes milliseconds, at least 1
        "#]],
        );
    }

    #[test]
    fn seconds_for_milliseconds() {
        check(
            "name: a\ndescription: b\nbash: ls\ntimeout: 10s\n",
            expect![[r#"
            4:10-4:13 error[wrong-type]: `timeout` takes milliseconds, at least 1
              help: 10s is 10000 milliseconds
              fix: write `10000`
        "#]],
        );
    }

    #[test]
    fn quoted_number() {
        check(
            "name: a\ndescription: b\nbash: ls\ntimeout: '10'\n",
            expect![[r#"
            4:10-4:14 warning[quoted-scalar]: `timeout` is text that reads as `10`
              fix: remove the quotes
        "#]],
        );
    }

    #[test]
    fn fraction_for_integer() {
        check(
            "name: a\ndescription: b\nbash: ls\ntimeout: 1.5\n",
            expect![[r#"
            4:10-4:13 error[wrong-type]: `timeout` takes milliseconds, at least 1
        "#]],
        );
    }

    #[test]
    fn zero_timeout() {
        check(
            "name: a\ndescription: b\nbash: ls\ntimeout: 0\n",
            expect![[r#"
            4:10-4:11 error[out-of-range]: `timeout` is 0, but must be at least 1
        "#]],
        );
    }

    #[test]
    fn negative_retries() {
        check(
            "name: a\ndescription: b\nsteps: [{name: s, bash: ls, error-handling: {retry: {attempts: -1}}}]\n",
            expect![[r#"
            3:64-3:66 error[out-of-range]: `attempts` is -1, but must be at least 0
        "#]],
        );
    }

    #[test]
    fn yes_for_true() {
        check(
            "name: a\ndescription: b\nbash: ls\nignore-errors: yes\n",
            expect![[r#"
            4:16-4:19 error[wrong-type]: `ignore-errors` takes `true` or `false`
              fix: write `true`
        "#]],
        );
    }

    #[test]
    fn quoted_boolean() {
        check(
            "name: a\ndescription: b\nbash: ls\nignore-errors: 'true'\n",
            expect![[r#"
            4:16-4:22 warning[quoted-scalar]: `ignore-errors` is text that reads as `true`
              fix: remove the quotes
        "#]],
        );
    }

    #[test]
    fn word_for_boolean() {
        check(
            "name: a\ndescription: b\nbash: ls\nignore-errors: maybe\n",
            expect![[r#"
            4:16-4:21 error[wrong-type]: `ignore-errors` takes `true` or `false`
        "#]],
        );
    }

    #[test]
    fn list_for_text() {
        check(
            "name: a\ndescription: [b]\nbash: ls\n",
            expect![[r#"
            2:14-2:17 error[wrong-type]: `description` takes text, not a list
        "#]],
        );
    }

    #[test]
    fn mapping_for_command() {
        check(
            "name: a\ndescription: b\nbash: {run: ls}\n",
            expect![[r#"
            3:7-3:16 error[wrong-type]: `bash` takes a command, not a mapping
        "#]],
        );
    }

    #[test]
    fn placeholder_without_quotes() {
        check(
            "name: a\ndescription: b\nbash: {P}\nparameters: {P: {description: c}}\n",
            expect![[r#"
            3:7-3:10 error[wrong-type]: `bash` takes a command, not a mapping
              help: in YAML, a value that begins with `{` is a mapping: put the whole value in quotes
            4:14-4:15 warning[unused-parameter]: parameter `P` is never used
              help: write `{P}` where its value belongs, or remove it
        "#]],
        );
    }

    #[test]
    fn text_for_mapping() {
        check(
            "name: a\ndescription: b\nbash: ls\nsecurity: strict\n",
            expect![[r#"
            4:11-4:17 error[wrong-type]: `security` takes a mapping
        "#]],
        );
    }

    #[test]
    fn text_for_list_of_mappings() {
        check(
            "name: a\ndescription: b\nbash: ls\ntests: yes\n",
            expect![[r#"
            4:8-4:11 error[wrong-type]: `tests` takes a list of mappings
        "#]],
        );
    }

    #[test]
    fn text_for_parameters() {
        check(
            "name: a\ndescription: b\nbash: ls\nparameters: P\n",
            expect![[r#"
            4:13-4:14 error[wrong-type]: `parameters` takes a mapping
        "#]],
        );
    }

    #[test]
    fn list_for_parameters() {
        check(
            "name: a\ndescription: b\nbash: ls\nparameters: [{name: P}]\n",
            expect![[r#"
                4:13-4:24 error[wrong-type]: `parameters` takes a mapping, not a list
                  help: write each as `NAME: …`, without a dash
            "#]],
        );
    }

    #[test]
    fn one_text_for_many() {
        check("name: a\ndescription: b\nbash: ls\ntags: read\n", expect![[r#""#]]);
    }

    #[test]
    fn mapping_for_tags() {
        check(
            "name: a\ndescription: b\nbash: ls\ntags: {read: true}\n",
            expect![[r#"
            4:7-4:19 error[wrong-type]: `tags` takes text or a list of texts, not a mapping
        "#]],
        );
    }

    #[test]
    fn one_example() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, examples: x}}\n",
            expect![[r#"
            4:44-4:45 error[wrong-type]: `examples` takes a list
              fix: make it a list of one
        "#]],
        );
    }

    #[test]
    fn bad_size() {
        check(
            "name: a\ndescription: b\nbash: ls\nresources: {max-memory: lots}\n",
            expect![[r#"
            4:25-4:29 error[wrong-type]: `max-memory` is `lots`, not a size
        "#]],
        );
    }

    #[test]
    fn bad_choice() {
        check(
            "name: a\ndescription: b\nsteps: [{name: s, bash: ls, output: {mode: streaming}}]\n",
            expect![[r#"
            3:44-3:53 error[unknown-choice]: `mode` cannot be `streaming`
              help: did you mean `stream`?
              fix: write `stream`
        "#]],
        );
    }

    #[test]
    fn distant_choice() {
        check(
            "name: a\ndescription: b\nbash: ls\nsecurity: {isolation: vm}\n",
            expect![[r#"
            4:23-4:25 error[unknown-choice]: `isolation` cannot be `vm`
        "#]],
        );
    }

    #[test]
    fn empty_sections() {
        check("name: a\ndescription: b\nbash: ls\nparameters:\nsecurity:\ntags:\ntests:\n", expect![[r#""#]]);
    }

    #[test]
    fn separator_of_two_characters() {
        check(
            "name: a\ndescription: b\nbash: ls\nfile-paths: {cross-platform: {unix-separator: //}}\n",
            expect![[r#"
            4:47-4:49 error[wrong-type]: `unix-separator` takes one character
        "#]],
        );
    }
}

mod forms {
    use super::*;

    #[test]
    fn no_command() {
        check(
            "name: a\ndescription: b\n",
            expect![[r#"
                1:1-1:5 error[no-command]: a tool does not define what to execute
                  help: add one of `bash`, `cmd`, `pwsh`, `run`, `script`, `python`, `commands`, `steps`, `handler` or `use-tool`
            "#]],
        );
    }

    #[test]
    fn two_commands() {
        check(
            "name: a\ndescription: b\nbash: ls\npwsh: dir\n",
            expect![[r#"
            3:1-3:5 error[several-commands]: a tool says in two ways what it executes
              also 4:1: another
              help: keep one of them, or make them steps
        "#]],
        );
    }

    #[test]
    fn three_commands() {
        check(
            "name: a\ndescription: b\nbash: ls\npwsh: dir\nsteps: []\n",
            expect![[r#"
            3:1-3:5 error[several-commands]: a tool says in three ways what it executes
              also 4:1: another
              also 5:1: another
              help: keep one of them, or make them steps
        "#]],
        );
    }

    #[test]
    fn empty_command() {
        check(
            "name: a\ndescription: b\nbash: ''\n",
            expect![[r#"
            3:7-3:9 error[empty-command]: `bash` has no command
        "#]],
        );
    }

    #[test]
    fn command_without_value() {
        check(
            "name: a\ndescription: b\nbash:\n",
            expect![[r#"
                3:6-3:6 error[wrong-type]: `bash` has no value
            "#]],
        );
    }

    #[test]
    fn no_steps() {
        check(
            "name: a\ndescription: b\nsteps: []\n",
            expect![[r#"
            3:1-3:6 error[no-command]: `steps` holds no step
              help: add a step with `name` and a command such as `bash`
        "#]],
        );
    }

    #[test]
    fn steps_without_value() {
        check(
            "name: a\ndescription: b\nsteps:\n",
            expect![[r#"
            3:1-3:6 error[no-command]: `steps` holds no step
              help: add a step with `name` and a command such as `bash`
        "#]],
        );
    }

    #[test]
    fn script_without_shell() {
        check(
            "name: a\ndescription: b\nscript: ls\n",
            expect![[r#"
            3:1-3:7 warning[script-without-shell]: `script` does not say which shell reads it
              help: add `shell`, for example `shell: bash`
        "#]],
        );
    }

    #[test]
    fn script_with_shell() {
        check("name: a\ndescription: b\nscript: ls\nshell: bash -eo pipefail {0}\n", expect![[r#""#]]);
    }

    #[test]
    fn shell_without_script() {
        check(
            "name: a\ndescription: b\nbash: ls\nshell: zsh\n",
            expect![[r#"
            4:1-4:6 warning[unused-key]: `shell` has no effect next to `bash`
        "#]],
        );
    }

    #[test]
    fn shell_with_open_quote() {
        check(
            "name: a\ndescription: b\nscript: ls\nshell: bash 'x\n",
            expect![[r#"
            4:8-4:15 error[invalid-shell]: a quote in `shell` is not closed
        "#]],
        );
    }

    #[test]
    fn options_for_cmd() {
        check(
            "name: a\ndescription: b\ncmd: dir\nshell-options: [e]\n",
            expect![[r#"
            4:1-4:14 warning[unused-key]: `shell-options` has no effect next to `cmd`
        "#]],
        );
    }

    #[test]
    fn unknown_option() {
        check(
            "name: a\ndescription: b\nbash: ls\nshell-options: [pipfail]\n",
            expect![[r#"
            4:17-4:24 error[unknown-choice]: an item of `shell-options` cannot be `pipfail`
              help: did you mean `pipefail`?
              fix: write `pipefail`
        "#]],
        );
    }

    #[test]
    fn with_without_tool() {
        check(
            "name: a\ndescription: b\nbash: ls\nwith: {A: 1}\n",
            expect![[r#"
            4:1-4:5 warning[unused-key]: `with` has no effect next to `bash`
        "#]],
        );
    }

    #[test]
    fn empty_commands() {
        check(
            "name: a\ndescription: b\ncommands: {}\n",
            expect![[r#"
            3:1-3:9 error[no-command]: `commands` holds no command
              help: add `default`, or variants below `platforms`
        "#]],
        );
    }

    #[test]
    fn unknown_platform_key() {
        check(
            "name: a\ndescription: b\ncommands: {platforms: {widows: dir}}\n",
            expect![[r#"
            3:24-3:30 error[unknown-platform]: `widows` is not a platform
              help: did you mean `windows`?
              fix: write `windows`
        "#]],
        );
    }

    #[test]
    fn default_below_platforms() {
        check(
            "name: a\ndescription: b\ncommands: {platforms: {default: ls}}\n",
            expect![[r#"
            3:24-3:31 error[unknown-platform]: `default` is not a platform
              help: `default` goes next to `platforms`, not below it
        "#]],
        );
    }

    #[test]
    fn platform_twice() {
        check(
            "name: a\ndescription: b\ncommands: {platforms: {macos: ls, Darwin: ls}}\n",
            expect![[r#"
            3:35-3:41 error[duplicate-platform]: `Darwin` names a platform a second time
              also 3:24: the first
        "#]],
        );
    }

    #[test]
    fn platforms_in_any_case() {
        check("name: a\ndescription: b\ncommands: {platforms: {Windows: dir, UNIX: ls}}\n", expect![[r#""#]]);
    }

    #[test]
    fn unknown_platform() {
        check(
            "name: a\ndescription: b\nbash: ls\nplatforms: [linux, solaris]\n",
            expect![[r#"
            4:20-4:27 error[unknown-choice]: an item of `platforms` cannot be `solaris`
        "#]],
        );
    }

    #[test]
    fn platform_without_command() {
        check(
            "name: a\ndescription: b\ncommands: {platforms: {linux: ls}}\nplatforms: [linux, osx]\n",
            expect![[r#"
                4:20-4:23 warning[platform-without-command]: there is no command for `osx`
                  help: add a variant or `default` to `commands`, or remove the platform
            "#]],
        );
    }

    #[test]
    fn bad_tool_name() {
        check(
            "name: a\ndescription: b\nuse-tool: other tool\n",
            expect![[r#"
            3:11-3:21 error[invalid-name]: `other tool` is not the name of a tool
        "#]],
        );
    }

    #[test]
    fn unquoted_command() {
        check(
            "name: a\ndescription: b\nbash: echo a: b\n",
            expect![[r#"
            3:7-3:16 warning[unquoted-command]: the value of `bash` must be quoted, because `: ` in it would start another value
              fix: quote the command
        "#]],
        );
    }

    #[test]
    fn comment_in_command() {
        check(
            "name: a\ndescription: b\nbash: echo a # b\n",
            expect![[r#"
            3:14-3:17 warning[comment-in-command]: the value of `bash` ends before ` #`, which starts a comment
              fix: quote the command with what follows
        "#]],
        );
    }
}

mod aliases {
    use super::*;

    #[test]
    fn alias() {
        check("name: a\ntype: alias\nbase-tool: b\ndefault-parameters: {X: '{Y}/{Z}', Y: 1}\n", expect![""]);
    }

    #[test]
    fn alias_without_base() {
        check(
            "name: a\ntype: alias\n",
            expect![[r#"
            2:1-2:5 error[alias-without-base]: an alias needs a `base-tool`
              help: name the tool that it is an alias of
        "#]],
        );
    }

    #[test]
    fn alias_with_command() {
        check(
            "name: a\ntype: alias\nbase-tool: b\nbash: ls\n",
            expect![[r#"
            4:1-4:5 error[alias-command]: an alias has no `bash` of its own
              help: remove it, or remove `type: alias`
        "#]],
        );
    }

    #[test]
    fn base_without_type() {
        check(
            "name: a\ndescription: b\nbase-tool: b\n",
            expect![[r#"
            3:1-3:10 error[alias-without-type]: `base-tool` needs `type: alias`
              fix: add `type: alias`
        "#]],
        );
    }

    #[test]
    fn defaults_without_alias() {
        check(
            "name: a\ndescription: b\nbash: ls\ndefault-parameters: {X: 1}\n",
            expect![[r#"
            4:1-4:19 warning[unused-key]: `default-parameters` has no effect without `type: alias`
        "#]],
        );
    }

    #[test]
    fn alias_of_itself() {
        check(
            "name: a\ntype: alias\nbase-tool: A\n",
            expect![[r#"
            3:12-3:13 error[alias-of-itself]: `A` is an alias of itself
        "#]],
        );
    }

    #[test]
    fn other_type() {
        check(
            "name: a\ndescription: b\nbash: ls\ntype: tool\n",
            expect![[r#"
            4:7-4:11 error[unknown-choice]: `type` cannot be `tool`
        "#]],
        );
    }
}

mod parameters {
    use super::*;

    #[test]
    fn never_used() {
        check(
            "name: a\ndescription: b\nbash: ls\nparameters: {P: {description: p}}\n",
            expect![[r#"
            4:14-4:15 warning[unused-parameter]: parameter `P` is never used
              help: write `{P}` where its value belongs, or remove it
        "#]],
        );
    }

    #[test]
    fn used_in_the_wrong_case() {
        check(
            "name: a\ndescription: b\nbash: ls -- {my-file}\nparameters: {MY_FILE: {description: p}}\n",
            expect![[r#"
                4:14-4:21 warning[unused-parameter]: parameter `MY_FILE` is never used
                  also 3:14: `{my-file}` is text
                  help: write `{MY_FILE}`
                  fix: write `{MY_FILE}`
            "#]],
        );
    }

    #[test]
    fn used_in_a_condition_only() {
        check(
            "name: a\ndescription: b\nsteps: [{name: s, bash: ls, run-condition: '{P} == x'}]\nparameters: {P: {description: p}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn scripts_find_parameters_in_the_environment() {
        check("name: a\ndescription: b\npython: import os\nparameters: {P: {description: p}}\n", expect![[r#""#]]);
    }

    #[test]
    fn digit_name() {
        check(
            "name: a\ndescription: b\nbash: ls\nparameters: {0: {description: p}}\n",
            expect![[r#"
            4:14-4:15 error[invalid-name]: `0` cannot name a parameter
        "#]],
        );
    }

    #[test]
    fn raw_name() {
        check(
            "name: a\ndescription: b\nbash: ls\nparameters: {RAW: {description: p}}\n",
            expect![[r#"
            4:14-4:17 error[invalid-name]: `RAW` cannot name a parameter
        "#]],
        );
    }

    #[test]
    fn no_parameter_description() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: string}}\n",
            expect![[r#"
            4:14-4:15 warning[no-description]: parameter `P` has no description
              help: describe its purpose; people and models choose its value by that
        "#]],
        );
    }

    #[test]
    fn bare_parameter() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: }\n",
            expect![[r#"
            4:14-4:15 warning[no-description]: parameter `P` has no description
              help: describe its purpose; people and models choose its value by that
        "#]],
        );
    }

    #[test]
    fn misspelt_type() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: sting, description: p}}\n",
            expect![[r#"
            4:24-4:29 error[unknown-choice]: `type` cannot be `sting`
              help: did you mean `string`?
              fix: write `string`
        "#]],
        );
    }

    #[test]
    fn other_words_for_types() {
        check(
            "name: a\ndescription: b\nbash: ls\nparameters: {A: {type: logical, description: p}, B: {type: character, description: p, default: [x]}}\n",
            expect![[r#"
                4:14-4:15 warning[unused-parameter]: parameter `A` is never used
                  help: write `{A}` where its value belongs, or remove it
                4:50-4:51 warning[unused-parameter]: parameter `B` is never used
                  help: write `{B}` where its value belongs, or remove it
            "#]],
        );
    }

    #[test]
    fn shadowing() {
        check(
            "name: a\ndescription: b\nbash: ls -- {OS}\nparameters: {OS: {description: p}}\n",
            expect![[r#"
            4:14-4:16 warning[shadows-predefined]: parameter `OS` hides the predefined variable of that name
              help: give it another name if the predefined value is ever needed
        "#]],
        );
    }

    #[test]
    fn required_with_default() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, required: true, default: x}}\n",
            expect![[r#"
            4:34-4:42 warning[required-with-default]: parameter `P` is required but has a default
              also 4:50: the default satisfies it
              help: remove one of the two
        "#]],
        );
    }

    #[test]
    fn default_too_short() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, default: é, validation: {minLength: 2}}}\n",
            expect![[r#"
                4:43-4:44 error[invalid-default]: the default of `P`: has 1 character, needs at least 2
            "#]],
        );
    }

    #[test]
    fn default_breaks_pattern() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, default: A1, validation: {pattern: '^[a-z]+$', maxLength: 1}}}\n",
            expect![[r#"
                4:43-4:45 error[invalid-default]: the default of `P`: has 2 characters, may have at most 1
                4:43-4:45 error[invalid-default]: the default of `P`: `A1` does not match the pattern `^[a-z]+$`
            "#]],
        );
    }

    #[test]
    fn dynamic_default_is_not_checked() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {Q}\nparameters: {P: {description: p, default: 'x{Q}', validation: {maxLength: 1}}, Q: {description: q}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn default_not_in_enum() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, default: GETT, validation: {enum: [GET, POST]}}}\n",
            expect![[r#"
                4:43-4:47 error[invalid-default]: the default of `P`: `GETT` is not one of `GET`, `POST`
                  help: did you mean `GET`?
                  fix: write `GET`
            "#]],
        );
    }

    #[test]
    fn numbers_in_a_text_enum() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, default: 1, validation: {enum: [1, 2]}}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn text_default_for_number() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: number, description: p, default: five}}\n",
            expect![[r#"
                4:57-4:61 error[invalid-default]: the default of `P`: expected a number, found `five`
                  help: write it as in JSON: `42`, `-0.5`, `1e3`
            "#]],
        );
    }

    #[test]
    fn fraction_default_for_integer() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: integer, description: p, default: 1.5}}\n",
            expect![[r#"
                4:58-4:61 error[invalid-default]: the default of `P`: expected an integer, found `1.5`
                  help: write it in digits, such as `42`
            "#]],
        );
    }

    #[test]
    fn default_below_minimum() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: number, description: p, default: 0, validation: {minimum: 1, multipleOf: 0.1}}}\n",
            expect![[r#"
                4:57-4:58 error[invalid-default]: the default of `P`: `0` is less than the minimum 1
            "#]],
        );
    }

    #[test]
    fn scalar_default_for_array() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: array, description: p, default: x}}\n",
            expect![[r#"
                4:56-4:57 error[invalid-default]: the default of `P`: expected an array, found `x`
                  help: give JSON such as `["a", "b"]`; a comma in a text separates nothing
            "#]],
        );
    }

    #[test]
    fn array_rules() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: array, description: p, default: [1, 1, x], validation: {uniqueItems: true, maxItems: 2, items: {type: number}}}}\n",
            expect![[r#"
                4:63-4:64 error[invalid-default]: the default of `P[2]`: expected a number, found `x`
                  help: write it as in JSON: `42`, `-0.5`, `1e3`
            "#]],
        );
    }

    #[test]
    fn array_size_and_repetition() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: array, description: p, default: [1, 1.0, '-2'], validation: {uniqueItems: true, maxItems: 2, items: {type: number, minimum: 0}}}}\n",
            expect![[r#"
                4:56-4:70 error[invalid-default]: the default of `P`: has 3 elements, may have at most 2
                4:56-4:70 error[invalid-default]: the default of `P`: holds `1.0` more than once
                4:65-4:69 error[invalid-default]: the default of `P[2]`: `-2` is less than the minimum 0
            "#]],
        );
    }

    #[test]
    fn numbers_are_judged_exactly() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {Q} {R}\nparameters:\n  P: {type: integer, description: p, default: 9007199254740993, validation: {maximum: 9007199254740992}}\n  Q: {type: number, description: q, default: 0.30000000000000001, validation: {multipleOf: 0.1}}\n  R: {type: number, description: r, validation: {minimum: 9007199254740993, maximum: 9007199254740992}}\n",
            expect![[r#"
                5:47-5:63 error[invalid-default]: the default of `P`: `9007199254740993` is more than the maximum 9007199254740992
                6:46-6:65 error[invalid-default]: the default of `Q`: `0.30000000000000001` is not a multiple of 0.1
                7:50-7:57 error[empty-range]: no value can satisfy `minimum` and `maximum`
                  also 7:77: smaller
            "#]],
        );
    }

    #[test]
    fn at_most_ten_parts_of_a_value_are_told() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: array, description: p, default: [a, b, c, d, e, f, g, h, i, j, k, l], validation: {items: {type: boolean}}}}\n",
            expect![[r#"
                4:57-4:58 error[invalid-default]: the default of `P[0]`: expected a boolean, found `a`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:60-4:61 error[invalid-default]: the default of `P[1]`: expected a boolean, found `b`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:63-4:64 error[invalid-default]: the default of `P[2]`: expected a boolean, found `c`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:66-4:67 error[invalid-default]: the default of `P[3]`: expected a boolean, found `d`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:69-4:70 error[invalid-default]: the default of `P[4]`: expected a boolean, found `e`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:72-4:73 error[invalid-default]: the default of `P[5]`: expected a boolean, found `f`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:75-4:76 error[invalid-default]: the default of `P[6]`: expected a boolean, found `g`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:78-4:79 error[invalid-default]: the default of `P[7]`: expected a boolean, found `h`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:81-4:82 error[invalid-default]: the default of `P[8]`: expected a boolean, found `i`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
                4:84-4:85 error[invalid-default]: the default of `P[9]`: expected a boolean, found `j`
                  help: use `true` or `false` (also 1/0, yes/no, on/off)
            "#]],
        );
    }

    #[test]
    fn a_secret_default_is_not_repeated() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, default: hunter2, sensitive: true, validation: {enum: [hunter3]}}}\n",
            expect![[r#"
                3:13-3:16 warning[secret-in-argument]: `P` is secret, and stands among the arguments of `ls`
                  help: let `ls` read it from its environment or its standard input
                4:43-4:50 error[invalid-default]: the default of `P`: `****` is not one of `hunter3`
            "#]],
        );
    }

    /// What a call would read as the type, a file may write so too.
    #[test]
    fn defaults_are_read_as_calls_are() {
        check(
            "name: a\ndescription: b\nbash: ls -- {I} {N} {B} {A} '{O}' {E}\nparameters:\n  I: {type: integer, description: i, default: ' 5.0 ', examples: ['1e3', +5, 0x10]}\n  N: {type: number, description: n, default: .5, validation: {minimum: +.5}}\n  B: {type: boolean, description: b, default: 'YES'}\n  A: {type: array, description: a, default: '[1, \"2\"]', validation: {items: {type: integer, enum: ['1', 2.0]}}}\n  O: {type: object, description: o, default: '{\"k\": 1}'}\n  E: {type: array, description: e, default: ['007'], validation: {items: {type: string}, enum: [[007]]}}\ntests: [{name: t, parameters: {I: '7', B: off, A: ~}}]\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn object_rules() {
        check(
            "name: a\ndescription: b\nbash: ls '{P}'\nparameters: {P: {type: object, description: p, default: {a: 1}, validation: {required: [b], properties: {a: {type: string}}}}}\n",
            expect![[r#"
                4:57-4:63 error[invalid-default]: the default of `P`: lacks the property `b`
            "#]],
        );
    }

    #[test]
    fn bad_pattern() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, validation: {pattern: '[a-'}}}\n",
            expect![[r#"
                4:57-4:58 error[invalid-pattern]: `[a-` is not a pattern we can use
            "#]],
        );
    }

    #[test]
    fn lookaround() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, validation: {pattern: '^(?!x)'}}}\n",
            expect![[r#"
                4:58-4:61 error[invalid-pattern]: `^(?!x)` is not a pattern we can use
                  help: patterns run in linear time, without lookaround and backreferences
            "#]],
        );
    }

    #[test]
    fn huge_pattern() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, validation: {pattern: '(\\w{1000}){1000}'}}}\n",
            expect![[r#"
            4:56-4:74 error[invalid-pattern]: `(\w{1000}){1000}` is not a pattern we can use
        "#]],
        );
    }

    #[test]
    fn rules_beside_the_type() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {Q}\nparameters:\n  P: {description: p, minLength: 2, pattern: '^a', default: b}\n  Q: {type: array, description: q, items: {type: string, maxLength: 1}, minItems: 1, default: [ab]}\n",
            expect![[r#"
                5:61-5:62 error[invalid-default]: the default of `P`: has 1 character, needs at least 2
                5:61-5:62 error[invalid-default]: the default of `P`: `b` does not match the pattern `^a`
                6:96-6:98 error[invalid-default]: the default of `Q[0]`: has 2 characters, may have at most 1
            "#]],
        );
    }

    #[test]
    fn a_rule_twice() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {Q} {R}\nparameters:\n  P: {description: p, pattern: a, validation: {pattern: b, minLength: 2}}\n  Q: {description: q, schema: {type: string}, enum: [a]}\n  R: {type: array, description: r, items: {type: string, minLength: 1, validation: {minLength: 2}}}\n",
            expect![[r#"
                5:23-5:30 error[two-schemas]: `pattern` and `pattern` define the same thing twice
                  also 5:48: here as well
                  help: keep one of them
                6:47-6:51 error[two-schemas]: `enum` and `schema` define the same thing twice
                  also 6:23: here as well
                  help: keep one of them
                7:58-7:67 error[two-schemas]: `minLength` and `minLength` define the same thing twice
                  also 7:85: here as well
                  help: keep one of them
            "#]],
        );
    }

    #[test]
    fn rules_below_and_beside_hold_together() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {R}\nparameters:\n  P: {description: p, maxLength: 3, validation: {pattern: '^a'}, default: abcd}\n  R: {type: array, description: r, items: {type: string, maxLength: 1, validation: {pattern: a}}, default: [ab, b]}\n",
            expect![[r#"
                5:75-5:79 error[invalid-default]: the default of `P`: has 4 characters, may have at most 3
                6:109-6:111 error[invalid-default]: the default of `R[0]`: has 2 characters, may have at most 1
                6:113-6:114 error[invalid-default]: the default of `R[1]`: `b` does not match the pattern `a`
            "#]],
        );
    }

    #[test]
    fn rules_that_only_a_schema_can_say() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, const: x, validation: {anyOf: []}}}\n",
            expect![[r#"
                4:34-4:39 error[unknown-key]: a parameter has no key `const`
                  help: write the whole rule as a JSON Schema, under the parameter's `schema`
                4:57-4:62 error[unknown-key]: `validation` has no key `anyOf`
                  help: write the whole rule as a JSON Schema, under the parameter's `schema`
            "#]],
        );
    }

    #[test]
    fn misspelt_rules_of_a_schema() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\ninput-schema:\n  type: object\n  propertis: {}\n  properties:\n    P: {type: string, patern: ^a, x-pattern: b, note: c, pattern: a}\n    patern: {type: array, items: {enumm: [a]}}\nreturns: {typ: string}\n",
            expect![[r#"
                6:3-6:12 error[unknown-key]: a schema has no rule `propertis`
                  help: did you mean `properties`?
                  fix: write `properties`
                8:23-8:29 error[unknown-key]: a schema has no rule `patern`
                  help: did you mean `pattern`?
                  fix: write `pattern`
                9:35-9:40 error[unknown-key]: a schema has no rule `enumm`
                  help: did you mean `enum`?
                  fix: write `enum`
                10:11-10:14 error[unknown-key]: a schema has no rule `typ`
                  help: did you mean `type`?
                  fix: write `type`
            "#]],
        );
    }

    #[test]
    fn guards_in_the_wrong_place() {
        check(
            "name: a\ndescription: b\nisolation: container\nsecrets: [A]\nenv: {A: b}\nsteps: [{name: x, bash: 'ls -- {P}', security: {isolation: container}, sensitive: true, run-conditon: 'false', environment: {inherti: false}}]\nparameters: {P: {description: p, escape-shell: true, secrets: x}}\n",
            expect![[r#"
                3:1-3:10 error[unknown-key]: a tool has no key `isolation`
                  help: `isolation` has its place at `security.isolation`
                4:1-4:8 error[unknown-key]: a tool has no key `secrets`
                  help: write `environment: {secrets: [NAME]}`
                5:1-5:4 error[unknown-key]: a tool has no key `env`
                  help: write `environment: {variables: …}`
                  fix: write `environment`, with `variables` below it
                6:38-6:46 error[unknown-key]: a step has no key `security`
                  help: `security` has its place at the top of the file
                6:72-6:81 error[unknown-key]: a step has no key `sensitive`
                  help: `sensitive` has its place at `parameters.NAME.sensitive`
                6:89-6:101 error[unknown-key]: a step has no key `run-conditon`
                  help: did you mean `run-condition`?
                  fix: write `run-condition`
                6:126-6:133 error[unknown-key]: `environment` has no key `inherti`
                  help: did you mean `inherit`?
                  fix: write `inherit`
                7:34-7:46 error[unknown-key]: a parameter has no key `escape-shell`
                  help: `escape-shell` has its place at `parameters.NAME.security.escape-shell`
                7:54-7:61 error[unknown-key]: a parameter has no key `secrets`
                  help: `secrets` has its place at `environment.secrets`
            "#]],
        );
    }

    #[test]
    fn tags_that_look_like_levels() {
        check(
            "name: a\ndescription: b\nbash: ls\ntags: [raed, wrte, Runn, rnu, ' read', reading, rust, network, READ]\nmetadata: {tags: [raed]}\n",
            expect![[r#"
                4:14-4:18 error[misspelt-tag]: the tag `wrte` looks like `write`, which declares how dangerous the tool is
                  help: did you mean `write`? another word has its place under `metadata.tags`
                  fix: write `write`
                4:20-4:24 error[misspelt-tag]: the tag `Runn` looks like `run`, which declares how dangerous the tool is
                  help: did you mean `run`? another word has its place under `metadata.tags`
                  fix: write `run`
                4:26-4:29 error[misspelt-tag]: the tag `rnu` looks like `run`, which declares how dangerous the tool is
                  help: did you mean `run`? another word has its place under `metadata.tags`
                  fix: write `run`
            "#]],
        );
    }

    #[test]
    fn a_word_that_looks_like_a_level_is_one_where_the_level_is_declared() {
        for tags in ["[bun, run]", "[read, raed, write]", "[rnu, read, run]"] {
            check(&format!("name: a\ndescription: b\nbash: ls\ntags: {tags}\n"), expect![""]);
        }
        check(
            "name: a\ndescription: b\nbash: ls\ntags: [bun, write]\n",
            expect![[r#"
            4:8-4:11 error[misspelt-tag]: the tag `bun` looks like `run`, which declares how dangerous the tool is
              help: did you mean `run`? another word has its place under `metadata.tags`
              fix: write `run`
        "#]],
        );
    }

    #[test]
    fn length_of_a_number() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: number, description: p, validation: {minLength: 2}}}\n",
            expect![[r#"
                4:61-4:70 error[unused-key]: `minLength` has no effect on parameter `P`, which is of type number
            "#]],
        );
    }

    #[test]
    fn contradicting_rules() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, validation: {minLength: 5, maxLength: 2}}}\n",
            expect![[r#"
            4:47-4:56 error[empty-range]: no value can satisfy `minLength` and `maxLength`
              also 4:61: smaller
        "#]],
        );
    }

    #[test]
    fn empty_enum() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, validation: {enum: []}}}\n",
            expect![[r#"
            4:47-4:51 error[empty-range]: `enum` allows no value at all
        "#]],
        );
    }

    #[test]
    fn bad_example() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: number, description: p, examples: [1, two]}}\n",
            expect![[r#"
                4:62-4:65 warning[invalid-example]: an example of `P`: expected a number, found `two`
                  help: write it as in JSON: `42`, `-0.5`, `1e3`
            "#]],
        );
    }

    #[test]
    fn unknown_transform() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, transform: lowercas}}\n",
            expect![[r#"
            4:45-4:53 error[unknown-transform]: there is no transform `lowercas`
              help: did you mean `lowercase`?
              fix: write `lowercase`
        "#]],
        );
    }

    #[test]
    fn script_transform() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, transform: value.trim()}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn unknown_inline_transform() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P:upcase}\nparameters: {P: {description: p}}\n",
            expect![[r#"
                3:13-3:23 error[unknown-transform]: there is no transform `upcase`
            "#]],
        );
    }

    #[test]
    fn near_inline_transform() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P:trim:upercase}\nparameters: {P: {description: p}}\n",
            expect![[r#"
                3:13-3:30 error[unknown-transform]: there is no transform `upercase`
                  help: did you mean `uppercase`?
                  fix: write `uppercase`
            "#]],
        );
    }

    #[test]
    fn bad_number_format() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P:format(abc)}\nparameters: {P: {type: number, description: p}}\n",
            expect![[r#"
                3:13-3:28 error[number-format]: `abc` is not a number format
            "#]],
        );
    }

    #[test]
    fn number_format_of_a_list() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P:format(00)}\nparameters: {P: {type: array, description: p}}\n",
            expect![[r#"
                3:13-3:27 error[number-format]: `format(00)` needs a number, but `P` is of type array
            "#]],
        );
    }

    #[test]
    fn format_without_value() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, format: --verbose}}\n",
            expect![[r#"
                4:42-4:51 warning[format-without-value]: `format` does not use `{value}`
                  help: write `{value}` where the value belongs, or use a number format such as `0000`
            "#]],
        );
    }

    #[test]
    fn number_as_format() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {type: number, description: p, format: '0000'}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn format_uses_another() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {Q}\nparameters: {P: {description: p, format: '{Q}={value}'}, Q: {description: q}}\n",
            expect![[r#"
            4:43-4:46 error[format-reference]: `format` cannot use parameter `Q`
        "#]],
        );
    }

    #[test]
    fn defaults_in_a_circle() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {Q} {R}\nparameters: {P: {description: p, default: '{Q}'}, Q: {description: q, default: '{R}'}, R: {description: r, default: '{P}'}}\n",
            expect![[r#"
            4:43-4:48 error[default-cycle]: defaults depend on each other: `P` → `Q` → `R` → `P`
              help: give one of them a default of its own, or none
        "#]],
        );
    }

    #[test]
    fn default_of_itself() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, default: 'x{P}'}}\n",
            expect![[r#"
            4:43-4:49 error[default-cycle]: defaults depend on each other: `P` → `P`
              help: give one of them a default of its own, or none
        "#]],
        );
    }

    #[test]
    fn unknown_alternative() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P} {NEW}\nparameters: {P: {deprecated-alternative: NWE}, NEW: {description: n}}\n",
            expect![[r#"
            4:14-4:15 warning[no-description]: parameter `P` has no description
              help: describe its purpose; people and models choose its value by that
            4:42-4:45 warning[unknown-parameter]: the alternative `NWE` is not a parameter
              help: did you mean `NEW`?
              fix: write `NEW`
        "#]],
        );
    }

    #[test]
    fn raw_parameter() {
        check(
            "name: a\ndescription: b\nbash: ls -- {P}\nparameters: {P: {description: p, security: {escape-shell: false}}}\n",
            expect![[r#"
            4:59-4:64 warning[raw-placing]: the value of `P` is placed as program text
        "#]],
        );
    }

    #[test]
    fn misspelt_placeholder() {
        check(
            "name: a\ndescription: b\nbash: ls -- {LOCATOIN}\nparameters: {LOCATION: {description: p}}\n",
            expect![[r#"
                3:14-3:22 warning[misspelt-placeholder]: `LOCATOIN` is no parameter; its value is taken from the environment
                  help: did you mean `LOCATION`?
                4:14-4:22 warning[unused-parameter]: parameter `LOCATION` is never used
                  help: write `{LOCATION}` where its value belongs, or remove it
            "#]],
        );
    }
}

mod steps {
    use super::*;

    #[test]
    fn unnamed_step() {
        check(
            "name: a\ndescription: b\nsteps: [{bash: ls}]\n",
            expect![[r#"
            3:9-3:14 error[no-name]: a step needs a `name`
              help: other steps refer to it by that, as in `{name.output}`
        "#]],
        );
    }

    #[test]
    fn dotted_step() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x.y, bash: ls}]\n",
            expect![[r#"
            3:16-3:19 error[invalid-name]: `x.y` cannot name a step
        "#]],
        );
    }

    #[test]
    fn same_step_twice() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: x, bash: ls}]\n",
            expect![[r#"
                3:37-3:38 error[duplicate-step]: a second step is called `x`
                  also 3:16: the first
            "#]],
        );
    }

    #[test]
    fn step_without_command() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x}]\n",
            expect![[r#"
            3:16-3:17 error[no-command]: a step does not define what to execute
              help: add one of `bash`, `cmd`, `pwsh`, `run`, `script`, `python`, `commands` or `use-tool`
        "#]],
        );
    }

    #[test]
    fn step_with_two_commands() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, use-tool: y}]\n",
            expect![[r#"
            3:19-3:23 error[several-commands]: a step says in two ways what it executes
              also 3:29: another
              help: keep one of them, or make them steps
        "#]],
        );
    }

    #[test]
    fn waits_for_unknown_step() {
        check(
            "name: a\ndescription: b\nsteps: [{name: fetch, bash: ls}, {name: show, bash: ls, wait-for: [ftch]}]\n",
            expect![[r#"
            3:68-3:72 error[unknown-step]: step `show` waits for `ftch`, which is not a step
              help: did you mean `fetch`?
              fix: write `fetch`
        "#]],
        );
    }

    #[test]
    fn waits_for_itself() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, wait-for: x}]\n",
            expect![[r#"
            3:39-3:40 error[step-cycle]: step `x` waits for itself
        "#]],
        );
    }

    #[test]
    fn for_each_needs_a_list() {
        for list in
            ["a b c", "3", "{a: 1}", "{NAME}", "{HOME}", "{first.exit-code}", "x{first.output}", "{FILES:uppercase}"]
        {
            let quoted = if list.starts_with("{a") || list == "3" { list.to_owned() } else { format!("\"{list}\"") };
            let yaml = format!(
                "name: a\ndescription: b\nsteps:\n  - {{name: first, bash: ls}}\n  - {{name: each, for-each: {quoted}, bash: echo \
                 {{ITEM}}}}\nparameters:\n  NAME: {{description: N, default: x}}\n  FILES: {{type: array, description: F, default: []}}\n"
            );
            let yaml = yaml.replace("bash: echo {ITEM}}", "bash: 'echo {ITEM} {NAME} {FILES}'}");
            let (_, lines) = report(&yaml, None);
            assert!(lines.contains("error[wrong-type]: `for-each` needs a list, and "), "{list}:\n{lines}");
        }
    }

    #[test]
    fn item_without_for_each() {
        check(
            "name: a\ndescription: b\nsteps:\n  - {name: one, max-parallel: 2, bash: ls}\n  - {name: two, for-each: [x], max-parallel: 65, run-condition: \"{ITEM} == 'x'\", bash: 'echo {ITEM}'}\nmax-parallel: 3\nparameters:\n  ITEM: {description: I, default: x}\n",
            expect![[r#"
                4:17-4:29 warning[unused-key]: `max-parallel` has no effect on a step without `for-each`
                  help: at the top of the file, it limits how many steps run at once
                5:17-5:25 error[shadows-predefined]: `{ITEM}` is the item here, and the tool has a parameter of this name
                  help: rename the parameter
                5:46-5:48 error[out-of-range]: `max-parallel` is 65, but must be at most 64
            "#]],
        );
        check(
            "name: a\ndescription: b\nmax-parallel: 2\nbash: ls\n",
            expect![[r#"
            3:1-3:13 warning[unused-key]: `max-parallel` has no effect on a tool without `steps`
        "#]],
        );
        check(
            "name: a\ndescription: b\nsteps:\n  - {name: two, for-each: [x], run-condition: \"{ITEM} == 'x'\", bash: '{ITEM} --version'}\n",
            expect![[r#"
                4:48-4:54 error[unknown-name-in-condition]: `{ITEM}` has no value here: a step is skipped or runs with all its items
                  help: leave items out of the list, or decide in the command
                4:71-4:77 error[value-chooses-program]: the value of `ITEM` would be the program that runs
                  help: list the programs in `validation: {enum: […]}` of `ITEM`; or mean it, with `placing: program` (level run)
            "#]],
        );
    }

    #[test]
    fn steps_in_a_circle() {
        check(
            "name: a\ndescription: b\nsteps:\n  - {name: x, bash: ls, wait-for: [z]}\n  - {name: y, bash: ls, wait-for: [x]}\n  - {name: z, bash: ls, wait-for: [y]}\n",
            expect![[r#"
            4:36-4:37 error[step-cycle]: steps wait for each other: `x` → `z` → `y` → `x`
              also 6:36: `z` waits for `y`
              also 5:36: `y` waits for `x`
        "#]],
        );
    }

    #[test]
    fn forward_reference_to_a_barrier() {
        check(
            "name: a\ndescription: b\nsteps:\n  - {name: x, bash: 'echo {y.output}'}\n  - {name: y, bash: ls}\n",
            expect![[r#"
            4:27-4:37 error[step-cycle]: steps wait for each other: `x` → `y` → `x`
              also 5:12: `y` comes after `x`
              help: move the step up, or give the earlier one `wait-for` or `parallel: true`
        "#]],
        );
    }

    #[test]
    fn forward_reference_to_a_free_step() {
        check(
            "name: a\ndescription: b\nsteps:\n  - {name: x, bash: 'echo {y.output}'}\n  - {name: y, bash: ls, parallel: true}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn uses_its_own_result() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: 'echo {x.output}'}]\n",
            expect![[r#"
            3:31-3:41 error[step-cycle]: step `x` uses a result of itself
        "#]],
        );
    }

    #[test]
    fn unknown_attribute() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: 'echo {x.outptu}'}]\n",
            expect![[r#"
            3:53-3:61 error[unknown-step-attribute]: a step has no `outptu`, which is asked of `x`
              help: did you mean `x.output`?
        "#]],
        );
    }

    #[test]
    fn unknown_step_in_text() {
        check(
            "name: a\ndescription: b\nsteps: [{name: fetch, bash: ls}, {name: y, bash: 'echo {fech.output}'}]\n",
            expect![[r#"
            3:57-3:68 error[unknown-step-reference]: `fech` is not a step of this tool
              help: did you mean `fetch`?
        "#]],
        );
    }

    #[test]
    fn step_in_tool_environment() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}]\nenvironment: {variables: {V: '{x.output}'}}\n",
            expect![[r#"
            4:31-4:41 error[step-reference]: the result of step `x` is not known here
        "#]],
        );
    }

    #[test]
    fn step_in_default() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: 'ls -- {P}'}]\nparameters: {P: {description: p, default: '{x.output}'}}\n",
            expect![[r#"
            4:44-4:54 error[step-reference]: the result of step `x` is not known here
        "#]],
        );
    }

    #[test]
    fn flat_environment() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, environment: {A: 1, B: '{OS}'}}]\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn nested_environment() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, environment: {variables: {A: 1}, inherit: false, secert: [A]}}]\n",
            expect![[r#"
                3:78-3:84 error[unknown-key]: `environment` has no key `secert`
                  help: did you mean `secrets`?
                  fix: write `secrets`
            "#]],
        );
    }

    #[test]
    fn stream_to_no_file() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, output: {mode: stream, stream-callback: file}}]\n",
            expect![[r#"
            3:69-3:73 error[no-stream-file]: `stream-callback: file` names no file
              help: add `stream-file`
        "#]],
        );
    }

    #[test]
    fn stream_file_unused() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, output: {stream-callback: console, stream-file: f}}]\n",
            expect![[r#"
            3:64-3:75 warning[unused-key]: `stream-file` has no effect without `stream-callback: file`
        "#]],
        );
    }

    #[test]
    fn broken_condition() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: '{x.exit-code} =='}]\n",
            expect![[r#"
            3:82-3:82 error[condition-syntax]: the condition ends where a value was expected
        "#]],
        );
    }

    #[test]
    fn orders_text() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: '{x.exit-code} < low'}]\n",
            expect![[r#"
            3:66-3:79 error[condition-type]: `<` orders numbers, and `low` is not one
              help: compare with `==` or `!=`
        "#]],
        );
    }

    #[test]
    fn orders_what_is_declared_as_text() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: '{S} < 3 || {x.output} < \"10\" || {x.output} > {x.error} || {x.output} > 3 || {N} > {x.output}'}]\nparameters: {S: {description: d}, N: {type: number, description: d}}\n",
            expect![[r#"
                3:66-3:69 error[condition-type]: `<` orders numbers, and `S` is text
                  help: declare `S` with `type: number`
                3:77-3:87 error[condition-type]: `<` orders numbers, and `10` in quotes is text
                  help: write `10` without quotes
                3:98-3:108 error[condition-type]: `>` orders numbers, and both sides are text, of which one counts as a number only next to a number
                  help: compare with a number, or with a parameter of `type: number`
            "#]],
        );
    }

    #[test]
    fn orders_text_in_a_choice() {
        check(
            "name: a\ndescription: b\nbash: \"echo {S < 3 ? 'a' : 'b'} {A < 3 ? 'a' : 'b'} {N < '3' ? 'a' : 'b'}\"\nparameters: {S: {description: d}, A: {type: any, description: d}, N: {type: number, description: d, format: \"{value > 3 ? 'x' : 'y'}\"}}\n",
            expect![[r#"
                3:14-3:15 error[condition-type]: `<` orders numbers, and `S` is text
                  help: declare `S` with `type: number`
                3:54-3:55 error[condition-type]: `<` orders numbers, and `3` in quotes is text
                  help: write `3` without quotes
            "#]],
        );
    }

    #[test]
    fn orders_what_an_alias_does_not_know() {
        check("name: a\ntype: alias\nbase-tool: b\ndefault-parameters: {X: \"{N < 3 ? 'a' : 'b'}\"}\n", expect![""]);
    }

    #[test]
    fn orders_a_status() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: '{x.status} > 1'}]\n",
            expect![[r#"
            3:66-3:76 error[condition-type]: `>` orders numbers, and `x.status` is not one
              help: compare with `==` or `!=`
        "#]],
        );
    }

    #[test]
    fn never_equal() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: '{x.exit-code} == ok || {x.skipped} != maybe'}]\n",
            expect![[r#"
            3:66-3:79 warning[condition-type]: the comparison never holds: `x.exit-code` is never `ok`
            3:89-3:100 warning[condition-type]: the comparison always holds: `x.skipped` is never `maybe`
        "#]],
        );
    }

    #[test]
    fn no_value_in_a_condition() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, run-condition: '{VERBOS} == true || verbose == true || $HOME != /root || deploy'}]\nparameters: {VERBOSE: {type: boolean, description: d}}\n",
            expect![[r#"
                3:44-3:109 warning[condition-type]: the condition never holds: `verbose` is a plain word, and nothing in it has a value
                  help: did you mean `{VERBOSE}`?
                3:44-3:109 warning[condition-type]: the condition always holds: `$HOME` and `/root` are plain words, and nothing in it has a value
                  help: did you mean `{HOME}`?
                3:44-3:109 warning[condition-type]: the condition always holds: `deploy` is a plain word, and nothing in it has a value
                  help: the value of a parameter or of a step is written in braces, as in `{NAME}`
                3:45-3:53 warning[misspelt-placeholder]: `VERBOS` is no parameter; its value is taken from the environment
                  help: did you mean `VERBOSE`?
                4:14-4:21 warning[unused-parameter]: parameter `VERBOSE` is never used
                  help: write `{VERBOSE}` where its value belongs, or remove it
            "#]],
        );
    }

    #[test]
    fn never_one_of_the_choices() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, run-condition: '{MODE} == rleease || {OS} != darwin || {MODE} == \"\" || {FREE} == any'}]\nparameters: {MODE: {description: d, enum: [debug, release]}, FREE: {description: d, enum: [A], transform: lowercase}}\n",
            expect![[r#"
                3:45-3:51 warning[condition-type]: the comparison never holds: `MODE` is never `rleease`
                  help: did you mean `release`?
                3:66-3:70 warning[condition-type]: the comparison always holds: `OS` is never `darwin`
            "#]],
        );
    }

    #[test]
    fn unknown_status() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: '{x.status} == skiped'}]\n",
            expect![[r#"
            3:66-3:76 warning[condition-type]: the comparison never holds: `x.status` is never `skiped`
              help: did you mean `skipped`?
        "#]],
        );
    }

    #[test]
    fn bad_pattern_in_condition() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls}, {name: y, bash: ls, run-condition: \"{x.output} matches '[a'\"}]\n",
            expect![[r#"
            3:85-3:89 error[bad-pattern]: `[a` is not a regular expression
        "#]],
        );
    }
}

mod settings {
    use super::*;

    #[test]
    fn permissions() {
        check(
            "name: a\ndescription: b\nbash: ls -- {D}\nparameters: {D: {description: d}}\nsecurity:\n  required-permissions:\n    - filesystem:write:{D}\n    - network:external:api.example.com:443\n    - network:loopback:*\n    - network:external:[::1]:80\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn unknown_permissions() {
        check(
            "name: a\ndescription: b\nbash: ls\nsecurity:\n  required-permissions:\n    - filesytem:read:/tmp\n    - filesystem:reed:/tmp\n    - filesystem:read\n    - network:external:\n    - network:external:https://example.com/\n    - network:external:example.com:http\n    - everything\n",
            expect![[r#"
                6:7-6:26 error[unknown-permission]: `filesytem:read:/tmp` is not a permission we know
                  help: did you mean `filesystem`?
                7:7-7:27 error[unknown-permission]: `filesystem:reed` is not a permission we know
                  help: did you mean `read`?
                8:7-8:22 error[unknown-permission]: `filesystem:read` names no path
                9:7-9:24 error[wrong-type]: an item of `required-permissions` takes text, not a mapping
                  help: in YAML, a value that begins with `{` is a mapping: put the whole value in quotes
                10:7-10:44 error[unknown-permission]: `https://example.com/` is not a host
                  help: write the host alone, without `https://` and path
                11:7-11:40 error[unknown-permission]: `example.com:http` is not a host
                12:7-12:17 error[unknown-permission]: `everything` is not a permission we know
            "#]],
        );
    }

    #[test]
    fn container_without_isolation() {
        check(
            "name: a\ndescription: b\nbash: ls\nsecurity: {container: {image: alpine}}\n",
            expect![[r#"
            4:12-4:21 error[container-unused]: `container` needs `isolation: container`
        "#]],
        );
    }

    #[test]
    fn options_without_interactive() {
        check(
            "name: a\ndescription: b\nbash: ls\ninteractive-options: {timeout: 1}\n",
            expect![[r#"
            4:1-4:20 warning[unused-key]: `interactive-options` has no effect without `interactive: true`
        "#]],
        );
    }

    #[test]
    fn near_secret() {
        check(
            "name: a\ndescription: b\nbash: ls\nenvironment: {variables: {API_KEY: x}, secrets: [API_KYE, OTHER_TOKEN]}\n",
            expect![[r#"
            4:50-4:57 warning[unknown-secret]: `API_KYE` is neither a variable nor a parameter of this tool
              help: did you mean `API_KEY`?
              fix: write `API_KEY`
        "#]],
        );
    }

    #[test]
    fn bad_variable_name() {
        check(
            "name: a\ndescription: b\nbash: ls\nenvironment: {variables: {'A=B': x}}\n",
            expect![[r#"
            4:27-4:32 error[invalid-name]: `A=B` cannot name an environment variable
        "#]],
        );
    }

    #[test]
    fn two_working_directories() {
        check(
            "name: a\ndescription: b\nbash: ls\nworking-directory: /a\nfile-paths: {working-directory: /b}\n",
            expect![[r#"
            5:14-5:31 warning[unused-key]: `working-directory` is given twice
              also 4:1: this one is used
        "#]],
        );
    }

    #[test]
    fn bad_mapping() {
        check(
            "name: a\ndescription: b\nbash: ls\nfunction-calling: {schema-generation: {parameter-mapping: {sting: string, number: float}}}\n",
            expect![[r#"
            4:60-4:65 warning[unknown-key]: `sting` is not a parameter type
              help: did you mean `string`?
              fix: write `string`
            4:83-4:88 error[unknown-choice]: `float` is not a JSON Schema type
        "#]],
        );
    }

    #[test]
    fn unnamed_test() {
        check(
            "name: a\ndescription: b\nbash: ls\ntests: [{expected: {exit-code: 0}}]\n",
            expect![[r#"
            4:9-4:18 error[no-name]: a test needs a `name`
        "#]],
        );
    }

    #[test]
    fn same_test_twice() {
        check(
            "name: a\ndescription: b\nbash: ls\ntests: [{name: t}, {name: t}]\n",
            expect![[r#"
                4:27-4:28 error[duplicate-test]: a second test is called `t`
                  also 4:16: the first
            "#]],
        );
    }

    #[test]
    fn unknown_argument() {
        check(
            "name: a\ndescription: b\nbash: ls -- {FILE}\nparameters: {FILE: {description: f}}\ntests: [{name: t, parameters: {FIEL: x}}]\n",
            expect![[r#"
            5:32-5:36 error[unknown-parameter]: the tool has no parameter `FIEL`
              help: did you mean `FILE`?
              fix: write `FILE`
        "#]],
        );
    }

    #[test]
    fn wrong_argument() {
        check(
            "name: a\ndescription: b\nbash: ls -- {N}\nparameters: {N: {type: number, description: n}}\ntests: [{name: t, parameters: {N: x}}, {name: u, parameters: {N: x}, expected: {exit-code: 2}}]\n",
            expect![[r#"
                5:35-5:36 warning[invalid-argument]: the value of `N`: expected a number, found `x`
                  help: write it as in JSON: `42`, `-0.5`, `1e3`
            "#]],
        );
    }
}

mod ignored {
    use super::*;

    #[test]
    fn beside_use_tool_in_a_step() {
        check(
            "name: a\ndescription: b\nsteps:\n- name: s\n  use-tool: t\n  shell: bash\n  shell-options: [e]\n  working-directory: /\n  input: x\n  environment: {variables: {A: b}}\n  output: {mode: stream, masked-values: [x]}\n  timeout: 5\n  continue-on-error: true\n  error-handling: {retry: {attempts: 1}}\n  with: {A: b}\n- {name: c, bash: ls, working-directory: /, input: x, environment: {A: b}, output: {mode: stream}}\n",
            expect![[r#"
                6:3-6:8 warning[ignored-with-use-tool]: `shell` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                7:3-7:16 warning[ignored-with-use-tool]: `shell-options` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                8:3-8:20 warning[ignored-with-use-tool]: `working-directory` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                9:3-9:8 warning[ignored-with-use-tool]: `input` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                10:3-10:14 warning[ignored-with-use-tool]: `environment` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                11:12-11:16 warning[ignored-with-use-tool]: `output.mode` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                11:26-11:39 error[ignored-with-use-tool]: `output.masked-values` has no effect on step `s`, which calls the tool `t`
                  help: give the tool a parameter for it and set that in `with`, or remove the key
            "#]],
        );
    }

    #[test]
    fn a_fallback_takes_what_a_called_tool_does_not() {
        check(
            "name: a\ndescription: b\nsteps:\n- {name: s, use-tool: t, shell: bash, working-directory: /, environment: {A: b}, output: {mode: stream}, error-handling: {fallback: 'echo $A'}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn beside_use_tool_in_a_tool() {
        check(
            "name: a\ndescription: b\nuse-tool: t\nshell: bash\nshell-options: [e]\nworking-directory: /\ninput: x\ninteractive: true\ninteractive-options: {timeout: 1}\nenvironment: {variables: {A: b}, inherit: false, secrets: [A]}\nfile-paths: {normalize: true, temp-directory: /tmp}\nresources: {timeout: 5, max-memory: 1MB}\nignore-errors: true\n",
            expect![[r#"
                4:1-4:6 warning[ignored-with-use-tool]: `shell` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                5:1-5:14 warning[ignored-with-use-tool]: `shell-options` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                6:1-6:18 warning[ignored-with-use-tool]: `working-directory` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                7:1-7:6 warning[ignored-with-use-tool]: `input` has no effect, because what would read it calls another tool
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                8:1-8:12 warning[ignored-with-use-tool]: `interactive` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                9:1-9:20 warning[ignored-with-use-tool]: `interactive-options` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                10:15-10:24 warning[ignored-with-use-tool]: `environment.variables` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                10:34-10:41 error[ignored-with-use-tool]: `environment.inherit` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                12:25-12:35 error[ignored-with-use-tool]: `resources.max-memory` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
            "#]],
        );
    }

    #[test]
    fn in_a_tool_whose_steps_all_call_others() {
        check(
            "name: a\ndescription: b\nenvironment: {variables: {A: b}}\ninput: x\nfile-paths: {working-directory: /}\nsteps: [{name: s, use-tool: t}, {name: u, use-tool: t}]\n",
            expect![[r#"
                3:15-3:24 warning[ignored-with-use-tool]: `environment.variables` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                4:1-4:6 warning[ignored-with-use-tool]: `input` has no effect, because what would read it calls another tool
                  help: give the tool a parameter for it and set that in `with`, or remove the key
                5:14-5:31 warning[ignored-with-use-tool]: `file-paths.working-directory` has no effect on a tool that only calls others
                  help: give the tool a parameter for it and set that in `with`, or remove the key
            "#]],
        );
    }

    #[test]
    fn a_single_command_is_reason_enough_for_its_surroundings() {
        check(
            "name: a\ndescription: b\nenvironment: {variables: {A: b}}\nworking-directory: /\nresources: {max-memory: 1MB, cleanup: [{final-command: 'true'}]}\nsteps: [{name: s, use-tool: t}, {name: u, use-tool: t}]\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn on_an_alias() {
        check(
            "name: a\ntype: alias\nbase-tool: t\nparameters: {P: {description: p}}\nwith: {A: b}\nshell: bash\nshell-options: [e]\nworking-directory: /\nignore-errors: true\ninput: x\ninteractive: true\ninteractive-options: {timeout: 1}\nfile-paths: {normalize: true}\nfunction-calling: {schema-generation: {include-defaults: false}}\nenvironment: {variables: {A: b}, secrets: [A]}\nresources: {timeout: 5, max-memory: 1MB, cleanup: [{delete-temp-files: true}]}\nsecurity: {justification: j}\n",
            expect![[r#"
                5:1-5:5 warning[ignored-by-alias]: `with` has no effect on an alias
                  help: set it in `t`, or remove it
                6:1-6:6 warning[ignored-by-alias]: `shell` has no effect on an alias
                  help: set it in `t`, or remove it
                7:1-7:14 warning[ignored-by-alias]: `shell-options` has no effect on an alias
                  help: set it in `t`, or remove it
                8:1-8:18 warning[ignored-by-alias]: `working-directory` has no effect on an alias
                  help: set it in `t`, or remove it
                9:1-9:14 warning[ignored-by-alias]: `ignore-errors` has no effect on an alias
                  help: set it in `t`, or remove it
                10:1-10:6 warning[ignored-by-alias]: `input` has no effect on an alias
                  help: set it in `t`, or remove it
                11:1-11:12 warning[ignored-by-alias]: `interactive` has no effect on an alias
                  help: set it in `t`, or remove it
                12:1-12:20 warning[ignored-by-alias]: `interactive-options` has no effect on an alias
                  help: set it in `t`, or remove it
                13:1-13:11 warning[ignored-by-alias]: `file-paths` has no effect on an alias
                  help: set it in `t`, or remove it
                14:1-14:17 warning[ignored-by-alias]: `function-calling` has no effect on an alias
                  help: set it in `t`, or remove it
                15:15-15:24 warning[ignored-by-alias]: `environment.variables` has no effect on an alias
                  help: set it in `t`, or remove it
                15:34-15:41 error[ignored-by-alias]: `environment.secrets` has no effect on an alias
                  help: set it in `t`, or remove it
                16:25-16:35 error[ignored-by-alias]: `resources.max-memory` has no effect on an alias
                  help: set it in `t`, or remove it
                16:42-16:49 warning[ignored-by-alias]: `resources.cleanup` has no effect on an alias
                  help: set it in `t`, or remove it
                17:1-17:9 warning[ignored-by-alias]: `security` has no effect on an alias
                  help: set it in `t`, or remove it
            "#]],
        );
    }

    #[test]
    fn what_an_alias_has_of_its_own() {
        check(
            "name: a\ndescription: d\ntype: alias\nbase-tool: t\ndefault-parameters: {A: b}\nversion: 1.0.0\ntags: [read]\nmetadata: {category: c}\nplatforms: [linux]\nrequires: {commands: [ls]}\ndeprecated: true\nchangelog: [{version: 1.0.0, changes: c}]\ntimeout: 5\nriskLevel: high\ntests: [{name: t}]\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn confinement_of_an_alias_is_never_dropped_silently() {
        check(
            "name: a\ntype: alias\nbase-tool: t\nsecurity: {isolation: container}\n",
            expect![[r#"
                4:1-4:9 error[ignored-by-alias]: `security` has no effect on an alias
                  help: move it to `t`
            "#]],
        );
    }
}

mod placing {
    use super::*;

    /// The words are those of the crate that knows shells.
    #[track_caller]
    fn check(yaml: &str, expect: Expect) {
        let (_, lines) = report(yaml, None);
        let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with(' ')).collect();
        let places: Vec<String> =
            lines.iter().map(|line| format!("{}]\n", line.split("]:").next().unwrap_or_default())).collect();
        expect.assert_eq(&places.concat());
    }

    #[test]
    fn raw_hole() {
        check(
            "name: a\ndescription: b\nbash: ls -- {RAW:P}\nparameters: {P: {description: p}}\n",
            expect![[r#"
                3:13-3:20 warning[raw-placing]
            "#]],
        );
    }

    #[test]
    fn text_in_arithmetic() {
        check(
            "name: a\ndescription: b\nbash: echo $(( {P} + 1 ))\nparameters: {P: {description: p}}\n",
            expect![[r#"
                3:16-3:19 error[value-in-arithmetic]
            "#]],
        );
    }

    #[test]
    fn number_in_arithmetic() {
        check(
            "name: a\ndescription: b\nbash: echo $(( {P} + 1 ))\nparameters: {P: {type: number, description: p}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn enum_in_code() {
        check(
            "name: a\ndescription: b\nbash: bash -c 'echo {P}'\nparameters: {P: {description: p, validation: {enum: [x, y]}}}\n",
            expect![[r#""#]],
        );
    }

    #[test]
    fn value_in_python() {
        check(
            "name: a\ndescription: b\npython: print('{P}', {N})\nparameters: {P: {description: p}, N: {type: number, description: n}}\n",
            expect![[r#"
                3:16-3:19 error[inline-value]
            "#]],
        );
    }
}

mod interface {
    use super::*;

    #[test]
    fn interface_in_full() {
        check(
            r##"name: a
title: A tool
group: things
description: b
bash: echo "{n}"
hints: {read-only: true, idempotent: true, open-world: false}
input-schema:
  type: object
  $defs: {n: {type: integer}}
  properties: {n: {$ref: "#/$defs/n", description: How many, x-mcp-header: N}}
  required: [n]
returns: {type: object, properties: {n: {type: integer}}}
offer: {resource: "things://{n}/x"}
reports: true
task: required
"##,
            expect![""],
        );
    }

    #[test]
    fn snake_case_hints() {
        check(
            "name: a\ndescription: b\nbash: ls\nhints: {read_only: true, open_world: true}\n",
            expect![[r#"
            4:9-4:18 warning[key-synonym]: `read_only` is another name for `read-only`
              fix: write `read-only`
            4:26-4:36 warning[key-synonym]: `open_world` is another name for `open-world`
              fix: write `open-world`
        "#]],
        );
    }

    #[test]
    fn hints_that_contradict() {
        check(
            "name: a\ndescription: b\nbash: ls\nhints: {read-only: true, destructive: true}\n",
            expect![[r#"
            4:9-4:18 warning[contradicting-hints]: what changes nothing cannot do this
              also 4:26: declares that it changes something
              help: remove one of the two
        "#]],
        );
    }

    #[test]
    fn hints_against_tags() {
        check(
            "name: a\ndescription: b\nbash: ls\ntags: [write]\nhints: {read-only: true}\n",
            expect![[r#"
            5:9-5:18 warning[contradicting-hints]: what changes nothing cannot do this
              also 4:8: declares that it changes something
              help: remove one of the two
        "#]],
        );
    }

    #[test]
    fn hints_of_wrong_type() {
        check(
            "name: a\ndescription: b\nbash: ls\nhints: {read-only: yes, destuctive: true}\n",
            expect![[r#"
            4:20-4:23 error[wrong-type]: `read-only` takes `true` or `false`
              fix: write `true`
            4:25-4:35 warning[unknown-key]: `hints` has no key `destuctive`
              help: did you mean `destructive`?
              fix: write `destructive`
        "#]],
        );
    }

    #[test]
    fn a_rank_of_what_is_not_returned() {
        let returns = "returns:\n  type: object\n  properties:\n    errors: {type: array, items: {type: string}}\n    results: {type: array, items: {type: object, properties: {title: {type: string}}}}\n    open: {type: object}\n";
        let tool = |rank: &str| format!("name: a\ndescription: b\nbash: ls\n{returns}rank: {rank}\n");
        check(&tool("[errors, results.title, open.anything]"), expect![""]);
        check(
            &tool("[error, results.titel, .x]"),
            expect![[r#"
                10:8-10:13 error[unknown-choice]: `returns` describes no property `error`
                  help: did you mean `errors`?
                10:15-10:28 error[unknown-choice]: `returns` describes no property `titel`
                  help: did you mean `title`?
                10:30-10:32 error[unknown-choice]: `.x` is no name of a property
                  help: write a name such as `errors`, or several such as `results.title`
            "#]],
        );
        check("name: a\ndescription: b\nbash: ls\nproduces: application/json\nrank: errors\n", expect![""]);
        check(
            "name: a\ndescription: b\nbash: ls\nrank: [errors]\n",
            expect![[r#"
                4:1-4:5 warning[unused-key]: `rank` has no effect on a tool whose output isn't JSON
                  help: describe the output with `returns`, or remove `rank`
            "#]],
        );
    }

    /// A page that has nothing to show says so.
    #[test]
    fn a_page_that_does_not_fit() {
        let tool = |body: &str, page: &str| format!("name: a\ndescription: b\n{body}\npage: {page}\n");
        let rows = "bash: ls\nreturns: {type: array, items: {type: object}}";
        let inner = "bash: ls\nreturns: {type: object, properties: {users: {type: array, items: {type: object}}, total: {type: integer}}}";
        let steps = "steps: [{name: one, bash: ls}]";
        let takes = "bash: ls {X}\nparameters: {X: {description: x, required: true}}";
        let json = "bash: ls\nproduces: application/json";
        for (body, page) in [
            (rows, "table"),
            (rows, "chart"),
            (inner, "table"),
            (inner, "chart"),
            (json, "table"),
            (json, "chart"),
            (steps, "graph"),
            (takes, "form"),
        ] {
            let (_, said) = report(&tool(body, page), None);
            assert!(!said.contains("`page"), "{body} {page}: {said}");
        }
        let words = "bash: ls\nreturns: {type: array, items: {type: string}}";
        check(
            &tool(words, "table"),
            expect![[r#"
                4:17-4:22 hint[returns-for-hosts]: hosts of the protocol up to 2025-11-25 get the output as `{"result": …}`
                  help: to choose the name, return an object with a property for it
                5:7-5:12 warning[unused-key]: `page: table` has no effect: it is for a tool that returns a list of objects
                  help: remove `page`, or choose another one
            "#]],
        );
        check(
            &tool(words, "chart"),
            expect![[r#"
                4:17-4:22 hint[returns-for-hosts]: hosts of the protocol up to 2025-11-25 get the output as `{"result": …}`
                  help: to choose the name, return an object with a property for it
                5:7-5:12 warning[unused-key]: `page: chart` has no effect: it is for a tool that returns numbers by their keys
                  help: remove `page`, or choose another one
            "#]],
        );
        check(
            &tool("bash: ls", "table"),
            expect![[r#"
                4:7-4:12 warning[unused-key]: `page: table` has no effect: it is for a tool that returns a list of objects
                  help: remove `page`, or choose another one
            "#]],
        );
        check(
            &tool("bash: ls", "graph"),
            expect![[r#"
                4:7-4:12 warning[unused-key]: `page: graph` has no effect: it is for a tool with `steps`
                  help: remove `page`, or choose another one
            "#]],
        );
        check(
            &tool("bash: ls", "form"),
            expect![[r#"
                4:7-4:11 warning[unused-key]: `page: form` has no effect: it is for a tool with parameters
                  help: remove `page`, or choose another one
            "#]],
        );
        check(
            &tool("bash: ls\noffer: prompt\nproduces: application/json", "table"),
            expect![[r#"
                6:7-6:12 warning[unused-key]: `page: table` has no effect: it is for what is offered as a tool
                  help: remove `page`, or choose another one
            "#]],
        );
        check(
            &tool("bash: ls", "tabel"),
            expect![[r#"
            4:7-4:12 error[unknown-choice]: `page` cannot be `tabel`
              help: did you mean `table`?
              fix: write `table`
        "#]],
        );
    }

    #[test]
    fn schemas_that_are_none() {
        check(
            "name: a\ndescription: b\nbash: ls\nreturns: {type: object, properties: {a: {type: int}}}\n",
            expect![[r#"
                4:48-4:51 error[invalid-schema]: `returns` is not a schema that can be used
            "#]],
        );
    }

    #[test]
    fn a_schema_is_a_mapping() {
        check(
            "name: a\ndescription: b\nbash: ls\nreturns: true\n",
            expect![[r#"
            4:10-4:14 error[wrong-type]: `returns` takes a JSON Schema
        "#]],
        );
    }

    #[test]
    fn hosts_are_shown_what_all_of_them_can_read() {
        check(
            "name: a\ndescription: b\nbash: ls\nreturns: {type: array}\n",
            expect![[r#"
                4:17-4:22 hint[returns-for-hosts]: hosts of the protocol up to 2025-11-25 get the output as `{"result": …}`
                  help: to choose the name, return an object with a property for it
            "#]],
        );
        check(
            "name: a\ndescription: b\nbash: ls\nreturns: {type: object, properties: {a: {pattern: (?i)a}}}\n",
            expect![[r#"
                4:51-4:56 hint[returns-for-hosts]: hosts aren't shown this schema
            "#]],
        );
        check(
            "name: a\ndescription: b\nbash: ls\nreturns: {type: object, properties: {a: {type: string}}}\n",
            expect![[""]],
        );
    }

    #[test]
    fn no_other_document_is_fetched() {
        check(
            r#"name: a
description: b
bash: ls
returns:
  properties:
    a: {$ref: "https://example.com/a.json"}
"#,
            expect![[r#"
                6:15-6:43 error[invalid-schema]: `returns` is not a schema that can be used
            "#]],
        );
    }

    #[test]
    fn patterns_in_schemas_are_linear() {
        check(
            "name: a\ndescription: b\nbash: ls\nreturns: {type: string, pattern: \"(?=a)\"}\n",
            expect![[r#"
            4:34-4:41 error[invalid-schema]: `returns` is not a schema that can be used
        "#]],
        );
    }

    #[test]
    fn an_input_schema_is_of_an_object() {
        check(
            "name: a\ndescription: b\nbash: ls\ninput-schema: {type: array}\n",
            expect![[r#"
            4:22-4:27 error[invalid-schema]: `input-schema` is not a schema that can be used
        "#]],
        );
    }

    #[test]
    fn an_input_schema_beside_parameters() {
        check(
            r#"name: a
description: b
bash: ls -- {A}
parameters: {A: {description: c}}
input-schema: {type: object}
"#,
            expect![[r#"
                4:1-4:11 error[two-schemas]: `parameters` and `input-schema` define the same thing twice
                  also 5:1: here as well
                  help: keep one of them
            "#]],
        );
    }

    #[test]
    fn defaults_in_an_input_schema() {
        check(
            r#"name: a
description: b
bash: ls -- {A} {B}
input-schema: {type: object, properties: {A: {type: integer, default: many}, B: {default: 1}}}
"#,
            expect![[r#"
                4:71-4:75 error[invalid-default]: the default of `A`: "many" is not of type "integer"
            "#]],
        );
    }

    #[test]
    fn unused_properties_of_an_input_schema() {
        check(
            r#"name: a
description: b
bash: ls
input-schema: {type: object, properties: {A: {type: integer}}}
"#,
            expect![[r#"
                4:43-4:44 warning[unused-parameter]: parameter `A` is never used
                  help: write `{A}` where its value belongs, or remove it
            "#]],
        );
    }

    #[test]
    fn a_schema_beside_a_type() {
        check(
            r#"name: a
description: b
bash: ls -- {A}
parameters: {A: {description: c, type: string, validation: {minLength: 1}, schema: {type: string}}}
"#,
            expect![[r#"
                4:34-4:38 error[two-schemas]: `type` and `schema` define the same thing twice
                  also 4:76: here as well
                  help: keep one of them
                4:48-4:58 error[two-schemas]: `validation` and `schema` define the same thing twice
                  also 4:76: here as well
                  help: keep one of them
            "#]],
        );
    }

    #[test]
    fn a_parameters_schema_stands_alone() {
        check(
            r##"name: a
description: b
bash: ls -- {A}
parameters: {A: {description: c, schema: {$ref: "#/$defs/a", $defs: {a: {type: string}}}}}
"##,
            expect![[r#"
                4:42-4:89 error[invalid-schema]: `schema` is not a schema that can be used
            "#]],
        );
    }

    #[test]
    fn a_default_against_its_schema() {
        check(
            r#"name: a
description: b
bash: ls -- {A}
parameters: {A: {description: c, default: [1, x], schema: {type: array, items: {type: integer}}}}
"#,
            expect![[r#"
                4:47-4:48 error[invalid-default]: the default of `A[1]`: "x" is not of type "integer"
            "#]],
        );
    }

    #[test]
    fn produces_short_names() {
        check(
            "name: a\ndescription: b\nbash: ls\nproduces: json\n",
            expect![[r#"
            4:11-4:15 error[unknown-choice]: `produces` cannot be `json`
              fix: write `application/json`
        "#]],
        );
    }

    #[test]
    fn produces_anything_else() {
        check(
            "name: a\ndescription: b\nbash: ls\nproduces: a picture\n",
            expect![[r#"
            4:11-4:20 error[unknown-choice]: `produces` cannot be `a picture`
        "#]],
        );
    }

    #[test]
    fn returns_and_no_json() {
        check(
            "name: a\ndescription: b\nbash: ls\nproduces: text/plain\nreturns: {type: object}\n",
            expect![[r#"
            4:11-4:21 error[returns-no-json]: `returns` describes JSON, and this is another thing
              also 5:1: described here
              help: remove `produces`, or remove `returns`
        "#]],
        );
    }

    #[test]
    fn offers_of_no_kind() {
        check(
            "name: a\ndescription: b\nbash: ls\noffer: promt\n",
            expect![[r#"
            4:8-4:13 error[unknown-choice]: `offer` cannot be `promt`
              help: did you mean `prompt`?
              fix: write `prompt`
        "#]],
        );
    }

    #[test]
    fn offers_as_a_list() {
        check(
            "name: a\ndescription: b\nbash: ls\noffer: [tool]\n",
            expect![[r#"
            4:8-4:14 error[wrong-type]: `offer` takes `tool` or `prompt` or a mapping, not a list
        "#]],
        );
    }

    #[test]
    fn a_resource_with_another_key() {
        check(
            "name: a\ndescription: b\nbash: ls\noffer: {uri: \"a:b\"}\n",
            expect![[r#"
            4:8-4:20 error[invalid-uri]: a resource needs its address
              help: write an address such as `notes://today` or `notes://{DAY}`
            4:9-4:12 warning[unknown-key]: a resource has no key `uri`
        "#]],
        );
    }

    #[test]
    fn addresses_that_are_none() {
        check(
            "name: a\ndescription: b\nbash: ls\noffer: {resource: notes}\n",
            expect![[r#"
            4:19-4:24 error[invalid-uri]: `notes` is not the address of a resource: it has no scheme, as in `notes:`
              help: write an address such as `notes://today` or `notes://{DAY}`
        "#]],
        );
    }

    #[test]
    fn addresses_with_other_templates() {
        check(
            r#"name: a
description: b
bash: ls -- {A}
parameters: {A: {description: c}}
offer: {resource: "notes:{+A}"}
"#,
            expect![[r#"
                5:19-5:31 error[invalid-uri]: `notes:{+A}` is not the address of a resource: only a parameter's name can be in braces
                  help: write an address such as `notes://today` or `notes://{DAY}`
            "#]],
        );
    }

    #[test]
    fn addresses_with_open_braces() {
        check(
            r#"name: a
description: b
bash: ls -- {A}
parameters: {A: {description: c}}
offer: {resource: "notes:{A"}
"#,
            expect![[r#"
                5:19-5:29 error[invalid-uri]: `notes:{A` is not the address of a resource: a brace is not closed
                  help: write an address such as `notes://today` or `notes://{DAY}`
            "#]],
        );
    }

    #[test]
    fn addresses_of_unknown_parameters() {
        check(
            r#"name: a
description: b
bash: ls -- {DAY}
parameters: {DAY: {description: c}}
offer: {resource: "notes:{DAYS}"}
"#,
            expect![[r#"
                5:19-5:33 error[unknown-parameter]: the address refers to `DAYS`, which is not a parameter
                  help: did you mean `DAY`?
            "#]],
        );
    }

    #[test]
    fn resources_that_need_more() {
        check(
            r#"name: a
description: b
bash: ls -- {A} {B} {C}
parameters:
  A: {description: c, required: true}
  B: {description: c, required: true}
  C: {description: c}
offer: {resource: "notes:{A}"}
"#,
            expect![[r#"
                8:19-8:30 error[resource-needs-value]: no caller can give `B` to a resource of this address
                  help: write `{B}` into the address, or give the parameter a default
            "#]],
        );
    }

    #[test]
    fn questions_for_nobody_and_several() {
        check(
            r#"name: a
description: b
bash: ls
asks:
  one: {}
  two:
  three: {person: A?, model: B?}
  four: {roots: false}
"#,
            expect![[r#"
                5:3-5:6 error[whom-to-ask]: question `one` is for no one
                  help: give it exactly one of `person`, `model` and `roots`
                6:3-6:6 error[whom-to-ask]: question `two` is for no one
                  help: give it exactly one of `person`, `model` and `roots`
                7:3-7:8 error[whom-to-ask]: question `three` is for several at once
                  help: give it exactly one of `person`, `model` and `roots`
                8:3-8:7 error[whom-to-ask]: question `four` is for no one
                  help: give it exactly one of `person`, `model` and `roots`
            "#]],
        );
    }

    #[test]
    fn questions_with_useless_keys() {
        check(
            r#"name: a
description: b
bash: ls
asks:
  one: {person: A?, max-tokens: 5}
  two: {model: B?, fields: {c: {}}}
"#,
            expect![[r#"
                5:21-5:31 warning[unused-key]: `max-tokens` has no effect without `model`
                6:20-6:26 warning[unused-key]: `fields` has no effect without `person`
                6:29-6:30 warning[unused-parameter]: parameter `c` is never used
                  help: write `{c}` where its value belongs, or remove it
            "#]],
        );
    }

    #[test]
    fn names_of_questions() {
        check(
            "name: a\ndescription: b\nbash: ls\nasks:\n  1st: {person: A?}\n",
            expect![[r#"
            5:3-5:6 error[invalid-name]: `1st` cannot name a question
        "#]],
        );
    }

    #[test]
    fn answers_with_taken_names() {
        check(
            r#"name: a
description: b
bash: ls -- {x} {y}
parameters: {x: {description: c}}
asks:
  x: {model: A?}
  q: {person: B?, fields: {y: {}}}
  r: {person: C?, fields: {y: {}}}
"#,
            expect![[r#"
                6:3-6:4 error[duplicate-parameter]: `x` is the name of two things that hold a value
                  help: give the answer another name
                8:28-8:29 error[duplicate-parameter]: `y` is the name of two things that hold a value
                  help: give the answer another name
            "#]],
        );
    }

    #[test]
    fn answers_beside_an_input_schema() {
        check(
            r#"name: a
description: b
bash: ls -- {x}
input-schema: {type: object, properties: {x: {}}}
asks:
  x: {model: A?}
"#,
            expect![[r#"
                6:3-6:4 error[duplicate-parameter]: `x` is the name of two things that hold a value
                  help: give the answer another name
            "#]],
        );
    }

    #[test]
    fn fields_that_no_form_has() {
        check(
            r#"name: a
description: b
bash: ls -- {o} {l} {a} {c}
asks:
  q:
    person: B?
    fields:
      o: {type: object}
      l: {type: array}
      a: {type: any}
      c: {type: array, validation: {items: {type: string, enum: [x, y]}}}
"#,
            expect![[r#"
                8:7-8:8 error[form-field]: `o` cannot be asked of the user
                  help: make it a string, a number, an integer, a boolean, or an array of choices
                9:7-9:8 error[form-field]: `l` cannot be asked of the user
                  help: say in `validation.items.enum` what there is to choose from
                10:7-10:8 error[form-field]: `a` cannot be asked of the user
                  help: make it a string, a number, an integer, a boolean, or an array of choices
            "#]],
        );
    }

    #[test]
    fn questions_in_a_circle() {
        check(
            r#"name: a
description: b
bash: ls -- {x} {y}
asks:
  x: {model: "A {y}?"}
  q: {person: B?, fields: {y: {default: "{z}"}, z: {default: "{x}"}}}
"#,
            expect![[r#"
                5:3-5:4 error[ask-cycle]: questions wait for each other's answers: `x` → `x`
                  help: ask one of them without the other's answer
            "#]],
        );
    }

    #[test]
    fn unused_answers() {
        check(
            r#"name: a
description: b
bash: ls
asks:
  sure: {person: Sure?}
  q: {person: B?, fields: {y: {}}}
"#,
            expect![[r#"
                6:28-6:29 warning[unused-parameter]: parameter `y` is never used
                  help: write `{y}` where its value belongs, or remove it
            "#]],
        );
    }

    #[test]
    fn misspelt_answers_in_words() {
        check(
            "name: a\ndescription: b\nbash: ls -- {x}\nasks:\n  x: {model: \"A {Y}?\"}\n",
            expect![[r#"
            5:18-5:19 warning[misspelt-placeholder]: `Y` is no parameter; its value is taken from the environment
              help: did you mean `x`?
        "#]],
        );
    }

    #[test]
    fn an_alias_asks_nothing_itself() {
        check(
            r#"name: a
type: alias
base-tool: b
asks: {sure: {person: Sure?}}
returns: {type: object}
offer: prompt
title: T
"#,
            expect![[r#"
                4:1-4:5 warning[ignored-by-alias]: `asks` has no effect on an alias
                  help: set it in `b`, or remove it
                5:1-5:8 warning[ignored-by-alias]: `returns` has no effect on an alias
                  help: set it in `b`, or remove it
            "#]],
        );
    }

    #[test]
    fn reports_of_a_tool_that_only_calls() {
        check(
            "name: a\ndescription: b\nuse-tool: c\nreports: true\n",
            expect![[r#"
            4:1-4:8 warning[ignored-with-use-tool]: `reports` has no effect on a tool that only calls others
              help: give the tool a parameter for it and set that in `with`, or remove the key
        "#]],
        );
    }
}

/// What people write who come from other programs.
mod habits {
    use super::*;

    #[test]
    fn of_a_parameter_in_one_word() {
        check(
            "name: a\ndescription: b\nbash: echo {X} {Y}\nparameters:\n  X: string\n  Y: What it says\n  Z: [a]\n",
            expect![[r#"
                5:3-5:4 warning[no-description]: parameter `X` has no description
                  help: describe its purpose; people and models choose its value by that
                5:6-5:12 error[wrong-type]: `X` takes a mapping
                  help: write `X: {type: string}`
                  fix: write it as `type`
                6:3-6:4 warning[no-description]: parameter `Y` has no description
                  help: describe its purpose; people and models choose its value by that
                6:6-6:18 error[wrong-type]: `Y` takes a mapping
                  help: write `Y: {description: …}`
                  fix: write it as `description`
                7:3-7:4 warning[no-description]: parameter `Z` has no description
                  help: describe its purpose; people and models choose its value by that
                7:3-7:4 warning[unused-parameter]: parameter `Z` is never used
                  help: write `{Z}` where its value belongs, or remove it
                7:6-7:9 error[wrong-type]: `Z` takes a mapping, not a list
            "#]],
        );
        check(
            r#"{"name": "a", "description": "b", "bash": "echo {X}", "parameters": {"X": "integer"}}"#,
            expect![[r#"
                1:70-1:73 warning[no-description]: parameter `X` has no description
                  help: describe its purpose; people and models choose its value by that
                1:75-1:84 error[wrong-type]: `X` takes a mapping
                  help: write `X: {type: integer}`
                  fix: write it as `type`
            "#]],
        );
    }

    #[test]
    fn of_a_shell() {
        check(
            "name: a\ndescription: b\nsteps:\n- name: c\n  zsh: echo\n  cleanup: rm x\n",
            expect![[r#"
            4:9-4:10 error[no-command]: a step does not define what to execute
              help: add one of `bash`, `cmd`, `pwsh`, `run`, `script`, `python`, `commands` or `use-tool`
            5:3-5:6 warning[unknown-key]: a step has no key `zsh`
              help: write `script`, with `shell: zsh`
            6:3-6:10 warning[unknown-key]: a step has no key `cleanup`
              help: write it for the whole tool: `resources: {cleanup: [{final-command: …}]}`
        "#]],
        );
    }

    #[test]
    fn of_a_tool() {
        check(
            "name: a\ndesc: b\nbash: ls {X}\nargs: {X: {type: string, description: x}}\nenv:\n  A: b\n  C: |\n    d\ncwd: /\nif: x\nneeds: [b]\nruns-on: linux\nimage: node:20\n",
            expect![[r#"
                1:1-1:5 error[no-description]: a tool needs a `description`
                  help: describe its purpose; people and models choose tools by that
                2:1-2:5 warning[unknown-key]: a tool has no key `desc`
                  help: write `description`
                  fix: write `description`
                3:10-3:13 hint[could-be-option]: a value of `X` that begins with `-` is refused: `ls` would read it as an option
                  fix: write `-- {X}`; then any value passes
                4:1-4:5 warning[unknown-key]: a tool has no key `args`
                  help: write `parameters`
                  fix: write `parameters`
                5:1-5:4 error[unknown-key]: a tool has no key `env`
                  help: write `environment: {variables: …}`
                  fix: write `environment`, with `variables` below it
                9:1-9:4 warning[unknown-key]: a tool has no key `cwd`
                  help: write `working-directory`
                  fix: write `working-directory`
                10:1-10:3 error[unknown-key]: a tool has no key `if`
                  help: write it at a step, as `run-condition`
                11:1-11:6 warning[unknown-key]: a tool has no key `needs`
                  help: write `steps`, with `use-tool` for each tool that comes first
                13:1-13:6 error[unknown-key]: a tool has no key `image`
                  help: write `security: {isolation: container, container: {image: …}}`
            "#]],
        );
    }

    #[test]
    fn of_a_step() {
        check(
            "name: a\ndescription: b\nsteps:\n  - {id: x, bash: ls}\n  - name: y\n    bash: ls\n    if: '{x.exit-code} == 0'\n    needs: [x]\n    env: {A: b}\n    retry: {attempts: 2}\n    fallback: ls -l\n    allow_failure: true\n  - {name: z, uses: other, args: {X: 1}}\n",
            expect![[r#"
                4:5-4:8 error[no-name]: a step needs a `name`
                  help: other steps refer to it by that, as in `{name.output}`
                4:6-4:8 warning[unknown-key]: a step has no key `id`
                  help: write `name`
                  fix: write `name`
                7:5-7:7 error[unknown-key]: a step has no key `if`
                  help: write `run-condition`
                  fix: write `run-condition`
                8:5-8:10 warning[unknown-key]: a step has no key `needs`
                  help: write `wait-for`
                  fix: write `wait-for`
                9:5-9:8 error[unknown-key]: a step has no key `env`
                  help: write `environment`
                  fix: write `environment`
                10:5-10:10 warning[unknown-key]: a step has no key `retry`
                  help: write `error-handling: {retry: …}`
                  fix: write `error-handling`, with `retry` below it
                11:5-11:13 warning[unknown-key]: a step has no key `fallback`
                  help: write `error-handling: {fallback: …}`
                  fix: write `error-handling`, with `fallback` below it
                12:5-12:18 warning[unknown-key]: a step has no key `allow_failure`
                  help: write `continue-on-error`
                  fix: write `continue-on-error`
                13:12-13:13 error[no-command]: a step does not define what to execute
                  help: add one of `bash`, `cmd`, `pwsh`, `run`, `script`, `python`, `commands` or `use-tool`
                13:15-13:19 error[unknown-key]: a step has no key `uses`
                  help: write `use-tool`
                  fix: write `use-tool`
                13:28-13:32 warning[unknown-key]: a step has no key `args`
                  help: write `with`
                  fix: write `with`
            "#]],
        );
    }

    #[test]
    fn of_a_parameter() {
        check(
            "name: a\ndescription: b\nbash: ls {A} {B} {C} {D}\nparameters:\n  A: {type: path, desc: x}\n  B:\n    type: password\n    description: x\n    min-length: 2\n  C: {type: choice, description: x, choices: [p, q]}\n  D: {type: array<string>, description: x, regex: a}\n",
            expect![[r#"
                3:10-3:13 hint[could-be-option]: a value of `A` that begins with `-` is refused: `ls` would read it as an option
                  fix: write `-- {A}`; then any value passes
                3:14-3:17 hint[could-be-option]: a value of `B` that begins with `-` is refused: `ls` would read it as an option
                  help: write `-- {A}`; then any value passes
                3:18-3:21 hint[could-be-option]: a value of `C` that begins with `-` is refused: `ls` would read it as an option
                  help: write `-- {A}`; then any value passes
                3:22-3:25 hint[could-be-option]: a value of `D` that begins with `-` is refused: `ls` would read it as an option
                  help: write `-- {A}`; then any value passes
                5:3-5:4 warning[no-description]: parameter `A` has no description
                  help: describe its purpose; people and models choose its value by that
                5:13-5:17 error[unknown-choice]: `type` cannot be `path`
                  help: write `type: string` and `path: true`
                  fix: write `string`, with `path: true`
                5:19-5:23 warning[unknown-key]: a parameter has no key `desc`
                  help: write `description`
                  fix: write `description`
                7:11-7:19 error[unknown-choice]: `type` cannot be `password`
                  help: write `type: string` and `sensitive: true`
                  fix: write `string`, with `sensitive: true`
                9:5-9:15 error[unknown-key]: a parameter has no key `min-length`
                  help: write `minLength`
                  fix: write `minLength`
                10:13-10:19 error[unknown-choice]: `type` cannot be `choice`
                  help: write `string`, and its choices as `enum`
                  fix: write `string`
                10:37-10:44 error[unknown-key]: a parameter has no key `choices`
                  help: write `enum`
                  fix: write `enum`
                11:13-11:26 error[unknown-choice]: `type` cannot be `array<string>`
                  help: write `array`
                  fix: write `array`
                11:44-11:49 error[unknown-key]: a parameter has no key `regex`
                  help: write `pattern`
                  fix: write `pattern`
            "#]],
        );
    }

    #[test]
    fn of_schemas() {
        check(
            "name: a\ndescription: b\nbash: ls {q}\nparameters: {type: object, properties: {q: {type: string, description: x}}, required: [q]}\n",
            expect![[r#"
                4:13-4:91 error[wrong-type]: `parameters` is a JSON Schema, and takes a parameter under each key
                  help: write `input-schema`, which takes the schema as it is
                  fix: write `input-schema`
                4:14-4:18 warning[no-description]: parameter `type` has no description
                  help: describe its purpose; people and models choose its value by that
                4:14-4:18 warning[unused-parameter]: parameter `type` is never used
                  help: write `{type}` where its value belongs, or remove it
                4:28-4:38 warning[no-description]: parameter `properties` has no description
                  help: describe its purpose; people and models choose its value by that
                4:28-4:38 warning[unused-parameter]: parameter `properties` is never used
                  help: write `{properties}` where its value belongs, or remove it
                4:77-4:85 warning[no-description]: parameter `required` has no description
                  help: describe its purpose; people and models choose its value by that
                4:77-4:85 warning[unused-parameter]: parameter `required` is never used
                  help: write `{required}` where its value belongs, or remove it
            "#]],
        );
        check(
            r#"{"name": "a", "description": "b", "bash": "ls {q}", "inputSchema": {"type": "object", "properties": {"q": {"type": "string", "description": "x"}}}, "env": {"A": "b"}}"#,
            expect![[r#"
                1:53-1:66 error[unknown-key]: a tool has no key `inputSchema`
                  help: write `input-schema`
                  fix: write `input-schema`
                1:149-1:154 error[unknown-key]: a tool has no key `env`
                  help: write `environment: {variables: …}`
                  fix: write `environment`, with `variables` below it
            "#]],
        );
    }

    #[test]
    fn of_values() {
        check(
            "name: a\ndescription: b\nsteps: [{name: x, bash: ls, error-handling: {retry: 3}}]\nresources: {cleanup: rm x}\nenvironment: [A=b]\n",
            expect![[r#"
                3:53-3:54 error[wrong-type]: `retry` takes a mapping
                  help: write `retry: {attempts: 3}`
                  fix: write `{attempts: 3}`
                4:22-4:26 error[wrong-type]: `cleanup` takes a list of mappings
                  help: write `cleanup: [{final-command: …}]`
                  fix: write it as `final-command`
                5:14-5:19 error[wrong-type]: `environment` takes a mapping, not a list
                  help: write `environment: {variables: {NAME: value}}`
                  fix: write them as a mapping
            "#]],
        );
        check(
            "name: a\ndescription: b\nbash: ls\nresources:\n  cleanup:\n    - rm x\n    - rm y\n",
            expect![[r#"
            6:5-7:11 error[wrong-type]: an item of `cleanup` takes a mapping
              help: write `- final-command: …`
              fix: write each as `final-command`
        "#]],
        );
    }
}

mod fleet {
    use super::*;

    #[test]
    fn what_only_the_machine_of_the_caller_has() {
        check(
            "name: a\ndescription: b\non: fleet\nartifacts: [a]\nproduces: image/png\nsecurity: {execution-privilege: elevated}\nsteps: [{name: x, bash: ls, artifacts: [b]}]\ntags: [read]\n",
            expect![[r#"
                4:1-4:10 error[not-for-fleet]: `artifacts` isn't possible with `on: fleet`
                  help: remove `artifacts`, or `on`
                5:1-5:9 error[not-for-fleet]: `produces` isn't possible with `on: fleet`
                  help: remove `produces`, or `on`
                6:12-6:31 error[not-for-fleet]: `execution-privilege` isn't possible with `on: fleet`
                  help: remove `execution-privilege`, or `on`
                7:29-7:38 error[not-for-fleet]: `artifacts` isn't possible with `on: fleet`
                  help: remove `artifacts`, or `on`
            "#]],
        );
        // Here, all of it is possible.
        check(
            "name: a\ndescription: b\non: here\nbash: ls\nartifacts: [a]\nproduces: image/png\ntags: [read]\n",
            expect![""],
        );
    }

    #[test]
    fn labels_of_workers() {
        check(
            "name: a\ndescription: b\non: fleet\nruns-on: [gpu, os:linux, no label, '']\nsteps: [{name: x, bash: ls, runs-on: ünicode}]\ntags: [read]\n",
            expect![[r#"
                4:26-4:34 error[invalid-name]: `no label` can't be the label of a worker
                4:36-4:38 error[invalid-name]: `` can't be the label of a worker
                5:38-5:45 error[invalid-name]: `ünicode` can't be the label of a worker
            "#]],
        );
    }

    #[test]
    fn an_alias_runs_where_its_base_does() {
        check(
            "name: a\ndescription: b\ntype: alias\nbase-tool: c\non: fleet\nruns-on: [gpu]\n",
            expect![[r#"
                5:1-5:3 warning[ignored-by-alias]: `on` has no effect on an alias
                  help: set it in `c`, or remove it
                6:1-6:8 warning[ignored-by-alias]: `runs-on` has no effect on an alias
                  help: set it in `c`, or remove it
            "#]],
        );
    }

    #[test]
    fn another_place() {
        check(
            "name: a\ndescription: b\nbash: ls\non: flee\ntags: [read]\n",
            expect![[r#"
                4:5-4:9 error[unknown-choice]: `on` cannot be `flee`
                  help: did you mean `fleet`?
                  fix: write `fleet`
            "#]],
        );
    }
}
