"""Calls presets with the gateway key of the first argument, through the proxy of the second."""

import json
import sys

import anthropic
import openai

key, proxy = sys.argv[1:]
MESSAGES = [{"role": "user", "content": "hi"}]


def chat(client):
    return client.chat.completions.create(model="small", messages=MESSAGES).choices[0].message.content


def messages(client):
    return client.messages.create(model="small", max_tokens=9, messages=MESSAGES).content[0].text


def outcome(call, client):
    try:
        return call(client)
    except (openai.AuthenticationError, anthropic.AuthenticationError):
        return "AuthenticationError"


options = {"api_key": key, "max_retries": 0}
json.dump(
    {
        "azure": outcome(chat, openai.AzureOpenAI(azure_endpoint=f"{proxy}/azure", api_version="2024-06-01", **options)),
        "azure v1": outcome(chat, openai.OpenAI(base_url=f"{proxy}/azure/openai/v1/", **options)),
        "gemini as OpenAI": outcome(chat, openai.OpenAI(base_url=f"{proxy}/gemini/v1beta/openai/", **options)),
        "vllm": outcome(chat, openai.OpenAI(base_url=f"{proxy}/vllm/v1", **options)),
        "anthropic": outcome(messages, anthropic.Anthropic(base_url=f"{proxy}/anthropic", **options)),
    },
    sys.stdout,
)
