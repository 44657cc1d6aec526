"""The same server with the official Python library: official.py TOOLS"""

import asyncio
import sys
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import Field

server = MCPServer("official")


async def hello(NAME: Annotated[str, Field(description="Whom to greet")]) -> str:
    """Says hello to somebody"""
    arguments = ("--noprofile", "--norc", "-c", 'echo hello "$1"', "_", NAME)
    process = await asyncio.create_subprocess_exec("bash", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode()


for number in range(int(sys.argv[1])):
    server.add_tool(hello, name=f"hello_{number}" if number else "hello", structured_output=False)
server.run()
