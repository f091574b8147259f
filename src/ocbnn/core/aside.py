"""Static arguments of compiled functions that never cause a recompilation."""

import dataclasses
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=False)
class Aside(Generic[T]):
    """A static value that compiled code never reads: any two compare equal.

    A function compiled with one `Aside` is reused for every other, so its result must
    not depend on the value.
    """

    value: T

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Aside)

    def __hash__(self) -> int:
        return hash(Aside)
