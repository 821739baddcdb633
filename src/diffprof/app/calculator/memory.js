// The memory of a profile on a device, stage by stage: what diffprof.prediction.memory does in Python.

import { CachingAllocator, OutOfDeviceMemory } from "./allocator.js";
import { ownCode } from "./cast.js";
import { product } from "./loads.js";

const MIB = 1024 ** 2;
const STAGES = ["load", "encode", "denoise", "decode"];
const DENOISING = ["denoiser", "controlnet", "adapter"];

/** Bytes of each stage and of the peak, and whether the device has them; null where its memory is not known. */
export function predictMemory(profile, device, offload = "none") {
  let fits = null;
  let stages;
  try {
    stages = new Simulation(profile, device, offload, device.capacity_bytes).run();
    fits = device.capacity_bytes === null ? null : true;
  } catch (error) {
    if (!(error instanceof OutOfDeviceMemory)) throw error;
    stages = new Simulation(profile, device, offload, null).run();
    fits = false;
  }
  const most = stages.reduce((peak, stage) => (stage.allocated > peak.allocated ? stage : peak));
  return {
    fits,
    stages,
    peak: { ...most, reserved: largest(stages, "reserved"), device: largest(stages, "device") },
  };
}

const largest = (stages, name) => Math.max(...stages.map((stage) => stage[name]));

class Simulation {
  constructor(profile, device, offload, capacity) {
    this.profile = profile;
    this.device = device;
    this.offload = offload;
    this.allocator = new CachingAllocator(capacity);
    this.weights = {};
    for (const [slot, component] of Object.entries(profile.components)) this.weights[slot] = weightSizes(component);
    this.onDevice = new Map();
    this.resident = new Map();
    this.moments = new Map();
    this.reserved = new Map();
    this.taken = new Map();
    this.stay = new Set(profile.placement?.stay_on_device ?? []);
    this.kept = 0;
    this.stage = "load";
  }

  run() {
    const outside = ownCode(this.profile, this.offload === "none");
    if (this.offload !== "none") {
      for (const slot of outside.cast) this.weights[slot] = this.weights[slot].map((size) => 2 * size);
    }
    this.#load();
    this.reserved.set("load", this.allocator.mostReserved);
    this.allocator.emptyCache();
    const stages = stagesOfCalls(this.profile);
    this.#begin(stages.length ? stages[0] : "decode");
    const blocks = [];
    const sizes = [];
    let number = 0;
    for (const [kind, value] of outside.events) {
      if (kind === "call") {
        this.#call(this.profile.calls[number], stages[number]);
        number += 1;
      } else if (kind === "allocate") {
        blocks.push(this.allocator.allocate(value));
        sizes.push(value);
        this.kept += value;
        this.note("pipeline", "", 0, 0);
      } else if (kind === "release") {
        this.allocator.release(blocks.at(-value));
        this.kept -= sizes.at(-value);
      }
    }
    this.#begin("");
    return STAGES.filter((stage) => this.moments.has(stage)).map((stage) => {
      const reserved = this.reserved.get(stage) ?? 0;
      return { stage, ...this.moments.get(stage), reserved, device: reserved + this.device.context_bytes };
    });
  }

  #begin(stage) {
    if (stage === this.stage) return;
    const before = this.reserved.get(this.stage) ?? 0;
    this.reserved.set(this.stage, Math.max(before, this.allocator.mostReserved));
    this.allocator.mostReserved = this.allocator.reserved;
    this.stage = stage;
  }

  #load() {
    for (const slot of Object.keys(this.weights)) {
      if (this.offload === "none" || this.stay.has(slot)) this.#bring(slot);
    }
    this.allocator.allocate(this.device.matrix_workspace_bytes);
    this.note("", "", 0, 0);
  }

  #bring(slot) {
    const sizes = this.weights[slot];
    if (this.onDevice.has(slot) || !sizes.length) return;
    const blocks = sizes.flatMap(tensorSizes).map((size) => this.allocator.allocate(size));
    this.onDevice.set(slot, blocks);
    this.resident.set(slot, sizes.reduce((sum, size) => sum + size, 0));
  }

  #takeAway(slot) {
    for (const block of this.onDevice.get(slot) ?? []) this.allocator.release(block);
    this.onDevice.delete(slot);
    this.resident.delete(slot);
  }

  #call(call, stage) {
    if (this.offload === "model") this.#offloadBefore(call.component);
    this.#begin(stage);
    if (this.offload === "model") {
      this.#bring(call.component);
      this.note(call.component, "", 0, 0);
    }
    this.#follow(call);
  }

  /** As accelerate's hooks do: the component that precedes this one in the pipeline's order leaves. */
  #offloadBefore(slot) {
    const order = this.profile.placement?.offload_order ?? [];
    const names = order.length ? order : Object.keys(this.profile.components);
    const present = names.filter((name) => this.weights[name]?.length && !this.stay.has(name));
    const place = present.indexOf(slot);
    if (place < 1 || !this.onDevice.has(present[place - 1])) return;
    this.#takeAway(present[place - 1]);
    this.allocator.emptyCache();
  }

  #follow(call) {
    const before = this.allocator.allocated;
    const taken = this.taken.get(call.cost);
    if (taken === undefined) {
      this.taken.set(call.cost, followCall(this, call) - before);
      return;
    }
    const moment = this.moments.get(this.stage);
    if (moment) moment.allocated = Math.max(moment.allocated, before + taken);
  }

  note(component, module, activations, workspace) {
    let moment = this.moments.get(this.stage);
    if (!moment) this.moments.set(this.stage, (moment = { allocated: -1 }));
    const { allocated } = this.allocator;
    if (allocated <= moment.allocated) return;
    const weights = Object.fromEntries(this.resident);
    Object.assign(moment, { allocated, component, module, activations, workspace, weights, kept: this.kept });
  }
}

function followCall(around, call) {
  const { allocator, device } = around;
  const cost = around.profile.costs[call.cost];
  const paths = cost.modules.length ? cost.modules.map((module) => module.path) : [""];
  const blocks = [];
  const sizes = [];
  const alive = new Set();
  let owner = 0, activations = 0, most = 0;
  const note = (workspace) => {
    if (allocator.allocated <= most) return;
    most = allocator.allocated;
    around.note(call.component, paths[owner], activations, workspace);
  };
  for (const [kind, value, step] of cost.events) {
    if (kind === "allocate") {
      owner += step;
      const size = value || 1;
      alive.add(blocks.length);
      blocks.push(allocator.allocate(size));
      sizes.push(size);
      activations += size;
      note(0);
    } else if (kind === "release") {
      const number = blocks.length - value;
      allocator.release(blocks[number]);
      activations -= sizes[number];
      alive.delete(number);
    } else {
      useWorkspace(allocator, device, cost.operations[value], note);
    }
  }
  for (const number of alive) allocator.release(blocks[number]);
  return most;
}

function useWorkspace(allocator, device, operation, note) {
  const isConvolution = operation.kind === "convolution";
  const size = isConvolution ? convolutionBytes(operation, device) : attentionBytes(operation, device);
  if (!size) return;
  let block;
  try {
    block = allocator.allocate(size);
  } catch (error) {
    if (!(error instanceof OutOfDeviceMemory) || !isConvolution) throw error;
    return; // cuDNN goes on to an algorithm that does without
  }
  note(size);
  allocator.release(block);
}

const BYTES = { float64: 8, float32: 4, bfloat16: 2, float16: 2, int64: 8, int32: 4 };
export const elementBytes = (dtype) => BYTES[dtype] ?? 1;

function convolutionBytes(operation, device) {
  const { inputs, outputs, dtype } = operation;
  if ((dtype === "float32" && !device.has_tf32) || inputs.length < 2 || !outputs.length) return 0;
  const [source, weight] = inputs;
  const isDepthwise = source.length === weight.length && weight[1] === 1 && source[1] > 1;
  if (product(weight.slice(2)) === 1 || isDepthwise) return 0;
  const copied = product(source) + product(weight) + (copiesOutput(source, outputs[0], dtype) ? product(outputs[0]) : 0);
  return copied * elementBytes(dtype);
}

const MOST_COPIED_ELEMENTS = 2 ** 32;

/** Whether cuDNN makes the output with channels last and converts it, or writes it as PyTorch wants it. */
function copiesOutput(source, result, dtype) {
  if (dtype === "float32" || product(source) + product(result) > MOST_COPIED_ELEMENTS) return false;
  return !(source.length === 4 && source[0] > 1 && result[1] >= source[1]);
}

function attentionBytes(operation, device) {
  const [query, key] = operation.inputs;
  const queries = product(query.slice(0, -1));
  if (device.has_any_fused_head || query.at(-1) <= device.largest_fused_head) return 4 * queries;
  return queries * key.at(-2) * (2 * Math.max(4, elementBytes(operation.dtype)) + 1);
}

/** Bytes of the weights of each module that has some; buffers are not known by module. */
export function weightSizes(component) {
  const elements = component.parameters + component.buffers;
  const total = component.weight_bytes - savedByCast(component);
  const each = elements ? total / elements : 0;
  const own = component.modules.map(([, , parameters]) => parameters);
  const sizes = own.filter((parameters) => parameters).map((parameters) => roundHalfEven(parameters * each));
  const rest = total - roundHalfEven(each * own.reduce((sum, parameters) => sum + parameters, 0));
  if (rest > 0) sizes.push(rest);
  return sizes;
}

/** Diffusers loads buffers in the dtype of the weights, which may be smaller than that they were created in. */
function savedByCast(component) {
  const sizes = component.weight_bytes_by_dtype ?? {};
  const computed = ["float32", "bfloat16", "float16"].filter((dtype) => dtype in sizes);
  const main = computed.reduce((best, dtype) => (best && sizes[best] >= sizes[dtype] ? best : dtype), null);
  const own = elementBytes(main ?? component.dtype);
  for (const dtype of ["float32", "float64"]) {
    const wide = elementBytes(dtype);
    if (wide > own && sizes[dtype] && sizes[dtype] === component.buffers * wide) return component.buffers * (wide - own);
  }
  return 0;
}

function tensorSizes(size) {
  const rest = size % MIB;
  return size > MIB && rest ? [size - rest, rest] : [size];
}

function roundHalfEven(value) {
  const floor = Math.floor(value);
  const left = value - floor;
  if (left !== 0.5) return Math.round(value);
  return floor % 2 ? floor + 1 : floor;
}

function stagesOfCalls(profile) {
  const calls = profile.calls.filter((call) => call.component !== "pipeline");
  const isDenoising = (call) => DENOISING.includes(profile.components[call.component].role);
  let looped = calls.flatMap((call, number) => (call.step !== null ? [number] : []));
  if (!looped.length) looped = calls.flatMap((call, number) => (isDenoising(call) ? [number] : []));
  return calls.map((call, number) => {
    if (call.step !== null || isDenoising(call)) return "denoise";
    const decodes = call.method.includes("decode");
    if (!looped.length) return decodes ? "decode" : "encode";
    return number > looped.at(-1) || (number > looped[0] && decodes) ? "decode" : "encode";
  });
}
