"""People's own studies: a table and a study file in, a model and a report out."""
