"""tacit check: every theorem that applies to a model and data."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.commands.models import add_model, model_of
from tacit.commands.options import DONE, FAILED, add_command, add_data, json_file
from tacit.errors import TacitError


def add(commands: Any) -> Any:
    """The command and its options."""
    command = add_command(
        commands,
        "check",
        _run,
        help="which theorems apply to your model and data, and whether they hold",
        description="Every theorem about training that applies to the model on these data: its assumptions,\n"
        "its bound, what is measured, and how loose the bound is. Statements about classification\n"
        "ask for labels -1 and +1.",
        epilog="examples:\n"
        "  tacit check genes.csv --target response --depth 2 --scale 1e-3\n"
        "  tacit check cells.csv --target label --scale 10 --only moroshko2020\n"
        "  tacit check data.npz --model linear --width 500 --json -",
    )
    add_data(command)
    add_model(command, ("diagonal", "untied", "neuron", "linear"))
    command.add_argument("--only", metavar="KEY", help="a paper, or one theorem of it (default: all)")
    command.add_argument("--all", action="store_true", help="also show theorems that do not apply, and why")
    command.add_argument("--json", metavar="FILE", help="write the verdicts as JSON; - for standard output")
    return command


def _run(options: argparse.Namespace) -> int:
    from tacit.data import read_table
    from tacit.outputs import claim_all, write_json
    from tacit.progress import progress

    chosen = _chosen(options.only)
    table = read_table(options.data, options.target)
    model = model_of(options, table.X.shape[1])
    claim_all(json_file(options))
    verdicts, refused = [], {}
    for each in progress(chosen, "theorems"):
        try:
            verdicts.append(each.ask(model=model, X=table.X, y=table.y))
        except TacitError as error:
            refused[each.key] = str(error)
    if options.json != "-":
        _print(verdicts, refused, everything=options.all)
    if options.json is not None:
        content = {"data": options.data, "target": table.target, "model": repr(model)}
        found = {"verdicts": [verdict.to_dict() for verdict in verdicts], "refused": refused}
        write_json({**content, **found}, options.json)
    return FAILED if any(verdict.holds is False for verdict in verdicts) else DONE


def _chosen(only: str | None) -> list[Any]:
    from tacit.errors import InputError
    from tacit.theorems import theorems

    about_training = [each for each in theorems() if set(each.needs) == {"model", "X", "y"}]
    chosen = [t for t in about_training if only is None or t.key == only or t.key.startswith(only + "/")]
    if not chosen:
        known = ", ".join(t.key for t in about_training)
        raise InputError(f"no theorem or paper {only!r} about training; there are {known}")
    return chosen


def _print(verdicts: list[Any], refused: dict[str, str], everything: bool) -> None:
    applying = [verdict for verdict in verdicts if verdict.applies]
    shown = verdicts if everything else applying
    print("\n\n".join(verdict.summary() for verdict in shown))
    if everything:
        for key, reason in refused.items():
            print(f"\n{key}: not asked\n  {reason}")
    failed = sum(verdict.holds is False for verdict in applying)
    others = len(verdicts) - len(applying) + len(refused)
    print(
        f"{chr(10) if shown else ''}{len(applying)} of {len(verdicts) + len(refused)} theorems apply, "
        f"{len(applying) - failed} hold" + ("" if everything or not others else "; --all shows the others")
    )
