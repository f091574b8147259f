"""Several devices: the same draws, and a checkpoint that any number of them resumes."""

import jax
import pytest

from ocbnn.bench.problems import POINTS, target
from ocbnn.core.operations import count_operations
from ocbnn.errors import SettingError
from ocbnn.inference import HMC, NUTS, SVGD, sample
from ocbnn.inference.layout import chosen_devices, is_small, lay_out
from tests.inference.on_devices import differences

MESHES = {
    "simple": {"lanes": 8, "rows": 1},
    "chains": {"lanes": 8, "rows": 1},
    "chains and rows": {"lanes": 2, "rows": 4},
    "nuts": {"lanes": 8, "rows": 1},
    "particles": {"lanes": 8, "rows": 1},
    "population": {"lanes": 8, "rows": 1},
    "batches": {"lanes": 8, "rows": 1},
    "stored particles": {"lanes": 8, "rows": 1},
    "stored batches": {"lanes": 8, "rows": 1},
}


def check(*names, folder=None):
    """What was found, name by name."""
    result = differences(*names, folder=folder)
    assert result.keys() == set(names)
    for name, one in result.items():
        assert one.get("mesh") == MESHES.get(name), name
        assert one["gap"] < 1e-6, name
    return result


def test_eight_devices_draw_what_one_draws():
    check("simple", "model")


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_devices(tmp_path):
    result = check("chains", folder=str(tmp_path / "run"))
    assert result["chains"]["resumed"] < 1e-6


@pytest.mark.slow
def test_so_do_other_algorithms():
    check("chains and rows", "nuts", "particles", "population")
    check("batches")


@pytest.mark.slow
def test_rows_in_files_are_read_for_all_devices():
    check("stored particles", "stored batches")


def test_one_processor_needs_no_mesh():
    density = target((1, 2, 1), 4, activation="tanh")
    for plan in (HMC(), SVGD()):
        layout = lay_out(plan, density)
        assert layout.mesh is None
        assert not layout.is_vectorised


def test_small_problems_stay_on_the_processor():
    small = target((1, 10, 1), 6, activation="rbf")
    large = target((9, 200, 200, 2), 100, activation="rbf", batch_size=64)
    assert is_small(NUTS(chains=4), small, cores=2)
    assert not is_small(HMC(chains=1024), small, cores=2)
    assert is_small(SVGD(particles=20), small, cores=2)
    assert not is_small(SVGD(particles=50), large, cores=16)
    # By hand: forwards and twice backwards, for every weight and row.
    operations = count_operations(
        jax.grad(large.stochastic_logdensity), large.shapes(), jax.random.key(0)
    )
    products = 6 * (9 * 200 + 200 * 200 + 200 * 2) * (64 + POINTS)
    assert 0.9 * products < operations < 1.5 * products


def test_devices_that_are_not_there_are_refused_with_a_hint():
    density = target((1, 2, 1), 4, activation="tanh")
    many = len(jax.devices()) + 1
    with pytest.raises(SettingError, match=f"devices={many} asks for {many} devices"):
        sample(HMC(), density, jax.random.key(0), devices=many)
    with pytest.raises(SettingError, match="finds no such device here"):
        chosen_devices("tpu")
    for wrong in (0, -1, 2.5, [], ["cpu"], True, {}):
        with pytest.raises(SettingError, match="devices"):
            chosen_devices(wrong)


def test_devices_can_be_named_or_given():
    all_devices = jax.devices()
    assert chosen_devices(None) == all_devices[:1]
    assert chosen_devices("all") == all_devices
    assert chosen_devices("cpu") == jax.devices("cpu")[:1]
    assert chosen_devices(all_devices) == all_devices
    assert chosen_devices(1) == all_devices[:1]
