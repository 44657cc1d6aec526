"""What happens when one thing fails for a known time: a frozen worker, a worker that is lost in each phase, a network that drops
everything. Each says how long it took.

    scripts/outside.sh failures

The partition needs root, or namespaces of a user: without them, it says that it did not run.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fleet import Fleet, Postgres  # noqa: E402
from outside import CYCOD, Table, asleep, eventually, expect, marked  # noqa: E402

LEASE = 10

# The first start sleeps for long, the second one doesn't.
SLOW_FIRST = """description: May start again
durable: true
tags: [read]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "mkdir {marks}.first 2>/dev/null; first=$?; echo one $$ >> {marks}; [ $first != 0 ] || sleep 300.77; echo again"}}
  - {{name: two, bash: "echo two $$ >> {marks}; echo done {{one.output}}"}}
"""
SHORT = """description: Takes some seconds
durable: true
tags: [read]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo one $$ >> {marks}; sleep 6.77; echo slept"}}
  - {{name: two, bash: "echo two $$ >> {marks}; echo done {{one.output}}"}}
"""
ONCE = """description: May not start again
durable: true
tags: [write]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo one $$ >> {marks}; sleep 1; echo slept"}}
  - {{name: two, bash: "echo two $$ >> {marks}; echo done {{one.output}}"}}
"""


# More lines than a worker has waiting for a hub that answers, and more bytes than a pipe holds.
CHATTY = """description: Says a lot while no hub hears it
durable: true
tags: [read]
security: {{isolation: none}}
steps:
  - name: one
    bash: |
      echo one $$ >> {marks}
      sleep 2
      line=$(printf %0500d 7)
      for i in $(seq 1000); do echo $line; sleep 0.003; done
      echo said $$ >> {marks}
      echo end
  - {{name: two, bash: "echo done"}}
"""


LONG = """description: Takes longer than a lease
durable: true
tags: [read]
security: {{isolation: none}}
steps:
  - {{name: one, bash: "echo one $$ >> {marks}; sleep 28.77; echo slept"}}
  - {{name: two, bash: "echo two $$ >> {marks}; echo done {{one.output}}"}}
"""


def starts(fleet, step):
    return [line.split()[1] for line in fleet.marks.read_text().splitlines() if line.split()[0] == step] if fleet.marks.exists() else []


def until_asleep():
    """Waits until the first start of `slow-first` sleeps."""
    expect(eventually(lambda: asleep("300.77"), 20), "nothing runs")


def who_works(fleet):
    return fleet.rows("SELECT worker FROM tasks WHERE state = 'leased'")[0][0]


def losses(fleet, run):
    return len(fleet.rows(f"SELECT 1 FROM flow_log WHERE run = '{run}' AND event LIKE '{{\"lost%'"))


def frozen(fleet):
    """A worker that gets no time has its step no longer than its lease, and what it says later is refused and kept."""
    run = fleet.background("slow-first")
    until_asleep()
    worker = fleet.running[who_works(fleet)].pid
    os.kill(worker, signal.SIGSTOP)
    stopped = time.monotonic()
    expect(eventually(lambda: not marked("300.77"), LEASE + 2), "the step of a frozen worker lives")
    dead = time.monotonic() - stopped
    expect(eventually(lambda: len(starts(fleet, "one")) == 2, LEASE + 5), "no other worker took the step")
    taken = time.monotonic() - stopped
    expect(dead < taken <= LEASE + 2, f"its processes ended after {dead:.1f} s, the step was taken over after {taken:.1f} s")
    said = fleet.run("runs", "wait", run)
    expect("done again" in said and losses(fleet, run) == 1, said)
    os.kill(worker, signal.SIGCONT)
    late = f"SELECT id FROM tasks WHERE run = '{run}' AND late <> ''"
    expect(eventually(lambda: len(fleet.rows(late)) == 1, 10), "the late result is not kept")
    expect(len(starts(fleet, "one")) == 2 and len(starts(fleet, "two")) == 1, fleet.marked())
    # It is a worker again.
    expect("done" in fleet.run("runs", "wait", fleet.background("once")), "the worker takes nothing")
    return f"ended {dead:.1f} s, taken over {taken:.1f} s"


def killed(fleet):
    """What a killed worker ran is over at once, and another worker has it within the lease and two seconds."""
    run = fleet.background("slow-first")
    until_asleep()
    worker = who_works(fleet)
    fleet.kill(worker)
    killed = time.monotonic()
    expect(eventually(lambda: not marked("300.77"), 2), "the step lives without its worker")
    expect(eventually(lambda: len(starts(fleet, "one")) == 2, LEASE + 5), "no other worker took the step")
    taken = time.monotonic() - killed
    fleet.start(worker)
    expect(taken <= LEASE + 2, f"it took {taken:.1f} s")
    expect("done again" in fleet.run("runs", "wait", run), "it has another result")
    return f"taken over {taken:.1f} s"


def before_its_first_report(fleet):
    """A worker is killed in the moment in which it has claimed: the step starts once more, and the loss is known."""
    run = fleet.background("short")
    expect(eventually(lambda: fleet.rows("SELECT 1 FROM tasks WHERE state = 'leased'"), 10), "no worker takes it")
    worker = who_works(fleet)
    fleet.kill(worker)
    piece = fleet.rows(f"SELECT piece FROM tasks WHERE run = '{run}'")[0][0]
    fleet.start(worker)
    said = fleet.run("runs", "wait", run)
    expect(losses(fleet, run) == 1 and "done slept" in said and 1 <= len(starts(fleet, "one")) <= 2, said)
    return f"after {piece} reports"


def claimed_from_a_dying_hub(fleet):
    """The answer to a claim is lost with the hub, again and again: no step is lost by it, as each may start only once."""
    lost = 0
    for _ in range(4):
        run = fleet.background("once")
        expect(eventually(lambda: fleet.rows(f"SELECT 1 FROM tasks WHERE run = '{run}' AND state <> 'waiting'"), 10), "no worker takes it")
        fleet.kill("hub")
        time.sleep(0.3)
        fleet.start("hub")
        said = fleet.run("runs", "wait", run, code=None)
        lost += losses(fleet, run)
        expect("done slept" in said and len(starts(fleet, "one")) == 1, f"{said}{fleet.since(0)[-2000:]}")
    expect(lost == 0, f"{lost} steps were lost")


def done_before_it_is_told(fleet):
    """The work is done, and the hub is away when the worker tells it: the result counts, and nothing starts again."""
    run = fleet.background("once")
    expect(eventually(lambda: starts(fleet, "one"), 30), "nothing runs")
    fleet.kill("hub")
    time.sleep(4)
    fleet.start("hub")
    said = fleet.run("runs", "wait", run)
    expect("done slept" in said and len(starts(fleet, "one")) == 1 and losses(fleet, run) == 0, said)


def cancelled(fleet):
    """From the request to cancel until the process is dead, for one that ends when asked."""
    times = []
    for _ in range(3):
        run = fleet.background("slow-first")
        until_asleep()
        began = time.monotonic()
        asked = subprocess.Popen([CYCOD, "runs", "cancel", run], cwd=fleet.project, env=fleet.environment, stdout=subprocess.DEVNULL)
        expect(eventually(lambda: not marked("300.77"), 5), "the step lives")
        times.append(time.monotonic() - began)
        asked.wait()
    expect(sorted(times)[1] <= 1, f"it took {times}")
    return f"dead after {max(times):.2f} s"


class Partition:
    """A worker in a network of its own, which reaches the hub over a cable that can be cut."""

    ADDRESS, OTHER = "10.231.77.1", "10.231.77.2"

    def __init__(self, fleet):
        self.fleet, self.name = fleet, f"cycod{os.getpid() % 100000}"

    def __enter__(self):
        self.ip(f"netns add {self.name}")
        self.ip(f"link add {self.name}a type veth peer name {self.name}b netns {self.name}")
        self.ip(f"addr add {self.ADDRESS}/30 dev {self.name}a")
        self.ip(f"link set {self.name}a up")
        self.ip(f"-n {self.name} addr add {self.OTHER}/30 dev {self.name}b")
        self.ip(f"-n {self.name} link set {self.name}b up")
        self.ip(f"-n {self.name} link set lo up")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "delete", self.name])
        subprocess.run(["ip", "link", "delete", f"{self.name}a"], stderr=subprocess.DEVNULL)

    @staticmethod
    def ip(words):
        done = subprocess.run(["ip", *words.split()], capture_output=True)
        expect(done.returncode == 0, f"ip {words}: {done.stderr.decode()}")

    def cut(self):
        """Packets are dropped in both directions, and neither end is told: as when a cable is pulled behind the next switch."""
        for more in ((), ("-n", self.name)):
            device = f"{self.name}{'b' if more else 'a'}"
            words = ["tc", *more, "qdisc", "add", "dev", device, "root", "netem", "loss", "100%"]
            done = subprocess.run(words, capture_output=True)
            if done.returncode != 0:
                # A kernel without that module: the device itself.
                self.ip(f"-n {self.name} link set {self.name}b down")
                return

    def join(self):
        for more in ((), ("-n", self.name)):
            device = f"{self.name}{'b' if more else 'a'}"
            subprocess.run(["tc", *more, "qdisc", "del", "dev", device, "root"], capture_output=True)
        self.ip(f"-n {self.name} link set {self.name}b up")


def alone(fleet):
    """Waits until the hub knows that no other one runs: it has taken the place of one that was killed."""
    expect(eventually(lambda: len(fleet.rows("SELECT id FROM hubs")) == 1, 20), "there is another hub")
    time.sleep(2)


def hub_away(fleet):
    """A hub that is away for longer than a lease ends nothing: the workers know that it gives their steps to no other."""
    alone(fleet)
    run = fleet.background("long")
    expect(eventually(lambda: starts(fleet, "one"), 30), "nothing runs")
    fleet.kill("hub")
    time.sleep(2 * LEASE)
    expect(marked("28.77"), "the step ended with the hub")
    fleet.start("hub")
    said = fleet.run("runs", "wait", run)
    expect("done" in said and losses(fleet, run) == 0 and len(starts(fleet, "one")) == 1, said)
    # A worker that ends meanwhile is lost as ever.
    run = fleet.background("slow-first")
    until_asleep()
    worker = who_works(fleet)
    fleet.kill("hub")
    fleet.kill(worker)
    fleet.start("hub")
    began = time.monotonic()
    expect(eventually(lambda: len(starts(fleet, "one")) == 2, LEASE + 5), "no other worker took the step")
    taken = time.monotonic() - began
    fleet.start(worker)
    expect(taken <= LEASE + 2 and losses(fleet, run) == 1, f"it took {taken:.1f} s")
    fleet.run("runs", "wait", run)
    return f"away {2 * LEASE} s, taken over {taken:.1f} s after it came back"


def output_for_an_away_hub(fleet):
    """A run doesn't wait for a hub that is away: its output waits in the worker, and is there when the hub is back."""
    alone(fleet)
    run = fleet.background("chatty")
    expect(eventually(lambda: starts(fleet, "one"), 30), "nothing runs")
    fleet.kill("hub")
    began = time.monotonic()
    expect(eventually(lambda: starts(fleet, "said"), 2 * LEASE), "the step waits for the hub")
    taken = time.monotonic() - began
    fleet.start("hub")
    said = fleet.run("runs", "wait", run)
    expect("done" in said and losses(fleet, run) == 0 and len(starts(fleet, "one")) == 1, said[-2000:])
    shown = fleet.run("runs", "show", run, "--output", "transcript")
    expect(shown.count("0" * 499 + "7") == 1000 and "end" in shown, shown[-2000:])
    return f"said everything after {taken:.1f} s"


def hub_frozen(fleet):
    """A hub that doesn't answer may give steps away, so they end; when it answers again, they were lost and have not failed."""
    run = fleet.background("slow-first")
    until_asleep()
    hub = fleet.running["hub"].pid
    os.kill(hub, signal.SIGSTOP)
    began = time.monotonic()
    expect(eventually(lambda: not marked("300.77"), LEASE), "the step lives, and the hub may give it away")
    ended = time.monotonic() - began
    time.sleep(2)
    os.kill(hub, signal.SIGCONT)
    expect(eventually(lambda: len(starts(fleet, "one")) == 2, 2 * LEASE), "the step doesn't start again")
    said = fleet.run("runs", "wait", run)
    expect("done again" in said and losses(fleet, run) == 1, said)
    return f"ended {ended:.1f} s"


def database_away(_):
    """The same for its database."""
    with Fleet(workers=1, postgres=Postgres()) as fleet:
        fleet.tool("long", LONG)
        alone(fleet)
        run = fleet.background("long")
        expect(eventually(lambda: starts(fleet, "one"), 30), "nothing runs")
        fleet.kill("postgres")
        time.sleep(2 * LEASE)
        expect(marked("28.77"), "the step ended with the database")
        fleet.start("postgres")
        said = fleet.run("runs", "wait", run)
        expect("done" in said and losses(fleet, run) == 0 and len(starts(fleet, "one")) == 1, said)
    return f"away {2 * LEASE} s"


def one_of_two_hubs_away(fleet):
    """Where another hub of the database may give the step away, a worker that loses its own ends it within the lease."""
    words = [os.environ["HUB"], "serve", "--data", ".", "--listen", f"127.0.0.1:{fleet.port + 5}", "--restate",
             f"127.0.0.1:{fleet.port + 1}"]
    fleet.running["second hub"] = subprocess.Popen(words, cwd=fleet.hub, env=fleet.environment, stdout=fleet.log, stderr=fleet.log)
    try:
        expect(eventually(lambda: fleet.open(fleet.port + 5), 10), "the second hub does not answer")
        time.sleep(2)
        fleet.background("slow-first")
        until_asleep()
        time.sleep(1)
        fleet.kill("hub")
        began = time.monotonic()
        expect(eventually(lambda: not marked("300.77"), LEASE), "the step lives, and the other hub may give it away")
        ended = time.monotonic() - began
    finally:
        fleet.kill("second hub")
        fleet.start("hub")
    return f"ended {ended:.1f} s"


def can_partition():
    done = subprocess.run(["unshare", "-n", "true"], capture_output=True)
    return done.returncode == 0 and os.getuid() == 0


def partitioned(seconds, losses_wanted, tool, most):
    def check(fleet):
        with Partition(fleet) as network:
            # The hub answers at the other end of the cable, too: a second one with the same database.
            words = [os.environ["HUB"], "serve", "--data", ".", "--listen", f"{network.ADDRESS}:{fleet.port}", "--restate",
                     f"127.0.0.1:{fleet.port + 1}"]
            hub = subprocess.Popen(words, cwd=fleet.hub, env=fleet.environment, stdout=fleet.log, stderr=fleet.log)
            fleet.running["far hub"] = hub
            home = fleet.hub / "far"
            home.mkdir(exist_ok=True)
            temporary = fleet.path / "tmp" / "far"
            temporary.mkdir(parents=True, exist_ok=True)
            environment = fleet.environment | {"CYCOD_HOME": str(home), "TMPDIR": str(temporary)}
            made = subprocess.run([os.environ["HUB"], "worker", "token", "--data", ".", "far"], cwd=fleet.hub, env=fleet.environment,
                                  capture_output=True)
            inside = ["ip", "netns", "exec", network.name, CYCOD, "worker"]
            url = f"http://{network.ADDRESS}:{fleet.port}"
            joined = subprocess.run([*inside, "join", url, "--token", made.stdout.decode().strip()], env=environment, capture_output=True)
            expect(joined.returncode == 0, joined.stderr.decode())
            far = subprocess.Popen(inside, env=environment, cwd=fleet.hub, stdout=fleet.log, stderr=fleet.log)
            fleet.running["far"] = far
            here = lambda: fleet.rows(f"SELECT 1 FROM workers WHERE name = 'far' AND seen > {int(time.time() * 1000) - 3000}")  # noqa: E731
            expect(eventually(here, 15), "the far worker is not here")
            try:
                # Only the far worker is there, until the network is cut.
                for worker in fleet.workers:
                    fleet.kill(worker)
                run = fleet.background(tool)
                expect(eventually(lambda: starts(fleet, "one"), 30), "nothing runs")
                network.cut()
                began = time.monotonic()
                for worker in fleet.workers:
                    fleet.start(worker)
                mark = "300.77" if tool == "slow-first" else "6.77"
                ended = None
                while time.monotonic() - began < seconds:
                    if ended is None and len(marked(mark)) == 0:
                        ended = time.monotonic() - began
                    time.sleep(0.05)
                network.join()
                said = fleet.run("runs", "wait", run)
                took = time.monotonic() - began
                expect("done" in said and losses(fleet, run) == losses_wanted, f"{losses(fleet, run)} lost: {said}")
                expect(len(starts(fleet, "one")) == 1 + losses_wanted, fleet.marked())
                if losses_wanted:
                    expect(ended and ended < LEASE, f"its processes ended after {ended} s")
                expect(took < most, f"the run took {took:.1f} s")
                return f"ended {took:.1f} s after the cut" + (f", its processes after {ended:.1f} s" if losses_wanted else "")
            finally:
                fleet.kill("far")
                fleet.kill("far hub")
                for worker in fleet.workers:
                    if worker not in fleet.running:
                        fleet.start(worker)

    return check


def main():
    checks = {
        "frozen worker": frozen,
        "killed worker": killed,
        "killed before its first report": before_its_first_report,
        "claimed from a hub that dies": claimed_from_a_dying_hub,
        "done while the hub is away": done_before_it_is_told,
        "cancelled": cancelled,
        "hub away for longer than the lease": hub_away,
        "much output while the hub is away": output_for_an_away_hub,
        "hub frozen for longer than the lease": hub_frozen,
        "one of two hubs away": one_of_two_hubs_away,
        "database away for longer than the lease": database_away,
        "partition shorter than the lease": partitioned(4, 0, "short", 20),
        "partition longer than the lease": partitioned(20, 1, "slow-first", 60),
    }
    wanted = sys.argv[1:]
    table = Table("outcome")
    with Fleet() as fleet:
        for name, text in {"slow-first": SLOW_FIRST, "short": SHORT, "once": ONCE, "long": LONG, "chatty": CHATTY}.items():
            fleet.tool(name, text)
        for name, check in checks.items():
            if wanted and not any(word in name for word in wanted):
                continue
            if "partition" in name and not can_partition():
                table.put(name, "outcome", "not run: it needs root")
                continue
            began = time.monotonic()
            if not table.check(name, "outcome", lambda: check(fleet)):
                # The next check has a whole fleet.
                for part in {"hub", *fleet.workers} - set(fleet.running):
                    fleet.start(part)
            print(name, round(time.monotonic() - began, 1), file=sys.stderr)
        if table.problems:
            print((fleet.path / "log").read_text()[-4000:])
    return table.show("failures")


if __name__ == "__main__":
    sys.exit(main())
