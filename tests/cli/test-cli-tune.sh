#!/bin/sh
# test-cli-tune.sh - gemem-sim tune: whole screens of bundled recordings, several recordings, two objectives, devices that are too small, wrong
# ranges, an end by a signal.  That each row is what it is said to be: tests/unit/test-tune.c.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
ln -s "$GEMEM_SRCDIR/traces" .
recorded=traces/recorded

# screen STATUS WORDS...: the screen is that of standard input, of at most ten lines of 100 columns.
screen () {
  cat >want; run "$@"
  cmp -s "$out" want; tap_status=$?
  ok $tap_status "the screen of: $*"
  [ $tap_status -eq 0 ] || diff want "$out" | sed 's/^/# /'
  check "it is a screen: $*" awk 'length > 100 || NR > 10 { bad = 1 } END { exit bad }' "$out"
}

is_sanitized || screen 0 gemem-sim tune $recorded/llama-train.gmt <<'END' # minutes with a sanitizer; the other searches run the same code
It needs 4.088 GiB instead of 4.271 GiB (4.3 % less) with:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
  445 device calls instead of 209
Tried: 2880 settings of pytorch-caching: 11 replayed to the end, 301 proven equal to one of these,
  1848 stopped above the best, 720 refused by the allocator; 128 replays in all.
Sure: all were settled, and the line was replayed as it will be read.
END
is_sanitized || says err 'not searched, as there would be too many: max_non_split_rounding_mb; '
gemem-sim advise $recorded/llama-train.gmt >advised 2>/dev/null
check "advise offers the same line with the same bytes" sh -c 'grep -A1 expandable_segments:True advised | grep -q "4\.088 GiB"'

# ---- several recordings: one setting for all
screen 0 gemem-sim tune $recorded/gpt2-train.gmt $recorded/vit-train.gmt -a 'pytorch-caching:large_segment_size_mb=20..22,expandable_segments=*' <<'END'
It needs 2.410 GiB instead of 2.777 GiB (13.2 % less) with:
  export PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:22,expandable_segments:True
  400 device calls instead of 187
  version 2.10 refuses it, and the program has 2.10 or 2.11
  decides: gpt2-train.gmt, 2.410 GiB (13.2 % less)
Tried: 6 settings of pytorch-caching: 5 replayed to the end, 1 fail; 18 replays in all.
Sure: all were settled, and the line was replayed as it will be read.
END

# ---- two objectives: what is less of one and more of the other
screen 0 gemem-sim tune $recorded/gpt2-train.gmt --objective needs,device_calls -a 'pytorch-caching:expandable_segments=*' <<'END'
Best of both, 2 settings:
           2.426 GiB    255 device calls  expandable_segments=yes
           2.777 GiB     89 device calls  as now
Tried: 2 settings of pytorch-caching: 2 replayed to the end; 4 replays in all.
Sure: all were settled.
END

# ---- the least capacity, to the byte
screen 0 gemem-sim tune $recorded/gpt2-train.gmt --objective least_capacity -a 'pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|64|96' <<'END'
It fits in 2.426 GiB instead of 2.535 GiB (4.3 % less) with:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
  255 device calls instead of 89
Tried: 6 settings of pytorch-caching: 1 searched to the byte, 5 fail in less than the best; 129
  replays in all.
Sure: all were settled, and the line was replayed as it will be read.
END
run 0 gemem-sim tune $recorded/gpt2-train.gmt --objective least_capacity -a 'pytorch-caching:expandable_segments=*' -f csv
says out '^1,as now,above,1,,,,2722103296,$'; says out '^2,expandable_segments=yes,replayed,2,2604662784,255,12458600,2604662784,$'
gemem-sim compare $recorded/gpt2-train.gmt -a pytorch-caching --find-capacity -f csv --columns least_capacity >least.csv
check "compare finds the same byte" grep -q '\b2722103296$' least.csv
screen 0 gemem-sim tune $recorded/gpt2-train.gmt --objective needs,least_capacity -a 'pytorch-caching:expandable_segments=*' <<'END'
Best of both, 1 setting:
           2.426 GiB           2.426 GiB  expandable_segments=yes
Tried: 2 settings of pytorch-caching: 2 replayed to the end; 167 replays in all.
Sure: all were settled.
END

# ---- a device on which none fits: the least that one reaches, which does fit
screen 4 gemem-sim tune $recorded/gpt2-train.gmt --capacity 2GiB -a 'pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|64' <<'END'
It does not fit: with each of these settings a request fails in 2.000 GiB.
The least device on which one of them fits: 2.426 GiB, with:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
Tried: 4 settings of pytorch-caching: 4 fail; 132 replays in all.
Sure: all were settled.
END
run 4 gemem-sim tune $recorded/gpt2-train.gmt --capacity 2GiB --objective needs,device_calls -a 'pytorch-caching:expandable_segments=*'
says out '^The least device on which one of them fits: 2\.426 GiB, with:$'; lacks out 'Best of both'
run 0 gemem-sim replay $recorded/gpt2-train.gmt -a pytorch-caching:expandable_segments=yes --find-capacity; says out '^  least capacity +2\.426 GiB '

# ---- a saving below 1 % is none
run 0 gemem-sim tune $recorded/llama-train.gmt -a 'pytorch-caching:max_split_size_mb=20..24'; says out '^As it is: no setting needs 1 % less than the 4\.271 GiB now\.$'

# ---- every row; the same with any number of threads
run 0 gemem-sim tune $recorded/resnet50-train.gmt -a 'pytorch-caching:max_split_size_mb=20..120' -f csv -o all.csv -j 1
check "a row each" test "$(wc -l <all.csv)" -eq 103
gemem-sim tune $recorded/resnet50-train.gmt -a 'pytorch-caching:max_split_size_mb=20..120' -f csv -j 4 >four.csv
check "any number of threads" cmp all.csv four.csv
if command -v jq >/dev/null; then
  run 0 gemem-sim tune $recorded/llama-train.gmt -a 'pytorch-caching:expandable_segments=*' -f json
  check "JSON" jq -e '.helps and .best.needs < .now.needs and .paste == "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" and .untried == 0' "$out"
fi
# Another system, and one whose decisions cannot be watched.
run 0 gemem-sim tune $recorded/gpt2-train.gmt --for paddle; says out '^  export FLAGS_auto_growth_chunk_size_in_mb=[0-9]+ FLAGS_free_idle_chunk=true$'
run 0 gemem-sim tune $recorded/vit-train.gmt -a 'tf-bfc:allow_growth=*'; says out 'no setting needs 1 % less'

# ---- what is not known is said
printf '# gemem-trace: 2\nalloc 1 size=31457280\n# end: 1\n' >anonymous.txt
run 0 gemem-sim tune anonymous.txt; says out "the recording does not name its allocator: PyTorch's is assumed"
run 0 gemem-sim tune $recorded/gpt2-train-too-short.gmt -a 'pytorch-caching:max_split_size_mb=20..40'
says out '^As far as recorded, it needs 1\.371 GiB, where now a request fails, with:$'; says out '^Not sure: .* the recorded program was refused memory'
# A line of TensorFlow's does nothing for a program of PyTorch.
run 0 gemem-sim tune $recorded/gpt2-train.gmt -a 'tf-bfc:allow_growth=*' --objective device_calls
says out '^  tf-bfc:allow_growth=no \(as gemem writes it; no line to paste is known for it\)$'

# ---- wrong use
run 2 gemem-sim tune
wrong () { what=$1; shift; run 2 gemem-sim tune $recorded/vit-train.gmt "$@"; says err "$what"; }
wrong 'max_split_size_mb=40\.\.20: the range is empty' -a pytorch-caching:max_split_size_mb=40..20
wrong 'a range is of whole numbers' -a pytorch-caching:garbage_collection_threshold=0.1..0.5
wrong 'more than 10000 values' -a pytorch-caching:max_split_size_mb=20..20000
wrong "unknown parameter 'max_split_size'; did you mean 'max_split_size_mb'" -a pytorch-caching:max_split_size=20..40
wrong '--objective=speed: write one of needs, device_calls, modelled_time' --objective speed
wrong 'two different ones' --objective needs,needs
wrong '--for=beos: no allocator is of that system' --for beos
wrong '--format=xml: unknown format' -f xml
wrong '--threads' -j -1

# ---- an end by a signal: the best so far
gemem-sim tune $recorded/llama-decode.gmt $recorded/llama-decode-roundup.gmt $recorded/llama-decode-collected.gmt --objective needs,device_calls \
  -a 'pytorch-caching:expandable_segments=*,max_split_size_mb=20..400,roundup_power2_divisions=*' >stopped 2>stopped.err &
sleep 2; kill -INT $!; wait $!; status=$?
if [ $status -eq 0 ]; then skip "an end by a signal" "it had ended before"
elif is_sanitized && grep -q 'in one long step' stopped.err; then skip "an end by a signal" "with sanitizers a replay takes longer than a signal waits"
else
  check "status 130" test $status -eq 130
  check "it says that it was interrupted" grep -q 'Not sure: interrupted; the best of what was tried is shown\.' stopped
fi
done_testing
