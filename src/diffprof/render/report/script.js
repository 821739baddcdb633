"use strict";
(function () {
  const { charts, templates } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const places = document.querySelectorAll(".chart");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const NARROW = 600;
  const PRINTED = 690;
  // Named one by one: plotly's own choice has a button that sends the chart's data to a server.
  const buttons = { icicle: ["toImage"], other: ["toImage", "zoom2d", "pan2d", "resetScale2d"] };
  const config = { responsive: true, displaylogo: false, plotlyServerURL: "" };
  let theme = prefersDark.matches ? "dark" : "light";

  function draw(place) {
    const { data, layout } = charts[place.id];
    const narrow = place.clientWidth < NARROW;
    // A telephone is scrolled with the finger that would zoom the chart.
    const themed = { ...layout, template: templates[theme], dragmode: narrow ? false : "zoom" };
    const [traces, own] = narrow ? window.diffprofNarrow(data, themed) : [data, themed];
    place.style.height = `${own.height}px`;
    const bar = [buttons[data[0].type] || buttons.other];
    return Plotly.newPlot(place, traces, own, { ...config, modeBarButtons: bar, displayModeBar: narrow ? false : "hover" });
  }

  // Figures are drawn when they come near, so the page opens as fast as its first one; the others follow, one in each
  // idle moment, for those who search the page, take a picture of it or save it.
  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawOnce(entry.target)),
    { rootMargin: "400px" },
  );

  function drawOnce(place) {
    near.unobserve(place);
    if (!place.classList.contains("js-plotly-plot")) draw(place);
  }

  // A window that is behind others, or shows nothing new, may never call itself idle.
  const whenIdle = window.requestIdleCallback
    ? (work) => window.requestIdleCallback(work, { timeout: 500 })
    : (work) => setTimeout(work, 50);

  function drawNextWhenIdle() {
    const next = [...places].find((place) => place.offsetParent !== null && !place.classList.contains("js-plotly-plot"));
    if (next) {
      drawOnce(next);
      whenIdle(drawNextWhenIdle);
    }
  }

  function setTheme(name) {
    theme = name;
    root.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    for (const place of document.querySelectorAll(".js-plotly-plot")) {
      Plotly.relayout(place, { template: templates[name] });
    }
  }

  function select(tab) {
    for (const other of tab.parentElement.children) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
  }

  function moveAlongTabs(event) {
    const tabs = [...event.currentTarget.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
      next.focus();
      select(next);
    }
  }

  let before = null;

  function preparePrint() {
    before = { theme, closed: [...document.querySelectorAll("details:not([open])")] };
    before.closed.forEach((details) => (details.open = true));
    setTheme("light");
    [...places].filter((place) => place.offsetParent !== null).forEach(drawOnce);
    for (const place of document.querySelectorAll(".js-plotly-plot")) {
      Plotly.relayout(place, { width: PRINTED, autosize: false });
    }
  }

  function endPrint() {
    before.closed.forEach((details) => (details.open = false));
    for (const place of document.querySelectorAll(".js-plotly-plot")) {
      Plotly.relayout(place, { width: null, autosize: true });
    }
    setTheme(before.theme);
  }

  button.addEventListener("click", () => setTheme(theme === "dark" ? "light" : "dark"));
  prefersDark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
  for (const tabs of document.querySelectorAll(".tabs")) {
    tabs.addEventListener("click", (event) => event.target.role === "tab" && select(event.target));
    tabs.addEventListener("keydown", moveAlongTabs);
  }
  for (const block of document.querySelectorAll(".code")) {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      const code = block.querySelector("pre");
      try {
        await navigator.clipboard.writeText([...code.children].map((line) => line.textContent.replaceAll("\u00a0", " ").trimEnd()).join("\n"));
        copy.textContent = "Copied";
      } catch {
        // A page that was opened as a file may not write to the clipboard: the code is selected instead.
        getSelection().selectAllChildren(code);
      }
    });
    block.append(copy);
  }
  addEventListener("beforeprint", preparePrint);
  addEventListener("afterprint", endPrint);
  setTheme(theme);
  places.forEach((place) => near.observe(place));
  addEventListener("load", () => whenIdle(drawNextWhenIdle));
  // For those who take a picture of the whole page: charts have their height before they are drawn.
  root.dataset.height = String(Math.ceil(root.scrollHeight));
})();
