"""The command `param`, with PARAM's options that have no effect here."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

import opperf
from opperf.commands.options import RequestCommand
from opperf.requests.declaring import declared
from opperf.requests.param import ParamRequest
from opperf.results.messages import tell

WITHOUT_EFFECT = ("cupti-profiler-metrics",)
"""Options with a value that have no effect here, which scripts may have."""

SWITCHES_WITHOUT_EFFECT = {
    "cupti-profiler": (),
    "cupti-profiler-measure-per-kernel": (),
    "verbose": ("-v",),
}
"""Options without a value that have no effect here, with their short forms."""

OLDER = "ncu_batch"
"""The name of `batch_size` in earlier versions of PARAM."""


def _print_version(ctx: click.Context, param: click.Parameter, is_set: bool) -> None:
    if is_set:
        print(f"opperf {opperf.__version__}")
        ctx.exit()


class ParamCommand(RequestCommand[ParamRequest]):
    """Takes options without an effect, and says which there are."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params += [
            click.Option(["--ncu-batch"], type=click.IntRange(min=1), hidden=True),
            *(click.Option([f"--{name}"], hidden=True) for name in WITHOUT_EFFECT),
            *(
                click.Option([*short, f"--{name}"], is_flag=True, hidden=True)
                for name, short in SWITCHES_WITHOUT_EFFECT.items()
            ),
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_version,
                help="Print the version and end.",
            ),
        ]

    def request_of(self, ctx: click.Context) -> ParamRequest:
        params = ctx.params
        if params["batch_size"] is None and params[OLDER] is not None:
            params["batch_size"] = params[OLDER]
            ctx.set_parameter_source("batch_size", ParameterSource.COMMANDLINE)
        request = super().request_of(ctx)
        names = [*WITHOUT_EFFECT, *SWITCHES_WITHOUT_EFFECT]
        fields = declared(ParamRequest)
        given = [f"--{name}" for name in names if params[name.replace("-", "_")]]
        given += [fields[name].shown for name in request.without_effect()]
        if given:
            tell(f"opperf: no effect here: {', '.join(given)}")
        return request


def _param(request: ParamRequest) -> int:
    """Measure a configuration of PARAM's compute benchmarks with the options that its users have in
    scripts, and write its lines of JSON. `opperf run FILE` measures it with opperf's own."""
    from opperf.commands.running import command_line, run_command

    code, traces = request.run(tell, command_line(), run_command)
    if traces and not request.is_quiet:
        print(f"traces written to {', '.join(traces)}")
    return code


param = ParamCommand(ParamRequest, _param, name="param")
