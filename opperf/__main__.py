"""`opperf` and `python -m opperf` are the command line."""

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from opperf.results.messages import discard_output, prepare_streams

        prepare_streams()
        from opperf import opperf
    except KeyboardInterrupt:
        # 128 plus the number of SIGINT; where it has a name cannot be imported any more.
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        opperf.main()
    except OSError:
        # Standard error cannot be written, so that nobody can be told why.
        discard_output()
        sys.exit(2)


if __name__ == "__main__":
    # `-m` puts the working directory first on the path, where a user's `random.py` would be
    # imported in place of Python's; unless the package itself is there, it has no business on it.
    if not getattr(sys.flags, "safe_path", False) and not __file__.startswith(f"{sys.path[0]}/"):
        del sys.path[0]
    main()
