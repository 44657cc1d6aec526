//! Tools of other programs, which come over several ways.

use std::sync::Arc;

use cycod_engine::{
    AllRemotes, Ignore, Nobody, RemoteCall, RemoteNews, Remotes, Surface, ToolOutcome,
    catalog::{Adopted, ScopeFilter, ToolOrigin, ToolSource},
    definition::{JsonSchema, RemoteTool, Tool, ToolName},
    diagnostic::{Code, Refusal},
};
use serde_json::json;

use crate::support::Place;

/// A way to one server, which answers with its own name.
#[derive(Debug)]
struct Way {
    name: &'static str,
    server: &'static str,
}

impl Remotes for Way {
    fn serves(&self, server: &str) -> bool {
        server == self.server
    }

    fn secrets(&self, _server: &str) -> Vec<String> {
        Vec::new()
    }

    fn call(&self, call: &RemoteCall<'_>, _follow: &mut dyn FnMut(RemoteNews)) -> Result<ToolOutcome, Refusal> {
        let output = format!("{}: {}/{}", self.name, call.tool.server, call.tool.tool).into_bytes();
        Ok(ToolOutcome { output, ..ToolOutcome::default() })
    }
}

fn adopted(owner: &str, server: &str, tool: &str) -> Adopted {
    let name = ToolName::new(&format!("mcp_{server}_{tool}")).expect("a name");
    let remote = RemoteTool::new(server, tool);
    let origin = ToolOrigin { source: ToolSource::Mcp, version: Some("2.0".to_owned()), owner: Some(owner.to_owned()) };
    let tool = Tool::remote(name, remote, JsonSchema::from(json!({"type": "object"})));
    Adopted { tool, origin: Arc::new(origin), withheld: None }
}

#[test]
fn each_tool_is_called_over_the_way_that_it_came() {
    let place = Place::new("description: d\nbash: echo 1\n");
    let first = Arc::new(Way { name: "one", server: "a" });
    let second = Arc::new(Way { name: "two", server: "b" });
    // A server that another way leads to already keeps its name, with all of its tools.
    let others = [adopted("two", "b", "x"), adopted("two", "a", "x"), adopted("two", "a", "y")];
    let engine = place.builder().remotes(first, [adopted("one", "a", "x")]).remotes(second, others).build();
    let call = |name: &str| {
        let tool = engine.tool(name).expect("it is there");
        let plan = engine.plan(&tool, Vec::new(), None).expect("it is planned");
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        let report = engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore);
        String::from_utf8(report.output).expect("a text")
    };
    assert_eq!([call("mcp_a_x"), call("mcp_b_x")], ["one: a/x", "two: b/x"]);
    assert!(engine.catalog().find("mcp_a_y", ScopeFilter::Any).is_none());
    let owner = |name: &str| engine.catalog().find(name, ScopeFilter::Any).expect("it is there").origin.owner.clone();
    assert_eq!([owner("mcp_a_x"), owner("mcp_b_x")].map(Option::unwrap_or_default), ["one", "two"]);
}

#[test]
fn what_no_way_leads_to_is_refused() {
    let remote = RemoteTool::new("c", "x");
    let mut ways = AllRemotes::default();
    ways.add(Arc::new(Way { name: "one", server: "a" }));
    let stop = cycod_engine::Stop::new().expect("descriptors");
    let call = RemoteCall {
        tool: &remote,
        arguments: &[],
        stop: &stop,
        deadline: std::time::Instant::now(),
        trace: &[],
        principal: "local",
    };
    let refusal = ways.call(&call, &mut |_| {}).expect_err("nothing leads there");
    assert_eq!((refusal.code, refusal.place.as_deref()), (Code::RemoteUnreachable, Some("c")));
}
