"""How many examples the property tests try: the same few each time, or many new ones under `make fuzz`."""

import os

from hypothesis import settings

_FUZZ = int(os.environ.get("TACIT_FUZZ", "1"))


def examples(count):
    """Try `count` examples, always the same; TACIT_FUZZ=k tries k times as many, other ones in each run."""
    return settings(max_examples=_FUZZ * count, derandomize=_FUZZ == 1, deadline=None)
