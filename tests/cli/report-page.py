"""report-page.py PAGE [JSON [PICTURES]] - opens a page of `gemem-sim report` in a browser and prints TAP: it loads without
an error, its numbers are those of JSON (of `compare -f json` on the same traces), zoom, hover and selection work.

With PICTURES, a folder, it leaves screenshots there, light and dark, for a person to look at.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "util"))
import browser  # noqa: E402

count = 0


def ok(passed, name, more=""):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if passed else "not ok", count, name))
    if not passed:
        print("# " + str(more)[:500])


def place(page, selector):
    """The middle of an element, scrolled into view."""
    page.run("document.querySelector(%s).scrollIntoView({block: 'center'}), 1" % json.dumps(selector))
    page.frame()
    box = page.run("(r => [r.left, r.top, r.width, r.height])(document.querySelector(%s).getBoundingClientRect())" % json.dumps(selector))
    return box


def key(page, text):
    page.call("Input.dispatchKeyEvent", type="keyDown", key=text, text=text if len(text) == 1 else "")
    page.call("Input.dispatchKeyEvent", type="keyUp", key=text)
    page.frame()


def test_numbers(page, path):
    expected = json.load(open(path))["results"]
    shown = page.run("DATA.report.results")
    ok([r["label"] for r in shown] == [r["label"] for r in expected], "the rows are those of compare")
    for measure in ("measures", "values", "calls", "parameters", "oom"):
        ok(all(a[measure] == b[measure] for a, b in zip(shown, expected)), "%s are those of compare" % measure)
    cells = page.run("""Array.from(document.querySelectorAll('#rows tbody tr'), row => [Number(row.dataset.row),
      row.querySelector('[data-key=peak_reserved]').textContent])""")
    text = page.run("DATA.report.results.map(r => measured(r.measures.peak_reserved, 'bytes'))")
    ok(len(cells) > 0 and all(text[row] == cell for row, cell in cells), "the table shows them", cells)


def test_answer(page):
    """A recorded device that refused a request, of a size that was not recorded, is not said to be the one that is assumed elsewhere."""
    ok(page.run("""DATA.answers.every(answer => { const a = answer.advice, said = a && headlineOf(a);
      return !a || said === (a.verdict === 'fits' ? 'It fits.' : a.verdict === 'does-not-fit' ? 'It does not fit.'
        : a.doubt ? 'It cannot be told.' : `It needs ${bytes(a.needed_bytes)}${a.exact ? "." : ", by a replay that is not exact."}`); })"""), "the headline is the verdict")
    said = page.run("""DATA.answers.map(answer => { const div = document.createElement('div'); viewAnswer(div, answer);
      const texts = selector => Array.from(div.querySelectorAll(selector), node => node.textContent);
      return [answer.advice ? answer.advice.lines.length : 0, answer.screen || '',
        [...texts('.paste code'), ...texts('.paste div div'), ...(answer.advice && answer.advice.lines.length ? texts('h3').slice(0, 1) : [])]]; })""")
    ok(all(len(texts) > 2 * lines if lines else not texts for lines, _, texts in said)
       and all("\n" + text + "\n" in screen.replace("\n  ", "\n").replace("\n    ", "\n") for _, screen, texts in said for text in texts), "each line's words are those of the text", said)
    ok(page.run("""DATA.answers.every(answer => { const a = answer.advice, facts = a && factsOf(a);
      return !a || !!facts.querySelector('#capacity') === !(a.capacity_assumed && a.refused_when_recorded > 0); })"""), "a device is named where it is known")


def test_print(page):
    """On paper a table has its titles, on every sheet."""
    page.call("Emulation.setEmulatedMedia", media="print")
    titles = page.run("""Array.from(document.querySelectorAll('thead')).filter(head => head.checkVisibility()).map(head =>
      [getComputedStyle(head).display, ...Array.from(head.querySelectorAll('th'), title => title.innerText.trim())])""")
    whole = page.run("Array.from(document.querySelectorAll('tr')).every(row => getComputedStyle(row).breakInside === 'avoid')")
    # Chromium paints a button of a title on the first sheet alone
    text = page.run("Array.from(document.querySelectorAll('thead th button')).every(button => getComputedStyle(button).display === 'contents')")
    page.call("Emulation.setEmulatedMedia", media="")
    tables = page.run("document.querySelectorAll('table').length")
    ok(len(titles) >= min(tables, 1) and all(head[0] == "table-header-group" and all(head[1:]) for head in titles), "on paper tables have their titles", titles)
    ok(text, "on every sheet")
    ok(whole, "no row is cut by the end of a sheet")


def test_narrow(page):
    """On a telephone the line to paste and the names of the rows can be read, and nothing but tables is wider than it."""
    page.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
    page.frame()
    widths = page.run("Array.from(document.querySelectorAll('.paste code, #rows tbody td:first-child'), e => e.getBoundingClientRect().width)")
    whole = page.run("document.documentElement.scrollWidth")
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    page.frame()
    ok(all(width >= 120 for width in widths), "in 400 pixels lines to paste and names have room", widths)
    ok(whole <= 400, "and nothing is wider", whole)


def test_films(page):
    same = page.run("""DATA.films.filter(f => f.history).map(openFilm).every(f => {
      const r = resultOf(f), alive = aliveAt(f, Number(r.values.peak_live_seq));
      return alive.live === Number(r.values.peak_live) && d3.max(f.timeline.reserved_max) === Number(r.values.peak_reserved); })""")
    ok(page.run("""(() => { const ooms = state.film.history ? Number(resultOf(state.film).values.ooms) : 0, more = document.getElementById('more-failures');
      return ooms > 8 ? more && more.textContent === `and ${count(ooms - 8)} more` : !more; })()"""), "failures without a button are counted")
    ok(page.run("""DATA.films.flatMap(f => failuresOf(f).map(oom => [oom, resultOf(f).values])).every(([oom, values]) =>
      reasonOf(oom, values).includes('at this moment') === (oom.avoidable && !oom.waiting && Number(oom.device_free) < Number(oom.requested)
        && Number(values.lower_bound) <= Number(values.capacity)))"""), "another layout is offered only where one would do")
    ok(same, "what the map holds at the live peak is the live peak, and the curve has the reserved one")
    ok(page.run("""(() => { const r = resultOf(state.film), h = state.film.history;
      if (!h) return true;
      const held = i => h.series.reduce((sum, s) => sum + s[i], 0);
      return d3.range(partsOf(h)).every(i => held(i) <= Number(r.values.peak_live)); })()"""), "lines never hold more than the live peak")


def test_use(page):
    left, top, width, height = place(page, "canvas")
    before = page.run("state.domain")
    if before[1] <= 8:  # there is nothing to zoom
        return
    page.run("document.querySelector('canvas').focus(), 1")
    key(page, "+")
    zoomed = page.run("state.domain")
    ok(zoomed[1] - zoomed[0] < before[1] - before[0], "+ zooms", [before, zoomed])
    page.mouse("mouseMoved", left + width / 2, top + height / 2)
    page.mouse("mousePressed", left + width / 2, top + height / 2, button="left", clickCount=1)
    page.mouse("mouseMoved", left + width / 2 - 80, top + height / 2, button="left", buttons=1)
    page.mouse("mouseReleased", left + width / 2 - 80, top + height / 2, button="left", clickCount=1)
    page.frame()
    moved = page.run("state.domain")
    ok(moved[0] != zoomed[0], "dragging moves", [zoomed, moved])
    page.run("document.getElementById('all').click(), 1")
    page.frame()
    ok(page.run("state.domain") == before, "All shows all")
    page.click(left + width / 2, top + height / 2)
    ok(abs(page.run("state.moment") - (before[1] * (width / 2 - 78) / (width - 94))) <= before[1] / 100 + 2, "a click opens that moment")
    if not page.run("!!(state.film.history && state.film.history.blocks.n)"):
        return
    page.run("document.getElementById('jump-live').click(), 1")
    page.frame()
    ok(page.run("document.getElementById('moment-live').textContent") == page.run("bytes(resultOf(state.film).values.peak_live)"), "the live peak is a moment")
    test_blocks(page)
    test_causes(page)
    test_step_names(page)


def test_blocks(page):
    """Hover and click on the largest block alive at the moment, on the map."""
    canvas = "canvas[aria-label='Blocks by address and time']"
    left, top, _, _ = place(page, canvas)
    block, x, y = page.run("""(() => { const f = state.film, b = f.history.blocks, chart = charts.find(c => c.zoomAddresses);
      const i = state.alive.blocks.slice().sort((p, q) => b.size[q] - b.size[p])[0];
      return [i, scaleX(chart.box).of(state.moment + .5), scaleAddresses(f, chart.box)(placeOf(f.islands, b.address[i]) + b.size[i] / 2)]; })()""")
    page.mouse("mouseMoved", left + x, top + y)
    page.frame()
    tip = page.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    ok(page.run("bytes(state.film.history.blocks.size[%d])" % block) in tip, "hover names the block", tip)
    page.click(left + x, top + y)
    ok(page.run("state.held && state.held.i") == block, "a click holds it")
    ok(page.run("count(state.film.history.blocks.requested[%d])" % block) in page.run("document.getElementById('held').textContent"), "what is held is described")
    key(page, "Escape")


def test_causes(page):
    """Why memory is free: at the peak of what is reserved, as a sum, and where the pointer is."""
    page.run("document.getElementById('jump-reserved').click(), 1")
    page.frame()
    ok(page.run("""(() => { const rows = state.film.history.idle, [from, to] = rowsAt(rows, state.moment), s = state.alive;
      return s.segments.length === 0 || state.film.history.segments.left_out > 0 || d3.sum(d3.range(from, to), i => rows.size[i]) === s.reserved - s.live; })()"""), "what is idle has its causes")
    gap = page.run("""(() => { const g = state.film.history.gaps, [from, to] = rowsAt(g, state.moment), b = state.film.history.blocks;
      const i = d3.greatest(d3.range(from, to), i => g.size[i]), chart = charts.find(c => c.canvas.getAttribute('aria-label') === 'Segments at this moment');
      if (i === undefined) return null;
      const { rows, x } = segmentRows(chart.box), row = rows.findIndex(s => s.start <= g.address[i] && g.address[i] < s.end);
      return row < 0 ? null : [DATA.causes[g.cause[i]].text, bytes(g.size[i]) + " free", x(g.address[i] + g.size[i] / 2 - rows[row].start), chart.box.y0 + (row + .5) * ROW]; })()""")
    if not gap:
        return
    left, top, _, _ = place(page, "canvas[aria-label='Segments at this moment']")
    page.mouse("mouseMoved", left + gap[2], top + gap[3])
    page.frame()
    tip = page.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    ok(gap[0] in tip and gap[1] in tip, "hover says why memory is free", [gap, tip])


def test_step_names(page):
    """Names of steps and phases in a chart never lie on each other, however long they are."""
    ok(page.run("""(() => { const n = 60, text = 'forward of the layer with a name that is long ', names = [];
      const film = { history: { marks: { n, seq: d3.range(n).map(i => i * i), text: d3.range(n).map(i => i + 1), number: [] }, texts: d3.range(n + 1).map(i => text.repeat(i % 3 + 1) + i) } };
      const context = document.createElement('canvas').getContext('2d'), domain = state.domain;
      context.font = '12px system-ui, sans-serif';
      context.fillText = (text, x) => names.push([x, x + context.measureText(text).width]);
      state.domain = [0, n * n];
      drawSteps(context, { x0: 78, x1: 1134, y0: 18, y1: 226 }, { of: d3.scaleLinear([0, n * n], [78, 1134]) }, film);
      state.domain = domain;
      return names.length > 3 && names.every((name, i) => name[1] <= 1134 && (i === 0 || name[0] >= names[i - 1][1])); })()"""), "names of steps do not overlap")


def test_other_runs(page):
    if page.run("!document.getElementById('beside')"):
        return
    page.run("(s => { s.value = 1; s.dispatchEvent(new Event('change')); })(document.getElementById('beside')), 1")
    page.frame()
    ok(page.run("state.beside && document.getElementById('main').textContent.includes(resultOf(state.beside).label)"), "another run stands beside it")
    first = page.run("state.film.row")
    page.run("(s => { s.value = 1; s.dispatchEvent(new Event('change')); })(document.getElementById('film')), 1")
    page.frame()
    ok(page.run("state.film.row") != first, "another run can be looked at")
    page.run("document.querySelector('#rows thead button').click(), 1")
    values = page.run("Array.from(document.querySelectorAll('#rows tbody tr'), r => DATA.report.results[r.dataset.row]).filter(r => !isFailed(r)).map(r => r.measures.peak_reserved)")
    ok(values == sorted(values), "a title sorts", values)


def main():
    pictures = sys.argv[3] if len(sys.argv) > 3 else None
    for dark in (False, True) if pictures else (False,):
        page = browser.Browser(dark=dark)
        try:
            page.open(sys.argv[1])
            if pictures:
                page.picture(os.path.join(pictures, "dark.png" if dark else "light.png"), whole=True)
            ok(page.run("document.getElementById('main').textContent.length") > 20, "the page says something")
            ok(page.run("document.documentElement.scrollWidth <= 1280"), "nothing is wider than 1280 pixels")
            if len(sys.argv) > 2 and sys.argv[2] and not dark:
                test_numbers(page, sys.argv[2])
            test_answer(page)
            test_print(page)
            test_narrow(page)
            if page.run("!!state.film && state.film.timeline.n > 1"):
                test_films(page)
                test_use(page)
                test_other_runs(page)
            ok(not page.run("window.ran"), "no text of the recording was run")
            ok(page.errors() == [], "no error, and nothing was asked of a network", page.errors())
        finally:
            page.close()
    print("1..%d" % count)


main()
