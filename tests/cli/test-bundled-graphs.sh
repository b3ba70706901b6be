#!/bin/bash
# The bundled graphs on the command line: every one is valid and shown.
. "$GEMEM_SRCDIR/tests/util/tap.sh"

for graph in "$GEMEM_SRCDIR"/graphs/bundled/*.json.*; do
  run 0 gemem-sim validate "$graph"
  says out ': valid \(gemem-graph\)$'
  run 0 gemem-sim info "$graph"
  says out "source: graph.py "
  says out 'peak live, lower bound'
done
done_testing
