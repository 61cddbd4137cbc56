"""A run of the run store, to be looked at."""
import html
import json
import pathlib
import tempfile

from hone.process import call


def table(rows):
    """A pandas.DataFrame where pandas is, else the list of dicts."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


class Run:
    """A run, by its id or the first digits of it, in `store` (the usual one if it is not said). Reads what the store has now, each time
    that it is asked; nothing here changes it."""

    def __init__(self, run, store=None):
        self.id, self.store = run, store

    def _call(self, verb, *words):
        return call(verb, self.id, *words, *(["--store", self.store] if self.store else []))

    @property
    def document(self):
        """All that is known of it: the document of `hone show RUN --json`."""
        return self._call("show")

    @property
    def rows(self):
        """A dict an attempt, as docs/report.md lists them, findings too; what is not known is not there."""
        with tempfile.TemporaryDirectory(prefix="hone-run-") as folder:
            path = pathlib.Path(folder) / "attempts.jsonl"
            self._call("report", "--jsonl", path)
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    @property
    def attempts(self):
        """The same as a pandas.DataFrame, where pandas is."""
        return table(self.rows)

    def attempt(self, number="best"):
        """All about one attempt: the document of `hone show RUN NUMBER --json`."""
        return self._call("show", number)

    @property
    def best(self):
        """The best attempt, or None."""
        return self.attempt() if self.document["best_attempt"] else None

    @property
    def confirmations(self):
        """What came of measuring the finalists again, on fresh inputs."""
        return table(self.document["confirmations"])

    def source(self, number="best"):
        """The text of an attempt: a program of the kernel language, a module or a plan."""
        return self.attempt(number)["source"]

    def export(self, folder, attempt=None, form="bundle"):
        """The kernel as a folder that needs no hone (docs/export.md). The paths of its files."""
        words = ["-o", folder, "--form", form] + (["--attempt", attempt] if attempt else [])
        return self._call("export", *words)["files"]

    def page(self):
        """The report of the run, one HTML file that needs no network (docs/report.md), as a text."""
        with tempfile.TemporaryDirectory(prefix="hone-run-") as folder:
            path = pathlib.Path(folder) / "run.html"
            self._call("report", "-o", path)
            return path.read_text(encoding="utf-8")

    def _repr_html_(self):
        # The page in a frame that may run its own script and nothing else: a run's texts are foreign to a notebook.
        return ('<iframe sandbox="allow-scripts" style="width:100%%;height:40em;border:1px solid #8888" srcdoc="%s"></iframe>'
                % html.escape(self.page(), quote=True))

    def __repr__(self):
        known = self.document
        lines = ["run %s of %s for %s: %d attempts, %s" % (known["id"], known["problem"], known["target"], len(known["attempts"]), known["state"])]
        if known["best_attempt"]:
            lines.append("best: attempt %d, %.4g us, %s" % (known["best_attempt"], known["best_us"], "confirmed" if known["confirmed"] else "not confirmed"))
        if known.get("honest"):
            lines.append("%.3gx over %s, the fastest baseline" % (known["honest"]["speedup"], known["honest"]["baseline"]))
        return "\n".join(lines)


def runs(store=None, **options):
    """The runs of the store, newest first, as `hone runs` lists them: problem=..., target=..., since=... choose. A DataFrame where
    pandas is."""
    words = [word for name, value in options.items() for word in ("--" + name, value)]
    return table(call("runs", *words, *(["--store", store] if store else []))["runs"])
