#!/bin/sh
# test-determinism.sh - promise 6.1 of the design: same inputs, same bytes, whatever the run, the jobs, the locale, the time zone, the
# memory layout and what lay in memory before.  long-determinism.sh asks the same of compilers and optimisation levels.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
# shellcheck source=tests/determinism/comma-locale.sh
. "$GEMEM_SRCDIR/tests/determinism/comma-locale.sh"
# shellcheck disable=SC2154 # err comes from tap.sh
produce=$GEMEM_SRCDIR/tests/determinism/produce.sh

# same NAME COMMAND...: what COMMAND produces in a new folder equals the first folder.
same () {
  same_name=$1; shift
  rm -rf other
  if "$@" >"$err" 2>&1; then
    check "$same_name" diff -rq first other
  else
    ok 1 "$same_name"; sed 's/^/# /' "$err" | head -n 20
  fi
}

check "outputs are produced" sh "$produce" first 1
# The comparison is of something: files of every kind, none empty, and failures among the decisions.
check "there are results, decisions, plots and maps" test -s first/small.json -a -s first/small.csv -a -s first/random-direct.csv \
  -a -s first/train-direct.svg -a -s first/plots/timeline-random.dat -a -s first/plots/comparison-train.gp
check "no file is empty" sh -c 'test -z "$(find first -type f -size 0)"'
check "some requests failed" sh -c 'grep -Eq "^[0-9]+,alloc,[0-9]+,[0-9]+,,,[0-9]+,[0-9]+$" first/random-direct.csv'
if command -v gnuplot >/dev/null; then
  check "pictures are drawn" test -s first/plots/timeline-random.svg
else
  skip "pictures are drawn" "no gnuplot"
fi

same "a second run" sh "$produce" other 1
same "eight jobs instead of one" sh "$produce" other 8

if is_sanitized; then
  skip "another locale, time zone and memory layout" "a sanitizer sees no more in them than in the runs before"
else
  if [ -n "$comma_locale" ]; then
    same "a locale with a decimal comma" in_comma_locale sh "$produce" other 2
  else
    skip "a locale with a decimal comma" "none is installed, and localedef cannot make one"
  fi

  same "another time zone" env TZ=XYZ-05:45 sh "$produce" other 2

  if setarch -R true 2>/dev/null; then
    same "no address-space randomisation" setarch -R sh "$produce" other 2
  else
    skip "no address-space randomisation" "setarch -R is not permitted here"
  fi

  # Stack and heap elsewhere, and never zero by chance (sanitizers bring their own malloc, which does not look at this).
  same "another memory layout, freed memory overwritten" env MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 MALLOC_TOP_PAD_=9999991 \
    PADDING="$(head -c 60000 /dev/zero | tr '\0' x)" sh "$produce" other 3
fi

# The seed does matter: the folders are not equal because nothing varies.
run 0 gemem-sim generate random:events=4000,live=60,streams=3,size_max=16MiB --seed 8 -o seed8.gmt
check "another seed gives another trace" sh -c 'test -s first/random.gmt && ! cmp -s seed8.gmt first/random.gmt'
done_testing
