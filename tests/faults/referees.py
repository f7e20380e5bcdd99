"""The detectors of faults: `tacit.check`, the claims of figures, and the default tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cases
from figure_claims import failing, judged
from planting import VARIABLE, Asked, Fault, Shown

import tacit
from tacit.papers import figures

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_LIMIT = 300  # time limit of a detector in seconds; it takes less than half a minute


def broken(asked: Asked) -> list[str]:
    """The bounds that fail."""
    model, X, y = cases.CASES[asked.case]()
    found = tacit.check(model, X, y, only=asked.key)
    return [bound.text for each in found if each.applies for bound in each.bounds if not bound.holds]


def false_claims(shown: Shown) -> list[str]:
    """Claims of a figure that fail."""
    (entry,) = figures(shown.key)
    return failing(judged(entry, sizes=entry.presets["quick"] | dict(shown.sizes)))


def in_a_process(fault: Fault, referee: str) -> list[list[str]]:
    """The results of `check` or of figures for each case, in a process with the fault."""
    done = _run([sys.executable, str(HERE / "referees.py"), fault.name, referee], fault)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def tests_fail(fault: Fault | None, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Whether a default test fails, and the output of pytest."""
    command = [sys.executable, "-m", "pytest", "-p", "planted", "-p", "no:cacheprovider", "-x", "-n", "0"]
    done = _run([*command, "-m", "not thorough and not faults", *(f"tests/{each}" for each in tests)], fault)
    said = done.stdout + done.stderr
    if done.returncode not in (0, 1):  # no tests, or an error of collection
        raise RuntimeError(said)
    return done.returncode == 1, said


def _run(command: list[str], fault: Fault | None) -> subprocess.CompletedProcess[str]:
    paths = [str(HERE), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    env |= {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    env |= {VARIABLE: fault.name} if fault else {}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=_LIMIT)


def _main(name: str, referee: str) -> None:
    from catalogue import FAULTS
    from planting import plant

    fault = FAULTS[name]
    plant(fault)
    said = map(broken, fault.check) if referee == "check" else map(false_claims, fault.figures)
    print(json.dumps(list(said)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
