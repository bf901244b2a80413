"""Recorded chains as Python functions of the tensors that their calls are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

import msgspec

from opperf.errors import UnsupportedError
from opperf.frameworks import scripts
from opperf.frameworks.base import Constant
from opperf.frameworks.torch import functions, private, registry, source
from opperf.frameworks.user_code import CHAIN
from opperf.model import INPUT, Argument, Case, Chain, ChainCall, ChainTarget, Number, TensorSpec
from opperf.plurals import pluralize

MakeConstant = Callable[[Constant, str], Any]
"""Returns PyTorch's object for a plain value of a case on a device."""


class _Call(NamedTuple):
    """A call as a line of the function."""

    expression: str
    results: int
    """Number of what it returns; 0 of one result alone, which is in no tuple."""


def case_of(chain: Chain, cases: Mapping[str, Case], constant: MakeConstant) -> Case:
    """Returns the case of a chain in eager mode; `cases` are those of its calls, by `call_id`.
    Raises `UnsupportedError` for a call that no source can be written of."""
    inputs: dict[str, Argument] = {}
    written: list[_Call] = []
    for place, call in enumerate(chain.calls):
        case = cases[call.call]
        written.append(_written(call, case, written, constant))
        for name, (maker, number) in call.feeds.items():
            if maker == INPUT:
                spec = _spec_at(case, name)
                # Names of storages are those of one call.
                storage = spec.storage and f"{spec.storage}_of_{place}"
                inputs.setdefault(f"x{number}", msgspec.structs.replace(spec, storage=storage))
    lines = [f"t{place} = {call.expression}" for place, call in enumerate(written)]
    names = ", ".join(inputs)
    body = "\n    ".join((*lines, f"return {_returned(chain, written)}"))
    first = cases[chain.calls[0].call]
    target = ChainTarget(
        framework=registry.FRAMEWORK,
        source=f"def {CHAIN}({names}):\n    {body}\n",
        name=chain.name,
        chain=chain.id,
    )
    return Case(
        target=target,
        arguments=inputs,
        settings=first.settings,
        passes=("forward",),
        origin=f"{chain.first.file}:{chain.first.line}" if chain.first.file else "",
        why=f"{pluralize(chain.count, 'time')} in a step, calls that one kernel could compute",
    )


def _spec_at(case: Case, name: str) -> TensorSpec:
    first, _, place = name.partition(".")
    value = case.arguments.get(first)
    found = value[int(place)] if place and isinstance(value, tuple) else value
    if not isinstance(found, TensorSpec):
        raise UnsupportedError(f"{case.label} has no tensor {name}")
    return found


class _Variable:
    """Stands for a tensor while a call is bound."""


def _written(call: ChainCall, case: Case, before: list[_Call], constant: MakeConstant) -> _Call:
    names: dict[int, str] = {}
    kept = []
    device = case.settings.device

    def value(place: str, argument: Argument) -> Any:
        if isinstance(argument, TensorSpec):
            if place not in call.feeds:
                raise UnsupportedError(f"{case.label}: it is not known what made {place}")
            maker, number = call.feeds[place]
            kept.append(_Variable())
            text = f"x{number}" if maker == INPUT else f"t{maker}"
            is_one = maker == INPUT or not before[maker].results
            names[id(kept[-1])] = text if is_one else f"{text}[{number}]"
            return kept[-1]
        if isinstance(argument, tuple):
            return [value(f"{place}.{index}", one) for index, one in enumerate(argument)]
        if isinstance(argument, Number):
            return argument.value
        return constant(argument, device) if isinstance(argument, get_args(Constant)) else argument

    function = functions.function_of(case.target)
    arguments = {name: value(name, argument) for name, argument in case.arguments.items()}
    bound = functions.bind(function, arguments, device)
    text = scripts.call_text(bound, names, source.render_plain)
    returns = private.schema_of(function).returns
    is_one = len(returns) == 1 and "List" not in str(returns[0].real_type)
    return _Call(f"{source.dotted_path(function)}({text})", 0 if is_one else max(1, len(returns)))


def _returned(chain: Chain, written: list[_Call]) -> str:
    """Returns what the function returns: the last call's results, and those of the others that no
    call of the chain reads, as a compiler leaves out what nothing reads."""
    fed = {feed for call in chain.calls for feed in call.feeds.values()}
    last = len(written) - 1
    further = [
        f"t{place}[{number}]"
        for place, call in enumerate(written[:-1])
        for number in range(call.results)
        if (place, number) not in fed
    ]
    return ", ".join((f"t{last}", *further))
