"""A fleet on this machine: a hub with either database, Restate, a conductor and workers, each a process that can be killed alone.

HUB names the program cycod-hub, RESTATE the program restate-server.
"""

import base64
import json
import os
import pwd
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import CYCOD, eventually, expect  # noqa: E402

HUB, RESTATE = os.environ["HUB"], os.environ["RESTATE"]
CANARY = "c4nary-v4lue-of-a-secret"


class Postgres:
    """A server of PostgreSQL in a directory of its own, which survives being killed as long as the machine runs."""

    def __init__(self):
        self.programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        self.path = Path(tempfile.mkdtemp(prefix="cycod-pg-", dir="/tmp"))
        self.user = {}
        if os.getuid() == 0:
            # The server refuses to run as root.
            entry = pwd.getpwnam("postgres")
            os.chown(self.path, entry.pw_uid, entry.pw_gid)
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.url = f"host={self.path} user=hub dbname=postgres"
        made = subprocess.run([self.programs / "initdb", "-D", self.path / "data", "-A", "trust", "-U", "hub", "--no-sync"],
                              cwd=self.path, stdout=subprocess.DEVNULL, **self.user)
        expect(made.returncode == 0, "initdb failed")

    def start(self, log):
        words = [self.programs / "postgres", "-D", self.path / "data", "-k", self.path, "-c", "listen_addresses=", "-c", "fsync=off"]
        return subprocess.Popen(words, cwd=self.path, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.user)

    def is_open(self):
        asked = subprocess.run([self.programs / "pg_isready", "-q", "-h", self.path, "-U", "hub"], cwd="/")
        return asked.returncode == 0

    def rows(self, select):
        words = [self.programs / "psql", "-h", self.path, "-U", "hub", "-d", "postgres", "-XAtq", "-F", "\x1f", "-c", select]
        said = subprocess.run(words, cwd="/", capture_output=True)
        expect(said.returncode == 0, said.stderr.decode())
        value = lambda text: int(text) if re.fullmatch(r"-?\d+", text) else text  # noqa: E731
        return [tuple(map(value, line.split("\x1f"))) for line in said.stdout.decode().splitlines()]


def free_ports():
    """The first of five ports in a row that are free."""
    # Not where another test of this machine begins to look at the same time.
    for first in range(21000 + os.getpid() % 1000 * 10, 60000, 10):
        sockets = []
        try:
            for port in range(first, first + 5):
                one = socket.socket()
                sockets.append(one)
                one.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise RuntimeError("no ports are free")


class Fleet:
    """A hub, Restate, a conductor and workers, each a process of its own, and a member with a project."""

    def __init__(self, workers=2, postgres=None):
        self.postgres = postgres
        self.workers = [f"worker-{number}" for number in range(1, workers + 1)]
        self.path = Path(tempfile.mkdtemp(prefix="cycod-fleet-"))
        self.hub, self.home = self.path / "hub", self.path / "home"
        self.project, self.marks = self.path / "project", self.path / "marks"
        (self.project / ".cycod" / "tools").mkdir(parents=True)
        self.home.mkdir()
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        path = f"{Path(CYCOD).parent}:{Path(RESTATE).parent}:{os.environ['PATH']}"
        self.environment = {**kept, "HOME": str(self.home), "PATH": path}
        self.port = free_ports()
        self.running = {}
        self.log = open(self.path / "log", "wb")
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        # The one command that prepares everything; then each part runs by itself, so that it can be killed alone.
        if self.postgres:
            self.start("postgres")
        more = ["--database", self.postgres.url] if self.postgres else []
        dev = subprocess.Popen(
            [HUB, "dev", "--data", str(self.hub), "--listen", f"127.0.0.1:{self.port}", "--workers", str(len(self.workers)), *more],
            env=self.environment, cwd=self.path, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True,
        )
        said = ""
        while "The conductor is at" not in said:
            line = dev.stdout.readline().decode()
            if not line:
                raise RuntimeError(f"cycod-hub dev ended: {said}{(self.path / 'log').read_text()}")
            said += line
        join = re.search(r"cycod (team join .*)", said)[1].split()
        self.run(*join)
        os.killpg(dev.pid, signal.SIGTERM)
        dev.wait()
        dev.stdout.close()
        # Restate ends its parts one after the other, and the next one needs all of its ports, and its database.
        expect(eventually(lambda: not any(self.open(self.port + more) for more in range(5)), 20), "a port is in use")
        expect(eventually(lambda: not self.has_restate(), 20), "the first Restate doesn't end")
        for part in ("restate", "hub", "conductor", *self.workers):
            self.start(part)

    def __exit__(self, *_):
        for part in list(self.running):
            self.kill(part)
        self.log.close()
        if not os.environ.get("KEEP"):
            shutil.rmtree(self.path, ignore_errors=True)
            if self.postgres:
                shutil.rmtree(self.postgres.path, ignore_errors=True)

    @staticmethod
    def open(port):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def has_restate(self):
        """Whether a Restate works in the directory of the hub."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "comm").read_text().strip() == "restate-server" and (process / "cwd").resolve() == self.hub.resolve():
                    return True
            except OSError:
                continue
        return False

    def start(self, part):
        """Starts a part and waits until it answers."""
        self.spawn(part)
        if not eventually(lambda: self.answers(part), 20):
            raise RuntimeError(f"{part} does not answer:\n{(self.path / 'log').read_text()}")

    def answers(self, part):
        """Whether a part runs, and answers if others connect to it."""
        if self.running[part].poll() is not None:
            return False
        if part == "postgres":
            return self.postgres.is_open()
        more = {"restate": 1, "hub": 0, "conductor": 4}.get(part)
        return more is None or self.open(self.port + more)

    def spawn(self, part):
        """Starts a part."""
        port = self.port
        if part == "postgres":
            self.running[part] = self.postgres.start(self.log)
            return
        config = ["--config-file", "restate.toml", "--base-dir", "restate", "--node-name", "dev", "--no-logo"]
        words = {
            "restate": [RESTATE, *config, "--bind-port", str(port + 3)],
            "hub": [HUB, "serve", "--data", ".", "--listen", f"127.0.0.1:{port}", "--restate", f"127.0.0.1:{port + 1}"],
            "conductor": [HUB, "conductor", "--data", ".", "--listen", f"127.0.0.1:{port + 4}", "--admin", f"127.0.0.1:{port + 2}"],
        }.get(part, [CYCOD, "worker"])
        environment = dict(self.environment)
        if part.startswith("worker"):
            temporary = self.path / "tmp" / part
            temporary.mkdir(parents=True, exist_ok=True)
            environment |= {"CYCOD_HOME": str(self.hub / part), "TMPDIR": str(temporary), "TOKEN": CANARY}
        self.running[part] = subprocess.Popen(words, env=environment, cwd=self.hub, stdout=self.log, stderr=self.log,
                                              stdin=subprocess.DEVNULL)

    def kill(self, part):
        process = self.running.pop(part)
        process.kill()
        process.wait()

    def tool(self, name, text):
        """Writes a tool that the member trusts and that is part of the project."""
        text = text.format(marks=self.marks) if "{marks}" in text else text
        (self.project / ".cycod" / "tools" / f"{name}.yaml").write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=self.project, check=True)
        self.run("trust", name, "--yes")

    def run(self, *arguments, code=0):
        """What cycod says, which has to end with `code`."""
        done = subprocess.run([CYCOD, *arguments], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120)
        said = done.stdout.decode() + done.stderr.decode()
        expect(code is None or done.returncode == code, f"{arguments} ended with {done.returncode}:\n{said}")
        return said

    def background(self, tool, *arguments):
        """Begins a run that outlives its terminal; returns its ID."""
        self.marks.unlink(missing_ok=True)
        shutil.rmtree(f"{self.marks}.first", ignore_errors=True)
        return self.run("run", tool, *arguments, "--on", "fleet", "--background").split()[0]

    def since(self, before):
        """What the parts said since the log had so many bytes."""
        return (self.path / "log").read_bytes()[before:].decode()

    def marked(self):
        return self.marks.read_text().split() if self.marks.exists() else []

    def until_marked(self, mark):
        expect(eventually(lambda: mark in self.marked(), 30), f"`{mark}` never ran: {self.marked()}")

    def until_any(self):
        expect(eventually(self.marked, 30), "nothing ran")
        return self.marked()

    def journal(self, run):
        """The lines of the journal of a run, without what differs between machines and moments."""
        path = next((self.home / ".cycod" / "journals").glob(f"*{run}*.jsonl"))
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            for name in ("t", "us", "sha256", "run", "at", "pos", "off"):
                line.pop(name, None)
        return lines

    def stored(self):
        """Every byte that the hub, Restate, the member and the workers keep, and what all of them said."""
        for path in self.path.rglob("*"):
            if path.is_file():
                try:
                    yield path, path.read_bytes()
                except OSError:
                    continue

    def holding(self, text):
        """The files that have a text, also within Base64 or behind escapes of JSON."""
        forms = {text.encode()}
        # Three of the offsets at which Base64 may begin, each without what its neighbours change.
        for offset in range(3):
            coded = base64.b64encode(b"\0" * offset + text.encode())
            forms.add(coded[(4 if offset else 0) : len(coded) - 4])
        return [path for path, held in self.stored() if any(form in held for form in forms)]

    def rows(self, select):
        """What the hub's database has."""
        if self.postgres:
            return self.postgres.rows(select)
        with sqlite3.connect(self.hub / "hub.db", timeout=10) as database:
            rows = database.execute(select).fetchall()
        database.close()
        return rows

    def database(self, statement):
        """Changes the hub's database, as only someone can who has taken over the hub."""
        with sqlite3.connect(self.hub / "hub.db", timeout=10) as database:
            changed = database.execute(statement).rowcount
        database.close()
        return changed
