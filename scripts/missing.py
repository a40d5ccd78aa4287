"""Prints the pinned requirements that this Python lacks: missing.py FILE..."""

import importlib.metadata
import re
import sys

for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        for line in file:
            pin = re.match(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==([^\s;\\]+)", line)
            if not pin:
                continue
            try:
                have = importlib.metadata.version(pin[1])
            except importlib.metadata.PackageNotFoundError:
                have = None
            if have != pin[2]:
                print(f"{pin[1]}=={pin[2]}")
