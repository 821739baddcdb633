"""The published numbers of accelerators are whole and plausible, and found by the names that torch and people use."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from diffprof.catalogue.accelerators import (
    DTYPES,
    MAKERS,
    Accelerator,
    accelerators,
    accelerators_with,
    find_accelerator,
    match_accelerator,
    read_accelerators,
)
from diffprof.errors import FileFormatError, RequestError

ALL = accelerators()
GIB = 1024**3

each_accelerator = pytest.mark.parametrize("accelerator", ALL, ids=lambda accelerator: accelerator.name)


@each_accelerator
def test_every_accelerator_has_numbers_in_the_right_units_and_a_source(accelerator: Accelerator) -> None:
    assert set(accelerator.peak_flops_per_second) <= set(DTYPES)
    assert all(5e12 < peak < 2e16 for peak in accelerator.peak_flops_per_second.values())
    assert 6 * GIB <= accelerator.memory_bytes <= 300 * GIB
    assert 1.6e11 < accelerator.bandwidth_bytes_per_second <= 8e12
    assert 16 <= (accelerator.multiprocessors or 16) <= 304
    assert 2**20 < (accelerator.l2_cache_bytes or 2**21) <= 256 * 2**20
    assert 70 <= (accelerator.board_power_watts or 70) <= 1400
    assert 7e9 < (accelerator.host_link_bytes_per_second or 7.1e9) <= 4.5e11
    assert accelerator.maker in ("NVIDIA", "AMD", "Intel")
    assert accelerator.source


@each_accelerator
def test_a_shorter_dtype_is_never_slower(accelerator: Accelerator) -> None:
    peaks = accelerator.peak_flops_per_second
    order = [peaks[dtype] for dtype in ("float32", "tf32", "float16", "float8", "float4") if dtype in peaks]
    assert order == sorted(order)
    if accelerator.name != "b300":  # NVIDIA left int8 nearly out of it
        assert peaks.get("int8", float("inf")) >= peaks.get("float8", peaks.get("float16", 0))


@each_accelerator
def test_both_16_bit_dtypes_are_as_fast(accelerator: Accelerator) -> None:
    peaks = accelerator.peak_flops_per_second
    half = 0.5 if accelerator.name == "mi100" else 1  # the first of its kind, with half the rate for bfloat16
    assert (
        peaks.get("bfloat16", peaks.get("float16", 0) * half) == peaks.get("float16", peaks.get("bfloat16", 0)) * half
    )


@each_accelerator
def test_every_accelerator_is_matched_by_each_name_that_torch_reports(accelerator: Accelerator) -> None:
    for name in accelerator.reported_names:
        for spelling in (name, name.removeprefix("NVIDIA "), name.upper()):
            assert match_accelerator(spelling, accelerator.multiprocessors, accelerator.memory_bytes) is accelerator


@each_accelerator
def test_every_accelerator_is_found_by_its_short_names_however_they_are_spelled(accelerator: Accelerator) -> None:
    for name in (accelerator.name, *accelerator.aliases):
        for spelling in (
            name,
            name.upper(),
            name.replace("-", " "),
            name.replace("-", ""),
            f"{accelerator.maker} {name}",
        ):
            assert find_accelerator(spelling) is accelerator


@each_accelerator
def test_every_accelerator_is_found_by_the_names_that_torch_reports(accelerator: Accelerator) -> None:
    shared = Counter(name for other in ALL for name in other.reported_names)
    for name in accelerator.reported_names:
        if shared[name] == 1:
            assert find_accelerator(name) is accelerator


@each_accelerator
def test_a_source_that_is_named_apart_belongs_to_a_number_that_is_there(accelerator: Accelerator) -> None:
    for number in accelerator.sources:
        known = accelerator.peak_flops_per_second if number in DTYPES else vars(accelerator)
        assert known.get(number) is not None, number
        assert accelerator.source_of(number) == accelerator.sources[number]


def test_a_number_without_a_source_of_its_own_has_the_common_one() -> None:
    h20 = find_accelerator("h20")
    assert h20.source_of("tf32") != h20.source
    assert h20.source_of("float32") == h20.source_of("memory_bytes") == h20.source


@pytest.mark.parametrize("accelerator", [a for a in ALL if "GeForce RTX" in a.reported_names[0]], ids=lambda a: a.name)
def test_geforce_cards_are_as_fast_as_with_accumulation_in_float32(accelerator: Accelerator) -> None:
    peaks = accelerator.peak_flops_per_second
    turing = accelerator.architecture == "turing"
    assert peaks["float16"] / peaks["float32"] == pytest.approx(4 if turing else 2, rel=0.01)
    assert turing or peaks["tf32"] == peaks["float32"]


@pytest.mark.parametrize(
    "name",
    [
        "h100-sxm", "h100-pcie", "a100-sxm-80gb", "a100-pcie-40gb", "v100-sxm2-32gb", "rtx-4090", "rtx-3090",
        "t4", "l4", "l20", "l40s", "mi300x",
    ],
)  # fmt: skip
def test_the_short_names_that_are_promised_hold(name: str) -> None:
    assert find_accelerator(name).name == name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("GeForce RTX 4090", "rtx-4090"),
        ("A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("Tesla T4", "t4"),
        ("AMD Instinct MI300X VF", "mi300x"),
        ("Radeon RX 7900 XTX", "rx-7900-xtx"),
        ("Intel(R) Arc(TM) B580 Graphics", "arc-b580"),
        ("Arc B580", "arc-b580"),
        ("RTX PRO 6000", "rtx-pro-6000-blackwell"),
    ],
)
def test_an_accelerator_is_found_however_people_write_it(spelling: str, name: str) -> None:
    assert find_accelerator(spelling).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("h100", "Unknown accelerator 'h100'; did you mean h100-sxm or h100-nvl or h100-pcie?"),
        ("rtx-4091", "Unknown accelerator 'rtx-4091'; did you mean rtx-4090"),
        ("abacus", "Unknown accelerator 'abacus'; `diffprof hardware` lists the known ones."),
        ("", "Unknown accelerator ''; `diffprof hardware` lists the known ones."),
        ("NVIDIA", "Unknown accelerator 'NVIDIA'; `diffprof hardware` lists the known ones."),
        ("RTX 4060 Ti", "RTX 4060 Ti can mean rtx-4060-ti-16gb or rtx-4060-ti-8gb; choose one of them."),
        ("Apple M3 Max", "Apple publishes no peaks, so Apple M3 Max is not in the catalogue"),
        ("m4-pro", "Apple publishes no peaks, so m4-pro is not in the catalogue"),
    ],
)
def test_an_unknown_or_ambiguous_name_is_rejected_with_one_message(name: str, message: str) -> None:
    with pytest.raises(RequestError) as refused:
        find_accelerator(name)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_two_chips_with_one_name_are_distinguished_by_their_multiprocessors() -> None:
    for count, name in ((110, "mi250x"), (104, "mi250")):
        matched = match_accelerator("AMD Instinct MI250X/MI250", count, 64 * GIB)
        assert matched is not None and matched.name == name
    assert match_accelerator("AMD Instinct MI250X/MI250", None, 64 * GIB) is None


def test_two_memory_sizes_with_one_name_are_distinguished_by_the_memory() -> None:
    for gib in (8, 16):
        matched = match_accelerator("NVIDIA GeForce RTX 4060 Ti", 34, round(gib * 0.97 * GIB))
        assert matched is not None and matched.memory_bytes == gib * GIB
    assert match_accelerator("NVIDIA GeForce RTX 4060 Ti", 34, 12 * GIB) is None


def test_a_card_of_two_stacks_is_one_device_or_two() -> None:
    for mebibytes, name in ((65520, "max-1550-stack"), (131040, "max-1550")):
        matched = match_accelerator("Intel(R) Data Center GPU Max 1550", None, mebibytes * 2**20)
        assert matched is not None and matched.name == name


def test_a_variant_that_is_not_in_the_catalogue_is_not_taken_for_its_sibling() -> None:
    for count, gib, name in ((20, 8, "rtx-3050-8gb"), (18, 6, None), (18, 8, None), (16, 4, None)):
        matched = match_accelerator("NVIDIA GeForce RTX 3050", count, gib * GIB)
        assert (matched.name if matched else None) == name


def test_a_laptop_has_its_own_numbers() -> None:
    assert find_accelerator("RTX 4090 Laptop GPU").name == "rtx-4090-laptop"
    assert find_accelerator("rtx-4090-laptop").memory_bytes < find_accelerator("rtx-4090").memory_bytes


def test_a_device_whose_multiprocessors_are_not_known_is_matched_by_its_name() -> None:
    matched = match_accelerator("AMD Instinct MI300X", memory_bytes=192 * GIB)
    assert matched is not None and matched.name == "mi300x"


def test_torch_counts_pairs_of_compute_units_on_rdna() -> None:
    for count in (48, 96):
        matched = match_accelerator("Radeon RX 7900 XTX", count, 24 * GIB)
        assert matched is not None and matched.name == "rx-7900-xtx"


def test_more_memory_than_was_sold_does_not_change_the_chip() -> None:
    matched = match_accelerator("NVIDIA GeForce RTX 4090", 128, 48 * GIB)
    assert matched is not None and matched.name == "rtx-4090"


@pytest.mark.parametrize(
    ("name", "multiprocessors"),
    [
        ("NVIDIA GeForce RTX 5090 D", 170),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 14),
        ("NVIDIA A100-SXM4-40GB", 14),
        ("AMD Instinct MI300X", 38),
        ("NVIDIA A1", None),
        ("Apple M3 Max", None),
        ("", None),
    ],
)
def test_what_only_sounds_alike_is_not_taken_for_it(name: str, multiprocessors: int | None) -> None:
    assert match_accelerator(name, multiprocessors, 16 * GIB) is None


@pytest.mark.parametrize(
    ("name", "dtype", "teraflops"),
    [
        ("a100-sxm-80gb", "bfloat16", 312),
        ("h100-sxm", "bfloat16", 989.5),
        ("h100-pcie", "float32", 51),
        ("l4", "float16", 121),
        ("t4", "float16", 65),
        ("rtx-4090", "float16", 165.2),
        ("rtx-3090", "bfloat16", 71),
        ("mi300x", "tf32", 653.7),
        ("h20", "tf32", 74),
        ("mi100", "bfloat16", 92.3),
        ("rtx-pro-6000", "float16", 503.8),
        ("mi355x", "float8", 5033.2),
    ],
)
def test_some_peaks_that_everybody_knows(name: str, dtype: str, teraflops: float) -> None:
    assert find_accelerator(name).peak_flops_per_second[dtype] == teraflops * 10**12


def test_the_host_link_is_as_fast_as_its_lanes() -> None:
    assert find_accelerator("h100-sxm").host_link_bytes_per_second == pytest.approx(63.0e9, rel=0.001)
    assert find_accelerator("rtx-4090").host_link_bytes_per_second == pytest.approx(31.5e9, rel=0.001)
    assert find_accelerator("rtx-4060").host_link_bytes_per_second == pytest.approx(15.75e9, rel=0.001)
    assert find_accelerator("gh200").host_link_bytes_per_second == 450e9


OWN = """
format = 2

[[accelerator]]
name = "my-gpu"
maker = "Me"
architecture = "own"
memory_gib = 24
bandwidth_gb_per_second = 1000
peak_teraflops = { float16 = 100 }
source = "measured here"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own_needs_only_what_every_accelerator_has(tmp_path: Path) -> None:
    (own,) = read_accelerators(write(tmp_path, OWN))
    assert own.peak_flops_per_second == {"float16": 100e12}
    assert own.memory_bytes == 24 * GIB
    assert (own.multiprocessors, own.l2_cache_bytes, own.board_power_watts, own.host_link) == (None, None, None, None)


def test_makers_and_architectures_are_known_in_any_spelling(tmp_path: Path) -> None:
    text = OWN.replace('"Me"', '"nvidia"').replace('"own"', '"Ada"')
    (own,) = read_accelerators(write(tmp_path, text))
    assert (own.maker, own.architecture) == ("NVIDIA", "ada")
    (other,) = read_accelerators(write(tmp_path, OWN))
    assert other.maker == "Me"
    assert {entry.maker for entry in accelerators()} == set(MAKERS)


def test_the_file_that_the_documentation_shows_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "hardware.md").read_text(encoding="utf-8")
    (own,) = read_accelerators(write(tmp_path, page.partition("```toml\n")[2].partition("```")[0]))
    assert all(value not in (None, ()) for value in vars(own).values())
    assert own.source_of("l2_cache_bytes") == "the datasheet"


def test_an_accelerator_of_a_file_stands_before_a_known_one_of_the_same_name(tmp_path: Path) -> None:
    both = accelerators_with(write(tmp_path, OWN.replace("my-gpu", "rtx-4090")))
    assert len(both) == len(ALL)
    assert find_accelerator("RTX 4090", both).source == "measured here"
    assert find_accelerator("rtx-3090", both).maker == "NVIDIA"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("float16 = 100", "float16 = -100", "peak_teraflops: float16 must be more than 0, not -100."),
        ("float16 = 100", 'float16 = "fast"', "peak_teraflops: float16 must be a number, not 'fast'."),
        ("float16 = 100", "float16 = true", "peak_teraflops: float16 must be a number, not True."),
        ("float16 = 100", "float16 = nan", "peak_teraflops: float16 must be a number, not nan."),
        ("float16 = 100", "half = 100", "peak_teraflops: half is not one of float32, tf32, bfloat16"),
        ("float16 = 100", "", "peak_teraflops must have the peak of at least one dtype."),
        ("memory_gib = 24\n", "", "memory_gib is missing."),
        ("memory_gib = 24", "memory_gib = 1e12", "memory_gib must be below 1,000,000,000."),
        ('name = "my-gpu"', 'name = "all"', "name must be another: --gpu all means every accelerator."),
        ("memory_gib = 24", 'memory_gib = "24 GB"', "memory_gib must be a number, not '24 GB'."),
        ("memory_gib = 24", "memory_gib = 0", "memory_gib must be more than 0, not 0."),
        ("memory_gib = 24", "memory_gib = 1e-300", "memory_gib must be at least 0.001, not 1e-300."),
        ("memory_gib = 24", "memory_gib = 24\nboard_power_watts = 1e-9", "board_power_watts must be at least 0.001"),
        ("memory_gib = 24", "memory_gib = 24\nmultiprocessors = 100_001", "multiprocessors must be at most 100,000."),
        ("memory_gib = 24", "memory_gib = 24\nmeasured = { spread = 11 }", "spread must be at most 10, not 11."),
        ("memory_gib = 24", "memory_gib = 24\nmeasured = { speed = 1e-13 }", "speed must be at least 1e-12"),
        ("memory_gib", "colour = 3\nmemory_gib", "colour is not a known key."),
        ("memory_gib", "multiprocessors = 1.5\nmemory_gib", "multiprocessors must be a whole number, not 1.5."),
        ("memory_gib", "multiprocessors = -1\nmemory_gib", "multiprocessors must be at least 1, not -1."),
        ("memory_gib", 'host_link = "a cable"\nmemory_gib', "host_link must be as in PCIe 4.0 x16, or come with"),
        ("memory_gib", "host_link_gb_per_second = 9\nmemory_gib", "host_link_gb_per_second is only for a host_link"),
        ("memory_gib", 'reported_names = "GPU"\nmemory_gib', "reported_names must be a list, not 'GPU'."),
        ("memory_gib", "reported_names = [1]\nmemory_gib", "reported_names must be a list of texts."),
        ("memory_gib", "sources = { height = 'a' }\nmemory_gib", "sources: height is not a number of an accelerator."),
        ('source = "measured here"', "source = ' '", "source must not be empty."),
        ("my-gpu", "My GPU", "name must be lower-case letters, digits, dots and hyphens, as in rtx-4090."),
        ("format = 2", "format = 1", "format must be 2; write `format = 2` at its top."),
        ("format = 2", "", "format must be 2; write `format = 2` at its top."),
        ("format = 2", "format = 2\nspeed = 1", "speed is not a known key."),
        ("[[accelerator]]", "[accelerator]", "accelerator must be in two brackets on each side"),
    ],
)
def test_invalid_values_in_a_file_are_rejected_with_one_message(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, OWN.replace(old, new, 1))
    with pytest.raises(FileFormatError) as refused:
        read_accelerators(path)
    assert str(refused.value).startswith("In own.toml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_that_is_there_twice_is_rejected(tmp_path: Path) -> None:
    entry = OWN.partition("format = 2")[2]
    with pytest.raises(FileFormatError, match=r"^In own.toml, two accelerators have the name my-gpu\.$"):
        read_accelerators(write(tmp_path, OWN + entry))
    other = entry.replace('name = "my-gpu"', 'name = "other"\naliases = ["MY GPU"]')
    with pytest.raises(FileFormatError, match=r"^In own.toml, MY GPU names both my-gpu and other\.$"):
        read_accelerators(write(tmp_path, OWN + other))


def test_a_file_that_is_not_toml_is_rejected_with_one_message(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"^Cannot read .*none\.toml: No such file or directory\.$"):
        read_accelerators(tmp_path / "none.toml")
    with pytest.raises(RequestError, match=r"^Cannot read .*: Is a directory\.$"):
        read_accelerators(tmp_path)
    with pytest.raises(FileFormatError, match=r"is not valid TOML"):
        read_accelerators(write(tmp_path, "{"))
    (tmp_path / "own.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match=r"is not a text file in UTF-8\.$"):
        read_accelerators(tmp_path / "own.toml")


def test_a_file_that_never_ends_is_refused() -> None:
    with pytest.raises(FileFormatError, match="too large to be an accelerator file"):
        read_accelerators("/dev/zero")
