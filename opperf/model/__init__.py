"""The types that every other package uses, from `Case` (one thing to measure) to `Record` (its
results).

All are frozen and serialise to JSON and back without loss. They import no framework, so a run file
can be read on a machine that has none.
"""

from opperf.model.base import Struct
from opperf.model.canonical import ID_VERSION
from opperf.model.cases import Case, Pass, display_arguments, split_positional
from opperf.model.declaring import Setting
from opperf.model.metrics import (
    NOISE,
    UNRELIABLE,
    WITHOUT_FIGURE,
    Metric,
    MetricKind,
    Note,
    NoteCode,
)
from opperf.model.operators import Kind, ListedOperator, Listing, Operator, Parameter
from opperf.model.records import OWN, GpuState, Outcome, Record, Status, Summary, Waits
from opperf.model.runs import (
    SCHEMA_VERSION,
    CaseLine,
    Closing,
    Environment,
    EnvironmentLine,
    Header,
    Interpreter,
    RecordLine,
    Run,
)
from opperf.model.settings import DECLARED, DEFAULTS, INSTRUCTIONS, MAPPINGS, Settings
from opperf.model.targets import (
    CallableTarget,
    FileTarget,
    ObjectTarget,
    OperatorTarget,
    SnippetTarget,
    Target,
    TargetKey,
)
from opperf.model.values import (
    UNKNOWN,
    Argument,
    Device,
    DType,
    Element,
    Fill,
    Function,
    Generator,
    Mapping,
    MemoryFormat,
    Number,
    Scalar,
    TensorSpec,
    display_argument,
    iter_tensors,
    map_tensors,
)

__all__ = [
    "NOISE",
    "UNRELIABLE",
    "WITHOUT_FIGURE",
    "Metric",
    "MetricKind",
    "Note",
    "NoteCode",
    "DECLARED",
    "ID_VERSION",
    "INSTRUCTIONS",
    "OWN",
    "SCHEMA_VERSION",
    "UNKNOWN",
    "DEFAULTS",
    "MAPPINGS",
    "Argument",
    "CallableTarget",
    "Case",
    "CaseLine",
    "Closing",
    "DType",
    "Device",
    "Element",
    "Environment",
    "EnvironmentLine",
    "FileTarget",
    "Fill",
    "Function",
    "Generator",
    "GpuState",
    "Header",
    "Interpreter",
    "Kind",
    "ListedOperator",
    "Listing",
    "Mapping",
    "MemoryFormat",
    "Number",
    "ObjectTarget",
    "Operator",
    "OperatorTarget",
    "Outcome",
    "Parameter",
    "Pass",
    "Record",
    "RecordLine",
    "Run",
    "Scalar",
    "Setting",
    "Settings",
    "SnippetTarget",
    "Status",
    "Struct",
    "Summary",
    "Waits",
    "Target",
    "TargetKey",
    "TensorSpec",
    "split_positional",
    "display_argument",
    "display_arguments",
    "iter_tensors",
    "map_tensors",
]
