"""The numerical tests with the BLAS kernels of other CPUs: `make test-kernels`.

OpenBLAS, in NumPy and in SciPy, selects its kernels by the CPU, and NumPy its own loops. The order of
summation and therefore round-off differ between CPUs: a threshold close to the error on one machine fails on
another.
OPENBLAS_CORETYPE makes OpenBLAS use the kernels of another CPU; NPY_DISABLE_CPU_FEATURES restricts those of
NumPy.

    python tests/kernels.py            every kernel that runs here, and NumPy with fewer features, with one
    and two threads python tests/kernels.py --short    two kernels, on the tests that are most sensitive to
    round-off python tests/kernels.py tests/solvers/interpolation/test_limit_rounding.py -k Metrics    only
    these tests
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake")
TELLING = ("limit_rounding", "limit_faces", "nonnegative", "potentials_radial", "certify", "cli_flow")
_LOOK = """
import numpy as np, scipy.linalg
A = np.random.default_rng(0).standard_normal((200, 200))
for linalg in (np.linalg, scipy.linalg):
    linalg.solve(A @ A.T, A), linalg.svd(A), linalg.cholesky(A @ A.T), linalg.eigh(A + A.T), linalg.qr(A)
"""


@dataclass(frozen=True)
class Machine:
    """An emulated CPU: the environment variables that select its code in NumPy and SciPy."""

    kernel: str = ""  # "": the default of OpenBLAS on this CPU
    reduced: str = ""  # CPU features that NumPy must not use
    threads: int = 1

    @property
    def environment(self) -> dict[str, str]:
        wanted = {"OPENBLAS_CORETYPE": self.kernel, "NPY_DISABLE_CPU_FEATURES": self.reduced}
        inherited = {name: value for name, value in os.environ.items() if name not in wanted}
        return (
            inherited | {k: v for k, v in wanted.items() if v} | {"OPENBLAS_NUM_THREADS": str(self.threads)}
        )

    def __str__(self) -> str:
        loops = f"without {self.reduced}" if self.reduced else "all"
        return f"{self.kernel or 'of this CPU':<12} {loops:<24} {self.threads:>7}"


def core_of(kernel: str) -> str:
    """The name of the kernels that OpenBLAS selects, or the reason why there are none, in parentheses.

    OpenBLAS accepts the name of any kernel, even if the CPU cannot run it, so a computation must be tried.
    """
    told = Machine(kernel).environment | {"OPENBLAS_VERBOSE": "2"}
    done = subprocess.run([sys.executable, "-c", _LOOK], env=told, capture_output=True, text=True)
    if done.returncode != 0:
        return "(this CPU cannot run it)"
    if "Core not found" in done.stdout + done.stderr:
        return "(unknown to this OpenBLAS)"
    found = re.search(r"^Core: (\w+)", done.stdout + done.stderr, re.MULTILINE)
    return found[1] if found else "(NumPy does not use OpenBLAS here)"


def kernels_here() -> tuple[list[str], dict[str, str]]:
    """Kernels that run here and differ from each other and from the default; and reasons for the others."""
    seen, chosen, left = {core_of(""): "that of this CPU"}, [], {}
    for kernel in KERNELS:
        core = core_of(kernel)
        if core.startswith("("):
            left[kernel] = core[1:-1]
        elif core in seen:
            left[kernel] = f"the same as {seen[core]}"
        else:
            seen[core] = kernel
            chosen.append(kernel)
    return chosen, left


def simd_features() -> str:
    """CPU features that NumPy detected beyond its baseline."""
    return " ".join(np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", ()))


def machines(short: bool, kernels: list[str]) -> list[Machine]:
    """The machines; the short list has each variation once: two kernels, reduced loops, two threads."""
    if short:
        oldest, *_, newest = kernels if len(kernels) > 1 else (*kernels, "", "")
        return [Machine(oldest, simd_features()), Machine(newest, threads=2)]
    reduced = [Machine("", simd_features())] if simd_features() else []
    one = [Machine(), *(Machine(kernel) for kernel in kernels), *reduced]
    return [Machine(m.kernel, m.reduced, threads) for threads in (1, 2) for m in one]


def run(machine: Machine, arguments: list[str]) -> tuple[bool, str]:
    """Run the tests on such a machine; return whether they passed, and a summary line."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "numerical", f"--junitxml={report}", *arguments]
        status = subprocess.run(command, env=machine.environment).returncode
        tests = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    failed = [
        t.get("name", "") for t in tests if t.find("failure") is not None or t.find("error") is not None
    ]
    result = f"{len(failed)} FAILED" if failed else "passed" if status == 0 else f"FAILED (status {status})"
    return status == 0, f"{machine}   {result} of {len(tests)}, {time.monotonic() - begun:.0f} s"


def main(arguments: list[str]) -> int:
    short = arguments[:1] == ["--short"]
    telling = [str(path) for name in TELLING for path in Path("tests").rglob(f"test_{name}.py")]
    chosen = arguments[1:] or telling if short else arguments
    kernels, left = kernels_here()
    outcomes = [run(machine, chosen) for machine in machines(short, kernels)]
    print(f"\n{'OpenBLAS':<12} {'loops of NumPy':<24} threads   numerical tests")
    print("\n".join(line for _, line in outcomes))
    print("".join(f"{kernel:<12} left out: {why}\n" for kernel, why in left.items()), end="")
    return int(not all(passed for passed, _ in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
