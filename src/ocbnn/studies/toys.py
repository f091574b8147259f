"""The paper's six synthetic problems: data, rules, and each preset's plan.

Where the paper's text and its authors' published settings differ, the text applies. All
problems use one hidden layer of 10 RBF units, weights N(0, 1), Gaussian noise of 0.1,
and columns that are not standardized.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from ocbnn.inference import HMC, NUTS, SMC, SVGD, Plan
from ocbnn.rules import Rule, parse_rule

# Shares of draws in each mode, from the regions' grid (n,) and values (draws, n).
ModeShares = Callable[[np.ndarray, np.ndarray], dict[str, float]]


@dataclasses.dataclass(frozen=True, eq=False)
class Toy:
    """One synthetic problem.

    Attributes
    ----------
    name
        The study's name on the command line.
    figure
        The paper's figure.
    claim
        The paper's claim about the figure.
    X
        Training inputs.
    y
        Training outputs, or class labels.
    rules
        The expert's rules.
    plans
        The plan of each preset.
    view
        The figure's x range, then its y range.
    modes
        For bimodal problems, the share of draws in each mode.
    shown
        The number of single functions in the figure.
    remark
        Notes for readers of the result.
    strength
        γ of the paper's preset, for forbidden outputs.
    """

    name: str
    figure: str
    claim: str
    X: np.ndarray
    y: np.ndarray
    rules: tuple[Rule, ...]
    plans: dict[str, Plan]
    view: tuple[tuple[float, float], tuple[float, float]]
    modes: ModeShares | None = None
    shown: int = 0
    remark: str = ""
    strength: float | None = None

    def rules_of(self, preset: str) -> tuple[Rule, ...]:
        """The rules of a preset; the paper's use the soft indicator."""
        if preset != "paper" or self.strength is None:
            return self.rules
        settings = {"strength": self.strength, "form": "indicator"}
        return tuple(dataclasses.replace(rule, **settings) for rule in self.rules)

    @property
    def is_classification(self) -> bool:
        """Whether the outputs are classes."""
        return self.y.dtype.kind in "OU"


def _quartic(x: np.ndarray) -> np.ndarray:
    return -(x**4) + 3 * x**2 + 1


def _paper_hmc(step_size: float) -> HMC:
    return HMC(step_size=step_size, steps=50, warmup=10_000, draws=1000, thin=10)


def _column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def _around_box(grid: np.ndarray, values: np.ndarray) -> dict[str, float]:
    middle = values[:, np.abs(grid).argmin()]
    below, above = np.mean(middle < -5), np.mean(middle > 3)
    return {"below": float(below), "above": float(above)}


def _nearer_curve(grid: np.ndarray, values: np.ndarray) -> dict[str, float]:
    lower = -0.2 * grid**3 + 0.5 * grid**2 + 0.7 * grid - 0.5
    upper = 0.2 * grid**3 - 0.15 * grid**2 + 3.5
    gap = lambda curve: np.mean((values - curve) ** 2, axis=1)
    share = float(np.mean(gap(lower) < gap(upper)))
    return {"lower": share, "upper": 1 - share}


_NUTS = NUTS(warmup=1000, draws=1000, target_acceptance=0.9)

_x1 = _column(-2, -1.8, -1, 1, 1.8, 2)
_x2 = _column(-2.5, -2.3, -2, -1.8, -1.5, 1.3, 1.6, 2, 2.1, 2.2, 2.3, 2.31)
_x3, _y3 = _column(-1.5, 0, 1), np.array([6.0, 10.0, 6.0])

# The authors' 24 training points; classes green, red, blue repeat in this order.
_CLOUDS = """
-.5568,-2.8603 -2.8323,.9413 2.0402,2.6044 -.3121,-3.2628 -3.2933,.8421 2.2045,2.6692
-.0165,-3.1644 -2.9325,.8448 2.3423,2.8354 -.2595,-2.9736 -2.9650,.7760 2.2982,2.6264
-.0605,-2.8752 -2.4977,1.2420 1.8175,3.1518 -.2743,-3.0461 -2.7137,1.7121 1.9846,3.5413
.3204,-2.8159 -2.6090,1.1718 2.0794,3.1475 .1280,-2.9005 -2.9434,1.1424 1.9929,2.9455
"""
_clouds = np.array([[float(v) for v in p.split(",")] for p in _CLOUDS.split()])

TOYS = {
    toy.name: toy
    for toy in (
        Toy(
            "fig1-left",
            "Figure 1, left",
            "uncertainty drops sharply between two forbidden regions",
            _x1,
            _quartic(_x1[:, 0]),
            (parse_rule("gap: if -0.3 <= x <= 0.3 then 2.5 <= y <= 3"),),
            # The gap is narrow, so moves are short and more of them are needed.
            {
                "paper": _paper_hmc(0.003),
                "best": NUTS(warmup=1000, draws=1600, target_acceptance=0.9),
            },
            ((-5, 5), (-9, 7)),
            strength=10_000.0,
        ),
        Toy(
            "fig1-right",
            "Figure 1, right",
            "the rectangle is classified as green",
            _clouds,
            np.array(["green", "red", "blue"] * 8),
            (
                parse_rule(
                    "green box: if 1 <= x0 <= 3 and -2 <= x1 <= 0 then y in {green} "
                    "[weight=1]"
                ),
            ),
            {"paper": _paper_hmc(0.03), "best": _NUTS},
            ((-5, 5), (-5, 5)),
            remark="The Dirichlet density grows without bound towards certainty. As a "
            "product over all 50 points it outweighs the 24 data points and training "
            "accuracy falls below 0.6, so the rule counts once in all (weight=1, as "
            "class rules do by default); its parameters are those of the paper's "
            "clinical study.",
        ),
        Toy(
            "fig2-left",
            "Figure 2, left",
            "functions follow the expected lines where there are no data",
            _x3,
            _y3,
            (
                parse_rule(
                    "left wing: if -5 <= x <= -3 then y ~ Normal(5 - x, 0.5) "
                    "[points=15]"
                ),
                parse_rule(
                    "right wing: if 3 <= x <= 5 then y ~ Normal(5 + x, 0.5) [points=15]"
                ),
            ),
            {"paper": _paper_hmc(0.01), "best": _NUTS},
            ((-5, 5), (-2, 14)),
        ),
        Toy(
            "fig2-right",
            "Figure 2, right",
            "functions pass below and above the forbidden box",
            _x2,
            _quartic(_x2[:, 0]),
            (parse_rule("box: if -1 <= x <= 1 then not (-5 <= y <= 3)"),),
            # Starts at the prior's spread leave two to twelve of 75 particles above.
            {
                "paper": SVGD(
                    particles=75, iterations=1000, learning_rate=0.5, start_spread=1.5
                ),
                "best": SMC(particles=400, moves=2, steps=300, polish=20),
            },
            ((-4, 4), (-22, 16)),
            _around_box,
            40,
            "SVGD's particles lie on the side of the box on which they started: they "
            "climb to the nearest mode and cannot cross. Tempered SMC weighs the modes "
            "by their posterior mass, and nearly all of it is above the box, where the "
            "model without the rule only just fails to pass.",
            10_000.0,
        ),
        Toy(
            "fig4-left",
            "Figure 4, left (appendix)",
            "functions stay within bands where there are no data",
            _x3,
            _y3,
            (
                parse_rule("left band: if -5 <= x <= -3 then 2 - x <= y <= 7 - x"),
                parse_rule("right band: if 3 <= x <= 5 then 2 + x <= y <= 7 + x"),
            ),
            {"paper": _paper_hmc(0.001), "best": _NUTS},
            ((-5, 5), (-2, 16)),
            strength=20_000.0,
        ),
        Toy(
            "fig4-right",
            "Figure 4, right (appendix)",
            "functions follow one of two expected curves",
            _column(-3.5, -2, 2, 3.5),
            np.array([-1, 0.25, 3.5, 4.5]),
            (
                parse_rule(
                    "fork: if -1 <= x <= 1 then "
                    "y ~ 0.5*Normal(-0.2*x^3 + 0.5*x^2 + 0.7*x - 0.5, 0.5) "
                    "+ 0.5*Normal(0.2*x^3 - 0.15*x^2 + 3.5, 0.5) [points=100]"
                ),
            ),
            {
                "paper": SVGD(particles=75, iterations=1000, learning_rate=0.75),
                "best": SMC(particles=1000, moves=3, steps=150),
            },
            ((-5, 5), (-4, 8)),
            _nearer_curve,
            40,
            "SVGD's particles split by where they started. Tempered SMC weighs the "
            "curves by their posterior mass: the upper one agrees better with the data "
            "on its right.",
        ),
    )
}


def smaller(plan: Plan) -> Plan:
    """The plan shortened for a quick look."""
    match plan:
        case SVGD():
            return dataclasses.replace(plan, iterations=300)
        case SMC():
            return dataclasses.replace(plan, particles=200, moves=2, steps=20)
        case HMC():
            return dataclasses.replace(plan, chains=2, warmup=1000, draws=250, thin=4)
    return dataclasses.replace(plan, chains=2, warmup=300, draws=250)
