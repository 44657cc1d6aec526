"""Durable runs on the fleet, with a real Restate: whatever is killed, each run ends, and no step runs twice without a loss.

HUB names the program cycod-hub, RESTATE the program restate-server.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fleet import CANARY, Fleet, HUB  # noqa: E402
from outside import CYCOD, Table, alive, eventually, expect  # noqa: E402

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
LATE = """description: Ends while its worker is frozen
durable: true
tags: [write]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo one >> {marks}; while [ ! -e {marks}.go ]; do sleep 0.1; done; echo wrote it all"}}
  - {{name: two, bash: "echo two after {{one.output}}"}}
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
# One more than there are workers.
CROWD = """description: Has too little time for its steps
durable: true
tags: [read]
timeout: 2500
steps:
  - {name: one, bash: "sleep 600"}
  - {name: two, bash: "sleep 600", parallel: true}
  - {name: three, bash: "sleep 600", parallel: true}
"""


CONSENT = """description: Needs the consent of whom the worker knows
durable: true
tags: [write]
timeout: 4000
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo one {{TIMESTAMP}} >> {marks}"}}
  - {{name: two, bash: "echo two >> {marks}", parallel: true}}
  - {{name: three, bash: "echo three >> {marks}", wait-for: [one, two]}}
"""


EDITS = """description: Changes files of the project
durable: true
workspace: snapshot
tags: [write]
security: {{isolation: none}}
steps:
  - {{name: a, bash: "echo a >> {marks}; echo a >> list.txt; echo A > a.txt"}}
  - {{name: b, bash: "echo b >> {marks}; rm old.txt; mkdir new; echo B > new/b.txt", parallel: true}}
  - {{name: c, bash: "echo c >> {marks}; sleep 2; cat list.txt a.txt new/b.txt; echo c >> list.txt", wait-for: [a, b]}}
  - {{name: d, bash: "cat list.txt; rm a.txt", wait-for: [c]}}
"""


# Ends each lease at once.
HURRY = "UPDATE tasks SET lease_until = 1 WHERE state = 'leased'"


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


def asked(fleet, run):
    """What waits for a person's decision about a run."""
    return [lost for lost in json.loads(fleet.run("approvals", "list", "--format", "json")) if lost["run"] == run]


def lost_and_write(fleet):
    """A step that may have been done waits for a person, without a process, whatever is killed in the meantime."""
    run = fleet.background("writes")
    kill_who_works(fleet, run, HURRY)
    waiting = lambda: asked(fleet, run)  # noqa: E731
    expect(eventually(waiting, 10), "no one is asked")
    [lost] = waiting()
    expect((lost["run"], lost["step"], lost["state"]) == (run, "one", "lost"), lost)
    for part in ("conductor", "hub", "restate", "conductor"):
        fleet.kill(part)
        time.sleep(0.5)
        if part == "hub":
            said = fleet.run("approvals", "list")
            expect("what waits on the fleet isn't known" in said, said)
        fleet.start(part)
        expect(waiting() == [lost] and fleet.marked() == ["one"], f"{part}: {waiting()} {fleet.marked()}")
    told = lambda: "cycod approvals list" in json.dumps(fleet.journal(run))  # noqa: E731
    expect(eventually(told, 10), f"the question isn't in the journal: {fleet.journal(run)}")
    expect("worker-" in fleet.run("approvals", "show", lost["id"]), "it doesn't show which worker was lost")
    said = fleet.run("approvals", "approve", lost["id"], "--lost", "done")
    expect("continues" in said, said)
    fleet.run("runs", "wait", run)
    expect(fleet.marked() == ["one", "two"] and waiting() == [], fleet.marked())
    journal = json.dumps(fleet.journal(run))
    expect("decided: `one` was done" in journal, journal)
    fleet.run("approvals", "approve", lost["id"], "--lost", "again", code=1)


def lost_and_late(fleet):
    """The worker was only frozen: what it reports later is the result of the step, once a person says that it was done."""
    go = Path(f"{fleet.marks}.go")
    go.unlink(missing_ok=True)
    run = fleet.background("late")
    fleet.until_marked("one")
    name = fleet.rows(f"SELECT worker FROM tasks WHERE state = 'leased' AND run = '{run}'")[0][0]
    worker = fleet.running[name].pid
    os.kill(worker, signal.SIGSTOP)
    try:
        go.write_text("")
        time.sleep(1)
        fleet.database(HURRY)
        expect(eventually(lambda: asked(fleet, run), 15), "no one is asked")
    finally:
        os.kill(worker, signal.SIGCONT)
    expect(eventually(lambda: asked(fleet, run)[0].get("late"), 15), "nothing came late")
    [lost] = asked(fleet, run)
    expect("wrote it all" in fleet.run("runs", "late", lost["late"]), "it isn't what the step wrote")
    fleet.run("approvals", "approve", lost["id"], "--lost", "done")
    said = fleet.run("runs", "wait", run)
    expect("two after wrote it all" in said and fleet.marked() == ["one"], f"{said} {fleet.marked()}")
    expect(f"what came late from the worker `{name}` counts" in json.dumps(fleet.journal(run)), fleet.journal(run))


def lost_and_stopped(fleet):
    run = fleet.background("writes")
    kill_who_works(fleet, run, HURRY)
    expect(eventually(lambda: asked(fleet, run), 10), "no one is asked")
    fleet.run("approvals", "deny", asked(fleet, run)[0]["id"])
    fleet.run("runs", "wait", run, code=1)
    expect("step-lost" in fleet.run("runs", "show", run, "--format", "json"), "it isn't known to be lost")
    expect(fleet.marked() == ["one"], fleet.marked())


def lost_and_left(fleet):
    """No one decides: the step has failed when the time is over."""
    run = fleet.background("writes")
    kill_who_works(fleet, run, HURRY)
    expect(eventually(lambda: fleet.database("UPDATE flow_questions SET expires = 1 WHERE state = 'open'"), 10), "no one is asked")
    fleet.run("runs", "wait", run, code=1)
    shown = fleet.run("runs", "show", run, "--format", "json") + json.dumps(fleet.journal(run))
    expect("step-lost" in shown and "no one decided about `one` in time" in shown, shown)


def at_workers(fleet, *arguments):
    """Runs a command as the user of each worker."""
    for worker in fleet.workers:
        environment = {**fleet.environment, "CYCOD_HOME": str(fleet.hub / worker)}
        done = subprocess.run([CYCOD, *arguments], cwd=fleet.hub, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
        expect(done.returncode == 0, done.stderr.decode())


def asked_by_worker(fleet):
    """The rules of the workers ask: the run waits without a process, whatever is killed, until whom they know has signed an answer."""
    device = json.loads(fleet.run("team", "show", "--format", "json"))["teams"][0]["device"]
    at_workers(fleet, "policy", "add", "ask", "consent", "--user")
    said = lambda run: fleet.run("runs", "show", run, "--format", "json") + json.dumps(fleet.journal(run))  # noqa: E731
    run = fleet.background("consent")
    fleet.run("runs", "wait", run, code=3)
    expect("cycod worker approvers" in said(run), said(run))
    at_workers(fleet, "worker", "approvers", "--add", f"ada={device}")
    try:
        run = fleet.background("consent")
        steps = lambda: [step for one in asked(fleet, run) for step in one["steps"]]  # noqa: E731
        expect(eventually(lambda: steps() == ["one", "two"], 20), f"both steps wait: {steps()}")
        for part in ("worker-1", "conductor", "hub", "restate", "conductor"):
            fleet.kill(part)
            time.sleep(0.5)
            fleet.start(part)
        # Its time, which is 4 s, doesn't count meanwhile.
        time.sleep(5)
        expect(steps() == ["one", "two"] and fleet.marked() == [], f"{steps()} {fleet.marked()}")
        listed = next(row for row in json.loads(fleet.run("runs", "list", "--format", "json")) if row["id"] == run)
        expect(listed["waits_for"] == [asked(fleet, run)[0]["id"]], listed)
        fleet.run("approvals", "approve", listed["waits_for"][0], "--without-terminal")
        fleet.run("runs", "wait", run)
        expect({"one", "two", "three"} <= set(fleet.marked()) and asked(fleet, run) == [], fleet.marked())
        expect("ada approved `one`" in said(run).replace("you approved", "ada approved"), said(run))
        # Someone at the hub gives the answer to another run, and tells Restate that it was given.
        run = fleet.background("consent")
        expect(eventually(lambda: asked(fleet, run), 20), "no one is asked")
        fleet.database("UPDATE consents SET state = 'answered', answer = (SELECT answer FROM consents WHERE answer <> '' LIMIT 1) "
                       f"WHERE run = '{run}'")
        for work, awakeable in fleet.rows(f"SELECT work, awakeable FROM holds WHERE run = '{run}'"):
            fleet.database(f"UPDATE holds SET state = 'done' WHERE run = '{run}' AND work = '{work}'")
            fleet.database("INSERT INTO flow_outbox (id, path, body, made) VALUES "
                           f"('{run}.{awakeable}', '/restate/awakeables/{awakeable}/resolve', '{{\"work\":{work}}}', 1)")
        fleet.run("runs", "wait", run, code=3)
        expect("not-approved" in said(run) and fleet.marked() == [], said(run))
        # What is denied fails, and says why.
        run = fleet.background("consent")
        expect(eventually(lambda: asked(fleet, run), 20), "no one is asked")
        fleet.run("approvals", "deny", asked(fleet, run)[0]["id"], "--reason", "not today")
        fleet.run("runs", "wait", run, code=3)
        expect("approval-declined" in said(run) and "not today" in said(run) and fleet.marked() == [], said(run))
        # What is cancelled waits no longer.
        run = fleet.background("consent")
        expect(eventually(lambda: asked(fleet, run), 20), "no one is asked")
        fleet.run("runs", "cancel", run)
        fleet.run("runs", "wait", run, code=None)
        expect(asked(fleet, run) == [] and fleet.marked() == [], fleet.run("runs", "list"))
    finally:
        at_workers(fleet, "worker", "approvers", "--remove", "ada")


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


def time_is_over_for_what_waits(fleet):
    run = fleet.background("crowd")
    fleet.run("runs", "wait", run, code=None)
    shown = json.loads(fleet.run("runs", "show", run, "--format", "json"))
    codes = {step["refusal"]["code"] for step in shown["steps"]}
    expect(shown["status"] == "timed-out" and codes == {"timed-out"}, shown)


def files_of_the_project(fleet):
    """Each step has the files as the steps before left them, whatever is killed; nothing is applied until the user says so."""
    (fleet.project / "list.txt").write_text("first\n")
    (fleet.project / "old.txt").write_text("old\n")
    run = fleet.background("edits")
    (fleet.project / "list.txt").write_text("mine\n")
    fleet.until_marked("c")
    for part in ("conductor", "restate", "hub"):
        fleet.kill(part)
    for part in ("restate", "hub", "conductor"):
        fleet.start(part)
    said = fleet.run("runs", "wait", run)
    expect("first\na\nA\nB\n" in said and "first\na\nc\n" in said, said)
    expect(sorted(fleet.marked()) == ["a", "b", "c"], fleet.marked())
    expect((fleet.project / "old.txt").exists() and not (fleet.project / "new").exists(), "it was applied")
    listed = fleet.run("runs", "apply", run, "--dry-run")
    expect(listed.split("\n")[:3] == ["changed list.txt  (changed on this machine meanwhile)", "added   new/b.txt", "removed old.txt"], listed)
    expect("workspace-conflict" in fleet.run("runs", "apply", run, code=1), "it was applied over a change")
    (fleet.project / "list.txt").write_text("first\n")
    fleet.run("runs", "apply", run)
    expect((fleet.project / "list.txt").read_text() == "first\na\nc\n", "the changes of one step are missing")
    expect((fleet.project / "new" / "b.txt").read_text() == "B\n" and not (fleet.project / "old.txt").exists(), "others are missing")
    expect(fleet.rows("SELECT 1 FROM task_parts WHERE from_worker = 0") == [], "the hub keeps the files of the project")


def cancelled_and_followed_by_another(fleet):
    """The process that followed is killed in the moment in which the run is cancelled; the next one finds a cancelled run."""
    run = fleet.background("waits")
    fleet.until_any()
    mine = [pid for pid, words in processes(fleet.home) if b"--background-run" in words]
    cancelling = subprocess.Popen([CYCOD, "runs", "cancel", run], cwd=fleet.project, env=fleet.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cancelled = f"SELECT 1 FROM flows WHERE run = '{run}' AND cancelled = 1"
    expect(eventually(lambda: fleet.rows(cancelled), 10), "the hub has no cancellation")
    for pid in mine:
        os.kill(pid, signal.SIGKILL)
    cancelling.wait()
    fleet.run("runs", "wait", run, code=None)
    expect(json.loads(fleet.run("runs", "show", run, "--format", "json"))["status"] == "cancelled", fleet.run("runs", "list"))


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
        "worker frozen, late": lost_and_late,
        "worker killed, stopped": lost_and_stopped,
        "worker killed, no one decides": lost_and_left,
        "the rules of a worker ask": asked_by_worker,
        "cancel": cancel,
        "cancelled and followed by another": cancelled_and_followed_by_another,
        "time is over": time_is_over,
        "time is over for what waits": time_is_over_for_what_waits,
        "files of the project": files_of_the_project,
        "by the clock": by_the_clock,
        "no secret in any store": no_secret,
        "forged at the hub": forged,
        "a hub without Restate": without_restate,
    }
    wanted = sys.argv[1:]
    table = Table("outcome")
    with Fleet() as fleet:
        for name, text in {"four": FOUR, "inner": INNER, "rich": RICH, "fails": FAILS, "writes": WRITES, "reads": READS,
                           "waits": WAITS, "late": LATE, "consent": CONSENT, "secretive": SECRETIVE, "tells": TELLS, "slow": SLOW, "crowd": CROWD,
                           "edits": EDITS}.items():
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
