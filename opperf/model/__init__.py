"""The vocabulary: what can be measured (`Case`) and what was measured (`Record`).

Every type here is frozen and serialises to JSON and back without loss. No framework is
imported, so a run file can be read on a machine that has none of them.
"""

from opperf.model.base import Struct
from opperf.model.canonical import ID_VERSION
from opperf.model.cases import Case, Pass, positional, shown_arguments
from opperf.model.metrics import WITHOUT_FIGURE, Metric, MetricKind, Note, NoteCode
from opperf.model.operators import Kind, Listed, Listing, Operator, Parameter
from opperf.model.records import OWN, Outcome, Record, Status, Summary
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
from opperf.model.settings import DECLARED, USUAL, Setting, Settings
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
    Generator,
    Mapping,
    MemoryFormat,
    Number,
    Scalar,
    TensorSpec,
    shown_argument,
    tensors_in,
)

__all__ = [
    "WITHOUT_FIGURE",
    "Metric",
    "MetricKind",
    "Note",
    "NoteCode",
    "DECLARED",
    "ID_VERSION",
    "OWN",
    "SCHEMA_VERSION",
    "UNKNOWN",
    "USUAL",
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
    "Generator",
    "Header",
    "Interpreter",
    "Kind",
    "Listed",
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
    "Target",
    "TargetKey",
    "TensorSpec",
    "positional",
    "shown_argument",
    "shown_arguments",
    "tensors_in",
]
