"use strict";
// Functions of the page's script that draw nothing, which tests run without a browser.

const DEFAULTS = {
  content: { table: null, environments: [], charts: [], preamble: "" },
  table: { order: null, threshold: null, legend: [] },
  column: { unit: "", about: "", is_filter: false },
  row: { facts: [], notes: [], code: [], samples: [], environment: null },
  samples: { low: null, high: null, side: "", noun: "samples" },
  line: { is_joined: true },
};

/** Returns the content of a page, in which JSON leaves out what is at its default. */
function withDefaults(found) {
  const content = { ...DEFAULTS.content, ...found };
  if (content.table) {
    const table = { ...DEFAULTS.table, ...content.table };
    table.columns = table.columns.map((one) => ({ ...DEFAULTS.column, ...one }));
    table.rows = table.rows.map((one) => ({ ...DEFAULTS.row, ...one }));
    for (const row of table.rows) row.samples = row.samples.map((one) => ({ ...DEFAULTS.samples, ...one }));
    content.table = table;
  }
  content.charts = content.charts.map((chart) => (
    { ...chart, lines: chart.lines.map((line) => ({ ...DEFAULTS.line, ...line })) }));
  return content;
}

const SCALES = {
  ns: [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]],
  B: [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9]],
};

/** Returns name and size of the unit in which a value has one to three digits before the point. */
function unitFor(unit, value) {
  const scale = SCALES[unit] || [[unit, 1]];
  const size = Math.abs(value);
  return scale.reduce((best, one) => (size >= one[1] ? one : best), scale[0]);
}

/** Returns a number with four significant digits, without an exponent. */
function digits(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toPrecision(4);
  return size >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(4)));
}

/** Returns a value with the unit that suits it. */
function withUnit(value, unit) {
  const [name, size] = unitFor(unit, value);
  return name ? `${digits(value / size)} ${name}` : digits(value);
}

/** Returns the half-width of a figure as a share; empty without one. */
function shareText([value, half]) {
  if (!half || !value) return "";
  const share = (100 * half) / Math.abs(value);
  if (share < 0.05) return "±<0.1 %";
  return share > 100 ? "±>100 %" : `±${share < 9.95 ? share.toFixed(1) : Math.round(share)} %`;
}

/** Returns what a cell is sorted by; null of an empty one. */
function sortKey(cell, kind) {
  if (cell === null || cell === undefined || cell === "") return null;
  if (kind === "figure" || kind === "interval" || kind === "verdict") return cell[0];
  return cell;
}

/** Returns the places of rows in the order of a column; rows without a value are the last. */
function sorted(rows, places, column, kind, descending) {
  const sign = descending ? -1 : 1;
  const collator = new Intl.Collator("en", { numeric: true });
  return [...places].sort((first, second) => {
    const one = sortKey(rows[first].cells[column], kind);
    const other = sortKey(rows[second].cells[column], kind);
    if (one === null || other === null) return (one === null) - (other === null) || first - second;
    const order = typeof one === "number" ? one - other : collator.compare(one, other);
    return sign * order || first - second;
  });
}

/** Returns the text in which a row is searched. */
function searchText(row, columns) {
  const cells = row.cells.map((cell, place) => {
    const kind = columns[place].kind;
    if (kind === "verdict") return cell[0];
    return ["name", "text", "status"].includes(kind) ? cell || "" : "";
  });
  return [...cells, ...row.facts.map((fact) => fact[1]), ...row.notes].join("\n").toLowerCase();
}

/** Returns the places of the rows that have all words of a query, and these values of columns. */
function matching(texts, rows, query, values) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = Object.entries(values).filter(([, value]) => value !== null);
  return rows.map((row, place) => place).filter((place) =>
    words.every((word) => texts[place].includes(word)) &&
    chosen.every(([column, value]) => filterValue(rows[place].cells[column]) === value));
}

function filterValue(cell) {
  return Array.isArray(cell) ? cell[0] : cell || "";
}

/** Returns the samples of each metric, those of both sides of a comparison together. */
function byTitle(samples) {
  const found = new Map();
  for (const one of samples) found.set(one.title, [...(found.get(one.title) || []), one]);
  return [...found.values()];
}

/** Returns the centres of bins, the number of each list's values in them, and how many values are
 * beyond the last: as Freedman and Diaconis, but of 5 to 40 bins, and without what is far above the
 * quartiles, which would leave all else in one bin. */
function histogram(lists) {
  const all = lists.flat().sort((one, other) => one - other);
  const quartile = (share) => all[Math.floor(share * (all.length - 1))];
  const range = quartile(0.75) - quartile(0.25);
  const ordered = range > 0 ? all.filter((value) => value <= quartile(0.75) + 8 * range) : all;
  const least = ordered[0], most = ordered[ordered.length - 1];
  const beyond = all.length - ordered.length;
  if (least === most) return [[least], lists.map((values) => [values.filter((value) => value <= most).length]), beyond];
  const width = (2 * range) / Math.cbrt(ordered.length);
  const wanted = width > 0 ? Math.ceil((most - least) / width) : 40;
  const bins = Math.max(5, Math.min(40, wanted));
  const size = (most - least) / bins;
  const counts = lists.map((values) => {
    const own = new Array(bins).fill(0);
    for (const value of values) if (value <= most) own[Math.min(bins - 1, Math.floor((value - least) / size))]++;
    return own;
  });
  return [counts[0].map((_, bin) => least + (bin + 0.5) * size), counts, beyond];
}

/** Returns the lines of a chart on common sizes: `[sizes, [values of a line], ...]`, null where it
 * has none; a line with several points of one size becomes several. */
function aligned(lines) {
  const sizes = [...new Set(lines.flatMap((line) => line.points.map((point) => point[0])))];
  sizes.sort((one, other) => one - other);
  const place = new Map(sizes.map((size, index) => [size, index]));
  const series = [];
  lines.forEach((line, index) => {
    const own = [];
    for (const point of line.points) {
      const at = place.get(point[0]);
      let free = own.find((made) => made.y[at] === null);
      if (!free) {
        free = { line: index, joined: line.is_joined };
        for (const name of ["y", "low", "high"]) free[name] = sizes.map(() => null);
        own.push(free);
      }
      [free.y[at], free.low[at], free.high[at]] = point.slice(1);
    }
    series.push(...own);
  });
  return { sizes, series };
}

/** Returns the logarithm of a ratio as a place from 0 to 1, 0.5 of no change. */
function placeOf(ratio, reach) {
  return Math.max(0, Math.min(1, 0.5 + Math.log(ratio) / (2 * reach)));
}

/** Returns the largest logarithm that intervals are drawn to: nearly all are then whole, but the
 * threshold can be seen, two pixels wide. */
function reachOf(rows, column, threshold) {
  const sizes = rows.flatMap((row) => (row.cells[column] || []))
    .filter((ratio) => ratio > 0).map((ratio) => Math.abs(Math.log(ratio)));
  sizes.sort((one, other) => one - other);
  const most = sizes.length ? sizes[Math.floor(0.95 * (sizes.length - 1))] : 0;
  const margin = Math.log1p(threshold || 0.02);
  return Math.min(Math.max(most * 1.1, 3 * margin), 90 * margin);
}

if (typeof module !== "undefined") {
  module.exports = { withDefaults, unitFor, digits, withUnit, shareText, sorted, searchText, matching, byTitle,
    histogram, aligned, placeOf, reachOf };
}
