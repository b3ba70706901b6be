#!/bin/sh
# test-cli-decisions.sh - single decisions that no other test saw when a line was changed at random: each stands with the smallest case in which it counts.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# torch_npu's garbage collection waits for the device before it releases; PyTorch's does not
awk 'BEGIN { print "# gemem-trace: 1"; for (i = 1; i <= 40; i++) print "alloc " i " size=104857600"; for (i = 1; i <= 40; i++) print "free " i
  for (i = 41; i <= 44; i++) print "alloc " i " size=210763776"; print "# end: 84" }' >collected.txt
settings=garbage_collection_threshold=0.5,per_process_memory_fraction=0.75
run 0 gemem-sim replay collected.txt -a torch-npu:$settings -d sim:capacity=8GiB -f json
says out '"device_frees": 40,$'; says out '"calls_syncs": 1,$'
run 0 gemem-sim replay collected.txt -a pytorch-caching:$settings -d sim:capacity=8GiB -f json
says out '"device_frees": 40,$'; says out '"calls_syncs": 0,$'

# while PaddlePaddle's version 2 warms up, a larger free block does not serve
printf 'a 1 4194304\nf 1\na 2 2097152\n' >smaller.ops
run 0 gemem-sim replay smaller.ops -a paddle-auto-growth:use_auto_growth_v2=no -f json; says out '"peak_reserved": 4194304,$'
run 0 gemem-sim replay smaller.ops -a paddle-auto-growth:use_auto_growth_v2=yes -f json; says out '"peak_reserved": 6291456,$'

# the limit of PaddlePaddle's flag counts for each thread's allocator
printf 'a 1 1073741824\na 2 1073741824\na 3 1073741824\n' >three.ops
run 0 gemem-sim replay three.ops -a paddle-thread-local; says out '^every request was served'
run 0 gemem-sim replay three.ops -a paddle-thread-local:gpu_memory_limit_mb=2048; says out '^does not fit: 2 of 3 requests failed'

# a device may be free as a whole when the program begins
run 0 gemem-sim replay smaller.ops -d sim:total=1GiB,available=1GiB; says out '^every request was served'
run 2 gemem-sim replay smaller.ops -d sim:total=1GiB,available=1025MiB

# QuickPool has what it would coalesce to as soon as the idle block is gone: no request for what is missing, which is nothing
{ seq 13 | sed 's/.*/a & 16/'; seq 2 2 12 | sed 's/^/f /'; echo 'a 20 32'; echo 'f 20'; } >gaps.ops
run 0 gemem-sim replay gaps.ops -a umpire-quick:first=208B,next=1B,coalesce=blocks_releasable_hwm:1 -f json
says out '"calls_malloc": 2,$'; says out '"device_frees": 1,$'

# a node that waits for itself, without data and with
printf '{"name": "g", "nodes": [{"name": "a", "outputs": [{"size": 512}], "controls": ["a"]}]}' >self.json
run 3 gemem-sim validate self.json; says err "node 'a': is part of a cycle: 'a' -> 'a'$"
printf '{"name": "g", "nodes": [{"name": "a", "inputs": [["a", 0]], "outputs": [{"size": 512}]}]}' >fed.json
run 3 gemem-sim validate fed.json; says err "node 'a': is part of a cycle: 'a' -> 'a'$"

# memory_optimize joins the blocks of a loop and of its gradient only where they come in that order: else the loop's alone is gone through
printf '%s\n' '{"name": "loop", "nodes": [{"name": "w", "type": "while", "blocks": ["f"], "outputs": [{"size": 32}]},' \
  '{"name": "wg", "type": "while_grad", "blocks": ["b"], "inputs": [["w", 0]], "outputs": [{"size": 32}]},' \
  '{"name": "gs", "block": 2, "outputs": [{"size": 32}]}, {"name": "gt", "block": 2, "inputs": [["gs", 0]], "outputs": [{"size": 32}]},' \
  '{"name": "gu", "block": 2, "inputs": [["gt", 0]], "outputs": [{"size": 32}]}, {"name": "s", "block": 1, "outputs": [{"size": 32}]},' \
  '{"name": "t", "block": 1, "inputs": [["s", 0]], "outputs": [{"size": 32}]}, {"name": "u", "block": 1, "inputs": [["t", 0]], "outputs": [{"size": 32}]}]}' >loop.json
run 0 gemem-sim plan loop.json -p paddle-memory-optimize:print_log=yes --no-time
says out '^!!! 0,  u:0\[32\] => s:0\[32\], '; check 'and nothing else' test "$(grep -c '^!!!' "$out")" = 1

# a plan's file has workspaces, too: it is safe as it is read again
printf '%s' '{"name": "g", "nodes": [{"name": "a", "outputs": [{"size": 512}], "workspaces": [1024]}, {"name": "b", "inputs": [["a", 0]], "outputs": [{"size": 512}]}]}' >ws.json
run 0 gemem-sim plan ws.json -p first-fit --plan plan.json -o /dev/null; run 0 gemem-sim plan --check plan.json ws.json; says out ': safe: 3 items in 1\.500 KiB'
done_testing
