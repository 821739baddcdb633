"use strict";
// Figures as reports draw them: in the theme of the page, and on a telephone with fewer and larger parts.
(function () {
  const templates = JSON.parse(document.getElementById("chart-templates").textContent);
  const NARROW = 600;
  const MANY_NAMES = 7;
  const LINE = 18;
  const isNarrow = (place) => (place.clientWidth || window.innerWidth) < NARROW;
  const themed = () => templates[document.body.classList.contains("dark") ? "dark" : "light"];

  function adapted(place, data, layout) {
    const own = { ...layout, template: themed() };
    if (!isNarrow(place)) return [data, own];
    own.uniformtext = { mode: "hide", minsize: 8 };
    own.xaxis = { nticks: 5, ...layout.xaxis };
    if (data.length > MANY_NAMES) own.showlegend = false;
    else if (layout.showlegend !== false && data.length > 2) own.height = layout.height + data.length * LINE;
    return [data.map((trace) => (trace.type === "icicle" ? { ...trace, maxdepth: 3 } : trace)), own];
  }

  // Gradio brings plotly along, gives it this name when it is needed first, and draws everything with `react`.
  Object.defineProperty(window, "Plotly", {
    configurable: true,
    set(plotly) {
      Object.defineProperty(window, "Plotly", { value: plotly, writable: true });
      const react = plotly.react;
      plotly.react = (place, data, layout, config) => {
        place.drawnFrom = [data, layout, config, isNarrow(place)];
        return react(place, ...adapted(place, data, layout), config);
      };
    },
  });

  const places = () => [...document.querySelectorAll(".js-plotly-plot")].filter((place) => place.drawnFrom);
  const again = (place) => window.Plotly.react(place, ...place.drawnFrom.slice(0, 3));
  // Gradio's scripts put this one into the page, so there is a body.
  new MutationObserver(() => places().forEach(again)).observe(document.body, { attributeFilter: ["class"] });
  window.addEventListener("resize", () => {
    places()
      .filter((place) => isNarrow(place) !== place.drawnFrom[3])
      .forEach(again);
  });
})();
