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
        : el("pre", { class: "diff", tabindex: 0 }, step.lines.map((line) => el("span", { class: classes[line[0]] }, line[0] === "@" ? "\u22ee" : line)));
    box.append(el("details", { open: i > 0 && changed < 60 && data.steps.length < 7 },
      el("summary", null, el("strong", null, "Attempt " + step.attempt), ` at ${timeText(us)}`, gain ? ", " + gain : "", "; ", attempt.origin || "",
        el("span", { class: "soft" }, i === 0 ? "; its whole text" : "; " + plural(changed, "line"))), text));
    before = us;
  });
});
