#!/bin/sh
# test-includes.sh - one direction: a folder uses those before it in the list below and none after it; a NAME-private.h is for its
# own folder and those in it; and files that need each other, directly or through others, are at most two (by the objects' symbols).
# shellcheck disable=SC2154 # srcdir
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cd "$GEMEM_SRCDIR" || exit 99
top=$folders folders="${folders%sim record dry}sim/engine sim/report sim/search sim/plots sim/live sim/page sim/manuals sim/cli record \
  dry/protocol dry/images dry/ptx dry/replay dry/driver dry/runtime dry/nvml dry/libraries dry/launch dry/verdict"

# shellcheck disable=SC2086 # a list
find $folders \( -name '*.[ch]' -o -name '*.def' \) -exec grep -Hn '^ *# *include' {} + |
  sed -E "s#<(($(echo "$top" | tr ' ' '|'))/.*)>#\"\1\"#" | grep '"' | awk -F'[:"]' -v list="$folders" '
  BEGIN { n = split(list, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }
  function folder (path) { return match (path, /^(sim|dry)\/[a-z]*/) || match (path, /^[^\/]*/) ? substr (path, 1, RLENGTH) : "" }
  function home (path) { sub (/[^\/]*$/, "", path); return path }
  $4 == "config.h" { seen++; next }
  { seen++; from = folder($1); to = folder($4) }
  !(to in rank) { print $1 ":" $2 ": " $4 " lies in no folder of the list: name it with its folder"; next }
  rank[to] > rank[from] { print $1 ":" $2 ": " from " includes " $4 ", which comes after it" }
  $4 ~ /private\.h$/ && index ($1, home($4)) != 1 { print $1 ":" $2 ": " $4 " is private to " home($4) }
  END { if (seen < 1000) print "only " seen + 0 " includes were seen" }' >"$GEMEM_TMP/up"
[ ! -s "$GEMEM_TMP/up" ]; ok $? "no include goes up: $folders"
sed 's/^/# /' "$GEMEM_TMP/up"

# ---- files that need each other, from the symbols that their objects define and use
cd "$GEMEM_BUILDDIR" || exit 99
if command -v nm >/dev/null && [ -e base/units.lo ]; then
  # shellcheck disable=SC2086
  find $folders -name '*.o' \( -path '*/.libs/*' -o -name 'gemem_*' -o -path 'sim/cli/*' \) -exec nm -A {} + |
    sed -E 's#/\.libs/#/#; s#/([a-z0-9_]+_la|gemem_record|gemem_dry_run)-#/#' | awk -F'\\.o:' '
    function visit (f, top,  n, i, to) { # marks everything that @top reaches
      if (reach[top, f]++) return
      n = split(uses[f], to, " "); for (i = 1; i <= n; i++) visit(to[i], top)
    }
    { n = split($2, word, " "); kind = word[n - 1]; symbol = word[n]; files[$1] }
    # of libc, though gemem-sim has its own (sim/cli/memory.c), and dry runs and recordings
    symbol ~ /^(malloc|realloc|posix_memalign|stat|lstat|access|dlsym)$/ { next }
    kind ~ /^[TDRBV]$/ { from[symbol] = $1 }
    kind == "U" { pair[++m] = $1 SUBSEP symbol }
    END {
      for (i = 1; i <= m; i++) { split(pair[i], word, SUBSEP); to = from[word[2]]
        if (to != "" && to != word[1] && !known[word[1], to]++) uses[word[1]] = uses[word[1]] " " to }
      for (f in files) visit(f, f)
      for (f in files) { circle = f; count = 1; first = f
        for (g in files) if (g != f && reach[f, g] && reach[g, f]) { circle = circle " " g; count++; if (g < first) first = g }
        if (count > 2 && f == first) print count " files need each other: " circle; total++ }
      if (total < 500) print "only " total + 0 " objects were seen"
    }' >"$GEMEM_TMP/circles"
  [ ! -s "$GEMEM_TMP/circles" ]; ok $? 'no circle of more than two files'
  sed 's/^/# /' "$GEMEM_TMP/circles"
else
  skip 'circles of files' 'no nm, or nothing built here'
fi

done_testing
