"""Mutations of values, texts and bytes; everything follows from the random generator that is given."""

from __future__ import annotations

import json
import marshal
import random
import re
from collections.abc import Sequence
from typing import Any

LONG = 5_000
DEEP = 3_000

NUMBERS = (
    0, 1, -1, 2, 3, 7, 255, 65_537, 1_000_003, 32_000_000, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    -(2**31), -(2**63), -(2**63) - 1, 10**15, 10**30, 10**400, 0.0, -0.0, 0.5, -1.5, 1e-320, 1e18, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip

TEXTS = (
    "", " ", "a", "\n", "\x00", "\x1b[31m", "\ud800", "\udfff\ud800", "é" * 50, "a" * 300, "x/" * 200, "..", ".", "/",
    "../outside", "/etc/passwd", "~", "~nobody/x", "file:///etc/passwd", "http://127.0.0.1:9/x", "C:\\x", "-1", "NaN",
    "1e999", "None", "null", "true", "__class__", "__init__", "self", "os", "system", "builtins.eval", "canary_module",
    "canary_module.Canary", "(a+)+$", "(?P<n", "[", "(" * 200, "a{1,100000}{1,100000}", "*",
    "{{ 7 * 7 }}", "{0.__class__}", "%s%n",
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}", "<script>alert(1)</script>",
    "float16", "cuda:9", "meta", "diffusers", "transformers", "torch", "UNet2DConditionModel", "DiffusionPipeline",
    "PreTrainedModel", "AutoModel", "AutoTokenizer", "Pipeline", "1x1", "2026-13-99", "9" * 5_000,
)  # fmt: skip


class Mutator:
    """Makes hostile variants of what it is given."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def hostile(self) -> Any:
        """A value that nobody expects."""
        choice = self.rng.random()
        if choice < 0.45:
            return self.rng.choice(NUMBERS)
        if choice < 0.85:
            return self.rng.choice(TEXTS)
        return self.rng.choice(
            [None, True, False, [], {}, [[]], [None], {"": ""}, "a" * LONG, [1] * LONG, self.nested(), [[1, 2], [3]]]
        )

    def nested(self) -> Any:
        """Lists or objects inside of each other, deeper than a stack may be."""
        depth, value = self.rng.choice((5, 60, 900, DEEP)), []
        is_list = self.rng.random() < 0.5
        for _ in range(depth):
            value = [value] if is_list else {"a": value}  # type: ignore[assignment]
        return value

    def tree(self, value: Any, changes: int | None = None) -> Any:
        """A copy of a value of JSON, with a few changes anywhere in it."""
        value = _copy(value)
        for _ in range(changes or self.rng.choice((1, 1, 1, 2, 3, 8))):
            value = self._change_somewhere(value)
        return value

    def _change_somewhere(self, value: Any) -> Any:
        place = self._place(value)
        if place is None:
            return self.hostile()
        parent, key = place
        kind = self.rng.random()
        if kind < 0.6:
            parent[key] = self.near(parent[key])
        elif kind < 0.72:
            del parent[key]
        elif kind < 0.8:
            other, other_key = self._place(value) or place
            parent[key] = _copy(other[other_key])
        elif kind < 0.9 and isinstance(parent, dict):
            parent[str(self.rng.choice(TEXTS))] = parent.pop(key)
        elif isinstance(parent, list):
            parent[key:key] = [_copy(parent[key])] * self.rng.choice((1, 2, 300))
        else:
            parent[key] = [parent[key]]
        return value

    def _place(self, value: Any) -> tuple[Any, Any] | None:
        """A place in a value of JSON, as its container and key: a field counts as much as a list of thousands."""
        place = None
        while keys := _keys(value):
            place = (value, self.rng.choice(keys))
            value = place[0][place[1]]
            if self.rng.random() < 0.15:
                break
        return place

    def near(self, value: Any) -> Any:
        """Another value: often of the same type, which gets further than one of another type."""
        if self.rng.random() < 0.35:
            return self.hostile()
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            whole = float(value) if abs(value) < 2**53 else 0.5
            return self.rng.choice((value + 1, value - 1, -value, value * 2, value * 1000, 0, 2**31, whole, 2**63))
        if isinstance(value, float):
            rounded = int(value) if abs(value) < 1e9 else 0
            return self.rng.choice((-value, value * 1e6, value * 1e300, 0.0, float("nan"), rounded))
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list) and value:
            return self.rng.choice((value[:-1], value + value, value * 50, value[0], [], list(reversed(value))))
        return self.hostile()

    def text(self, text: str) -> str:
        """A text with a change."""
        place = self.rng.randrange(len(text) + 1)
        return self.rng.choice(
            (
                text[:place],
                text[place:],
                text[:place] + str(self.rng.choice(TEXTS)) + text[place:],
                text * 3,
                text.upper(),
                str(self.rng.choice(TEXTS)),
            )
        )

    def data(self, data: bytes) -> bytes:
        """Bytes with a few of them changed, lost or doubled."""
        changed = bytearray(data)
        for _ in range(self.rng.choice((1, 1, 2, 4, 20))):
            place = self.rng.randrange(len(changed) + 1)
            length = self.rng.choice((1, 1, 2, 4, 8, 64, 1000))
            kind = self.rng.random()
            if kind < 0.35 and changed:
                changed[place % len(changed)] ^= 1 << self.rng.randrange(8)
            elif kind < 0.5:
                changed[place : place + length] = self.rng.randbytes(min(length, 64))
            elif kind < 0.6:
                changed[place : place + 8] = self.rng.choice((0, 1, 255, 2**31, 2**63 - 1, 2**64 - 1)).to_bytes(
                    8, "little"
                )
            elif kind < 0.7:
                del changed[place : place + length]
            elif kind < 0.8:
                del changed[place:]
            elif kind < 0.9:
                changed[place:place] = changed[place : place + length] * self.rng.choice((1, 3))
            else:
                changed[place : place + length] = bytes(length)
        return bytes(changed)

    def json_text(self, value: Any) -> bytes:
        """A mutated value as JSON, or its text with a change that makes no value."""
        kind = self.rng.random()
        if kind < 0.85:
            return dump(self.tree(value))
        if kind < 0.9:
            return self.encode(dump(value).decode())
        return self.data(dump(value))

    def encode(self, text: str) -> bytes:
        """JSON as other programs write it: with a mark at its beginning, in other encodings, with a key twice."""
        return self.rng.choice(
            (
                text.encode("utf-8-sig"),
                text.encode("utf-16"),
                text.encode("utf-32-le"),
                text.replace("{", '{"a": 1, "a": [],', 3).encode(),
                f"{text},".encode(),
                f"{text}\0".encode(),
                text.replace('"', "'").encode(),
            )
        )

    def lines(self, text: str) -> bytes:
        """A text of lines such as TOML, with values or lines changed."""
        lines = text.splitlines()
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            place = self.rng.randrange(len(lines))
            name, equals, _ = lines[place].partition(" = ")
            kind = self.rng.random()
            if equals and kind < 0.6:
                lines[place] = f"{name} = {_toml(self.hostile())}"
            elif equals and kind < 0.7:
                lines[place] = lines[place].replace(name, _toml(self.rng.choice(TEXTS)), 1)
            elif kind < 0.8:
                lines.insert(place, lines[place])
            elif kind < 0.9:
                del lines[place]
                lines = lines or ["a = 1"]
            else:
                lines[place] = self.text(lines[place])
        return "\n".join(lines).encode("utf-8", "surrogatepass")


def dump(value: Any) -> bytes:
    """JSON of a value of any depth and with any text in it."""
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except (RecursionError, TypeError):
        return _dump_deep(value)


def _dump_deep(value: Any) -> bytes:
    """Python's own writer stops at the depth of its stack."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, _Literal):
            out.append(part)
        elif isinstance(part, dict):
            rest: list[Any] = [_Literal("{")]
            for number, (name, item) in enumerate(part.items()):
                rest += [_Literal("," if number else ""), _Literal(json.dumps(str(name)) + ":"), item]
            stack.extend(reversed([*rest, _Literal("}")]))
        elif isinstance(part, list | tuple):
            rest = [_Literal("[")]
            for number, item in enumerate(part):
                rest += [_Literal("," if number else ""), item]
            stack.extend(reversed([*rest, _Literal("]")]))
        else:
            out.append(json.dumps(part))
    return "".join(out).encode("utf-8", "surrogatepass")


class _Literal(str):
    """JSON that is written as it is."""


def _toml(value: Any) -> str:
    if value is None:
        return "nothing"
    # TOML writes texts, numbers, lists and truth as JSON does; objects get their equals sign.
    text = dump(value).decode("utf-8", "surrogatepass")
    return re.sub(r'("(?:[^"\\]|\\.)*"):', r"\1 = ", text).replace("NaN", "nan").replace("Infinity", "inf")


def _copy(value: Any) -> Any:
    try:
        return marshal.loads(marshal.dumps(value))
    except ValueError:  # nested too deeply
        return []


def _keys(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
