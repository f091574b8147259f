"""Things that travel with compiled functions' arguments without being part of them."""

import dataclasses
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=False)
class Aside(Generic[T]):
    """A static value that compiled code never looks at: any two are equal.

    A function compiled with one serves every other, so nothing that it returns may
    depend on the value.
    """

    value: T

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Aside)

    def __hash__(self) -> int:
        return hash(Aside)
