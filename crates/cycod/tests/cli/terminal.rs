//! A terminal that a person sits at: tmux, with the program in its only pane.
#![cfg(target_os = "linux")]

use std::{
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::support::Place;

/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(90);

/// How soon something is shown for a key that was heard.
const HEARD: Duration = Duration::from_secs(6);

/// A terminal; it is gone when it is dropped.
pub(crate) struct Terminal {
    /// The server's socket; beside the place, whose path may be too long for one.
    socket: TempDir,
}

impl Terminal {
    /// Runs the words of a shell on a terminal of so many columns, and shows with which code they ended.
    pub(crate) fn run(place: &Place, columns: u32, variables: &[(&str, &str)], words: &str) -> Self {
        let terminal = Self { socket: tempfile::tempdir_in("/tmp").expect("a directory with a short path") };
        let program = place.command(&[]);
        let directory = std::path::Path::new(program.get_program()).parent().expect("it lies in a directory");
        let mut tmux = terminal.tmux();
        tmux.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = program.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path).unwrap_or_default();
        let path = std::env::join_paths([directory.to_owned()].into_iter().chain(std::env::split_paths(path)));
        tmux.env("PATH", path.expect("directories without colons")).env("SHELL", "/bin/sh");
        let variables: String = variables.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        // The shell outlives Ctrl-C, and the program is told of it as ever.
        let script = format!("trap : INT; read go; env {variables}{words}; echo \"ended with $?\"; exec sleep 600");
        tmux.args(["new-session", "-d", "-x", &columns.to_string(), "-y", "50", "-c"]).arg(place.project()).arg(script);
        let output = tmux.output().expect("tmux is there: scripts/test.sh installs it");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Nothing is written before it is recorded.
        terminal.order(&["pipe-pane", &format!("cat > '{}'", terminal.record().display())]);
        terminal.press(&["Enter"]);
        terminal
    }

    fn record(&self) -> PathBuf {
        self.socket.path().join("record")
    }

    /// The bytes that the program wrote.
    pub(crate) fn written(&self) -> String {
        let bytes = std::fs::read(self.record()).expect("it is recorded");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "the tests start the terminal at which people start the program")]
    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-f", "/dev/null", "-S"]).arg(self.socket.path().join("tmux"));
        tmux
    }

    fn order(&self, words: &[&str]) -> Vec<u8> {
        let output = self.tmux().args(words).output().expect("tmux runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Everything that was shown so far; what the terminal wrapped is one line.
    pub(crate) fn shown(&self) -> String {
        let shown = self.order(&["capture-pane", "-p", "-J", "-S", "-"]);
        String::from_utf8_lossy(&shown).lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// The rows as they stand there.
    pub(crate) fn rows(&self) -> Vec<String> {
        let shown = self.order(&["capture-pane", "-p", "-S", "-"]);
        String::from_utf8_lossy(&shown).lines().map(str::to_owned).collect()
    }

    /// Waits until a text is shown so often.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str, count: usize) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let shown = self.shown();
            if shown.matches(text).count() >= count {
                return shown;
            }
            assert!(Instant::now() < until, "`{text}` was not shown {count} times:\n{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a text is shown.
    #[track_caller]
    pub(crate) fn wait(&self, text: &str) -> String {
        self.wait_for(text, 1)
    }

    /// Gives the terminal another width.
    pub(crate) fn resize(&self, columns: u32) {
        self.order(&["resize-window", "-x", &columns.to_string()]);
    }

    /// Presses keys by the names that tmux gives them.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.order(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub(crate) fn enter(&self, text: &str) {
        self.order(&["send-keys", "-l", "--", text]);
    }

    /// Types a line when the prompt is there, and sends it.
    #[track_caller]
    pub(crate) fn line(&self, text: &str) {
        self.at_prompt();
        self.enter(text);
        self.wait(&format!("> {text}"));
        self.press(&["Enter"]);
    }

    /// Waits until the program listens.
    #[track_caller]
    pub(crate) fn at_prompt(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let shown = self.shown();
            if shown.trim_end().ends_with("\n>") {
                return;
            }
            assert!(Instant::now() < until, "there is no prompt:\n{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Answers the question that is shown for so many times. What is typed too soon does not count, so it is typed again.
    #[track_caller]
    pub(crate) fn answer(&self, question: &str, count: usize, keys: &[&str]) {
        self.wait_for(question, count);
        let is_open = || {
            let shown = self.shown();
            shown.trim_end().ends_with(question)
        };
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(400));
            self.press(keys);
            let until = Instant::now() + HEARD;
            while Instant::now() < until {
                if !is_open() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        panic!("nobody heard {keys:?}:\n{}", self.shown());
    }

    /// Pastes a text, as terminals do that say where a paste begins and ends.
    pub(crate) fn paste(&self, text: &str) {
        self.order(&["set-buffer", "--", text]);
        self.order(&["paste-buffer", "-p"]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.tmux().arg("kill-server").output());
    }
}
