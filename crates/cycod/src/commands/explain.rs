use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::closest;

use crate::{
    cli::Context,
    command_error::CommandError,
    markdown::{plain, rendered},
    options::parsed,
    table::{Cell, Table},
};

/// The pages of `docs/errors/`, sorted by code.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// What `cycod explain` takes.
#[derive(Parser)]
#[command(name = "explain", about = "Explain an error code")]
struct Arguments {
    /// The code of an error or warning; without it, list all codes
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// `cycod explain`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Explains an error code.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let printer = &mut context.printer;
    let Some(asked) = &args.code else {
        let mut table = Table::new(&["CODE", "WHAT IT MEANS"]);
        for (code, about) in codes() {
            table.row(vec![Cell::new(code), Cell::new(about)]);
        }
        table.print(printer);
        return Ok(0);
    };
    // As copied from a message: `error[unknown-step]`, in any case.
    let inner = asked.split_once('[').map_or(asked.as_str(), |(_, code)| code);
    let code = inner.trim_end_matches([']', ':']).to_ascii_lowercase();
    let Some((_, page)) = PAGES.iter().find(|(known, _)| *known == code) else {
        let error = CommandError::failure(format!("`{asked}` is not the code of an error"));
        return Err(match closest(&code, PAGES.iter().map(|(known, _)| *known)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("all codes: cycod explain"),
        });
    };
    printer.text(rendered(page, "errors", printer.width, printer.data_colour));
    Ok(0)
}

/// Every code with what it means.
pub(crate) fn codes() -> impl Iterator<Item = (&'static str, String)> {
    PAGES.iter().map(|(code, page)| (*code, summary(page)))
}

/// The first sentence of a page, without its final period.
fn summary(page: &str) -> String {
    let mut lines = page.lines().skip_while(|line| line.starts_with('#') || line.trim().is_empty());
    let paragraph = lines.by_ref().take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ");
    let sentence = paragraph.split_inclusive(". ").next().unwrap_or_default();
    plain(sentence.trim_end().trim_end_matches('.')).replace('`', "")
}

#[cfg(test)]
mod tests {
    use cycod_engine::diagnostic::Code;

    use super::{PAGES, summary};

    #[test]
    fn every_code_is_explained() {
        let pages = PAGES.iter().map(|(code, _)| *code);
        assert!(pages.eq(Code::ALL.iter().map(|code| code.name())));
    }

    #[test]
    fn pages_say_what_they_are_about() {
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# {code}\n")), "docs/errors/{code}.md does not start with its code");
            assert!(!summary(page).is_empty(), "docs/errors/{code}.md has no first sentence");
            assert_eq!(page.matches("```").count() % 2, 0, "docs/errors/{code}.md leaves a fence open");
        }
        assert!(PAGES.is_sorted());
    }

    #[test]
    fn what_a_page_is_about() {
        assert_eq!(
            summary("# some-code\n\nA `key` is\n[wrong](../a.md). Really.\n\n```yaml\na: 1\n```\n"),
            "A key is wrong"
        );
    }
}
