// The list of runs that `hone serve` begins with.
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
