"""The tab Profile: what a generation costs, following the sliders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diffprof.app import showing
from diffprof.app.choices import chosen_model, model_choices, model_title
from diffprof.app.counting import DIALS, Dial, arguments_of, counted, has, in_force
from diffprof.app.page import Page
from diffprof.app.pieces import drawn, plot, safely, stops, written
from diffprof.app.visit import Visit
from diffprof.app.working import Done, told
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.render import charts

TAB = "profile"
FIRST_MODEL = "sd-1.5"


def profile_tab(page: Page) -> None:
    """Lay the tab out and connect it."""
    import gradio as gr

    with gr.Row():
        with gr.Column(scale=1, min_width=300):
            model = gr.Dropdown(
                model_choices(), value=FIRST_MODEL, label="Model", allow_custom_value=True, elem_id="profile-model",
                info="Choose one, or type a name, a hub id or a folder.",
            )  # fmt: skip
            dials = [
                gr.Slider(
                    dial.least, dial.most, step=dial.step, label=dial.label, interactive=False,
                    elem_id=f"profile-{dial.argument}", buttons=[],
                )
                for dial in DIALS
            ]  # fmt: skip
            stop = gr.Button("Stop", elem_id="profile-stop")
        with gr.Column(scale=3, min_width=320):
            message = written("profile-message")
            totals = written("profile-totals")
            links = written("profile-links")
            components = plot("Components and their modules, by MACs", "profile-components")
            kinds = plot("Kinds of work, by MACs and by bytes", "profile-kinds")
            attention = plot("Attention, by place", "profile-attention")
            tables = written("profile-tables")
    given = gr.State({})
    """The sliders that the chosen model has, and their values in force."""

    def shown(profile: Profile) -> dict[Any, Any]:
        return {
            message: "",
            totals: showing.totals(profile),
            links: showing.result(page.shelf.links([profile], [model_title(profile.request.model)])),
            components: drawn(charts.components_chart(profile)),
            kinds: drawn(charts.kinds_chart(profile)),
            attention: drawn(charts.attention_chart(profile)),
            tables: showing.count_tables(profile),
        }

    def opened(visit: Visit, name: str) -> Iterator[dict[Any, Any]]:
        # Sliders are set when all else is there, and cannot be moved before: what is moved must not be set back.
        yield {given: {}, **dict.fromkeys(dials, gr.Slider(interactive=False))}
        for news in _counting(page, visit, name, {}):
            if isinstance(news, Profile):
                own = {dial.argument: in_force(news, dial) for dial in DIALS if has(news, dial)}
                yield {**shown(news), given: own}
            else:
                yield {message: news}

    def moved(visit: Visit, name: str, own: dict[str, float], *values: float) -> Iterator[dict[Any, Any]]:
        asked = [value if dial.argument in own else None for dial, value in zip(DIALS, values, strict=True)]
        for news in _counting(page, visit, name, arguments_of(asked)):
            yield shown(news) if isinstance(news, Profile) else {message: news}

    results = [message, totals, links, components, kinds, attention, tables]
    quiet: dict[str, Any] = {
        "show_progress": "minimal", "show_progress_on": message, "concurrency_id": "counting", "concurrency_limit": 2,
        "api_visibility": "private",
    }  # fmt: skip
    opening = gr.on(
        [page.loaded, model.change], safely(message, opened), [page.visit, model], [*results, given, *dials],
        trigger_mode="always_last", **quiet,
    )  # fmt: skip
    opening.then(
        lambda own: [_slider(dial, own.get(dial.argument)) for dial in DIALS], given, dials, show_progress="hidden",
        api_visibility="private",
    )  # fmt: skip
    moving = gr.on(
        [dial.input for dial in dials], safely(message, moved), [page.visit, model, given, *dials], results,
        trigger_mode="always_last", **quiet,
    )  # fmt: skip
    stops(stop, page, TAB, message, [opening, moving])


def _counting(page: Page, visit: Visit, name: str, arguments: dict[str, Any]) -> Iterator[Profile | str]:
    """How the counting goes, as HTML, and at last the profile; an error is HTML as well."""

    def work(progress: Progress) -> Profile:
        return counted(chosen_model(name, page.setup.allow_paths), arguments, progress)

    for news in told(visit, TAB, work):
        if isinstance(news, Done):
            visit.add("profile", news.value)
            yield news.value
        else:
            yield showing.news(news)


def _slider(dial: Dial, value: float | None) -> Any:
    """The slider at the value in force; one that means nothing to the model cannot be moved."""
    import gradio as gr

    if value is None:
        return gr.Slider(interactive=False, label=f"{dial.label} (not of this model)")
    least, most = min(dial.least, value), max(dial.most, value)
    return gr.Slider(value=value, minimum=least, maximum=most, interactive=True, label=dial.label)
