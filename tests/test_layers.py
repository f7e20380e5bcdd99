"""Imports go one way: the import graph of the source, including imports in functions and for types."""

import ast
from pathlib import Path

import pytest

import tacit

pytestmark = pytest.mark.any_cpu

ROOT = Path(tacit.__file__).parent
ORDER = [  # each may import only from the lines above it
    {"errors"},
    {"packages"},
    {"numerics"},
    {"data", "autodiff", "pickling"},
    {"potentials"},
    {"losses"},
    {"models"},
    {"networks"},
    {"results"},
    {"solvers", "flows"},
    {"training"},
    {"show"},
    {"parallel"},
    {"derivation"},
    {"verbs"},
    {"studies"},
    {"estimators"},
    {"warping"},
    {"papers"},
    {"theorems"},
    {"demo", "report"},
    {"cli"},
]
HEIGHT = {name: height for height, names in enumerate(ORDER) for name in names}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def imports(tree):
    """All imported modules, including imports in functions and for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def wrong_arrows(sources):
    """The imports in {module: source} that violate the order."""
    for name, source in sources.items():
        layer = name.split(".")[1] if "." in name else None
        for other in imports(ast.parse(source)):
            below = other.split(".")[1] if other.startswith("tacit.") else None
            if None in (layer, below) or below == layer or below not in HEIGHT or layer == "__main__":
                continue
            if HEIGHT[below] >= HEIGHT[layer]:
                yield f"{name} imports {other}"


def test_arrows_point_one_way():
    assert not sorted(wrong_arrows({name: path.read_text() for name, path in MODULES.items()}))


def test_every_layer_is_known():
    top = {name.split(".")[1] for name in MODULES if "." in name}
    assert top - {"__main__"} == set(HEIGHT)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("tacit.solvers.interpolation.newton", "from tacit.flows.forms.dual import DualSquare"),
        ("tacit.flows.forms.dual", "def f():\n    from tacit.solvers.interpolation import newton"),
        ("tacit.flows.driver", "import tacit.show.progress"),
        ("tacit.models.model", "from tacit import verbs"),
    ],
)
def test_a_wrong_arrow_is_found(name, source):
    assert len(set(wrong_arrows({name: source}))) >= 1
    indented = source.replace("\n", "\n    ")
    assert len(set(wrong_arrows({name: f"if TYPE_CHECKING:\n    {indented}"}))) >= 1


def graph(sources):
    """The imports among these modules, without packages that are imported together with their modules."""
    found = {}
    for name, source in sources.items():
        others = set(imports(ast.parse(source))) & set(sources)
        found[name] = {
            other for other in others - {name} if not any(each.startswith(f"{other}.") for each in others)
        }
    return found


def cycle_in(graph):
    """A cycle, as a list of names that begins and ends with the same; empty if there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        path.append(name)
        for other in sorted(graph.get(name, ())):
            if found := visit(other):
                return found
        done.add(path.pop())
        return []

    return next((found for name in sorted(graph) if (found := visit(name))), [])


def test_no_module_imports_itself_in_the_end():
    library = {name: path.read_text() for name, path in MODULES.items() if name != "tacit"}
    assert not cycle_in(graph(library))


def test_a_cycle_is_found():
    sources = {"a": "import b", "b": "def f():\n    from c import g", "c": "if TYPE_CHECKING:\n    import a"}
    assert cycle_in(graph(sources)) == ["a", "b", "c", "a"]


def test_verbs_ask_models_what_they_can_do():
    """Public functions do not test the class of a model, potential or network."""
    classes = {"Model", "Network", "Potential"}
    for folder in ("models", "potentials", "networks"):
        for name, path in MODULES.items():
            if name.startswith(f"tacit.{folder}"):
                classes |= {
                    node.name
                    for node in ast.walk(ast.parse(path.read_text()))
                    if isinstance(node, ast.ClassDef)
                }
    for name, path in MODULES.items():
        if not name.startswith("tacit.verbs"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
                asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                assert not asked & classes, (name, ast.unparse(node))


def test_figures_and_theorems_use_what_users_use():
    """Beyond it only constants and pieces of theory that a theorem itself names."""
    own = {"tacit", "papers", "results", "show", "data", "numerics", "errors", "packages"}
    named = {
        "tacit.solvers.networks.bounds",
        "tacit.models.model",
        "tacit.models.linear",
        "tacit.networks.architectures",
        "tacit.networks.exponential_flow",
        "tacit.networks.training",
        "tacit.parallel",
        "tacit.potentials",
        "tacit.warping",
    }
    for name, path in MODULES.items():
        if name.split(".")[1:2] != ["papers"]:
            continue
        for other in imports(ast.parse(path.read_text())):
            if other.startswith("tacit.") and other.split(".")[1] not in own:
                assert any(other == each or other.startswith(f"{each}.") for each in named), (name, other)


def test_what_is_not_installed_with_tacit_is_imported_where_it_is_said():
    """Each import is inside `with needed(…)`, or in a module that is imported inside one."""
    extras = {
        "jax": {"tacit.autodiff"},
        "torch": {"tacit.networks.in_torch", "tacit.networks.dense"},
        "sympy": {"tacit.derivation.closed_form", "tacit.derivation.symbolic"},
        "pyarrow": {"tacit.data.tables", "tacit.studies.store"},
        "distributed": {"tacit.parallel.executors"},
    }
    for extra, homes in extras.items():
        for name, path in MODULES.items():
            if extra in {other.split(".")[0] for other in imports(ast.parse(path.read_text()))}:
                assert any(name == home or name.startswith(f"{home}.") for home in homes), (extra, name)


def test_only_estimators_need_scikit_learn():
    """Except a loader of images, which downloads files through it."""
    needing = {
        name
        for name, path in MODULES.items()
        if any(other.split(".")[0] == "sklearn" for other in imports(ast.parse(path.read_text())))
    }
    assert {name for name in needing if not name.startswith("tacit.estimators")} == {"tacit.data.images"}
