"""What a team costs its members, each figure as a ratio of one run: figures.py

    CYCOD=…     a release build

A release of 5,000 tools is compared with the same tools as the user's own, and verifying it with `sha256sum` over its files.
"""

import contextlib
import functools
import http.server
import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

CYCOD = os.environ["CYCOD"]
TOOLS = 5_000
TOOL = """description: Says hello to somebody, number {0}
tags: [read]
parameters:
  NAME: {{description: Whom to greet, required: true}}
bash: echo hello {0} "{{NAME}}"
"""


class Counted(http.server.SimpleHTTPRequestHandler):
    """Serves a directory, and counts requests and the bytes of bodies."""

    protocol_version = "HTTP/1.1"
    requests = 0
    sent = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        type(self).requests += 1
        super().do_GET()

    def copyfile(self, source, out):
        body = source.read()
        type(self).sent += len(body)
        out.write(body)


def run(home, *words, cwd=None, text=True):
    done = subprocess.run(
        [CYCOD, *map(str, words)],
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        cwd=cwd or home,
        capture_output=True,
        text=text,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise SystemExit(f"{words}: {done.stderr}")
    return done.stdout


def took(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def pairs(one, other, times):
    """The medians of two, run in turn."""
    one(), other()
    taken = [(took(one), took(other)) for _ in range(times)]
    return tuple(statistics.median(column) for column in zip(*taken))


def told(what, figure, floor, goal):
    print(f"{what:58} {figure * 1e3:8.2f} ms / {floor * 1e3:8.2f} ms = {figure / floor:5.2f}   (goal {goal})")


def write_tools(directory, count=TOOLS):
    directory.mkdir(parents=True)
    for number in range(count):
        (directory / f"greet-{number}.yaml").write_text(TOOL.format(number))


def main():
    with tempfile.TemporaryDirectory(prefix="team-figures-") as place, contextlib.ExitStack() as stack:
        place = Path(place)
        team, member, other = place / "team", place / "member", place / "other"
        for home in (team, member, other):
            home.mkdir()
        write_tools(team / ".cycod" / "tools")
        key = team / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", key], check=True)
        releases = team / "releases"
        root = run(team, "team", "root", "--out", releases, "--team", "acme", "--key", key).split()[0]
        run(team, "team", "release", "--out", releases, "--key", key)

        handler = functools.partial(Counted, directory=str(releases))
        server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}/"
        run(member, "team", "join", address, "--root", root, "--yes")
        for home in (member, other):
            (home / "project" / ".cycod" / "tools").mkdir(parents=True)
            (home / "project" / ".cycod" / "tools" / "hello.yaml").write_text(TOOL.format("own"))
            run(home, "trust", "--all", "--yes", cwd=home / "project")
        member_in, other_in = member / "project", other / "project"
        version = [functools.partial(run, home, "--version") for home in (member, other)]
        told("--version, joined and not", *pairs(*version, 200), "1.02")
        write_tools(place / "users" / ".cycod" / "tools")
        users = place / "users"
        (users / "project" / ".cycod" / "tools").mkdir(parents=True)
        (users / "project" / ".cycod" / "tools" / "hello.yaml").write_text(TOOL.format("own"))
        run(users, "trust", "--all", "--yes", cwd=users / "project")
        call = ("tool", "run", "hello", "--NAME", "Ada")
        runs = [functools.partial(run, home, *call, cwd=home / "project") for home in (member, users)]
        told("tool run, 5,000 tools of a team and of the user", *pairs(*runs, 60), "1.02")
        lists = [functools.partial(run, home, "tool", "list", cwd=home / "project") for home in (member, users)]
        told("tool list, 5,000 tools of a team and of the user", *pairs(*lists, 10), "1.2")
        files = [str(path) for path in releases.rglob("*") if path.is_file()]
        seen = place / "seen.json"
        run(place, "team", "verify", releases, "--root", root, "--seen", seen)
        verify = functools.partial(run, place, "team", "verify", releases, "--seen", seen)
        floor = functools.partial(subprocess.run, ["sha256sum", *files], stdout=subprocess.DEVNULL, check=True)
        told("verifying a release, and sha256sum over its files", *pairs(verify, floor, 10), "2")

        changed = team / ".cycod" / "tools" / "greet-7.yaml"
        changed.write_text(TOOL.format("seven"))
        before = {path: path.read_bytes() for path in releases.rglob("*") if path.is_file()}
        run(team, "team", "release", "--out", releases, "--key", key)
        new = [path for path in releases.rglob("*") if path.is_file() and before.get(path) != path.read_bytes()]
        size = sum(path.stat().st_size for path in new)
        Counted.requests = Counted.sent = 0
        run(member, "team", "sync")
        print(f"one tool of 5,000 changed: {Counted.requests} requests, {Counted.sent} bytes / {size} of what changed = {Counted.sent / size:.2f}   (goals 3, 1.3)")
        Counted.requests = Counted.sent = 0
        run(member, "team", "sync")
        print(f"nothing changed: {Counted.requests} requests, {Counted.sent} bytes   (goal 1 request)")


main()
