//! One file for each command about what tools cost, and which are on.

pub(crate) mod budget;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod tokens;
mod turn;

use clap::Args;
use cycod_engine::tokens::{Counter, Measure};
use cycod_schema::Dialect;

use crate::{
    charset::Charset,
    cli::Context,
    command_error::CommandError,
    options::one_of,
    registry::{Look, settings_reports},
};

/// How tokens are counted.
#[derive(Args)]
#[group(skip)]
struct MeasureOptions {
    /// Count the tokens of the function-calling schema with a real tokenizer
    #[arg(long)]
    exact: bool,
    /// The schema dialect
    #[arg(long, value_name = "DIALECT", value_parser = one_of(Dialect::NAMES))]
    dialect: Option<Dialect>,
}

impl MeasureOptions {
    /// How tokens are to be counted.
    fn measure(&self) -> Result<Measure, CommandError> {
        if !self.exact {
            return Ok(Measure { dialect: self.dialect, ..Measure::ESTIMATE });
        }
        let counter = Counter::exact().map_err(|error| {
            CommandError::failure(error.to_string())
                .hint("leave out --exact, or build it with the feature `exact-tokens`")
        })?;
        Ok(Measure { counter, dialect: Some(self.dialect.unwrap_or(Dialect::Openai)) })
    }
}

/// How a list is to look here.
fn look(context: &Context) -> Look<'static> {
    let charset = Charset::of(context.engine.host());
    Look { typed: context.typed.tools(), charset, colour: context.printer.data_colour }
}

/// Says what is wrong with the settings.
fn warn_of_settings(context: &mut Context) {
    for report in settings_reports(&context.engine, context.printer.colour) {
        context.printer.say(report);
    }
}
