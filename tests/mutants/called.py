"""Plugin of pytest, `-p called`: writes the time of each test, and the functions of Tacit that it calls.

Functions that JAX compiles, and fixtures of a module, are called by the first test that needs them.
Functions that a test file calls when it is imported, to make its cases, count for each of its tests.
"""

import json
import os
import sys
import threading
import time

import pytest

_PACKAGE = os.sep + os.path.join("src", "tacit") + os.sep
_seen = set()
_imported = set()
_tests = {}


def _on_call(frame, event, arg):
    _seen.add(frame.f_code)


def _trace(function):
    sys.settrace(function)
    threading.settrace(function)


def _called():
    files = ((code.co_filename.partition(_PACKAGE)[2], code.co_qualname) for code in _seen)
    return {f"{file}:{name}" for file, name in files if file}


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    _seen.clear()
    _trace(_on_call)
    yield
    _trace(None)
    _imported.update(_called())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    _seen.clear()
    _trace(_on_call)
    begun = time.process_time()
    yield
    seconds = time.process_time() - begun
    _trace(None)
    _tests[item.nodeid] = {"seconds": seconds, "calls": sorted(_called() | _imported)}


def pytest_unconfigure(config):
    with open(os.environ["TACIT_CALLED"], "w", encoding="utf-8") as out:
        json.dump(_tests, out)
