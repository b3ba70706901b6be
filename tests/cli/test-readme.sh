#!/bin/sh
# test-readme.sh - what README.md and doc show is what the program prints: each "$ COMMAND" of their transcripts is run in the source tree and compared
# (build-aux/update-transcripts writes them anew), each indented command line is run with files of the names that it uses, and every link leads to a file.
# shellcheck disable=SC2016 # scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if [ -n "${GEMEM_QUICK:-}" ]; then
  skip 'the transcripts' 'GEMEM_QUICK: under sanitizers and full checks a recording through every allocator takes minutes'
  done_testing
fi
pages="$GEMEM_SRCDIR/README.md $GEMEM_SRCDIR/CONTRIBUTING.md $(echo "$GEMEM_SRCDIR"/doc/*.md)"

# ---- transcripts
for page in $pages; do
  name=${page#"$GEMEM_SRCDIR/"}
  ! grep -q '^\$ ' "$page" || check "$name: what the commands print" sh -c "'$GEMEM_SRCDIR/build-aux/update-transcripts' --print '$page' | diff '$page' -"
done
check 'there are transcripts' sh -c 'test $(cat '"$pages"' | grep -c "^\$ ") -ge 10'
printf '```\n$ echo one; echo two\nthree\n```\n    $ echo no\n```\n$ printf "a\\n\\nb\\n\\nc\\n"\n[...]\nx\n```\n' >wrong
printf '```\n$ echo one; echo two\none\ntwo\n```\n    $ echo no\n```\n$ printf "a\\n\\nb\\n\\nc\\n"\na\n[...]\nc\n```\n' >right
check 'a transcript that is not true is found' sh -c '"$GEMEM_SRCDIR/build-aux/update-transcripts" --print wrong | diff right -'

# ---- pictures of README.md: made by `make demo`, and of the size that it makes
if command -v gnuplot >/dev/null; then
  mkdir made && ln -s "$(command -v gemem-sim)" made/gemem-sim
  run 0 sh "$GEMEM_SRCDIR/build-aux/demo" "$GEMEM_SRCDIR" made
  for picture in $(sed -n 's/^!\[.*(doc\/images\/\(.*\))$/\1/p' "$GEMEM_SRCDIR/README.md"); do
    size () { od -An -tx1 -j16 -N8 "$1"; } # of a PNG
    check "$picture is made by make demo" test -s "made/results/demo/readme/$picture"
    check "$picture is as it is made now" test "$(size "made/results/demo/readme/$picture")" = "$(size "$GEMEM_SRCDIR/doc/images/$picture")"
    cmp "made/results/demo/readme/$picture" "$GEMEM_SRCDIR/doc/images/$picture" >differs 2>&1 || sed 's/^/# another gnuplot, or it is old: /' differs
  done
else
  skip 'the pictures of README.md' 'gnuplot is not installed'
fi

# ---- indented command lines: in the order of the page, in one folder, with recordings under the names that the guides use
mkdir run && cd run || exit 99
for folder in traces graphs workloads doc; do ln -s "$GEMEM_SRCDIR/$folder" .; done
ln -s "$GEMEM_BUILDDIR/gemem-uninstalled.pc" .
gunzip -c "$GEMEM_SRCDIR/tests/data/pytorch/all-stacks-2.15.pickle.gz" >snapshot.pickle
gunzip -c "$GEMEM_SRCDIR/tests/data/pinned/plain-2.15.pickle.gz" >pinned.pickle
cp "$GEMEM_SRCDIR/tests/data/kineto/train-2.15.0.json.gz" trace.json.gz
cp "$GEMEM_SRCDIR/tests/data/tensorflow/cpu-oom.log" train.log
for name in step train serve out; do cp "$GEMEM_SRCDIR/traces/recorded/resnet50-train.gmt" $name.gmt; done
cp "$GEMEM_SRCDIR/tests/data/paddle/mlp.pdmodel" model.pdmodel
cp "$GEMEM_SRCDIR/tests/data/paddle/gpu-log.txt" paddle.log
cp "$GEMEM_SRCDIR/tests/data/ge/runtime-log.txt" GE.log
cp "$GEMEM_SRCDIR/tests/data/messages/torch-2.0.1.txt" message.txt
printf '%s\n' "[ERROR] GE(1234,python):2026-04-09-21:56:40.384.600 [device_allocator.cc:72]4321 Alloc:ErrorNo: 4294967295(failed) Call rtMalloc fail, purpose: page caching, type = 2, size:3221291008, device_id:0" >ge.log
gemem-sim convert snapshot.pickle ge-expandable.gmt
gemem-sim replay step.gmt -a pytorch-caching --calls calls.csv >/dev/null
total=0
for page in $pages; do
  awk '/^```/ { inside = !inside }
       !inside && /^    ([A-Z_]+=[^ ]* )*(gemem-sim|cc|cp|export) / { sub(/^ */, ""); print; print "result $? " NR }' "$page" >commands
  [ -s commands ] || continue
  name=${page#"$GEMEM_SRCDIR/"}
  : >results
  (result () { echo "$1 $2" >>results; }; . ./commands) >printed 2>errors
  # 77: no GPU here; 1: what --check-release-order is asked for; 3, 4: verdicts of advise and explain
  while read -r status line; do
    total=$((total + 1))
    text=$(sed -n "${line}s/^ *//p" "$page")
    case $status:$text in 0:* | 77:*cuda:* | 1:*--check-release-order* | [34]:'gemem-sim explain '* | [34]:gemem-sim\ [A-Za-z]*.*) ;; *) ok 1 "$name:$line: exit $status: $text" ;; esac
  done <results
  check "$name: the command lines run" sh -c 'test $(grep -c "^result" commands) = $(grep -c . results)'
  [ $tap_failed -eq 0 ] || sed 's/^/# /' errors | head -n 20
done
[ $total -ge 40 ]; ok $? "there are command lines ($total)"
cd "$GEMEM_TMP" || exit 99

# ---- links
for page in $pages "$GEMEM_SRCDIR"/doc/systems/README.md; do
  grep -o '](\([a-zA-Z/.-]*\))' "$page" | tr -d '()]' | while read -r link; do
    test -s "$(dirname "$page")/$link" || echo "${page#"$GEMEM_SRCDIR/"}: $link"
  done
done >broken
check 'every link leads to a file' sh -c '! grep . broken'
for page in "$GEMEM_SRCDIR"/doc/*.md; do grep -q "\`$(basename "$page")\`" "$GEMEM_SRCDIR/doc/README.md" || basename "$page"; done | grep -v '^README.md$' >unlisted
check 'doc/README.md lists every page' sh -c '! grep . unlisted'
check 'the first picture comes in the first 40 lines of README.md' sh -c 'head -n 40 "$GEMEM_SRCDIR/README.md" | grep -q "^!\["'
check 'README.md is the first minute: below 8 kB' sh -c 'test $(wc -c <"$GEMEM_SRCDIR/README.md") -lt 8192'
done_testing
