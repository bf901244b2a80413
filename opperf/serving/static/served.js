"use strict";
// The data of a dashboard that a server has: what its API answers.

async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  const response = await fetch(`api/${path}${query.size ? `?${query}` : ""}`);
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}
