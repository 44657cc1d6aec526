//! What waits for an answer, and what was answered for longer than a call.

use cycod_app::views::ago;
use cycod_engine::{Engine, Request, approvals::request_from_json, definition::Privilege};
use cycod_store::{StoreError, approvals::PendingRequest};

use super::{CARDS, Paged, asker};
use crate::guard::now;

/// The page of approvals.
pub(crate) struct Approvals {
    /// The first that wait.
    pub(crate) cards: Vec<Card>,
    /// How many wait.
    pub(crate) waiting: usize,
    pub(crate) standing: Paged<Standing>,
}

/// A question.
pub(crate) struct Card {
    /// The name of the request; empty for a question about a run that begins on this page.
    pub(crate) id: String,
    pub(crate) request: Request,
    /// Who asks, as a sentence.
    pub(crate) asker: String,
    pub(crate) asked: String,
    /// How many minutes the request is worth something.
    pub(crate) minutes_left: Option<u64>,
    /// Whether a process waits for the answer.
    pub(crate) is_awaited: bool,
    pub(crate) is_elevated: bool,
}

/// An answer that holds for more than one call.
pub(crate) struct Standing {
    pub(crate) name: String,
    pub(crate) tool: String,
    pub(crate) arguments: Option<String>,
    pub(crate) is_for_session: bool,
    pub(crate) given: String,
}

impl Approvals {
    /// What waits, and a page of what stands.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub(crate) fn of(engine: &Engine, page: Option<usize>) -> Result<Self, StoreError> {
        let approvals = engine.approvals();
        let pending = approvals.pending(now())?;
        let mut waiting = 0;
        let mut cards = Vec::new();
        for card in pending.iter().filter(|one| one.answer.is_none()).filter_map(Card::of) {
            waiting += 1;
            if cards.len() < CARDS {
                cards.push(card);
            }
        }
        let standing = Paged::of(&approvals.all_standing(now())?, page, |standing| Standing {
            name: standing.name().to_string(),
            tool: standing.about["tool"].as_str().unwrap_or_default().to_owned(),
            arguments: standing.about["arguments"].as_str().map(str::to_owned),
            is_for_session: standing.session.is_some(),
            given: ago(standing.given.saturating_mul(1000)),
        });
        Ok(Self { cards, waiting, standing })
    }
}

impl Card {
    fn of(pending: &PendingRequest) -> Option<Self> {
        let request = request_of(pending)?;
        Some(Self {
            id: pending.id.to_string(),
            asked: ago(pending.asked.saturating_mul(1000)),
            minutes_left: Some(pending.expires.saturating_sub(now()).div_ceil(60)),
            is_awaited: pending.is_awaited,
            ..Self::about(request)
        })
    }

    /// A question that nothing else waits for.
    pub(crate) fn about(request: Request) -> Self {
        Self {
            id: String::new(),
            asker: if request.asker.is_empty() { asker(request.surface).to_owned() } else { request.asker.clone() },
            asked: "now".to_owned(),
            minutes_left: None,
            is_awaited: true,
            is_elevated: request.privilege == Privilege::Elevated,
            request,
        }
    }
}

/// What a request asks; nothing when its digest is not that of what it says.
pub(crate) fn request_of(pending: &PendingRequest) -> Option<Request> {
    request_from_json(&pending.about).filter(|request| request.call == pending.key.to_string())
}
