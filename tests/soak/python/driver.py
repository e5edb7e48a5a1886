"""What the Python SDK and FastMCP do with a server: list, call, elicit.

usage: driver.py URL COMMAND ARGUMENTS...      prints a line a check: see tests/soak/run.py"""

import asyncio
import sys

import fastmcp
import fastmcp.client.transports
import mcp
import mcp.types

URL, COMMAND, *ARGUMENTS = sys.argv[1:]
ANSWER = {"username": "owl", "email": "owl@example.com"}
MESSAGE = "h\u00e9llo \"owl\" \U0001f989\n"


async def answer_of_sdk(context, params):
    return mcp.types.ElicitResult(action="accept", content=ANSWER)


async def answer_of_fastmcp(message, response_type, params, context):
    return response_type(**ANSWER)


def clients():
    """Every client, with a function that lists the names of all tools."""
    command = mcp.StdioServerParameters(command=COMMAND, args=ARGUMENTS)
    for transport, target in (("http", URL), ("stdio", command)):
        for mode in ("auto", "legacy"):
            yield f"mcp {mode} {transport}", mcp.Client(target, mode=mode,
                                                        elicitation_callback=answer_of_sdk)
    command = fastmcp.client.transports.StdioTransport(COMMAND, ARGUMENTS)
    for transport, target in (("http", URL), ("stdio", command)):
        yield f"fastmcp {transport}", fastmcp.Client(target, elicitation_handler=answer_of_fastmcp)


async def tools(client):
    listed = await client.list_tools()
    return [tool.name for tool in getattr(listed, "tools", listed)]


async def text(client, name, arguments):
    return (await client.call_tool(name, arguments)).content[0].text


async def run(name, client):
    async def check(what, passed):
        try:
            right = await passed
        except Exception as error:  # of any kind: it is the finding
            print(f"FAIL {name} {what}: {error!r}")
        else:
            print(f"ok {name} {what}" if right else f"FAIL {name} {what}: a wrong answer")

    async def lists():
        return {"echo", "test_elicitation"} <= set(await tools(client))

    async def calls():
        return await text(client, "echo", {"message": MESSAGE}) == MESSAGE

    async def elicits():
        return '"username":"owl"' in await text(client, "test_elicitation", {"message": "Who?"})

    async with client:
        await check("list", lists())
        await check("call", calls())
        await check("elicit", elicits())


async def main():
    for name, client in clients():
        try:
            await asyncio.wait_for(run(name, client), 60)
        except Exception as error:
            print(f"FAIL {name} connect: {error!r}")


asyncio.run(main())
