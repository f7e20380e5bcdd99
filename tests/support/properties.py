"""How many examples and draws the tests try: few of them every day, all of them in `make test-all`.

The property tests try the same ones each time, or many new ones under `make fuzz`.
"""

import os

from hypothesis import Phase, settings

_FUZZ = int(os.environ.get("TACIT_FUZZ", "1"))
_ONE_IN = 4  # examples that `make test` tries, of those of `make test-all`
_LEAST = 5
# A failure is reported at once; make fuzz looks for a smaller one, which takes minutes.
_UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)

every_day = False  # set by conftest.py, before any test is read


def examples(count):
    """Try `count` examples, always the same; TACIT_FUZZ=k tries k times as many, other ones in each run."""
    if every_day and _FUZZ == 1:
        count = min(count, max(_LEAST, count // _ONE_IN))
    phases = _UNSHRUNK if _FUZZ == 1 else tuple(Phase)
    return settings(max_examples=_FUZZ * count, derandomize=_FUZZ == 1, deadline=None, phases=phases)


def some(draws, one_in):
    """All draws, of which `make test` tries each `one_in`-th: they ask the same question of other numbers."""
    draws = list(draws)
    return draws[::one_in] if every_day else draws
