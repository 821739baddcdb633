// Laws: what a pipeline executes as a template with polynomials, filled in for a request in exact arithmetic.
// What diffprof.laws does in Python.

const opened = new Map();

/** The law of a model, fetched once. */
export function openLaw(model) {
  if (!opened.has(model.name)) opened.set(model.name, fetchLaw(model));
  return opened.get(model.name);
}

async function fetchLaw(model) {
  const answer = await fetch(`laws/${model.file}`);
  if (!answer.ok) throw new Error(`The law of ${model.title} is missing on this site.`);
  return new Law(await answer.json());
}

export class Law {
  constructor(document) {
    this.document = document;
    this.monomials = document.monomials;
    this.rows = document.polynomials.map(([denominator, ...parts]) => [BigInt(denominator), ...parts]);
    this.nodes = readNodes(document.nodes);
    this.constants = document.constants;
    this.known = new Map();
  }

  /** The figures and the profile of a request: numbers by source, and the guidance scale. */
  evaluate({ numbers, guidance }) {
    const { domains, programs } = this.document;
    const number = domains.findIndex((domain) => isCovered(domain, numbers, guidance));
    if (number < 0) throw new Error("No law was proved for this request; diffprof profile --count counts it.");
    return new Filling(this, programs[number], numbers).result();
  }
}

/** Nodes as they are written: all kinds in one text, and their values. */
function readNodes({ kinds: [kinds], values }) {
  return [...kinds].map((kind, number) => (kind === "d" ? [kind, ...values[number]] : [kind, values[number]]));
}

/** Such as height, floor(height/16) or ceil(height/32): monomials are written in these. */
function variableName({ source, divisor, offset, is_rounded_up: isUp }) {
  const inner = source + (offset ? (offset > 0 ? `+${offset}` : `${offset}`) : "");
  return divisor === 1 ? inner : `${isUp ? "ceil" : "floor"}(${inner}/${divisor})`;
}

/** Whether a program was proved for these numbers. */
function isCovered(domain, numbers, guidance) {
  if (domain.guidance.length && !domain.guidance.includes(guidanceClass(guidance))) return false;
  const pixels = (numbers.height ?? USUAL_SIDE) * (numbers.width ?? USUAL_SIDE) * (numbers.num_images_per_prompt ?? 1);
  if (domain.most_pixels !== null && pixels > domain.most_pixels) return false;
  const volume = (numbers.height ?? 1) * (numbers.width ?? 1) * (numbers.num_frames ?? 1);
  if (domain.most_volume !== null && volume > domain.most_volume) return false;
  const whole = (side) => (side === undefined ? 1 : side - (side % VOLUME_CELL));
  const wholeVolume = whole(numbers.height) * whole(numbers.width) * (numbers.num_frames ?? 1);
  if ((domain.least_volume ?? 0) > wholeVolume) return false;
  if ((numbers.height * numbers.width) % (domain.area_multiple ?? 1)) return false;
  const isSize = ([height, width]) => height === numbers.height && width === numbers.width;
  if (domain.sizes?.length && !domain.sizes.some(isSize)) return false;
  return Object.entries(domain.ranges).every(([source, { least, most, multiple, offset }]) => {
    const number = numbers[source];
    return number >= least && number <= most && (number - offset) % multiple === 0;
  });
}

const USUAL_SIDE = 1024;

/** Pixels of a side that pipelines take together. */
const VOLUME_CELL = 16;

/** Pipelines guide where the scale is above 1, or above 0, or not 0. */
const guidanceClass = (scale) => (scale <= 0 ? "none" : scale < 1 ? "below 1" : scale === 1 ? "1" : "above 1");

const floorDivide = (number, divisor) => Math.floor(number / divisor);

/** A program with the numbers of one request. */
class Filling {
  constructor(law, program, numbers) {
    this.law = law;
    this.program = program;
    const variables = new Map();
    for (const variable of program.variables) {
      const number = numbers[variable.source] + variable.offset;
      const { divisor } = variable;
      const value = variable.is_rounded_up ? -floorDivide(-number, divisor) : floorDivide(number, divisor);
      variables.set(variableName(variable), BigInt(value));
    }
    this.terms = law.monomials.map((monomial) => {
      if (!monomial.every(([name]) => variables.has(name))) return null;
      return monomial.reduce((term, [name, power]) => term * variables.get(name) ** BigInt(power), 1n);
    });
    this.values = new Map();
    this.known = new Map();
  }

  /** The exact value of a polynomial. */
  exact(number) {
    let value = this.values.get(number);
    if (value !== undefined) return value;
    const row = this.law.rows[number];
    let total = 0n;
    for (let place = 1; place < row.length; place += 2) total += this.terms[row[place]] * BigInt(row[place + 1]);
    if (total % row[0] !== 0n) throw new Error("This law says nothing about such a request.");
    value = total / row[0];
    this.values.set(number, value);
    return value;
  }

  /** The value that a node stands for. */
  fill(number) {
    const known = number < this.law.constants ? this.law.known : this.known;
    if (known.has(number)) return known.get(number);
    const [kind, first, second] = this.law.nodes[number];
    let value;
    if (kind === "c") value = first;
    else if (kind === "n") value = plain(this.exact(first));
    else if (kind === "l") value = first.map((child) => this.fill(child));
    else if (kind === "t") value = first.map((child) => this.fill(child)).join("");
    else value = Object.fromEntries(first.map((key, place) => [key, this.fill(second[place])]));
    known.set(number, value);
    return value;
  }

  result() {
    const parts = this.fill(this.program.root);
    const costs = parts.costs.map((cost, number) => costOf(cost, this.program.sums[number], this));
    const shared = shareEqual(costs);
    const components = new Map();
    for (const [slot, className, role, dtype, parameters, buffers, weightBytes, byDtype, modules] of parts.components) {
      components.set(slot, {
        slot, role, dtype, parameters, buffers, modules, class_name: className, weight_bytes: weightBytes,
        weight_bytes_by_dtype: Object.fromEntries(byDtype), calls: 0, macs: 0n,
      });
    }
    const steps = parts.stages.map(() => 0);
    const calls = unfold(parts.calls).map(([slot, method, , stage, advance, number]) => {
      const component = components.get(slot);
      component.calls += 1;
      component.macs += costs[number].macs;
      if (stage !== null) steps[stage] += advance;
      return { component: slot, method, step: stage === null ? null : steps[stage] - 1, cost: shared[number] };
    });
    const all = [...components.values()];
    const placement = parts.placement && { offload_order: parts.placement[0], stay_on_device: parts.placement[1] };
    return {
      profile: { components: Object.fromEntries(components), calls, costs, placement, steps: steps.reduce((a, b) => a + b, 0) },
      components: all,
      macs: all.reduce((sum, component) => sum + component.macs, 0n),
      parameters: all.reduce((sum, component) => sum + component.parameters, 0),
    };
  }
}

const plain = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/** A cost of the program, its tables made when they are asked for. */
function costOf(parts, sums, filling) {
  const cost = { macs: filling.exact(sums.work[0]), parts };
  const lazily = (name, make) => {
    Object.defineProperty(cost, name, {
      configurable: true,
      get() {
        const value = make();
        Object.defineProperty(cost, name, { value });
        return value;
      },
    });
  };
  lazily("modules", () => parts.modules.map(([path, , calls]) => ({ path, calls })));
  lazily("operations", () => groupOperations(parts.modules));
  lazily("attention", () => parts.attention.map(([, , batch, queryTokens, keyTokens, heads, , headSize, , causal, masked]) => ({
    batch, heads, causal, masked, query_tokens: queryTokens, key_tokens: keyTokens, head_size: headSize,
  })));
  lazily("events", () => eventsOf(parts.events, cost.operations));
  return cost;
}

/** Name, kind, shapes and dtype of an operation as a text; inputs may be written with loops. */
const keyOf = ([name, kind, inputs, outputs, dtype]) => JSON.stringify([name, kind, unfold(inputs), outputs, dtype]);

/** Operations of equal shapes as one row, most MACs first. */
function groupOperations(modules) {
  const rows = new Map();
  for (const [, , , operations] of modules) {
    for (const [operation, count] of operations) {
      const [key, macs, otherFlops, readBytes, writtenBytes, stridedBytes] = operation;
      const name = keyOf(key);
      let row = rows.get(name);
      if (!row) rows.set(name, (row = { key, name, count: 0, sums: [0n, 0n, 0n, 0n, 0n] }));
      row.count += count;
      [macs, otherFlops, readBytes, writtenBytes, stridedBytes].forEach((amount, place) => {
        row.sums[place] += BigInt(amount) * BigInt(count);
      });
    }
  }
  const found = [...rows.values()].sort((a, b) => (a.sums[0] < b.sums[0] ? 1 : a.sums[0] > b.sums[0] ? -1 : 0));
  return found.filter((row) => row.count).map(({ key, name, count, sums }) => ({
    key: name, name: key[0], kind: key[1], inputs: unfold(key[2]), outputs: key[3], dtype: key[4], count,
    macs: sums[0], other_flops: sums[1], read_bytes: sums[2], written_bytes: sums[3], strided_bytes: sums[4],
  }));
}

/** The events of a cost: operations by their number, releases by their age, modules by how far on they are. */
function eventsOf(folded, operations) {
  const numbers = new Map(operations.map((operation, number) => [operation.key, number]));
  const events = [];
  let age = 0;
  for (const [kind, value, step] of unfold(folded)) {
    if (kind === "operation" || kind === "masked_attention") {
      const number = numbers.get(keyOf(value));
      if (number !== undefined) events.push([kind, number, 0]);
    } else if (kind === "release" || kind === "release next") {
      age = kind === "release" ? value : age + value;
      events.push(["release", age, 0]);
    } else {
      events.push([kind, value, step % 2 ? -(step + 1) / 2 : step / 2]);
    }
  }
  return events;
}

function unfold(sequence) {
  const items = [];
  for (const item of sequence) {
    if (Array.isArray(item) && item.length === 3 && item[0] === "loop") {
      const body = unfold(item[2]);
      for (let turn = 0; turn < item[1]; turn += 1) items.push(...body);
    } else {
      items.push(item);
    }
  }
  return items;
}

/** For each cost the number of the first that is equal to it. */
function shareEqual(costs) {
  const known = new Map();
  return costs.map((cost, number) => {
    const alike = known.get(cost.macs) ?? [];
    known.set(cost.macs, [...alike, number]);
    const text = (other) => (other.text ??= JSON.stringify(other.parts));
    return alike.find((other) => text(costs[other]) === text(cost)) ?? number;
  });
}
