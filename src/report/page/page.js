// What all sections of the page share. A section's file calls section(id, draw); draw(box, data, run) fills the box.
// What runs hold is foreign text: it becomes text nodes and values of attributes that nothing executes, never markup.
"use strict";

const drawers = new Map();
const section = (id, draw) => drawers.set(id, draw);

// Elements. A child is a node, a text, or nothing.
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Numbers in words, as the program's own texts have them.
function digits(value, count) {
  const text = String(Number(value.toPrecision(count)));
  return text.includes("e") ? Number(text).toLocaleString("en", { maximumFractionDigits: 20, useGrouping: false }) : text;
}
function timeText(us) {
  if (!(us > 0)) return "-";
  if (us < 1) return digits(us * 1e3, 3) + " ns";
  if (us < 1e3) return digits(us, 3) + " \u00b5s";
  if (us < 1e6) return digits(us / 1e3, 3) + " ms";
  return digits(us / 1e6, 3) + " s";
}
const secondsText = (ms) => (ms < 1e5 ? timeText(ms * 1e3) : ms < 6e6 ? digits(ms / 6e4, 3) + " min" : digits(ms / 3.6e6, 3) + " h");
const speedText = (speedup) => (speedup > 0 ? digits(speedup, 3) + "\u00d7" : "-");
const percentText = (share) => digits(100 * share, 3) + " %";
const dateText = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ") + " UTC";
const plural = (count, word) => count + " " + word + (count === 1 ? "" : "s");

// columns: {head, cell(row), number}. The caption says what the table holds and in which units.
function table(caption, columns, rows, attributes) {
  const cells = (row) => columns.map((column) => el("td", { class: column.number ? "number" : null }, column.cell(row)));
  return el("div", null, el("p", { class: "soft" }, caption), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", attributes,
      el("thead", null, el("tr", null, columns.map((column) =>
        el("th", { scope: "col", class: column.number ? "number" : null }, column.head)))),
      el("tbody", null, rows.map((row) => el("tr", { class: row.marked ? "marked" : null }, cells(row)))))));
}

// Pairs of a name and what is known of it; those without are left out.
function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
}

// A group of radio buttons; calls chosen(value) at each change. The first is on, or `now`.
let groups = 0;
function choice(label, options, chosen, now) {
  const name = "choice" + ++groups;
  const buttons = options.map(([value, words], i) => el("label", null,
    el("input", { type: "radio", name, checked: now ? value === now : i === 0, change: () => chosen(value) }), el("span", null, words)));
  return el("fieldset", { class: "choice" }, el("legend", null, label), buttons);
}

// Seconds that the run was at work up to a moment: what lies between two attempts for more than 30 s is a pause.
function workClock(run) {
  const busy = [];
  for (const attempt of [...run.attempts].sort((a, b) => a.started_ms - b.started_ms)) {
    const end = attempt.ended_ms || attempt.started_ms, last = busy[busy.length - 1];
    if (last && attempt.started_ms - last.end <= 30000) last.end = Math.max(last.end, end);
    else busy.push({ begin: attempt.started_ms, end });
  }
  // A run begins by getting ready.
  if (busy.length && busy[0].begin - run.created_ms <= 300000) busy[0].begin = run.created_ms;
  let before = 0;
  for (const one of busy) { one.before = before; before += one.end - one.begin; }
  return {
    pauses: Math.max(0, busy.length - 1),
    label: "seconds since the run began" + (busy.length > 1 ? ", without pauses" : ""),
    at: (ms) => {
      let one = busy[0];
      for (const next of busy) if (ms >= next.begin) one = next;
      const end = one === busy[busy.length - 1] ? Infinity : one.end;
      return one ? (one.before + Math.max(0, Math.min(ms, end) - one.begin)) / 1000 : 0;
    },
  };
}

const accepted = (attempt) => attempt.outcome === "accepted";

// What a reader chose stays when the page is drawn anew.
const remembered = {};

function draw(run) {
  run.attempts = run.attempts || [];
  run.byNumber = new Map(run.attempts.map((attempt) => [attempt.number, attempt]));
  run.clock = workClock(run);
  const main = document.getElementById("page");
  const shown = run.sections.filter((one) => drawers.has(one.id));
  const place = window.scrollY;
  main.replaceChildren(
    el("header", null,
      run.up ? el("a", { href: run.up }, "all runs") : null,
      el("p", { class: "kind" }, run.kind || "hone: report of a run"),
      el("h1", null, run.heading)),
    shown.length > 1 ? el("nav", { "aria-label": "Sections" }, shown.map((one) => el("a", { href: "#" + one.id }, one.title))) : "");
  for (const one of shown) {
    const box = el("div", { class: "box" });
    main.append(el("section", { id: one.id, "aria-labelledby": one.id + "-title" }, el("h2", { id: one.id + "-title" }, one.title), box));
    drawers.get(one.id)(box, one.data, run);
    drawCharts();
  }
  const status = el("span", { role: "status" });
  main.append(el("footer", null, run.made_by, " ", status));
  window.scrollTo(0, place);
  if (run.live) setTimeout(() => follow(run, status), 2000);
}

// Asks whether there is more to show.
async function follow(run, status) {
  try {
    const answer = await fetch(run.live + "?since=" + encodeURIComponent(run.stamp));
    if (answer.status === 200) return draw(await answer.json());
    status.textContent = answer.ok ? "" : "It says: " + (await answer.text());
  } catch {
    status.textContent = "hone serve does not answer any more; this is what there was.";
  }
  setTimeout(() => follow(run, status), 2000);
}

document.addEventListener("DOMContentLoaded", () => draw(JSON.parse(document.getElementById("data").textContent)));
