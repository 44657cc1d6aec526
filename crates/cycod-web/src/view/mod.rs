//! Values as HTML. Everything that is not ours is escaped by the templates, and hidden characters are shown by [`text`].

#![expect(clippy::needless_pass_by_value, reason = "a piece of markup is written where it is used, and used once")]

mod approvals;
mod costs;
mod edit;
mod machine;
mod parts;
mod policy;
mod run;
mod runs;
mod servers;
mod tool;
mod tools;
mod trust;

use cycod_app::{Visit, views::MachineView};
use cycod_engine::{EngineError, diagnostic::Refusal};
use cycod_http::Refused;
use cycod_page::Live;
use cycod_store::{Run, StoreError};
use hyper::StatusCode;
use maud::{Markup, html};

pub(crate) use self::{
    parts::text,
    policy::answers as policy_answers,
    run::{log_lines, main_of as run_main, parts_of as run_parts},
    runs::list as runs_list,
    servers::ServerTickets,
    tool::preview as tool_preview,
};
use crate::{
    assets::assets,
    form::{Form, from_path, in_path},
    guard::{Session, about_call, about_edit, about_server, about_trust},
    model::{
        self, Approvals, Costs, EditPage, Found, Journal, Part, PolicyPage, PolicyTest, RunPage, Runs, ServerPage,
        ServersPage, ToolPage, Tools, TrustList, TrustPage,
    },
    site::Site,
};

/// A page.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    title: String,
    section: Section,
    /// The stream that keeps it up to date.
    live: Option<Live>,
    waiting: usize,
    place: String,
    content: Markup,
}

/// The parts of the page that the navigation leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Tools,
    Runs,
    Approvals,
    Trust,
    Policy,
    Servers,
    Costs,
    Machine,
    /// What is at no place of the navigation.
    None,
}

/// The stream of a page that changes only in how many requests wait.
const WAITING: &str = "/live?page=waiting";

const SECTIONS: [(Section, &str, &str); 8] = [
    (Section::Tools, "Tools", "/"),
    (Section::Runs, "Runs", "/runs"),
    (Section::Approvals, "Approvals", "/approvals"),
    (Section::Trust, "Trust", "/trust"),
    (Section::Policy, "Rules", "/policy"),
    (Section::Servers, "Servers", "/servers"),
    (Section::Costs, "Costs", "/costs"),
    (Section::Machine, "Machine", "/machine"),
];

impl Page {
    fn new(site: &Site, section: Section, title: impl Into<String>, content: Markup) -> Self {
        let engine = site.engine();
        Self {
            status: StatusCode::OK,
            title: title.into(),
            section,
            live: None,
            waiting: model::waiting(&engine),
            place: cycod_app::shown_path(&engine.host().workspace, site.host()),
            content,
        }
    }

    fn live(self, address: String) -> Self {
        let refused = "This page is no longer served. Run cycod ui again.";
        Self { live: Some(Live { address, refused }), ..self }
    }

    /// The whole document.
    pub(crate) fn markup(&self) -> Markup {
        let nav = html! {
            nav.rail aria-label="Main" {
                a.brand href="/" { img src=(assets().icon.path) alt="" width="20" height="20"; "cycod" }
                ul {
                    @for (section, name, address) in SECTIONS {
                        li {
                            a href=(address) aria-current=[(section == self.section).then_some("page")] {
                                (name)
                                @if section == Section::Approvals { (waiting_badge(self.waiting)) }
                            }
                        }
                    }
                }
                p.place title="The project that this page shows" { (text(&self.place)) }
            }
        };
        document(
            &self.title,
            self.live.as_ref(),
            html! {
                (nav)
                main #main tabindex="-1" { (self.content) }
                p #announcement .hidden role="status" {}
                (keys())
            },
        )
    }
}

/// How many requests wait, next to the word in the navigation.
pub(crate) fn waiting_badge(count: usize) -> Markup {
    html! {
        span #waiting .badge hidden[count == 0] data-count=(count) {
            (count) span.hidden { @if count == 1 { " request waits" } @else { " requests wait" } }
        }
    }
}

fn document(title: &str, live: Option<&Live>, body: Markup) -> Markup {
    cycod_page::document(assets(), title, live, &body)
}

/// What the keys do.
fn keys() -> Markup {
    let all = [
        ("/", "find"),
        ("g", "tools"),
        ("r", "runs"),
        ("a", "approvals"),
        ("j k", "next and previous row"),
        ("Enter", "open the row"),
        ("Ctrl Enter", "send the form"),
        ("y n", "on a focused request: approve once, deny"),
        ("?", "this list"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.facts { @for (key, what) in all { dt { @for key in key.split(' ') { kbd { (key) } " " } } dd { (what) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// The page of a browser that has no session.
pub(crate) fn way_in(why: Option<&str>) -> Markup {
    let hint =
        html! { "Run " code { "cycod ui" } " in a terminal. It opens this page with a code, and prints the address." };
    let why = why.map(|why| html! { (text(why)) });
    document("Open", None, parts::way_in(html! { "cycod" }, why, hint, "Open"))
}

/// The page at an address.
///
/// # Errors
/// When there is none (404), or what it shows cannot be read (500).
pub(crate) fn page_at(site: &Site, session: &Session, path: &str, query: &Form) -> Result<Page, Refused> {
    let mut parts = path.trim_matches('/').split('/');
    match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
        ("tool", Some(name), Some("edit")) => {
            let page = EditPage::of(&site.engine(), &from_path(name), None).map_err(|refusal| missing(&refusal))?;
            edit_page(site, session, &EditPage { is_saved: query.text("saved").is_some(), ..page })
        }
        ("tool", Some(name), Some("trust")) => trust_page(site, session, &from_path(name), None),
        ("trust", None, _) => trust(site, query),
        ("servers", None, _) => Ok(servers(site, query)),
        ("server", Some(name), None) => server_page(site, session, &from_path(name), query, None),
        ("costs", None, _) => Ok(costs(site, query)),
        ("machine", None, _) => Ok(machine_page(site, &MachineView::unstarted(&site.engine()), false)),
        ("policy", None, _) => policy(site, query),
        // A form without script leads to the address of the tool that it names.
        ("policy", Some("test"), None) => policy_test(site, query.text("tool").unwrap_or_default().trim()),
        ("policy", Some("test"), Some(name)) => policy_test(site, &from_path(name)),
        ("", None, _) => Ok(tools(site, query)),
        ("tool", Some(name), None) => tool(site, &from_path(name), query),
        ("runs", None, _) => runs(site, query),
        ("run", Some(id), None) => run(site, session, id, query),
        ("approvals", None, _) => approvals(site, session, query),
        _ => Err(Refused::new(StatusCode::NOT_FOUND, "there is no such page")),
    }
}

fn tools(site: &Site, query: &Form) -> Page {
    let tools = Tools::of(&site.engine(), &site.history(), query);
    Page::new(site, Section::Tools, "Tools", tools::page(&tools, query)).live("/live?page=tools".to_owned())
}

fn tool(site: &Site, name: &str, query: &Form) -> Result<Page, Refused> {
    let engine = site.engine();
    let from = match query.filled("from") {
        Some(id) => Some(found(site, id)?),
        None => None,
    };
    let tool = ToolPage::of(&engine, name, from.as_ref()).map_err(|error| not_found(&error))?;
    Ok(tool_page(site, &tool))
}

/// The page of a request that is refused.
pub(crate) fn refused_page(site: &Site, refused: &Refused) -> Page {
    let title = refused.status.canonical_reason().unwrap_or("Refused");
    let content = html! {
        header.head { h1 { (title) } }
        div.problem role="alert" { p { (parts::prose(&refused.why)) } }
        p { a href="/" { "All tools" } }
    };
    let page = Page::new(site, Section::None, title, content).live(WAITING.to_owned());
    Page { status: refused.status, ..page }
}

/// The page of a tool with what was typed.
pub(crate) fn tool_page(site: &Site, page: &ToolPage) -> Page {
    Page::new(site, Section::Tools, &page.name, tool::page(page, site.is_read_only)).live("/live?page=tool".to_owned())
}

fn runs(site: &Site, query: &Form) -> Result<Page, Refused> {
    let (workspace, history) = (site.engine().host().workspace.clone(), site.history());
    // Before the page is made: a run that comes meanwhile is news, and not missed.
    let seen = history.last_row().map_err(|error| unreadable(&error))?.to_string();
    let runs = Runs::of(&history, &workspace, query).map_err(|error| unreadable(&error))?;
    let page = Page::new(site, Section::Runs, "Runs", runs::page(&runs, query));
    let is_first = query.filled("before").is_none();
    Ok(if is_first {
        page.live(query.address("/live", &[("page", Some("runs")), ("seen", Some(&seen))]))
    } else {
        page
    })
}

fn run(site: &Site, _session: &Session, id: &str, query: &Form) -> Result<Page, Refused> {
    let (engine, history) = (site.engine(), site.history());
    let run = found(site, id)?;
    let part = Part::of(query);
    let read = || -> Result<RunPage, StoreError> {
        let mut journal = Journal::open(&history, &run.id, part.step.clone())?;
        journal.read()?;
        RunPage::of(&engine, &run, &mut journal, &part)
    };
    let page = read().map_err(|error| unreadable(&error))?;
    let head = &page.head;
    let is_running = head.state == cycod_store::State::Running;
    let live = query
        .address("/live", &[("page", Some("run")), ("id", Some(&head.id)), ("seen", Some(&page.seen.to_string()))]);
    let title = format!("{} {}", head.tool, head.outcome);
    let shown = Page::new(site, Section::Runs, title, run::page(&page, site.is_read_only));
    Ok(if is_running { shown.live(live) } else { shown.live(WAITING.to_owned()) })
}

/// The run of a name.
///
/// # Errors
/// When there is none, or the history cannot be read.
pub(crate) fn found(site: &Site, id: &str) -> Result<Run, Refused> {
    let mut runs = site.history().find(id).map_err(|error| unreadable(&error))?;
    let missing = || Refused::new(StatusCode::NOT_FOUND, format!("there is no run `{id}`, or no longer"));
    if runs.len() == 1 { Ok(runs.remove(0)) } else { Err(missing()) }
}

fn approvals(site: &Site, session: &Session, query: &Form) -> Result<Page, Refused> {
    // Before the page is made: a request that comes meanwhile is news, and not missed.
    let shown = model::waiting_ids(&site.engine()).map_err(|error| unreadable(&error))?;
    let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
    let content = approvals_main(site, session, query).map_err(|error| unreadable(&error))?;
    let live = query.address("/live", &[("page", Some("approvals")), ("shown", Some(&shown.join(",")))]);
    Ok(Page::new(site, Section::Approvals, "Approvals", content).live(live))
}

/// What waits and what stands. Each card carries a ticket for its answer.
///
/// # Errors
/// When the queue cannot be read.
pub(crate) fn approvals_main(site: &Site, session: &Session, query: &Form) -> Result<Markup, StoreError> {
    let approvals = Approvals::of(&site.engine(), query.number("standing"))?;
    let mut tickets = Vec::new();
    for card in &approvals.cards {
        tickets.push(site.guard.card(session, &about_call(&card.id, &card.request.call))?);
    }
    Ok(approvals::page(&approvals, &tickets, site.is_read_only))
}

fn trust(site: &Site, query: &Form) -> Result<Page, Refused> {
    let list = TrustList::of(&site.engine(), query).map_err(|refusal| failed(&refusal))?;
    Ok(Page::new(site, Section::Trust, "Trust", trust::list(&list)).live(WAITING.to_owned()))
}

/// The page on which a tool is edited. It carries a ticket for saving what is typed.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn edit_page(site: &Site, session: &Session, page: &EditPage) -> Result<Page, Refused> {
    let ticket = site.guard.card(session, &about_edit(&page.name, &page.opened));
    let ticket = ticket.map_err(|error| unreadable(&error))?;
    let content = edit::page(page, &ticket, site.is_read_only);
    Ok(Page::new(site, Section::Tools, format!("Edit {}", page.name), content).live(WAITING.to_owned()))
}

/// What is found in a text, as a part of the editor.
pub(crate) fn edit_found(name: &str, found: &Found) -> Markup {
    edit::found(found, &edit_address(name))
}

/// The page on which a tool is trusted. Each card carries a ticket for its answer.
///
/// # Errors
/// When there is no such tool, or what is trusted cannot be told.
pub(crate) fn trust_page(site: &Site, session: &Session, name: &str, why: Option<&Refusal>) -> Result<Page, Refused> {
    let page = TrustPage::of(&site.engine(), name).map_err(|refusal| missing(&refusal))?;
    let mut tickets = Vec::new();
    for card in &page.cards {
        let about = about_trust(&card.row.name, &card.digest);
        tickets.push(site.guard.card(session, &about).map_err(|error| unreadable(&error))?);
    }
    let why = why.map(parts::refusal);
    let content = trust::page(&page, &tickets, why.as_ref(), site.is_read_only);
    Ok(Page::new(site, Section::Trust, format!("Trust {name}"), content).live(WAITING.to_owned()))
}

fn servers(site: &Site, query: &Form) -> Page {
    let page = ServersPage::of(&site.engine(), query);
    Page::new(site, Section::Servers, "Servers", servers::list(&page)).live(WAITING.to_owned())
}

/// The page of a server, with what came of meeting it. Each card carries a ticket for its answer.
///
/// # Errors
/// When there is no such server.
pub(crate) fn server_page(
    site: &Site,
    session: &Session,
    name: &str,
    query: &Form,
    visit: Option<Result<Visit, Refusal>>,
) -> Result<Page, Refused> {
    let page =
        ServerPage::of(&site.engine(), &site.history(), name, query, visit).map_err(|refusal| missing(&refusal))?;
    let name = &page.row.view.name;
    let ticket = |what: &str, digest: &str| {
        let ticket = site.guard.card(session, &about_server(name, what, digest));
        ticket.map_err(|error| unreadable(&error))
    };
    let tickets = ServerTickets {
        consent: page.consent.as_ref().map(|card| ticket("", &card.digest)).transpose()?,
        proposals: page.proposals.iter().map(|card| ticket(&card.tool, &card.digest)).collect::<Result<_, _>>()?,
    };
    let content = servers::page(&page, &tickets, site.is_read_only);
    Ok(Page::new(site, Section::Servers, name.clone(), content).live(WAITING.to_owned()))
}

fn costs(site: &Site, query: &Form) -> Page {
    let costs = Costs::of(&site.engine(), query);
    Page::new(site, Section::Costs, "Costs", costs::page(&costs, query)).live(WAITING.to_owned())
}

/// The page of the machine; `is_complete` is whether programs were asked for their versions.
pub(crate) fn machine_page(site: &Site, view: &MachineView, is_complete: bool) -> Page {
    let content = machine::page(view, is_complete, site.is_read_only);
    Page::new(site, Section::Machine, "Machine", content).live(WAITING.to_owned())
}

fn policy(site: &Site, query: &Form) -> Result<Page, Refused> {
    let page = PolicyPage::of(&site.engine(), &site.history(), query).map_err(|error| unreadable(&error))?;
    Ok(Page::new(site, Section::Policy, "Rules", policy::page(&page)).live(WAITING.to_owned()))
}

fn policy_test(site: &Site, name: &str) -> Result<Page, Refused> {
    let test = PolicyTest::of(&site.engine(), name, None).map_err(|error| not_found(&error))?;
    Ok(policy_test_page(site, &test))
}

/// The page of a call that is tested.
pub(crate) fn policy_test_page(site: &Site, test: &PolicyTest) -> Page {
    let title = format!("Rules for {}", test.tool.name);
    Page::new(site, Section::Policy, title, policy::test_page(test, site.is_read_only)).live(WAITING.to_owned())
}

/// A refusal because something is not there.
pub(crate) fn missing(refusal: &Refusal) -> Refused {
    Refused::new(StatusCode::NOT_FOUND, refusal.why.clone())
}

/// A refusal of what the engine refuses.
fn failed(refusal: &Refusal) -> Refused {
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, refusal.why.clone())
}

/// A refusal of something that cannot be read.
pub(crate) fn unreadable(error: &StoreError) -> Refused {
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, model::cause(error))
}

pub(crate) fn not_found(error: &EngineError) -> Refused {
    Refused::new(StatusCode::NOT_FOUND, error.to_string())
}

/// The address of a tool.
pub(crate) fn tool_address(name: &str) -> String {
    format!("/tool/{}", in_path(name))
}

/// The address at which a tool is edited.
pub(crate) fn edit_address(name: &str) -> String {
    format!("/tool/{}/edit", in_path(name))
}

/// The address of a server.
pub(crate) fn server_address(name: &str) -> String {
    format!("/server/{}", in_path(name))
}

/// The address at which a tool is trusted.
pub(crate) fn trust_address(name: &str) -> String {
    format!("/tool/{}/trust", in_path(name))
}

/// The address at which calls of a tool are tested.
pub(crate) fn policy_test_address(name: &str) -> String {
    format!("/policy/test/{}", in_path(name))
}

/// The address of a run.
pub(crate) fn run_address(id: &str) -> String {
    format!("/run/{}", in_path(id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const STYLE: &str = include_str!("../../../cycod-page/assets/page.css");
    const SOURCES: [&str; 15] = [
        include_str!("../../../cycod-page/src/document.rs"),
        include_str!("../../../cycod-page/src/parts.rs"),
        include_str!("mod.rs"),
        include_str!("approvals.rs"),
        include_str!("costs.rs"),
        include_str!("edit.rs"),
        include_str!("machine.rs"),
        include_str!("parts.rs"),
        include_str!("policy.rs"),
        include_str!("run.rs"),
        include_str!("runs.rs"),
        include_str!("servers.rs"),
        include_str!("tool.rs"),
        include_str!("tools.rs"),
        include_str!("trust.rs"),
    ];

    /// Text with much of what a page must not take as markup, and of what changes how a text reads.
    fn hostile() -> impl Strategy<Value = String> {
        let special = "<>&\"'/ \n\r\t\u{1b}\u{202e}\u{200b}\u{200c}\u{200d}\u{fe0f}\u{20e3}3क\u{94d}👩";
        let special = prop::sample::select(special.chars().collect::<Vec<_>>());
        prop::collection::vec(prop_oneof![any::<char>(), special], 0..30).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn text_is_no_markup_and_hides_nothing(any in hostile()) {
            for markup in [html! { p { (text(&any)) } }, html! { p title=(text(&any)) {} }, log_lines(&any)] {
                let markup = markup.into_string();
                let elements = markup.matches('<').count();
                let divs = markup.matches("<div>").count();
                prop_assert!(elements == 2 || elements == 2 * divs, "{markup}");
                prop_assert_eq!(text(&markup), markup);
            }
        }
    }

    /// The colors of a theme, by name.
    fn colors(block: &str) -> Vec<(String, [f64; 3])> {
        let pairs = block.split(';').filter_map(|line| line.trim().strip_prefix("--")?.split_once(": #"));
        let channel = |hex: &str, at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        pairs.map(|(name, hex)| (name.to_owned(), [0, 2, 4].map(|at| channel(hex, at)))).collect()
    }

    fn luminance(color: [f64; 3]) -> f64 {
        let linear = |c: f64| if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
    }

    #[test]
    fn text_can_be_read_in_both_themes() {
        let (light, rest) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
        let dark = rest.split_once("\n}").unwrap().0;
        for theme in [light, dark] {
            let all = colors(&theme.replace(['{', '}'], ";"));
            let of = |name: &str| all.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1;
            let contrast = |one: &str, other: &str| {
                let (one, other) = (luminance(of(one)), luminance(of(other)));
                (one.max(other) + 0.05) / (one.min(other) + 0.05)
            };
            for (text, grounds) in [
                ("text", vec!["bg", "surface", "sunken", "bad-soft"]),
                ("muted", vec!["bg", "surface", "sunken"]),
                ("accent", vec!["bg", "surface", "accent-soft"]),
                ("on-accent", vec!["accent"]),
                ("ok", vec!["ok-soft", "surface"]),
                ("bad", vec!["bad-soft", "surface"]),
                ("warn", vec!["warn-soft", "surface"]),
                ("wait", vec!["wait-soft", "surface"]),
            ] {
                for ground in grounds {
                    assert!(contrast(text, ground) >= 4.5, "{text} on {ground}: {}", contrast(text, ground));
                }
            }
            assert!(contrast("line-strong", "surface") >= 3.0, "borders of controls");
        }
    }

    /// Names of classes in `.name {` of the style are in the templates.
    #[test]
    fn every_style_has_a_class() {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let after = |text: &str, mark: char| -> BTreeSet<String> {
            let mut names = BTreeSet::new();
            for (at, _) in text.match_indices(mark) {
                let name: String = text[at + 1..].chars().take_while(|c| is_name(*c)).collect();
                if name.starts_with(|c: char| c.is_ascii_lowercase()) {
                    names.insert(name);
                }
            }
            names
        };
        let rules: String = STYLE.split('}').filter_map(|rule| rule.rsplit_once('{')).map(|(head, _)| head).collect();
        let styled: BTreeSet<String> = after(&rules, '.').into_iter().filter(|name| name != "svg").collect();
        let templates = SOURCES.map(|source| source.split("#[cfg(test)]").next().unwrap()).join("\n");
        for name in &styled {
            // A number or a word can be added to the beginning of a name: `depth-1`.
            let is_made = |(stem, _)| templates.contains(&format!("{stem}-\""));
            let is_used = templates.contains(name.as_str()) || name.rsplit_once('-').is_some_and(is_made);
            assert!(is_used, "nothing has the class `{name}`");
        }
    }
}
