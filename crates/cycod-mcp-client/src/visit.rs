use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_diagnostic::Refusal;

use crate::{
    others, overriding,
    pinned::Pinned,
    slot::{Met, Shared, Slot},
    snapshot::Snapshot,
    text::{line, paragraph},
};

/// What a server that was just met is and offers. All its texts are safe to show.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The version of the protocol it speaks.
    pub era: String,
    /// Its name and version, as it gives them.
    pub identity: String,
    /// How it wants to be used.
    pub instructions: Option<String>,
    /// What it offers, in its order.
    pub tools: Vec<VisitedTool>,
    /// How many prompts, resources and templates of resources it offers.
    pub others: [(&'static str, usize); 3],
    /// What of these waits to be accepted, as people name it.
    pub blocked: Vec<String>,
    /// What is wrong with it or its list.
    pub problems: Vec<String>,
    /// Whether its tools were accepted by this visit, because nothing was known of it.
    pub is_first: bool,
    /// How long it took until its tools were known.
    pub took: Duration,
}

/// A tool of a server that was just met.
#[derive(Clone, Debug)]
pub struct VisitedTool {
    /// What the server calls it.
    pub remote: String,
    /// What it is called here; nothing when it cannot be used.
    pub name: Option<String>,
    /// What it says it is for.
    pub description: String,
    /// The digest of everything that is pinned of it.
    pub digest: String,
    /// Why it cannot be called.
    pub problem: Option<String>,
}

pub(crate) async fn visit(slot: &Arc<Slot>, shared: &Arc<Shared>) -> Result<Visit, Refusal> {
    let began = Instant::now();
    let is_first = !shared.accepted.of(&slot.server)?.is_known;
    let Met { connection, offered, others: pinned, .. } = slot.meet(shared).await?;
    let took = began.elapsed();
    let Snapshot { era, identity, version: _, instructions, listing } = Snapshot::of(&connection);
    let mut problems = listing.problems.clone();
    problems.extend(connection.handler.watch.warnings());
    let lists = connection.others();
    problems.extend(lists.problems.iter().cloned());
    let accepted = shared.accepted.others_of(&slot.server)?;
    let blocked = pinned.iter().filter(|other| accepted.blocks_other(other).is_some()).map(Pinned::label).collect();
    // What cannot be offered is a problem; what is offered is for those who ask for it.
    drop(others::offers(&slot.server, instructions.as_deref(), &listing, &lists, &accepted, true, &mut problems));
    let others =
        [("prompts", lists.prompts.len()), ("resources", lists.resources.len()), ("templates", lists.templates.len())];
    let remotes: Vec<&str> = listing.tools.iter().filter_map(|wire| wire["name"].as_str()).collect();
    for (key, name) in slot.server.tools().idle(&remotes) {
        problems.push(format!("it does not offer `{name}`, which `{key}` of its entry names"));
    }
    let accepted = shared.accepted.of(&slot.server)?;
    let mut tools = Vec::with_capacity(offered.len());
    for one in offered.iter() {
        let blocked = accepted.blocks(one);
        // A schema is compiled when somebody looks at the server, not at each start.
        let schemas = one.tool.iter().flat_map(|tool| tool.input_schema.iter().chain(&tool.returns));
        let unusable = schemas.filter_map(|schema| schema.violations(&serde_json::Value::Null).err()).next();
        tools.push(VisitedTool {
            remote: line(&one.remote),
            name: one.tool.as_ref().ok().map(|tool| tool.name.to_string()),
            description: match &one.tool {
                Ok(tool) => tool.description.clone().unwrap_or_default(),
                Err(_) => one.definition["description"].as_str().map(paragraph).unwrap_or_default(),
            },
            digest: one.digest().to_string(),
            problem: one.tool.as_ref().err().cloned().or_else(|| {
                let blocked = blocked.map(|blocked| blocked.to_string());
                blocked.or_else(|| {
                    unusable
                        .map(|problem| format!("its schema cannot be applied: {}", line(&problem.to_string())))
                        .or_else(|| overriding::misfit(&one.definition, &one.change))
                })
            }),
        });
    }
    let (identity, instructions) = (line(&identity), instructions.as_deref().map(paragraph));
    Ok(Visit { era, identity, instructions, tools, others, blocked, problems, is_first, took })
}
