/* moment.js - one moment of the run: what is held, the segments, who holds what by stack; for a request that
 * failed, what stood in its way.
 *
 * Sums are those of the blocks that the page has; where some were left out it says so, but for the moments that
 * were kept whole: both peaks, and the failures. */
const ROW = 16; /* pixels of a segment */

function viewMoment (parent) {
  const slider = make ("input", { type: "range", min: 0, max: endOfFilm () - 1, step: 1, "aria-label": "Event", id: "slider",
    oninput: e => setMoment (Number (e.target.value)) });
  const facts = make ("div", { id: "moment-facts" }), failure = make ("div"), idle = make ("div", { id: "idle" }), holders = make ("div", { id: "holders" }), flame = make ("div", { id: "flame" });
  parent.append (make ("h2", { id: "moment" }, "One moment"), make ("div.bar", null,
    make ("button", { onclick: () => setMoment (state.moment - 1), "aria-label": "Event before" }, "\u2190"), slider,
    make ("button", { onclick: () => setMoment (state.moment + 1), "aria-label": "Next event" }, "\u2192")), jumps (), facts, failure);
  const chart = makeChart (parent, 20, "Segments at this moment", (context, box) => drawSegments (context, box));
  chart.canvas.addEventListener ("pointermove", e => hoverSegments (chart, e));
  chart.canvas.addEventListener ("pointerleave", hideTip);
  chart.canvas.addEventListener ("click", e => { const i = segmentHit (chart, e); set ({ held: i >= 0 ? { film: state.film, i } : null }); });
  parent.append (idle);
  parent.append (make ("h3", null, "Live bytes by stack, outermost above; a click opens a part"), flame, make ("h3", null, "By line"), holders);
  let last = null;
  views.unshift (() => {
    const alive = aliveAt (state.film, state.moment);
    state.alive = alive;
    slider.max = endOfFilm () - 1;
    slider.value = state.moment;
    facts.replaceChildren (momentFacts (alive));
    failure.replaceChildren (...failureAt (state.moment));
    chart.height = 56 + Math.min (40, alive.segments.length) * ROW;
    chart.canvas.style.height = chart.height + "px";
    if (last !== state.film.row + ":" + state.moment) {
      idle.replaceChildren (idleAt (state.film, state.moment));
      holders.replaceChildren (holdersAt (alive));
      flame.replaceChildren (flameOf (alive, 0));
    }
    last = state.film.row + ":" + state.moment;
  });
}

function jumps () {
  const values = resultOf (state.film).values, first = failuresOf (state.film).slice (0, 8), more = Number (values.ooms) - first.length;
  return make ("div.bar", null, make ("button", { onclick: () => setMoment (Number (values.peak_live_seq)), id: "jump-live" }, "Live peak"),
    make ("button", { onclick: () => setMoment (Number (values.peak_reserved_seq)), id: "jump-reserved" }, "Reserved peak"),
    first.map ((oom, i) => make ("button", { onclick: () => setMoment (Number (oom.seq)) }, "Failure " + (i + 1))),
    more > 0 && make ("span.soft.small", { id: "more-failures" }, "and " + count (more) + " more"));
}

/* The blocks and segments that are there after an event. */
function aliveAt (film, event) {
  const pick = rectangles => {
    const list = [];
    for (let i = 0; i < rectangles.n && rectangles.begin[i] <= event; i++)
      if (event < rectangles.end[i])
        list.push (i);
    return list.sort ((a, b) => rectangles.address[a] - rectangles.address[b]);
  };
  const history = film.history, segments = joined (film, pick (history.segments)), blocks = pick (history.blocks);
  const sum = (list, column) => list.reduce ((total, i) => total + column[i], 0);
  return { film, blocks, segments, live: sum (blocks, history.blocks.requested), allocated: sum (blocks, history.blocks.size),
           reserved: segments.reduce ((total, s) => total + s.end - s.start, 0), whole: isWhole (film, event) };
}

/* Segments in the order of addresses; what was mapped side by side is one. */
function joined (film, list) {
  const segments = film.history.segments, maps = resultOf (film).calls.map.count > 0, out = [];
  for (const i of list) {
    const last = out[out.length - 1], start = segments.address[i], end = start + segments.size[i];
    if (maps && last && last.end === start)
      last.end = end;
    else
      out.push ({ start, end });
  }
  return out;
}

function isWhole (film, event) {
  const values = resultOf (film).values;
  return (film.history.blocks.left_out === 0 && film.history.segments.left_out === 0) || !film.history.crowded && (event === Number (values.peak_live_seq) || event === Number (values.peak_reserved_seq)
    || failuresOf (film).some (oom => Number (oom.seq) === event));
}

/* The largest piece of a segment in which no block lies. */
function largestGap (alive) {
  const blocks = alive.film.history.blocks;
  let most = 0, b = 0;
  for (const segment of alive.segments) {
    let from = segment.start;
    for (; b < alive.blocks.length && blocks.address[alive.blocks[b]] < segment.end; b++) {
      most = Math.max (most, blocks.address[alive.blocks[b]] - from);
      from = Math.max (from, blocks.address[alive.blocks[b]] + blocks.size[alive.blocks[b]]);
    }
    most = Math.max (most, segment.end - from);
  }
  return most;
}

function momentFacts (alive) {
  const least = alive.whole ? "" : "at least ";
  return make ("div", null, make ("div.facts", null,
    fact ("moment-event", count (state.moment), "after this event"), fact ("moment-live", least + bytes (alive.live), "live in " + count (alive.blocks.length) + " blocks"),
    fact ("moment-allocated", least + bytes (alive.allocated), "allocated"), fact ("moment-reserved", (alive.film.history.segments.left_out > 0 ? least : "") + bytes (alive.reserved), "held in " + count (alive.segments.length) + " segments"),
    alive.whole && fact ("moment-gap", bytes (largestGap (alive)), "largest piece without a block")),
    !alive.whole && make ("p.doubt.small", null, "Small and short blocks of this moment are not in the page"
      + (alive.film.history.crowded ? "." : "; both peaks and the failures are whole.")));
}

/* What the moment alone says is no promise where the whole run needs more than there is. */
function reasonOf (oom, values) {
  if (!oom.avoidable)
    return Number (oom.missing) > 0 ? bytes (oom.missing) + " are missing whatever the layout." : "";
  if (Number (values.lower_bound) > Number (values.capacity))
    return "Another layout could have served this one, but not all that the run asks for: " + bytes (values.lower_bound) + " are in use at once.";
  if (Number (oom.device_free) >= Number (oom.requested))
    return "The device had enough free: a limit of the allocator refused it, or it takes more at a time.";
  if (oom.waiting)
    return "What is freed and waits for its streams would do.";
  return "Another layout could have served it at this moment.";
}

function failureAt (event) {
  return failuresOf (state.film).filter (oom => Number (oom.seq) === event).map (oom => make ("div.held", null,
    make ("b.alarm", null, bytes (oom.requested) + " were refused here. "),
    "In use " + bytes (oom.live) + ", held " + bytes (oom.reserved) + ", free on the device " + bytes (oom.device_free) + ", largest free block in the cache " + bytes (oom.largest_free) + ". "
      + reasonOf (oom, resultOf (state.film).values),
    oom.origin && oom.origin.by && make ("div", null, "Asked for by " + oom.origin.by),
    Number (oom.blocking_size) > 0 && make ("div", null, "The smallest block whose release would suffice: " + bytes (oom.blocking_size)
      + (oom.blocking_origin && oom.blocking_origin.by ? " of " + oom.blocking_origin.by : ""))));
}

/* What lies idle after an event, by cause. */
function idleAt (film, event) {
  const rows = film.history.idle, [from, to] = rowsAt (rows, event);
  if (from === to)
    return make ("p.soft.small", null, rows.n > 0 ? "Why memory is free is known at both peaks and at the failures." : "Nothing lies idle at the peaks.");
  const order = d3.range (from, to).sort ((a, b) => rows.size[b] - rows.size[a]);
  return make ("div", null, make ("h3", null, bytes (d3.sum (order, i => rows.size[i])) + " idle, by cause"),
    make ("div.scroll", null, make ("table", null, make ("tbody", null, order.map (i => make ("tr", null, make ("td", null, DATA.causes[rows.cause[i]].text), make ("td", null, bytes (rows.size[i]))))))));
}

/* ---- the segments, a row each */

function segmentRows (box) {
  const largest = state.alive.segments.slice ().sort ((a, b) => b.end - b.start - (a.end - a.start)).slice (0, 40);
  const widest = largest.length > 0 ? largest[0].end - largest[0].start : 1;
  return { rows: largest.sort ((a, b) => a.start - b.start), x: d3.scaleLinear ().domain ([0, widest]).range ([box.x0, box.x1]) };
}

function drawSegments (context, box) {
  if (!state.alive)
    return;
  const { rows, x } = segmentRows (box), blocks = state.film.history.blocks, other = colourOf ("other");
  drawAxisX (context, box, x, byteTicks (x.domain ()[1], 8), bytes, rows.length < state.alive.segments.length
    ? "the 40 largest of " + count (state.alive.segments.length) + " segments" : "segments by address");
  rows.forEach ((segment, row) => {
    const y = box.y0 + row * ROW;
    context.fillStyle = colourOf ("free");
    context.fillRect (box.x0, y, x (segment.end - segment.start) - box.x0, ROW - 3);
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = colourOf ("soft");
    context.fillText (bytes (segment.end - segment.start), box.x0 - 8, y + ROW / 2 - 1);
    for (const i of state.alive.blocks) {
      if (blocks.address[i] < segment.start || blocks.address[i] >= segment.end)
        continue;
      const from = x (blocks.address[i] - segment.start), width = x (blocks.address[i] + blocks.size[i] - segment.start) - from;
      context.fillStyle = colourOfBlock (state.film, i) || other;
      context.fillRect (from, y, Math.max (.5, width > 3 ? width - .5 : width), ROW - 3);
      if (state.held && state.held.film === state.film && state.held.i === i) {
        context.strokeStyle = colourOf ("ink");
        context.lineWidth = 2;
        context.strokeRect (from, y, width, ROW - 3);
      }
    }
    drawCauses (context, x, y, segment);
  });
}

/* The cause of each free part of a segment's row that has room for it. */
function drawCauses (context, x, y, segment) {
  const gaps = state.film.history.gaps, [first, last] = rowsAt (gaps, state.moment);
  context.textAlign = "left";
  context.fillStyle = colourOf ("ink");
  for (let i = d3.bisectLeft (gaps.address, segment.start, first, last); i < last && gaps.address[i] < segment.end; i++) {
    const from = x (gaps.address[i] - segment.start), text = DATA.causes[gaps.cause[i]].text;
    if (x (gaps.address[i] + gaps.size[i] - segment.start) - from > context.measureText (text).width + 8)
      context.fillText (text, from + 4, y + ROW / 2 - 1);
  }
}

/* The address under the pointer; -1: no segment is there. */
function addressHit (chart, e) {
  const rect = chart.canvas.getBoundingClientRect (), { rows, x } = segmentRows (chart.box);
  const segment = rows[Math.floor ((e.clientY - rect.top - chart.box.y0) / ROW)];
  const at = segment ? segment.start + x.invert (e.clientX - rect.left) : -1;
  return segment && at >= segment.start && at < segment.end ? at : -1;
}

function segmentHit (chart, e) {
  const at = addressHit (chart, e), blocks = state.film.history.blocks;
  const hit = state.alive.blocks.find (i => blocks.address[i] <= at && at < blocks.address[i] + blocks.size[i]);
  return hit !== undefined ? hit : -1;
}

function hoverSegments (chart, e) {
  const i = segmentHit (chart, e), free = i < 0 ? freeAt (state.alive, addressHit (chart, e)) : null;
  if (i >= 0)
    showTip (e, ...describe (state.film, i, 8));
  else if (free)
    showTip (e, ...describeFree (state.film, state.moment, free));
  else
    hideTip ();
}

/* ---- who holds it */

function holdersAt (alive) {
  const blocks = alive.film.history.blocks, sums = new Map ();
  for (const i of alive.blocks) {
    const sum = sums.get (blocks.text[i]) || [0, 0];
    sums.set (blocks.text[i], [sum[0] + blocks.requested[i], sum[1] + 1]);
  }
  const rows = Array.from (sums, ([text, [size, n]]) => [text, size, n]).sort ((a, b) => b[1] - a[1]);
  const cells = ([name, size, n]) => make ("tr", null, make ("td", null, name), make ("td", null, bytes (size)), make ("td", null, count (n)));
  const rest = rows.slice (15).reduce ((sum, row) => [sum[0] + row[1], sum[1] + row[2]], [0, 0]);
  return make ("div.scroll", null, make ("table", null, make ("thead", null, make ("tr", null, make ("th", null, "line"), make ("th", null, "live"), make ("th", null, "blocks"))),
    make ("tbody", null, rows.slice (0, 15).map (([text, size, n]) => cells ([alive.film.history.texts[text] || "unknown", size, n])),
      rest[1] > 0 && cells ([count (rows.length - 15) + " more", ...rest]))));
}

/* The tree of stacks with the live bytes of each node; texts of lines where there are no stacks. */
function flameTree (alive) {
  const stacks = DATA.stacks[alive.film.answer], blocks = alive.film.history.blocks, nodes = new Map ();
  const root = { name: "all", node: 0, children: [], value: 0 };
  nodes.set (0, root);
  const nodeOf = node => {
    if (!nodes.has (node)) {
      const made = { name: stacks.frames[stacks.frame[node]], node, children: [], value: 0 };
      nodes.set (node, made);
      nodeOf (stacks.parent[node]).children.push (made);
    }
    return nodes.get (node);
  };
  const none = { name: "without a stack", node: -1, children: [], value: 0 };
  for (const i of alive.blocks)
    (blocks.stack[i] > 0 ? nodeOf (blocks.stack[i]) : none).value += blocks.requested[i];
  if (none.value > 0 && nodes.size > 1)
    root.children.push (none);
  else
    root.value += none.value;
  return root;
}

function flameOf (alive, focus) {
  const width = 1150, row = 20, tree = d3.hierarchy (flameTree (alive)).sum (d => d.value).sort ((a, b) => b.value - a.value);
  const top = tree.descendants ().find (d => d.data.node === focus) || tree;
  if (!tree.value || tree.height === 0)
    return make ("p.soft.small", null, tree.value ? "The recording has no call stacks." : "Nothing is alive here.");
  const depth = Math.min (top.height + 1, 30);
  const layout = d3.partition ().size ([width, (top.height + 1) * row]) (top.copy ());
  const svg = document.createElementNS ("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute ("viewBox", "0 0 " + width + " " + depth * row);
  svg.setAttribute ("width", "100%");
  svg.setAttribute ("role", "img");
  svg.setAttribute ("aria-label", "Live bytes by call stack");
  for (const d of layout.descendants ())
    if (d.x1 - d.x0 > 1 && d.depth < depth)
      svg.append (flameBox (d, row, alive, focus));
  return svg;
}

function flameBox (d, row, alive, focus) {
  const group = document.createElementNS ("http://www.w3.org/2000/svg", "g"), size = d.x1 - d.x0;
  const rect = document.createElementNS ("http://www.w3.org/2000/svg", "rect");
  const fill = d.depth === 0 ? colourOf ("free") : d3.interpolateYlOrBr (.12 + .4 * d.value / (d.parent || d).value);
  for (const [key, value] of [["x", d.x0], ["y", d.depth * row], ["width", size], ["height", row - 1], ["fill", fill]])
    rect.setAttribute (key, value);
  group.append (rect);
  if (size > 40) {
    const text = document.createElementNS ("http://www.w3.org/2000/svg", "text"), room = Math.floor (size / 6.6);
    text.setAttribute ("x", d.x0 + 4);
    text.setAttribute ("y", d.depth * row + 14);
    if (d.depth > 0)
      text.setAttribute ("style", "fill:#1c2024");
    const name = shown (d.depth === 0 && focus === 0 ? "all: " + bytes (d.value) : d.data.name);
    text.textContent = name.length > room ? name.slice (0, room - 1) + "\u2026" : name;
    group.append (text);
  }
  rect.addEventListener ("pointermove", e => showTip (e, make ("b", null, bytes (d.value)), make ("div", null, d.data.name)));
  rect.addEventListener ("pointerleave", hideTip);
  rect.addEventListener ("click", () => document.getElementById ("flame").replaceChildren (flameOf (alive, d.data.node === focus ? 0 : d.data.node)));
  return group;
}
