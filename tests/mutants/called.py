"""Plugin of pytest, `-p called`: writes what each test takes, and which functions of Tacit it calls.

A function that JAX compiles is called by the first test that needs it, and a module's fixture belongs to it.
"""

import json
import os
import sys
import threading
import time

import pytest

_PACKAGE = os.sep + os.path.join("src", "tacit") + os.sep
_seen = set()
_tests = {}


def _on_call(frame, event, arg):
    _seen.add(frame.f_code)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    _seen.clear()
    sys.settrace(_on_call)
    threading.settrace(_on_call)
    begun = time.process_time()
    yield
    seconds = time.process_time() - begun
    sys.settrace(None)
    threading.settrace(None)
    files = ((code.co_filename.partition(_PACKAGE)[2], code.co_qualname) for code in _seen)
    _tests[item.nodeid] = {"seconds": seconds, "calls": sorted({f"{f}:{name}" for f, name in files if f})}


def pytest_unconfigure(config):
    with open(os.environ["TACIT_CALLED"], "w", encoding="utf-8") as out:
        json.dump(_tests, out)
