"use strict";
// Draws the data of a dashboard, which `ask` of another script gives. Texts become text nodes only, as
// they may be anything. The address has the place, and what is looked for there:
// #/PROJECT/BRANCH/PART/NUMBER?NAME=VALUE, each part encoded.

const PART_NAMES = { events: "Changes", series: "Series", runs: "Runs" };
const FILTERS = { events: { state: "open", offset: 0 }, series: { text: "", offset: 0 }, runs: { offset: 0 } };
const SIZE = 100; // Rows of a page of a list.
const SHA = 10; // Characters of a commit, as git shows it of large repositories.
const PAUSE_MS = 150; // Between two keys of a word there is less, most of the time.
const LATE_MS = 300; // What comes sooner needs no word that it is on its way.

const content = document.getElementById("content");
const state = document.getElementById("state");
let projects = [];
let wanted = 0; // Number of the latest request: an answer to an earlier one comes too late.
let typing = 0; // Timer of a search that waits for the next key.

/** Returns a part of an address; one that was cut in an escape as it is. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [project = "", branch = "", named = "events", number = ""] = path.split("/").map(decoded);
  const part = Object.hasOwn(PART_NAMES, named) ? named : "events";
  const given = new URLSearchParams(query);
  const filter = { ...FILTERS[part] };
  for (const name of Object.keys(filter)) if (given.has(name)) filter[name] = given.get(name);
  filter.offset = Math.max(0, Number.parseInt(filter.offset, 10) || 0);
  return { project, branch, part, number, filter };
}

/** Returns the address of a place that differs from this one: the list of a part unless a number is
 * given, of which all is looked for unless a filter is. */
function address(change) {
  const found = { ...place(), number: "", filter: {}, ...change };
  const path = [found.project, found.branch, found.part, found.number].map(encodeURIComponent).join("/").replace(/\/$/, "");
  const usual = FILTERS[found.part];
  const query = new URLSearchParams(Object.entries(found.filter).filter(([name, value]) => value !== usual[name]));
  return `#/${path}${query.size ? `?${query}` : ""}`;
}

/** Goes to the same list with another filter. */
function choose(change) {
  location.hash = address({ filter: { ...place().filter, ...change } });
}

const date = (seconds) => (seconds === null ? "" : new Date(1000 * seconds).toISOString().slice(0, 10));
const percent = (ratio) => (ratio === null ? "" : `${ratio >= 1 ? "+" : ""}${(100 * (ratio - 1)).toFixed(1)} %`);
const sha = (commit) => make("code", { title: commit }, commit.slice(0, SHA));
const figureText = (value, unit) => (value === null ? "" : withUnit(value, unit));
const link = (text, change) => make("a", { href: address(change) }, text);

/** Returns a table of rows of cells, each a node or a text; a class for each column. */
function table(caption, heads, rows) {
  const head = heads.map(([text, kind]) => make("th", { scope: "col", class: kind || "" }, text));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, index) => make("td", { class: heads[index][1] || "" }, cell))));
  return region(caption, make("table", { class: "data" }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)));
}

/** Returns buttons to the pages before and after this one. */
function pager(total, offset, go) {
  const button = (text, to, isOn) => {
    const made = make("button", { type: "button", onclick: () => go(to) }, text);
    made.disabled = !isOn;
    return made;
  };
  const last = Math.min(total, offset + SIZE);
  if (total <= SIZE) return make("p", { class: "count" }, `${total} in all`);
  return make("div", { class: "pager" }, button("Previous", offset - SIZE, offset > 0),
    make("span", {}, total ? `${offset + 1} to ${last} of ${total}` : "none"),
    button("Next", offset + SIZE, last < total));
}

function toneOf(event) {
  if (!["new", "confirmed"].includes(event.state) || event.kind === "machine") return "";
  return event.is_worse ? "worse" : "better";
}

function eventRow(event) {
  const name = event.kind === "machine" ? `all of ${event.machine}` : `${event.name} (${event.inputs})`;
  const target = event.series === null ? [name]
    : [link(name, { part: "series", number: event.series }), make("div", { class: "machine" }, event.machine)];
  const interval = event.low === null ? "" : `${percent(event.low)} to ${percent(event.high)}`;
  return [link(`${event.id}`, { part: "events", number: event.id }), event.state, make("div", {}, ...target), event.metric,
    make("span", { class: toneOf(event) }, event.kind === "stopped" ? event.method : percent(event.ratio)), interval,
    event.verdicts.length ? verdictText(event.verdicts[0]) : "",
    make("span", {}, sha(event.last_good), " to ", sha(event.first_bad)), foundText(event)];
}

/** Returns when the commit of a change was made, if that is known, and when a check found it. */
function foundText(event) {
  const times = [["commit", event.committed], ["check", event.created]].filter(([, time]) => time !== null);
  return make("div", { class: "dates" }, ...times.map(([what, time]) => make("div", {}, `${what} ${date(time)}`)));
}

const EVENT_HEADS = [["Event", "number"], ["State"], ["Series", "name"], ["Metric"], ["Change", "number"],
  ["95 % interval", "number"], ["Verdict, B/A"], ["Between"], ["Found"]];

const VERDICT_TONES = { regressed: "worse", improved: "better" };

/** Returns the interval of a verdict's ratio. */
function verdictInterval(verdict) {
  if (verdict.low === undefined) return "";
  return verdict.low === verdict.high ? "exact" : `${verdict.low.toFixed(3)} to ${verdict.high.toFixed(3)}`;
}

const verdictWord = (verdict) => make("span", { class: VERDICT_TONES[verdict.verdict] || "" }, verdict.verdict);
const verdictRatio = (verdict) => (verdict.ratio === undefined ? "" : verdict.ratio.toFixed(verdict.low === verdict.high ? 4 : 3));

function verdictText(verdict) {
  const interval = verdictInterval(verdict);
  return make("span", {}, verdictWord(verdict), ` ${verdictRatio(verdict)}${interval ? ` (${interval})` : ""}`);
}

/** Returns a table of verdicts in a list; nothing without one. */
function verdictTable(verdicts) {
  const rows = verdicts.map((one) => [verdictWord(one), verdictRatio(one), verdictInterval(one), `${one.blocks}`,
    sha(one.a.sha), sha(one.b.sha), date(one.started), one.session]);
  const heads = [["Verdict"], ["B/A", "number"], ["90 % interval", "number"], ["Blocks", "number"], ["A"], ["B"], ["Measured"], ["Session"]];
  return rows.length ? [table("Verdicts: measured in turn by opperf ab", heads, rows)] : [];
}

/** Returns a select of words, the first of them for all. */
function choice(label, words, value, go) {
  const made = make("select", { onchange: (event) => go(event.target.value) },
    ...words.map((word) => make("option", { value: word }, word || "all")));
  made.value = value;
  return make("label", {}, label, made);
}

async function drawEvents({ project, branch, filter }) {
  const found = await ask(`projects/${encodeURIComponent(project)}/events`, { branch, ...filter, limit: SIZE });
  const states = ["open", "new", "confirmed", "blessed", "fixed", "noise", "gone", ""];
  return [make("div", { class: "controls" }, choice("State", states, filter.state, (value) => choose({ state: value, offset: 0 }))),
    found.total ? table("Changes", EVENT_HEADS, found.items.map(eventRow))
      : make("p", {}, "No change in this state. opperf history check looks for them."),
    pager(found.total, filter.offset, (offset) => choose({ offset }))];
}

const SERIES_HEADS = [["Name", "name"], ["Inputs", "soft"], ["Metric"], ["Latest", "number"], ["At"], ["Category"], ["Machine", "soft machine"]];

async function seriesRows({ project, branch, filter }) {
  const found = await ask(`projects/${encodeURIComponent(project)}/series`, { branch, ...filter, limit: SIZE });
  const rows = found.items.map((one) => [link(one.name, { part: "series", number: one.id }), one.inputs, one.metric,
    figureText(one.latest, one.unit), one.latest_commit ? sha(one.latest_commit) : "", one.category, one.machine]);
  return [rows.length ? table("Series", SERIES_HEADS, rows) : make("p", {}, "No series has these words."),
    pager(found.total, filter.offset, (offset) => choose({ offset }))];
}

async function drawSeries(here) {
  // The box stays while one types, and what it finds is drawn anew.
  const results = make("div", {}, ...await seriesRows(here));
  const search = () => {
    history.replaceState(null, "", address({ filter: { text: box.value } }));
    show(() => seriesRows(place()), results);
  };
  const box = make("input", { type: "search", id: "search", value: here.filter.text, placeholder: "softmax forward",
    oninput: () => {
      clearTimeout(typing);
      typing = setTimeout(search, PAUSE_MS);
    } });
  return [make("div", { class: "controls" }, make("label", {}, "Name, inputs, category or metric", box)), results];
}

async function drawRuns({ project, branch, filter }) {
  const found = await ask(`projects/${encodeURIComponent(project)}/runs`, { branch, ...filter, limit: SIZE });
  const rows = found.items.map((run) => [run.identity, sha(run.commit.sha), date(run.commit.time ?? run.started), run.branch, run.is_dirty ? "dirty" : "",
    `${run.figures}`, run.source, run.commit.subject ?? ""]);
  return [table("Runs", [["Run"], ["Commit"], ["Date"], ["Branch"], ["Tree"], ["Figures", "number"], ["From"], ["Subject", "soft"]], rows),
    pager(found.total, filter.offset, (offset) => choose({ offset }))];
}

function drawTimeline(parent, found) {
  const { series, points, events } = found;
  const medians = points.map((point) => point.median).sort((one, other) => one - other);
  const [unit, size] = unitFor(series.unit, medians[Math.floor(medians.length / 2)]);
  const scaled = (name) => points.map((point) => (point[name] === null ? null : point[name] / size));
  const at = new Map(points.map((point, index) => [point.commit, index + 1]).reverse());
  const marks = events.filter((event) => at.has(event.first_bad)).map((event) => ({ x: at.get(event.first_bad) - 0.5, tone: toneOf(event) }));
  const says = `${series.name}: ${series.metric} (${unit}) of ${points.length} runs, in the order of their commits; lines down are changes`;
  const target = figure(parent, says, says);
  const labels = (self, splits) => splits.map((split) => (points[split - 1] ? date(points[split - 1].time) : ""));
  plot(target, {
    height: 320,
    scales: { x: { time: false, range: [0.5, points.length + 0.5] } },
    axes: [{ label: "run", labelSize: 20, values: labels, space: 90, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
      { label: unit, labelSize: 20, size: 70, values: (self, splits) => splits.map(digits) }],
    series: [{}, { stroke: COLOURS[0], width: 1.5, points: { show: points.length < 300, size: 5 } },
      { stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } }],
    bands: [{ series: [2, 3], fill: `${COLOURS[0]}40` }],
    hooks: { draw: [(self) => drawMarks(self, marks)] },
  }, [points.map((_, index) => index + 1), scaled("median"), scaled("high"), scaled("low")]);
}

function drawMarks(self, marks) {
  const context = self.ctx;
  context.save();
  context.setLineDash([6, 4]);
  context.lineWidth = 2;
  for (const mark of marks) {
    const style = getComputedStyle(document.documentElement).getPropertyValue(mark.tone ? `--${mark.tone}` : "--soft");
    const x = self.valToPos(mark.x, "x", true);
    context.strokeStyle = style.trim();
    context.beginPath();
    context.moveTo(x, self.bbox.top);
    context.lineTo(x, self.bbox.top + self.bbox.height);
    context.stroke();
  }
  context.restore();
}

async function drawOneSeries({ project, branch, number }) {
  const found = await ask(`projects/${encodeURIComponent(project)}/series/${encodeURIComponent(number)}`, { branch });
  const { series, points, events } = found;
  const parts = [make("h2", {}, `${series.name} (${series.inputs}): ${series.metric}`),
    make("p", {}, [series.framework, series.category, series.settings, series.machine, `environment ${series.environment}`].filter(Boolean).join("; "))];
  const charts = make("div", { class: "charts" });
  parts.push(charts);
  if (series.command) parts.push(make("h3", {}, "Measures it again"), make("pre", {}, series.command));
  if (events.length) parts.push(table("Changes", EVENT_HEADS, events.map(eventRow)));
  parts.push(...verdictTable(found.verdicts));
  const rows = [...points].reverse().map((point, index, all) => {
    const before = all[index + 1];
    return [sha(point.commit), date(point.time), point.branch, withUnit(point.median, series.unit),
      point.low === null ? "" : `${withUnit(point.low, series.unit)} to ${withUnit(point.high, series.unit)}`,
      before && before.median ? percent(point.median / before.median) : "", point.subject];
  });
  parts.push(table("Runs, the latest first", [["Commit"], ["Date"], ["Branch"], ["Median", "number"],
    ["95 % interval", "number"], ["Change", "number"], ["Subject", "soft"]], rows));
  // A chart is as wide as its place, which has to be in the page first.
  return Object.assign(parts, { then_draw: () => points.length && drawTimeline(charts, found) });
}

const levelText = (value, unit) => (value === null ? "no figure" : withUnit(value, unit));

async function drawOneEvent({ project, number }) {
  const { event, states } = await ask(`projects/${encodeURIComponent(project)}/events/${encodeURIComponent(number)}`);
  return [make("h2", {}, `Event ${event.id}`), table("Change", EVENT_HEADS, [eventRow(event)]),
    make("p", {}, event.kind === "machine" ? `${event.count} series changed together.`
      : `${levelText(event.before, event.unit)} before, ${levelText(event.after, event.unit)} after.`),
    table("States", [["State"], ["Since"], ["By"], ["Why", "soft"]],
      states.map((one) => [one.state, date(one.time), one.who, one.why])), ...verdictTable(event.verdicts),
    ...(event.series === null || ["missing", "impossible"].includes(event.method) ? [] : [make("h3", {}, "Which commit it was"),
      make("pre", {}, `opperf history bisect ${event.id} -- BUILD`)])];
}

const DRAWN = { events: [drawEvents, drawOneEvent], series: [drawSeries, drawOneSeries], runs: [drawRuns, drawRuns] };

function say(text, kind = "") {
  state.textContent = text;
  state.className = kind;
}

/** Replaces what is in a target by what is drawn, or says why it cannot be. */
async function show(draw, target = content) {
  const mine = ++wanted;
  const late = setTimeout(() => mine === wanted && say("Loading"), LATE_MS);
  let made = [];
  let problem = "";
  try {
    made = await draw();
  } catch (error) {
    problem = error.message;
  }
  clearTimeout(late);
  if (mine !== wanted) return;
  say(problem, problem && "failed");
  target.replaceChildren(...made);
  if (made.then_draw) made.then_draw();
}

function navigate() {
  clearTimeout(typing);
  const here = place();
  const project = projects.find((one) => one.name === here.project) || projects[0];
  if (!project) {
    say("The store has no project yet.");
    return;
  }
  if (project.name !== here.project) {
    location.replace(address({ project: project.name, branch: project.branches[0] || "" }));
    return;
  }
  document.title = `${project.name}: ${PART_NAMES[here.part]}`;
  document.getElementById("title").textContent = project.name;
  fill("project", projects.map((one) => one.name), here.project);
  fill("branch", ["", ...project.branches], here.branch);
  document.getElementById("parts").replaceChildren(...Object.entries(PART_NAMES).map(([part, text]) => {
    const made = link(text, { part });
    if (part === here.part) made.setAttribute("aria-current", "page");
    return make("li", {}, made);
  }));
  const [all, one] = DRAWN[here.part];
  show(() => (here.number ? one : all)(here));
}

function fill(id, words, value) {
  const select = document.getElementById(id);
  select.replaceChildren(...words.map((word) => make("option", { value: word }, word || "all")));
  select.value = value;
}

document.getElementById("project").addEventListener("change", (event) => {
  const project = projects.find((one) => one.name === event.target.value);
  location.hash = address({ project: project.name, branch: project.branches[0] || "" });
});
document.getElementById("branch").addEventListener("change", (event) => {
  const { number, filter } = place();
  location.hash = address({ branch: event.target.value, number, filter: { ...filter, offset: 0 } });
});
window.addEventListener("hashchange", navigate);
ask("projects").then((found) => {
  projects = found.items;
  navigate();
}, (error) => say(error.message, "failed"));
