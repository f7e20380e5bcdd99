"""A network in somebody else's training loop, watched: does it leave its kernel, which layers move?"""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.json_values import as_json
from tacit.errors import InputError
from tacit.networks.monitored_kernel import MonitoredKernel
from tacit.networks.network import Network
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Labelled, Result

_PER_DECADE = 8  # records
_MOST = 400  # records: beyond this, every second is given up
_ROOM = 0.8  # of the share: the record that is waited for, and the last one, come on top
_FREE = 0.5  # seconds of records, after the set-up, that nobody minds
_SERIES = ("loss", "kernel_distance", "kernel_angle", "output_norm")


class Monitor(Result):
    """Kernel distance, movement and balance of layers, and size of outputs along training.

        with tacit.Monitor(network, X) as m:
            for step in range(steps):
                …                               # an update of the module
                m.record(step, loss=loss)       # in JAX: m.record(step, params, loss=loss)

    Steps are recorded at about logarithmic distances (8 in each tenfold), and others passed over at once; the
    last one is recorded when the block ends. Records of large networks wait until they take no more than half
    a second, or `share` of the time of training with the set-up. Everything is relative to the network that
    the monitor was made with. Only numbers are kept, of 400 records at most, and one kernel. Weights that are
    not finite are recorded as NaN. What was recorded stays when the block is left by an exception.

    Parameters
    ----------
    network : Network
        With its weights at the start.
    X : (N, …) array-like
        Some inputs, of which at most 32 are looked at; of large networks with many outputs, a random
        combination of the outputs.
    seed : int, optional
        Draws these.
    share : float or None, optional
        The share of the time of training that records may take; None never waits.

    See Also
    --------
    probe : A verdict, from a short training of its own.
    """

    def __init__(self, network: Any, X: Any, *, seed: int = 0, share: float | None = 0.1):
        if not isinstance(network, Network):
            raise InputError(
                f"a monitor watches a tacit.Network, got {type(network).__name__}: "
                "Network.from_torch(module), in evaluation mode before training, or Network(apply, params)"
            )
        if share is not None and not 0 < share <= 1:
            raise InputError(f"share must be above 0 and at most 1, or None, got {share!r}")
        self._begun = time.perf_counter()
        self.watched = MonitoredKernel.of(network, X, seed)
        self._share, self._set_up = share, time.perf_counter() - self._begun
        self._spent = self._set_up
        self.steps: list[float] = []
        self._records: list[dict[str, Any]] = []
        self._apart, self._next = 10 ** (1 / _PER_DECADE), -math.inf
        self._pending: tuple[float, Any, Any] | None = None

    @property
    def network(self) -> Network:
        """The network at its start."""
        return self.watched.network

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._pending is not None:
            self._take(*self._pending)
        self._pending = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pending": None}

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        last = f", last at step {self.steps[-1]:g}" if self.steps else ""
        return f"Monitor({self.network!r}, {len(self)} records{last})"

    def record(self, step: float, params: Any = None, *, loss: Any = None) -> bool:
        """Look at the network after this many steps, if it is time to; was it?

        Parameters
        ----------
        step : float
            How many steps were made.
        params : pytree, optional
            Of a network in JAX, its parameters now.
        loss : float, optional
            The training loss: a number, or what becomes one by float().

        Returns
        -------
        bool
            Was it recorded?
        """
        if not 0 <= step < math.inf:
            raise InputError(f"step must be how many steps were taken, a number from 0 on, got {step!r}")
        last = self.steps[-1] if self.steps else -math.inf
        if step <= last:  # the same step again, as where gradients are accumulated
            if step < last:
                raise InputError(f"steps must increase: {step:g} after {last:g}")
            return False
        if step < self._next or self._waits():
            self._pending = step, params, loss
            return False
        self._take(step, params, loss)
        return True

    def _waits(self) -> bool:
        """Have records taken more than their share of the time?"""
        if self._share is None or self._spent - self._set_up < _FREE:
            return False
        training = time.perf_counter() - self._begun - self._spent
        return self._spent > _ROOM * self._share * training

    def _take(self, step: float, params: Any, loss: Any) -> None:
        begun = time.perf_counter()
        now = self.watched.now(params)
        found = _lost(self.network) if now is None else self.watched.compare(now)
        self.steps.append(float(step))
        self._records.append({"loss": math.nan if loss is None else float(loss), **found})
        self._pending = None
        if len(self.steps) > _MOST:
            last = self.steps[-1:], self._records[-1:]
            self.steps = self.steps[:-1:2] + last[0]
            self._records = self._records[:-1:2] + last[1]
            self._apart **= 2
        self._next = max(step + 1, step * self._apart)
        self._spent += time.perf_counter() - begun

    @property
    def callback(self) -> Callback:
        """For loops that are not yours: of Lightning's trainers, or called with (step, params)."""
        return Callback(self)

    def _series(self, name: str) -> Float:
        return np.array([each[name] for each in self._records], dtype=np.float64)

    def _tables(self, name: str) -> dict[str, Float]:
        keys = self._records[0][name] if self._records else {}
        return {key: np.array([each[name][key] for each in self._records], dtype=float) for key in keys}

    @property
    def loss(self) -> Float:
        """As it was given at each record; NaN where it was not."""
        return self._series("loss")

    @property
    def kernel_distance(self) -> Float:
        """1 − cos of the angle between the kernels at the start and at each record."""
        return self._series("kernel_distance")

    @property
    def kernel_angle(self) -> Float:
        """The angle itself, in radians."""
        return self._series("kernel_angle")

    @property
    def output_norm(self) -> Float:
        """Root mean square of the outputs at the inputs that are watched."""
        return self._series("output_norm")

    @property
    def movement(self) -> dict[str, Float]:
        """How far each layer has moved, ‖W' − W‖/‖W‖."""
        return self._tables("movement")

    @property
    def balance(self) -> dict[str, Float]:
        """‖W_{l+1}‖² − ‖W_l‖² of layers that follow each other."""
        return self._tables("balance")

    def summary(self) -> str:
        """A table of some records."""
        return str(ask(self, "summary"))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        content = {
            "steps": self.steps,
            **{name: self._series(name) for name in _SERIES},
            "movement": self.movement,
            "balance": self.balance,
            "network": repr(self.network),
            "watched": self.watched.reduction,
        }
        found: dict[str, Any] = as_json(content)
        return found

    def _arrays(self) -> Labelled:
        arrays: Labelled = {"step": (("step",), np.array(self.steps))}
        arrays |= {name: (("step",), self._series(name)) for name in _SERIES}
        for name, axis in (("movement", "layer"), ("balance", "pair")):
            table = self._tables(name)
            if table:
                arrays[name] = (("step", axis), np.array(list(table.values())).T)
                arrays[axis] = ((axis,), list(table))
        return arrays

    def picture(self) -> Drawn:
        """Loss, kernel, layers and balance against the step."""
        if not self.steps:
            raise InputError("nothing was recorded yet: call record(step) in the training loop")
        drawn: Drawn = ask(self, "picture")
        return drawn


def _lost(network: Network) -> dict[str, Any]:
    """A record of weights that are not finite."""
    return {
        **dict.fromkeys(("kernel_distance", "kernel_angle", "output_norm"), math.nan),
        "movement": {each.name: math.nan for each in network.layers},
        "balance": dict.fromkeys(network.balance(), math.nan),
    }


class Callback:
    """A monitor as a callback: `Trainer(callbacks=[m.callback])` of Lightning, or callback(step, params).

    Of the hooks of Lightning it answers `on_train_batch_end`; the others do nothing.
    """

    state_key = "tacit.Monitor"

    def __init__(self, monitor: Monitor):
        self.monitor = monitor

    def __call__(self, step: float, params: Any = None, loss: Any = None) -> bool:
        """Record this step."""
        return self.monitor.record(step, params, loss=loss)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Record the step that the trainer is at, with the loss that the module gave."""
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        self.monitor.record(trainer.global_step, loss=loss)

    def on_train_end(self, trainer: Any, module: Any) -> None:
        """Record the last step."""
        self.monitor.__exit__(None, None, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") or name in ("setup", "teardown", "state_dict", "load_state_dict"):
            return lambda *args, **kwargs: None
        raise AttributeError(name)
