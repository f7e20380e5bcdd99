"""Functions of studies, which processes can import, and which record in files that they were called."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import tacit

LOG = "STUDY_LOG"  # the folder of the record, in the environment


def recorded(name):
    """Make a file for this call; the second call at the same point makes another."""
    folder = Path(os.environ[LOG])
    (folder / f"{name}-{os.getpid()}-{time.monotonic_ns()}").touch()


def calls(folder):
    """The number of calls of the function, by point."""
    found = {}
    for path in Path(folder).iterdir():
        name = path.name.split("-")[0]
        found[name] = found.get(name, 0) + 1
    return found


def counted(k, seed):
    """A number and an array that depend on the seed."""
    recorded(f"{k}")
    rng = np.random.default_rng(seed)
    return {"number": rng.standard_normal(), "array": rng.standard_normal((2, 3)), "k_squared": k * k}


def slowly(k, seed):
    """The same, in 20 ms."""
    time.sleep(0.02)
    return counted(k, seed)


def l1_norm(scale, depth, seed):
    """The norm of a limit on random data."""
    X = np.random.default_rng(seed).standard_normal((4, 12))
    limit = tacit.limit(tacit.Diagonal(depth, scale), X, X[:, 0])
    return {"norm": np.abs(limit.predictor).sum(), "predictor": limit.predictor, "regime": limit.regime.name}


def fragile(k, seed):
    """Point 3 ends its process in every attempt; point 5 does so once."""
    recorded(f"{k}")
    if k == 3 or (k == 5 and calls(os.environ[LOG])["5"] == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": seed}


def chosen(k):
    """A constant set of texts."""
    return {"a": float(k in {"alpha", "beta", "gamma", "delta", "epsilon"})}
