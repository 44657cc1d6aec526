use cycod_process::Stop;

/// How a run is steered from outside.
#[derive(Clone, Debug)]
pub struct Control {
    /// Ends the run.
    pub stop: Stop,
    /// Whether a person sits at this process's terminal and can answer an interactive tool.
    pub is_attended: bool,
    /// The most bytes of each stream of a step that the report holds, for callers that take the bytes from the events.
    pub keep: Option<u64>,
}
