"""Results over months: a store, what changed in it since when, and the commit that did it."""
