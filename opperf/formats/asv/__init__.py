"""Results of airspeed velocity: a folder that is read and written."""
