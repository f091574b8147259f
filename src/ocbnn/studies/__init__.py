"""The paper's experiments, each a command away."""

from ocbnn.studies.runner import (
    STUDIES as STUDIES,
    names_for as names_for,
    reproduce as reproduce,
)
