"""The MCP client for Python that people use, against a running home.

Usage: python_client.py TRANSPORT MODE TARGET
TRANSPORT is `stdio` (TARGET: the remit program) or `http` (TARGET: a URL; the token is in REMIT_TOKEN).
MODE is `auto` or `legacy`. Prints one line of JSON for each step; the test compares them.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


def brief(result):
    """A result without what differs between runs."""
    text = [block.text for block in result.content if block.type == "text"]
    return {"error": bool(result.is_error), "structured": result.structured_content, "text": text}


async def main(transport, mode, target):
    if transport == "stdio":
        environment = {"REMIT_HOME": os.environ["REMIT_HOME"], "PATH": os.environ["PATH"]}
        server = StdioServerParameters(command=target, args=["serve", "--tools", "direct"], env=environment)
    else:
        server = http_transport(target)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        print(json.dumps({"tools": sorted(tool.name for tool in listed.tools)}))
        calls = [
            ("text__count", {"text": "Ångström"}),
            ("github__search_issues", {"query": "greeting"}),
            ("github__read_issue", {"owner": "octo", "repo": "hello", "number": 1}),
            ("github__create_issue", {"owner": "octo", "repo": "hello", "title": "From Python"}),
            ("github__read_issue", {"owner": "octo", "repo": "hello", "number": 404}),
            ("github__read_issue", {"owner": "octo", "repo": "hello", "number": "one"}),
        ]
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            print(json.dumps({"call": name, **brief(result)}))
        try:
            await client.call_tool("no__such_tool", {})
            print(json.dumps({"unknown": "answered"}))
        except Exception as error:  # the class differs between transports
            code = getattr(getattr(error, "error", error), "code", None)
            print(json.dumps({"unknown": code}))


def http_transport(url):
    """A Streamable HTTP transport that carries the token."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    token = os.environ.get("REMIT_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=30))


asyncio.run(main(*sys.argv[1:4]))
