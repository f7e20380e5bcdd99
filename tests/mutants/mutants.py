"""A random sample of mutations of the source, and those that no default test detects (make mutants).

Works on a copy of the checkout. It first measures, once, how long the tests of each file take and which
functions they call. For each mutant it then runs the tests that call the mutated function, from the nearest
files first, until one fails or they take three times as long as on the correct source. Results are kept in
tacit-mutants/, and an interrupted run is resumed. `equivalent.toml` lists mutants that change nothing but the
computing time.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearest import order
from sites import Site, sites

ROOT = Path(__file__).parents[2]
PACKAGES = ("potentials", "solvers", "flows", "derivation", "papers")
_BUDGET = 30.0  # CPU seconds for the tests of a file on the correct source, fastest tests first
_SLOWER, _AT_LEAST = 3.0, 30.0  # factor and seconds above which a test counts as failed
_LONGEST = 600.0  # CPU seconds for all tests of a file
_WALL = 20.0  # wall-clock limit relative to CPU seconds, for a busy machine


class Laboratory:
    """A copy of the checkout in which files are mutated and tests run."""

    def __init__(self, copy: Path, results: Path, files: int):
        self.files = files
        self.copy, self.kept, self.cache = copy, results / "baseline.json", results / "compiled"
        self.known = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.orders: dict[str, list[str]] = {}

    def measured(self, file: str) -> dict[str, Any]:
        """Seconds and calls of every test of a file on the correct source; nothing if one fails."""
        stamp = hashlib.sha256((self.copy / file).read_bytes()).hexdigest()[:16]
        if self.known.get(file, {}).get("stamp") != stamp:
            calls = self.copy / "called.json"
            calls.unlink(missing_ok=True)
            status = self._pytest(file, _LONGEST, "called", TACIT_CALLED=str(calls))
            found = json.loads(calls.read_text()) if status == 0 and calls.exists() else {}
            self.known[file] = {"stamp": stamp, "tests": found}
            self.kept.write_text(json.dumps(self.known))
        return dict(self.known[file]["tests"])

    def noticed_by(self, site: Site, mutated: str) -> tuple[str | None, list[str]]:
        """The first file with a failing test, and all files that were run."""
        path = self.copy / "src" / "tacit" / site.file
        right, tried = path.read_text(encoding="utf-8"), []
        for file, tests, seconds in self._plan(site, right):
            tried.append(file)
            try:
                path.write_text(mutated, encoding="utf-8")
                limit = _SLOWER * seconds + _AT_LEAST
                status = self._pytest(file, limit, "chosen", TACIT_CHOSEN=json.dumps(tests))
            finally:
                path.write_text(right, encoding="utf-8")
            if status:
                return file, tried
        return None, tried

    def _plan(self, site: Site, source: str) -> Iterator[tuple[str, list[str], float]]:
        """Test files by relevance, their tests that call the mutated function, and the seconds for these."""
        if site.file not in self.orders:
            self.orders[site.file] = order(self.copy, site.file)
        places = {f"{site.file}:{name}" for name in _around(source, site.line)}
        used = 0
        for looked, file in enumerate(self.orders[site.file]):
            if used >= self.files or looked >= (2 if used else 4) * self.files:
                return
            found = sorted(self.measured(file).items(), key=lambda each: each[1]["seconds"])
            total, tests = 0.0, []
            for name, each in found:
                if places <= {*each["calls"]} and total < _BUDGET:
                    tests.append(name)
                    total += each["seconds"]
            if tests:
                used += 1
                yield file, tests, total

    def _pytest(self, file: str, limit: float, plugin: str, **more: str) -> int:
        """The exit status of pytest; not 0 if it exceeds the limit of CPU seconds."""
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not thorough and not faults"]
        options += ["-p", plugin]
        paths = [self.copy / "src", self.copy / "tests" / "mutants"]
        env = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",  # a cached file of equal size and time would be used
            "OPENBLAS_NUM_THREADS": "1",
            "JAX_COMPILATION_CACHE_DIR": str(self.cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, file],
            cwd=self.copy,
            env=env | more,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1)),
        )
        try:
            return process.wait(_WALL * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


def _around(source: str, line: int) -> list[str]:
    """The qualified name of the innermost function around a line; None outside functions."""
    return [name for name, first, last in _functions(ast.parse(source), "") if first <= line <= last][-1:]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
    """Functions with their lines including decorators, outer ones first."""
    for child in ast.iter_child_nodes(node):
        inside = prefix
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = prefix + child.name
            inside = f"{name}."
            if isinstance(child, ast.FunctionDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                yield name, first, child.end_lineno or first
                inside = f"{name}.<locals>."
        yield from _functions(child, inside)


def copied(to: Path) -> Path:
    """A copy of the checkout with uncommitted changes, without ignored files."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def drawn(root: Path, parts: list[str], count: int, seed: int) -> list[Site]:
    """A sample of mutations; a shorter sample is the beginning of a longer one with the same seed."""
    package = root / "src" / "tacit"
    files = [p for part in parts for p in _files(package / part)]
    places: dict[tuple[str, int, int], list[Site]] = defaultdict(list)
    for path in sorted(files):
        for site in sites(package, path.relative_to(package).as_posix()):
            places[site.file, site.line, site.column].append(site)
    rng, found = random.Random(seed), []
    shuffled = sorted(places)
    rng.shuffle(shuffled)
    for place in shuffled:
        if len(found) == count:
            break
        site = rng.choice(places[place])
        if site.mutated((package / site.file).read_text(encoding="utf-8")):
            found.append(site)
    return found


def _files(part: Path) -> list[Path]:
    """The modules of a folder, or the file itself.

    Modules of figures are left out of folders: their claims are judged at many seeds (benchmarks/claims.py),
    and default tests draw only sketches of them.
    """
    if part.is_file():
        return [part]
    return [p for p in part.rglob("*.py") if not p.stem.startswith("figure") and "drawing" not in p.stem]


def lines_of(source: str, mutated: str) -> tuple[str, str]:
    """The original and the mutated lines."""
    changed = [(a, b) for a, b in zip(source.split("\n"), mutated.split("\n"), strict=False) if a != b]
    return changed[0][0].strip(), changed[0][1].strip()


def is_equivalent(entry: dict[str, Any]) -> str | None:
    """The reason why the mutant is equivalent, if it is listed."""
    for each in tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text(encoding="utf-8"))[
        "mutant"
    ]:
        if (each["file"], each["was"], each["is"]) == (entry["file"], entry["was"], entry["is"]):
            return str(each["why"])
    return None


def tried(laboratory: Laboratory, site: Site) -> dict[str, Any]:
    """The result for a mutant."""
    source = (laboratory.copy / "src" / "tacit" / site.file).read_text(encoding="utf-8")
    mutated = site.mutated(source)
    assert mutated is not None
    was, now = lines_of(source, mutated)
    by, files = laboratory.noticed_by(site, mutated)
    return site.to_dict() | {"was": was, "is": now, "noticed_by": by, "tried": files}


def found_again(root: Path, entry: dict[str, Any]) -> Site | None:
    """The place of a mutant in the current source; None if the source has changed."""
    package = root / "src" / "tacit"
    source = (package / entry["file"]).read_text(encoding="utf-8")
    for site in sites(package, entry["file"]):
        near = (
            site.operator == entry["operator"] and source.split("\n")[site.line - 1].strip() == entry["was"]
        )
        if near and lines_of(source, site.mutated(source) or source + " ")[1] == entry["is"]:
            return site
    return None


def report(entries: list[dict[str, Any]], seed: int) -> str:
    """The share of detected mutants, and the list of survivors."""
    lost = [each for each in entries if not each["noticed_by"]]
    reasons = [is_equivalent(each) for each in lost]
    real = [each for each, reason in zip(lost, reasons, strict=True) if reason is None]
    lines = [
        f"# Mutants of seed {seed}",
        f"{len(entries)} tried, {len(entries) - len(lost)} noticed by daily tests, {len(lost) - len(real)} "
        f"listed as equivalent, {len(real)} survived.",
        "",
    ]
    for each, reason in zip(lost, reasons, strict=True):
        lines.append(f"- `{each['file']}:{each['line']}` {reason or '**survived**'}")
        lines += [f"  `{each['was']}`", f"  `{each['is']}`"]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", nargs="*", default=list(PACKAGES), help="folders or files of src/tacit")
    parser.add_argument("--files", type=int, default=6, help="test files that are tried on a mutant")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--results", type=Path, default=ROOT / "tacit-mutants")
    asked = parser.parse_args()
    asked.results.mkdir(exist_ok=True)
    kept = asked.results / f"seed-{asked.seed}.json"
    entries = json.loads(kept.read_text()) if kept.exists() else []
    with tempfile.TemporaryDirectory(prefix="tacit-mutants-") as folder:
        laboratory = Laboratory(copied(Path(folder)), asked.results, asked.files)
        again = [each for each in entries if asked.again and not each["noticed_by"]]
        entries = [each for each in entries if each not in again]
        places = [place for each in again if (place := found_again(laboratory.copy, each))]
        more = drawn(laboratory.copy, asked.part, asked.count, asked.seed)[len(entries) + len(again) :]
        for site in [*places, *([] if asked.again else more)]:
            entries.append(tried(laboratory, site))
            kept.write_text(json.dumps(entries, indent=1, ensure_ascii=False))
            said = entries[-1]["noticed_by"] or "SURVIVED"
            print(f"{len(entries):4} {said}  {site.file}:{site.line}  {entries[-1]['is']}", flush=True)
    text = report(entries, asked.seed)
    kept.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    return int(any(not each["noticed_by"] and is_equivalent(each) is None for each in entries))


if __name__ == "__main__":
    sys.exit(main())
