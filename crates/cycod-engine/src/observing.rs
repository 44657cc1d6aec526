//! The least a tool needs, told from what it touched while it ran.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use cycod_definition::{Host, Value};
use cycod_plan::{Plan, without_dots};
use cycod_process::{ObservedPlace, ObservedTouch, Observer, Touched};

/// What a confined tool reads without a permission.
const SYSTEM: [&str; 10] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev"];

/// From how many files of one directory on the directory itself is named.
const MANY: usize = 4;

/// Collects what the programs of a run touch.
#[derive(Debug, Default)]
pub struct Observation(Mutex<BTreeSet<(ObservedTouch, ObservedPlace, bool)>>);

impl Observer for Observation {
    fn touched(&self, touched: &Touched) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((touched.touch, touched.place.clone(), touched.is_there));
    }
}

/// A permission that a tool needs, with examples of what it is for.
pub type Needs = BTreeMap<String, BTreeSet<String>>;

impl Observation {
    /// The permissions under which a run of this plan touches what it touched.
    pub fn needs(&self, plan: &Plan) -> Needs {
        self.needs_by(&Names::of(plan))
    }

    /// The same for a program that starts in `directory` and has the temporary directory `temp`.
    pub fn needs_of_program(&self, host: &Host, directory: &Path, temp: &Path) -> Needs {
        self.needs_by(&Names { host, directory, temp, parameters: Vec::new() })
    }

    fn needs_by(&self, names: &Names<'_>) -> Needs {
        let touched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made(&touched);
        let mut wanted: BTreeSet<(ObservedTouch, PathBuf)> = BTreeSet::new();
        let mut needs = Needs::new();
        let mut has_name = false;
        for (touch, place, is_there) in touched.iter() {
            match place {
                ObservedPlace::Path(path) => wanted.extend(names.need(*touch, path, *is_there, &made)),
                ObservedPlace::Name(name) => {
                    has_name = true;
                    needs.entry(format!("network:external:{name}")).or_default().insert(format!("looked up {name}"));
                }
                ObservedPlace::Address(_) => {}
            }
        }
        for (_, place, _) in touched.iter() {
            let ObservedPlace::Address(address) = place else { continue };
            let permission = match address.ip() {
                ip if ip.is_loopback() => format!("network:loopback:{}:{}", text(ip), address.port()),
                // Asking for names is the proxy's part, and what a name led to is reached by the name.
                _ if address.port() == 53 || has_name => continue,
                ip => format!("network:external:{}:{}", text(ip), address.port()),
            };
            needs.entry(permission).or_default().insert(format!("connected to {address}"));
        }
        for (touch, path, example) in folded(&wanted, &|directory| names.is_wide(directory)) {
            let kind = match touch {
                ObservedTouch::Write => "write",
                ObservedTouch::Execute => "execute",
                ObservedTouch::Read | ObservedTouch::Connect | ObservedTouch::Enter => "read",
            };
            let permission = format!("filesystem:{kind}:{}", names.written(&path));
            needs.entry(permission).or_default().insert(example.display().to_string());
        }
        needs
    }
}

/// The directories that did not exist before: something was written below them, or they are still there.
fn made(touched: &BTreeSet<(ObservedTouch, ObservedPlace, bool)>) -> BTreeSet<PathBuf> {
    let new: BTreeSet<&Path> = touched
        .iter()
        .filter_map(|(touch, place, is_there)| match place {
            ObservedPlace::Path(path) if *touch == ObservedTouch::Write && !is_there => Some(path.as_path()),
            _ => None,
        })
        .collect();
    let has_content = |directory: &Path| new.iter().any(|path| path.parent() == Some(directory));
    let directories = new.iter().filter(|path| path.is_dir() || has_content(path));
    directories.map(|path| (*path).to_owned()).collect()
}

/// The directory of a Git repository that a path is in: one that has what every repository has.
fn repository(path: &Path) -> Option<&Path> {
    let parts = ["HEAD", "objects", "refs"];
    path.ancestors().skip(1).find(|directory| parts.iter().all(|part| directory.join(part).exists()))
}

/// Whether a path leads to a file that would be made as a directory if it were missing.
fn is_bare_file(path: &Path) -> bool {
    path.extension().is_none() && path.is_file()
}

fn text(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// Leaves out what another permission covers, and names a directory in place of many of its files, unless it is too wide.
fn folded(
    wanted: &BTreeSet<(ObservedTouch, PathBuf)>,
    is_wide: &dyn Fn(&Path) -> bool,
) -> Vec<(ObservedTouch, PathBuf, PathBuf)> {
    let mut beside: BTreeMap<(ObservedTouch, &Path), usize> = BTreeMap::new();
    for (touch, path) in wanted {
        *beside.entry((*touch, path.parent().unwrap_or(path))).or_default() += 1;
    }
    let mut named: BTreeMap<(ObservedTouch, PathBuf), PathBuf> = BTreeMap::new();
    for (touch, path) in wanted {
        let parent = path.parent().unwrap_or(path);
        let is_many = beside[&(*touch, parent)] >= MANY && !is_wide(parent);
        let name = if is_many { parent } else { path };
        named.entry((*touch, name.to_owned())).or_insert_with(|| path.clone());
    }
    let covers = |(wide, above): &(ObservedTouch, PathBuf), (narrow, path): &(ObservedTouch, PathBuf)| {
        (wide == narrow || *narrow == ObservedTouch::Read) && path.starts_with(above)
    };
    let is_needed = |one: &&(ObservedTouch, PathBuf)| {
        !named.keys().any(|other| other != *one && covers(other, one) && !covers(one, other))
    };
    named.keys().filter(is_needed).map(|one| (one.0, one.1.clone(), named[one].clone())).collect()
}

/// How paths are written in a tool's file.
struct Names<'a> {
    host: &'a Host,
    /// Where relative paths start.
    directory: &'a Path,
    /// What goes when the program ends.
    temp: &'a Path,
    /// The parameters whose values are paths, the longest first.
    parameters: Vec<(PathBuf, String)>,
}

impl<'a> Names<'a> {
    fn of(plan: &'a Plan) -> Self {
        let path = |bound: &cycod_call::Bound| {
            let Some(Value::Text(text)) = &bound.value else { return None };
            let is_path = text.contains('/') || plan.working_directory.join(text).exists();
            (is_path && !text.is_empty())
                .then(|| (without_dots(&plan.working_directory.join(text)), bound.name.clone()))
        };
        let mut parameters: Vec<_> = plan.call.values.iter().filter_map(path).collect();
        parameters.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        let (host, directory, temp) = (plan.host(), &*plan.working_directory, &*plan.temp_directory);
        Self { host, directory, temp, parameters }
    }

    /// Whether a directory holds so much else that nothing in it is worth all of it: the home, and what is above it or above
    /// the project.
    fn is_wide(&self, directory: &Path) -> bool {
        let host = self.host;
        let is_above = |place: &Path| place.starts_with(directory) && place != directory;
        host.home.starts_with(directory) && host.workspace != directory || is_above(&host.workspace)
    }

    /// What must be allowed so that a path may be touched.
    ///
    /// `made` are the directories that the run itself made.
    fn need(
        &self,
        touch: ObservedTouch,
        path: &Path,
        is_there: bool,
        made: &BTreeSet<PathBuf>,
    ) -> Option<(ObservedTouch, PathBuf)> {
        let touch = match touch {
            // A service that does not run was asked for in vain, as libraries do.
            ObservedTouch::Connect if !is_there => return None,
            ObservedTouch::Connect => ObservedTouch::Write,
            // A program that makes a directory goes down to it from the root, and a confined one finds these directories, too.
            ObservedTouch::Enter if self.directory.starts_with(path) => return None,
            ObservedTouch::Enter => ObservedTouch::Read,
            touch => touch,
        };
        let temp = &self.host.temp;
        let own = self.temp.parent().unwrap_or(temp);
        let is_own = path.starts_with(self.temp)
            || path == temp
            || path.strip_prefix(own).is_ok_and(|rest| rest.to_string_lossy().starts_with("cycod-"));
        let is_system = SYSTEM.iter().any(|system| path.starts_with(system));
        match touch {
            _ if is_own || path.parent().is_none() => None,
            ObservedTouch::Write if path.starts_with("/dev") || path.starts_with("/proc") => None,
            ObservedTouch::Read | ObservedTouch::Execute | ObservedTouch::Enter if is_system || !is_there => None,
            ObservedTouch::Write if self.parameters.iter().any(|(known, _)| known == path) => {
                Some((touch, path.to_owned()))
            }
            // What is missing at the next run is made before it starts: a directory, unless its name has an extension.
            ObservedTouch::Write if made.contains(path) && path.extension().is_none() => Some((touch, path.to_owned())),
            ObservedTouch::Write if !is_there || is_bare_file(path) => {
                let directory = path.parent().filter(|directory| !self.is_wide(directory));
                Some((touch, directory.unwrap_or(path).to_owned()))
            }
            // What lies where in there changes with every commit.
            ObservedTouch::Read if let Some(repository) = repository(path) => Some((touch, repository.to_owned())),
            _ => Some((touch, path.to_owned())),
        }
    }

    fn written(&self, path: &Path) -> String {
        let below = |base: &Path, name: &str| {
            let rest = path.strip_prefix(base).ok()?;
            let rest = rest.to_string_lossy();
            Some(if rest.is_empty() { name.to_owned() } else { format!("{name}/{rest}") })
        };
        let of_parameter = self.parameters.iter().find_map(|(value, name)| below(value, &format!("{{{name}}}")));
        let relative = || match path.strip_prefix(self.directory) {
            Ok(rest) if rest.as_os_str().is_empty() => Some(".".to_owned()),
            Ok(rest) => Some(rest.to_string_lossy().into_owned()),
            Err(_) => None,
        };
        of_parameter
            .or_else(relative)
            .or_else(|| below(&self.host.home, "~"))
            .unwrap_or_else(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_covered_is_left_out() {
        let check = |wanted: &[(ObservedTouch, &str)], expect: &[(ObservedTouch, &str)]| {
            let wanted = wanted.iter().map(|(touch, path)| (*touch, PathBuf::from(path))).collect();
            let folded = folded(&wanted, &|directory| directory.parent().is_none());
            let folded: Vec<_> = folded.iter().map(|(touch, path, _)| (*touch, path.to_str().expect("text"))).collect();
            assert_eq!(folded, expect);
        };
        use ObservedTouch::{Execute, Read, Write};
        check(&[(Read, "/a/b"), (Write, "/a/b")], &[(Write, "/a/b")]);
        check(&[(Read, "/a/b/c"), (Read, "/a/b")], &[(Read, "/a/b")]);
        check(&[(Write, "/a/b"), (Execute, "/a/b")], &[(Write, "/a/b"), (Execute, "/a/b")]);
        check(&[(Read, "/d/1"), (Read, "/d/2"), (Read, "/d/3"), (Read, "/d/4")], &[(Read, "/d")]);
        check(
            &[(Read, "/1"), (Read, "/2"), (Read, "/3"), (Read, "/4")],
            &[(Read, "/1"), (Read, "/2"), (Read, "/3"), (Read, "/4")],
        );
    }
}
