"""Beartype as the tests use it: `1` is accepted where a `float` is asked for."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
