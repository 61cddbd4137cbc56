// The lists that `hone serve` begins with.
section("runs", (box, data, run) => {
  if (!data.runs.length) {
    box.append(el("p", null, "There are no runs yet; ", el("code", null, "hone optimize"), " makes one."));
    return;
  }
  box.append(table("Newest first; the speed-up is over the first baseline, and the best time a warm median", [
    { head: "run", cell: (row) => el("a", { href: "run/" + encodeURIComponent(row.id) }, row.id) },
    { head: "problem", cell: (row) => [row.problem, row.note ? el("div", { class: "soft" }, row.note) : null] },
    { head: "target", cell: (row) => row.target },
    { head: "state", cell: (row) => row.state },
    { head: "attempts", number: true, cell: (row) => row.attempts },
    { head: "best", number: true, cell: (row) => timeText(row.best_us) },
    { head: "speed-up", number: true, cell: (row) => speedText(row.speedup) },
    { head: "changed", cell: (row) => dateText(row.updated_ms) },
  ], data.runs.map((row) => ({ ...row, marked: row.state === "running" }))));
});

section("suites", (box, data) => {
  box.append(table("The one first in which something was done last; confirmed are those that are faster than their first baseline", [
    { head: "suite", cell: (row) => el("a", { href: "suite/" + encodeURIComponent(row.id) }, row.suite) },
    { head: "state", cell: (row) => [row.state, row.stop ? el("div", { class: "soft" }, row.stop) : null] },
    { head: "begun", number: true, cell: (row) => `${row.begun} of ${row.problems}` },
    { head: "solved", number: true, cell: (row) => row.solved },
    { head: "confirmed", number: true, cell: (row) => row.confirmed },
    { head: "attempts", number: true, cell: (row) => row.attempts },
    { head: "took", number: true, cell: (row) => secondsText(row.seconds * 1000) },
    { head: "changed", cell: (row) => dateText(row.updated_ms) },
  ], data.suites.map((row) => ({ ...row, marked: row.state === "running" }))));
});

section("comparisons", (box, data) => {
  box.append(table("The one first in which something was done last", [
    { head: "arms", cell: (row) => el("a", { href: "comparison/" + encodeURIComponent(row.id) }, row.arms.length ? row.arms.join("; ") : row.command) },
    { head: "state", cell: (row) => row.state },
    { head: "problems", number: true, cell: (row) => row.problems },
    { head: "searches", number: true, cell: (row) => `${row.searches} of ${row.of}` },
    { head: "changed", cell: (row) => dateText(row.updated_ms) },
  ], data.comparisons.map((row) => ({ ...row, marked: row.state === "running" }))));
});
