"""The command `compare`: its arguments and options."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import click

from opperf.parameters import debug, explicit_options, report_format, split_commas

FORMATS = ("text", "md", "json", "csv", "html-fragment", "junit")
FINDINGS = ("regressed", "suspect", "missing")

Words = tuple[str, ...]


def read_words_among(
    known: Callable[[], Words],
) -> Callable[[click.Context, click.Parameter, Words], Words]:
    """`a,b` as a list of words, each of which has to be a known one."""

    def words(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
        given = tuple(dict.fromkeys(word.lower() for word in split_commas(ctx, param, values)))
        for word in given:
            if word not in known():
                raise click.BadParameter(f"{word!r} is none of {', '.join(known())}", ctx, param)
        return given

    return words


def metric_names() -> Words:
    """Every metric that can be compared."""
    from opperf.metrics import registered

    return tuple(registered())


class MetricOption(click.Option):
    """An option whose help lists the metrics, which are looked up when the help is read."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from opperf.metrics import registered

        metrics = ", ".join(registered())
        usual = ", ".join(metric.name for metric in registered().values() if metric.usual)
        self.help = (
            f"{metrics}; commas separate several. kernel is the forward time where the "
            f"framework's own profiler took it.  [default: {usual}, as far as they are there]"
        )
        return super().get_help_record(ctx)


def read_share(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """`5%` or `0.05` as a share."""
    number, percent, rest = value.partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if rest.strip() or not 0 < share < 1:
        raise click.BadParameter(
            f"{value!r} is no share between 0 and 1; write it as 5% or 0.05", ctx, param
        )
    return share


@click.command()
@click.argument("base", required=False, type=click.Path(path_type=Path))
@click.argument("new", required=False, type=click.Path(path_type=Path))
@click.option(
    "--from-ab",
    "session",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make the verdicts of a session of `opperf ab` again, from its file; --format and "
    "--fail-on count.",
)
@click.option(
    "--metric",
    "metrics",
    cls=MetricOption,
    multiple=True,
    metavar="METRICS",
    callback=read_words_among(metric_names),
)
@click.option(
    "--threshold",
    default="2%",
    show_default=True,
    metavar="SHARE",
    callback=read_share,
    help="Smallest change of a time that is of interest. Memory and counts have tolerances of "
    "their own.",
)
@click.option(
    "--filter",
    "patterns",
    multiple=True,
    metavar="NAMES",
    callback=split_commas,
    help="Only operators of these names, globs ('broadcast_*') or regexes ('re:^sum').",
)
@report_format(FORMATS)
@click.option(
    "-o",
    "--output-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the report there.  [default: print it]",
)
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="FINDINGS",
    callback=read_words_among(lambda: FINDINGS),
    help="Exit with 1 if there is one of these: regressed (more memory, more instructions), "
    "suspect (more time, it seems), missing (a case, or a metric of it, that was measured and is "
    "not now); with 3 if none of them can be told.",
)
@click.option(
    "--base-is",
    default="first",
    show_default=True,
    type=click.Choice(["first", "second"], case_sensitive=False),
    help="Which of the two files the other one is held against.",
)
@click.option(
    "--ignore-settings",
    is_flag=True,
    help="Join cases of the same operator and arguments though they were run otherwise, e.g. with "
    "another profiler or number of threads.",
)
@debug
@click.pass_context
def compare(ctx: click.Context, /, **options: object) -> None:
    """Compare two files of results, BASE and NEW: what got slower, faster, larger, smaller, and
    what appeared and disappeared.

    They are run files (-f jsonl), or JSON as `opperf run` writes it, which holds averages only.
    Two runs that were taken apart differ by chance as well: of times, this command says no more
    than that one is suspect, and which command confirms it.
    """
    base, new, session = options["base"], options["new"], options["session"]
    if (session is None) == (new is None) or (session is not None and base is not None):
        raise click.UsageError("give two files of results, BASE and NEW, or --from-ab FILE alone")
    if isinstance(session, Path):
        from opperf.compare.ab.command import from_ab

        ctx.exit(from_ab(session, explicit_options(ctx, options)))
    from opperf.compare.files.command import compare_command

    ctx.exit(compare_command(options))
