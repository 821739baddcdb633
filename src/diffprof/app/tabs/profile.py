"""The tab Profile: what a generation costs, following the sliders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diffprof.app import views
from diffprof.app.background import Done, run_for_session
from diffprof.app.context import AppContext
from diffprof.app.hardware import accelerator_choice, hardware_view
from diffprof.app.model_choices import choose_model, model_choices, model_title
from diffprof.app.session import Session
from diffprof.app.sliders import SLIDERS, Slider, applies_to, count_model, current_value, slider_arguments
from diffprof.app.widgets import chart_block, connect_stop_button, html_block, show_chart, show_errors, two_columns
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.render import charts

TAB = "profile"
FIRST_MODEL = "sd-1.5"

Updates = dict[Any, Any]
"""New values of components of the page."""


class ProfileTab:
    """The components of the tab, and the handlers of its events."""

    def __init__(self, context: AppContext) -> None:
        import gradio as gr

        self.context = context
        two_columns(self._add_inputs, self._add_outputs)
        self.values = gr.State({})
        """The current values of the sliders that apply to the chosen model."""
        self._connect()

    def _add_inputs(self) -> None:
        import gradio as gr

        self.model = gr.Dropdown(
            model_choices(), value=FIRST_MODEL, label="Model", allow_custom_value=True, elem_id="profile-model",
            info="Choose one, or type a name, a hub id or a folder.",
        )  # fmt: skip
        self.accelerator = accelerator_choice("profile-accelerator")
        self.sliders = [
            gr.Slider(
                slider.least, slider.most, step=slider.step, label=slider.label, interactive=False,
                elem_id=f"profile-{slider.argument}", buttons=[],
            )
            for slider in SLIDERS
        ]  # fmt: skip
        self.stop = gr.Button("Stop", elem_id="profile-stop")

    def _add_outputs(self) -> None:
        self.message = html_block("profile-message")
        self.totals = html_block("profile-totals")
        self.hardware = html_block("profile-hardware")
        self.links = html_block("profile-links")
        self.components = chart_block("Components and their modules, by MACs", "profile-components")
        self.kinds = chart_block("Kinds of work, by MACs and by bytes", "profile-kinds")
        self.attention = chart_block("Attention, by layer", "profile-attention")
        self.tables = html_block("profile-tables")

    def _connect(self) -> None:
        import gradio as gr

        results = [
            self.message, self.totals, self.hardware, self.links, self.components, self.kinds, self.attention,
            self.tables,
        ]  # fmt: skip
        counting: dict[str, Any] = {
            "show_progress": "minimal", "show_progress_on": self.message, "concurrency_id": "counting",
            "concurrency_limit": 2, "api_visibility": "private", "trigger_mode": "always_last",
        }  # fmt: skip
        opening = gr.on(
            [self.context.loaded, self.model.change], show_errors(self.message, self.open_model),
            [self.context.session, self.model, self.accelerator], [*results, self.values, *self.sliders], **counting,
        )  # fmt: skip
        opening.then(_set_sliders, self.values, self.sliders, show_progress="hidden", api_visibility="private")
        moving = gr.on(
            [slider.input for slider in self.sliders], show_errors(self.message, self.move_slider),
            [self.context.session, self.model, self.accelerator, self.values, *self.sliders], results, **counting,
        )  # fmt: skip
        self.accelerator.change(
            show_errors(self.message, self.change_accelerator), [self.context.session, self.accelerator],
            [self.message, self.hardware],
            show_progress="hidden", api_visibility="private",
        )  # fmt: skip
        connect_stop_button(self.stop, self.context, TAB, self.message, [opening, moving])

    def change_accelerator(self, session: Session, accelerator: str) -> Updates:
        """Predict for another accelerator what is shown; nothing has to be counted again."""
        shown = [run.profile for run in session.runs if run.kind == TAB]
        return {self.hardware: hardware_view(shown[-1], accelerator) if shown else ""}

    def open_model(self, session: Session, name: str, accelerator: str) -> Iterator[Updates]:
        """Count a model with its default arguments, and set the sliders to them."""
        import gradio as gr

        # Sliders are set after everything else, and cannot be moved before: what a visitor moves is not set back.
        yield {self.values: {}, **dict.fromkeys(self.sliders, gr.Slider(interactive=False))}
        for status in self._count(session, name, {}):
            if isinstance(status, Profile):
                values = {
                    slider.argument: current_value(status, slider) for slider in SLIDERS if applies_to(status, slider)
                }
                yield {**self._show(status, accelerator), self.values: values}
            else:
                yield {self.message: status}

    def move_slider(
        self, session: Session, name: str, accelerator: str, applicable: dict[str, float], *values: float
    ) -> Iterator[Updates]:
        """Count the model with the values of the sliders that apply to it."""
        pairs = zip(SLIDERS, values, strict=True)
        requested = [value if slider.argument in applicable else None for slider, value in pairs]
        for status in self._count(session, name, slider_arguments(requested)):
            yield self._show(status, accelerator) if isinstance(status, Profile) else {self.message: status}

    def _count(self, session: Session, name: str, arguments: dict[str, Any]) -> Iterator[Profile | str]:
        """The progress of counting, or its error, as HTML; in the end the profile."""

        def work(progress: Progress) -> Profile:
            return count_model(choose_model(name, self.context.setup.allow_paths), arguments, progress)

        for status in run_for_session(session, TAB, work):
            if isinstance(status, Done):
                session.add("profile", status.value)
                yield status.value
            else:
                yield views.status_view(status)

    def _show(self, profile: Profile, accelerator: str) -> Updates:
        return {
            self.message: "",
            self.totals: views.totals_view(profile),
            self.hardware: hardware_view(profile, accelerator),
            self.links: views.result(self.context.downloads.links([profile], [model_title(profile.request.model)])),
            self.components: show_chart(charts.components_chart(profile)),
            self.kinds: show_chart(charts.kinds_chart(profile)),
            self.attention: show_chart(charts.attention_chart(profile)),
            self.tables: views.count_tables(profile),
        }


def _set_sliders(values: dict[str, float]) -> list[Any]:
    return [_slider_update(slider, values.get(slider.argument)) for slider in SLIDERS]


def _slider_update(slider: Slider, value: float | None) -> Any:
    """The slider at its current value; one that the model has no argument for cannot be moved."""
    import gradio as gr

    if value is None:
        return gr.Slider(interactive=False, label=f"{slider.label} (not used by this model)")
    least, most = min(slider.least, value), max(slider.most, value)
    return gr.Slider(value=value, minimum=least, maximum=most, interactive=True, label=slider.label)
