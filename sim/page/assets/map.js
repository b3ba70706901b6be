/* map.js - addresses by time: each block a rectangle, segments behind them; what is grey is held and free.  Hover
 * names a block; a click holds it, here and in the moment below. */
function viewMap (parent) {
  parent.append (make ("h2", { id: "map" }, "Memory map"), make ("p.soft", null,
    "Addresses upwards, events to the right. Grey is held from the device and free. Gaps between segments take no space. "
    + "Hover names a block, or why memory is free; a click holds it; Shift and wheel zoom addresses."));
  const colours = make ("select", { "aria-label": "Colour by", onchange: e => set ({ colour: e.target.value }) },
    (state.film.lines || []).length > 0 && make ("option", { value: "line" }, "colour: line"), make ("option", { value: "size" }, "colour: size"), make ("option", { value: "life" }, "colour: lifetime"));
  const held = make ("div.held.small", { id: "held", "aria-live": "polite" });
  parent.append (make ("div.bar", null, colours, make ("button", { onclick: () => set ({ addresses: null }) }, "All addresses"),
    make ("button", { onclick: () => set ({ held: null }) }, "Let go")));
  const key = make ("div");
  parent.append (key);
  views.push (() => key.replaceChildren (state.colour === "line" ? linesLegend ()
    : legend ([d3.interpolateViridis (0), state.colour === "size" ? "small" : "short"], [d3.interpolateViridis (1), state.colour === "size" ? "large" : "long"])));
  oneMap (parent, () => state.film, 380);
  oneMap (parent, () => state.beside, 380);
  parent.append (held);
  views.push (() => held.replaceChildren (...(state.held ? describe (state.held.film, state.held.i) : [make ("span.soft", null, "No block is held.")])));
}

function oneMap (parent, filmOf, height) {
  const title = make ("h3"), note = make ("div.soft.small"), box = make ("div", null, title);
  parent.append (box);
  const chart = makeChart (box, height, "Blocks by address and time", (context, area) => drawMap (context, area, filmOf ()));
  box.append (note);
  chart.zoomAddresses = (factor, py) => zoomAddresses (filmOf (), chart.box, factor, py);
  letZoom (chart, (event, px, py) => clickMap (filmOf (), chart, event, py), (event, px, py, e) => hoverMap (filmOf (), chart, event, px, py, e));
  views.unshift (() => {
    const film = filmOf ();
    box.hidden = !film || !film.history;
    if (box.hidden)
      return;
    title.textContent = shown (resultOf (film).label);
    const left = film.history.blocks.left_out;
    note.textContent = count (film.history.blocks.n) + " blocks"
      + (left > 0 ? "; " + count (left) + " that are small or short are not drawn" : "");
  });
}

function scaleAddresses (film, box) {
  const range = state.addresses && state.addresses.film === film ? state.addresses.range : [0, film.islands.height];
  return d3.scaleLinear ().domain (range).range ([box.y1, box.y0]);
}

function zoomAddresses (film, box, factor, py) {
  const y = scaleAddresses (film, box), [from, to] = y.domain (), around = y.invert (py);
  const range = [Math.max (0, around - (around - from) / factor), Math.min (film.islands.height, around + (to - around) / factor)];
  if (range[1] - range[0] >= 512)
    set ({ addresses: { film, range } });
}

function drawMap (context, box, film) {
  if (!film || !film.history)
    return;
  const { blocks, segments } = film.history, x = scaleX (box), y = scaleAddresses (film, box);
  drawAxisY (context, box, y, byteTicks (y.domain ()[1], 6).filter (t => t >= y.domain ()[0]), bytes);
  drawTime (context, box, x);
  clip (context, box);
  context.fillStyle = colourOf ("free");
  eachSeen (film, segments, x, y, box, (i, px, py, w, h) => context.fillRect (px, py, Math.max (w, 1), Math.max (h, .5)));
  const other = colourOf ("other");
  eachSeen (film, blocks, x, y, box, (i, px, py, w, h) => {
    context.fillStyle = colourOfBlock (film, i) || other;
    context.fillRect (px, py, Math.max (w, .6), Math.max (h, .6));
  });
  context.strokeStyle = colourOf ("soft");
  context.lineWidth = .5;
  eachSeen (film, segments, x, y, box, (i, px, py, w, h) => { if (h > 3) context.strokeRect (px, py, w, h); });
  if (state.held && state.held.film === film) {
    context.strokeStyle = colourOf ("ink");
    context.lineWidth = 2;
    eachSeen (film, blocks, x, y, box, (i, px, py, w, h) => { if (i === state.held.i) context.strokeRect (px - 1, py - 1, w + 2, h + 2); });
  }
  context.restore ();
  drawMarks (context, box, x, film);
}

/* Calls each (index, x, y, width, height) for those of `rectangles` that are seen. */
function eachSeen (film, rectangles, x, y, box, each) {
  const [from, to] = state.domain, [low, high] = y.domain ();
  for (let i = 0; i < rectangles.n && rectangles.begin[i] <= to; i++) {
    if (rectangles.end[i] < from)
      continue;
    const at = placeOf (film.islands, rectangles.address[i]);
    if (at < 0 || at > high || at + rectangles.size[i] < low)
      continue;
    const px = Math.max (box.x0 - 2, x.of (Math.max (rectangles.begin[i], from - 1))), end = Math.min (box.x1 + 2, x.of (Math.min (rectangles.end[i], to + 1)));
    const top = y (at + rectangles.size[i]);
    each (i, px, top, end - px, y (at) - top);
  }
}

/* The block at a place of the map; -1: none. */
function blockAt (film, chart, event, py) {
  const blocks = film.history.blocks, at = scaleAddresses (film, chart.box).invert (py);
  for (let i = blocks.n - 1; i >= 0; i--)
    if (blocks.begin[i] <= event && event < blocks.end[i]) {
      const place = placeOf (film.islands, blocks.address[i]);
      if (place <= at && at < place + blocks.size[i])
        return i;
    }
  return -1;
}

function clickMap (film, chart, event, py) {
  const i = blockAt (film, chart, event, py);
  set ({ held: i >= 0 ? { film, i } : null });
  setMoment (event);
}

function hoverMap (film, chart, event, px, py, e) {
  const inside = px >= chart.box.x0 && py <= chart.box.y1, i = inside ? blockAt (film, chart, event, py) : -1;
  if (i >= 0)
    return showTip (e, ...describe (film, i, 8));
  const free = inside ? freeAt (aliveAt (film, event), addressOf (film.islands, scaleAddresses (film, chart.box).invert (py))) : null;
  if (!free)
    return hideTip ();
  showTip (e, ...describeFree (film, event, free));
}

/* The free part at an address, of what is there after an event (of `aliveAt`); null: no segment is there. */
function freeAt (alive, address) {
  const blocks = alive.film.history.blocks, segment = alive.segments.find (s => s.start <= address && address < s.end);
  if (!segment)
    return null;
  const inside = alive.blocks.filter (i => blocks.address[i] >= segment.start && blocks.address[i] < segment.end);
  const ends = inside.map (i => blocks.address[i] + blocks.size[i]).filter (end => end <= address);
  const starts = inside.map (i => blocks.address[i]).filter (start => start > address);
  return { start: Math.max (segment.start, ...ends.slice (-1)), end: Math.min (segment.end, ...starts.slice (0, 1)), segment, inside,
           largest: d3.greatest (inside, i => blocks.size[i]), whole: alive.whole, address };
}

/* What is known of a free part, as elements: its cause where the moment has one. */
function describeFree (film, event, free) {
  const { blocks, texts } = film.history, gap = gapAt (film, event, free.address); /* segments that lie side by side may be one here */
  const beside = free.inside.length === 0 ? "a whole segment, in which no block lies"
    : "of a segment of " + bytes (free.segment.end - free.segment.start) + " with " + count (free.inside.length) + (free.inside.length > 1 ? " blocks, the largest " : " block, ")
      + bytes (blocks.size[free.largest]) + " of " + (texts[blocks.text[free.largest]] || "an unknown line");
  return [
    make ("div", null, make ("b", null, bytes (gap ? gap.end - gap.start : free.end - free.start) + " free"), gap ? "  " + gap.cause : ""),
    make ("div", null, beside),
    !free.whole && make ("div.soft", null, "Small and short blocks that the page leaves out may lie here.")].filter (e => e);
}

/* What is known of block i of a film, as elements. */
function describe (film, i, most) {
  const blocks = film.history.blocks, end = film.history.end, frames = framesOf (film, blocks.stack[i]);
  const line = film.history.texts[blocks.text[i]], waste = blocks.size[i] - blocks.requested[i];
  return [
    make ("div", null, make ("b", null, bytes (blocks.size[i])), line ? "  " + line : "  of an unknown line"),
    make ("div.number", null, count (blocks.requested[i]) + " bytes requested" + (waste > 0 ? ", " + bytes (waste) + " of rounding" : "")
      + "; at 0x" + blocks.address[i].toString (16)),
    make ("div.number", null, "from event " + count (blocks.begin[i]) + (blocks.end[i] >= end ? ", never freed"
      : " to " + count (blocks.end[i]) + " (" + count (blocks.end[i] - blocks.begin[i]) + " events)")),
    ...frames.slice (0, most || 40).map (frame => make ("div.frames", null, frame)),
    frames.length > (most || 40) && make ("div.frames", null, "...")].filter (e => e);
}
