use std::sync::Arc;

use cycod_diagnostic::Code;
use cycod_engine::{Given, Ignore, Nobody, RunReport, Secrets, Surface, definition::Value, diagnostic::Refusal};

use crate::support::Place;

/// What a program keeps, for tests.
#[derive(Debug)]
struct Kept(&'static [(&'static str, &'static str)]);

impl Secrets for Kept {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        let kept = |name: &&str| self.0.iter().find(|(known, _)| known == name).map(|(_, value)| (*value).to_owned());
        Ok(names.iter().map(kept).collect())
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("in-its-place".to_owned())
    }
}

const KEPT: Kept = Kept(&[("API_KEY", "hunter-two"), ("github.token", "octocat-pass")]);

fn run(place: &Place, arguments: &[(&str, &str)]) -> RunReport {
    let engine = place.builder().secrets(Arc::new(KEPT)).build();
    let arguments =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), Given::Value(Value::Text((*value).to_owned()))));
    let plan = engine.plan(&engine.tool("t").expect("a tool"), arguments.collect(), None).expect("a plan");
    let preview = format!("{:?}", engine.preview(&plan));
    for (_, value) in KEPT.0 {
        assert!(!preview.contains(value), "{preview}");
    }
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore)
}

/// What comes out of a tool with these lines.
#[track_caller]
fn check(tool: &str, output: &str) {
    let report = run(&Place::new(&format!("description: d\n{tool}\n")), &[]);
    assert_eq!((report.refusal.map(|refusal| refusal.code), &*report.output), (None, output.as_bytes()));
}

#[track_caller]
fn refused(tool: &str, code: &str) -> Refusal {
    let report = run(&Place::new(&format!("description: d\n{tool}\n")), &[]);
    let refusal = report.refusal.expect("it is refused");
    assert_eq!(refusal.code.name(), code, "{refusal:?}");
    refusal
}

#[test]
fn a_kept_secret_is_in_the_environment_and_masked() {
    check("bash: 'echo $API_KEY; echo ${#API_KEY}'\nenvironment: {secrets: [API_KEY]}", "****\n10\n");
    // As the specification writes it.
    check(
        "bash: 'echo $API_KEY; echo ${#API_KEY}'\nenvironment: {variables: {API_KEY: '{API_KEY}'}, secrets: [API_KEY]}",
        "****\n10\n",
    );
    check("bash: 'echo ${#API_KEY}'\nenvironment: {inherit: false, secrets: API_KEY}", "10\n");
    check("bash: 'echo ${#API_KEY}'", "0\n");
    check("bash: 'printf %s {API_KEY} | wc -c'\nenvironment: {secrets: [API_KEY]}", "10\n");
    check("bash: 'wc -c'\ninput: '{API_KEY}'\nenvironment: {secrets: [API_KEY]}", "10\n");
    check("bash: 'echo ${#T}'\nenvironment: {secrets: [{name: T, secret: github.token}]}", "12\n");
    check("bash: 'echo $A'\nenvironment: {variables: {A: 'Bearer {API_KEY}'}, secrets: [API_KEY]}", "Bearer ****\n");
}

#[test]
fn a_variable_of_the_tools_own_needs_nothing_kept() {
    check("bash: 'echo ${#OTHER}'\nenvironment: {variables: {OTHER: abcdef}, secrets: [OTHER]}", "6\n");
}

#[test]
fn what_is_not_kept_is_the_callers() {
    let tool = "description: d\nbash: echo $OTHER\nenvironment: {secrets: [OTHER]}\n";
    let report = run(&Place::new(tool).variable("OTHER", "from-outside"), &[]);
    assert_eq!(report.output, b"****\n");
    let refusal = refused("bash: echo $OTHER\nenvironment: {secrets: [OTHER]}", "secret-missing");
    assert_eq!(refusal.attempt.as_deref(), Some("cycod secret set OTHER"));
}

#[test]
fn a_step_has_secrets_of_its_own() {
    check(
        "steps:\n- {name: a, bash: 'echo ${#API_KEY}', environment: {secrets: [API_KEY]}}\n- {name: b, bash: 'echo ${#API_KEY}'}",
        "0\n",
    );
}

#[test]
fn a_tool_that_is_called_gets_its_own_and_no_others() {
    let place = Place::new("description: d\nsteps:\n- {name: a, use-tool: inner}\nenvironment: {secrets: [API_KEY]}\n")
        .tool("inner", "description: d\nbash: 'echo ${#API_KEY} ${#T}'\nenvironment: {secrets: [{name: T, secret: github.token}]}\n");
    let engine = place.engine();
    let plan = engine.plan(&engine.tool("t").expect("a tool"), Vec::new(), None).expect("a plan");
    assert_eq!(plan.secret_names().into_iter().collect::<Vec<_>>(), ["API_KEY", "github.token"]);
    let given = ["is given the secret `API_KEY`", "is given the secret `github.token`"];
    assert_eq!(plan.reach()[1..], given.map(str::to_owned), "the approver is told");
    assert_eq!(run(&place, &[]).output, b"0 12\n");
}

#[test]
fn output_that_is_cut_ends_with_no_part_of_a_secret() {
    check(
        "steps:\n- {name: a, bash: 'printf \"x$API_KEY\"', environment: {secrets: [API_KEY]}, output: {buffer-limit: 8}}",
        "x\n[truncated: the first 8 of 11 bytes]\n",
    );
}

#[test]
fn a_secret_is_not_put_where_others_can_look() {
    let tool = |rest: &str| format!("{rest}\nenvironment: {{secrets: [API_KEY]}}");
    refused(&tool("run: 'echo {API_KEY}'"), "secret-in-argument");
    // Braces in code are the code's own.
    check(&tool("python: 'print(\"{API_KEY}\")'"), "{API_KEY}\n");
    // What an earlier step said holds one: the shell gets its program by descriptor.
    let steps = "steps:\n- {name: a, bash: 'echo $API_KEY'}\n- {name: b, bash: 'x=\"{a.output}\"; tr \"\\0\" \" \" </proc/$$/cmdline | grep -c hunter'}";
    let report = run(&Place::new(&format!("description: d\n{}\n", tool(steps))), &[]);
    assert_eq!(String::from_utf8_lossy(&report.output), "0\n");
    refused(
        &tool("steps:\n- {name: a, bash: 'echo $API_KEY'}\n- {name: b, run: 'echo {a.output}'}"),
        "secret-in-argument",
    );
}

#[test]
fn secret_arguments_of_a_script_are_in_no_file() {
    let place = Place::new(
        "description: d\npython: |\n  import json, os\n  path = os.environ['CYCOD_PARAMS']\n  print(len(json.load(open(path))['PIN']), os.listdir(os.environ['DIR']))\nenvironment: {variables: {DIR: '{TEMP}'}}\nparameters:\n  PIN: {type: string, description: p, sensitive: true}\n",
    );
    assert_eq!(String::from_utf8_lossy(&run(&place, &[("PIN", "hunter-two")]).output), "10 ['t.py']\n");
}

#[test]
fn a_tool_sees_a_placeholder_of_a_secret_for_a_host() {
    let tool = "description: d\nbash: 'echo $T {T}'\nenvironment: {secrets: [{name: T, secret: github.token, for: api.github.com}]}\nsecurity: {required-permissions: ['network:external:api.github.com']}\n";
    let place = Place::new(tool);
    let engine = place.engine();
    let plan = engine.plan(&engine.tool("t").expect("a tool"), Vec::new(), None).expect("a plan");
    let plan = plan.with_secrets(&KEPT).expect("it is kept");
    let step = &plan.steps[0];
    let cycod_plan::PlannedAction::Command(command) = &step.action else { panic!("a command") };
    let prepared = plan.prepare(step, command, &cycod_call::NoSteps).expect("it can be prepared");
    let seen = prepared.environment.iter().find(|(name, _)| name == "T").map(|(_, value)| value.to_str());
    assert_eq!(seen, Some(Some("in-its-place")));
    let [swap] = &*prepared.swaps else { panic!("{:?}", prepared.swaps) };
    assert_eq!((&*swap.placeholder, &*swap.value), ("in-its-place", "octocat-pass"));
    assert_eq!(swap.hosts, ["api.github.com"]);
    assert!(prepared.secrets.iter().any(|secret| secret == "octocat-pass"));
    assert!(!format!("{plan:?}").contains("octocat-pass"), "{plan:?}");
}

const SECRET: &str = "Hunter-two pässword/+";

/// Everything that a run shows anywhere, nested steps, previews and the history included.
fn everything_shown(place: &Place) -> String {
    let home = place.project().join("../home/.cycod");
    let history = Arc::new(cycod_store::History::at(&home));
    let engine = place.builder().history(history).secrets(Arc::new(Kept(&[("KEPT", SECRET)]))).build();
    let tool = engine.tool("t").expect("a tool");
    let given = |name: &str| tool.parameter(name).is_some();
    let arguments = ["S", "N"].into_iter().filter(|name| given(name));
    let value =
        |name: &str| Given::Value(Value::Text(if name == "N" { "73570042".to_owned() } else { SECRET.to_owned() }));
    let plan =
        engine.plan(&tool, arguments.map(|name| (name.to_owned(), value(name))).collect(), None).expect("a plan");
    let preview = format!("{:?}", engine.preview(&plan));
    let request = format!("{:?}", plan.warnings);
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    let mut events = crate::support::Collected::default();
    let report = engine.run(approved, &engine.control().expect("descriptors"), &mut events);
    let json = cycod_engine::result_json(&report).to_string();
    let mut shown = format!("{preview}\n{request}\n{json}\n");
    shown.push_str(&format!("{}\n", String::from_utf8_lossy(&report.transcript)));
    for event in &events.0 {
        match event {
            cycod_engine::Event::Output { bytes, .. } => shown.push_str(&String::from_utf8_lossy(bytes)),
            other => shown.push_str(&format!("{other:?}\n")),
        }
    }
    let mut directories = vec![home];
    while let Some(directory) = directories.pop() {
        for path in std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                directories.push(path);
            } else {
                shown.push_str(&String::from_utf8_lossy(&std::fs::read(path).expect("a file")));
            }
        }
    }
    shown
}

#[track_caller]
fn keeps_to_itself(place: &Place, secrets: &[&str]) {
    let shown = everything_shown(place);
    for secret in secrets {
        assert!(!shown.contains(secret), "{secret:?} is in\n{shown}");
    }
    assert!(shown.contains("****"), "{shown}");
}

/// What the transforms make of the secret, by their chains.
const CHANGED: [(&str, &str); 9] = [
    ("uppercase", "HUNTER-TWO PÄSSWORD/+"),
    ("lowercase", "hunter-two pässword/+"),
    ("trim", "Hunter-two pässword/+"),
    ("urlencode", "Hunter-two%20p%C3%A4ssword%2F%2B"),
    ("base64encode", "SHVudGVyLXR3byBww6Rzc3dvcmQvKw=="),
    ("jsonescaped", "Hunter-two pässword/+"),
    ("shellescaped", "Hunter-two pässword/+"),
    ("uppercase:base64encode", "SFVOVEVSLVRXTyBQw4RTU1dPUkQvKw=="),
    ("base64encode:lowercase:urlencode", "shvudgvylxr3bybww6rzc3dvcmqvkw%3D%3D"),
];

#[test]
fn a_secret_stays_masked_whatever_is_made_of_it() {
    const DECLARED: &str = "parameters: {S: {description: s, sensitive: true}}\n";
    for (chain, changed) in CHANGED {
        let spellings = [SECRET, changed];
        let of_parameter = [
            format!("bash: echo \"{{S:{chain}}}\"; echo \"{{S:{chain}}}\" >&2; exit 3\n"),
            format!("run: printf %s {{S:{chain}}}\n"),
            format!("bash: cat\ninput: '{{S:{chain}}}'\n"),
            format!("bash: echo \"$A\"\nenvironment: {{variables: {{A: '<{{S:{chain}}}>'}}}}\n"),
            format!("bash: ls\nworking-directory: '/nowhere/{{S:{chain}}}'\n"),
            format!(
                "steps:\n- {{name: a, bash: 'echo \"{{S}}\"'}}\n- {{name: b, bash: 'echo \"{{a.output:{chain}}}\"'}}\n"
            ),
            "steps:\n- {name: a, use-tool: inner, with: {X: '{S}'}}\n- {name: b, bash: 'echo \"{a.output}\"; echo {a.output}'}\n"
                .to_owned(),
            format!(
                "steps:\n- {{name: a, bash: 'echo x >> \"/nowhere/{{S:{chain}}}\"', error-handling: {{retry: {{attempts: 1, delay: 1}}, fallback: 'echo \"{{S:{chain}}}\"'}}}}\n"
            ),
            format!(
                "bash: 'true'\nresources: {{cleanup: [{{final-command: 'echo \"{{S:{chain}}}\" >&2; exit 1'}}]}}\n"
            ),
            format!(
                "steps:\n- {{name: a, bash: 'echo \"$T\"', environment: {{T_TOKEN: '{{S:{chain}}}', T: '{{S:{chain}}}'}}}}\n- {{name: b, bash: 'echo \"{{a.output}}\"'}}\n"
            ),
            format!(
                "bash: echo {{S}}\ninput: ''\nparameters: {{S: {{description: s, sensitive: true, format: '-p \"{{value:{chain}}}\"'}}}}\n"
            ),
        ];
        for tool in of_parameter {
            let declared = if tool.contains("parameters:") { "" } else { DECLARED };
            let place = Place::new(&format!("description: d\n{tool}{declared}")).tool(
                "inner",
                &format!("description: d\nbash: echo \"{{X:{chain}}}\"\nparameters: {{X: {{description: x}}}}\n"),
            );
            keeps_to_itself(&place, &spellings);
        }
        let of_variable = format!("description: d\nbash: echo \"{{MY_TOKEN:{chain}}}\"\n");
        keeps_to_itself(&Place::new(&of_variable).variable("MY_TOKEN", SECRET), &spellings);
        let of_default = format!(
            "description: d\nbash: echo \"{{S2}}\"\nparameters: {{S2: {{description: s, default: '{{MY_TOKEN}}', transform: {}}}}}\n",
            chain.split(':').next().expect("a transform")
        );
        let first = CHANGED.iter().find(|(known, _)| chain.split(':').next() == Some(known)).expect("it is there").1;
        keeps_to_itself(&Place::new(&of_default).variable("MY_TOKEN", SECRET), &[SECRET, first]);
        let of_kept = format!("description: d\nbash: echo \"{{KEPT:{chain}}}\"\nenvironment: {{secrets: [KEPT]}}\n");
        keeps_to_itself(&Place::new(&of_kept), &spellings);
    }
}

#[test]
fn a_kept_secret_is_no_argument_whatever_is_made_of_it() {
    for (chain, _) in CHANGED {
        let tool = format!("description: d\nrun: 'echo {{KEPT:{chain}}}'\nenvironment: {{secrets: [KEPT]}}\n");
        let place = Place::new(&tool);
        let engine = place.builder().secrets(Arc::new(Kept(&[("KEPT", SECRET)]))).build();
        let plan = engine.plan(&engine.tool("t").expect("a tool"), Vec::new(), None).expect("a plan");
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        let report = engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore);
        assert_eq!(report.refusal.map(|refusal| refusal.code), Some(Code::SecretInArgument), "{chain}");
    }
}

#[test]
fn a_secret_stays_masked_behind_javascript_and_formats() {
    let backwards: String = SECRET.chars().rev().collect();
    let script = "transform: \"value.split('').reverse().join('')\"";
    let own = format!(
        "description: d\nbash: echo \"{{S}}\"; exit 1\nparameters: {{S: {{description: s, sensitive: true, {script}}}}}\n"
    );
    keeps_to_itself(&Place::new(&own), &[SECRET, &backwards]);
    let inner = format!("description: d\nbash: echo \"{{X}}\"\nparameters: {{X: {{description: x, {script}}}}}\n");
    let passed = "description: d\nsteps:\n- {name: a, use-tool: inner, with: {X: '{S}'}}\n- {name: b, bash: 'echo \"{a.output}\"'}\nparameters: {S: {description: s, sensitive: true}}\n";
    keeps_to_itself(&Place::new(passed).tool("inner", &inner), &[SECRET, &backwards]);
    let of_default = format!(
        "description: d\nbash: echo \"{{D}}\"\nparameters: {{D: {{description: d, default: '{{MY_TOKEN}}', {script}}}}}\n"
    );
    keeps_to_itself(&Place::new(&of_default).variable("MY_TOKEN", SECRET), &[SECRET, &backwards]);
    for number in ["{N:format(#,##0)}", "{N:format(0.00)}", "{N:format(X)}", "{N}"] {
        let tool = format!(
            "description: d\nbash: echo \"{number}\"; exit 1\nparameters: {{N: {{type: number, description: n, sensitive: true, format: '0000000000'}}}}\n"
        );
        keeps_to_itself(&Place::new(&tool), &["73570042", "73,570,042", "462975A", "462971A"]);
    }
}

#[test]
fn what_goes_wrong_with_a_secret_does_not_tell_it() {
    const DECLARED: &str = "parameters: {S: {description: s, sensitive: true}}\n";
    for tool in [
        "bash: echo \"{S:format(0)}\"\n",
        "bash: echo \"{S:base64decode}\"\n",
        "steps:\n- {name: a, bash: 'echo \"{S}\"'}\n- {name: b, bash: 'true', run-condition: '{a.output} > 3'}\n",
        "steps:\n- {name: a, bash: 'echo \"{S}\"'}\n- {name: b, bash: 'echo {a.output:format(0)}'}\n",
        "steps:\n- {name: a, bash: 'echo \"{S}\"'}\n- {name: b, use-tool: inner, with: {X: '{a.output}'}}\n",
        "steps:\n- {name: a, bash: 'echo \"{S}\"'}\n- {name: b, bash: 'ls', working-directory: '/nowhere/{a.output}'}\n",
        "steps:\n- {name: a, bash: 'echo \"{S}\"'}\nresources: {cleanup: [{final-command: 'echo {a.output:format(0)}'}]}\n",
    ] {
        let place = Place::new(&format!("description: d\n{tool}{DECLARED}"))
            .tool("inner", "description: d\nbash: echo {X}\nparameters: {X: {type: number, description: x}}\n");
        let shown = everything_shown(&place);
        assert!(!shown.contains(SECRET), "{tool}: {shown}");
    }
}
