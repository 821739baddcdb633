"use strict";
// Charts on a phone, in reports and on the page: fewer and larger parts, and names in short lines.
window.diffprofNarrow = (function () {
  const MANY_NAMES = 12;
  const LINE = 18;
  const LONG_NAME = 30;
  const LEVELS = 3;

  const textOf = (name) => name.replace(/<[^>]*>/g, "");

  // ``unet.up_blocks.*.attentions…attn1`` in two lines: what is left of a narrow chart is for its bars.
  function breakLine(line) {
    const text = textOf(line);
    if (text.length <= LONG_NAME) return line;
    const middle = line.indexOf(text) + text.length / 2;
    const places = [...line.matchAll(/[.… ](?![^<]*>)/g)].map((found) => found.index + 1);
    const nearest = places.sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle))[0];
    return nearest ? `${line.slice(0, nearest)}<br>${line.slice(nearest)}` : line;
  }

  const breakLines = (name) => name.split("<br>").map(breakLine).join("<br>");
  const mostLines = (names) => Math.max(...names.map((name) => name.split("<br>").length));

  /** The traces and the layout of a chart as a narrow screen shows them. */
  return function (data, layout) {
    const own = { ...layout, uniformtext: { mode: "hide", minsize: 8 } };
    const names = layout.yaxis?.ticktext;
    const hasLongNames = names?.some((name) => textOf(name).length > LONG_NAME);
    own.xaxis = { nticks: hasLongNames ? 3 : 4, tickangle: 0, ...layout.xaxis };
    if (hasLongNames) {
      const broken = names.map(breakLines);
      own.yaxis = { ...layout.yaxis, ticktext: broken };
      own.height += (mostLines(broken) - mostLines(names)) * names.length * LINE;
    }
    // Above the chart, a line for each name.
    const shown = data.length + (layout.shapes ?? []).filter((shape) => shape.showlegend).length;
    if (shown > MANY_NAMES) own.showlegend = false;
    else if (layout.showlegend !== false && shown > 2) own.height += shown * LINE;
    const traces = data.map((trace) => (trace.type === "icicle" ? { ...trace, maxdepth: LEVELS } : trace));
    return [traces, own];
  };
})();
