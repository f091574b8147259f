"""Which kinds of claim there are, and which of them a text or a condition is."""

from ocbnn.claims.base import AnyClaim, BoundClaim, WrittenClaim
from ocbnn.claims.classes import AllowedClasses
from ocbnn.claims.expectation import Expect
from ocbnn.claims.values import Forbidden
from ocbnn.errors import RuleError
from ocbnn.language.conditions import Condition
from ocbnn.language.grammar import Parser
from ocbnn.language.schema import Schema

# Kinds with text of their own, by the sign that follows what is spoken of.
_SIGNS: dict[str, type[WrittenClaim]] = {}


def register(kind: type[WrittenClaim]) -> type[WrittenClaim]:
    """Let rules as text use a kind of claim; a decorator.

    Raises
    ------
    RuleError
        When the kind has no sign, or another has the same.
    """
    if kind.sign is None:
        raise RuleError(
            f"{kind.__name__} has no text: give it a `sign` that follows what is "
            "spoken of, and a `read`."
        )
    if _SIGNS.get(kind.sign, kind) is not kind:
        raise RuleError(
            f"`{kind.sign}` begins a claim of kind {_SIGNS[kind.sign].__name__} "
            f"already. Give {kind.__name__} another sign."
        )
    _SIGNS[kind.sign] = kind
    return kind


def read_claim(parser: Parser) -> AnyClaim:
    """Read a claim: a condition, or one of a kind with a sign."""
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
