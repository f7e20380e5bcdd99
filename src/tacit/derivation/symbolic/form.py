"""A potential as a formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy

from tacit.derivation.symbolic.curve import W
from tacit.derivation.symbolic.formula import Formula
from tacit.derivation.symbolic.potential import FormulaPotential
from tacit.errors import InputError, NoClosedFormError


@dataclass(frozen=True, eq=False)
class ClosedForm(Formula):
    """Q of a parametrization, as SymPy writes it: the divergence from w₀, Q(w₀) = 0 and ∇Q(w₀) = 0.

    family: "separable", "radial" or "affine". kind: "mirror" or "warped", as of `tacit.derive`. variables:
    the coordinates of w in the formulas. origin: w₀. curves: one for each coordinate, or that of ‖w‖, each
    with w, Q' and Q as functions of one parameter: there is always this parametric form. metric: ∇²Q of
    affine maps.
    """

    @cached_property
    def value(self) -> Any:
        """Q(w)."""
        self._need_inverse()
        if self.family == "affine":
            step = sympy.Matrix(self.variables) - sympy.Matrix(self.origin)
            return sympy.expand((step.T * self.metric * step)[0] / 2)
        parts = [_neat(curve.explicit(curve.value)) for curve in self.curves]
        if self.family == "radial":
            pull = self._pull
            step = sum(
                slope * (each - begun)
                for slope, each, begun in zip(pull, self.variables, self.origin, strict=True)
            )
            return parts[0].subs(W, self._length) - step
        return sum(part.subs(W, each) for part, each in zip(parts, self.variables, strict=True))

    @cached_property
    def gradient(self) -> tuple[Any, ...]:
        """∇Q(w)."""
        self._need_inverse()
        if self.family == "affine":
            return tuple(self.metric * (sympy.Matrix(self.variables) - sympy.Matrix(self.origin)))
        slopes = [sympy.simplify(curve.explicit(curve.slope)) for curve in self.curves]
        if self.family == "radial":
            x = self._length
            steepness = slopes[0].subs(W, x)
            return tuple(
                steepness * each / x - pull for each, pull in zip(self.variables, self._pull, strict=True)
            )
        return tuple(slope.subs(W, each) for slope, each in zip(slopes, self.variables, strict=True))

    @property
    def radial(self) -> Any:
        """q(x) of a radial potential Q(w) = q(‖w‖) − its tangent at w₀, up to a constant, in x = w."""
        self._need_inverse()
        return _neat(self.curves[0].explicit(self.curves[0].value))

    @property
    def _length(self) -> Any:
        return sympy.sqrt(sum(each**2 for each in self.variables))

    @property
    def _pull(self) -> tuple[Any, ...]:
        """q'(‖w₀‖)·w₀/‖w₀‖."""
        curve = self.curves[0]
        x = curve.predictor.subs(curve.parameter, curve.start)
        return tuple(curve.slope.subs(curve.parameter, curve.start) * each / x for each in self.origin)

    def _need_inverse(self) -> None:
        for curve in self.curves:
            if curve.inverse is None:
                raise NoClosedFormError(
                    f"no explicit form: {curve.why}; .parametric and .latex() have w, Q' and Q by it"
                )

    @property
    def parametric(self) -> tuple[dict[str, Any], ...]:
        """For each curve: its parameter, and w, slope and value as functions of it."""
        names = {"w": "predictor", "slope": "slope", "value": "value", "start": "start"}
        return tuple(
            {"parameter": curve.parameter, **{key: getattr(curve, name) for key, name in names.items()}}
            for curve in self.curves
        )

    def subs(self, *values: Any) -> ClosedForm:
        """With symbols of the start replaced by numbers, as SymPy's subs takes them."""
        given = values[0] if len(values) == 1 else dict([values])
        origin = tuple(sympy.sympify(each).subs(given) for each in self.origin)
        metric = None if self.metric is None else self.metric.subs(given)
        return replace(
            self, origin=origin, metric=metric, curves=tuple(each.subs(given) for each in self.curves)
        )

    def latex(self) -> str:
        """Q(w) = …, or w, Q' and Q by a parameter where there is no explicit form."""
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
        """The same as numbers, for every verb."""
        free = set().union(
            *(each.free_symbols for each in (*self.origin, *(c.predictor for c in self.curves)))
        )
        free -= {curve.parameter for curve in self.curves}
        if free:
            names = ", ".join(sorted(map(str, free)))
            raise InputError(
                f"give numbers for {names} before asking for numbers: form.subs({{…}}).potential"
            )
        return FormulaPotential(self)

    def __str__(self) -> str:
        return str(self.value) if self.explicit else self.latex()


def _neat(expression: Any) -> Any:
    """The shortest of the ways to write it."""
    simple = sympy.simplify(expression)
    return min((expression, simple, sympy.expand(simple)), key=sympy.count_ops)
