// Lanes of stages over the time that the run was at work.
section("timeline", (box, data, run) => {
  const stages = [["compile", 4, 5], ["check", 6, 7], ["time", 8, 9], ["other", 2, 4], ["other", 5, 6], ["other", 7, 8], ["other", 9, 3]];
  const words = { compile: "compiling", check: "judging", time: "timing", other: "other" };
  const sums = ["compile", "check", "time", "other"].map((name) => ({ name, ms: data.attempts.reduce((sum, row) =>
    stages.reduce((all, [of, from, to]) => (of === name ? all + row[to] - row[from] : all), sum), 0) }));
  sums.push({ name: "propose", ms: data.rounds.reduce((sum, row) => sum + row[2] - row[1], 0) },
    { name: "confirm", ms: data.confirmations.reduce((sum, row) => sum + row[2] - row[1], 0) });
  Object.assign(words, { propose: "proposing", confirm: "confirming" });
  const all = sums.reduce((sum, one) => sum + one.ms, 0) || 1;
  if (!data.has_stages) box.append(el("p", { class: "flag" }, "The store has no stage times of this run: only when attempts began and ended is shown."));

  const lanes = 1 + Math.max(...data.attempts.map((row) => row[1]));
  const rows = [];
  if (data.rounds.length) rows.push({ words: "proposer", spans: data.rounds.map((row) => ["propose", row[1], row[2], "round " + row[0]]) });
  for (let lane = 0; lane < lanes; ++lane) {
    rows.push({ words: lanes > 1 ? "lane " + (lane + 1) : "attempts", spans: data.attempts.filter((row) => row[1] === lane)
      .flatMap((row) => stages.map(([name, from, to]) => [name, row[from], row[to], "attempt " + row[0]])) });
  }
  if (data.confirmations.length) rows.push({ words: "confirming", spans: data.confirmations.map((row) => ["confirm", row[1], row[2], "attempt " + row[0]]) });
  const clock = run.clock, end = Math.max(...rows.flatMap((row) => row.spans.map((span) => clock.at(span[2] + run.created_ms))));
  const many = data.attempts.length > manyPoints;
  const told = "Stages over time: " + sums.filter((one) => one.ms > 0).map((one) => `${words[one.name]} ${secondsText(one.ms)}`).join(", ");
  box.append(chart(told, (width) => {
    const line = 34, left = 84, right = width - 14, height = rows.length * line + 48;
    const across = scale(0, end, left, right), parts = [];
    const x = (ms) => across.at(clock.at(ms + run.created_ms));
    for (const mark of across.marks) {
      parts.push(svg("line", { class: "grid", x1: across.at(mark), x2: across.at(mark), y1: 4, y2: height - 40 }),
        svg("text", { class: "mark", x: across.at(mark), y: height - 24, "text-anchor": "middle" }, digits(mark, 4)));
    }
    parts.push(svg("text", { class: "label", x: right, y: height - 6, "text-anchor": "end" }, clock.label));
    rows.forEach((row, i) => {
      const y = i * line + 8;
      parts.push(svg("text", { class: "name", x: left - 8, y: y + 15, "text-anchor": "end" }, row.words));
      // One path a stage: thousands of rectangles are slow. Few have their words.
      const paths = {};
      for (const [name, from, to, title] of row.spans) {
        if (to <= from) continue;
        const x1 = x(from), wide = Math.max(0.4, x(to) - x1);
        if (many) paths[name] = (paths[name] || "") + `M${x1.toFixed(1)} ${y}h${wide.toFixed(1)}v22h-${wide.toFixed(1)}z`;
        else parts.push(svg("rect", { class: "stage " + name, x: x1, y, width: wide, height: 22 }, svg("title", null, `${title}: ${words[name]} ${secondsText(to - from)}`)));
      }
      for (const [name, d] of Object.entries(paths)) parts.push(svg("path", { class: "stage " + name, d }));
    });
    return { height, parts };
  }),
    el("p", { class: "legend" }, sums.filter((one) => one.ms > 0).map((one) => [el("span", { class: "key stage-" + one.name }), words[one.name] + " "])),
    el("p", { class: "soft" }, data.laid ? "The store has not of all stages when they began: those are drawn one after another from their attempt's begin. " : "", "Other is what is left: waiting, diagnosing, writing down; profiles have no time of their own.",
      clock.pauses ? ` ${plural(clock.pauses, "pause")} of more than 30 s without an attempt ${clock.pauses === 1 ? "is" : "are"} left out.` : ""),
    table("Time by stage, summed over lanes", [
      { head: "stage", cell: (row) => words[row.name] },
      { head: "time", number: true, cell: (row) => secondsText(row.ms) },
      { head: "share", number: true, cell: (row) => percentText(row.ms / all) },
      { head: "an attempt, mean", number: true, cell: (row) => (row.name === "propose" || row.name === "confirm" ? "-" : secondsText(row.ms / data.attempts.length)) },
    ], sums.filter((one) => one.ms > 0)));
});
