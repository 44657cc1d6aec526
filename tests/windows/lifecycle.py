"""However a connection with the program for Windows ends, nothing that it started is there two seconds later. Under Wine.

CYCOD names `cycod.exe`, and the variables of Wine say where its Windows is. `.cycod` of its user is replaced.
"""

import itertools
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "hostile")]
from outside import CYCOD, Table, eventually, expect, marked  # noqa: E402

from endings import calls, cancel_on_stdio, watch  # noqa: E402
from home import user_directory  # noqa: E402
from raw import Stdio  # noqa: E402

# Each waits in a `ping` whose argument nothing can shed: how many milliseconds it waits for an answer.
WAITING = "ping -n 600 -w {mark} 127.0.0.1"
MANY = 5
TOOLS = {
    "waits": WAITING,
    "below": f"cmd /c {WAITING}",
    "many": " & ".join([f'start /b "" {WAITING}'] * (MANY - 1) + [WAITING]),
    "leaves": f'start /b "" {WAITING} & ping -n 600 -w {{mark}} 127.0.0.1 > NUL',
}


class Home:
    """The home directory of the user of Wine's Windows, with tools in it."""

    def __init__(self):
        self.path, self.environment = user_directory(), dict(os.environ)
        self.own = self.path / ".cycod"

    def __enter__(self):
        tools = self.own / "tools"
        shutil.rmtree(self.own, ignore_errors=True)
        self.own.mkdir(mode=0o700)
        tools.mkdir(mode=0o700)
        head = "tags: [read]\ntimeout: 600000\nparameters:\n"
        for name, command in TOOLS.items():
            mark = "  mark: {description: How long, type: integer, required: true}\n"
            (tools / f"{name}.yaml").write_text(f"description: Waits\n{head}{mark}cmd: {command!r}\n")
        text = "  text: {description: A text, type: string, required: true}\n"
        (tools / "says.yaml").write_text(f"description: Says it\n{head}{text}cmd: echo \"{{text}}\"\n")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.own, ignore_errors=True)

    def stdio(self, *options):
        return ["wine", CYCOD, "mcp", "serve", *options]


def clear(started):
    """Ends what Wine was about to make a process of when its parent ended: it waits for its server, and is no program yet."""
    for mark, _ in started.values():
        for left in marked(str(mark), ("wine64", "wine64-preloader", "wine", "wine-preloader")):
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)


def running(mark):
    return marked(str(mark), ("PING.EXE", "ping.exe", "cmd.exe", "CMD.EXE"))


MARKS = itertools.count(100_000_000 + os.getpid() * 1000)


ENDINGS = {
    "end of input": lambda client, process, started: process.stdin.close(),
    "Ctrl-C": lambda client, process, started: process.send_signal(signal.SIGINT),
    "a kill": lambda client, process, started: process.kill(),
    "cancel": cancel_on_stdio,
}


def says(client, text):
    answer = client.ask("tools/call", {"name": "says", "arguments": {"text": text}}, seconds=60)
    expect(f'"{text}"' in answer["result"]["content"][0]["text"], f"answered {answer}")
    return "answers"


def many_at_once(client):
    """Each gets the answer to its own question."""
    numbers = {n: client.start("tools/call", {"name": "says", "arguments": {"text": f"{n} & more"}}) for n in range(16)}
    for text, number in numbers.items():
        answer = client.answer(number, 60)
        expect(f'"{text} & more"' in answer["result"]["content"][0]["text"], f"{text}: answered {answer}")
    return "16 answers"


def nonsense(client):
    """A line that isn't JSON, a method that isn't there and a line that ends as Windows ends lines."""
    client.write(b'{"jsonrpc": nothing}\n')
    expect(client.answer(None)["error"]["code"] == -32700, "it read nonsense")
    expect(client.ask("tools/none")["error"]["code"] == -32601, "it knows a method that isn't there")
    client.write(b'{"jsonrpc":"2.0","id":77,"method":"ping","params":{}}\r\n')
    expect("id" in client.answer(77), "it wants other ends of lines")
    return says(client, "still here")


def main():
    table = Table(*TOOLS, "the server")
    for era in ("legacy", "modern"):
        for what, end in ENDINGS.items():
            row = f"{era}: {what}"
            with Home() as home, Stdio(home, era) as client:
                try:
                    # Starting a program under Wine takes long on a busy machine.
                    started = calls(client, TOOLS, lambda: next(MARKS), running, seconds=30)
                    # One of them may still wait; the shell has the mark in its text, too.
                    expect(eventually(lambda: len(running(started["many"][0])) >= MANY, 30), "not all of `many` started")
                    end(client, client.process, started)
                    watch(table, row, started, client.process, what != "cancel", running)
                    clear(started)
                    if what == "cancel":
                        table.check(row, "the server", lambda: says(client, "you"))
                except Exception as error:
                    table.put(row, "the server", "FAIL", f"{type(error).__name__}: {error}")
        with Home() as home, Stdio(home, era) as client:
            table.check(f"{era}: many at once", "the server", lambda: many_at_once(client))
            table.check(f"{era}: nonsense", "the server", lambda: nonsense(client))
    return table.show("lifecycle on Windows")


sys.exit(main())
