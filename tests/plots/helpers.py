"""Bound rules and smooth function draws for pictures."""

import numpy as np

from ocbnn.plots import figure
from ocbnn.rules import Schema, bind, parse_rule

PLAIN = Schema(("x",), ("y",))
COLOURS = Schema(("a", "b"), ("class",), ("green", "red", "blue"))


def rule(text, schema=PLAIN):
    return bind(parse_rule(text), schema)


def axes():
    return figure(4, 3).add_subplot()


def waves(x, draws=40):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, draws, 1))
    return a * np.sin(x) + b * x


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def class_grid(rows=21, columns=31):
    """Three classes, each likely around a place of its own."""
    xs, ys = np.linspace(-5, 5, columns), np.linspace(-4, 4, rows)
    spots = np.array([(0.0, -3.0), (-3.0, 1.0), (2.0, 3.0)])
    places = np.stack(np.meshgrid(xs, ys), axis=-1)[:, :, None]
    scores = np.exp(-0.3 * ((places - spots) ** 2).sum(axis=-1))
    return xs, ys, scores / scores.sum(axis=-1, keepdims=True)
