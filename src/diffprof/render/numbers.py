"""Format numbers: exact with separators, or short with an SI prefix, and always with a unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SI = ("", "K", "M", "G", "T", "P", "E", "Z", "Y")
_COUNTS = ("", "K", "M", "B", "T")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def exact(number: int) -> str:
    """``804,257,464,320``"""
    return f"{number:,}"


def short(number: int, brief: bool = False) -> str:
    """``804.26 G``: for a column whose heading has the unit; brief ``804 G``."""
    digits, prefix = _scale(number, 1000, _SI, brief)
    return f"{digits} {prefix}".rstrip()


def macs(number: int, brief: bool = False) -> str:
    """``804.26 GMACs``; brief ``804 GMACs``, with three significant digits."""
    return _with_unit(number, 1000, _SI, "MACs", brief)


def macs_between(least: int, most: int) -> str:
    """``22.38 to 44.76 MMACs``, ``1.00 KMACs to 3.00 MMACs``; ``about 22.38 MMACs`` if both round to the same."""
    low, high = macs(least), macs(most)
    if low == high:
        return f"about {high}"
    digits, unit = low.split(" ")
    return f"{digits} to {high}" if high.endswith(f" {unit}") else f"{low} to {high}"


def flops(number: int, brief: bool = False) -> str:
    """``1.61 TFLOPs``"""
    return _with_unit(number, 1000, _SI, "FLOPs", brief)


def parameters(number: int, brief: bool = False) -> str:
    """``865.91M``, ``11.90B``: as model cards write it; brief ``866M``."""
    digits, prefix = _scale(number, 1000, _COUNTS, brief)
    return f"{digits}{prefix}"


def gigabytes(number: int, brief: bool = False) -> str:
    """``2.58 GB``: powers of 1000."""
    return _with_unit(number, 1000, _SI, "B", brief)


def gibibytes(number: int, brief: bool = False) -> str:
    """``2.40 GiB``: powers of 1024."""
    return _with_unit(number, 1024, _BINARY, "B", brief)


def both_bytes(number: int) -> str:
    """``2.58 GB (2.40 GiB)``: decimal and binary, so that neither is mistaken for the other."""
    return f"{gigabytes(number)} ({gibibytes(number)})" if number >= 1000 else gigabytes(number)


def percent(share: float) -> str:
    """``95.1 %``. Never rounded up to 100 % or down to 0 %."""
    if share <= 0:
        return "0 %"
    if share < 0.001:
        return "<0.1 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    return "100 %" if share >= 1 else f"{100 * share:.1f} %"


def percent_of(share: float) -> str:
    """``145.8 %``: for a ratio that may exceed 1. Never rounded to 100 %."""
    if share <= 1:
        return percent(share)
    return ">100 %" if share < 1.0005 else f"{100 * share:,.1f} %"


def seconds(time: float) -> str:
    """``390 ms``, ``41.3 s``, ``1,203 s``: three significant digits."""
    return nanoseconds(time * 1e9)


def bar(share: float, width: int, ascii_only: bool = False) -> str:
    """A bar of `width` cells at 100 %, in eighths of a cell."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    if ascii_only:
        return "#" * round(eighths / 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def ranges(numbers: Sequence[int]) -> str:
    """``0-30`` or ``0-9, 20``: runs of whole numbers in rising order."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def times(count: int, noun: str, plural: str = "") -> str:
    """``1 step``, ``30 steps``; `plural` is for nouns that need more than an s."""
    return f"{exact(count)} {noun if count == 1 else plural or f'{noun}s'}"


def _with_unit(number: int, base: int, prefixes: Sequence[str], unit: str, brief: bool = False) -> str:
    digits, prefix = _scale(number, base, prefixes, brief)
    return f"{digits} {prefix}{unit}"


def _scale(number: int, base: int, prefixes: Sequence[str], brief: bool = False) -> tuple[str, str]:
    """Two decimals, or three digits, and the prefix that goes with them; numbers below `base` stay whole."""
    if abs(number) < base:
        return str(number), ""
    place = 0
    scaled = float(number)
    # Compared after rounding: 999,999,999 is 1.00 G, not 1000.00 M.
    while round(abs(scaled), 2) >= base and place < len(prefixes) - 1:
        scaled /= base
        place += 1
    if brief:
        # 999.6 G is 1.00 T, as it would read 1000 G.
        if round(abs(scaled)) >= base and place < len(prefixes) - 1:
            scaled, place = scaled / base, place + 1
        return significant(scaled), prefixes[place]
    return f"{scaled:.2f}", prefixes[place]


def duration(seconds: float) -> str:
    """``45.234s``, ``0.055s``, ``4.210ms``, ``12.3us``, as in the guides. Never rounded down to 0."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds >= 0.01:
        return f"{seconds:,.3f}s"
    if seconds >= 0.0001:
        return f"{seconds * 1e3:.3f}ms"
    if seconds > 0:
        return f"{max(seconds * 1e6, 0.001):.3g}us"
    return "0s"


def estimate(seconds: float) -> str:
    """``2.7 s``, ``340 ms``, ``12 min``, ``3.1 h``: two digits, for a time that is only known to about 10 %."""
    for unit, size, least in (("h", 3600, 2 * 3600), ("min", 60, 600), ("s", 1, 0.995), ("ms", 1e-3, 0.995e-3)):
        if seconds >= least:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(seconds * 1e6)} us" if seconds else "0 s"


def _two_digits(number: float) -> str:
    """``0.98``, ``2.7``, ``34``, ``340``"""
    places = 1 - math.floor(math.log10(abs(float(f"{number:.1e}")))) if number else 0
    return f"{round(number, places):,.{max(places, 0)}f}"


def joules(energy: float) -> str:
    """``1.6 kJ``, ``340 J``"""
    return f"{_two_digits(energy / 1000)} kJ" if energy >= 995 else f"{_two_digits(energy)} J"


def watts(power: float) -> str:
    """``350 W``"""
    return f"{_two_digits(power)} W" if power < 100 else f"{power:,.0f} W"


def dollars(price: float) -> str:
    """``$0.0021``"""
    return f"${_two_digits(price)}"


def nanoseconds(time: float) -> str:
    """``2.04 s``, ``59.7 ms``, ``50.0 us``, ``12 ns``: three significant digits."""
    if time < 0:
        return f"-{nanoseconds(-time)}"
    # Compared after rounding: 999.6 ms is 1.00 s.
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if time >= 0.9995 * size:
            return f"{significant(time / size)} {unit}"
    return f"{max(time, 1):.0f} ns" if time else "0 s"


def flops_per_second(rate: float, brief: bool = False) -> str:
    """``1.23 TFLOP/s``"""
    return _with_unit(round(rate), 1000, _SI, "FLOP/s", brief)


def significant(number: float) -> str:
    """``0.0898``, ``5.39``, ``97.8``, ``1,203``: three significant digits, and all digits before the point."""
    if not number:
        return "0"
    # Of the rounded number: 9.996 is written 10.0, with one decimal.
    places = 2 - math.floor(math.log10(abs(float(f"{number:.2e}"))))
    return f"{number:,.{max(places, 0)}f}"


def per(rate: float, amount: str, time: str = "s") -> str:
    """``0.499 it/s``, ``5.39 images/min``"""
    return f"{significant(rate)} {amount}/{time}"


def factor(ratio: float) -> str:
    """``1.31x``. Never rounded to 1x."""
    if 0.995 <= ratio < 1.005 and ratio != 1:
        return "about 1x"
    return f"{significant(ratio)}x"


def sparkline(values: Sequence[float], width: int, ascii_only: bool = False) -> str:
    """A row of small bars from 0 to the largest value; a bar for several values shows the largest of them."""
    highest = max(values, default=0)
    if highest <= 0:
        return ""
    signs = "_.-=+*%#" if ascii_only else "▁▂▃▄▅▆▇█"
    size = -(-len(values) // max(width, 1))
    highest_of_each = [max(values[place : place + size]) for place in range(0, len(values), size)]
    return "".join(signs[round(max(value, 0) / highest * (len(signs) - 1))] for value in highest_of_each)


def milliseconds(nanoseconds: int) -> str:
    """``1,171.629 ms``: for a column whose decimal points should align. Never rounded down to 0."""
    if 0 < abs(nanoseconds) < 500:
        return "<0.001 ms"
    return f"{nanoseconds / 1e6:,.3f} ms"


def mebibytes(number: int) -> str:
    """``1024.5M``, in units of 1,048,576 bytes."""
    return f"{number / 2**20:.1f}M"


def shorten(name: str, width: int) -> str:
    """Keep the end of a long name, where paths differ: ``...ansformer/attention``."""
    return name if len(name) <= width else f"...{name[3 - width :]}"


def change(ratio: float) -> str:
    """``+10.2 %``, ``-33.3 %``, ``+207 %``, ``=``: the change that a ratio means. Never rounded to none."""
    share = ratio - 1
    if not share:
        return "="
    if abs(share) < 0.0005:
        return f"<{'+' if share > 0 else '-'}0.1 %"
    return f"{100 * share:+,.1f} %" if abs(share) < 1 else f"{100 * share:+,.0f} %"


def with_sign(text: str, number: float) -> str:
    """Put a sign in front of a formatted difference: ``+3``; ``=`` if there is none."""
    return "=" if not number else text if text.startswith("-") else f"+{text}"


def probability(p: float) -> str:
    """``0.013``, ``<0.001``"""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def decibels(ratio: float) -> str:
    """``34.12 dB``"""
    return f"{ratio:.2f} dB"


def similarity(score: float) -> str:
    """``0.9876``. Never rounded to 1."""
    return "1" if score == 1 else f"{min(score, 0.9999):.4f}"
