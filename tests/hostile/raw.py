"""The protocol as bytes: a client that can be told to misbehave."""

import http.client
import json
import queue
import socket
import subprocess
import threading

VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
META = "io.modelcontextprotocol/"


def message(era, number, method, params=None, capabilities=None):
    """A request as a well-behaved client of its era sends it; a notification when it has no number."""
    params = dict(params or {})
    if era == "modern" and number is not None:
        params["_meta"] = {
            META + "protocolVersion": VERSIONS[era],
            META + "clientInfo": {"name": "raw", "version": "1"},
            META + "clientCapabilities": capabilities or {},
            **params.get("_meta", {}),
        }
    whole = {"jsonrpc": "2.0", "method": method, "params": params}
    return whole if number is None else {**whole, "id": number}


def handshake(capabilities=None):
    return {
        "protocolVersion": VERSIONS["legacy"],
        "capabilities": capabilities or {},
        "clientInfo": {"name": "raw", "version": "1"},
    }


class Stdio:
    """A server on pipes."""

    def __init__(self, home, era, capabilities=None, options=()):
        self.era, self.capabilities, self.number = era, capabilities, 0
        self.log = open(home.path / "stdio.log", "ab")
        self.process = subprocess.Popen(
            home.stdio(*options),
            cwd=home.path,
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        self.heard, self.replies, self.sent = queue.Queue(), {}, {}
        self.listening = threading.Event()
        self.listening.set()
        threading.Thread(target=self._listen, daemon=True).start()
        if era == "legacy":
            self.ask("initialize", handshake(capabilities))
            self.send(message(era, None, "notifications/initialized"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def _listen(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))
            self.listening.wait()
        self.heard.put(None)

    def write(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, value):
        if isinstance(value, dict) and isinstance(value.get("id"), int):
            self.sent[value["id"]] = json.dumps(value)[:400]
        self.write(json.dumps(value).encode() + b"\n")

    def start(self, method, params=None):
        """Sends a request without waiting, and returns its number."""
        self.number += 1
        self.send(message(self.era, self.number, method, params, self.capabilities))
        return self.number

    def answer(self, number, seconds=20):
        """Waits for the answer to one request; what else arrives meanwhile is kept."""
        while number not in self.replies:
            try:
                heard = self.heard.get(timeout=seconds)
            except queue.Empty:
                raise TimeoutError(f"no answer to {self.sent.get(number, number)} in {seconds} s") from None
            if heard is None:
                raise ConnectionError(f"the server closed its output, exit code {self.process.wait(5)}")
            if "method" not in heard:
                self.replies[heard.get("id")] = heard
        return self.replies.pop(number)

    def ask(self, method, params=None, seconds=20):
        return self.answer(self.start(method, params), seconds)


class Http:
    """A server on HTTP. Every request has a connection of its own, so that each can be cut."""

    def __init__(self, server, era, capabilities=None, headers=None):
        self.server, self.era, self.capabilities, self.number = server, era, capabilities, 0
        self.path = "/" + server.url.split("/", 3)[3] if server.url.count("/") > 2 else "/"
        self.headers, self.session = headers or {}, None
        if era == "legacy":
            reply, _ = self.post(message(era, 0, "initialize", handshake(capabilities)))
            self.session = reply.getheader("Mcp-Session-Id")
            self.post(message(era, None, "notifications/initialized"))

    def standard_headers(self, value):
        params = value.get("params", {})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if value.get("method") != "initialize":
            headers["MCP-Protocol-Version"] = VERSIONS[self.era]
        if self.era == "modern":
            headers["Mcp-Method"] = value["method"]
            for name in ("name", "uri", "taskId"):
                if name in params:
                    headers["Mcp-Name"] = params[name]
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        return {**headers, **self.headers}

    def open(self, value, headers=None, method="POST", seconds=20):
        """Sends a request and returns its connection; the answer is not yet read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=seconds)
        body = value if isinstance(value, (bytes, str)) else json.dumps(value)
        sent = {**(self.standard_headers(value) if isinstance(value, dict) else {}), **(headers or {})}
        connection.request(method, self.path, body, {name: text for name, text in sent.items() if text is not None})
        return connection

    def post(self, value, headers=None, method="POST", seconds=20):
        """Sends a request and returns the response and the answer in it, if there is one."""
        connection = self.open(value, headers, method, seconds)
        try:
            response = connection.getresponse()
            return response, answer_in(response)
        finally:
            connection.close()

    def start(self, method, params=None):
        self.number += 1
        return self.open(message(self.era, self.number, method, params, self.capabilities))

    def ask(self, method, params=None, seconds=20):
        self.number += 1
        return self.post(message(self.era, self.number, method, params, self.capabilities), seconds=seconds)[1]

    def connect(self):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=20)


def answer_in(response):
    """The answer in a response, be it one document or a stream of events."""
    body = response.read()
    if "text/event-stream" not in (response.getheader("Content-Type") or ""):
        try:
            return json.loads(body)
        except ValueError:
            return {"text": body.decode(errors="replace")}
    events = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data:") and line[5:].strip()]
    return next((event for event in events if "id" in event and "method" not in event), {"events": events})
