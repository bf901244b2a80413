"""Results by operator, the format of MXNet's utility: `{operator: [result, ...]}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from opperf.model import Record, Run, Status, display_arguments
from opperf.results.details import display_details
from opperf.results.figures import sort_by_operator
from opperf.results.result_keys import figures_of
from opperf.results.settings import differing_settings


def result_of(record: Record, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the result of a record: inputs and figures. `details` are those of tensors, by name,
    that differ from others in more than shape; `sweep` has the values of swept variables,
    `source_id` is the case's id in its file.

    `inputs` replace the record's own, for a caller who wrote them in another form.
    """
    case = record.case
    result: dict[str, Any] = {"inputs": display_arguments(case) if inputs is None else dict(inputs)}
    details = display_details(case) if inputs is None else {}
    if details:
        result["details"] = details
    if case.point and inputs is None:
        result["sweep"] = dict(case.point)
    if case.source_id:
        result["source_id"] = case.source_id
    return result | figures_of(record)


def results_by_operator(records: Iterable[Record]) -> dict[str, list[dict[str, Any]]]:
    """Returns the results of all measured records by operator, sorted by name, with the settings in
    which some differ."""
    listed = sort_by_operator(records)
    names = differing_settings(record.case for record in listed)
    results: dict[str, list[dict[str, Any]]] = {}
    for record in listed:
        if record.status is Status.OK:
            result = result_of(record)
            if names:
                settings = record.case.settings.identity()
                result["settings"] = {name: settings[name] for name in names}
            results.setdefault(record.case.label, []).append(result)
    return results


def ids_by_operator(records: Iterable[Record]) -> dict[str, list[str]]:
    """Returns the ids of `results_by_operator`, in its order."""
    ids: dict[str, list[str]] = {}
    for record in sort_by_operator(records):
        if record.status is Status.OK:
            ids.setdefault(record.case.label, []).append(record.id)
    return ids


def json_text(run: Run, names: Sequence[str] = ()) -> str:
    """Returns the results as JSON with a line for each result, for readers and diffs."""
    operators = [
        f"    {_encode(name)}: [\n"
        + ",\n".join(f"        {_encode(result)}" for result in results)
        + "\n    ]"
        for name, results in results_by_operator(run.records).items()
    ]
    return "{\n" + ",\n".join(operators) + "\n}\n" if operators else "{}\n"


def _encode(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
