"""Scenarios of the Anthropic SDK for Python."""

import json

import anthropic

TOOLS = [
    {
        "name": name,
        "description": "Looks something up.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    for name in ("weather", "clock")
]


def run(session):
    client = anthropic.Anthropic(max_retries=0, timeout=60, default_headers=session.headers)
    try:
        messages(client, session)
    except anthropic.APIStatusError as e:
        # An error event in a stream is raised with the status of the answer.
        session.saw(
            type(e).__name__,
            status=e.status_code,
            error=e.body["error"]["message"],
            retry_after=e.response.headers.get("retry-after"),
        )


def messages(client, session):
    said = [{"role": "user", "content": session.question}]

    asked = {"model": session.model, "max_tokens": 2048, "system": "You are terse.", "messages": said}
    match session.name:
        case "messages.tools":
            reply = saw_message(session, client.messages.create(tools=TOOLS, **asked))
            said.append({"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in reply.content]})
            results = [
                {"type": "tool_result", "tool_use_id": b.id, "content": [{"type": "text", "text": "rain, 9 °C"}]}
                for b in reply.content
                if b.type == "tool_use"
            ]
            said.append({"role": "user", "content": results})
            saw_message(session, client.messages.create(tools=TOOLS, **asked))
        case "messages.stream" | "messages.stream_error":
            gather(session, client.messages.stream(**asked))
        case "messages.tool_stream":
            gather(session, client.messages.stream(tools=TOOLS, **asked))
        case "messages.thinking":
            gather(session, client.messages.stream(thinking={"type": "enabled", "budget_tokens": 1024}, **asked))
        case _:
            saw_message(session, client.messages.create(**asked))


def gather(session, manager):
    with manager as stream:
        events = [event.model_dump() for event in stream]
        saw_message(session, stream.get_final_message(), events)


def saw_message(session, reply, whole=None):
    session.saw(
        whole or reply.model_dump(),
        id=reply.id,
        text="".join(b.text for b in reply.content if b.type == "text"),
        reasoning="".join(b.thinking for b in reply.content if b.type == "thinking") or None,
        finish_reason=reply.stop_reason,
        tool_calls=[
            {"id": b.id, "name": b.name, "arguments": json.dumps(b.input, ensure_ascii=False)}
            for b in reply.content
            if b.type == "tool_use"
        ],
    )
    return reply
