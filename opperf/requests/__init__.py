"""Requests: a frozen struct for each thing that can be asked for, whose fields are declared once,
and the function that does it. Options, keywords, their documentation and checks derive from the
fields. What is imported inside functions, here and in commands, is what help and completion do
without."""
