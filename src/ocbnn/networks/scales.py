"""Hyperpriors for the scales of a network's weights."""

import dataclasses
import math

from ocbnn.errors import SettingError


@dataclasses.dataclass(frozen=True)
class LearnedScales:
    r"""Log-normal hyperpriors: a typical scale, and a spread of its logarithm.

    A weight of layer $\ell$ has the standard deviation
    $\sigma_\ell / \sqrt{\text{fan-in}}$, and a bias $\beta_\ell$; a weight of the first
    layer that input $d$ feeds is also multiplied by the input's relevance $\rho_d$. All
    of these are learned, and their logarithms have normal priors.

    Attributes
    ----------
    weights
        Median of each layer's $\sigma_\ell$.
    biases
        Median of each layer's $\beta_\ell$.
    spread
        Standard deviation of the logarithm of $\sigma_\ell$ and $\beta_\ell$: two
        thirds lie within a factor of $e^{\text{spread}}$.
    relevance
        Standard deviation of the logarithm of $\rho_d$, whose median is one; zero if
        all inputs matter equally.

    Examples
    --------
    >>> LearnedScales(relevance=0.5)
    LearnedScales(weights=1.0, biases=1.0, spread=0.7, relevance=0.5)
    """

    weights: float = 1.0
    biases: float = 1.0
    spread: float = 0.7
    relevance: float = 0.7

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, name = getattr(self, field.name), field.name
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            minimum = "zero or more" if name == "relevance" else "above zero"
            fits = is_number and 0 <= value < math.inf
            if not fits or (value == 0 and name != "relevance"):
                raise SettingError(
                    f"{name} of LearnedScales must be a number, {minimum}, got "
                    f"{value!r}. Write LearnedScales({name}={field.default})."
                )
