use std::{any::Any, fmt};

/// Some work broke off before it had a result, which is a mistake of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    why: String,
}

impl Broken {
    pub(crate) fn new(why: &str) -> Self {
        Self { why: why.to_owned() }
    }

    /// What a panic said.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        Self::new(text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say which"))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is a bug in cycod: {}", self.why)
    }
}

impl std::error::Error for Broken {}

/// Does some work. A panic in it ends that work and nothing else.
///
/// # Errors
/// What the panic said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Broken> {
    // Whatever the work had hold of is either its own or guards itself against being left half done.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|panic| Broken::panicked(&*panic))
}
