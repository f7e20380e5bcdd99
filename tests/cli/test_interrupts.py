"""Ctrl-C ends every command at once with status 130, and no incomplete file is saved."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import gaussian_problem

import tacit
from tacit.cli import main

STUBBORN = """
import signal, sys, threading, time, tacit.cli.limit as command
from tacit.cli import main
signal.signal(signal.SIGINT, {handler})
def busy(options):
    threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:
            pass  # as libraries do where an exception cannot be raised
    return 0
command.run = busy
sys.exit(main("limit x.csv".split()))
"""


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = gaussian_problem(6, 20, seed=0)
    np.savez("data.npz", X=X, y=np.sign(y))


COMMANDS = [
    ("limit data.npz --json out.json", "tacit.verbs.limit.limit"),
    ("path data.npz --mu 1:1e-3:5 --json out.json", "tacit.verbs.margin_path.margin_path"),
    ("check data.npz --json out.json", "tacit.flow"),
    ("reproduce woodworth2020/fig1a --out out --json out.json", "tacit.limit"),
    ("reproduce moroshko2020/fig3a --out out --json out.json", "tacit.flow"),
]


@pytest.mark.parametrize(("line", "verb"), COMMANDS)
def test_a_command_stops_and_saves_nothing(line, verb, data, monkeypatch, capfd):
    monkeypatch.setattr(verb, interrupt)
    assert main(line.split()) == 130
    assert capfd.readouterr().err == "tacit: interrupted\n"
    assert not [path for path in Path().rglob("*") if path.is_file() and path.name != "data.npz"]


def test_the_files_of_a_figure_change_together_or_not_at_all(tmp_path, monkeypatch):
    line = f"reproduce woodworth2020/fig2 --out {tmp_path}".split()
    assert main(line) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert len(before) == 4
    monkeypatch.setattr("tacit.show.output_files.json_file", interrupt)
    assert main([*line, "--seed", "1", "--force"]) == 130
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_a_loop_over_flows_can_be_stopped(monkeypatch):
    monkeypatch.setattr("tacit.flows.forms.dual.DualSquare.stepper", interrupt)
    X, y = gaussian_problem(3, 6, seed=0)
    with pytest.raises(tacit.Interrupted) as stopped:
        tacit.flow(tacit.Diagonal(), X, y)
    assert stopped.value.trajectory.reason == "interrupted"
    assert len(stopped.value.trajectory.time) == 1


def test_libraries_that_do_not_listen_are_ended_within_a_second(tmp_path):
    program = STUBBORN.format(handler="signal.default_int_handler")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"tacit: interrupted\n")


def test_commands_that_ignore_interrupts_are_not_ended(tmp_path):
    """Programs that a shell runs in the background ignore Ctrl-C."""
    program = STUBBORN.format(handler="signal.SIG_IGN").replace("+ 30", "+ 2")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
