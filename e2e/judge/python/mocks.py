"""Starts the conformance suite's reference server once clean and once with each
of its faults, prints their URLs as JSON, and ends with its standard input.
"""

import json
import sys

from jevcompat.mock import FAULTS, MockConfig, Running

# These faults show only where a key is wanted.
keyed = {"auth-x-api-key", "auth-plain", "auth-invalid-403-text"}

configs = {"": MockConfig(), "key": MockConfig(key="sk-fake"), "busy": MockConfig(busy_every=2)}
for fault in FAULTS:
    configs[fault] = MockConfig(faults=frozenset([fault]), key="sk-fake" if fault in keyed else None)

urls = {}
for name, config in configs.items():
    urls[name] = Running(config).__enter__().url
print(json.dumps(urls), flush=True)
sys.stdin.read()
