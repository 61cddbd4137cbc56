// The first attempt's text is folded away: it is new as a whole.
section("way", (box, data, run) => {
  const classes = { "+": "added", "-": "removed", "@": "gap", " ": null };
  let before = 0;
  data.steps.forEach((step, i) => {
    const attempt = run.byNumber.get(step.attempt), us = attempt.median_us;
    const gain = before > 0 && us > 0 ? (us < before ? `${percentText(1 - us / before)} less time than before` : `${percentText(us / before - 1)} more time than before`) : "";
    const changed = step.lines ? step.lines.filter((line) => line[0] === "+" || line[0] === "-").length : 0;
    const text = step.lines === null
      ? el("p", { class: "soft" }, "These changes are left out, so that this page stays small.")
      : step.lines.length === 0 ? el("p", { class: "soft" }, "The text is the same.")
        : el("pre", { class: "diff", tabindex: 0 }, step.lines.map((line, i) => el("span", { class: classes[line[0]] }, line[0] === "@" ? "\u22ee" : changedWords(step.lines, i))));
    box.append(el("details", { open: i > 0 && changed < 60 && data.steps.length < 7 },
      el("summary", null, el("strong", null, "Attempt " + step.attempt), ` at ${timeText(us)}`, gain ? ", " + gain : "", "; ", attempt.origin || "",
        el("span", { class: "soft" }, i === 0 ? "; its whole text" : "; " + plural(changed, "line"))), text));
    before = us;
  });
});

// A line, and where it stands in place of its neighbour, what of it is not as there.
function changedWords(lines, i) {
  const line = lines[i], kind = line[0];
  const alone = (at, sign) => lines[at] !== undefined && lines[at][0] === sign;
  const other = kind === "-" && alone(i + 1, "+") && !alone(i - 1, "-") && !alone(i + 2, "+") ? lines[i + 1]
    : kind === "+" && alone(i - 1, "-") && !alone(i - 2, "-") && !alone(i + 1, "+") ? lines[i - 1] : null;
  if (!other) return line;
  const most = Math.min(line.length, other.length), word = /[\w.]/;
  let head = 1, tail = 0;
  while (head < most && line[head] === other[head]) ++head;
  while (tail < most - head && line[line.length - 1 - tail] === other[other.length - 1 - tail]) ++tail;
  while (head > 1 && word.test(line[head - 1])) --head;
  while (tail > 0 && word.test(line[line.length - tail])) --tail;
  return [line.slice(0, head), el("b", null, line.slice(head, line.length - tail)), line.slice(line.length - tail)];
}
