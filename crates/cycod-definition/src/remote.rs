use cycod_shell::Programs;

use crate::{
    Body, Environment, FilePaths, FunctionCalling, Hints, JsonSchema, Metadata, OfferedAs, Parameter, Produces,
    RemoteTool, Requires, Resources, RunSite, Security, SourceOrigin, Stated, TaskSupport, Tool, ToolName,
};

impl Tool {
    /// A tool of another program that takes what `input` describes, and about which nothing else is known.
    pub fn remote(name: ToolName, remote: RemoteTool, input: JsonSchema) -> Self {
        Self {
            name,
            description: None,
            title: None,
            group: None,
            version: None,
            min_cycod_version: None,
            body: Body::Remote(remote),
            parameters: Parameter::of_schema(input.json()),
            input_schema: Some(input),
            returns: None,
            produces: Produces::default(),
            rank: Vec::new(),
            page: None,
            offer: OfferedAs::default(),
            hints: Hints::default(),
            asks: Vec::new(),
            reports: false,
            task: TaskSupport::default(),
            function_calling: FunctionCalling::default(),
            security: Security::default(),
            environment: Environment::default(),
            file_paths: FilePaths::default(),
            metadata: Metadata::default(),
            tests: Vec::new(),
            timeout: None,
            platforms: Default::default(),
            tags: Vec::new(),
            durable: false,
            on_lost: None,
            schedule: None,
            on: RunSite::Here,
            runs_on: Vec::new(),
            max_parallel: None,
            ignore_errors: false,
            input: None,
            interactive: None,
            resources: Resources::default(),
            artifacts: Vec::new(),
            cache: None,
            requires: Requires::default(),
            programs: Programs::default(),
            stated: Stated::default(),
            deprecated: None,
            changelog: Vec::new(),
            ignored: Vec::new(),
            declared_risk: None,
            enabled: true,
            token_cost: None,
            uses_temp: false,
            origin: SourceOrigin::default(),
        }
    }
}
