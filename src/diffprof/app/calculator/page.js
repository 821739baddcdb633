// The page of the calculator: its state lives in the address, and every change of it draws all results again.

import { openLaw } from "./law.js";
import { predictMemory } from "./memory.js";
import { drawResult, failedResult } from "./results.js";
import { predictTime } from "./time.js";

const SLIDERS = [
  ["height", "Height"], ["width", "Width"], ["frames", "Frames"], ["steps", "Steps"], ["batch", "Images at once"],
];
const MOST_MODELS = 4;
const find = (id) => document.getElementById(id);

const site = await (await fetch("site.json")).json();
const models = new Map(site.models.map((model) => [model.name, model]));
const devices = new Map(site.devices.map((device) => [device.name, device]));

const plain = (name) => name.toLowerCase().replace(/[\s_/.·:()[\]-]+/g, "");

/** The model that goes by this name, or whose names have it in them; undefined where there is none. */
function findModel(typed) {
  const query = plain(typed);
  const namesOf = (model) => [model.name, model.title, ...model.aliases].map(plain);
  if (!query) return undefined;
  return (
    site.models.find((model) => namesOf(model).includes(query)) ??
    site.models.find((model) => namesOf(model).some((name) => name.includes(query)))
  );
}

/** What is asked: names, and a number for each slider that was moved; others are as each model recommends. */
function readState(address) {
  const query = new URLSearchParams(address);
  const asked = (query.get("model") ?? site.first_model).split(",").filter((name) => name.trim());
  const chosen = asked.map(findModel).filter(Boolean).map((model) => model.name);
  const numbers = {};
  for (const [name] of SLIDERS) {
    const value = Number.parseInt(query.get(name), 10);
    if (value > 0) numbers[name] = value;
  }
  const guidance = query.get("guidance");
  return {
    models: chosen.length ? [...new Set(chosen)].slice(0, MOST_MODELS) : [site.first_model],
    gpu: devices.has(query.get("gpu")) ? query.get("gpu") : site.first_device,
    numbers,
    guidance: guidance === null ? null : guidance === "on",
    compiled: query.get("compile") === "on",
    offload: query.get("offload") === "model" ? "model" : "none",
  };
}

function addressOf(state) {
  const query = new URLSearchParams({ model: state.models.join(","), gpu: state.gpu });
  for (const [name, value] of Object.entries(state.numbers)) query.set(name, value);
  if (state.guidance !== null) query.set("guidance", state.guidance ? "on" : "off");
  if (state.compiled) query.set("compile", "on");
  if (state.offload !== "none") query.set("offload", state.offload);
  return `?${query}`;
}

/** What an address asks for that is not here, in a sentence; empty where all of it is. */
function describeUnknown(address) {
  const query = new URLSearchParams(address);
  const unknown = (query.get("model") ?? "").split(",").filter((name) => name.trim() && !findModel(name));
  if (unknown.length) return `There is no model ${unknown[0].slice(0, 60)} here; choose one of the list.`;
  const gpu = query.get("gpu");
  return gpu && !devices.has(gpu) ? `There is no accelerator ${gpu.slice(0, 60)} here; choose one of the list.` : "";
}

/** What is asked of one model: what it recommends where nothing else was chosen. */
function requestFor(model, state) {
  const request = { ...model.recommended };
  for (const [name, value] of Object.entries(state.numbers)) {
    if (model.sliders[name]) request[name] = value;
  }
  if (model.guidance && state.guidance !== null) request.guidance = state.guidance;
  return request;
}

/** The same in the numbers of the law. */
function lawRequest(model, request) {
  const numbers = { ...model.fixed };
  for (const [name, source] of Object.entries(model.sources)) numbers[source] = request[name];
  const guidance = model.guidance ? (request.guidance ? model.guidance.on : model.guidance.off) : model.scale;
  return { numbers, guidance };
}

/** All figures of one model as it was asked for; also what tests call. */
export async function calculate(state, name) {
  const model = models.get(name);
  const request = requestFor(model, state);
  const law = await openLaw(model);
  const result = law.evaluate(lawRequest(model, request));
  const device = devices.get(state.gpu);
  return {
    model, request, device, ...result,
    memory: predictMemory(result.profile, device, state.offload),
    time: predictTime(result.profile, device, site.constants, state.compiled, state.offload),
  };
}

let state = readState(location.search);
let drawing = 0;

async function draw() {
  const number = (drawing += 1);
  drawControls();
  history.replaceState(null, "", addressOf(state));
  const results = await Promise.all(
    state.models.map((name) => calculate(state, name).then(drawResult, (error) => failedResult(models.get(name), error))),
  );
  if (number === drawing) find("results").replaceChildren(...results);
}

function change(part) {
  state = { ...state, ...part };
  find("message").textContent = "";
  return draw();
}

function drawControls() {
  find("gpu").value = state.gpu;
  find("compile").checked = state.compiled;
  find("offload").value = state.offload;
  const [first] = state.models.map((name) => models.get(name));
  const request = requestFor(first, state);
  find("guidance").checked = Boolean(request.guidance);
  // Where it makes no difference to what is computed, there is nothing to switch.
  find("guidance").parentElement.hidden = !state.models.some((name) => models.get(name).guidance);
  find("model").value = first.title;
  find("chosen").replaceChildren(...state.models.slice(1).map((name) => chip(name)));
  for (const [name] of SLIDERS) drawSlider(name, request[name]);
}

function chip(name) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `${name} ×`;
  button.title = `Remove ${name}`;
  button.addEventListener("click", () => change({ models: state.models.filter((other) => other !== name) }));
  return button;
}

/** The range that all chosen models allow; no slider for what none of them has. */
function rangeOf(name) {
  const ranges = state.models.map((model) => models.get(model).sliders[name]).filter(Boolean);
  if (!ranges.length) return null;
  return {
    lowest: Math.max(...ranges.map((range) => range.lowest)),
    highest: Math.min(...ranges.map((range) => range.highest)),
    step: Math.max(...ranges.map((range) => range.step)),
  };
}

function drawSlider(name, value) {
  const element = find(`slider-${name}`);
  const range = rangeOf(name);
  element.hidden = !range || range.lowest >= range.highest;
  if (element.hidden) return;
  for (const input of element.querySelectorAll("input")) {
    input.min = range.lowest;
    input.max = range.highest;
    input.step = range.step;
    input.value = value ?? range.lowest;
  }
}

function buildSliders() {
  for (const [name, title] of SLIDERS) {
    const element = document.createElement("div");
    element.className = "slider";
    element.id = `slider-${name}`;
    element.innerHTML = `<label for="${name}">${title}</label><input id="${name}" type="number"><input type="range" aria-label="${title}">`;
    element.addEventListener("input", (event) => {
      const value = Number.parseInt(event.target.value, 10);
      if (value > 0) change({ numbers: { ...state.numbers, [name]: value } });
    });
    find("sliders").append(element);
  }
}

const say = (sentence) => (find("message").textContent = sentence);

function typedModel(event) {
  const typed = event.target.value.trim();
  event.target.value = "";
  const found = typed && findModel(typed);
  if (typed && !found) say(`There is no model ${typed.slice(0, 60)} here; choose one of the list.`);
  return found;
}

/** Another model in place of the first, with its own settings. */
function replaceModel(event) {
  const found = typedModel(event);
  if (!found) event.target.value = models.get(state.models[0]).title;
  else change({ models: [...new Set([found.name, ...state.models.slice(1)])], numbers: {}, guidance: null });
}

function addModel(event) {
  const found = typedModel(event);
  if (!found) return;
  if (state.models.length >= MOST_MODELS) say(`At most ${MOST_MODELS} models stand side by side.`);
  else change({ models: [...new Set([...state.models, found.name])] });
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    find("copy").textContent = "Copied";
  } catch {
    // Without https a page may not write to the clipboard.
    say(`The address of this page is the link: ${location.href}`);
  }
}

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

buildSliders();
find("models").append(...site.models.map((model) => option(model.name, model.title)));
find("gpu").append(...site.devices.map((device) => option(device.name, `${device.name} (${device.title})`)));
find("footer").textContent = site.about;
find("model").addEventListener("change", replaceModel);
find("model").addEventListener("focus", (event) => event.target.select());
find("beside").addEventListener("change", addModel);
find("gpu").addEventListener("change", (event) => change({ gpu: event.target.value }));
find("guidance").addEventListener("change", (event) => change({ guidance: event.target.checked }));
find("compile").addEventListener("change", (event) => change({ compiled: event.target.checked }));
find("offload").addEventListener("change", (event) => change({ offload: event.target.value }));
find("reset").addEventListener("click", () => change({ numbers: {}, guidance: null }));
find("copy").addEventListener("click", copyLink);
find("controls").addEventListener("submit", (event) => event.preventDefault());

window.diffprof = { calculate, readState };
const unknown = describeUnknown(location.search);
await draw();
say(unknown);
document.body.dataset.ready = "yes";
