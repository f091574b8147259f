import numpy as np
import pytest

from ocbnn.datasets.uci import SPLITS, TABLES, split, uci
from ocbnn.errors import SettingError

SHAPES = {
    "yacht": (308, 6),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "credit": (1000, 20),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_names_units_and_finite_numbers(name):
    table = uci(name)
    assert table.X.shape == SHAPES[name]
    assert table.y.shape == SHAPES[name][:1]
    assert np.isfinite(table.X).all()
    assert table.y.min() == 0 if name == "credit" else (table.y > 0).all()
    assert set(table.units) == {*table.inputs, table.output}
    assert len(table.inputs) == table.X.shape[1]


def test_columns_stand_under_their_names():
    yacht = uci("yacht")
    froude = yacht.X[:, yacht.inputs.index("froude_number")]
    assert (froude.min(), froude.max(), yacht.y.max()) == (0.125, 0.45, 62.42)
    concrete = uci("concrete")
    assert concrete.X[0, concrete.inputs.index("age")] == 28
    assert concrete.units["strength"] == "MPa"
    assert set(uci("energy").X[:, 4]) == {3.5, 7.0}
    credit = uci("credit")
    assert credit.X[0, credit.inputs.index("amount")] == 1049
    assert credit.y.sum() == 700


def test_resistance_never_falls_with_the_froude_number_of_a_hull():
    # What the rule of the study says, seen in the table itself.
    hulls = uci("yacht").y.reshape(22, 14)
    assert (np.diff(hulls, axis=1) >= 0).all()


def test_an_unknown_table_is_refused_with_the_nearest():
    with pytest.raises(SettingError, match="Did you mean `yacht`"):
        uci("yatch")


def test_splits_are_disjoint_whole_and_their_own():
    seen = set()
    for seed in range(SPLITS):
        train, test = split(100, seed)
        assert sorted([*train, *test]) == list(range(100))
        assert len(test) == 10
        seen.add(tuple(test))
    assert len(seen) == SPLITS
    np.testing.assert_array_equal(split(100, 3)[1], split(100, 3)[1])
