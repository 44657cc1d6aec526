"""The Inspector: its command line, its lint of schemas, and mcpdo, which keeps a connection and answers questions later."""

import json
import os
import subprocess
from pathlib import Path

from form import filled
from outside import NODE, Home, Server, expect

PROGRAMS = Path(os.environ["NODE_MODULES"]) / "@modelcontextprotocol" / "inspector" / "clients"


class Inspector:
    """The Inspector told of one server, in one era."""

    def __init__(self, home, era, url):
        self.home, self.era = home, era
        self.environment = {
            **home.environment,
            "MCP_INSPECTOR_SECRET_STORE": "memory",
            "MCP_CATALOG_PATH": str(home.path / "catalog.json"),
        }
        command = home.stdio()
        entry = {"type": "streamable-http", "url": url} if url else {"type": "stdio", "command": command[0]}
        if not url:
            entry |= {"args": command[1:], "env": home.environment, "cwd": str(home.path)}
        Path(self.environment["MCP_CATALOG_PATH"]).write_text(json.dumps({"mcpServers": {"cycod": entry}}))

    def _run(self, program, *arguments):
        return subprocess.run(
            [NODE, str(PROGRAMS / program), *arguments, "--format", "json"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def cli(self, *arguments):
        """One command of the command line, and its result."""
        done = self._run("launcher/build/index.js", "--cli", "--server", "cycod", "--protocol-era", self.era, *arguments)
        return done, json.loads(done.stdout).get("result", {}) if done.stdout.startswith("{") else {}

    def mcpdo(self, *arguments):
        """One command on the connection that is kept, which the first one makes."""
        done = self._run("mcpdo/build/mcp-bin.js", "--connection", "cycod", *arguments)
        expect(done.stdout.startswith("{"), f"mcpdo {arguments} said {done.stdout}{done.stderr}")
        return json.loads(done.stdout)


def lint(inspector):
    done, result = inspector.cli("--method", "tools/list", "--strict")
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    expect(any(tool["name"] == "hello" for tool in result["tools"]), f"listed {result}")
    expect("warning" not in done.stderr.lower(), done.stderr)


def calling(inspector):
    arguments = ["--method", "tools/call", "--tool-name"]
    _, result = inspector.cli(*arguments, "hello", "--tool-args-json", '{"name": "$(touch pwned)"}')
    expect("Hello, $(touch pwned)" in json.dumps(result), f"answered {result}")
    _, result = inspector.cli(*arguments, "add", "--tool-args-json", '{"a": 2, "b": 3}')
    expect(result.get("structuredContent") == {"sum": 5}, f"answered {result}")
    done, result = inspector.cli(*arguments, "fail")
    expect("the disk is on fire" in done.stdout + done.stderr, f"answered {done.stdout}{done.stderr}")


def asked(inspector, text):
    pending = inspector.mcpdo("tools/call", "note", f"text:={text}").get("elicitationPending")
    expect(pending and text in pending["message"], f"asked {pending}")
    return pending


def approving(inspector):
    pending = asked(inspector, "accepted")
    form = json.dumps(filled(pending["requestedSchema"]))
    result = inspector.mcpdo("elicitation/respond", pending["elicitationId"], form)
    expect("noted" in json.dumps(result), f"approved, and got {result}")
    expect(inspector.home.notes() == "accepted\n", f"wrote {inspector.home.notes()!r}")


def declining(inspector):
    pending = asked(inspector, "declined")
    result = inspector.mcpdo("elicitation/respond", pending["elicitationId"], "--decline")
    expect("approved" in json.dumps(result), f"declined, and got {result}")
    expect("declined" not in inspector.home.notes(), "ran after it was declined")


def checks(table):
    """Every check on each transport in each era."""
    for transport in ("stdio", "http"):
        for era in ("legacy", "modern"):
            title = f"{transport} {era}"
            with Home() as home:
                server = Server(home) if transport == "http" else None
                inspector = Inspector(home, era, server.url if server else None)
                try:
                    table.check("lint", title, lambda: lint(inspector))
                    table.check("calling", title, lambda: calling(inspector))
                    inspector._run("mcpdo/build/mcp-bin.js", "connect", "cycod", "--era", era)
                    table.check("approving", title, lambda: approving(inspector))
                    table.check("declining", title, lambda: declining(inspector))
                finally:
                    inspector._run("mcpdo/build/mcp-bin.js", "daemon", "stop")
                    if server:
                        server.stop()
