"""Other people's clients against our server: every check with every client, transport and protocol era.

    CYCOD=… NODE=… NODE_MODULES=… run.py [CLIENT…]     official, official1, fast, sdk1, sdk2, inspector, awkward,
                                                       gateway
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import NODE, Home, Server, Table, alive, eventually, expect  # noqa: E402

import awkward  # noqa: E402
import gateway  # noqa: E402
import inspector  # noqa: E402

HERE = Path(__file__).resolve().parent
# Node finds packages beside the script that asks, so the scripts go where the packages are.
SCRIPTS = Path(os.environ["NODE_MODULES"]).parent / "clients"
PATIENCE = 30
ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
DRIVERS = {
    "official": ([sys.executable, str(HERE / "official.py")], ERAS),
    "official1": ([str(SCRIPTS.parent / "python1" / "bin" / "python"), str(HERE / "official1.py")], ["legacy"]),
    "fast": ([sys.executable, str(HERE / "fast.py")], ERAS),
    "sdk1": ([NODE, str(SCRIPTS / "sdk1.mjs")], ["legacy"]),
    "sdk2": ([NODE, str(SCRIPTS / "sdk2.mjs")], ERAS),
}


class Failed(Exception):
    """What a client says when the server answers with an error of the protocol."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]


class Client:
    """One client, connected. Its operations are methods: `client.call(tool="hello", arguments={…})`."""

    def __init__(self, driver, home, era, url, elicits=True, options=()):
        command = home.stdio(*options)
        server = {"command": command[0], "args": command[1:], "env": home.environment, "cwd": str(home.path)}
        settings = {"era": era, "elicits": elicits, "server": server, "url": url}
        self.log = open(home.path / "client.log", "a+b")
        self.process = subprocess.Popen(
            [*driver, json.dumps(settings)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.greeting = self._line("connecting")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def __getattr__(self, operation):
        def ask(**request):
            self.process.stdin.write(json.dumps({"do": operation, **request}).encode() + b"\n")
            self.process.stdin.flush()
            reply = self._line(f"`{operation}` {request}")
            if "error" in reply:
                raise Failed(reply["error"])
            return reply["ok"]

        return ask

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _line(self, what):
        try:
            line = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            line = None
        if line is None:
            self.log.seek(0)
            ending = self.log.read()[-2000:].decode(errors="replace")
            raise RuntimeError(f"the client ended or said nothing for {PATIENCE} s while {what}:\n{ending}")
        return json.loads(line)


def text(result):
    return "\n".join(block.get("text", "") for block in result["content"])


def greeting(client, home, era):
    expect(client.greeting["version"] == ERAS[era], f"negotiated {client.greeting['version']}")
    expect(client.greeting["server"]["name"] == "cycod", f"the server calls itself {client.greeting['server']}")


def listing(client, home, era):
    result = client.tools()
    expect(not result.get("nextCursor"), "the list came in pages, which many clients do not turn")
    tools = {tool["name"]: tool for tool in result["tools"]}
    missing = {"hello", "add", "fail", "count", "linger", "note"} - tools.keys()
    expect(not missing, f"not listed: {missing}")
    other = {"letter", "motto", "shout"} & tools.keys()
    expect(not other, f"listed as tools, though offered otherwise: {other}")
    hello, note = tools["hello"], tools["note"]
    expect(hello.get("title") == "Greeting", f"title: {hello.get('title')}")
    expect(hello["inputSchema"].get("required") == ["name"], f"schema: {hello['inputSchema']}")
    hints = hello.get("annotations", {})
    expect(hints.get("readOnlyHint") is True and hints.get("idempotentHint") is True, f"hints of hello: {hints}")
    expect(note.get("annotations", {}).get("readOnlyHint") is not True, f"hints of note: {note.get('annotations')}")
    promised = tools["add"].get("outputSchema", {}).get("properties", {}).get("sum", {})
    expect(promised.get("type") == "integer", f"output schema: {tools['add'].get('outputSchema')}")


def calling(client, home, era):
    hostile = "$(touch pwned)`touch pwned`'; touch pwned # \"\n\\ ünï\N{PILE OF POO}"
    for name in ["World", hostile]:
        result = client.call(tool="hello", arguments={"name": name})["result"]
        expect(not result.get("isError"), f"failed: {text(result)}")
        expect(text(result).rstrip("\n") == f"Hello, {name}".rstrip("\n"), f"answered {text(result)!r}")
    expect(not list(home.path.rglob("pwned")), "a value was run")


def structured(client, home, era):
    result = client.call(tool="add", arguments={"a": 2, "b": 3})["result"]
    expect(result.get("structuredContent") == {"sum": 5}, f"structured: {result}")
    expect(json.loads(text(result)) == {"sum": 5}, f"text: {text(result)!r}")


def broken_promise(client, home, era):
    result = client.call(tool="broken-promise")["result"]
    expect(result.get("isError") is True, f"accepted: {result}")
    expect("sum" in text(result), f"does not say where: {text(result)}")


def failing(client, home, era):
    result = client.call(tool="fail")["result"]
    expect(result.get("isError") is True, f"accepted: {result}")
    expect("the disk is on fire" in text(result), f"does not say why: {text(result)}")


def wrong_arguments(client, home, era):
    for given, word in [({}, "name"), ({"name": "x", "nmae": "y"}, "nmae")]:
        result = client.call(tool="hello", arguments=given)["result"]
        expect(result.get("isError") is True, f"accepted {given}: {result}")
        expect(word in text(result), f"does not name `{word}`: {text(result)}")
    result = client.call(tool="add", arguments={"a": "many", "b": 1})["result"]
    expect(result.get("isError") is True and "integer" in text(result), f"wrong type: {result}")


def unknown_tool(client, home, era):
    try:
        result = client.call(tool="no-such-tool")
    except Failed as error:
        expect(error.code == -32602, f"refused with {error}")
    else:
        raise AssertionError(f"answered {result}")


def progress(client, home, era):
    reply = client.call(tool="count")
    reports = reply["progress"]
    done = [report["progress"] for report in reports]
    expect(done == sorted(set(done)) and len(done) >= 3, f"progress must grow: {reports}")
    for number in (1, 2, 3):
        expect(any(report.get("message") == f"number {number}" for report in reports), f"missed {number}: {reports}")
    expect(not reply["result"].get("isError"), f"failed: {reply['result']}")


def cancelling(client, home, era):
    mark = home.path / f"mark-{era}"
    reply = client.call(tool="linger", arguments={"mark": str(mark)}, cancel=str(mark))
    expect(reply["result"] is None, f"not cancelled: {reply}")
    processes = mark.read_text().split()
    left = eventually(lambda: not any(map(alive, processes)), 2)
    expect(left, f"still there after 2 s: {[pid for pid in processes if alive(pid)]}")
    expect("again" in text(client.call(tool="hello", arguments={"name": "again"})["result"]), "no answer afterwards")


def approving(client, home, era):
    reply = client.call(tool="note", arguments={"text": "first note"})
    expect(len(reply["asked"]) == 1, f"asked: {reply['asked']}, answered {reply['result']}")
    expect("note" in reply["asked"][0] and "first note" in reply["asked"][0], f"asked without saying what: {reply['asked']}")
    expect(not reply["result"].get("isError"), f"approved and failed: {reply['result']}")
    expect(home.notes() == "first note\n", f"wrote {home.notes()!r}")
    reply = client.call(tool="note", arguments={"text": "second note"})
    expect(len(reply["asked"]) == 1, f"one approval served two calls: {reply}")
    expect(home.notes() == "first note\nsecond note\n", f"wrote {home.notes()!r}")


def declining(client, home, era):
    for answer in ("decline", "cancel"):
        reply = client.call(tool="note", arguments={"text": answer}, answer=answer)
        expect(reply["asked"], "not asked")
        expect(reply["result"].get("isError") is True, f"{answer} was answered with {reply['result']}")
        expect(answer not in home.notes(), f"ran after {answer}")


def nobody_to_ask(client, home, era, connect):
    with connect(elicits=False) as silent:
        result = silent.call(tool="note", arguments={"text": "unasked"})["result"]
        expect(result.get("isError") is True, f"accepted: {result}")
        expect("approve" in text(result), f"does not say how to go on: {text(result)}")
        expect("unasked" not in home.notes(), "ran without being approved")


def list_changes(client, home, era):
    before = client.changed()
    home.tool("newcomer", "name: newcomer\ndescription: Came later\ntags: [read]\nrun: echo here\n")
    expect(eventually(lambda: client.changed() > before, 5), "no notification within 5 s")
    names = [tool["name"] for tool in client.tools()["tools"]]
    expect("newcomer" in names, f"notified, but not listed: {names}")
    expect("here" in text(client.call(tool="newcomer")["result"]), "listed, but not callable")


def prompts(client, home, era):
    (letter,) = client.prompts()["prompts"]
    expect(letter["name"] == "letter" and letter["description"], f"listed {letter}")
    taken = {argument["name"]: bool(argument.get("required")) for argument in letter["arguments"]}
    expect(taken == {"name": True, "tone": False}, f"arguments: {letter['arguments']}")
    (message,) = client.prompt(name="letter", arguments={"name": "Bo", "tone": "frosty"})["messages"]
    expect("Write a frosty letter to Bo." in message["content"]["text"], f"got {message}")


def completion(client, home, era):
    values = client.complete(prompt="letter", argument="tone", value="fr")["completion"]["values"]
    expect(values == ["friendly", "frosty"], f"completed with {values}")


def resources(client, home, era):
    listed = {resource["uri"]: resource for resource in client.resources()["resources"]}
    expect("words://motto" in listed, f"listed {list(listed)}")
    (motto,) = client.read(uri="words://motto")["contents"]
    expect(motto["text"].strip() == "Values are data." and motto["mimeType"] == "text/plain", f"read {motto}")
    templates = [template["uriTemplate"] for template in client.templates()["resourceTemplates"]]
    expect("words://loud/{word}" in templates, f"templates: {templates}")
    (shout,) = client.read(uri="words://loud/hi")["contents"]
    expect(json.loads(shout["text"]) == {"word": "HI"} and shout["mimeType"] == "application/json", f"read {shout}")
    try:
        found = client.read(uri="words://nowhere")
    except Failed:
        return
    raise AssertionError(f"found {found}")


CHECKS = [
    greeting, listing, calling, structured, broken_promise, failing, wrong_arguments, unknown_tool, progress, cancelling,
    approving, declining, nobody_to_ask, list_changes, prompts, completion, resources,
]  # fmt: skip


# The first Python client gives a request up without saying so to the server.
SILENT = {"official1": [cancelling]}


def column(table, name, transport, era):
    """Runs every check with one client on one transport in one era."""
    driver, _ = DRIVERS[name]
    title = f"{transport} {era}"
    with Home() as home:

        def run(url):
            def connect(elicits):
                return Client(driver, home, era, url, elicits)

            with connect(elicits=True) as client:
                for check in (check for check in CHECKS if check not in SILENT.get(name, [])):
                    extra = (connect,) if check is nobody_to_ask else ()
                    table.check(check.__name__.replace("_", " "), title, lambda: check(client, home, era, *extra))

        def start():
            if transport == "http":
                with Server(home) as server:
                    run(server.url)
            else:
                run(None)

        try:
            start()
        except Exception as error:
            table.put("connecting", title, "FAIL", f"{type(error).__name__}: {error}")


def usable(client, expected, era):
    """How many of the tools a client can use: it lists them, calls them, and gets their values."""
    listed = {tool["name"] for tool in client.tools()["tools"]}
    unusable = [f"{name}: not listed" for name in expected if name not in listed]
    for name, (arguments, value) in expected.items():
        if name not in listed:
            continue
        try:
            result = client.call(tool=name, arguments=arguments)["result"]
        except Failed as error:
            unusable.append(f"{name}: {str(error)[:200]}")
            continue
        structured = result.get("structuredContent")
        is_right = structured == value or era == "legacy" and structured == {"result": value}
        if result.get("isError") or not is_right:
            unusable.append(f"{name}: {json.dumps(result)[:200]}")
    count = f"{len(expected) - len(unusable)} of {len(expected)}"
    expect(not unusable, f"can use {count}\n" + "\n".join(unusable[:40]))
    return count


def awkward_tools(table):
    with Home() as home:
        expected, left_out = awkward.place(home)
        table.check("tools", "cycod", lambda: expect(len(expected) >= 290, f"{len(expected)} tools, without {left_out}"))
        for name, (driver, eras) in DRIVERS.items():
            for era in eras:

                def use():
                    with Client(driver, home, era, None, options=("--auto-approve", "run")) as client:
                        return usable(client, expected, era)

                table.check(name, era, use)


def through_the_gateway(table):
    """Every client reaches everything of servers of every SDK."""
    with Home() as home:
        servers = gateway.place(home, SCRIPTS)
        for server in servers:
            table.check(server, "accepted", lambda: gateway.accept(home, server))
        for name, (driver, eras) in DRIVERS.items():
            for era in eras:
                with Client(driver, home, era, None) as client:
                    for server in servers:
                        table.check(server, f"{name} {era}", lambda: gateway.passes(client, server))


def main(wanted):
    shutil.rmtree(SCRIPTS, ignore_errors=True)
    shutil.copytree(HERE, SCRIPTS, ignore=lambda _, names: [name for name in names if not name.endswith((".mjs", "servers"))])
    places = [f"{transport} {era}" for transport in ("stdio", "http") for era in ERAS]
    tables = {
        name: Table(*(place for place in places if name not in ("sdk1", "official1") or place.endswith("legacy")))
        for name in [*DRIVERS, "inspector", "awkward", "gateway"]
        if not wanted or name in wanted
    }
    if "awkward" in tables:
        tables["awkward"] = Table("cycod", *ERAS)
        awkward_tools(tables["awkward"])
    if "gateway" in tables:
        tables["gateway"] = Table("accepted")
        through_the_gateway(tables["gateway"])
    with ThreadPoolExecutor(2) as pool:
        columns = [
            pool.submit(column, tables[name], name, transport, era)
            for name, (_, eras) in DRIVERS.items()
            if name in tables
            for transport in ("stdio", "http")
            for era in eras
        ]
        for done in columns:
            done.result()
    if "inspector" in tables:
        inspector.checks(tables["inspector"])
    return max(table.show(name) for name, table in tables.items())


sys.exit(main(sys.argv[1:]))
