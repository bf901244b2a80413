"""Settings: how a case is run. Each is declared once, with its option and the parser of its text.

The command line, the arms of `ab`, `--resume`, reports and the commands that they print read the
declarations, so that a new setting is one field here and the code that applies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

from opperf import defaults
from opperf.dtypes import canonical
from opperf.model import declaring
from opperf.model.declaring import Struct

timing = partial(declaring.Setting, identity=False, section="Time and precision")
inputs = partial(declaring.Setting, identity=False, common=True, section="Inputs")
of_process = partial(declaring.Setting, process=True, axis=True)
common_axis = partial(declaring.Setting, axis=True, common=True)


EAGER = "eager"
"""The mode that calls one operator after the other."""

VERIFIED: Mapping[str, bool | Literal["reference"]] = {
    "true": True,
    "false": False,
    "reference": "reference",
}
"""Values of the setting, as users write them: true is by the modes of the framework."""


def read_verified(text: str) -> bool | Literal["reference"]:
    """Returns what results are verified by, or whether by other modes."""
    return VERIFIED[declaring.one_of(*VERIFIED)(text)]


class Settings(Struct, frozen=True):
    """How a case is run."""

    device: Annotated[
        str,
        common_axis(
            "--ctx",
            "Device, one of those that `opperf frameworks NAME` lists.  [default: the first "
            "of them]",
            also="--device",
        ),
    ] = "cpu(0)"
    dtype: Annotated[
        str,
        common_axis(
            "--dtype",
            "Data type of the inputs, one of those that `opperf frameworks NAME` lists.  [default: "
            "float32; of NumPy float64]",
            canonical,
            title="dtype",
        ),
    ] = "float32"
    profiler: Annotated[
        str,
        common_axis(
            "--profiler",
            "native: kernel time, by the framework's own profiler. python: wall-clock time of the "
            "call and its synchronisation. events: time between two events on the device. "
            "instructions: executed instructions, under Valgrind. `opperf frameworks NAME` lists "
            "all.  [default: the first of them]",
            str.lower,
            short="-p",
        ),
    ] = "native"
    warmup: Annotated[
        int | None,
        timing(
            "--warmup",
            "Warmup calls before timing.  [default: until calls stop getting faster]",
            declaring.integer_from(0),
            short="-w",
            metavar="CALLS",
            title="Warm-up",
        ),
    ] = None
    runs: Annotated[
        int | None,
        timing(
            "--runs",
            "Timed calls of each pass.  [default: as many as --precision needs]",
            declaring.integer_from(1),
            short="-r",
            metavar="CALLS",
        ),
    ] = None
    iterations: Annotated[
        int | None,
        timing(
            "--iterations-per-run",
            "Calls of a sample, their mean, between two waits for the device.  [default: as many "
            "as the clock's resolution needs, or 1 with a number of runs]",
            declaring.integer_from(1),
            metavar="CALLS",
            title="Calls of a sample",
            empty="none",
        ),
    ] = None
    fresh_contents: Annotated[
        bool,
        timing(
            "--randomize-input",
            "Give a model's inputs other random contents before each sample, outside of its time.",
            title="Other contents for each sample",
            flag=True,
        ),
    ] = False
    precision: Annotated[
        float,
        timing(
            "--precision",
            "Stop once the half-width of the median's 95 % confidence interval is at most this "
            "share of the median.",
            declaring.number_between(0, 1),
            metavar="SHARE",
            title="Precision of medians",
        ),
    ] = defaults.PRECISION
    threads: Annotated[
        int | None,
        of_process(
            "--threads",
            "Number of compute threads, or all: the framework's own choice.  [default: all]",
            declaring.read_thread_count,
            metavar="COUNT",
            empty=declaring.ALL,
        ),
    ] = None
    env: Annotated[
        dict[str, str],
        of_process(
            "--env",
            "Environment variable of the workers; separate several values with |.",
            metavar="NAME=VALUE",
            title="Environment variables",
            empty="unset",
        ),
    ] = {}
    options: Annotated[
        dict[str, str],
        of_process(
            "--set",
            "Option of the framework, by its name there, e.g. "
            "torch.set_flush_denormal=true; separate several values with |.",
            declaring.read_flag,
            metavar="NAME=VALUE",
            title="Options of the framework",
            empty="unset",
        ),
    ] = {}
    python: Annotated[
        str,
        of_process(
            "--python",
            "Python interpreter that runs the workers; its environment has the framework. LABEL "
            "names it in results, FRAMEWORK limits it to one framework.",
            metavar="[LABEL:][FRAMEWORK=]PATH",
            title="Interpreter",
            empty="own",
        ),
    ] = ""
    """Label of the worker's interpreter, if a run has several; its path is in the run's header."""
    imports: Annotated[
        tuple[str, ...],
        inputs(
            "--import",
            "Import your module (kernels, or its file kernels.py) into the workers, to measure "
            "the operators it registers.",
            metavar="MODULE",
            process=True,
            many=True,
            title="Imported modules",
        ),
    ] = ()
    input_function: Annotated[
        str,
        inputs(
            "--inputs",
            "Your function that returns the inputs, in place of the rules, as a dict of "
            "arguments (arrays, shapes, numbers), or a list of such dicts, one for each "
            "configuration: kernels.py:make or module:make. Or your dict of these by function, "
            "inputs.py:INPUTS; what it lacks has the rules' inputs.",
            metavar="FUNCTION|DICT",
            title="Function of the inputs",
        ),
    ] = ""
    seed: Annotated[
        int,
        inputs(
            "--seed",
            "Seed of the inputs' contents, of random shapes, and of random orders.",
            declaring.integer_from(0),
            metavar="NUMBER",
        ),
    ] = 0
    max_time_s: Annotated[
        float | None,
        timing(
            "--max-time",
            "Maximum time spent timing a case, shared among its passes. A slow operator gets "
            f"fewer samples, at least 3.  [default: {defaults.MAX_TIME_S:g}, or less in a run of "
            f"many cases, {defaults.SWEEP_S / 60:g} minutes in total; no limit with -r]",
            declaring.number_between(0),
            metavar="SECONDS",
            title="Time limit of a case (s)",
            empty="none",
        ),
    ] = None
    """None for no limit if `runs` is set, and for the default one otherwise."""
    node: Annotated[
        str,
        declaring.Setting(
            "--node",
            "Node of the cluster that measures the cases, with --executor ray.  [default: any that "
            "is free]",
            empty="any",
            section="Cluster",
            axis=True,
        ),
    ] = ""
    timeout_s: Annotated[
        float,
        timing(
            "--timeout",
            "Limit on the time of one case, inputs and warmup included.",
            declaring.number_between(0),
            metavar="SECONDS",
            title="Timeout (s)",
        ),
    ] = defaults.TIMEOUT_S
    mode: Annotated[
        str,
        declaring.Setting(
            "--mode",
            "Execution mode, one of those that `opperf frameworks NAME` lists.  [default: eager]",
            str.lower,
            axis=True,
        ),
    ] = EAGER
    autocast: Annotated[
        str,
        common_axis(
            "--autocast",
            "Automatic mixed precision: the dtype that the framework casts to where it holds that "
            "suitable, one of those that `opperf frameworks NAME` lists.  [default: off]",
            declaring.read_autocast,
            metavar="DTYPE",
        ),
    ] = declaring.OFF
    memory_format: Annotated[
        str,
        common_axis(
            "--memory-format",
            "Order of the axes in memory, one of those that `opperf frameworks NAME` lists. "
            "channels_last: of tensors of 4 and 5 axes. A case without such a tensor is measured "
            "as it is.  [default: contiguous]",
            str.lower,
            metavar="FORMAT",
        ),
    ] = declaring.CONTIGUOUS
    compile_cache: Annotated[
        Literal["warm", "cold"],
        declaring.Setting(
            "--compile-cache",
            "Cache of compiled code, in modes that compile. warm: that of the user, kept between "
            "runs. cold: an empty one for each case.  [default: warm]",
            declaring.one_of("warm", "cold"),
            metavar="warm|cold",
            title="Cache of compiled code",
            axis=True,
        ),
    ] = "warm"
    phase: Annotated[
        Literal["train", "predict"],
        declaring.Setting(
            "--phase",
            "Run operators such as dropout and normalisation as in training or as in inference.  "
            "[default: by the operator's rule]",
            declaring.one_of("train", "predict"),
            metavar="train|predict",
            axis=True,
        ),
    ] = "predict"
    grad: Annotated[
        str,
        declaring.Setting(
            "--grad",
            "Arguments with respect to which the backward pass computes gradients, e.g. "
            "weight,bias, or parameters of a module of PyTorch.  [default: all that take a "
            "gradient]",
            declaring.read_names,
            metavar="NAMES",
            common=True,
            title="Gradients of",
            empty="all",
        ),
    ] = ""
    cache: Annotated[
        Literal["hot", "cold"],
        declaring.Setting(
            "--cache",
            "hot: inputs stay where the previous call left them. cold: inputs are not in any "
            "cache.  [default: hot]",
            declaring.one_of("hot", "cold"),
            metavar="hot|cold",
            axis=True,
        ),
    ] = "hot"
    callgrind_cache: Annotated[
        bool,
        declaring.Setting(
            "--callgrind-cache",
            "With --profiler instructions, simulate caches and branch prediction too, which takes "
            "several times as long.",
            process=True,
            title="Caches simulated",
            flag=True,
        ),
    ] = False
    memory: Annotated[
        bool,
        declaring.Setting(
            "--no-memory",
            "Do not measure memory.",
            identity=False,
            title="Peak memory measured",
            flag=False,
        ),
    ] = True
    verify: Annotated[
        bool | Literal["reference"],
        declaring.Setting(
            "--verify",
            "Compare each case's results with those of eager mode, which runs twice with the same "
            "seeds, and once in float64: outputs, gradients, and parameters after a step. "
            "reference: with those of its canonical operation in float64. Times are measured as "
            "without it.",
            read_verified,
            metavar="[reference]",
            identity=False,
            title="Results verified",
            alone="true",
        ),
    ] = False
    verify_iterations: Annotated[
        int,
        declaring.Setting(
            "--verify-iterations",
            "Steps or calls of a model from the beginning, the last of which --verify compares.",
            declaring.integer_from(1),
            metavar="N",
            identity=False,
            title="Iterations verified",
        ),
    ] = 1

    @property
    def differentiated(self) -> tuple[str, ...]:
        return tuple(self.grad.split(",")) if self.grad else ()
