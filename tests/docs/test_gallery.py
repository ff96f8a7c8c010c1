"""Pictures of the gallery are light, and every one belongs to a study."""

from pathlib import Path

from fedabm.study.library import names

PICTURES = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("*.png"))


def test_pictures_belong_to_studies_and_are_light():
    assert {picture.stem for picture in PICTURES} <= set(names())
    assert max(picture.stat().st_size for picture in PICTURES) < 150_000
