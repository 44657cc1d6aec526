"""A receiver of OpenTelemetry, made of its own definitions, reads what cycod sends.

HUB names the program cycod-hub, and restate-server is on the search path, for the runs on workers.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from google.protobuf.json_format import Parse  # noqa: E402
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status  # noqa: E402
from outside import CYCOD, Home, Server, Table, eventually, expect  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hostile"))
from raw import Http  # noqa: E402

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
ABOVE = f"00-{TRACE}-{PARENT}-01"
SECRET = "s3cr3t-v4lue-of-a-token"

SINGLE = "description: Says in which span it works\nbash: echo \"$TRACEPARENT\"\ntags: [read]\n"
SECRETIVE = (
    "description: Tells a secret\nbash: echo \"got $TOKEN\"; echo \"$TOKEN\" >&2; exit 3\ntags: [read]\n"
    "environment: {variables: {TOKEN: '${TOKEN}'}, secrets: [TOKEN]}\n"
)
WORKFLOW = """description: Makes and checks
tags: [read]
steps:
  - {name: make, bash: echo made}
  - {name: check, bash: 'exit 1', error-handling: {retry: {attempts: 1, delay: 1}}, continue-on-error: true}
  - {name: never, bash: echo never, run-condition: 'false'}
  - {name: inner, use-tool: single}
"""
FUNCTION = """description: Says in which span it works
tags: [read]
handler:
  language: python
  code: |
    import os
    def handler():
        return os.environ.get("TRACEPARENT", "-")
"""


class Receiver:
    """Takes what is sent; `wait` is how long it takes for each, `status` what it answers."""

    def __init__(self, wait=0.0, status=200):
        self.got = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append((self.path, dict(self.headers.items()), body))
                time.sleep(wait)
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def requests(self):
        read = []
        for path, headers, body in self.got:
            expect(path == "/v1/traces", path)
            kind = {name.lower(): value for name, value in headers.items()}["content-type"]
            if kind == "application/json":
                # JSON of OTLP has hexadecimal where JSON of protobuf has Base64, and is the same otherwise.
                read.append(Parse(json.dumps(with_base64(json.loads(body))), ExportTraceServiceRequest()))
            else:
                expect(kind == "application/x-protobuf", kind)
                read.append(ExportTraceServiceRequest.FromString(body))
        return read

    def spans(self):
        scopes = [scope for request in self.requests() for of in request.resource_spans for scope in of.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    def raw(self):
        return b"".join(body for _, _, body in self.got)


def with_base64(value):
    import base64

    if isinstance(value, list):
        return [with_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    encoded = {key: base64.b64encode(bytes.fromhex(value[key])).decode() for key in ids if key in value}
    return {key: encoded.get(key, with_base64(item)) for key, item in value.items()}


def attributes(of):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in of.attributes}


def event(span, name):
    found = [happened for happened in span.events if happened.name == name]
    expect(found, f"no event `{name}` among {[happened.name for happened in span.events]}")
    return attributes(found[0])


class Place(Home):
    """A project whose runs are traced."""

    def __init__(self, receiver, **more):
        super().__init__()
        self.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url
        self.environment.update(more)
        for name, text in {"single": SINGLE, "secretive": SECRETIVE, "workflow": WORKFLOW, "function": FUNCTION}.items():
            self.tool(name, text)

    def run(self, *arguments):
        command = [CYCOD, *arguments]
        return subprocess.run(command, cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)

    def timed(self, *arguments):
        begin = time.monotonic()
        return self.run(*arguments), time.monotonic() - begin


def single():
    receiver = Receiver()
    with Place(receiver, OTEL_SERVICE_NAME="shop", OTEL_RESOURCE_ATTRIBUTES="deployment.environment=a%20b") as place:
        ran = place.run("run", "single")
        expect(ran.returncode == 0, ran.stderr)
        spans = receiver.spans()
        expect(len(spans) == 2, [span.name for span in spans])
        root, step = spans
        resource = attributes(receiver.requests()[0].resource_spans[0].resource)
        expect(resource["service.name"] == "shop" and resource["deployment.environment"] == "a b", resource)
        expect(root.name == "execute_tool single" and root.kind == Span.SPAN_KIND_INTERNAL, root)
        expect(not root.parent_span_id and step.parent_span_id == root.span_id, "parents")
        expect(step.trace_id == root.trace_id, "traces")
        expect(root.start_time_unix_nano <= step.start_time_unix_nano <= step.end_time_unix_nano <= root.end_time_unix_nano, "times")
        told = ran.stdout.decode().strip()
        expect(told == f"00-{step.trace_id.hex()}-{step.span_id.hex()}-01", told)
        about = attributes(root)
        expect(about["cycod.run.id"] == root.trace_id.hex(), about)
        expect(about["gen_ai.tool.name"] == "single" and about["process.exit.code"] == 0, about)
        expect(root.status.code == Status.STATUS_CODE_OK, root.status)
        expect(event(root, "cycod.decision")["verdict"] == "allow", root.events)
        wrote = attributes(step)
        expect(wrote["cycod.output.stdout_bytes"] == len(ran.stdout), wrote)
        expect(told.encode() not in receiver.raw(), "output is sent")


def within():
    receiver = Receiver()
    with Place(receiver, TRACEPARENT=ABOVE, TRACESTATE="a=b", OTEL_EXPORTER_OTLP_PROTOCOL="http/json",
               OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20t") as place:
        expect(place.run("run", "single").returncode == 0, "it runs")
        root, _ = receiver.spans()
        expect(root.trace_id.hex() == TRACE and root.parent_span_id.hex() == PARENT, "the parent")
        expect(root.trace_state == "a=b", root.trace_state)
        expect(any(value == "Bearer t" for value in receiver.got[0][1].values()), "the header")
        place.environment["TRACEPARENT"] = ABOVE[:-1] + "0"
        told = place.run("run", "single").stdout.decode()
        expect(len(receiver.got) == 1, "what its parent does not record is sent")
        expect(told.startswith(f"00-{TRACE}-") and told.strip().endswith("-00"), told)


def workflow():
    receiver = Receiver()
    with Place(receiver) as place:
        place.run("run", "workflow")
        spans = {attributes(span).get("cycod.step", ""): span for span in receiver.spans()}
        inner = [path for path in spans if path.startswith("inner/")]
        expect({"", "make", "check", "inner"} <= set(spans) and len(inner) == 1, sorted(spans))
        root = spans[""]
        expect(spans["make"].parent_span_id == root.span_id, "the parent of a step")
        expect(spans[inner[0]].parent_span_id == spans["inner"].span_id, "the parent of a step within")
        check = spans["check"]
        expect(check.status.code == Status.STATUS_CODE_ERROR and attributes(check)["cycod.attempts"] == 2, check)
        expect(event(check, "retry")["process.exit.code"] == 1, check.events)
        expect(event(root, "not run")["cycod.step"] == "never", root.events)
        expect(len({span.span_id for span in spans.values()}) == len(spans), "numbers of spans")


def mcp():
    receiver = Receiver()
    with Place(receiver) as place:
        meta = {"traceparent": ABOVE, "tracestate": "vendor=1"}
        lines = [
            {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                         "clientInfo": {"name": "editor", "version": "1"}}},
            {"method": "notifications/initialized"},
            {"id": 1, "method": "tools/call", "params": {"name": "single", "arguments": {}, "_meta": meta}},
            {"id": 2, "method": "tools/call", "params": {"name": "function", "arguments": {}, "_meta": meta}},
            {"id": 3, "method": "tools/call", "params": {"name": "function", "arguments": {}}},
        ]
        server = subprocess.Popen(place.stdio(), cwd=place.path, env=place.environment, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        told = {}
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
            server.stdin.flush()
            while "id" in line and line["id"] not in told:
                answer = json.loads(server.stdout.readline())
                if "id" in answer:
                    told[answer["id"]] = answer
        server.stdin.close()
        server.wait(20)
        roots = [span for span in receiver.spans() if span.name.startswith("execute_tool")]
        expect(len(roots) == 3, [root.name for root in roots])
        for root in roots[:2]:
            expect(root.trace_id.hex() == TRACE and root.parent_span_id.hex() == PARENT, root)
            expect(root.kind == Span.SPAN_KIND_SERVER and root.trace_state == "vendor=1", root)
        expect(attributes(roots[0])["cycod.host"].startswith("editor"), attributes(roots[0]))
        expect(roots[2].trace_id.hex() != TRACE, "a call without a parent")
        text = {number: told[number]["result"]["content"][0]["text"].strip() for number in (1, 2, 3)}
        expect(text[1].startswith(f"00-{TRACE}-") and text[2].startswith(f"00-{TRACE}-"), text)
        # The process of a function stays; what it is told is that of the call.
        expect(text[3].startswith(f"00-{roots[2].trace_id.hex()}-"), text)


def over_http():
    receiver = Receiver()
    with Place(receiver) as place, Server(place) as server:
        for era in ("legacy", "modern"):
            receiver.got.clear()
            client = Http(server, era, headers={"traceparent": ABOVE, "tracestate": "vendor=1"})
            answer = client.ask("tools/call", {"name": "single", "arguments": {}})
            expect(answer["result"]["content"][0]["text"].startswith(f"00-{TRACE}-"), answer)
            expect(eventually(lambda: receiver.got, 10), "nothing was sent")
            root = receiver.spans()[0]
            expect(root.parent_span_id.hex() == PARENT and root.trace_state == "vendor=1", root)


ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params", {})
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "echo", "version": "1"}}
    elif method == "tools/list":
        answer["result"] = {"tools": [{"name": "meta", "description": "Tells its metadata", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": json.dumps(params.get("_meta", {}))}]}
    else:
        answer["error"] = {"code": -32601, "message": "there is no such method"}
    print(json.dumps(answer), flush=True)
"""


def to_servers():
    receiver = Receiver()
    with Place(receiver, TRACEPARENT=ABOVE, TRACESTATE="vendor=1") as place:
        (place.path / "echo.py").write_text(ECHO)
        echo = {"command": "python3", "args": [str(place.path / "echo.py")]}
        (place.path / ".cycod" / "mcp.json").write_text(json.dumps({"mcpServers": {"echo": echo}}))
        met = place.run("mcp", "test", "echo")
        ran = place.run("run", "mcp_echo_meta")
        expect(ran.returncode == 0, (met, ran))
        told = json.loads(ran.stdout)
        _, step = receiver.spans()
        expect(told["traceparent"] == f"00-{TRACE}-{step.span_id.hex()}-01", told)
        expect(told["tracestate"] == "vendor=1", told)


def masked():
    receiver = Receiver()
    with Place(receiver, TOKEN=SECRET) as place:
        ran = place.run("run", "secretive")
        expect(ran.returncode == 3, ran.stderr)
        root, step = receiver.spans()
        expect(root.status.code == Status.STATUS_CODE_ERROR and attributes(step)["process.exit.code"] == 3, root)
        expect(SECRET.encode() not in receiver.raw(), "a secret is sent")


def away():
    """One that does not answer, one that is not there and one that refuses: the run is the same, and a second longer at most."""
    with Place(Receiver()) as place:
        place.run("run", "single")
        usual = max(place.timed("run", "single")[1] for _ in range(3))
        for url in (Receiver(wait=30).url, Receiver(status=503).url, "http://127.0.0.1:9"):
            place.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = url
            ran, took = place.timed("run", "single")
            expect(ran.returncode == 0 and ran.stdout.startswith(b"00-"), ran)
            # A busy machine gets some time in addition.
            expect(took < usual + 2.0, f"{took} s, usually {usual} s")
            expect(b"not all traces were sent" in ran.stderr, ran.stderr)


def unasked():
    receiver = Receiver()
    with Place(receiver) as place:
        for name, value in {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none"}.items():
            place.environment[name] = value
            ran = place.run("run", "single")
            expect(ran.returncode == 0 and ran.stdout.strip() == b"", ran)
            del place.environment[name]
        place.environment["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc"
        ran = place.run("run", "single")
        expect(ran.returncode == 0 and b"no trace is sent: OTEL_EXPORTER_OTLP_PROTOCOL" in ran.stderr, ran)
        expect(receiver.got == [], "something is sent")


class Fleet(Place):
    """A project whose runs are traced, and whose tools run on two workers of a hub, with more in their environment."""

    def __init__(self, receiver, **more):
        super().__init__(receiver, OTEL_SERVICE_NAME="caller")
        self.project = self.path / "project"
        tools = self.project / ".cycod" / "tools"
        tools.mkdir(parents=True)
        for name, text in {"single": SINGLE, "workflow": WORKFLOW, "secretive": SECRETIVE}.items():
            (tools / f"{name}.yaml").write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        subprocess.run(["git", "add", "-A"], cwd=self.project, check=True)
        port = next(port for port in range(23000, 60000, 10) if all(is_free(port + more) for more in range(5)))
        environment = {**self.environment, **more, "PATH": f"{Path(CYCOD).parent}:{os.environ['PATH']}"}
        words = [os.environ["HUB"], "dev", "--data", str(self.path / "hub"), "--listen", f"127.0.0.1:{port}"]
        self.hub = subprocess.Popen(words, env=environment, cwd=self.path, stdout=subprocess.PIPE, start_new_session=True)
        said = ""
        while "The conductor is at" not in said:
            line = self.hub.stdout.readline().decode()
            expect(line, f"cycod-hub dev ended: {said}")
            said += line
        joined = self.run(*re.search(r"cycod (team join .*)", said)[1].split())
        expect(joined.returncode == 0, joined)
        for name in ("single", "workflow", "secretive"):
            expect(self.run("trust", name, "--yes").returncode == 0, name)

    def run(self, *arguments):
        command = [CYCOD, *arguments]
        return subprocess.run(command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)

    def __exit__(self, *arguments):
        os.killpg(self.hub.pid, signal.SIGTERM)
        self.hub.wait()
        self.hub.stdout.close()
        super().__exit__(*arguments)


def is_free(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) != 0


def by_service(receiver):
    """The spans that the caller sent, by their steps, and those that the workers sent."""
    sent = {"caller": [], "worker": []}
    for request in receiver.requests():
        for of in request.resource_spans:
            spans = [span for scope in of.scope_spans for span in scope.spans]
            sent[attributes(of.resource)["service.name"]] += spans
    return {attributes(span).get("cycod.step", ""): span for span in sent["caller"]}, sent["worker"]


def on_the_fleet():
    """One trace: the run and its steps come from the caller, and each worker adds what it did."""
    receiver = Receiver()
    with Fleet(receiver, OTEL_SERVICE_NAME="worker", TOKEN=SECRET) as place:
        place.environment.update(TRACEPARENT=ABOVE, TRACESTATE="a=b")
        for words, parts in (["single"], 1), (["workflow"], 1), (["workflow", "--durable"], 8):
            receiver.got.clear()
            ran = place.run("run", *words, "--on", "fleet")
            expect(ran.returncode == 0, ran.stderr)
            expect(eventually(lambda: len(by_service(receiver)[1]) >= parts, 20), by_service(receiver)[1])
            steps, workers = by_service(receiver)
            root = steps[""]
            everything = [*steps.values(), *workers]
            expect(all(span.trace_id.hex() == TRACE and span.trace_state == "a=b" for span in everything), "one trace")
            expect(len({span.span_id for span in everything}) == len(everything), "each span is sent once")
            expect(root.parent_span_id.hex() == PARENT, "the parent")
            for worker in workers:
                expect(worker.parent_span_id == root.span_id and worker.kind == Span.SPAN_KIND_SERVER, worker)
                expect(event(worker, "cycod.decision")["verdict"] == "allow", "the worker decides again")
            # What a step starts knows the span of the step.
            last = steps["single" if words == ["single"] else next(path for path in steps if path.startswith("inner/"))]
            told = ran.stdout.decode().strip().splitlines()[-1]
            expect(told == f"00-{TRACE}-{last.span_id.hex()}-01", (told, last))
        receiver.got.clear()
        ran = place.run("run", "secretive", "--on", "fleet")
        expect(ran.returncode == 3 and eventually(lambda: by_service(receiver)[1], 20), ran)
        expect(SECRET.encode() not in receiver.raw(), "a secret is sent")


def on_workers_that_send_nothing():
    receiver = Receiver()
    with Fleet(receiver, OTEL_SDK_DISABLED="true") as place:
        ran = place.run("run", "single", "--on", "fleet")
        _, step = receiver.spans()
        expect(ran.stdout.decode().strip() == f"00-{step.trace_id.hex()}-{step.span_id.hex()}-01", ran)
        # Without a trace here, there is none there.
        place.environment["OTEL_SDK_DISABLED"] = "true"
        expect(place.run("run", "single", "--on", "fleet").stdout.strip() == b"", "it has a trace")


def main():
    table = Table()
    for test in (single, within, workflow, mcp, over_http, to_servers, masked, away, unasked, on_the_fleet,
                 on_workers_that_send_nothing):
        table.check(test.__name__, "a receiver reads it", test)
    return table.show("OpenTelemetry")


if __name__ == "__main__":
    sys.exit(main())
