"""Plugin of pytest, `-p chosen`: runs only the tests that the file TACIT_CHOSEN lists.

If they were named on the command line, only these cases would be counted, and `every(k)` would skip most of
them.
"""

import json
import os

import pytest


@pytest.hookimpl(trylast=True)  # after conftest.py has counted all cases
def pytest_collection_modifyitems(config, items):
    names = {*json.loads(os.environ["TACIT_CHOSEN"])}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
    items[:] = [item for item in items if item.nodeid in names]
