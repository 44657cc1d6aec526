"""What durable runs cost, on this machine and on workers: ratios of the same run where there is something to compare with.

    CYCOD=target/release/cycod scripts/outside.sh figures        on a quiet machine, with a release build
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fleet import Fleet  # noqa: E402
from outside import CYCOD, eventually, expect, memory  # noqa: E402

ROUNDS = int(os.environ.get("CYCOD_FIGURES_ROUNDS", "15"))
STEPS = 20
TWENTY = "description: Twenty steps\ntags: [read]\nsteps:\n" + "".join(f"  - {{name: s{n}, bash: 'echo {n}'}}\n" for n in range(STEPS))
ONE = "description: One step\ntags: [read]\nbash: echo 1\n"
WAITS = """description: Waits until it is cancelled
durable: true
tags: [run]
security: {{isolation: none}}
steps:
  - {{name: one, bash: 'echo $$ >> {marks}; sleep 600'}}
"""


def timed(fleet, *words):
    began = time.perf_counter()
    done = subprocess.run([CYCOD, *words], cwd=fleet.project, env=fleet.environment, stdin=subprocess.DEVNULL, capture_output=True)
    expect(done.returncode == 0, done.stderr.decode())
    return time.perf_counter() - began


def paired(fleet, one, other):
    """The medians of two commands that run in turn."""
    pairs = [(timed(fleet, *one), timed(fleet, *other)) for _ in range(ROUNDS)]
    return [statistics.median(times) for times in zip(*pairs)]


def cancelled(fleet):
    """How long it takes from the command until the process of the step is gone."""
    run = fleet.background("waits")
    fleet.until_any()
    pid = int(fleet.marked()[0])
    time.sleep(0.5)
    began = time.monotonic()
    cancelling = subprocess.Popen([CYCOD, "runs", "cancel", run], cwd=fleet.project, env=fleet.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    expect(eventually(lambda: not Path(f"/proc/{pid}").exists(), 10), "the process lives")
    took = time.monotonic() - began
    cancelling.wait()
    return took


def main():
    with Fleet() as fleet:
        for name, text in {"twenty": TWENTY, "one": ONE, "waits": WAITS}.items():
            fleet.tool(name, text)
        plain, durable = paired(fleet, ["run", "twenty"], ["run", "twenty", "--durable"])
        print(f"{STEPS} steps of bash here, durable / not: {durable * 1000:.0f} / {plain * 1000:.0f} ms = {durable / plain:.2f}   (goal 1.15)")
        whole, spread = paired(fleet, ["run", "twenty", "--on", "fleet"], ["run", "twenty", "--on", "fleet", "--durable"])
        per_step = (spread - whole) / STEPS * 1000
        print(f"{STEPS} steps on workers, spread / on one: {spread * 1000:.0f} / {whole * 1000:.0f} ms: {per_step:.1f} ms for each step")
        here, there = paired(fleet, ["run", "one"], ["run", "one", "--on", "fleet"])
        print(f"one step, on a worker / here: {there * 1000:.0f} / {here * 1000:.0f} ms")
        times = [cancelled(fleet) for _ in range(5)]
        print(f"cancelled until its process is gone: {max(times):.2f} s at most of {len(times)}   (goal 1)")
        goals = {"hub": 60, **{worker: 25 for worker in fleet.workers}}
        for part in ("hub", "conductor", *fleet.workers):
            process = fleet.running[part].pid
            goal = f"   (goal {goals[part]})" if part in goals else ""
            print(f"{part}: {memory(process):.1f} MB resident, {memory(process, 'RssAnon'):.1f} MB of its own{goal}")


if __name__ == "__main__":
    main()
