// The sections of a comparison's page: arms are searches, and the first is what the others are held against.

const armColour = (i) => "arm arm" + (i % 7);

section("arms", (box, data, run) => {
  const never = (value, text) => (value > 0 ? text(value) : "never");
  box.append(el("p", null, "Quality is the fastest time known of a problem over that of what a search held to be the best: 100 % is the fastest. Means over problems are geometric."),
    table("Each arm's mean quality at its end and over its attempts, how many searches came to 95 %, and what that took (medians) and a whole search (means)", [
      { head: "arm", cell: (row) => [el("span", { class: "key " + armColour(row.place) }), row.arm] },
      { head: "quality", number: true, cell: (row) => percentText(row.quality) },
      { head: "anytime", number: true, cell: (row) => percentText(row.anytime) },
      { head: "reached 95 %", number: true, cell: (row) => percentText(row.reached) },
      { head: "after attempts", number: true, cell: (row) => never(row.to_95_attempts, (value) => digits(value, 3)) },
      { head: "after", number: true, cell: (row) => never(row.to_95_seconds, (value) => secondsText(value * 1000)) },
      { head: "attempts", number: true, cell: (row) => digits(row.attempts, 3) },
      { head: "took", number: true, cell: (row) => secondsText(row.seconds * 1000) },
    ], run.arms.map((arm, place) => ({ ...arm, place }))));
});

// Of a suite as well; a run's page says it otherwise (80_made.js).
section("how", (box, data, run) => box.append(facts(Object.entries(run.made))));

// Of one that has not ended.
section("far", (box, data, run) => {
  const far = run.progress;
  box.append(el("p", { class: "headline" }, `${far.searches} of ${far.of} searches are done`), facts([["began", dateText(far.begun_ms)], ["state", run.state]]));
  if (!run.arms.length) box.append(el("p", null, "What they came to is shown once each arm has searched a problem."));
});

section("curves", (box, data, run) => {
  const longest = Math.max(...run.arms.map((arm) => arm.curve.length));
  // A search that has nothing yet would make all others one line.
  const values = run.arms.flatMap((arm) => arm.curve.filter((value) => value > 0.2));
  const low = Math.max(0, Math.min(...values, 0.95) - 0.05);
  const words = "Mean quality after each attempt: " + run.arms.map((arm) => `${arm.arm} ends at ${percentText(arm.curve[arm.curve.length - 1])}`).join(", ");
  box.append(chart(words, (width) => {
    const height = width < 500 ? 300 : 380;
    const frame = axes(width, height, { low: 1, high: longest, label: "attempt", text: String },
      { low, high: 1.005, label: "quality, mean of the problems", text: percentText });
    const parts = [...frame.parts, svg("line", { class: "level", x1: frame.left, x2: frame.right, y1: frame.at.y(0.95), y2: frame.at.y(0.95) })];
    run.arms.forEach((arm, i) => {
      const points = arm.curve.map((value, at) => `${frame.at.x(at + 1).toFixed(1)} ${frame.at.y(Math.max(low, value)).toFixed(1)}`);
      parts.push(svg("path", { class: "curve " + armColour(i), d: "M" + points.join("L") }, svg("title", null, arm.arm)));
    });
    return { height, parts };
  }),
    el("p", { class: "legend" }, run.arms.map((arm, i) => [el("span", { class: "key line " + armColour(i) }), arm.arm + " "])));
});

section("against", (box, data, run) => {
  const first = run.arms[0].arm, others = run.arms.slice(1).filter((arm) => arm.against);
  const rows = others.flatMap((arm) => ["quality", "anytime"].map((what) => ({ arm: arm.arm, what, place: run.arms.indexOf(arm), ...arm.against[what] })));
  const verdict = (row) => (row.low > 1 ? "better" : row.high < 1 ? "worse" : "not told apart");
  box.append(el("p", null, `Ratios to ${first}, problem by problem, with 95 % intervals. Where an interval includes 1, these problems do not tell the two apart.`));
  if (!rows.length) return;
  const low = Math.min(0.99, ...rows.map((row) => row.low)), high = Math.max(1.01, ...rows.map((row) => row.high));
  const words = rows.map((row) => `${row.arm}, ${row.what}: ${digits(row.ratio, 4)}, ${verdict(row)}`).join("; ");
  box.append(chart(words, (width) => {
    const line = 26, left = Math.min(260, width * 0.45), right = width - 20, height = rows.length * line + 44;
    const across = scale(low - (high - low) * 0.05, high + (high - low) * 0.05, left, right), parts = [];
    for (const mark of across.marks) parts.push(svg("line", { class: "grid", x1: across.at(mark), x2: across.at(mark), y1: 0, y2: height - 34 }),
      svg("text", { class: "mark", x: across.at(mark), y: height - 16, "text-anchor": "middle" }, digits(mark, 4)));
    parts.push(svg("line", { class: "roof", x1: across.at(1), x2: across.at(1), y1: 0, y2: height - 34 }));
    rows.forEach((row, i) => {
      const y = i * line + 16;
      parts.push(svg("text", { class: "name", x: left - 10, y: y + 4, "text-anchor": "end" }, shorten(`${row.arm}, ${row.what}`, left / 7)),
        svg("line", { class: "curve " + armColour(row.place), x1: across.at(row.low), x2: across.at(row.high), y1: y, y2: y }),
        svg("circle", { class: "point " + armColour(row.place), cx: across.at(row.ratio), cy: y, r: 4.5 }));
    });
    return { height, parts };
  }),
    table(`Geometric means of ratios to ${first}, Wilcoxon's signed-rank test, and problems won, equal (within half a percent) and lost`, [
      { head: "arm", cell: (row) => row.arm },
      { head: "of", cell: (row) => row.what },
      { head: "ratio", number: true, cell: (row) => digits(row.ratio, 4) },
      { head: "95 % interval", number: true, cell: (row) => `${digits(row.low, 4)} to ${digits(row.high, 4)}` },
      { head: "p", number: true, cell: (row) => digits(row.p, 2) },
      { head: "won", number: true, cell: (row) => row.wins },
      { head: "equal", number: true, cell: (row) => row.equal },
      { head: "lost", number: true, cell: (row) => row.losses },
      { head: "", cell: verdict },
    ], rows));
});

section("problems", (box, data, run) => {
  const rows = run.problems.map((name, i) => {
    const values = run.arms.map((arm) => arm.by_problem[i]);
    return { name, values, spread: Math.max(...values) - Math.min(...values) };
  }).sort((a, b) => b.spread - a.spread);
  box.append(table("Quality at the end of each arm; where arms differ most stands first, and the best of a problem is marked where they differ by half a percent", [
    { head: "problem", cell: (row) => row.name },
    ...run.arms.map((arm, i) => ({ head: arm.arm, number: true,
      cell: (row) => (row.spread > 0.005 && row.values[i] > Math.max(...row.values) - 0.0005 ? el("strong", { class: "good" }, percentText(row.values[i])) : percentText(row.values[i])) })),
  ], rows));
});
