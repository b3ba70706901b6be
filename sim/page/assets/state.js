/* state.js - what all views share: the part of the run that is seen, the moment, the block that is held.
 *
 * A view registers a function that draws it; whatever changes, all are drawn once before the next frame. */
const state = { film: null, beside: null, domain: [0, 1], addresses: null, moment: 0, held: null, colour: "line", byTime: false };
const views = [];
let drawing = false;

function redraw () {
  if (drawing)
    return;
  drawing = true;
  requestAnimationFrame (() => {
    const start = performance.now ();
    drawing = false;
    views.forEach (draw => draw ());
    state.drawn = performance.now () - start;
  });
}

function set (changes) {
  Object.assign (state, changes);
  redraw ();
}

/* A colour of page.css, which follows the reader's choice of dark and light. */
let style = null;
function colourOf (name) {
  style = style || getComputedStyle (document.documentElement);
  return style.getPropertyValue ("--" + name).trim ();
}

/* The palette of Okabe and Ito, then three of Tol's that differ from it; the tenth and later lines are one colour. */
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a900", "#882255", "#44aa99", "#6f63b5"];

/* ---- films: a row over time, read when it is first looked at */

function openFilm (film) {
  if (film.timeline.seq instanceof Float64Array)
    return film;
  film.timeline = readColumns (film.timeline);
  if (!film.history)
    return film;
  const history = film.history;
  history.blocks = readColumns (history.blocks);
  history.segments = readColumns (history.segments);
  history.marks = readColumns (history.marks);
  history.idle = readColumns (history.idle);
  history.gaps = readColumns (history.gaps);
  history.series = history.series.map (readColumn);
  film.lineOf = history.texts.map (text => film.lines.indexOf (text));
  film.islands = islandsOf (history.segments, history.blocks);
  return film;
}

/* The addresses that were ever used, packed: gaps between segments take no place on the map. */
function islandsOf (segments, blocks) {
  const from = segments.n > 0 ? segments : blocks;
  const order = Array.from ({ length: from.n }, (_, i) => i).sort ((a, b) => from.address[a] - from.address[b]);
  const islands = [];
  let last = null, height = 0;
  for (const i of order) {
    const end = from.address[i] + from.size[i];
    if (last && from.address[i] <= last.end)
      last.end = Math.max (last.end, end);
    else
      islands.push (last = { start: from.address[i], end });
  }
  for (const island of islands) {
    island.at = height;
    height += island.end - island.start;
  }
  islands.height = height || 1;
  return islands;
}

/* The place of an address among the islands; -1: it lies in none. */
function placeOf (islands, address) {
  let low = 0, high = islands.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (islands[middle].start <= address)
      low = middle;
    else
      high = middle - 1;
  }
  const island = islands[low];
  return island && address >= island.start && address <= island.end ? island.at + address - island.start : -1;
}

/* The address at a place among the islands. */
function addressOf (islands, at) {
  const island = islands[Math.max (0, d3.bisectRight (islands.map (i => i.at), at) - 1)];
  return island ? island.start + at - island.at : -1;
}

/* The rows of `columns`, which are by moment, that are of this event: [first, end). */
function rowsAt (columns, event) {
  return [d3.bisectLeft (columns.seq, event), d3.bisectRight (columns.seq, event)];
}

/* The free part at an address after an event, as the allocator has it; null: it is not known, or something lies there. */
function gapAt (film, event, address) {
  const gaps = film.history.gaps, [from, to] = rowsAt (gaps, event);
  const i = d3.bisectRight (gaps.address, address, from, to) - 1;
  return i >= from && address < gaps.address[i] + gaps.size[i]
    ? { start: gaps.address[i], end: gaps.address[i] + gaps.size[i], cause: DATA.causes[gaps.cause[i]].text } : null;
}

/* The frames of a node of stacks, innermost first. */
function framesOf (film, node) {
  const stacks = DATA.stacks[film.answer], frames = [];
  for (; stacks && node > 0; node = stacks.parent[node])
    frames.push (stacks.frames[stacks.frame[node]]);
  return frames;
}

function colourOfBlock (film, i) {
  const blocks = film.history.blocks;
  if (state.colour === "size")
    return d3.interpolateViridis (Math.min (1, Math.max (0, (Math.log2 (blocks.size[i] + 1) - 9) / 22)));
  if (state.colour === "life")
    return d3.interpolateViridis (Math.log (blocks.end[i] - blocks.begin[i] + 1) / Math.log (film.history.end + 1));
  const line = film.lineOf[blocks.text[i]];
  return line >= 0 ? PALETTE[line] : null;
}
