"""The class of all commands: help with examples and sections, and no option of one value twice."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

OTHER = "Other options"

SECTIONS: dict[str, str] = {
    "Cases": (
        "framework ops categories namespaces tags variants exclude patterns ids "
        "configurations total_partitions partition_id suites torchbench frameworks "
        "quick session accelerator test filter filter_by_tier exclude_by_tier"
    ),
    "Arms": "a b arm",
    "Commits": "changed_since git_folder",
    "Inputs": (
        "size shapes values sweeps input_function imports seed int64_tensor fuzz_shapes "
        "least_elements most_elements batch_factor skip_views"
    ),
    "Axes": "axes_file batch_sizes sizes xla dynamo xla_flags torch_xla2 enable_functionalization "
    "disable_tf32 matmul_precision filter_by_single_graph pure_wall_time",
    "Settings": (
        "device dtype profiler phase no_backward grad mode compile_cache compile_ahead autocast "
        "memory_format cache memory callgrind_cache verify verify_iterations threads cpus executor "
        "env options requirements locked"
    ),
    "Cluster": "address nodes node every_node worker_cpus worker_gpus workers_per_node",
    "Time and precision": (
        "precision max_time_s warmup runs repeat iterations fresh_contents rounds shuffle order "
        "timeout_s subprocess_timeout control_blocks blocks "
        "until_settled no_pace gate gate_sample confidence most_steps no_confirm"
    ),
    "Profiling": (
        "ncu ncu_bin ncu_args_file ncu_warmup ncu_iteration nsys nsys_bin nsys_args_file "
        "nsys_warmup nsys_iteration batch_cmd batch_size cuda_device"
    ),
    "Replay": "replay steps subgraph gaps ranks skip delay_ms et profile",
    "Insides": (
        "insides dump_pytorch_profiles dump_hlo save_ir_format profile_xla profile_xla_duration_ms "
        "dump_dynamo_counters dump_pytorch_xla_metrics collect_dynamo_counters collect_full_output "
        "profile_cuda_cpu profile_cuda_cpu_individual_ops log_level"
    ),
    "Comparison": (
        "metrics threshold same_within tolerances config base_is ignore_settings in_order "
        "check no_check compares rtol atol weight event by"
    ),
    "History": "",
    "Output": (
        "output_files output_file output_format output_dirname output_basename "
        "overwrite columns json "
        "report save_output title fig_width fig_height timestamp labels progress_bar quiet "
        "folder keep"
    ),
    "Plan, resumption and exit code": (
        "list_only dry_run resume no_resume no_skip experiment_config "
        "model_config print_subprocess retry strict fail_on"
    ),
}
"""Names of parameters, in the order of the help, by the title of their section."""

FIRST_COLUMN = 34
"""Most characters of an option beside its help; longer ones are above it."""


HYPHEN, UNBROKEN = "-", "\N{NON-BREAKING HYPHEN}"
"""Click ends lines at the first and not at the second."""


class Formatter(click.HelpFormatter):
    """Writes help whose lines end between words, and not within `--max-configs`."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace(HYPHEN, UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **more: Any) -> None:
        unbroken = [(first, second.replace(HYPHEN, UNBROKEN)) for first, second in rows]
        super().write_dl(unbroken, *args, **more)

    def getvalue(self) -> str:
        return super().getvalue().replace(UNBROKEN, HYPHEN)


class Context(click.Context):
    """A command's context, with the formatter of its help."""

    formatter_class = Formatter


class Command(click.Command):
    """A command that refuses options of one value that are set several times, of which click would
    use the last. One with `examples`, commands by what they are for, has its options in
    sections."""

    context_class = Context

    def __init__(self, *args: Any, examples: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = dict(examples or {})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.examples:
            super().format_options(ctx, formatter)
            return
        with formatter.section("Examples"):
            for purpose, line in self.examples.items():
                formatter.write_text(f"{purpose}:")
                indent = formatter.current_indent + 2
                for part in continued(line, formatter.width - indent):
                    formatter.write(f"{'':{indent}}{part}\n")
        for title, params in self.sections(ctx):
            with formatter.section(title):
                formatter.write_dl(
                    [param.get_help_record(ctx) or ("", "") for param in params],
                    col_max=FIRST_COLUMN,
                )

    def sections(self, ctx: click.Context) -> Iterator[tuple[str, list[click.Parameter]]]:
        """Yields the sections of options that help shows, by their titles; one without examples has
        a single section."""
        left: dict[str | None, click.Parameter] = {
            param.name: param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and param.get_help_record(ctx) is not None
        }
        for title, names in SECTIONS.items() if self.examples else ():
            listed = [name for name in names.split() if name in left]
            own = (name for name, param in left.items() if getattr(param, "section", "") == title)
            found = [left.pop(name) for name in dict.fromkeys((*listed, *own))]
            if found:
                yield title, found
        if left:
            yield OTHER if self.examples else "Options", list(left.values())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, occurrences = self.make_parser(ctx).parse_args(list(args))
        # Help is shown whatever else is wrong.
        counts = {} if self.get_help_option(ctx) in occurrences else Counter(occurrences)
        for param, number in counts.items():
            if number > 1 and has_one_value(param):
                raise click.UsageError(
                    f"{option_name(param)} takes one value and is set {number} times; set it once",
                    ctx,
                )
        return super().parse_args(ctx, args)


def continued(line: str, width: int) -> list[str]:
    """Returns a command as lines that a shell takes as one, split before options."""
    first, *options = re.split(r" (?=-)", line)
    lines = [first]
    for option in options:
        # Behind a line that goes on there is a backslash.
        if len(lines[-1]) + 1 + len(option) + 2 > width:
            lines[-1] += " \\"
            lines.append(f"  {option}")
        else:
            lines[-1] += f" {option}"
    return lines


def has_one_value(param: click.Parameter) -> bool:
    """Whether a parameter is an option that takes one value: no flag, and none of several."""
    return isinstance(param, click.Option) and not (param.is_flag or param.multiple or param.count)


def option_name(param: click.Parameter) -> str:
    """Returns the long name of an option, of several the last."""
    return max(reversed(param.opts), key=len)


command = functools.partial(click.command, cls=Command)
