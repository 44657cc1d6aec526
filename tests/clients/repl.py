"""One client, driven line by line: reads requests from standard input, writes what the server answered.

The checks are written once, in run.py; a driver only says how its client does each thing.
"""

import asyncio
import json
import sys
import traceback

try:
    import mcp_types as types
except ImportError:  # the first generation has them elsewhere
    from mcp import types

from form import filled

settings = json.loads(sys.argv[1])


class Person:
    """Who sits before the client: answers what is asked, and notices what changes."""

    def __init__(self):
        self.action, self.asked, self.changes = "accept", [], 0

    def reply(self, message, schema):
        self.asked.append(message)
        return {"action": self.action, "content": filled(schema) if self.action == "accept" else None}

    async def notice(self, message):
        self.changes += isinstance(message, types.ToolListChangedNotification)

    async def watch(self, subscription):
        async for _ in subscription:
            self.changes += 1


async def appears(path):
    """Waits until a file has been written."""
    while True:
        try:
            with open(path) as file:
                if file.read().strip():
                    return
        except FileNotFoundError:
            pass
        await asyncio.sleep(0.02)


async def call(person, send, request):
    """Calls a tool by `send(name, arguments, progress)`, and gives up when the file `cancel` appears."""
    reports = []

    async def progress(done, total, message):
        reports.append({"progress": done, "total": total, "message": message})

    person.action, person.asked = request.get("answer", "accept"), []
    task = asyncio.create_task(send(request["tool"], request.get("arguments", {}), progress))
    if path := request.get("cancel"):
        await asyncio.wait([task, asyncio.create_task(appears(path))], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
    try:
        result = wire(await task)
    except asyncio.CancelledError:
        result = None
    return {"result": result, "progress": reports, "asked": person.asked}


def wire(model):
    """A model of the library as the JSON it came from."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def serve(client, person, send, suffix=""):
    """Answers requests until there are no more. `suffix` ends the names of the client's methods."""

    def method(name):
        return getattr(client, name + suffix)

    def complete(request):
        reference = types.PromptReference(type="ref/prompt", name=request["prompt"])
        return method("complete")(reference, {"name": request["argument"], "value": request["value"]})

    async def changed(_request):
        return person.changes

    operations = {
        "tools": lambda _: method("list_tools")(),
        "call": lambda request: call(person, send, request),
        "prompts": lambda _: method("list_prompts")(),
        "prompt": lambda request: method("get_prompt")(request["name"], request["arguments"]),
        "resources": lambda _: method("list_resources")(),
        "templates": lambda _: method("list_resource_templates")(),
        "read": lambda request: method("read_resource")(request["uri"]),
        "complete": complete,
        "changed": changed,
    }
    print(json.dumps({"version": client.protocol_version, "server": wire(client.server_info)}), flush=True)
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        try:
            result = await operations[request["do"]](request)
            reply = {"ok": wire(result) if hasattr(result, "model_dump") else result}
        except Exception as error:
            code = getattr(error, "code", None) or getattr(getattr(error, "error", None), "code", None)
            reply = {"error": {"code": code, "message": str(error), "trace": traceback.format_exc()}}
        print(json.dumps(reply), flush=True)
