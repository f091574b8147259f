"""Bayesian neural networks that listen to experts.

Write rules about a function's outputs, join them with data, and get predictions with
honest uncertainty that obey the rules:

    model = ocbnn.OCBNNRegressor(rules=["if -1 <= x <= 1 then y >= 0"])
    model.fit(X, y).predict(X_new, return_std=True)
"""

from typing import Any

__version__ = "0.1.0"

# Where each public name lives. Rooms are opened when a name is first asked for, so that
# `import ocbnn` does nothing and costs nothing.
_HOMES = {
    "ocbnn.rules": [
        "Rule",
        "Schema",
        "bind",
        "custom",
        "expect",
        "forbid",
        "functions",
        "inputs",
        "outputs",
        "require",
    ],
    "ocbnn.estimators": ["OCBNNClassifier", "OCBNNRegressor"],
    "ocbnn.inference": ["HMC", "NUTS", "SMC", "SVGD", "Draws", "Plan", "sample"],
    "ocbnn.networks": ["MLP", "Applied", "EquinoxNetwork"],
    "ocbnn.posterior": ["Categorical", "GaussianNoise", "Target"],
    "ocbnn.priors": ["WeightPrior"],
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_WHERE, "rule"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    import importlib

    if name == "rule":
        return importlib.import_module("ocbnn.rules").parse_rule
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'ocbnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
