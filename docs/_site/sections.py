"""The sections of a docstring (Parameters, Returns, …), as numpydoc writes them.

A method that overrides one of a base class has a docstring of one line; its parameters and return values are
documented in the base class. `whole` combines the two.
"""

import inspect
import re

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
LISTS = ("Parameters", "Returns", "Raises", "Attributes")


def parts(text):
    """(heading, text) of each section of a docstring; the heading of the text before the first is ""."""
    pieces = HEADING.split(text)
    return list(zip(["", *pieces[1::2]], pieces[::2], strict=True))


def entries(text):
    """(name or names, type, description) of each entry of a list."""
    found = []
    for row in text.rstrip().split("\n"):
        if row and not row.startswith(" "):
            name, _, kind = row.partition(" : ")
            found.append((name, kind, []))
        elif found:
            found[-1][2].append(row[4:])
    return [(name, kind, "\n".join(words).strip("\n")) for name, kind, words in found]


def names(text, heading):
    """The names under a heading; None if there is no such heading."""
    section = dict(parts(text)).get(heading)
    if section is None:
        return None
    return [name for group, _, _ in entries(section) for name in group.split(", ")]


def whole(owner, name):
    """The docstring of a method, with missing sections from the base class."""
    texts = [inspect.cleandoc(vars(kind)[name].__doc__ or "") for kind in owner.__mro__ if name in vars(kind)]
    own = next((text for text in texts if text), "")
    contract = next((text for text in texts if HEADING.search(text)), "")
    if HEADING.search(own) or not contract:
        return own
    return f"{own}\n\n{contract[HEADING.search(contract).start() :]}"
