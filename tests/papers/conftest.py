"""Each figure is made once per test run, by the first test and worker that needs it."""

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
    """A lock for which other processes wait."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A figure with its quick preset and seed 0, with its files.

    Tests of the same figure may run on different workers, so the workers share a folder.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # the folder of the whole run

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
