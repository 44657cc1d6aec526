use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_diagnostic::Code;
use cycod_engine::{
    Caller, Control, Engine, Given, Ignore, Nobody, RunReport, Secrets, Surface, definition::Value, diagnostic::Refusal,
};
use cycod_store::{Filter, History, Run, State};
use serde_json::json;

use crate::support::Place;

/// The history that the engine of a place keeps.
fn history(place: &Place) -> Arc<History> {
    Arc::new(History::at(&home(place)))
}

fn home(place: &Place) -> PathBuf {
    place.project().join("../home/.cycod")
}

fn engine(place: &Place) -> Engine {
    place.builder().history(history(place)).build()
}

fn run(engine: &Engine, arguments: &[(&str, &str)], caller: Option<Caller>) -> RunReport {
    let arguments =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), Given::Value(Value::Text((*value).to_owned()))));
    let plan = engine.plan(&engine.tool("t").expect("a tool"), arguments.collect(), None).expect("a plan");
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    let control = Control { caller, ..engine.control().expect("descriptors") };
    engine.run(approved, &control, &mut Ignore)
}

fn last(place: &Place) -> Run {
    history(place).runs(&Filter { limit: 1, ..Filter::default() }).expect("it can be read").pop().expect("a run")
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[derive(Debug)]
struct Kept;

impl Secrets for Kept {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        Ok(names.iter().map(|_| Some("kept-swordfish".to_owned())).collect())
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("in-its-place".to_owned())
    }
}

#[test]
fn no_secret_is_anywhere_in_it() {
    const SECRETS: [&str; 4] = ["arg-swordfish\"\\", "env-swordfish", "kept-swordfish", "file-swordfish"];
    let tool = r#"
description: d
parameters:
  PASS: {type: string, description: d, sensitive: true}
  NOTE: {type: string, description: d, placing: program}
  LIST: {type: array, items: {type: string}, description: d}
  WHERE: {type: string, description: d, default: .}
environment: {secrets: [API_KEY, FILE_TOKEN]}
steps:
  - name: says
    bash: |
      echo "pass: "{PASS}; echo "$API_KEY" >&2; printf %s "${ENV_TOKEN:0:5}"; sleep 0.05; printf '%s\n' "${ENV_TOKEN:5}"
      touch "$ENV_TOKEN"; ls "no-$ENV_TOKEN"; for n in $(seq 2000); do echo "$n $ENV_TOKEN"; done
      exit 3
    continue-on-error: true
  - name: is-not-there
    run: no-such-program-{NOTE}
    continue-on-error: true
  - name: goes
    bash: cat "$ENV_TOKEN"
    working-directory: "{WHERE}"
"#;
    let place = Place::new(tool).variable("ENV_TOKEN", SECRETS[1]).variable("FILE_TOKEN", SECRETS[3]);
    let engine = place.builder().history(history(&place)).secrets(Arc::new(Kept)).build();
    let long = format!("{}{}", "x".repeat(4_090), SECRETS[2]);
    let note = format!("a note with {} and {} and {}", SECRETS[0], SECRETS[1], SECRETS[2]);
    for (note, place) in [(note.as_str(), "file-swordfish"), (long.as_str(), ".")] {
        let arguments = [("PASS", SECRETS[0]), ("NOTE", note), ("LIST", "[\"env-swordfish\"]"), ("WHERE", place)];
        let host = Some(format!("a host with {}", SECRETS[1]));
        let caller = Caller { surface: "mcp", host, principal: SECRETS[1].to_owned(), is_local: false };
        run(&engine, &arguments, Some(caller));
    }
    let run = last(&place);
    assert_eq!(run.state, State::Ok);
    assert!(run.end.as_ref().expect("an end").1["outputs"]["transcript"]["id"].is_string(), "{run:?}");
    let mut seen = 0;
    for path in files(&home(&place)) {
        let bytes = fs::read(&path).expect("it can be read");
        seen += bytes.len();
        // As it is, as it stands in JSON, and its beginning: a secret that was cut is one still.
        for secret in [&SECRETS[..], &["arg-swordfish\\\"", "swordfish", "ordfis"]].concat() {
            let found = memchr::memmem::find(&bytes, secret.as_bytes());
            assert_eq!(found, None, "{secret} in {}", path.display());
        }
    }
    assert!(seen > 50_000, "{seen} bytes");
}

#[test]
fn a_run_is_there_before_it_begins() {
    let place = Place::new("description: d\nbash: cp -r ../home/.cycod copy\n");
    let model = Caller { surface: "mcp", host: None, principal: "anna".to_owned(), is_local: true };
    let report = run(&engine(&place), &[], Some(model));
    assert!(report.success, "{report:?}");
    // What another process would see while it goes on; without its lock it is taken for one that broke off.
    let meanwhile = History::at(&place.project().join("copy")).runs(&Filter::default()).expect("it can be read");
    assert_eq!(meanwhile.len(), 1);
    assert_eq!((meanwhile[0].state, last(&place).state), (State::Interrupted, State::Ok));
    assert_eq!(history(&place).verify(None).expect("it can be read").findings, []);
}

#[test]
fn a_run_of_a_person_is_written_while_its_program_runs() {
    let program = "until grep -q waits-for-itself ../home/.cycod/history.tail 2>/dev/null; do sleep 0.05; done";
    let place = Place::new(&format!("description: d\ntimeout: 20000\nbash: {program}\n"));
    let report = run(&engine(&place), &[], None);
    assert!(report.success, "{report:?}");
    assert_eq!(history(&place).verify(None).expect("it can be read").findings, []);
    // And also where no program could be started.
    let place = Place::new("description: d\nrun: no-such-program\n");
    assert!(!run(&engine(&place), &[], None).success);
    assert_eq!(last(&place).state, State::Failed);
}

#[test]
fn steps_of_the_tools_it_uses_are_steps_of_the_run() {
    let place = Place::new("description: d\nsteps:\n  - {name: a, bash: echo one}\n  - {name: b, use-tool: u}\n")
        .tool("u", "description: d\nbash: echo two; exit 4\n");
    run(&engine(&place), &[], None);
    let run = last(&place);
    let (_, end) = run.end.expect("it has ended");
    let steps: Vec<_> =
        end["steps"].as_array().expect("steps").iter().map(|step| (&step["name"], &step["exit_code"])).collect();
    assert_eq!(steps, [(&json!("a"), &json!(0)), (&json!("b"), &json!(4)), (&json!("b/u"), &json!(4))]);
    assert_eq!(history(&place).runs(&Filter::default()).expect("it can be read").len(), 1);
}

#[test]
fn a_large_argument_is_there_by_its_digest() {
    let place = Place::new(
        "description: d\nbash: cat\ninput: '{A}'\nparameters: {A: {type: string, description: d}, B: {type: string, description: d}}\n",
    );
    let large = "x".repeat(1 << 20);
    run(&engine(&place), &[("A", &large), ("B", "small")], None);
    let run = last(&place);
    assert_eq!(run.call["arguments"], json!({"B": "small"}));
    let digest = cycod_store::Digest::of(large.as_bytes()).to_string();
    assert_eq!(run.call["withheld"], json!({"A": {"why": "large", "bytes": 1 << 20, "sha256": digest}}));
    let output = &run.end.expect("it has ended").1["outputs"]["stdout"];
    assert_eq!((&output["bytes"], &output["sha256"]), (&json!(1 << 20), &json!(digest)));
}

#[test]
fn a_refused_call_is_there() {
    let place = Place::new("description: d\nbash: touch ran\ntags: [write]\n");
    let engine = engine(&place);
    let plan = engine.plan(&engine.tool("t").expect("a tool"), Vec::new(), None).expect("a plan");
    let refusal = engine.approve(plan, Surface::Agent, &Nobody).expect_err("nobody can be asked");
    let run = last(&place);
    assert_eq!((run.state, run.surface.as_str(), run.end), (State::Refused, "agent", None));
    assert_eq!(run.call["refusal"]["code"], refusal.code.name());
    assert_eq!((&run.call["verdict"], &run.call["commands"]), (&json!("ask"), &json!(["touch ran"])));
}

#[test]
fn who_is_not_there_needs_a_history() {
    let place = Place::new("description: d\nbash: touch ran\ntags: [read]\n");
    fs::write(place.project().join("file"), "").expect("it can be written");
    let engine = place.builder().history(Arc::new(History::at(&place.project().join("file")))).build();
    for surface in ["mcp", "agent"] {
        let report = run(&engine, &[], Some(engine.person(surface)));
        assert_eq!(report.refusal.map(|refusal| refusal.code), Some(Code::HistoryUnwritable));
        assert!(!place.project().join("ran").exists());
    }
    let report = run(&engine, &[], None);
    assert!(report.success && report.warnings[0].contains("this run is not in the history"), "{report:?}");
}
