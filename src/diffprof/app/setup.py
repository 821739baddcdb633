"""How the page was started: what its visitors may do."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    """What the command line said."""

    host: str = "127.0.0.1"
    port: int = 7860
    """0 for any that is free."""
    allow_paths: bool = False
    """Visitors may open any folder that this process can read, and any model of the hub."""
    profiling: bool = True
    """Generations are measured, unless the visitor says otherwise."""
    profiling_iterations: int = 0
    """Calls that are made and timed after the one that gives the picture; with 0 that one itself is timed."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can open the page."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
