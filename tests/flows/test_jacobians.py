"""Jacobians passed to solvers: a wrong one does not change results, but shortens every step."""

import numpy as np
import pytest

import tacit
from tacit.flows.form import Problem
from tacit.flows.forms.parameters import Parameters
from tacit.flows.forms.sliding import Sliding

X, Y = np.array([[1.0, 0.3, -0.2], [0.2, 0.8, 0.5]]), np.array([1.0, -1.0])
FORMS = {
    "square": (Parameters, tacit.Diagonal(3, 0.7), "square"),
    "exponential": (Parameters, tacit.UntiedDiagonal(0.7, 0.2), "exp"),
    "logistic": (Parameters, tacit.Neuron(0.9, [0.3, -0.5, 0.4]), "logistic"),
    "leaky, square": (Sliding, tacit.Neuron(0.9, [0.3, -0.5, 0.4], slope=0.3), "square"),
}


@pytest.mark.parametrize("name", FORMS)
def test_jacobians_are_those_of_differences(name):
    form, model, loss = FORMS[name]
    flow = form(Problem(model, X, Y, tacit.losses.as_loss(loss), 1e-8))
    unknowns = np.linspace(0.1, 0.4, flow.start.size + flow.relative)
    if form is Parameters:
        rate, jacobian = (lambda u: flow._rate(0.0, u)), flow._rate_jacobian(0.0, unknowns)
    else:
        rate, jacobian = flow.velocity, flow.jacobian(unknowns)
    steps = 1e-5 * np.eye(unknowns.size)
    columns = [(rate(unknowns + step) - rate(unknowns - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(jacobian, np.transpose(columns), rtol=1e-6, atol=1e-8)
