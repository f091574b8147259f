"""Docstrings say what every argument means, because editors show nothing else.

Sections are NumPy's. An override needs none if the method of its base has a docstring.
"""

import ast
import builtins
import inspect
import re
import textwrap

import ocbnn
from ocbnn import claims, errors, estimators, inference, posterior, priors, rules

# Their methods are called or written by users, like those of the classes in `ocbnn`.
CLASSES = (
    *(claims.BoundClaim, claims.Density, claims.WrittenClaim),
    *(rules.BoundRule, rules.Condition, rules.Name, estimators.RuleFactor),
    *(inference.LogDensity, posterior.TruncatedGaussian, posterior.VaryingNoise),
)
ROOMS = ("analysis", "certificates", "fitted", "inference", "metrics", "testing")
FUNCTIONS = (claims.register, priors.make_term, priors.soft_indicator)
TITLE = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)
SELF = ("self", "cls")


def is_ours(made):
    return made.__module__.startswith("ocbnn.")


def with_methods():
    """Every public function and class by name, and the public methods of classes."""
    public = [*(getattr(ocbnn, name) for name in ocbnn.__all__), *CLASSES, *FUNCTIONS]
    for room in ROOMS:
        public += filter(inspect.isfunction, vars(getattr(ocbnn, room)).values())
    for made in filter(callable, public):
        yield made.__qualname__, made
        for owner in made.__mro__ if inspect.isclass(made) else ():
            yield from own_methods(owner) if is_ours(owner) else ()


def own_methods(owner):
    bases = [vars(base) for base in owner.__mro__[1:] if is_ours(base)]
    for name, member in vars(owner).items():
        # Class methods, properties and cached properties hold a function.
        held = ("__func__", "fget", "func")
        method = next(filter(None, (getattr(member, it, None) for it in held)), member)
        is_public = name == "__call__" or name[0] != "_"
        is_override = any(getattr(base.get(name), "__doc__", None) for base in bases)
        if inspect.isfunction(method) and is_public and not is_override:
            yield f"{owner.__name__}.{name}", method


PUBLIC = dict(with_methods())


def sections(made):
    """The entries of each section of a docstring, with their descriptions."""
    _, *parts = TITLE.split(inspect.cleandoc(made.__doc__ or ""))
    entries = [
        dict(entry.split("\n", 1) for entry in ENTRY.split(body) if "\n" in entry)
        for body in parts[1::2]
    ]
    return dict(zip(parts[::2], entries, strict=True))


def described(made, *titles):
    """The names in some sections of a docstring, without their stars."""
    return {
        name.lstrip("*")
        for title in titles
        for entry in sections(made).get(title, {})
        for name in entry.split(", ")
    }


def parameters(made):
    is_protocol = getattr(made, "_is_protocol", False)
    names = () if is_protocol else inspect.signature(made).parameters
    return {name for name in names if name not in SELF}


def raised(function):
    """What the body of a function raises, as it is written there."""
    source = textwrap.dedent(inspect.getsource(function))
    pending = list(ast.parse(source).body[0].body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield ast.unparse(getattr(node.exc, "func", node.exc))
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)


def is_error(name):
    return hasattr(errors, name) or hasattr(builtins, name)


def test_every_parameter_is_described():
    assert len(PUBLIC) > 200
    missing = {}
    for name, made in PUBLIC.items():
        titles = ("Parameters", "Attributes")[: 1 + inspect.isclass(made)]
        missing[name] = sorted(parameters(made) - described(made, *titles))
    assert {name: some for name, some in missing.items() if some} == {}


def test_every_error_that_a_function_raises_itself_is_described():
    missing = {}
    for name, made in PUBLIC.items():
        told = described(made, "Raises")
        # A helper that makes the error does not tell which one it is.
        missing[name] = [
            error
            for error in (() if inspect.isclass(made) else raised(made))
            if error not in told and (is_error(error) or not told)
        ]
    assert {name: some for name, some in missing.items() if some} == {}


def test_what_is_described_exists():
    strangers = {}
    for name, made in PUBLIC.items():
        owners = made.__mro__ if inspect.isclass(made) else ()
        known = {*dir(made), *parameters(made)}
        known |= {field for owner in owners for field in inspect.get_annotations(owner)}
        strangers[name] = sorted(
            (described(made, "Parameters") - parameters(made))
            | (described(made, "Attributes") - known)
            | {error for error in described(made, "Raises") if not is_error(error)}
        )
    assert {name: some for name, some in strangers.items() if some} == {}


def test_both_models_describe_their_common_settings_alike():
    models = ocbnn.OCBNNRegressor, ocbnn.OCBNNClassifier
    regressor, classifier = (sections(model)["Parameters"] for model in models)
    differ = lambda name: classifier[name].split() != regressor[name].split()
    assert list(filter(differ, classifier)) == ["rules", "outputs"]
