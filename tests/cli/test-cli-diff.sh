#!/bin/sh
# test-cli-diff.sh - gemem-sim diff: nothing of a recording and itself, the planted change of two, and where two allocators part.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded

# ---- planted changes
# program CHANGE STEP LAYER: three steps of six layers, each with its line of code, as a trace; in one step one layer is changed.
# size: twice as large; more: one block more; less: none; late: freed at the end of the next layer's free; leak: never freed; order: after the next one.
program () {
  awk -v change="$1" -v at="$2.$3" -v ids="${4:-0}" -v file="${file:-model.py}" -v shift="${shift:-0}" -v function_="${function:-}" 'BEGIN {
    print "# gemem-trace: 2\n# allocator: \"pytorch-caching\""
    for (l = 1; l <= 7; l++) print "# frame: \"" (function_ == "" ? "layer" l : function_) "\" \"" file "\" " 10 * l + shift
    for (l = 1; l <= 7; l++) print "# stack: " l
    for (s = 1; s <= 3; s++) {
      n = 0
      for (l = 1; l <= 6; l++) layer[++n] = l
      for (i = 1; i < n; i++) if (change == "order" && s "." i == at) { layer[i] = i + 1; layer[i + 1] = i; break }
      for (i = 1; i <= n; i++) {
        l = layer[i]; here = s "." l == at
        if (change != "less" || !here) ask(s, l, (1 + l) * (change == "size" && here ? 2 : 1) * 1048576)
        if (change == "more" && here) ask(s, 7, 3145728)
      }
      for (l = 6; l >= 1; l--) {
        here = s "." l == at
        if (here && change ~ /less|leak|late/) continue
        release(s, l)
        if (here && change == "more") release(s, 7)
        if (change == "late" && s "." (l + 1) == at) release(s, l + 1)
      }
    }
    print "# end: " events
  }
  function ask(s, l, size) { print "alloc " ++id + ids " size=" size " stack=" l; block[s "." l] = id + ids; events++ }
  function release(s, l) { print "free " block[s "." l]; events++ }'
}

program none 0 0 >base.txt
program none 0 0 1000 >other-ids.txt
run 0 gemem-sim diff base.txt base.txt; says out '^Nothing differs: the same requests and frees, and the same memory\.$'
check "and nothing more" test "$(wc -l <"$out")" -eq 2
run 0 gemem-sim diff base.txt other-ids.txt; says out '^Nothing differs'
for change in size more less late leak order; do
  for step in 1 2 3; do
    layer=$((step + 1))
    program $change $step $layer >changed.txt
    line=$layer asks=second
    case $change in more) line=7 ;; order) asks=first ;; less) asks=first ;; esac
    run 0 gemem-sim diff base.txt changed.txt -f json
    if command -v jq >/dev/null; then
      # at the parting one side deals with the changed block
      check "$change of layer $layer in step $step is named" jq -e --arg by "model.py:${line}0 layer$line" --arg side $asks \
        '.same == false and ([.parting.first.by, .parting.second.by] | index($by) != null)' "$out"
      rows=$(jq -r '[.in_use[] | select(.first_bytes != .second_bytes) | .name] | join(";")' "$out")
      case $change in
        size | more) check "$change of layer $layer is the row" test "$rows" = "model.py:${line}0 layer$line" ;;
        order) check "an order changes no amount" test -z "$rows" ;;
      esac
    fi
  done
done
program leak 1 3 >changed.txt
run 0 gemem-sim diff base.txt changed.txt
says out '^base\.txt -> changed\.txt$'
says out '^in use at the peak, by line:$'; says out '^ +\+4\.000 MiB +4\.000 MiB -> 8\.000 MiB +model\.py:30 layer3$'
says out '^They part after 9 equal requests and frees: the second never frees 4\.000 MiB by model\.py:30 layer3,$'

# An edited program: other numbers of lines, in another folder, and one more line that holds memory.
function=forward program none 0 0 >old.txt
function=forward file=/new/place/model.py shift=-3 program none 0 0 >moved.txt
function=forward file=/new/place/model.py shift=10 program size 3 4 >edited.txt
function=forward file=/new/place/model.py shift=10 program more 3 4 >longer.txt
function=forward file=other.py program none 0 0 >renamed.txt
run 0 gemem-sim diff old.txt moved.txt; says out '^Nothing differs'
rows () { gemem-sim diff "$@" -f json | jq -r '[.in_use[] | [.name, .first_bytes, .second_bytes] | join(" ")] | join("; ")'; }
if command -v jq >/dev/null; then
  check "a line further down is the same line" test "$(rows old.txt edited.txt)" = "/new/place/model.py:50 forward (was model.py:40 forward) 5242880 10485760"
  check "a new line has no partner" test "$(rows old.txt longer.txt)" = "/new/place/model.py:80 forward 0 3145728"
  check "and is gone the other way round" test "$(rows longer.txt old.txt)" = "/new/place/model.py:80 forward 3145728 0"
  check "another file is another line" test "$(rows old.txt renamed.txt | tr ';' '\n' | wc -l)" -eq 12
fi

# The change is the sum of what is in use and what is idle, and the other way round it is the same with the other sign.
for pair in "gpt2-train gpt2-train-expandable" "gpt2-train gpt2-train-short" "llama-train llama-decode" "resnet50-train resnet50-train-split"; do
  one=$recorded/${pair% *}.gmt other=$recorded/${pair#* }.gmt
  command -v jq >/dev/null || continue
  gemem-sim diff "$one" "$other" -f json >there.json; gemem-sim diff "$other" "$one" -f json >back.json
  check "$pair: sums" jq -e '[.first, .second] | all(.peak_reserved == .in_use_then + .idle_then)' there.json
  check "$pair: causes add up" jq -e '([.idle[] | .second_bytes - .first_bytes] | add // 0) == .second.idle_then - .first.idle_then' there.json
  check "$pair: and back" jq -e --slurpfile back back.json '.first == $back[0].second and .second == $back[0].first
    and ([.in_use[] | [.name, .first_bytes, .second_bytes]] | sort) == ([$back[0].in_use[] | [.name, .second_bytes, .first_bytes]] | sort)
    and .parting.same == $back[0].parting.same' there.json
done

# ---- a setting, a failure, a device
run 0 gemem-sim diff "$recorded/gpt2-train.gmt" "$recorded/gpt2-train-expandable.gmt"
says out '^The second holds 360\.0 MiB less, 2\.426 GiB instead of 2\.777 GiB: 180\.2 MiB more in use then, and$'
says out '^Settings: expandable_segments no -> yes\.$'; says out '^All 5673 requests and frees are the same\.$'
run 0 gemem-sim diff "$recorded/gpt2-train-short.gmt" "$recorded/gpt2-train-too-short.gmt"
says out '^The second runs out of memory: a request of 147\.2 MiB, event 1668; the other does not\.$'; says out 'is refused 147\.2 MiB \(event 1668\)\.$'
run 0 gemem-sim diff "$recorded/llama-train.gmt" -a pytorch-expandable -d h100
says out '^llama-train\.gmt: pytorch-caching -> pytorch-expandable$'; says out '^They part at event 1, a request of 125\.0 MiB: the second holds 140\.0 MiB, \+14\.00 MiB\.$'
run 0 gemem-sim diff "$recorded/llama-train.gmt" -a pytorch-caching; says out '^Nothing differs'
run 0 gemem-sim diff "$recorded/llama-train.gmt" -a pytorch-caching -a cupy-pool; says out '^Settings: allocator pytorch-caching -> cupy-pool\.$'
run 0 gemem-sim diff base.txt other-ids.txt -a direct; says out '^Nothing differs'
run 0 gemem-sim diff base.txt changed.txt --by size; says out '^in use at the peak, by size:$'
for screen in "$recorded/gpt2-train-short.gmt $recorded/gpt2-train-too-short.gmt" "$recorded/llama-train.gmt -a cupy-pool" "base.txt changed.txt"; do
  # shellcheck disable=SC2086 # words
  gemem-sim diff $screen >screen
  most=32; ! grep -q '^Why' screen || most=37 # where a request fails, with what there was for it
  check "a screen: $screen" sh -c 'test $(wc -l <screen) -le $1 && ! grep -q "^.\{101\}" screen' - $most
done

# ---- ranks
cp base.txt out.rank-0.txt; cp base.txt out.rank-1.txt; program size 2 3 >out.rank-2.txt; program more 1 5 >out.rank-3.txt
run 0 gemem-sim diff out.rank-*.txt; says out '^Of 4, out\.rank-2\.txt decides: it holds at most 40\.00 MiB\.$'
says out '^  out\.rank-0\.txt +40\.00 MiB  27\.00 MiB +-4\.000 MiB model\.py:30 layer3$'; says out '^  out\.rank-2\.txt +40\.00 MiB  31\.00 MiB +decides$'
run 0 gemem-sim diff out.rank-0.txt out.rank-1.txt base.txt; says out '^All 3 hold at most [0-9.]+ MiB, in the same lines\.$'
run 0 gemem-sim diff out.rank-0.txt out.rank-1.txt base.txt -a direct -d 16GiB
run 0 gemem-sim diff "$recorded/gpt2-train.gmt" "$recorded/gpt2-train-too-short.gmt" "$recorded/gpt2-train-expandable.gmt"
says out '^Of 3, gpt2-train-too-short\.gmt decides: a request of 147\.2 MiB fails, event 1668\.$'
if command -v jq >/dev/null; then
  run 0 gemem-sim diff out.rank-*.txt -f json
  check "JSON" jq -e '.deciding == "out.rank-2.txt" and (.ranks | length) == 4 and .ranks[2].in_use == [] and .ranks[0].in_use == .ranks[1].in_use' "$out"
fi

# ---- folders of ranks
mkdir before after
for rank in 0 1 2 3 10; do cp base.txt before/out.rank-$rank.txt; cp base.txt after/out.rank-$rank.txt; done
program more 1 5 >after/out.rank-2.txt; program size 1 6 >after/out.rank-10.txt; cp base.txt after/out.rank-11.txt; rm after/out.rank-3.txt; touch before/README before/.hidden-1; mkdir before/sub-1
run 0 gemem-sim diff before/ after/
says out '^before/ -> after/, 6 ranks$'; says out '^Without a partner: rank 3 of before/\.$'; says out '^Without a partner: rank 11 of after/\.$'
says out '^  rank 2  +40\.00 MiB +40\.00 MiB +\+3\.000 MiB model\.py:70 layer7$'; says out '^  rank 10 +40\.00 MiB +34\.00 MiB +-6\.000 MiB +\+7\.000 MiB model\.py:60 layer6$'; says out '^  nothing differs in 2 ranks$'
says out '^Of rank 10, the first difference:$'; says out '^They part after 5 equal requests and frees: the second asks for 14\.00 MiB, the first for 7\.000 MiB$'
says out '^All of it: gemem-sim diff before/out\.rank-10\.txt after/out\.rank-10\.txt$'
mkdir alone; cp before/*[!0-9]0.* alone/
run 0 gemem-sim diff alone alone; says out '^alone -> alone, 1 rank$'; says out '^Nothing differs in the only rank\.$'
run 0 gemem-sim diff before before; says out '^Nothing differs in any of 5 ranks\.$'
run 0 gemem-sim diff before; says out '^All 5 hold at most 40\.00 MiB, in the same lines\.$'
run 0 gemem-sim diff before/out.rank-0.txt after/out.rank-2.txt; says out '^out\.rank-0\.txt -> out\.rank-2\.txt$'
if command -v jq >/dev/null; then
  run 0 gemem-sim diff before after -f json
  check "JSON of ranks" jq -e '[.ranks[].rank] == [0, 1, 2, 10] and .first_only == [3] and .second_only == [11] and [.ranks[].diff.same] == [true, true, false, false]' "$out"
fi
mkdir names; cp base.txt names/snapshot_7.txt; cp base.txt names/snapshot_oom_rank-3.txt; cp base.txt names/run2_rank12_of_16.txt
run 0 gemem-sim diff names names -f json; check "ranks by their names" grep -q '"rank": 3, ' "$out"; check "and" grep -q '"rank": 12, ' "$out"; check "and the last number" grep -q '"rank": 7, ' "$out"
cp base.txt names/rank7.txt; run 3 gemem-sim diff names before; says err 'names/rank7\.txt and names/snapshot_7\.txt are both of rank 7; leave one in the folder$'
mkdir none; run 3 gemem-sim diff none before; says err '^gemem-sim: error: none: no recording of a rank is in it'
run 2 gemem-sim diff before base.txt; says err 'a folder is taken for the ranks of a run'; run 2 gemem-sim diff before after before; run 2 gemem-sim diff before after --plots p
head -c 300 "$recorded/gpt2-train.gmt" >after/out.rank-0.txt; run 3 gemem-sim diff before after; says err 'after/out\.rank-0\.txt'

# ---- a picture
run 0 gemem-sim diff base.txt changed.txt --plots drawn; run 0 gemem-sim diff base.txt base.txt --plots same
check "data" grep -Eq '^[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+$' drawn/difference.dat
check "the script marks where they part" grep -q '^set arrow from x(9.0)' drawn/difference.gp
check "and nothing where they do not" sh -c '! grep -q "^set arrow from x(" same/difference.gp'
# what stands in the data are the peaks of the screen, and the difference at each event
gemem-sim diff "$recorded/gpt2-train.gmt" -a pytorch-expandable --plots both >screen
largest () { awk -v c="$1" '!/^#/ && $c != "NaN" && $c > most { most = $c } END { printf "%.0f\n", most }' both/difference.dat; }
peak () { gemem-sim replay "$recorded/gpt2-train.gmt" -a "$1" -f json | jq '.. | .peak_reserved? // empty' | head -n 1; }
if command -v jq >/dev/null; then
  check "the peak of the first" test "$(largest 2)" = "$(peak pytorch-caching)"
  check "the peak of the second" test "$(largest 4)" = "$(peak pytorch-expandable)"
fi
run 0 gemem-sim diff "$recorded/llama-train.gmt" "$recorded/llama-decode.gmt" --plots timed --plot-axis time
check "an axis of time" grep -q '^# ns first_reserved' timed/difference.dat; check "behind the end of one" grep -q 'NaN NaN$' timed/difference.dat
run 2 gemem-sim diff base.txt changed.txt --plots p --plot-axis nothing
! command -v gnuplot >/dev/null || check "and it is drawn" test -s drawn/difference.svg -a -s drawn/difference.png

# ---- by category and size class
awk 'NR == 2 { print; next } /^alloc/ { print $0 " tag=\"" (++n % 2 ? "weights" : "activations") "\""; next } { print }' base.txt >tagged.txt
program size 1 3 | awk '/^alloc/ { print $0 " tag=\"" (++n % 2 ? "weights" : "activations") "\""; next } { print }' >tagged2.txt
run 0 gemem-sim diff tagged.txt tagged2.txt
says out '^  by category: \+4\.000 MiB weights$'; says out '^  by size class: \+8\.000 MiB 4\.000 MiB to 8\.000 MiB, -4\.000 MiB 2\.000 MiB to 4\.000 MiB$'
run 0 gemem-sim diff tagged.txt tagged2.txt --by category; lacks out 'by category: '; says out '^in use at the peak, by category:$'

# ---- wrong use
printf '# gemem-trace: 2\n# end: 0\n' >empty.txt
run 2 gemem-sim diff; says err 'diff'
run 2 gemem-sim diff base.txt; says err 'base\.txt alone: with what is it to be compared\? Give another recording, or an allocator with -a$'
run 2 gemem-sim diff base.txt changed.txt base.txt --by size; says err '3 recordings are taken for the ranks of one run'
run 2 gemem-sim diff base.txt changed.txt base.txt -a direct -a tf-bfc
run 3 gemem-sim diff base.txt changed.txt empty.txt
run 2 gemem-sim diff base.txt changed.txt -a direct -a cupy-pool -a tf-bfc; says err '3 allocators, and a difference is between two'
run 2 gemem-sim diff base.txt changed.txt --by nothing; says err '^gemem-sim: error: --by=nothing: write one of stack, line'
run 1 gemem-sim diff base.txt missing.gmt; says err 'missing\.gmt: No such file'
head -c 300 "$recorded/gpt2-train.gmt" >cut.gmt; run 3 gemem-sim diff base.txt cut.gmt; says err 'cut\.gmt'
run 2 gemem-sim diff base.txt changed.txt -f csv; says err 'choose table or json'
printf '# gemem-trace: 2\n# end: 0\n' >empty.txt; run 3 gemem-sim diff base.txt empty.txt; says err 'empty\.txt'
done_testing
