"""The `fedabm` command: `parsers` knows its words, and every command has a module of its own."""

from __future__ import annotations

import errno
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from fedabm.cli.parsers import command_line
from fedabm.common.errors import FedabmError, InputError, Interrupted
from fedabm.common.files import unwritable
from fedabm.common.texts import visible
from fedabm.specs.places import is_loading

__all__ = ["main", "run_script"]

#: what only data and trained models need, and how to have it; closed forms do without
_FOR_TRAINING = {"torch": "pip install torch", "sklearn": "pip install scikit-learn"}
#: reasons of the disk, not of a program
_OF_THE_DISK = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS),
    *(errno.EACCES, errno.EPERM, errno.ENAMETOOLONG),
}
#: letters at the beginning and at the end of a long message that are shown
_HALF = 600


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input gets one line and exit code 2."""
    try:
        options = command_line().parse_args(arguments)
        return int(pkgutil.resolve_name(options.command)(options) or 0)
    except FedabmError as error:
        print(f"fedabm: {_one_line(str(error))}", file=sys.stderr)
        return 2
    except Interrupted:
        return 130
    except KeyboardInterrupt:
        print("fedabm: interrupted; nothing was recorded", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if error.name not in _FOR_TRAINING:
            raise
        print(f"fedabm: this needs {error.name}, which is not here; {_FOR_TRAINING[error.name]}", file=sys.stderr)
        return 2
    except MemoryError:
        print("fedabm: not enough memory; take fewer owners or steps, or record less", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        place = Path(str(error.filename or "this disk"))
        print(f"fedabm: {_one_line(str(unwritable(place, error)))}", file=sys.stderr)
        return 2


def _one_line(text: str) -> str:
    """A message in one line, with nothing hidden in it, and without the middle of one that nobody would read."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= 2 * _HALF else f"{line[:_HALF]} ... {line[-_HALF:]}"


def run_script(file: str) -> NoReturn:
    """What a scenario script, wherever it is, calls when it is run by itself: `run_script(__file__)`.

    Parameters
    ----------
    file : str
        The script: `__file__`.

    Returns
    -------
    NoReturn
        It ends the process with the exit code of the run.
    """
    path = Path(file).resolve()
    if is_loading(path):
        raise InputError(f"{path} runs itself while it is loaded; call run_script under if __name__ == '__main__':")
    sys.exit(main(["run", str(path), *sys.argv[1:]]))
