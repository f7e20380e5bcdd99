"""User-defined models, potentials and losses work like built-in ones."""

import numpy as np
import pytest
from guests import ArcSine, Bare, Cosh, Coupled, Quartic, Tempered, Twins, function_model, squares
from scipy.optimize import minimize

import tacit
from tacit.cli import main
from tacit.potentials import Bregman, Potential

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 7))
Y = X[:, :2] @ [1.0, -0.5]
LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
OWN = tacit.Diagonal(2, 0.1)


def apart(a, b):
    """The largest difference relative to the largest entry."""
    return np.abs(np.asarray(a) - np.asarray(b)).max() / np.abs(np.asarray(b)).max()


def by_search(Q, X, y):
    """argmin Q(w) subject to X w = y, by minimization in the solution space."""
    start = np.linalg.lstsq(X, y, rcond=None)[0]
    null = np.linalg.svd(X)[2][len(X) :].T
    found = minimize(
        lambda v: Q.value(start + null @ v),
        np.zeros(null.shape[1]),
        jac=lambda v: null.T @ Q.gradient(start + null @ v),
        method="BFGS",
        options={"gtol": 1e-12},
    )
    return start + null @ found.x


class TestModel:
    def test_its_limit_is_that_of_the_same_network(self):
        found, known = tacit.limit(Twins(), X, Y), tacit.limit(OWN, X, Y)
        assert found.predictor.tobytes() == known.predictor.tobytes()
        assert found.regime == known.regime and "Twins" in found.summary()

    @pytest.mark.parametrize("loss", ["square", "exp", "logistic"])
    def test_its_mirror_form_is_used(self, loss):
        y = Y if loss == "square" else LABELS
        found, known = (tacit.flow(model, X, y, loss=loss) for model in (Twins(), OWN))
        assert "mirror space" in found.method and "Twins" in found.summary()
        assert apart(found.predictor[-1], known.predictor[-1]) < 1e-12
        assert apart(found.weights["a"][-1], known.weights["w₊"][-1]) < 1e-12

    @pytest.mark.every(3)
    @pytest.mark.parametrize("model", [Twins(), Bare(), function_model(7)], ids=["twins", "bare", "function"])
    @pytest.mark.parametrize("loss", ["square", "exp"])
    def test_raw_weights_are_followed(self, model, loss):
        """The tolerance is 1e-8; the distance is at most ten times as large."""
        y = Y if loss == "square" else LABELS
        until = None if loss == "square" else 10.0
        found = tacit.flow(model, X, y, loss=loss, until=until, method="parameters")
        known = tacit.flow(OWN, X, y, loss=loss, until=until)
        assert found.converged and apart(found.predictor[-1], known.predictor[-1]) < 1e-7

    @pytest.mark.parametrize("model", [Twins(), Bare(), function_model(7)], ids=["twins", "bare", "function"])
    def test_its_tangent_is_that_of_the_same_network(self, model):
        found, known = (tacit.flow(each, X, Y, linearized=True, at=[3.0, 20.0]) for each in (model, OWN))
        assert apart(found.predictor[-1], known.predictor[-1]) < 1e-12
        assert apart(model.tangent_kernel(X), OWN.tangent_kernel(X)) < 1e-14

    def test_paths_and_margins_take_it(self):
        mu = np.geomspace(10, 1e-3, 5)
        found, known = (tacit.margin_path(X, LABELS, mu, model=model) for model in (Twins(), OWN))
        assert apart(found.predictors, known.predictors) < 1e-13
        assert (
            apart(tacit.max_margin(X, LABELS, Twins()).predictor, tacit.max_margin(X, LABELS, OWN).predictor)
            < 1e-13
        )

    def test_what_is_not_known_of_it_is_refused_by_name(self):
        for model in (Bare(), function_model(7)):
            with pytest.raises(tacit.NoPotentialError, match=r"tacit\.flow"):
                tacit.limit(model, X, Y)
            with pytest.raises(tacit.NoPotentialError):
                tacit.regime(model, X, Y)

    def test_what_must_be_implemented_is_said(self):
        class Nothing(tacit.Model):
            pass

        with pytest.raises(TypeError, match=r"Nothing must implement start\(d\)"):
            tacit.flow(Nothing(), X, Y)


class TestPotential:
    @pytest.mark.parametrize("Q", [Cosh(), Coupled()], ids=["diagonal", "matrix"])
    def test_its_limit_is_the_minimizer(self, Q):
        """Minimization to a gradient of 1e-12 is accurate to about 1e-11."""
        found = tacit.limit(Q, X, Y)
        assert found.converged and found.error < 1e-12
        assert apart(found.predictor, by_search(Q, X, Y)) < 1e-9
        assert np.abs(Q.gradient(found.predictor) - X.T @ found.dual).max() < 1e-13
        assert found.regime == "unknown" and "no scale" in found.summary()

    @pytest.mark.parametrize("Q", [Cosh(), Coupled()], ids=["diagonal", "matrix"])
    def test_from_an_origin(self, Q):
        origin = np.linspace(-1, 1, 7)
        found = tacit.limit(Bregman(Q, origin), X, Y)
        known = by_search(Bregman(Q, origin), X, Y)
        assert found.converged and apart(found.predictor, known) < 1e-9
        assert tacit.limit(Bregman(Q, origin), X, X @ origin).predictor == pytest.approx(origin, abs=1e-12)

    def test_samples_that_are_nearly_dependent_are_fitted(self):
        """As in spectra, over seven decades: rounding Xᵀν alone would leave a residual of 1e-13."""
        for seed in range(3):
            rng = np.random.default_rng(seed)
            left, right = (np.linalg.qr(rng.standard_normal((size, 30)))[0] for size in (30, 150))
            rows = (left * np.logspace(1, -6, 30)) @ right.T
            found = tacit.limit(Cosh(), rows, rows @ (20 * rng.standard_normal(150)))
            assert found.converged and found.feasibility < 1e-14

    def test_its_error_is_honest(self):
        """Also for nearly equal samples, whose difference is lost in round-off."""
        for gap in (1e-3, 1e-6, 1e-9):
            rows = np.vstack([X[0], X[0] + gap * X[1]])
            y = rows @ np.linspace(1, 2, 7)
            found = tacit.limit(Cosh(), rows, y)
            exact = tacit.limit(Cosh(), np.vstack([X[0], X[1]]), [y[0], X[1] @ np.linspace(1, 2, 7)])
            assert found.converged == (gap > 1e-8)
            assert apart(found.predictor, exact.predictor) < 10 * found.error + 1e-12

    @pytest.mark.parametrize("Q", [Cosh(), Coupled(), ArcSine(-4.0)], ids=["diagonal", "matrix", "network"])
    def test_margins_and_certificates(self, Q):
        margin = tacit.max_margin(X, LABELS, Q)
        assert margin.converged and (LABELS * (X @ margin.predictor) > 1 - 1e-10).all()
        held = margin.support
        known = by_search(Q, X[held], LABELS[held]) if len(held) else np.zeros(7)
        assert apart(margin.predictor, known) < 1e-7 and (margin.dual >= 0).all()
        assert tacit.certify(Q, X, LABELS, margin.predictor, problem="margin").holds
        assert tacit.certify(Q, X, Y, tacit.limit(Q, X, Y).predictor).holds
        assert not tacit.certify(Q, X, Y, np.linalg.lstsq(X, Y, rcond=None)[0]).holds

    def test_a_network_of_three_numbers_has_the_solver_of_networks(self):
        found = tacit.limit(ArcSine(2 * np.log(0.1)), X, Y)
        assert found.predictor.tobytes() == tacit.limit(OWN, X, Y).predictor.tobytes()
        assert found.regime.name in ("kernel", "rich", "intermediate")

    def test_what_must_be_implemented_is_said(self):
        class Nothing(Potential):
            pass

        with pytest.raises(TypeError, match=r"Nothing must implement mirror\(z\)"):
            tacit.limit(Nothing(), X, Y)

    def test_a_family_without_solver_is_named(self):
        class Elsewhere(Cosh):
            family = "elsewhere"

        with pytest.raises(tacit.NoPotentialError, match="Elsewhere has the family 'elsewhere'"):
            tacit.limit(Elsewhere(), X, Y)


class TestLoss:
    @pytest.mark.parametrize("linearized", [False, True])
    def test_a_loss_of_margins_goes_through_every_form(self, linearized):
        """exp(−m/2) is the exponential loss of half the margins: of X/2, at the same accuracy."""
        runs = {"auto": tacit.flow(OWN, X, LABELS, loss=Tempered(), until=8.0, linearized=linearized)}
        if not linearized:
            runs["parameters"] = tacit.flow(OWN, X, LABELS, loss=Tempered(), until=8.0, method="parameters")
        known = tacit.flow(OWN, X / 2, LABELS, loss="exp", until=8.0, linearized=linearized)
        for run in runs.values():
            assert run.converged and run.accuracy[-1] == pytest.approx(8.0, abs=1e-7)
            assert apart(run.predictor[-1], known.predictor[-1]) < 1e-7
            assert "tempered exponential loss" in run.summary() and run.support.any()
        assert known.time[-1] == pytest.approx(runs["auto"].time[-1], rel=1e-6)

    @pytest.mark.parametrize("model", [OWN, tacit.Neuron(0.5, np.full(7, 0.1))], ids=["diagonal", "neuron"])
    def test_another_loss_of_residuals_is_followed(self, model):
        """Against a form with another integrator."""
        one = tacit.flow(model, X, Y, loss=Quartic(), until=12.0)
        other = tacit.flow(model, X, Y, loss=Quartic(), until=12.0, method="parameters")
        assert one.converged and other.converged
        assert apart(one.predictor[-1], other.predictor[-1]) < 1e-7

    def test_its_linearized_flow_ends_in_the_span_of_the_kernel(self):
        run = tacit.flow(OWN, X, Y, loss=Quartic(), until=30.0, linearized=True)
        known = tacit.flow(OWN, X, Y, until=30.0, linearized=True)
        assert run.converged and apart(run.predictor[-1], known.predictor[-1]) < 1e-5

    @pytest.mark.parametrize("method", ["descent", "normalized"])
    def test_descent_takes_it(self, method):
        run = tacit.flow(OWN, X, LABELS, loss=Tempered(), until=2.0, method=method)
        assert run.converged and run.accuracy[-1] >= 2.0

    def test_what_must_be_implemented_is_said(self):
        class Nothing(tacit.losses.SeparatingLoss):
            name = "nothing"

        with pytest.raises(TypeError, match=r"Nothing must implement log_"):
            tacit.flow(OWN, X, LABELS, loss=Nothing())


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        np.savez("data.npz", X=X, y=Y)
        np.savez("classes.npz", X=X, y=LABELS)
        import guests

        self.file = guests.__file__

    @pytest.mark.parametrize("name", ["Twins", "twins", "function_model"])
    def test_a_model_is_named_by_file_and_name(self, name, capsys):
        assert main(["flow", "data.npz", "--model", f"{self.file}:{name}"]) == 0
        assert ("model(squares" if name == "function_model" else "Twins") in capsys.readouterr().out

    def test_every_command_takes_it(self, capsys):
        named = ["--model", f"{self.file}:Twins"]
        assert main(["limit", "data.npz", *named, "--plot", "limit.png", "--json", "limit.json"]) == 0
        assert main(["path", "classes.npz", *named, "--mu", "1:0.1:3"]) == 0
        assert main(["check", "data.npz", *named]) == 0
        assert main(["flow", "classes.npz", *named, "--loss", "exp", "--until", "5"]) == 0
        assert "Twins" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ("nowhere.py:Twins", "no file nowhere.py"),
            ("{file}:Nobody", "has no 'Nobody'; it has"),
            ("{file}:Cosh", "must be a tacit.Model, or a class or function that returns one; it is Cosh"),
            ("{file}:Twins --scale 2", "--scale is not an option of --model"),
            ("broken.py:model", "broken.py, line 1: ZeroDivisionError: division by zero"),
        ],
    )
    def test_what_is_wrong_with_it_is_said_in_a_line(self, given, words, capsys):
        with open("broken.py", "w") as file:
            file.write("1 / 0\n")
        assert main(["limit", "data.npz", "--model", *given.format(file=self.file).split()]) == 2
        out, err = capsys.readouterr()
        assert out == "" and words in err and err.count("\n") == 1


def test_a_function_must_give_a_vector_of_the_right_length():
    with pytest.raises(tacit.InputError, match="must be a vector"):
        tacit.model(lambda theta: theta.sum(), np.ones(3))
    with pytest.raises(tacit.InputError, match="has 3 entries but the data has 7 features"):
        tacit.flow(tacit.model(squares, np.ones(6)), X, Y)
    with pytest.raises(tacit.InputError, match="function must be a function"):
        tacit.model(3.0, np.ones(6))
