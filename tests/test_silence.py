"""Nothing is swallowed: whoever catches everything raises again, makes a result of the error, or logs why."""

import ast
from collections.abc import Iterator

import pytest

from tests.test_layers import sources

BROAD = {"Exception", "BaseException"}
SAYING = {"debug", "info", "warning", "error", "exception", "print_exc", "print"}


def silent(text: str) -> Iterator[int]:
    """The lines of handlers of everything that neither raise, nor use the error, nor log."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _speaks(node):
            yield node.lineno
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "suppress":
            yield from (node.lineno for kind in node.args if _is_broad(kind))


def _is_broad(kind: ast.expr | None) -> bool:
    return kind is None or any(isinstance(part, ast.Name) and part.id in BROAD for part in ast.walk(kind))


def _speaks(handler: ast.ExceptHandler) -> bool:
    """A raise, a call that logs, or the error itself in what is returned, kept or given to somebody."""
    parts = [part for statement in handler.body for part in ast.walk(statement)]
    said = [part.func for part in parts if isinstance(part, ast.Call)]
    logs = any((one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "")) in SAYING for one in said)
    used = handler.name is not None and any(isinstance(part, ast.Name) and part.id == handler.name for part in parts)
    return logs or used or any(isinstance(part, ast.Raise) for part in parts)


@pytest.mark.parametrize(
    ("handler", "count"),
    [
        ("except Exception:\n    pass", 1),
        ("except (ValueError, Exception) as error:\n    found = None", 1),
        ("except:\n    return_code = 1", 1),
        ("except ValueError:\n    pass", 0),
        ("except Exception as error:\n    row = str(error)", 0),
        ("except BaseException:\n    clean()\n    raise", 0),
        ("except Exception:\n    log.warning('one by one')", 0),
    ],
)
def test_a_silent_handler_is_found(handler: str, count: int) -> None:
    assert len(list(silent(f"try:\n    go()\n{handler}"))) == count


def test_suppressing_everything_is_found() -> None:
    assert list(silent("with suppress(Exception):\n    go()")) == [1]


def test_no_module_swallows_everything() -> None:
    texts = sources()
    assert len(texts) > 400
    assert [f"{module}:{line}" for module, text in texts.items() for line in silent(text)] == []
