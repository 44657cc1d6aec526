"""The client of fastmcp."""

import asyncio
from contextlib import AsyncExitStack

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from mcp.client.subscriptions import listen

from repl import Person, serve, settings

person = Person()


async def elicit(message, _type, params, _context):
    return ElicitResult(**person.reply(message, params.requested_schema))


async def main():
    client = Client(
        settings.get("url") or StdioTransport(**settings["server"], keep_alive=False),
        mode="legacy" if settings["era"] == "legacy" else "auto",
        elicitation_handler=elicit if settings["elicits"] else None,
        message_handler=person.notice,
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        if settings["era"] == "modern":
            # fastmcp has no method for it, but it keeps the session of the official client.
            subscription = await stack.enter_async_context(listen(client.session, tools_list_changed=True))
            stack.callback(asyncio.create_task(person.watch(subscription)).cancel)
        await serve(client, person, client.call_tool_mcp, suffix="_mcp")


asyncio.run(main())
