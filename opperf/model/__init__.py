"""The types that every other package uses, from `Case` (one thing to measure) to `Record` (its
results).

All are frozen and serialise to JSON and back without loss. They import no framework, so a run file
can be read on a machine that has none.
"""

from opperf.model.cases import (
    DECLARED,
    DEFAULTS,
    MAPPINGS,
    PASSES,
    SESSION_AXES,
    CallSite,
    Case,
    Pass,
    display_arguments,
    identity_of,
    split_positional,
)
from opperf.model.chains import INPUT, Chain, ChainCall
from opperf.model.declaring import ID_VERSION, Setting, Struct
from opperf.model.metrics import (
    NOISE,
    REMOVED,
    UNRELIABLE,
    WITHOUT_FIGURE,
    Method,
    Metric,
    MetricKind,
    Note,
    NoteCode,
    Verification,
    VerificationCode,
)
from opperf.model.operators import (
    Kind,
    ListedOperator,
    Listing,
    Operator,
    Parameter,
    RulePlace,
    RuleUse,
)
from opperf.model.peaks import BandwidthPeak, DispatchPeak, Peaks, ProductPeak
from opperf.model.records import (
    DIFFERENT,
    OWN,
    Check,
    Difference,
    GpuState,
    KnownBy,
    LoadedFile,
    Outcome,
    Part,
    Place,
    ProcessResult,
    Record,
    Role,
    SameResults,
    Status,
    Summary,
    Tolerance,
    Waits,
)
from opperf.model.runs import (
    SCHEMA_VERSION,
    BenchFacts,
    CaseLine,
    Closing,
    CompiledProgram,
    Environment,
    EnvironmentLine,
    Header,
    Interpreter,
    ProcessLine,
    Program,
    RecordLine,
    Run,
    Wrapper,
    Wrapping,
)
from opperf.model.settings import EAGER, Settings
from opperf.model.targets import (
    PROGRAM,
    SEQUENCES,
    CallableTarget,
    ChainTarget,
    FileTarget,
    ModelTarget,
    NodeWords,
    ObjectTarget,
    OperatorTarget,
    ScriptTarget,
    ServerProgram,
    SnippetTarget,
    Target,
    TargetKey,
    TraceTarget,
    with_address,
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
