"""The official Python client."""

import asyncio
from contextlib import AsyncExitStack

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from repl import Person, serve, settings

person = Person()


async def elicit(_context, params):
    return types.ElicitResult(**person.reply(params.message, params.requested_schema))


async def main():
    client = Client(
        settings.get("url") or StdioServerParameters(**settings["server"]),
        mode="legacy" if settings["era"] == "legacy" else "auto",
        elicitation_callback=elicit if settings["elicits"] else None,
        message_handler=person.notice,
        cache=None,
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        if settings["era"] == "modern":
            subscription = await stack.enter_async_context(client.listen(tools_list_changed=True))
            stack.callback(asyncio.create_task(person.watch(subscription)).cancel)
        await serve(client, person, lambda name, given, progress: client.call_tool(name, given, progress_callback=progress))


asyncio.run(main())
