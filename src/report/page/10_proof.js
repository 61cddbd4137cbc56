section("proof", (box, data, run) => {
  const timing = data.timing, best = timing && timing.against.find((one) => one.honest);
  if (!run.best) {
    box.append(el("p", { class: "headline" }, data.attempts ? "Nothing was accepted." : "No attempt has ended yet."),
      el("p", null, !data.attempts ? "Whatever comes of the first one stands here then." : plural(data.attempts, "attempt") + " ended; each one's outcome and reason stand below."));
    return;
  }
  // The honest ratio is the one over the fastest baseline.
  const headline = best
    ? [el("span", { class: "figure" }, speedText(best.speedup)),
      el("span", null, (best.speedup >= 1 ? " the speed of " : " the speed (slower) of ") + best.words + (timing.against.length > 1 ? ", the fastest baseline" : ", the one baseline"))]
    : [el("span", { class: "figure" }, timing ? timeText(timing.warm.us) : "accepted"),
      el("span", null, timing && timing.disturbed ? " no ratio: " + timing.disturbed : " no baseline was timed beside it")];
  const interval = best && best.low ? `95 % interval ${speedText(best.low)} to ${speedText(best.high)}, ${plural(best.rounds, "round")} in turn; ` : "";
  box.append(el("p", { class: "headline" }, headline),
    el("p", { class: "soft" }, interval, `attempt ${run.best} at ${timing ? timeText(timing.warm.us) : "an unknown time"}`,
      run.bound_us > 0 && timing ? `; the bound, ${timeText(run.bound_us)}, is ${percentText(run.bound_us / timing.warm.us)} of that` : "",
      data.confirmed ? "; confirmed on fresh inputs at the end of the run" : "; not confirmed on fresh inputs"));
  for (const flag of data.flags) box.append(el("p", { class: "flag" }, "Flagged: ", flag));

  if (timing && timing.against.length) box.append(against(timing, run));
  box.append(el("h3", null, "Held against the oracle"),
    el("p", null, data.outcome === "accepted"
      ? `Every element of every output lies within an error budget that was measured for the contract ${data.contract}, in double precision from the operators' definitions: on several seeds, on inputs scaled down and up, and on inputs with outliers.`
      : `Its last verdict is ${data.outcome}.`),
    facts([
      ["largest error", `${percentText(data.error_over_budget)} of its budget`],
      ["beside an honest implementation", data.error_over_honest > 0 ? digits(data.error_over_honest, 3) + " times its largest error" : null],
      ["range", data.range],
      ["two runs on the same inputs", data.bit_reproducible ? "the same bits" : "not the same bits"],
      ["KernelBench's tolerance of the exact values", data.official_allclose === null ? null : data.official_allclose ? "kept" : "not kept"],
      ["held by", data.sandbox],
      ["energy of a call", timing && timing.energy ? `${digits(timing.energy.joules, 3)} J at ${digits(timing.energy.watts, 3)} W, ${timing.energy.sensor}` : null],
      ["attempts", `${data.attempts}, ${data.accepted} accepted`],
    ]));
  if (data.confirmations.length) box.append(again(data.confirmations, run));
  for (const line of data.certificate.concat(data.notes)) box.append(el("p", { class: "soft" }, line));
});

// Bars of the time that each takes, and the table with ratios.
function against(timing, run) {
  const rows = [{ words: "attempt " + run.best, us: timing.warm.us, low: timing.warm.low, high: timing.warm.high, marked: true }]
    .concat(timing.against.map((one) => ({ words: one.words, us: one.us, ratio: one, marked: false })));
  if (run.bound_us > 0) rows.push({ words: "bound", us: run.bound_us, bound: true });
  const most = Math.max(...rows.map((row) => row.us));
  const words = "Times: " + rows.map((row) => `${row.words} ${timeText(row.us)}`).join(", ");
  const bars = chart(words, (width) => {
    const line = 30, left = Math.min(190, width * 0.42), room = width - left - 70;
    const parts = rows.map((row, i) => {
      const y = i * line + 6, wide = Math.max(2, (row.us / most) * room);
      return [svg("text", { class: "name", x: left - 8, y: y + 14, "text-anchor": "end" }, shorten(row.words, left / 7)),
        svg("rect", { class: row.marked ? "bar best" : row.bound ? "bar bound" : "bar", x: left, y, width: wide, height: 20, rx: 3 }),
        svg("text", { class: "value", x: left + wide + 6, y: y + 14 }, timeText(row.us))];
    });
    return { height: rows.length * line + 6, parts };
  });
  return el("div", null, el("h3", null, "Warm time beside the baselines"), bars,
    table("Warm medians; a speed-up is the baseline's time over the attempt's, in turn, with its 95 % interval", [
      { head: "compared with", cell: (row) => row.words },
      { head: "takes", number: true, cell: (row) => timeText(row.us) },
      { head: "speed-up", number: true, cell: (row) => (row.ratio.speedup ? speedText(row.ratio.speedup) : "none") },
      { head: "95 % interval", number: true, cell: (row) => (row.ratio.low ? `${speedText(row.ratio.low)} to ${speedText(row.ratio.high)}` : row.ratio.why || "-") },
      { head: "rounds", number: true, cell: (row) => row.ratio.rounds || "-" },
    ], rows.filter((row) => row.ratio)));
}

// What was measured again at the run's end; of an attempt that was so several times the latest decides.
function again(rows, run) {
  const energy = rows.some((row) => row.joules !== null), ranked = rows.some((row) => row.ranked_us > 0);
  return el("div", null, el("h3", null, "Measured again on fresh inputs"),
    table("At the end of the run, the winner last beside all baselines that there was time for: warm and cold medians, and the speed-up over the first baseline", [
      { head: "attempt", number: true, cell: (row) => row.attempt },
      { head: "outcome", cell: (row) => row.outcome },
      { head: "warm", number: true, cell: (row) => timeText(row.us) },
      { head: "cold", number: true, cell: (row) => timeText(row.cold_us) },
      ...(ranked ? [{ head: "ranked by", cell: (row) => (row.ranked_us > 0 ? `${timeText(row.ranked_us)}, its fastest tenth: it was disturbed` : "its median") }] : []),
      { head: "speed-up", number: true, cell: (row) => speedText(row.speedup) },
      ...(energy ? [{ head: "energy of a call", number: true, cell: (row) => (row.joules === null ? "-" : digits(row.joules, 3) + " J") }] : []),
      { head: "when", cell: (row) => dateText(row.ended_ms) },
    ], rows.map((row) => ({ ...row, marked: row.attempt === run.best }))));
}

const shorten = (text, most) => (text.length <= most ? text : text.slice(0, Math.max(3, Math.floor(most) - 1)) + "\u2026");
