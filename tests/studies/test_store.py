"""Stores: no finished point is lost or evaluated twice, and damage is detected."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import study_functions as functions

import tacit
from tacit.studies.content import digest

pytest.importorskip("pyarrow", reason="needs pyarrow")
pytestmark = pytest.mark.any_cpu

N = 40


@pytest.fixture
def log(tmp_path, monkeypatch):
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv(functions.LOG, str(folder))
    return folder


def run(count=N, **options):
    return tacit.sweep(functions.counted, {"k": range(count)}, **{"executor": "serial"} | options)


def shards(store):
    return sorted(store.glob("*.parquet"))


def test_a_finished_point_is_not_evaluated_again(log, tmp_path):
    store = tmp_path / "store"
    alone = run()
    first = run(store=store)
    assert first.identical(alone)
    before = functions.calls(log)
    assert run(store=store).identical(alone)
    assert functions.calls(log) == before
    extended = run(N + 5, store=store)
    assert extended.isel(k=slice(N)).identical(alone)
    assert sum(functions.calls(log).values()) - sum(before.values()) == 5
    assert {path.suffix for path in store.iterdir()} == {".parquet"}


def test_shards_are_named_by_their_content_and_can_be_read_by_others(log, tmp_path):
    store = tmp_path / "store"
    found = run(store=store)
    for path in shards(store):
        assert hashlib.sha256(path.read_bytes()).hexdigest().startswith(path.stem)
    table = pd.concat(map(pd.read_parquet, shards(store)))
    assert sorted(table.k_squared) == [k * k for k in range(N)]
    rows = table[table.k_squared == 9]
    np.testing.assert_array_equal(np.array(rows.array.item()).reshape(2, 3), found.array.sel(k=3))


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-10])


@pytest.mark.parametrize("damage", [flip, cut, lambda path: path.write_bytes(b"")])
def test_a_damaged_shard_is_noticed_and_evaluated_again(damage, log, tmp_path):
    store = tmp_path / "store"
    whole = run(store=store)
    run(N + 5, store=store)  # a second set of shards, which is not damaged
    before = sum(functions.calls(log).values())
    victim = min(shards(store), key=lambda path: path.stat().st_mtime_ns)
    points = len(pd.read_parquet(victim))
    damage(victim)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert run(store=store).identical(whole)
    assert sum(functions.calls(log).values()) - before == points > 0
    assert victim.with_suffix(".damaged").exists()
    assert run(store=store).identical(whole)  # without a warning


def test_what_a_killed_process_left_is_ignored(log, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / ".tacit-0123").write_bytes(b"half a sha")
    assert run(store=store).identical(run())


def test_another_function_seed_or_version_is_another_study(log, tmp_path, monkeypatch):
    store = tmp_path / "store"

    def evaluations(**options):
        before = sum(functions.calls(log).values())
        run(3, store=store, **options)
        return sum(functions.calls(log).values()) - before

    assert evaluations() == 3
    assert evaluations() == 0
    assert evaluations(seed=1) == 3
    monkeypatch.setattr("tacit.studies.sweep.versions", lambda: {"numpy": np.__version__})
    assert evaluations() == 3
    monkeypatch.undo()
    monkeypatch.setenv(functions.LOG, str(log))
    monkeypatch.setattr(functions, "LOG", "STUDY_LOG ")  # a global that a function uses, which uses a global
    monkeypatch.setenv("STUDY_LOG ", str(log))
    assert evaluations() == 3


def test_errors_of_the_machine_are_tried_again_and_others_are_not(log, tmp_path):
    def failing(k):
        functions.recorded(k)
        raise (MemoryError if k else ValueError)("no")

    for _ in range(2):
        found = tacit.sweep(failing, {"k": [0, 1]}, store=tmp_path / "store", executor="serial")
        assert found.errors.values.tolist() == ["ValueError: no", "MemoryError: no"]
    assert functions.calls(log) == {"0": 1, "1": 2}


def test_digests_are_those_of_content():
    def adder(number):
        def add(x):
            return x + number

        return add

    values = [
        1,
        1.0,
        True,
        "1",
        b"1",
        (1,),
        [1],
        {1},
        {1: 1},
        None,
        np.ones(1),
        np.ones(1, int),
        np.ones((1, 1)),
    ]
    values += [
        adder(1),
        adder(2),
        lambda x: x,
        lambda x: -x,
        np,
        tacit.Diagonal(2, 1.0),
        tacit.Diagonal(2, 0.5),
    ]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(adder(1)) == digest(adder(1))
    assert digest({"a", "b", "c"}, np.float64(0.5)) == digest({"c", "b", "a"}, 0.5)
    assert digest(tacit.Diagonal(2, 0.5)) == digest(tacit.Diagonal(2, 0.5))


@pytest.mark.parametrize("hashes", ["1", "2"])
def test_digests_are_the_same_in_every_process(hashes):
    """This includes functions with a set of texts among their constants, whose order of iteration varies."""
    code = "import study_functions as f; from tacit.studies.content import digest; print(digest(f.chosen))"
    paths = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONHASHSEED": hashes, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == digest(functions.chosen), done.stderr


PROGRAM = """
import sys
import study_functions as functions
import tacit
if __name__ == "__main__":
    tacit.sweep(functions.slowly, {"k": range(int(sys.argv[2]))}, store=sys.argv[1], executor=sys.argv[3])
"""


def start(store, count, executor, folder):
    script = folder / "program.py"
    script.write_text(PROGRAM)
    paths = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, str(script), str(store), str(count), executor],
        env=os.environ | {"PYTHONPATH": paths},
        stderr=subprocess.PIPE,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("executor", ["processes:2", "serial"])
def test_killed_at_random_moments_it_goes_on_where_it_was(executor, log, tmp_path):
    """No finished point is lost, and only those that were being evaluated are evaluated twice."""
    store, count, draws = tmp_path / "store", 600, random.Random(0)
    finished = {}  # points in the store, and how often they had been evaluated
    for _ in range(10):
        running = start(store, count, executor, tmp_path)
        seen = len(functions.calls(log))
        while len(functions.calls(log)) < seen + 5 and running.poll() is None:
            time.sleep(0.01)
        time.sleep(draws.uniform(0, 1.0))
        running.kill()
        running.communicate()
        time.sleep(0.5)  # its processes end
        called = functions.calls(log)
        kept = [json.loads(point)["k"] for path in shards(store) for point in pd.read_parquet(path)["_point"]]
        assert set(finished) <= {str(k) for k in kept} and len(kept) == len(set(kept))
        finished = {str(k): called[str(k)] for k in kept} | finished
    whole = tacit.sweep(functions.slowly, {"k": range(count)}, store=store, executor=executor)
    called = functions.calls(log)
    assert whole.identical(
        tacit.sweep(functions.counted, {"k": range(count)}, executor="serial").assign_attrs(whole.attrs)
    )
    assert finished == {k: called[k] for k in finished} and 0 < len(finished) < count
    table = pd.concat(map(pd.read_parquet, shards(store)))
    assert len(table) == count == len(set(table["_key"]))


@pytest.mark.thorough
def test_two_processes_share_a_store(log, tmp_path):
    store, count = tmp_path / "store", 300
    both = [start(store, count, "serial", tmp_path) for _ in range(2)]
    assert [process.communicate()[1] for process in both] == [b"", b""]
    calls = functions.calls(log)
    assert len(calls) == count
    assert sum(calls.values()) < 1.5 * count  # a process alone would evaluate them all
    assert run(5).number.values.tolist()


def test_ctrl_c_leaves_a_store_that_can_be_used(log, tmp_path):
    store = tmp_path / "store"
    running = start(store, 20_000, "processes:2", tmp_path)  # would take about a minute
    until = time.monotonic() + 60
    while len(shards(store) if store.exists() else []) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode not in (0, None)
    kept = sum(len(pd.read_parquet(path)) for path in shards(store))
    assert kept >= 2
    assert {path.suffix for path in store.iterdir()} == {".parquet"}
