"""A local web page: draw a rule, watch the function obey."""
