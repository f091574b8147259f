"""A local web page on which to draw rules and fit models."""
