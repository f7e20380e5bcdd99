"""From a parametrization in SymPy to the formula of its potential."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError, NoClosedFormError
from tacit.packages import needed

if TYPE_CHECKING:
    from tacit.derivation.symbolic.form import ClosedForm


def closed_form(predictor: Any, parameters: Sequence[Any], start: Any) -> ClosedForm:
    """The formula of Q for w = F(θ) from θ₀: `.value`, `.gradient`, `.latex()`, and numbers as `.potential`.

    Q is that of `tacit.derive`: ∇Q(w)' = −∇L(w), in a clock with g(w₀) = 1 if warped, Q(w₀) = 0 and ∇Q(w₀) =
    0. It is found for maps of which each parameter moves one coordinate only (separable), h(a, ‖v‖)·v of a
    vector and scalars (radial), and affine ones. Where w(z) has no inverse that is known, `.explicit` is
    False, and `.parametric` has w, Q' and Q by a parameter. Needs SymPy, the extra `symbolic`.

    Parameters
    ----------
    predictor : expression of SymPy, or a sequence of them
        w, one for each coordinate.
    parameters : sequence of symbols
        θ.
    start : sequence, or dict by symbol
        Their values at the start: numbers, or expressions of other symbols (as α of Woodworth et al. 2020,
        whose q is 4 times this Q).

    Returns
    -------
    ClosedForm
        The formula.

    Raises
    ------
    NoClosedFormError
        Where there is no formula, saying which step has none.
    InputError
        Where an argument is not what it should be.
    """
    with needed("sympy", "closed_form"):
        import sympy
    from tacit.derivation.symbolic.form import ClosedForm
    from tacit.derivation.symbolic.radial import radial_curve, radial_parts
    from tacit.derivation.symbolic.scalar import scalar_curve

    expressions = _expressions(predictor, sympy)
    parameters = tuple(parameters) if isinstance(parameters, Sequence | sympy.Tuple) else (parameters,)
    begun = _start(parameters, start, sympy)
    _check(expressions, parameters, sympy)
    names = ["w"] if len(expressions) == 1 else [f"w{at + 1}" for at in range(len(expressions))]
    variables = tuple(sympy.Symbol(name, real=True) for name in names)
    origin = tuple(sympy.simplify(each.subs(begun)) for each in expressions)
    moved = [each.free_symbols & set(parameters) for each in expressions]
    if sum(map(len, moved)) == len(set().union(*moved)):
        curves = tuple(
            scalar_curve(each, [one for one in parameters if one in own], begun)
            for each, own in zip(expressions, moved, strict=True)
        )
        return ClosedForm("separable", variables, origin, curves)
    J = sympy.Matrix(expressions).jacobian(parameters)
    if not J.free_symbols & set(parameters):
        return ClosedForm("affine", variables, origin, metric=_inverse(J * J.T))
    parts = radial_parts(expressions, parameters)
    if parts is None:
        raise NoClosedFormError(
            "no closed form found: the map is neither separable (each parameter in one coordinate only), nor "
            "radial (a common factor of the coordinates of a vector), nor affine; tacit.derive decides it "
            "numerically"
        )
    return ClosedForm("radial", variables, origin, (radial_curve(*parts, parameters, begun),))


def _expressions(predictor: Any, sympy: Any) -> list[Any]:
    single = isinstance(predictor, sympy.Expr | str | int | float)
    if isinstance(predictor, str):
        raise InputError(
            "predictor must be an expression of SymPy, not a text: sympy.sympify makes one of it"
        )
    found = [sympy.sympify(each) for each in ([predictor] if single else list(predictor))]
    if not found or not all(isinstance(each, sympy.Expr) for each in found):
        raise InputError("predictor must be an expression of SymPy, or a sequence of them")
    return found


def _start(parameters: tuple[Any, ...], start: Any, sympy: Any) -> dict[Any, Any]:
    given = start if isinstance(start, Mapping) else None
    if given is None:
        values = list(start) if hasattr(start, "__iter__") else [start]
        if len(values) != len(parameters):
            raise InputError(f"start has {len(values)} values for {len(parameters)} parameters")
        given = dict(zip(parameters, values, strict=True))
    if missing := [each for each in parameters if each not in given]:
        raise InputError(f"start lacks {', '.join(map(str, missing))}")
    return {each: _exact(given[each], sympy) for each in parameters}


def _exact(value: Any, sympy: Any) -> Any:
    """Floats as the decimals that they are written as."""
    number = getattr(value, "item", lambda: value)()
    return sympy.Rational(repr(number)) if isinstance(number, float) else sympy.sympify(number)


def _check(expressions: list[Any], parameters: tuple[Any, ...], sympy: Any) -> None:
    if not parameters or not all(isinstance(each, sympy.Symbol) for each in parameters):
        raise InputError("parameters must be symbols of SymPy, all those that gradient flow moves")
    for each in expressions:
        if not each.free_symbols & set(parameters):
            raise NoClosedFormError(
                f"no closed form found: the coordinate {each} has no parameter, and never moves"
            )
        if each.has(*_kinked(sympy)):
            raise NoClosedFormError(
                f"no closed form found: {each} has kinks (absolute values, signs, pieces); write the smooth "
                "piece that the start lies on, as t**2 for t*|t| at t > 0, or declare its symbols positive"
            )


def _kinked(sympy: Any) -> tuple[Any, ...]:
    """Functions that are not smooth everywhere."""
    return (sympy.Abs, sympy.sign, sympy.Piecewise, sympy.Max, sympy.Min, sympy.Heaviside)


def _inverse(M: Any) -> Any:
    if M.det() == 0:
        raise NoClosedFormError(
            "no closed form found: the linear map has no full rank, and w moves on a plane only"
        )
    return M.inv()
