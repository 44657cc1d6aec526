"""Hostile clients on HTTP."""

import http.client
import json
import os
import socket
import stat
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from outside import Home, Server, below, eventually, expect, memory
from raw import VERSIONS, Http, handshake, message

BOUND = 300
CALL = message("modern", 1, "tools/call", {"name": "hello", "arguments": {"name": "you"}})
NOTE = message("modern", 2, "tools/call", {"name": "note", "arguments": {"text": "x"}}, {"elicitation": {}})


def status(client, value, headers=None, method="POST"):
    """The status of one exchange; 0 when the server hung up instead."""
    try:
        return client.post(value, headers, method)[0].status
    except (ConnectionError, http.client.HTTPException):
        return 0


def refused(client, value, headers, wanted, method="POST"):
    got = status(client, value, headers, method)
    expect(got in wanted, f"{method} with {headers} got {got}, and not one of {wanted}")


def well(server, client):
    answer = client.ask("tools/call", {"name": "hello", "arguments": {"name": "you"}})
    expect("Hello, you" in str(answer), f"afterwards it answers {answer}")
    most = memory(server.process.pid, "VmHWM")
    expect(most < BOUND, f"took {most:.0f} MB")
    return f"{most:.0f} MB"


def handshakes(server, client):
    """10,000 clients shake hands and never come back."""
    before = Http(server, "legacy")
    # As every client of its era does, it listens for what the server has to say.
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": before.session, "MCP-Protocol-Version": VERSIONS["legacy"]}
    listening = before.open(b"", headers, "GET")
    expect(listening.getresponse().status == 200, "cannot listen")
    body = json.dumps(message("legacy", 0, "initialize", handshake()))
    headers = {**before.standard_headers({"method": "initialize"}), "Mcp-Session-Id": None}
    headers = {name: text for name, text in headers.items() if text}

    def shake(count):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        seen = {}
        for _ in range(count):
            try:
                connection.request("POST", before.path, body, headers)
                response = connection.getresponse()
                response.read()
                got = response.status
            except (ConnectionError, http.client.HTTPException):
                connection.close()
                got = 0
            seen[got] = seen.get(got, 0) + 1
        connection.close()
        return seen

    with ThreadPoolExecutor(10) as pool:
        seen = list(pool.map(shake, [1_000] * 10))
    expect(set().union(*seen) <= {200, 429, 503}, f"answered {seen}")
    # Who comes without a handshake is not kept out by those; neither is who was there before.
    expect("Hello, you" in str(before.ask("tools/call", {"name": "hello", "arguments": {"name": "you"}})), "lost a session")
    listening.close()


def large_bodies(server, client):
    for size in (5_000_000, 50_000_000):
        value = message("modern", 1, "tools/call", {"name": "hello", "arguments": {"name": "x" * size}})
        refused(client, json.dumps(value), client.standard_headers(value), {413, 0})
        connection = client.connect()
        connection.sendall(head(client, "Transfer-Encoding: chunked"))
        try:
            for _ in range(size // 65_536):
                connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
            line = connection.recv(100)
        except ConnectionError:
            line = b""
        expect(not line or b" 413" in line, f"a body in pieces got {line}")
        connection.close()
    connection = client.connect()
    connection.settimeout(5)
    connection.sendall(head(client, "Content-Length: 99999999999"))
    expect(b" 413" in connection.recv(100), "took a body of 99999999999 bytes")


def deep_json(server, client):
    for depth in (200, 10_000, 500_000):
        for deep in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            value = json.dumps(CALL).replace('"you"', deep)
            for body in (value, deep):
                reply, answer = client.post(body, client.standard_headers(CALL))
                failed = reply.status >= 400 or "error" in answer or answer.get("result", {}).get("isError")
                expect(failed, f"depth {depth} got {reply.status} {str(answer)[:200]}")


def content_types(server, client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", None, "text/json"):
        refused(client, json.dumps(NOTE), {**client.standard_headers(NOTE), "Content-Type": kind}, {400, 415})
    expect(status(client, CALL, {"Content-Type": "application/json; charset=utf-8"}) == 200, "refused a charset")


def origins(server, client):
    port = server.port
    for origin in (
        "http://evil.example", "https://evil.example", "null", "http://127.0.0.1.evil.example", "http://localhost.evil.example",
        f"http://evil.example:{port}", "http://127.0.0.1@evil.example", "file://", "chrome-extension://x",
        "http://2130706433", f"http://localhost:{port}.evil.example", "http://\u2024localhost".encode().decode("latin-1"),
    ):  # fmt: skip
        refused(client, CALL, {"Origin": origin}, {400, 403})
    for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", None):
        got = status(client, CALL, {"Origin": origin})
        expect(got == 200, f"origin {origin} got {got}")


def hosts(server, client):
    port = server.port
    for host in (
        "evil.example", f"evil.example:{port}", "127.0.0.1.nip.io", f"x.127.0.0.1.nip.io:{port}", "127.0.0.1.evil.example",
        "localhost.evil.example", "0.0.0.0", "", "[::ffff:127.0.0.1].evil",
    ):  # fmt: skip
        refused(client, CALL, {"Host": host}, {400, 403, 421})
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        got = status(client, CALL, {"Host": host})
        expect(got == 200, f"host {host} got {got}")


def mismatches(server, client):
    for headers in (
        {"Mcp-Method": "tools/list"}, {"Mcp-Method": "TOOLS/CALL"}, {"Mcp-Method": None}, {"Mcp-Name": "note"}, {"Mcp-Name": None},
        {"MCP-Protocol-Version": VERSIONS["legacy"]},
    ):  # fmt: skip
        reply, answer = client.post(CALL, headers)
        code = answer.get("error", {}).get("code")
        expect(reply.status == 400 and code == -32020, f"{headers} got {reply.status} {code} {answer}")
    refused(client, CALL, {"MCP-Protocol-Version": "1999-01-01"}, {400})


def batches(server, client):
    reply, answer = client.post([CALL, {**CALL, "id": 9}], client.standard_headers(CALL))
    expect(reply.status in (400, 415), f"got {reply.status} {answer}")
    for body in ("", "[]", "null", "{", '"x"', "\0", "{}", "\ufeff{}"):
        refused(client, body.encode(), client.standard_headers(CALL), {400, 415, 422})


def other_paths(server, client):
    for path in ("/", "/admin", "//mcp", "/mcp/../etc/passwd", "/mcp%2f", "/%6dcp/x", "*"):
        if path == client.path:
            continue
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", path, json.dumps(CALL), client.standard_headers(CALL))
        got = connection.getresponse().status
        expect(got in (400, 404, 405), f"{path} got {got}")
        connection.close()
    for method in ("PUT", "PATCH", "TRACE", "CONNECT", "OPTIONS", "BREW"):
        reply, _ = client.post(CALL, method=method)
        expect(reply.status >= 400, f"{method} got {reply.status}")
        expect(reply.getheader("Access-Control-Allow-Origin") is None, f"{method} opens the server to every page")


def sessions(server, client):
    legacy = Http(server, "legacy")
    listing = message("legacy", 1, "tools/list")
    for session in ("nobody", "", "x" * 5_000, "'; --", f"{legacy.session}x"):
        refused(legacy, listing, {"Mcp-Session-Id": session}, {400, 404, 431})
    refused(legacy, listing, {"Mcp-Session-Id": None}, {400, 404, 422})
    refused(legacy, b"", {"Mcp-Session-Id": legacy.session, "MCP-Protocol-Version": "2025-11-25"}, {200, 202, 204}, "DELETE")
    refused(legacy, listing, {}, {404})


def smuggling(server, client):
    body = json.dumps(NOTE).encode()
    inner = head(client, f"Content-Length: {len(body)}", NOTE) + body
    for raw in (
        head(client, "Content-Length: 5\r\nTransfer-Encoding: chunked") + b"0\r\n\r\n" + inner,
        head(client, "Content-Length: 5\r\nContent-Length: 6") + b"123456" + inner,
        head(client, "Content-Length: -1"), head(client, "Content-Length: 0x10"), b"\r\n" * 1_000, b"GET\r\n\r\n", os.urandom(5_000),
        head(client, "Content-Length: 2").replace(b"Host:", b"Host: evil.example\r\nHost:") + b"{}",
        head(client, "X: " + "x" * 5_000_000), head(client, "\r\n".join(f"X-{n}: x" for n in range(5_000))),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"\0" * 500,
    ):  # fmt: skip
        connection = client.connect()
        try:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            heard = b"".join(iter(lambda: connection.recv(65_536), b""))
        except OSError:  # it hung up, be it before we were done
            heard = b""
        connection.close()
        first = heard.split(b"\r\n")[0]
        expect(b" 200" not in heard, f"{raw[:80]!r} got {first}")


def head(client, more, value=CALL):
    lines = [f"POST {client.path} HTTP/1.1", f"Host: 127.0.0.1:{client.server.port}"]
    lines += [f"{name}: {text}" for name, text in client.standard_headers(value).items()]
    return ("\r\n".join([*lines, more]) + "\r\n\r\n").encode()


def half_closed(server, client):
    """Says that it will send no more, and still waits for the answer."""
    body = json.dumps(CALL).encode()
    for _ in range(20):
        connection = client.connect()
        connection.sendall(head(client, f"Content-Length: {len(body)}") + body)
        connection.shutdown(socket.SHUT_WR)
        heard = b"".join(iter(lambda: connection.recv(65_536), b""))
        connection.close()
        expect(heard == b"" or b"Hello, you" in heard, f"heard {heard[:200]}")


def resets(server, client):
    """500 clients tear the connection while their call runs."""
    mark = str(server.log.parent / "mark")
    for number in range(500):
        value = message("modern", number, "tools/call", {"name": "linger", "arguments": {"mark": mark}})
        body = json.dumps(value).encode()
        connection = client.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(head(client, f"Content-Length: {len(body)}", value) + body)
        connection.close()
    started = server.process.pid
    expect(eventually(lambda: len(below(started)) <= 2, 10), f"the processes {below(started)} are left")


def many_at_once(server, client):
    """1,000 calls at the same time, each on a connection of its own: each is answered, if only with `later`."""

    def one(number):
        try:
            value = message("modern", number, "tools/call", {"name": "hello", "arguments": {"name": f"n{number}"}})
            reply, answer = client.post(value, seconds=60)
        except (ConnectionError, http.client.HTTPException):
            return 0
        expect(reply.status != 200 or f"Hello, n{number}" in str(answer), f"{number} was answered with {answer}")
        return reply.status

    with ThreadPoolExecutor(200) as pool:
        seen = list(pool.map(one, range(1_000)))
    expect(set(seen) <= {200, 429, 503}, f"answered {sorted(set(seen))}")
    expect(seen.count(200) >= 100, f"only {seen.count(200)} calls were served")


def slow(server, client):
    """Clients that send a byte now and then do not keep others out, and are sent away."""
    connections = []
    for number in range(300):
        connection = client.connect()
        whole = head(client, "Content-Length: 1000")
        connection.sendall(whole[:40] if number % 2 else whole + b"{")
        connections.append(connection)
    begin = time.monotonic()
    left = connections
    while left and time.monotonic() - begin < 60:
        asked = time.monotonic()
        expect("Hello, you" in str(client.ask("tools/call", CALL["params"])), "kept others out")
        expect(time.monotonic() - asked < 5, "made others wait")
        left = [connection for connection in left if drips(connection)]
        time.sleep(1)
    for connection in connections:
        connection.close()
    expect(not left, f"{len(left)} of 300 are still connected after a minute")


def drips(connection):
    """Sends one more byte; whether the other side still listens."""
    try:
        connection.setblocking(False)
        connection.send(b"x")
        return connection.recv(1_000) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


CHECKS = [
    content_types, origins, hosts, mismatches, batches, other_paths, sessions, smuggling, half_closed, resets, deep_json,
    large_bodies, many_at_once, handshakes, slow,
]  # fmt: skip


def tokens():
    """Nobody comes in without the token, which only its owner can read."""
    with Home() as home, Server(home, token=home.path / "token") as server:
        mode = stat.S_IMODE(os.stat(home.path / "token").st_mode)
        expect(mode == 0o600, f"the token's file has mode {mode:o}")
        token = (home.path / "token").read_text().strip()
        expect(len(token) >= 32, f"a token of {len(token)} characters")
        expect(token not in server.log.read_text(), "the token is in the log")
        client = Http(server, "modern")
        wrong = ["", "Bearer", "Bearer ", "Bearer x", f"Bearer {token[:-1]}", f"Bearer {token}x", f"Basic {token}", token]
        for value in [None, *wrong, f"Bearer {token.swapcase()}", f"Bearer {token}, Bearer x"]:
            reply, _ = client.post(CALL, {"Authorization": value})
            expect(reply.status == 401, f"`{value}` got {reply.status}")
            expect("bearer" in (reply.getheader("WWW-Authenticate") or "").lower(), "a 401 does not say how to come in")
        reply, _ = client.post(message("legacy", 0, "initialize", handshake()), {"MCP-Protocol-Version": None})
        expect(reply.status == 401, f"a handshake without a token got {reply.status}")
        client.path += f"?access_token={token}"
        expect(client.post(CALL)[0].status == 401, "took a token from the address, which ends up in logs")
        allowed = Http(server, "modern", headers={"Authorization": f"Bearer {token}"})
        return well(server, allowed)


def public_address():
    """What everybody can reach needs authentication."""
    with Home() as home:
        for address in ("0.0.0.0:0", "[::]:0"):
            done = subprocess.run(
                home.stdio("--http", address, "--no-auth"),
                env=home.environment, cwd=home.path, capture_output=True, text=True, timeout=5, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            expect(done.returncode != 0 and "--no-auth" in done.stderr, f"exit code {done.returncode}: {done.stderr}")


def checks(table):
    for check in CHECKS:

        def test():
            with Home() as home, Server(home) as server:
                client = Http(server, "modern")
                check(server, client)
                return well(server, client)

        table.check(check.__name__.replace("_", " "), "http", test)
    table.check("tokens", "http", tokens)
    table.check("a public address without authentication", "http", public_address)
