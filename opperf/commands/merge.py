"""The command `merge`."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.requests.merge import MergeRequest
from opperf.results.messages import tell


@command(
    MergeRequest,
    examples={
        "The parts of an array job": "opperf merge part-0.jsonl part-1.jsonl -o whole.jsonl",
    },
)
def merge(request: MergeRequest) -> int:
    """Join run files, as those of the jobs of one run with --partition-id, into one, each case
    once, and copy the streams of their programs beside it. Of a case in several files the record
    that ended ok counts, or else the last file's. What none has measured is measured by `opperf run
    --resume FILE`."""
    from opperf.plurals import pluralize

    merged = request.run(tell)
    files = len(set(request.paths))
    tell(
        f"{pluralize(len(merged.records), 'record')} of {pluralize(files, 'file')} written to "
        f"{request.output}"
    )
    return 0
