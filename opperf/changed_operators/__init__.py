"""Maps what changed in a repository to the operators that it may have made slower. It reads sources
and builds nothing: names are followed by their spelling, so that it maps too much rather than too
little, and says what it could not map."""
