"""Shared results are computed once for equal arguments, within one `sharing` context."""

import numpy as np
from oracles import gaussian_problem

import tacit
from tacit.cli import main
from tacit.papers.statements import shared, sharing


def counting_function():
    calls = []

    @shared
    def function(model, X, at, rtol=1e-8):
        calls.append((model, at, rtol))
        return len(calls)

    return function, calls


def test_the_same_arguments_share_a_result_and_others_do_not():
    function, calls = counting_function()
    X, other = np.ones((50, 50)), np.ones((50, 50))
    with sharing():
        assert function("m", X, [1.0, 2.0]) == function("m", X, [1.0, 2.0]) == 1
        assert function("m", X, np.array([1.0, 2.0])) == 1
        assert function("m", X, [1.0, 3.0]) == 2
        assert function("m", other, [1.0, 2.0]) == 3  # equal, but large arrays are compared by identity
        assert function("m", X, [1.0, 2.0], rtol=1e-6) == 4
        assert function("n", X, [1.0, 2.0]) == 5
    assert len(calls) == 5


def test_results_are_not_kept_outside_the_context():
    function, calls = counting_function()
    for _ in range(2):
        function("m", None, 1.0)
        with sharing():
            function("m", None, 1.0)
    assert len(calls) == 4


def test_one_check_runs_no_flow_twice(tmp_path, monkeypatch, capsys):
    X, y = gaussian_problem(5, 12, seed=2)
    np.savez(tmp_path / "data.npz", X=X, y=np.sign(y))
    runs, real = [], tacit.flow

    def recorded(model, X, y, **options):
        arguments = [options.get(name) for name in ("at", "times", "rtol", "linearized")]
        start = {name: repr(w) for name, w in model.start(X.shape[1]).items()}
        runs.append((repr(model), str(start), options.get("loss", "square"), repr(arguments)))
        return real(model, X, y, **options)

    monkeypatch.setattr(tacit, "flow", recorded)
    assert main(["check", str(tmp_path / "data.npz"), "--scale", "0.5"]) == 0
    assert len(runs) > 5 and len(set(runs)) == len(runs)
    capsys.readouterr()
