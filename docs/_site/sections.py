"""The sections of a docstring (Parameters, Returns, …), as numpydoc writes them.

A method that overrides one of a contract says its own formula in a line; what goes in and comes out is said
once, by the contract. `whole` puts the two together.
"""

import inspect
import re

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
LISTS = ("Parameters", "Returns", "Raises", "Attributes")


def parts(text):
    """(heading, text) of each section of a docstring; that of the words before the first is ""."""
    pieces = HEADING.split(text)
    return list(zip(["", *pieces[1::2]], pieces[::2], strict=True))


def entries(text):
    """(name or names, type, words) of each entry of a list."""
    found = []
    for row in text.rstrip().split("\n"):
        if row and not row.startswith(" "):
            name, _, kind = row.partition(" : ")
            found.append((name, kind, []))
        elif found:
            found[-1][2].append(row[4:])
    return [(name, kind, "\n".join(words).strip("\n")) for name, kind, words in found]


def names(text, heading):
    """The names under a heading, one by one; None where there is no such heading."""
    section = dict(parts(text)).get(heading)
    if section is None:
        return None
    return [name for group, _, _ in entries(section) for name in group.split(", ")]


def whole(owner, name):
    """The docstring of a method of a class; sections of the contract where it has none of its own."""
    texts = [inspect.cleandoc(vars(kind)[name].__doc__ or "") for kind in owner.__mro__ if name in vars(kind)]
    own = next((text for text in texts if text), "")
    contract = next((text for text in texts if HEADING.search(text)), "")
    if HEADING.search(own) or not contract:
        return own
    return f"{own}\n\n{contract[HEADING.search(contract).start() :]}"
