"""`opperf compare`: two files of results, taken one after the other."""
