"""The process that measures: started, sent requests, and replaced when it dies."""
