/* answer.js - the first screen: does it fit, which line to paste, who holds the memory.  All of it is what
 * `gemem-sim advise` says. */
function viewAnswer (parent, answer) {
  const advice = answer.advice;
  parent.append (make ("div.soft.small", null, answer.trace));
  if (!advice) {
    parent.append (make ("h1.doubt", null, "No advice about this trace"), make ("p", null, answer.error || ""));
    return;
  }
  parent.append (make ("h1", null, make ("span." + toneOf (advice), { id: "verdict" }, headlineOf (advice))), make ("p.lead", { id: "sentence" }, advice.sentence || ""));
  if (advice.doubt)
    parent.append (make ("p.doubt", null, advice.doubt));
  if (advice.growth)
    parent.append (make ("p", { id: "growth" }, advice.growth.words));
  parent.append (factsOf (advice));
  viewLines (parent, advice);
  parent.append (make ("div.two", null, holdersOf (advice), idleOf (advice)),
    make ("details", null, make ("summary", null, "The same as text, as in a terminal"), make ("pre", null, ...lines (answer.screen))));
}

function toneOf (advice) {
  return { "fits": "good", "does-not-fit": "alarm" }[advice.verdict] || (onlyDeviceOpen (advice) ? "plain" : "doubt");
}

function headlineOf (advice) {
  return { "fits": "It fits.", "does-not-fit": "It does not fit." }[advice.verdict]
    || (advice.growth && advice.growth.fits_so_far ? "It fits so far." : onlyDeviceOpen (advice) ? "It needs " + bytes (advice.needed_bytes) + (advice.exact ? "." : ", by a replay that is not exact.") : "It cannot be told.");
}

/* What it needs is known, but not how large its device is. */
function onlyDeviceOpen (advice) {
  return !advice.doubt && advice.capacity_assumed && advice.needed_bytes > 0;
}

/* Text with its line ends. */
function lines (text) {
  return text.split ("\n").map (line => make ("div", null, line || "\u00a0"));
}

function fact (id, value, name) {
  return make ("div", null, make ("b", { id }, value), make ("span", null, name));
}

function factsOf (advice) {
  return make ("div.facts", null,
    advice.needed_bytes > 0 && fact ("needed", bytes (advice.needed_bytes), "needed as it is"),
    // a device that refused, of a size that nobody recorded, is not the one that is assumed elsewhere
    !(advice.capacity_assumed && advice.refused_when_recorded > 0)
      && fact ("capacity", bytes (advice.capacity_bytes), advice.needed_of_limit ? "limit, or more" : advice.capacity_assumed ? "device, assumed" : "device"),
    advice.lower_bound_bytes > 0 && fact ("least", bytes (advice.lower_bound_bytes), "in use at once: no setting needs less"),
    fact ("failed", count (advice.failed), "requests failed"),
    fact ("events", count (advice.events), "events"),
    advice.decisions_compared > 0 && fact ("equal", count (advice.decisions_equal) + " of " + count (advice.decisions_compared),
      "decisions as recorded"));
}

function viewLines (parent, advice) {
  if (advice.lines.length > 0)
    parent.append (make ("h3", null, advice.offer + ":"));
  for (const line of advice.lines) {
    const button = make ("button", { onclick: () => copy (line.paste, button) }, "Copy");
    parent.append (make ("div.paste", null, make ("code", null, line.paste),
      make ("div.number", null, ...lines (line.words)), button));
  }
}

function copy (text, button) {
  const said = () => { button.textContent = "Copied"; };
  if (navigator.clipboard)
    navigator.clipboard.writeText (text).then (said, () => selectText (button));
  else
    selectText (button);
}

/* Where a page of a file may not use the clipboard, the line is selected. */
function selectText (button) {
  getSelection ().selectAllChildren (button.parentNode.querySelector ("code"));
}

function shares (title, rows) {
  const most = Math.max (1, ...rows.map (row => row[1]));
  return make ("div", null, make ("h3", null, title), make ("table", null, make ("tbody", null,
    rows.map (row => make ("tr", null, make ("td", null, row[0]),
      make ("td", { style: "width:190px" }, make ("span.share", { style: "width:" + Math.round (80 * row[1] / most) + "px" }), bytes (row[1])))))));
}

function holdersOf (advice) {
  return advice.holders.length > 0
    && shares ("Who holds memory at the peak", advice.holders.map (row => [row.line === null ? "unknown" : row.line, row.bytes]));
}

function idleOf (advice) {
  const at = advice.idle_at_failure && advice.idle_at_failure.length > 0;
  const rows = (at ? advice.idle_at_failure : advice.idle) || [];
  const sums = new Map ();
  for (const row of rows)
    sums.set (row.cause, (sums.get (row.cause) || 0) + Number (row.bytes));
  return rows.length > 0 && shares (at ? "Held and not in use, at the first failure" : "Held and not in use, at the reserved peak",
    Array.from (sums, ([name, sum]) => [DATA.causes.find (cause => cause.name === name).text, sum]).sort ((a, b) => b[1] - a[1]));
}
