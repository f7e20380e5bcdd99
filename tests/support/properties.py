"""The number of examples and draws in tests: few of them by default, all of them in `make test-all`.

The property tests use the same ones each time, or many new ones under `make fuzz`.
"""

import os

from hypothesis import Phase, settings

_FUZZ = int(os.environ.get("TACIT_FUZZ", "1"))
_ONE_IN = 4  # share of the examples of `make test-all` that `make test` uses
_LEAST = 5
# A failure is reported at once; make fuzz looks for a smaller one, which takes minutes.
_UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)

every_day = False  # set by conftest.py, before any test is imported


def examples(count):
    """Use `count` fixed examples; TACIT_FUZZ=k uses k times as many, which differ in each run."""
    if every_day and _FUZZ == 1:
        count = min(count, max(_LEAST, count // _ONE_IN))
    phases = _UNSHRUNK if _FUZZ == 1 else tuple(Phase)
    return settings(max_examples=_FUZZ * count, derandomize=_FUZZ == 1, deadline=None, phases=phases)


def some(draws, one_in):
    """All draws, of which `make test` uses every `one_in`-th, since they differ in their numbers only."""
    draws = list(draws)
    return draws[::one_in] if every_day else draws
