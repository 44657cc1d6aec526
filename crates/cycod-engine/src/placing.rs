//! Where a run is carried out: on this machine, or by others.

use std::sync::Arc;

use cycod_definition::{RunSite, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::Plan;

use crate::{Carrier, Control, Engine, RunPlace};

impl Engine {
    /// Where a tool runs when its caller leaves that to it.
    ///
    /// # Errors
    /// When it uses a tool that is missing, or that runs elsewhere.
    pub fn site_of(&self, tool: &Arc<Tool>) -> Result<RunSite, Refusal> {
        self.library(tool)?.site(tool)
    }

    /// What carries a tool out on the fleet, on workers that have these labels in addition to those of the tool.
    ///
    /// # Errors
    /// When this program knows no workers, or the tool can't leave this machine.
    pub fn carrier(&self, tool: &Tool, labels: Vec<String>) -> Result<Arc<dyn Carrier>, Refusal> {
        let unknown = || {
            let why = format!("`{}` runs on the fleet, and this program doesn't know the workers of a hub", tool.name);
            Refusal::new(Code::NotForFleet, why).place(tool.name.as_str())
        };
        self.carriers.ok_or_else(unknown)?(self, tool, labels)
    }

    /// The same control, which says where the run is carried out.
    pub(crate) fn placed(&self, plan: &Plan, control: &Control) -> Result<Control, Refusal> {
        let place = self.place(plan, control)?;
        self.refuse_without_shared(plan, &place)?;
        Ok(Control { place, ..control.clone() })
    }

    /// Refuses a run that belongs in a directory that workers share, and isn't in it: its paths would mean other files.
    fn refuse_without_shared(&self, plan: &Plan, place: &RunPlace) -> Result<(), Refusal> {
        let refused = |why: String, attempt: String| {
            let name = plan.tool().name.as_str();
            Err(Refusal::new(Code::WorkspaceRefused, format!("`{name}` {why}")).place(name).attempt(attempt))
        };
        let name = &plan.tool().name;
        let shared = plan.tool().workspace.shared();
        let other = plan.library.tools().find_map(|used| {
            let wanted = used.workspace.shared().filter(|wanted| Some(*wanted) != shared)?;
            Some((&used.name, wanted.as_str()))
        });
        match (other, shared) {
            (Some((used, wanted)), _) => refused(
                format!("uses `{used}`, which works in the directory `{wanted}` that workers share, and doesn't"),
                format!("write `workspace: {{shared: {wanted}}}` in `{name}`, too"),
            ),
            // Of a worker, the run has another directory than the files of the tool.
            (None, Some(shared))
                if matches!(place, RunPlace::Here) && plan.host().workspace == self.host().workspace =>
            {
                refused(
                    format!("works in the directory `{}`, which only workers have", shared.as_str()),
                    format!("run it on the fleet: cycod run {name} --on fleet"),
                )
            }
            _ => Ok(()),
        }
    }

    fn place(&self, plan: &Plan, control: &Control) -> Result<RunPlace, Refusal> {
        Ok(match control.place {
            // What is observed runs here.
            RunPlace::AsDefined if control.observer.is_some() => RunPlace::Here,
            RunPlace::AsDefined => match plan.library.site(&plan.call.tool)? {
                RunSite::Here => RunPlace::Here,
                RunSite::Fleet => RunPlace::Carried(self.carrier(&plan.asked, Vec::new())?),
            },
            _ => control.place.clone(),
        })
    }

    /// Where a run that began in another process is carried out: on workers with these labels, or here.
    pub(crate) fn place_of(&self, tool: &Tool, fleet: Option<Vec<String>>) -> Result<RunPlace, Refusal> {
        fleet.map_or(Ok(RunPlace::Here), |labels| Ok(RunPlace::Carried(self.carrier(tool, labels)?)))
    }
}
