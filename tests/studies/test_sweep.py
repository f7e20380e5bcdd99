"""Sweeps: the same numbers for every executor and order, errors, seeds, and data sets."""

import itertools
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import study_functions as functions
import xarray as xr

import tacit

pytestmark = pytest.mark.any_cpu

GRID = {"scale": [1e-3, 1.0], "depth": [2, 3]}


def plain(scale, depth, seed):
    return {"sum": scale + depth, "draw": np.random.default_rng(seed).standard_normal()}


def test_a_grid_is_the_product_of_its_lists():
    found = tacit.sweep(plain, GRID, executor="serial")
    assert (found["sum"].dims, found.sizes["scale"], found.sizes["depth"]) == (("scale", "depth"), 2, 2)
    for scale, depth in itertools.product(*GRID.values()):
        assert found["sum"].sel(scale=scale, depth=depth) == scale + depth
    assert (found.errors == "").all()
    assert found.attrs["seed"] == 0 and found.attrs["numpy"] == np.__version__
    assert tacit.__version__ in found.attrs["tacit"]


def test_numbers_do_not_depend_on_executor_order_or_the_other_points():
    alone = tacit.sweep(plain, GRID, executor="serial")
    with ThreadPoolExecutor(3) as threads:
        assert tacit.sweep(plain, GRID, executor=threads).identical(alone)
    turned = tacit.sweep(plain, {"depth": [3, 7, 2], "scale": [1.0, 5.0, 1e-3]}, executor="serial")
    assert turned.draw.sel(scale=[1e-3, 1.0], depth=[2, 3]).transpose().equals(alone.draw)
    points = [{"scale": s, "depth": d} for d in (2, 3) for s in (1.0, 1e-3)]
    listed = tacit.sweep(plain, points, executor="serial")
    assert listed.draw.dims == ("point",)
    for k, point in enumerate(points):
        assert listed.draw[k].item() == alone.draw.sel(**point).item()
        assert {name: listed[name][k].item() for name in point} == point


def test_every_point_has_its_own_seed():
    found = tacit.sweep(plain, {"scale": np.linspace(0, 1, 50), "depth": [2, 3]}, executor="serial")
    assert np.unique(found.draw).size == 100
    other = tacit.sweep(plain, {"scale": np.linspace(0, 1, 50), "depth": [2, 3]}, executor="serial", seed=1)
    assert not np.isin(other.draw, found.draw).any()
    normal = np.sort(np.append(found.draw, other.draw))
    assert abs(normal.mean()) < 0.5 and 0.5 < normal.std() < 1.5  # seven standard errors of independent draws


def test_a_seed_among_the_parameters_is_the_seed():
    found = tacit.sweep(plain, {"scale": [1.0, 2.0], "depth": [2], "seed": [0, 1]}, executor="serial")
    expected = [np.random.default_rng(k).standard_normal() for k in (0, 1)]
    np.testing.assert_array_equal(found.draw.values[:, 0], [expected, expected])


def test_a_function_may_do_without_a_seed():
    assert tacit.sweep(lambda a: {"b": 2 * a}, {"a": [1, 2]}, executor="serial").b.values.tolist() == [2, 4]
    assert tacit.sweep(lambda **point: {"s": point["seed"]}, {"a": [1]}, executor="serial").s.dtype == int


def test_processes_give_the_same_bits_as_one():
    serial = tacit.sweep(functions.l1_norm, GRID, executor="serial")
    assert tacit.sweep(functions.l1_norm, GRID, executor="processes:2").identical(serial)
    assert serial.predictor.dims == ("scale", "depth", "predictor_0")
    assert (abs(serial.predictor).sum("predictor_0") == serial.norm).all()
    assert serial.regime.sel(scale=1e-3, depth=3) == "rich"


@pytest.mark.thorough
def test_executors_of_python_work_as_they_are():
    serial = tacit.sweep(functions.l1_norm, GRID, executor="serial")
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert tacit.sweep(functions.l1_norm, GRID, executor=pool).identical(serial)


def failing(k):
    if k == 1:
        raise ZeroDivisionError("division\nby zero")
    if k == 2:
        return {"other": 1.0}
    if k == 3:
        return 5.0
    return {"whole": k, "truth": True, "text": "a", "array": np.arange(k)}


def test_a_failing_point_is_recorded_and_the_others_go_on(tmp_path):
    for store in (None, tmp_path / "store"):
        found = tacit.sweep(failing, {"k": [0, 1, 2, 3, 4]}, executor="serial", store=store)
        errors = found.errors.values.tolist()
        assert errors[0] == errors[4] == ""
        assert errors[1] == "ZeroDivisionError: division by zero"
        assert "'other': 'number'" in errors[2] and "'array': '1-d'" in errors[2]
        assert errors[3] == "InputError: the function must return a dict of numbers or arrays, got 5.0"
        np.testing.assert_array_equal(found.whole, [0, np.nan, np.nan, np.nan, 4])
        assert found.text.values.tolist() == ["a", "", "", "", "a"]
        np.testing.assert_array_equal(found.array[4], [0, 1, 2, 3])
        assert np.isnan(found.array[:4]).all()
        found.to_netcdf(tmp_path / "found.nc", engine="scipy")
        assert xr.load_dataset(tmp_path / "found.nc", engine="scipy").errors.values.tolist() == errors


def test_types_remain_where_nothing_is_missing(tmp_path):
    found = tacit.sweep(failing, {"k": [4]}, executor="serial", store=tmp_path / "store")
    again = tacit.sweep(failing, {"k": [4]}, executor="serial", store=tmp_path / "store")
    assert [found[name].dtype.kind for name in ("whole", "truth", "text", "array")] == ["i", "b", "U", "i"]
    assert again.identical(found)


def test_all_points_may_fail():
    found = tacit.sweep(failing, {"k": [1, 3]}, executor="serial")
    assert list(found.data_vars) == ["errors"] and (found.errors != "").all()


def taking(first, second=1):
    return {"sum": first + second}


@pytest.mark.parametrize(
    ("function", "grid", "options", "words"),
    [
        (taking, {"frist": [1]}, {}, "taking takes no argument 'frist', a parameter of grid; it takes first"),
        (taking, {"second": [1]}, {}, "taking needs the argument 'first', which grid does not have"),
        (taking, {"first": 1}, {}, "grid\\['first'\\] must be a list of values, got 1"),
        (taking, {"first": "abc"}, {}, "must be a list of values"),
        (taking, {"first": []}, {}, "grid\\['first'\\] is empty"),
        (taking, {"first": [1, 1]}, {}, "has a value twice"),
        (taking, {"first": [[1]]}, {}, "grid\\['first'\\]\\[0\\] must be a number or text, got \\[1\\]"),
        (taking, {"first": [float("nan")]}, {}, "must be a number or text, got nan"),
        (taking, {}, {}, "grid has no parameters"),
        (taking, [], {}, "grid has no points"),
        (taking, [{"first": 1}, {"second": 1}], {}, "grid\\[1\\] is {'second': 1}"),
        (taking, {"first": range(4000), "second": range(4000)}, {}, "16,000,000 points; at most 10,000,000"),
        (3, {"first": [1]}, {}, "function must be callable, got 3"),
        (taking, {"first": [1]}, {"seed": -1}, "seed must be a whole number, 0 or more, got -1"),
        (taking, {"first": [1]}, {"seed": 0.5}, "seed must be a whole number"),
        (taking, {"first": [1]}, {"executor": "slurm"}, "executor must be 'processes', .* got 'slurm'"),
        (taking, {"first": [1]}, {"executor": "processes:0"}, "must be 1 or more, got '0'"),
        (taking, {"first": [1]}, {"executor": 4}, "executor must be 'processes', .* got 4"),
        (taking, {"first": [1]}, {"store": __file__}, "cannot use the store"),
    ],
)
def test_bad_input_is_named(function, grid, options, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.sweep(function, grid, **{"executor": "serial"} | options)


@pytest.mark.parametrize("missing", ["pyarrow", "distributed"])
def test_a_package_that_is_missing_is_named(missing, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, missing, None)
    options = {"store": tmp_path} if missing == "pyarrow" else {"executor": "dask:tcp://127.0.0.1:1"}
    name = {"pyarrow": "a store needs pyarrow", "distributed": "'dask:tcp://127.0.0.1:1' needs Dask"}[missing]
    with pytest.raises(tacit.MissingPackageError, match=f"{name}.* not installed: pip install"):
        tacit.sweep(taking, {"first": [1]}, **options)


def test_a_point_that_ends_its_process_is_given_up_and_the_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv(functions.LOG, str(tmp_path))
    found = tacit.sweep(functions.fragile, {"k": range(12)}, executor="processes:2")
    errors = found.errors.values.tolist()
    assert errors[3] == "WorkerDied: its process ended early (status -9) (3 times)"
    assert [error for k, error in enumerate(errors) if k != 3] == [""] * 11
    assert functions.calls(tmp_path)["3"] == 3 and functions.calls(tmp_path)["5"] == 2


@pytest.mark.thorough
def test_a_broken_pool_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv(functions.LOG, str(tmp_path))
    with (
        ProcessPoolExecutor(2, get_context("spawn")) as pool,
        pytest.warns(RuntimeWarning, match="is broken"),
    ):
        found = tacit.sweep(functions.fragile, {"k": range(12)}, executor=pool)
    errors = found.errors.values.tolist()
    assert errors[3].endswith("(3 times)")
    assert [error for k, error in enumerate(errors) if k != 3] == [""] * 11


SCRIPT = """
import sys
import tacit
FACTOR = 3
def triple(a):
    return {"b": FACTOR * a}
if __name__ == "__main__":
    if "--without" in sys.argv:
        import tacit.pickling
        tacit.pickling._BY_VALUE = ()
    print(tacit.sweep(triple, {"a": [1, 2]}, executor="processes:1").b.values.tolist())
    try:
        found = tacit.sweep(lambda a: {"b": FACTOR * a}, {"a": [1, 2]}, executor="processes:1")
        print(found.b.values.tolist())
    except tacit.InputError as error:
        print(error)
"""


@pytest.mark.parametrize("without", [False, True])
def test_functions_of_a_script_and_lambdas(without, tmp_path):
    if not without:
        pytest.importorskip("cloudpickle", reason="needs cloudpickle")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), *["--without"][:without]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    first, second = done.stdout.splitlines()
    assert first == "[3, 6]", done.stderr
    said = "the function <lambda> cannot be sent to other processes: define it with def at the top level"
    assert second.startswith(said) if without else second == "[3, 6]"


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import tacit, tacit.pickling
        tacit.pickling._BY_VALUE = ()
        def same(a):
            return {"b": a}
        print(tacit.sweep(same, {"a": [1]}, executor="processes:1"))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert 'put the call under if __name__ == "__main__":' in done.stderr
