"""Sweeps on Dask: a worker that is killed half-way changes nothing in the result."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'dask[distributed]'")
pytest.importorskip("pyarrow", reason="needs pyarrow")
pytestmark = pytest.mark.any_cpu

# In a process of its own, since Dask starts threads and warns of them.
PROGRAM = """
import os, signal, sys, threading, time
import study_functions as functions
import tacit

def main():
    from distributed import Client, LocalCluster

    kill, store = sys.argv[1] == "kill", sys.argv[2]
    count = 200
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            pids = client.run(os.getpid)
            log = os.environ[functions.LOG]

            def kill_half_way():
                while len(os.listdir(log)) < count // 2:
                    time.sleep(0.01)
                os.kill(list(pids.values())[0], signal.SIGKILL)
                print("killed after", len(os.listdir(log)))

            if kill:
                threading.Thread(target=kill_half_way).start()
            executor = client.get_executor() if kill else f"dask:{cluster.scheduler_address}"
            found = tacit.sweep(functions.slowly, {"k": range(count)}, store=store, executor=executor)
        calls = len(os.listdir(log))
    serial = tacit.sweep(functions.slowly, {"k": range(count)}, executor="serial")
    errors = int((found.errors != "").sum())
    print("identical", found.identical(serial), "errors", errors, "repeated", calls - count)

if __name__ == "__main__":
    main()
"""


def run(kind, tmp_path):
    (tmp_path / "log").mkdir()
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = os.environ | {
        "STUDY_LOG": str(tmp_path / "log"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, str(script), kind, str(tmp_path / "store")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)


@pytest.mark.thorough
def test_a_worker_killed_half_way_changes_nothing(tmp_path):
    done = run("kill", tmp_path)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert "killed after" in done.stdout
    assert "identical True errors 0" in done.stdout


@pytest.mark.thorough
def test_the_scheduler_is_given_by_its_address(tmp_path):
    done = run("address", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "identical True errors 0 repeated 0" in done.stdout
