// A saved profile as the other scripts read it: rows of tables become objects.

const objects = ({ columns, rows }) =>
  rows.map((row) => Object.fromEntries(columns.map((column, number) => [column, row[number]])));

export function readProfile(document) {
  const components = {};
  for (const [slot, component] of Object.entries(document.components)) {
    components[slot] = { ...component, modules: component.modules.rows };
  }
  return {
    components,
    calls: document.calls,
    costs: document.costs.map(({ operations, modules, attention, allocations }) => ({
      operations: objects(operations),
      modules: objects(modules),
      attention: objects(attention),
      events: expand({ events: allocations.events.rows, order: allocations.order }),
    })),
    steps: document.steps.stages.reduce((sum, stage) => sum + stage.count, 0),
    placement: document.placement,
  };
}

/** The events of a sequence, one for each that happened. */
function expand({ events, order }) {
  const known = events.map(([kind, value, step]) => [kind, value, step % 2 ? -(step + 1) / 2 : step / 2]);
  const numbers = [];
  for (let place = 0; place < order.length; place += 1) {
    if (order[place] < known.length) {
      numbers.push(order[place]);
      continue;
    }
    const start = numbers.length - (order[place] - known.length);
    place += 1;
    for (let copied = start; copied < start + order[place]; copied += 1) numbers.push(numbers[copied]);
  }
  return numbers.map((number) => known[number]);
}
