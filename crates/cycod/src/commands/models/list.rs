use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_model::ListedModel;
use serde_json::{Value, json};

use crate::{
    app::app,
    cli::Context,
    command_error::CommandError,
    models::failed,
    options::{TextOrJson, parsed},
    printer::WARNING,
    table::{Cell, Table},
};

/// What `cycod models list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List the available models")]
struct Arguments {
    /// Also list models without a key
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod models list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists models: whose they are, what is known of them, and where the key comes from; never the key.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let here = app().models(&context.engine);
    let all = here.configured.list(&here).map_err(|error| failed(&error))?;
    let is_wanted = |model: &&ListedModel| args.all || model.is_ready || model.is_default;
    let listed: Vec<&ListedModel> = all.iter().filter(is_wanted).collect();
    if args.format.is_json() {
        let list: Vec<Value> = listed.into_iter().map(to_json).collect();
        context.printer.json(&format!("{:#}", Value::from(list)));
        return Ok(0);
    }
    let mut table = Table::new(&["", "MODEL", "WINDOW", "INPUT", "OUTPUT", "KEY"]);
    for model in &listed {
        let price = |of: fn(&cycod_model::Price) -> f64| {
            Cell::new(model.facts.price.as_ref().map(|price| format!("${}", of(price))).unwrap_or_default())
        };
        let key = match &model.key {
            Some((name, source)) => Cell::new(format!("{name} ({})", source.name())),
            None if model.is_ready => Cell::new("none needed"),
            None => Cell::default().with("no", WARNING),
        };
        table.row(vec![
            Cell::new(if model.is_default { "*" } else { "" }),
            Cell::default().with(shown(model), Style::new()),
            Cell::new(model.facts.window.map(|window| window.to_string()).unwrap_or_default()),
            price(|price| price.input),
            price(|price| price.output),
            key,
        ]);
    }
    table.print(&mut context.printer);
    match &here.configured.default {
        Some((name, place)) => {
            context.printer.say(&format!("Without --model: {name} ({place}). Prices are for a million tokens."));
        }
        None => context
            .printer
            .say("No model is chosen: name one with --model, CYCOD_MODEL or `models.default` in config.yaml"),
    }
    if listed.len() < all.len() {
        context.printer.say("Providers without a key are left out; see them with --all");
    }
    Ok(0)
}

fn shown(model: &ListedModel) -> String {
    format!("{}/{}", model.provider, model.model.as_deref().unwrap_or("…"))
}

fn to_json(model: &ListedModel) -> Value {
    let ListedModel { provider, model: name, facts, base, place, key, is_ready, is_default } = model;
    json!({
        "provider": provider,
        "model": name,
        "window": facts.window,
        "max_output": facts.output,
        "price_per_million": facts.price.map(|price| json!({
            "input": price.input, "output": price.output, "cached": price.cached,
        })),
        "address": base,
        "configured_in": place,
        "key": key.as_ref().map(|(name, source)| json!({"name": name, "from": source.name()})),
        "ready": is_ready,
        "default": is_default,
    })
}
