"""Fetching files: several mirrors, going on where a transfer broke off, and nothing kept that fails its checksum."""

from __future__ import annotations

import hashlib
import http.client
import os
import tarfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fedabm.common.errors import InputError
from fedabm.common.files import DRAFT, write

__all__ = ["Progress", "Remote", "fetch", "open_url"]

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes that have arrived and the bytes in all (None if the server does not say)."""
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Remote:
    """A file to fetch: its place below the data folder, its addresses and its published checksum.

    `checksum` is an MD5 or a SHA-256.  `members` are the files to take out of an archive; the archive is not kept.
    """

    path: str
    urls: tuple[str, ...]
    checksum: str
    members: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (self.path, *self.members):
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise InputError(f"{name!r} would lie outside the data folder; give a path below it")

    def there(self, folder: Path) -> bool:
        """Whether nothing has to be fetched any more."""
        if self.members:
            return all((folder / member).is_file() for member in self.members)
        target = folder / self.path
        return target.is_file() or (target.suffix == ".gz" and target.with_suffix("").is_file())


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows redirects over the web only, and never from an encrypted place to an open one."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        before, after = urllib.parse.urlsplit(req.full_url).scheme, urllib.parse.urlsplit(newurl).scheme
        if after not in ("https", before):
            raise urllib.error.URLError(f"redirected from {before} to {after or 'nowhere'}, which is refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_url(request: urllib.request.Request) -> Any:
    """Answer a request over the web, or give up after half a minute of silence."""
    if urllib.parse.urlsplit(request.full_url).scheme not in ("http", "https"):
        raise urllib.error.URLError(f"{request.full_url} is no address of the web")
    return urllib.request.build_opener(_SameScheme).open(request, timeout=30)


def fetch(remote: Remote, folder: Path, opener: Callable[[urllib.request.Request], Any], progress: Progress) -> None:
    """Fetch one file into `folder`; every mirror gets two chances, each going on where the last one stopped."""
    target = folder / remote.path
    part = target.with_name(target.name + DRAFT)  # the same name every time: what it holds need not be sent again
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot use {target.parent}: {error.strerror}; choose another folder (FEDABM_DATA)") from None
    reasons: dict[str, str] = {}
    for url in remote.urls * 2:
        try:
            _transfer(url, part, opener, progress)
            _check(part, remote.checksum)
            part.replace(target)
            return _unpack(remote, folder)
        except (OSError, http.client.HTTPException, tarfile.TarError) as error:
            reasons[urllib.parse.urlsplit(url).netloc] = " ".join(str(error).split()) or repr(error)
    tries = "; ".join(f"{host}: {reason}" for host, reason in reasons.items())
    raise InputError(f"could not get {target.name} ({tries}); put it into {target.parent} by hand, or try again")


def _transfer(url: str, part: Path, opener: Callable[[urllib.request.Request], Any], progress: Progress) -> None:
    """Bring `part` up to the full length; bytes that are there already are not asked for again."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with opener(request) as response:
            have = have if _goes_on(response, have) else 0
            length = response.headers.get("Content-Length")
            total = have + int(length) if length else None
            with open(part, "ab" if have else "wb", opener=_no_link) as file:
                while chunk := response.read(_CHUNK):
                    file.write(chunk)
                    progress(part.stem, file.tell(), total)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        return  # nothing is left to send: the checksum decides
    if total is not None and part.stat().st_size < total:
        raise OSError(f"broke off after {part.stat().st_size:,} of {total:,} bytes")


def _no_link(path: str, flags: int) -> int:
    """A link is not followed: what it points to is somebody else's."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _goes_on(response: Any, have: int) -> bool:
    """Whether the server sends only what is missing; many ignore the wish and send everything."""
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    return bool(have and response.status == http.HTTPStatus.PARTIAL_CONTENT and begins)


def _check(part: Path, expected: str) -> None:
    """Delete what arrived unless its checksum is the published one."""
    kind = "md5" if len(expected) == 32 else "sha256"
    with part.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    if found != expected:
        part.unlink()
        raise OSError(f"checksum {kind} {found}, expected {expected}")


def _unpack(remote: Remote, folder: Path) -> None:
    """Take only the named regular files out of the archive, so that it cannot write anywhere else."""
    if not remote.members:
        return
    archive = folder / remote.path
    with tarfile.open(archive) as tar:
        for member in remote.members:
            try:
                source = tar.extractfile(member)
            except KeyError:
                source = None
            if source is None:
                raise tarfile.TarError(f"no file {member} in {archive.name}")
            (folder / member).parent.mkdir(parents=True, exist_ok=True)
            write(folder / member, source.read())
    archive.unlink()
