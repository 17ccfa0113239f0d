"""Uses `yabby mcp` with the client of the official package: over standard input and output and over HTTP,
with the handshake of older clients and without it.

argv[1] is the program; HOME is a folder of its own, in which an owner and a group have talked.
"""

import asyncio
import json
import os
import subprocess
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

YABBY = sys.argv[1]
GROUP = "agent:main:telegram:group:-100"
MODES = ("legacy", "auto")
SECRETS = ("quartz 4711", "quartz ring")


def stdio(*arguments):
    return StdioServerParameters(command=YABBY, args=["mcp", *arguments], env=dict(os.environ))


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result)
    value = result.structured_content
    assert json.loads(result.content[0].text) == value, (tool, result)
    return value


async def refusal(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, (tool, result)
    return result.content[0].text


async def owner(client):
    """Everything there is, as the owner sees it."""
    assert client.server_info.name == "yabby", client.server_info
    assert client.server_capabilities.tools is not None and client.server_capabilities.resources is not None
    tools = (await client.list_tools()).tools
    names = [tool.name for tool in tools]
    assert names == ["memory_search", "memory_get", "sessions_list", "sessions_history", "sessions_search"], names
    assert all(tool.annotations.read_only_hint for tool in tools), tools

    found = (await call(client, "memory_search", query="What is the alarm code?", maxResults=3))["results"]
    assert found[0]["path"] == "MEMORY.md" and "quartz 4711" in found[0]["snippet"], found
    read = await call(client, "memory_get", path="MEMORY.md", **{"from": 1, "lines": 1})
    assert read == {"text": "# Home", "path": "MEMORY.md"}, read
    listed = await call(client, "sessions_list")
    assert [row["key"] for row in listed["sessions"]] == ["agent:main:main"], listed
    hit = (await call(client, "sessions_search", query='"quartz ring"', limit=5))["results"][0]
    assert hit["sessionKey"] == "agent:main:main" and hit["role"] == "user", hit
    around = await call(client, "sessions_history", sessionKey=hit["sessionKey"], messageId=hit["messageId"])
    assert "quartz ring" in around["messages"][0]["text"], around
    again = await call(client, "sessions_search", sessionId=hit["sessionId"], messageId=hit["messageId"])
    assert again["messages"] == around["messages"], again
    last = await call(client, "sessions_history", sessionKey="main", limit=1)
    assert [message["text"] for message in last["messages"]] == ["I know."], last

    resources = (await client.list_resources()).resources
    uris = [str(resource.uri) for resource in resources]
    assert uris == ["memory://main/MEMORY.md", "memory://main/memory/gr%C3%B6%C3%9Fe%20&%20co.md"], uris
    for resource in resources:
        assert resource.mime_type == "text/markdown", resource
        content = (await client.read_resource(str(resource.uri))).contents[0]
        assert "quartz" in content.text and content.mime_type == "text/markdown", content

    assert await refusal(client, "memory_search") == "query is required"
    assert "there is no ../x.md" in await refusal(client, "memory_get", path="../x.md")
    for refused in (client.call_tool("forget", {}), client.read_resource("memory://main/../x.md")):
        try:
            await refused
        except MCPError:
            continue
        raise AssertionError("it should have been refused")


async def group(client):
    """The same questions, of which a group hears nothing."""
    said = []
    for query in ("quartz", "alarm code", "ring"):
        said.append(await call(client, "memory_search", query=query))
        said.append(await call(client, "sessions_search", query=query))
    said.append(await call(client, "sessions_list"))
    said.append(await refusal(client, "memory_get", path="MEMORY.md"))
    said.append(await refusal(client, "sessions_history", sessionKey="main"))
    assert (await client.list_resources()).resources == []
    found = await call(client, "memory_search", query="granite party", channel="telegram")
    assert found["results"][0]["sessionKey"] == GROUP, found
    said = json.dumps(said)
    assert not any(secret in said for secret in SECRETS), said


async def over_http(mode):
    server = subprocess.Popen([YABBY, "mcp", "--http", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        url = server.stderr.readline().split()[-1]
        token = server.stderr.readline().split()[-1]
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                await owner(client)
        for headers in ({}, {"Authorization": f"Bearer {token}x"}):
            async with httpx2.AsyncClient(headers=headers) as http:
                assert (await http.post(url, json={})).status_code == 401
                try:
                    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                        await client.list_tools()
                except Exception:
                    continue
                raise AssertionError("a wrong token was taken")
    finally:
        server.kill()
        server.wait()


async def main():
    for mode in MODES:
        async with Client(stdio(), mode=mode) as client:
            await owner(client)
            print(f"stdio, {mode}: version {client.protocol_version}")
        async with Client(stdio("--as", GROUP), mode=mode) as client:
            await group(client)
        await over_http(mode)
        print(f"http, {mode}")


asyncio.run(main())
