"""A server made with the official package, as people write them."""

import base64

from mcp.server.mcpserver import Image, MCPServer

server = MCPServer("notes")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def boom() -> str:
    """Fails."""
    raise ValueError("it went wrong")


@server.tool()
def notes() -> list[dict]:
    """Lists notes."""
    return [{"title": "first"}, {"title": "second"}]


@server.tool()
def picture() -> Image:
    """Shows a picture."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    return Image(data=base64.b64decode(pixel), format="png")


server.run("stdio")
