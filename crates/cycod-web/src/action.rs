//! What forms do.

use cycod_engine::{
    Answer, Asker, Breadth, Engine, Plan, Surface, Verdict, approvals::answer_json, diagnostic::Refusal,
};
use cycod_http::Refused;
use cycod_store::{Digest, RunId, approvals::RequestId};
use hyper::{Response, StatusCode};

use crate::{
    form::{Form, from_path},
    guard::{Session, about_call, now},
    model::{Ask, Card, ToolPage, request_of},
    reply::{self, Body},
    site::Site,
    view,
};

/// What the card about a run that begins on this page is called.
const HERE: &str = "run";

/// Does what a form wants, and answers with the place where the result is.
///
/// # Errors
/// When there is nothing at the address, or an answer does not count.
pub(crate) fn act(
    site: &Site,
    session: &Session,
    path: &str,
    form: &Form,
    is_part: bool,
) -> Result<Response<Body>, Refused> {
    let mut parts = path.trim_matches('/').split('/');
    match (parts.next().unwrap_or_default(), parts.next(), parts.next(), parts.next()) {
        ("tool", Some(name), Some("preview"), None) => preview(site, &from_path(name), form, is_part),
        ("tool", Some(name), Some("run"), None) => run(site, session, &from_path(name), form),
        ("run", Some(id), Some("cancel"), None) => cancel(site, id),
        ("approvals", Some(id), None, None) => answer(site, session, id, form),
        ("standing", Some(name), Some("revoke"), None) => revoke(site, name),
        _ => Err(Refused::new(StatusCode::NOT_FOUND, "there is no such action")),
    }
}

/// Shows what a call would do.
fn preview(site: &Site, name: &str, form: &Form, is_part: bool) -> Result<Response<Body>, Refused> {
    let (page, _) = ToolPage::filled(&site.engine(), name, form).map_err(|error| view::not_found(&error))?;
    Ok(match is_part {
        true => reply::page(StatusCode::OK, view::tool_preview(&page)),
        false => reply::page(StatusCode::OK, view::tool_page(site, &page).markup()),
    })
}

/// Starts a run in a process of its own, so that it goes on when the page is closed.
fn run(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<Body>, Refused> {
    let engine = site.engine();
    let (mut page, plan) = ToolPage::filled(&engine, name, form).map_err(|error| view::not_found(&error))?;
    let Some(plan) = plan else {
        return Ok(reply::page(StatusCode::UNPROCESSABLE_ENTITY, view::tool_page(site, &page).markup()));
    };
    let id = plan.run_id.clone();
    match begin(site, session, &engine, plan, form)? {
        Begun::Runs => return Ok(reply::see(&view::run_address(&id))),
        Begun::Asks(ask) => page.ask = Some(*ask),
        Begun::Refused(refusal) => page.refusal = Some(*refusal),
    }
    Ok(reply::page(StatusCode::OK, view::tool_page(site, &page).markup()))
}

/// What became of a call.
enum Begun {
    Runs,
    /// It needs an answer first.
    Asks(Box<Ask>),
    Refused(Box<Refusal>),
}

fn begin(site: &Site, session: &Session, engine: &Engine, plan: Plan, form: &Form) -> Result<Begun, Refused> {
    let asker = Asker::from(Surface::Person);
    let decision = engine.decide_for(&plan, &asker);
    let approved = if decision.verdict == Verdict::Ask {
        let request = engine.request(&plan, &decision, &asker, None);
        let about = about_call(HERE, &request.call);
        let is_same = form.text("call") == Some(request.call.as_str());
        let (true, Some(card)) = (is_same, form.text("card")) else {
            let ticket = site.guard.card(session, &about).map_err(|error| view::unreadable(&error))?;
            return Ok(Begun::Asks(Box::new(Ask { card: Card::about(request), ticket })));
        };
        site.guard.answered(session, card, &about)?;
        engine.approve_answered(plan, decision, &request, Answer::Once, &asker)
    } else {
        engine.approve_unasked(plan, decision, &asker)
    };
    let control = engine.control().map_err(|error| {
        Refused::for_now(StatusCode::SERVICE_UNAVAILABLE, &format!("no run can begin now: {error}"))
    })?;
    let begun = approved.and_then(|approved| engine.run_in_background(approved, &control));
    Ok(begun.map_or_else(|refusal| Begun::Refused(Box::new(refusal)), |()| Begun::Runs))
}

/// Ends a run that can be reached.
fn cancel(site: &Site, id: &str) -> Result<Response<Body>, Refused> {
    let run = view::found(site, id)?;
    let name: RunId = run.id.parse().map_err(|error| view::unreadable(&error))?;
    let is_heard = site.engine().controls().cancel(name).map_err(|error| view::unreadable(&error))?;
    if is_heard {
        return Ok(reply::see(&view::run_address(&run.id)));
    }
    let why = "this run ended already, or belongs to a terminal: press Ctrl-C there";
    Err(Refused::new(StatusCode::CONFLICT, why))
}

/// Answers a request of another process.
fn answer(site: &Site, session: &Session, id: &str, form: &Form) -> Result<Response<Body>, Refused> {
    let id: RequestId = id.parse().map_err(|_| gone())?;
    let approvals = site.engine().approvals();
    let pending = approvals.pending(now()).map_err(|error| view::unreadable(&error))?;
    let pending = pending.into_iter().find(|one| one.id == id).ok_or_else(gone)?;
    let request = request_of(&pending).ok_or_else(gone)?;
    let given = match form.text("answer") {
        Some("once") => Answer::Once,
        Some("session") if request.is_lasting && request.has_session => Answer::Session(Breadth::TheseArguments),
        Some("always") if request.is_lasting => Answer::Always(Breadth::TheseArguments),
        Some("no") => Answer::No(form.filled("reason").map(str::to_owned)),
        _ => return Err(Refused::new(StatusCode::BAD_REQUEST, "this is no answer to the request")),
    };
    site.guard.answered(session, form.text("card").unwrap_or_default(), &about_call(&id.to_string(), &request.call))?;
    // Of several who answer, one does.
    approvals.answer(&id, &answer_json(&given), now()).map_err(|_| gone())?;
    Ok(reply::see("/approvals"))
}

fn gone() -> Refused {
    Refused::new(StatusCode::CONFLICT, "this request does not wait any more: it was answered elsewhere, or ended")
}

/// Takes a standing approval back.
fn revoke(site: &Site, name: &str) -> Result<Response<Body>, Refused> {
    let missing = || Refused::new(StatusCode::NOT_FOUND, "there is no such standing approval");
    let name: Digest = name.parse().map_err(|_| missing())?;
    site.engine().approvals().revoke(&name).map_err(|error| view::unreadable(&error))?;
    Ok(reply::see("/approvals"))
}
