"""Write the tables of `tacit.limits` into benchmarks/README.md, from recorded numbers.

python benchmarks/limits_gpu.py --out benchmarks/limits_gpu.json
python benchmarks/limits_many.py --json benchmarks/limits_many.json
python benchmarks/limits_table.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BEGIN, END = "<!-- limits: written by limits_table.py -->", "<!-- end of limits -->"
CASES = {
    "many_scales": "2,500 scales × 10 seeds, 100 × 1000, depth 2",
    "shapes": "50 scales × 50 shapes × 10 seeds, 100 × 1000",
    "many_data_sets": "2,500 data sets of 100 × 1000, depth 2",
    "deep": "250 scales × 10 seeds, 100 × 1000, depth 3",
    "large_depth_2": "one limit, 1000 × 100,000, depth 2",
    "large_depth_3": "one limit, 1000 × 100,000, depth 3",
}


def main() -> None:
    """Replace the block between the markers."""
    readme = HERE / "README.md"
    found = "\n\n".join(
        make(json.loads((HERE / name).read_text()))
        for name, make in (("limits_many.json", on_cpu), ("limits_gpu.json", on_gpu))
    )
    text = readme.read_text(encoding="utf-8")
    block = f"{BEGIN}\n{found}\n{END}"
    readme.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: block, text, flags=re.DOTALL), encoding="utf-8")


def on_cpu(found: dict[str, Any]) -> str:
    """The comparison with a loop."""
    rows = [
        f"| {row['case'].rstrip('.')} | {row['problems']:,} | {row['certified']:,} | {row['ms']:.2f} | "
        f"{row['ms of the loop']:.2f} | {row['CPU ratio']:.1f} | {row['wall ratio']:.1f} | "
        f"{row['distance']:.0e} |"
        for row in found["rows"]
    ]
    head = (
        "| problems on two cores | number | certified | ms | loop, ms | CPU ratio | wall ratio | distance |"
    )
    return "\n".join([head, "|---|---|---|---|---|---|---|---|", *rows])


def on_gpu(found: dict[str, Any]) -> str:
    """Seconds with and without compilation."""
    rows = []
    for name, title in CASES.items():
        row = found[name]
        count, certified = row.get("problems", 1), row.get("certified", int(row.get("converged", False)))
        error = row.get("largest_error", row.get("error"))
        first, *later = row["seconds"]
        rows.append(
            f"| {title} | {certified:,} of {count:,} | {first:.1f} | {max(later):.2f} | {error:.0e} |"
        )
    device = found["machine"]["devices"][0]
    head = f"| problems on one {device} | certified | first call, s | later calls, s | largest error |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


if __name__ == "__main__":
    main()
