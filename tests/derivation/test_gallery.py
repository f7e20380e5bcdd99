"""The maps of the gallery: verdict, dimension, and a certificate for the end of a flow."""

import numpy as np
import pytest
from maps import GALLERY

import tacit


@pytest.mark.every(22)
@pytest.mark.parametrize("name", GALLERY)
def test_verdicts_are_known_and_flows_end_at_the_minimum(name):
    shown = GALLERY[name]
    found = tacit.derive(shown.function, shown.start, samples=4)
    assert (found.kind, found.reachable_dimension) == (shown.kind, shown.dimension)
    if found.kind == "none":
        return
    rng, origin = np.random.default_rng(0), found.potential.origin
    d = len(origin)
    X = rng.standard_normal((min(2, d - 1), d))
    y = X @ (origin + 0.3 * np.linalg.norm(origin) * rng.standard_normal(d) / d)
    ended = tacit.flow(tacit.model(shown.function, shown.start), X, y, rtol=1e-11, until=45)
    assert ended.converged
    assert tacit.certify(found.potential, X, y, ended.predictor[-1], tol=1e-6).holds
