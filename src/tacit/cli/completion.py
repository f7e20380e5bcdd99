"""tacit completion: print a script that completes commands, options and files in your shell.

Print a script that lets bash, zsh or tcsh complete the commands and options of tacit when you press
Tab. Needs shtab: pip install 'shtab>=1.7'.

examples:
  tacit completion bash > ~/.local/share/bash-completion/completions/tacit
  tacit completion zsh > ~/.zfunc/_tacit       # with fpath+=~/.zfunc before compinit in ~/.zshrc
  eval "$(tacit completion bash)"              # in this shell only
"""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.options import DONE
from tacit.packages import needed

_SHELLS = ("bash", "zsh", "tcsh")
_FILES = ("FILE", "DATA", "NEW", "MODEL")  # arguments that are completed with names of files
_FOLDERS = ("DIR",)


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(options: argparse.Namespace) -> int:
    with needed("shtab", "tacit completion"):
        import shtab

    _complete_paths(options.parser, shtab.FILE, shtab.DIRECTORY)
    print(shtab.complete(options.parser, options.shell))
    return DONE


def _complete_paths(parser: argparse.ArgumentParser, file: Any, folder: Any) -> None:
    """Mark the arguments that are files and folders, in every command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_paths(command, file, folder)
        elif action.metavar in (*_FILES, *_FOLDERS):
            action.complete = folder if action.metavar in _FOLDERS else file  # type: ignore[attr-defined]
