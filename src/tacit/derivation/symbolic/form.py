"""The potential of a parametrization as a formula."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sympy

from tacit.derivation.symbolic.curve import Curve, W
from tacit.derivation.symbolic.potential import FormulaPotential
from tacit.errors import InputError, NoClosedFormError


@dataclass(frozen=True, eq=False, repr=False)
class ClosedForm:
    """Q of a parametrization in SymPy: the divergence from w₀, with Q(w₀) = 0 and ∇Q(w₀) = 0.

    family: "separable", "radial" or "affine". variables: the symbols of the coordinates of w. origin: w₀.
    curves: one for each coordinate, or the one of ‖w‖, each with w, Q' and Q as functions of one parameter;
    this form always exists. metric: ∇²Q of affine maps.
    """

    family: str
    variables: tuple[Any, ...]
    origin: tuple[Any, ...]
    curves: tuple[Curve, ...] = field(default=(), repr=False)
    metric: Any = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """ "mirror" or "warped", as for `tacit.derive`; radial maps are warped."""
        return "warped" if self.family == "radial" else "mirror"

    @property
    def explicit(self) -> bool:
        """Whether Q is known as a function of w, and not only of a parameter."""
        return all(curve.inverse is not None for curve in self.curves)

    @cached_property
    def value(self) -> Any:
        """Q(w)."""
        self._require_explicit()
        step = sympy.Matrix(self.variables) - sympy.Matrix(self.origin)
        if self.family == "affine":
            return sympy.expand((step.T * self.metric * step)[0] / 2)
        parts = [_shortest(curve.explicit(curve.value)) for curve in self.curves]
        if self.family == "radial":
            return parts[0].subs(W, self._norm) - (sympy.Matrix(self._initial_slope).T * step)[0]
        return sum(part.subs(W, each) for part, each in zip(parts, self.variables, strict=True))

    @cached_property
    def gradient(self) -> tuple[Any, ...]:
        """∇Q(w)."""
        self._require_explicit()
        if self.family == "affine":
            return tuple(self.metric * (sympy.Matrix(self.variables) - sympy.Matrix(self.origin)))
        slopes = [sympy.simplify(curve.explicit(curve.slope)) for curve in self.curves]
        if self.family == "radial":
            factor = slopes[0].subs(W, self._norm) / self._norm
            pairs = zip(self.variables, self._initial_slope, strict=True)
            return tuple(factor * each - start for each, start in pairs)
        return tuple(slope.subs(W, each) for slope, each in zip(slopes, self.variables, strict=True))

    @property
    def radial(self) -> Any:
        """q(x), x = w, of a radial potential: Q(w) is q(‖w‖) minus its tangent at w₀, up to a constant."""
        self._require_explicit()
        return _shortest(self.curves[0].explicit(self.curves[0].value))

    @property
    def _norm(self) -> Any:
        return sympy.sqrt(sum(each**2 for each in self.variables))

    @property
    def _initial_slope(self) -> tuple[Any, ...]:
        """q'(‖w₀‖)·w₀/‖w₀‖, the gradient of q(‖w‖) at w₀."""
        curve = self.curves[0]
        x, slope = (each.subs(curve.parameter, curve.start) for each in (curve.predictor, curve.slope))
        return tuple(slope * each / x for each in self.origin)

    def _require_explicit(self) -> None:
        for curve in self.curves:
            if curve.inverse is None:
                raise NoClosedFormError(
                    f"no explicit form: {curve.why}; .parametric and .latex() give w, Q' and Q as functions "
                    "of a parameter"
                )

    @property
    def parametric(self) -> tuple[dict[str, Any], ...]:
        """For each curve its parameter with the start, and w, slope and value as functions of it."""
        names = {"w": "predictor"} | {name: name for name in ("parameter", "slope", "value", "start")}
        return tuple({key: getattr(each, name) for key, name in names.items()} for each in self.curves)

    def subs(self, *values: Any) -> ClosedForm:
        """The form with symbols of the start replaced, with the arguments of SymPy's subs."""
        given = values[0] if len(values) == 1 else dict([values])
        origin = tuple(sympy.sympify(each).subs(given) for each in self.origin)
        metric = None if self.metric is None else self.metric.subs(given)
        curves = tuple(each.subs(given) for each in self.curves)
        return replace(self, origin=origin, metric=metric, curves=curves)

    def latex(self) -> str:
        """Q(w) = … in LaTeX, or w, Q' and Q as functions of a parameter if there is no explicit form."""
        if self.explicit:
            names = ", ".join(sympy.latex(each) for each in self.variables)
            return f"Q({names}) = {sympy.latex(self.value)}"
        radial = self.family == "radial"
        rows = []
        for at, curve in enumerate(self.curves):
            name = r"\|w\|" if radial else sympy.latex(self.variables[at])
            slope, value = ("q'", "q") if radial else (f"Q'({name})", f"Q({name})")
            pairs = ((name, curve.predictor), (slope, curve.slope), (value, curve.value))
            rows += [f"{left} &= {sympy.latex(right)}" for left, right in pairs]
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    @cached_property
    def potential(self) -> FormulaPotential:
        """The formula as a numerical potential, for all functions of Tacit."""
        expressions = (*self.origin, *(curve.predictor for curve in self.curves))
        free = set().union(*(each.free_symbols for each in expressions))
        free -= {curve.parameter for curve in self.curves}
        if free:
            names = ", ".join(sorted(map(str, free)))
            raise InputError(
                f"a numerical potential needs numbers; give numbers for {names}: form.subs({{…}}).potential"
            )
        return FormulaPotential(self)

    def __repr__(self) -> str:
        kind = "explicit" if self.explicit else "parametric"
        return f"ClosedForm({self.family}, {kind}, d={len(self.variables)})"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        return str(self.value) if self.explicit else self.latex()


def _shortest(expression: Any) -> Any:
    """The shortest of several equivalent forms."""
    simple = sympy.simplify(expression)
    return min((expression, simple, sympy.expand(simple)), key=sympy.count_ops)
