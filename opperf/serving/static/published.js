"use strict";
// The data of a published dashboard, as the API would answer: lists are chosen and paged here. A file
// of data is a script that registers its value, as a page that was opened as a file may not fetch.

const FOLDER = document.currentScript.getAttribute("src").replace(/[^/]*$/, "data/");
const NAMES = /^(projects|p\d+\/(runs|series|events|latest\/(all|b\d+)|series\/\d+))$/;
const rules = {
  createScriptURL(name) {
    if (!NAMES.test(name)) throw new TypeError(`${name} is no file of this publication`);
    return `${FOLDER}${name}.js`;
  },
};
const scripts = typeof trustedTypes === "undefined" ? rules : trustedTypes.createPolicy("publication", rules);
const registered = new Map();
const loading = new Map();

/** Takes the value of a file: each calls it. */
function register(name, value) {
  registered.set(name, value);
}

/** Returns the value of a file, which is loaded once. */
function load(name) {
  if (!loading.has(name)) {
    loading.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = scripts.createScriptURL(name);
      script.addEventListener("load", () => resolve(registered.get(name)));
      script.addEventListener("error", () => {
        loading.delete(name);
        reject(new Error("The data cannot be read: if this was published anew, reload the page."));
      });
      document.head.append(script);
    }));
  }
  return loading.get(name);
}

/** Returns the rows of a table as objects, which are made once. */
function rowsOf(table) {
  table.items ??= table.rows.map((row) => Object.fromEntries(table.fields.map((field, index) => [field, row[index]])));
  return table.items;
}

const ofBranch = (branch) => (one) => branch === "" || one.branch === branch;
const page = (items, { limit, offset }) => ({ items: items.slice(offset, offset + limit), total: items.length });

async function findProject(name) {
  const { projects } = await load("projects");
  const index = projects.findIndex((one) => one.name === name);
  if (index < 0) throw new Error(`no project '${name}'`);
  return { name, folder: `p${index}`, branches: projects[index].branches };
}

async function latestFigures(project, branch) {
  const index = project.branches.indexOf(branch);
  if (branch !== "" && index < 0) return { commits: [], figures: {} };
  return load(`${project.folder}/latest/${branch === "" ? "all" : `b${index}`}`);
}

async function listSeries(project, parameters) {
  const [table, { commits, figures }] = await Promise.all([load(`${project.folder}/series`), latestFigures(project, parameters.branch)]);
  const words = parameters.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = page(rowsOf(table).filter((one) => {
    const text = [one.name, one.inputs, one.settings, one.category, one.metric].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }), parameters);
  const items = found.items.map((one) => {
    const [latest, place] = figures[one.id] || [null, null];
    return { ...one, latest, latest_commit: place === null ? "" : commits[place] };
  });
  return { ...found, items };
}

async function listRuns(project, parameters) {
  const runs = rowsOf(await load(`${project.folder}/runs`));
  return page(runs.filter(ofBranch(parameters.branch)).reverse(), parameters);
}

const isIn = (state) => (event) => state === "" || event.state === state || (state === "open" && ["new", "confirmed"].includes(event.state));

async function listEvents(project, parameters) {
  const { events } = await load(`${project.folder}/events`);
  return page(rowsOf(events).filter(ofBranch(parameters.branch)).filter(isIn(parameters.state)).reverse(), parameters);
}

async function findSeries(project, number, { branch }) {
  const table = await load(`${project.folder}/series`);
  // A series that goes on as another is that one.
  const wanted = table.renamed[number] || Number(number);
  const series = rowsOf(table).find((one) => one.id === wanted);
  if (!series) throw new Error(`${project.name} has no series ${number}`);
  const [found, runs, { events }] = await Promise.all(
    [load(`${project.folder}/series/${wanted}`), load(`${project.folder}/runs`), load(`${project.folder}/events`)]);
  const points = found.points.map(([place, median, low, high]) => {
    const { identity, commit, started, branch: own } = rowsOf(runs)[place];
    return { run: identity, commit: commit.sha, subject: commit.subject ?? "", time: commit.time ?? started, branch: own, median, low, high };
  }).filter(ofBranch(branch));
  const last = points[points.length - 1];
  return {
    series: { ...series, latest: last ? last.median : null, latest_commit: last ? last.commit : "" },
    points,
    events: rowsOf(events).filter(ofBranch(branch)).filter((event) => event.series === series.id ||
      (event.series === null && event.environment === series.environment)),
    verdicts: found.verdicts,
  };
}

async function findEvent(project, number) {
  const { events, states } = await load(`${project.folder}/events`);
  const event = rowsOf(events).find((one) => one.id === Number(number));
  if (!event) throw new Error(`${project.name} has no event ${number}`);
  return { event, states: states[event.id] };
}

const ANSWERS = { runs: [listRuns], series: [listSeries, findSeries], events: [listEvents, findEvent] };

async function ask(path, parameters = {}) {
  const [, name, part, number] = path.split("/").map(decodeURIComponent);
  if (name === undefined) return { items: (await load("projects")).projects };
  const project = await findProject(name);
  const [all, one] = ANSWERS[part];
  return number === undefined ? all(project, parameters) : one(project, number, parameters);
}
