use cycod_definition::{Isolation, Privilege, Security};

/// What this program, on this machine, can hold a tool to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// `required-permissions` are enforced.
    pub permissions: bool,
    /// `execution-privilege: reduced`.
    pub reduced: bool,
    /// `execution-privilege: elevated`.
    pub elevated: bool,
    /// `isolation: container`.
    pub container: bool,
}

impl Offered {
    /// Lists what `security` asks for and is not offered, in words.
    pub(crate) fn unmet(self, security: &Security) -> Vec<String> {
        let mut unmet = Vec::new();
        let mut demand = |wanted: bool, offered: bool, what: &str| {
            if wanted && !offered {
                unmet.push(format!("`{what}` cannot be enforced here"));
            }
        };
        demand(security.privilege == Privilege::Reduced, self.reduced, "execution-privilege: reduced");
        demand(security.privilege == Privilege::Elevated, self.elevated, "execution-privilege: elevated");
        demand(security.isolation == Isolation::Container, self.container, "isolation: container");
        demand(!security.permissions.is_empty(), self.permissions, "required-permissions");
        unmet
    }
}
