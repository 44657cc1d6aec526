//! What we do when a server speaks first.
#![expect(deprecated, reason = "servers of the old era still log, and still ask for directories")]

use std::sync::Arc;

use cycod_thread::blocking;
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification,
        ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
        Implementation, JsonObject, ListRootsRequestMethod, ListRootsResult, LoggingLevel,
        LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, ResourceUpdatedNotificationParam,
        SamplingCapability, TASKS_EXTENSION_ID,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;

use crate::{
    person::{Person, ask},
    updates::Updates,
    watch::Watch,
};

/// How many questions of a server may wait for the person at once; further ones are declined.
pub(crate) const MOST_QUESTIONS: usize = 8;

/// The number of the error that says that the user refuses a server a model, as the protocol gives it.
const REFUSED: i32 = -1;

/// What we do when a server speaks first. It may ask with forms, ask a model only where its entry lets it, and gets no
/// directories.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) server: Arc<str>,
    pub(crate) person: Arc<dyn Person>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) updates: Updates,
    /// Whether its entry lets it ask a model.
    pub(crate) may_sample: bool,
    /// Places for questions that wait.
    pub(crate) questions: Arc<Semaphore>,
}

impl Handler {
    /// Answers a question of the server. People think on a thread of their own.
    pub(crate) async fn answer(&self, params: ElicitRequestParams) -> Result<Json, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = params else {
            // Nobody was promised that a browser is opened.
            return Ok(json!({ "action": "decline" }));
        };
        let Ok(place) = Arc::clone(&self.questions).try_acquire_owned() else {
            return Ok(json!({ "action": "decline" }));
        };
        let form = serde_json::to_value(requested_schema).map_err(|error| internal(&error))?;
        let (person, server) = (Arc::clone(&self.person), Arc::clone(&self.server));
        let asking = blocking(move || {
            // The person is still asked when nobody waits for the answer any more.
            let _place = place;
            ask(&*person, &server, &message, form)
        });
        asking.await.map_err(|error| internal(&error))
    }

    /// Asks a model for the server, where its entry lets it.
    pub(crate) async fn sample(&self, request: CreateMessageRequestParams) -> Result<Json, ErrorData> {
        let refused = |why: String| ErrorData::new(ErrorCode(REFUSED), why, None);
        if !self.may_sample {
            let why = "the user's entry of this server has no `\"sampling\": true`, so it may not ask a model";
            return Err(refused(why.to_owned()));
        }
        let Ok(place) = Arc::clone(&self.questions).try_acquire_owned() else {
            return Err(refused(format!("{MOST_QUESTIONS} questions of it wait already")));
        };
        let request = serde_json::to_value(request).map_err(|error| internal(&error))?;
        let (person, server) = (Arc::clone(&self.person), Arc::clone(&self.server));
        let asking = blocking(move || {
            let _place = place;
            person.sample(&server, request)
        });
        asking.await.map_err(|error| internal(&error))?.map_err(|refusal| refused(refusal.why))
    }
}

fn internal(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// How urgent a log message is, as syslog names it.
fn name_of(level: LoggingLevel) -> &'static str {
    match level {
        LoggingLevel::Debug => "debug",
        LoggingLevel::Notice => "notice",
        LoggingLevel::Warning => "warning",
        LoggingLevel::Error => "error",
        LoggingLevel::Critical => "critical",
        LoggingLevel::Alert => "alert",
        LoggingLevel::Emergency => "emergency",
        LoggingLevel::Info => "info",
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())].into());
        if self.person.is_there() {
            let forms = FormElicitationCapability::new().with_schema_validation(true);
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(forms));
        }
        if self.may_sample && self.person.is_there() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        ClientConfig::new(capabilities, Implementation::new("cycod", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        serde_json::from_value(self.sample(request).await?).map_err(|error| internal(&error))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = self.answer(request).await?;
        serde_json::from_value(answer).map_err(|error| internal(&error))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.watch.progress(&params.progress_token, params.progress, params.total, params.message.as_deref());
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let level = name_of(params.level);
        match &params.data {
            Json::String(text) => self.watch.log(level, text),
            other => self.watch.log(level, &other.to_string()),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.watch.set_stale();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.watch.set_stale();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.watch.set_stale();
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.updates.tell(&self.server, &params.uri);
    }

    async fn on_custom_notification(&self, _: CustomNotification, _: NotificationContext<RoleClient>) {}
}
