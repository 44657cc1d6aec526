"""The official Python client, first generation: knows the handshake only."""

import asyncio
from datetime import timedelta

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

from repl import Person, serve, settings

person = Person()


async def elicit(_context, params):
    return types.ElicitResult(**person.reply(params.message, params.requestedSchema))


async def notice(message):
    if isinstance(message, types.ServerNotification):
        await person.notice(message.root)


async def main():
    server = settings["server"]
    way = streamablehttp_client(settings["url"]) if settings.get("url") else stdio_client(StdioServerParameters(**server))
    async with way as (reader, writer, *_):
        callback = {"elicitation_callback": elicit} if settings["elicits"] else {}
        async with ClientSession(
            reader, writer, message_handler=notice, read_timeout_seconds=timedelta(seconds=60), **callback
        ) as client:
            greeting = await client.initialize()
            client.protocol_version, client.server_info = greeting.protocolVersion, greeting.serverInfo
            await serve(
                client, person, lambda name, given, progress: client.call_tool(name, given, progress_callback=progress)
            )


asyncio.run(main())
