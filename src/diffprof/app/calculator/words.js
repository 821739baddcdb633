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

export function seconds(value) {
  if (value < 1e-3) return `${digits(value * 1e6)} µs`;
  if (value < 1) return `${digits(value * 1e3)} ms`;
  if (value < 120) return `${digits(value)} s`;
  if (value < 7200) return `${digits(value / 60)} min`;
  return `${digits(value / 3600)} h`;
}

export const whole = (value) => value.toLocaleString("en");
export const percent = (share) => `${(100 * share).toLocaleString("en", { maximumFractionDigits: share < 0.1 ? 1 : 0 })} %`;
