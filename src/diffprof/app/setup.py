"""The options that the page was started with."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    """The options of `diffprof app`."""

    host: str = "127.0.0.1"
    port: int = 7860
    """0 for any free port."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names under which the page may be opened, such as that of a proxy."""
    framing_sites: tuple[str, ...] = ()
    """Other sites that may embed the page in a frame."""
    allow_paths: bool = False
    """Whether visitors may open any folder that this process can read, and any model of the hub."""
    profiling: bool = True
    """Whether generations are measured, unless the visitor chooses otherwise."""
    profiling_iterations: int = 0
    """How many calls to measure after the one that generates the image; with 0, that one is measured."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can open the page."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
