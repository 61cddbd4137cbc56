// The sections of a suite's page: many problems, each with the best that was found for it.

// Baselines in the order in which problems have them, and the fastest of each problem where there are several.
function suiteBaselines(run) {
  const names = [...new Set(run.rows.flatMap((row) => Object.keys(row.speedups)))];
  return names.length > 1 ? [...names, "the fastest"] : names;
}
const suiteSpeed = (row, baseline) => (!row.solved ? 0 : baseline === "the fastest" ? row.honest || 0 : row.speedups[baseline] || 0);
const suiteGroups = (run) => [...new Set(run.rows.map((row) => row.group))];
const ofBound = (row) => (row.best_us > 0 && row.bound_us > 0 ? row.bound_us / row.best_us : 0);

section("standing", (box, data, run) => {
  const baselines = suiteBaselines(run), count = (is) => run.rows.filter(is).length;
  box.append(
    el("p", { class: "headline" }, `${count((row) => row.solved)} of ${plural(run.rows.length, "problem")} solved, ${count((row) => row.faster)} confirmed to be faster than their first baseline`),
    facts([["took", secondsText(run.seconds * 1000)], ["attempts", String(run.rows.reduce((sum, row) => sum + row.attempts, 0))],
      ["stopped", run.stop], ["every problem looked at", run.complete ? "yes" : "no"]]));
  if (!run.groups.length) return;
  const cell = (group, baseline) => {
    const mean = group.over[baseline];
    return mean ? `${speedText(mean.geomean)} of ${mean.problems}${mean.slower ? `, ${mean.slower} slower` : ""}` : "-";
  };
  box.append(table("Geometric means of the solved problems' speed-ups, of how many, and how many of these are slower than the baseline; flagged problems, whose times say little, stand apart", [
    { head: "group", cell: (group) => group.group || "-" },
    { head: "solved", number: true, cell: (group) => `${group.solved} of ${group.problems}` },
    ...baselines.map((baseline) => ({ head: "over " + baseline, number: true, cell: (group) => cell(group, baseline) })),
  ], run.groups));
});

section("speedups", (box, data, run) => {
  const groups = suiteGroups(run), place = el("div");
  const show = (baseline) => {
    const rows = run.rows.filter((row) => suiteSpeed(row, baseline) > 0 && !row.flags.length)
      .map((row) => ({ ...row, speed: suiteSpeed(row, baseline) })).sort((a, b) => a.speed - b.speed);
    if (!rows.length) return place.replaceChildren(el("p", null, "No problem without a flag was timed beside it."));
    const slowest = rows[0], fastest = rows[rows.length - 1], slower = rows.filter((row) => row.speed < 1).length;
    const words = `Speed-up over ${baseline} of ${plural(rows.length, "problem")}, from ${speedText(slowest.speed)} (${slowest.name}) to ${speedText(fastest.speed)} (${fastest.name}); ${slower} below 1`;
    place.replaceChildren(chart(words, (width) => {
      const height = width < 500 ? 300 : 360;
      const frame = axes(width, height, { low: 0, high: rows.length + 1, label: "problems, the slowest first", text: String },
        { low: Math.min(0.9, slowest.speed) / 1.1, high: Math.max(1.1, fastest.speed) * 1.1, log: true, label: "speed-up over " + baseline, text: speedText });
      const one = frame.at.y(1);
      return { height, parts: [...frame.parts, svg("line", { class: "roof", x1: frame.left, x2: frame.right, y1: one, y2: one }),
        rows.map((row, i) => svg("circle", { class: "point arm arm" + ((groups.indexOf(row.group) + 1) % 7), cx: frame.at.x(i + 1).toFixed(1), cy: frame.at.y(row.speed).toFixed(1), r: rows.length > 100 ? 3 : 4.5 },
          svg("title", null, `${row.name}: ${speedText(row.speed)}`)))] };
    }), el("p", { class: "soft" }, words + "."));
    drawCharts();
  };
  const baselines = suiteBaselines(run);
  const over = baselines.includes(remembered.baseline) ? remembered.baseline : baselines[0];
  if (baselines.length > 1) box.append(choice("Over", baselines.map((name) => [name, name]), (name) => { remembered.baseline = name; show(name); }, over));
  box.append(place, groups.length > 1 ? el("p", { class: "legend" }, groups.map((group, i) => [el("span", { class: "key arm arm" + ((i + 1) % 7) }), (group || "-") + " "])) : "");
  show(over);
});

section("helpings", (box, data, run) => {
  // Times of a problem fall from helping to helping; the mean is over the problems that had an accepted attempt.
  const first = new Map(), best = new Map(), points = [];
  let spent = 0, logs = 0;
  for (const helping of run.helpings) {
    spent += helping.seconds;
    if (helping.best_us > 0) {
      if (!first.has(helping.problem)) first.set(helping.problem, helping.before_us > 0 ? helping.before_us : helping.best_us);
      logs += Math.log((best.get(helping.problem) || first.get(helping.problem)) / helping.best_us);
      best.set(helping.problem, helping.best_us);
    }
    points.push({ spent, gain: best.size ? Math.exp(logs / best.size) : 1, helping });
  }
  const last = points[points.length - 1];
  const words = `After ${secondsText(last.spent * 1000)} the best of ${plural(best.size, "problem")} is ${speedText(last.gain)} as fast as its first accepted attempt, in the geometric mean`;
  box.append(chart(words, (width) => {
    const height = width < 500 ? 280 : 340, unit = last.spent > 600 ? 60 : 1;
    const frame = axes(width, height, { low: 0, high: last.spent / unit, label: (unit > 1 ? "minutes" : "seconds") + " spent", text: (value) => digits(value, 3) },
      { low: 1, high: Math.max(1.05, ...points.map((point) => point.gain)) * 1.02, label: "the best over the first accepted, geometric mean", text: speedText });
    const path = points.map((point) => `${frame.at.x(point.spent / unit).toFixed(1)} ${frame.at.y(point.gain).toFixed(1)}`);
    return { height, parts: [...frame.parts, svg("path", { class: "bestline", d: "M" + path.join("L") }),
      points.length > manyPoints ? [] : points.map((point) => svg("circle", { class: "dot", cx: frame.at.x(point.spent / unit).toFixed(1), cy: frame.at.y(point.gain).toFixed(1), r: 3.5 },
        svg("title", null, `${point.helping.problem}: ${timeText(point.helping.before_us)} to ${timeText(point.helping.best_us)} in ${secondsText(point.helping.seconds * 1000)}`)))] };
  }), el("p", { class: "soft" }, words + ". A problem that joins with its first attempts draws the mean towards 1."));
});

section("suite", (box, data, run) => {
  const baselines = suiteBaselines(run);
  const orders = {
    list: () => 0,
    slowest: (a, b) => (suiteSpeed(a, baselines[0]) || Infinity) - (suiteSpeed(b, baselines[0]) || Infinity),
    bound: (a, b) => (ofBound(a) || 2) - (ofBound(b) || 2),
    time: (a, b) => b.seconds - a.seconds,
  };
  const columns = [
    { head: "problem", cell: (row) => row.name },
    { head: "best", number: true, cell: (row) => timeText(row.best_us) },
    { head: "of the bound", number: true, cell: (row) => (ofBound(row) ? percentText(ofBound(row)) : "-") },
    ...baselines.map((baseline) => ({ head: "over " + baseline, number: true, cell: (row) => {
      const speed = suiteSpeed(row, baseline);
      return speed > 1 ? el("span", { class: "good" }, speedText(speed)) : speedText(speed);
    } })),
    { head: "confirmed", cell: (row) => (row.faster ? "faster" : "no") },
    { head: "attempts", number: true, cell: (row) => row.attempts },
    { head: "took", number: true, cell: (row) => secondsText(row.seconds * 1000) },
    { head: "run", cell: (row) => (!row.run ? "-" : run.live ? el("a", { href: "../run/" + encodeURIComponent(row.run) }, row.run) : el("code", null, row.run)) },
    { head: "flags, failure", cell: (row) => [...row.flags, row.failure ? "not solved: " + row.failure : ""].filter(Boolean).join("; ") },
  ];
  const place = el("div"), found = el("p", { class: "soft", role: "status" });
  const chosen = remembered.suite = remembered.suite || { order: "list", words: "", count: 100 };
  let order = chosen.order;
  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  let words = wordsOf(chosen.words);
  const show = (count) => {
    chosen.count = count;
    const rows = run.rows.filter((row) => words.every((word) => (row.name + " " + row.flags.join(" ") + " " + row.failure).toLowerCase().includes(word))).sort(orders[order]);
    const left = rows.length - count;
    found.textContent = plural(rows.length, "problem");
    place.replaceChildren(table("The best of each problem; `hone show` and `hone report` have a run whole", columns, rows.slice(0, count)));
    if (left > 0) place.append(el("button", { type: "button", click: () => show(count + 400) }, `${Math.min(400, left)} more of ${left}`));
  };
  const search = el("input", { type: "search", placeholder: "words of a name, a flag, a failure", "aria-label": "Problems with these words",
    value: chosen.words, input: () => { chosen.words = search.value; words = wordsOf(search.value); show(100); } });
  box.append(el("div", { class: "filters" }, search, found),
    choice("In the order of", [["list", "the list"], ["slowest", "speed-up"], ["bound", "the bound's share"], ["time", "what they took"]], (next) => { order = chosen.order = next; show(100); }, order), place);
  show(chosen.count);
});
