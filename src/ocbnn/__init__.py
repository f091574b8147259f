"""Bayesian neural networks that listen to experts.

Write rules about a function's outputs, join them with data, and get predictions with
honest uncertainty that obey the rules:

    model = ocbnn.OCBNNRegressor(rules=["if -1 <= x <= 1 then y >= 0"])
    model.fit(X, y).predict(X_new, return_std=True)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ocbnn import (
        analysis as analysis,
        certificates as certificates,
        claims as claims,
        core as core,
        datasets as datasets,
        errors as errors,
        estimators as estimators,
        fitted as fitted,
        inference as inference,
        language as language,
        metrics as metrics,
        networks as networks,
        plots as plots,
        posterior as posterior,
        predictive as predictive,
        priors as priors,
        rules as rules,
        testing as testing,
    )
    from ocbnn.estimators import (
        OCBNNClassifier as OCBNNClassifier,
        OCBNNRegressor as OCBNNRegressor,
        Refinement as Refinement,
        certify as certify,
        load as load,
        rule_factor as rule_factor,
        verify as verify,
    )
    from ocbnn.inference import (
        HMC as HMC,
        MCLMC as MCLMC,
        NUTS as NUTS,
        SGHMC as SGHMC,
        SGLD as SGLD,
        SMC as SMC,
        SVGD as SVGD,
        VI as VI,
        AdjustedMCLMC as AdjustedMCLMC,
        Algorithm as Algorithm,
        Draws as Draws,
        Ensemble as Ensemble,
        Laplace as Laplace,
        Plan as Plan,
        WarmStart as WarmStart,
        sample as sample,
    )
    from ocbnn.networks import (
        MLP as MLP,
        Applied as Applied,
        EquinoxNetwork as EquinoxNetwork,
        LearnedScales as LearnedScales,
        ScaledNetwork as ScaledNetwork,
    )
    from ocbnn.posterior import (
        Categorical as Categorical,
        GaussianNoise as GaussianNoise,
        Target as Target,
    )
    from ocbnn.priors import (
        LayerScales as LayerScales,
        Prior as Prior,
        StudentT as StudentT,
        WeightPrior as WeightPrior,
    )
    from ocbnn.rules import (
        Rule as Rule,
        Schema as Schema,
        bind as bind,
        custom as custom,
        d as d,
        derivative as derivative,
        expect as expect,
        forbid as forbid,
        functions as functions,
        inputs as inputs,
        outputs as outputs,
        parse_rule as rule,  # noqa: F401
        require as require,
    )

__version__ = "0.1.0"

# Rooms are opened when a name is first asked for, so that `import ocbnn` does nothing
# and costs nothing; above is the same list for type checkers and editors.
_HOMES = {
    "ocbnn.rules": "Rule Schema bind custom d derivative expect forbid functions "
    "inputs outputs require",
    "ocbnn.estimators": "OCBNNClassifier OCBNNRegressor Refinement certify load "
    "rule_factor verify",
    "ocbnn.inference": "HMC MCLMC NUTS SGHMC SGLD SMC SVGD VI AdjustedMCLMC Algorithm "
    "Draws Ensemble Laplace Plan WarmStart sample",
    "ocbnn.networks": "MLP Applied EquinoxNetwork LearnedScales ScaledNetwork",
    "ocbnn.posterior": "Categorical GaussianNoise Target",
    "ocbnn.priors": "LayerScales Prior StudentT WeightPrior",
}
_WHERE = {
    name: (home, name) for home, names in _HOMES.items() for name in names.split()
}
_WHERE["rule"] = ("ocbnn.rules", "parse_rule")
# Rooms that can be gone through by name.
_ROOMS = (
    *("analysis", "certificates", "claims", "core", "datasets", "errors", "estimators"),
    *("fitted", "inference", "language", "metrics", "networks", "plots"),
    *("posterior", "predictive", "priors", "rules", "testing"),
)

__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"ocbnn.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'ocbnn' has no attribute {name!r}")
    home, real = _WHERE[name]
    return getattr(importlib.import_module(home), real)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_ROOMS])
