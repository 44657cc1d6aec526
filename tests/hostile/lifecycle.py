"""However a connection ends, nothing that it started is there two seconds later."""

import os
import random
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import Home, Server, Table, eventually, expect, marked  # noqa: E402

from endings import calls, cancel_on_stdio, watch  # noqa: E402
from raw import Http, Stdio, message  # noqa: E402

# Each waits in `sleep {mark}`, whose argument nothing can shed.
TOOLS = {
    "waits": "sleep {mark}",
    "many": "for i in 1 2 3 4 5 6 7 8; do sleep {mark} & done; wait",
    "ignores-term": "trap '' TERM INT HUP; while :; do sleep {mark}; done",
    "child-ignores-term": "bash -c 'trap \"\" TERM INT HUP; sleep \"$0\"; sleep \"$0\"' {mark} & wait",
    "new-session": "setsid sleep {mark} & wait",
    "double-fork": "(setsid env -i sleep {mark} </dev/null >/dev/null 2>&1 &); sleep {mark}",
    "stopped": "sleep {mark} & kill -STOP $!; kill -STOP $$",
}
LEAVES_BEHIND = "(setsid env -i sleep {mark} </dev/null >/dev/null 2>&1 &); echo done"
ERAS = ("legacy", "modern")


def new_mark():
    return f"600.{random.randrange(10**9):09}"


def tool(name, command):
    return (
        f"name: {name}\ndescription: Does not go by itself\ntags: [read]\ntimeout: 600000\nparameters:\n"
        f"  mark: {{description: How long it sleeps, type: number, required: true}}\nbash: |\n  {command}\n"
    )


def started_by(client):
    return calls(client, TOOLS, new_mark, marked)


def still_answers(table, row, client):
    def test():
        answer = client.ask("tools/call", {"name": "hello", "arguments": {"name": "you"}})
        expect("Hello, you" in str(answer), f"answered {answer}")
        return "answers"

    table.check(row, "the server", test)


def kill(number):
    return lambda client, process, started: process.send_signal(number)


def end_input(client, process, started):
    process.stdin.close()


def stop_listening(client, process, started):
    """The client is gone in one direction only: nobody reads the output any more."""
    os.close(os.dup2(os.open("/dev/null", os.O_RDONLY), process.stdout.fileno()))
    client.start("tools/list")


def cancel_by_post(client, process, started):
    for number in range(client.number - len(started) + 1, client.number + 1):
        client.post(message(client.era, None, "notifications/cancelled", {"requestId": number}))


def disconnect(client, process, started):
    for _, connection in started.values():
        connection.close()


def delete_session(client, process, started):
    client.post(b"", {"Mcp-Session-Id": client.session, "MCP-Protocol-Version": "2025-11-25"}, method="DELETE")


SIGNALS = {"SIGTERM": kill(signal.SIGTERM), "SIGINT": kill(signal.SIGINT), "SIGKILL": kill(signal.SIGKILL)}


def on_stdio(table, era):
    endings = {"end of input": end_input, **SIGNALS, "cancel": cancel_on_stdio}
    for what, end in endings.items():
        with home_with_tools() as home, Stdio(home, era) as client:
            row = f"stdio {era}: {what}"
            started = started_by(client)
            end(client, client.process, started)
            watch(table, row, started, client.process, what != "cancel", marked)
            if what == "cancel":
                still_answers(table, row, client)


def on_http(table, era):
    stays = {"disconnect": disconnect}
    if era == "legacy":
        stays |= {"cancel": cancel_by_post, "session deleted": delete_session}
    for what, end in {**SIGNALS, **stays}.items():
        with home_with_tools() as home, Server(home) as server:
            row = f"http {era}: {what}"
            client = Http(server, era)
            started = started_by(client)
            end(client, server.process, started)
            watch(table, row, started, server.process, what not in stays, marked)
            if what in stays:
                still_answers(table, row, Http(server, era))


def a_tool_that_leaves_something(table):
    """A call is over when nothing of it is left, though the tool itself came to a good end."""
    with home_with_tools() as home, Stdio(home, "modern") as client:
        home.tool("leaves-behind", tool("leaves-behind", LEAVES_BEHIND))
        mark = new_mark()

        def test():
            def answered():
                answer = client.ask("tools/call", {"name": "leaves-behind", "arguments": {"mark": mark}})
                return "done" in str(answer) and answer

            expect(eventually(answered, 5), "did not answer")
            expect(not marked(mark), "left a process behind")

        table.check("a tool leaves a process behind", "waits", test)


def home_with_tools():
    home = Home()
    for name, command in TOOLS.items():
        home.tool(name, tool(name, command))
    return home


def main():
    table = Table(*TOOLS, "the server")
    for era in ERAS:
        for part in (on_stdio, on_http):
            try:
                part(table, era)
            except Exception as error:
                table.put(f"{part.__name__} {era}", "the server", "FAIL", f"{type(error).__name__}: {error}")
    a_tool_that_leaves_something(table)
    return table.show("lifecycle")


sys.exit(main())
