// Every candidate does the problem's work, so all stand above the same point: how fast they do it is how high.
section("roofline", (box, data, run) => {
  if (!data.roofline) {
    box.append(el("p", { class: "soft" }, "There is none: ", data.why, "."));
    return;
  }
  const roof = data.roofline, need = roof.points.find((point) => point.bound);
  const at = need.flops / need.bytes, ceilings = roof.ceilings;
  const timed = run.attempts.filter((attempt) => accepted(attempt) && attempt.median_us > 0);
  const rate = (us) => (need.flops / us) * 1e6;
  const ridge = ceilings[0].flops_per_second / roof.bytes_per_second;
  const best = run.byNumber.get(run.best), limit = need.attainable_flops_per_second;
  const heights = timed.map((attempt) => rate(attempt.median_us)).concat(limit);
  const low = { x: Math.min(at, ridge) / 8, y: Math.min(...heights) / 3 }, high = { x: Math.max(at, ridge) * 12, y: ceilings[0].flops_per_second * 3 };
  const memory = at < ridge;
  const words = `Roofline of ${roof.device}: the problem needs ${digits(at, 3)} FLOP a byte, so ${memory ? "memory" : "arithmetic"} limits it to ${rateText(limit)}`
    + (best ? `; the best attempt reaches ${rateText(rate(best.median_us))}, ${percentText(rate(best.median_us) / limit)} of that` : "");
  box.append(el("p", null, words, roof.datasheet ? ", by its datasheet" : "", "."),
    chart(words, (width) => {
      const height = width < 500 ? 300 : 380;
      const frame = axes(width, height, { low: low.x, high: high.x, log: true, label: "FLOP/byte", text: (value) => digits(value, 2) },
        { low: low.y, high: high.y, log: true, label: "FLOP/s", text: (value) => siText(value, "") });
      const { x, y } = frame.at, parts = [...frame.parts];
      const slope = Math.max(low.x, low.y / roof.bytes_per_second);
      parts.push(svg("line", { class: "roof", x1: x(slope), y1: y(slope * roof.bytes_per_second), x2: x(ridge), y2: y(ceilings[0].flops_per_second) }));
      ceilings.filter((one) => one.flops_per_second > low.y).forEach((one) => {
        const height_of = y(one.flops_per_second);
        parts.push(svg("line", { class: "roof", x1: x(one.flops_per_second / roof.bytes_per_second), x2: frame.right, y1: height_of, y2: height_of }),
          svg("text", { class: "levelname", x: frame.right - 2, y: height_of - 5, "text-anchor": "end" }, one.name));
      });
      parts.push(svg("line", { class: "level bound", x1: x(at), x2: x(at), y1: y(limit), y2: frame.bottom }));
      if (timed.length > manyPoints) parts.push(dots("", timed.map((attempt) => [x(at), y(rate(attempt.median_us))])));
      for (const attempt of timed.length > manyPoints ? [] : timed) {
        parts.push(svg("circle", { class: "dot", cx: x(at), cy: y(rate(attempt.median_us)), r: 4 },
          svg("title", null, `attempt ${attempt.number}: ${rateText(rate(attempt.median_us))}`)));
      }
      if (best) parts.push(svg("circle", { class: "dot best", cx: x(at), cy: y(rate(best.median_us)), r: 6 }),
        svg("text", { class: "name", x: x(at) + 11, y: y(rate(best.median_us)) + 4 }, "attempt " + run.best));
      parts.push(svg("circle", { class: "limit", cx: x(at), cy: y(limit), r: 5 }),
        svg("text", { class: "name", x: x(at) - 10, y: y(limit) - 8, "text-anchor": "end" }, "bound"));
      return { height, parts };
    }),
    facts([
      ["the problem needs at least", `${siText(need.flops, "FLOP")}, ${siText(need.bytes, "B")}`],
      ["memory", siText(roof.bytes_per_second, "B/s")],
      ...ceilings.map((one) => ["arithmetic, " + one.name, rateText(one.flops_per_second)]),
    ]));
});

function siText(value, unit) {
  const steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const [step, letter] = steps.find(([one]) => value >= one * 0.9995) || [1, ""];
  return digits(value / step, 3) + " " + letter + unit;
}
const rateText = (flops) => siText(flops, "FLOP/s");
