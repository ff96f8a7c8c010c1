"""Downloads from a server on this machine: complete, resumed, corrupted, absent."""

import gzip
import hashlib
import io
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from fedabm.cli import data as command
from fedabm.common.errors import InputError
from fedabm.data.datasets import download, registry
from fedabm.data.datasets.download import Remote, _SameScheme, fetch, open_url

BODY = bytes(range(256)) * 4000


class Handler(BaseHTTPRequestHandler):
    """Serves `files`, with ranges; `cut` makes the first answer break off, `ranges = False` ignores ranges."""

    files: dict[str, bytes]
    cut: int | None
    ranges: bool
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append((self.path, wanted))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            return self.end_headers()
        if self.path not in self.files:
            return self.send_error(404)
        body, start = self.files[self.path], 0
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut, type(self).cut = type(self).cut, None
        self.wfile.write(body[start:cut])
        return None

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[tuple[type[Handler], str]]:
    kind = type("Fresh", (Handler,), {"files": {"/a": BODY}, "cut": None, "ranges": True, "asked": []})
    http = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield kind, f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    http.server_close()
    thread.join()


def remote(*urls: str, body: bytes = BODY, kind: str = "sha256") -> Remote:
    return Remote("set/a.bin", urls, hashlib.new(kind, body).hexdigest())


def quiet(name: str, done: int, total: int | None) -> None:
    pass


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_a_file_arrives_whole_with_progress(server, tmp_path, kind):
    _, site = server
    seen: list[tuple[str, int, int | None]] = []
    fetch(remote(f"{site}/a", kind=kind), tmp_path, open_url, lambda *told: seen.append(told))
    assert (tmp_path / "set/a.bin").read_bytes() == BODY
    assert seen[-1] == ("a.bin", len(BODY), len(BODY))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["a.bin"]


def test_a_transfer_that_broke_off_goes_on(server, tmp_path):
    handler, site = server
    handler.cut = 300_000
    fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "set/a.bin").read_bytes() == BODY
    assert handler.asked == [("/a", None), ("/a", "bytes=300000-")]


def test_what_an_earlier_run_left_is_used(server, tmp_path):
    handler, site = server
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.bin.part").write_bytes(BODY[:1000])
    fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert handler.asked == [("/a", "bytes=1000-")]
    (tmp_path / "set/a.bin").rename(tmp_path / "set/a.bin.part")
    fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "set/a.bin").read_bytes() == BODY


def test_a_server_without_ranges_starts_again(server, tmp_path):
    handler, site = server
    handler.ranges = False
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.bin.part").write_bytes(b"old" * 50)
    fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "set/a.bin").read_bytes() == BODY


def test_a_wrong_beginning_is_thrown_away_and_got_again(server, tmp_path):
    _, site = server
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.bin.part").write_bytes(b"wrong")
    fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "set/a.bin").read_bytes() == BODY


def test_the_second_mirror_helps(server, tmp_path):
    handler, site = server
    handler.files["/bad"] = BODY[::-1]
    fetch(remote(f"{site}/none", f"{site}/bad", f"{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "set/a.bin").read_bytes() == BODY


def test_a_corrupted_file_is_never_kept(server, tmp_path):
    handler, site = server
    handler.files["/a"] = BODY[:-1] + b"?"
    with pytest.raises(InputError, match=r"could not get a\.bin \(127.*checksum sha256 .* by hand") as caught:
        fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "set").iterdir()) == []


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/a", "file:///etc/passwd", "data:,x", "gopher://127.0.0.1/"])
def test_redirects_to_other_schemes_are_refused(server, tmp_path, target):
    _, site = server
    with pytest.raises(InputError, match=r"could not get a\.bin \(127.* by hand"):
        fetch(remote(f"{site}/to/{target}"), tmp_path, open_url, quiet)
    assert list((tmp_path / "set").iterdir()) == []


def test_redirects_over_the_web_are_followed_and_encryption_is_kept(server, tmp_path):
    _, site = server
    fetch(remote(f"{site}/to/{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "set/a.bin").read_bytes() == BODY
    secure = urllib.request.Request("https://somewhere.invalid/a")
    with pytest.raises(urllib.error.URLError, match="redirected from https to http, which is refused"):
        _SameScheme().redirect_request(secure, None, 302, "Found", {}, "http://somewhere.invalid/a")
    with pytest.raises(urllib.error.URLError, match="no address of the web"):
        open_url(urllib.request.Request(f"file://{tmp_path}/set/a.bin"))


def test_half_a_file_is_never_taken_for_a_whole_one(server, tmp_path):
    """A server that always breaks off, and one that says that half of it is all."""
    handler, site = server
    handler.files["/half"] = BODY[: len(BODY) // 2]
    with pytest.raises(InputError, match="checksum sha256"):
        fetch(remote(f"{site}/half"), tmp_path, open_url, quiet)
    assert not remote(f"{site}/half").there(tmp_path)
    assert list((tmp_path / "set").iterdir()) == []
    (tmp_path / "set" / "a.bin.part").write_bytes(BODY[:1000])
    assert not remote(f"{site}/half").there(tmp_path)


def test_nothing_is_written_through_a_link(server, tmp_path):
    _, site = server
    (tmp_path / "set").mkdir()
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "set" / "a.bin.part").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="could not get"):
        fetch(remote(f"{site}/a"), tmp_path, open_url, quiet)
    assert (tmp_path / "precious").read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "set/../../evil"])
def test_no_file_is_asked_for_outside_the_data_folder(name):
    with pytest.raises(InputError, match="would lie outside the data folder"):
        Remote(name, (), "0" * 64)
    with pytest.raises(InputError, match="would lie outside the data folder"):
        Remote("set/a.tar", (), "0" * 64, members=(name,))


def test_without_a_network_it_says_what_to_put_where(tmp_path):
    def offline(request: object) -> None:
        raise urllib.error.URLError("no route to host")

    with pytest.raises(InputError, match=r"could not get train-images.*no route to host.* put it into .*mnist by hand"):
        download("mnist", tmp_path, opener=offline)
    with pytest.raises(InputError, match=r"femnist has no public download .* put LEAF's femnist/train/"):
        download("femnist", tmp_path, opener=offline)
    assert download("digits", tmp_path, opener=offline) == tmp_path
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot use .*Not a directory; choose another folder"):
        download("mnist", tmp_path / "file", opener=offline)


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
    return buffer.getvalue()


def test_only_the_named_members_leave_an_archive(server, tmp_path):
    handler, site = server
    handler.files["/a"] = archive("x/one", "../evil", "x/two")
    packed = replace(remote(f"{site}/a", body=handler.files["/a"]), members=("x/one", "x/two"))
    assert not packed.there(tmp_path)
    fetch(packed, tmp_path, open_url, quiet)
    assert packed.there(tmp_path)
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert found == ["x/one", "x/two"]
    assert not (tmp_path.parent / "evil").exists()
    with pytest.raises(InputError, match="no file x/three"):
        fetch(replace(packed, members=("x/three",)), tmp_path, open_url, quiet)


def test_get_fetches_only_what_is_missing(server, tmp_path, monkeypatch):
    handler, site = server
    (tmp_path / "mnist").mkdir()
    files = list(registry._MNIST_GZ)
    (tmp_path / "mnist" / files[0].removesuffix(".gz")).write_bytes(b"there")
    remotes = []
    for file in files:
        handler.files[f"/{file}"] = gzip.compress(file.encode())
        body = handler.files[f"/{file}"]
        remotes.append(Remote(f"mnist/{file}", (f"{site}/{file}",), hashlib.md5(body).hexdigest()))
    spec = replace(registry._SPECS["mnist"], remotes=tuple(remotes), read=lambda folder: range(1_000))
    monkeypatch.setitem(registry._SPECS, "mnist", spec)
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    console = Console(file=io.StringIO(), width=200)
    assert command.get("mnist", console) == tmp_path
    assert [path for path, _ in handler.asked] == [f"/{file}" for file in files[1:]]
    assert f"mnist is ready: 1,000 samples in {tmp_path}" in console.file.getvalue()
    assert {row.name: row.state for row in command.list_rows()}["mnist"] == "present"
    assert command.get("mnist", console) == tmp_path
    assert len(handler.asked) == 3


def test_what_is_there_but_damaged_is_not_ready(tmp_path, monkeypatch):
    (tmp_path / "mnist").mkdir()
    for file in registry._MNIST_GZ:
        (tmp_path / "mnist" / file.removesuffix(".gz")).write_bytes(b"half a file")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    console = Console(file=io.StringIO())
    with pytest.raises(InputError, match=r"is damaged: .*; delete it and get it again"):
        command.get("mnist", console)
    assert "ready" not in console.file.getvalue()


def test_every_download_has_a_checksum_and_an_address():
    for name, spec in registry._SPECS.items():
        for item in spec.remotes:
            assert len(item.checksum) in (32, 64), name
            assert all(url.startswith("http") for url in item.urls), name
            assert not Path(item.path).is_absolute(), name
