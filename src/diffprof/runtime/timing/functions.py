"""Functions of every kind, timed whenever they run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar

from diffprof.runtime.timing.sections import ResumedSection, SectionRecorder

Function = TypeVar("Function", bound=Callable[..., Any])


def timed_function(recorder: SectionRecorder, function: Function, name: str | None = None) -> Function:
    """The function, each call of which is a section; it keeps its name, signature and kind.

    A generator is counted once, with the time during which it ran itself, not the time of those who take its items.
    A coroutine is counted with the time that it waited.
    """
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(timed_function(recorder, function.__func__, name))
    name = name or _name_of(function)
    wrapped: Any = functools.wraps(function)(_wrapper_of(function)(recorder, function, name))
    return wrapped


def _name_of(function: Callable[..., Any]) -> str:
    named = function.func if isinstance(function, functools.partial) else function
    name = getattr(named, "__qualname__", None) or type(named).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _wrapper_of(function: Callable[..., Any]) -> Callable[[SectionRecorder, Callable[..., Any], str], Any]:
    if inspect.isasyncgenfunction(function):
        return _asynchronous_generator
    if inspect.isgeneratorfunction(function):
        return _generator
    if inspect.iscoroutinefunction(function):
        return _coroutine
    return _plain


def _plain(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        with recorder.section(name):
            return function(*arguments, **named)

    return timed


def _coroutine(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    async def timed(*arguments: Any, **named: Any) -> Any:
        with recorder.section(name):
            return await function(*arguments, **named)

    return timed


def _generator(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        made = function(*arguments, **named)
        if not recorder.enabled:
            return (yield from made)
        return (yield from _resumed(made, ResumedSection(recorder, name)))

    return timed


def _resumed(made: Generator[Any, Any, Any], section: ResumedSection) -> Generator[Any, Any, Any]:
    """What ``yield from made`` does, with the section open only while `made` runs."""
    failed = True
    resume: Callable[[], Any] = functools.partial(next, made)
    try:
        while True:
            try:
                with section:
                    item = resume()
            except StopIteration as end:
                failed = False
                return end.value
            try:
                resume = functools.partial(made.send, (yield item))
            except GeneratorExit:
                with section:
                    made.close()
                failed = False
                raise
            except BaseException as error:  # noqa: BLE001  whatever it is, it is meant for the generator
                resume = functools.partial(made.throw, error)
    finally:
        section.finish(failed)


def _asynchronous_generator(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    async def timed(*arguments: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        made = function(*arguments, **named)
        section = ResumedSection(recorder, name) if recorder.enabled else None
        failed = True
        resume = made.__anext__()
        try:
            while True:
                try:
                    item = await _awaited(resume, section)
                except StopAsyncIteration:
                    failed = False
                    return
                try:
                    resume = made.asend((yield item))
                except GeneratorExit:
                    await _awaited(made.aclose(), section)
                    failed = False
                    raise
                except BaseException as error:  # noqa: BLE001  whatever it is, it is meant for the generator
                    resume = made.athrow(error)
        finally:
            if section is not None:
                section.finish(failed)

    return timed


async def _awaited(step: Any, section: ResumedSection | None) -> Any:
    if section is None:
        return await step
    with section:
        return await step
