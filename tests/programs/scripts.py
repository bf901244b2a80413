"""Programs that tests measure, and what they wrote."""

import time

LOOP = """
import sys, time

def batches(n):
    for number in range(n):
        yield [number] * 8

for number, batch in enumerate(batches(10_000)):
    time.sleep(0.001)
"""

COUNTING = """
import json, os
fd = int(os.environ["DATA_FD"])
def say(**data):
    os.write(fd, (json.dumps(data) + "\\n").encode())
for n in range({n}):
    say(task="train", rate=100.0 + n % 3, units="items/s")
    say(task="train", loss=1 / (n + 1))
"""


def data(events, key):
    return [event.data for event in events if event.event == "data" and key in event.data]


def streamed(folder):
    """Returns the text of all streams so far."""
    return "".join(
        each.read_text(errors="replace") for each in (folder / "streams").glob("*.jsonl")
    )


def wait_for(condition):
    """Returns whether a condition holds, or does within a time that no machine needs for it."""
    for _ in range(6000):
        if condition():
            return True
        time.sleep(0.05)
    return False
