// How long a profile takes on a device: what diffprof.prediction does in Python, operation by operation.

import { ATTENTION, CONVOLUTION, GEMM, MEMORY, VIEW, workload } from "./loads.js";
import { elementBytes, weightSizes } from "./memory.js";


/** Seconds of a profile on a device: `total`, its `low` and `high`, the physical `bound`, and by component. */
export function predictTime(profile, device, constants, compiled = false, offload = "none") {
  const work = workload(profile);
  const calls = work.calls.map((call) => timeCall(call, device, constants, compiled));
  addPipeline(work.calls, calls, constants);
  const components = {};
  let total = 0, bound = 0, busy = 0, inSteps = 0;
  const limits = { compute: 0, bandwidth: 0, launches: 0, host: 0, transfers: 0 };
  work.calls.forEach((call, number) => {
    const { seconds, floor, device: onDevice, limited } = calls[number];
    const moved = offload === "model" ? transferSeconds(profile.components[call.component], call, device, constants) : 0;
    const whole = (Math.max(seconds, floor) + moved) * call.times;
    limits.transfers += moved * call.times;
    components[call.component] = (components[call.component] ?? 0) + whole;
    total += whole;
    bound += floor * call.times;
    busy += onDevice * call.times;
    if (call.inLoop || call.component === "pipeline") inSteps += whole;
    for (const name of ["compute", "bandwidth", "launches"]) limits[name] += limited[name] * call.times;
    limits.host += Math.max(0, seconds - onDevice) * call.times;
  });
  const spread = total ? spreadOf(limits, total, device, constants) : 0;
  const power = device.board_power_watts;
  return {
    total,
    low: Math.max(bound, total * Math.exp(-constants.quantile * spread)),
    high: total * Math.exp(constants.quantile * spread),
    bound,
    step: work.steps ? inSteps / work.steps : 0,
    components,
    energy: power ? power * (constants.idle_power * total + constants.busy_power * Math.min(busy, total)) : null,
    limitedBy: Object.keys(limits).reduce((most, name) => (limits[name] > limits[most] ? name : most)),
  };
}

/** With model offload, weights come before the first call of their component, and leave before the next one. */
function transferSeconds(component, call, device, constants) {
  const bytes = weightSizes(component).reduce((sum, size) => sum + size, 0);
  const rate = Math.min(constants.pageable_bytes_per_second, device.host_link);
  return (2 * bytes) / rate / Math.max(1, call.times);
}

function timeCall(call, device, constants, compiled) {
  const efficiency = device.efficiency;
  const limited = { compute: 0, bandwidth: 0, launches: 0 };
  let onDevice = 0, host = 0, floor = 0;
  for (const load of call.loads) {
    const { seconds, compute, memory } = kernelTimes(load, device, constants, compiled);
    const fixed = Math.min(fixedSeconds(load, device, constants), seconds);
    limited.launches += fixed * load.count;
    limited[compute >= memory ? "compute" : "bandwidth"] += (seconds - fixed) * load.count;
    onDevice += seconds * load.count;
    host += (load.sort === VIEW ? efficiency.view_seconds : efficiency.operation_seconds) * load.count;
    floor += boundSeconds(load, device, constants, compiled) * load.count;
  }
  host += call.moduleCalls * efficiency.module_seconds;
  if (compiled && call.component !== "pipeline") host *= efficiency.compiled_host_share;
  return { device: onDevice, host, seconds: smoothMaximum(onDevice, host, constants.host_sharpness), floor, limited };
}

/** The pipeline's own operations run between the calls, in time that the host has while the device works. */
function addPipeline(calls, times, constants) {
  let slack = 0;
  calls.forEach((call, number) => {
    if (call.component !== "pipeline") slack += (times[number].seconds - times[number].host) * call.times;
  });
  calls.forEach((call, number) => {
    if (call.component !== "pipeline") return;
    const own = times[number];
    own.seconds = smoothMaximum(own.device, Math.max(0, own.host - slack), constants.host_sharpness);
  });
}

function kernelTimes(load, device, constants, compiled) {
  const efficiency = device.efficiency;
  let compute = computeSeconds(load, device, constants);
  if (compiled && (load.sort === GEMM || load.sort === CONVOLUTION)) compute /= efficiency.compiled_product_speedup;
  let memory = memorySeconds(load, device, constants, compiled);
  let fixed = fixedSeconds(load, device, constants);
  if (compiled && load.sort === MEMORY) {
    const left = load.kind === "norm" ? efficiency.compiled_norm_passes : efficiency.compiled_passes;
    memory *= left;
    fixed *= left;
  }
  const roof = smoothMaximum(compute, memory, constants.roof_sharpness);
  const layout = conversionSeconds(load, device, compiled);
  return { seconds: roof + fixed + layout, compute, memory: memory + layout };
}

function fixedSeconds(load, device, constants) {
  const kernelSeconds = device.efficiency.kernel_seconds;
  if (load.sort === VIEW) return 0;
  if (load.sort === GEMM) return kernelSeconds * device.gemm_fixed;
  if (load.sort !== MEMORY) return kernelSeconds * constants.product_fixed;
  const own = { reduction: constants.reduction_fixed, norm: constants.norm_fixed };
  return kernelSeconds * (own[load.kind] ?? constants.memory_fixed);
}

function computeSeconds(load, device, constants) {
  if (load.sort === MEMORY || load.sort === VIEW) return 0;
  const rates = device.rates[load.dtype] ?? device.rates.other;
  if (load.sort === GEMM) {
    const waves = load.batch > 1 ? Math.ceil(load.batch / device.multiprocessors) : 0;
    return Math.max(tiledOperations(load, device, constants, false) / rates.product, waves * device.matrix_seconds);
  }
  if (load.sort === CONVOLUTION) {
    const winograd = load.taps === 9 ? constants.winograd_speedup : 1;
    let share = rates.has_cores_in_convolutions ? device.efficiency.convolution_share : constants.vector_share * winograd;
    if (rates.has_cores_in_convolutions && load.inner < constants.narrow_channels * load.taps) {
      share *= load.taps >= constants.patch_taps ? device.patch_share : constants.narrow_share;
    }
    return tiledOperations(load, device, constants, true) / (rates.convolution * share);
  }
  return attentionSeconds(load, rates.attention, device, constants);
}

function tiledOperations(load, device, constants, isConvolution) {
  const { rows, columns, inner, batch } = load;
  const multiprocessors = device.multiprocessors;
  let best = Infinity;
  for (const [tileRows, tileColumns, speed] of constants.tiles) {
    const tiles = batch * Math.ceil(rows / tileRows) * Math.ceil(columns / tileColumns);
    const most = isConvolution ? 1 : Math.max(1, Math.floor(inner / constants.split_inner));
    const parts = Math.min(Math.max(Math.floor(multiprocessors / tiles), 1), most);
    const waves = Math.ceil((tiles * parts) / multiprocessors);
    best = Math.min(best, (waves * multiprocessors * 2 * tileRows * tileColumns * inner) / parts / speed);
  }
  return best / alignmentShare(columns, inner, device, constants, isConvolution);
}

function alignmentShare(columns, inner, device, constants, isConvolution) {
  const isAligned = (to) => columns % to === 0 && inner % to === 0;
  if (isAligned(constants.alignment)) return 1;
  if (isConvolution) return constants.unaligned_convolution_share;
  return device.unaligned_shares[isAligned(4) ? 4 : isAligned(2) ? 2 : 1];
}

function attentionSeconds(load, rate, device, constants) {
  const { rows, inner, batch } = load;
  const efficiency = device.efficiency;
  const step = constants.attention_rows_efficient;
  const blocks = batch * Math.ceil(rows / (inner > constants.wide_head ? step : constants.attention_rows));
  const filled = (Math.ceil(blocks / device.multiprocessors) * device.multiprocessors) / blocks;
  const columns = Math.ceil(load.columns / step) * step + device.attention_start;
  const causal = load.causal && load.columns > 2 * constants.attention_rows ? 0.6 : 1;
  const scores = batch * Math.ceil(rows / 64) * 64 * columns * filled * causal;
  const isWide = inner > constants.widest_head;
  const products = (4 * scores * Math.ceil(inner / 32) * 32) / (rate * (isWide ? efficiency.wide_head_share : 1));
  const isEfficient = !isWide && (load.masked || !device.has_flash_attention);
  return products + (scores * (isEfficient ? efficiency.masked_score_passes : 1)) / device.score_rate;
}

function memorySeconds(load, device, constants, compiled) {
  const efficiency = device.efficiency;
  const strided = (load.strided * constants.sector_element) / elementBytes(load.dtype);
  const moved = load.read + load.written + (compiled ? 0 : efficiency.strided_passes) * strided;
  const seconds = moved / (device.effective_bandwidth * cacheSpeedup(moved, device));
  let passes = load.kind === "norm" ? efficiency.norm_passes : load.kind === "softmax" ? constants.softmax_passes : 0;
  if (!compiled && load.scattered) passes = 1;
  return Math.max(seconds, (load.elements * passes) / device.element_rate);
}

function conversionSeconds(load, device, compiled) {
  if (load.sort !== CONVOLUTION) return 0;
  const { compiled_conversion_passes, conversion_passes } = device.efficiency;
  const moved = (load.read - load.weight + load.written) * (compiled ? compiled_conversion_passes : conversion_passes);
  return moved / (device.effective_bandwidth * cacheSpeedup(moved, device));
}

const cacheSpeedup = (moved, device) =>
  1 + (device.efficiency.cache_speedup - 1) / (1 + (moved / device.cache_bytes) ** 2);

function boundSeconds(load, device, constants, compiled) {
  const rates = device.rates[load.dtype] ?? device.rates.other;
  let needed = load.causal ? load.macs / 2 : load.macs;
  if (load.sort === CONVOLUTION && load.taps === 9 && !rates.has_cores_in_convolutions) {
    needed /= constants.fewest_products;
  }
  const peak = load.sort === CONVOLUTION ? rates.fastest_convolution : rates.fastest;
  const moved = Math.max(0, load.read + load.written - 2 * device.cache_bytes) / device.bandwidth;
  return Math.max((2 * needed) / peak, compiled ? 0 : moved);
}

const smoothMaximum = (a, b, sharpness) => (a ** sharpness + b ** sharpness) ** (1 / sharpness);

function spreadOf(limits, total, device, constants) {
  const shares = [
    [device.spread, total - limits.host - limits.transfers],
    [device.efficiency.host_spread, limits.host + limits.launches],
    [constants.transfer_spread, limits.transfers],
  ];
  return Math.sqrt(shares.reduce((sum, [spread, seconds]) => sum + ((spread * seconds) / total) ** 2, 0));
}
