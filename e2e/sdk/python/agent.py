"""An agent of LangChain that runs a tool loop over two turns."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def weather(city: str) -> str:
    """Says what the weather is like in a city."""
    return f"The sky over {city} has clouds."


def run(session):
    model = ChatOpenAI(model=session.model, max_retries=0, timeout=60, default_headers=session.headers)
    agent = create_agent(model, tools=[weather], system_prompt="You are terse.")
    said = []
    for question in (session.question, "And in 東京?"):
        said = agent.invoke({"messages": [*said, {"role": "user", "content": question}]})["messages"]
    for message in said:
        if message.type != "ai":
            continue
        session.saw(
            message.model_dump(exclude={"id"}),
            id=message.response_metadata["id"],
            text=message.content or None,
            finish_reason=message.response_metadata["finish_reason"],
            total_tokens=message.usage_metadata["total_tokens"],
        )
    session.whole.append([m.content for m in said if m.type == "tool"])
