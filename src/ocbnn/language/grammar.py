"""Conditions and expressions from tokens, by precedence climbing.

One function reads both, because an opening parenthesis may hold either; so the parser
never goes back, and its time is linear in the text.
"""

import dataclasses

from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import RuleError, RuleSyntaxError
from ocbnn.language.conditions import And, Condition, Node, Not, Or
from ocbnn.language.reader import Reader
from ocbnn.language.tokens import EQUALITY, Token
from ocbnn.language.tree import (
    COMPARISONS,
    Binary,
    Call,
    Comparison,
    Expression,
    Membership,
    Name,
    Negate,
    Number,
    Slope,
)
from ocbnn.language.words import (
    FUNCTIONS,
    KEYWORDS,
    SLOPE,
    TRUTHS,
    Label,
)

# `either` repeats both of its sides, so each level doubles the tree.
MOST_EITHERS = 6
WHOLE_CLAIM = (
    "`~ Normal(...)` is a whole claim and cannot be joined with `and`, `or` or `not`: "
    "write it as a separate rule"
)

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER = range(1, 9)
_LEVEL = {"or": _OR, "and": _AND, "in": _COMPARE, "not": _COMPARE}
_LEVEL |= {"rises": _COMPARE, "falls": _COMPARE}
_LEVEL |= dict.fromkeys(COMPARISONS, _COMPARE)
_LEVEL |= {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


@dataclasses.dataclass
class Parser(Reader):
    """Parses conditions and expressions; every method parses from the current token."""

    eithers: int = 0

    def condition(self, level: int = _OR) -> Condition:
        """Read a condition."""
        start = self.here
        return self.as_condition(self.node(level), start)

    def expression(self) -> Expression:
        """Read an expression."""
        start = self.here
        return self.as_expression(self.node(_SUM), start)

    def as_condition(self, node: Node, start: Token) -> Condition:
        """Return the node if it is a condition; otherwise raise an error."""
        if isinstance(node, Condition):
            return node
        if self.sees("="):
            raise self.fail(EQUALITY)
        if self.sees("~"):
            raise self.fail(WHOLE_CLAIM)
        spelled = shorten(str(node))
        if self.here.kind == "end":
            raise self.fail(
                f"the comparison is missing: write what ({spelled}) should be, as in "
                f"`{spelled} <= 3`"
            )
        if not self.sees(*KEYWORDS, ")", ","):
            self.refuse_leftover()
        raise self.fail(
            f"({spelled}) is not a condition: compare it, `{spelled} <= 3`", start
        )

    def as_expression(self, node: Node, start: Token) -> Expression:
        """Return the node if it is an expression; otherwise raise an error."""
        if isinstance(node, Expression):
            return node
        raise self.fail(
            "a condition stands where a number belongs: join conditions with `and`, "
            "`or` and `not`",
            start,
        )

    def node(self, level: int) -> Node:
        """Read operators that bind at least as tightly as `level`."""
        start = self.here
        left = self._primary(level)
        while True:
            token = self.here
            binding = _LEVEL.get(token.text, 0) if token.kind in ("sign", "name") else 0
            if binding < level or not binding:
                return left
            try:
                left = self._continue(left, start, binding)
            except RuleSyntaxError:
                raise
            except RuleError as error:
                raise self.fail(str(error), token) from None

    def _continue(self, left: Node, start: Token, level: int) -> Node:
        if level in (_OR, _AND):
            first = self.as_condition(left, start)
            operator = self.advance().text
            parts = [first, self.condition(level + 1)]
            while self.sees(operator):
                self.advance()
                parts.append(self.condition(level + 1))
            return (Or if operator == "or" else And)(tuple(parts))
        if self.sees("in", "not"):
            return self._membership(self.as_expression(left, start), start)
        left = self.as_expression(left, start)
        if self.sees("rises", "falls"):
            return self._trend(left)
        if level == _COMPARE:
            return self._chain(left)
        op = self.advance().text
        right_start = self.here
        # Powers group to the right and take a sign: `2 ** -x ** 2`.
        right = self.node(_UNARY if op == "**" else level + 1)
        return Binary(op, left, self.as_expression(right, right_start))

    def _chain(self, left: Expression) -> Condition:
        parts: list[Condition] = []
        direction = self.here.text[0]
        while self.sees(*COMPARISONS):
            op = self.advance()
            if op.text[0] != direction:
                raise self.fail(
                    "a chain runs one way: write `a <= y <= b`, or join two "
                    "comparisons with `and`",
                    op,
                )
            if self.sees("="):
                raise self.fail(f"write `{op.text}=` without a space, or `{op.text}`")
            right = self.expression()
            parts.append(Comparison(op.text, left, right))
            left = right
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _trend(self, left: Expression) -> Condition:
        """`y rises with x` is `d(y, x) >= 0` in words."""
        word = self.advance().text
        self.take("with", f"write `y {word} with x`")
        slope = Slope(left, (self.as_expression(self.node(_SUM), self.here),))
        return slope >= 0 if word == "rises" else slope <= 0

    def _membership(self, left: Expression, start: Token) -> Condition:
        negated = self.sees("not")
        if negated:
            self.advance()
        self.take(
            "in", "write `action not in {treat}`, or `and not` between conditions"
        )
        if not isinstance(left, Name):
            raise self.fail(
                f"({left}) takes no classes: `in` follows the name of a class output, "
                "`action in {treat}`; for a number write `1 <= y <= 2`",
                start,
            )
        self.take("{", 'classes stand in braces, `action in {treat, "wait and see"}`')
        classes = [self._label()]
        while self.sees(","):
            self.advance()
            classes.append(self._label())
        self.take("}", "classes are separated by commas, `{treat, wait}`")
        member = Membership(left, tuple(classes))
        return Not(member) if negated else member

    def _label(self) -> Label:
        sign = -1 if self.sees("-") else 1
        if sign < 0:
            self.advance()
        token = self.here
        if token.kind == "number":
            value = self.number()
            is_integer = token.text.isdigit() and len(token.text) < 300
            return sign * (int(token.text) if is_integer else value)
        if sign > 0 and token.kind in ("name", "string", "quoted name"):
            self.advance()
            return (
                TRUTHS.get(token.text, token.text)
                if token.kind == "name"
                else (token.text)
            )
        raise self.fail(
            f"found {token} where a class belongs: write a word, a number or a text in "
            'quotes, `{treat, 3, "wait and see"}`'
        )

    def _primary(self, level: int) -> Node:  # noqa: PLR0911 (one per kind of token)
        token = self.here
        if token.kind == "number":
            return Number(self.number())
        if token.kind == "quoted name":
            return Name(self.advance().text)
        if token.kind == "string":
            label = shorten(token.text)
            raise self.fail(
                "text in quotes is a class label and takes no arithmetic: write "
                f'`action in {{"{label}"}}`, or `` `{label}` `` for a column'
            )
        if self.sees("-", "+"):
            return self._signed(self.advance())
        if self.sees("("):
            return self._group()
        if self.sees("not") and level <= _NOT:
            self.advance()
            self.descend(token)
            part = self.condition(_NOT)
            self.depth -= 1
            return Not(part)
        if self.sees("either") and level <= _AND:
            return self._either()
        if token.kind == "name" and token.text not in KEYWORDS:
            return self._name_or_call(self.advance())
        raise self._missing(token)

    def _missing(self, token: Token) -> RuleSyntaxError:
        if token.text == "if":
            return self.fail(
                "an if-then inside a rule stands in parentheses: "
                "`(if a > 0 then b > 0)`"
            )
        if token.text in ("not", "either") and token.kind == "name":
            return self.fail(f"{token} begins a condition: put it in parentheses")
        if token.text == "=":
            return self.fail(EQUALITY)
        if token.text in ("[", "{"):
            return self.fail(
                f"{token} has no meaning here: braces hold classes, "
                "`action in {treat}`, brackets hold options at the end"
            )
        expected = "a column, a number or `(`"
        if token.kind == "end":
            return self.fail(f"the text ends where {expected} belongs")
        return self.fail(f"found {token} where {expected} belongs: a side is missing")

    def _signed(self, sign: Token) -> Node:
        self.descend(sign)
        operand_start = self.here
        part = self.as_expression(self.node(_UNARY), operand_start)
        self.depth -= 1
        if sign.text == "+":
            return part
        literal = isinstance(part, Number) and operand_start.kind == "number"
        return -part if literal else Negate(part)

    def _group(self) -> Node:
        opening = self.advance()
        self.descend(opening)
        if self.sees("if"):
            self.advance()
            condition = self.condition()
            self.take("then", "write `(if a > 0 then b > 0)`")
            inner: Node = condition.implies(self.condition())
        else:
            inner = self.node(_OR)
        if not self.sees(")"):
            if self.here.kind == "end":
                raise self.fail("this `(` is never closed: write `)`", opening)
            if not self.sees(","):
                self.refuse_leftover()
            hint = self.comma_hint()
            raise self.fail(
                f"found {self.here} where `)` belongs{'.' if hint else ''}{hint}"
            )
        self.advance()
        self.depth -= 1
        return inner

    def _either(self) -> Condition:
        start = self.advance()
        self.descend(start)
        self.eithers += 1
        if self.eithers > MOST_EITHERS:
            raise self.fail(
                f"more than {MOST_EITHERS} `either` inside one another", start
            )
        first = self.condition(_AND)
        self.take("or", "write `either a > 0 or b > 0`, which is exactly one of two")
        second = self.condition(_AND)
        if self.sees("or"):
            raise self.fail(
                "`either` takes two conditions, exactly one of which holds: leave "
                "`either` out for at least one, or use parentheses"
            )
        self.eithers -= 1
        self.depth -= 1
        return first ^ second

    def _name_or_call(self, name: Token) -> Expression:
        if not self.sees("("):
            if name.text in FUNCTIONS:
                raise self.fail(
                    f"{name} is a function: write `{name.text}(x)`, or "
                    f"`` `{name.text}` `` in backticks for a column of that name",
                    name,
                )
            return Name(name.text)
        if name.text == "Normal":
            raise self.fail("`Normal` follows `~`: write `y ~ Normal(3, 0.1)`", name)
        functions = (*FUNCTIONS, SLOPE)
        if name.text not in functions:
            raise self.fail(
                f"unknown function {name}.{suggest(name.text, functions)} "
                f"Known: {listing(functions)}",
                name,
            )
        self.descend(self.advance())
        args = [self.expression()]
        while self.sees(","):
            self.advance()
            args.append(self.expression())
        self.take(")", f"the arguments of {name} end with it")
        self.depth -= 1
        try:
            if name.text == SLOPE:
                return Slope(args[0], tuple(args[1:]))
            return Call(name.text, tuple(args))
        except RuleError as error:
            raise self.fail(str(error), name) from None
