"""Change points of many series at one rate of false alarms: no files, no database, no processes."""

from opperf.history.detection.detecting import ASV, EXACT, LIKELIHOOD, METHODS, SMALLEST, detect
from opperf.history.detection.findings import (
    Change,
    EventKind,
    Findings,
    Known,
    MachineEvent,
    NoteKind,
    Rate,
    SeriesNote,
    State,
)
from opperf.history.detection.series import Series, series_of

__all__ = [
    "ASV",
    "EXACT",
    "LIKELIHOOD",
    "METHODS",
    "SMALLEST",
    "Change",
    "EventKind",
    "Findings",
    "Known",
    "MachineEvent",
    "NoteKind",
    "Rate",
    "Series",
    "SeriesNote",
    "State",
    "detect",
    "series_of",
]
