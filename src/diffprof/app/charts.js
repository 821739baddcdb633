"use strict";
// Figures as reports draw them: in the theme of the page, and on a telephone as their script says.
(function () {
  const templates = JSON.parse(document.getElementById("chart-templates").textContent);
  const NARROW = 600;
  const isNarrow = (place) => (place.clientWidth || window.innerWidth) < NARROW;
  const themed = () => templates[document.body.classList.contains("dark") ? "dark" : "light"];

  function adapted(place, data, layout) {
    const own = { ...layout, template: themed() };
    return isNarrow(place) ? window.diffprofNarrow(data, own) : [data, own];
  }

  // The part of plotly that reports have too, whose icicle wastes nothing on the whole.
  const ours = new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "files/plotly.js";
    script.onload = () => resolve(window.diffprofPlotly);
    script.onerror = reject;
    document.head.append(script);
  });

  async function draw(place, data, layout, config) {
    place.drawnFrom = [data, layout, config, isNarrow(place)];
    const plotly = await ours;
    // A chart of another shape may have been asked for meanwhile.
    if (place.drawnFrom[0] === data) await plotly.react(place, ...adapted(place, data, layout), config);
  }

  // Gradio brings plotly along, gives it this name when it is needed first, and draws everything with `react`.
  Object.defineProperty(window, "Plotly", {
    configurable: true,
    set(plotly) {
      Object.defineProperty(window, "Plotly", { value: plotly, writable: true });
      plotly.react = draw;
      // Ours follows the window by itself, and only while it can be seen.
      plotly.Plots = { ...plotly.Plots, resize: () => null };
    },
  });

  const places = () => [...document.querySelectorAll(".js-plotly-plot")].filter((place) => place.drawnFrom);
  const again = (place) => draw(place, ...place.drawnFrom.slice(0, 3));
  // Gradio's scripts put this one into the page, so there is a body.
  new MutationObserver(() => places().forEach(again)).observe(document.body, { attributeFilter: ["class"] });
  window.addEventListener("resize", () => {
    places()
      .filter((place) => isNarrow(place) !== place.drawnFrom[3])
      .forEach(again);
  });
})();
