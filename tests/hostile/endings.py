"""What the tests of endings share: calls that wait, and how long what they started is there."""

import os
import signal
import time
from contextlib import suppress

from outside import eventually, expect

from raw import message

# What a connection started is gone so many seconds after its end.
LIMIT = 2.0


def calls(client, tools, new_mark, running, seconds=10):
    """Starts every tool and returns, by tool, its mark and whatever stands for its call."""
    started = {}
    for name in tools:
        mark = new_mark()
        started[name] = (mark, client.start("tools/call", {"name": name, "arguments": {"mark": mark}}))
    for name, (mark, _) in started.items():
        expect(eventually(lambda: running(mark), seconds), f"`{name}` did not start")
    return started


def watch(table, row, started, process, ends, running):
    """Notes for every tool how long its processes were there after the end; for the server too, where it ends."""
    waited = {name: lambda mark=mark: not running(mark) for name, (mark, _) in started.items()}
    if ends:
        waited["the server"] = lambda: process.poll() is not None
    begin = time.monotonic()
    while waited:
        now = time.monotonic() - begin
        for name in [name for name, is_gone in waited.items() if is_gone()]:
            del waited[name]
            # What a sample costs is ours, a tenth of a second of it.
            late = f"gone after {now:.1f} s" if now > LIMIT + 0.1 else None
            table.put(row, name, "FAIL" if late else f"{now:.1f} s", late)
        if now > LIMIT:
            break
        time.sleep(0.02)
    for name in waited:
        table.put(row, name, "FAIL", f"still there after {LIMIT} s")
    for mark, _ in started.values():
        for left in running(mark):
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)


def cancel_on_stdio(client, process, started):
    for _, number in started.values():
        client.send(message(client.era, None, "notifications/cancelled", {"requestId": number, "reason": "enough"}))
