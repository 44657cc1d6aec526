/// Returns the file that `tool add NAME --editor` opens: a tool that works, with what else there is in comments.
pub(crate) fn template(name: &str) -> String {
    format!(
        r#"# Save this file and leave the editor to add the tool; leave it unchanged to add nothing.

name: {name}
description: Greet someone   # required: people and models choose by it

# What it runs, one of: bash, cmd, pwsh, run, script with shell, commands, steps, use-tool.
# A {{NAME}} is replaced by the parameter's value, which is always data, never code.
bash: echo "Hello, {{WHO}}!"

# commands:                     # a text for each platform
#   default: ls {{DIR}}
#   platforms:
#     windows: dir {{DIR}}

# steps:                        # several commands; one after the other unless they say otherwise
#   - name: fetch
#     bash: curl -s {{URL}}
#     error-handling:
#       retry: {{attempts: 3, delay: 1000}}
#   - name: count
#     run-condition: "{{fetch.exit-code}} == 0"
#     bash: wc -l
#     input: "{{fetch.output}}"

parameters:
  WHO:
    type: string                # string, number, integer, boolean, array or object
    description: Whom to greet
    default: world              # or `required: true`
    # examples: [Ada, Grace]
    # validation: {{minLength: 1, maxLength: 80, pattern: "^[A-Z]"}}

tags: [read]                    # read, write or run says how dangerous it is; the others are yours
timeout: 60000                  # milliseconds

# tests:                        # run by: cycod test {name}
#   - name: greets-ada
#     parameters: {{WHO: Ada}}
#     expected: {{output-contains: "Hello, Ada!"}}
"#
    )
}

#[cfg(test)]
mod tests {
    use cycod_engine::{definition::load, diagnostic::SourceFile};

    use super::template;

    #[test]
    fn it_is_a_tool_without_a_complaint_also_with_its_comments() {
        let text = template("my-tool");
        let loaded = load(&SourceFile::new("my-tool.yaml", text.as_str()), Some("my-tool"));
        assert!(loaded.tool.is_some() && loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        // The alternatives, each in the place of the command.
        for key in ["commands", "steps"] {
            let start = text.find(&format!("# {key}:")).expect("it is there");
            let block: String = text[start..]
                .lines()
                .take_while(|line| line.starts_with('#'))
                .map(|line| format!("{}\n", &line[2..]))
                .collect();
            let whole = text.replace("bash: echo \"Hello, {WHO}!\"\n", &block).replace(
                "  WHO:",
                "  URL: {type: string, description: Where}\n  DIR: {type: string, description: What}\n  WHO:",
            );
            let loaded = load(&SourceFile::new("my-tool.yaml", whole.as_str()), Some("my-tool"));
            assert!(loaded.tool.is_some(), "{key}: {:?}\n{whole}", loaded.diagnostics);
        }
    }
}
