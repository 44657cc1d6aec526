"""Logins at an authorization server that others wrote: to join a hub, and to use an MCP server."""

import contextlib
import hashlib
import html
import http.cookiejar
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import CYCOD, NODE, Table, eventually, expect  # noqa: E402

HUB = os.environ["HUB"]
TOOL = "description: Says hello to somebody\ntags: [read]\nparameters: {NAME: {description: Whom}}\nbash: echo hello {NAME}\n"


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Started:
    """A program that ends with the test."""

    def __init__(self, place, words, says):
        self.log = place / f"log-{free_port()}"
        with open(self.log, "wb") as log:
            environment = {**os.environ, "HOME": str(place)}
            self.process = subprocess.Popen(
                words, cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        if not eventually(lambda: re.search(says, self.said()), 20):
            self.process.kill()
            raise RuntimeError(f"{words} doesn't say {says}:\n{self.said()}")

    def said(self):
        return self.log.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ends(self):
        """The exit status and everything that it wrote."""
        status = self.process.wait(30)
        return status, self.said()


def run(place, *words, program=CYCOD):
    done = subprocess.run(
        [program, *map(str, words)],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": str(place)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def right(place, *words, program=CYCOD):
    status, said = run(place, *words, program=program)
    expect(status == 0, f"{words}: {said}")
    return said


def browse(address, user):
    """Does what a person does with a browser: logs in and agrees, or turns back."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(jar)
    page = browser.open(address)
    for _ in range(6):
        text = page.read().decode()
        form = re.search(r'<form[^>]*action="([^"]+)"', text)
        if not form:
            return text
        if user is None:
            turned = re.search(r'href="([^"]*/abort)"', text)
            return browser.open(urllib.parse.urljoin(page.geturl(), html.unescape(turned[1]))).read().decode()
        fields = dict(re.findall(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"', text))
        if 'name="login"' in text:
            fields |= {"login": user, "password": "-"}
        to = urllib.parse.urljoin(page.geturl(), html.unescape(form[1]))
        page = browser.open(to, urllib.parse.urlencode(fields).encode())
    raise RuntimeError(f"the forms have no end:\n{text}")


def log_in(place, user, *words):
    """Runs a command that asks for a login; returns its exit status and what it wrote."""
    with Started(place, [CYCOD, *words], r"http://127\.0\.0\.1:\d+/auth\?\S+") as command:
        browse(re.search(r"http://127\.0\.0\.1:\d+/auth\?\S+", command.said())[0], user)
        return command.ends()


class Hub:
    """A hub whose members log in at an issuer."""

    def __init__(self, place, issuer):
        self.place = place / "hub"
        self.place.mkdir()
        self.port = free_port()
        for name in ("ada", "ben"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]
            subprocess.run(words, cwd=self.place, check=True)
        hub = lambda *words: right(self.place, *words, "--data", "data", program=HUB)  # noqa: E731
        hub("init")
        keys = ["--key", "ada", "--release-key", "data/release.key.pub", "--author-key", "ada.pub"]
        right(self.place, "team", "root", "--out", "acme", "--team", "acme", *keys, "--review-key", "ben.pub")
        self.root = hashlib.sha256((self.place / "acme/root/1.json").read_bytes()).hexdigest()
        hub("root", "acme")
        for name in ("ada", "ben"):
            hub("member", "add", name, "--key", f"{name}.pub")
        hub("member", "subject", "ben", f"{issuer}#ben-in-the-directory")
        self.address = f"http://127.0.0.1:{self.port}"
        words = ["--oauth-issuer", issuer, "--oauth-audience", self.address, "--oauth-client", "cycod"]
        self.words = [HUB, "serve", "--data", "data", "--listen", f"127.0.0.1:{self.port}", *words]

    def serve(self):
        return Started(self.place, self.words, "The hub of acme is at")


def main():
    table = Table()
    with tempfile.TemporaryDirectory(prefix="cycod-login-") as scratch:
        for algorithm in ("RS256", "ES256", "EdDSA"):
            place = Path(scratch) / algorithm
            place.mkdir()
            port = free_port()
            issuer = f"http://127.0.0.1:{port}"
            with contextlib.ExitStack() as stack:
                words = [NODE, str(Path(__file__).with_name("issuer.mjs")), str(port), algorithm]
                stack.enter_context(Started(place, words, "ready"))
                table.check("members join a hub", algorithm, lambda: joins(place, issuer))
                table.check("a client uses an MCP server", algorithm, lambda: uses(place, issuer))
    sys.exit(table.show("logins"))


def joins(place, issuer):
    hub = Hub(place, issuer)
    with hub.serve():
        words = ["team", "join", hub.address, "--login", "--yes", "--root", hub.root]
        for user, says in (("mallory", "mallory"), (None, "access_denied")):
            status, said = log_in(place, user, *words)
            expect(status == 1 and says in said, said)
            expect("No team was joined" in run(place, "team", "show")[1], "nobody joined")
        status, said = log_in(place, "ben-in-the-directory", *words)
        expect(status == 0 and "knows you as ben" in said, said)
        expect("nothing new" in right(place, "team", "sync"), "the device asks without a token")


def uses(place, issuer):
    home = place / "server"
    (home / ".cycod/tools").mkdir(parents=True)
    (home / ".cycod/tools/hello.yaml").write_text(TOOL)
    address = f"http://127.0.0.1:{free_port()}"
    served = ["mcp", "serve", "--http", address.removeprefix("http://"), "--oauth-issuer", issuer]
    served += ["--oauth-audience", f"{address}/mcp"]
    with Started(home, [CYCOD, *served], re.escape(address)):
        client = place / "client"
        client.mkdir()
        right(client, "mcp", "add", "remote", "--user", "--url", f"{address}/mcp", "--yes")
        status, said = run(client, "run", "mcp_remote_hello", "--NAME", "Ada")
        expect(status != 0 and "cycod mcp login remote" in said, said)
        status, said = log_in(client, None, "mcp", "login", "remote")
        expect(status == 1 and "access_denied" in said, said)
        status, said = log_in(client, "ada", "mcp", "login", "remote")
        expect(status == 0, said)
        right(client, "mcp", "accept", "remote")
        greets = lambda: run(client, "run", "mcp_remote_hello", "--NAME", "Ada")[1]  # noqa: E731
        expect("hello Ada" in greets(), greets())
        for _ in range(2):
            time.sleep(4)
            expect("hello Ada" in greets(), "the token is renewed, and so is the one that renews it")
        right(client, "mcp", "login", "remote", "--forget")
        expect("cycod mcp login remote" in greets(), greets())


main()
