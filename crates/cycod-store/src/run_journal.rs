//! The journal of one run: what happened in it and when, while it happens and after.
//!
//! ```text
//!   journals/<run>.jsonl   one line for each event; the first says what runs, the last how it ended
//!   journals/<run>.out     everything the run wrote, in the order in which it came; events name ranges of it
//! ```
//!
//! A journal is written by one process and read by any. Bytes are in `out` before the line that names them, and a line is
//! written whole, so a reader meanwhile sees a prefix of what happened. Events of the first moments are written
//! together: a run that is over by then can do without a journal, because the history has all of it.
//!
//! Nothing secret may be told to a journal: it is written as it is told.

use std::{
    borrow::Cow,
    collections::HashSet,
    fs::{self, File},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use cycod_thread::{Thread, caught};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::{Digest, RunId, StoreError, kept::read_exact_at, private};

/// The form of the lines.
const VERSION: u32 = 1;

/// How long events wait for others to be written with them.
const TOGETHER: Duration = Duration::from_millis(20);

/// So many bytes of events or output do not wait.
const AT_ONCE: usize = 64 * 1024;

/// The most bytes of output that one journal holds; the beginning stays.
const MOST_OUTPUT: u64 = 64 << 20;

/// How much is read at once; no line of ours is that long.
const MOST_AT_ONCE: u64 = 8 << 20;

/// How many journals stay, for how long, and how long what the runs wrote does.
const MOST_JOURNALS: usize = 100_000;
const OLDEST_EVENTS: Duration = Duration::from_secs(90 * 24 * 60 * 60);
const OLDEST_OUTPUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const MOST_OF_ALL_OUTPUT: u64 = 16 << 30;

/// A journal that is being written.
///
/// A failure to write never fails the run: [`finish`](RunJournal::finish) says what it was.
#[derive(Clone, Debug)]
pub struct RunJournal {
    shared: Arc<Mutex<Writing>>,
}

#[derive(Debug)]
struct Writing {
    directory: PathBuf,
    run: String,
    began: Instant,
    /// How long the run went on before that, in other processes.
    offset: Duration,
    /// Lines that are not in the file yet.
    lines: Vec<u8>,
    /// Output that is not in its file yet.
    output: Vec<u8>,
    /// How much output there was before that.
    written: u64,
    /// How much did not fit.
    dropped: u64,
    files: Option<Files>,
    /// Over all lines.
    hash: Sha256,
    /// The `out` event that the next bytes may be added to.
    merging: Option<Merging>,
    last_write: Instant,
    is_awaited: bool,
    /// Whether the caller says when it is to be written.
    is_flushed: bool,
    failure: Option<String>,
    /// Of a run that goes on, the steps of which it says that they began, and that they ended.
    known: Option<(HashSet<String>, HashSet<String>)>,
}

#[derive(Debug)]
struct Files {
    events: File,
    output: Option<File>,
}

#[derive(Debug)]
struct Merging {
    at: Duration,
    step: String,
    stream: u8,
    offset: u64,
    length: u64,
}

/// What is left when a journal is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Over all its lines but the last, which holds it too.
    pub digest: Digest,
    /// Whether it is in a file; one of a short run need not be.
    pub is_written: bool,
    /// Why some of it could not be written.
    pub failure: Option<String>,
}

impl RunJournal {
    /// Begins the journal of a run in `directory`. Nothing is written yet.
    pub fn begin(directory: &Path, run: &str, head: Json) -> Self {
        let now = Instant::now();
        let writing = Writing {
            directory: directory.to_owned(),
            run: run.to_owned(),
            began: now,
            offset: Duration::ZERO,
            lines: Vec::new(),
            output: Vec::new(),
            written: 0,
            dropped: 0,
            files: None,
            hash: Sha256::new(),
            merging: None,
            last_write: now,
            is_awaited: false,
            is_flushed: false,
            failure: None,
            known: None,
        };
        let journal = Self { shared: Arc::new(Mutex::new(writing)) };
        let mut line = json!({"v": VERSION, "run": run});
        if let (Some(line), Json::Object(head)) = (line.as_object_mut(), head) {
            line.extend(head);
        }
        journal.lock().push(&line);
        journal
    }

    /// Says whether the caller [`flush`](Self::flush)es it in time. Otherwise a thread writes what waits.
    #[must_use]
    pub fn flushed(self, is_flushed: bool) -> Self {
        self.lock().is_flushed = is_flushed;
        self
    }

    /// Writes what waits.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Has what waits written in time, also when nobody flushes it.
    pub fn flush_later(&self) {
        self.lock().is_awaited = true;
        write_later(Arc::downgrade(&self.shared));
    }

    /// Goes on with the journal of a run that was interrupted.
    ///
    /// # Errors
    /// When it cannot be read or holds something else.
    pub fn go_on(directory: &Path, run: &str) -> Result<Self, StoreError> {
        let journal = Self::begin(directory, run, json!({}));
        let mut writing = journal.lock();
        let path = writing.events_path();
        let mut events = match private::open(private::options().append(true), &path) {
            // It was interrupted before anything was written.
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                drop(writing);
                return Ok(journal);
            }
            file => file?,
        };
        let mut text = Vec::new();
        events.read_to_end(&mut text).map_err(StoreError::io("read", &path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        private::shorten(&events, &path, whole as u64)?;
        let lines =
            text[..whole].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Json>(line).ok());
        let (mut begun, mut ended) = (HashSet::new(), HashSet::new());
        for line in lines {
            let step = line["step"].as_str().unwrap_or_default().to_owned();
            match line["e"].as_str() {
                Some("start") => drop(begun.insert(step)),
                Some("end") => drop(ended.insert(step)),
                _ => {}
            }
        }
        writing.known = Some((begun, ended));
        let last = text[..whole].trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let last: Json = serde_json::from_slice(last).unwrap_or_default();
        writing.offset = Duration::from_micros(last["t"].as_u64().unwrap_or_default());
        writing.lines.clear();
        writing.hash = Sha256::new_with_prefix(&text[..whole]);
        let output = match private::open(private::options().append(true), &path.with_extension("out")) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            file => Some(file?),
        };
        if let Some(output) = &output {
            writing.written = output.metadata().map_err(StoreError::io("look at", &path))?.len();
        }
        writing.files = Some(Files { events, output });
        drop(writing);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        journal.add("resumed", None, json!({"at": u64::try_from(now.as_millis()).unwrap_or(u64::MAX)}));
        Ok(journal)
    }

    /// Adds an event of a step or of the whole run; its time is added.
    pub fn add(&self, kind: &str, step: Option<&str>, fields: Json) {
        let mut writing = self.lock();
        writing.end_merging();
        let at = writing.elapsed();
        writing.event(at, kind, step, fields);
        if let (Some((begun, ended)), Some(step)) = (&mut writing.known, step) {
            match kind {
                "start" => drop(begun.insert(step.to_owned())),
                "end" => drop(ended.insert(step.to_owned())),
                _ => {}
            }
        }
        self.write_soon(&mut writing);
    }

    /// Of a run that goes on, whether the journal says that a step began, and that it ended: the process that ran it may have
    /// died just before it wrote that.
    pub fn knows(&self, step: &str) -> Option<(bool, bool)> {
        self.lock().known.as_ref().map(|(begun, ended)| (begun.contains(step), ended.contains(step)))
    }

    /// Adds what a step wrote. Pieces that follow each other closely become one event.
    pub fn output(&self, step: &str, stream: u8, bytes: &[u8]) {
        let mut writing = self.lock();
        let at = writing.elapsed();
        let room = MOST_OUTPUT.saturating_sub(writing.written + writing.output.len() as u64);
        let taken = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        writing.dropped += (bytes.len() - taken) as u64;
        let (offset, length) = (writing.written + writing.output.len() as u64, taken as u64);
        match &mut writing.merging {
            Some(merging) if merging.stream == stream && merging.step == step && at - merging.at < TOGETHER => {
                merging.length += length;
            }
            _ => {
                writing.end_merging();
                writing.merging = Some(Merging { at, step: step.to_owned(), stream, offset, length });
            }
        }
        writing.output.extend_from_slice(&bytes[..taken]);
        self.write_soon(&mut writing);
    }

    /// Writes everything that was told, and waits until it would outlast a power failure.
    ///
    /// # Errors
    /// When any of the journal could not be written.
    pub fn sync(&self) -> Result<(), StoreError> {
        let mut writing = self.lock();
        writing.write()?;
        let path = writing.events_path();
        match &writing.files {
            Some(files) => {
                if let Some(output) = &files.output {
                    output.sync_data().map_err(StoreError::io("sync", &path))?;
                }
                files.events.sync_data().map_err(StoreError::io("sync", &path))
            }
            None => Err(StoreError::Failed),
        }
    }

    /// Adds the last event. `is_needed` says whether a journal that is not in a file by now is to be put there.
    pub fn finish(self, fields: Json, is_needed: bool) -> Finished {
        let mut writing = self.lock();
        writing.end_merging();
        let digest = Digest(writing.hash.clone().finalize().into());
        let mut fields = fields;
        fields["sha256"] = digest.to_string().into();
        if writing.dropped > 0 {
            fields["dropped"] = writing.dropped.into();
        }
        let at = writing.elapsed();
        writing.event(at, "done", None, fields);
        if is_needed || writing.files.is_some() {
            writing.write_or_note();
        }
        Finished { digest, is_written: writing.files.is_some(), failure: writing.failure.take() }
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes now what cannot wait; the rest when its time has come.
    fn write_soon(&self, writing: &mut Writing) {
        let is_much = writing.lines.len() + writing.output.len() >= AT_ONCE;
        let is_late = writing.files.is_some() && writing.last_write.elapsed() >= TOGETHER;
        if is_much || is_late {
            writing.end_merging();
            writing.write_or_note();
        } else if !writing.is_awaited && !writing.is_flushed {
            writing.is_awaited = true;
            write_later(Arc::downgrade(&self.shared));
        }
    }
}

impl Writing {
    fn elapsed(&self) -> Duration {
        self.offset + self.began.elapsed()
    }

    fn events_path(&self) -> PathBuf {
        self.directory.join(format!("{}.jsonl", self.run))
    }

    fn event(&mut self, at: Duration, kind: &str, step: Option<&str>, fields: Json) {
        let mut line = json!({"t": u64::try_from(at.as_micros()).unwrap_or(u64::MAX), "e": kind});
        if let Some(step) = step {
            line["step"] = step.into();
        }
        if let (Some(line), Json::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        self.push(&line);
    }

    fn push(&mut self, line: &Json) {
        let text = format!("{line}\n");
        self.hash.update(text.as_bytes());
        self.lines.extend_from_slice(text.as_bytes());
    }

    fn end_merging(&mut self) {
        if let Some(Merging { at, step, stream, offset, length }) = self.merging.take() {
            self.event(at, "out", Some(&step), json!({"s": stream, "at": offset, "n": length}));
        }
    }

    fn flush(&mut self) {
        if !self.lines.is_empty() || self.merging.is_some() {
            self.end_merging();
            self.write_or_note();
        }
    }

    fn write_or_note(&mut self) {
        if let Err(error) = self.write() {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            self.failure.get_or_insert(format!("{error}{cause}"));
        }
    }

    /// Puts what is waiting into the files: first the output, then the lines that name it.
    fn write(&mut self) -> Result<(), StoreError> {
        self.last_write = Instant::now();
        if self.failure.is_some() {
            self.lines.clear();
            self.output.clear();
            return Err(StoreError::Failed);
        }
        let path = self.events_path();
        let options = || {
            let mut options = private::options();
            options.append(true).create_new(true);
            options
        };
        if self.files.is_none() {
            private::parent(&path)?;
            let events = private::open(&options(), &path)?;
            self.files = Some(Files { events, output: None });
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        if !self.output.is_empty() {
            let path = path.with_extension("out");
            let file = match &mut files.output {
                Some(file) => file,
                none => none.insert(private::open(&options(), &path)?),
            };
            file.write_all(&self.output).map_err(StoreError::io("write", &path))?;
            self.written += self.output.len() as u64;
            self.output.clear();
        }
        files.events.write_all(&self.lines).map_err(StoreError::io("write", &path))?;
        self.lines.clear();
        Ok(())
    }
}

impl Drop for Writing {
    /// The journal of a run that broke off ends without its last event.
    fn drop(&mut self) {
        if self.files.is_some() {
            self.end_merging();
            self.write_or_note();
        }
    }
}

/// Has what waits in a journal written when its time has come. One thread does it for all journals of this process.
fn write_later(journal: Weak<Mutex<Writing>>) {
    static WRITER: OnceLock<Sender<(Instant, Weak<Mutex<Writing>>)>> = OnceLock::new();
    let writer = WRITER.get_or_init(|| {
        let (sender, receiver) = channel();
        // Without the thread, what waits is written with the next event, or at the end.
        _ = Thread::named("journals").stack(128 * 1024).detach(move || write_each(receiver));
        sender
    });
    _ = writer.send((Instant::now() + TOGETHER, journal));
}

fn write_each(journals: Receiver<(Instant, Weak<Mutex<Writing>>)>) {
    for (due, journal) in journals {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if let Some(shared) = journal.upgrade() {
            let mut writing = shared.lock().unwrap_or_else(PoisonError::into_inner);
            writing.is_awaited = false;
            // A mistake with one journal leaves the others their writer.
            if let Err(broken) = caught(|| writing.flush()) {
                writing.failure.get_or_insert(broken.to_string());
            }
        }
    }
}

/// A journal that is read, by the process that writes it or any other, while it is written or after.
#[derive(Debug)]
pub struct RunReader {
    events: File,
    path: PathBuf,
    output: Option<File>,
    /// Where the next line begins.
    offset: u64,
}

/// An event of a journal, without what only some readers want of it. What an event doesn't have is empty or zero.
#[derive(Debug, Deserialize)]
pub struct JournalEvent<'a> {
    /// What happened.
    #[serde(rename = "e", borrow, default)]
    pub kind: Cow<'a, str>,
    /// When, in microseconds from the start of the run.
    #[serde(rename = "t", default)]
    pub time: u64,
    /// The step that it is about.
    #[serde(borrow, default)]
    pub step: Cow<'a, str>,
    /// Which attempt begins, from 1.
    #[serde(rename = "try", default)]
    pub attempt: u32,
    /// What a step runs.
    #[serde(borrow, default)]
    pub command: Cow<'a, str>,
    /// Where output begins in all that the run wrote.
    #[serde(default)]
    pub at: u64,
    /// How many bytes of output there are.
    #[serde(rename = "n", default)]
    pub length: u64,
    /// The run whose result a step is.
    #[serde(borrow, default)]
    pub run: Cow<'a, str>,
    /// How a step ended.
    #[serde(borrow, default)]
    pub status: Cow<'a, str>,
    /// Its exit code.
    #[serde(default)]
    pub exit: i32,
}

impl RunReader {
    /// Opens the journal of a run; nothing when it has none, or none yet.
    ///
    /// # Errors
    /// When the name is none, or the file cannot be read.
    pub fn open(directory: &Path, run: &str) -> Result<Option<Self>, StoreError> {
        let run: RunId = run.parse()?;
        let path = directory.join(format!("{run}.jsonl"));
        match private::open(&private::options(), &path) {
            Ok(events) => Ok(Some(Self { events, path, output: None, offset: 0 })),
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the events that come next and are there as a whole; none when there are no more for now.
    ///
    /// # Errors
    /// When the file cannot be read or holds something else.
    pub fn more(&mut self) -> Result<Vec<Json>, StoreError> {
        let text = self.lines()?;
        self.events_in(&text).collect()
    }

    /// The same for readers that need no more than a [`JournalEvent`] has, in a fifth of the time. Returns how many there were.
    ///
    /// # Errors
    /// When the file cannot be read or holds something else.
    pub fn each(&mut self, mut see: impl FnMut(&JournalEvent<'_>)) -> Result<usize, StoreError> {
        let text = self.lines()?;
        let mut count = 0;
        for event in self.events_in(&text) {
            see(&event?);
            count += 1;
        }
        Ok(count)
    }

    fn events_in<'a, T: Deserialize<'a>>(&self, text: &'a [u8]) -> impl Iterator<Item = Result<T, StoreError>> {
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).map_err(|error| self.malformed(&error.to_string())))
    }

    /// Reads the lines that come next and are there as a whole.
    fn lines(&mut self) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::new();
        self.events.seek(SeekFrom::Start(self.offset)).map_err(StoreError::io("read", &self.path))?;
        (&self.events).take(MOST_AT_ONCE).read_to_end(&mut text).map_err(StoreError::io("read", &self.path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole == 0 && text.len() as u64 == MOST_AT_ONCE {
            return Err(self.malformed("a line without end"));
        }
        self.offset += whole as u64;
        text.truncate(whole);
        Ok(text)
    }

    /// Reads the bytes that an `out` event names; nothing where they are not stored any more.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn output(&mut self, event: &Json) -> Result<Vec<u8>, StoreError> {
        let (Some(at), Some(length)) = (event["at"].as_u64(), event["n"].as_u64()) else { return Ok(Vec::new()) };
        self.output_at(at, length)
    }

    /// The same by place and length.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn output_at(&mut self, at: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.path.with_extension("out");
        if self.output.is_none() {
            self.output = match private::open(&private::options(), &path) {
                Ok(file) => Some(file),
                Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &self.output else { return Ok(Vec::new()) };
        // A journal that was changed may say anything.
        let there = file.metadata().map_err(StoreError::io("read", &path))?.len();
        let length = length.min(there.saturating_sub(at));
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        read_exact_at(file, at, &mut bytes).map_err(StoreError::io("read", &path))?;
        Ok(bytes)
    }

    /// Whether the journal is complete and none of its lines was changed since.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn verify(&mut self) -> Result<Option<Digest>, StoreError> {
        let mut text = Vec::new();
        self.events.seek(SeekFrom::Start(0)).map_err(StoreError::io("read", &self.path))?;
        (&self.events).read_to_end(&mut text).map_err(StoreError::io("read", &self.path))?;
        let body = text.strip_suffix(b"\n").unwrap_or(&text);
        let last = body.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let digest = Digest::of(&text[..last]);
        let says: Json = serde_json::from_slice(&body[last..]).unwrap_or_default();
        Ok((says["e"] == "done" && says["sha256"] == digest.to_string()).then_some(digest))
    }

    fn malformed(&self, why: &str) -> StoreError {
        StoreError::Malformed { path: self.path.clone(), expected: "the journal of a run", why: why.to_owned() }
    }
}

/// Removes journals that are too many or too old. Their names sort by time.
pub(crate) fn sweep(directory: &Path) {
    let mut events: Vec<(String, Duration, u64)> = Vec::new();
    let mut output: Vec<(String, Duration, u64)> = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
        let age = metadata.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
        let kind = match Path::new(&name).extension().and_then(|ending| ending.to_str()) {
            Some("jsonl") => &mut events,
            Some("out") => &mut output,
            // What an interrupted run can be continued from stays until it is.
            _ => continue,
        };
        kind.push((name, age, metadata.len()));
    }
    for (mut files, oldest, most, most_bytes) in
        [(events, OLDEST_EVENTS, MOST_JOURNALS, u64::MAX), (output, OLDEST_OUTPUT, MOST_JOURNALS, MOST_OF_ALL_OUTPUT)]
    {
        files.sort_unstable_by(|one, other| other.0.cmp(&one.0));
        let mut bytes = 0_u64;
        for (number, (name, age, length)) in files.into_iter().enumerate() {
            bytes += length;
            if number >= most || age > oldest || bytes > most_bytes {
                _ = fs::remove_file(directory.join(name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_with_one_journal_leaves_the_others_their_writer() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let begin = || {
            let run = RunId::random().expect("random bytes").to_string();
            (RunJournal::begin(directory.path(), &run, json!({})), run)
        };
        for round in 0..3 {
            let (broken, _) = begin();
            // What cannot be: the sum of both is no number.
            broken.lock().written = u64::MAX;
            broken.lock().output.push(b'x');
            broken.write_soon(&mut broken.lock());
            let (whole, run) = begin();
            whole.add("start", Some("a"), json!({}));
            let end = Instant::now() + Duration::from_secs(60);
            while RunReader::open(directory.path(), &run).expect("it can be looked for").is_none() {
                assert!(Instant::now() < end, "nobody writes it, in round {round}");
                thread::sleep(Duration::from_millis(5));
            }
            let failure = broken.finish(json!({}), false).failure.expect("it is told");
            assert!(failure.contains("this is a bug in cycod"), "{failure}");
        }
    }
}
