"""Durable runs while everything is killed at random: each ends with its result, and no step starts twice without a loss.

    CYCOD_CHAOS_FLOWS=60 CYCOD_CHAOS_SECONDS=120 CYCOD_CHAOS_SEED=7 scripts/outside.sh chaos

Without the variables, a small number of runs with a fixed seed, once with each database.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fleet import Fleet, Postgres  # noqa: E402
from outside import CYCOD, Table, eventually, expect, memory  # noqa: E402

FLOWS = int(os.environ.get("CYCOD_CHAOS_FLOWS", "12"))
SECONDS = float(os.environ.get("CYCOD_CHAOS_SECONDS", "15"))
SEED = int(os.environ.get("CYCOD_CHAOS_SEED", "20"))

# Each step notes that it started, which only the machine of a worker does. `sleep` has the number of the run in its arguments.
READS = """description: May start again
durable: true
timeout: 600000
tags: [read]
security: {{isolation: none}}
parameters:
  N: {{type: string, pattern: "^[0-9]+$", description: Which run}}
steps:
  - {{name: a, bash: "echo {{N}} a >> {marks}; sleep 0.2{{N}}; echo A-{{N}}"}}
  - {{name: b, bash: "echo {{N}} b >> {marks}; sleep 0.4{{N}}; echo B-{{N}}", parallel: true}}
  - {{name: c, bash: "echo {{N}} c >> {marks}; sleep 0.3{{N}}; echo {{a.output}} and {{b.output}}", wait-for: [a, b]}}
  - {{name: d, bash: "echo {{N}} d >> {marks}; echo end {{c.output}}", wait-for: [c]}}
"""
WRITES = """description: May not start again
durable: true
timeout: 600000
tags: [write]
security: {{isolation: none}}
parameters:
  N: {{type: string, pattern: "^[0-9]+$", description: Which run}}
steps:
  - {{name: a, bash: "echo {{N}} a >> {marks}; sleep 0.3{{N}}; echo A-{{N}}"}}
  - {{name: b, bash: "echo {{N}} b >> {marks}; echo end {{a.output}} and B-{{N}}"}}
"""
# The first step ends when it is asked to, the second one only when it is killed.
WAITS = """description: Is cancelled
durable: true
timeout: 600000
tags: [read]
security: {{isolation: none}}
parameters:
  N: {{type: string, pattern: "^[0-9]+$", description: Which run}}
steps:
  - {{name: a, bash: "echo {{N}} a >> {marks}; sleep 600.7{{N}}"}}
  - {{name: b, bash: "trap '' TERM; echo {{N}} b >> {marks}; sleep 601.7{{N}}; sleep 602.7{{N}}", parallel: true}}
  - {{name: never, bash: "echo {{N}} never >> {marks}", wait-for: [a, b]}}
resources:
  cleanup: [{{final-command: "echo {{N}} clean >> {marks}"}}]
"""
STEPS = {"reads": "abcd", "writes": "ab", "waits": ["a", "b", "never", "clean"]}


class Killer(threading.Thread):
    """Kills one part after the other until it is told to stop, and starts each again, as the system's manager would."""

    def __init__(self, fleet, seed, conductors):
        super().__init__()
        self.fleet, self.random, self.over = fleet, random.Random(seed), threading.Event()
        self.kills, self.due = Counter(), {}
        # When a part that a cancellation needs was last away.
        self.away = 0.0
        parts = ["hub", "restate", *conductors, *fleet.workers]
        self.parts = parts + (["postgres"] if fleet.postgres else [])
        self.broken = None

    def run(self):
        try:
            at = 0.0
            while not self.over.is_set():
                if time.monotonic() >= at:
                    part = self.random.choice(self.parts)
                    pause = self.random.uniform(0.05, 1.5)
                    at = time.monotonic() + self.random.uniform(0.3, 1.5)
                    if part in self.fleet.running:
                        self.kills[part] += 1
                        self.fleet.kill(part)
                        self.due[part] = time.monotonic() + pause
                self.attend()
                time.sleep(0.02)
            # Now everything has to come back by itself.
            while any(not self.fleet.answers(part) for part in self.parts if part in self.fleet.running) or self.due:
                self.attend()
                time.sleep(0.05)
        except BaseException as error:  # noqa: BLE001
            self.broken = error

    def attend(self):
        """Starts what was killed, and what ended because another part was away."""
        now = time.monotonic()
        for part in self.parts:
            process = self.fleet.running.get(part)
            if process and process.poll() is not None:
                del self.fleet.running[part]
                self.due[part] = now + 0.3
            if self.due.get(part, now + 1) <= now:
                del self.due[part]
                self.fleet.spawn(part)
            if part in ("hub", "postgres", "restate") and part in self.due:
                self.away = now

    def stop(self):
        self.over.set()
        self.join()
        if self.broken:
            raise self.broken


class Chaos:
    def __init__(self, fleet, seed, flows, seconds):
        self.fleet, self.flows, self.seconds = fleet, flows, seconds
        self.random = random.Random(seed)
        kinds = [("waits" if n % 6 == 5 else "writes" if n % 4 == 2 else "reads") for n in range(flows)]
        self.kinds = dict(enumerate(kinds, 1))
        self.conductors = [part for part in fleet.running if part.startswith("conductor")]
        self.killer = Killer(fleet, seed, self.conductors)
        self.runs, self.refused, self.slow_to_die = {}, [], []

    def begin(self, number):
        """Begins a run, again and again while the hub is away."""
        time.sleep(self.random.uniform(0, self.seconds / 2))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            words = [CYCOD, "run", self.kinds[number], f"N={number}", "--on", "fleet", "--background"]
            done = subprocess.run(words, cwd=self.fleet.project, env=self.fleet.environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=60)
            if done.returncode == 0:
                self.runs[number] = done.stdout.decode().split()[0]
                break
            self.refused.append(done.stderr.decode())
            time.sleep(0.5)
        else:
            raise AssertionError(f"run {number} never began: {self.refused[-1]}")
        if self.kinds[number] == "waits":
            self.cancel(number)

    def processes(self, number):
        """What runs of the steps of a run that waits."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if re.search(rb"\b60[012]\.7%d\0" % number, path.read_bytes()):
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def cancel(self, number):
        eventually(lambda: self.processes(number), self.random.uniform(1, 8))
        until = time.monotonic() + 90
        while time.monotonic() < until:
            done = subprocess.run([CYCOD, "runs", "cancel", self.runs[number]], cwd=self.fleet.project, env=self.fleet.environment,
                                  capture_output=True, timeout=60)
            if eventually(lambda: self.is_cancelled(number), 3):
                break
        else:
            raise AssertionError(f"run {number} can't be cancelled: {done.stderr.decode()}")
        at = time.monotonic()
        # Two seconds in which everything that passes the word on was there.
        while time.monotonic() - max(at, self.killer.away) < 2:
            time.sleep(0.02)
        if left := self.processes(number):
            self.slow_to_die.append((number, left))

    def decide(self):
        """Steps that may have been done have waited for this, whatever was killed."""
        if self.fleet.rows("SELECT 1 FROM flow_questions WHERE state = 'open'"):
            for lost in json.loads(self.fleet.run("approvals", "list", "--format", "json")):
                self.fleet.run("approvals", "deny", lost["id"], code=None)

    def is_cancelled(self, number):
        try:
            return self.fleet.rows(f"SELECT 1 FROM flows WHERE run = '{self.runs[number]}' AND (cancelled = 1 OR state <> 'running')")
        except (AssertionError, OSError):
            return False

    def carry_out(self):
        self.killer.start()
        try:
            with ThreadPoolExecutor(max_workers=self.flows) as pool:
                began = [pool.submit(self.begin, number) for number in self.kinds]
                time.sleep(self.seconds)
                for one in began:
                    one.result()
        finally:
            self.killer.stop()
        print("killed:", dict(self.killer.kills), "refused:", len(self.refused), file=sys.stderr)
        def over():
            self.decide()
            return self.fleet.rows("SELECT COUNT(*) FROM flows WHERE state = 'running'")[0][0] == 0

        ended = eventually(over, 120)
        expect(ended, f"runs never ended: {self.fleet.rows('SELECT run, state, cancelled FROM flows WHERE state = ' + repr('running'))}")

    # What has to hold afterwards.

    def all_ended(self):
        for number, run in self.runs.items():
            self.fleet.run("runs", "wait", run, code=None)
            shown = json.loads(self.fleet.run("runs", "show", run, "--format", "json"))
            yield number, run, shown

    def losses(self, run):
        """How often each step of a run was lost, by its index."""
        lost = Counter()
        for (event,) in self.fleet.rows(f"SELECT event FROM flow_log WHERE run = '{run}'"):
            event = json.loads(event)
            if "lost" in event:
                lost[event["lost"]["step"]["index"]] += 1
        return lost

    def nothing_else_ran(self):
        known = {run for (run,) in self.fleet.rows("SELECT run FROM flows")}
        extra = known - set(self.runs.values())
        expect(not extra, f"runs that cycod said did not begin: {extra}")

    def right_results(self):
        wrong = []
        for number, run, shown in self.all_ended():
            kind, text = self.kinds[number], json.dumps(shown)
            lost = self.losses(run)
            right = {
                "reads": f"end A-{number} and B-{number}" in text or max(lost.values(), default=0) >= 3 and "step-lost" in text,
                "writes": f"end A-{number} and B-{number}" in text or sum(lost.values()) == 1 and "step-lost" in text,
                "waits": shown["status"] == "cancelled",
            }[kind]
            if not right:
                wrong.append(f"{kind} {number} {run}: {lost} {text}")
        expect(not wrong, "\n".join(wrong))

    def no_step_twice(self):
        starts = Counter(tuple(line.split()) for line in self.fleet.marks.read_text().splitlines())
        wrong, lost_in_all = [], 0
        for number, run in self.runs.items():
            lost = self.losses(run)
            lost_in_all += sum(lost.values())
            # Cleanups start again by themselves: the queue has their losses.
            again = sum(len(names.split()) for (names,) in self.fleet.rows(f"SELECT lost FROM tasks WHERE run = '{run}' AND again = 1"))
            for index, step in enumerate(STEPS[self.kinds[number]]):
                most = 1 + (again if step == "clean" else lost[index])
                if starts[str(number), step] > most:
                    wrong.append(f"{self.kinds[number]} {number} {run}: {step} started {starts[str(number), step]} times, {lost}")
                if step == "never" and starts[str(number), step]:
                    wrong.append(f"{number}: a step after the end started")
                if self.kinds[number] == "writes" and starts[str(number), step] > 1:
                    wrong.append(f"{number}: a step that may not start twice did")
        expect(not wrong, "\n".join(wrong))
        return f"{sum(starts.values())} starts, {lost_in_all} lost"

    def nothing_lives(self):
        expect(not self.slow_to_die, f"processes lived: {self.slow_to_die}")
        left = [(number, pids) for number in self.kinds if (pids := self.processes(number))]
        expect(not left, f"processes live: {left}")

    def journals_are_valid(self):
        verified = json.loads(self.fleet.run("runs", "verify", "--format", "json"))
        expect(not verified.get("findings"), verified)
        for number, run in self.runs.items():
            path = next((self.fleet.home / ".cycod" / "journals").glob(f"*{run}*.jsonl"))
            first, *lines = path.read_bytes().splitlines(keepends=True)
            events = [json.loads(line) for line in lines]
            expect(json.loads(first)["run"] == run and events[-1]["e"] == "done", f"{path.read_text()}")
            digest = hashlib.sha256(first + b"".join(lines[:-1])).hexdigest()
            expect(events[-1]["sha256"] == digest, f"the journal of {number} is not the one that was written")
            times = [event["t"] for event in events]
            expect(times == sorted(times), f"the journal of {number} goes back in time")
            begun = Counter(event["step"] for event in events if event["e"] == "start")
            ended = Counter(event["step"] for event in events if event["e"] == "end")
            lost, resumed = self.losses(run), sum(event["e"] == "resumed" for event in events)
            for index, step in enumerate(STEPS[self.kinds[number]]):
                if step != "clean":
                    # A worker may be lost after its last event, and then the step ends once more; so it does for another follower.
                    most = 1 + lost[index] + resumed
                    expect(begun[step] <= most and 1 <= ended[step] <= most, f"{number}: {begun} {ended} {lost} {resumed} resumed")

    def nothing_waits(self):
        expect(eventually(lambda: not self.fleet.rows("SELECT id FROM flow_outbox"), 20), "Restate doesn't have everything")
        open_tasks = "SELECT run, work, state FROM tasks WHERE state = 'waiting' OR state = 'leased'"
        expect(eventually(lambda: not self.fleet.rows(open_tasks), 20), self.fleet.rows(open_tasks))


def whole(table, column, postgres, flows, seconds):
    print(f"chaos with {column}: {flows} runs, seed {SEED}", file=sys.stderr)
    with Fleet(workers=4, postgres=postgres) as fleet:
        for name, text in {"reads": READS, "writes": WRITES, "waits": WAITS}.items():
            fleet.tool(name, text)
        chaos = Chaos(fleet, SEED, flows, seconds)
        if table.check("all runs end", column, chaos.carry_out):
            table.check("nothing waits", column, chaos.nothing_waits)
            table.check("only what cycod said began", column, chaos.nothing_else_ran)
            table.check("right results", column, chaos.right_results)
            table.check("no step twice without a loss", column, chaos.no_step_twice)
            table.check("no process after 2 s", column, chaos.nothing_lives)
            table.check("journals are valid", column, chaos.journals_are_valid)
        megabytes = {part: round(memory(fleet.running[part].pid), 1) for part in ("hub", *chaos.conductors, "worker-1")}
        print(f"resident MB: {megabytes}", file=sys.stderr)
        if table.problems:
            print((fleet.path / "log").read_text()[-6000:])


def main():
    table = Table()
    print(f"seed {SEED}")
    whole(table, "PostgreSQL", Postgres(), FLOWS, SECONDS)
    whole(table, "SQLite", None, max(FLOWS // 2, 6), SECONDS / 2)
    return table.show(f"chaos, seed {SEED}")


if __name__ == "__main__":
    sys.exit(main())
