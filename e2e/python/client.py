"""Drives the unmodified OpenAI SDK through one scenario and prints what the
application saw, as one line of JSON.

    client.py SCENARIO TRACEPARENT

OPENAI_BASE_URL and OPENAI_API_KEY come from the environment, as for any
application.
"""

import json
import sys

import openai

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Looks something up.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    for name in ("weather", "clock")
]


def ask(client, scenario, trace, **more):
    return client.chat.completions.create(
        model="scripted-" + scenario,
        messages=[
            {"role": "system", "content": "You are terse."},
            {"role": "user", "content": f"python {scenario}: Grüße, 世界 👋"},
        ],
        extra_headers={"traceparent": trace, "Docket-Conversation-Id": f"python-{scenario}"},
        **more,
    )


def whole(reply):
    message = reply.choices[0].message
    return {
        "id": reply.id,
        "text": message.content,
        "finish_reason": reply.choices[0].finish_reason,
        "tool_calls": [
            {"id": c.id, "name": c.function.name, "arguments": c.function.arguments}
            for c in message.tool_calls or []
        ],
        "total_tokens": reply.usage.total_tokens if reply.usage else None,
    }


def gather(stream, stop_after=None):
    seen = {"id": None, "text": None, "finish_reason": None, "tool_calls": [], "total_tokens": None, "chunks": 0}
    for chunk in stream:
        seen["chunks"] += 1
        seen["id"] = chunk.id
        if chunk.usage:
            seen["total_tokens"] = chunk.usage.total_tokens
        for choice in chunk.choices:
            if choice.delta.content is not None:
                seen["text"] = (seen["text"] or "") + choice.delta.content
            for part in choice.delta.tool_calls or []:
                while len(seen["tool_calls"]) <= part.index:
                    seen["tool_calls"].append({"id": None, "name": None, "arguments": ""})
                call = seen["tool_calls"][part.index]
                call["id"] = part.id or call["id"]
                call["name"] = part.function.name or call["name"]
                call["arguments"] += part.function.arguments or ""
            seen["finish_reason"] = choice.finish_reason or seen["finish_reason"]
        if stop_after is not None and seen["chunks"] >= stop_after:
            stream.close()
            break
    return seen


def run(client, scenario, trace):
    if scenario in ("text", "bad_request", "rate_limited"):
        return whole(ask(client, scenario, trace))
    if scenario == "tools":
        return whole(ask(client, scenario, trace, tools=TOOLS))
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    if scenario in ("stream", "cut"):
        return gather(ask(client, scenario, trace, **usage))
    if scenario == "parallel_tools":
        return gather(ask(client, scenario, trace, tools=TOOLS, parallel_tool_calls=True, **usage))
    if scenario == "leave":
        return gather(ask(client, scenario, trace, **usage), stop_after=3)
    raise SystemExit(f"unknown scenario {scenario}")


def main():
    scenario, trace = sys.argv[1:]
    client = openai.OpenAI(max_retries=0, timeout=30)
    try:
        seen = run(client, scenario, trace)
    except openai.APIStatusError as e:
        seen = {
            "raised": type(e).__name__,
            "status": e.status_code,
            "message": e.body.get("message") if isinstance(e.body, dict) else None,
            "retry_after": e.response.headers.get("retry-after"),
        }
    except Exception as e:  # what a cut raises differs between SDK versions
        seen = {"raised": type(e).__name__}
    print(json.dumps(seen))


main()
