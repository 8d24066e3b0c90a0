"""What an agent does in a host with a thousand tools, told with what it costs.

Usage: transcript_client.py PROGRAM
PROGRAM is the remit program; REMIT_HOME names a home with `remit/github`, `remit/text`, `remit/notes`, an engine, and
many other tools. Prints one line of JSON for each step. Tokens are counted as a quarter of the bytes of JSON that the
model would be shown, on both sides alike.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters

PROGRAM = """
const found = await remit.github.search_issues({ query: 'greeting' });
const texts = await Promise.all(found.issues.map(issue =>
    remit.text.truncate({ text: issue.title, max_characters: 40 })));
const body = texts.map(each => each.text).join('\\n');
const note = await remit.notes.add_note({ title: 'Greetings to look at', body });
return { issues: found.total, note: note.version };
"""

SPENT = {"definitions": 0, "answers": 0}


def tokens(value):
    """What a model is shown, in tokens."""
    return -(-len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) // 4)


def shown(tools):
    """Of a tool's definition a model is shown the name, the description and the input."""
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]


async def listed(client):
    """All tools, page by page."""
    tools, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            return tools


async def call(client, name, arguments):
    """Calls a tool, and keeps what its answer costs."""
    result = await client.call_tool(name, arguments)
    SPENT["answers"] += tokens(result.structured_content) + tokens(arguments)
    if result.is_error:
        raise RuntimeError(result.content[0].text)
    return result.structured_content


def server(program, *arguments):
    environment = {"REMIT_HOME": os.environ["REMIT_HOME"], "PATH": os.environ["PATH"]}
    return StdioServerParameters(command=program, args=["serve", *arguments], env=environment)


async def main(program):
    async with Client(server(program, "--tools", "direct")) as client:
        tools = await listed(client)
        direct = tokens(shown(tools))
        print(json.dumps({"direct": {"tools": len(tools), "definitions": direct}}))
    async with Client(server(program)) as client:
        tools = await listed(client)
        SPENT["definitions"] = tokens(shown(tools))
        print(json.dumps({"compact": {"tools": [tool.name for tool in tools], "definitions": SPENT["definitions"]}}))
        for query in ["search issues on GitHub", "shorten a text", "add a note"]:
            found = await call(client, "search", {"query": query, "limit": 3})
            best = next(one for one in found["results"] if "in_programs" in one)
            print(json.dumps({"search": query, "best": best["id"], "in_programs": best["in_programs"]}))
        ran = await call(client, "execute", {"program": PROGRAM})
        print(json.dumps({"execute": ran["result"]}))
    compact = SPENT["definitions"] + SPENT["answers"]
    print(json.dumps({"tokens": {"direct definitions": direct, "compact, all in all": compact}}))


asyncio.run(main(sys.argv[1]))
