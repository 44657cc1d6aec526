//! Says what is proven about the placeholders of templates, which it reads from standard input, one a line. `\n` is the
//! end of a line of the template, and `\\n` a backslash and an `n`.

#![expect(clippy::print_stdout, reason = "an example tells what it found")]

#[path = "../tests/common/reader.rs"]
mod reader;
#[path = "../tests/common/template.rs"]
mod template;

use cycod_shell::{Nature, Programs, Question, Reader, Shell, judge};

fn main() -> std::io::Result<()> {
    let mut reader = Reader::Shell(Shell::Bash);
    let mut programs = Programs::default();
    for line in std::io::read_to_string(std::io::stdin())?.lines() {
        if let Some(name) = line.strip_prefix("shell ") {
            reader = reader::named(name);
            continue;
        }
        if let Some(name) = line.strip_prefix("text ") {
            programs.insert(name, Nature::Text);
            continue;
        }
        let line = line.replace("\\\\n", "\u{1}").replace("\\n", "\n").replace('\u{1}', "\\n");
        let command = template::segments(&line);
        let question = Question { reader, command: &command, environment: &[], input: &[], programs: &programs };
        println!("{line}");
        for verdict in judge(&question).command {
            println!("    {}", verdict.describe());
            if let Some(rewrite) = verdict.rewrite {
                println!("        write: {rewrite}");
            }
        }
    }
    Ok(())
}
