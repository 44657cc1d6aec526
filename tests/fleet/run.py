"""Durable runs on the fleet, with a real Restate: whatever is killed, each run ends, and no step runs twice without a loss.

HUB names the program cycod-hub, RESTATE the program restate-server.
"""

import base64
import json
import os
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
from outside import CYCOD, Table, alive, eventually, expect  # noqa: E402

HUB, RESTATE = os.environ["HUB"], os.environ["RESTATE"]
CANARY = "c4nary-v4lue-of-a-secret"

FOUR = """description: Four steps over two workers
durable: true
tags: [read]
security: {{isolation: none}}
parameters:
  WHO: {{type: string, description: Whom}}
steps:
  - {{name: a, bash: "echo a >> {marks}; sleep 1; echo A-{{WHO}}"}}
  - {{name: b, bash: "echo b >> {marks}; sleep 1; echo B", parallel: true}}
  - {{name: c, bash: "echo c >> {marks}; sleep 2; echo {{a.output}} and {{b.output}}", wait-for: [a, b]}}
  - {{name: d, bash: "echo d >> {marks}; echo end {{c.output}}", wait-for: [c]}}
"""
# Everything that a workflow can have, to be compared with a run on this machine.
RICH = """description: Retries, falls back, skips, calls a tool, runs for items, cleans up
durable: true
tags: [read]
steps:
  - {name: flaky, bash: "echo try; exit 3", error-handling: {retry: {attempts: 1, delay: 10}}, continue-on-error: true}
  - {name: saved, bash: "exit 4", error-handling: {fallback: "echo saved"}}
  - {name: never, bash: echo never, run-condition: "{saved.exit-code} == 1"}
  - {name: inner, use-tool: inner, with: {WHAT: "{saved.output}"}}
  - {name: each, for-each: [x, y], max-parallel: 2, bash: "echo item {ITEM}"}
  - {name: last, bash: "echo {inner.output}, {each.output}"}
resources:
  cleanup: [{final-command: echo cleaned}]
"""
INNER = """description: Is called
tags: [read]
parameters:
  WHAT: {type: string, description: What}
steps:
  - {name: one, bash: "echo one {WHAT}"}
  - {name: two, bash: "echo two {one.output}"}
"""
FAILS = """description: Fails in the middle
durable: true
tags: [read]
steps:
  - {name: one, bash: echo one}
  - {name: two, bash: "echo two >&2; exit 7"}
  - {name: three, bash: echo three}
  - {name: help, bash: echo help, on-failure: true}
"""
WRITES = """description: May not run twice
durable: true
tags: [write]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo one >> {marks}; sleep 600"}}
  - {{name: two, bash: "echo two >> {marks}"}}
"""
READS = """description: May run twice
durable: true
tags: [read]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "mkdir {marks}.first 2>/dev/null; first=$?; echo one >> {marks}; [ $first != 0 ] || sleep 600; echo again"}}
  - {{name: two, bash: "echo two >> {marks}; echo done {{one.output}}"}}
"""
WAITS = """description: Waits until it is cancelled
durable: true
tags: [run]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo $$ >> {marks}; sleep 600"}}
  - {{name: two, bash: echo never}}
resources:
  cleanup: [{{final-command: "echo cleaned >> {marks}"}}]
"""
SECRETIVE = """description: Uses a secret of the worker
durable: true
tags: [read]
environment: {variables: {TOKEN: '${TOKEN}'}, secrets: [TOKEN]}
steps:
  - {name: use, bash: 'test "$(printf %s "$TOKEN" | wc -c)" = 24 && echo used by {WHO}'}
  - {name: tell, bash: 'echo "the token is $TOKEN"', continue-on-error: true}
  - {name: after, bash: 'echo after {use.output}'}
parameters:
  WHO: {type: string, description: Whom}
"""
# In each way in which a tool may write it: as text and on standard error, as JSON, in a file, as an error, in pieces and while it
# runs on. It is a single run on one worker, or each step on the next.
TELLS = """description: Tells a secret of the worker in every way
tags: [read]
timeout: 60000
environment: {{variables: {{TOKEN: '${{TOKEN}}'}}, secrets: [TOKEN]}}
security: {{isolation: none}}
reports: true
parameters:
  WHO: {{type: string, description: Whom}}
steps:
  - {{name: file, bash: 'echo "$TOKEN" > kept; echo "$TOKEN" > "{{TEMP}}/kept"; echo "{{WHO}} wrote"'}}
  - {{name: streams, bash: 'echo "out $TOKEN"; echo "error $TOKEN" >&2', continue-on-error: true}}
  - {{name: pieces, bash: 'printf "%s" "${{TOKEN:0:10}}"; sleep 0.5; echo "${{TOKEN:10}}"', continue-on-error: true}}
  - {{name: data, bash: 'printf "{{\\"token\\": \\"%s\\"}}" "$TOKEN"', continue-on-error: true}}
  - {{name: report, bash: 'echo "{{\\"progress\\": 1, \\"message\\": \\"$TOKEN\\"}}" >> "$CYCOD_REPORT"', continue-on-error: true}}
  - {{name: fails, bash: 'echo "$TOKEN" >&2; exit 3', continue-on-error: true, error-handling: {{retry: {{attempts: 1, delay: 1}}}}}}
  - {{name: waits, bash: 'echo "$TOKEN"; echo waits >> {marks}; until [ -e {marks}.go ]; do sleep 0.1; done', continue-on-error: true}}
resources:
  cleanup: [{{final-command: 'echo "cleaned $TOKEN"'}}]
"""
SLOW = """description: Takes its time
durable: true
tags: [read]
timeout: 1500
steps:
  - {name: one, bash: "sleep 600"}
"""


def free_ports():
    """The first of five ports in a row that nobody uses."""
    for first in range(21000, 60000, 10):
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
    """A hub, Restate, a conductor and two workers, each a process of its own, and a member with a project."""

    def __init__(self):
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
        dev = subprocess.Popen(
            [HUB, "dev", "--data", str(self.hub), "--listen", f"127.0.0.1:{self.port}"],
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
        # Restate ends its parts one after the other, and the next one needs all of its ports.
        expect(eventually(lambda: not any(self.open(self.port + more) for more in range(5)), 20), "a port is in use")
        for part in ("restate", "hub", "conductor", "worker-1", "worker-2"):
            self.start(part)

    def __exit__(self, *_):
        for part in list(self.running):
            self.kill(part)
        self.log.close()
        if not os.environ.get("KEEP"):
            shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    def open(port):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def start(self, part):
        """Starts a part and waits until it answers."""
        port = self.port
        config = ["--config-file", "restate.toml", "--base-dir", "restate", "--node-name", "dev", "--no-logo"]
        words, place, opens = {
            "restate": ([RESTATE, *config, "--bind-port", str(port + 3)], self.hub, port + 1),
            "hub": ([HUB, "serve", "--data", ".", "--listen", f"127.0.0.1:{port}", "--restate", f"127.0.0.1:{port + 1}"],
                    self.hub, port),
            "conductor": ([HUB, "conductor", "--data", ".", "--listen", f"127.0.0.1:{port + 4}", "--admin",
                           f"127.0.0.1:{port + 2}"], self.hub, port + 4),
        }.get(part, ([CYCOD, "worker"], self.hub, None))
        environment = dict(self.environment)
        if part.startswith("worker"):
            temporary = self.path / "tmp" / part
            temporary.mkdir(parents=True, exist_ok=True)
            environment |= {"CYCOD_HOME": str(self.hub / part), "TMPDIR": str(temporary), "TOKEN": CANARY}
        self.running[part] = subprocess.Popen(words, env=environment, cwd=place, stdout=self.log, stderr=self.log,
                                              stdin=subprocess.DEVNULL)
        if opens and not eventually(lambda: self.open(opens), 20):
            raise RuntimeError(f"{part} does not answer:\n{(self.path / 'log').read_text()}")

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


def spread(fleet):
    run = fleet.background("four", "WHO=$(reboot) 'x'")
    said = fleet.run("runs", "wait", run)
    expect("end A-$(reboot) 'x' and B" in said, said)
    expect(sorted(fleet.marked()) == ["a", "b", "c", "d"], fleet.marked())
    workers = {row[0] for row in fleet.rows(f"SELECT worker FROM flow_log WHERE run = '{run}' AND worker <> ''")}
    expect(workers == {"worker-1", "worker-2"}, f"it ran on {workers}")


def the_same(fleet):
    for tool in ("rich", "fails"):
        there = fleet.run("run", tool, "--on", "fleet", "--format", "json", code=None)
        there_run = json.loads(fleet.run("runs", "list", "--format", "json"))[0]["id"]
        here = fleet.run("run", tool, "--format", "json", code=None)
        here_run = json.loads(fleet.run("runs", "list", "--format", "json"))[0]["id"]
        there, here = fleet.journal(there_run), fleet.journal(here_run)
        key = lambda line: json.dumps(line, sort_keys=True)  # noqa: E731
        differ = [line for line in there if line not in here] + [line for line in here if line not in there]
        expect(sorted(map(key, there)) == sorted(map(key, here)), f"{tool}: {differ}")


def killed(part, wait):
    def check(fleet):
        run = fleet.background("four", "WHO=x")
        fleet.until_marked("c")
        fleet.kill(part)
        time.sleep(wait)
        fleet.start(part)
        said = fleet.run("runs", "wait", run)
        expect("end A-x and B" in said, said)
        expect(sorted(fleet.marked()) == ["a", "b", "c", "d"], fleet.marked())

    return check


def processes(home):
    """The processes of a home, with their arguments."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}".encode() in (path / "environ").read_bytes().split(b"\0"):
                yield int(path.name), (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue


def follower(fleet):
    run = fleet.background("four", "WHO=x")
    fleet.until_any()
    mine = [pid for pid, words in processes(fleet.home) if b"--background-run" in words]
    expect(len(mine) == 1, f"one process follows: {mine}")
    os.kill(mine[0], signal.SIGKILL)
    fleet.until_marked("d")
    expect("interrupted" in fleet.run("runs", "list", "--status", "interrupted"), "it isn't interrupted")
    said = fleet.run("runs", "resume", run)
    expect("end A-x and B" in said, said)
    expect(sorted(fleet.marked()) == ["a", "b", "c", "d"], fleet.marked())
    names = [(line["e"], line.get("step")) for line in fleet.journal(run) if line.get("e") == "end"]
    expect(sorted(names) == [("end", step) for step in "abcd"], f"{names}")


def lost_and_read(fleet):
    run = fleet.background("reads")
    kill_who_works(fleet, run)
    said = fleet.run("runs", "wait", run)
    expect("done again" in said, said)
    expect(fleet.marked() == ["one", "one", "two"], fleet.marked())
    expect("was lost" in json.dumps(fleet.journal(run)), "the loss isn't in the journal")


def lost_and_write(fleet):
    run = fleet.background("writes")
    kill_who_works(fleet, run, "UPDATE tasks SET lease_until = 1 WHERE state = 'leased'")
    fleet.run("runs", "wait", run, code=1)
    expect("step-lost" in fleet.run("runs", "show", run, "--format", "json"), "it isn't known to be lost")
    expect(fleet.marked() == ["one"], fleet.marked())


def kill_who_works(fleet, run, hurry=None):
    """Kills the worker that has the step, and starts it again when the hub knows that it is lost; `hurry` ends the lease."""
    fleet.until_any()
    worker = fleet.rows("SELECT worker FROM tasks WHERE state = 'leased'")[0][0]
    fleet.kill(worker)
    if hurry:
        fleet.database(hurry)
    lost = f"SELECT 1 FROM flow_log WHERE run = '{run}' AND event LIKE '{{\"lost%'"
    expect(eventually(lambda: fleet.rows(lost), 20), "it isn't lost")
    fleet.start(worker)


def cancel(fleet):
    run = fleet.background("waits")
    pid = int(fleet.until_any()[0])
    expect(alive(pid), "it runs")
    fleet.run("runs", "cancel", run)
    expect(eventually(lambda: not alive(pid), 2), "the process of the step lives")
    expect(eventually(lambda: "cleaned" in fleet.marked(), 5), "it was not cleaned up")
    expect("cancelled" in fleet.run("runs", "list"), "it isn't cancelled")


def time_is_over(fleet):
    began = time.monotonic()
    said = fleet.run("run", "slow", "--on", "fleet", code=None)
    expect("timed-out" in said and time.monotonic() - began < 15, said)


def by_the_clock(fleet):
    """The only check that waits for a minute: the next one."""
    fleet.run("schedule", "add", "inner", "WHAT=$(reboot) 'x'", "--durable", "--cron", "* * * * *", "--yes")
    runs = lambda: json.loads(fleet.run("schedule", "show", "inner", "--format", "json"))["runs"]  # noqa: E731
    expect(eventually(lambda: any(run["state"] == "ended" for run in runs()), 90), runs())
    fleet.run("schedule", "pause", "inner")
    said = fleet.run("schedule", "log", "inner")
    expect("two one $(reboot) 'x'" in said, said)
    started = [run["run"] for run in runs() if run["run"]]
    begun = fleet.rows("SELECT run, COUNT(*) FROM tasks WHERE run LIKE 'sched.inner.%' GROUP BY run")
    expect(sorted(run for run, _ in begun) == sorted(started), f"{begun} of {started}")
    fleet.run("schedule", "remove", "inner")


def no_secret(fleet):
    said = fleet.run("run", "secretive", "WHO=control-value", "--on", "fleet", "--format", "json")
    expect("after used by control-value" in said and "secrets don't leave the worker" in said, said)
    for more in ([], ["--durable"]):
        fleet.marks.unlink(missing_ok=True)
        go = Path(f"{fleet.marks}.go")
        go.unlink(missing_ok=True)
        run = fleet.background("tells", "WHO=control-value", *more)
        fleet.until_marked("waits")
        time.sleep(1)
        # While it runs, only the worker's own directory of the run has what the tool wrote there itself.
        held = fleet.holding(CANARY)
        files = [path for path in held if path.name == "kept" and path.is_relative_to(fleet.path / "tmp")]
        expect(len(held) == len(files) and (files or more), f"the secret is in {held}")
        go.write_text("")
        fleet.run("runs", "wait", run, code=None)
        shown = fleet.run("runs", "show", run) + fleet.run("runs", "show", run, "--format", "json")
        expect("control-value wrote" in shown and CANARY not in shown, shown)
        expect(fleet.holding(CANARY) == [], f"the secret is in {fleet.holding(CANARY)}")
    # The same search finds what is there, at the hub, with the member and on the worker.
    control = {path.relative_to(fleet.path).parts[:2] for path in fleet.holding("control-value")}
    expect({("hub", "hub.db"), ("home", ".cycod")} <= {part if part[1] != "hub.db-wal" else ("hub", "hub.db") for part in control}, control)
    expect(any(part[0] == "hub" and part[1].startswith("worker-") for part in control), control)


def forged(fleet):
    """What someone at the hub changes is refused by the worker."""
    changes = {
        "UPDATE tasks SET ticket = REPLACE(ticket, '\"x', '\"evil') WHERE state = 'waiting' AND run <> ''":
            "no device of you signed the ticket",
        "UPDATE tasks SET work = REPLACE(work, '\"index\":0', '\"index\":3') WHERE state = 'waiting' AND run <> '' "
        "AND work LIKE '%\"index\":0%'": "it isn't the turn of this step",
    }
    for change, why in changes.items():
        for worker in ("worker-1", "worker-2"):
            fleet.kill(worker)
        run = fleet.background("four", "WHO=x")
        expect(eventually(lambda: fleet.database(change), 10), "the task waits")
        before = (fleet.path / "log").stat().st_size
        for worker in ("worker-1", "worker-2"):
            fleet.start(worker)
        if "turn" in why:
            # The hub, which is whole again, takes no answer to another step, so only the worker says it.
            expect(eventually(lambda: "step forbidden" in fleet.since(before), 15), fleet.since(before))
            fleet.run("runs", "cancel", run, code=None)
        else:
            fleet.run("runs", "wait", run, code=3)
            said = fleet.run("runs", "show", run, "--format", "json")
            expect(why in said, said)
        expect("d" not in fleet.marked() and "evil" not in str(fleet.marked()), fleet.marked())


def without_restate(fleet):
    fleet.kill("hub")
    words = [HUB, "serve", "--data", ".", "--listen", f"127.0.0.1:{fleet.port}"]
    fleet.running["hub"] = subprocess.Popen(words, env=fleet.environment, cwd=fleet.hub, stdout=fleet.log, stderr=fleet.log)
    eventually(lambda: fleet.open(fleet.port), 10)
    said = fleet.run("run", "four", "WHO=x", "--on", "fleet", code=1)
    expect("not-for-fleet" in said and "started without it" in said, said)
    fleet.kill("hub")
    fleet.start("hub")


def main():
    checks = {
        "four steps on two workers": spread,
        "the journal of a run here": the_same,
        "conductor killed": killed("conductor", 1),
        "Restate killed": killed("restate", 1),
        "hub killed": killed("hub", 1),
        "follower killed, resumed": follower,
        "worker killed, reads": lost_and_read,
        "worker killed, writes": lost_and_write,
        "cancel": cancel,
        "time is over": time_is_over,
        "by the clock": by_the_clock,
        "no secret in any store": no_secret,
        "forged at the hub": forged,
        "a hub without Restate": without_restate,
    }
    wanted = sys.argv[1:]
    table = Table("outcome")
    with Fleet() as fleet:
        for name, text in {"four": FOUR, "inner": INNER, "rich": RICH, "fails": FAILS, "writes": WRITES, "reads": READS,
                           "waits": WAITS, "secretive": SECRETIVE, "tells": TELLS, "slow": SLOW}.items():
            fleet.tool(name, text)
        for name, check in checks.items():
            if wanted and not any(word in name for word in wanted):
                continue
            began = time.monotonic()
            table.check(name, "outcome", lambda: check(fleet))
            print(name, round(time.monotonic() - began, 1), file=sys.stderr)
        if table.problems:
            print((fleet.path / "log").read_text()[-4000:])
    return table.show("fleet")


if __name__ == "__main__":
    sys.exit(main())
