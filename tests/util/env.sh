#!/bin/sh
# env.sh SRCDIR BUILDDIR SHARED - the one environment all tests run in; source it to run a test by hand:
#   . tests/util/env.sh . . ../shared; tests/unit/test-units
# Fixed locale, zone and home, so that a test sees the same world everywhere.
GEMEM_SRCDIR=${GEMEM_SRCDIR:-$(cd "$1" && pwd)}
GEMEM_BUILDDIR=${GEMEM_BUILDDIR:-$(cd "$2" && pwd)}
GEMEM_SHARED=${GEMEM_SHARED:-$3}
GEMEM_PROFILES=$GEMEM_SRCDIR/sim/device/profiles
PATH=$GEMEM_BUILDDIR:$PATH
LC_ALL=C TZ=UTC0 COLUMNS=120
unset GEMEM_PLUGIN_PATH G_MESSAGES_DEBUG || :
export GEMEM_SRCDIR GEMEM_BUILDDIR GEMEM_SHARED GEMEM_PROFILES PATH LC_ALL TZ COLUMNS
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
