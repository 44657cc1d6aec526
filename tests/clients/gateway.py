"""Servers of every SDK behind ours, and every client before it: what passes between them."""

import json
import sys
from pathlib import Path

from outside import NODE, expect

HERE = Path(__file__).resolve().parent / "servers"

# What completes nothing: fastmcp has no completion for prompts.
INCOMPLETE = {"fast"}


def place(home, scripts):
    """Gives a home one server of each SDK; returns their names."""
    python1 = str(scripts.parent / "python1" / "bin" / "python")
    commands = {
        "official": [sys.executable, str(HERE / "official.py")],
        "official1": [python1, str(HERE / "official1.py")],
        "fast": [sys.executable, str(HERE / "fast.py")],
        "sdk1": [NODE, str(scripts / "servers" / "sdk1.mjs")],
        "sdk2": [NODE, str(scripts / "servers" / "sdk2.mjs")],
    }
    servers = {
        name: {"command": command[0], "args": command[1:], "levels": {"*": "read"}} for name, command in commands.items()
    }
    (home.path / ".cycod" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return list(servers)


def accept(home, server):
    """Meets a server, whose offers are accepted by that."""
    said = home.run("mcp", "test", server, "--format", "json")
    met = json.loads(said or "{}")
    expect(met.get("problems") == [], f"met with {said}")
    expect(met["others"] == {"prompts": 1, "resources": 1, "templates": 1}, f"offers {met['others']}")


def passes(client, server):
    """Everything of one server that a client reaches."""
    prompts = {prompt["name"]: prompt for prompt in client.prompts()["prompts"]}
    review = prompts.get(f"mcp_{server}_review")
    expect(review and review["description"] == "Reviews code", f"prompts: {list(prompts)}")
    (message,) = client.prompt(name=f"mcp_{server}_review", arguments={"code": "x", "tone": "calm"})["messages"]
    expect(message["content"]["text"] == f"{server} reviews x", f"got {message}")
    if server not in INCOMPLETE:
        values = client.complete(prompt=f"mcp_{server}_review", argument="tone", value="cr")["completion"]["values"]
        expect(values == ["cross"], f"completed with {values}")
    listed = [resource["uri"] for resource in client.resources()["resources"]]
    expect(f"{server}://notes" in listed, f"resources: {listed}")
    (notes,) = client.read(uri=f"{server}://notes")["contents"]
    expect(notes["text"] == f"{server} notes" and notes["mimeType"] == "text/plain", f"read {notes}")
    # The form that names the server reads the same.
    (again,) = client.read(uri=f"cycod://servers/{server}/{server}://notes")["contents"]
    expect(again["text"] == notes["text"], f"read {again}")
    templates = [template["uriTemplate"] for template in client.templates()["resourceTemplates"]]
    expect(f"{server}://linked/{{number}}" in templates, f"templates: {templates}")
    (link,) = client.call(tool=f"mcp_{server}_link")["result"]["content"]
    expect(link["type"] == "resource_link", f"answered {link}")
    (linked,) = client.read(uri=link["uri"])["contents"]
    expect(linked["text"] == f"{server} linked 1", f"read {linked}")
