"""A fitted model as a value: the rows, names and draws that make it."""

from ocbnn.fitted.conclusion import obey as obey, refine as refine
from ocbnn.fitted.record import FittedModel as FittedModel, Rows as Rows
