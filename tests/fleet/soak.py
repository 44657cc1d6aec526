"""Durable runs one after the other for some minutes: whether the memory of the parts stays as it is.

    CYCOD_SOAK_MINUTES=10 HUB=… RESTATE=… CYCOD=… python3 tests/fleet/soak.py
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fleet import Fleet  # noqa: E402
from outside import CYCOD, expect, memory  # noqa: E402

MINUTES = float(os.environ.get("CYCOD_SOAK_MINUTES", "10"))
# After which part of the time everything has been used once.
WARM = 0.3
# In seconds. A run takes one or two.
LONGEST = 120
# What the allocators and caches of a part may take on top, in MB.
MORE = 6

TOOL = """description: Is run again and again
durable: true
tags: [read]
parameters:
  N: {type: string, pattern: "^[0-9]+$", description: Which run}
steps:
  - {name: a, bash: "echo A-{N}"}
  - {name: b, bash: "head -c 20000 /dev/zero | tr '\\\\0' x; echo B-{N}", parallel: true}
  - {name: c, bash: "echo end {a.output}", wait-for: [a, b]}
"""


def main():
    with Fleet() as fleet:
        fleet.tool("again", TOOL)
        until, counts, wrong = time.monotonic() + MINUTES * 60, [0, 0], []

        def run(index):
            while time.monotonic() < until and not wrong:
                counts[index] += 1
                words = [CYCOD, "run", "again", f"N={counts[index]}", "--on", "fleet"]
                try:
                    done = subprocess.run(words, cwd=fleet.project, env=fleet.environment, stdin=subprocess.DEVNULL,
                                          capture_output=True, timeout=LONGEST)
                except subprocess.TimeoutExpired:
                    ended = [part for part, process in fleet.running.items() if process.poll() is not None]
                    wrong.append(f"a run has not ended after {LONGEST} s; parts that have: {ended}")
                    return
                if done.returncode != 0 or f"end A-{counts[index]}" not in done.stdout.decode():
                    wrong.append(done.stdout.decode() + done.stderr.decode())

        threads = [threading.Thread(target=run, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        parts = ["hub", "conductor", *fleet.workers]
        used = lambda: {part: (memory(fleet.running[part].pid), memory(fleet.running[part].pid, "RssAnon")) for part in parts}  # noqa: E731
        time.sleep(MINUTES * 60 * WARM)
        first, runs = used(), sum(counts)
        for thread in threads:
            thread.join()
        last = used()
        expect(not wrong, wrong)
        print(f"{sum(counts)} runs, {sum(counts) - runs} of them between the two measurements")
        for part in parts:
            print(f"{part:10}  {first[part][0]:6.1f} → {last[part][0]:6.1f} MB resident, {first[part][1]:6.1f} → {last[part][1]:6.1f} MB of its own")
        for part in parts:
            expect(last[part][1] <= first[part][1] + MORE, f"{part} grows")


if __name__ == "__main__":
    main()
