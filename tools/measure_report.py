#!/usr/bin/env python3
"""How long the page of a run takes to write and to open in Chromium, and how large it is: measure_report.py HONE [ATTEMPTS ...]

Opening is from asking for the file until all of it is drawn and laid out, in a frame of 1280 pixels; each time in a fresh browser,
the median of seven.
"""
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import many_attempts  # noqa: E402

TIMES = 7
OUTSIDE = """<pre id="out"></pre><iframe id="f" width="1280" height="900"></iframe><script>
const frame = document.getElementById("f"), begin = performance.now();
frame.onload = () => {
  const page = frame.contentDocument, high = page.documentElement.getBoundingClientRect().height;
  document.getElementById("out").textContent = [performance.now() - begin, high, page.querySelectorAll("*").length].join(" ");
};
frame.src = "run.html";
</script>"""


def opened(browser, folder):
    """Milliseconds, pixels of height, elements."""
    with tempfile.TemporaryDirectory(prefix="hone-browser-") as profile:
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--allow-file-access-from-files",
                               f"--user-data-dir={profile}", "--dump-dom", (folder / "outside.html").as_uri()],
                              capture_output=True, text=True, timeout=120, check=True)
    return [float(word) for word in re.search(r'<pre id="out">(.*?)</pre>', done.stdout)[1].split()]


def main():
    browser = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
    if not browser or len(sys.argv) < 2:
        sys.exit("measure_report.py HONE [ATTEMPTS ...]; Chromium has to be in PATH")
    print(subprocess.run([browser, "--version"], capture_output=True, text=True).stdout.strip())
    print(f"{'attempts':>8} {'written':>9} {'size':>8} {'opened':>9} {'from':>8} {'to':>8}  elements")
    for count in map(int, sys.argv[2:] or ["16", "200", "2000"]):
        with tempfile.TemporaryDirectory(prefix="hone-report-") as name:
            folder = pathlib.Path(name)
            run = many_attempts.write(folder / "runs.sqlite", count)
            began = time.monotonic()
            subprocess.run([sys.argv[1], "report", run, "-o", str(folder / "run.html")], check=True, stdout=subprocess.DEVNULL,
                           env=dict(os.environ, HONE_STORE=str(folder / "runs.sqlite")))
            written = time.monotonic() - began
            (folder / "outside.html").write_text(OUTSIDE)
            times = [opened(browser, folder) for _ in range(TIMES)]
            took = [one[0] for one in times]
            print(f"{count:>8} {written:>7.2f} s {(folder / 'run.html').stat().st_size / 1e6:>5.2f} MB {statistics.median(took):>6.0f} ms {min(took):>5.0f} ms "
                  f"{max(took):>5.0f} ms  {times[0][2]:.0f}")


main()
