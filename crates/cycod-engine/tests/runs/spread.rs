//! Runs whose steps are spread over machines: each step has an engine of its own, which knows what happened before and no more.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use cycod_diagnostic::{Code, Refusal};
use cycod_engine::{
    Approved, AttemptOutcome, Carrier, Control, Driver, Durable, Engine, Event, FlowEvent, FlowFact, FlowNews,
    FlowSource, FlowWork, Nobody, Plan, RunPlace, RunReport, Secrets, Sink, StepDone, StepOrder, Stop, Surface,
    flow_start, follow, refused_step, run_step,
};
use cycod_flow::{ConditionResult, FlowCourse, FlowHeard, FlowTask, LostAnswer, ScopeId, StepId, WorkAnswer};
use cycod_run::Ledger;

use crate::support::{Collected, Place, story};

/// What a machine does with work, after what happened before; nothing where it is lost.
type Machine<'a> = dyn Fn(FlowWork, &[FlowFact]) -> Option<StepDone> + Send + Sync + 'a;

/// Does one step in the place of all.
#[derive(Debug)]
struct One(Mutex<Option<StepOrder>>, Mutex<Option<Result<StepDone, Refusal>>>);

impl Carrier for One {
    fn carry(
        &self,
        approved: Approved<Plan>,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        _: Option<Durable<'_>>,
    ) -> RunReport {
        let order = self.0.lock().expect("no panic").take().expect("it is asked once");
        *self.1.lock().expect("no panic") = Some(run_step(approved, driver, sink, order));
        RunReport::without_run(0)
    }
}

fn with_carrier(place: &Place, engine: &Engine, carrier: Arc<dyn Carrier>, sink: &mut dyn Sink) -> RunReport {
    let approved = engine.approve(place.plan(engine, &[]), Surface::Person, &Nobody).expect("a person may");
    let control = Control { place: RunPlace::Carried(carrier), ..engine.control().expect("descriptors") };
    engine.run(approved, &control, sink)
}

/// Has a step done by a machine that has the tools of a place.
fn step(place: &Place, engine: &Engine, work: FlowWork, past: &[FlowFact]) -> Result<StepDone, Refusal> {
    let order = StepOrder { work, past: past.to_vec(), elapsed: std::time::Duration::ZERO, labels: Vec::new() };
    let one = Arc::new(One(Mutex::new(Some(order)), Mutex::new(None)));
    _ = with_carrier(place, engine, Arc::<One>::clone(&one), &mut Collected::default());
    let done = one.1.lock().expect("no panic").take();
    done.expect("it was asked")
}

/// Drives a flow as a conductor does, and returns what happened.
fn facts(place: &Place, machine: &Machine<'_>) -> Vec<FlowFact> {
    facts_with(place, machine, Some(LostAnswer::Stop))
}

/// The same where a person says this about a step that was lost, or takes what comes late of it.
fn facts_with(place: &Place, machine: &Machine<'_>, says: Option<LostAnswer>) -> Vec<FlowFact> {
    #[derive(Debug, Default)]
    struct Begins(Mutex<Option<cycod_flow::FlowStart>>);
    impl Carrier for Begins {
        fn carry(
            &self,
            approved: Approved<Plan>,
            _: &Driver<'_>,
            _: &mut dyn Sink,
            _: Option<Durable<'_>>,
        ) -> RunReport {
            *self.0.lock().expect("no panic") = Some(flow_start(approved.subject()));
            RunReport::without_run(0)
        }
    }
    let begins = Arc::new(Begins::default());
    _ = with_carrier(place, &place.engine(), Arc::<Begins>::clone(&begins), &mut Collected::default());
    let start = begins.0.lock().expect("no panic").take().expect("it began");

    let (mut course, mut turn) = FlowCourse::begin(start).expect("a turn");
    let (mut facts, mut out, mut entry) = (Vec::new(), VecDeque::new(), Vec::new());
    loop {
        facts.push(FlowFact { event: turn.event, entry: std::mem::take(&mut entry) });
        if turn.is_over {
            return facts;
        }
        // The time of a scope is never over here, and a pause is over at once.
        let is_pause = |timer: &cycod_flow::FlowTimer| matches!(timer, cycod_flow::FlowTimer::Due(_));
        out.extend(turn.timers.into_iter().map(|(timer, _)| timer).filter(is_pause).map(FlowHeard::Timer));
        // What is heard of work is known when its turn comes.
        let unknown = || WorkAnswer::new(FlowEvent::Cancelled);
        let heard_about = |task| says.map_or(FlowHeard::Late(task, unknown()), |answer| FlowHeard::Said(task, answer));
        out.extend(turn.asks.into_iter().map(heard_about));
        for work in turn.offers {
            out.push_back(FlowHeard::Answer(work, unknown()));
        }
        let heard = match out.pop_front().expect("the run waits for something") {
            FlowHeard::Answer(work, _) => {
                let answer = match machine(work, &facts) {
                    Some(done) => {
                        entry = done.entry;
                        done.answer
                    }
                    None => work.lost(),
                };
                FlowHeard::Answer(work, answer)
            }
            FlowHeard::Late(task, _) => {
                let before = &facts[..facts.len() - 1];
                let done = machine(FlowWork::Attempt(task), before).expect("the machine is back");
                entry = done.entry;
                FlowHeard::Late(task, done.answer)
            }
            other => other,
        };
        turn = course.hear(heard).expect("it fits").expect("it matters");
    }
}

/// What a follower of a run writes down.
#[derive(Debug, Default)]
struct Written(Vec<Vec<u8>>);

impl Ledger for Written {
    fn add(&mut self, entry: &[u8], _: bool) -> Result<(), Refusal> {
        self.0.push(entry.to_vec());
        Ok(())
    }
}

struct Told(VecDeque<FlowFact>);

impl FlowSource for Told {
    fn next(&mut self, _: &Stop) -> Result<FlowNews, Refusal> {
        let ended = || Refusal::new(Code::HubFailed, "nothing more is known");
        self.0.pop_front().map(FlowNews::Fact).ok_or_else(ended)
    }
}

/// Follows a run of which some facts were written down before.
#[derive(Debug)]
struct Follows(Vec<FlowFact>, usize, Mutex<Vec<Vec<u8>>>);

impl Carrier for Follows {
    fn carry(
        &self,
        approved: Approved<Plan>,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        _: Option<Durable<'_>>,
    ) -> RunReport {
        let past = self.0[..self.1].iter().map(FlowFact::to_bytes).collect();
        let mut ledger = Written::default();
        let durable = Durable { ledger: &mut ledger, past, lost: &|_| None };
        let report = follow(approved, driver, sink, durable, &mut Told(self.0[self.1..].iter().cloned().collect()));
        *self.2.lock().expect("no panic") = ledger.0;
        report
    }
}

/// The report of a run by what happened in it, of which the follower knew some, and what it wrote down.
fn followed(place: &Place, facts: &[FlowFact], known: usize) -> (RunReport, Vec<Vec<u8>>, Vec<Event<'static>>) {
    let follows = Arc::new(Follows(facts.to_vec(), known, Mutex::default()));
    let mut sink = Collected::default();
    let report = with_carrier(place, &place.engine(), Arc::<Follows>::clone(&follows), &mut sink);
    let written = std::mem::take(&mut *follows.2.lock().expect("no panic"));
    (report, written, sink.0)
}

/// Runs the tool of a place with each step on a machine of its own.
pub(crate) fn run_spread(place: &Place) -> RunReport {
    let facts = facts(place, &everywhere(place));
    followed(place, &facts, 0).0
}

/// Runs a tool without arguments and compares its story. It is the same whatever drives the flow: threads, threads that write down
/// what happens, or a conductor whose steps are done by machines that know nothing of each other.
pub(crate) fn check(tool: &str, expect: expect_test::Expect) {
    check_with(|| Place::new(tool), expect);
}

/// The same with a place that is made for each of them.
#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
pub(crate) fn check_with(place: impl Fn() -> Place, expect: expect_test::Expect) {
    let here = checked_here(&place, &expect);
    assert_eq!(story(&run_spread(&place())), here, "spread over machines");
}

/// The same for what only happens at once or by the clock: the machines of these tests work one after the other, and take no time.
#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
pub(crate) fn check_here(tool: &str, expect: expect_test::Expect) {
    _ = checked_here(&|| Place::new(tool), &expect);
}

fn checked_here(place: &dyn Fn() -> Place, expect: &expect_test::Expect) -> String {
    let here = story(&place().run(&[]));
    expect.assert_eq(&here);
    assert_eq!(story(&place().run_durably()), here, "with a journal");
    here
}

fn no_facts() -> FlowFact {
    FlowFact { event: FlowEvent::Cancelled, entry: Vec::new() }
}

/// Every tool of these machines is the one of the place.
fn everywhere(place: &Place) -> impl Fn(FlowWork, &[FlowFact]) -> Option<StepDone> + Send + Sync + '_ {
    |work, past| Some(step(place, &place.engine(), work, past).expect("it is its turn"))
}

const RICH: &str = "description: d\nsteps:
- {name: flaky, bash: 'echo try; exit 3', error-handling: {retry: {attempts: 1, delay: 10}}, continue-on-error: true}
- {name: saved, bash: 'exit 4', error-handling: {fallback: echo saved}}
- {name: never, bash: echo never, run-condition: '{saved.exit-code} == 1'}
- {name: inner, use-tool: inner, with: {WHAT: '{saved.output}'}}
- {name: each, for-each: [x, y], max-parallel: 2, bash: 'echo item {ITEM}'}
- {name: slow, bash: sleep 60, timeout: 50, continue-on-error: true}
- {name: large, bash: 'head -c 100000 /dev/zero | tr \"\\0\" x', output: {buffer-limit: 10}}
- {name: last, bash: 'echo {inner.output}, {each.output}, {flaky.exit-code}'}
resources:
  cleanup: [{final-command: exit 9}]
";
const INNER: &str = "description: d\nparameters: {WHAT: {type: string, description: d, default: x}}\nsteps:
- {name: one, bash: 'echo one {WHAT}'}
- {name: two, bash: 'echo two {one.output}'}
";
const FAILS: &str = "description: d\nsteps:
- {name: one, bash: echo one}
- {name: two, bash: 'echo two >&2; exit 7'}
- {name: three, bash: echo three}
- {name: help, bash: echo help, on-failure: true}
";

fn rich() -> Place {
    Place::new(RICH).tool("inner", INNER)
}

#[test]
fn a_run_that_is_spread_ends_as_one_here() {
    for place in [rich(), Place::new(FAILS), Place::new("description: d\nbash: echo one; exit 3\n")] {
        let here = story(&place.run(&[]));
        let facts = facts(&place, &everywhere(&place));
        let (report, written, events) = followed(&place, &facts, 0);
        assert_eq!(story(&report), here);
        // Everything is written down, so that another process may go on, wherever this one ends.
        assert_eq!(written, facts.iter().map(FlowFact::to_bytes).collect::<Vec<_>>());
        assert!(events.iter().any(|event| matches!(event, Event::StepEnded { .. })), "{events:?}");
        for known in 0..facts.len() {
            assert_eq!(story(&followed(&place, &facts, known).0), here, "{known}");
        }
    }
}

#[test]
fn a_step_that_is_lost_starts_again_only_where_that_does_no_harm() {
    let lost_first = |place: &Place, says: Option<LostAnswer>| {
        let is_lost = Mutex::new(false);
        let machine = |work: FlowWork, past: &[FlowFact]| {
            let FlowWork::Attempt(_) = work else { return everywhere(place)(work, past) };
            if std::mem::replace(&mut *is_lost.lock().expect("no panic"), true) {
                everywhere(place)(work, past)
            } else {
                None
            }
        };
        let facts = facts_with(place, &machine, says);
        story(&followed(place, &facts, 0).0)
    };
    let tool = |tags: &str| {
        format!(
            "description: d\ntags: [{tags}]\nsteps:\n- {{name: one, bash: echo one}}\n- {{name: two, bash: 'echo two'}}\n"
        )
    };
    let reads = Place::new(&tool("read"));
    assert_eq!(lost_first(&reads, Some(LostAnswer::Stop)), story(&reads.run(&[])), "no one is asked");
    let writes = Place::new(&tool("write"));
    let stopped = lost_first(&writes, Some(LostAnswer::Stop));
    assert!(stopped.contains("one failed 1") && !stopped.contains("\"two"), "{stopped}");
    // What a person says is a fact like any other, which workers and followers tell their flows.
    assert_eq!(lost_first(&writes, Some(LostAnswer::Again)), story(&writes.run(&[])));
    let done = lost_first(&writes, Some(LostAnswer::Done));
    assert!(done.contains("one ok 0") && done.contains("two") && !done.contains("\"one"), "{done}");
    // The result that came late is the one of the step.
    assert_eq!(lost_first(&writes, None), story(&writes.run(&[])));
}

#[test]
fn a_condition_and_a_cleanup_that_are_lost_fail_their_step() {
    let place = Place::new(
        "description: d\nsteps:\n- {name: one, use-tool: inner, error-handling: {fallback: echo saved}, continue-on-error: true}\n- {name: two, bash: echo two, run-condition: '{one.exit-code} == 1'}\n",
    )
    .tool("inner", INNER);
    let lost_at = |is_lost: &(dyn Fn(FlowWork) -> bool + Sync)| {
        let machine =
            |work: FlowWork, past: &[FlowFact]| (!is_lost(work)).then(|| everywhere(&place)(work, past)).flatten();
        let facts = facts(&place, &machine);
        (0..facts.len()).map(|known| followed(&place, &facts, known).0).next_back().expect("a report")
    };
    let cleanup = |scope| move |work| work == FlowWork::CleanUp(ScopeId(scope));
    let report = lost_at(&cleanup(1));
    assert_eq!(report.steps[0].refusal.as_ref().map(|refusal| refusal.code), Some(Code::StepLost));
    assert_eq!((report.output.as_slice(), report.steps[0].used_fallback), (&b"two\n"[..], false));
    // That of the run is told, and changes nothing.
    let report = lost_at(&cleanup(0));
    assert!(report.success && report.warnings.iter().any(|text| text.contains("the cleanup was lost")), "{report:?}");
    let report = lost_at(&|work| matches!(work, FlowWork::Decide(_)));
    assert_eq!(report.steps[1].refusal.as_ref().map(|refusal| refusal.code), Some(Code::StepLost));
    assert!(!report.success && report.steps[1].name == "two", "{report:?}");
}

#[test]
fn a_machine_does_only_what_its_own_flow_asks_for() {
    let place = rich();
    let facts = facts(&place, &everywhere(&place));
    let engine = place.engine();
    let attempts: Vec<usize> =
        (0..facts.len()).filter(|at| matches!(facts[*at].event, FlowEvent::Ended { .. })).collect();
    let work_of = |at: usize| match facts[at].event {
        FlowEvent::Ended { task, .. } => FlowWork::Attempt(task),
        ref other => panic!("{other:?}"),
    };
    let refused = |work: FlowWork, past: &[FlowFact]| step(&place, &engine, work, past).expect_err("it is refused");

    // The last step, as long as those before it have not ended, and one that has ended.
    let (first, last) = (attempts[0], attempts[attempts.len() - 1]);
    assert_eq!(refused(work_of(last), &facts[..first]).code, Code::TicketRefused);
    assert_eq!(refused(work_of(first), &facts[..=first]).code, Code::TicketRefused);
    let never = FlowWork::Attempt(FlowTask {
        step: StepId { scope: ScopeId(9), index: 9 },
        attempt: cycod_flow::Attempt::Number(1),
        losses: 0,
    });
    assert_eq!(refused(never, &facts[..first]).code, Code::TicketRefused);

    // Other facts than the plan gives.
    let changed = |at: usize, fact: FlowFact| {
        let mut past = facts[..last].to_vec();
        past[at] = fact;
        refused(work_of(last), &past).code
    };
    let FlowEvent::Opened { by, mut steps, at_once } = facts[0].event.clone() else { panic!("it is opened first") };
    _ = steps.pop();
    let opened = FlowFact { event: FlowEvent::Opened { by, steps, at_once }, ..no_facts() };
    assert_eq!(changed(0, opened), Code::NotResumable);
    let decided = facts.iter().position(|fact| matches!(fact.event, FlowEvent::Decided { .. })).expect("a condition");
    let FlowEvent::Decided { step: of, .. } = facts[decided].event else { panic!("a condition") };
    let decision = FlowFact { event: FlowEvent::Decided { step: of, decision: ConditionResult::Run }, ..no_facts() };
    // A step whose condition doesn't hold, by a machine that says it does.
    let forced = [&facts[..decided], &[decision]].concat();
    let task = FlowTask { step: of, attempt: cycod_flow::Attempt::Number(1), losses: 0 };
    assert_eq!(refused(FlowWork::Attempt(task), &forced).code, Code::NotResumable);
    // What is known of another step, nothing that can be read, and another outcome than is known.
    let [at, other] = [attempts[0], attempts[1]];
    assert_eq!(changed(at, FlowFact { entry: facts[other].entry.clone(), ..facts[at].clone() }), Code::NotResumable);
    assert_eq!(changed(at, FlowFact { entry: b"none".to_vec(), ..facts[at].clone() }), Code::NotResumable);
    let FlowEvent::Ended { task, outcome } = facts[at].event else { panic!("an end") };
    assert_eq!(outcome, AttemptOutcome::Failed);
    let event = FlowEvent::Ended { task, outcome: AttemptOutcome::Succeeded };
    assert_eq!(changed(at, FlowFact { event, ..facts[at].clone() }), Code::NotResumable);
    // Nothing is left of any of them.
    assert_eq!(place.left_over(), 0);
}

#[test]
fn a_follower_takes_only_facts_that_fit_the_plan() {
    let place = Place::new(FAILS);
    let facts = facts(&place, &everywhere(&place));
    let mut gap = facts.clone();
    _ = gap.remove(1);
    let (report, ..) = followed(&place, &gap, 0);
    assert_eq!(report.refusal.expect("it is refused").code, Code::NotResumable);
    // A run of which nothing more is known has no end.
    let (report, ..) = followed(&place, &facts[..facts.len() - 1], 0);
    assert_eq!(report.refusal.expect("it is refused").code, Code::HubFailed);
    assert_eq!(FlowFact::read(&facts[1].to_bytes()), Some(facts[1].clone()));
    for broken in [&b""[..], &[9, 0, 0, 0, b'{'], &[2, 0, 0, 0, b'{', b'}']] {
        assert_eq!(FlowFact::read(broken), None);
    }
}

#[test]
fn a_refusal_of_a_machine_is_how_the_step_ended() {
    for (code, is_final) in [(Code::TicketRefused, true), (Code::NotStarted, false)] {
        let place = Place::new(
            "description: d\nsteps:\n- {name: one, bash: exit 1, error-handling: {fallback: echo saved}}\n- {name: two, bash: 'echo {one.output}'}\n",
        );
        let machine = |work: FlowWork, past: &[FlowFact]| match (work, past.len()) {
            (FlowWork::Attempt(_), 1) => Some(refused_step(work, &Refusal::new(code, "not here"))),
            _ => everywhere(&place)(work, past),
        };
        let told = story(&followed(&place, &facts(&place, &machine), 0).0);
        assert_eq!(told.contains("not here") || told.contains(&format!("refused[{code}]")), is_final, "{told}");
        assert_eq!(told.contains("saved"), !is_final, "what is forbidden has no fallback: {told}");
    }
    // A condition and a cleanup that a machine refuses.
    let place = rich();
    let machine = |work: FlowWork, past: &[FlowFact]| match work {
        FlowWork::Attempt(_) => everywhere(&place)(work, past),
        _ => Some(refused_step(work, &Refusal::new(Code::TicketRefused, "not here"))),
    };
    let told = story(&followed(&place, &facts(&place, &machine), 0).0);
    assert!(told.contains("never failed") && told.contains("the cleanup was refused: not here"), "{told}");
}

/// What one machine keeps.
#[derive(Debug)]
struct Kept;

impl Secrets for Kept {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        Ok(names.iter().map(|_| Some("hunter-two".to_owned())).collect())
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("in-its-place".to_owned())
    }
}

#[test]
fn a_secret_of_a_machine_stays_there() {
    let place = Place::new(
        "description: d\nenvironment: {secrets: [KEY]}\nsteps:
- {name: use, bash: 'echo ${#KEY}'}
- {name: tell, bash: 'echo $KEY', continue-on-error: true}
- {name: code, bash: 'echo $KEY >&2', continue-on-error: true}
- {name: after, bash: 'echo after {use.output}'}
",
    );
    let machine = |work: FlowWork, past: &[FlowFact]| {
        let engine = place.builder().secrets(Arc::new(Kept)).build();
        Some(step(&place, &engine, work, past).expect("it is its turn"))
    };
    let facts = facts(&place, &machine);
    for fact in &facts {
        let bytes = fact.to_bytes();
        assert!(!bytes.windows(10).any(|window| window == b"hunter-two"), "{}", String::from_utf8_lossy(&bytes));
    }
    let report = followed(&place, &facts, 0).0;
    assert_eq!(report.output, b"after 10\n");
    for step in &report.steps[1..3] {
        let refusal = step.refusal.as_ref().expect("it is refused");
        assert_eq!(refusal.code, Code::NotForFleet, "{refusal:?}");
    }
}
