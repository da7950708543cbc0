"""On which line of a TOML text a key stands.

Rule: the text has already been parsed, so it is valid; this reads only its outline, with the
small part of TOML's grammar that decides where keys are.
"""

import re
from dataclasses import dataclass, field
from typing import Final

Path = tuple[str | int, ...]

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
      | (?P<newline>\n)
      | (?P<mark>[\[\]{}=,.])
      | (?P<word>[^\s\[\]{}=,.#"']+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of TOML: a mark, a string, a bare word, or the end of a line."""

    kind: str
    text: str
    line: int


@dataclass(slots=True)
class Outline:
    """Lines of keys and tables, by path; elements of arrays are numbered."""

    lines: dict[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """Line of the key, or of the nearest table around it; 1 for the file as a whole."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return 1


def outline_of(text: str) -> Outline:
    """Outline of a valid TOML text."""
    return _Reader(text).read()


def _tokens(text: str) -> list[Token]:
    tokens, line = [], 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
    tokens.append(Token("newline", "\n", line))
    return tokens


class _Reader:
    """Reads an outline token by token."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._outline = Outline()
        self._table: Path = ()
        self._counts: dict[Path, int] = {}

    def read(self) -> Outline:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "newline":
                self._at += 1
            elif token.text == "[" and token.kind == "mark":
                self._read_header()
            else:
                self._read_pair(self._table)
        return self._outline

    def _read_header(self) -> None:
        is_array = self._tokens[self._at + 1].text == "["
        line = self._tokens[self._at].line
        self._at += 2 if is_array else 1
        path = self._resolved(self._read_key())
        self._at += 2 if is_array else 1
        if is_array:
            count = self._counts.get(path, 0)
            self._counts[path] = count + 1
            self._note(path, line)
            path = (*path, count)
        self._table = path
        self._note(path, line)

    def _resolved(self, key: tuple[str, ...]) -> Path:
        """A header's path, with the latest element of each array of tables on the way."""
        path: Path = ()
        for index, name in enumerate(key):
            path = (*path, name)
            if path in self._counts and index < len(key) - 1:
                path = (*path, self._counts[path] - 1)
        return path

    def _read_pair(self, table: Path) -> None:
        line = self._tokens[self._at].line
        path = table
        for name in self._read_key():
            path = (*path, name)
            self._note(path, line)
        self._at += 1  # the equals sign
        self._read_value(path)

    def _read_key(self) -> tuple[str, ...]:
        names = [self._read_name()]
        while self._tokens[self._at].text == "." and self._tokens[self._at].kind == "mark":
            self._at += 1
            names.append(self._read_name())
        return tuple(names)

    def _read_name(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return token.text[1:-1] if token.kind == "string" else token.text

    def _read_value(self, path: Path) -> None:
        token = self._tokens[self._at]
        if token.text == "[" and token.kind == "mark":
            self._read_elements(path)
        elif token.text == "{" and token.kind == "mark":
            self._read_inline_table(path)
        else:
            while not self._ends_value(self._tokens[self._at]):
                self._at += 1

    def _read_elements(self, path: Path) -> None:
        self._at += 1
        index = 0
        while (token := self._tokens[self._at]).text != "]":
            if token.kind == "newline" or token.text == ",":
                self._at += 1
                continue
            self._note((*path, index), token.line)
            self._read_value((*path, index))
            index += 1
        self._at += 1

    def _read_inline_table(self, path: Path) -> None:
        self._at += 1
        while (token := self._tokens[self._at]).text != "}":
            if token.kind == "newline" or token.text == ",":
                self._at += 1
            else:
                self._read_pair(path)
        self._at += 1

    @staticmethod
    def _ends_value(token: Token) -> bool:
        return token.kind == "newline" or (token.kind == "mark" and token.text in {",", "]", "}"})

    def _note(self, path: Path, line: int) -> None:
        self._outline.lines.setdefault(path, line)
