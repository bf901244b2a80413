"""Finds the options of operators that change a kernel: values that no case has, and that matter.

For every operator, the values of its options that none of its cases at default size has are tried
beside a case (`variants`), timed with it in turns in one process on one core and, if the times are
apart, in a second one (`screen`), and confirmed in interleaved blocks of fresh processes by the
verdicts of `opperf ab`: a ratio beyond a fifth (`confirm`). Prints a table of what was confirmed,
and of what was not.

Every result is a line of JSON in a file; a scan of the same file goes on where it was interrupted,
or where its budget was spent.

Run: python -m benchmarks.inputs.option_scan scan.jsonl [--framework NAME] [--operators PATTERN ...]
     [--budget MINUTES] [--configurations N] [--size SIZE] [--profiler NAME] [--cpus LIST]
     [--refused] [--screened] [--report]
"""
