"""Notes that know their own content."""

import json

import pytest

from fedabm.results.seals import read_sealed, sealed

NOTE = {"a": 1, "b": [1.5, "x"], "c": {"d": None}}


def test_every_flipped_bit_of_a_sealed_note_is_noticed(tmp_path) -> None:
    """Also one in the name of the seal, without which it would look like a note of an older version."""
    path, text = tmp_path / "note.json", sealed(NOTE).encode()
    path.write_bytes(text)
    assert read_sealed(path) == NOTE
    for place in range(len(text)):
        for bit in range(8):
            spoilt = bytearray(text)
            spoilt[place] ^= 1 << bit
            path.write_bytes(spoilt)
            with pytest.raises(ValueError, match=r".+"):
                read_sealed(path)


@pytest.mark.parametrize("note", [{}, {"a": 1}, [1], "seal"])
def test_notes_of_older_versions_have_no_seal(note, tmp_path) -> None:
    (tmp_path / "note.json").write_text(json.dumps(note))
    assert read_sealed(tmp_path / "note.json") == note
