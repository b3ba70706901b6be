/* chart.js - a canvas with axes.  All charts over time have the same margins, so that one zoom fits them all.
 *
 * Drag moves, + and - or Ctrl and the wheel zoom, 0 shows all; a click is for the view. */
const MARGIN = { left: 78, right: 16, top: 18, bottom: 34 };
const charts = [];

function paintStale () {
  charts.filter (chart => chart.stale).forEach (paint);
}

/* A canvas of `height` pixels below `parent`; draw(context, box) is called for each change. */
function makeChart (parent, height, label, draw) {
  const canvas = make ("canvas", { tabindex: 0, role: "img", "aria-label": label });
  const chart = { canvas, height, draw };
  canvas.style.height = height + "px";
  parent.append (canvas);
  charts.push (chart);
  views.push (() => paint (chart));
  return chart;
}

/* A chart that is far from the window is drawn when it comes near. */
function isFar (chart) {
  const box = chart.canvas.getBoundingClientRect ();
  return !state.whole && (box.bottom < -300 || box.top > innerHeight + 300);
}

function paint (chart) {
  const width = chart.canvas.clientWidth, ratio = window.devicePixelRatio || 1;
  chart.stale = width > 0 && isFar (chart);
  if (width === 0 || chart.stale)
    return;
  const context = chart.canvas.getContext ("2d");
  if (chart.canvas.width !== Math.round (width * ratio) || chart.canvas.height !== Math.round (chart.height * ratio)) {
    chart.canvas.width = Math.round (width * ratio);
    chart.canvas.height = Math.round (chart.height * ratio);
  }
  context.setTransform (ratio, 0, 0, ratio, 0, 0);
  context.clearRect (0, 0, width, chart.height);
  context.font = "12px system-ui, sans-serif";
  chart.box = { x0: MARGIN.left, x1: width - MARGIN.right, y0: MARGIN.top, y1: chart.height - MARGIN.bottom };
  chart.draw (context, chart.box);
}

/* Powers of two, at most `most` from 0 to `top`. */
function byteTicks (top, most) {
  let step = 1;
  while (top / step > most)
    step *= 2;
  return d3.range (0, top + 1, step);
}

function drawAxisY (context, box, y, ticks, format, title) {
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const tick of ticks) {
    const at = Math.round (y (tick)) + .5;
    context.strokeStyle = colourOf ("line");
    context.beginPath ();
    context.moveTo (box.x0, at);
    context.lineTo (box.x1, at);
    context.stroke ();
    context.fillStyle = colourOf ("soft");
    context.fillText (brief (format (tick)), box.x0 - 8, at);
  }
  if (!title)
    return;
  context.save ();
  context.translate (10, (box.y0 + box.y1) / 2);
  context.rotate (-Math.PI / 2);
  context.textAlign = "center";
  context.fillText (title, 0, 0);
  context.restore ();
}

function drawAxisX (context, box, x, ticks, format, title) {
  context.textAlign = "center";
  context.textBaseline = "top";
  context.strokeStyle = context.fillStyle = colourOf ("soft");
  context.lineWidth = 1;
  context.beginPath ();
  context.moveTo (box.x0, box.y1 + .5);
  context.lineTo (box.x1, box.y1 + .5);
  for (const tick of ticks) {
    const at = Math.round (x (tick)) + .5;
    if (at < box.x0 - 1 || at > box.x1 + 1)
      continue;
    context.moveTo (at, box.y1);
    context.lineTo (at, box.y1 + 4);
    context.fillText (brief (format (tick)), Math.min (at, box.x1 - 14), box.y1 + 6);
  }
  context.stroke ();
  context.textAlign = "right";
  context.fillText (title, box.x1, box.y1 + 20);
}

/* ---- charts over time */

/* The time of an event, as far as the timeline tells; and the event of a time. */
function timeOf (event) {
  const line = state.film.timeline, i = Math.min (d3.bisectLeft (line.seq, event), line.n - 1);
  if (i <= 0 || line.seq[i] <= event)
    return line.time[Math.max (i, 0)] || 0;
  const share = (event - line.seq[i - 1]) / (line.seq[i] - line.seq[i - 1]);
  return line.time[i - 1] + share * (line.time[i] - line.time[i - 1]);
}

function eventOf (time) {
  const line = state.film.timeline, i = Math.min (d3.bisectLeft (line.time, time), line.n - 1);
  if (i <= 0 || line.time[i] <= line.time[i - 1])
    return line.seq[Math.max (i, 0)] || 0;
  return line.seq[i - 1] + (line.seq[i] - line.seq[i - 1]) * (time - line.time[i - 1]) / (line.time[i] - line.time[i - 1]);
}

/* The scale of the seen part: from an event to a place, events or time apart; x.invert(place) is the event. */
function scaleX (box) {
  const [from, to] = state.domain;
  if (!state.byTime) {
    const scale = d3.scaleLinear ().domain ([from, to]).range ([box.x0, box.x1]);
    return { of: scale, invert: scale.invert, ticks: scale.ticks (8), at: scale, format: count, title: "event" };
  }
  const scale = d3.scaleLinear ().domain ([timeOf (from), timeOf (to)]).range ([box.x0, box.x1]);
  return { of: event => scale (timeOf (event)), invert: place => eventOf (scale.invert (place)), ticks: scale.ticks (8),
           at: scale, format: duration, title: "time of the recording" };
}

function drawTime (context, box, x) {
  drawAxisX (context, box, x.at, x.ticks, x.format, x.title);
}

/* As much of a text as fits `room`; "": too little. */
function fitted (context, text, room) {
  if (context.measureText (text).width <= room)
    return text;
  let n = text.length;
  while (n > 0 && context.measureText (text.slice (0, n) + "\u2026").width > room)
    n = Math.min (n - 1, Math.floor (n * .9));
  return n > 2 ? text.slice (0, n) + "\u2026" : "";
}

/* Where steps and phases begin, as far as there is room; named where there is more of it. */
function drawSteps (context, box, x, film) {
  const marks = film.history ? film.history.marks : { n: 0 };
  let last = -1e9, free = -1e9;
  context.save ();
  context.strokeStyle = context.fillStyle = colourOf ("soft");
  context.setLineDash ([1, 4]);
  context.textAlign = "left";
  context.textBaseline = "top";
  for (let i = d3.bisectLeft (marks.seq || [], state.domain[0]); i < marks.n && marks.seq[i] <= state.domain[1]; i++) {
    const at = x.of (marks.seq[i]), name = marks.text[i] ? film.history.texts[marks.text[i]] : "step " + count (marks.number[i]);
    if (at - last < 12)
      continue;
    context.beginPath ();
    context.moveTo (at, box.y0);
    context.lineTo (at, box.y1);
    context.stroke ();
    if (at >= free) {
      const cut = fitted (context, shown (name), Math.min (box.x1 - at, 180) - 6);
      context.fillText (cut, at + 3, 2);
      free = cut ? at + context.measureText (cut).width + 12 : free;
    }
    last = at;
  }
  context.restore ();
}

/* A line at the moment, and marks where requests failed. */
function drawMarks (context, box, x, film) {
  context.save ();
  context.beginPath ();
  context.rect (box.x0, 0, box.x1 - box.x0, box.y1 + 1);
  context.clip ();
  context.fillStyle = context.strokeStyle = colourOf ("alarm");
  for (const failure of failuresOf (film)) {
    const at = x.of (failure.seq);
    context.beginPath ();
    context.moveTo (at, box.y0 + 8);
    context.lineTo (at - 5, box.y0 - 1);
    context.lineTo (at + 5, box.y0 - 1);
    context.fill ();
    context.setLineDash ([2, 3]);
    context.beginPath ();
    context.moveTo (at, box.y0);
    context.lineTo (at, box.y1);
    context.stroke ();
  }
  context.setLineDash ([]);
  context.strokeStyle = colourOf ("ink");
  context.beginPath ();
  context.moveTo (x.of (state.moment), box.y0);
  context.lineTo (x.of (state.moment), box.y1);
  context.stroke ();
  context.restore ();
}

/* Clips what follows to the box; ended by context.restore(). */
function clip (context, box) {
  context.save ();
  context.beginPath ();
  context.rect (box.x0, box.y0 - 1, box.x1 - box.x0, box.y1 - box.y0 + 1);
  context.clip ();
}

function endOfFilm () {
  const film = state.film;
  return film.history ? film.history.end : Math.max (1, film.timeline.n > 0 ? film.timeline.seq[film.timeline.n - 1] + 1 : 1);
}

function setDomain (from, to) {
  const end = endOfFilm (), width = Math.min (end, Math.max (to - from, Math.min (4, end)));
  const start = Math.min (Math.max (from, 0), end - width);
  set ({ domain: [start, start + width] });
}

/* Zooms by `factor` around the event `around`. */
function zoomBy (factor, around) {
  const [from, to] = state.domain, middle = around === undefined ? (from + to) / 2 : around;
  setDomain (middle - (middle - from) / factor, middle + (to - middle) / factor);
}

function panBy (share) {
  const [from, to] = state.domain;
  setDomain (from + share * (to - from), to + share * (to - from));
}

/* Lets a chart over time be moved and zoomed; onclick(event, x, y) where it was no move. */
function letZoom (chart, onclick, onhover) {
  const canvas = chart.canvas;
  let last = null, moved = false;
  const place = e => {
    const rect = canvas.getBoundingClientRect ();
    return [e.clientX - rect.left, e.clientY - rect.top];
  };
  canvas.addEventListener ("wheel", e => {
    if (!e.ctrlKey && !e.metaKey && !e.shiftKey)
      return;
    e.preventDefault ();
    const step = Math.exp (-(e.deltaY || e.deltaX) * .002);
    if (e.shiftKey && chart.zoomAddresses)
      chart.zoomAddresses (step, place (e)[1]);
    else
      zoomBy (step, scaleX (chart.box).invert (place (e)[0]));
  }, { passive: false });
  canvas.addEventListener ("pointerdown", e => {
    last = place (e);
    moved = false;
    canvas.setPointerCapture (e.pointerId);
  });
  canvas.addEventListener ("pointermove", e => {
    const now = place (e);
    if (last && (moved || Math.abs (now[0] - last[0]) > 3)) {
      moved = true;
      panBy ((last[0] - now[0]) / (chart.box.x1 - chart.box.x0));
      last = now;
      hideTip ();
    } else if (!last && onhover)
      onhover (Math.floor (scaleX (chart.box).invert (now[0])), now[0], now[1], e);
  });
  canvas.addEventListener ("pointerup", e => {
    if (last && !moved)
      onclick (Math.floor (scaleX (chart.box).invert (last[0])), last[0], last[1]);
    last = null;
  });
  canvas.addEventListener ("pointerleave", hideTip);
  canvas.addEventListener ("keydown", e => {
    const act = { "+": () => zoomBy (2, state.moment), "=": () => zoomBy (2, state.moment), "-": () => zoomBy (.5, state.moment),
                  "0": showAll, ArrowLeft: () => panBy (-.1), ArrowRight: () => panBy (.1),
                  ",": () => setMoment (state.moment - 1), ".": () => setMoment (state.moment + 1), Escape: () => set ({ held: null }) }[e.key];
    if (!act || e.ctrlKey || e.metaKey)
      return;
    e.preventDefault ();
    act ();
  });
}

function showAll () {
  set ({ domain: [0, endOfFilm ()], addresses: null });
}

function setMoment (event) {
  set ({ moment: Math.min (Math.max (0, Math.round (event)), Math.max (0, endOfFilm () - 1)) });
}

/* ---- the tip */

function showTip (e, ...content) {
  const tip = document.getElementById ("tip");
  tip.replaceChildren (...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect ();
  tip.style.left = Math.max (4, Math.min (e.clientX + 16, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max (4, e.clientY + 16 + box.height > innerHeight ? e.clientY - box.height - 12 : e.clientY + 16) + "px";
}

function hideTip () {
  document.getElementById ("tip").hidden = true;
}
