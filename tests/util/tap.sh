#!/bin/sh
# tap.sh - what shell tests share: TAP points about commands, their output and exit status; no output format is parsed by column.
#
#   . "$GEMEM_SRCDIR/tests/util/tap.sh"
#   run 0 gemem-sim list            runs, keeps stdout and stderr in $out and $err, checks the status
#   says out 'pytorch-caching'      the last command's stdout holds a line that matches (grep -E); lacks: there are lines, and none matches
#   done_testing
# Each test script works in an empty folder of its own, removed at the end.
folders='base devices traces graphs workloads planners allocators sim record dry' # of the product, in the order in which they may use each other
GEMEM_TMP=$(mktemp -d) || exit 99
trap 'rm -rf "$GEMEM_TMP"' EXIT
cd "$GEMEM_TMP" || exit 99
out=$GEMEM_TMP/.out err=$GEMEM_TMP/.err
tap_count=0 tap_failed=0

ok () { # STATUS NAME
  tap_count=$((tap_count + 1))
  if [ "$1" -eq 0 ]; then echo "ok $tap_count - $2"; else
    echo "not ok $tap_count - $2"; tap_failed=$((tap_failed + 1)); fi
}

points () { # FILE, whose lines are "ok - NAME" or anything else
  while read -r line; do
    case $line in
      'ok - '*) ok 0 "${line#ok - }" ;;
      *) ok 1 "${line#not ok - }" ;;
    esac
  done <"$1"
}

skip () { # NAME REASON
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP $2"
}

# TRUE if gemem-sim has the CUDA device; the stand-in driver is there in every build.
has_cuda () { grep -q '^#define HAVE_CUDA 1' "$GEMEM_BUILDDIR/config.h"; }

# TRUE if this build is instrumented: a sanitizer wants terabytes of addresses, several times the memory, and to be loaded first.
is_sanitized () { grep -q '^SANITIZER_FLAGS = .\|-fsanitize' "$GEMEM_BUILDDIR/Makefile"; }

# What has nothing to tell a sanitizer: tests of the tree, its texts and its makefiles, of scripts that no program of ours reads, and of figures
# that programs without instrumentation made.  The same tests run in every other build.
case ${0#"${0%/*/*}"/} in
build/test-install.sh) ;; # its first part: the examples
build/test-*.sh | mutants/test-*.sh | bench/test-bench.sh)
  ! is_sanitized || { echo '1..0 # SKIP it runs no code of ours that other tests do not run (tests/util/tap.sh)'; exit 0; } ;;
esac

# shared FOLDER: TRUE if the shared data has it; where GEMEM_REQUIRE=shared, missing data is a failure.
shared () {
  [ ! -d "$GEMEM_SHARED/$1" ] || return 0
  [ "${GEMEM_REQUIRE:-}" != shared ] || ok 1 "$GEMEM_SHARED/$1 is there (GEMEM_REQUIRE=shared)"
  return 1
}

# run STATUS COMMAND...: one TAP point.  A crash (128 and more, but 130) or a sanitizer's report is never what was expected.
run () {
  tap_want=$1; shift
  "$@" >"$out" 2>"$err" </dev/null
  tap_got=$?
  if [ $tap_got -ne "$tap_want" ] || grep -q 'Sanitizer\|runtime error' "$err"; then
    ok 1 "exit $tap_want: $*"
    echo "# exit status $tap_got"; sed 's/^/# /' "$err" | head -n 20
  else
    ok 0 "exit $tap_want: $*"
  fi
}

# says out|err PATTERN: the last command wrote a line that matches.
says () {
  eval "tap_file=\$$1"
  # shellcheck disable=SC2154 # set by eval
  grep -Eq -- "$2" "$tap_file"; tap_status=$?
  ok $tap_status "$1 says: $2"
  [ $tap_status -eq 0 ] || sed 's/^/# /' "$tap_file" | head -n 20
}

# lacks out|err|FILE PATTERN: no line there matches.  A file that is not there or empty proves nothing; stderr may be empty.
lacks () {
  case $1 in out | err) eval "tap_file=\$$1" ;; *) tap_file=$1 ;; esac
  grep -Eq -- "$2" "$tap_file"; tap_status=$(($? != 1))
  [ "$1" = err ] || [ -s "$tap_file" ] || tap_status=1
  ok $tap_status "$1 lacks: $2"
  [ $tap_status -eq 0 ] || grep -E -- "$2" "$tap_file" 2>&1 | sed 's/^/# /' | head -n 20
}

# silent out|err: the last command wrote nothing there.
silent () {
  eval "tap_file=\$$1"
  [ ! -s "$tap_file" ]; tap_status=$?
  ok $tap_status "$1 is empty"
  [ $tap_status -eq 0 ] || sed 's/^/# /' "$tap_file" | head -n 20
}

# check NAME COMMAND...: the command succeeds.
check () {
  tap_name=$1; shift
  "$@" >"$GEMEM_TMP/.check" 2>&1; tap_status=$?
  ok $tap_status "$tap_name"
  [ $tap_status -eq 0 ] || sed 's/^/# /' "$GEMEM_TMP/.check" | head -n 20
}

done_testing () {
  echo "1..$tap_count"
  exit $((tap_failed > 0))
}
