"""Twenty known functions that obey rules an expert would write, for a study.

They come from physics, pharmacology, growth and economics, and have one to six inputs.
Every rule is true everywhere in its function's box, so a rule that makes predictions
worse does so through the fault of the method.
"""

import dataclasses
from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

# The noise of an observation, as a share of the function's spread over its box.
NOISE_SHARE = 0.1

Column = Float[np.ndarray, " rows"]


@dataclasses.dataclass(frozen=True)
class Truth:
    """A function of a box, and what is known of it.

    Attributes
    ----------
    name
        What it describes.
    output
        The name of its value, as rules call it.
    box
        The range of each input, by name.
    function
        Values from the columns of the inputs, in the order of `box`.
    claims
        What is true of it everywhere in the box, in the language of rules.
    """

    name: str
    output: str
    box: dict[str, tuple[float, float]]
    function: Callable[..., Any]
    claims: tuple[str, ...]

    def __call__(self, X: Float[np.ndarray, "rows inputs"]) -> Column:
        """The function without noise."""
        return np.asarray(self.function(*np.asarray(X, float).T))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.box)

    @property
    def rules(self) -> list[str]:
        """The claims as rules for the box."""
        where = " and ".join(
            f"{low} <= {x} <= {high}" for x, (low, high) in self.box.items()
        )
        return [
            f"r{k}: if {where} then {claim}" for k, claim in enumerate(self.claims, 1)
        ]

    @property
    def spread(self) -> float:
        """The function's standard deviation over the box."""
        return float(np.std(self(self.draw_inputs(np.random.default_rng(0), 10_000))))

    def draw_inputs(
        self, rng: np.random.Generator, rows: int
    ) -> Float[np.ndarray, "rows inputs"]:
        """Inputs anywhere in the box, with equal probability."""
        low, high = np.array(list(self.box.values())).T
        return rng.uniform(low, high, (rows, len(self.box)))

    def draw_rows(
        self, rng: np.random.Generator, rows: int
    ) -> tuple[Float[np.ndarray, "rows inputs"], Column]:
        """Inputs and noisy observations."""
        X = self.draw_inputs(rng, rows)
        return X, self(X) + rng.normal(0.0, NOISE_SHARE * self.spread, rows)


def _call_price(spot: Column, strike: Column, years: Column, sigma: Column) -> Column:
    """Black and Scholes' price of a call option, at an interest of 2 % a year."""
    total = sigma * np.sqrt(years)
    upper = (np.log(spot / strike) + 0.02 * years) / total + total / 2
    paid = strike * np.exp(-0.02 * years) * norm.cdf(upper - total)
    return spot * norm.cdf(upper) - paid


def _borehole(
    radius: Column, upper: Column, lower: Column, length: Column, K: Column, T: Column
) -> Column:
    """Water through a borehole, the usual test function with two inputs fixed."""
    ratio = log(25_050) - np.log(radius)
    below = 1 + 2 * length * T / (ratio * radius**2 * K) + T / 89.55
    return 2 * pi * T * (upper - lower) / (ratio * below)


_ALL = (
    Truth(
        "dose response",
        "response",
        {"dose": (0, 10)},
        lambda dose: 90 * dose / (dose + 1.5),
        (
            "response >= 0",
            "response <= 90",
            "response rises with dose",
            "d(response, dose, dose) <= 0",
        ),
    ),
    Truth(
        "growth of a plant",
        "mass",
        {"day": (0, 20)},
        lambda day: 12 / (1 + np.exp(-0.5 * (day - 9))),
        ("mass >= 0", "mass <= 12", "mass rises with day"),
    ),
    Truth(
        "cooling",
        "celsius",
        {"minute": (0, 60)},
        lambda minute: 20 + 70 * np.exp(-minute / 15),
        (
            "celsius >= 20",
            "celsius <= 90",
            "celsius falls with minute",
            "d(celsius, minute, minute) >= 0",
        ),
    ),
    Truth(
        "fall through air",
        "speed",
        {"second": (0, 12)},
        lambda second: 54 * np.tanh(9.81 / 54 * second),
        (
            "speed >= 0",
            "speed <= 54",
            "speed rises with second",
            "d(speed, second, second) <= 0",
        ),
    ),
    Truth(
        "oxygen in blood",
        "saturation",
        {"pressure": (0, 110)},
        lambda pressure: 100 / (1 + (26.8 / np.maximum(pressure, 1e-9)) ** 2.7),
        ("saturation >= 0", "saturation <= 100", "saturation rises with pressure"),
    ),
    Truth(
        "reaction rate",
        "rate",
        {"kelvin": (290, 350)},
        lambda kelvin: 5e8 * np.exp(-6000 / kelvin),
        ("rate >= 0", "rate rises with kelvin", "d(rate, kelvin, kelvin) >= 0"),
    ),
    Truth(
        "enzyme with inhibitor",
        "rate",
        {"substrate": (0, 10), "inhibitor": (0, 5)},
        lambda substrate, inhibitor: (
            100 * substrate / (2 * (1 + inhibitor / 1.5) + substrate)
        ),
        (
            "rate >= 0",
            "rate <= 100",
            "rate rises with substrate",
            "rate falls with inhibitor",
            "d(rate, substrate, substrate) <= 0",
        ),
    ),
    Truth(
        "production",
        "product",
        {"labour": (0.5, 10), "capital": (0.5, 10)},
        lambda labour, capital: 2 * labour**0.6 * capital**0.35,
        (
            "product >= 0",
            "product rises with labour",
            "product rises with capital",
            "d(product, labour, labour) <= 0",
            "d(product, capital, capital) <= 0",
        ),
    ),
    Truth(
        "demand",
        "sold",
        {"price": (1, 10), "income": (20, 100)},
        lambda price, income: 40 * np.sqrt(income) / price**0.8,
        (
            "sold >= 0",
            "sold falls with price",
            "sold rises with income",
            "d(sold, price, price) >= 0",
        ),
    ),
    Truth(
        "light through a solution",
        "light",
        {"concentration": (0, 2), "path": (0.5, 4)},
        lambda concentration, path: 100 * 10 ** (-0.3 * concentration * path),
        (
            "light >= 0",
            "light <= 100",
            "light falls with concentration",
            "light falls with path",
            "d(light, concentration, concentration) >= 0",
        ),
    ),
    Truth(
        "dose in blood",
        "level",
        {"hour": (0, 24), "dose": (50, 200)},
        lambda hour, dose: (
            dose / 40 * 0.8 / 0.65 * (np.exp(-0.15 * hour) - np.exp(-0.8 * hour))
        ),
        ("level >= 0", "level rises with dose"),
    ),
    Truth(
        "crop",
        "harvest",
        {"nitrogen": (0, 250), "rain": (200, 800)},
        lambda nitrogen, rain: (
            9 * (1 - np.exp(-0.012 * (nitrogen + 30))) * (1 - np.exp(-0.004 * rain))
        ),
        (
            "harvest >= 0",
            "harvest <= 9",
            "harvest rises with nitrogen",
            "harvest rises with rain",
            "d(harvest, nitrogen, nitrogen) <= 0",
        ),
    ),
    Truth(
        "stopping distance",
        "distance",
        {"speed": (5, 40), "friction": (0.3, 0.9)},
        lambda speed, friction: 1.2 * speed + speed**2 / (2 * 9.81 * friction),
        (
            "distance >= 0",
            "distance rises with speed",
            "distance falls with friction",
            "d(distance, speed, speed) >= 0",
        ),
    ),
    Truth(
        "curing of concrete",
        "strength",
        {"age": (1, 90), "water": (0.35, 0.7)},
        lambda age, water: 150 * np.exp(-2.2 * water) * age / (4 + 0.9 * age),
        (
            "strength >= 0",
            "strength rises with age",
            "strength falls with water",
            "d(strength, age, age) <= 0",
        ),
    ),
    Truth(
        "pressure of a gas",
        "pressure",
        {"amount": (0.5, 2), "kelvin": (250, 400), "volume": (1, 5)},
        lambda amount, kelvin, volume: amount * 0.08314 * kelvin / volume,
        (
            "pressure >= 0",
            "pressure rises with amount",
            "pressure rises with kelvin",
            "pressure falls with volume",
        ),
    ),
    Truth(
        "loan",
        "payment",
        {"borrowed": (50, 400), "interest": (0.01, 0.1), "years": (5, 30)},
        lambda borrowed, interest, years: (
            borrowed * interest / (1 - (1 + interest) ** -years)
        ),
        (
            "payment >= 0",
            "payment rises with borrowed",
            "payment rises with interest",
            "payment falls with years",
        ),
    ),
    Truth(
        "call option",
        "price",
        {
            "spot": (60, 140),
            "strike": (80, 120),
            "years": (0.1, 2),
            "sigma": (0.1, 0.5),
        },
        _call_price,
        (
            "price >= 0",
            "price rises with spot",
            "price falls with strike",
            "price rises with years",
            "price rises with sigma",
            "d(price, spot, spot) >= 0",
        ),
    ),
    Truth(
        "flow through a pipe",
        "flow",
        {
            "drop": (1, 10),
            "radius": (0.5, 1.5),
            "viscosity": (0.5, 2),
            "length": (1, 5),
        },
        lambda drop, radius, viscosity, length: (
            pi * drop * radius**4 / (8 * viscosity * length)
        ),
        (
            "flow >= 0",
            "flow rises with drop",
            "flow rises with radius",
            "flow falls with viscosity",
            "flow falls with length",
        ),
    ),
    Truth(
        "heat through a wall",
        "loss",
        {
            "inside": (16, 25),
            "outside": (-15, 15),
            "thickness": (0.05, 0.4),
            "conductivity": (0.03, 0.2),
            "area": (5, 30),
        },
        lambda inside, outside, thickness, conductivity, area: (
            (inside - outside) * area / (0.17 + thickness / conductivity)
        ),
        (
            "loss >= 0",
            "loss rises with inside",
            "loss falls with outside",
            "loss falls with thickness",
            "loss rises with conductivity",
            "loss rises with area",
        ),
    ),
    Truth(
        "borehole",
        "flow",
        {
            "radius": (0.05, 0.15),
            "upper": (990, 1110),
            "lower": (700, 820),
            "length": (1120, 1680),
            "conductivity": (9855, 12045),
            "transmissivity": (63_070, 115_600),
        },
        _borehole,
        (
            "flow >= 0",
            "flow rises with radius",
            "flow rises with upper",
            "flow falls with lower",
            "flow falls with length",
            "flow rises with conductivity",
        ),
    ),
)
TRUTHS = {truth.name: truth for truth in _ALL}
