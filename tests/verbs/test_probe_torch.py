"""Probes and monitors of PyTorch modules: the same numbers as with JAX, in typical training loops."""

import numpy as np
import pytest

import tacit
from tacit.autodiff import jnp
from tacit.cli import main

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pytestmark = pytest.mark.torch
X = np.random.default_rng(0).standard_normal((16, 3))
Y = np.sin(X[:, 0])


def module():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 10), torch.nn.Tanh(), torch.nn.Linear(10, 1)
    return torch.nn.Sequential(*layers).double()


def in_jax(p, X):
    return jnp.tanh(X @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"]


def test_a_probe_is_that_of_the_same_network_in_jax():
    here = tacit.Network.from_torch(module())
    params = {name: value.numpy() for name, value in here.params.items()}
    found, there = (tacit.probe(each, X, Y, most_steps=60) for each in (here, tacit.Network(in_jax, params)))
    for name in ("linearization_gap", "kernel_distance", "scale_criterion", "kernel_movement"):
        assert getattr(found, name) == pytest.approx(getattr(there, name), rel=1e-6)
    assert found.regime == there.regime
    with pytest.raises(tacit.InputError, match="wrap the module"):
        tacit.probe(module(), X, Y)


def test_a_loop_is_watched_and_left_alone():
    """The weights equal those of a loop without a monitor bit for bit, also with dropout."""

    def loop(monitor):
        net = torch.nn.Sequential(module(), torch.nn.Dropout(0.3)).eval()
        watched = tacit.Monitor(tacit.Network.from_torch(net), X) if monitor else None
        net.train()
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        for step in range(20):
            loss = torch.mean((net(torch.as_tensor(X))[:, 0] - torch.as_tensor(Y)) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if watched is not None:
                watched.record(step, loss=loss.detach())
        assert net.training
        return watched, torch.cat([p.detach().ravel() for p in net.parameters()])

    (watched, seen), (_, unseen) = loop(True), loop(False)
    assert torch.equal(seen, unseen)
    assert watched.steps[:3] == [0, 1, 2] and (np.diff(watched.movement["0.0.weight"]) > 0).all()


def test_the_callback_fits_a_trainer_of_lightning():
    class Trainer:
        global_step = 0

    net, trainer = module(), Trainer()
    watched = tacit.Monitor(tacit.Network.from_torch(net), X, share=None)
    callback = watched.callback
    callback.setup(trainer, net, stage="fit")
    for step in range(10):
        trainer.global_step = step + 1
        with torch.no_grad():
            net[0].weight += 0.1
        callback.on_train_batch_end(trainer, net, {"loss": torch.tensor(0.5)}, None, step)
    callback.on_train_end(trainer, net)
    with pytest.raises(tacit.InputError, match="reads the weights from its module"):
        watched.record(99, {})
    assert (watched.steps[-1], watched.loss[-1]) == (10, 0.5)
    assert watched.kernel_distance[-1] > watched.kernel_distance[0] > 0


def test_modules_are_probed_in_a_terminal(tmp_path, capsys):
    (tmp_path / "m.py").write_text(
        "import torch\n"
        "def make(features):\n    return torch.nn.Linear(features, 1)\n"
        "def dropped(features):\n"
        "    return torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(features, 1))\n"
        "def narrow():\n    return torch.nn.Linear(2, 1)\n"
    )
    np.savez(tmp_path / "d.npz", X=X, y=Y)
    assert main(["probe", f"{tmp_path}/m.py:make", f"{tmp_path}/d.npz", "--steps", "200"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "kernel (lazy): training ends close to the linearized network" in said
    for name, message in (("dropped", "dropout in training mode"), ("narrow", "cannot be multiplied")):
        assert main(["probe", f"{tmp_path}/m.py:{name}", f"{tmp_path}/d.npz"]) == 2
        assert message in capsys.readouterr().err
