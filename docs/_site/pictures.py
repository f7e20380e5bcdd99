"""Make small copies of figures, so that pages have images also where the site is not built.

    tacit reproduce all && python docs/_site/pictures.py tacit-output

copies the output of `tacit reproduce`; `record.json` records preset, seed and parameters of each figure.
"""

import hashlib
import json
import sys
from pathlib import Path

from gallery import name_of

from tacit.papers import figures

FOLDER = Path(__file__).parents[1] / "pictures"
RECORD = FOLDER / "record.json"
SHOWN = [
    *(f"woodworth2020/{name}" for name in ("fig1a", "fig3a", "fig3b", "theorem4")),
    "moroshko2020/fig3b",
    *(f"azulay2021/{name}" for name in ("fig7.1", "fig7.2", "proposition1", "warp")),
    "min2021/fig2",
    "practice/grokking",
]
WIDTH, COLOURS = 900, 64


def picture(key):
    """The path of the copy of a figure."""
    return FOLDER / f"{name_of(key)}.png"


def facts(key, preset="quick", seed=0):
    """Preset, seed and parameters of a figure in the registry."""
    entry = figures(key)[0]
    return json.loads(json.dumps({"preset": preset, "seed": seed, "parameters": entry.presets[preset]}))


def shrink(source, target):
    """Write a copy that is no wider than a page and has few colours."""
    from PIL import Image

    image = Image.open(source).convert("RGB")
    width = min(WIDTH, image.width)
    image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


def main(folder):
    FOLDER.mkdir(exist_ok=True)
    record = {}
    for key in SHOWN:
        files = figures(key)[0].files(folder)
        made = json.loads(Path(files["json"]).read_text(encoding="utf-8"))
        shrink(files["png"], picture(key))
        what = {name: made[name] for name in ("preset", "seed", "parameters")}
        record[key] = what | {"sha256": hashlib.sha256(picture(key).read_bytes()).hexdigest()}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
