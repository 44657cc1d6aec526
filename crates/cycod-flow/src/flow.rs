//! The state machine of a run: takes events, and returns what has to be done next.

use std::collections::BTreeSet;

use crate::{
    AT_ONCE, Attempt, AttemptOutcome, Before, ConditionResult, FlowCommand, FlowEvent, FlowTask, FlowWork, LostAnswer,
    LostPolicy, MOST_LOSSES, ScopeId, Settled, StepId, StepShape,
    scope::{Phase, Scope, State},
};

/// A run: every step of a tool and of the tools that it calls, and how far each is.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    scopes: Vec<Scope>,
    /// The scopes with steps whose turn has come.
    with_ready: BTreeSet<ScopeId>,
    /// How many steps occupy one of the [`AT_ONCE`] places.
    occupied: usize,
    is_cancelled: bool,
}

impl Flow {
    /// A flow in which nothing has happened. [`FlowEvent::Opened`] comes first.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of an event, and says what has to be done next, in this order.
    ///
    /// An event that does not fit changes nothing: the end of an attempt that was given up as lost, a second answer.
    pub fn on(&mut self, event: FlowEvent) -> Vec<FlowCommand> {
        let mut commands = Vec::new();
        self.take(event, &mut commands);
        self.advance(&mut commands);
        commands
    }

    /// Whether the outermost tool is closed.
    pub fn has_ended(&self) -> bool {
        self.scopes.first().is_some_and(Scope::is_closed)
    }

    /// The commands that no event has answered yet, in the order of their steps.
    ///
    /// This is what a driver that takes over a run has to carry out. What was started by the driver before it is lost:
    /// [`FlowEvent::Lost`] answers those.
    pub fn outstanding(&self) -> Vec<FlowCommand> {
        let mut commands = Vec::new();
        for (number, scope) in self.scopes.iter().enumerate() {
            let id = ScopeId(number);
            for (index, step) in scope.steps.iter().enumerate() {
                let step_id = StepId { scope: id, index };
                commands.extend(match step.state {
                    State::Deciding => Some(FlowCommand::Decide(step_id)),
                    State::Running { task, has_opened: false } => Some(FlowCommand::Start(task)),
                    State::Pausing(after) => Some(FlowCommand::Pause { after }),
                    State::Asking(task) => Some(FlowCommand::Ask(task)),
                    State::Waiting | State::Running { .. } | State::Settled(_) => None,
                });
            }
            match scope.phase {
                Phase::CleaningUp(_) => commands.push(FlowCommand::CleanUp(id)),
                Phase::Closed(verdict) if scope.by.is_some_and(|by| self.is_running(by)) => {
                    commands.push(FlowCommand::Close { scope: id, verdict });
                }
                Phase::Running | Phase::HandlingFailure | Phase::Closed(_) => {}
            }
        }
        commands
    }

    /// The attempt in which a scope was opened; nothing for the outermost one.
    pub fn opened_by(&self, scope: ScopeId) -> Option<FlowTask> {
        self.scopes.get(scope.0)?.by
    }

    /// The labels of the machines that may do something. A condition starts nothing, so any may evaluate it; what cleans up goes to
    /// a machine that could carry out each step of the scope, as far as they have labels in common.
    pub fn labels(&self, work: FlowWork) -> Vec<String> {
        let steps = |scope: ScopeId| self.scopes.get(scope.0).map(|scope| scope.steps.as_slice()).unwrap_or_default();
        match work {
            FlowWork::Decide(_) => Vec::new(),
            FlowWork::Attempt(task) => {
                let step = steps(task.step.scope).get(task.step.index);
                step.map(|step| step.shape.labels.clone()).unwrap_or_default()
            }
            FlowWork::CleanUp(scope) => {
                let mut steps = steps(scope).iter().map(|step| &step.shape.labels);
                let mut common = steps.next().cloned().unwrap_or_default();
                steps.for_each(|labels| common.retain(|label| labels.contains(label)));
                common
            }
        }
    }

    fn take(&mut self, event: FlowEvent, commands: &mut Vec<FlowCommand>) {
        match event {
            FlowEvent::Opened { by, steps, at_once } => self.open(by, steps, at_once, commands),
            FlowEvent::Decided { step, decision } => {
                if self.state(step) == Some(State::Deciding) {
                    match decision {
                        ConditionResult::Run if !self.may_start(step.scope) => {
                            self.settle(step, Settled::NotRun, commands);
                        }
                        ConditionResult::Run => {
                            self.start(FlowTask { step, attempt: Attempt::Number(1), losses: 0 }, commands);
                        }
                        ConditionResult::Skip => self.settle(step, Settled::Skipped, commands),
                        ConditionResult::Undecidable => self.settle(step, Settled::Undecidable, commands),
                    }
                }
            }
            FlowEvent::Ended { task, outcome } => {
                // Of one that was lost, a result may come late, and a person may take it.
                if self.is_running(task) || self.state(task.step) == Some(State::Asking(task)) {
                    self.ended(task, outcome, commands);
                }
            }
            FlowEvent::Due(step) => {
                if let Some(State::Pausing(after)) = self.state(step)
                    && let Attempt::Number(number) = after.attempt
                {
                    self.start(FlowTask { step, attempt: Attempt::Number(number + 1), losses: 0 }, commands);
                }
            }
            FlowEvent::Lost(task) => {
                // A step that called a tool is not carried out by anybody; the steps of that tool are.
                if self.state(task.step) == Some(State::Running { task, has_opened: false }) {
                    self.lost(task, commands);
                }
            }
            FlowEvent::Answered { task, answer } => {
                if self.state(task.step) == Some(State::Asking(task)) {
                    match answer {
                        LostAnswer::Again => self.start_again(task, commands),
                        LostAnswer::Done => self.settle(task.step, Settled::Done, commands),
                        LostAnswer::Stop => self.settle(task.step, Settled::Lost, commands),
                    }
                }
            }
            // What is given away is not done, whether a machine has it or a person is asked about it.
            FlowEvent::Asked(_) | FlowEvent::Resumed(_) => {}
            FlowEvent::OutOfTime(scope) => {
                let inner = self.inside(scope);
                for scope in &inner {
                    self.scopes[scope.0].is_out_of_time = true;
                }
                self.cut_short(&inner, commands);
            }
            FlowEvent::Cancelled => {
                self.is_cancelled = true;
                let all: Vec<ScopeId> = (0..self.scopes.len()).map(ScopeId).collect();
                self.cut_short(&all, commands);
            }
            FlowEvent::CleanedUp(id) => {
                if let Some(scope) = self.scopes.get_mut(id.0)
                    && let Phase::CleaningUp(verdict) = scope.phase
                {
                    scope.phase = Phase::Closed(verdict);
                    commands.push(FlowCommand::Close { scope: id, verdict });
                }
            }
        }
    }

    fn open(&mut self, by: Option<FlowTask>, steps: Vec<StepShape>, at_once: usize, commands: &mut Vec<FlowCommand>) {
        match by {
            None if self.scopes.is_empty() => {}
            None => return,
            Some(by) if self.state(by.step) == Some(State::Running { task: by, has_opened: false }) => {
                self.set(by.step, State::Running { task: by, has_opened: true });
            }
            Some(_) => return,
        }
        let id = ScopeId(self.scopes.len());
        let mut scope = Scope::new(by, steps, at_once);
        scope.is_out_of_time = by.is_some_and(|by| self.scopes[by.step.scope.0].is_out_of_time);
        self.scopes.push(scope);
        self.with_ready.insert(id);
        self.finish_if_done(id, commands);
    }

    /// Starts what may start.
    fn advance(&mut self, commands: &mut Vec<FlowCommand>) {
        while self.occupied < AT_ONCE
            && let Some(id) = self.with_ready.first().copied()
        {
            let may_start = self.may_start(id);
            let scope = &mut self.scopes[id.0];
            if may_start && scope.busy >= scope.at_once {
                // It has its turn again when one of its steps settles.
                self.with_ready.remove(&id);
                continue;
            }
            let Some(index) = scope.ready.pop_first().filter(|_| may_start) else {
                scope.ready.clear();
                self.with_ready.remove(&id);
                continue;
            };
            scope.busy += 1;
            let step = StepId { scope: id, index };
            if scope.steps[index].shape.is_conditional {
                self.set(step, State::Deciding);
                commands.push(FlowCommand::Decide(step));
            } else {
                self.start(FlowTask { step, attempt: Attempt::Number(1), losses: 0 }, commands);
            }
        }
    }

    /// Whether steps of a scope may still begin.
    fn may_start(&self, id: ScopeId) -> bool {
        self.scopes[id.0].goes_on() && !self.is_over(id)
    }

    /// Whether nothing more may begin in a scope, whatever came of its steps.
    fn is_over(&self, id: ScopeId) -> bool {
        self.is_cancelled || self.scopes[id.0].is_out_of_time
    }

    fn start(&mut self, task: FlowTask, commands: &mut Vec<FlowCommand>) {
        self.set(task.step, State::Running { task, has_opened: false });
        commands.push(FlowCommand::Start(task));
    }

    fn start_again(&mut self, task: FlowTask, commands: &mut Vec<FlowCommand>) {
        self.start(FlowTask { losses: task.losses + 1, ..task }, commands);
    }

    fn is_running(&self, of: FlowTask) -> bool {
        matches!(self.state(of.step), Some(State::Running { task, .. }) if task == of)
    }

    /// What follows the end of an attempt: another one, the fallback, or the result of the step.
    fn ended(&mut self, task: FlowTask, outcome: AttemptOutcome, commands: &mut Vec<FlowCommand>) {
        let step = task.step;
        let shape = &self.scopes[step.scope.0].steps[step.index].shape;
        let next = match (task.attempt, outcome) {
            (Attempt::Number(number), AttemptOutcome::Failed) if number <= shape.retries => Some(Before::Retry),
            (Attempt::Number(_), AttemptOutcome::Failed | AttemptOutcome::Refused) if shape.has_fallback => {
                Some(Before::Fallback)
            }
            _ => None,
        };
        match next {
            Some(before) if self.is_over(step.scope) => self.settle(step, Settled::CutShort(before), commands),
            Some(Before::Retry) => {
                self.set(step, State::Pausing(task));
                commands.push(FlowCommand::Pause { after: task });
            }
            Some(Before::Fallback) => {
                self.start(FlowTask { step, attempt: Attempt::Fallback, losses: 0 }, commands);
            }
            None => self.settle(step, Settled::Ended(outcome), commands),
        }
    }

    /// What follows the loss of an attempt.
    fn lost(&mut self, task: FlowTask, commands: &mut Vec<FlowCommand>) {
        let step = task.step;
        let on_lost = self.scopes[step.scope.0].steps[step.index].shape.on_lost;
        match on_lost {
            _ if self.is_over(step.scope) || task.losses + 1 >= MOST_LOSSES => {
                self.settle(step, Settled::Lost, commands);
            }
            LostPolicy::Retry => self.start_again(task, commands),
            LostPolicy::Fail => self.settle(step, Settled::Lost, commands),
            LostPolicy::Ask => {
                self.set(step, State::Asking(task));
                commands.push(FlowCommand::Ask(task));
            }
        }
    }

    /// Ends the pauses and questions of scopes that are over.
    fn cut_short(&mut self, scopes: &[ScopeId], commands: &mut Vec<FlowCommand>) {
        for &id in scopes {
            for index in 0..self.scopes[id.0].steps.len() {
                let step = StepId { scope: id, index };
                match self.scopes[id.0].steps[index].state {
                    State::Pausing(_) => self.settle(step, Settled::CutShort(Before::Retry), commands),
                    State::Asking(_) => self.settle(step, Settled::Lost, commands),
                    _ => {}
                }
            }
            self.finish_if_done(id, commands);
        }
    }

    /// Records the result of a step that was under way.
    fn settle(&mut self, step: StepId, settled: Settled, commands: &mut Vec<FlowCommand>) {
        self.set(step, State::Settled(settled));
        let scope = &mut self.scopes[step.scope.0];
        scope.busy -= 1;
        scope.settle(step.index, settled);
        if !scope.ready.is_empty() {
            self.with_ready.insert(step.scope);
        }
        commands.push(FlowCommand::Settle { step, settled });
        self.finish_if_done(step.scope, commands);
    }

    /// Cleans up a scope in which no step is under way and none can begin.
    fn finish_if_done(&mut self, id: ScopeId, commands: &mut Vec<FlowCommand>) {
        let may_start = self.may_start(id);
        let is_cancelled = self.is_cancelled;
        let scope = &mut self.scopes[id.0];
        let is_at_work = matches!(scope.phase, Phase::Running | Phase::HandlingFailure);
        if !is_at_work || scope.busy > 0 || may_start && !scope.ready.is_empty() {
            return;
        }
        let handles_failure = !is_cancelled && scope.handles_failure();
        for index in 0..scope.steps.len() {
            let step = &scope.steps[index];
            if matches!(step.state, State::Settled(_)) || handles_failure && step.shape.on_failure {
                continue;
            }
            // Without a failure, what runs on failure is not missing.
            let is_needless = step.shape.on_failure && may_start;
            let settled = if is_needless { Settled::Skipped } else { Settled::NotRun };
            scope.settle(index, settled);
            commands.push(FlowCommand::Settle { step: StepId { scope: id, index }, settled });
        }
        if handles_failure {
            self.with_ready.insert(id);
            return;
        }
        scope.ready.clear();
        scope.phase = Phase::CleaningUp(scope.verdict(is_cancelled));
        commands.push(FlowCommand::CleanUp(id));
    }

    /// A scope that is open, and those opened in it that are.
    fn inside(&self, outermost: ScopeId) -> Vec<ScopeId> {
        let mut inside = BTreeSet::from([outermost]);
        for (index, scope) in self.scopes.iter().enumerate().skip(outermost.0 + 1) {
            if !scope.is_closed() && scope.by.is_some_and(|by| inside.contains(&by.step.scope)) {
                inside.insert(ScopeId(index));
            }
        }
        inside.into_iter().filter(|id| self.scopes.get(id.0).is_some_and(|scope| !scope.is_closed())).collect()
    }

    fn state(&self, step: StepId) -> Option<State> {
        Some(self.scopes.get(step.scope.0)?.steps.get(step.index)?.state)
    }

    /// Changes how far a step is, and counts the places that are occupied.
    fn set(&mut self, step: StepId, state: State) {
        let held = &mut self.scopes[step.scope.0].steps[step.index].state;
        self.occupied -= usize::from(held.occupies());
        self.occupied += usize::from(state.occupies());
        *held = state;
    }
}
