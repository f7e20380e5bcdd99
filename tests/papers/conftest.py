"""Each figure is made once in a run, by whichever test and worker asks for it first."""

import fcntl
import os
import pickle
from contextlib import contextmanager
from functools import cache

import pytest

from tacit.errors import MissingDataError
from tacit.papers import figures, reproduce


@contextmanager
def locked(path):
    """Others who want the same wait."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A figure at its quick preset and seed 0, with its files.

    Workers take tests from each other, so that those of one figure may run on several: they share a folder.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of the run

    @cache
    def make(key):
        kept = folder / f"made-{key.replace('/', '-')}.pickle"
        with locked(kept.with_suffix(".lock")):
            if not kept.exists():
                (entry,) = figures(key)
                try:
                    kept.write_bytes(pickle.dumps(reproduce(entry, out=folder / "figures")))
                except MissingDataError as error:
                    pytest.skip(str(error))
        return pickle.loads(kept.read_bytes())

    return make
