"""What a position of the posterior is made of."""

from typing import Any, NamedTuple


class Model(NamedTuple):
    """The network's weights and the likelihood's own parameters."""

    weights: Any
    noise: Any
