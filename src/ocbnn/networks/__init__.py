"""Function families: networks as pure functions of their weights."""

from ocbnn.networks.activations import ACTIVATIONS as ACTIVATIONS
from ocbnn.networks.base import Network as Network
from ocbnn.networks.mlp import MLP as MLP, Layer as Layer
from ocbnn.networks.scaled import (
    ScaledNetwork as ScaledNetwork,
    ScaledWeights as ScaledWeights,
)
from ocbnn.networks.scales import LearnedScales as LearnedScales
from ocbnn.networks.wrapped import (
    Applied as Applied,
    EquinoxNetwork as EquinoxNetwork,
)
