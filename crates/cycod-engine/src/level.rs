//! How dangerous one call is, which its arguments decide as much as its tool.

use std::path::{Path, PathBuf};

use cycod_call::NoSteps;
use cycod_definition::{Body, Level, OutputMode, StreamTarget, Tool};
use cycod_plan::{Plan, PlannedAction};
use cycod_run::{Guarded, How, TouchedPath, resolved};

use crate::Engine;

impl Engine {
    /// The level of a call: that of its tool, or less where a built-in tool only looks this time, or run where it changes what
    /// decides what runs later.
    pub(crate) fn level_of(&self, asked: &Tool, plan: &Plan) -> Level {
        let looks = match (&asked.body, &self.built_ins) {
            (Body::BuiltIn(_), Some(built_ins)) => built_ins.level(plan.tool(), &plan.arguments()),
            _ => None,
        };
        let level = looks.map_or(plan.level, |looks| plan.level.min(looks));
        if level == Level::Write && self.decides_later(plan) { Level::Run } else { level }
    }

    /// The paths that the built-in tool of a plan would use, absolute.
    pub(crate) fn touches(&self, plan: &Plan) -> Vec<TouchedPath> {
        let Some(built_ins) = self.built_ins.as_ref().filter(|_| plan.tool().built_in().is_some()) else {
            return Vec::new();
        };
        let absolute = |touch: TouchedPath| TouchedPath { path: absolute(&touch.path, plan), ..touch };
        built_ins.touches(plan.tool(), &plan.arguments()).into_iter().map(absolute).collect()
    }

    /// Whether a call changes what decides what runs later, as far as that is known before anything runs. What is known only
    /// then is refused by the runner.
    fn decides_later(&self, plan: &Plan) -> bool {
        let changed = self.changes(plan);
        !changed.is_empty() && {
            let guarded = Guarded::new(plan.host());
            let decides = |path: &Path| guarded.decides_inside(path).is_some();
            changed.iter().any(|path| {
                // What cannot be told may decide anything.
                let followed = resolved(path).map_or(true, |real| decides(&real));
                // Removing a link changes the directory that it is in.
                let parent = path.parent().and_then(|parent| resolved(parent).ok());
                let itself = parent.zip(path.file_name()).is_some_and(|(parent, name)| decides(&parent.join(name)));
                followed || itself
            })
        }
    }

    /// Everything that we would write or remove in a tool's place.
    fn changes(&self, plan: &Plan) -> Vec<PathBuf> {
        let touched = self.touches(plan).into_iter().filter(|touch| touch.how == How::Change);
        let mut paths: Vec<PathBuf> = touched.map(|touch| touch.path).collect();
        for step in &plan.steps {
            if let (OutputMode::Stream, StreamTarget::File(template)) = (step.output.mode, &step.output.stream_callback)
                && let Ok(path) = plan.path(template, &NoSteps)
            {
                paths.push(plan.working_directory.join(path));
            }
            if let PlannedAction::Tool(tool_use) = &step.action
                && let Ok(nested) = plan.nested(step, tool_use, &NoSteps, &self.scripts)
            {
                paths.extend(self.changes(&nested));
            }
        }
        paths
    }
}

/// A path of a call, from where the tool works.
fn absolute(path: &Path, plan: &Plan) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(below_home) => plan.host().home.join(below_home),
        Err(_) => plan.working_directory.join(path),
    }
}
