"""Select the law for a request: one of the package that was proved with the installed versions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from diffprof.catalogue.names import Place, ResolvedModel
from diffprof.errors import DiffprofError, MissingLibraryError, RequestError
from diffprof.laws.folding import NegativeCount
from diffprof.laws.law import Law
from diffprof.laws.law_file import packaged_law, recorded_law
from diffprof.laws.programs import NoVideo, OutsideOfLaw
from diffprof.record.profile import Profile
from diffprof.record.request import Request

LIBRARIES = ("torch", "diffusers", "transformers")


class OtherVersions(OutsideOfLaw):
    """The law was proved with other versions than the installed ones."""


def profile_by_law(request: Request, resolved: ResolvedModel) -> Profile:
    """Return the profile of a request with recommended settings; `OutsideOfLaw` says why there is none."""
    if resolved.place is not Place.catalogue:
        raise OutsideOfLaw("only models of the catalogue have laws")
    refused = OutsideOfLaw(f"no law of {resolved.name} was proved")
    versions = installed_versions()
    for number, find in enumerate((packaged_law, recorded_law)):
        law = find(resolved.name)
        if law is None:
            continue
        try:
            check_versions(law, versions)
            return law.profile(request, versions)
        except (OutsideOfLaw, NegativeCount) as error:
            # The law's refusal is more informative than that of the recorded requests.
            refused = refused if number else _as_refusal(error)
    raise refused


def _as_refusal(error: OutsideOfLaw | NegativeCount) -> OutsideOfLaw:
    return error if isinstance(error, OutsideOfLaw) else OutsideOfLaw(str(error))


def check_versions(law: Law, installed: Mapping[str, str]) -> None:
    """Refuse a law of other versions than the installed ones; libraries that are not installed are not checked."""
    different = [name for name, found in installed.items() if _release(found) != _release(law.versions[name])]
    if different:
        name = different[0]
        raise OtherVersions(
            f"the law of {law.model} was proved with {name} {law.versions[name]}, and {installed[name]} is installed"
        )
    attention = sys.modules.get("diffusers.models.attention_dispatch")
    if attention is not None or os.environ.get("DIFFUSERS_ATTN_BACKEND", "native") != "native":
        _check_settings(attention)


def _release(version: str) -> str:
    """Return the version without the build tag, such as ``+cu128``, which does not change counts."""
    return version.partition("+")[0]


def _check_settings(attention: object) -> None:
    """Refuse settings of the process that change counts."""
    registry = getattr(attention, "_AttentionBackendRegistry", None)
    backend = getattr(registry, "_active_backend", None) or os.environ.get("DIFFUSERS_ATTN_BACKEND", "native")
    if str(getattr(backend, "value", backend)) != "native":
        raise OutsideOfLaw(f"the attention backend {backend} is active")
    torch = sys.modules.get("torch")
    if torch is not None and str(torch.get_default_dtype()) != "torch.float32":
        raise OutsideOfLaw(f"the default dtype of this process is {torch.get_default_dtype()}")


def installed_versions() -> Mapping[str, str]:
    """Return the installed versions of the libraries that a count depends on, without importing them."""
    found = {name: getattr(sys.modules.get(name), "__version__", None) or _packaged_version(name) for name in LIBRARIES}
    return {name: version for name, version in found.items() if version is not None}


_packaged_versions: dict[str, str] = {}
"""Found versions, because an imported library stays the same. A missing one may still be installed later."""


def _packaged_version(library: str) -> str | None:
    """Return the version of an installed library, without importing it."""
    spec = None if library in _packaged_versions else find_spec(library)
    if spec is not None:
        version = _version_beside(library, spec.origin) or _metadata_version(library)
        if version is None:
            return None
        _packaged_versions[library] = version
    return _packaged_versions.get(library)


def _version_beside(library: str, file: str | None) -> str | None:
    """Return the version from the name of the metadata folder next to a package."""
    # Importing the module that reads such folders takes a tenth of the time of a short command.
    begin, end = f"{library}-", ".dist-info"
    try:
        names = os.listdir(Path(file).parents[1]) if file else []  # noqa: PTH208
    except (OSError, IndexError):
        return None
    found = [name[len(begin) : -len(end)] for name in names if name.startswith(begin) and name.endswith(end)]
    return found[0] if len(found) == 1 else None


def _metadata_version(library: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def can_count() -> bool:
    """Whether the libraries that a dry run needs are installed."""
    return all(library in sys.modules or find_spec(library) is not None for library in LIBRARIES)


def refusal(error: OutsideOfLaw) -> DiffprofError:
    """Return the error for a request that can be neither answered by a law nor counted."""
    reason = str(error)
    if isinstance(error, NoVideo):
        return RequestError(reason)
    return MissingLibraryError(
        f"{reason[:1].upper()}{reason[1:]}, and counting needs torch and diffusers, which are not installed; "
        'install them with `pip install "diffprof[torch]"`.'
    )
