// Builds the part of plotly.js that reports embed: `make plotly`. docs/decisions/0015-own-plotly-bundle.md says why.
"use strict";
const fs = require("fs");
const path = require("path");
const version = require("plotly.js/package.json").version;
const target = path.resolve(__dirname, "../../src/diffprof/render/report/plotly.min.js");

const OLD = `    if(swapXY || flipX || flipY) {
        flipTree`;
const NEW = `    var visible = swapXY ? size[0] : size[1];
    var thickness = result.y1 - result.y0;
    var strip = 22;
    if(entry.height && thickness < visible && thickness > strip) {
        var scale = (visible - strip) / (visible - thickness);
        result.each(function(node) {
            node.y0 = node === result ? 0 : strip + (node.y0 - thickness) * scale;
            node.y1 = node === result ? strip : strip + (node.y1 - thickness) * scale;
        });
    }

${OLD}`;

// The block that is zoomed into takes a narrow strip; its name is in the bar above.
const narrowRoot = {
  name: "narrow-root",
  setup(build) {
    build.onLoad({ filter: /traces[\\/]icicle[\\/]partition\.js$/ }, ({ path: file }) => {
      const source = fs.readFileSync(file, "utf8");
      if (!source.includes(OLD)) throw new Error("plotly.js has changed where the icicle is partitioned");
      return { contents: source.replace(OLD, NEW), resolveDir: path.dirname(file) };
    });
  },
};

require("esbuild").build({
  entryPoints: [path.resolve(__dirname, "own.js")],
  outfile: target,
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plotly",
  target: "es2018",
  legalComments: "none",
  plugins: [narrowRoot],
  alias: { stream: "stream-browserify" },
  define: { global: "window", "define.amd": "false", "process.env.NODE_DEBUG": "false" },
  loader: { ".css": "text" },
  banner: {
    js: `/* plotly.js v${version} with scatter, bar, heatmap and icicle only, and a narrow root of the icicle. Copyright 2012-2026, Plotly, Inc. All rights reserved. Licensed under the MIT license. */`,
  },
});
