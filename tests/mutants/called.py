"""Plugin of pytest, `-p called`: writes which functions of Tacit a run has called, as file:line."""

import json
import os
import sys
import threading

_SEEN = set()


def _on_call(frame, event, arg):
    _SEEN.add(frame.f_code)


def pytest_configure(config):
    sys.settrace(_on_call)
    threading.settrace(_on_call)


def pytest_unconfigure(config):
    sys.settrace(None)
    package = os.sep + os.path.join("src", "tacit") + os.sep
    files = ((code.co_filename.partition(package)[2], code) for code in _SEEN)
    names = sorted({f"{file}:{code.co_firstlineno}" for file, code in files if file})
    with open(os.environ["TACIT_CALLED"], "w", encoding="utf-8") as out:
        json.dump(names, out)
