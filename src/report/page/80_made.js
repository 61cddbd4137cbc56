section("made", (box, data, run) => {
  const ledger = data.ledger;
  box.append(el("p", null, "The same command goes on with the run, or makes it again in an empty store:"),
    el("pre", { tabindex: 0 }, data.command),
    el("p", { class: "soft" }, "Decisions follow from the seed and the measured times, which are never quite the same twice. A file that a setting names stands there by its SHA-256."),
    data.note ? el("p", null, "Note: ", data.note) : "",
    el("h3", null, "Ledger"),
    facts([
      ["attempts", `${ledger.attempts}, ${ledger.accepted} accepted`],
      ["time in attempts", secondsText(ledger.seconds * 1000)],
      ["energy in attempts", ledger.joules ? digits(ledger.joules, 3) + " J" : null],
      ["began", dateText(run.created_ms)],
      ["changed last", dateText(run.updated_ms)],
      ["answers of the proposer", ledger.rounds || null],
      ["confirmations", ledger.confirmations || null],
      ["tokens in, out", ledger.input_tokens + ledger.output_tokens ? `${ledger.input_tokens}, ${ledger.output_tokens}` : null],
      ["cost", ledger.dollars ? "$" + digits(ledger.dollars, 3) : null],
    ]),
    el("h3", null, "Environment"),
    facts(data.environment.concat([["problem", data.problem_identity.slice(0, 16)], ["run", run.run]])));
});
