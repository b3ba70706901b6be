/* timeline.js - memory over events or time: reserved, allocated and live of the run that is looked at and of
 * the one beside it; and live memory by the line that holds it. */
function legend (...entries) {
  return make ("div.legend", null, entries.filter (e => e).map (([colour, text, kind]) =>
    make ("span", null, make ("i" + (kind ? "." + kind : ""), { style: kind ? "border-color:" + colour : "background:" + colour }), text)));
}

/* The runs in the charts, each with the style of its lines. */
function shownFilms () {
  return [state.film, state.beside].filter (film => film).map ((film, i) => ({ film, dash: i > 0 ? [6, 4] : [] }));
}

function viewTimeline (parent) {
  const key = make ("div");
  parent.append (make ("h2", { id: "timeline" }, "Memory over time"), timeBar (), key);
  views.push (() => key.replaceChildren (legend (["#d55e00", "reserved"], ["#e69f00", "allocated (rounded blocks)"], ["#0072b2", "live (as requested)"],
    state.beside && [colourOf ("soft"), "dashed: " + resultOf (state.beside).label, "dash"])));
  const chart = makeChart (parent, 260, "Reserved, allocated and live memory over time", drawTimeline);
  letZoom (chart, setMoment, hoverTimeline);
  parent.append (make ("p.soft.small", null, "Drag moves; Ctrl and wheel, or + and -, zoom; 0 shows all; a click opens that moment below. "
    + "A point of the line is the largest value of the events that it stands for."));
  if (state.film.history && state.film.lines.length > 0)
    viewSeries (parent);
}

function timeBar () {
  const time = make ("button", { "aria-pressed": "false", onclick: () => {
    set ({ byTime: !state.byTime });
    time.setAttribute ("aria-pressed", state.byTime);
  } }, "By time");
  return make ("div.bar", null,
    make ("button", { onclick: () => zoomBy (2), "aria-label": "Zoom in" }, "+"), make ("button", { onclick: () => zoomBy (.5), "aria-label": "Zoom out" }, "\u2212"),
    make ("button", { onclick: () => panBy (-.5) }, "\u2190"), make ("button", { onclick: () => panBy (.5) }, "\u2192"),
    make ("button", { onclick: showAll, id: "all" }, "All"), DATA.answers[state.film.answer].has_time && time);
}

/* The most that is to be seen: of the runs, and of the device where it is near. */
function topOf (films) {
  const most = d3.max (films, f => d3.max (f.film.timeline.reserved_max)) || 1;
  const capacity = Number (resultOf (films[0].film).values.capacity);
  return { most: capacity < 1.6 * most && capacity >= most ? capacity * 1.1 : most * 1.05, capacity };
}

function drawTimeline (context, box) {
  const films = shownFilms (), top = topOf (films), x = scaleX (box);
  const y = d3.scaleLinear ().domain ([0, top.most]).range ([box.y1, box.y0]);
  drawAxisY (context, box, y, byteTicks (top.most, 6), bytes);
  drawTime (context, box, x);
  clip (context, box);
  for (const { film, dash } of films)
    for (const [name, colour] of [["reserved_max", "#d55e00"], ["allocated_max", "#e69f00"], ["live_max", "#0072b2"]])
      drawCurve (context, film.timeline, name, x, y, colour, dash, box);
  if (top.capacity < top.most) {
    context.strokeStyle = context.fillStyle = colourOf ("alarm");
    context.lineWidth = 1;
    context.strokeRect (box.x0 - 2, y (top.capacity), box.x1 - box.x0 + 4, 0);
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.fillText ("device: " + bytes (top.capacity), box.x0 + 6, y (top.capacity) - 2);
  }
  context.restore ();
  drawSteps (context, box, x, state.film);
  drawMarks (context, box, x, state.film);
}

/* A point holds from the end of the one before it. */
function drawCurve (context, line, name, x, y, colour, dash, box) {
  const from = Math.max (0, d3.bisectLeft (line.seq, state.domain[0]) - 1);
  context.beginPath ();
  context.moveTo (x.of (from > 0 ? line.seq[from - 1] : 0), y (line[name][from] || 0));
  for (let i = from; i < line.n; i++) {
    const before = i > 0 ? line.seq[i - 1] : 0;
    context.lineTo (x.of (before), y (line[name][i]));
    context.lineTo (x.of (line.seq[i]), y (line[name][i]));
    if (x.of (line.seq[i]) > box.x1)
      break;
  }
  context.setLineDash (dash);
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.stroke ();
  context.setLineDash ([]);
}

function hoverTimeline (event, px, py, e) {
  const line = state.film.timeline, i = Math.min (d3.bisectLeft (line.seq, event), line.n - 1);
  if (i < 0 || px < MARGIN.left)
    return hideTip ();
  showTip (e, make ("b", null, "up to event " + count (line.seq[i])), ...shownFilms ().map (({ film }) => {
    const at = Math.min (d3.bisectLeft (film.timeline.seq, event), film.timeline.n - 1);
    return make ("div.number", null, (state.beside ? resultOf (film).label + ": " : "") + "reserved " + bytes (film.timeline.reserved_max[at])
      + ", allocated " + bytes (film.timeline.allocated_max[at]) + ", live " + bytes (film.timeline.live_max[at]));
  }));
}

/* ---- by line */

function viewSeries (parent) {
  const key = make ("div"), what = DATA.stacks[state.film.answer].n > 1 ? "line of the program" : "category";
  parent.append (make ("h3", null, "Live memory by " + what + ": those that hold most at the peak"));
  const chart = makeChart (parent, 240, "Live memory by " + what, drawSeries);
  parent.append (key);
  views.push (() => key.replaceChildren (linesLegend ()));
  letZoom (chart, setMoment, hoverSeries);
}

function linesLegend () {
  return legend (...(state.film.lines || []).map ((line, i) => [PALETTE[i], line]), [colourOf ("other"), "all others"]);
}

function partsOf (history) {
  return history.series[0].length;
}

function drawSeries (context, box) {
  const history = state.film.history, n = partsOf (history), x = scaleX (box);
  const total = new Float64Array (n);
  history.series.forEach (series => series.forEach ((value, i) => { total[i] += value; }));
  const most = (d3.max (total) || 1) * 1.05, y = d3.scaleLinear ().domain ([0, most]).range ([box.y1, box.y0]);
  drawAxisY (context, box, y, byteTicks (most, 5), bytes);
  drawTime (context, box, x);
  clip (context, box);
  const base = new Float64Array (n), at = i => x.of (Math.min (i * history.stride, history.end));
  for (let s = history.series.length - 1; s >= 0; s--) { /* the rest lies below */
    const series = history.series[s];
    context.beginPath ();
    for (let i = 0; i < n; i++) {
      context.lineTo (at (i), y (base[i] + series[i]));
      context.lineTo (at (i + 1), y (base[i] + series[i]));
    }
    for (let i = n - 1; i >= 0; i--) {
      context.lineTo (at (i + 1), y (base[i]));
      context.lineTo (at (i), y (base[i]));
      base[i] += series[i];
    }
    context.fillStyle = s < state.film.lines.length ? PALETTE[s] : colourOf ("other");
    context.fill ();
  }
  context.restore ();
  drawMarks (context, box, x, state.film);
}

function hoverSeries (event, px, py, e) {
  const history = state.film.history, part = Math.min (Math.max (0, Math.floor (event / history.stride)), partsOf (history) - 1);
  const rows = history.series.map ((series, s) => [series[part], state.film.lines[s] || "all others"]).filter (row => row[0] > 0);
  rows.sort ((a, b) => b[0] - a[0]);
  showTip (e, make ("b", null, "after event " + count (Math.min ((part + 1) * history.stride, history.end) - 1)),
    ...rows.map (row => make ("div.number", null, bytes (row[0]) + "  " + row[1])));
}
