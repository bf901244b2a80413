"use strict";
// Draws the tables and charts of a report from the JSON in the page. Texts become text nodes only,
// as they may be anything.

const STEP = 100; // Rows that are drawn at once: a browser draws so many without a pause.
const MOST_PRINTED = 2000; // Rows on paper: some forty pages.

/** Draws an interval against the threshold. */
function interval([ratio, low, high], tone, table, reach) {
  const x = (value) => (180 * placeOf(value, reach)).toFixed(1);
  const edge = 1 + (table.threshold || 0);
  const text = low === null ? digits(ratio) : `${digits(ratio)}, from ${digits(low)} to ${digits(high)}`;
  const made = draw("svg", { class: `interval ${tone}`, viewBox: "0 0 180 20", role: "img", "aria-label": text },
    draw("rect", { class: "within", x: x(1 / edge), y: 0, width: x(edge) - x(1 / edge), height: 20 }),
    draw("line", { class: "one", x1: 90, x2: 90, y1: 0, y2: 20 }));
  if (low !== null) made.append(draw("line", { class: "range", x1: x(low), x2: x(high), y1: 10, y2: 10 }));
  const size = Math.log(ratio);
  if (Math.abs(size) <= reach) made.append(draw("circle", { cx: x(ratio), cy: 10, r: 3.5 }));
  // Outside of what is drawn, an arrow.
  else made.append(draw("path", { class: "arrow", d: size > 0 ? "M172 4 L180 10 L172 16 Z" : "M8 4 L0 10 L8 16 Z" }));
  const title = draw("title", {});
  title.textContent = text;
  made.prepend(title);
  return made;
}

function drawSamples(parent, group) {
  const [unit, size] = unitFor(group[0].unit, group[0].median);
  const lists = group.map((one) => one.values.map((value) => value / size));
  const most = Math.max(...lists.map((values) => values.length));
  const places = Array.from({ length: most }, (_, index) => index + 1);
  const says = group.map(samplesText);
  const isOne = group.length === 1;
  const title = `${group[0].title}: ${isOne ? says[0] : group[0].noun}`;
  const options = [{}], data = [places], bands = [];
  lists.forEach((values, index) => {
    const { median, low, high } = group[index];
    const colour = COLOURS[index], flat = (value) => places.map(() => (value === null ? null : value / size));
    const other = isOne ? COLOURS[1] : colour; // Of a single line, the median has a colour of its own.
    options.push({ stroke: colour, width: 1, points: { show: values.length < 150, size: 5 } },
      { stroke: other, width: 1.5, dash: [6, 4], points: { show: false } },
      { stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } });
    data.push(places.map((_, place) => (place < values.length ? values[place] : null)), flat(median), flat(low), flat(high));
    bands.push({ series: [options.length - 1, options.length - 2], fill: `${other}40` });
  });
  const order = figure(parent, `${title}. In order, with the median${group[0].low === null ? "" : " and its 95 % interval"}:`,
    `${group[0].title}: ${says.join("; ")}`);
  const all = lists.flat(), least = Math.min(...all);
  plot(order, {
    scales: { x: { time: false }, y: { distr: least > 0 && Math.max(...all) > 10 * least ? 3 : 1 } },
    axes: [{ label: group[0].noun, labelSize: 20 }, { label: unit, labelSize: 20, size: 60,
      values: (self, splits) => splits.map((split) => (split === null ? "" : digits(split))) }],
    series: options, bands,
  }, data);
  const [bins, counts, beyond] = histogram(lists);
  const left = beyond ? `; ${beyond} far longer not drawn` : "";
  const spread = figure(parent, `${group[0].title}: distribution${left}`, `Distribution of the ${group[0].title} samples in ${bins.length} bins`);
  const width = bins.length > 1 ? bins[1] - bins[0] : Math.abs(bins[0]) * 0.01 || 1;
  plot(spread, {
    scales: { x: { time: false, range: (chart, low, high) => [low - width, high + width] }, y: { range: (chart, low, high) => [0, Math.max(1, high)] } },
    axes: [{ label: unit, labelSize: 20 }, { label: group[0].noun, labelSize: 20, size: 60 }],
    series: [{}, ...counts.map((_, index) => ({ stroke: COLOURS[index], fill: `${COLOURS[index]}60`,
      paths: uPlot.paths.bars({ size: [0.95] }), points: { show: false } }))],
  }, [bins, ...counts]);
  if (!isOne) parent.append(keyOf(group.map((one, index) => `${one.side}: ${says[index]}`)));
}

function samplesText(one) {
  const few = one.taken > one.values.length ? `, ${one.values.length} of them shown` : "";
  const least = withUnit(Math.min(...one.values), one.unit), most = withUnit(Math.max(...one.values), one.unit);
  return `${one.taken} ${one.noun}${few}, ${least} to ${most}, median ${withUnit(one.median, one.unit)}`;
}

/** Returns the key of a chart: the colour of each line, in their order. */
function keyOf(names) {
  return make("ul", { class: "key" }, ...names.map((name, index) => {
    const mark = make("span", { "aria-hidden": "true" });
    mark.style.background = COLOURS[index % COLOURS.length];
    return make("li", {}, mark, name);
  }));
}

function drawChart(parent, chart) {
  const { sizes, series } = aligned(chart.lines);
  const unit = chart.unit ? ` (${chart.unit})` : "";
  const label = `${chart.y_title}${unit} by ${chart.x_title}: ${chart.lines.map((line) => line.name || chart.y_title).join("; ")}`;
  const place = figure(parent, chart.title, label);
  const options = [{}], data = [sizes], bands = [];
  for (const one of series) {
    const stroke = COLOURS[one.line % COLOURS.length];
    options.push({ stroke, width: one.joined ? 2 : 0, spanGaps: true, points: { show: true, size: 6 } });
    data.push(one.y);
    if (one.low.some((value) => value !== null)) {
      for (const bound of [one.high, one.low]) {
        options.push({ stroke: "transparent", points: { show: false }, spanGaps: true });
        data.push(bound);
      }
      bands.push({ series: [options.length - 2, options.length - 1], fill: `${stroke}40` });
    }
  }
  plot(place, {
    height: 300,
    scales: { x: { time: false, distr: chart.x_is_log ? 3 : 1, log: 2 }, y: { distr: chart.y_is_log ? 3 : 1 } },
    axes: [{ label: chart.x_title, labelSize: 20, splits: chart.x_is_log ? () => sizes : undefined,
      filter: chart.x_is_log ? (self, splits) => splits : undefined, values: (self, splits) => splits.map(digits) },
    { label: `${chart.y_title}${unit}`, labelSize: 20, size: 64, values: (self, splits) => splits.map((one) => (one === null ? "" : digits(one))) }],
    series: options, bands,
  }, data);
  const key = keyOf(chart.lines.map((line) => line.name || chart.y_title));
  const rows = chart.lines.flatMap((line) => line.points.map((point) => make("tr", {},
    make("th", { scope: "row" }, line.name || chart.y_title), make("td", { class: "number" }, digits(point[0])),
    make("td", { class: "number" }, digits(point[1])))));
  const head = [chart.title, chart.x_title, `${chart.y_title}${unit}`].map((text) => make("th", { scope: "col" }, text));
  const table = make("details", {}, make("summary", {}, "As a table"), region("Data of the chart",
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))));
  place.parentElement.parentElement.append(key, table);
}

function facts(pairs) {
  return make("dl", {}, ...pairs.flatMap(([label, text]) => [make("dt", {}, label), make("dd", {}, text)]));
}

/** Fills the row that is shown below a row of the table. */
function fill(inside, row, content) {
  inside.append(facts(row.facts));
  if (row.notes.length) {
    inside.append(make("h3", {}, "Notes"), make("ul", {}, ...row.notes.map((note) => make("li", {}, note))));
  }
  if (row.samples.length) {
    inside.append(make("h3", {}, "Samples"));
    for (const group of byTitle(row.samples)) {
      const place = make("div", { class: "charts" });
      inside.append(place);
      if (group.every((one) => one.values.length)) drawSamples(place, group);
    }
  }
  for (const [title, text] of row.code) {
    const whole = title === "Script" && content.preamble ? `${content.preamble}\n${text}` : text;
    inside.append(make("h3", {}, title), make("pre", { tabindex: "0", role: "group", "aria-label": title }, whole));
  }
  if (row.environment !== null) {
    inside.append(make("details", {}, make("summary", {}, "Environment"), facts(content.environments[row.environment])));
  }
}

function cellOf(cell, column, tone, table, reach) {
  const missing = cell === null || cell === undefined;
  if (column.kind === "figure") {
    if (missing) return make("td", { class: "number" }, "");
    const share = shareText(cell);
    const made = make("td", { class: "number" }, withUnit(cell[0], column.unit));
    if (share || cell[2]) made.append(" ", make("span", { class: "half" }, share + (cell[2] ? " ?" : "")));
    return made;
  }
  if (column.kind === "number") {
    return make("td", { class: "number" }, missing ? "" :
      column.unit === "%" && cell > 100 ? "over 100 %" :
        column.unit ? `${digits(cell)} ${column.unit}` : cell.toFixed(3));
  }
  if (column.kind === "interval") return make("td", {}, ...(missing ? [] : [interval(cell, tone, table, reach)]));
  if (column.kind === "verdict") return make("td", { class: cell[1] }, cell[0]);
  if (column.kind === "status") return make("td", { class: ["ok", "recorded"].includes(cell) ? "" : "open" }, cell);
  return make("td", { class: cell && cell.length > 24 ? "text" : "text short" }, cell || "");
}

function drawTable(parent, content) {
  const table = content.table;
  const { columns, rows } = table;
  const texts = rows.map((row) => searchText(row, columns));
  const state = { query: "", values: {}, order: table.order, shown: STEP };
  const verdict = columns.findIndex((column) => column.kind === "verdict");
  const reach = reachOf(rows, columns.findIndex((column) => column.kind === "interval"), table.threshold);
  const body = make("tbody");
  const count = make("p", { class: "count", role: "status" });
  const more = make("button", { class: "more", type: "button", onclick: () => { state.shown += STEP * 5; show(true); } });
  const search = make("input", { type: "search", oninput: () => { state.query = search.value; change(); } });
  const controls = make("div", { class: "controls", role: "search" }, make("label", {}, "Search", search));
  columns.forEach((column, place) => {
    if (!column.is_filter) return;
    const found = [...new Set(rows.map((row) => filterValue(row.cells[place])))].sort();
    if (found.length < 2) return;
    const select = make("select", { "aria-label": column.title, onchange: () => {
      state.values[place] = select.selectedIndex ? found[select.selectedIndex - 1] : null;
      change();
    } }, make("option", {}, "all"), ...found.map((value) => make("option", {}, value || "none")));
    controls.append(make("label", {}, column.title, select));
  });
  const heads = columns.map((column, place) => {
    const mark = make("span", { "aria-hidden": "true" });
    const button = make("button", { type: "button", onclick: () => {
      const again = state.order && state.order[0] === place;
      const first = ["figure", "number", "interval"].includes(column.kind);
      state.order = [place, again ? !state.order[1] : first];
      change();
    } }, column.title, mark);
    const numeric = ["figure", "number"].includes(column.kind);
    const head = make("th", { scope: "col", class: numeric ? "number" : column.kind === "text" ? "text" : "" }, button);
    if (column.about) head.setAttribute("title", column.about);
    return { head, mark };
  });
  let places = [];

  function change() {
    state.shown = STEP;
    places = matching(texts, rows, state.query, state.values);
    if (state.order) places = sorted(rows, places, state.order[0], columns[state.order[0]].kind, state.order[1]);
    heads.forEach(({ head, mark }, place) => {
      const own = state.order && state.order[0] === place;
      mark.textContent = own ? (state.order[1] ? " ▼" : " ▲") : "";
      if (own) head.setAttribute("aria-sort", state.order[1] ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    show(false);
  }

  function show(keeps) {
    const begin = keeps ? body.querySelectorAll("tr:not(.detail)").length : 0;
    if (!keeps) body.replaceChildren();
    body.append(...places.slice(begin, state.shown).map(rowOf));
    const drawn = Math.min(state.shown, places.length);
    count.textContent = `${places.length} of ${rows.length} ${table.noun}s` + (drawn < places.length ? `, the first ${drawn} shown` : "");
    more.hidden = drawn >= places.length;
    more.textContent = `Show ${Math.min(5 * STEP, places.length - drawn)} more`;
  }

  function rowOf(place) {
    const row = rows[place];
    const tone = verdict < 0 ? "" : row.cells[verdict][1];
    const button = make("button", { type: "button", "aria-expanded": "false", onclick: () => open(place, made, button) }, row.cells[0]);
    // On a narrow screen, in the place of the columns of texts.
    const below = columns.map((column, index) => (column.kind === "text" ? row.cells[index] : "")).filter(Boolean).join(", ");
    const made = make("tr", {}, make("th", { scope: "row" }, button, make("span", { class: "narrow" }, below)),
      ...columns.slice(1).map((column, index) => cellOf(row.cells[index + 1], column, tone, table, reach)));
    return made;
  }

  function open(place, made, button) {
    const opened = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!opened));
    if (opened) {
      made.nextElementSibling.remove();
      return;
    }
    const inside = make("div", { class: "inside" });
    const detail = make("tr", { class: "detail", onkeydown: (event) => {
      if (event.key === "Escape") { open(place, made, button); button.focus(); }
    } }, make("td", { colspan: String(columns.length) }, inside));
    made.after(detail);
    fill(inside, rows[place], content);
  }

  parent.replaceChildren(controls, count, region(`Table of ${table.noun}s`,
    make("table", { class: "data" }, make("thead", {}, make("tr", {}, ...heads.map((one) => one.head))), body)), more);
  change();
  count.after(...table.legend.map((sentence) => make("p", { class: "count" }, sentence)));
  let folded = [], before = STEP;
  addEventListener("beforeprint", () => {
    before = state.shown;
    state.shown = Math.max(state.shown, MOST_PRINTED);
    show(true);
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    state.shown = before;
    show(false);
    for (const one of folded) one.open = false;
  });
}

function start() {
  const content = withDefaults(JSON.parse(document.getElementById("data").textContent));
  if (content.table) drawTable(document.getElementById("results"), content);
  const place = document.getElementById("charts");
  if (place) {
    place.className = "charts";
    for (const chart of content.charts) drawChart(place, chart);
  }
  document.documentElement.dataset.usable = String(performance.now());
}

start();
