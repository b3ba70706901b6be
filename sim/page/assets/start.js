/* start.js - builds the page: one trace and device at a time, its answer, its table, then what its runs did. */
let DATA = null;

function start () {
  DATA = JSON.parse (document.getElementById ("data").textContent);
  DATA.stacks = DATA.stacks.map (stacks => stacks && Object.assign (readColumns (stacks), { frames: stacks.frames }));
  const groups = Array.from (new Set (DATA.films.map (film => film.group)));
  fill (document.getElementById ("top"), make ("b", null, "gemem"), make ("span", null, "memory of a device, replayed"),
    groups.length > 1 && make ("select", { "aria-label": "Trace", onchange: e => open (e.target.value) }, groups.map (group => make ("option", { value: group }, group))));
  document.getElementById ("foot").append (make ("p", null, "Made by gemem-sim " + DATA.version
    + ". Every number comes from its replays. This page holds d3 (Mike Bostock, BSD licence), and loads nothing."));
  if (groups.length > 0)
    open (groups[0]);
  else
    nothing ();
  addEventListener ("resize", redraw);
  matchMedia ("(prefers-color-scheme: dark)").addEventListener ("change", redraw);
  addEventListener ("scroll", paintStale, { passive: true });
  addEventListener ("beforeprint", () => drawWhole (true));
  addEventListener ("afterprint", () => drawWhole (false));
}

/* Draws at once, charts that are far from the window too. */
function drawWhole (whole) {
  state.whole = whole;
  views.forEach (draw => draw ());
}

function nothing () {
  const main = document.getElementById ("main");
  DATA.answers.forEach (answer => viewAnswer (main, answer));
  main.append (make ("p", null, "No run began, so there is nothing to be seen over time."));
}

function open (group) {
  const main = document.getElementById ("main"), films = DATA.films.filter (film => film.group === group);
  views.length = charts.length = 0;
  main.replaceChildren ();
  document.title = shown (group) + " - gemem";
  viewAnswer (main, DATA.answers[films[0].answer]);
  viewTable (main, group);
  const seen = films.filter (film => film.history), first = seen.find (film => resultOf (film).values.as_now) || seen[0] || films[0];
  Object.assign (state, { film: openFilm (first), beside: null, held: null, addresses: null, byTime: false,
    colour: first.lines && first.lines.length > 0 ? "line" : "size" });
  state.domain = [0, endOfFilm ()];
  state.moment = firstMoment (first);
  viewRuns (main, seen.concat (films.filter (film => !film.history)));
}

/* What a person asks about first: the first failure, else the peak. */
function firstMoment (film) {
  const failures = failuresOf (film), event = failures.length > 0 ? failures[0].seq : resultOf (film).values.peak_reserved_seq;
  return Math.min (Number (event), Math.max (0, endOfFilm () - 1));
}

/* What stands below the table is built anew for another run. */
function viewRuns (main, films) {
  const body = make ("div"), name = film => resultOf (film).label;
  const choose = (label, id, chosen, none, then) => make ("label", null, label, make ("select", { id, onchange: e => then (films[e.target.value] || null) },
    none && make ("option", { value: -1 }, none), films.map ((film, i) => make ("option", { value: i, selected: film === chosen ? "" : null }, name (film)))));
  const build = () => {
    views.length = charts.length = 0;
    body.replaceChildren ();
    if (state.film.timeline.n === 0)
      body.append (make ("p.soft", null, "The run has no events to be seen."));
    else
      viewTimeline (body);
    if (state.film.history && state.film.history.blocks.n > 0) {
      viewMap (body);
      viewMoment (body);
      viewMore (body);
    } else if (!state.film.history)
      body.append (make ("p.soft", null, "The blocks of this run are not in the page"
        + (resultOf (state.film).programs ? ": the device is shared." : "; -a " + resultOf (state.film).label + " draws it.")));
    redraw ();
  };
  main.append (make ("h2", { id: "runs" }, "What happened"), make ("div.bar", null,
    choose ("Run", "film", state.film, null, film => {
      Object.assign (state, { film: openFilm (film), held: null, addresses: null });
      build ();
    }),
    films.length > 1 && choose ("beside", "beside", null, "no other", film => {
      state.beside = film && film !== state.film ? openFilm (film) : null;
      redraw ();
    })), body);
  build ();
}

addEventListener ("DOMContentLoaded", start);
