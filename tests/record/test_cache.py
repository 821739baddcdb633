"""The cache gives back what was counted from the same content, and nothing else."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from diffprof.record import cache
from tests.sample_profiles import hostile, stable_diffusion

KEY = "a" * 64
REQUEST = {"dtype": None, "arguments": {"height": 512}}


def test_what_was_written_is_read() -> None:
    assert cache.read(KEY) is None
    assert cache.write(KEY, stable_diffusion())
    assert cache.read(KEY) == stable_diffusion()


def test_the_key_depends_on_everything_the_profile_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        cache.key("m", b"content", REQUEST),
        cache.key("other", b"content", REQUEST),
        cache.key("m", b"other", REQUEST),
        cache.key("m", b"content", {**REQUEST, "dtype": "float16"}),
    }
    monkeypatch.setattr(cache, "FORMAT_VERSION", 99)
    keys.add(cache.key("m", b"content", REQUEST))
    monkeypatch.setattr(cache, "_version", lambda library: "99" if library == "torch" else "1")
    keys.add(cache.key("m", b"content", REQUEST))
    monkeypatch.setattr(cache, "_digest_of_sources", lambda: "other")
    keys.add(cache.key("m", b"content", REQUEST))
    assert len(keys) == 7


def test_the_key_does_not_depend_on_the_order_of_arguments() -> None:
    assert cache.key("m", b"", {"a": 1, "b": 2}) == cache.key("m", b"", {"b": 2, "a": 1})


def test_true_and_one_are_different_requests() -> None:
    assert cache.key("m", b"", {"a": 1}) != cache.key("m", b"", {"a": True})


def test_the_digest_of_a_folder_sees_configurations_and_the_headers_of_weights(tmp_path: Path) -> None:
    (tmp_path / "unet").mkdir()
    config = tmp_path / "unet" / "config.json"
    config.write_text("{}")
    first = cache.digest_of_folder(tmp_path)
    (tmp_path / "unet" / "weights.bin").write_bytes(b"1")
    assert cache.digest_of_folder(tmp_path) == first
    weights = tmp_path / "unet" / "weights.safetensors"
    digests = []
    for begin, end in ((b"1", b"1"), (b"2", b"1"), (b"2", b"2"), (b"2", b"22")):
        weights.write_bytes(begin + bytes(cache.HEADER_BYTES) + end)
        digests.append(cache.digest_of_folder(tmp_path))
    assert len({first, *digests}) == 4, "the second and the third differ behind the header only"
    assert digests[1] == digests[2]
    weights.unlink()
    config.write_text("{ }")
    second = cache.digest_of_folder(tmp_path)
    config.rename(tmp_path / "unet" / "other.json")
    assert len({first, second, cache.digest_of_folder(tmp_path)}) == 3


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8b damaged"])
def test_a_damaged_entry_is_ignored_and_written_again(content: bytes, own_cache: Path) -> None:
    own_cache.mkdir()
    (own_cache / f"{KEY}.json.gz").write_bytes(content)
    assert cache.read(KEY) is None
    cache.write(KEY, stable_diffusion())
    assert cache.read(KEY) == stable_diffusion()


def test_writers_at_the_same_time_do_not_disturb_each_other(own_cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: cache.write(KEY, stable_diffusion()), range(12)))
    assert all(results)
    assert cache.read(KEY) == stable_diffusion()
    assert len(list(own_cache.iterdir())) == 1


def test_the_oldest_go_when_the_cache_is_full(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [letter * 64 for letter in "abc"]
    cache.write(keys[0], stable_diffusion())
    cache.write(keys[1], hostile())
    for age, key in enumerate(keys[:2]):
        os.utime(own_cache / f"{key}.json.gz", ns=(age, age))
    # The first was written first, but used last.
    cache.read(keys[0])
    monkeypatch.setattr(cache, "MAX_BYTES", cache.info().size_bytes)
    cache.write(keys[2], hostile())
    assert [cache.read(key) is not None for key in keys] == [True, False, True]


def test_clearing_removes_profiles_and_nothing_else(own_cache: Path) -> None:
    cache.write(KEY, stable_diffusion())
    (own_cache / "precious.txt").write_text("mine")
    (own_cache / f".{KEY}.json.gz.0123abcd.tmp").write_text("left by a killed writer")
    assert cache.info().entries == 1, "what was not finished is no entry"
    assert cache.clear().entries == 1
    assert [path.name for path in own_cache.iterdir()] == ["precious.txt"]
    assert cache.info().entries == 0


@pytest.mark.parametrize(("age_seconds", "is_kept"), [(10, True), (7200, False), (-7200, False)])
def test_only_what_nobody_can_be_writing_any_more_is_removed(own_cache: Path, age_seconds: int, is_kept: bool) -> None:
    cache.write(KEY, stable_diffusion())
    unfinished = own_cache / f".{KEY}.json.gz.0123abcd.tmp"
    unfinished.write_text("half of")
    changed = time.time() - age_seconds
    os.utime(unfinished, (changed, changed))
    cache.write(KEY, stable_diffusion())
    assert unfinished.exists() is is_kept


def test_a_folder_that_cannot_be_written_is_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("DIFFPROF_CACHE_DIR", str(file / "below"))
    assert cache.write(KEY, stable_diffusion()) is False
    assert cache.read(KEY) is None
    assert cache.info().entries == 0


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the XDG folders are those of Linux")
def test_the_cache_lies_where_the_platform_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DIFFPROF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "diffprof"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder() == Path.home() / ".cache" / "diffprof"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_only_a_plain_file_is_an_entry_and_anything_else_is_replaced_by_one(kind: str, tmp_path: Path) -> None:
    cache.folder().mkdir(parents=True, exist_ok=True)
    entry, elsewhere = cache.folder() / f"{KEY}.json.gz", tmp_path / "elsewhere.json.gz"
    stable_diffusion().save(elsewhere)
    before = elsewhere.read_bytes()
    if kind == "pipe":
        os.mkfifo(entry)
    else:
        entry.symlink_to(elsewhere)
    assert cache.read(KEY) is None
    assert cache.write(KEY, hostile())
    assert cache.read(KEY) == hostile()
    assert elsewhere.read_bytes() == before


def test_a_folder_or_a_link_to_nowhere_with_the_name_of_an_entry_is_no_trouble() -> None:
    assert cache.write(KEY, stable_diffusion())
    (cache.folder() / f"{'b' * 64}.json.gz").mkdir()
    (cache.folder() / f"{'c' * 64}.json.gz").symlink_to("nowhere")
    assert cache.info().entries == 2
    assert cache.read("b" * 64) is cache.read("c" * 64) is None
    assert not cache.write("b" * 64, stable_diffusion())
    assert cache.clear().entries == 2
    assert [path.name for path in cache.folder().iterdir()] == [f"{'b' * 64}.json.gz"]
