"""Plugin of pytest, `-p planted`: runs the tests with the fault named by TACIT_FAULT."""

import os

import catalogue
import planting
import pytest


@pytest.hookimpl(trylast=True)  # after conftest.py, which sets the compilation cache of JAX
def pytest_configure(config):
    if name := os.environ.get(planting.VARIABLE):
        planting.plant(catalogue.FAULTS[name])
