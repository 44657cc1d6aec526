//! What the author says about a bundle, checked as the readers of its manifests will.

use thiserror::Error;

/// What a bundle is called, and where it can be had.
#[derive(Clone, Debug, Default)]
pub struct BundleForm {
    name: String,
    version: String,
    author: String,
    description: Option<String>,
    license: Option<String>,
    npm: Option<String>,
    pypi: Option<String>,
    registry: Option<String>,
    url: Option<String>,
}

/// What is wrong with what the author says: the option, and why.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("--{option} {value}: {why}")]
pub struct FormProblem {
    /// The option, without dashes.
    pub option: &'static str,
    value: String,
    why: &'static str,
}

impl BundleForm {
    /// A bundle with a name, a version and an author.
    ///
    /// # Errors
    /// When one of them cannot be one.
    pub fn new(name: &str, version: &str, author: &str) -> Result<Self, FormProblem> {
        let is_inner =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
        let is_name = name.len() <= 64
            && name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
            && name.bytes().all(is_inner);
        check(is_name, "name", name, "a name has lowercase letters, digits, `-`, `_` and `.`, at most 64 characters")?;
        check(
            semver::Version::parse(version).is_ok(),
            "bundle-version",
            version,
            "a version is written MAJOR.MINOR.PATCH",
        )?;
        check(!author.trim().is_empty(), "author", author, "an author has a name")?;
        Ok(Self { name: name.into(), version: version.into(), author: author.into(), ..Self::default() })
    }

    /// Adds what it is for, and its license.
    #[must_use]
    pub fn described(self, description: Option<String>, license: Option<String>) -> Self {
        Self { description: description.filter(|text| !text.trim().is_empty()), license, ..self }
    }

    /// Adds the name of its npm package.
    ///
    /// # Errors
    /// When that cannot be one.
    pub fn with_npm(self, package: &str) -> Result<Self, FormProblem> {
        let is_part = |part: &str| {
            let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
            !part.is_empty() && !part.starts_with(['.', '_']) && part.bytes().all(is_inner)
        };
        let is_package = package.len() <= 214
            && match package.strip_prefix('@') {
                Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
                None => is_part(package),
            };
        check(is_package, "npm", package, "a package is called `name` or `@scope/name`, in lowercase")?;
        Ok(Self { npm: Some(package.into()), ..self })
    }

    /// Adds the name of its package on PyPI.
    ///
    /// # Errors
    /// When that cannot be one, or the version isn't one there.
    pub fn with_pypi(self, package: &str) -> Result<Self, FormProblem> {
        let is_outer = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = package.as_bytes();
        let is_package = package.len() <= 128
            && bytes.first().is_some_and(is_outer)
            && bytes.last().is_some_and(is_outer)
            && bytes.iter().all(|byte| is_outer(byte) || b"-_.".contains(byte));
        check(
            is_package,
            "pypi",
            package,
            "a package has lowercase letters and digits, and `-`, `_` and `.` between them",
        )?;
        let is_release = semver::Version::parse(&self.version).is_ok_and(|it| it.pre.is_empty() && it.build.is_empty());
        let why = "PyPI writes versions before a release in another way; use MAJOR.MINOR.PATCH alone";
        check(is_release, "bundle-version", &self.version, why)?;
        Ok(Self { pypi: Some(package.into()), ..self })
    }

    /// Adds its name in the MCP registry.
    ///
    /// # Errors
    /// When that cannot be one, or there is nothing that the registry could lead to.
    pub fn with_registry(self, name: &str) -> Result<Self, FormProblem> {
        let is_part = |part: &str, more: &[u8]| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
        };
        let mut parts = name.split('/');
        let is_name = (3..=200).contains(&name.len())
            && parts.next().is_some_and(|space| is_part(space, b".-"))
            && parts.next().is_some_and(|name| is_part(name, b"._-"))
            && parts.next().is_none();
        check(is_name, "registry", name, "a name in the registry is written `io.github.USER/NAME`")?;
        let is_somewhere = self.npm.is_some() || self.pypi.is_some() || self.url.is_some();
        let why = "say where the server can be had: --npm PACKAGE, --pypi PACKAGE or --url URL";
        check(is_somewhere, "registry", name, why)?;
        Ok(Self { registry: Some(name.into()), ..self })
    }

    /// Adds the address from which the `.mcpb` file can be had.
    ///
    /// # Errors
    /// When it is no address that a registry takes.
    pub fn with_url(self, url: &str) -> Result<Self, FormProblem> {
        let host = url.strip_prefix("https://").and_then(|rest| rest.split('/').next());
        let is_url = host.is_some_and(|host| !host.is_empty())
            && url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
        check(is_url, "url", url, "it is the address of the `.mcpb` file, and begins with `https://`")?;
        Ok(Self { url: Some(url.into()), ..self })
    }

    /// What the bundle is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn author(&self) -> &str {
        &self.author
    }

    pub(super) fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    pub(super) fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    pub(super) fn npm(&self) -> Option<&str> {
        self.npm.as_deref()
    }

    pub(super) fn pypi(&self) -> Option<&str> {
        self.pypi.as_deref()
    }

    pub(super) fn registry(&self) -> Option<&str> {
        self.registry.as_deref()
    }

    pub(super) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }
}

fn check(is_right: bool, option: &'static str, value: &str, why: &'static str) -> Result<(), FormProblem> {
    if is_right { Ok(()) } else { Err(FormProblem { option, value: value.to_owned(), why }) }
}
