"""What can be asked of a history, a store of results of many commits."""
