"""What the tests against other people's programs share: a home with tools, a server, processes that must be gone, a table."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CYCOD = os.environ["CYCOD"]
NODE = os.environ.get("NODE", "node")


class Home:
    """A person's home directory with the tools of tests/clients/home, gone when the test is."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="cycod-outside-"))
        shutil.copytree(HERE / "clients" / "home", self.path, dirs_exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        self.environment = {**kept, "HOME": str(self.path)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def tool(self, name, text):
        """Writes or replaces a tool as an editor does, in one step."""
        (self.path / "draft").write_text(text)
        (self.path / "draft").rename(self.path / ".cycod" / "tools" / f"{name}.yaml")

    def notes(self):
        """What the tool `note` wrote down."""
        notes = self.path / "notes"
        return notes.read_text() if notes.exists() else ""

    def run(self, *arguments):
        """What cycod writes for these arguments, whether it succeeds or not."""
        done = subprocess.run(
            [CYCOD, *arguments], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True
        )
        return done.stdout.decode()

    def stdio(self, *options):
        """The server on standard input and output, as a client is told to start it."""
        # Clients count the tools, so all of them are listed.
        return [CYCOD, "mcp", "serve", "--list-tokens", "100000000", *options]


class Server:
    """The server on HTTP, on a port of its own choice; open to this machine, or with its token in a file."""

    def __init__(self, home, token=None):
        self.log = home.path / f"server-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                home.stdio("--http", "127.0.0.1:0", *(["--token-file", str(token)] if token else ["--no-auth"])),
                cwd=home.path,
                env=home.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        said = eventually(lambda: re.search(r"http://127\.0\.0\.1:(\d+)\S*", self.log.read_text()), 10)
        if not said:
            self.stop()
            raise RuntimeError(f"the server did not say where it listens:\n{self.log.read_text()}")
        self.url, self.port = said[0], int(said[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait()


def eventually(condition, seconds):
    """What `condition` returns as soon as it holds; the last it returned when it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value


def alive(pid):
    """Whether a process runs: one that ended and was not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def asleep(mark):
    """The running `sleep MARK`. The shell that starts it may have the mark among its arguments before it has done anything."""
    return marked(mark, ("sleep",))


def marked(mark, names=("bash", "sleep", "setsid", "env")):
    """The running processes with one of these names that were started with `mark` among their arguments, which nothing can shed."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            # Only those are looked at closely that a tool may have started: reading more of a process can wait for it.
            tool = entry.name.isdigit() and (entry / "comm").read_text().strip() in names
            if tool and mark.encode() in (entry / "cmdline").read_bytes() and alive(entry.name):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def children(pid):
    """The processes that a process started and that run."""
    found = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in listed.read_text().split()]
        except OSError:
            continue
    return found


def below(pid):
    """The processes that a process started, and those that these did."""
    return [each for child in children(pid) for each in [child, *below(child)]]


def memory(pid, field="VmRSS"):
    """What a process uses, in MB; `VmHWM` is the most it ever used."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


class Table:
    """Checks in rows, where they ran in columns, and what went wrong below."""

    def __init__(self, *columns):
        self.rows, self.columns, self.cells, self.problems = [], list(columns), {}, []

    def put(self, row, column, outcome, why=None):
        if row not in self.rows:
            self.rows.append(row)
        if column not in self.columns:
            self.columns.append(column)
        self.cells[row, column] = outcome
        if why:
            self.problems.append(f"{column}: {row}\n{why.rstrip()}")

    def check(self, row, column, test):
        """Runs a test, which returns what to show, or nothing for `ok`."""
        try:
            self.put(row, column, test() or "ok")
            return True
        except Exception as error:  # a test that breaks has failed, whatever broke it
            self.put(row, column, "FAIL", f"{type(error).__name__}: {error}")
            return False

    def show(self, title=""):
        """Prints everything and returns the exit code."""
        first = max(map(len, [title, *self.rows]))
        widths = [max(len(column), *(len(self.cells.get((row, column), "")) for row in self.rows)) for column in self.columns]
        print("\n" + title.ljust(first), *(column.ljust(width) for column, width in zip(self.columns, widths)), sep="  ")
        for row in self.rows:
            cells = (self.cells.get((row, column), "").ljust(width) for column, width in zip(self.columns, widths))
            print(row.ljust(first), *cells, sep="  ")
        for problem in self.problems:
            print(f"{title} {problem}".replace("\n", "\n    "))
        failed = sum(outcome == "FAIL" for outcome in self.cells.values())
        print(f"{len(self.cells) - failed} passed, {failed} failed")
        return 1 if failed else 0


def expect(condition, message):
    """An assertion that stays when Python optimises, and says what it saw."""
    if not condition:
        raise AssertionError(message)
