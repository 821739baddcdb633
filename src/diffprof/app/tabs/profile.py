"""The Profile tab: what a generation costs with one model or several, updated as sliders move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from diffprof.app import views
from diffprof.app.address import PageState, read_address, write_address
from diffprof.app.background import Done, Failed, run_for_session
from diffprof.app.context import AppContext
from diffprof.app.hardware import FIRST_ACCELERATOR, accelerator_choice, hardware_view
from diffprof.app.model_choices import choose_model, choose_models, model_choices, model_hint, model_title
from diffprof.app.session import Session
from diffprof.app.side_by_side import MAX_MODELS, ModelRow, count_row, side_by_side
from diffprof.app.sliders import SLIDERS, Slider, arguments_for, count_model, slider_arguments, slider_values
from diffprof.app.widgets import (
    chart_block,
    connect_stop_button,
    hide_all,
    html_block,
    show_chart,
    show_errors,
    stop_button,
    two_columns,
)
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.render import charts
from diffprof.render.report.markup import element

TAB = "profile"
FIRST = PageState(("flux.1-dev",), FIRST_ACCELERATOR)

Updates = dict[Any, Any]
"""New values of components of the page."""


@dataclass(frozen=True)
class OpenedModel:
    """The model that the sliders belong to."""

    name: str
    """The name that was chosen."""
    values: Mapping[str, float]
    """The model's default values of the sliders that apply to it."""


class ProfileTab:
    """The components of the tab, and the handlers of its events."""

    def __init__(self, context: AppContext) -> None:
        import gradio as gr

        self.context = context
        two_columns(self._add_inputs, self._add_outputs)
        self.opened = gr.State(None)
        """The `OpenedModel`; None if no model is open."""
        self.shown = gr.State(None)
        """The `PageState` of the result on the page; None if there is no result."""
        self.positions = gr.State(None)
        """The values to set the sliders to; None to leave them."""
        self.address = gr.Textbox(visible=False)
        self._connect()

    def _add_inputs(self) -> None:
        import gradio as gr

        self.model = gr.Dropdown(
            model_choices(), value=FIRST.models[0], label="Model", allow_custom_value=True, elem_id="profile-model",
            info=model_hint(self.context.setup.allow_paths), elem_classes="models",
        )  # fmt: skip
        self.accelerator = accelerator_choice("profile-accelerator")
        self.sliders = [
            gr.Slider(
                slider.least, slider.most, step=slider.step, label=slider.label, interactive=False,
                elem_id=f"profile-{slider.argument}", buttons=[],
            )
            for slider in SLIDERS
        ]  # fmt: skip
        self.beside = gr.Dropdown(
            model_choices(), value=[], multiselect=True, label="Side by side with", allow_custom_value=True,
            elem_id="profile-beside", elem_classes="models", max_choices=MAX_MODELS,
        )  # fmt: skip
        self.stop = stop_button("profile-stop")

    def _add_outputs(self) -> None:
        self.message = html_block("profile-message")
        self.totals = html_block("profile-totals")
        self.hardware = html_block("profile-hardware")
        self.table = html_block("profile-table")
        self.links = html_block("profile-links")
        self.components = chart_block("Components and their modules, by MACs", "profile-components")
        self.kinds = chart_block("Kinds of work, by MACs and by bytes", "profile-kinds")
        self.attention = chart_block("Attention, by layer", "profile-attention")
        self.tables = html_block("profile-tables")
        self.results = [
            self.totals, self.hardware, self.table, self.links, self.components, self.kinds, self.attention,
            self.tables,
        ]  # fmt: skip

    def _connect(self) -> None:
        import gradio as gr

        outputs = [self.message, *self.results]
        counting: dict[str, Any] = {
            "show_progress": "minimal", "show_progress_on": self.message, "concurrency_id": "counting",
            "concurrency_limit": 2, "api_visibility": "private", "trigger_mode": "always_last",
        }  # fmt: skip
        asked = [self.context.session, self.opened, self.shown, self.model, self.beside, self.accelerator]
        opened = [self.opened, self.shown, self.positions]
        loading = self.context.loaded(
            show_errors(self.message, self.open_address, self.results), [self.context.session, self.address],
            [*outputs, *opened, self.model, self.beside, self.accelerator, *self.sliders],
            js="(session, address) => [session, location.search]", **counting,
        )  # fmt: skip
        opening = gr.on(
            [self.model.input], show_errors(self.message, self.open_model, self.results), asked,
            [*outputs, *opened, *self.sliders], **counting,
        )  # fmt: skip
        for event in (loading, opening):
            event.then(
                self.set_sliders, self.positions, [self.positions, *self.sliders], show_progress="hidden",
                api_visibility="private",
            )  # fmt: skip
        moving = gr.on(
            [*(slider.input for slider in self.sliders), self.beside.input, self.accelerator.input],
            show_errors(self.message, self.move_slider, self.results), [*asked, *self.sliders],
            [*outputs, self.shown], **counting,
        )  # fmt: skip
        connect_stop_button(self.stop, self.context, TAB, self.message, [loading, opening, moving])

    def open_address(self, session: Session, address: str) -> Iterator[Updates]:
        """Restore the state in the page's address."""
        state = read_address(dict(parse_qsl(address.removeprefix("?"))), FIRST)
        yield {self.model: state.models[0], self.beside: list(state.models[1:]), self.accelerator: state.accelerator}
        yield from self._open(session, state)

    def open_model(
        self, session: Session, opened: OpenedModel | None, shown: PageState | None, name: str,
        beside: Sequence[str], accelerator: str,
    ) -> Iterator[Updates]:  # fmt: skip
        """Count a model with its default arguments, and set the sliders to them.

        The dropdown also fires when it merely loses focus. If the model is already open, nothing happens: opening it
        again would reset the sliders and take the focus from them.
        """
        if opened is not None and opened.name == name:
            # Not an empty update, which Gradio treats as missing.
            yield {self.opened: opened}
            return
        yield from self._open(session, PageState((name or "", *(beside or ())), accelerator))

    def _open(self, session: Session, state: PageState) -> Iterator[Updates]:
        import gradio as gr

        # Sliders are set last, and are disabled until then, so that a visitor's move is never overwritten.
        yield {self.opened: None, self.shown: None, **dict.fromkeys(self.sliders, gr.Slider(interactive=False))}
        for status in self._count(session, state):
            if isinstance(status, dict):
                yield status
                continue
            own, shown = status
            opened = OpenedModel(state.models[0], slider_values(own))
            yield {self.opened: opened, self.positions: slider_values(shown)}

    def set_sliders(self, positions: Mapping[str, float] | None) -> Updates:
        """Set the sliders once, after a model was opened."""
        if positions is None:
            return {self.positions: None}
        updates = {
            slider: _slider_update(about, positions.get(about.argument))
            for slider, about in zip(self.sliders, SLIDERS, strict=True)
        }
        return {self.positions: None, **updates}

    def move_slider(
        self, session: Session, opened: OpenedModel | None, shown: PageState | None, name: str,
        beside: Sequence[str], accelerator: str, *positions: float,
    ) -> Iterator[Updates]:  # fmt: skip
        """Count the model with the values of the sliders that were moved, unless that result is already shown."""
        own = opened.values if opened else {}
        pairs = zip(SLIDERS, positions, strict=True)
        moved = [value if own.get(slider.argument, value) != value else None for slider, value in pairs]
        state = PageState((name or "", *(beside or ())), accelerator, slider_arguments(moved))
        if state == shown:
            yield {self.shown: shown}
            return
        yield {self.shown: None}
        for status in self._count(session, state):
            if isinstance(status, dict):
                yield status

    def _count(self, session: Session, state: PageState) -> Iterator[Updates | tuple[Profile, Profile]]:
        """Yield updates of the page, and finally two profiles: with the model's defaults, and the one to show."""
        first, *others = state.models

        def work(progress: Progress) -> tuple[Profile, Profile, list[ModelRow]]:
            allowed = self.context.setup.allow_paths
            model, beside = choose_model(first, allowed), choose_models(others, allowed)
            own = count_model(model, {}, progress)
            _check_arguments(own, state.arguments)
            given = arguments_for(own, state.arguments)
            shown = count_model(model, given, progress) if given else own
            return own, shown, [count_row(name, state.arguments, progress) for name in beside]

        for status in run_for_session(session, TAB, work):
            if isinstance(status, Done):
                own, shown, beside = status.value
                session.add("profile", shown)
                yield self._show(shown, beside, state)
                yield own, shown
            elif isinstance(status, Failed):
                yield {**hide_all(self.results), self.message: views.status_view(status)}
            else:
                yield {self.message: views.status_view(status)}

    def _show(self, profile: Profile, beside: Sequence[ModelRow], state: PageState) -> Updates:
        models = [ModelRow(state.models[0], profile), *beside]
        # The page's script puts this into the address.
        address = element("span", data_address=write_address(state), hidden=True)
        return {
            self.message: "",
            self.shown: state,
            self.totals: views.result(views.totals_view(profile), address),
            self.hardware: hardware_view(profile, state.accelerator),
            self.table: side_by_side(models, state),
            self.links: views.result(self.context.downloads.links([profile], [model_title(profile.request.model)])),
            self.components: show_chart(charts.components_chart(profile)),
            self.kinds: show_chart(charts.kinds_chart(profile)),
            self.attention: show_chart(charts.attention_chart(profile)),
            self.tables: views.count_tables(profile),
        }


def _check_arguments(own: Profile, arguments: Mapping[str, float]) -> None:
    """Refuse arguments of an address that the model does not have."""
    unknown = [slider.label for slider in SLIDERS if slider.argument in set(arguments) - set(slider_values(own))]
    if unknown:
        raise RequestError(f"The model {model_title(own.request.model)} takes no {' and no '.join(unknown).lower()}.")


def _slider_update(slider: Slider, value: float | None) -> Any:
    """Set a slider to its value; if the model does not have its argument, disable it."""
    import gradio as gr

    if value is None:
        return gr.Slider(interactive=False, label=f"{slider.label} (not used by this model)")
    least, most = min(slider.least, value), max(slider.most, value)
    return gr.Slider(value=value, minimum=least, maximum=most, interactive=True, label=slider.label)
