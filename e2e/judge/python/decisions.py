"""Sends each request of a JSON list through the official OpenAI library, and
prints what it got back. Requests and answers must be of the library's types.
"""

import json
import sys

import openai
import pydantic
from openai.types.decision_create_params import DecisionCreateParams

params = pydantic.TypeAdapter(DecisionCreateParams)
client = openai.OpenAI(max_retries=0)
out = []
for request in json.load(sys.stdin):
    params.validate_python(request)
    got = client.decisions.create(**request)
    answers = got.to_dict()["answers"]
    type(got).model_validate(got.to_dict(), strict=True)
    out.append({"model": got.model, "input_tokens": got.usage.input_tokens, "answers": answers})
print(json.dumps(out))
