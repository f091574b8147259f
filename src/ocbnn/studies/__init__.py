"""The paper's experiments, and the function that runs them."""

from ocbnn.studies.runner import (
    STUDIES as STUDIES,
    names_for as names_for,
    reproduce as reproduce,
)
