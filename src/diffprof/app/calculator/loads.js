// The operations of a component call as loads on a device: what diffprof.prediction.workload does in Python.

export const GEMM = "gemm";
export const CONVOLUTION = "convolution";
export const ATTENTION = "attention";
export const MEMORY = "memory";
export const VIEW = "view";

const IN_ORDER = new Set(["_to_copy", "fill", "zero", "uniform", "normal", "bernoulli"]);

export const product = (shape) => shape.reduce((elements, side) => elements * side, 1);

const each = (total, count) => Math.floor(Number(total) / count);

/** The loads of a profile, equal calls together. */
export function workload(profile) {
  const groups = new Map();
  for (const call of profile.calls) {
    const inLoop = call.step !== null;
    const key = `${call.component} ${call.method} ${call.cost} ${inLoop}`;
    const known = groups.get(key);
    if (known) known.times += 1;
    else groups.set(key, { ...callLoads(call, profile.costs[call.cost]), times: 1, inLoop });
  }
  return { calls: [...groups.values()], steps: profile.steps };
}

function callLoads(call, cost) {
  const flags = new Map();
  for (const site of cost.attention) {
    const key = `${site.batch * site.heads} ${site.query_tokens} ${site.key_tokens} ${site.head_size}`;
    flags.set(key, { masked: site.masked, causal: site.causal });
  }
  return {
    component: call.component,
    moduleCalls: cost.modules.reduce((calls, module) => calls + module.calls, 0),
    loads: cost.operations.filter((operation) => operation.count).map((operation) => load(operation, flags)),
  };
}

function load(operation, flags) {
  const { count, inputs, outputs } = operation;
  const found = {
    kind: operation.kind,
    dtype: operation.dtype,
    count,
    macs: each(operation.macs, count),
    read: each(operation.read_bytes, count),
    written: each(operation.written_bytes, count),
    strided: each(operation.strided_bytes, count),
    batch: 1, rows: 1, columns: 1, inner: 1, taps: 1,
    weight: 0, elements: 0, scattered: false, masked: false, causal: false,
  };
  found.sort = found.read + found.written || each(operation.other_flops, count) ? MEMORY : VIEW;
  const shape = productShape(operation, found.macs);
  if (!shape) {
    if (found.sort === MEMORY) {
      found.elements = Math.max(0, ...[...inputs, ...outputs].map(product));
      found.scattered = isScattered(operation);
    }
    return found;
  }
  Object.assign(found, shape);
  if (found.sort === ATTENTION) {
    Object.assign(found, flags.get(`${found.batch} ${found.rows} ${found.columns} ${found.inner}`));
  } else if (operation.kind === "linear" || operation.kind === "convolution") {
    found.weight = weightBytes(operation, found.read);
  }
  return found;
}

function isScattered(operation) {
  if (operation.kind === "data movement") return !IN_ORDER.has(operation.name);
  const sizes = new Set([...operation.inputs, ...operation.outputs.slice(0, 1)].map(product));
  sizes.delete(1);
  return (operation.kind === "elementwise" || operation.kind === "activation") && sizes.size > 1;
}

function productShape(operation, macs) {
  const { inputs, outputs, kind } = operation;
  if (!macs || !outputs.length) return null;
  const out = outputs[0];
  if (kind === "attention" && inputs.length >= 3 && inputs[0].length >= 2) {
    const [query, key] = inputs;
    return {
      sort: ATTENTION, batch: product(query.slice(0, -2)), rows: query.at(-2), columns: key.at(-2), inner: query.at(-1),
    };
  }
  const elements = product(out);
  const inner = Math.max(1, Math.floor(macs / Math.max(1, elements)));
  if (kind === "convolution" && inputs.length >= 2) return convolutionShape(inputs, out, elements, inner);
  const columns = out.length ? out.at(-1) : 1;
  const batch = out.length === 3 && (kind === "matmul" || kind === "attention") ? out[0] : 1;
  return { sort: GEMM, batch, rows: Math.max(1, Math.floor(Math.floor(elements / columns) / batch)), columns, inner };
}

function convolutionShape(inputs, out, elements, inner) {
  const taps = product(inputs[1].slice(2));
  const channels = out.length > 1 ? out[1] : 1;
  let groups = 1;
  if (inputs[0].length > 1 && inner >= taps) groups = Math.max(1, Math.floor((inputs[0][1] * taps) / inner));
  if (channels % groups) groups = 1;
  const rows = Math.max(1, Math.floor(elements / channels));
  return { sort: CONVOLUTION, batch: groups, rows, columns: Math.floor(channels / groups), inner, taps };
}

function weightBytes(operation, read) {
  const { inputs } = operation;
  if (inputs.length < 2) return 0;
  const elements = inputs.reduce((sum, shape) => sum + product(shape), 0);
  return Math.floor((read * product(inputs[1])) / Math.max(1, elements));
}
