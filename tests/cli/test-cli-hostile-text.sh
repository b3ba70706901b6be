#!/bin/sh
# test-cli-hostile-text.sh - text from outside that a terminal, a browser or a spreadsheet would obey: in names of files, notes and settings of a trace,
# tags, results, graphs, what a program of a dry run says.  It is shown, in every format, and no line is forged by it.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

esc=$(printf '\033') csi=$(printf '\302\233') turn=$(printf '\342\200\256')
# harmless NAME FILE: no control characters but line ends and tabs, no C1, nothing that turns the direction.
harmless () {
  check "$1: nothing is obeyed" sh -c '! LC_ALL=C grep -qaP "[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]" "$1" && ! grep -q "^forged" "$1"' - "$2"
}
shows () { run "$@"; shift; harmless "$*" "$out"; harmless "$*, messages" "$err"; }

name="x${esc}[2J${csi}31m${turn}
forged.txt"
printf '# gemem-trace: 1\n# provenance: "model: n%s[31m%s%s"\nalloc 1 size=1048576 stream=7 tag="t\\x1b[2J\\nforged"\nalloc 2 size=99999999999999 stream=7 tag="t\\x1b[2J\\nforged"\nfree 1\n# end: 3\n' "$esc" "$csi" "$turn" >"$name"
for command in info 'info --blocks' 'info --idle' 'replay -v -a direct -d sim:capacity=1GiB' 'compare -a direct -a pytorch-caching -d sim:capacity=1GiB' advise validate 'plan -p first-fit' \
  'compare -a direct -f csv' 'compare -a direct -f json' 'compare -a direct -f markdown' 'info -f json' 'plan -p first-fit -f csv' 'plan -p first-fit -f json' 'replay -a direct -d sim:capacity=1GiB --map -'; do
  # shellcheck disable=SC2086 # words on purpose
  gemem-sim $command "$name" >"$out" 2>"$err"
  check "$command: says something" sh -c 'cat "$1" "$2" | grep -q .' - "$out" "$err"
  harmless "$command" "$out"; harmless "$command, messages" "$err"
done
run 0 gemem-sim compare -a direct -f csv "$name"; says out '^"?x\\033\[2J\\u009b31m\\u202e'
run 0 gemem-sim compare -a direct -f json "$name"; says out '"trace": "x\\u001b\[2J\\u009b31m\\u202e\\nforged'
gemem-sim replay -q -a direct "$name" --plots drawn --map map.svg >/dev/null 2>&1
for file in map.svg drawn/*.svg; do harmless "$file" "$file"; done

# ---- results, as another program may have written them
gemem-sim generate random:events=90 -o in.gmt
gemem-sim compare -a direct -a pytorch-caching in.gmt -f json -o good.json
sed 's/"\(direct\|in\.gmt\|pytorch-caching\)"/"\1\\u001b[2J\\u009b\\u202e\\nforged\\u007f"/; s/"\(sim[^"]*\)"/"\1\\u001b[2J\\nforged"/' good.json >bad.json
for format in table csv json markdown; do shows 0 gemem-sim plot bad.json -f $format; done

# ---- a spreadsheet computes what begins so
for first in = + - @; do
  cp in.gmt "./${first}cmd.gmt"; run 0 gemem-sim compare -a direct -f csv -- "./${first}cmd.gmt"
done
cp in.gmt '=cmd.gmt'; run 0 gemem-sim compare -a direct -f csv '=cmd.gmt'; says out "^'=cmd\\.gmt,"
cp in.gmt '@cmd.gmt'; run 0 gemem-sim compare -a direct -f csv '@cmd.gmt'; says out "^'@cmd\\.gmt,"

# ---- a program of a dry run, and the folder it runs in
if ! is_sanitized; then
  XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
  shows 0 gemem-dry-run -o "d${esc}[2J.gmt" "$GEMEM_BUILDDIR/tests/programs/dry-memory" runtime
  shows 0 gemem-dry-run -o dry.gmt sh -c 'printf "value p\033[2J\302\233m\342\200\256.py:3\ntold t\033[2J\n" >>"$GEMEM_DRY_NOTES"; "$0" runtime' "$GEMEM_BUILDDIR/tests/programs/dry-memory"
  says err 't\\033\[2J$'
  shows 127 gemem-dry-run "no${esc}[2J"; shows 127 gemem-record "no${esc}[2J"
fi
done_testing
