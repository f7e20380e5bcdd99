"""Use the core of Tacit from end to end without any other package; prints "core: done".

argv: a folder to write to, and names of modules that must not be imported in this process although they may
be installed.
"""

import json
import sys
import warnings
from pathlib import Path

warnings.simplefilter("error")


EXTRAS = ("jax", "jaxlib", "openpyxl", "pyarrow", "scikit-learn", "sympy", "torch")  # the names that pip uses


class Without:
    """An import hook that rejects these names."""

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in sys.argv[2:] else self.finder.find_spec(name, path, target)

    def find_distributions(self, context):
        find = getattr(self.finder, "find_distributions", lambda context: ())
        return () if len(sys.argv) > 2 and context.name in EXTRAS else find(context)


sys.meta_path[:] = map(Without, sys.meta_path)

import numpy as np  # noqa: E402

import tacit  # noqa: E402
from tacit.cli import main  # noqa: E402

FOLDER = Path(sys.argv[1])
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 10))
Y, LABELS = X[:, 0] - 2 * X[:, 1], np.where(X[:, 0] > 0, 1.0, -1.0)
MATRICES = RNG.standard_normal((5, 2, 3))
MODELS = [
    tacit.Diagonal(2, 0.3),
    tacit.Diagonal(3, 0.3),
    tacit.UntiedDiagonal(0.3, 0.2),
    tacit.UntiedDiagonal.from_layers([0.2, 0.3, 0.4]),
    tacit.Neuron.from_scale(0.5, 0.3, np.ones(10)),
    tacit.Neuron.from_scale(0.5, 0.3, np.ones(10), slope=0.5),
    tacit.LinearNetwork.gaussian(10, 20),
    tacit.Factorization.gaussian((2, 3), 4, 0.3),
    tacit.SymmetricFactorization.gaussian(2, 3, 0.5),
]


def inputs(model):
    """Samples of the shape that the model takes, with targets."""
    if model.input_ndim == 2:
        return X, Y
    if isinstance(model, tacit.Factorization):
        return MATRICES, MATRICES[:, 0, 0]
    square = MATRICES[:3, :, :2] + MATRICES[:3, :, :2].transpose(0, 2, 1)
    return square, np.abs(square[:, 0, 0])


def flows():
    """Use every built-in model with every method, and linearized."""
    for model in MODELS:
        data, y = inputs(model)
        fast = tacit.flow(model, data, y, until=4.0)
        raw = tacit.flow(model, data, y, until=4.0, method="parameters")
        assert np.abs(fast.predictor[-1] - raw.predictor[-1]).max() < 1e-5, model
        start = fast.loss[0]
        steps = tacit.flow(model, data, y, method="descent", step=1e-3, most_steps=20)
        assert steps.loss[-1] < start, model
        assert tacit.flow(model, data, y, linearized=True, times=[0, 0.1]).loss[-1] < start, model
        if model.input_ndim == 2:
            means = {"loss": "exp", "until": 3.0}
            raw = tacit.flow(model, data, LABELS, method="parameters", **means)
            assert raw.accuracy[-1] >= 3.0 - 1e-9, model
            assert (
                tacit.flow(model, data, LABELS, method="normalized", step=0.05, **means).accuracy[-1] >= 3.0
            )
    run = tacit.flow(MODELS[0], X, Y)
    assert run.summary() and run.to_xarray().sizes and run.plot(FOLDER / "flow.png")


def theory():
    """Limits, margins, regimes, certificates and theorems."""
    limit = tacit.limit(MODELS[0], X, Y)
    assert limit.converged and tacit.certify(MODELS[0], X, Y, limit.predictor).holds
    assert tacit.regime(MODELS[0], X, Y).name and limit.summary() and limit.plot(FOLDER / "limit.png")
    for norm in ("l1", "l2", 0.7, MODELS[0]):
        assert tacit.max_margin(X, LABELS, norm).converged, norm
    assert np.all(tacit.margin_path(X, LABELS, [1.0, 0.1]).converged)
    assert tacit.sweeping_path(X, LABELS, [1.0, 0.1]).predictors.shape == (2, 10)
    assert tacit.prepare(X) is not None and tacit.support_stability(X, LABELS).summary()
    for model in (MODELS[0], MODELS[4], MODELS[6]):
        found = tacit.check(model, X, Y)
        assert len(found) > 3 and not any("install" in str(each) for each in found.refused.values()), model


def commands():
    """The command line on a CSV file, and a figure."""
    table = FOLDER / "data.csv"
    rows = [*zip(*X.T, Y, np.where(LABELS > 0, "yes", "no"), strict=True)]
    names = [*(f"x{i}" for i in range(10)), "y", "label"]
    table.write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]))
    numbers = FOLDER / "numbers.csv"
    numbers.write_text("\n".join(",".join(map(str, row)) for row in [names[:-1], *(r[:-1] for r in rows)]))
    for line in (
        ["limit", str(numbers), "--target", "y", "--scale", "0.1"],
        ["flow", str(numbers), "--target", "y", "--scale", "0.1", "--until", "4", "--method", "parameters"],
        ["check", str(numbers), "--target", "y", "--scale", "0.1", "--only", "woodworth2020/theorem1"],
        ["reproduce", "woodworth2020/fig2", "--out", str(FOLDER / "figures")],
    ):
        out = FOLDER / f"{line[0]}.json"
        assert main([*line, "--json", str(out)]) == 0 and json.loads(out.read_text()), line
    assert main(["limit", str(table), "--target", "y"]) == 2  # text among the features
    assert main(["reproduce", "list"]) == 0


def refusals():
    """Features that need other packages raise an error with the command that installs them."""
    for needs, ask in (
        ("JAX", lambda: tacit.derive(lambda w: w**2, np.ones(2))),
        ("JAX", lambda: tacit.Network(lambda params, X: X @ params, np.ones(10))),
        ("JAX", lambda: tacit.flow(tacit.model(lambda w: w**2, np.ones(10)), X, Y)),
        ("PyTorch", lambda: tacit.Network.from_torch(None)),
        ("SymPy", lambda: tacit.closed_form(None, [], {})),
        ("scikit-learn", lambda: tacit.estimators),
        ("JAX", lambda: reproduced("woodworth2020/fig7")),
    ):
        try:
            ask()
        except tacit.MissingPackageError as error:
            words = str(error)
            assert f"needs {needs}" in words and "pip install '" in words and "\n" not in words, words
            assert "tacit[" not in words, words
            continue
        raise AssertionError(f"no error said that {needs} is needed")
    for kind in ("parquet", "xlsx"):
        (FOLDER / f"table.{kind}").write_bytes(b"")
        assert main(["limit", str(FOLDER / f"table.{kind}"), "--target", "y"]) == 2
    assert main(["fit", str(FOLDER / "numbers.csv"), "--target", "y"]) == 2
    assert main(["reproduce", "woodworth2020/fig7", "--out", str(FOLDER / "figures")]) == 2


def reproduced(key):
    """A figure, by its key."""
    from tacit.papers import figures, reproduce

    return reproduce(figures(key)[0], out=FOLDER / "figures")


flows(), theory(), commands(), refusals()
loaded = {name for name, module in sys.modules.items() if module is not None}
assert not loaded & {"jax", "torch", "sklearn", "sympy", "pyarrow", "openpyxl"}
print("core: done")
