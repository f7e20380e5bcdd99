"""Monitoring a network during training by your own code: change of its tangent kernel and of its layers."""

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
from tacit.results.result import Drawn, Labelled, Result

_PER_DECADE = 8  # records per factor of 10 in the step
_MOST = 400  # records; if there are more, every second one is dropped
# The fraction of `share` that is spent, since the next record and the last one are added to it.
_BUDGET = 0.8
# Seconds of records, after the set-up, that are spent independently of the share.
_FREE = 0.5
_SERIES = ("loss", "kernel_distance", "kernel_angle", "output_norm")


class Monitor(Result):
    """Record kernel distance, movement and balance of layers, and size of outputs during training.

        with tacit.Monitor(network, X) as m:
            for step in range(steps):
                …                               # an update of the module
                m.record(step, loss=loss)       # in JAX: m.record(step, params, loss=loss)

    Steps are recorded at approximately logarithmic intervals (8 for each factor of 10); calls at other steps
    return immediately. The last step is recorded when the block ends. For large networks, records are
    postponed until they have taken at most half a second, or the fraction `share` of the training time
    including the set-up. Everything is measured relative to the initial network. At most 400 records of
    numbers and one kernel are kept. Weights that are not finite are recorded as NaN. The records are kept if
    an exception ends the block.

    Parameters
    ----------
    network : Network
        The network with its initial weights.
    X : (N, …) array-like
        Inputs, of which at most 32 are used. For large networks with many outputs, the kernel is that of a
        random combination of the outputs.
    seed : int, optional
        Seed for the choice of inputs and of this combination.
    share : float or None, optional
        The fraction of the training time that records may take; with None, records are never postponed.

    See Also
    --------
    probe : The regime of a network, from a separate short training run.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> network = tacit.Network(lambda w, X: X @ w["v"], {"v": np.ones(2)})
    >>> with tacit.Monitor(network, [[1.0, 2.0]]) as monitor:
    ...     _ = monitor.record(0, {"v": np.ones(2)})
    ...     _ = monitor.record(1, {"v": 2 * np.ones(2)})
    >>> monitor.steps, monitor.kernel_distance.tolist(), monitor.movement["v"].round(3).tolist()
    ([0.0, 1.0], [0.0, 0.0], [0.0, 1.0])
    """

    def __init__(self, network: Any, X: Any, *, seed: int = 0, share: float | None = 0.1):
        if not isinstance(network, Network):
            raise InputError(
                f"network must be a tacit.Network, got {type(network).__name__}: use "
                "Network.from_torch(module), with the module in evaluation mode, or Network(apply, params)"
            )
        if share is not None and not 0 < share <= 1:
            raise InputError(f"share must be None, or above 0 and at most 1, got {share!r}")
        self._begun = time.perf_counter()
        self.watched = MonitoredKernel.of(network, X, seed)
        self._share, self._set_up = share, time.perf_counter() - self._begun
        self._spent = self._set_up
        self.steps: list[float] = []
        self._records: list[dict[str, Any]] = []
        self._ratio, self._next = 10 ** (1 / _PER_DECADE), -math.inf
        self._pending: tuple[float, Any, Any] | None = None

    @property
    def network(self) -> Network:
        """The network with its initial weights."""
        return self.watched.network

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._pending is not None:
            self._add_record(*self._pending)
        self._pending = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pending": None}

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        last = f", last at step {self.steps[-1]:g}" if self.steps else ""
        return f"Monitor({self.network!r}, {len(self)} records{last})"

    def record(self, step: float, params: Any = None, *, loss: Any = None) -> bool:
        """Record the network at this step, if a record is due.

        Parameters
        ----------
        step : float
            The number of training steps so far.
        params : pytree, optional
            The current parameters, for a network in JAX.
        loss : float, optional
            The training loss, as a number or something that float() converts.

        Returns
        -------
        bool
            Whether the step was recorded.

        Raises
        ------
        InputError
            If the step is not a number from 0 on, or is smaller than that of the last record.
        """
        if not 0 <= step < math.inf:
            raise InputError(f"step must be the number of training steps, 0 or more, got {step!r}")
        last = self.steps[-1] if self.steps else -math.inf
        if step <= last:  # the same step again, for instance if gradients are accumulated
            if step < last:
                raise InputError(f"steps must increase, got {step:g} after {last:g}")
            return False
        if step < self._next or self._over_budget():
            self._pending = step, params, loss
            return False
        self._add_record(step, params, loss)
        return True

    def _over_budget(self) -> bool:
        """Whether records have taken more than their share of the time."""
        if self._share is None or self._spent - self._set_up < _FREE:
            return False
        training = time.perf_counter() - self._begun - self._spent
        return self._spent > _BUDGET * self._share * training

    def _add_record(self, step: float, params: Any, loss: Any) -> None:
        begun = time.perf_counter()
        now = self.watched.now(params)
        found = _not_finite(self.network) if now is None else self.watched.compare(now)
        self.steps.append(float(step))
        self._records.append({"loss": math.nan if loss is None else float(loss), **found})
        self._pending = None
        if len(self.steps) > _MOST:
            last = self.steps[-1:], self._records[-1:]
            self.steps = self.steps[:-1:2] + last[0]
            self._records = self._records[:-1:2] + last[1]
            self._ratio **= 2
        self._next = max(step + 1, step * self._ratio)
        self._spent += time.perf_counter() - begun

    @property
    def callback(self) -> Callback:
        """This monitor as a callback for Lightning, or for loops that call it with (step, params)."""
        return Callback(self)

    def _series(self, name: str) -> Float:
        return np.array([each[name] for each in self._records], dtype=np.float64)

    def _tables(self, name: str) -> dict[str, Float]:
        keys = self._records[0][name] if self._records else {}
        return {key: np.array([each[name][key] for each in self._records], dtype=float) for key in keys}

    @property
    def loss(self) -> Float:
        """The loss passed to `record`, at each record; NaN if none was passed."""
        return self._series("loss")

    @property
    def kernel_distance(self) -> Float:
        """1 − cos of the angle between the initial tangent kernel and that at each record."""
        return self._series("kernel_distance")

    @property
    def kernel_angle(self) -> Float:
        """The angle between the initial tangent kernel and that at each record, in radians."""
        return self._series("kernel_angle")

    @property
    def output_norm(self) -> Float:
        """Root mean square of the outputs at the inputs, at each record."""
        return self._series("output_norm")

    @property
    def movement(self) -> dict[str, Float]:
        """The relative change of each layer, ‖W' − W‖/‖W‖, at each record."""
        return self._tables("movement")

    @property
    def balance(self) -> dict[str, Float]:
        """‖W_{l+1}‖² − ‖W_l‖² of consecutive layers, at each record."""
        return self._tables("balance")

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
        """Draw loss, kernel, layers and balance against the step."""
        if not self.steps:
            raise InputError("nothing was recorded yet: call record(step) in the training loop")
        return self._draw()


def _not_finite(network: Network) -> dict[str, Any]:
    """The record of weights that are not finite."""
    return {
        **dict.fromkeys(("kernel_distance", "kernel_angle", "output_norm"), math.nan),
        "movement": {each.name: math.nan for each in network.layers},
        "balance": dict.fromkeys(network.balance(), math.nan),
    }


class Callback:
    """A monitor as a callback: `Trainer(callbacks=[m.callback])` in Lightning, or callback(step, params).

    It implements the Lightning hooks `on_train_batch_end` and `on_train_end`; the others do nothing.
    """

    state_key = "tacit.Monitor"

    def __init__(self, monitor: Monitor):
        self.monitor = monitor

    def __call__(self, step: float, params: Any = None, loss: Any = None) -> bool:
        """Record this step."""
        return self.monitor.record(step, params, loss=loss)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Record the trainer's current step, with the loss that the module returned."""
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        self.monitor.record(trainer.global_step, loss=loss)

    def on_train_end(self, trainer: Any, module: Any) -> None:
        """Record the last step."""
        self.monitor.__exit__(None, None, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") or name in ("setup", "teardown", "state_dict", "load_state_dict"):
            return lambda *args, **kwargs: None
        raise AttributeError(name)
