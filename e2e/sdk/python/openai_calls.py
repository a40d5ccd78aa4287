"""Scenarios of the OpenAI SDK for Python."""

import openai

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Looks something up.", "parameters": PARAMETERS}}
    for name in ("weather", "clock")
]
RESPONSE_TOOLS = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
HOSTED_TOOLS = [
    {"type": "web_search"},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "code_interpreter", "container": {"type": "auto"}},
]


def run(session):
    client = openai.OpenAI(max_retries=0, timeout=60, default_headers=session.headers)
    try:
        {"chat": chat, "responses": responses, "embeddings": embeddings}[session.api](client, session)
    except openai.APIStatusError as e:
        body = e.body if isinstance(e.body, dict) else {}
        session.saw(
            type(e).__name__,
            status=e.status_code,
            error=body.get("message"),
            retry_after=e.response.headers.get("retry-after"),
        )
    except openai.APIError as e:  # an error event in a stream
        session.saw([type(e).__name__, str(e)], broken=True)
    except Exception as e:  # what a cut raises differs between SDK versions
        session.saw(type(e).__name__, broken=True)


def chat(client, session):
    messages = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": session.question}]

    def ask(**more):
        return client.chat.completions.create(model=session.model, messages=messages, **more)

    stream = {"stream": True, "stream_options": {"include_usage": True}}
    match session.name:
        case "chat.tools":
            reply = saw_completion(session, ask(tools=TOOLS))
            messages.append(reply.choices[0].message.model_dump(exclude_none=True, exclude={"annotations"}))
            for call in reply.choices[0].message.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "rain, 9 °C"})
            saw_completion(session, ask(tools=TOOLS))
        case "chat.parallel_tools":
            gather(session, ask(tools=TOOLS, parallel_tool_calls=True, **stream))
        case "chat.stream" | "chat.cut":
            gather(session, ask(**stream))
        case "chat.leave":
            gather(session, ask(**stream), stop_after=3)
        case _:
            saw_completion(session, ask())


def saw_completion(session, reply):
    choice = reply.choices[0]
    session.saw(
        reply.model_dump(),
        id=reply.id,
        text=choice.message.content,
        finish_reason=choice.finish_reason,
        tool_calls=[
            {"id": c.id, "name": c.function.name, "arguments": c.function.arguments}
            for c in choice.message.tool_calls or []
        ],
        total_tokens=reply.usage.total_tokens,
    )
    return reply


def gather(session, stream, stop_after=None):
    whole, text, calls, finish, tokens = [], None, [], None, None
    for chunk in stream:
        whole.append(chunk.model_dump())
        tokens = chunk.usage.total_tokens if chunk.usage else tokens
        for choice in chunk.choices:
            if choice.delta.content is not None:
                text = (text or "") + choice.delta.content
            for part in choice.delta.tool_calls or []:
                if part.id:
                    calls.append({"id": part.id, "name": part.function.name, "arguments": ""})
                calls[part.index]["arguments"] += part.function.arguments
            finish = choice.finish_reason or finish
        if len(whole) == stop_after:
            stream.close()
            break
    session.saw(whole, id=chunk.id, text=text, finish_reason=finish, tool_calls=calls, total_tokens=tokens)


def responses(client, session):
    def ask(asked, **more):
        return client.responses.create(model=session.model, input=asked, **more)

    match session.name:
        case "responses.tools":
            first = saw_events(session, ask(session.question, instructions="You are terse.", tools=RESPONSE_TOOLS, stream=True))
            history = [{"role": "user", "content": session.question}]
            history += [item.model_dump(exclude_none=True) for item in first.output]
            history += [
                {"type": "function_call_output", "call_id": item.call_id, "output": f"{item.name}: rain, noon"}
                for item in first.output
            ]
            saw_response(session, ask(history, instructions="You are terse.", tools=RESPONSE_TOOLS))
        case "responses.chain":
            first = saw_response(session, ask(session.question))
            saw_response(session, ask("What is your name?", previous_response_id=first.id))
        case "responses.hosted":
            saw_response(session, ask(session.question, tools=HOSTED_TOOLS, include=["web_search_call.action.sources"]))
        case "responses.hosted_stream":
            saw_events(session, ask(session.question, tools=HOSTED_TOOLS, stream=True))
        case "responses.incomplete":
            saw_response(session, ask(session.question, max_output_tokens=16))
        case "responses.incomplete_stream":
            saw_events(session, ask(session.question, max_output_tokens=16, stream=True))
        case "responses.stream" | "responses.failed":
            saw_events(session, ask(session.question, reasoning={"effort": "low", "summary": "auto"}, stream=True))
        case _:
            saw_response(session, ask(session.question, reasoning={"effort": "low", "summary": "auto"}))


def saw_response(session, reply, whole=None):
    session.saw(
        whole or reply.model_dump(),
        id=reply.id,
        text=reply.output_text or None,
        finish_reason=reply.incomplete_details.reason if reply.incomplete_details else reply.status,
        tool_calls=[
            {"id": item.call_id, "name": item.name, "arguments": item.arguments}
            for item in reply.output
            if item.type == "function_call"
        ],
        total_tokens=reply.usage.total_tokens if reply.usage else None,
    )
    return reply


def saw_events(session, stream):
    events = list(stream)
    return saw_response(session, events[-1].response, [e.model_dump() for e in events])


def embeddings(client, session):
    texts = [session.question, "second text"]
    more = {"encoding_format": "float"} if session.name == "embeddings.float" else {}
    reply = client.embeddings.create(model=session.model, input=texts, **more)
    session.saw(
        reply.model_dump(),
        total_tokens=reply.usage.total_tokens,
        vectors=len(reply.data),
        dimensions=len(reply.data[0].embedding),
    )
