//! What a driver is told that gives the work of a flow to other machines.

use std::collections::BTreeSet;

use cycod_flow::{
    AT_ONCE, Attempt, AttemptOutcome, ConditionResult, FlowCourse, FlowEvent, FlowHeard, FlowMisfit, FlowStart,
    FlowTask, FlowTimer, FlowTurn, FlowWork, LostAnswer, LostPolicy, ScopeId, StepId, StepShape, VERSION, WorkAnswer,
};
use proptest::prelude::*;

fn begin(steps: Vec<StepShape>) -> (FlowCourse, FlowTurn) {
    FlowCourse::begin(FlowStart { version: VERSION, steps, at_once: AT_ONCE, timeout: 300 }).expect("a turn")
}

fn id(scope: usize, index: usize) -> StepId {
    StepId { scope: ScopeId(scope), index }
}

fn task(scope: usize, index: usize) -> FlowTask {
    FlowTask { step: id(scope, index), attempt: Attempt::Number(1), losses: 0 }
}

fn attempt(scope: usize, index: usize) -> FlowWork {
    FlowWork::Attempt(task(scope, index))
}

/// The time of a scope, which was stopped so often before.
fn time(scope: usize, stops: u32) -> FlowTimer {
    FlowTimer::OutOfTime { scope: ScopeId(scope), stops }
}

fn ended(task: FlowTask, outcome: AttemptOutcome) -> FlowHeard {
    FlowHeard::Answer(FlowWork::Attempt(task), WorkAnswer::new(FlowEvent::Ended { task, outcome }))
}

/// What opens a tool with one step.
fn opened(by: FlowTask, timeout: Option<u64>) -> FlowHeard {
    let event = FlowEvent::Opened { by: Some(by), steps: vec![StepShape::default()], at_once: 1 };
    FlowHeard::Answer(FlowWork::Attempt(by), WorkAnswer { timeout, ..WorkAnswer::new(event) })
}

fn cleaned(scope: usize, closes: Option<AttemptOutcome>) -> FlowHeard {
    let answer = WorkAnswer { closes, ..WorkAnswer::new(FlowEvent::CleanedUp(ScopeId(scope))) };
    FlowHeard::Answer(FlowWork::CleanUp(ScopeId(scope)), answer)
}

/// What a machine says that asks a person first.
fn asks(work: FlowWork) -> FlowHeard {
    FlowHeard::Answer(work, WorkAnswer::new(FlowEvent::Asked(work)))
}

fn hear(course: &mut FlowCourse, heard: FlowHeard) -> FlowTurn {
    course.hear(heard).expect("it fits").expect("it matters")
}

#[test]
fn a_run_ends_with_its_cleanup_and_only_an_answer_to_what_is_out_counts() {
    let (mut course, first) = begin(vec![StepShape { retries: 1, ..StepShape::default() }]);
    assert_eq!(first.timers, [(time(0, 0), 300)]);
    assert_eq!(first.offers, [attempt(0, 0)]);

    // An answer to other work, and to work that nobody has.
    let other = WorkAnswer::new(FlowEvent::Ended { task: task(0, 1), outcome: AttemptOutcome::Succeeded });
    assert_eq!(course.hear(FlowHeard::Answer(attempt(0, 0), other)), Err(FlowMisfit::OtherWork));
    assert_eq!(course.hear(cleaned(0, None)), Err(FlowMisfit::OtherWork));

    // The pause is as long as the worker said.
    let failed = WorkAnswer {
        pause: Some(70),
        ..WorkAnswer::new(FlowEvent::Ended { task: task(0, 0), outcome: AttemptOutcome::Failed })
    };
    let turn = hear(&mut course, FlowHeard::Answer(attempt(0, 0), failed.clone()));
    assert_eq!((turn.timers, turn.offers), (vec![(FlowTimer::Due(id(0, 0)), 70)], vec![]));
    // The same answer once more is one to work that nobody has.
    assert_eq!(course.hear(FlowHeard::Answer(attempt(0, 0), failed)), Err(FlowMisfit::OtherWork));

    let again = FlowTask { attempt: Attempt::Number(2), ..task(0, 0) };
    let turn = hear(&mut course, FlowHeard::Timer(FlowTimer::Due(id(0, 0))));
    assert_eq!(turn.offers, [FlowWork::Attempt(again)]);
    let turn = hear(&mut course, ended(again, AttemptOutcome::Succeeded));
    assert_eq!((turn.offers, turn.is_over), (vec![FlowWork::CleanUp(ScopeId(0))], false));
    assert!(hear(&mut course, cleaned(0, None)).is_over);
    // The time of what is closed doesn't end it once more.
    assert_eq!(course.hear(FlowHeard::Timer(time(0, 0))), Ok(None));
}

#[test]
fn a_called_tool_has_its_own_time_and_gives_its_outcome_to_the_attempt() {
    let (mut course, _) = begin(vec![StepShape::default(), StepShape { after: vec![0], ..StepShape::default() }]);
    let turn = hear(&mut course, opened(task(0, 0), Some(40)));
    assert_eq!(turn.timers, [(time(1, 0), 40)]);
    assert_eq!(turn.offers, [attempt(1, 0)]);
    _ = hear(&mut course, ended(task(1, 0), AttemptOutcome::Succeeded));
    assert_eq!(course.clone().hear(cleaned(1, None)), Err(FlowMisfit::NoOutcome));
    let turn = hear(&mut course, cleaned(1, Some(AttemptOutcome::Succeeded)));
    assert_eq!((turn.offers, turn.is_over), (vec![attempt(0, 1)], false));
}

#[test]
fn what_is_out_of_time_or_cancelled_stops_and_nothing_else() {
    let parallel = || begin(vec![StepShape::default(), StepShape::default()]).0;
    let mut course = parallel();
    _ = hear(&mut course, opened(task(0, 0), Some(40)));
    let turn = hear(&mut course.clone(), FlowHeard::Timer(time(1, 0)));
    assert_eq!(turn.stops, [attempt(1, 0)]);
    for heard in [FlowHeard::Timer(time(0, 0)), FlowHeard::Cancel] {
        let mut course = course.clone();
        assert_eq!(hear(&mut course, heard.clone()).stops, [attempt(0, 1), attempt(1, 0)]);
        // A second time changes nothing.
        let is_cancel = heard == FlowHeard::Cancel;
        assert_eq!(course.hear(FlowHeard::Cancel).expect("it fits").is_none(), is_cancel);
    }
}

fn lost(scope: usize, index: usize) -> FlowHeard {
    FlowHeard::Answer(attempt(scope, index), WorkAnswer::new(FlowEvent::Lost(task(scope, index))))
}

#[test]
fn what_is_lost_and_may_start_again_does_so_at_once() {
    let (mut course, _) = begin(vec![StepShape { on_lost: LostPolicy::Retry, ..StepShape::default() }]);
    let again = FlowTask { losses: 1, ..task(0, 0) };
    let turn = hear(&mut course, lost(0, 0));
    assert_eq!((turn.offers, turn.asks), (vec![FlowWork::Attempt(again)], vec![]));
    // What the lost one says later answers nothing.
    assert_eq!(course.hear(ended(task(0, 0), AttemptOutcome::Succeeded)), Err(FlowMisfit::OtherWork));
}

#[test]
fn a_person_decides_about_what_is_lost_and_time_waits_for_the_answer() {
    let asks = || StepShape { on_lost: LostPolicy::Ask, ..StepShape::default() };
    let (mut course, _) = begin(vec![asks(), asks(), StepShape { after: vec![0, 1], ..StepShape::default() }]);
    let turn = hear(&mut course, lost(0, 0));
    assert_eq!((turn.asks, turn.offers), (vec![task(0, 0)], vec![]));
    assert_eq!(hear(&mut course, lost(0, 1)).asks, [task(0, 1)]);
    // The time that ran before doesn't end the run, and begins again when both are answered.
    assert_eq!(course.hear(FlowHeard::Timer(time(0, 0))), Ok(None));
    // An answer about something else, and about the same once more.
    assert_eq!(course.hear(FlowHeard::Said(task(0, 2), LostAnswer::Again)), Ok(None));
    let turn = hear(&mut course, FlowHeard::Said(task(0, 0), LostAnswer::Again));
    let again = FlowTask { losses: 1, ..task(0, 0) };
    assert_eq!((turn.offers, turn.timers), (vec![FlowWork::Attempt(again)], vec![]));
    assert_eq!(course.hear(FlowHeard::Said(task(0, 0), LostAnswer::Stop)), Ok(None));
    let mut stopped = course.clone();
    let turn = hear(&mut course, FlowHeard::Said(task(0, 1), LostAnswer::Done));
    assert_eq!(turn.timers, [(time(0, 2), 300)]);
    assert_eq!(hear(&mut course, ended(again, AttemptOutcome::Succeeded)).offers, [attempt(0, 2)]);
    assert_eq!(hear(&mut course.clone(), FlowHeard::Timer(time(0, 2))).stops, [attempt(0, 2)]);

    let turn = hear(&mut stopped, FlowHeard::Said(task(0, 1), LostAnswer::Stop));
    assert_eq!(turn.offers, []);
    assert_eq!(hear(&mut stopped, ended(again, AttemptOutcome::Succeeded)).offers, [FlowWork::CleanUp(ScopeId(0))]);
}

#[test]
fn a_result_that_came_late_counts_if_a_person_takes_it() {
    let asks = StepShape { on_lost: LostPolicy::Ask, retries: 1, ..StepShape::default() };
    let (mut course, _) = begin(vec![asks, StepShape { after: vec![0], ..StepShape::default() }]);
    let late = |outcome| {
        let FlowHeard::Answer(_, answer) = ended(task(0, 0), outcome) else { unreachable!("it is an answer") };
        FlowHeard::Late(task(0, 0), answer)
    };
    let works = AttemptOutcome::Succeeded;
    assert_eq!(course.hear(late(works)), Ok(None), "it isn't lost");
    _ = hear(&mut course, lost(0, 0));
    let other = WorkAnswer::new(FlowEvent::Lost(task(0, 0)));
    assert_eq!(course.hear(FlowHeard::Late(task(0, 0), other)), Err(FlowMisfit::OtherWork));
    let mut failed = course.clone();
    let turn = hear(&mut course, late(works));
    assert_eq!((turn.offers, turn.timers), (vec![attempt(0, 1)], vec![(time(0, 1), 300)]));
    assert_eq!(course.hear(late(works)), Ok(None));
    assert_eq!(course.hear(FlowHeard::Said(task(0, 0), LostAnswer::Again)), Ok(None));
    // One that failed is followed by the next attempt.
    assert!(hear(&mut failed, late(AttemptOutcome::Failed)).timers.contains(&(FlowTimer::Due(id(0, 0)), 0)));
}

#[test]
fn a_question_holds_the_time_of_each_tool_around_it_and_ends_with_the_run() {
    let asks = StepShape { on_lost: LostPolicy::Ask, ..StepShape::default() };
    let (mut course, _) = begin(vec![StepShape::default()]);
    let event = FlowEvent::Opened { by: Some(task(0, 0)), steps: vec![asks], at_once: 1 };
    let answer = WorkAnswer { timeout: Some(40), ..WorkAnswer::new(event) };
    _ = hear(&mut course, FlowHeard::Answer(attempt(0, 0), answer));
    assert_eq!(hear(&mut course, lost(1, 0)).asks, [task(1, 0)]);
    for scope in [0, 1] {
        assert_eq!(course.hear(FlowHeard::Timer(time(scope, 0))), Ok(None));
    }
    let turn = hear(&mut course.clone(), FlowHeard::Said(task(1, 0), LostAnswer::Again));
    assert_eq!(turn.timers, [(time(1, 1), 40), (time(0, 1), 300)]);
    assert_eq!(hear(&mut course, FlowHeard::Cancel).offers, [FlowWork::CleanUp(ScopeId(1))]);
    assert_eq!(course.hear(FlowHeard::Said(task(1, 0), LostAnswer::Again)), Ok(None), "it comes too late");
}

#[test]
fn work_asks_for_the_labels_of_its_step() {
    let needs = |labels: &[&str]| StepShape {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        ..StepShape::default()
    };
    let (course, _) = begin(vec![needs(&["gpu", "linux"]), needs(&["linux"])]);
    let asks = |work| course.labels(work).join(" ");
    assert_eq!([asks(attempt(0, 0)), asks(attempt(0, 1))], ["gpu linux", "linux"]);
    // What all steps need, the cleanup needs. A condition starts nothing.
    assert_eq!([asks(FlowWork::CleanUp(ScopeId(0))), asks(FlowWork::Decide(id(0, 0)))], ["linux", ""]);
    // What is not there asks for nothing.
    assert_eq!([asks(attempt(3, 0)), asks(attempt(0, 9)), asks(FlowWork::CleanUp(ScopeId(3)))], ["", "", ""]);
}

fn shape(index: usize) -> impl Strategy<Value = StepShape> {
    let on_lost = prop::sample::select(vec![LostPolicy::Retry, LostPolicy::Fail, LostPolicy::Ask]);
    (prop::collection::vec(0..index.max(1), 0..3), any::<bool>(), 0_u32..3, any::<bool>(), on_lost).prop_map(
        move |(after, is_conditional, retries, has_fallback, on_lost)| StepShape {
            after: if index == 0 { Vec::new() } else { after },
            is_conditional,
            retries,
            has_fallback,
            on_lost,
            ..StepShape::default()
        },
    )
}

#[test]
fn what_a_machine_asks_a_person_about_is_given_away_again_with_new_time() {
    let (mut course, _) = begin(vec![StepShape::default(), StepShape::default()]);
    let (one, two) = (attempt(0, 0), attempt(0, 1));
    let turn = hear(&mut course, asks(one));
    assert_eq!((turn.holds, turn.offers, turn.timers), (vec![one], vec![], vec![]));
    assert_eq!(turn.event, FlowEvent::Asked(one));
    let turn = hear(&mut course, asks(two));
    assert_eq!(turn.holds, [two]);
    // Time doesn't count meanwhile, and nobody has the work.
    assert_eq!(course.hear(FlowHeard::Timer(time(0, 0))), Ok(None));
    assert_eq!(course.hear(ended(task(0, 0), AttemptOutcome::Succeeded)), Err(FlowMisfit::OtherWork));
    let turn = hear(&mut course, FlowHeard::Resumed(one));
    assert_eq!((turn.offers, turn.timers), (vec![one], vec![]), "the other question is open");
    assert_eq!(course.hear(FlowHeard::Resumed(one)), Ok(None), "it is answered once");
    let turn = hear(&mut course, FlowHeard::Resumed(two));
    assert_eq!((turn.offers, turn.timers), (vec![two], vec![(time(0, 2), 300)]));
    // The same may be asked again, by another machine.
    assert_eq!(hear(&mut course, asks(one)).holds, [one]);
    _ = hear(&mut course, FlowHeard::Resumed(one));
    for index in [0, 1] {
        _ = hear(&mut course, ended(task(0, index), AttemptOutcome::Succeeded));
    }
    // The cleanup, too, may need consent.
    assert_eq!(hear(&mut course, asks(FlowWork::CleanUp(ScopeId(0)))).holds, [FlowWork::CleanUp(ScopeId(0))]);
    assert_eq!(
        hear(&mut course, FlowHeard::Resumed(FlowWork::CleanUp(ScopeId(0)))).offers,
        [FlowWork::CleanUp(ScopeId(0))]
    );
    assert!(hear(&mut course, cleaned(0, None)).is_over);
}

#[test]
fn a_run_that_is_cancelled_asks_no_one_any_more() {
    let (mut course, _) = begin(vec![StepShape::default(), StepShape::default()]);
    let (one, two) = (attempt(0, 0), attempt(0, 1));
    _ = hear(&mut course, asks(one));
    let turn = hear(&mut course, FlowHeard::Cancel);
    assert_eq!((turn.offers, turn.stops), (vec![one], vec![one, two]), "what is held ends as what is given away");
    assert_eq!(course.hear(FlowHeard::Resumed(one)), Ok(None));
    let turn = hear(&mut course, asks(two));
    assert_eq!((turn.holds, turn.offers), (vec![], vec![two]));
    for index in [0, 1] {
        _ = hear(&mut course, ended(task(0, index), AttemptOutcome::Refused));
    }
    assert!(hear(&mut course, cleaned(0, None)).is_over);
}

proptest! {
    /// Whatever comes of the work, and in whichever order, each run ends and no work is given away twice.
    #[test]
    fn every_run_ends(
        steps in (0_usize..6).prop_flat_map(|count| (0..count).map(shape).collect::<Vec<_>>()),
        tape in prop::collection::vec(any::<u8>(), 400),
    ) {
        let mut tape = tape.into_iter().chain(std::iter::repeat(5));
        let mut chance = |of: usize| usize::from(tape.next().unwrap_or_default()) % of;
        let (mut course, first) = begin(steps);
        let (mut waiting, mut given, mut scopes) = (Vec::new(), BTreeSet::new(), 1);
        let (mut asked, mut held) = (Vec::new(), Vec::new());
        let mut next = Some(first);
        for _ in 0..2000 {
            if let Some(turn) = next.take() {
                waiting.extend(turn.timers.iter().map(|(timer, _)| Ok(*timer)));
                for work in &turn.offers {
                    prop_assert!(given.insert(*work), "{work:?} is given away twice");
                    waiting.push(Err(*work));
                }
                asked.extend(turn.asks.iter().copied());
                held.extend(turn.holds.iter().copied());
                for work in &turn.stops {
                    prop_assert!(waiting.contains(&Err(*work)), "{work:?} isn't under way");
                }
                if turn.is_over {
                    return Ok(());
                }
            }
            if chance(40) == 0 {
                next = course.hear(FlowHeard::Cancel).expect("it fits");
                continue;
            }
            if !asked.is_empty() && (waiting.is_empty() || chance(3) == 0) {
                let task = asked.swap_remove(chance(asked.len()));
                let answer = [LostAnswer::Again, LostAnswer::Done, LostAnswer::Stop].get(chance(4)).copied();
                let late = WorkAnswer::new(FlowEvent::Ended { task, outcome: AttemptOutcome::Succeeded });
                let late = || FlowHeard::Late(task, late);
                let heard = answer.map_or_else(late, |answer| FlowHeard::Said(task, answer));
                next = course.hear(heard).expect("it fits");
                continue;
            }
            if !held.is_empty() && (waiting.is_empty() || chance(3) == 0) {
                let work = held.swap_remove(chance(held.len()));
                next = course.hear(FlowHeard::Resumed(work)).expect("it fits");
                continue;
            }
            let heard = waiting.swap_remove(chance(waiting.len()));
            if let Err(work) = heard
                && chance(6) == 0
            {
                // It is given away again when a person was asked.
                given.remove(&work);
                next = course.hear(asks(work)).expect("it fits");
                continue;
            }
            next = course.hear(match heard {
                Ok(timer) => FlowHeard::Timer(timer),
                Err(FlowWork::Decide(step)) => {
                    let decision = [ConditionResult::Run, ConditionResult::Skip, ConditionResult::Undecidable][chance(3)];
                    FlowHeard::Answer(FlowWork::Decide(step), WorkAnswer::new(FlowEvent::Decided { step, decision }))
                }
                Err(FlowWork::CleanUp(scope)) => cleaned(scope.0, Some(AttemptOutcome::Failed)),
                Err(FlowWork::Attempt(task)) => match chance(5) {
                    0 => FlowHeard::Answer(FlowWork::Attempt(task), WorkAnswer::new(FlowEvent::Lost(task))),
                    1 if scopes < 4 => {
                        scopes += 1;
                        opened(task, Some(1))
                    }
                    2 => ended(task, AttemptOutcome::Succeeded),
                    3 => ended(task, AttemptOutcome::Refused),
                    _ => ended(task, AttemptOutcome::Failed),
                },
            }).expect("it fits");
        }
        prop_assert!(false, "the run doesn't end");
    }
}
