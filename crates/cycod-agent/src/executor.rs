use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use cycod_diagnostic::{Code, Refusal};
use cycod_engine::{
    Approved, Approver, Asker, Beginning, Content, Control, Engine, EngineError, Given, Payload, Plan, PlanError, Sink,
    Stop, ToolAnswer,
    catalog::{ScopeFilter, State},
    definition::Tool,
    outputs::Shelf,
};
use cycod_schema::{Dialect, Undo};
use serde_json::{Map, Value as Json};

/// Carries out the calls of a model, as the engine decides.
#[derive(Clone, Debug)]
pub struct Executor<'a> {
    /// The tools of the place.
    pub engine: &'a Engine,
    /// Who asks.
    pub asker: &'a Asker,
    /// Ends what runs.
    pub stop: &'a Stop,
    /// The limit of each run, in place of the tool's own.
    pub timeout: Option<Duration>,
    /// When everything must have ended.
    pub deadline: Option<Instant>,
    /// Where outputs are kept, and how many tokens of one are told; without it all of it is.
    pub outputs: Option<(&'a Shelf, usize)>,
}

impl Executor<'_> {
    /// Plans a call and has it approved; `undo` brings its arguments back from the words of the model's dialect.
    ///
    /// # Errors
    /// What is wrong with the call, or a refusal with the rule that decided.
    pub fn approve(
        &self,
        tool: &Arc<Tool>,
        arguments: &Map<String, Json>,
        undo: &Undo,
        approver: &dyn Approver,
    ) -> Result<Approved<Plan>, Refusal> {
        let name = tool.name.as_str();
        let arguments: Vec<(String, Given)> = match undo.apply(Json::Object(arguments.clone())) {
            Json::Object(arguments) => {
                arguments.into_iter().map(|(name, value)| (name, Given::Value(value.into()))).collect()
            }
            _ => Vec::new(),
        };
        let refused = |error: PlanError| error.into_refusal(name);
        let beginning = Beginning::at(SystemTime::now());
        let questions = self.engine.questions(tool, arguments.clone(), &[], false, &beginning).map_err(refused)?;
        if let Some(question) = questions.iter().find(|question| question.is_required) {
            return Err(question.unanswerable(name));
        }
        let plan = |arguments| {
            let mut plan = self.engine.plan_answered(tool, arguments, &[], self.timeout, &beginning)?;
            if let Some(deadline) = self.deadline {
                plan.hold_to(deadline.saturating_duration_since(Instant::now()), "the limit of time of the whole turn");
            }
            Ok(plan)
        };
        self.engine.approve_call(arguments, &plan, self.asker, approver).map_err(refused)
    }

    /// Runs what was approved.
    pub fn run(&self, approved: Approved<Plan>, sink: &mut dyn Sink) -> ToolAnswer {
        let definition = Arc::clone(&approved.subject().call.tool);
        let control = Control {
            caller: Some(self.engine.caller_of(self.asker)),
            session: self.asker.session.name().map(str::to_owned),
            ..Control::new(self.stop.clone())
        };
        match self.outputs {
            Some((shelf, cap)) => self.engine.run_kept(approved, control, shelf, sink).into_answer(cap, shelf),
            None => ToolAnswer::of(&definition, &self.engine.run(approved, &control, sink)),
        }
    }
}

/// Refuses arguments that are no object.
/// The refusal of a call of `tool` whose arguments are no JSON object.
pub fn no_object(tool: &str, why: &dyn std::error::Error) -> Refusal {
    Refusal::new(Code::WrongArgumentType, why.to_string())
        .place(tool)
        .attempt("call again with a JSON object that has a field for each argument")
}

/// Finds the tool that a model means: of this name, else the first whose name the dialect writes so.
///
/// # Errors
/// When there is none, or it cannot be loaded.
pub fn tool_named(engine: &Engine, dialect: Dialect, name: &str) -> Result<Arc<Tool>, EngineError> {
    if engine.catalog().find(name, ScopeFilter::Any).is_none() {
        let mut entries = engine.catalog().entries();
        entries.retain(|entry| entry.state == State::Active && dialect.tool_name(&entry.name) == name);
        if let Some(entry) = entries.iter().min_by_key(|entry| entry.scope) {
            return engine.tool(&entry.name);
        }
    }
    engine.tool(name)
}

/// What a model reads: the texts of an answer, and of everything else that it is there.
pub fn text_of(answer: &ToolAnswer) -> String {
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Image { media_type, bytes } | Content::Audio { media_type, bytes } => {
            format!("[{media_type}, {} bytes]", bytes.len())
        }
        Content::Resource { uri, payload, .. } => match payload {
            Payload::Text(text) => text.clone(),
            Payload::Bytes(bytes) => format!("[{uri}, {} bytes]", bytes.len()),
        },
        Content::Link { uri, name, .. } => format!("[{name}]({uri})"),
    };
    answer.blocks.iter().fold(String::new(), |mut all, block| {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all + &text(&block.content)
    })
}
