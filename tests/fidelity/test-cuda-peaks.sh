#!/bin/sh
# test-cuda-peaks.sh - recordings made on an H100, replayed with addresses that the model of CUDA's driver chooses instead of the recorded ones: the
# peak of reserved memory is the real one, to the byte.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# peak FILE DEVICE: what was reserved at most, in bytes.
peak () { gemem-sim replay "$1" -d "$2" 2>replay.err | sed -n 's/^  peak reserved .*B  *\([0-9]*\) bytes.*/\1/p'; }

# limit NAME: what PyTorch was allowed (set_per_process_memory_fraction); recordings do not say it.
limit () {
  case $1 in
    gpt2-train-too-short.*) echo ,capacity=1500000000B ;;
    oom_retry.*) echo ,capacity=17003498700B ;; # 0.2 of 85017493504
  esac
}

for file in "$GEMEM_SRCDIR"/traces/recorded/*.gmt "$GEMEM_SHARED"/gpu/snapshots/*.pickle.gz; do
  test -f "$file" || continue
  name=${file##*/}
  real=$(peak "$file" sim:address=recorded) model=$(peak "$file" "sim:address=cuda$(limit "$name")")
  check "$name: $real" test -n "$real" -a "$real" = "$model"
done
shared gpu/snapshots || skip "snapshots" "there is no $GEMEM_SHARED/gpu/snapshots"

# Settings that the program did not have are tried with the same addresses, unless a device says otherwise: with ascending ones this one seems to save 1.1 %.
file=$GEMEM_SRCDIR/traces/recorded/resnet50-train.gmt
split () { gemem-sim replay "$file" "$@" -a pytorch-caching:max_split_size_mb=64 | sed -n 's/^  peak reserved .*B  *\([0-9]*\) bytes.*/\1/p'; }
for device in sim 16GiB a100-40 sim:address=cuda; do check "max_split_size_mb=64 saves nothing on $device" test "$(split -d $device)" = 1300234240; done
for device in mi300x sim:address=bump sim:step=4MiB; do check "$device has other addresses" test "$(split -d $device)" = 1285554176; done
check "no device has them, too" test "$(split)" = 1300234240

# What tells rules apart: descending addresses miss the peak of this one by 11.5 %.
file=$GEMEM_SHARED/gpu/snapshots/lightning_run.pickle.gz
test ! -f "$file" || check "the order of addresses matters" test "$(peak "$file" sim:address=descending)" = 434110464
done_testing
