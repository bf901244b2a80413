"use strict";
// Elements and charts, as the pages of reports and the dashboard have them. Texts become text nodes
// only, as they may be anything.

const COLOURS = ["#3b82f6", "#d97706", "#16a34a", "#db2777", "#7c3aed", "#0891b2", "#dc2626",
  "#65a30d", "#9333ea", "#b45309", "#0d9488", "#64748b"];
const AXIS = "#7d8590"; // Legible on a light page and on a dark one.

function make(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function draw(name, options, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(options)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const charts = new Map();
const resized = typeof ResizeObserver === "undefined" ? null : new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const chart = charts.get(target);
    if (chart && Math.abs(chart.width - contentRect.width) > 1) {
      chart.setSize({ width: contentRect.width, height: chart.height });
    }
  }
});

function plot(place, options, data) {
  const width = Math.max(200, place.clientWidth || 400);
  const axis = { stroke: AXIS, ticks: { stroke: AXIS, width: 1 }, grid: { stroke: "#7d859040", width: 1 } };
  const chart = new uPlot({
    width, height: 220, legend: { show: false }, ...options,
    axes: options.axes.map((one) => ({ ...axis, ...one })),
  }, data, place);
  charts.set(place, chart);
  if (resized) resized.observe(place);
}

function figure(parent, caption, label) {
  const place = make("div", { role: "img", "aria-label": label });
  parent.append(make("div", { class: "chart" },
    make("figure", {}, make("figcaption", {}, caption), place)));
  return place;
}

/** Draws the samples of one metric: of a case, or of both sides of a comparison. */
function region(label, ...children) {
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, ...children);
}
