"""Changes: between two files of results, and between two arms measured in turns."""
