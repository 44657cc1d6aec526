//! What holds for every flow, whatever its steps are, whatever comes of them, and in whichever order that is learned.

use std::collections::{BTreeMap, BTreeSet};

use cycod_flow::{
    AT_ONCE, Attempt, AttemptOutcome, ConditionResult, Flow, FlowCommand, FlowEvent, FlowTask, LostAnswer, LostPolicy,
    MOST_LOSSES, ScopeEnd, ScopeId, Settled, StepId, StepShape,
};
use proptest::prelude::*;

/// Answers the commands of a flow by chance, and checks what it is told.
struct Driver {
    flow: Flow,
    /// Where chance comes from.
    tape: Vec<u8>,
    at: usize,
    /// Steps of tools that attempts may call.
    tools: Vec<(Vec<StepShape>, usize)>,
    unanswered: Vec<FlowCommand>,
    /// Every event with the commands that it gave.
    journal: Vec<(FlowEvent, Vec<FlowCommand>)>,
    started: BTreeSet<FlowTask>,
    lost: BTreeSet<FlowTask>,
    settled: BTreeMap<StepId, Settled>,
    shapes: BTreeMap<ScopeId, Vec<StepShape>>,
    /// How many steps of each scope may be under way, and those that are.
    at_once: BTreeMap<ScopeId, usize>,
    under_way: BTreeMap<ScopeId, BTreeSet<usize>>,
    cleanups: BTreeMap<ScopeId, u32>,
    verdicts: BTreeMap<ScopeId, ScopeEnd>,
    is_cancelled: bool,
    out_of_time: BTreeSet<ScopeId>,
}

impl Driver {
    fn new(tools: Vec<(Vec<StepShape>, usize)>, tape: Vec<u8>) -> Self {
        Self {
            flow: Flow::new(),
            tape,
            at: 0,
            tools,
            unanswered: Vec::new(),
            journal: Vec::new(),
            started: BTreeSet::new(),
            lost: BTreeSet::new(),
            settled: BTreeMap::new(),
            shapes: BTreeMap::new(),
            at_once: BTreeMap::new(),
            under_way: BTreeMap::new(),
            cleanups: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            is_cancelled: false,
            out_of_time: BTreeSet::new(),
        }
    }

    fn chance(&mut self, of: usize) -> usize {
        let byte = self.tape.get(self.at % self.tape.len().max(1)).copied().unwrap_or_default();
        self.at += 1;
        // The tape begins anew and must not say the same again.
        (usize::from(byte) + self.at / self.tape.len().max(1)) % of
    }

    fn tell(&mut self, event: FlowEvent) {
        let commands = self.flow.on(event.clone());
        for command in &commands {
            self.check(command);
        }
        self.unanswered
            .extend(commands.iter().filter(|command| !matches!(command, FlowCommand::Settle { .. })).cloned());
        self.unanswered.retain(|command| !is_told_only(command, &self.flow));
        self.journal.push((event, commands));
        self.check_outstanding();
    }

    fn begun(&mut self, step: StepId) {
        let under_way = self.under_way.entry(step.scope).or_default();
        under_way.insert(step.index);
        let most = self.at_once[&step.scope].max(1);
        assert!(under_way.len() <= most, "{} steps under way in {:?}, not {most}", under_way.len(), step.scope);
    }

    fn check(&mut self, command: &FlowCommand) {
        match command {
            FlowCommand::Start(task) => {
                self.begun(task.step);
                let shape = &self.shapes[&task.step.scope][task.step.index];
                for before in &shape.after {
                    let before = StepId { scope: task.step.scope, index: *before };
                    assert!(self.settled.contains_key(&before), "{task:?} started before {before:?} had settled");
                }
                assert!(self.started.insert(*task), "{task:?} started twice");
                if task.losses > 0 {
                    let before = FlowTask { losses: task.losses - 1, ..*task };
                    assert!(self.lost.contains(&before), "{task:?} started again, and nothing was lost");
                }
                assert!(task.losses < MOST_LOSSES);
                assert!(!self.is_cancelled, "{task:?} started after the run was cancelled");
                assert!(!self.out_of_time.contains(&task.step.scope), "{task:?} started after the time was over");
            }
            FlowCommand::Settle { step, settled } => {
                assert_eq!(self.settled.insert(*step, *settled), None, "{step:?} has two results");
                self.under_way.entry(step.scope).or_default().remove(&step.index);
            }
            FlowCommand::CleanUp(scope) => {
                for index in 0..self.shapes[scope].len() {
                    assert!(self.settled.contains_key(&StepId { scope: *scope, index }), "cleaned up too early");
                }
                *self.cleanups.entry(*scope).or_default() += 1;
            }
            FlowCommand::Close { scope, verdict } => {
                assert_eq!(self.cleanups.get(scope), Some(&1), "closed without its cleanup");
                assert_eq!(self.verdicts.insert(*scope, *verdict), None);
            }
            FlowCommand::Decide(step) => self.begun(*step),
            FlowCommand::Pause { .. } | FlowCommand::Ask(_) => {}
        }
    }

    fn opens(&mut self, by: Option<FlowTask>, tool: usize) -> FlowEvent {
        let (steps, at_once) = self.tools[tool].clone();
        let id = ScopeId(self.shapes.len());
        self.shapes.insert(id, steps.clone());
        self.at_once.insert(id, at_once);
        FlowEvent::Opened { by, steps, at_once }
    }

    /// What the flow says is outstanding is what nobody has answered.
    fn check_outstanding(&self) {
        let key = |command: &FlowCommand| format!("{command:?}");
        let unanswered: BTreeSet<String> = self.unanswered.iter().map(key).collect();
        let outstanding: BTreeSet<String> = self.flow.outstanding().iter().map(key).collect();
        assert_eq!(unanswered, outstanding);
        let places = self.unanswered.iter();
        let places = places.filter(|command| matches!(command, FlowCommand::Decide(_) | FlowCommand::Start(_))).count();
        assert!(places <= AT_ONCE, "{places} at once");
    }

    /// Answers one command.
    fn answer(&mut self) {
        let number = self.chance(self.unanswered.len());
        let command = self.unanswered.remove(number);
        let event = match command {
            FlowCommand::Decide(step) => {
                let decision =
                    [ConditionResult::Run, ConditionResult::Run, ConditionResult::Skip, ConditionResult::Undecidable]
                        [self.chance(4)];
                FlowEvent::Decided { step, decision }
            }
            FlowCommand::Start(task) => match self.chance(6) {
                0 => {
                    self.lost.insert(task);
                    FlowEvent::Lost(task)
                }
                1 if self.depth(task.step.scope) < 3 => {
                    let tool = self.chance(self.tools.len());
                    self.opens(Some(task), tool)
                }
                number => {
                    let outcomes = [
                        AttemptOutcome::Succeeded,
                        AttemptOutcome::Failed,
                        AttemptOutcome::Failed,
                        AttemptOutcome::Refused,
                        AttemptOutcome::Forbidden,
                    ];
                    FlowEvent::Ended { task, outcome: outcomes[(number + self.chance(5)) % 5] }
                }
            },
            FlowCommand::Pause { after } => FlowEvent::Due(after.step),
            FlowCommand::Ask(task) => FlowEvent::Answered {
                task,
                answer: [LostAnswer::Again, LostAnswer::Done, LostAnswer::Stop][self.chance(3)],
            },
            FlowCommand::CleanUp(scope) => FlowEvent::CleanedUp(scope),
            FlowCommand::Close { scope, verdict } => {
                let task = self.flow.opened_by(scope).expect("only scopes that were opened by an attempt are answered");
                let outcome =
                    if verdict == ScopeEnd::Completed { AttemptOutcome::Succeeded } else { AttemptOutcome::Failed };
                FlowEvent::Ended { task, outcome }
            }
            FlowCommand::Settle { .. } => unreachable!("is not answered"),
        };
        self.tell(event);
    }

    fn depth(&self, scope: ScopeId) -> usize {
        self.flow.opened_by(scope).map_or(1, |by| 1 + self.depth(by.step.scope))
    }

    fn run(&mut self) {
        let opened = self.opens(None, 0);
        self.tell(opened);
        let mut events = 0;
        while !self.unanswered.is_empty() {
            events += 1;
            assert!(events < 100_000, "the flow does not end");
            match self.chance(60) {
                0 => {
                    self.is_cancelled = true;
                    self.tell(FlowEvent::Cancelled);
                }
                1 => {
                    let scope = ScopeId(self.chance(self.shapes.len()));
                    let inside: Vec<ScopeId> =
                        self.shapes.keys().copied().filter(|id| self.lies_in(*id, scope)).collect();
                    self.out_of_time.extend(inside);
                    self.tell(FlowEvent::OutOfTime(scope));
                }
                _ => {}
            }
            // What is said twice, or of something else, changes nothing.
            if self.chance(10) == 0 && !self.journal.is_empty() {
                let number = self.chance(self.journal.len());
                let again = self.journal[number].0.clone();
                if !matches!(again, FlowEvent::Opened { .. }) && !self.is_answer(&again) {
                    self.tell(again);
                }
            }
            if !self.unanswered.is_empty() {
                self.answer();
            }
        }
    }

    /// Whether a scope lies in another one or is the same.
    fn lies_in(&self, scope: ScopeId, outer: ScopeId) -> bool {
        scope == outer || self.flow.opened_by(scope).is_some_and(|by| self.lies_in(by.step.scope, outer))
    }

    /// Whether an event would answer a command that is outstanding.
    fn is_answer(&self, event: &FlowEvent) -> bool {
        self.unanswered.iter().any(|command| match (command, event) {
            (FlowCommand::Decide(step), FlowEvent::Decided { step: of, .. }) => step == of,
            (FlowCommand::Start(task), FlowEvent::Ended { task: of, .. } | FlowEvent::Lost(of)) => task == of,
            (FlowCommand::Ask(task), FlowEvent::Answered { task: of, .. }) => task == of,
            (FlowCommand::Pause { after }, FlowEvent::Due(of)) => after.step == *of,
            (FlowCommand::CleanUp(scope), FlowEvent::CleanedUp(of)) => scope == of,
            (FlowCommand::Close { scope, .. }, FlowEvent::Ended { task, .. }) => {
                self.flow.opened_by(*scope) == Some(*task)
            }
            (_, FlowEvent::OutOfTime(_)) => true,
            _ => false,
        })
    }
}

/// Whether a command needs no answer any more: the flow has ended, or the run was over before its answer.
fn is_told_only(command: &FlowCommand, flow: &Flow) -> bool {
    match command {
        FlowCommand::Close { scope, .. } => *scope == ScopeId(0),
        FlowCommand::Pause { .. } | FlowCommand::Ask(_) => !flow.outstanding().contains(command),
        _ => false,
    }
}

fn step(index: usize) -> impl Strategy<Value = StepShape> {
    let after = prop::collection::vec(0..index.max(1), 0..3);
    let on_lost = prop::sample::select(vec![LostPolicy::Retry, LostPolicy::Fail, LostPolicy::Ask]);
    let on_failure = prop::bool::weighted(0.2);
    (after, any::<bool>(), any::<bool>(), on_failure, 0_u32..3, any::<bool>(), on_lost).prop_map(
        move |(after, is_conditional, continue_on_error, on_failure, retries, has_fallback, on_lost)| StepShape {
            after: if index == 0 { Vec::new() } else { after },
            is_conditional,
            continue_on_error,
            on_failure,
            retries,
            has_fallback,
            on_lost,
            ..StepShape::default()
        },
    )
}

/// Steps, and how many may be under way at once.
fn tool() -> impl Strategy<Value = (Vec<StepShape>, usize)> {
    let steps = (0_usize..8).prop_flat_map(|count| (0..count).map(step).collect::<Vec<_>>());
    (steps, prop_oneof![0_usize..4, Just(AT_ONCE)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_flow_ends_and_keeps_its_promises(
        tools in prop::collection::vec(tool(), 1..4),
        tape in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut driver = Driver::new(tools, tape);
        driver.run();
        prop_assert!(driver.flow.has_ended());
        prop_assert!(driver.flow.outstanding().is_empty());
        for (scope, steps) in &driver.shapes {
            prop_assert_eq!(driver.cleanups.get(scope), Some(&1), "every scope is cleaned up once");
            for index in 0..steps.len() {
                let settled = driver.settled.contains_key(&StepId { scope: *scope, index });
                prop_assert!(settled, "every step has a result");
            }
        }

        // The same events give the same commands, and stopping in between changes nothing.
        let mut again = Flow::new();
        for (event, commands) in &driver.journal {
            again = again.clone();
            prop_assert_eq!(&again.on(event.clone()), commands);
        }
    }
}

/// A flow of one tool, told of each event at once.
fn flow(steps: Vec<StepShape>) -> (Flow, Vec<FlowCommand>) {
    let mut flow = Flow::new();
    let commands = flow.on(FlowEvent::Opened { by: None, steps, at_once: AT_ONCE });
    (flow, commands)
}

fn task(index: usize, attempt: Attempt) -> FlowTask {
    FlowTask { step: StepId { scope: ScopeId(0), index }, attempt, losses: 0 }
}

fn ended(index: usize, attempt: u32, outcome: AttemptOutcome) -> FlowEvent {
    FlowEvent::Ended { task: task(index, Attempt::Number(attempt)), outcome }
}

fn settle(index: usize, settled: Settled) -> FlowCommand {
    FlowCommand::Settle { step: StepId { scope: ScopeId(0), index }, settled }
}

#[test]
fn steps_that_wait_for_nothing_start_at_once_and_in_order() {
    let (mut flow, commands) =
        flow(vec![StepShape::default(), StepShape::default(), StepShape { after: vec![0, 1], ..StepShape::default() }]);
    let start = |index| FlowCommand::Start(task(index, Attempt::Number(1)));
    assert_eq!(commands, [start(0), start(1)]);
    assert_eq!(flow.on(ended(1, 1, AttemptOutcome::Succeeded)), [settle(1, Settled::Ended(AttemptOutcome::Succeeded))]);
    assert_eq!(
        flow.on(ended(0, 1, AttemptOutcome::Succeeded)),
        [settle(0, Settled::Ended(AttemptOutcome::Succeeded)), start(2)]
    );
    assert_eq!(
        flow.on(ended(2, 1, AttemptOutcome::Succeeded)),
        [settle(2, Settled::Ended(AttemptOutcome::Succeeded)), FlowCommand::CleanUp(ScopeId(0)),]
    );
    let verdict = ScopeEnd::Completed;
    assert_eq!(flow.on(FlowEvent::CleanedUp(ScopeId(0))), [FlowCommand::Close { scope: ScopeId(0), verdict }]);
    assert!(flow.has_ended());
}

#[test]
fn a_time_that_is_over_within_a_pause_ends_the_step() {
    let (mut flow, _) = flow(vec![StepShape { retries: 2, has_fallback: true, ..StepShape::default() }]);
    let after = task(0, Attempt::Number(1));
    assert_eq!(flow.on(ended(0, 1, AttemptOutcome::Failed)), [FlowCommand::Pause { after }]);
    let cut = settle(0, Settled::CutShort(cycod_flow::Before::Retry));
    assert_eq!(flow.on(FlowEvent::OutOfTime(ScopeId(0))), [cut, FlowCommand::CleanUp(ScopeId(0))]);
    assert_eq!(flow.on(FlowEvent::Due(after.step)), []);
}

#[test]
fn a_fallback_follows_the_last_attempt_and_what_is_forbidden_has_none() {
    let shape = StepShape { retries: 1, has_fallback: true, ..StepShape::default() };
    let (mut one, _) = flow(vec![shape.clone()]);
    one.on(ended(0, 1, AttemptOutcome::Failed));
    one.on(FlowEvent::Due(StepId { scope: ScopeId(0), index: 0 }));
    assert_eq!(one.on(ended(0, 2, AttemptOutcome::Failed)), [FlowCommand::Start(task(0, Attempt::Fallback))]);
    let (mut other, _) = flow(vec![shape.clone()]);
    assert_eq!(other.on(ended(0, 1, AttemptOutcome::Refused)), [FlowCommand::Start(task(0, Attempt::Fallback))]);
    let (mut forbidden, _) = flow(vec![shape]);
    let settled = settle(0, Settled::Ended(AttemptOutcome::Forbidden));
    assert_eq!(forbidden.on(ended(0, 1, AttemptOutcome::Forbidden)), [settled, FlowCommand::CleanUp(ScopeId(0))]);
}

#[test]
fn no_more_than_so_many_run_at_once() {
    let (mut flow, commands) = flow(vec![StepShape::default(); AT_ONCE + 2]);
    assert_eq!(commands.len(), AT_ONCE);
    let next = flow.on(ended(0, 1, AttemptOutcome::Succeeded));
    assert_eq!(next[1..], [FlowCommand::Start(task(AT_ONCE, Attempt::Number(1)))]);
}

#[test]
fn of_one_scope_no_more_run_at_once_than_may() {
    let mut flow = Flow::new();
    let start = |index| FlowCommand::Start(task(index, Attempt::Number(1)));
    let steps = vec![StepShape { retries: 1, ..StepShape::default() }; 4];
    assert_eq!(flow.on(FlowEvent::Opened { by: None, steps, at_once: 2 }), [start(0), start(1)]);
    // One that waits for its next attempt keeps its place.
    let after = task(1, Attempt::Number(1));
    assert_eq!(flow.on(ended(1, 1, AttemptOutcome::Failed)), [FlowCommand::Pause { after }]);
    let settled = Settled::Ended(AttemptOutcome::Succeeded);
    assert_eq!(flow.on(ended(0, 1, AttemptOutcome::Succeeded)), [settle(0, settled), start(2)]);
    assert_eq!(flow.on(FlowEvent::Due(after.step)), [FlowCommand::Start(task(1, Attempt::Number(2)))]);
    assert_eq!(flow.on(ended(1, 2, AttemptOutcome::Succeeded)), [settle(1, settled), start(3)]);
    // A failure stops those that have not begun.
    assert_eq!(flow.on(ended(3, 1, AttemptOutcome::Refused)), [settle(3, Settled::Ended(AttemptOutcome::Refused))]);
}

#[test]
fn steps_for_a_failure_run_after_all_others_and_do_not_change_the_verdict() {
    let on_failure = |after| StepShape { on_failure: true, after, ..StepShape::default() };
    // Two regular steps, the second waits for the first; two for a failure, the second waits for the first.
    let shapes = || {
        let second = StepShape { after: vec![0], ..StepShape::default() };
        vec![on_failure(vec![]), on_failure(vec![0]), StepShape::default(), StepShape { after: vec![2], ..second }]
    };
    let number = |index| FlowCommand::Start(task(index, Attempt::Number(1)));

    let (mut succeeds, first) = flow(shapes());
    assert_eq!(first, [number(2)]);
    assert_eq!(
        succeeds.on(ended(2, 1, AttemptOutcome::Succeeded)),
        [settle(2, Settled::Ended(AttemptOutcome::Succeeded)), number(3)]
    );
    let last = succeeds.on(ended(3, 1, AttemptOutcome::Succeeded));
    let skipped = [settle(0, Settled::Skipped), settle(1, Settled::Skipped)];
    assert_eq!(last[1..], [&skipped[..], &[FlowCommand::CleanUp(ScopeId(0))]].concat());

    let failed = settle(2, Settled::Ended(AttemptOutcome::Failed));
    let (mut fails, _) = flow(shapes());
    assert_eq!(fails.on(ended(2, 1, AttemptOutcome::Failed)), [failed.clone(), settle(3, Settled::NotRun), number(0)]);
    // Its own failure stops the next one of its kind, and the run has failed by the step that failed first.
    let told = fails.on(ended(0, 1, AttemptOutcome::Failed));
    let clean_up = FlowCommand::CleanUp(ScopeId(0));
    assert_eq!(told, [settle(0, Settled::Ended(AttemptOutcome::Failed)), settle(1, Settled::NotRun), clean_up.clone()]);
    let closed = FlowCommand::Close { scope: ScopeId(0), verdict: ScopeEnd::Failed(2) };
    assert_eq!(fails.on(FlowEvent::CleanedUp(ScopeId(0))), [closed]);

    // A run that is cancelled or out of time goes straight to its cleanup.
    for event in [FlowEvent::Cancelled, FlowEvent::OutOfTime(ScopeId(0))] {
        let (mut over, _) = flow(shapes());
        over.on(event);
        let rest = [0, 1, 3].map(|index| settle(index, Settled::NotRun));
        assert_eq!(
            over.on(ended(2, 1, AttemptOutcome::Failed)),
            [vec![failed.clone()], rest.to_vec(), vec![clean_up.clone()]].concat()
        );
    }
}
