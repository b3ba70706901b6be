/* more.js - lifetimes against sizes, what the device was asked for over time, and latencies.  Modelled and
 * measured latencies are never in one curve. */
function viewMore (parent) {
  const left = make ("div"), right = make ("div");
  parent.append (make ("h2", { id: "more" }, "Lifetimes, device calls, latencies"), make ("div.two", null, left, right));
  left.append (make ("h3", null, "Blocks: size and lifetime"));
  makeChart (left, 260, "Size and lifetime of blocks", drawLifetimes);
  right.append (make ("h3", null, "Latency of an allocation, share of requests (modelled)"));
  makeChart (right, 260, "Distribution of modelled latencies", (context, box) => drawLatencies (context, box, "alloc_ns"));
  if (shownFilms ().some (({ film }) => resultOf (film).measured_alloc_ns.count > 0)) {
    right.append (make ("h3", null, "The same by the host clock (measured)"));
    makeChart (right, 260, "Distribution of measured latencies", (context, box) => drawLatencies (context, box, "measured_alloc_ns"));
  }
  parent.append (make ("h3", null, "Memory obtained from the device (up) and freed (down)"));
  letZoom (makeChart (parent, 180, "Memory obtained and freed", drawCalls), setMoment);
  const table = make ("div");
  parent.append (table);
  views.push (() => table.replaceChildren (callsTable ()));
}

function drawLifetimes (context, box) {
  const film = state.film, blocks = film.history.blocks, other = colourOf ("other");
  const x = d3.scaleLog ().domain ([1, film.history.end + 1]).range ([box.x0, box.x1]);
  const y = d3.scaleLog ().domain ([256, Math.max (1024, d3.max (blocks.size) || 0)]).range ([box.y1, box.y0]).clamp (true);
  const powers = d3.range (0, 16).map (i => 10 ** i).filter (t => t <= film.history.end + 1);
  drawAxisY (context, box, y, d3.range (8, 60, 4).map (i => 2 ** i).filter (t => t <= y.domain ()[1]), bytes);
  drawAxisX (context, box, x, powers, count, "lifetime, events");
  context.globalAlpha = .45;
  for (let i = 0; i < blocks.n; i++) {
    context.fillStyle = colourOfBlock (film, i) || other;
    context.fillRect (x (Math.max (1, blocks.end[i] - blocks.begin[i])) - 1.5, y (Math.max (256, blocks.size[i])) - 1.5, 3, 3);
  }
  context.globalAlpha = 1;
}

function drawLatencies (context, box, name) {
  const curves = shownFilms ().map (({ film, dash }) => ({ dash, histogram: resultOf (film)[name] })).filter (c => c.histogram.count > 0);
  const most = d3.max (curves, c => d3.max (c.histogram.buckets, b => Number (b[0]))) || 1, least = d3.min (curves, c => Math.max (1, Number (c.histogram.min))) || 1;
  const x = d3.scaleLog ().domain ([Math.max (1, least / 2), Math.max (most, least * 10)]).range ([box.x0, box.x1]);
  const y = d3.scaleLinear ().domain ([0, 1]).range ([box.y1, box.y0]);
  drawAxisY (context, box, y, [0, .25, .5, .75, 1], t => Math.round (t * 100) + " %");
  drawAxisX (context, box, x, d3.range (0, 13).map (i => 10 ** i).filter (t => t >= x.domain ()[0] && t <= x.domain ()[1]), duration, "latency");
  clip (context, box);
  for (const { histogram, dash } of curves) {
    let sum = 0;
    context.beginPath ();
    context.moveTo (box.x0, box.y1);
    for (const [end, n] of histogram.buckets) {
      context.lineTo (x (Math.max (1, Number (end))), y (sum / histogram.count));
      sum += n;
      context.lineTo (x (Math.max (1, Number (end))), y (sum / histogram.count));
    }
    context.lineTo (box.x1, y (1));
    context.setLineDash (dash);
    context.strokeStyle = "#0072b2";
    context.lineWidth = 1.6;
    context.stroke ();
    context.setLineDash ([]);
  }
  context.restore ();
}

/* Bytes of segments that come and go, in as many parts as there is room for. */
function drawCalls (context, box) {
  const segments = state.film.history.segments, parts = 160, [from, to] = state.domain, x = scaleX (box);
  const up = new Float64Array (parts), down = new Float64Array (parts), end = state.film.history.end;
  const part = event => Math.floor ((event - from) / (to - from) * parts);
  for (let i = 0; i < segments.n; i++) {
    if (part (segments.begin[i]) >= 0 && part (segments.begin[i]) < parts)
      up[part (segments.begin[i])] += segments.size[i];
    if (segments.end[i] < end && part (segments.end[i]) >= 0 && part (segments.end[i]) < parts)
      down[part (segments.end[i])] += segments.size[i];
  }
  const most = Math.max (1, d3.max (up)), least = d3.max (down);
  const y = d3.scaleLinear ().domain ([-least * 1.1, most * 1.1]).range ([box.y1, box.y0]);
  drawAxisY (context, box, y, byteTicks (most, 3).concat (byteTicks (least, 3).slice (1).map (t => -t)), bytes);
  drawTime (context, box, x);
  clip (context, box);
  for (let i = 0; i < parts; i++) {
    const left = x.of (from + i * (to - from) / parts), width = Math.max (1, x.of (from + (i + 1) * (to - from) / parts) - left - 1);
    context.fillStyle = "#009e73";
    context.fillRect (left, y (up[i]), width, y (0) - y (up[i]));
    context.fillStyle = "#cc79a7";
    context.fillRect (left, y (0), width, y (-down[i]) - y (0));
  }
  context.restore ();
  drawMarks (context, box, x, state.film);
}

function callsTable () {
  const films = shownFilms ().map (f => f.film);
  const kinds = Object.keys (resultOf (films[0]).calls).filter (kind => films.some (film => resultOf (film).calls[kind].count > 0));
  return make ("div.scroll", null, make ("table", { id: "calls" }, make ("thead", null, make ("tr", null, make ("th", null, "device calls"),
    films.map (film => [make ("th", null, resultOf (film).label), make ("th", null, "modelled")]))),
    make ("tbody", null, kinds.map (kind => make ("tr", null, make ("td", null, kind), films.map (film => {
      const call = resultOf (film).calls[kind];
      return [make ("td", null, count (call.count) + (call.refused > 0 ? ", " + count (call.refused) + " refused" : "")), make ("td", null, duration (call.modelled_ns))];
    }).flat ())))));
}
