// Numbers as people read them: three digits, a unit.

const digits = (value) => {
  if (value === 0) return "0";
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { minimumFractionDigits: Math.min(places, 3), maximumFractionDigits: Math.min(places, 3) });
};

const scaled = (value, units, base) => {
  let number = Number(value), place = 0;
  while (number >= base * 0.9995 && place < units.length - 1) {
    number /= base;
    place += 1;
  }
  return `${place ? digits(number) : Math.round(number)} ${units[place]}`.trim();
};

export const bytes = (value) => scaled(value, ["bytes", "KiB", "MiB", "GiB", "TiB"], 1024);
export const count = (value) => scaled(value, ["", "thousand", "million", "billion"], 1000);
export const work = (value) => scaled(value, ["", "K", "M", "G", "T", "P", "E"], 1000);

/** A time that is only known to about a tenth: two digits, as everywhere else in diffprof. */
export function seconds(value) {
  for (const [unit, size, least] of [["h", 3600, 7200], ["min", 60, 600], ["s", 1, 0.995], ["ms", 1e-3, 0.995e-3]]) {
    if (value >= least) return `${twoDigits(value / size)} ${unit}`;
  }
  return value ? `${twoDigits(value * 1e6)} µs` : "0 s";
}

const twoDigits = (value) => Number(value.toPrecision(2)).toLocaleString("en", { minimumSignificantDigits: Math.abs(value) < 99.5 ? 2 : 1 });

export const whole = (value) => value.toLocaleString("en");
/** Less than all never reads as 100 %, more than nothing never as 0 %. */
export function percent(share) {
  if (share <= 0) return "0 %";
  if (share < 0.001) return "<0.1 %";
  if (share >= 1) return "100 %";
  return share > 0.999 ? ">99.9 %" : `${(100 * share).toFixed(1)} %`;
}
