"""The tags of priors in files: each is written as its fields, which are numbers."""

from ocbnn.networks import LearnedScales
from ocbnn.priors import LayerScales, StudentT, WeightPrior

PRIOR_TAGS: dict[type, str] = {
    LearnedScales: "$learned",
    LayerScales: "$layers",
    StudentT: "$student-t",
    WeightPrior: "$weights",
}
