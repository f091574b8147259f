"""From draws to function values, and from those to summaries."""

from ocbnn.predictive.constrained import ConstrainedPredictive as ConstrainedPredictive
from ocbnn.predictive.predictive import Predictive as Predictive, Summary as Summary
