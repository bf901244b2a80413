"""The commands `list`, `show` and `coverage`: their arguments and options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.parameters import (
    argument_options,
    axis_option,
    case_ids,
    common_settings,
    debug,
    explicit_options,
    filter_options,
    framework,
    max_configs,
    random_shape_options,
    report_output,
    setting_option,
    size,
)
from opperf.parsing import KeptPath, clicked
from opperf.requests.parsers import split_commas


@command(
    "list",
    examples={
        "The operators of a name or pattern": "opperf list relu 'broadcast_*'",
        "The categories, with the numbers of operators and cases": "opperf list --categories",
        "All operators of a category, for a program": (
            "opperf list --category reduction -o operators.json"
        ),
    },
)
@click.argument("names", nargs=-1, metavar="[OPERATOR]...", callback=clicked(split_commas))
@filter_options
@click.option(
    "--categories",
    "by_category",
    is_flag=True,
    help="List the operators' categories instead, with the numbers of operators and of cases.",
)
@setting_option("imports")
@axis_option("python")
@report_output("list")
@debug
@framework
@click.pass_context
def list_operators(ctx: click.Context, /, **options: object) -> None:
    """List operators: name, number of cases, category, parameters, the rule that makes their
    inputs, aliases. Patterns ignore case, unless an operator has exactly that name."""
    from opperf.commands.registry.running import list_command

    ctx.exit(list_command(options, explicit_options(ctx, options)))


@command(
    examples={
        "An operator and its first case": "opperf show relu --max-configs 1",
        "A case of the latest run, with its figures": "opperf show @last --id 1a86ae51",
        "The script of a case with other inputs": "opperf show relu --dtype float64 --size small",
    }
)
@click.argument("name", metavar="OPERATOR|RUNFILE")
@size
@argument_options
@common_settings
@max_configs
@random_shape_options
@case_ids
@axis_option("python")
@report_output("show")
@debug
@framework
@click.pass_context
def show(ctx: click.Context, /, **options: object) -> None:
    """Show one operator, its cases, and for each a script that makes the call in the framework
    alone; or the cases of a run file, or of a session of `opperf ab`, with their figures, too."""
    from opperf.commands.registry.running import read_show_request, show_command

    ctx.exit(show_command(read_show_request(options, explicit_options(ctx, options))))


@command()
@click.argument("run_file", required=False, metavar="[RUNFILE]", type=KeptPath())
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if a smaller share of the distinct operators is measured.",
)
@axis_option("python")
@report_output("coverage")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@debug
@framework
@click.pass_context
def coverage(ctx: click.Context, /, **options: object) -> None:
    """Report how much of the registry is measured, by the records of RUNFILE. Without one, every
    operator is run once, at a small size."""
    from opperf.commands.registry.running import coverage_command

    ctx.exit(coverage_command(options, explicit_options(ctx, options)))
