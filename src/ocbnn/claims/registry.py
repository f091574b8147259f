"""The registry of claim kinds, and how text and conditions are matched to them."""

from ocbnn.claims.base import AnyClaim, BoundClaim, WrittenClaim
from ocbnn.claims.classes import AllowedClasses
from ocbnn.claims.expectation import Expect
from ocbnn.claims.values import Forbidden
from ocbnn.errors import RuleError
from ocbnn.language.conditions import Condition
from ocbnn.language.grammar import Parser
from ocbnn.language.schema import Schema

# Kinds with a text form, by the sign that follows their subject.
_SIGNS: dict[str, type[WrittenClaim]] = {}


def register(kind: type[WrittenClaim]) -> type[WrittenClaim]:
    """Make a kind of claim available in rules as text; a decorator.

    Parameters
    ----------
    kind
        The claim as it is written, with a `sign` and a `read`.

    Returns
    -------
    type[WrittenClaim]
        The same class.

    Raises
    ------
    RuleError
        When the kind has no sign, or another kind has the same sign.
    """
    if kind.sign is None:
        raise RuleError(
            f"{kind.__name__} has no text: give it a `sign` that follows its subject, "
            "and a `read`."
        )
    if _SIGNS.get(kind.sign, kind) is not kind:
        raise RuleError(
            f"`{kind.sign}` begins a claim of kind {_SIGNS[kind.sign].__name__} "
            f"already. Give {kind.__name__} another sign."
        )
    _SIGNS[kind.sign] = kind
    return kind


def read_claim(parser: Parser) -> AnyClaim:
    """Parse a claim: a condition, or a kind with a sign."""
    start = parser.here
    node = parser.node(1)
    if not parser.sees(*_SIGNS):
        return parser.as_condition(node, start)
    target = parser.as_expression(node, start)
    return _SIGNS[parser.here.text].read(parser, target)


def bind_claim(claim: AnyClaim, schema: Schema) -> BoundClaim:
    """The claim about the columns of a schema."""
    if not isinstance(claim, Condition):
        return claim.bind(schema)
    kind = AllowedClasses if schema.is_classification else Forbidden
    return kind.of(claim, schema)


register(Expect)
