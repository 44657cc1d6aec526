"""What a person at a console of Windows is asked, and what is typed there. Under Wine, whose console is a terminal of Unix.

CYCOD names `cycod.exe`, and the variables of Wine say where its Windows is. `.cycod` of its user is replaced.
"""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from outside import CYCOD, Table, expect  # noqa: E402

from home import user_directory  # noqa: E402

QUESTION = b"Run it?"
# At the beginning of a line: the question shows the command.
GREETED = b'\x1b[?25lhello "you"'
GREETS = """\
description: Greets
cmd: echo hello "{who}"
tags: [run]
parameters:
  who: {description: Who, type: string, required: true}
"""
ASKS = """\
description: Asks
cmd: 'set /p answer=Who is it? & call echo it is "%answer%"'
tags: [run]
interactive: true
"""


class Console:
    """A program at a console of 100 columns and 40 rows."""

    def __init__(self, home, *arguments):
        self.said = b""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
            os.chdir(home.parent)
            os.execvp("wine", ["wine", CYCOD, *arguments])

    def until(self, text, seconds=60):
        """Reads until it has said this, or until it ends where this is nothing."""
        end, start = time.monotonic() + seconds, len(self.said)
        while time.monotonic() < end and not (text and text in self.said[start:]):
            if not select.select([self.terminal], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self.terminal, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                expect(not text, f"it ended without {text}: {self.said}")
                return self.said[start:]
            self.said += piece
        expect(text and text in self.said[start:], f"no {text}: {self.said}")
        return self.said[start:]

    def type(self, keys):
        # Nothing counts that was typed before a question was there.
        time.sleep(0.6)
        os.write(self.terminal, keys)

    def end(self):
        said = self.until(b"")
        status = os.waitpid(self.process, 0)[1]
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status), said


def answers(home, keys, code, says):
    console = Console(home, "run", "greets", "who=you")
    console.until(QUESTION)
    console.type(keys)
    ended, _ = console.end()
    expect(ended == code and says in console.said, f"{ended}: {console.said}")


def pasted(home):
    """Two lines at once are no answer."""
    console = Console(home, "run", "greets", "who=you")
    console.until(QUESTION)
    console.type(b"y\ry\r")
    console.until(b"too fast")
    console.until(QUESTION)
    console.type(b"y\r")
    ended, said = console.end()
    expect(ended == 0 and GREETED in said, f"{ended}: {console.said}")


def hidden(home):
    """The value of a secret, with a letter that is taken back, and one beyond ASCII."""
    console = Console(home, "secret", "set", "token")
    console.until(b"not shown")
    console.type("quiet-valuex\x7f-ü\r".encode())
    ended, _ = console.end()
    expect(ended == 0 and b"quiet" not in console.said, f"{ended}: {console.said}")
    shown = Console(home, "secret", "show", "token", "--reveal")
    shown.until(b"[y/n]")
    shown.type(b"y\r")
    ended, said = shown.end()
    expect(ended == 0 and "quiet-value-ü".encode() in said, f"{ended}: {shown.said}")


def interactive(home):
    console = Console(home, "run", "asks")
    console.until(QUESTION)
    console.type(b"y\r")
    console.until(b"Who is it?")
    console.type(b"me\r")
    ended, said = console.end()
    expect(ended == 0 and b'it is "me' in said, f"{ended}: {console.said}")


def no_console(home):
    """Without one, nobody is asked."""
    done = subprocess.run(
        ["wine", CYCOD, "run", "greets", "who=you"], cwd=home.parent, stdin=subprocess.DEVNULL, capture_output=True
    )
    expect(done.returncode != 0 and b"hello" not in done.stdout, f"{done}")


TRIALS = {
    "y": lambda home: answers(home, b"y\r", 0, GREETED),
    "n and a reason": lambda home: answers(home, b"n not today\r", 3, b"was not approved, because: not today"),
    "a letter taken back": lambda home: answers(home, b"n\x7fy\r", 0, GREETED),
    "Ctrl-C": lambda home: answers(home, b"\x03", 130, b""),
    "two lines at once": pasted,
    "a secret": hidden,
    "an interactive tool": interactive,
    "no console": no_console,
}


def main():
    home = user_directory() / ".cycod"
    table = Table("at a console")
    for name, trial in TRIALS.items():
        shutil.rmtree(home, ignore_errors=True)
        for directory in (home, home / "tools"):
            directory.mkdir(mode=0o700)
        (home / "tools" / "greets.yaml").write_text(GREETS)
        (home / "tools" / "asks.yaml").write_text(ASKS)
        (home / "policy.yaml").write_text("rules:\n  - ask: greets\n  - ask: asks\n")
        table.check(name, "at a console", lambda trial=trial: trial(home))
    shutil.rmtree(home, ignore_errors=True)
    return table.show("questions on Windows")


sys.exit(main())
