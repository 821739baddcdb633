// One result as elements of the page.

import { bytes, count, percent, seconds, whole, work } from "./words.js";

// The names that Python gives the colours of what is no component.
const ACTIVATIONS = "activations";
const WORKSPACE = "workspace";
const GREY = "#9498a0";
const WHEN = { load: "after loading", encode: "while encoding the prompt", denoise: "while denoising", decode: "while decoding" };

/** An element with a class, and texts or elements in it. */
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function failedResult(model, error) {
  return make("article", "result", make("h2", "", model.title), make("p", "bad", error.message));
}

export function drawResult(result) {
  const { model, request, device, time, memory } = result;
  const colours = new Map(Object.entries(model.colours));
  return make(
    "article", "result",
    make("h2", "", model.title),
    make("p", "note", describe(model, request)),
    make("div", "answers", memoryAnswer(memory, device), timeAnswer(time)),
    make("h3", "", `Memory at the peak, ${WHEN[memory.peak.stage]}`),
    memoryBar(memory, device, colours),
    make("h3", "", "What it computes"),
    table(result),
  );
}

function describe(model, request) {
  const parts = [];
  if (request.height) parts.push(`${request.width} x ${request.height}`);
  if (request.frames) parts.push(`${request.frames} frames`);
  if (request.steps) parts.push(`${request.steps} steps`);
  if (request.batch > 1) parts.push(`${request.batch} images at once`);
  if (model.guidance) parts.push(request.guidance ? "with guidance" : "without guidance");
  return parts.join(", ");
}

function memoryAnswer(memory, device) {
  const words = memory.fits ? "fits on" : "does not fit on";
  const verdict = make("span", memory.fits === null ? "" : memory.fits ? "good" : "bad");
  verdict.textContent = memory.fits === null ? "as nvidia-smi shows it" : `${words} ${device.name} (${bytes(device.memory_bytes)})`;
  return make("div", "", make("b", "", bytes(memory.peak.device)), verdict);
}

function timeAnswer(time) {
  const interval = make("span", "", `${seconds(time.low)} to ${seconds(time.high)}, limited by ${time.limitedBy}`);
  return make("div", "", make("b", "", seconds(time.total)), interval);
}

function memoryBar(memory, device, colours) {
  const { peak } = memory;
  const parts = Object.entries(peak.weights ?? {}).map(([slot, size]) => [`weights of ${slot}`, size, colours.get(slot) ?? GREY]);
  parts.push(["activations", peak.activations + peak.kept, colours.get(ACTIVATIONS)]);
  if (peak.workspace) parts.push(["workspace of kernels", peak.workspace, colours.get(WORKSPACE)]);
  const named = parts.reduce((sum, [, size]) => sum + size, 0);
  parts.push(["CUDA context and the allocator's reserve", Math.max(0, peak.device - named), GREY]);
  const whole = Math.max(peak.device, device.memory_bytes ?? 0) * 1.02;
  const inner = make("div", "parts");
  const legend = make("div", "legend");
  for (const [name, size, colour] of parts.filter(([, bytesOfPart]) => bytesOfPart > 0)) {
    const part = make("div");
    Object.assign(part.style, { width: `${(100 * size) / whole}%`, background: colour });
    part.title = `${name}: ${bytes(size)}`;
    inner.append(part);
    const mark = make("i");
    mark.style.background = colour;
    legend.append(mark, make("span", "", name), make("span", "", bytes(size)));
  }
  const bar = make("div", "bar", inner);
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", parts.map(([name, size]) => `${name} ${bytes(size)}`).join(", "));
  if (device.memory_bytes) {
    const line = make("div", "line");
    line.style.left = `${(100 * device.memory_bytes) / whole}%`;
    line.title = `${device.name} has ${bytes(device.memory_bytes)}`;
    bar.append(line);
  }
  return make("div", "", bar, legend);
}

function table({ components, macs, parameters, time }) {
  const rows = components.filter((part) => part.calls).map((part) => [
    part.slot, whole(part.calls), `${work(part.macs)}`, percent(Number(part.macs) / Math.max(1, Number(macs))),
    seconds(time.components[part.slot] ?? 0),
  ]);
  rows.push(["total", "", `${work(macs)}`, "", seconds(time.total)]);
  const head = make("tr", "", ...["component", "calls", "MACs", "share", "time"].map((name) => make("th", "", name)));
  const body = rows.map((row) => make("tr", "", ...row.map((cell) => make("td", "", cell))));
  const element = make("table", "", make("thead", "", head), make("tbody", "", ...body));
  const note = make("p", "note", `${whole(macs)} MACs, ${count(parameters)} parameters`);
  return make("div", "", element, note);
}
