/* table.js - the comparison: a row for each run, failed ones last whatever the order, the settings of each
 * behind its name. */
const sorting = { key: null, up: true, all: false };

function rowsOf (group) {
  return DATA.films.filter (film => film.group === group).map (film => film.row);
}

function resultOf (film) {
  return DATA.report.results[film.row];
}

function failuresOf (film) {
  return resultOf (film).oom || [];
}

function isFailed (result) {
  return result.values.ooms > 0 || result.failure || result.not_allowed;
}

function viewTable (parent, group) {
  const box = make ("div.scroll"), every = make ("button", { "aria-pressed": "false", onclick: () => {
    sorting.all = !sorting.all;
    every.setAttribute ("aria-pressed", sorting.all);
    fillTable (box, group);
  } }, "All measures");
  parent.append (make ("h2", { id: "comparison" }, "Comparison"));
  for (const line of DATA.report.summary.filter (line => line.startsWith (group + ": ")))
    parent.append (make ("p", null, line.slice (group.length + 2)));
  parent.append (make ("div.bar", null, every, make ("span.soft.small", null, "A title sorts; a name shows its settings.")), box);
  for (const row of DATA.report.not_run || [])
    parent.append (make ("p.soft.small", null, row.label + ": " + (row.failure || "not run")));
  fillTable (box, group);
}

/* Failed last, then by the measure; what is not known last. */
function sortRows (rows, measure) {
  const value = row => DATA.report.results[row].measures[measure.key];
  const sign = measure.more === sorting.up ? -1 : 1;
  return rows.slice ().sort ((a, b) => {
    const failed = !!isFailed (DATA.report.results[a]) - !!isFailed (DATA.report.results[b]);
    const x = value (a), y = value (b);
    if (failed !== 0 || x === y)
      return failed || a - b;
    return x === null || x === undefined ? 1 : y === null || y === undefined ? -1 : sign * (x - y);
  });
}

function fillTable (box, group) {
  let rows = rowsOf (group);
  const results = rows.map (row => DATA.report.results[row]);
  const measures = DATA.measures.filter (m => (m.brief || sorting.all || ["modelled_time", "utilisation"].includes (m.key))
    && results.some (result => result.measures[m.key] !== undefined && result.measures[m.key] !== null));
  rows = sortRows (rows, DATA.measures.find (m => m.key === (sorting.key || "peak_reserved")));
  if (!sorting.key) /* what the program has now is what all others are compared with */
    rows.sort ((a, b) => DATA.report.results[b].values.as_now - DATA.report.results[a].values.as_now);
  box.replaceChildren (make ("table", { id: "rows" }, make ("thead", null, make ("tr", null, make ("th", null, "run"),
    measures.map (m => make ("th", { title: m.help, "aria-sort": sorting.key === m.key ? (sorting.up ? "ascending" : "descending") : null },
      make ("button", { onclick: () => sortBy (m.key, box, group) }, m.title + (sorting.key === m.key ? (sorting.up ? " \u2191" : " \u2193") : "")))))),
    make ("tbody", null, rows.map (row => rowOf (row, measures)))));
}

function sortBy (key, box, group) {
  sorting.up = sorting.key === key ? !sorting.up : true;
  sorting.key = key;
  fillTable (box, group);
}

function rowOf (row, measures) {
  const result = DATA.report.results[row], settings = Object.entries (result.parameters || {});
  return make ("tr" + (isFailed (result) ? ".failed" : "") + (result.values.as_now ? ".now" : ""), { "data-row": row },
    make ("td", null, make ("details", null, make ("summary", null, result.label + (result.values.as_now ? " (now)" : "")),
      result.failure && make ("div.alarm.small", null, result.failure), result.not_allowed && make ("div.doubt.small", null, result.not_allowed),
      settings.map (([key, value]) => make ("div.mono", null, key + "=" + value)),
      make ("div.small.soft", null, "on " + result.device))),
    measures.map (m => make ("td", { "data-key": m.key }, measured (result.measures[m.key], m.unit))));
}
