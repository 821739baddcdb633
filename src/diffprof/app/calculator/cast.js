// Weights that a pipeline casts to float32 while it runs: what diffprof.prediction.cast_weights does in Python.

const GROWTH = 2;

/** The pipeline's own events as they are on a device, and the components whose weights it casts. */
export function ownCode(profile, isResident) {
  let events = profile.costs[profile.calls.findLast((call) => call.component === "pipeline").cost].events;
  const cast = [];
  for (const [slot, component] of Object.entries(profile.components)) {
    const stored = Object.keys(component.weight_bytes_by_dtype ?? {});
    if (component.dtype !== "float32" || stored.length !== 1 || stored[0] !== "float16" || !component.calls) continue;
    const found = withCast(events, GROWTH * component.weight_bytes, isResident);
    if (found === events) continue;
    events = found;
    cast.push(slot);
  }
  return { events, cast };
}

function withCast(events, total, isResident) {
  const up = castUp(events, total);
  if (!up.size) return events;
  const back = castBack(events, up);
  return events.map(([kind, value, step], place) => {
    if (up.has(place)) return [kind, isResident ? Math.floor(value / GROWTH) : 0, step];
    return back.has(place) ? [kind, 0, step] : [kind, value, step];
  });
}

/** The places of allocations that are `total` bytes together, with no other event between them. */
function castUp(events, total) {
  const up = new Set();
  for (let start = 0; start < events.length; ) {
    let end = start;
    while (end < events.length && events[end][0] === "allocate") end += 1;
    const begins = new Map();
    let size = 0;
    for (let place = start; place <= end; place += 1) {
      if (begins.has(size - total)) {
        for (let one = begins.get(size - total); one < place; one += 1) up.add(one);
        break;
      }
      begins.set(size, place);
      if (place < end) size += events[place][1];
    }
    start = end + 1;
  }
  return up;
}

/** The places of allocations right after which one of the copies is released. */
function castBack(events, up) {
  const copies = new Set();
  const back = new Set();
  let made = 0;
  events.forEach(([kind, value], place) => {
    if (kind === "allocate") {
      if (up.has(place)) copies.add(made);
      made += 1;
    } else if (kind === "release" && copies.has(made - value) && events[place - 1][0] === "allocate") {
      back.add(place - 1);
    }
  });
  return back;
}
