//! What the forms of the editor do: check a text, fix it, save it, and run the tests of what is saved.

use cycod_app::views::trust_of;
use cycod_engine::{
    Engine, Standing,
    catalog::{Entry, Scope},
    diagnostic::Refusal,
    trust::Difference,
};
use cycod_http::Refused;
use hyper::{Response, StatusCode};

use crate::{
    form::Form,
    guard::{Session, about_edit},
    model::{EditPage, Found, edit},
    reply::{self, PageBody},
    site::Site,
    view,
};

/// Shows what is found in a text.
pub(crate) fn check(
    site: &Site,
    session: &Session,
    name: &str,
    form: &Form,
    is_part: bool,
) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    if is_part {
        let (entry, source) = edit::editable(&engine, name).map_err(|refusal| view::missing(&refusal))?;
        let text = edit::normalized(form.text("text").unwrap_or_default(), &source);
        return Ok(reply::page(StatusCode::OK, view::edit_found(&entry.name, &Found::of(&engine, &entry, &text))));
    }
    let page = typed(&engine, name, form)?;
    show(site, session, &page, StatusCode::OK)
}

/// Shows a text after one of its fixes. Nothing is written.
pub(crate) fn fix(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    let mut page = typed(&engine, name, form)?;
    let (entry, _) = edit::editable(&engine, name).map_err(|refusal| view::missing(&refusal))?;
    let wanted = form.text("fix").unwrap_or_default();
    if let Some(text) = edit::fixed(&engine, &entry, &page.text, wanted) {
        page.found = Found::of(&engine, &entry, &text);
        page.text = text;
    }
    show(site, session, &page, StatusCode::OK)
}

/// The page with what was typed, made from the file that was opened.
fn typed(engine: &Engine, name: &str, form: &Form) -> Result<EditPage, Refused> {
    let text = form.text("text").unwrap_or_default().to_owned();
    let page = EditPage::of(engine, name, Some(text)).map_err(|refusal| view::missing(&refusal))?;
    let opened = form.text("opened").unwrap_or_default().to_owned();
    Ok(EditPage { opened, ..page })
}

fn show(site: &Site, session: &Session, page: &EditPage, status: StatusCode) -> Result<Response<PageBody>, Refused> {
    Ok(reply::page(status, view::edit_page(site, session, page)?.markup()))
}

/// Writes a text over the file from which it was made.
pub(crate) fn save(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    let (entry, source) = edit::editable(&engine, name).map_err(|refusal| view::missing(&refusal))?;
    let opened = form.text("opened").unwrap_or_default();
    let text = edit::normalized(form.text("text").unwrap_or_default(), &source);
    if opened != edit::digest(&source) {
        return conflict(site, session, &engine, name, form, "the file has changed since you opened it");
    }
    let card = form.text("card").unwrap_or_default();
    site.guard.answered(session, card, &about_edit(&entry.name, opened))?;
    if text == *source.text {
        return Ok(reply::see(&view::edit_address(&entry.name)));
    }
    let was_trusted = trust_of(&engine, &entry) == Some(Standing::Trusted);
    if let Err(error) = engine.catalog().writer().replace(&entry, &source.text, &text) {
        return conflict(site, session, &engine, name, form, &error.to_string());
    }
    let after = site.engine();
    let now = saved(&after, &entry, &text, was_trusted).map_err(|refusal| {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the file is saved, but {}", refusal.why))
    })?;
    Ok(reply::see(&format!("{}?saved=1", view::edit_address(&now))))
}

/// What follows a text that was written: trust in it where there was trust, and none in a name that is no more. Returns the name.
fn saved(engine: &Engine, entry: &Entry, text: &str, was_trusted: bool) -> Result<String, Refusal> {
    if was_trusted {
        edit::trust_written(engine, entry, text)?;
    }
    let now = engine.catalog().entries().iter().find(|other| other.path == entry.path).map(|other| other.name.clone());
    let now = now.unwrap_or_else(|| entry.name.clone());
    if !now.eq_ignore_ascii_case(&entry.name) && entry.scope == Scope::Local {
        engine.distrust(&entry.name)?;
    }
    Ok(now)
}

/// Shows both texts where one can't be written over the other; nothing is lost.
fn conflict(
    site: &Site,
    session: &Session,
    engine: &Engine,
    name: &str,
    form: &Form,
    why: &str,
) -> Result<Response<PageBody>, Refused> {
    let text = form.text("text").unwrap_or_default().to_owned();
    let mut page = EditPage::of(engine, name, Some(text)).map_err(|refusal| view::missing(&refusal))?;
    let (_, source) = edit::editable(engine, name).map_err(|refusal| view::missing(&refusal))?;
    let difference = Difference::between(("the file", &source.text), ("your text", &page.text));
    page.conflict = Some((why.to_owned(), difference.0));
    show(site, session, &page, StatusCode::CONFLICT)
}

/// Runs tests of the tool as it is saved, under the rules for what you run by hand.
pub(crate) fn test(site: &Site, session: &Session, name: &str, form: &Form) -> Result<Response<PageBody>, Refused> {
    let engine = site.engine();
    let mut page = EditPage::of(&engine, name, None).map_err(|refusal| view::missing(&refusal))?;
    let refused = |refusal: Refusal| Refused::new(StatusCode::CONFLICT, refusal.why);
    page.test(&engine, form.filled("test")).map_err(refused)?;
    show(site, session, &page, StatusCode::OK)
}
