"""The command `compare`: its arguments and options."""

from __future__ import annotations

from pathlib import Path

import click

from opperf.commands.command import command, option_name
from opperf.defaults import FAIL_ON
from opperf.instruments.wrapped.programs import OWN_NAMES
from opperf.parameters import (
    choice_option,
    debug,
    explicit_options,
    limits,
    names_option,
    report_outputs,
    weight,
)
from opperf.parsing import KeptPath, SessionPath, clicked
from opperf.requests.parsers import Words, findings_among, words_among

FINDINGS = ("regressed", "improved", "suspect", "missing", "different")

OF_SESSIONS = frozenset(
    {"base", "session", "weight", "output_formats", "output_files", "overwrite", "fail_on", "debug"}
)
"""Parameters that apply to a session of `opperf ab`."""

SESSION_FINDING = "ambiguous"


def metric_names() -> Words:
    """Returns the names of all metrics."""
    from opperf.metrics import metrics_by_name

    return tuple(metrics_by_name())


class MetricOption(click.Option):
    """An option whose help lists the metrics."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from opperf.metrics import metrics_by_name

        known = metrics_by_name().values()
        own = [metric for metric in known if not metric.on_request]
        profiled = [metric for metric in known if metric.on_request and not metric.forward]
        names, usual = (
            ", ".join(metric.name for metric in chosen)
            for chosen in ([*own, *profiled], [metric for metric in own if metric.usual])
        )
        self.help = (
            f"{names}; commas separate several. kernel is the forward time by the framework's "
            f"own profiler.  [default: those of {usual} that the files have, and the main ones of "
            "models and of programs that profiled them]"
        )
        return super().get_help_record(ctx)


@command(
    examples={
        "What changed between two runs": "opperf compare before.jsonl after.jsonl",
        "A gate at 5 % of the instructions": (
            "opperf compare before.jsonl after.jsonl --metric instructions --threshold 5% "
            "--fail-on regressed"
        ),
        "A page for a pull request and a file for a CI's view of tests": (
            "opperf compare before.jsonl after.jsonl -o report.md -o report.xml"
        ),
    }
)
@click.argument("base", required=False, type=KeptPath())
@click.argument("new", required=False, type=KeptPath())
@click.option(
    "--from-ab",
    "session",
    type=SessionPath(),
    metavar="FILE",
    help="Compute the verdicts of a session of `opperf ab` again, from its report file; only "
    "--weight, --format, --output-file and --fail-on apply.",
)
@click.option(
    "--metric",
    "metrics",
    cls=MetricOption,
    multiple=True,
    metavar="METRICS",
    callback=clicked(words_among(metric_names, OWN_NAMES)),
)
@limits
@names_option(
    "--filter",
    "patterns",
    help="Only these operators: names, globs ('broadcast_*') or regexes ('re:^sum').",
)
@weight
@report_outputs("compare")
@click.option("--overwrite", is_flag=True, help="Replace the output files if they exist.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="FINDINGS",
    callback=clicked(findings_among((*FINDINGS, SESSION_FINDING))),
    help="Exit with 1 on any of these: regressed (more memory or instructions), improved, "
    "suspect (probably slower), missing (a case, or a metric of one, that only BASE has), of what "
    "`opperf ab` measured different (results), and of --from-ab ambiguous; or none. Exit with 3 if "
    f"the files cannot decide.  [default: {','.join(FAIL_ON)}]",
)
@choice_option("--base-is", choices=("first", "second"), help="Which of the two files is BASE.")
@click.option(
    "--ignore-settings",
    is_flag=True,
    help="Join cases of the same operator and arguments even if their settings differ, e.g. the "
    "profiler or the number of threads.",
)
@click.option(
    "--in-order",
    is_flag=True,
    help="Join the cases of two run files by their places in them, whatever they are, e.g. those "
    "of `opperf ab --profiler instructions`.",
)
@debug
@click.pass_context
def compare(ctx: click.Context, /, **options: object) -> None:
    """Compare two files of results, BASE and NEW: what got slower, faster, larger or smaller, and
    which cases are new or missing.

    The files are run files (-f jsonl), kept runs (`opperf compare @-2 @last`; `opperf runs` lists
    them), or JSON of `opperf run`, which has averages only. Two runs
    made at different times also differ by chance: this command calls a time at most suspect, and
    prints the command that can confirm it.
    """
    base, new, session = options["base"], options["new"], options["session"]
    if isinstance(base, Path) and session is None:
        from opperf.results.kept_facts import is_session

        if new is None and is_session(base):
            # Alone, it can only mean its verdicts.
            base, session = None, base
    if (session is None) == (new is None) or (session is not None and base is not None):
        raise click.UsageError("name two files of results, BASE and NEW, or --from-ab FILE alone")
    if isinstance(session, Path):
        for param in ctx.command.params:
            if param.name in explicit_options(ctx, options) and param.name not in OF_SESSIONS:
                raise click.UsageError(
                    f"{option_name(param)} does not apply to --from-ab: the session has its own "
                    "cases, metrics and thresholds; omit it"
                )
        from opperf.commands.ab.running import from_ab

        ctx.exit(from_ab(session, options))
    if SESSION_FINDING in (options["fail_on"] or ()):  # type: ignore[operator]
        raise click.UsageError(
            f"--fail-on {SESSION_FINDING} is for sessions of opperf ab: --from-ab FILE"
        )
    from opperf.commands.compare.running import compare_command

    ctx.exit(compare_command(options))
