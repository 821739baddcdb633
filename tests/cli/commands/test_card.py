"""``diffprof card``"""

from __future__ import annotations

from pathlib import Path

from diffprof.render.card import model_card
from tests.cli.conftest import Run
from tests.sample_profiles import everything_measured, stable_diffusion


def test_a_saved_profile_is_printed_as_the_card_of_its_model(run: Run, tmp_path: Path) -> None:
    file = stable_diffusion().save(tmp_path / "p.json")
    ended = run("card", str(file))
    assert (ended.code, ended.out.strip()) == (0, model_card(stable_diffusion()).strip())


def test_it_is_written_to_a_file_instead(run: Run, tmp_path: Path) -> None:
    file, card = everything_measured().save(tmp_path / "p.json"), tmp_path / "card.md"
    ended = run("card", str(file), "-o", str(card))
    assert (ended.code, ended.out) == (0, "")
    assert card.read_text() == model_card(everything_measured())


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_counted(run: Run, tmp_path: Path) -> None:
    ended = run("card", "no-such-model", "-o", str(tmp_path / "none" / "card.md"))
    assert ended.code != 0 and "none" in ended.err and "no-such-model" not in ended.err


def test_a_card_is_not_written_as_something_else(run: Run, tmp_path: Path) -> None:
    ended = run("card", str(stable_diffusion().save(tmp_path / "p.json")), "-o", "card.docx")
    assert (ended.code, ended.err) == (2, "diffprof: error: A card is Markdown; name it card.md, not card.docx.\n")
