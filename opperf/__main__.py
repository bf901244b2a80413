"""`python -m opperf` is the command line."""

from opperf.opperf import main

if __name__ == "__main__":
    main()
