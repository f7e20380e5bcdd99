"""Plugin of pytest, `-p planted`: the tests run with the fault that TACIT_FAULT names."""

import os

import catalogue
import planting
import pytest


@pytest.hookimpl(trylast=True)  # after conftest.py, which tells JAX where to keep what it compiles
def pytest_configure(config):
    if name := os.environ.get(planting.VARIABLE):
        planting.plant(catalogue.FAULTS[name])
