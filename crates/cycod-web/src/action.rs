//! What forms do.

use cycod_app::views;
use cycod_engine::{
    Answer, Asker, Breadth, Engine, Plan, Standing, Surface, Verdict, approvals::answer_json, diagnostic::Refusal,
    trust::TrustSubject,
};
use cycod_http::Refused;
use cycod_settings::Consents;
use cycod_store::{Digest, RunId, approvals::RequestId};
use hyper::{Response, StatusCode};

use crate::{
    editing,
    form::{Form, from_path},
    guard::{Session, about_call, about_server, about_trust, now},
    model::{Ask, Card, ConsentCard, PolicyTest, ToolPage, configured, request_of, trust_subjects, usable},
    reply::{self, PageBody},
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
) -> Result<Response<PageBody>, Refused> {
    let mut parts = path.trim_matches('/').split('/');
    match (parts.next().unwrap_or_default(), parts.next(), parts.next(), parts.next()) {
        ("tool", Some(name), Some("preview"), None) => preview(site, &from_path(name), form, is_part),
        ("tool", Some(name), Some("run"), None) => run(site, session, &from_path(name), form),
        ("tool", Some(name), Some("trust"), None) => trust(site, session, &from_path(name), form),
        ("tool", Some(name), Some("trust"), Some("stop")) => distrust(site, session, &from_path(name)),
        ("tool", Some(name), Some("edit"), None) => editing::save(site, session, &from_path(name), form),
        ("tool", Some(name), Some("edit"), Some("check")) => {
            editing::check(site, session, &from_path(name), form, is_part)
        }
        ("tool", Some(name), Some("edit"), Some("fix")) => editing::fix(site, session, &from_path(name), form),
        ("tool", Some(name), Some("edit"), Some("test")) => editing::test(site, session, &from_path(name), form),
        ("server", Some(name), Some("check"), None) => check_server(site, session, &from_path(name)),
        ("server", Some(name), Some("consent"), None) => consent(site, session, &from_path(name), form),
        ("server", Some(name), Some("accept"), None) => accept(site, session, &from_path(name), form),
        ("machine", None, None, None) => Ok(check_machine(site, form)),
        ("policy", Some("test"), Some(name), None) => test_rules(site, &from_path(name), form, is_part),
        ("run", Some(id), Some("cancel"), None) => cancel(site, id),
        ("approvals", Some(id), None, None) => answer(site, session, id, form),
        ("standing", Some(name), Some("revoke"), None) => revoke(site, name),
        _ => Err(Refused::new(StatusCode::NOT_FOUND, "there is no such action")),
    }
}

/// Shows what a call would do.
fn preview(site: &Site, name: &str, form: &Form, is_part: bool) -> Result<Response<PageBody>, Refused> {
    let (page, _) = ToolPage::filled(&site.engine(), name, form).map_err(|error| view::not_found(&error))?;
    Ok(match is_part {
        true => reply::page(StatusCode::OK, view::tool_preview(&page)),
        false => reply::page(StatusCode::OK, view::tool_page(site, &page).markup()),
    })
}

/// Shows what the rules say about a call.
fn test_rules(site: &Site, name: &str, form: &Form, is_part: bool) -> Result<Response<PageBody>, Refused> {
    let test = PolicyTest::of(&site.engine(), name, Some(form)).map_err(|error| view::not_found(&error))?;
    Ok(match is_part {
        true => reply::page(StatusCode::OK, view::policy_answers(&test)),
        false => reply::page(StatusCode::OK, view::policy_test_page(site, &test).markup()),
    })
}

/// Starts a run in a process of its own, so that it goes on when the page is closed.
fn run(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
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

/// Trusts a tool as it was shown.
fn trust(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    let subjects = trust_subjects(&engine, name).map_err(|refusal| view::missing(&refusal))?;
    let (subject, digest) = (form.text("subject").unwrap_or_default(), form.text("digest").unwrap_or_default());
    let is_it = |one: &&TrustSubject| one.name() == subject && one.fingerprint.digest().to_string() == digest;
    let shown = subjects.iter().find(is_it).ok_or_else(changed)?;
    let card = form.text("card").unwrap_or_default();
    site.guard.answered(session, card, &about_trust(shown.name(), digest))?;
    if let Err(refusal) = engine.trust([shown]) {
        let page = view::trust_page(site, session, name, Some(&refusal))?;
        return Ok(reply::page(StatusCode::CONFLICT, page.markup()));
    }
    let waits = subjects.iter().any(|one| one.standing != Standing::Trusted && one.path() != shown.path());
    Ok(reply::see(&if waits { view::trust_address(name) } else { view::tool_address(name) }))
}

/// Trusts a tool no longer.
fn distrust(site: &Site, session: &Session, name: &str) -> Result<Response<PageBody>, Refused> {
    match site.engine().distrust(name) {
        Ok(_) => Ok(reply::see(&view::trust_address(name))),
        Err(refusal) => {
            let page = view::trust_page(site, session, name, Some(&refusal))?;
            Ok(reply::page(StatusCode::CONFLICT, page.markup()))
        }
    }
}

/// Meets a server, and shows what came of it.
fn check_server(site: &Site, session: &Session, name: &str) -> Result<Response<PageBody>, Refused> {
    let visit = usable(&site.engine(), name).and_then(|servers| servers.visit(name));
    let page = view::server_page(site, session, name, &Form::default(), Some(visit))?;
    Ok(reply::page(StatusCode::OK, page.markup()))
}

/// Accepts a server that somebody else configured, as it was shown.
fn consent(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    let server = configured(&engine, name).map_err(|refusal| view::missing(&refusal))?;
    let digest = ConsentCard::of(&server).digest;
    if server.is_ours || form.text("digest") != Some(digest.as_str()) {
        return Err(changed());
    }
    let card = form.text("card").unwrap_or_default();
    site.guard.answered(session, card, &about_server(&server.name, "", &digest))?;
    let given = Consents::open(engine.catalog().scopes()).give(&server);
    given.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(reply::see(&view::server_address(&server.name)))
}

/// Accepts a tool of a server as it was shown.
fn accept(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    let server = configured(&engine, name).map_err(|refusal| view::missing(&refusal))?;
    let refused = |refusal: Refusal| Refused::new(StatusCode::CONFLICT, refusal.why);
    let servers = usable(&engine, name).map_err(refused)?;
    let (tool, digest) = (form.text("tool").unwrap_or_default(), form.text("digest").unwrap_or_default());
    let proposals = servers.known_proposals(&server.name).map_err(refused)?;
    let shown = proposals.iter().find(|one| one.tool == tool && one.digest() == digest).ok_or_else(changed)?;
    let card = form.text("card").unwrap_or_default();
    site.guard.answered(session, card, &about_server(&server.name, tool, digest))?;
    servers.accept(&server.name, [shown]).map_err(refused)?;
    Ok(reply::see(&view::server_address(&server.name)))
}

/// A refusal of an answer about something that is not as it was shown.
fn changed() -> Refused {
    Refused::new(StatusCode::CONFLICT, "this is not what was shown to you: it has changed. Open the page again.")
}

/// Asks the programs of the machine for their versions.
fn check_machine(site: &Site, form: &Form) -> Response<PageBody> {
    let view = views::check_machine(&site.engine(), form.text("servers").is_some());
    let is_complete = view.unstarted.is_none();
    reply::page(StatusCode::OK, view::machine_page(site, &view, is_complete).markup())
}

/// Ends a run that can be reached.
fn cancel(site: &Site, id: &str) -> Result<Response<PageBody>, Refused> {
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
fn answer(site: &Site, session: &Session, id: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
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
fn revoke(site: &Site, name: &str) -> Result<Response<PageBody>, Refused> {
    let missing = || Refused::new(StatusCode::NOT_FOUND, "there is no such standing approval");
    let name: Digest = name.parse().map_err(|_| missing())?;
    site.engine().approvals().revoke(&name).map_err(|error| view::unreadable(&error))?;
    Ok(reply::see("/approvals"))
}
