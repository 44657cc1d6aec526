//! What other servers offer besides tools, on its way to a client: which server an address or a name leads to, and answers that
//! fit the budget.
//!
//! A prompt is called `mcp_SERVER_NAME`, as a tool is. A resource keeps its address, so that links in texts, schemes that hosts
//! know and templates work as they do without us. An address that two servers claim belongs to neither: each gets
//! `cycod://servers/NAME/ADDRESS`, which reads the resource of that server and no other. So no server can put itself in the place
//! of another.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use cycod_engine::{
    Block, Content, Payload, Selection,
    diagnostic::{Code, Refusal, visible},
    outputs::{Shelf, fitted_content, refused},
};
use cycod_mcp_client::{Account, ServerOffers};
use rmcp::model::{
    CallToolResult, ContentBlock, Prompt, PromptMessage, Resource, ResourceContents, ResourceTemplate, Tool,
};
use serde_json::{Value as Json, json};

use crate::reply;

/// How an address begins that names its server.
const SCHEME: &str = "cycod://servers/";

/// How many links of answers are remembered; older ones give way.
const MOST_LINKS: usize = 4_096;

/// The most characters of a server's instructions that a model gets, and of those of all servers.
const INSTRUCTIONS: usize = 2_000;
const ALL_INSTRUCTIONS: usize = 8_000;

/// The most characters of an address that are shown.
const LONGEST_SHOWN: usize = 200;

/// Which server what is listed belongs to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Routes {
    /// The server and its own name for each prompt.
    prompts: BTreeMap<String, (String, String)>,
    /// The server of each address; nothing for one that several claim.
    resources: HashMap<String, Option<String>>,
    /// Each template with its server, as the server writes it; nothing for one that several claim.
    templates: Vec<(Pieces, Option<String>)>,
    /// Each template as it is listed, with its server and as the server writes it.
    listed: BTreeMap<String, (String, String)>,
    /// The servers whose resources are offered.
    servers: Vec<String>,
}

/// Where an address leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) server: String,
    /// The address as the server knows it.
    pub(crate) uri: String,
}

/// The fixed pieces of a template of any level (RFC 6570), in order.
#[derive(Clone, Debug, PartialEq)]
struct Pieces(Vec<String>);

impl Pieces {
    fn new(template: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            let Some(close) = rest[open..].find('}') else { break };
            pieces.push(rest[..open].to_owned());
            rest = &rest[open + close + 1..];
        }
        pieces.push(rest.to_owned());
        Self(pieces)
    }

    /// Whether an address may be made from it: it has the pieces in their order, and begins and ends as it does.
    fn may_make(&self, uri: &str) -> bool {
        let [first, between @ .., last] = &*self.0 else { return self.0.iter().all(|whole| whole == uri) };
        let Some(rest) = uri.strip_prefix(first.as_str()) else { return false };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
        for piece in between {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        true
    }
}

/// An address that says to which server it leads.
fn whole(server: &str, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// What is listed, to which that of servers is added.
pub(crate) struct Listed<'l> {
    pub(crate) tools: &'l mut [Tool],
    pub(crate) prompts: &'l mut Vec<Prompt>,
    pub(crate) resources: &'l mut Vec<Resource>,
    pub(crate) templates: &'l mut Vec<ResourceTemplate>,
}

/// Adds what servers offer, and is selected, to what is offered anyway. `is_ours` says whether an address is one of our own.
pub(crate) fn add(
    lists: Listed<'_>,
    is_ours: &dyn Fn(&str) -> bool,
    offers: Vec<ServerOffers>,
    selection: &Selection,
) -> Routes {
    let mut routes = Routes::default();
    let mut claims: HashMap<String, usize> = HashMap::new();
    for offer in &offers {
        let addresses = offer.resources.iter().map(|resource| &resource.uri);
        for uri in addresses.chain(offer.templates.iter().map(|template| &template.uri_template)) {
            *claims.entry(uri.clone()).or_default() += 1;
        }
    }
    let is_own = |uri: &str| uri.starts_with("cycod:") || is_ours(uri);
    let is_plain = |uri: &str| claims.get(uri).is_none_or(|claims| *claims < 2) && !is_own(uri);
    let (mut resources, mut templates) = (Vec::new(), Vec::new());
    let mut taken: HashSet<String> = lists.prompts.iter().map(|known| known.name.to_ascii_lowercase()).collect();
    let mut extras = BTreeMap::new();
    for ServerOffers { server, prompts, resources: of_server, templates: of_templates, extras: of_tools, .. } in offers
    {
        for (remote, prompt) in prompts {
            let is_meant = selection.admits_of_server(&server, Some(&prompt.name));
            if is_meant && taken.insert(prompt.name.to_ascii_lowercase()) {
                routes.prompts.insert(prompt.name.clone(), (server.clone(), remote));
                lists.prompts.push(prompt);
            }
        }
        extras.extend(of_tools);
        if !selection.admits_of_server(&server, None) {
            continue;
        }
        for mut resource in of_server {
            let plain = is_plain(&resource.uri);
            routes.resources.insert(resource.uri.clone(), plain.then(|| server.clone()));
            if !plain {
                resource.uri = whole(&server, &resource.uri);
            }
            resources.push(resource);
        }
        for mut template in of_templates {
            let plain = is_plain(&template.uri_template);
            routes.templates.push((Pieces::new(&template.uri_template), plain.then(|| server.clone())));
            let listed = if plain { template.uri_template.clone() } else { whole(&server, &template.uri_template) };
            routes.listed.insert(listed.clone(), (server.clone(), template.uri_template));
            template.uri_template = listed;
            templates.push(template);
        }
        routes.servers.push(server);
    }
    for tool in lists.tools {
        if let Some(extra) = extras.remove(&*tool.name) {
            (tool.icons, tool.meta) = (extra.icons, extra.meta);
        }
    }
    lists.resources.append(&mut resources);
    lists.templates.append(&mut templates);
    lists.prompts.sort_by(|one, other| one.name.cmp(&other.name));
    routes
}

impl Routes {
    /// The server and its own name for a prompt.
    pub(crate) fn prompt(&self, name: &str) -> Option<&(String, String)> {
        self.prompts.get(name)
    }

    /// The server and its own words for a template, or for an address that is listed.
    pub(crate) fn template(&self, listed: &str) -> Option<(&str, &str)> {
        self.listed.get(listed).map(|(server, template)| (server.as_str(), template.as_str()))
    }

    /// Where an address leads: to the server that it names, that lists it, whose template makes it, or that linked to it.
    ///
    /// # Errors
    /// When it leads to none, or may lead to several.
    pub(crate) fn route(&self, uri: &str, links: &Links) -> Result<Route, Refusal> {
        if let Some((server, uri)) = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')) {
            let is_known = self.servers.iter().any(|known| known == server) || links.has(server, uri);
            return is_known
                .then(|| Route { server: server.to_owned(), uri: uri.to_owned() })
                .ok_or_else(|| unknown(uri));
        }
        let to = |server: &str| Ok(Route { server: server.to_owned(), uri: uri.to_owned() });
        match self.resources.get(uri) {
            Some(Some(server)) => return to(server),
            Some(None) => return Err(claimed(uri)),
            None => {}
        }
        let mut makers: Vec<Option<&str>> = self
            .templates
            .iter()
            .filter(|(pieces, _)| pieces.may_make(uri))
            .map(|(_, server)| server.as_deref())
            .collect();
        makers.dedup();
        match makers[..] {
            [Some(server)] => to(server),
            [] => links.server(uri).ok_or_else(|| unknown(uri)).and_then(|server| to(&server)),
            _ => Err(claimed(uri)),
        }
    }

    /// The address by which a client reads what a server calls `uri`.
    pub(crate) fn address(&self, server: &str, uri: &str, links: &Links) -> String {
        match self.route(uri, links) {
            Ok(route) if route.server == server => uri.to_owned(),
            _ => whole(server, uri),
        }
    }

    /// Writes the links of a server's answer so that the client can read them, and remembers where they lead.
    pub(crate) fn link(&self, server: &str, result: &mut CallToolResult, links: &Links) {
        result.content.iter_mut().for_each(|block| self.link_block(server, block, links));
    }

    fn link_block(&self, server: &str, block: &mut ContentBlock, links: &Links) {
        let uri = match block {
            ContentBlock::ResourceLink(resource) => &mut resource.uri,
            ContentBlock::Resource(embedded) => uri_of(&mut embedded.resource),
            _ => return,
        };
        // What is ours is read from us.
        if uri.starts_with("cycod://runs/") {
            return;
        }
        links.add(server, uri);
        *uri = self.address(server, uri, links);
    }
}

fn uri_of(contents: &mut ResourceContents) -> &mut String {
    match contents {
        ResourceContents::TextResourceContents { uri, .. } | ResourceContents::BlobResourceContents { uri, .. } => uri,
        _ => unreachable!("a resource holds text or a blob"),
    }
}

fn shown(uri: &str) -> String {
    visible(uri).chars().take(LONGEST_SHOWN).collect()
}

fn unknown(uri: &str) -> Refusal {
    let why = format!("no server here is known to have the resource `{}`", shown(uri));
    Refusal::new(Code::UnknownOutput, why).attempt(format!("{SCHEME}SERVER/ADDRESS reads an address of one server"))
}

fn claimed(uri: &str) -> Refusal {
    let why = format!("several servers have a resource `{}`", shown(uri));
    Refusal::new(Code::UnknownOutput, why).attempt(format!("{SCHEME}SERVER/{}", shown(uri)))
}

/// How many accounts' links are remembered.
const MOST_ACCOUNTS: usize = 64;

/// The links that each account has seen, the account that was used last at the end.
#[derive(Debug, Default)]
pub(crate) struct AccountLinks(Mutex<VecDeque<(Account, Arc<Links>)>>);

impl AccountLinks {
    /// Those of one account.
    pub(crate) fn of(&self, account: &Account) -> Arc<Links> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(of, _)| of == account).and_then(|at| all.remove(at));
        let links = known.map(|(_, links)| links).unwrap_or_default();
        all.push_back((account.clone(), Arc::clone(&links)));
        if all.len() > MOST_ACCOUNTS {
            all.pop_front();
        }
        links
    }
}

/// Which server linked to an address in an answer.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// The servers that linked to each address.
    servers: HashMap<String, Vec<String>>,
    /// Each link once, by server and address, the oldest first.
    order: VecDeque<(String, String)>,
}

impl Remembered {
    fn forget(&mut self, server: &str, uri: &str) {
        let Some(servers) = self.servers.get_mut(uri) else { return };
        servers.retain(|known| known != server);
        if servers.is_empty() {
            self.servers.remove(uri);
        }
    }
}

impl Links {
    fn lock(&self) -> std::sync::MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, server: &str, uri: &str) {
        let mut remembered = self.lock();
        let servers = remembered.servers.entry(uri.to_owned()).or_default();
        if servers.iter().any(|known| known == server) {
            return;
        }
        servers.push(server.to_owned());
        remembered.order.push_back((server.to_owned(), uri.to_owned()));
        if remembered.order.len() > MOST_LINKS
            && let Some((server, uri)) = remembered.order.pop_front()
        {
            remembered.forget(&server, &uri);
        }
    }

    /// The only server that linked to an address.
    fn server(&self, uri: &str) -> Option<String> {
        match self.lock().servers.get(uri).map(Vec::as_slice) {
            Some([server]) => Some(server.clone()),
            _ => None,
        }
    }

    /// Whether a server linked to an address.
    fn has(&self, server: &str, uri: &str) -> bool {
        self.lock().servers.get(uri).is_some_and(|servers| servers.iter().any(|known| known == server))
    }
}

/// What a model reads about how other servers want to be used.
pub(crate) fn instructions<'o>(offers: impl Iterator<Item = &'o ServerOffers>) -> Vec<String> {
    let mut left = ALL_INSTRUCTIONS;
    let mut told = Vec::new();
    for ServerOffers { server, instructions, .. } in offers {
        let Some(said) = instructions.as_deref().filter(|said| !said.trim().is_empty()) else { continue };
        let most = INSTRUCTIONS.min(left);
        let short: String = said.trim().chars().take(most).collect();
        left -= short.chars().count();
        if short.is_empty() {
            continue;
        }
        let end = if short.len() < said.trim().len() { " […]" } else { "" };
        let quoted = format!("{short}{end}").replace('\n', "\n> ");
        told.push(format!("The server `{server}` says about what begins with `mcp_{server}_`:\n> {quoted}"));
    }
    told
}

/// Whether something is read by a host and not by a model, so that nothing of it may be missing.
fn is_for_hosts(uri: &str, media_type: Option<&str>) -> bool {
    uri.starts_with("ui://") || media_type.is_some_and(|media_type| media_type.contains("profile=mcp-app"))
}

/// Who gets what another server answers, and how much of it.
pub(crate) struct Receiver<'a> {
    pub(crate) cap: usize,
    pub(crate) shelf: &'a Shelf,
    pub(crate) owner: &'a str,
    pub(crate) server: &'a str,
    pub(crate) routes: &'a Routes,
    pub(crate) links: &'a Links,
}

impl Receiver<'_> {
    fn fit(&self, blocks: Vec<Block>, cap: usize) -> Result<Vec<Block>, Refusal> {
        let tool = format!("mcp:{}", self.server);
        fitted_content(blocks, cap, self.shelf, self.owner, &tool).map_err(|error| refused(&error))
    }

    /// The pieces of a resource, with the addresses that the client knows.
    pub(crate) fn contents(&self, pieces: Vec<ResourceContents>) -> Result<Vec<ResourceContents>, Refusal> {
        let mut fitting = Vec::with_capacity(pieces.len());
        let each = self.cap / pieces.len().max(1);
        for mut piece in pieces {
            let uri = uri_of(&mut piece).clone();
            let address = self.routes.address(self.server, &uri, self.links);
            fitting.push(self.piece(piece, &uri, address, each)?);
        }
        Ok(fitting)
    }

    fn piece(
        &self,
        mut piece: ResourceContents,
        uri: &str,
        address: String,
        cap: usize,
    ) -> Result<ResourceContents, Refusal> {
        uri_of(&mut piece).clone_from(&address);
        let json = json!({ "type": "resource", "resource": piece });
        let wrong = || {
            let why = format!("the server `{}` gave a resource that holds neither text nor base64", self.server);
            Refusal::new(Code::RemoteFailed, why).place(self.server)
        };
        let block = Block::foreign(&json).ok_or_else(wrong)?;
        let (media_type, size) = match &block.content {
            Content::Resource { media_type, payload: Payload::Text(text), .. } => (media_type.clone(), text.len()),
            Content::Resource { media_type, payload: Payload::Bytes(bytes), .. } => (media_type.clone(), bytes.len()),
            _ => return Ok(piece),
        };
        if is_for_hosts(uri, media_type.as_deref()) && size as u64 <= reply::MOST {
            return Ok(piece);
        }
        let mut fitted = self.fit(vec![block], cap)?.into_iter();
        let (Some(first), rest) = (fitted.next(), fitted.next()) else { return Ok(piece) };
        let all_of_it = |link: &Content| match link {
            Content::Link { uri, description, .. } => {
                format!("[{}: {uri}]", description.as_deref().unwrap_or("all of it"))
            }
            Content::Text(text) => text.clone(),
            _ => String::new(),
        };
        Ok(match (first.content, rest) {
            (Content::Resource { payload: Payload::Text(text), .. }, Some(rest)) => {
                let text = format!("{text}\n{}", all_of_it(&rest.content));
                reply::contents(address, media_type, Payload::Text(text))
            }
            (Content::Resource { .. }, _) => piece,
            (other, _) => reply::contents(address, Some("text/plain".to_owned()), Payload::Text(all_of_it(&other))),
        })
    }

    /// The messages of a prompt, with links that the client can read.
    pub(crate) fn messages(&self, messages: Vec<PromptMessage>) -> Result<Vec<PromptMessage>, Refusal> {
        let mut fitting = Vec::with_capacity(messages.len());
        let each = self.cap / messages.len().max(1);
        for PromptMessage { role, mut content, .. } in messages {
            self.routes.link_block(self.server, &mut content, self.links);
            let json = serde_json::to_value(&content).unwrap_or(Json::Null);
            let Some(block) = Block::foreign(&json) else {
                fitting.push(PromptMessage::new(role, content));
                continue;
            };
            let blocks = self.fit(vec![block], each)?;
            fitting.extend(blocks.into_iter().map(|block| PromptMessage::new(role.clone(), reply::block(block))));
        }
        Ok(fitting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_of_any_level_makes_its_addresses() {
        let may = |template: &str, uri: &str| Pieces::new(template).may_make(uri);
        assert!(may("file:///{+path}", "file:///a/b/c"));
        assert!(may("db://{table}/rows{?limit,offset}", "db://t/rows?limit=1"));
        assert!(may("a:{x}-{y}.txt", "a:1-2.txt"));
        assert!(!may("a:{x}-{y}.txt", "a:12.txt"));
        assert!(!may("file:///{+path}", "files:///a"));
        assert!(may("a:b", "a:b") && !may("a:b", "a:bc"));
    }

    #[test]
    fn an_address_of_two_servers_belongs_to_neither() {
        let (mut resources, mut prompts, mut templates) = (Vec::new(), Vec::new(), Vec::new());
        let lists =
            Listed { tools: &mut [], prompts: &mut prompts, resources: &mut resources, templates: &mut templates };
        let offer = |server: &str, uris: &[&str]| ServerOffers {
            server: server.to_owned(),
            resources: uris.iter().map(|uri| rmcp::model::Resource::new(*uri, "r")).collect(),
            ..ServerOffers::default()
        };
        let routes = add(
            lists,
            &|_| false,
            vec![offer("a", &["x:1", "x:2"]), offer("b", &["x:2", "cycod://runs/0/stdout"])],
            &Selection::default(),
        );
        let listed: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
        assert_eq!(
            listed,
            ["x:1", "cycod://servers/a/x:2", "cycod://servers/b/x:2", "cycod://servers/b/cycod://runs/0/stdout"]
        );
        let links = Links::default();
        let to = |uri: &str| routes.route(uri, &links).map(|route| (route.server, route.uri));
        assert_eq!(to("x:1"), Ok(("a".to_owned(), "x:1".to_owned())));
        assert_eq!(to("cycod://servers/b/x:2"), Ok(("b".to_owned(), "x:2".to_owned())));
        assert!(to("x:2").unwrap_err().why.contains("several servers"));
        assert!(to("x:3").is_err() && to("cycod://servers/c/x:3").is_err());
        links.add("a", "x:3");
        assert_eq!(to("x:3"), Ok(("a".to_owned(), "x:3".to_owned())));
        links.add("b", "x:3");
        assert!(to("x:3").is_err());
        assert_eq!(routes.address("b", "x:3", &links), "cycod://servers/b/x:3");
    }

    #[test]
    fn links_that_are_remembered_are_bounded() {
        let links = Links::default();
        for number in 0..3 * MOST_LINKS {
            links.add("a", &format!("x:{number}"));
        }
        assert_eq!(links.lock().order.len(), MOST_LINKS);
        assert_eq!(links.lock().servers.len(), MOST_LINKS);
    }

    #[test]
    fn a_link_is_remembered_once_however_many_servers_have_it() {
        let links = Links::default();
        for number in 0..3 * MOST_LINKS {
            links.add(["a", "b"][number % 2], "x:1");
        }
        assert_eq!(links.lock().order.len(), 2);
        assert!(links.has("a", "x:1") && links.has("b", "x:1") && links.server("x:1").is_none());
    }
}
