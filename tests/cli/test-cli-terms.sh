#!/bin/sh
# test-cli-terms.sh - every name that a user of a real system knows finds its help, with a command that runs: `gemem-sim help NAME`.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cd "$GEMEM_SRCDIR" || exit 99 # commands to try name the bundled graphs
found () { # NAME PATTERN: NAME is explained, the explanation has a line that matches, and each command to try runs
  run 0 gemem-sim help "$1"
  says out "$2"
  sed -n '/train\.out\| FILE\| -d cuda/d; s/^ *Try: //p' "$out" >"$GEMEM_TMP/try"
  is_sanitized || check "$1: the commands run" sh -c "test -s '$GEMEM_TMP/try' && { sh -ex '$GEMEM_TMP/try' >'$GEMEM_TMP/tried' 2>&1 || { tail -n 5 '$GEMEM_TMP/tried'; exit 1; }; }"
}

# ---- the names of the real systems
found static_memory_policy    '^static_memory_policy: parameter of allocator ge$'
says out '^static_memory_policy: parameter of planners ge-hybrid, .*ge-block'
says out ' gemem-sim replay - -a ge:static_memory_policy=[234]$'
found GE_USE_STATIC_MEMORY    '^GE_USE_STATIC_MEMORY: parameter of allocator ge$'
says out '--env .*: GE_USE_STATIC_MEMORY$'
found atomic_clean_policy     'parameter of lowering zero-clear'
found legacy                  '^legacy: value of allocator_strategy \(shorthand paddle\)'
says out '^paddle-buddy \(allocator\)'
found naive_best_fit          '^paddle-best-fit \(allocator\)'
found allocator_strategy      'parameter of shorthand paddle$'
found FLAGS_allocator_strategy '^FLAGS_allocator_strategy: parameter allocator_strategy of shorthand paddle$'
found memory_optimize         '^paddle-memory-optimize \(planner\)'
found skip_opt_set            'parameter of planner paddle-memory-optimize$'
found print_log               '^--print-log: option of gemem-sim plan$'
found release_memory          '^paddle-release-memory \(planner\)'
found ScalableAllocator       '^ge-scalable \(allocator\)'
found PhysicalMemoryAllocator '^ge-physical \(allocator\)'
found batch_label             'parameter of lowerings eager, .*paddle$'
found max_split_size_mb       'parameter of allocator pytorch-caching$'
found max_memory_allocated    'peak allocated: measure'
found torch.cuda.max_memory_reserved 'peak reserved: measure'
found num_ooms                'failed: measure'
found fragmentation           'frag\. at live peak: measure'
found cudaMalloc              '^malloc: measure \(calls_malloc\)$'
found rtReserveMemAddress     '^reserve: measure \(calls_reserve\)$'
found rtMallocPhysical        '^create: measure \(calls_create\)$'
found aclmdlExecute           '^graph-run: event of a trace$'
found BlockMemAssigner        '^ge-block \(planner\)'
found kMaxSplitSizeForDynamicBatch '^ge-dynamic-batch \(planner\)'
found MemoryConfig            '^ge \(allocator\)'
found single_thread           'parameter of allocators ge, '
found leak                    'live at end: measure'
found empty_cache             '^trim: event of a trace$'
# words that people bring
for word in 'out of memory' 'CUDA out of memory' reserved 'reserved but unallocated' fragmentation session lowering policy 'device profile' 'lower bound' segment block; do
  run 0 gemem-sim help "$word"; sed -n 's/^ *Try: //p' "$out" | head -n 1 >"$GEMEM_TMP/first"
  check "$word: its first command runs" sh -c 'test -s "$1" && cd "$GEMEM_SRCDIR" && sh -e "$1" >/dev/null' - "$GEMEM_TMP/first"
done
# words of the manuals, each with a command that shows it
for word in HCOM rtsStreamSwitchByIndex ops_kernel_info_hccl OPTION_FEATURE_BASE_REFRESHABLE IsNoNeedAssignMemory is_zero_copy_ IsRealSizeReuseBlock \
  continuous_block_ atomic_addr_clean_id_ is_fixed_addr_prior_ suspended life_time_begin_ PreAssign NETOUTPUT 400MB multi-batch 'static reuse' MemoryPool \
  DeviceAllocator AllocateWithTryRecycle aclrtGetDevice scalable expandable latency TemporaryAllocator NCCLAllReduce mlock 存储管理 分配器策略 垃圾回收策略 \
  同步局域删除 快速垃圾回收策略 内存原位复用 内存块 空闲内存 临时变量; do found "$word" "^$word\$|^MemoryPool"; done
for event in sleep wake region-end use-on-stream pool-release graph-unload; do
  run 0 gemem-sim help $event; sed -n 's/^ *Try: //p' "$out" >"$GEMEM_TMP/try"
  check "$event: what to try shows such an event" sh -c "sh '$GEMEM_TMP/try' 2>&1 | grep -q '^$event '"
done
found upstream                '^upstream: parameter of allocators rmm-pool, rmm-arena, rmm-binning, rmm-fixed-size, rmm-limiting$'
check 'it is explained once' sh -c "test \$(grep -c '^upstream: ' '$out') = 1"
run 0 gemem-sim help rmm-limiting; check 'an allocator is no value of others' sh -c "! grep -q ': value of ' '$out'"
found PYTORCH_CUDA_ALLOC_CONF 'parameter conf of allocator pytorch-caching$'
found CUDACachingAllocator    '^pytorch-caching \(allocator\)'
found peak_reserved           '^peak reserved: measure \(peak_reserved\)$'
found continuous_input        '^continuous_input: attribute of a node of a graph$'
found capacity                'parameter of devices? .*sim'

found zero_copy               '^zero_copy: parameter of generator ge-session$'
says out '^See also: .*zero_copy_alignment'
found alignment               '^alignment: parameter of planners no-reuse, '
says out '^See also: .*zero_copy_alignment'
found device_id               '^device_id$'
found RT_MEMORY_P2P_DDR       '^RT_MEMORY_P2P_DDR$'
found NPURunConfig            '^ge \(allocator\)'
found 'not allowed'           '^not allowed$'
found ContinuousMemMng        '^ContinuousMemMng$'
found rules                   '^rules: parameter of allocator ge$'
check 'what the parameter means in general comes first' sh -c "head -n 1 '$out' | grep -qx rules && sed -n 2p '$out' | grep -q 'rules=as-built, the default'"

# ---- spelling does not matter, and all places are named
for word in STATIC-MEMORY-POLICY staticMemoryPolicy ge.exec.staticMemoryPolicy; do run 0 gemem-sim help $word; says out 'of allocator ge$'; done
run 0 gemem-sim help 'torch.cuda.empty_cache()'; says out '^trim: event'
run 0 gemem-sim help external at live peak; says out 'external_at_live_peak\)$'
run 0 gemem-sim help plan;  says out '^Usage: gemem-sim plan'; says out '^plan \(allocator\)'
run 0 gemem-sim help paddle; says out '^paddle \(shorthand\)'; says out '^paddle \(lowering\)'
run 0 gemem-sim help cuMemSetAccess; says out 'these descriptions mention it'; says out '\(calls_map\)$'
run 0 gemem-sim help FLAGS_use_cuda_managed_memory; says out 'Not modelled: it lets the driver'

# ---- what is no name
run 2 gemem-sim help ScalabelAllocator; says err "no help on 'ScalabelAllocator'; did you mean 'ScalableAllocator'\?"
run 2 gemem-sim help zzz;               says err "no help on 'zzz'; 'gemem-sim help terms' lists all"
run 2 gemem-sim help chunk_size_in;     says err 'did you mean .*auto_growth_chunk_size_in_mb'

# ---- the index has every name in every table
cd "$GEMEM_TMP" || exit 99
run 0 gemem-sim help terms
sed 's|  .*||' "$out" | sort -u >index
gemem-sim list --format=json | jq -r '.[] | .name, .parameters[].name' | sort -u >names
check 'every class and every parameter is in the index' sh -c 'test $(wc -l <names) -gt 250 && test -z "$(comm -23 names index | tee /dev/stderr)"'
for topic in $(gemem-sim list --names | sort -u); do gemem-sim help "$topic" || echo "Known as: no help for $topic"; done |
  sed -n 's/^ *Also: //p; s/^Also called: //p; s/^Known as: //p' | tr '|' '\n' | sed 's/, /\n/g' | sort -u >others
check 'every alias and every known name is in the index' sh -c 'test $(wc -l <others) -gt 80 && test -z "$(comm -23 others index | tee /dev/stderr)"'
check 'and is found: every twelfth' sh -c 'sed -n "0~12p" index | while read -r word; do gemem-sim help "$word" >help || exit 1; test -s help || exit 1; done'
check 'every command, too' sh -c 'for c in replay compare plan help; do grep -qx $c index || exit 1; done'
run 0 gemem-sim help terms; lacks out '\(null\)'
check 'every kind of event has a sentence' test "$(grep -c '  .*event\(;\|$\)' "$out")" -ge 27

# choices stand alone, what else may be written for them beside
run 0 gemem-sim help pytorch-caching
says out '^  version=2\.6\|2\.8\|2\.9\|2\.10\|2\.11\|2\.12\.1\|2\.13\|2\.15  .default: 2\.15.$'
says out '^      Also written: .* 2\.7 for 2\.6; 2\.12 for 2\.12\.1; 2\.14 for 2\.13$'
printf "# gemem-trace: 1\nalloc 1 size=1MiB\n# end: 1\n" >one.txt
run 0 gemem-sim replay -v one.txt -a gmlake:vmmDefragment=0,fragLimit=2MiB; says err "fragLimit and autoGC have no effect with vmmDefragment=0"
run 0 gemem-sim replay -v one.txt -a gmlake:vmmDefragment=0; silent err
run 0 gemem-sim help MULTI_STREAM_MEMORY_REUSE; check 'nothing is said where there is nothing else' sh -c "! grep 'Also written' '$out'"
done_testing
