#!/bin/sh
# test-cli-paddle.sh - PaddlePaddle's flags as its users set them: behind -a, behind --lower, in the environment; bad values one by one; flags in the
# wrong place; several devices; host memory.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# refused PATTERN COMMAND...: exit status 2, exactly one line on stderr, of the agreed form, and it matches.
refused () {
  pattern=$1; shift
  run 2 "$@"
  says err "^gemem-sim: error: .*$pattern"
  check 'one line, and it says what to do' sh -c "test \$(wc -l < $err) = 1 && grep -q '; ' $err"
}
bad () { refused "$2" gemem-sim replay small.txt -a "$1"; }

# trace LINE...: a text trace of these events
trace () { echo '# gemem-trace: 1'; printf '%s\n' "$@"; echo "# end: $#"; }

trace 'alloc 1 size=1000' 'alloc 2 size=3145728' 'free 1' 'alloc 3 size=700 stream=4' 'free 2' > small.txt
cat > graph.json << 'EOF'
{"format": "gemem-graph", "name": "two", "nodes": [
  {"name": "a", "type": "x", "outputs": [{"size": 4096}]},
  {"name": "b", "type": "x", "inputs": [["a", 0]], "outputs": [{"size": 4096}]}]}
EOF

# ---- bad values, one by one
for a in paddle-buddy paddle-best-fit paddle-thread-local; do
  for value in -0.1 1.1 1e9; do bad "$a:FLAGS_fraction_of_gpu_memory_to_use=$value" "fraction_of_gpu_memory_to_use='$value': too "; done
  for value in nan NaN inf half '' 0.5GiB; do bad "$a:FLAGS_fraction_of_gpu_memory_to_use=$value" "fraction_of_gpu_memory_to_use='$value': "; done
  for flag in initial_gpu_memory_in_mb reallocate_gpu_memory_in_mb; do
    for value in -1 -500MiB 1.5.2 5apples 99999999999999999999; do bad "$a:FLAGS_$flag=$value" "FLAGS_$flag='$value': "; done
  done
  bad "$a:FLAGS_gpu_allocator_retry_time=-1" "gpu_allocator_retry_time='-1'"
  bad "$a:FLAGS_gpu_allocator_retry_time=5MiB" "gpu_allocator_retry_time='5MiB'"
done
bad paddle-buddy:FLAGS_free_idle_memory=2 "free_idle_memory='2': neither yes nor no"
bad paddle-buddy:place=cpu,FLAGS_fraction_of_cpu_memory_to_use=1.01 "fraction_of_cpu_memory_to_use='1.01': too large"
bad paddle-buddy:place=cpu,FLAGS_fraction_of_cpu_memory_to_use=nan "fraction_of_cpu_memory_to_use='nan'"
bad paddle-buddy:place=cpu,FLAGS_initial_cpu_memory_in_mb=-5 "initial_cpu_memory_in_mb='-5'"
bad paddle-buddy:place=pinned,FLAGS_fraction_of_cuda_pinned_memory_to_use=-0.5 "fraction_of_cuda_pinned_memory_to_use='-0.5': too small"
bad paddle-buddy:FLAGS_gpu_memory_limit_mb=-1 "gpu_memory_limit_mb='-1'"
bad paddle:FLAGS_allocator_strategy=best "allocator_strategy='best': not one of"
bad paddle:FLAGS_use_virtual_memory_auto_growth=maybe "use_virtual_memory_auto_growth='maybe'"
bad paddle:preset=P15 "preset='P15': not one of"
for flag in auto_growth_chunk_size_in_mb small_pool_size_in_mb; do bad "paddle-auto-growth:FLAGS_$flag=-1" "FLAGS_$flag='-1'"; done
for flag in free_idle_chunk free_when_no_cache_hit use_stream_safe_cuda_allocator use_auto_growth_v2; do
  bad "paddle-auto-growth:FLAGS_$flag=perhaps" "FLAGS_$flag='perhaps': neither yes nor no"
done
for a in paddle-auto-growth paddle-vmm-auto-growth; do
  bad "$a:FLAGS_alignment_size=768" 'power of two'
  bad "$a:FLAGS_alignment_size=128" "FLAGS_alignment_size='128': too small"
  bad "$a:FLAGS_gpu_memory_limit_mb=-1" "FLAGS_gpu_memory_limit_mb='-1'"
done
bad paddle:preset=P2,use_virtual_memory_auto_growth=yes,alignment_size=512 'alignment_size would have no effect: it is a flag in 3.x'
bad paddle:FLAGS_intial_gpu_memory_in_mb=5 "did you mean 'FLAGS_initial_gpu_memory_in_mb'"
run 0 gemem-sim replay -v small.txt -a paddle-buddy:FLAGS_fraction_of_gpu_memory_to_use=0.5; says out 'fraction_of_gpu_memory_to_use +0.5'
run 0 gemem-sim replay -v small.txt -a paddle-buddy:initial-gpu-memory-in-mb=0.5GiB;          says out 'initial_gpu_memory_in_mb +512MiB'

# ---- bad values of the executor's flags, one by one: as built and as documented
for rules in as-built documented; do
  lower=paddle:version=1.5,rules=$rules,executor=parallel,fuse_all_reduce_ops=yes,enable_inplace=yes,eager_delete_tensor_gb=0
  wrong () { refused "$1" gemem-sim info graph.json --lower="$lower,FLAGS_$1=$2"; }
  for value in -5 0 1.5 2147483648 three ''; do wrong fuse_parameter_groups_size "$value"; done
  for value in sixteen nan inf 16MiB ''; do wrong fuse_parameter_memory_size "$value"; done
  for value in -0.5 1.5 half nan ''; do wrong memory_fraction_of_eager_deletion "$value"; done
  for value in -5 1.5 2 maybe ''; do
    for flag in eager_delete_scope fast_eager_deletion_mode enable_inplace_whitelist; do wrong $flag "$value"; done
  done
  for value in half nan inf 1GiB ''; do
    refused eager_delete_tensor_gb gemem-sim info graph.json --lower="paddle:rules=$rules,FLAGS_eager_delete_tensor_gb=$value"
  done
  for value in -1 1.5 many; do refused scope_delay gemem-sim info graph.json --lower="paddle:rules=$rules,eager_delete_scope=no,scope_delay=$value"; done
  for value in -1 100.5 nan; do refused scope_cost gemem-sim info graph.json --lower="paddle:rules=$rules,eager_delete_scope=no,scope_cost=$value"; done
  for value in 1.1 1.9 2.7 4.0 P15 new ''; do refused version gemem-sim info graph.json --lower="paddle:rules=$rules,version=$value"; done
done
refused rules gemem-sim info graph.json --lower=paddle:rules=manual
refused rules gemem-sim plan graph.json -p paddle-inplace-pass:rules=5
refused "'version' and 'preset' exclude each other" gemem-sim info graph.json --lower=paddle:preset=P14,version=1.4

# ---- the groups of fused gradients
cat > training.json << 'EOF'
{"format": "gemem-graph", "name": "training", "variables": [
  {"name": "a.w", "dtype": "float32", "shape": [1000]}, {"name": "a.w@GRAD", "dtype": "float32", "shape": [1000]},
  {"name": "a.b", "dtype": "float32", "shape": [10]}, {"name": "a.b@GRAD", "dtype": "float32", "shape": [10]},
  {"name": "c.w", "dtype": "float32", "shape": [64]}, {"name": "c.w@GRAD", "dtype": "float32", "shape": [64]}],
 "nodes": [
  {"name": "n", "type": "x", "role": 1, "attributes": {"op_role_var": ["a.w", "a.w@GRAD", "a.b", "a.b@GRAD", "c.w", "c.w@GRAD"]},
   "outputs": [{"size": 4000, "variable": "a.w@GRAD"}, {"size": 40, "variable": "a.b@GRAD"}, {"size": 256, "variable": "c.w@GRAD"}]}]}
EOF
fuse () { run 0 gemem-sim info training.json --lower="paddle:executor=parallel,fuse_all_reduce_ops=yes,$1"; silent err; }
fuse version=2.6
says out '^  fused gradients: 3 of 3 in 2 groups, in 1 buffer of 4608 bytes$'
says out '^  fused group 1: 2 parameters, 4040 bytes, 4352 with padding: a\.w, a\.b$'
says out '^  fused group 2: 1 parameter, 256 bytes, 256 with padding: c\.w$'
fuse version=2.6,rules=documented
says out '^  fused group 1: 3 parameters, 4296 bytes, 4608 with padding: a\.w \.\.\. c\.w$'
fuse version=2.6,rules=documented,fuse_parameter_groups_size=1; says out ' 3 of 3 in 3 groups'
fuse version=2.6,rules=documented,fuse_parameter_groups_size=-1; says out ' 3 of 3 in 1 group,'
fuse version=2.6,places=1; says out '^  fused gradients: 0 of 3 in 0 groups'
check 'nothing about bytes' sh -c "! grep -q 'fuse_parameter_memory_size:' $out"
fuse version=1.4; says out ' 3 of 3 in 1 group, in 1 buffer of 6144 bytes' # 1024, 256 and 256 elements
says out '^  fuse_parameter_memory_size: in 1\.4 its unit is the byte'
run 0 gemem-sim info training.json -f json --lower=paddle:executor=parallel,fuse_all_reduce_ops=yes
check 'JSON has them too' jq -e '[.provenance[] | select(startswith("fused group "))] | length == 2' "$out"

# ---- wrong values of each flag of the manual: one line, status 2
for flag in allocator_strategy fraction_of_gpu_memory_to_use initial_gpu_memory_in_mb reallocate_gpu_memory_in_mb free_idle_memory; do
  for value in -5 '' text 2.5 5x; do bad "paddle:version=1.3,FLAGS_$flag=$value" "FLAGS_$flag='$value': "; done
done
for flag in initial_cpu_memory_in_mb use_pinned_memory; do
  for value in -5 '' text 2.5 5x; do bad "paddle:version=1.5,place=cpu,FLAGS_$flag=$value" "FLAGS_$flag='$value': "; done
done
for flag in init_allocated_mem limit_of_tmp_allocation times_excess_than_required_tmp_allocation; do
  for value in -5 '' text 5x; do
    refused "FLAGS_$flag='$value': " gemem-sim replay graph.json -a paddle "--lower=paddle:preset=P14,FLAGS_$flag=$value"
  done
done
refused "limit_of_tmp_allocation='2.5': not a whole number" gemem-sim replay graph.json -a paddle --lower=paddle:preset=P14,limit_of_tmp_allocation=2.5
refused 'times_excess_than_required_tmp_allocation=2.5 is refused by the manual' \
  gemem-sim replay graph.json -a paddle --lower=paddle:preset=P14,rules=documented,times_excess_than_required_tmp_allocation=2.5
run 0 gemem-sim replay graph.json -a paddle --lower=paddle:preset=P14,times_excess_than_required_tmp_allocation=2.5
for flag in fraction_of_gpu_memory_to_use initial_gpu_memory_in_mb reallocate_gpu_memory_in_mb; do
  for a in paddle-buddy paddle-thread-local paddle-best-fit; do
    bad "$a:rules=documented,$flag=0" "$flag=0 is refused by the manual, which has 'greater than 0'; leave it out, or choose rules=as-built"
    run 0 gemem-sim replay -v small.txt -a "$a:$flag=0"
  done
done
for value in 02 2 '' -5 text 1.9 9.1; do bad "paddle:version=$value" "version='$value': not one of "; done
for value in '' 1 yes document; do bad "paddle:rules=$value" "rules='$value': not one of "; done

# ---- versions: a release, its full number, a preset; what it was is said
run 0 gemem-sim replay -v small.txt -a paddle; says out '^small.txt through paddle \(paddle-auto-growth, version 3\.x\) on '
run 0 gemem-sim replay -v small.txt -a paddle:version=1.8.5; says out '^small.txt through paddle:version=1\.8\.5 \(paddle-auto-growth, version 1\.8\) on '
run 0 gemem-sim replay -v small.txt -a paddle:preset=P14; says out '^small.txt through paddle:preset=P14 \(paddle-buddy, version 1\.5\) on '
run 0 gemem-sim replay -v small.txt -a paddle-buddy; says out '^small.txt through paddle-buddy on '
run 0 gemem-sim compare -v small.txt -a 'paddle:version=1.6|2.6' -a direct
says out '^paddle:version=1\.6 is paddle-buddy, version 1\.6; paddle:version=2\.6 is paddle-auto-growth, version 2\.6$'
run 0 gemem-sim compare -v small.txt -a paddle -f markdown; says out 'paddle is paddle-auto-growth, version 3\.x'
run 0 gemem-sim compare -v small.txt -a paddle-buddy; check 'a class is itself' sh -c "! grep -q ' is paddle' $out"
run 0 gemem-sim list; says out '^  paddle  .*PaddlePaddle 3\.x, or the version= '
run 0 gemem-sim replay small.txt -a paddle:version=2.2 -f json
check 'the version is a parameter' jq -e '.results[0].parameters.version == "2.2" and .results[0].values.peak_reserved == 1280 + 3145984 + 1024' "$out"
bad paddle:version=1.8,preset=P2 'set the same parameter twice'
bad paddle:version=1.7,gpu_memory_limit_mb=100 'counts since 1\.8 .1\.7\.0 ignores it.'
bad paddle:version=2.2,use_virtual_memory_auto_growth=yes 'came with 2\.2, but 2\.2\.2 ignores it; choose version=2\.3 or later'
bad paddle:version=1.8,allocator_strategy=thread_local 'it came with 2\.0: choose version=2\.0 or later'
bad paddle:version=2.2,use_stream_safe_cuda_allocator=no 'came with 2\.3'
bad paddle:version=2.4,auto_growth_chunk_size_in_mb=8 'is a flag since 2\.5'
run 0 gemem-sim replay -v small.txt -a paddle:version=2.0,allocator_strategy=thread_local,initial_mb=1; says out 'paddle-thread-local, version 2\.0'

# ---- flags that contradict each other, or the version
bad paddle-buddy:initial_gpu_memory_in_mb=5,reallocate_gpu_memory_in_mb=5,fraction_of_gpu_memory_to_use=0.5 'fraction_of_gpu_memory_to_use would have no effect'
bad paddle-buddy:preset=P16,free_idle_memory=yes 'free_idle_memory would have no effect: it works on the GPU until 1.3 only'
bad paddle-buddy:preset=P13,initial_gpu_memory_in_mb=5 'exists on the GPU since 1.4'
bad paddle-buddy:preset=P14,gpu_memory_limit_mb=5 'counts on the GPU since 1.8'
bad paddle-buddy:initial_cpu_memory_in_mb=5 'choose place=cpu'
bad paddle-best-fit:preset=P13,initial_gpu_memory_in_mb=5 'exists since 1.4'
bad paddle:FLAGS_allocator_strategy=naive_best_fit,use_virtual_memory_auto_growth=yes 'use_virtual_memory_auto_growth would have no effect: it belongs to auto_growth'
bad paddle:preset=P16,use_virtual_memory_auto_growth=yes 'use_virtual_memory_auto_growth would have no effect: it came with 2.2'
bad paddle:use_virtual_memory_auto_growth=yes,place=pinned 'use_virtual_memory_auto_growth would have no effect: it concerns the GPU'
bad paddle:preset=P16,allocator_strategy=legacy 'since 1.6 its allocator is called naive_best_fit'
bad paddle:rules=documented,allocator_strategy=auto_growth 'the manual has legacy and naive_best_fit; choose one of them, or rules=as-built'
bad paddle:place=gpu,version=1.5,use_pinned_memory=no 'use_pinned_memory would have no effect: it locks pages of the CPU allocator; choose place=cpu'
bad paddle-buddy:initial_mb=5,realloc_mb=5,platform=windows 'platform would have no effect'
bad paddle:preset=P14,use_system_allocator=yes 'exists since 1.6'
bad paddle-auto-growth:preset=P16,auto_growth_chunk_size_in_mb=8 'is a flag since 2.5'
bad paddle-auto-growth:preset=P2,use_auto_growth_v2=yes 'exists in 3.x'

# ---- a flag that another allocator reads: the way to it, which works
elsewhere () { # FLAG=VALUE CHOICES CHOICE...
  flag=$1; bad "paddle:$flag" "${flag%=*} has no effect here: these settings mean [a-z-]*, and it belongs to [a-z-]*; choose $2, or leave it out\$"
  shift 2
  for choice in "$@"; do run 0 gemem-sim replay -v small.txt -a "paddle:$choice,$flag" -d sim:capacity=64GiB; done
}
for flag in initial_gpu_memory_in_mb=5 reallocate_gpu_memory_in_mb=5 fraction_of_gpu_memory_to_use=0.5; do
  elsewhere "FLAGS_$flag" 'version=1\.5, allocator_strategy=naive_best_fit or rules=documented' version=1.5 allocator_strategy=naive_best_fit rules=documented
done
elsewhere FLAGS_free_idle_memory=True 'version=1\.3 or rules=documented' version=1.3 rules=documented
for flag in initial_cpu_memory_in_mb=5 use_pinned_memory=False fraction_of_cpu_memory_to_use=0.5; do
  elsewhere "FLAGS_$flag" 'place=cpu,version=2\.6 or place=cpu,rules=documented' place=cpu,version=2.6 place=cpu,rules=documented
done
bad paddle:place=cpu,FLAGS_use_pinned_memory=False 'these settings mean direct, and it belongs to paddle-buddy; choose version=2\.6 or rules=documented'
bad paddle:rules=documented,FLAGS_free_idle_chunk=1 'these settings mean paddle-buddy, and it belongs to paddle-auto-growth; choose rules=as-built'
bad paddle-legacy:free_idle_chunk=1 'it belongs to paddle-auto-growth; leave it out'

# ---- all that a flag of the executor lacks, at once
lacks () { refused "$2" gemem-sim info graph.json --lower="paddle:$1"; }
lacks FLAGS_fuse_parameter_groups_size=3 'set fuse_all_reduce_ops=yes, and choose executor=parallel, and set fuse_parameter_memory_size above 0$'
lacks version=1.3,FLAGS_fuse_parameter_groups_size=3 'set fuse_all_reduce_ops=yes, and choose executor=parallel and version=1\.4 or later$'
lacks FLAGS_fuse_parameter_memory_size=3 'set fuse_all_reduce_ops=yes, and choose executor=parallel$'
lacks version=1.5,FLAGS_enable_inplace_whitelist=1 'set enable_inplace=yes.*, and choose executor=parallel$'
lacks eager_delete_tensor_gb=-1,FLAGS_memory_fraction_of_eager_deletion=0.5 'choose executor=parallel, and set eager_delete_tensor_gb to 0 or more$'
lacks FLAGS_init_allocated_mem=1 'choose version=1\.5 or earlier, allocator_strategy=naive_best_fit, or rules=documented$'
lacks FLAGS_limit_of_tmp_allocation=5 'was removed in 1\.6; choose version=1\.5 or earlier$'
lacks allocator_strategy=legacy 'or choose version=1\.5 or earlier$'
run 0 gemem-sim info training.json --lower=paddle:executor=parallel,fuse_all_reduce_ops=yes,fuse_parameter_memory_size=1,FLAGS_fuse_parameter_groups_size=3

# ---- an allocator and an executor of different releases
apart () { run 0 gemem-sim replay graph.json -a "$1" --lower="$2"; check 'one note' sh -c "test \$(wc -l < $err) = 1"; says err "^gemem-sim: note: .*; $3\$"; }
together () { run 0 gemem-sim replay graph.json -a "$1" --lower="$2"; silent err; }
apart paddle paddle:version=1.4 'add version=1\.4 to -a'
apart paddle:version=1.4 paddle 'add version=1\.4 to --lower'
apart paddle:preset=P14 paddle 'add preset=P14 to --lower'
apart paddle:version=1.3 paddle:version=1.4 'name the same in both'
together paddle paddle; together paddle paddle:version=3.x; together paddle:version=1.8.5 paddle:version=1.8
together paddle:version=1.5 paddle:preset=P14; together paddle-buddy paddle:version=1.4; together paddle:version=1.4 gc
together paddle:version=2.6,rules=documented paddle:version=2.6,rules=documented

# ---- what the lowering says is in the report, too
run 0 gemem-sim replay -v training.json -a direct --repeat 2 --lower=paddle:executor=parallel,fuse_all_reduce_ops=yes
says out '^  fused gradients  +3 of 3 in 2 groups, in 1 buffer of 4608 bytes$'
says out '^  fused group 2  +1 parameter, 256 bytes, 256 with padding: c\.w$'
run 0 gemem-sim replay training.json -a direct -f json --lower=paddle:executor=parallel,fuse_all_reduce_ops=yes
check 'JSON has it' jq -e '.results[0].lowering["fused group 2"] == "1 parameter, 256 bytes, 256 with padding: c.w"' "$out"
run 0 gemem-sim replay training.json -a direct; check 'nothing where there is nothing' sh -c "! grep -q 'the lowering of the graph' $out"

# ---- local scopes: what a run leaves
cat > fetched.json << 'EOF'
{"format": "gemem-graph", "name": "fetched", "nodes": [
  {"name": "a", "type": "x", "outputs": [{"size": 1048576}]}, {"name": "b", "type": "fetch", "inputs": [["a", 0]]}]}
EOF
scopes () { run 0 gemem-sim compare "$1" -a direct -f json --lower="paddle:steps=3,FLAGS_eager_delete_scope=True|False"; check "peaks of $1: $2" jq -e "[.results[].values.peak_live] == $2" "$out"; }
scopes fetched.json '[1048576, 2097152]'
scopes graph.json '[8192, 8192]' # all is collected
run 0 gemem-sim replay -v fetched.json -a direct --lower=paddle:steps=3,FLAGS_eager_delete_scope=False
says out '^  eager_delete_scope  +no: what a run leaves .what was fed, fetched or used by several blocks; the rest was collected. goes when 1 .* takes 9\.900 us instead of 10\.00 us'

# ---- what belongs elsewhere, or nowhere
bad paddle:memory_fraction_of_eager_deletion=0.5 "memory_fraction_of_eager_deletion belongs to the executor.*--lower=[a-z]*:memory_fraction_of_eager_deletion=0.5"
for flag in fraction_of_gpu_memory_to_use FLAGS_free_idle_chunk; do
  refused "--lower=gc:$flag=0.5: $flag belongs to the allocator; write -a paddle[a-z-]*:$flag=0.5" gemem-sim replay graph.json -a paddle "--lower=gc:$flag=0.5"
done
for flag in use_cuda_managed_memory use_cuda_malloc_async_allocator use_multi_scale_virtual_memory_auto_growth use_auto_growth_pinned_allocator; do
  bad "paddle:FLAGS_$flag=true" "FLAGS_$flag is not modelled: it"
  refused "FLAGS_$flag is not modelled: it" gemem-sim replay graph.json -a paddle "--lower=gc:FLAGS_$flag=true"
  refused "FLAGS_$flag=true is not modelled: it" env "FLAGS_$flag=true" gemem-sim replay small.txt -a paddle --env
  run 0 env "FLAGS_$flag=false" gemem-sim replay small.txt -a paddle --env
done

# ---- written with a tired hand
bad paddle:FLAGS_foo=1 "unknown flag 'FLAGS_foo'; 'gemem-sim help paddle-flags' lists all"
bad paddle-auto-growth:FLAGS_free_idle_chunks=1 "unknown flag 'FLAGS_free_idle_chunks'; did you mean 'FLAGS_free_idle_chunk'"
refused "unknown flag 'FLAGS_eager_delete_tensor_mb'; did you mean 'FLAGS_eager_delete_tensor_gb'" \
  gemem-sim replay graph.json -a paddle --lower=paddle:FLAGS_eager_delete_tensor_mb=1
for a in paddle-legacy paddle-buddy 'paddle-*'; do
  bad "$a:FLAGS_allocator_strategy=auto_growth" 'FLAGS_allocator_strategy chooses the allocator; write -a paddle:FLAGS_allocator_strategy=auto_growth'
done
bad paddel "unknown allocator 'paddel'; did you mean 'paddle'"
bad paddle=auto_growth 'settings without a colon before them; write NAME:key=value'
bad paddle,FLAGS_free_idle_chunk=1 'settings without a colon before them'
refused '--env takes no value' gemem-sim replay small.txt -a paddle --env=FLAGS_free_idle_chunk
bad paddle-buddy:initial_mb=5,FLAGS_initial_gpu_memory_in_mb=6 'set the same parameter twice'
run 0 gemem-sim help FLAGS_free_idle_chunk; says out '^FLAGS_free_idle_chunk: parameter'; check 'and no other' sh -c "test \$(grep -c '^FLAGS_' $out) = 1"
run 0 gemem-sim help FLAGS_use_cuda_managed_memory; says out 'Not modelled: it lets the driver'
run 2 gemem-sim help FLAGS_free; says err "no help on 'FLAGS_free'"

# ---- the environment
run 0 env FLAGS_allocator_strategy=naive_best_fit FLAGS_initial_gpu_memory_in_mb=500 gemem-sim replay -v small.txt -a paddle
check 'nothing is read unless asked for' grep -q 'auto_growth_chunk_size_in_mb' "$out"
run 0 env FLAGS_allocator_strategy=naive_best_fit FLAGS_initial_gpu_memory_in_mb=500 gemem-sim replay -v small.txt -a paddle --env
silent err
says out 'peak reserved +500\.0 MiB'
says out '^from the environment'
says out '^  FLAGS_allocator_strategy +naive_best_fit'
run 0 env FLAGS_initial_gpu_memory_in_mb=500 gemem-sim replay -v small.txt -a paddle-buddy:initial_mb=250 --env
says out 'peak reserved +250\.0 MiB'; check 'what is given counts' sh -c "! grep -q '^from the environment' $out"
run 0 env FLAGS_initial_gpu_memory_in_mb=500 gemem-sim compare small.txt -a 'paddle-*' -a ge --env -f json --manifest m.json
check 'JSON: each run says what came from the environment' \
  jq -e '[.results[] | select(.variables.FLAGS_initial_gpu_memory_in_mb == "500") | .allocator] == ["paddle-buddy", "paddle-best-fit", "paddle-thread-local"]' "$out"
check 'the manifest too' jq -e '[.runs[] | select(.variables.FLAGS_initial_gpu_memory_in_mb == "500")] | length == 3' m.json
refused "FLAGS_initial_gpu_memory_in_mb='-1'" env FLAGS_initial_gpu_memory_in_mb=-1 gemem-sim replay small.txt -a paddle-buddy --env
refused "unknown flag 'FLAGS_intial_gpu_memory_in_mb'; did you mean 'FLAGS_initial_gpu_memory_in_mb'" \
  env FLAGS_intial_gpu_memory_in_mb=5 gemem-sim replay small.txt -a paddle --env
run 0 env FLAGS_cudnn_deterministic=1 FLAGS_check_nan_inf=1 gemem-sim replay -v small.txt -a paddle --env
check 'one note for all that is not about memory' sh -c "test \$(wc -l < $err) = 1 && grep -q 'note: --env: left out.*FLAGS_check_nan_inf, FLAGS_cudnn_deterministic' $err"
run 0 env FLAGS_initial_gpu_memory_in_mb=5 gemem-sim replay -v small.txt -a paddle --env
says err 'FLAGS_initial_gpu_memory_in_mb has no effect on what was chosen; it is read by paddle-buddy'
run 0 env FLAGS_initial_cpu_memory_in_mb=5 gemem-sim replay -v small.txt -a paddle-buddy --env
says err 'FLAGS_initial_cpu_memory_in_mb is left out for paddle-buddy: .*choose place=cpu'
run 0 env FLAGS_initial_cpu_memory_in_mb=5 gemem-sim replay -v small.txt -a paddle:preset=P16,place=cpu --env
says out 'peak reserved +5\.000 MiB'
run 0 env GE_USE_STATIC_MEMORY=4 gemem-sim replay -v small.txt -a ge --env; says out '^  GE_USE_STATIC_MEMORY +4'
refused "GE_USE_STATIC_MEMORY='on': not one of" env GE_USE_STATIC_MEMORY=on gemem-sim replay small.txt -a ge:rules=documented --env

# ---- the environment and the lowering
lowered () { gemem-sim compare graph.json -a direct --env -f csv "$@"; }
notes () { check "$1 notes" sh -c "test \$(grep -c note: $err) = $1 && test \$(wc -l < $err) = $1"; }
run 0 env FLAGS_eager_delete_tensor_gb=-1 gemem-sim compare graph.json -a direct --lower=paddle --env -f json; silent err
check 'the lowering reads it, and the result says so' \
  jq -e '.results[0] | .variables == {"FLAGS_eager_delete_tensor_gb": "-1"} and (.trace | test("paddle:FLAGS_eager_delete_tensor_gb=-1"))' "$out"
for flag in FLAGS_memory_fraction_of_eager_deletion=0.5 FLAGS_init_allocated_mem=1 FLAGS_limit_of_tmp_allocation=100 FLAGS_enable_inplace_whitelist=1 \
  FLAGS_fuse_parameter_memory_size=32 FLAGS_fuse_parameter_groups_size=2 FLAGS_times_excess_than_required_tmp_allocation=3; do
  export "$flag"
  run 0 lowered --lower=paddle; notes 1; says err "${flag%=*} is left out for --lower=paddle: paddle: [a-z_]* would have no effect: it"
  unset "${flag%=*}"
done
export FLAGS_init_allocated_mem=1 FLAGS_allocator_strategy=naive_best_fit
run 0 lowered --lower=paddle; silent err # one makes sense of the other
export FLAGS_memory_fraction_of_eager_deletion=0.5
run 0 lowered --lower='paddle:executor=plain|parallel'; notes 1
says err 'left out for --lower=paddle:executor=plain,[^:]*: paddle: memory_fraction_of_eager_deletion would have no effect'
run 0 lowered --lower='*a*e*'; notes 1 # eager, paddle
unset FLAGS_init_allocated_mem FLAGS_allocator_strategy FLAGS_memory_fraction_of_eager_deletion
export FLAGS_eager_delete_tensor_gb=-1
run 0 lowered --lower='paddle:eager_delete_tensor_gb=0'; notes 1; says err 'FLAGS_eager_delete_tensor_gb is left out for --lower=paddle:eager_delete_tensor_gb=0: what was given counts more'
run 0 lowered; notes 1; says err 'FLAGS_eager_delete_tensor_gb has no effect on what was chosen; it is read by --lower=paddle'
for value in x '' 'nan' '0|1' 1e30; do
  FLAGS_eager_delete_tensor_gb=$value
  refused "lowering paddle: FLAGS_eager_delete_tensor_gb='$value'" lowered --lower=paddle
done
unset FLAGS_eager_delete_tensor_gb
refused 'paddle: limit_of_tmp_allocation would have no effect' lowered --lower=paddle:limit_of_tmp_allocation=5 # given, not from the environment
# the manual's release is the same behind -a and --lower
for flag in limit_of_tmp_allocation=1024 times_excess_than_required_tmp_allocation=3; do
  run 0 lowered --lower="paddle:rules=documented,FLAGS_$flag"; silent err
  refused "paddle: ${flag%=*} would have no effect: it was removed in 1\.6" lowered --lower="paddle:rules=documented,version=3.x,FLAGS_$flag"
done

# ---- every name of a flag is read, the older one of 1.3 too
for name in times_excess_than_required_tmp_allocation reuse_tmp_allocation_excess_fraction; do
  run 0 env FLAGS_$name=3 gemem-sim compare graph.json -a direct --lower=paddle:preset=P13 --env -f json; silent err
  check "FLAGS_$name is read" jq -e ".results[0].variables.FLAGS_$name == \"3\"" "$out"
done
refused 'set the same parameter twice' env FLAGS_times_excess_than_required_tmp_allocation=3 FLAGS_reuse_tmp_allocation_excess_fraction=4 \
  gemem-sim compare graph.json -a direct --lower=paddle:preset=P13 --env

# ---- flags in the environment that stand in each other's way, whatever their order
both () { env FLAGS_small_pool_size_in_mb=1 "$1" gemem-sim replay -v small.txt -a "$2" --env; }
run 0 both FLAGS_large_pool_auto_growth_chunk_size_in_mb=4 paddle; silent err; says out '^  FLAGS_large_pool_auto_growth_chunk_size_in_mb +4'
run 0 both FLAGS_auto_growth_chunk_size_in_mb=4 paddle; notes 1; says err 'FLAGS_auto_growth_chunk_size_in_mb is left out for paddle: .*small_pool_size_in_mb replaces it'
run 0 both FLAGS_free_idle_chunk=1 paddle:auto_growth_chunk_size_in_mb=4; notes 1; says err 'FLAGS_small_pool_size_in_mb is left out'
run 0 env FLAGS_use_virtual_memory_auto_growth=1 gemem-sim replay -v small.txt -a paddle:preset=P16 --env
notes 1; says err 'FLAGS_use_virtual_memory_auto_growth is left out for paddle:preset=P16: .*came with 2\.2'
refused 'alignment_size is not a power of two' env FLAGS_alignment_size=768 gemem-sim replay small.txt -a paddle --env
refused 'allocator_strategy=legacy does not exist in version=3\.x; 1\.2 to 1\.5 have it .choose version=1\.5 or earlier.' env FLAGS_allocator_strategy=legacy gemem-sim replay small.txt -a paddle --env

# ---- places and devices
run 0 gemem-sim compare small.txt -a 'paddle:place=gpu|cpu|pinned,preset=P16' -f csv
check 'three places, three results' sh -c "test \$(wc -l < $out) = 4"
run 0 gemem-sim replay -v small.txt -a paddle:place=pinned -d sim:capacity=64GiB; says out 'peak reserved +128\.0 MiB'
run 0 gemem-sim replay -v small.txt -a paddle:place=cpu; says out 'through paddle:place=cpu'
trace 'alloc 1 size=1000 device=3' 'alloc 2 size=5000 device=3' > three.txt
trace 'alloc 1 size=1000 device=3' 'alloc 2 size=5000' > both.txt
for a in paddle-buddy:initial_mb=1 paddle-auto-growth; do
  run 0 gemem-sim replay three.txt -a $a -f json
  check "$a: all on device 3, nothing on device 0" jq -e '[.results[].device_ordinal] == [3]' "$out"
  run 0 gemem-sim replay both.txt -a $a -f json
  check "$a: a device each" jq -e '[.results[] | [.device_ordinal, .values.peak_live]] == [[0, 5000], [3, 1000]]' "$out"
done

# ---- a request of 0 bytes is a block of 256 until 1.5, and a null pointer since
trace 'alloc 1 size=0' 'alloc 2 size=0' 'free 1' 'alloc 3 size=1' 'memset 3 size=1 aux=239' 'free 2' 'free 3' > empty.txt
for a in paddle-legacy:preset=P13 paddle-legacy:preset=P14 paddle:preset=P13; do
  run 0 gemem-sim replay empty.txt -a $a -f json --check
  check "$a: two blocks of 256 at most" jq -e '.results[0] | [.values.peak_allocated, .values.allocs, .values.zero_allocs] == [512, 3, 0]' "$out"
done
for a in paddle-buddy:preset=P16 paddle:preset=P16 paddle:preset=P3 paddle:preset=P14,allocator_strategy=naive_best_fit direct; do
  run 0 gemem-sim replay empty.txt -a $a -f json --check
  check "$a: no block" jq -e '.results[0] | [.values.allocs, .values.zero_allocs] == [1, 2]' "$out"
done
run 0 gemem-sim replay -v empty.txt -a paddle-legacy:initial_mb=1 -d sim:capacity=64KiB; says out '3 frees of requests that had failed'
run 0 gemem-sim compare -v empty.txt -a 'paddle-*' -a 'ge*' --check

# ---- the fill of init_allocated_mem is done on a real device, as are blocks of 0 bytes
library=$GEMEM_BUILDDIR/tests/dry/.libs
if has_cuda; then
  with () { env LD_LIBRARY_PATH="$library" GEMEM_DRIVER_REPORT=report "$@"; }
  run 0 with gemem-sim replay graph.json -a paddle-buddy:initial_mb=1 --lower=paddle:preset=P16,allocator_strategy=naive_best_fit,init_allocated_mem=yes -d cuda:0
  check 'a memset for each tensor' grep -q '^call cuMemsetD8Async 2$' report
  run 0 with gemem-sim replay empty.txt -a paddle-legacy:initial_mb=1 -d cuda:0 --touch
fi

# ---- the table
run 0 gemem-sim help paddle-flags
for flag in allocator_strategy fraction_of_gpu_memory_to_use free_idle_memory initial_cpu_memory_in_mb fraction_of_cpu_memory_to_use \
  initial_gpu_memory_in_mb reallocate_gpu_memory_in_mb gpu_allocator_retry_time gpu_memory_limit_mb use_system_allocator free_idle_chunk \
  free_when_no_cache_hit auto_growth_chunk_size_in_mb use_stream_safe_cuda_allocator use_virtual_memory_auto_growth use_auto_growth_v2 alignment_size \
  small_pool_size_in_mb small_pool_auto_growth_chunk_size_in_mb large_pool_auto_growth_chunk_size_in_mb small_pool_pre_alloc_in_mb \
  large_pool_pre_alloc_in_mb fraction_of_cuda_pinned_memory_to_use use_cuda_managed_memory; do
  says out "^FLAGS_$flag\$"
done
says out '^  paddle-buddy: SIZE \[MiB\]  \(default: 500\)$'
says out '^  paddle-buddy: REAL  \(default: 0\.92[0-9]*; 0 to 1\)$'
says out '^  paddle-auto-growth, paddle-vmm-auto-growth: yes[|]no  \(default: yes\)$'
says out '^  --lower=paddle: REAL  \(default: version; -8000000000 to 8000000000\)$'
says out '^  paddle: version[|]legacy[|]naive_best_fit[|]auto_growth[|]thread_local  \(default: version\)$'
says out 'Default in 1\.2-1\.5: -1, 1\.6-3\.x: 0\.$'
check 'versions, not presets' sh -c "! grep -qE 'preset|P1[346]|P[23]([^a-zA-Z0-9]|$)' $out"
says out '^FLAGS_reuse_tmp_allocation_excess_fraction$'
check 'and nothing but flags of PaddlePaddle' sh -c "! grep -q '^GE_' $out"
check 'the man page has it too' sh -c 'gemem-sim help --man flags | grep -q "^.SH PADDLEPADDLE FLAGS"'
run 2 gemem-sim help paddle-flag; says err "did you mean 'paddle-flags'"

# ---- every version on a recording of a real program
recording=$GEMEM_SRCDIR/traces/recorded/gpt2-train.gmt
run 0 gemem-sim compare "$recording" -a 'paddle-*' -a 'paddle:preset=P13|P14|P16|P2|P3' -f csv
silent err
check 'ten results' sh -c "test \$(wc -l < $out) = 11"

# ---- a recording whose allocator is a name that stands for several: its settings choose among them
{ echo '# gemem-trace: 1'; echo '# allocator: "paddle"'; echo '# settings: "version=2.6,use_system_allocator=yes"'; echo 'alloc 1 size=1000'; echo '# end: 1'; } >named.txt
run 0 gemem-sim replay -v named.txt; says out 'through paddle:version=2\.6,use_system_allocator=yes \(direct\)'; says out 'peak reserved .* 1000 bytes'
run 0 gemem-sim replay -v named.txt --no-trace-settings; says out 'through paddle \(paddle-auto-growth'

done_testing
