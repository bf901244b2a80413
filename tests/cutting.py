"""Run files as they are left by a run that was cut short."""

import json


def cut_last_case(path):
    """Leaves a finished run file without its end and its last case's records: that case may have
    been measured again beside load."""
    lines = [(line, json.loads(line)) for line in path.read_text().splitlines(keepends=True)]
    last = [content["id"] for _, content in lines if content["line"] == "record"][-1]
    kept = [
        line
        for line, content in lines
        if content["line"] != "closing" and (content["line"], content.get("id")) != ("record", last)
    ]
    path.write_text("".join(kept))
