// Charts: SVG that is drawn for the width there is, anew when that changes.

// `words` says what is to be seen, for those who do not see it. paint(width) gives the parts of a drawing of that width
// and its height: {height, parts}.
function chart(words, paint) {
  const box = el("div", { class: "chart" });
  let drawn = 0;
  const redraw = () => {
    const width = Math.max(280, Math.floor(box.clientWidth || 640));
    if (width === drawn) return;
    drawn = width;
    const { height, parts } = paint(width);
    box.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words }, parts));
  };
  box.redraw = () => { drawn = 0; redraw(); };
  undrawn.push(() => {
    redraw();
    new ResizeObserver(redraw).observe(box);
  });
  return box;
}
const undrawn = [];  // charts are drawn once they stand in the page, which gives them their width
function drawCharts() {
  for (const first of undrawn.splice(0)) first();
}

// Numbers to pixels and the marks between them. log: by decades, with 2 and 5 between few of them.
function scale(low, high, from, to, log) {
  if (log) {
    if (high / low < 1.2) { low /= 1.2; high *= 1.2; }
    const a = Math.log10(low), b = Math.log10(high);
    const at = (value) => from + ((Math.log10(value) - a) / (b - a)) * (to - from);
    const marks = [];
    const between = b - a > 4 ? [1] : b - a > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    const step = Math.max(1, Math.ceil((b - a) / 8));
    for (let decade = Math.floor(a); decade <= b; ++decade) {
      if (between.length === 1 && (decade - Math.floor(a)) % step !== 0) continue;
      for (const one of between) {
        const value = one * 10 ** decade;
        if (value >= low * 0.999 && value <= high * 1.001) marks.push(value);
      }
    }
    return { at, marks };
  }
  if (high <= low) high = low + 1;
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  const rough = (high - low) / Math.max(2, Math.min(8, Math.abs(to - from) / 70));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const marks = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step) marks.push(value);
  return { at, marks };
}

// More points than these are one path, which a browser draws at once, and have no words of their own.
const manyPoints = 300;
const dots = (name, points) => svg("path", { class: "dots " + name, d: points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("") });

// The frame of a chart with both axes: x and y are {low, high, log, label, text}. Gives the scales and the parts.
function axes(width, height, x, y) {
  const left = 56, right = 14, top = 28, bottom = 44;
  const across = scale(x.low, x.high, left, width - right, x.log);
  const up = scale(y.low, y.high, height - bottom, top, y.log);
  const parts = [];
  for (const mark of up.marks) {
    const at = up.at(mark);
    parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }),
      svg("text", { class: "mark", x: left - 8, y: at + 4, "text-anchor": "end" }, (y.text || String)(mark)));
  }
  let free = -Infinity;
  for (const mark of across.marks) {
    const at = across.at(mark);
    parts.push(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom }));
    if (at - free < 38) continue;
    free = at;
    parts.push(svg("text", { class: "mark", x: at, y: height - bottom + 18, "text-anchor": "middle" }, (x.text || String)(mark)));
  }
  parts.push(svg("text", { class: "label", x: width - right, y: height - 6, "text-anchor": "end" }, x.label),
    svg("text", { class: "label", x: 4, y: 14 }, y.label));
  return { at: { x: across.at, y: up.at }, left, right: width - right, top, bottom: height - bottom, parts };
}
