// All attempts as a table, a hundred at a time, in the order that is asked for.
section("attempts", (box, data, run) => {
  const orders = {
    number: (a, b) => a.number - b.number,
    fastest: (a, b) => (a.median_us || Infinity) - (b.median_us || Infinity) || a.number - b.number,
  };
  const columns = [
    { head: "attempt", number: true, cell: (row) => row.number },
    { head: "from", number: true, cell: (row) => row.parent || "start" },
    { head: "outcome", cell: (row) => row.outcome || "not ended" },
    { head: "warm", number: true, cell: (row) => timeText(row.median_us) },
    { head: "cold", number: true, cell: (row) => timeText(row.cold_us) },
    { head: "speed-up", number: true, cell: (row) => speedText(row.speedup) },
    { head: "class", cell: (row) => row.class || "-" },
    { head: "by", cell: (row) => row.origin || "-" },
  ];
  const place = el("div");
  const show = (order, count) => {
    const rows = [...run.attempts].sort(orders[order]);
    const left = rows.length - count;
    place.replaceChildren(
      table("Medians with warm and cold caches; speed-ups over the first baseline; the best attempt is marked", columns,
        rows.slice(0, count).map((row) => ({ ...row, marked: row.number === run.best }))));
    if (left > 0) place.append(el("button", { type: "button", click: () => show(order, count + 400) }, `${Math.min(400, left)} more of ${left}`));
  };
  show("number", 100);
  box.append(choice("In the order of", [["number", "trying"], ["fastest", "time"]], (order) => show(order, 100)), place);
});
