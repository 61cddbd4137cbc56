section("findings", (box, data, run) => {
  const share = (row, sum) => (row.moved ? percentText(sum / row.moved) : "-");
  box.append(el("p", null, "A finding says what costs an attempt time. Where the proposer acts on one, it promises a share of the time before; what the move brought is measured."),
    table("Attempts in which each rule found something, moves that acted on it, and the mean share of the time before that these promised and brought", [
      { head: "rule", cell: (row) => [el("strong", null, row.rule), row.title ? el("div", { class: "soft" }, row.title) : null] },
      { head: "found in", number: true, cell: (row) => row.fired },
      { head: "moves", number: true, cell: (row) => row.moved },
      { head: "promised", number: true, cell: (row) => share(row, row.promised) },
      { head: "brought", number: true, cell: (row) => share(row, row.brought) },
      { head: "at most", cell: (row) => (row.at ? [percentText(row.most) + " by ", el("button", { type: "button", class: "link", click: () => run.choose(row.at) }, "attempt " + row.at)] : "-") },
    ], data.rules));
});
