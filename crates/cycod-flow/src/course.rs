//! A flow whose work other machines carry out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Flow, FlowCommand, FlowEvent, FlowStart, FlowTask, FlowWork, LostAnswer, ScopeId, StepId, WorkAnswer};

/// A flow with what is given to other machines. The program that drives it waits for answers and timers, and knows nothing else.
#[derive(Clone, Debug)]
pub struct FlowCourse {
    flow: Flow,
    /// What is given away and not answered.
    out: BTreeSet<FlowWork>,
    /// How long the pause after an attempt is, in milliseconds.
    pauses: BTreeMap<FlowTask, u64>,
    scopes: Vec<ScopeTime>,
    /// The lost attempts about which a person is asked.
    asked: BTreeSet<FlowTask>,
    /// What a machine does only with the consent of a person, who is asked.
    held: BTreeSet<FlowWork>,
    is_cancelled: bool,
}

/// The time of a scope. It doesn't run while a person is asked about a step of the scope, and begins again with the answer.
#[derive(Clone, Copy, Debug, Default)]
struct ScopeTime {
    /// How long it is, in milliseconds.
    length: Option<u64>,
    /// How often it was stopped; timers of before count no longer.
    stops: u32,
    /// How many questions keep it from running.
    asked: usize,
    is_closed: bool,
}

/// Something that the driver waits for after a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowTimer {
    /// The pause before the next attempt of a step.
    Due(StepId),
    /// The time of a scope.
    OutOfTime {
        /// Which scope.
        scope: ScopeId,
        /// How often its time had been stopped when it began.
        stops: u32,
    },
}

/// What the driver hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowHeard {
    /// What came of work.
    Answer(FlowWork, WorkAnswer),
    /// A timer is over.
    Timer(FlowTimer),
    /// What a person says about an attempt that was lost.
    Said(FlowTask, LostAnswer),
    /// What came late of an attempt that was lost, which a person takes.
    Late(FlowTask, WorkAnswer),
    /// A person was asked whether this may be done.
    Resumed(FlowWork),
    /// Someone ends the run.
    Cancel,
}

/// What follows from what the driver heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTurn {
    /// What happened.
    pub event: FlowEvent,
    /// What to wait for, with the milliseconds.
    pub timers: Vec<(FlowTimer, u64)>,
    /// What to give away.
    pub offers: Vec<FlowWork>,
    /// The lost attempts about which to ask a person.
    pub asks: Vec<FlowTask>,
    /// What a person is asked about before it is given away again.
    pub holds: Vec<FlowWork>,
    /// What has to stop of what was given away.
    pub stops: Vec<FlowWork>,
    /// Whether nothing more happens.
    pub is_over: bool,
}

/// Why an answer can't be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowMisfit {
    /// It answers other work, or work that nobody has.
    OtherWork,
    /// It ends a tool that was called, and doesn't say how the attempt ended that called it.
    NoOutcome,
}

impl std::fmt::Display for FlowMisfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OtherWork => "an answer is one to other work",
            Self::NoOutcome => "no worker said how a called tool ended",
        })
    }
}

impl std::error::Error for FlowMisfit {}

impl FlowCourse {
    /// Begins a run.
    ///
    /// # Errors
    /// Never: no answer is heard yet.
    pub fn begin(start: FlowStart) -> Result<(Self, FlowTurn), FlowMisfit> {
        let mut course = Self {
            flow: Flow::new(),
            out: BTreeSet::new(),
            pauses: BTreeMap::new(),
            scopes: Vec::new(),
            asked: BTreeSet::new(),
            held: BTreeSet::new(),
            is_cancelled: false,
        };
        let FlowStart { steps, at_once, timeout, .. } = start;
        let opened = WorkAnswer::new(FlowEvent::Opened { by: None, steps, at_once });
        let turn = course.happened(WorkAnswer { timeout: Some(timeout), ..opened })?;
        Ok((course, turn))
    }

    /// Takes note of something; nothing where it no longer matters.
    ///
    /// # Errors
    /// When an answer doesn't fit. The run can't go on.
    pub fn hear(&mut self, heard: FlowHeard) -> Result<Option<FlowTurn>, FlowMisfit> {
        let answer = match heard {
            FlowHeard::Cancel if std::mem::replace(&mut self.is_cancelled, true) => return Ok(None),
            FlowHeard::Cancel => WorkAnswer::new(FlowEvent::Cancelled),
            FlowHeard::Timer(FlowTimer::OutOfTime { scope, stops }) => {
                let is_over = |time: &ScopeTime| !time.is_closed && time.stops == stops;
                if !self.scopes.get(scope.0).is_some_and(is_over) {
                    return Ok(None);
                }
                WorkAnswer::new(FlowEvent::OutOfTime(scope))
            }
            FlowHeard::Timer(FlowTimer::Due(step)) => WorkAnswer::new(FlowEvent::Due(step)),
            // The run was cancelled before the answer came.
            FlowHeard::Said(task, _) if !self.asked.remove(&task) => return Ok(None),
            FlowHeard::Said(task, answer) => WorkAnswer::new(FlowEvent::Answered { task, answer }),
            FlowHeard::Late(task, answer) => {
                if !answer.is_of(FlowWork::Attempt(task)) || !matches!(answer.event, FlowEvent::Ended { .. }) {
                    return Err(FlowMisfit::OtherWork);
                }
                if !self.asked.remove(&task) {
                    return Ok(None);
                }
                let mut turn = self.happened(answer)?;
                self.go_on(task.step.scope, &mut turn);
                return Ok(Some(turn));
            }
            FlowHeard::Resumed(work) if !self.held.remove(&work) => return Ok(None),
            FlowHeard::Resumed(work) => WorkAnswer::new(FlowEvent::Resumed(work)),
            FlowHeard::Answer(work, answer) => {
                if !answer.is_of(work) || !self.out.remove(&work) {
                    return Err(FlowMisfit::OtherWork);
                }
                answer
            }
        };
        self.happened(answer).map(Some)
    }

    fn happened(&mut self, answer: WorkAnswer) -> Result<FlowTurn, FlowMisfit> {
        let WorkAnswer { event, pause, timeout, closes } = answer;
        let mut turn = FlowTurn::of(event.clone());
        match &event {
            FlowEvent::Opened { .. } => {
                let scope = ScopeId(self.scopes.len());
                self.scopes.push(ScopeTime { length: timeout, ..ScopeTime::default() });
                turn.timers.extend(timeout.map(|timeout| (FlowTimer::OutOfTime { scope, stops: 0 }, timeout)));
            }
            FlowEvent::Ended { task, .. } => {
                self.pauses.extend(pause.map(|pause| (*task, pause)));
            }
            FlowEvent::Answered { task, .. } => {
                self.go_on(task.step.scope, &mut turn);
            }
            // Nobody is asked about a run that was cancelled: the next machine refuses it for good.
            FlowEvent::Asked(work) if self.is_cancelled => turn.offers.push(*work),
            FlowEvent::Asked(work) => {
                self.stand_still(work.scope());
                self.held.insert(*work);
                turn.holds.push(*work);
            }
            FlowEvent::Resumed(work) => {
                self.go_on(work.scope(), &mut turn);
                turn.offers.push(*work);
            }
            FlowEvent::OutOfTime(scope) => turn.stops = self.attempts_in(*scope),
            FlowEvent::Cancelled => {
                self.asked.clear();
                turn.offers.extend(std::mem::take(&mut self.held));
                self.out.extend(&turn.offers);
                turn.stops = self.attempts_in(ScopeId(0));
            }
            _ => {}
        }
        let mut follows = VecDeque::from([event]);
        while let Some(event) = follows.pop_front() {
            for command in self.flow.on(event) {
                match command {
                    FlowCommand::Decide(step) => turn.offers.push(FlowWork::Decide(step)),
                    FlowCommand::Start(task) => turn.offers.push(FlowWork::Attempt(task)),
                    FlowCommand::CleanUp(scope) => turn.offers.push(FlowWork::CleanUp(scope)),
                    FlowCommand::Pause { after } => {
                        let pause = self.pauses.remove(&after).unwrap_or_default();
                        turn.timers.push((FlowTimer::Due(after.step), pause));
                    }
                    FlowCommand::Ask(task) => {
                        self.stand_still(task.step.scope);
                        self.asked.insert(task);
                        turn.asks.push(task);
                    }
                    FlowCommand::Settle { .. } => {}
                    FlowCommand::Close { scope, .. } => {
                        self.scopes[scope.0].is_closed = true;
                        match (self.flow.opened_by(scope), closes) {
                            (Some(task), Some(outcome)) => follows.push_back(FlowEvent::Ended { task, outcome }),
                            (Some(_), None) => return Err(FlowMisfit::NoOutcome),
                            (None, _) => turn.is_over = true,
                        }
                    }
                }
            }
        }
        self.out.extend(&turn.offers);
        Ok(turn)
    }

    /// Stops the time of a scope and of those around it, because a person is asked.
    fn stand_still(&mut self, scope: ScopeId) {
        for scope in self.enclosing(scope) {
            let time = &mut self.scopes[scope.0];
            time.stops += 1;
            time.asked += 1;
        }
    }

    /// Begins it again with the answer, unless another question keeps it from running.
    fn go_on(&mut self, scope: ScopeId, turn: &mut FlowTurn) {
        for scope in self.enclosing(scope) {
            let time = &mut self.scopes[scope.0];
            time.asked -= 1;
            if let (0, Some(length)) = (time.asked, time.length) {
                turn.timers.push((FlowTimer::OutOfTime { scope, stops: time.stops }, length));
            }
        }
    }

    /// The labels of the machines that may do something that is given away.
    pub fn labels(&self, work: FlowWork) -> Vec<String> {
        self.flow.labels(work)
    }

    /// A scope with those in which it was opened.
    fn enclosing(&self, scope: ScopeId) -> Vec<ScopeId> {
        let above = |scope: &ScopeId| Some(self.flow.opened_by(*scope)?.step.scope);
        std::iter::successors(Some(scope), above).collect()
    }

    /// The attempts that are given away in a scope, or in one that was opened in it.
    fn attempts_in(&self, outermost: ScopeId) -> Vec<FlowWork> {
        let is_inside = |scope: ScopeId| self.enclosing(scope).contains(&outermost);
        let of = |work: &&FlowWork| matches!(work, FlowWork::Attempt(task) if is_inside(task.step.scope));
        self.out.iter().filter(of).copied().collect()
    }
}

impl FlowTurn {
    fn of(event: FlowEvent) -> Self {
        Self {
            event,
            timers: Vec::new(),
            offers: Vec::new(),
            asks: Vec::new(),
            holds: Vec::new(),
            stops: Vec::new(),
            is_over: false,
        }
    }
}
