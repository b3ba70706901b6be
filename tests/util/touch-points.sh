#!/bin/sh
# touch-points.sh - what --touch must find and must not find, on whatever libcuda.so.1 the program opens; sourced by tests/dry/test-touch.sh and
# tests/gpu/test-touch.sh after tap.sh.

# touch_plugin: the allocator `broken` (tests/programs/plugin-broken.c) becomes known.
touch_plugin () {
  mkdir -p plugins && cp "$GEMEM_BUILDDIR"/tests/programs/.libs/plugin-broken.so plugins/ || return 1
  GEMEM_PLUGIN_PATH=$PWD/plugins
  export GEMEM_PLUGIN_PATH
}

# Both blocks have a name: the one verified, and the one whose bytes it holds.
touch_finds_planted_faults () {
  if gemem-sim version | grep -q 'checks 2'; then
    skip 'planted faults' 'full checks find them first'
    return
  fi
  live='block [0-9]+ \([0-9. KMGi]*B at 0x[0-9a-f]+, allocated at event [0-9]+(, freed at event [0-9]+)?\)'
  check 'a trace with blocks of a size is written' gemem-sim generate random:events=2000,live=60,sizes=fixed,size_max=20000,streams=2 -o same.gmt
  run 0 gemem-sim replay -v same.gmt -a broken -d "$1" --touch
  says out 'touch_fills +1[0-9]{3}$'
  # Each block is verified once when it goes; what is more was drawn at random.
  check 'blocks are verified at random in between, too' awk '/touch_fills/ { f = $2 } /touch_verifications/ { v = $2 } END { exit !(v > f * 5 / 4) }' "$out"
  run 1 gemem-sim replay same.gmt -a broken:fault=overlap -d "$1" --touch
  says err "same.gmt: allocator broken: event [0-9]+: $live, verified (at random|before it is freed), has in place of its byte [0-9]+ byte 0 of $live: they share memory"
  run 1 gemem-sim replay same.gmt -a broken:fault=alias -d "$1" --touch
  says err "$live, verified .*, has in place of its byte 0 byte 0 of $live: they share memory"
  run 1 gemem-sim replay same.gmt -a broken:fault=unmap -d "$1" --touch
  says err "event [0-9]+: unmap of 2.000 MiB at 0x[0-9a-f]+ takes memory from under $live, which is live: .*CUDA_ERROR_ILLEGAL_ADDRESS"
}

# touch_finds_nothing DEVICE EVENTS: in no allocator of the registry.
touch_finds_nothing () {
  check "a trace of $2 events is written" gemem-sim generate "random:events=$2,live=100,size_max=64KiB,streams=3" -o sound.gmt
  unset GEMEM_PLUGIN_PATH
  run 0 gemem-sim compare -v sound.gmt -a '*' -d "$1" --touch
}
