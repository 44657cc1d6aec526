"""A server of the official Python SDK."""

import mcp_types as types
from mcp.server.mcpserver import MCPServer

server = MCPServer("official", instructions="Be official.")


@server.tool()
def link() -> types.CallToolResult:
    """Links to a resource"""
    linked = types.ResourceLink(type="resource_link", uri="official://linked/1", name="linked")
    return types.CallToolResult(content=[linked])


@server.prompt()
def review(code: str, tone: str = "calm") -> str:
    """Reviews code"""
    return f"official reviews {code}"


@server.resource("official://notes", mime_type="text/plain")
def notes() -> str:
    """Notes"""
    return "official notes"


@server.resource("official://linked/{number}", mime_type="text/plain")
def linked(number: str) -> str:
    """Linked"""
    return f"official linked {number}"


@server.completion()
async def complete(_reference, argument, _context):
    return types.Completion(values=[value for value in ("calm", "cross") if value.startswith(argument.value)])


server.run("stdio")
