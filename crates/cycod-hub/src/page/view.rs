//! The pages as HTML; pure. What members wrote is escaped by the templates, and [`text`] shows what is hidden in it.

use cycod_page::{
    Assets, Live, document,
    parts::{self, command, count, difference_text, empty, prose, text},
};
use cycod_team::ChangeClass;
use jiff::Timestamp;
use maud::{Markup, html};

use super::model::{
    Audit, CHECK, Chain, ChangedFile, Fleet, FlowRow, Flows, Members, Progress, ProposalPage, ProposalRow, Proposals,
    ReleasePage, ReleaseRow, Releases, ShownReview, TaskRow, Window, time,
};
use crate::{
    HubAudit,
    consents::OpenConsent,
    questions::OpenQuestion,
    schedules::{ScheduleRun, ShownSchedule},
};

/// The most paths that a row of a list names.
const PATHS: usize = 4;

/// A page without what surrounds it.
pub(super) struct Page {
    title: String,
    section: Section,
    content: Markup,
}

/// The parts of the pages that the navigation leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Proposals,
    Releases,
    Members,
    Fleet,
    Flows,
    Audit,
}

const SECTIONS: [(Section, &str, &str); 6] = [
    (Section::Proposals, "Proposals", "/"),
    (Section::Releases, "Releases", "/releases"),
    (Section::Members, "Members", "/members"),
    (Section::Fleet, "Workers", "/fleet"),
    (Section::Flows, "Schedules", "/flows"),
    (Section::Audit, "Record", "/audit"),
];

impl Page {
    fn new(section: Section, title: impl Into<String>, content: Markup) -> Self {
        Self { title: title.into(), section, content }
    }

    /// The part of the document that changes.
    pub(super) fn main(&self) -> Markup {
        html! { main #main tabindex="-1" { (self.content) } }
    }

    /// The whole document, for a member who is signed in. `follow` gives the address of the stream that keeps its main part up to
    /// date.
    pub(super) fn whole(&self, team: &str, member: &str, follow: impl FnOnce(&Markup) -> Option<String>) -> Markup {
        let assets = Assets::plain();
        let main = self.main();
        let refused = "This page no longer follows the hub. Load it again.";
        let live = follow(&main).map(|address| Live { address, refused });
        let body = html! {
            nav.rail aria-label="Main" {
                a.brand href="/" { img src=(assets.icon.path) alt="" width="20" height="20"; (text(team)) }
                ul {
                    @for (section, name, address) in SECTIONS {
                        li { a href=(address) aria-current=[(section == self.section).then_some("page")] { (name) } }
                    }
                }
                p.place { (text(member)) }
                form method="post" action="/out" { button { "Sign out" } }
            }
            (main)
        };
        document(assets, &self.title, live.as_ref(), &body)
    }
}

/// The page of a browser that has no session.
pub(super) fn way_in(team: &str, why: Option<&str>) -> Markup {
    let hint = html! { "Run " code { "cycod team page" } " on a machine that has joined the team. It prints the address of this page with a code, which works once, within a minute." };
    let body = parts::way_in(html! { "The hub of " (text(team)) }, why.map(prose), hint, "Sign in");
    document(Assets::plain(), "Sign in", None, &body)
}

/// What is shown in the place of a page.
pub(super) fn failed(team: &str, why: &str) -> Markup {
    let body = html! {
        main #main .way-in tabindex="-1" {
            h1 { "The hub of " (text(team)) }
            p.problem role="alert" { (prose(why)) }
            p { a href="/" { "Proposals" } }
        }
    };
    document(Assets::plain(), "Not here", None, &body)
}

pub(super) fn proposals(shown: &Proposals) -> Page {
    let filter = |name: &str, address: &str, count: i64, is_current: bool| {
        html! { a.button href=(address) aria-current=[is_current.then_some("true")] { (name) " " span.muted { (number(count)) } } }
    };
    let content = html! {
        header.head {
            h1 { "Proposals" }
            p.facts-line { "What members want to change, and who has to review it. A release takes in what enough reviewers approved." }
        }
        div.filters {
            (filter("Waiting", "/", shown.counts[0], !shown.is_closed))
            (filter("Closed", "/?state=closed", shown.counts[1], shown.is_closed))
        }
        div #list {
            @if shown.rows.is_empty() {
                @if shown.is_closed {
                    (empty("No proposal is closed yet.", html! { "A release closes the proposals that it takes in." }))
                } @else {
                    (empty("No proposal waits.", html! { "Make one: " code { "cycod team propose TOOL --key ~/.ssh/id_ed25519 --why '…'" } }))
                }
            } @else {
                table.rows {
                    (heads(&["Proposal", "Changes", "State", "By", "Made"]))
                    tbody { @for row in &shown.rows { (proposal_row(row)) } }
                }
            }
            (pages(&shown.window, "/"))
        }
    };
    Page::new(Section::Proposals, "Proposals", content)
}

fn proposal_row(row: &ProposalRow) -> Markup {
    let more = row.paths.len().saturating_sub(PATHS);
    html! {
        tr {
            th scope="row" {
                a.title href={ "/proposal/" (row.digest) } { (text(&row.why)) }
                p.about { code { (short(&row.digest.to_string())) } (for_channel(row)) }
            }
            td { @for path in row.paths.iter().take(PATHS) { code { (text(path)) } br; } @if more > 0 { span.muted { (more) " more" } } }
            td {
                (progress(row.progress))
                @if !row.missing.is_empty() { p.about { "not yet: " (text(&row.missing.join(", "))) } }
            }
            td data-label="by" { (text(&row.author)) }
            td.when { (when(row.made)) }
        }
    }
}

/// For which channel a proposal is, if that isn't `stable`.
fn for_channel(row: &ProposalRow) -> Markup {
    html! { @if !row.channel.is_stable() { ", for " span.chip.none { (row.channel) } } }
}

fn progress(progress: Progress) -> Markup {
    let (class, sign, words) = match progress {
        Progress::Waiting { approvals, needed } => ("wait", "▲", format!("{approvals} of {needed} reviews")),
        Progress::Approved => ("ok", "●", "approved".to_owned()),
        Progress::Refused => ("bad", "■", "refused".to_owned()),
        Progress::Outdated => ("warn", "▲", "outdated".to_owned()),
        Progress::Closed => ("none", "◌", "closed".to_owned()),
    };
    html! { span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (words) } }
}

pub(super) fn proposal(shown: &ProposalPage) -> Page {
    let ProposalPage { row, files, reviews, needs, is_yours_to_review } = shown;
    let digest = row.digest.to_string();
    let name = short(&digest);
    let content = html! {
        header.head {
            div.title { h1 { (text(&row.why)) } (progress(row.progress)) }
            p.facts-line { code { (name) } " by " (text(&row.author)) ", " (when(row.made)) (for_channel(row)) }
            @if let Some(source) = &row.source { p.facts-line { "from " (text(source)) ", as Git says" } }
        }
        @if row.progress == Progress::Outdated {
            div.problem role="status" { p { strong { "The team's files have changed since." } " Its author can propose it again." } }
        }
        div.columns {
            div {
                @for file in files { (changed(file)) }
            }
            div {
                section.card aria-labelledby="reviews-title" {
                    h2 #reviews-title { "Reviews" }
                    @if reviews.is_empty() { p.pad.muted { "No one has reviewed it." } }
                    @for review in reviews { (self::review(review)) }
                    @if !row.missing.is_empty() {
                        dl.facts { dt { "not yet" } dd { (text(&row.missing.join(", "))) } }
                    }
                }
                @if matches!(row.progress, Progress::Waiting { .. }) { (how_to_review(name, *is_yours_to_review)) }
                section.card aria-labelledby="needs-title" {
                    h2 #needs-title { "What the root asks for" }
                    dl.facts {
                        @for (class, needed) in needs { dt { (class) } dd { (reviews_of(*needed)) } }
                        dt { "SHA-256" } dd { code { (row.digest) } }
                    }
                }
            }
        }
    };
    Page::new(Section::Proposals, format!("{name}: {}", row.why), content)
}

fn reviews_of(needed: usize) -> String {
    if needed == 1 { "1 review by another member".to_owned() } else { format!("{needed} reviews by other members") }
}

fn changed(file: &ChangedFile) -> Markup {
    html! {
        section.card aria-label=(text(&file.path)) {
            h2 { code { (text(&file.path)) } }
            ul.checks {
                @for (class, how) in &file.how {
                    li { (sign(*class)) span.name { (class.name()) } p { (prose(how)) } }
                }
            }
            @match &file.lines {
                Some(lines) => (difference_text(lines)),
                None => p.pad.muted { "It is no text, or too long to be shown by line." },
            }
            @if file.more > 0 { p.pad.muted { (count(file.more)) " more lines: " code { "cycod team review" } " shows all of them." } }
        }
    }
}

/// Whether a class is one of the grave ones, by which a tool can do more than before.
fn sign(class: ChangeClass) -> Markup {
    use ChangeClass::{HigherLevel, Privileges, Programs, Rules, Servers, Settings, WeakerIsolation, WiderReach};
    match class {
        HigherLevel | WiderReach | WeakerIsolation | Privileges | Rules | Servers | Settings | Programs => {
            html! { span.sign.warn title="It can do more than before" { "▲" } }
        }
        _ => html! { span.sign.run aria-hidden="true" { "◆" } },
    }
}

fn review(review: &ShownReview) -> Markup {
    let (class, sign, words) = if review.approves { ("ok", "●", "approves") } else { ("bad", "■", "refuses") };
    html! {
        div.answer {
            h3 { (text(&review.reviewer)) span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (words) } }
            @if !review.why.is_empty() { p { (text(&review.why)) } }
            p.muted { (when(review.made)) ", saw: " (review.classes.join(", ")) }
        }
    }
}

/// The commands for a review, which only the reviewer's own machine can sign.
fn how_to_review(name: &str, is_yours: bool) -> Markup {
    let line = |verdict: &str| format!("cycod team review {name} --{verdict} --key ~/.ssh/id_ed25519");
    html! {
        section.card.ask aria-labelledby="how-title" {
            h2 #how-title { @if is_yours { "Your review" } @else { "To review it" } }
            p.pad { "A review is signed with the reviewer's SSH key, which the hub never has. Run on your machine:" }
            (command(&format!("{}\n\n# or, to stop it\n{}", line("approve"), line("refuse --why '…'"))))
        }
    }
}

pub(super) fn members(shown: &Members) -> Page {
    let content = html! {
        header.head {
            h1 { "Members" }
            p.facts-line { "Every member can use the tools. The root, which the hub can't change, says who may propose and review." }
        }
        div #list {
            @if shown.rows.is_empty() {
                (empty("No members yet.", html! { "Add one where the hub runs: " code { "cycod-hub member add --data DIR NAME --key FILE" } }))
            } @else {
                table.rows {
                    (heads(&["Member", "May", "Devices"]))
                    tbody {
                        @for member in &shown.rows {
                            tr {
                                th scope="row" {
                                    strong { (text(&member.name)) }
                                    p.about { code { (text(&member.key)) } }
                                    @if let Some(subject) = &member.subject { p.about { "logs in as " code { (text(subject)) } } }
                                }
                                td {
                                    @if member.is_author { span.chip { "propose" } " " }
                                    @if member.is_reviewer { span.chip.ok { "review" } " " }
                                    @if member.is_admin { span.chip.wait { "release" } " " }
                                    @if !(member.is_author || member.is_admin) { span.muted { "use" } }
                                }
                                td {
                                    @if member.devices.is_empty() { span.muted { "none" } }
                                    @for (key, joined) in &member.devices { code { (key) "…" } " " span.muted { "since " (when(*joined)) } br; }
                                }
                            }
                        }
                    }
                }
            }
            (pages(&shown.window, "/members"))
        }
    };
    Page::new(Section::Members, "Members", content)
}

pub(super) fn releases(shown: &Releases) -> Page {
    let content = html! {
        header.head {
            h1 { "Releases" }
            p.facts-line { "Members use the newest one, and check every signature themselves. An administrator makes the next one: " code { "cycod team release" } }
        }
        div #list {
            table.rows {
                (heads(&["Release", "State", "Made", "Expires", "SHA-256"]))
                tbody {
                    @for row in &shown.rows {
                        tr {
                            th scope="row" { a href=(row.address()) { (row.title()) } }
                            td { (release_state(row)) }
                            td.when data-label="made" { (when(row.made)) }
                            td.when data-label="expires" { (when(row.expires)) }
                            td.when { code { (short(&row.digest)) "…" } }
                        }
                    }
                }
            }
            (pages(&shown.window, "/releases"))
        }
    };
    Page::new(Section::Releases, "Releases", content)
}

fn release_state(row: &ReleaseRow) -> Markup {
    let (class, sign, words) = match (row.is_current, row.is_over) {
        (true, false) => ("ok", "●", "in force"),
        (true, true) => ("bad", "■", "expired"),
        (false, _) => ("none", "◌", "earlier"),
    };
    state((class, sign, words))
}

pub(super) fn release(shown: &ReleasePage) -> Page {
    let ReleasePage { row, root, files, window } = shown;
    let title = row.title();
    let content = html! {
        header.head {
            div.title { h1 { (title) } (release_state(row)) }
            p.facts-line { "made " (when(row.made)) ", expires " (when(row.expires)) ", root " (root) }
        }
        div #list {
            @if files.is_empty() {
                (empty("It has no files.", html! { "Propose some: " code { "cycod team propose" } }))
            } @else {
                table.rows {
                    thead { tr { th scope="col" { "File" } th.number scope="col" { "Bytes" } th scope="col" { "SHA-256" } } }
                    tbody {
                        @for (path, file) in files {
                            tr {
                                th scope="row" { code { (text(path)) } @if file.executable { " " span.chip.warn { "executable" } } }
                                td.number data-label="bytes" { (number(i64::try_from(file.size).unwrap_or(i64::MAX))) }
                                td { code { (file.sha256) } }
                            }
                        }
                    }
                }
            }
            (pages(window, &row.address()))
        }
    };
    Page::new(Section::Releases, title, content)
}

pub(super) fn audit(shown: &Audit) -> Page {
    let content = html! {
        header.head {
            h1 { "Record of changes" }
            p.facts-line { "Each row holds the digest of the row before, so that none can be altered or removed alone." }
        }
        (chain(&shown.chain))
        div #list {
            table.rows {
                thead { tr { th.number scope="col" { "Row" } th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "What" } th scope="col" { "Digest" } } }
                tbody {
                    @for row in &shown.rows {
                        tr {
                            th.number scope="row" { (row.number) }
                            td.when { (when(time(row.at))) }
                            td { (text(&row.member)) }
                            td { strong { (text(&row.action)) } " " (subject(row)) }
                            td.when { code { (short(&row.digest)) "…" } }
                        }
                    }
                }
            }
            (pages(&shown.window, "/audit"))
        }
    };
    Page::new(Section::Audit, "Record of changes", content)
}

pub(super) fn fleet(shown: &Fleet) -> Page {
    let content = html! {
        header.head {
            h1 { "Workers" }
            p.facts-line { "Machines that run tools for members. Run one on a worker: " code { "cycod run TOOL --on fleet" } }
        }
        @if shown.workers.is_empty() {
            (empty("No workers yet.", html! { "Make a token for one where the hub runs: " code { "cycod-hub worker token --data DIR NAME" } }))
        } @else {
            table.rows {
                (heads(&["Worker", "State", "Labels", "Runs"]))
                tbody {
                    @for (worker, is_here, runs) in &shown.workers {
                        tr {
                            th scope="row" { strong { (text(&worker.name)) } p.about { code { (short(&worker.key)) "…" } } }
                            td { (state(if *is_here { ("ok", "●", "running") } else { ("none", "◌", "away") })) }
                            td { @for label in &worker.labels { span.chip { (text(label)) } " " } }
                            td { @match runs { Some(runs) => (text(runs)), None => span.muted { "nothing" } } }
                        }
                    }
                }
            }
        }
        h2 { "Runs" }
        div #list {
            @if shown.tasks.is_empty() {
                (empty("No runs in the last hour.", html! { "The hub keeps a run for an hour after its end." }))
            } @else {
                table.rows {
                    (heads(&["Tool", "State", "Worker", "By", "Begun"]))
                    tbody { @for row in &shown.tasks { (task_row(row)) } }
                }
            }
            (pages(&shown.window, "/fleet"))
        }
    };
    Page::new(Section::Fleet, "Workers", content)
}

/// The heads of the columns of a table.
fn heads(columns: &[&str]) -> Markup {
    html! { thead { tr { @for column in columns { th scope="col" { (column) } } } } }
}

fn task_row(row: &TaskRow) -> Markup {
    let shown = match row.state.as_str() {
        "waiting" | "asked" => ("wait", "▲", "waiting"),
        "leased" => ("ok", "●", "running"),
        "done" => ("none", "◌", "ended"),
        "lost" => ("bad", "■", "lost"),
        "withdrawn" => ("none", "◌", "stopped"),
        _ => ("bad", "■", "no worker had time"),
    };
    html! {
        tr {
            th scope="row" { (text(&row.tool)) }
            td {
                (state(shown))
                @if let Some(why) = &row.why { p.about { (prose(why)) } }
                @if let Some(late) = &row.late { p.about { (late.words()) } }
            }
            td {
                @if row.worker.is_empty() { span.muted { "none" } } @else { (text(&row.worker)) }
                @if !row.lost.is_empty() { p.about { "lost: " (text(&row.lost)) } }
            }
            td data-label="by" { (text(&row.member)) }
            td.when { (when(row.made)) }
        }
    }
}

pub(super) fn flows(shown: &Flows) -> Page {
    let content = html! {
        header.head {
            h1 { "Schedules" }
            p.facts-line { "Calls that members permitted in advance, and that the hub starts by the clock. Add one: " code { "cycod schedule add TOOL --cron '0 3 * * 1-5'" } }
        }
        @if shown.schedules.is_empty() {
            (empty("No schedules yet.", html! { "A member adds one: " code { "cycod schedule add TOOL --cron CRON --zone ZONE" } }))
        } @else {
            table.rows {
                (heads(&["Schedule", "State", "Next", "Last times", "By"]))
                tbody { @for schedule in &shown.schedules { (schedule_row(schedule)) } }
            }
        }
        @if !shown.questions.is_empty() {
            h2 { "Lost steps" }
            p.facts-line { "Each may have been done, so its run waits until its member or an administrator decides: " code { "cycod approvals list" } }
            table.rows {
                (heads(&["Step", "Worker", "By", "Lost", "Until"]))
                tbody { @for question in &shown.questions { (question_row(question)) } }
            }
        }
        @if !shown.consents.is_empty() {
            h2 { "Approvals" }
            p.facts-line { "The rules of a worker ask about each, so its run waits until someone whom the worker knows approves it: " code { "cycod approvals list" } }
            table.rows {
                (heads(&["Run", "Worker", "By", "Asked", "Until"]))
                tbody { @for consent in &shown.consents { (consent_row(consent)) } }
            }
        }
        h2 { "Durable runs" }
        div #list {
            @if shown.rows.is_empty() {
                (empty("No durable runs in the last week.", html! { "The hub keeps a durable run for a week after its end." }))
            } @else {
                table.rows {
                    (heads(&["Tool", "State", "Workers", "By", "Begun"]))
                    tbody { @for row in &shown.rows { (flow_row(row)) } }
                }
            }
            (pages(&shown.window, "/flows"))
        }
    };
    Page::new(Section::Flows, "Schedules", content)
}

fn schedule_row(shown: &ShownSchedule) -> Markup {
    let Some(terms) = &shown.ticket.schedule else { return Markup::default() };
    let about = match shown.state.as_str() {
        "active" => ("ok", "●", "active"),
        "paused" => ("wait", "▲", "paused"),
        "expired" => ("bad", "■", "expired"),
        _ => ("bad", "■", "stopped"),
    };
    html! {
        tr {
            th scope="row" {
                strong { (text(&terms.name)) }
                p.about { (text(&shown.ticket.tool)) }
                p.about { code { (text(&terms.when.cron)) } " in " (text(&terms.when.zone)) }
                p.about { "missed: " (terms.when.missed) ", overlap: " (terms.when.overlap) }
            }
            td { (state(about)) @if !shown.why.is_empty() { p.about { (prose(&shown.why)) } } }
            td.when data-label="next" {
                @if shown.next > 0 { (when(time(shown.next))) } @else { span.muted { "none" } }
                p.about { "until " (when(time(shown.ticket.expires))) }
            }
            td {
                @if shown.runs.is_empty() { span.muted { "none yet" } }
                @for run in &shown.runs { (schedule_time(run)) }
            }
            td data-label="by" { (text(&shown.member)) }
        }
    }
}

/// A time of a schedule, and what came of it.
fn schedule_time(run: &ScheduleRun) -> Markup {
    let (class, sign) = match run.state.as_str() {
        "ended" => ("none", "◌"),
        "running" => ("ok", "●"),
        "waiting" => ("wait", "▲"),
        _ => ("bad", "■"),
    };
    html! {
        p.about {
            (when(time(run.instant))) " " (state((class, sign, &run.state)))
            @if !run.why.is_empty() { " " (prose(&run.why)) }
        }
    }
}

fn question_row(question: &OpenQuestion) -> Markup {
    html! {
        tr {
            th scope="row" {
                strong { (text(&question.step)) } " of " (text(&question.tool))
                p.about { code { (text(&question.run)) } }
                @if !question.late.is_empty() {
                    p.about { "a result came late, and counts with " code { "--lost done" } " if the step succeeded: " code { "cycod runs late " (text(&question.late)) } }
                }
            }
            td { (text(&question.worker)) }
            td data-label="by" { (text(&question.member)) }
            td.when data-label="lost" { (when(time(question.asked / 1000))) }
            td.when data-label="until" { (when(time(question.expires / 1000))) }
        }
    }
}

fn consent_row(consent: &OpenConsent) -> Markup {
    html! {
        tr {
            th scope="row" {
                @if !consent.steps.is_empty() { strong { (text(&consent.steps.join(", "))) } " of " }
                (text(&consent.tool))
                p.about { code { (text(&consent.run)) } }
            }
            td { (text(&consent.worker)) }
            td data-label="by" { (text(&consent.member)) }
            td.when data-label="asked" { (when(time(consent.asked / 1000))) }
            td.when data-label="until" { (when(time(consent.expires / 1000))) }
        }
    }
}

fn flow_row(row: &FlowRow) -> Markup {
    let shown = match row.state.as_str() {
        "running" if row.workers.is_empty() => ("wait", "▲", "waiting"),
        "running" => ("ok", "●", "running"),
        "done" => ("none", "◌", "ended"),
        "expired" => ("bad", "■", "took more than a week"),
        _ => ("bad", "■", "failed"),
    };
    html! {
        tr {
            th scope="row" { (text(&row.tool)) p.about { code { (text(&row.run)) } } }
            td { (state(shown)) @if let Some(why) = &row.why { p.about { (prose(why)) } } }
            td {
                @if row.workers.is_empty() { span.muted { "none" } } @else { (text(&row.workers.join(", "))) }
                @if row.waiting > 0 { p.about { "waiting: " (number(row.waiting)) } }
            }
            td data-label="by" { (text(&row.member)) }
            td.when { (when(row.made)) }
        }
    }
}

fn state((class, sign, words): (&str, &str, &str)) -> Markup {
    html! { span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (words) } }
}

/// What a row is about. A proposal has a page of its own.
fn subject(row: &HubAudit) -> Markup {
    match row.action.as_str() {
        "propose" | "review" | "import" => {
            html! { a href={ "/proposal/" (row.subject) } { "proposal " (short(&row.subject)) } }
        }
        "release" | "renew" | "recover" => {
            html! { a href={ "/release/" (row.subject.replace(' ', "/")) } { "release " (row.subject) } }
        }
        "enrol" => html! { "device " code { (row.subject.get(..12).unwrap_or(&row.subject)) "…" } },
        "schedule" | "pause-schedule" | "resume-schedule" | "remove-schedule" => {
            html! { a href="/flows" { (text(&row.subject)) } }
        }
        "sign-in" => html! { "in a browser" },
        _ => html! { code { (text(&row.subject)) } },
    }
}

fn chain(chain: &Chain) -> Markup {
    match chain {
        Chain::Shown => html! {
            div.filters {
                span.chip.ok { span.sign aria-hidden="true" { "●" } "the rows below follow from each other" }
                form action="/audit" { input type="hidden" name=(CHECK) value="all"; button { "Check all rows" } }
            }
        },
        Chain::Whole { rows, head } => html! {
            div.filters {
                span.chip.ok { span.sign aria-hidden="true" { "●" } "all " (count(*rows)) " rows follow from each other" }
                span { "The digest of the last one is " code { (head) } }
            }
        },
        Chain::Altered(why) => html! {
            div.problem role="alert" { p { strong { "The record was altered." } " " (prose(why)) } }
        },
    }
}

/// Where a window is in its list, with the way to the next one.
fn pages(window: &Window, path: &str) -> Markup {
    let to = |page: i64| window.query.address(path, &[("page", Some(&page.to_string())), ("check", None)]);
    html! {
        @if window.pages() > 1 {
            nav.pages aria-label="Pages" {
                @if window.page > 1 { a href=(to(window.page - 1)) rel="prev" { "Newer" } }
                span.muted { "page " (window.page) " of " (window.pages()) ", " (number(window.rows)) " in all" }
                @if window.page < window.pages() { a href=(to(window.page + 1)) rel="next" { "Older" } }
            }
        }
    }
}

fn number(number: i64) -> String {
    count(usize::try_from(number).unwrap_or_default())
}

/// The first digits of a digest, by which commands name it.
fn short(digest: &str) -> &str {
    digest.get(..8).unwrap_or(digest)
}

/// A time, to the minute.
fn when(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (at.strftime("%Y-%m-%d %H:%M UTC")) } }
}
