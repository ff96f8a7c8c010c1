"""The report leads to the card of an audit, and says how to get one."""

from __future__ import annotations

import json
from pathlib import Path

from fedabm.report.cards import cards
from fedabm.report.page import page


def test_cards_in_the_folder_are_linked_from_where_the_page_is(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.symlink_to(folders["run"])
    assert "fedabm audit free_riding --set owners=6 --seed 0 --out run/audit" in page(folder)
    home = tmp_path / "with cards"
    (home / "my audit").mkdir(parents=True)
    for place, rule in ((home, "NoPayments()"), (home / "my audit", "<b>Bounty</b>")):
        (place / "card.html").write_text("<html></html>")
        (place / "card.json").write_text(json.dumps({"rule": rule}))
    found = cards(home, home)
    assert [one.address for one in found] == ["card.html", "my%20audit/card.html"]
    assert [one.words for one in found] == ["The card of NoPayments()", "The card of <b>Bounty</b>"]
    assert cards(home, tmp_path)[0].address == "with%20cards/card.html"
    (home / "card.json").write_text("[")
    assert cards(home, home)[0].words == "The card in with cards"
    assert cards(tmp_path / "nothing", home) == []
