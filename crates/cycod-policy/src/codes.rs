/// Somebody decided that it is not done.
pub(crate) const DENIED: &str = "denied-by-policy";
/// The rules cannot be known.
pub(crate) const BROKEN: &str = "policy-broken";
/// Nobody said yes.
pub(crate) const UNAPPROVED: &str = "not-approved";
/// Less confinement can be given than is asked for.
pub(crate) const UNCONFINED: &str = "confinement-unavailable";
