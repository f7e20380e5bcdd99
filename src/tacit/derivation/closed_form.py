"""The formula of the potential of a parametrization given in SymPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError, NoClosedFormError
from tacit.packages import needed

if TYPE_CHECKING:
    from tacit.derivation.symbolic.form import ClosedForm


def closed_form(predictor: Any, parameters: Sequence[Any], start: Any) -> ClosedForm:
    """Find the formula of Q for w = F(θ) from θ₀, with its gradient, LaTeX, and numerical values.

    Q is that of `tacit.derive`: ∇Q(w)' = −∇L(w), in a clock with g(w₀) = 1 if warped, with Q(w₀) = 0 and
    ∇Q(w₀) = 0. A formula is found if each parameter appears in one coordinate only (separable), for h(a,
    ‖v‖)·v with a vector v and scalars a (radial), and for affine maps. If no inverse of w(z) is known,
    `.explicit` is False, and `.parametric` has w, Q' and Q as functions of a parameter. Requires SymPy (the
    extra `symbolic`).

    Parameters
    ----------
    predictor : SymPy expression, or a sequence of them
        w, one expression for each coordinate.
    parameters : sequence of symbols
        θ.
    start : sequence, or dict by symbol
        θ₀: numbers, or expressions in other symbols (such as α of Woodworth et al. 2020, whose q is 4 times
        this Q).

    Returns
    -------
    ClosedForm
        The formula.

    Raises
    ------
    NoClosedFormError
        If no formula is found; the message says at which step.
    InputError
        If an argument is invalid.

    See Also
    --------
    derive : The numerical potential of any smooth map.

    Examples
    --------
    >>> import sympy
    >>> import tacit
    >>> theta = sympy.Symbol("theta", positive=True)
    >>> print(tacit.closed_form(theta**2, [theta], [1]))
    w*log(w)/4 - w/4 + 1/4
    """
    with needed("sympy", "closed_form"):
        import sympy
    from tacit.derivation.symbolic.form import ClosedForm
    from tacit.derivation.symbolic.radial import radial_curve, radial_parts
    from tacit.derivation.symbolic.scalar import scalar_curve

    expressions = _expressions(predictor, sympy)
    parameters = tuple(parameters) if isinstance(parameters, Sequence | sympy.Tuple) else (parameters,)
    values = _start(parameters, start, sympy)
    _check(expressions, parameters, sympy)
    names = ["w"] if len(expressions) == 1 else [f"w{at + 1}" for at in range(len(expressions))]
    variables = tuple(sympy.Symbol(name, real=True) for name in names)
    origin = tuple(sympy.simplify(each.subs(values)) for each in expressions)
    used = [each.free_symbols & set(parameters) for each in expressions]
    if sum(map(len, used)) == len(set().union(*used)):
        curves = tuple(
            scalar_curve(each, [one for one in parameters if one in own], values)
            for each, own in zip(expressions, used, strict=True)
        )
        return ClosedForm("separable", variables, origin, curves)
    J = sympy.Matrix(expressions).jacobian(parameters)
    if not J.free_symbols & set(parameters):
        return ClosedForm("affine", variables, origin, metric=_inverse(J * J.T))
    parts = radial_parts(expressions, parameters)
    if parts is None:
        raise NoClosedFormError(
            "no closed form found: the map is neither separable (each parameter in one coordinate only), nor "
            "radial (a common factor times the coordinates of a vector), nor affine; use tacit.derive for a "
            "numerical answer"
        )
    return ClosedForm("radial", variables, origin, (radial_curve(*parts, parameters, values),))


def _expressions(predictor: Any, sympy: Any) -> list[Any]:
    if isinstance(predictor, str):
        raise InputError(
            "predictor must be a SymPy expression, not a text; convert the text with sympy.sympify"
        )
    single = isinstance(predictor, sympy.Expr | int | float)
    found = [sympy.sympify(each) for each in ([predictor] if single else list(predictor))]
    if not found or not all(isinstance(each, sympy.Expr) for each in found):
        raise InputError("predictor must be an expression of SymPy, or a sequence of them")
    return found


def _start(parameters: tuple[Any, ...], start: Any, sympy: Any) -> dict[Any, Any]:
    if not isinstance(start, Mapping):
        values = list(start) if hasattr(start, "__iter__") else [start]
        if len(values) != len(parameters):
            raise InputError(f"start has {len(values)} values for {len(parameters)} parameters")
        start = dict(zip(parameters, values, strict=True))
    if missing := [each for each in parameters if each not in start]:
        raise InputError(f"start lacks {', '.join(map(str, missing))}")
    return {each: _exact(start[each], sympy) for each in parameters}


def _exact(value: Any, sympy: Any) -> Any:
    """The value in SymPy; floats become the rational number that their shortest decimal notation shows."""
    number = getattr(value, "item", lambda: value)()
    return sympy.Rational(repr(number)) if isinstance(number, float) else sympy.sympify(number)


def _check(expressions: list[Any], parameters: tuple[Any, ...], sympy: Any) -> None:
    if not parameters or not all(isinstance(each, sympy.Symbol) for each in parameters):
        raise InputError("parameters must be symbols of SymPy, all those that gradient flow changes")
    kinked = (sympy.Abs, sympy.sign, sympy.Piecewise, sympy.Max, sympy.Min, sympy.Heaviside)
    for each in expressions:
        if not each.free_symbols & set(parameters):
            raise NoClosedFormError(
                f"no closed form found: the coordinate {each} contains no parameter, so it never moves"
            )
        if each.has(*kinked):
            raise NoClosedFormError(
                f"no closed form found: {each} has kinks (absolute values, signs, pieces); write the smooth "
                "piece on which the start lies, as t**2 for t*|t| at t > 0, or declare its symbols positive"
            )


def _inverse(M: Any) -> Any:
    if M.det() == 0:
        raise NoClosedFormError(
            "no closed form found: the linear map does not have full rank, so w moves in a subspace only"
        )
    return M.inv()
