"""Figures 6(c), 6(d) and 8 of Woodworth et al. 2020 at the paper's sizes, on a machine with one GPU.

    python benchmarks/networks_gpu.py mnist --out mnist.npz
    python benchmarks/networks_gpu.py cifar --out cifar.npz
    python benchmarks/networks_gpu.py draw docs/networks mnist.npz cifar.npz

The first two need JAX, NumPy and, for PNG files, Pillow; Tacit is used from its source (PYTHONPATH=src), with
data in $TACIT_DATA (src/tacit/data/images.py says how). Each writes its numbers with the hardware, versions
and the time. Any parameter of the preset `paper` can be changed: --set epochs=5 scales=[1,2]. `draw` combines
files with different scales or seeds and makes the figures with their claims; it needs all of Tacit. `tacit
reproduce woodworth2020/fig6c --preset paper` does everything in one step.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from tacit.papers.woodworth2020 import classifiers

RUNS = {
    "mnist": (classifiers.mnist_runs, classifiers.MNIST),
    "cifar": (classifiers.cifar_runs, classifiers.CIFAR),
}


def main() -> None:
    options = _options()
    if options.what == "draw":
        _draw(Path(options.folder), options.files)
        return
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)8d ms  %(message)s", stream=sys.stdout)
    run, preset = RUNS[options.what]
    parameters = {**preset["paper"], **dict(map(_setting, options.set))}
    begun = time.perf_counter()

    def within_time(items: list[Any], label: str) -> Iterator[Any]:
        for item in items:
            if time.perf_counter() - begun > options.seconds:
                print(f"time limit reached before {label} {item}")
                return
            yield item

    found = run(**parameters, seed=options.seed, progress=within_time)
    about = {**_machine(), "seconds": round(time.perf_counter() - begun, 1), "seed": options.seed}
    about |= {"experiment": options.what, "parameters": parameters}
    np.savez_compressed(options.out, about=json.dumps(about), **found)
    print(json.dumps(about, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    for name in RUNS:
        command = commands.add_parser(name)
        command.add_argument("--out", required=True, metavar="FILE.npz")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--seconds", type=float, default=1e9, help="time after which no run begins")
        command.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON")
    draw = commands.add_parser("draw")
    draw.add_argument("folder")
    draw.add_argument("files", nargs="+")
    return parser.parse_args()


def _setting(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    return name, json.loads(value)


def _machine() -> dict[str, str]:
    """Hardware and versions."""
    import jax

    device = jax.devices()[0]
    about = {"device": device.device_kind, "platform": device.platform, "python": platform.python_version()}
    about |= {"jax": jax.__version__, "numpy": np.__version__, "cpus": str(os.cpu_count())}
    if device.platform == "gpu":
        asked = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        about["driver"] = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return about


def _draw(folder: Path, files: list[str]) -> None:
    """Draw the figures from measured data into a folder, with a record of the calls."""
    from tacit.papers import figures, reproduce
    from tacit.papers.woodworth2020 import figure6c_6d_8 as figure6_mnist
    from tacit.papers.woodworth2020 import figure6c_6d_8 as figures6_8_cifar

    shown = {"mnist": (figure6_mnist, ["fig6c"]), "cifar": (figures6_8_cifar, ["fig6d", "fig8"])}
    found: dict[str, list[Any]] = {}
    for file in files:
        runs = dict(np.load(file))
        about = json.loads(str(runs.pop("about")))
        found.setdefault(about["experiment"], []).append((runs, about))
    for experiment, parts in found.items():
        module, names = shown[experiment]
        data = _together([(module.as_dataset(runs), about["seed"]) for runs, about in parts])
        data = module.with_best(data) if experiment == "mnist" else data
        calls = {"calls": [about for _, about in parts]}
        data.attrs["calls"] = json.dumps(calls)
        for name in names:
            (entry,) = figures(f"woodworth2020/{name}")
            made = reproduce(
                entry, preset="paper", out=folder, force=True, data=data.copy(), parameters=calls
            )
            print(made.summary())


def _together(parts: list[tuple[Any, int]]) -> Any:
    """Combine runs with different scales, steps and seeds; the first file takes precedence."""
    named = [data.assign_coords(seed=1000 * seed + np.arange(data.sizes["seed"])) for data, seed in parts]
    return reduce(_joined, named)


def _joined(first: Any, second: Any) -> Any:
    """Combine two data sets; a run in both is taken from the first."""
    ran = first.accuracy.notnull()
    ran = ran.any("epoch") if "epoch" in ran.dims else ran
    free = ~ran.reindex_like(second.fitted, fill_value=False)
    runs = {name: second[name].where(free) for name in second.data_vars if "scale" in second[name].dims}
    return first.combine_first(second.assign(runs))


if __name__ == "__main__":
    main()
