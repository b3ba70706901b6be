#!/bin/sh
# test-mutants.sh - what mutants.py makes of a line: each change once, none of texts, comments, declarations and directives.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is not here'; exit 0; }

cat >changes.py <<'EOF'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import mutants
for how, text in mutants.mutations(sys.argv[2]):
    print(f"{how}:{text}")
EOF
changes () { # LINE, and what it can become, one a line
  run 0 python3 changes.py "$GEMEM_SRCDIR/tests/mutants" "$1"
  check "$1" test "$(cat "$out")" = "$2"
}
changes '  if (a < b && c)' '< -> <=:  if (a <= b && c)
&& -> ||:  if (a < b || c)
negated:  if (!(a < b && c))'
changes '  return TRUE;' 'TRUE -> FALSE:  return FALSE;'
changes '  list->count = n - 1;' '- -> +:  list->count = n + 1;
1 -> 2:  list->count = n - 2;
dropped:  ;'
changes '  release (self);' 'dropped:  ;'
changes '  guint count = n;' ''
changes '  note ("a < b");' 'dropped:  ;'
for line in '#if A < 1' ' * a < b' '/* a < b */' '  } else' ''; do changes "$line" ''; done
done_testing
