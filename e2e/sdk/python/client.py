"""Drives unmodified client libraries through scenarios.

Reads a list of {"client", "scenario", "traceparent"} as JSON from its input and
prints a list of {"client", "scenario", "calls", "whole"}: what the application
saw of each call in the words that all libraries share, and all that the library
gave it. Base URLs and keys come from the environment, as for any application.
"""

import json
import sys

import agent
import anthropic_calls
import openai_calls

LIBRARIES = {
    "openai-python": openai_calls,
    "anthropic-python": anthropic_calls,
    "langchain": agent,
}


class Session:
    """One scenario: what is asked, and what came of it."""

    def __init__(self, client, scenario, traceparent):
        self.name = scenario
        self.api, _, scripted = scenario.partition(".")
        self.model = "scripted-" + scripted
        self.question = f"{client} {scenario}: Grüße, 世界 👋"
        self.headers = {"traceparent": traceparent}
        self.calls = []
        self.whole = []

    def saw(self, whole, **call):
        """Notes one call; None stands for what the application did not get."""
        self.calls.append({k: v for k, v in call.items() if v is not None})
        self.whole.append(whole)


def main():
    sys.stdin.reconfigure(encoding="utf-8")
    out = []
    for work in json.load(sys.stdin):
        session = Session(**work)
        LIBRARIES[work["client"]].run(session)
        out.append({**work, "calls": session.calls, "whole": session.whole})
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
