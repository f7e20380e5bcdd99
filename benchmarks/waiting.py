"""Response times of the command line: every command and model on tables, from start to exit.

    python benchmarks/waiting.py spectra.csv:octane cells.csv:label genes.npz

Give FILE:TARGET for tables and FILE for NPZ. A command may succeed or fail (exit status 0 to 2), but it must
not take longer than --most seconds. `path` and classification losses are run if the target has two values.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass

MODELS = {
    "diagonal": ["--model", "diagonal", "--scale", "1e-2"],
    "deep": ["--model", "diagonal", "--depth", "4", "--scale", "0.1"],
    "untied": ["--model", "untied", "--scale", "1e-2", "--shape", "0.5"],
    "neuron": ["--model", "neuron", "--scale", "0.1", "--shape", "0.5"],
    "leaky": ["--model", "neuron", "--scale", "0.1", "--shape", "0.5", "--slope", "0.2"],
    "gaussian": ["--model", "linear", "--width", "500"],
    "balanced": ["--model", "linear", "--start", "balanced", "--std", "0.1"],
    "orthogonal": ["--model", "linear", "--start", "orthogonal"],
}
PATHS = ("diagonal", "deep", "untied")


@dataclass(frozen=True)
class Wait:
    """A command, its time and its exit status."""

    words: list[str]
    seconds: float
    status: int | None
    said: str

    def __str__(self) -> str:
        ended = "TOO LONG" if self.status is None else f"status {self.status}"
        return f"{self.seconds:7.1f} s  {ended:<9} {' '.join(self.words)}  {self.said[:90]}"


def wait(words: list[str], most: float) -> Wait:
    """Run a command with a time limit."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "tacit", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most)
        status, said = done.returncode, done.stderr.strip() if done.returncode else ""
    except subprocess.TimeoutExpired:
        status, said = None, ""
    return Wait(words, time.perf_counter() - begun, status, said)


def commands(source: str) -> list[list[str]]:
    """All commands for a table."""
    path, _, target = source.partition(":")
    data = [path, *(["--target", target] if target else [])]
    asked = [[verb, *data, *model] for model in MODELS.values() for verb in ("limit", "flow", "check")]
    if _has_classes(path, target or None):
        asked += [["path", *data, *MODELS[name]] for name in PATHS]
        asked += [["flow", *data, "--loss", "exp", *model] for model in MODELS.values()]
    return asked


def _has_classes(path: str, target: str | None) -> bool:
    from tacit.data.tables import read_table

    return len(set(read_table(path, target).y.tolist())) == 2


def main() -> int:
    """Print all times, the longest last, and fail if one is too long."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="+", metavar="FILE[:TARGET]")
    parser.add_argument("--most", type=float, default=20.0, help="seconds (default: %(default)s)")
    options = parser.parse_args()
    waits = []
    for source in options.tables:
        for words in commands(source):
            waits.append(wait(words, options.most))
            print(waits[-1], flush=True)
    late = [each for each in waits if each.status is None]
    print(f"\n{len(waits)} commands, {len(late)} took longer than {options.most:g} s; the longest:")
    print("\n".join(map(str, sorted(waits, key=lambda each: each.seconds)[-10:])))
    return int(bool(late))


if __name__ == "__main__":
    sys.exit(main())
