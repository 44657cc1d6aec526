"""Hostile clients on standard input and output."""

import json
import os
import queue
import time

from outside import Home, alive, eventually, expect, memory
from raw import Stdio, message

ERAS = ("legacy", "modern")
# A debug build with a few tools uses about 40 MB; whatever a client sends, the server stays below this.
BOUND = 300


def well(client):
    """The server does its work as if nothing had happened, and has not grown."""
    answer = client.ask("tools/call", {"name": "hello", "arguments": {"name": "you"}})
    expect("Hello, you" in str(answer), f"afterwards it answers {answer}")
    most = memory(client.process.pid, "VmHWM")
    expect(most < BOUND, f"took {most:.0f} MB")
    return f"{most:.0f} MB"


def garbage(client):
    lines = [b"", b" ", b"{", b"}", b"[]", b"null", b"true", b'"text"', b"0", b"1e999", b"\0\0\0", b"\xff\xfe\xfd", b"{}" * 50]
    lines += [os.urandom(300).replace(b"\n", b" ") for _ in range(50)]
    lines += [b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":990,"method":"ping"}', b'{"id":991,"method":"ping"}']
    lines += [b'{"jsonrpc":"2.0","id":7,"result":{}}', b'{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":""}}']
    for line in lines:
        client.write(line + b"\n")


def batches(client):
    request = message(client.era, 901, "tools/list")
    client.send([request, {**request, "id": 902}])
    client.send([])
    client.send([[[request]]])


def deep_json(client):
    for depth in (200, 10_000, 500_000):
        for deep in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
            params = b'{"name":"hello","arguments":{"name":' + deep + b"}}"
            client.write(b'{"jsonrpc":"2.0","id":903,"method":"tools/call","params":' + params + b"}\n")
            client.write(deep + b"\n")


def long_lines(client):
    for number, size in ((9041, 5_000_000), (9042, 17 << 20), (9043, 50_000_000)):
        client.send(message(client.era, number, "tools/call", {"name": "hello", "arguments": {"name": "x" * size}}))
        answer = client.answer(number)
        expect(size < 16 << 20 or answer.get("error", {}).get("code") == -32600, f"{size} bytes: {str(answer)[:200]}")
    client.write(b"x" * 50_000_000 + b"\n")


def no_machine_number(client):
    client.write(b'{"jsonrpc":"2.0","id":907,"method":"tools/call","params":{"name":"hello","arguments":{"name":1e400}}}\n')
    answer = client.answer(907)
    expect(answer.get("error", {}).get("code") == -32602, f"answered {answer}")


def no_json(client):
    client.write(b"nonsense\n")
    answer = client.answer(None)
    expect(answer.get("error", {}).get("code") == -32700, f"answered {answer}")


def same_number(client):
    for _ in range(50):
        client.send(message(client.era, 905, "tools/call", {"name": "hello", "arguments": {"name": "twin"}}))


def every_kind_of_number(client):
    for number in (0, -1, 2**53, 2**64, 1.5, "", "x" * 100_000, True, [], {}, None, "\u0000"):
        client.send({**message(client.era, 0, "tools/list"), "id": number})


def unknown_cancels(client):
    for number in [*range(100_000, 101_000), -1, "nobody", None, [], {}]:
        client.send(message(client.era, None, "notifications/cancelled", {"requestId": number}))


def notification_flood(client):
    flood = b"".join(
        json.dumps(message(client.era, None, method, {"progressToken": number, "progress": number})).encode() + b"\n"
        for number in range(25_000)
        for method in ("notifications/progress", "notifications/roots/list_changed", "notifications/nonsense")
    )
    client.write(flood)


def wrong_types(client):
    """Every method with parameters of every wrong kind gets an answer, and a call never one that counts as success."""
    methods = ["tools/call", "prompts/get", "resources/read", "completion/complete", "tools/list", "initialize"]
    methods += ["server/discover", "logging/setLevel", "tasks/get", "tasks/cancel", "nonsense", "", "tools/call\0"]
    wrong = [0, "text", [], [1], {}, {"name": 1}, {"name": None}, {"name": []}, {"name": "hello", "arguments": []}]
    wrong += [{"name": "hello", "arguments": "name=x"}, {"name": "hello", "arguments": {"name": {"deep": 1}}}]
    wrong += [{"name": "hello", "arguments": {"name": "x"}, "_meta": 1}, {"uri": 1}, {"cursor": {}}]
    wrong += [{"ref": 1, "argument": []}, {"protocolVersion": [], "capabilities": 1}, {"level": 1}, {"taskId": {}}]
    asked = {}
    for method in methods:
        for params in wrong:
            if isinstance(params, dict) and "_meta" not in params:
                number = client.start(method, params)
            else:
                client.number = number = client.number + 1
                client.send({**message(client.era, number, method), "params": params})
            asked[number] = f"{method} {params}"
    for number, what in asked.items():
        try:
            answer = client.answer(number, 3)
        except TimeoutError:
            break  # nothing more comes; what is missing is told below
        if what.startswith("tools/call {"):
            expect("error" in answer or answer["result"].get("isError"), f"{what} was answered with {answer}")
        asked[number] = None
    unanswered = [what for number, what in asked.items() if what and number not in client.replies]
    expect(not unanswered, f"{len(unanswered)} not answered by their number, such as {unanswered[:5]}")


def strange_values(client):
    client.write(b'{"jsonrpc":"2.0","id":906,"method":"tools/call","params":{"name":"hello","arguments":{"name":"\\ud800"}}}\n')
    for value in ("\0", "\x1b[2J", "\u202e", "\U000e0041", "-" * 200_000):
        answer = client.ask("tools/call", {"name": "hello", "arguments": {"name": value}})
        expect("result" in answer, f"{value[:9]!r} was answered with {answer}")


def many_at_once(client):
    """10,000 calls at the same time: each is answered exactly once, and the machine is not filled with processes."""
    most = 0
    numbers = {client.start("tools/call", {"name": "hello", "arguments": {"name": str(n)}}) for n in range(10_000)}
    deadline = time.monotonic() + 120
    while numbers:
        expect(time.monotonic() < deadline, f"{len(numbers)} of 10,000 not answered after 120 s")
        try:
            heard = client.heard.get(timeout=0.5)
        except queue.Empty:
            continue
        expect(heard is not None, "the server closed its output")
        if "method" not in heard:
            expect(heard["id"] in numbers, f"answered twice: {heard}")
            numbers.remove(heard["id"])
            if len(numbers) % 100 == 0:
                most = max(most, len(os.listdir(f"/proc/{client.process.pid}/task")))
    expect(most < 2_000, f"{most} threads")


CHECKS = [
    garbage, batches, deep_json, long_lines, no_machine_number, no_json, same_number, every_kind_of_number, unknown_cancels, notification_flood,
    wrong_types, strange_values,
]  # fmt: skip


def before_the_handshake(table):
    def test():
        with Home() as home, Stdio(home, "modern") as client:
            client.send(message("legacy", 1, "tools/call", {"name": "note", "arguments": {"text": "early"}}))
            client.send(message("legacy", 2, "tools/list"))
            eventually(lambda: False, 0.5)
            expect(not home.notes(), "a tool ran before the handshake")
            expect(alive(client.process.pid) or client.process.wait(2) == 0, "died")

    table.check("calls before the handshake", "stdio legacy", test)


def half_a_line(table, era):
    def test():
        with Home() as home, Stdio(home, era) as client:
            client.write(json.dumps(message(era, 5, "tools/list")).encode()[:-20])
            client.process.stdin.close()
            expect(client.process.wait(2) == 0, f"exit code {client.process.returncode}")

    table.check("end in the middle of a line", f"stdio {era}", test)


def deaf(table, era):
    """A client that asks and never reads: what it does not take must not pile up here."""

    def test():
        with Home() as home, Stdio(home, era) as client:
            client.listening.clear()
            line = json.dumps(message(era, 77, "tools/list")).encode() + b"\n"
            os.set_blocking(client.process.stdin.fileno(), False)
            sent, deadline = 0, time.monotonic() + 6
            while sent < 60_000 and time.monotonic() < deadline:
                try:
                    sent += (os.write(client.process.stdin.fileno(), line * 50) or 0) / len(line)
                except BlockingIOError:
                    time.sleep(0.02)
            most = memory(client.process.pid, "VmHWM")
            expect(most < BOUND, f"took {most:.0f} MB after {sent:.0f} requests")
            return f"{most:.0f} MB"

    table.check("a client that does not read", f"stdio {era}", test)


def judge(table, era, check):
    def test():
        with Home() as home, Stdio(home, era) as client:
            check(client)
            return well(client)

    table.check(check.__name__.replace("_", " "), f"stdio {era}", test)


def checks(table):
    for era in ERAS:
        for check in CHECKS:

            judge(table, era, check)
        half_a_line(table, era)
        deaf(table, era)
    before_the_handshake(table)
    # A minute of starting programs, which knows no era.
    judge(table, "modern", many_at_once)
