"""What durable runs cost, on this machine and on workers: ratios of the same run where there is something to compare with.

    CYCOD=target/release/cycod scripts/outside.sh figures        on a quiet machine, with a release build
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fleet import Fleet, free_ports  # noqa: E402
from outside import CYCOD, eventually, expect, memory  # noqa: E402

ROUNDS = int(os.environ.get("CYCOD_FIGURES_ROUNDS", "15"))
STEPS = 20
TWENTY = "description: Twenty steps\ntags: [read]\nsteps:\n" + "".join(f"  - {{name: s{n}, bash: 'echo {n}'}}\n" for n in range(STEPS))
RUNS, IN_FLIGHT = int(os.environ.get("CYCOD_FIGURES_RUNS", "512")), 64
DURABLE = "description: One step\ntags: [read]\ndurable: true\nbash: echo 1\n"
FLYING = DURABLE + "on: fleet\n"
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


def answered(server):
    line = server.stdout.readline()
    expect(line, "the server ended")
    return json.loads(line)


def in_flight(fleet, tool):
    """Runs of a tool that end in a second, when a client always waits for some."""
    server = subprocess.Popen([CYCOD, "mcp", "serve"], cwd=fleet.project, env=fleet.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=fleet.log, text=True)

    def say(**message):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "figures", "version": "1"}}
    say(id=0, method="initialize", params=client)
    answered(server)
    say(method="notifications/initialized")
    begun, ended, began = 0, 0, None
    while ended < RUNS + IN_FLIGHT:
        while begun < RUNS + IN_FLIGHT and begun - ended < IN_FLIGHT:
            begun += 1
            say(id=begun, method="tools/call", params={"name": tool, "arguments": {}})
        message = answered(server)
        if "id" in message and "method" not in message:
            expect(message.get("result", {}).get("isError") is not True and "result" in message, str(message))
            ended += 1
            # The first ones warm everything up.
            began = began or ended == IN_FLIGHT and time.perf_counter()
    rate = RUNS / (time.perf_counter() - began)
    server.stdin.close()
    server.wait(30)
    return rate


def asked(port, method, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body=body and json.dumps(body), headers={"content-type": "application/json"} if body else {})
    answer = connection.getresponse()
    said = answer.read().decode()
    expect(answer.status < 300, f"{path}: {answer.status} {said}")


def trivial(fleet):
    """Workflows of Restate's own that do nothing and end in a second, with as many in flight."""
    port = free_ports()
    service = subprocess.Popen([os.environ["TRIVIAL"], f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stderr=fleet.log)
    try:
        expect(eventually(lambda: fleet.open(port), 10), "the workflow does not answer")
        asked(fleet.port + 2, "POST", "/deployments", {"uri": f"http://127.0.0.1:{port}"})
        left, lock = iter(range(RUNS + IN_FLIGHT)), threading.Lock()
        times = []

        def client():
            while True:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                asked(fleet.port + 1, "POST", f"/Trivial/{port}-{number}/run", None)
                times.append(time.perf_counter())

        clients = [threading.Thread(target=client) for _ in range(IN_FLIGHT)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        expect(len(times) == RUNS + IN_FLIGHT, "a workflow failed")
        return RUNS / (times[-1] - times[IN_FLIGHT - 1])
    finally:
        service.kill()
        service.wait()


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
        fleet.tool("durable", DURABLE)
        fleet.tool("flying", FLYING)
        flying, local, nothing = in_flight(fleet, "flying"), in_flight(fleet, "durable"), trivial(fleet)
        print(f"{IN_FLIGHT} in flight: {flying:.1f} durable runs of one step a second on workers / {local:.1f} here"
              f" = {flying / local:.2f}")
        # These start no process; a run starts a confined bash, so on few processors no number near theirs can be had.
        print(f"{IN_FLIGHT} in flight: the same / {nothing:.1f} workflows of Restate that do nothing = {flying / nothing:.2f}")
        times = [cancelled(fleet) for _ in range(5)]
        print(f"cancelled until its process is gone: {max(times):.2f} s at most of {len(times)}   (goal 1)")
        goals = {"hub": 60, **{worker: 25 for worker in fleet.workers}}
        for part in ("hub", "conductor", *fleet.workers):
            process = fleet.running[part].pid
            goal = f"   (goal {goals[part]})" if part in goals else ""
            print(f"{part}: {memory(process):.1f} MB resident, {memory(process, 'RssAnon'):.1f} MB of its own{goal}")


if __name__ == "__main__":
    main()
