#!/bin/sh
# test-cli-releases.sh - releases as people name them: patch numbers and local versions are their release, older and unknown ones the
# nearest known one, with one line that says so.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
printf 'a x 1048576\n' >t.txt

is () { # ALLOCATOR VERSION KNOWN: replayed as KNOWN without a word
  run 0 gemem-sim replay t.txt -a "$1:version=$2" -f json; lacks err 'nearest release known'
  says out "\"version\": \"$3\""
}
stands () { # ALLOCATOR VERSION KNOWN: replayed as KNOWN, which is said once
  run 0 gemem-sim replay t.txt -a "$1:version=$2" -f json; says out "\"version\": \"$3\""
  says err "note: version=$2: the rules of $3 are used, the nearest release known$"; lines 1
}
lines () { check "$1 line on standard error" test "$(wc -l <"$err")" -eq "$1"; }

is pytorch-caching 2.6 2.6; is pytorch-caching 2.6.0+cu124 2.6; is pytorch-caching 2.6.1 2.6; is pytorch-caching 2.12.0 2.12.1; is pytorch-caching 2.15.0a0+git1234 2.15
is torch-npu 2.9.0.post9 2.9.0.post9; is cupy-pool 13.6.0 13.6; is rmm-pool 26.10.00 26.10
for version in 1.5.1 1.5.1.post97 1.5; do is paddle $version 1.5; done
is paddle 2.6.2 2.6; is paddle 3.3.1 3.x
stands pytorch-caching 2.2 2.6; stands pytorch-caching 1.13.1 2.6; stands pytorch-caching 2.16 2.15; stands pytorch-caching 2.14.1 2.13
stands cupy-pool 13.2 13.6; stands cupy-pool 14.0 13.6; stands rmm-pool 25.02 24.12
# what is no release, or where another name of the allocator served, is refused
for version in x 2.x+ two '' +cu124 -1; do run 2 gemem-sim replay t.txt -a "pytorch-caching:version=$version"; says err 'not one of the choices'; done
run 2 gemem-sim replay t.txt -a paddle:version=9.1; says err 'not one of the choices'
run 2 gemem-sim replay t.txt -a paddle-auto-growth:version=1.5.1; says err 'not one of the choices'
stands pytorch-caching 99999999999999999999999 2.15

# a recording of such a release
printf '# gemem-trace: 1\n# allocator: "pytorch-caching"\n# settings: "version=2.2"\nalloc 1 size=1MiB\n# end: 1\n' >old.txt
run 0 gemem-sim replay old.txt; says err '^gemem-sim: note: old.txt: version=2.2: the rules of 2.6 are used, the nearest release known$'; lines 1
run 0 gemem-sim replay old.txt -a pytorch-caching:version=2.6; silent err
run 0 gemem-sim replay old.txt --no-trace-settings; lacks err 'nearest release'
run 3 gemem-sim old.txt; says out '^version=2.2: the rules of 2.6 are used, the nearest release known$'
# one that may be of the release known: nothing to say
run 0 gemem-sim "$GEMEM_SRCDIR/tests/data/pytorch/expandable-2.6.pickle.gz" --capacity 1GiB; says out 'pytorch-caching 2\.5 to 2\.7'; lacks out 'nearest release'

# ---- a line that an older release refuses: PyTorch 2.0.1 does not start with it, 2.1.2 does
wasteful () { # WHAT IS SAID OF ITS PYTORCH
  printf '# gemem-trace: 2\n# allocator: "pytorch-caching"\n# provenance: "PyTorch: %s"\n' "$1"
  awk 'BEGIN { for (i = 1; i <= 8; i++) print "alloc " i " size=13MiB"; for (i = 1; i <= 8; i++) print "free " i
    for (i = 9; i <= 12; i++) print "alloc " i " size=24MiB"; print "# end: 20" }'
}
wasteful '2.0 or older (inferred: there is no address)' >older.txt
run 3 gemem-sim older.txt; says out '88\.00 MiB \(42\.3 %\) less; 2 device calls more; version 2\.0 refuses it$'
run 0 gemem-sim tune older.txt -a 'pytorch-caching:expandable_segments=*'; says out '^  version 2\.0 refuses it, and the program has 2\.0 or older$'
wasteful '2.1' >later.txt
run 3 gemem-sim later.txt; says out '88\.00 MiB \(42\.3 %\) less; 2 device calls more$'; lacks out refuses

done_testing
