"""The errors diffprof raises on purpose: one sentence that says what is wrong and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

    from diffprof.generation.batch import Batch
    from diffprof.runtime.measure import Run

TORCH_EXTRA = (
    *("torch", "diffusers", "transformers", "accelerate", "huggingface_hub", "safetensors", "tokenizers", "tqdm"),
    *("ftfy", "psutil", "sentencepiece"),
)
"""Libraries that come with `diffprof[torch]`, and not with diffprof alone."""

LONGEST_REASON = 300
"""Characters of another library's message that are quoted."""

LONGEST_MESSAGE = 300
"""Characters of a message that are shown: what a file holds can be of any length."""
SHOWN_BEGINNING, SHOWN_END = 190, 70


class DiffprofError(Exception):
    """Base of every error that diffprof raises on purpose.

    ``exit_code`` is what the command line ends with: 2 when the request was wrong, 1 when a right request failed.
    """

    exit_code = 1


class RequestError(DiffprofError):
    """The request cannot be met as it was made: an unknown model, an impossible size, a broken file."""

    exit_code = 2


class PipelineError(DiffprofError):
    """The pipeline's own code failed; its message is kept and named as the pipeline's."""

    exit_code = 1

    def __init__(self, message: str, run: Run | None = None) -> None:
        super().__init__(message)
        self.run = run
        """What was measured before the failure, where the call was being measured."""

    def with_run(self, run: Run) -> PipelineError:
        """The same error, with what was measured before the failure."""
        return PipelineError(str(self), run)


class RefusedCallError(PipelineError):
    """The pipeline's own code refused the call: its arguments are wrong, whatever weights it has."""

    def __init__(self, pipeline: str, reason: str, run: Run | None = None) -> None:
        super().__init__(f"{pipeline} refused the call: {reason}", run)
        self.pipeline = pipeline
        """Name of the pipeline's class."""
        self.reason = reason
        """The pipeline's own message."""

    def with_run(self, run: Run) -> RefusedCallError:
        return RefusedCallError(self.pipeline, self.reason, run)


class OutOfMemoryError(PipelineError):
    """A call needed more memory than the device or the machine has."""

    def __init__(self, pipeline: str, reason: str, run: Run | None = None) -> None:
        message = f"{pipeline} ran out of memory; make it smaller, use a smaller dtype or offload ({reason})"
        super().__init__(message, run)
        self.pipeline = pipeline
        """Name of the pipeline's class."""
        self.reason = reason
        """The allocator's own message."""
        self.snapshot: Path | None = None
        """A snapshot of the memory that was written when it ran out."""

    def with_run(self, run: Run) -> OutOfMemoryError:
        return OutOfMemoryError(self.pipeline, self.reason, run)


class WorkLimitError(DiffprofError):
    """Opening and counting a model took more memory or time than the limits allow; `--limit-memory`, `--limit-time`."""


class UncountableError(PipelineError):
    """The pipeline cannot be run without data; it can be run and timed, but what it computes is not known."""


class InterruptedRun(KeyboardInterrupt):
    """Ctrl-C during a measurement; `run` is the `diffprof.Run` with what was measured until then."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


class MissingLibraryError(RequestError):
    """What was asked for needs a library that is not installed."""


class UnsafeModelError(RequestError):
    """The model folder asks for code that is not part of diffusers or transformers."""


class FileProblem(Enum):
    """Why a file could not be read as what it should be."""

    missing = "missing"
    folder = "folder"
    unreadable = "unreadable"
    """The system refuses to read it."""
    not_text = "not_text"
    other_format = "other_format"
    """It is intact, but of another kind or of a newer version; the message says what to do with it."""
    damaged = "damaged"


class FileFormatError(RequestError):
    """A file is not what it should be: not a profile, damaged, or of another format version."""

    def __init__(self, message: str, reason: FileProblem = FileProblem.damaged, answer_of: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.answer_of = answer_of
        """The command whose answer the file is, if it is one that is no profile: fit, predict or advise."""


class OutputError(DiffprofError):
    """The result could not be written where it was asked for; nothing half-written is left there."""

    exit_code = 1

    def __init__(self, message: str, *, image: Image | list[Image] | None = None, batch: Batch | None = None) -> None:
        super().__init__(message)
        self.image = image
        """The image, or the frames of the video, that could not be written."""
        self.batch = batch
        """The batch of images whose record could not be written."""


@contextlib.contextmanager
def needs_torch(what: str) -> Iterator[None]:
    """Around what imports torch: where it is not installed, one sentence says what needs it and how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_torch(error, what)
        if missing is None:
            raise
        raise missing from error


def missing_torch(error: ModuleNotFoundError, what: str) -> MissingLibraryError | None:
    """The error as a sentence, if torch or a library that comes with it is missing."""
    library = (error.name or "").partition(".")[0]
    if library not in TORCH_EXTRA:
        return None
    return MissingLibraryError(
        f"{what} needs torch and diffusers, and {library} is not installed; "
        'install them with `pip install "diffprof[torch]"`.'
    )


def bounded_message(message: str) -> str:
    """The message on one line, and where it is long, without its middle: the end says what to do."""
    text = " ".join(message.split())
    if len(text) <= LONGEST_MESSAGE:
        return text
    left_out = len(text) - SHOWN_BEGINNING - SHOWN_END
    return f"{text[:SHOWN_BEGINNING]}... ({left_out:,} characters left out) ...{text[-SHOWN_END:]}"


def first_line(error: BaseException) -> str:
    """The first line of the error's message, without the values of tensors that some messages print."""
    lines = str(error).strip().split("tensor(")[0].splitlines()
    return lines[0][:LONGEST_REASON].rstrip(" :,") if lines else ""


def error_summary(error: BaseException) -> str:
    """The type of the error and the first line of its message."""
    reason = first_line(error)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
