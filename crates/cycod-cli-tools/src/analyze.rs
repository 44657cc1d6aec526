//! `cli_analyze_code`: what is to be said about source code. The files are opened and the analysers started here; what comes of
//! them is found out by `cycod-analysis`.

use std::{
    ffi::OsStr,
    io::{self, Read as _},
    num::NonZero,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use cycod_analysis::{
    Analysis, Analyzer, AnalyzerJob, AnalyzerOutcome, ExamineOptions, Examined, Finding, LARGEST, Language, Pass,
    ReportExtent, ReportFormat, SEMGREP_RULES, Unexamined, examine, html, json, sarif, text,
};
use cycod_builtin::files_below;
use cycod_definition::{Level, Value};
use cycod_diagnostic::{Code, Refusal, closest};
use cycod_file::{Folder, is_nothing};
use cycod_process::find_program;
use cycod_run::{Execute, ToolPlatform};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

/// How many entries of a list are returned; a report has all of them.
const MOST: usize = 500;

/// The most bytes that an analyser may print.
const MOST_OUTPUT: u64 = 64 << 20;

/// Between two looks at whether the call is over.
const TICK: Duration = Duration::from_millis(50);

/// How many ticks pass between two reports of progress.
const TICKS_PER_REPORT: u32 = 40;

/// How many threads examine files at most.
const MOST_THREADS: usize = 8;

/// What of others is kept in a project, and what was made by programs.
const LEFT_OUT: [&str; 9] = [
    "node_modules/",
    "bower_components/",
    "vendor/",
    "third_party/",
    "site-packages/",
    "venv/",
    "__pycache__/",
    "*.min.js",
    "*.min.css",
];

/// The level of a call: it only looks, unless it writes a report or uses an analyser that runs code of the project.
pub(crate) fn level(arguments: &[(String, Value)]) -> Option<Level> {
    let argument = |name: &str| arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let analyzers = match argument("analyzers") {
        None => Vec::new(),
        Some(Value::List(names)) => names.iter().map(Value::to_string).collect(),
        Some(_) => return None,
    };
    if !analyzers.iter().all(|name| Analyzer::named(name).is_some_and(|analyzer| !analyzer.runs_the_project())) {
        return None;
    }
    Some(if argument("output").is_some() { Level::Write } else { Level::Read })
}

/// Analyses a file or a directory.
pub(crate) fn analyze_code(call: &Call<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let platform = call.platform();
    let place = call.text("path").unwrap_or_default();
    let target = Target::find(platform, place)?;
    let options = ExamineOptions {
        metrics: call.flag("include_metrics").unwrap_or(true),
        security: call.flag("include_security").unwrap_or(true),
    };
    let format = call.text("format").and_then(ReportFormat::named).unwrap_or(ReportFormat::Json);
    let output = call
        .text("output")
        .map(|output| Ok::<_, Refusal>((output, platform.may_write(&Path::new(output).join(format.file_name()))?)));
    let output = output.transpose()?;
    let analyzers: Vec<Analyzer> = call.texts("analyzers").iter().filter_map(|name| Analyzer::named(name)).collect();
    let analyzers: Vec<Analyzer> = Analyzer::ALL
        .into_iter()
        .filter(|analyzer| analyzers.contains(analyzer) && (options.security || !analyzer.is_for_security()))
        .collect();

    let listed = match &target.file {
        Some(file) => vec![PathBuf::from(file)],
        None => files_below(platform, &target.root, &LEFT_OUT, follow)?.files,
    };
    let work = Work { platform, target: &target, files: Listing::read(&target.root, listed), options };
    let analysis = work.run(&analyzers, follow)?;
    over(platform)?;

    let shown = ReportExtent {
        place,
        prefix: &target.prefix,
        most: MOST,
        metrics: options.metrics,
        security: options.security,
    };
    let whole = ReportExtent { most: usize::MAX, ..shown };
    let mut value = json(&analysis, &shown);
    let is_written = output.is_some();
    if let Some((output, path)) = output {
        let report = render(format, &analysis, &whole);
        write_whole(&path, report.as_bytes())
            .map_err(|error| failed(&format!("the report `{}` was not written: {error}", path.display())))?;
        value["output_path"] = Path::new(output).join(format.file_name()).display().to_string().into();
    }
    let text = match format {
        ReportFormat::Json => None,
        ReportFormat::Text => Some(text(&analysis, &shown)),
        // What is meant for programs is only printed when there is no file for it.
        ReportFormat::Html | ReportFormat::Sarif if !is_written => Some(render(format, &analysis, &whole)),
        ReportFormat::Html | ReportFormat::Sarif => Some(text(&analysis, &shown)),
    };
    Ok(Answer { value, text })
}

fn render(format: ReportFormat, analysis: &Analysis, shown: &ReportExtent<'_>) -> String {
    match format {
        ReportFormat::Text => text(analysis, shown),
        ReportFormat::Json => format!("{:#}\n", json(analysis, shown)),
        ReportFormat::Sarif => format!("{:#}\n", sarif(analysis, shown)),
        ReportFormat::Html => html(analysis, shown),
    }
}

/// Writes a file in one step, so that nobody ever sees half of it; directories that are missing are made.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
    };
    Folder::make(parent)?.put(name, content)
}

fn failed(why: &str) -> Failure {
    Failure::new("AnalysisError", format!("Analysis failed: {why}"))
}

/// Ends the call when nobody waits for it any more.
fn over(platform: &ToolPlatform<'_>) -> Result<(), Refusal> {
    if platform.stop().is_raised() {
        return Err(Refusal::new(Code::Cancelled, "the call was cancelled"));
    }
    if platform.is_over() {
        let late = Refusal::new(Code::TimedOut, "the time of the call was over before its work was done");
        return Err(late.attempt("analyze a part of it, or raise the timeout"));
    }
    Ok(())
}

/// What is analysed.
struct Target {
    /// The directory, on the machine.
    root: PathBuf,
    /// The file in it, where only one is meant.
    file: Option<String>,
    /// What stands before the names of files that are shown.
    prefix: String,
}

impl Target {
    fn find(platform: &ToolPlatform<'_>, place: &str) -> Result<Self, Failure> {
        let real = platform.may_read(Path::new(place))?;
        let metadata = match real.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_nothing(&error) => {
                return Err(missing(place, &real));
            }
            Err(error) => return Err(failed(&format!("`{place}` cannot be accessed: {error}"))),
        };
        if metadata.is_dir() {
            let shown = place.trim_end_matches('/');
            let prefix = match shown {
                "." => String::new(),
                // Nothing is left of `/`.
                shown => format!("{shown}/"),
            };
            return Ok(Self { root: real, file: None, prefix });
        }
        let (Some(root), Some(name)) = (real.parent(), real.file_name().filter(|_| metadata.is_file())) else {
            return Err(failed(&format!("`{place}` is neither a file nor a directory")));
        };
        let name = name.to_string_lossy().into_owned();
        // A link may have another name than what it leads to.
        let shown = Path::new(place).parent().filter(|parent| !parent.as_os_str().is_empty());
        let prefix = shown.map(|parent| format!("{}/", parent.display())).unwrap_or_default();
        Ok(Self { root: root.to_owned(), file: Some(name), prefix })
    }
}

/// Says that something is not there, and what is that is called nearly so.
fn missing(place: &str, real: &Path) -> Failure {
    let mut error = format!("Analysis failed: `{place}` does not exist");
    let wanted = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = real.parent().and_then(|parent| parent.read_dir().ok()).into_iter().flatten().flatten().take(1000);
    let names: Vec<String> = beside.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if let Some(near) = closest(&wanted, names.iter().map(String::as_str)) {
        let near = Path::new(place).with_file_name(near);
        error.push_str(&format!("; did you mean `{}`?", near.display()));
    }
    Failure::new("FileNotFoundError", error).with("path", place)
}

/// The files to look at, in order.
struct Listing(Vec<Listed>);

struct Listed {
    path: PathBuf,
    /// What it is called below the root, with `/` between parts.
    name: String,
    language: Option<Language>,
}

impl Listing {
    fn read(root: &Path, files: Vec<PathBuf>) -> Self {
        let list = |below: PathBuf| {
            let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            let (path, name) = (root.join(&below), parts.join("/"));
            // Only what has no ending is told by its first line.
            let head = if below.extension().is_none() { head(&path) } else { String::new() };
            Listed { language: Language::of(&name, &head), path, name }
        };
        Self(files.into_iter().map(list).collect())
    }

    /// Those whose language is known.
    fn code(&self) -> Vec<(String, Language)> {
        self.0.iter().filter_map(|file| Some((file.name.clone(), file.language?))).collect()
    }
}

/// The first bytes of a file.
fn head(path: &Path) -> String {
    let mut bytes = Vec::new();
    _ = cycod_file::open_plain(path).map(|file| file.take(128).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The whole of an analysis.
struct Work<'a> {
    platform: &'a ToolPlatform<'a>,
    target: &'a Target,
    files: Listing,
    options: ExamineOptions,
}

/// What to start of an analyser, or why nothing.
type Prepared = Result<Vec<(PathBuf, AnalyzerJob)>, AnalyzerOutcome>;

/// What came of an analyser.
type Fared = (Analyzer, AnalyzerOutcome, Vec<Finding>);

impl Work<'_> {
    /// Examines files on all processors while the analysers work.
    fn run(&self, analyzers: &[Analyzer], follow: &mut dyn FnMut(&str)) -> Result<Analysis, Refusal> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let code = self.files.code();
        let prepared: Vec<(Analyzer, Prepared)> = analyzers
            .iter()
            .map(|&analyzer| Ok((analyzer, self.prepare(analyzer, &code)?)))
            .collect::<Result<_, Refusal>>()?;
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
        let (examined, fared) = thread::scope(|scope| {
            let (sender, ended) = channel::<()>();
            let analyzing: Vec<_> = prepared
                .into_iter()
                .map(|(analyzer, jobs)| {
                    let sender = sender.clone();
                    scope.spawn(move || {
                        let fared = self.analyze(analyzer, jobs);
                        drop(sender);
                        fared
                    })
                })
                .collect();
            let examining: Vec<_> = (0..threads)
                .map(|_| {
                    let (next, done, sender) = (&next, &done, sender.clone());
                    scope.spawn(move || {
                        let mut examined = Vec::new();
                        while let Some(file) = self.files.0.get(next.fetch_add(1, Ordering::Relaxed)) {
                            examined.push((file.name.as_str(), self.examine(file)));
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        drop(sender);
                        examined
                    })
                })
                .collect();
            drop(sender);
            let mut ticks = 0_u32;
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                ticks += 1;
                if ticks.is_multiple_of(TICKS_PER_REPORT) {
                    let done = done.load(Ordering::Relaxed);
                    follow(&if done < self.files.0.len() {
                        format!("{done} of {} files examined", self.files.0.len())
                    } else {
                        "waiting for analysers".to_owned()
                    });
                }
            }
            let join = |thread: thread::ScopedJoinHandle<'_, Vec<_>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            let examined: Vec<_> = examining.into_iter().flat_map(join).collect();
            let fared: Vec<Fared> = analyzing
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect();
            (examined, fared)
        });
        let mut analysis = Analysis::default();
        examined.into_iter().for_each(|(name, examined)| analysis.add(name, examined));
        fared.into_iter().for_each(|(analyzer, outcome, findings)| analysis.add_analyzer(analyzer, outcome, findings));
        Ok(analysis.finished())
    }

    fn examine(&self, file: &Listed) -> Result<Examined, Unexamined> {
        if self.platform.is_over() {
            return Err(Unexamined::Stopped);
        }
        let mut bytes = Vec::new();
        let opened = self.platform.open(&file.path).map_err(|_| Unexamined::Unreadable)?;
        opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|_| Unexamined::Unreadable)?;
        examine(&file.name, &bytes, self.options, &|| !self.platform.is_over())
    }

    /// What to start of an analyser, or why nothing.
    fn prepare(&self, analyzer: Analyzer, code: &[(String, Language)]) -> Result<Prepared, Refusal> {
        if !code.iter().any(|(_, language)| analyzer.knows(*language)) {
            return Ok(Err(AnalyzerOutcome::NothingToDo));
        }
        let Some(program) = self.find(analyzer) else { return Ok(Err(AnalyzerOutcome::Missing)) };
        let packages = if analyzer == Analyzer::Clippy { self.packages() } else { Vec::new() };
        if analyzer == Analyzer::Clippy && packages.is_empty() {
            return Ok(Err(AnalyzerOutcome::NothingToDo));
        }
        let scratch = self.platform.temp_directory()?.to_owned();
        let rules = scratch.join("semgrep.yaml");
        if analyzer == Analyzer::Semgrep
            && let Err(error) = write_whole(&rules, SEMGREP_RULES.as_bytes())
        {
            return Ok(Err(AnalyzerOutcome::Failed(format!("its rules were not written: {error}"))));
        }
        let (rules, scratch) = (rules.to_string_lossy(), scratch.to_string_lossy());
        let pass = Pass { files: code, semgrep_rules: &rules, scratch: &scratch };
        let jobs = analyzer.jobs(&pass, &packages);
        Ok(Ok(jobs.into_iter().map(|job| (program.clone(), job)).collect()))
    }

    /// The program of an analyser: on the search path, and for one that runs code of the project anyway, in the project.
    fn find(&self, analyzer: Analyzer) -> Option<PathBuf> {
        let variable = self.platform.host().environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        // A relative entry leads into what is analysed, and so does a path without entries.
        let entries = std::env::split_paths(&variable).filter(|entry| entry.is_absolute());
        let mut programs = entries.map(|entry| entry.join(analyzer.program()));
        let own = self.above().map(|directory| directory.join("node_modules/.bin/eslint"));
        let own = own.filter(|_| analyzer == Analyzer::Eslint).find(|path| path.is_file());
        let found = |program: PathBuf| find_program(program.as_os_str(), OsStr::new(""), &self.target.root).ok();
        own.or_else(|| programs.find_map(found))
    }

    /// The directory that is analysed and those above it, as far as they may be read.
    fn above(&self) -> impl Iterator<Item = &Path> {
        self.target.root.ancestors().take_while(|directory| self.platform.may_read(directory).is_ok())
    }

    /// Where Clippy is to work: in the directory when it belongs to a package, else in the packages below it.
    fn packages(&self) -> Vec<String> {
        if self.above().any(|directory| directory.join("Cargo.toml").is_file()) {
            return vec![self.target.root.to_string_lossy().into_owned()];
        }
        let manifests =
            self.files.0.iter().filter(|file| file.path.file_name().is_some_and(|name| name == "Cargo.toml"));
        let mut packages: Vec<&Path> = Vec::new();
        for directory in manifests.filter_map(|file| file.path.parent()) {
            // What is below another may be a part of its workspace.
            if !packages.iter().any(|package| directory.starts_with(package)) {
                packages.push(directory);
            }
        }
        packages.into_iter().map(|directory| directory.to_string_lossy().into_owned()).collect()
    }

    fn analyze(&self, analyzer: Analyzer, jobs: Prepared) -> Fared {
        let jobs = match jobs {
            Ok(jobs) => jobs,
            Err(outcome) => return (analyzer, outcome, Vec::new()),
        };
        let (mut files, mut findings, mut notes) = (0, Vec::new(), Vec::new());
        for (program, job) in jobs {
            match self.start(analyzer, &program, &job) {
                Ok((found, said)) => {
                    files += job.files.len();
                    findings.extend(found);
                    notes.extend(said);
                }
                Err(why) => return (analyzer, AnalyzerOutcome::Failed(why), Vec::new()),
            }
        }
        (analyzer, AnalyzerOutcome::Ran { files, findings: findings.len(), notes }, findings)
    }

    fn start(
        &self,
        analyzer: Analyzer,
        program: &Path,
        job: &AnalyzerJob,
    ) -> Result<(Vec<Finding>, Vec<String>), String> {
        let execute = Execute {
            program: program.to_string_lossy().into_owned(),
            arguments: job.arguments.clone(),
            directory: Some(job.directory.as_ref().map_or(self.target.root.clone(), PathBuf::from)),
            environment: job.environment.clone(),
            input: None,
            timeout: None,
            keep: Some(MOST_OUTPUT),
        };
        let executed = self.platform.execute(&execute, &mut |_, _| {}).map_err(|refusal| refusal.why)?;
        if executed.timed_out {
            return Err("its time was over".to_owned());
        }
        if executed.truncated {
            return Err(format!("it printed more than {} MB", MOST_OUTPUT >> 20));
        }
        let root = self.target.root.to_string_lossy();
        let read = analyzer.read(job, &root, executed.exit_code, &executed.stdout, &executed.stderr);
        read.map_err(|failed| failed.to_string())
    }
}
