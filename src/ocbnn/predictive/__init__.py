"""From draws to function values, and from those to summaries."""

from ocbnn.predictive.guarded import Guarded as Guarded
from ocbnn.predictive.predictive import Predictive as Predictive, Summary as Summary
