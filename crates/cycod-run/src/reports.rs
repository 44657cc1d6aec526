//! What a step says beside its output, while it runs: lines that its processes write into a FIFO, or a named pipe of Windows.

use std::{
    io::{self, Write},
    path::Path,
    sync::mpsc::{SyncSender, sync_channel},
    thread,
};

use cycod_mask::Masks;
use cycod_process::Stream;
use serde_json::{Map, Value as Json};

use crate::{Event, StepPath};

/// The variable in which a step's processes find the path to write to.
pub(crate) const VARIABLE: &str = "CYCOD_REPORT";

/// The longest line that is read.
const LONGEST_LINE: usize = 64 << 10;

/// How many messages may wait to be passed on; then the writers wait.
const QUEUE: usize = 16;

/// The levels of log messages, of RFC 5424.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The channel of one attempt at a step.
pub(crate) struct Reports(os::Channel);

/// What comes from a running step.
enum Heard {
    Output(Stream, Vec<u8>),
    Line(Vec<u8>),
    TooLong,
}

impl Reports {
    /// Makes the channel, at this path where it is a file; nothing of an earlier attempt is heard.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        os::Channel::open(path).map(Self)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program, and passes on what it writes and reports until it has ended. Returns how it ended, and what was
    /// wrong with its reports.
    pub(crate) fn follow<T: Send>(
        &mut self,
        run: impl FnOnce(&mut dyn FnMut(Stream, &[u8])) -> T + Send,
        output: &mut dyn FnMut(Stream, &[u8]),
        report: &mut dyn FnMut(Report),
    ) -> io::Result<(T, Option<String>)> {
        let (ended, mut end) = io::pipe()?;
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(QUEUE);
            let lines = sender.clone();
            // Both send until they end, and the receiver listens until both have.
            scope.spawn(move || self.0.read(&ended, &lines));
            let program = scope.spawn(move || {
                // A panic is passed on once the other thread knows that nothing more comes.
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    run(&mut |stream, bytes| drop(sender.send(Heard::Output(stream, bytes.to_vec()))))
                }));
                // A byte, because processes that were started meanwhile may hold the pipe open.
                let ended = end.write_all(&[0]);
                let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                ended.map(|()| outcome)
            });
            let mut wrong = None;
            for heard in receiver {
                let problem = match heard {
                    Heard::Output(stream, bytes) => {
                        output(stream, &bytes);
                        continue;
                    }
                    Heard::TooLong => format!("is longer than {} KiB", LONGEST_LINE >> 10),
                    Heard::Line(line) => match Report::parse(&line) {
                        Ok(said) => {
                            report(said);
                            continue;
                        }
                        Err(why) => why.to_owned(),
                    },
                };
                wrong.get_or_insert(problem);
            }
            let outcome = program.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok((outcome, wrong))
        })
    }
}

/// A line in the making.
#[derive(Default)]
struct Line {
    begun: Vec<u8>,
    is_too_long: bool,
}

impl Line {
    fn push(&mut self, bytes: &[u8], lines: &SyncSender<Heard>) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, is_over) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.begun.len() + text.len() > LONGEST_LINE {
                self.is_too_long = true;
                self.begun = Vec::new();
            } else if !self.is_too_long {
                self.begun.extend_from_slice(text);
            }
            if is_over {
                let line = std::mem::take(&mut self.begun);
                let heard = if std::mem::take(&mut self.is_too_long) { Heard::TooLong } else { Heard::Line(line) };
                if !matches!(&heard, Heard::Line(line) if line.trim_ascii().is_empty()) {
                    drop(lines.send(heard));
                }
            }
        }
    }
}

/// One thing that a step reports.
#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    Log { level: &'static str, message: String },
}

impl Report {
    /// Reads a line; the error says what is wrong with it.
    fn parse(line: &[u8]) -> Result<Self, &'static str> {
        let fields: Map<String, Json> = serde_json::from_slice(line).map_err(|_| "is not a JSON object")?;
        let text = |key: &str| match fields.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err("has a `message` or `level` that is not a text"),
        };
        let number = |key: &str| match fields.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or("has a `progress` or `total` that is not a number"),
        };
        if let Some(done) = number("progress")? {
            return Ok(Self::Progress { done, total: number("total")?, message: text("message")? });
        }
        let message = match fields.get("log") {
            None => return Err("has neither `progress` nor `log`"),
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let level = text("level")?.unwrap_or_else(|| "info".to_owned());
        let level = LEVELS.into_iter().find(|known| *known == level).ok_or("has a `level` that is none of RFC 5424")?;
        Ok(Self::Log { level, message })
    }

    /// The event that tells of it, with secrets masked.
    pub(crate) fn event(self, step: StepPath, masks: &Masks) -> Event<'static> {
        match self {
            Self::Progress { done, total, message } => Event::Progress {
                step,
                done,
                total,
                message: message.map(|message| masks.apply(&message).into_owned()),
            },
            Self::Log { level, message } => {
                Event::Log { step, level: level.to_owned(), message: masks.apply(&message).into_owned() }
            }
        }
    }
}

#[cfg(unix)]
mod os {
    use std::{
        fs::{self, File},
        io::{self, PipeReader, Read},
        path::{Path, PathBuf},
        sync::mpsc::SyncSender,
    };

    use rustix::{
        event::{PollFd, PollFlags, poll},
        fs::{Mode, OFlags, open},
    };

    use super::{Heard, Line};

    /// How much is read at once: all that the system keeps for a FIFO.
    const CHUNK: usize = 64 << 10;

    /// A FIFO.
    pub(super) struct Channel {
        path: PathBuf,
        /// Open for writing as well, so that it does not end when a writer closes it, and does not wait for one to open it.
        fifo: File,
    }

    impl Channel {
        /// Makes a FIFO that only this user can open, and opens it for reading and writing, without waiting. One that an
        /// earlier attempt left is replaced.
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            cycod_process::make_fifo(path)?;
            let fifo = open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
            Ok(Self { path: path.to_owned(), fifo: fifo.into() })
        }

        pub(super) fn path(&self) -> &Path {
            &self.path
        }

        /// Sends the lines that come until the program has ended, and then those that are there.
        pub(super) fn read(&self, ended: &PipeReader, lines: &SyncSender<Heard>) {
            let mut line = Line::default();
            let mut chunk = vec![0; CHUNK];
            let mut has_ended = false;
            while !has_ended {
                has_ended = match self.wait(ended) {
                    Ok(has_ended) => has_ended,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                // What was written before the end is in the FIFO, and no more than it holds.
                if let Ok(read) = (&self.fifo).read(&mut chunk) {
                    line.push(&chunk[..read], lines);
                }
            }
            line.push(b"\n", lines);
        }

        /// Waits until there is something to read in either, and tells whether the second has something.
        fn wait(&self, ended: &PipeReader) -> io::Result<bool> {
            let mut ready = [PollFd::new(&self.fifo, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            poll(&mut ready, None)?;
            Ok(!ready[1].revents().is_empty())
        }
    }
}

#[cfg(windows)]
mod os {
    use std::{
        collections::HashMap,
        io::{self, PipeReader, Read},
        path::Path,
        sync::{
            atomic::{AtomicBool, Ordering},
            mpsc::SyncSender,
        },
        thread,
        time::Duration,
    };

    use cycod_process::{Inbox, Received};

    use super::{Heard, Line};

    /// How long nothing is read after there was nothing.
    const TICK: Duration = Duration::from_millis(5);

    /// A named pipe.
    pub(super) struct Channel(Inbox);

    impl Channel {
        /// Makes a pipe with a name of its own: pipes aren't in directories.
        pub(super) fn open(_: &Path) -> io::Result<Self> {
            Inbox::new().map(Self)
        }

        pub(super) fn path(&self) -> &Path {
            self.0.path()
        }

        /// Sends the lines that come until the program has ended, and then those that are there.
        pub(super) fn read(&mut self, ended: &PipeReader, lines: &SyncSender<Heard>) {
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                let is_over = &is_over;
                scope.spawn(move || {
                    // Whether a byte comes or the pipe breaks, the program has ended.
                    drop({ ended }.read(&mut [0]));
                    is_over.store(true, Ordering::Release);
                });
                let mut begun: HashMap<u64, Line> = HashMap::new();
                loop {
                    // What was written before the end is in the pipe, and no more than it holds.
                    let is_last = is_over.load(Ordering::Acquire);
                    let came = self.0.receive(&mut |writer, what| match what {
                        Received::Bytes(bytes) => begun.entry(writer).or_default().push(bytes, lines),
                        Received::Closed => {
                            begun.remove(&writer).unwrap_or_default().push(b"\n", lines);
                        }
                    });
                    match came {
                        _ if is_last => break,
                        Err(_) => break,
                        Ok(true) => {}
                        Ok(false) => thread::sleep(TICK),
                    }
                }
                begun.into_values().for_each(|mut line| line.push(b"\n", lines));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_strictly() {
        let log = |level, message: &str| Ok(Report::Log { level, message: message.to_owned() });
        let progress = |done, total, message: Option<&str>| {
            Ok(Report::Progress { done, total, message: message.map(str::to_owned) })
        };
        for (line, expect) in [
            (r#"{"progress": 1}"#, progress(1.0, None, None)),
            (
                r#" {"progress": 0.5, "total": 2, "message": "half", "more": 1} "#,
                progress(0.5, Some(2.0), Some("half")),
            ),
            (r#"{"log": "a"}"#, log("info", "a")),
            (r#"{"log": {"n": 1}, "level": "error"}"#, log("error", r#"{"n":1}"#)),
            (r#"{"log": "a", "level": "loud"}"#, Err("has a `level` that is none of RFC 5424")),
            (r#"{"log": "a", "level": 1}"#, Err("has a `message` or `level` that is not a text")),
            (r#"{"progress": "1"}"#, Err("has a `progress` or `total` that is not a number")),
            (r#"{"message": "a"}"#, Err("has neither `progress` nor `log`")),
            ("[1]", Err("is not a JSON object")),
            ("half", Err("is not a JSON object")),
        ] {
            assert_eq!(Report::parse(line.as_bytes()), expect, "{line}");
        }
    }

    #[test]
    fn lines_may_come_in_pieces() {
        let (sender, receiver) = sync_channel(100);
        let mut line = Line::default();
        let long = vec![b'x'; LONGEST_LINE];
        for piece in [b"a".as_slice(), b"b\n\n \nc", b"\n", &long, b"\n", &long, b"x", b"y\nd\n"] {
            line.push(piece, &sender);
        }
        drop(sender);
        let heard: Vec<String> = receiver
            .into_iter()
            .map(|heard| match heard {
                Heard::Line(line) => format!("{} {}", line.len(), line[0] as char),
                Heard::TooLong => "too long".to_owned(),
                Heard::Output(..) => unreachable!("only lines were pushed"),
            })
            .collect();
        assert_eq!(heard, ["2 a", "1 c", "65536 x", "too long", "1 d"]);
    }
}
