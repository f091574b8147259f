"""The paper's figures in seconds, for tests of all that is around their fits."""

import dataclasses

from ocbnn.inference import HMC, SVGD
from ocbnn.studies.runner import _STUDIES
from ocbnn.studies.toy_runs import ToyStudy
from ocbnn.studies.toys import TOYS

SMALL = HMC(chains=2, steps=5, warmup=20, draws=20)
PARTICLES = SVGD(particles=8, iterations=30)
# What is told of every model.
REGRESSION = {
    "train_rmse", "violation", "draws_violating", "in_region_sd", "modes", "ess_min",
    "ess_median", "rhat_max", "acceptance",
}  # fmt: skip
CLASSES = {"train_accuracy", "violation", "allowed_probability"}


def make_tiny(monkeypatch):
    """Replace every preset by the smallest run that has all the parts."""
    for name, toy in TOYS.items():
        plans = {"paper": PARTICLES if toy.modes else SMALL, "best": SMALL}
        study = ToyStudy(dataclasses.replace(toy, plans=plans))
        monkeypatch.setitem(_STUDIES, name, study)
