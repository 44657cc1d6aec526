"""A server of the official Python SDK, first generation."""

from mcp import types
from mcp.server.fastmcp import FastMCP

server = FastMCP("official1", instructions="Be official.")


@server.tool()
def link() -> types.CallToolResult:
    """Links to a resource"""
    linked = types.ResourceLink(type="resource_link", uri="official1://linked/1", name="linked")
    return types.CallToolResult(content=[linked])


@server.prompt()
def review(code: str, tone: str = "calm") -> str:
    """Reviews code"""
    return f"official1 reviews {code}"


@server.resource("official1://notes", mime_type="text/plain")
def notes() -> str:
    """Notes"""
    return "official1 notes"


@server.resource("official1://linked/{number}", mime_type="text/plain")
def linked(number: str) -> str:
    """Linked"""
    return f"official1 linked {number}"


@server.completion()
async def complete(_reference, argument, _context):
    return types.Completion(values=[value for value in ("calm", "cross") if value.startswith(argument.value)])


server.run("stdio")
