"""Names and texts are words of the field: what once was a private dialect does not come back."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: words of names that mean nothing to an engineer of the field, or meant several things
DIALECT = {"deed", "deeds", "stance", "told", "lately", "sound", "desk", "beside", "freed"}
#: phrases that read as if they were translated
TRANSLATED = re.compile(r"\breckon|\bthrows? (?:the )?dice|(?<!how )\bso many (?!that\b)|\bwhose each\b", re.IGNORECASE)

CODE = sorted([*(ROOT / "fedabm").rglob("*.py*"), *(ROOT / "scenarios").glob("*.py")])
CODE = [path for path in CODE if path.suffix in (".py", ".pyi")]
PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


def dialect(code: str) -> Iterator[str]:
    """The names in a text that have a word of the dialect."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME and DIALECT & set(token.string.lower().split("_")):
            yield f"{token.start[0]}: {token.string}"


def test_names_are_words_of_the_field():
    found = {str(path.relative_to(ROOT)): [*dialect(path.read_text("utf-8"))] for path in CODE}
    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.parametrize("name", ["told", "_told", "best_beside", "DEEDS", "told_twice"])
def test_a_name_of_the_dialect_is_noticed(name):
    assert [*dialect(f"{name} = 1\n")] == [f"1: {name}"]


def test_texts_are_not_translated():
    found = {str(path.relative_to(ROOT)): TRANSLATED.findall(path.read_text("utf-8")) for path in [*CODE, *PAGES]}
    assert {name: some for name, some in found.items() if some} == {}


def test_a_translated_phrase_is_noticed():
    assert TRANSLATED.findall("It reckons with so many owners, whose each throws dice") == [
        "reckon",
        "so many ",
        "whose each",
        "throws dice",
    ]
