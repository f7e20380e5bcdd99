"""Importing and using Tacit changes no global state: one process, all verbs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "tacit"

SCRIPT = r"""
import json, os, random, sys, warnings
import numpy as np

warnings.simplefilter("error")  # as the user has set it
np.random.seed(7), random.seed(7)
np.set_printoptions(precision=5), np.seterr(under="warn")
folder = sys.argv[1]
os.environ["MPLCONFIGDIR"] = folder
import matplotlib, scipy.optimize  # which sets filters for warnings of its own

FLAGS = (
    "jax_enable_x64", "jax_platforms", "jax_default_matmul_precision", "jax_debug_nans", "jax_disable_jit",
    "jax_numpy_rank_promotion",
)

def seen():
    name, key, *rest = np.random.get_state()
    found = {
        "numpy": repr((name, key.tolist(), rest)),
        "python": repr(random.getstate()),
        "warnings": repr(warnings.filters),
        "errors": repr(np.geterr()),
        "printing": repr(np.get_printoptions()),
        "environment": repr(sorted(os.environ.items())),
        "drawing": repr(sorted((k, repr(v)) for k, v in matplotlib.rcParams.items())),
        "folder": os.getcwd(),
        "hook": repr(sys.excepthook),
    }
    if jax := sys.modules.get("jax"):
        found["jax"] = repr([getattr(jax.config, flag) for flag in FLAGS])
    return found

changed, before = {}, seen()

def check(name, result=None):
    global before
    now = seen()
    if wrong := [key for key in before if now[key] != before[key]]:
        changed[name] = wrong
    before = now
    return result

import tacit
import tacit.theorems
check("import")
rng = np.random.default_rng(0)
X = rng.standard_normal((4, 6)); y = X @ np.r_[1.0, -1.0, 0, 0, 0, 0]; labels = np.sign(y)
tall, noisy = rng.standard_normal((9, 2)), rng.standard_normal(9)
model = tacit.Diagonal(scale=0.5)
MODELS = (
    model, tacit.Diagonal(3, 0.5), tacit.UntiedDiagonal(0.3, 0.2),
    tacit.Neuron.from_scale(0.5, 0.2, np.ones(6)), tacit.Neuron.from_scale(0.5, 0.2, np.ones(6), slope=0.5),
    tacit.LinearNetwork.gaussian(6, 5),
)
assert "jax" not in sys.modules  # light, and its import is looked at below
tacit.flow(model, X, y, method="descent", until=1.0); check("the first descent")
assert not sys.modules["jax"].config.jax_enable_x64 and sys.modules["jax"].numpy.ones(1).dtype == "float32"
for each in MODELS:
    for loss in ("square", "exp", "logistic") if each is model else ("square", "exp"):
        run = tacit.flow(each, X, y if loss == "square" else labels, loss=loss, until=2.0, rtol=1e-5)
        check(f"flow {each!r} {loss}")
run.summary(), run.to_dict(), run.to_xarray(), run.weights, run.kernel_distance, run.support
check("trajectory")
run.plot(os.path.join(folder, "flow.png")); check("plot of a flow")
tacit.flow(model, X, y, method="parameters", until=1.0); check("parameters")
tacit.flow(model, X, labels, loss="exp", method="normalized", until=1.0); check("normalized")
tacit.flow(model, X, y, linearized=True), tacit.flow(model, X, y, times=[0, 1.0]); check("linearized, times")
tacit.flow(model, tall, noisy); check("overdetermined")
limit = tacit.limit(model, X, y); limit.summary(), limit.to_dict(); check("limit")
tacit.limit(MODELS[3], X, y), tacit.limit(tacit.Diagonal(3, 1e-3), X, y); check("limits")
tacit.max_margin(X, labels, "l1"), tacit.max_margin(X, labels, "l2"), tacit.max_margin(X, labels, 0.7)
check("max_margin")
path = tacit.margin_path(X, labels, [1.0, 0.1]); path.summary(), path.to_dict(); check("margin_path")
tacit.sweeping_path(X, labels, [1.0, 0.1]).summary(); check("sweeping_path")
tacit.certify(model, X, y, limit.predictor).summary(); check("certify")
tacit.regime(model, X, y).summary(); check("regime")
tacit.support_stability(X, labels); check("support_stability")
tacit.warping.warped_clock(tacit.flow(MODELS[3], X, y, until=2.0)); check("warping")
tacit.theorems.check("woodworth2020/theorem1", model, X, y); check("theorems.check")
for bad in ({"X": X, "y": y[:2]}, {"X": np.eye(2), "y": [np.nan, 1.0]}):
    try:
        tacit.limit(model, **bad)
    except tacit.InputError:
        pass
check("bad input")
import contextlib, io
from tacit.cli import main
data = os.path.join(folder, "data.npz"); np.savez(data, X=X, y=y)
margins = os.path.join(folder, "labels.npz"); np.savez(margins, X=X, y=labels)
for line in (
    f"limit {data} --scale 0.5",
    f"flow {data} --scale 0.5 --method descent --until 1 --json -",
    f"flow {data} --scale 0.5 --times 0.1,1 --save {folder}/f.nc",
    f"path {margins} --mu 1,0.1 --sweeping",
    f"check {data} --scale 0.5 --only woodworth2020/theorem1 --json -",
    f"flow {data} --model nonsense",
    f"limit {folder}/nothing.csv",
    f"reproduce woodworth2020/fig2 --preset quick --out {folder}/out",
):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(line.split())
    check("tacit " + line.split()[0] + " " + line.split()[-1].replace(folder, ""))
print(json.dumps(changed))
"""


def test_every_verb_leaves_what_is_global_as_it_was(tmp_path):
    """In a process that has not imported JAX, whose import draws from NumPy's generator."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent), "KMP_DUPLICATE_LIB_OK": "True"},  # by scipy.io
        check=False,
    )
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr[-3000:]
    assert json.loads(ran.stdout.splitlines()[-1]) == {}


def test_jax_is_imported_in_one_place():
    places = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"^\s*(import|from) (jax|jaxlib|diffrax|equinox)\b", path.read_text(), re.MULTILINE)
    ]
    assert places == ["autodiff.py"]
