"""A session of `ab` on a node of a cluster, for the manager that has its file and reports it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.ab.request import read_request, with_changed
from opperf.commands.ab.running import measure_session, open_session
from opperf.errors import INTERRUPTED
from opperf.execution.fleet.node_command import NodeFile
from opperf.terminating import end_with_parent


def measure_for_manager(given: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Measures a session into the file of `--on-node`; the exit code. Raises `OpperfError` if that
    is not possible."""
    end_with_parent()
    # Ray blocks it in its processes, whose children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    asked = msgspec.json.decode(given["on_node"], type=NodeFile)
    own = {
        "names": asked.names,
        "report": Path(asked.path),
        "resume": "" if asked.resume else None,
        # The outputs are on the manager's machine.
        **{"overwrite": False, "output_files": (), "output_formats": ()},
    }
    selected = with_changed({**given, **own})
    if selected is None:
        return 0
    request = read_request(selected, {**changed, "report": own["report"]})
    request = replace(request, node=asked.node, command=asked.command)
    with request.pinning:
        try:
            writer = open_session(request)
            assert writer is not None, "no dry run"
            with writer:
                measure_session(writer, request)
        except KeyboardInterrupt:
            return INTERRUPTED
    return 0
