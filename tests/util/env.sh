#!/bin/sh
# env.sh - the one environment all tests run in.  Set GEMEM_SRCDIR, GEMEM_BUILDDIR (default: here) and GEMEM_SHARED (default:
# ../shared beside the source), then source it; to run a test by hand in a source build:
#   . tests/util/env.sh; make tests/unit/test-units && tests/unit/test-units
# Fixed locale, zone and width, so that a test sees the same world everywhere.
GEMEM_SRCDIR=$(cd "${GEMEM_SRCDIR:-.}" && pwd)
GEMEM_BUILDDIR=$(cd "${GEMEM_BUILDDIR:-.}" && pwd)
GEMEM_SHARED=${GEMEM_SHARED:-$GEMEM_SRCDIR/../shared}
GEMEM_PROFILES=$GEMEM_SRCDIR/devices/profiles
PATH=$GEMEM_BUILDDIR/tests/started:$GEMEM_BUILDDIR:$PATH
LC_ALL=C TZ=UTC0 COLUMNS=120
unset GEMEM_PLUGIN_PATH G_MESSAGES_DEBUG || :
# What a program's environment says about its allocator: gemem-sim would note it.
for variable in $(env | sed -n 's/^\(FLAGS_[A-Za-z0-9_]*\|[A-Z0-9_]*ALLOC_CONF\|GE_USE_STATIC_MEMORY\|OP_NO_REUSE_MEM\|MAX_RUNTIME_CORE_NUMBER\|ENABLE_DYNAMIC_SHAPE_MULTI_STREAM\)=.*/\1/p'); do unset "$variable"; done
export GEMEM_SRCDIR GEMEM_BUILDDIR GEMEM_SHARED GEMEM_PROFILES PATH LC_ALL TZ COLUMNS
# For the sanitizers: every block of memory is one of malloc's, and GLib's own locks are known to order things.  Freed memory is held
# back up to 16 MB of it, not 256: fresh pages for each block take half of the time of tests that allocate much.
export G_SLICE=always-malloc TSAN_OPTIONS="${TSAN_OPTIONS:-suppressions=$GEMEM_SRCDIR/tests/util/tsan.supp}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:quarantine_size_mb=16}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
