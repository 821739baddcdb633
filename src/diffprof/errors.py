"""The errors diffprof raises on purpose: one sentence that says what is wrong and what to do."""

from __future__ import annotations


class DiffprofError(Exception):
    """Base of every error that diffprof raises on purpose.

    ``exit_code`` is what the command line ends with: 2 when the request was wrong, 1 when a right request failed.
    """

    exit_code = 1


class RequestError(DiffprofError):
    """The request cannot be met as it was made: an unknown model, an impossible size, a broken file."""

    exit_code = 2


class PipelineError(DiffprofError):
    """The pipeline's own code refused the call; its message is kept and named as the pipeline's."""

    exit_code = 1


class UnsafeModelError(RequestError):
    """The model folder asks for code that is not part of diffusers or transformers."""


class FileFormatError(RequestError):
    """A file is not what it should be: not a profile, damaged, or of another format version."""


class OutputError(DiffprofError):
    """The result could not be written where it was asked for; nothing half-written is left there."""

    exit_code = 1
