"""Instruments: each measures one aspect of a prepared case, and declares its metrics. Modules that
declare one are imported by whatever prints metrics; what measures, by a process that measures."""
