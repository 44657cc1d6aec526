"""A server of fastmcp."""

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.tools import ToolResult

server = FastMCP("fast", instructions="Be fast.")


@server.tool
def link() -> ToolResult:
    """Links to a resource"""
    return ToolResult(content=[types.ResourceLink(type="resource_link", uri="fast://linked/1", name="linked")])


@server.prompt
def review(code: str, tone: str = "calm") -> str:
    """Reviews code"""
    return f"fast reviews {code}"


@server.resource("fast://notes", mime_type="text/plain")
def notes() -> str:
    """Notes"""
    return "fast notes"


@server.resource("fast://linked/{number}", mime_type="text/plain")
def linked(number: str) -> str:
    """Linked"""
    return f"fast linked {number}"


server.run("stdio", show_banner=False)
