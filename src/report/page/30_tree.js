// The tree: children are drawn when their parent is opened. Keys are those of a tree in any program: up and down, right
// to open or go in, left to close or go out, home and end, return to choose. run.choose(number) goes to an attempt from
// other sections.
section("tree", (box, data, run) => {
  const children = new Map();
  for (const attempt of run.attempts) {
    if (!children.has(attempt.parent)) children.set(attempt.parent, []);
    children.get(attempt.parent).push(attempt);
  }
  const onWay = new Set(data.way);
  const opened = new Set([...data.way, ...(remembered.opened || [])].filter((number) => children.has(number)));
  let chosen = remembered.chosen || run.best || run.attempts[0].number, wanted = "", kind = "all";
  const most = run.attempts.length > 400 ? 10 : 200;  // items of one level, and those that are open, until more are asked for
  const more = new Map();

  const kinds = {
    all: ["all", () => true],
    accepted: ["accepted", accepted],
    refused: ["refused", (attempt) => attempt.outcome && !accepted(attempt)],
    way: ["on the way to the best", (attempt) => onWay.has(attempt.number)],
    faster: ["faster than where they came from", (attempt) => accepted(attempt) && run.byNumber.has(attempt.parent) && attempt.median_us < run.byNumber.get(attempt.parent).median_us],
  };
  const matches = (attempt) => kinds[kind][1](attempt) && (!wanted ||
    [attempt.number, attempt.outcome, attempt.origin, attempt.rule, attempt.class, attempt.reason].join(" ").toLowerCase().includes(wanted));
  const move = (attempt) => (attempt.origin || attempt.key || "").replace(/^expert: /, "");

  const tree = el("ul", { role: "tree", "aria-label": "Attempts", class: "tree", keydown });
  const panel = el("div", { class: "panel", "aria-live": "polite" });
  const count = el("p", { class: "soft", role: "status" });

  function item(attempt, level, flat) {
    const below = flat ? [] : children.get(attempt.number) || [];
    const open = below.length > 0 && opened.has(attempt.number);
    const node = el("li", { role: "treeitem", "aria-level": level, "aria-expanded": below.length ? String(open) : null,
      "aria-selected": String(attempt.number === chosen), tabindex: attempt.number === chosen ? 0 : -1 });
    node.dataset.number = attempt.number;
    const state = attempt.number === run.best ? "best" : accepted(attempt) ? "accepted" : attempt.outcome ? "refused" : "open";
    const row = el("div", { class: "row" + (onWay.has(attempt.number) ? " way" : ""), click: () => { remembered.chosen = attempt.number; choose(attempt.number, true); if (below.length) toggle(attempt.number); } },
      el("span", { class: "twist", "aria-hidden": "true" }, below.length ? (open ? "\u25be" : "\u25b8") : ""),
      el("span", { class: "state " + state, "aria-hidden": "true" }, { best: "\u2605", accepted: "\u25cf", refused: "\u00d7", open: "\u2026" }[state]),
      el("span", { class: "which" }, attempt.number), " ",
      el("span", { class: "took" }, accepted(attempt) ? timeText(attempt.median_us) : attempt.outcome || "not ended"), " ",
      el("span", { class: "move" }, move(attempt)));
    node.append(row);
    if (open) node.append(el("ul", { role: "group" }, level_of(below, level + 1, attempt.number)));
    return node;
  }
  function level_of(attempts, level, key, flat) {
    const limit = more.get(key) || most;
    const shown = attempts.filter((attempt, i) => i < limit || (!flat && opened.has(attempt.number)) || attempt.number === chosen)
      .map((attempt) => item(attempt, level, flat));
    const left = attempts.length - shown.length;
    if (left > 0) shown.push(el("li", { role: "none" }, el("button", { type: "button", click: () => { more.set(key, limit + 400); show(); } }, `${Math.min(400, left)} more of ${left}`)));
    return shown;
  }
  function show(focus) {
    const filtered = wanted || kind !== "all";
    const found = filtered ? run.attempts.filter(matches) : children.get(0) || [];
    tree.replaceChildren(...level_of(found, 1, filtered ? "found" : 0, filtered));
    count.textContent = filtered ? plural(found.length, "attempt") + " of " + run.attempts.length : plural(run.attempts.length, "attempt");
    if (!tree.querySelector('[tabindex="0"]')) tree.querySelector('[role="treeitem"]')?.setAttribute("tabindex", "0");
    if (focus) {
      const node = tree.querySelector(`[data-number="${chosen}"]`);
      node?.focus({ preventScroll: true });
      node?.querySelector(".row").scrollIntoView({ block: "nearest" });
    }
  }
  function toggle(number) {
    if (!opened.delete(number)) opened.add(number);
    remembered.opened = opened;
    show(true);
  }
  function choose(number, focus) {
    chosen = number;
    show(focus);
    panel.replaceChildren(...detail(run.byNumber.get(number), data, run));
  }
  run.choose = (number) => {
    kind = "all"; wanted = ""; filter.value = ""; select.value = "all";
    for (let one = run.byNumber.get(number); one && one.parent; one = run.byNumber.get(one.parent)) opened.add(one.parent);
    choose(number, true);
    document.getElementById("tree").scrollIntoView();
  };
  function keydown(event) {
    if (event.target.getAttribute("role") !== "treeitem" || event.ctrlKey || event.altKey || event.metaKey) return;
    const items = [...tree.querySelectorAll('[role="treeitem"]')], at = items.indexOf(event.target);
    const number = Number(event.target.dataset.number), expanded = event.target.getAttribute("aria-expanded");
    const go = (node) => node && choose(Number(node.dataset.number), true);
    const actions = {
      ArrowDown: () => go(items[at + 1]),
      ArrowUp: () => go(items[at - 1]),
      Home: () => go(items[0]),
      End: () => go(items[items.length - 1]),
      ArrowRight: () => (expanded === "false" ? toggle(number) : expanded === "true" ? go(items[at + 1]) : null),
      ArrowLeft: () => (expanded === "true" ? toggle(number) : go(event.target.parentElement.closest('[role="treeitem"]'))),
      Enter: () => choose(number, true),
      " ": () => choose(number, true),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  const filter = el("input", { type: "search", placeholder: "number, move, rule, outcome \u2026", "aria-label": "Only attempts whose words hold this",
    input: () => { wanted = filter.value.trim().toLowerCase(); show(); } });
  const select = el("select", { "aria-label": "Only these attempts", change: () => { kind = select.value; show(); } },
    Object.entries(kinds).map(([value, [words]]) => el("option", { value }, words)));
  box.append(el("div", { class: "filters" }, filter, select, count));
  if (data.left_out > 0)
    box.append(el("p", { class: "soft" }, `Sources, findings and logs of ${data.left_out} of ${plural(run.attempts.length, "attempt")} are left out, so that this page stays small; `,
      el("code", null, `hone show ${run.run} NUMBER`), " has them."));
  box.append(el("div", { class: "split" }, tree, panel));
  choose(chosen, false);
  // The chosen one may lie deep; the page itself stays where it is.
  const row = tree.querySelector('[aria-selected="true"] > .row').getBoundingClientRect(), frame = tree.getBoundingClientRect();
  tree.scrollTop += row.top - frame.top - frame.height / 2;
  tree.scrollLeft += Math.max(0, row.left - frame.left - 60);
});

// The lines of a kept source, and which of them are not those of the one that it is like. Null where it was left out.
function sourceOf(number, data) {
  const chain = [];
  for (let one = data.details[number]; one; one = one.source.like === undefined ? null : data.details[one.source.like]) chain.push(one.source);
  let lines = null, own = [];
  for (const source of chain.reverse()) {
    const next = [];
    let at = 0;
    own = [];
    for (const edit of source.edits) {
      if (typeof edit === "string") own[next.length] = next.push(edit);
      else if (edit > 0) next.push(...lines.slice(at, (at += edit)));
      else at -= edit;
    }
    lines = next;
  }
  return lines && { lines, own };
}

// All that is known of an attempt.
function detail(attempt, data, run) {
  const kept = data.details[attempt.number];
  const link = (number) => el("button", { type: "button", class: "link", click: () => run.choose(number) }, "attempt " + number);
  const parts = [
    el("h3", null, "Attempt " + attempt.number, attempt.number === run.best ? ", the best" : ""),
    el("p", { class: "soft" }, "from ", attempt.parent ? link(attempt.parent) : "the start", ...(attempt.mate ? [" crossed with ", link(attempt.mate)] : []), "; ", attempt.origin || ""),
    attempt.reason ? el("p", { class: "why" }, attempt.outcome, ": ", attempt.reason) : null,
    facts([
      ["outcome", attempt.outcome || "not ended"],
      ["warm median", attempt.median_us ? timeText(attempt.median_us) + (attempt.low_us ? ` (95 %: ${timeText(attempt.low_us)} to ${timeText(attempt.high_us)})` : "") : null],
      ["cold median", attempt.cold_us ? timeText(attempt.cold_us) : null],
      ["over the first baseline", attempt.speedup ? speedText(attempt.speedup) : null],
      ["predicted", attempt.predicted_us ? timeText(attempt.predicted_us) : null],
      ["energy of a call", attempt.joules ? digits(attempt.joules, 3) + " J" : null],
      ["acts on", attempt.rule],
      ["promised, brought", attempt.brought === undefined ? null : `${percentText(attempt.promised)}, ${percentText(attempt.brought)}`],
      ["took", attempt.ended_ms ? secondsText(attempt.ended_ms - attempt.started_ms) : null],
      ["disturbed", attempt.disturbed],
    ])];
  if (!kept) return [...parts, el("p", { class: "soft" }, "Its source and findings are left out of this page: ", el("code", null, `hone show ${run.run} ${attempt.number}`))].filter(Boolean);
  const limits = kept.limits && (kept.limits.by_counters || kept.limits.by_analysis);
  if (limits) parts.push(el("p", null, el("strong", null, limits.class), ` (${percentText(limits.confidence)} sure): `, limits.why));
  if (kept.limits && kept.limits.missing) parts.push(el("p", { class: "soft" }, kept.limits.missing));
  if (kept.findings) parts.push(el("h4", null, "Findings"), el("ol", { class: "findings" }, kept.findings.map((one) => el("li", null,
    el("strong", null, data.words[one.title] || data.words[one.rule]), one.lost > 0 ? ` may cost ${percentText(one.lost)} of ${data.words[one.subject]}` : "",
    el("div", null, one.evidence), data.words[one.advice] ? el("div", { class: "soft" }, data.words[one.advice]) : null))));
  if (kept.evidence) parts.push(el("h4", null, "Evidence"), facts(Object.entries(kept.evidence).map(([name, value]) => [name.replace(/_/g, " "), Array.isArray(value) ? "[" + value.join(", ") + "]" : String(value)])));
  if (kept.log) parts.push(el("h4", null, "Log" + (kept.log_bytes ? `, the first ${kept.log.length} of ${kept.log_bytes} bytes` : "")), el("pre", { tabindex: 0 }, kept.log));
  const { lines, own } = sourceOf(attempt.number, data);
  const marks = attempt.parent !== 0 && kept.source.like === attempt.parent;
  parts.push(el("h4", null, "Source", marks ? el("span", { class: "soft" }, " (marked: not as in where it came from)") : ""),
    el("pre", { tabindex: 0 }, lines.map((line, i) => (marks && own[i] ? el("mark", null, line || " ") : line + "\n"))));
  return parts.filter(Boolean);
}
