"""Possible mutations of the source: the operators of cosmic-ray that leave a valid program.

Operators for types that Tacit does not use (shifts, remainders, bits) are left out, and so are removed
decorators and dataclasses that are not frozen: such a mutant fails at the first call, or nothing depends on
it.
Constants of a module are not mutated, because a threshold that is changed by one is not a mistake. One
operator is added, which removes abs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

_ARITHMETIC, _ORDER = "Add|Sub|Mul|Div|Pow", "Eq|NotEq|Lt|LtE|Gt|GtE"
_TAKEN = re.compile(
    rf"core/(ReplaceBinaryOperator_({_ARITHMETIC})_(Add|Sub|Mul|Div)|ReplaceComparisonOperator_({_ORDER})_({_ORDER})"
    r"|ReplaceUnaryOperator_(USub_UAdd|Delete_Not|Delete_Invert)|AddNot|Replace(True|False|And|Or)With\w+"
    r"|Replace(Break|Continue)With\w+|NumberReplacer|ZeroIterationForLoop)"
)
_ABS = re.compile(r"(np\.|xp\.|jnp\.)?abs\(")


class DropAbs(Operator):
    """|x| becomes x."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type in ("atom_expr", "power") and _ABS.match(_plain(node)):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        made = parso.parse(_ABS.sub("(", _plain(node), count=1)).children[0]
        made.get_first_leaf().prefix = node.get_first_leaf().prefix
        return made

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _plain(node: Any) -> str:
    return str(node.get_code(include_prefix=False))


@dataclass(frozen=True)
class Site:
    """A mutation at a place in a file: the name of the operator, and its occurrence."""

    file: str
    line: int
    column: int
    operator: str
    occurrence: int

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    def mutated(self, source: str) -> str | None:
        """The source with this mutation; None if the program is unchanged or invalid."""
        made = mutate_code(source, _made(self.operator), self.occurrence)
        try:
            same = ast.dump(ast.parse(made or source)) == ast.dump(ast.parse(source))  # 1e300 + 1 is 1e300
        except SyntaxError:
            return None
        return None if same else str(made)


def _made(name: str) -> Operator:
    return DropAbs() if name == "DropAbs" else get_operator(name)()


def sites(root: Path, file: str) -> list[Site]:
    """All mutations of a file."""
    nodes = list(ast_nodes(get_ast((root / file).read_text(encoding="utf-8"))))
    names = [name for name in operator_names() if _TAKEN.fullmatch(name)]
    return [
        Site(file, *begin, name, at)
        for name in [*names, "DropAbs"]
        for at, (node, begin) in enumerate(_places(_made(name), nodes))
        if not (_is_constant(node) if name.endswith("NumberReplacer") else _in(node, "decorator"))
        and not _draws(node)
    ]


def _places(operator: Operator, nodes: list[Any]) -> Iterator[tuple[Any, tuple[int, int]]]:
    for node in nodes:
        for begin, _ in operator.mutation_positions(node):
            yield node, begin


def _is_constant(node: Any) -> bool:
    """Whether it is part of a statement at module or class level, or a default value."""
    return _in(node, "param") or not _in(node, "funcdef")


def _draws(node: Any) -> bool:
    """Whether it is in a drawing function; colours and line widths are not tested."""
    while node is not None:
        if node.type == "funcdef" and node.name.value.lstrip("_").startswith("draw"):
            return True
        node = node.parent
    return False


def _in(node: Any, kind: str) -> bool:
    while node is not None and node.type != kind:
        node = node.parent
    return node is not None
