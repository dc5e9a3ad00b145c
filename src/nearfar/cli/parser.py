"""Argument parser with suggestions for misspelt names, which accepts negative coordinates.

A flag's ``dest`` is the corresponding keyword of the library, so that an error about
``device='cpu'`` can be worded as ``--device cpu``.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from nearfar.errors import did_you_mean
from nearfar.formats.specs import formats

#: A number or a place, such as -33.9,18.4: not an option though it begins with a minus sign.
_NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$|^-\d+(\.\d+)?,-?\d+(\.\d+)?$")


class _Store(argparse._StoreAction):
    """Action that stores a value; repeated flags of several values accumulate."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        before = getattr(namespace, self.dest, None)
        if self.nargs in ("+", "*") and before is not None and before is not self.default:
            values = [*before, *values]
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """Argument parser that suggests corrections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = _NEGATIVE
        self.register("action", None, _Store)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            what = "command" if action.dest == "command" else action.dest
            cutoff = 0.5 if len(str(value)) <= 4 else 0.6  # spps is sssp
            near = did_you_mean(str(value), names, cutoff=cutoff)
            if value in ("help", "version"):
                near = f"; did you mean '--{value}'?"
            raise argparse.ArgumentError(
                None, f"no {what} {value!r}{near or ';'} `{self.prog} --help` lists them all"
            )
        near = did_you_mean(str(value), names)
        choose = ", ".join(names)
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}: give {choose}{near}")

    def error(self, message: str) -> NoReturn:
        """Exit with a one-line message, without the long usage text."""
        known = "--help`" in message or message.endswith("?")
        help_text = "" if known else f"; `{self.prog} --help` shows what it takes"
        self.exit(2, f"{self.prog}: error: {message}{help_text}\n")

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        try:
            return super()._get_value(action, text)
        except argparse.ArgumentError as error:
            kind = getattr(action.type, "__name__", "")
            wanted = {"int": "integer"}.get(kind, kind)
            # Types with a message of their own raise an ArgumentTypeError.
            if isinstance(error.__context__, argparse.ArgumentTypeError) or not wanted:
                raise
            article = "an" if wanted[0] in "aeiou" else "a"
            raise argparse.ArgumentError(action, f"{text!r} is not {article} {wanted}") from None

    @property
    def commands(self) -> dict[str, Parser]:
        """Return the parsers of the sub-commands by name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return action.choices
        return {}

    def innermost(self, words: list[str]) -> Parser:
        """Return the parser of the innermost sub-command that the words name."""
        parser = self
        for word in words:
            parser = parser.commands.get(word, parser)
        return parser

    def flags(self) -> list[str]:
        """Return the flags that the help shows."""
        return [
            flag
            for flag, action in self._option_string_actions.items()
            if action.help != argparse.SUPPRESS
        ]

    def word(self, name: str, value: str | None) -> str:
        """Translate an option in a message, and its Python value, to a flag of this command."""
        text = (value or "").strip("'\"")
        text = text.lower() if text in ("None", "True", "False") else text
        shown = [action for action in self._actions if action.help != argparse.SUPPRESS]
        options = [action for action in shown if action.option_strings]
        dests = {action.dest.removeprefix("parameter_"): action for action in options}
        if name in dests:
            action = dests[name]
            flag = action.option_strings[-1]
            return flag if action.nargs == 0 or text in ("", "...") else f"{flag} {text}"
        if value is None:
            return name
        for dest, known in (("option", _method_options), ("read_option", _reader_options)):
            if dest in dests and name in known():
                return f"--{dest.replace('_', '-')} {name}={text}"
        return f"{name}={value}"

    def parse_all(self, words: list[str]) -> argparse.Namespace:
        """Parse, and refuse unknown arguments with the nearest flag of the command."""
        args, rest = self.parse_known_args(words)
        if rest:
            parser = self.innermost(words)
            near = did_you_mean(rest[0].partition("=")[0], parser.flags())
            parser.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return args


def flag(
    to: argparse._ActionsContainer, spelling: str, help: str, type: Any = None, **more: Any
) -> argparse.Action:
    """Add a flag as it is written: ``--list``, ``-o --output FILE``, or ``--graphs NAME...``."""
    *names, value = spelling.split()
    if value.startswith("-"):  # no value, or one of ``choices``
        names.append(value)
        kept: dict[str, Any] = {} if "choices" in more else {"action": "store_true"}
    else:
        kept = {"metavar": value.removesuffix("...")}
        kept |= {"nargs": "+"} if value.endswith("...") else {}
    kept |= {} if type is None else {"type": type}
    return to.add_argument(*names, help=help, **kept | more)


def set_completer(action: argparse.Action, complete: Any) -> None:
    """Set the function that completes a flag's values in a shell; see :mod:`nearfar.cli.main`."""
    action.completer = complete  # type: ignore[attr-defined]  # argcomplete reads it


def _method_options() -> set[str]:
    from nearfar.registry import variants

    return {name for v in variants(unsafe=True) for name in v.options.__dataclass_fields__}


def _reader_options() -> set[str]:
    every = {"max_unpacked"}  # options of :func:`nearfar.read` itself
    return every.union(*(form.read_options() for form in formats().values()))
