#!/bin/sh
# test-cli-order.sh - traces that tell the order of streams (has-order): formats, checks, and what cuda-async decides by them.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat >order.txt <<'END'
# gemem-trace: 5
# allocator: "cuda-async"
alloc 1 size=2MiB stream=1
alloc 2 size=2MiB stream=2
work 7 stream=1
free 1 stream=1
alloc 3 size=2MiB stream=2
work-done 7
stream-sync stream=1 aux=1
alloc 4 size=2MiB stream=2
# end: 8
END

# ---- formats
run 0 gemem-sim convert order.txt order.gmt; run 0 gemem-sim convert order.gmt again.txt
check 'native and text hold the same' sh -c 'gemem-sim convert again.txt - -f text | grep -v "^#" >a; gemem-sim convert order.txt - -f text | grep -v "^#" >b; test -s a && cmp a b'
check 'the text is version 5' test "$(head -n 1 again.txt)" = '# gemem-trace: 5'
check 'the native file is version 5' test "$(od -An -tu1 -j8 -N1 order.gmt | tr -d ' ')" = 5
check 'the free keeps its stream' grep -qx 'free 1 stream=1' again.txt
run 0 gemem-sim validate order.gmt; run 0 gemem-sim info order.gmt; says out 'work 1, work-done 1'
sed '1s/5/4/' order.txt >old.txt; run 3 gemem-sim info old.txt; says err "old.txt:5: 'work' is an event of version 5; let the first line be '# gemem-trace: 5'"
sed 's/^work 7 .*/settings tag="x"/' order.txt >old.txt; run 3 gemem-sim info old.txt; says err "'settings' needs a line '# flags: has-settings' before the events"
sed 's/^work-done 7/work-done 8/' order.txt >bad.txt; run 3 gemem-sim validate bad.txt; says out 'work 8 is done, which was not pending'
sed 's/aux=1/aux=2/' order.txt >bad.txt; run 3 gemem-sim validate bad.txt; says out 'stream-sync with aux=2'
run 0 gemem-sim convert --anonymous=names order.txt - -f text; says out '^work 7 stream=1'
run 0 gemem-sim replay order.txt -a cuda-async --record again.gmt; run 0 gemem-sim convert again.gmt - -f text; says out '^work-done 7'; says out '^free 1 .*stream=1'
run 0 gemem-sim help work; run 0 gemem-sim help work-done

# ---- decisions: what is behind pending work waits; without the work block 3 lies where 1 lay
run 0 gemem-sim replay order.txt -a cuda-async --events log.txt --check
check 'block 3 lies behind block 2' grep -q '^4,alloc,3,2097152,0x200000400000,' log.txt
check 'block 4 lies where 1 lay' grep -q '^7,alloc,4,2097152,0x200000000000,' log.txt
sed -e '/^work/d' -e 's/end: 8/end: 6/' order.txt >idle.txt; run 0 gemem-sim replay idle.txt -a cuda-async --events log.txt --check; lacks out assumed
check 'block 3 lies where 1 lay' grep -q '^3,alloc,3,2097152,0x200000000000,' log.txt
# a trace without the flag does not tell on which stream a block is freed, and the answer says so
sed -e '1s/5/4/' idle.txt >silent.txt; sed -i -e '/^stream-sync/d' -e 's/end: 6/end: 5/' silent.txt; run 0 gemem-sim replay silent.txt -a cuda-async; says out 'does not say on which of them a block was freed'
# attributes that a recorded program has set count in a recording of CUDA's calls, unless other ones are given
cat >set.txt <<'END'
# gemem-trace: 5
# flags: has-order,has-settings
settings tag="release_threshold=unlimited"
alloc 1 size=64MiB
free 1
device-sync
alloc 2 size=64MiB
free 2
# end: 6
END
run 0 gemem-sim replay set.txt -a cuda-async -v; says out 'growths +2$'; lacks out 'unmap'
run 0 gemem-sim replay set.txt -a cuda-async:release_threshold=0 -v; says out 'growths +4$'
run 0 gemem-sim replay set.txt -a cuda-async -v --no-trace-settings; says out 'growths +4$'
run 0 gemem-sim replay set.txt -a rmm-cuda-async -v; run 0 gemem-sim replay set.txt -a pytorch-caching
# other allocators pass over it
run 0 gemem-sim replay order.txt -a pytorch-caching --check; run 0 gemem-sim compare order.txt -a direct -a tf-bfc --check
done_testing
