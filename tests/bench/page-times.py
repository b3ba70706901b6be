"""page-times.py [PAGE NAME] - opens a page of `gemem-sim report` in a browser and prints two rows for run-bench.sh, in
milliseconds of the browser's own clock: from the beginning of loading until all of the page is drawn, and one step of
zoom until its canvases are drawn, the median of nine.  The latter holds one frame (17 ms) of waiting, the former two.
Without arguments: whether there is a browser (status 0, else 1).
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "util"))
import browser  # noqa: E402

ZOOM = """new Promise(done => requestAnimationFrame(() => {
  const began = performance.now(), key = %s;
  document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  requestAnimationFrame(() => { // after the page's own; what is read has to be drawn before
    for (const canvas of document.querySelectorAll('canvas'))
      canvas.getContext('2d')?.getImageData(0, 0, 1, 1);
    done([performance.now() - began, state.domain[1] - state.domain[0]]);
  });
}))"""


def main():
    page = browser.Browser()
    try:
        page.open(sys.argv[1])
        paint = page.run("performance.now()")
        page.run("document.querySelector('canvas').focus(), 1")
        steps = [page.run(ZOOM % json.dumps("+-"[i % 2])) for i in range(10)][1:]
    finally:
        page.close()
    if len({span for _, span in steps}) < 2:
        sys.exit("the keys do not zoom")
    for bench, ms in (("page-paint", paint), ("page-zoom", sorted(ms for ms, _ in steps)[len(steps) // 2])):
        print(json.dumps({"bench": bench, "workload": sys.argv[2], "ms": round(ms, 1)}))


if len(sys.argv) < 3:
    sys.exit(browser.find() is None)
main()
