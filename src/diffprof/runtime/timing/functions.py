"""Time functions of any kind whenever they run: plain functions, generators, coroutines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar

from diffprof.runtime.timing.sections import ResumedSection, SectionRecorder

Function = TypeVar("Function", bound=Callable[..., Any])


def time_function(recorder: SectionRecorder, function: Function, name: str | None = None) -> Function:
    """Wrap a function so that each call is a section; its name, signature and kind are kept.

    A generator is one section, with the time it ran itself, without that of its consumer. The time of a coroutine
    includes waiting.
    """
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(time_function(recorder, function.__func__, name))
    name = name or _name_of(function)
    wrapped: Any = functools.wraps(function)(_wrapper_of(function)(recorder, function, name))
    return wrapped


def _name_of(function: Callable[..., Any]) -> str:
    named = function.func if isinstance(function, functools.partial) else function
    name = getattr(named, "__qualname__", None) or type(named).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _wrapper_of(function: Callable[..., Any]) -> Callable[[SectionRecorder, Callable[..., Any], str], Any]:
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator
    if inspect.isgeneratorfunction(function):
        return _wrap_generator
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine
    return _wrap_plain


def _wrap_plain(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def wrapper(*arguments: Any, **named: Any) -> Any:
        with recorder.section(name):
            return function(*arguments, **named)

    return wrapper


def _wrap_coroutine(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    async def wrapper(*arguments: Any, **named: Any) -> Any:
        with recorder.section(name):
            return await function(*arguments, **named)

    return wrapper


def _wrap_generator(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def wrapper(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        generator = function(*arguments, **named)
        if not recorder.enabled:
            return (yield from generator)
        return (yield from _run_generator(generator, ResumedSection(recorder, name)))

    return wrapper


def _run_generator(generator: Generator[Any, Any, Any], section: ResumedSection) -> Generator[Any, Any, Any]:
    """``yield from generator``, with the section open only while the generator runs."""
    failed = True
    resume: Callable[[], Any] = functools.partial(next, generator)
    try:
        while True:
            try:
                with section:
                    item = resume()
            except StopIteration as end:
                failed = False
                return end.value
            try:
                resume = functools.partial(generator.send, (yield item))
            except GeneratorExit:
                with section:
                    generator.close()
                failed = False
                raise
            except BaseException as error:  # noqa: BLE001  passed on to the generator
                resume = functools.partial(generator.throw, error)
    finally:
        section.finish(failed)


def _wrap_async_generator(recorder: SectionRecorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    async def wrapper(*arguments: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*arguments, **named)
        section = ResumedSection(recorder, name) if recorder.enabled else None
        failed = True
        resume = generator.__anext__()
        try:
            while True:
                try:
                    item = await _await_step(resume, section)
                except StopAsyncIteration:
                    failed = False
                    return
                try:
                    resume = generator.asend((yield item))
                except GeneratorExit:
                    await _await_step(generator.aclose(), section)
                    failed = False
                    raise
                except BaseException as error:  # noqa: BLE001  passed on to the generator
                    resume = generator.athrow(error)
        finally:
            if section is not None:
                section.finish(failed)

    return wrapper


async def _await_step(step: Any, section: ResumedSection | None) -> Any:
    if section is None:
        return await step
    with section:
        return await step
