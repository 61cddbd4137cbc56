// Speed-ups over attempts, or over time: a dot an accepted attempt, a mark below one that was refused, and the best so
// far. Where no baseline was timed it is calls a second.
section("progress", (box, data, run) => {
  const base = run.baselines[data.first_baseline] || 0;
  // By its own time, as the search decides; ratios from turns taken in the same minute stand in the table.
  const valueOf = (attempt) => (attempt.median_us > 0 ? (base || 1e6) / attempt.median_us : 0);
  const timed = run.attempts.filter((attempt) => accepted(attempt) && valueOf(attempt) > 0);
  const refused = run.attempts.filter((attempt) => attempt.outcome && !accepted(attempt));
  box.append(el("p", null, `${run.state[0].toUpperCase()}${run.state.slice(1)}${run.stop_reason ? ": " + run.stop_reason : ""}. `,
    `${plural(run.attempts.length, "attempt")}, ${timed.length} timed, ${refused.length} refused.`));
  if (!timed.length) return;

  const kinds = {
    attempts: { label: "attempt", of: (attempt) => attempt.number, text: String },
    time: { label: run.clock.label, of: (attempt) => run.clock.at(attempt.ended_ms || attempt.started_ms), text: (value) => digits(value, 4) },
  };
  let kind = kinds[remembered.over || "attempts"];
  const lines = [];
  if (base && run.bound_us > 0) lines.push({ words: "bound", value: base / run.bound_us });
  if (base) for (const [name, us] of Object.entries(run.baselines)) lines.push({ words: name, value: base / us });
  const values = timed.map(valueOf);
  // What is far from all attempts would make them one line.
  const far = (one) => one.value > 12 * Math.max(...values) || one.value < Math.min(...values) / 60;
  const beyond = lines.filter(far).map((one) => `${one.words} at ${digits(one.value, 3)}`);
  const near = lines.filter((one) => !far(one)).map((one) => one.value);
  const low = Math.min(...values, ...near), high = Math.max(...values, ...near);
  const best = Math.max(...values), first = valueOf(timed[0]);
  const what = base ? `speed-up over ${data.first_baseline}` : "calls a second";
  const words = `${what}: the first accepted attempt is at ${digits(first, 3)}, the best at ${digits(best, 3)} after ${plural(run.attempts.length, "attempt")}`;

  const plot = chart(words, (width) => {
    const height = width < 500 ? 280 : 360;
    const ends = run.attempts.map(kind.of);
    const frame = axes(width, height, { low: Math.min(0, ...ends), high: Math.max(...ends), label: kind.label, text: kind.text },
      { low: low / 1.25, high: high * 1.25, log: true, label: what + " (log scale, higher is faster)", text: (value) => digits(value, 2) });
    const parts = [...frame.parts];
    let used = [];
    for (const line of lines.filter((one) => !far(one))) {
      const y = frame.at.y(line.value);
      parts.push(svg("line", { class: line.words === "bound" ? "level bound" : "level", x1: frame.left, x2: frame.right, y1: y, y2: y }));
      if (used.every((other) => Math.abs(other - y) > 13))
        parts.push(svg("text", { class: "levelname", x: frame.left + 4, y: y - 4 }, line.words));
      used.push(y);
    }
    let top = 0, path = "";
    for (const attempt of [...timed].sort((a, b) => kind.of(a) - kind.of(b))) {
      const x = frame.at.x(kind.of(attempt)), value = valueOf(attempt);
      if (value > top) {
        path += path ? `H${x.toFixed(1)}V${frame.at.y(value).toFixed(1)}` : `M${x.toFixed(1)} ${frame.at.y(value).toFixed(1)}`;
        top = value;
      }
    }
    parts.push(svg("path", { class: "bestline", d: path + `H${frame.right}` }));
    const place = (attempt) => [frame.at.x(kind.of(attempt)), frame.at.y(valueOf(attempt))];
    if (refused.length > manyPoints) {
      parts.push(svg("path", { class: "refused", d: refused.map((attempt) => `M${place(attempt)[0].toFixed(1)} ${frame.bottom - 9}v9`).join("") }));
    } else {
      for (const attempt of refused) {
        const [x] = place(attempt);
        parts.push(svg("line", { class: "refused", x1: x, x2: x, y1: frame.bottom - 9, y2: frame.bottom },
          svg("title", null, `attempt ${attempt.number}: ${attempt.outcome}`)));
      }
    }
    const many = timed.length > manyPoints;
    if (many) parts.push(dots("small", timed.map(place)));
    for (const attempt of timed) {
      const marked = attempt.number === run.best, [x, y] = place(attempt);
      if (many && !marked) continue;
      if (!many && attempt.low_us > 0) {
        const scaled = (us) => Math.min(frame.bottom, Math.max(frame.top, frame.at.y((base || 1e6) / us)));
        parts.push(svg("line", { class: "spread", x1: x, x2: x, y1: scaled(attempt.low_us), y2: scaled(attempt.high_us) }));
      }
      parts.push(svg("circle", { class: marked ? "dot best" : "dot", cx: x, cy: y, r: marked ? 6 : 4 },
        svg("title", null, `attempt ${attempt.number}: ${timeText(attempt.median_us)}, ${digits(valueOf(attempt), 3)}; ${attempt.origin || ""}`)));
    }
    return { height, parts };
  });
  box.append(choice("Over", [["attempts", "attempts"], ["time", "time"]], (value) => { remembered.over = value; kind = kinds[value]; plot.redraw(); }, remembered.over), plot,
    el("p", { class: "legend" }, el("span", { class: "key dot" }), "accepted ", el("span", { class: "key best" }), "the best ",
      refused.length ? [el("span", { class: "key refused" }), "refused "] : null, el("span", { class: "key line" }), "best so far", timed.length > manyPoints ? "" : "; bars are 95 % intervals", beyond.length ? `; beyond the chart: ${beyond.join(", ")}` : ""));
});
