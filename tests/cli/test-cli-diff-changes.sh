#!/bin/sh
# test-cli-diff-changes.sh - gemem-sim diff: twenty planted changes, each named first; the chain from a block that lies elsewhere to the difference.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded

# ---- a program, as lines "step N", "ask BLOCK MIB LAYER", "free BLOCK": steps of six layers, each with what it keeps for the backward pass and a workspace
program () { # STEPS
  awk -v steps="$1" 'BEGIN {
    for (s = 1; s <= steps; s++) {
      print "step " s
      for (l = 1; l <= 6; l++) { print "ask a" s l, 2 * l + 1, l; print "ask w" s l, 20 + l, l + 10; print "free w" s l }
      for (l = 6; l >= 1; l--) { print "ask g" s l, 2 * l, l + 20; print "free a" s l; print "free g" s l }
    } }'
}
# trace [HEADER]: such a program as a trace; a layer is a line of code.
trace () {
  awk -v header="${1:-# allocator: \"pytorch-caching\"}" 'BEGIN {
    print "# gemem-trace: 2"; print header
    for (l = 1; l <= 26; l++) print "# frame: \"layer" l "\" \"model.py\" " 10 * l
    for (l = 1; l <= 26; l++) print "# stack: " l
  }
  $1 == "step" { print "step " $2 }
  $1 == "ask" { block[$2] = ++id; print "alloc " id " size=" $3 * 1048576 " stack=" $4 }
  $1 == "free" { print "free " block[$2] }
  END { print "# end: " NR }'
}
program 3 >base.program; trace <base.program >base.txt
# What stands first below the sentence about the amounts, in one line.
first () { gemem-sim diff "$@" | sed -n '/^They part\|^Settings/,/^$/p' | tr '\n' ' ' | sed 's/  */ /g'; }
# planted NAME PATTERN SED: that change is named, first of all, and the other way round something is named, too.
planted () {
  sed "$3" base.program | trace "${4:-}" >changed.txt
  first base.txt changed.txt >named
  check "$1" grep -Eq -- "$2" named
  grep -Eq -- "$2" named || sed 's/^/# /' named
  check "$1, and back" test -n "$(first changed.txt base.txt)"
}
planted "larger" '^They part after [0-9]+ equal requests and frees: the second asks for 90\.00 MiB, the first for 9\.000 MiB by model\.py:40 layer4 \(event 47\)\.' 's/^ask a24 9 4$/ask a24 90 4/'
run 0 gemem-sim diff base.txt changed.txt; says out '^  by size class: '; lacks out 'by category' # nothing is known of these
planted "smaller" 'the second asks for 1\.000 MiB, the first for 9\.000 MiB by model\.py:40 layer4 \(event' 's/^ask a24 9 4$/ask a24 1 4/'
planted "a workspace of another size" 'the second asks for 64\.00 MiB, the first for 23\.00 MiB by model\.py:130 layer13 \(event' 's/^ask w23 .*/ask w23 64 13/'
planted "one more tensor" 'the second makes one more request, of 5\.000 MiB by model\.py:70 layer7 \(event' 's/^free w23$/&\nask more 5 7/'
planted "one more tensor that is freed at once" 'the second makes one more request, of 5\.000 MiB by model\.py:70 layer7 \(event' 's/^free w23$/&\nask more 5 7\nfree more/'
planted "one more tensor of the size of the next" 'the second makes one more request, of 9\.000 MiB by model\.py:70 layer7 \(event' 's/^free w23$/&\nask more 9 7/'
planted "one tensor less" 'the first makes one more request, of 9\.000 MiB by model\.py:40 layer4 \(event' '/^\(ask\|free\) a24/d'
planted "a workspace less" 'the first makes one more request, of 23\.00 MiB by model\.py:130 layer13 \(event' '/^\(ask\|free\) w23/d'
planted "another order of requests" 'the (first asks for 8\.000 MiB by model\.py:240 layer24|second asks for 6\.000 MiB by model\.py:230 layer23) \(event [0-9]+\), the (first|second) does so later \(event' '/^ask g23/d;s/^ask g24 .*/ask g23 6 23\n&/'
planted "two neighbours change places" 'the first asks for 9\.000 MiB by model\.py:40 layer4 \(event 47\), the second does so later \(event 48\)' '/^ask a24/{h;d};/^ask w24/{G}'
planted "another order of frees" 'the first frees 9\.000 MiB by model\.py:40 layer4 \(event [0-9]+\), the second does so later' '/^free a24/{h;d};/^free g24/{G}'
planted "a leak" 'the second never frees 9\.000 MiB by model\.py:40 layer4, which the first frees at event' '/^free a24$/d'
planted "a leak of a workspace" 'the second never frees 23\.00 MiB by model\.py:130 layer13, which the first frees at event' '/^free w23$/d'
planted "a leak in the first step" 'the second never frees 3\.000 MiB by model\.py:10 layer1, which the first frees' '/^free a11$/d'
planted "a longer life" 'the second frees 9\.000 MiB by model\.py:40 layer4 at event [0-9]+, the first already at event' '/^free a24$/d;s/^free g21$/&\nfree a24/'
planted "a life into the next step" 'the second frees 23\.00 MiB by model\.py:130 layer13 at event [0-9]+, the first already at event' '/^free w23$/d;s/^ask a31 .*/&\nfree w23/'
planted "a shorter life" 'the first frees 7\.000 MiB by model\.py:30 layer3 at event [0-9]+, the second already at event' '/^free a23$/d;s/^ask g25 .*/&\nfree a23/'
planted "one step more" 'the second makes one more request, of 3\.000 MiB by model\.py:10 layer1' '$a\ask a41 3 1\nask w41 21 11\nfree w41\nfree a41'
planted "one step less" 'the first makes one more request, of 3\.000 MiB by model\.py:10 layer1' '/^step 3/,$d'
planted "another setting" '^Settings: max_split_size_mb unlimited -> 20MiB\.' '' "$(printf '# allocator: "pytorch-caching"\n# settings: "max_split_size_mb=20MiB"')"
planted "another allocator" '^Settings: allocator pytorch-caching -> tf-bfc\.' '' '# allocator: "tf-bfc"'
check "nothing of itself" sh -c 'gemem-sim diff base.txt base.txt | grep -q "^Nothing differs" && test "$(gemem-sim diff base.txt base.txt | wc -l)" -eq 2'

# Steps are matched by their numbers, and what has no partner is said.
program 5 | trace >five.txt; run 0 gemem-sim diff base.txt five.txt; says out '^Without a partner: steps 4 to 5 of the second\.$'
run 0 gemem-sim diff five.txt base.txt; says out '^Without a partner: steps 4 to 5 of the first\.$'
program 5 | sed '/^step 1/,/^step 2/{/^step 2/!d}' | trace >late.txt; run 0 gemem-sim diff base.txt late.txt; says out '^Without a partner: step 1 of the first\.$'
program 3 | sed 's/^step .*/step 0/' | trace >unnumbered.txt; run 0 gemem-sim diff unnumbered.txt base.txt; lacks out 'Without a partner'
# the recording that begins a step later: its blocks belong to those of the same step, so that the chain tells of the change alone
sed 's/^ask a34 9 4$/ask a34 90 4/' base.program | sed '/^step 1/,/^step 2/{/^step 2/!d}' | trace >later.txt
run 0 gemem-sim diff base.txt later.txt; says out '^  90\.00 MiB, in the first 9\.000 MiB, by model\.py:40 layer4 \(event '

# ---- the chain: 30 MiB are asked for while 10 of the segment of 40 are in use; one block more, kept, and the request does not fit there
cat >fits.program <<'X'
step 1
ask big 40 1
free big
ask small 8 2
ask other 30 3
free other
ask last 31 4
X
trace <fits.program >fits.txt; sed 's/^free other$/&\nask kept 12 7/' fits.program | trace >kept.txt
run 0 gemem-sim diff fits.txt kept.txt
says out '^How the second comes to hold a segment of 32\.00 MiB more:$'
says out '^  12\.00 MiB by model\.py:70 layer7 \(event 6\): the first does not ask for it; the second puts it into$'
says out '^    its 40\.00 MiB segment of event 1\.$'
says out '^  31\.00 MiB by model\.py:40 layer4 \(event 7, in the first 6\): the first puts it into its 40\.00 MiB$'
says out '^    segment of event 1; in that of the second lies the block above, and it obtains 32\.00 MiB for it\.$'
run 0 gemem-sim diff kept.txt fits.txt; says out '^How the first comes to hold a segment of 32\.00 MiB more:$'
# ---- where one runs out of memory: the request itself, what each has then, and the chain from there; both ways round
# refused NAME BEFORE AFTER CAPACITY CAUSE WHYS PATTERN...: the second is refused a request, and the first if they change places; JSON says the same.
refused () {
  refused_name=$1 before=$2 after=$3 refused_capacity=$4 cause=$5 whys=$6; shift 6
  gemem-sim diff "$before" "$after" --capacity "$refused_capacity" | sed -n '/^Why/,$p' | tr '\n' ' ' | sed 's/  */ /g' >forth
  gemem-sim diff "$after" "$before" --capacity "$refused_capacity" | sed -n '/^Why/,$p' | tr '\n' ' ' | sed 's/  */ /g' >back
  tr '[:upper:]' '[:lower:]' <back | sed 's/first/@/g; s/second/first/g; s/@/second/g' >turned
  for pattern in "$@"; do
    check "$refused_name: $pattern" grep -Eq -- "$pattern" forth
    grep -Eq -- "$pattern" forth || sed 's/^/# /' forth
  done
  check "$refused_name, and back" test "$(cat turned)" = "$(tr '[:upper:]' '[:lower:]' <forth)"
  command -v jq >/dev/null || return 0
  gemem-sim diff "$before" "$after" --capacity "$refused_capacity" -f json >forth.json; gemem-sim diff "$after" "$before" --capacity "$refused_capacity" -f json >back.json
  check "$refused_name: JSON" jq -e --arg cause "$cause" --arg whys "$whys" '.failure.of == "second" and .chain.cause == $cause and ([.chain.links[].why] | join (" ")) == $whys
    and .chain.fails and (.chain.links[-1].second.fails or (.chain.of_request | not)) and (.failure.second.largest | length) <= 20
    and ([.failure.second.largest[].bytes] | . == (sort | reverse)) and (.failure.second | .parts > 20 or ([.largest[].bytes] | add // 0) == .free)' forth.json
  check "$refused_name: JSON, and back" sh -c 'jq -c "[.failure.requested, .failure.device_asked, .failure.device_free, .failure.second, .failure.first, .chain.cause]" forth.json >a
    jq -c "[.failure.requested, .failure.device_asked, .failure.device_free, .failure.first, .failure.second, .chain.cause]" back.json >b; cmp a b'
}
refused 'a block in the way' fits.txt kept.txt 71MiB not_asked 'taken taken' \
  '^Why the second is refused 31\.00 MiB by model\.py:40 layer4 \(event 7\): It has 20\.00 MiB free in one part, in its 40\.00 MiB segment of event 1, which is less\.' \
  'The device is asked for 32\.00 MiB, and has 31\.00 MiB left\. The first \(event 6\) has 32\.00 MiB free in one part, in its 40\.00 MiB segment of event 1\.' \
  ' 12\.00 MiB by model\.py:70 layer7 \(event 6\): the first does not ask for it; the second puts it into its 40\.00 MiB segment of event 1\.' \
  ' 31\.00 MiB by model\.py:40 layer4 \(event 7, in the first 6\): the first puts it into its 40\.00 MiB segment of event 1; in that of the second lies the block above, and it is refused it\. $'
cat >serves.program <<'X'
step 1
ask big 40 1
ask pin 8 2
free big
ask last 31 4
X
trace <serves.program >serves.txt
sed '/^free big/d' serves.program | trace >held.txt
sed '/^free big/d;s/^ask pin.*/&\nask more 30 7/' serves.program | trace >more.txt
refused 'a segment that leaves the device too little' held.txt more.txt 100MiB not_asked 'taken device_full' \
  'It has 12\.00 MiB free in one part, in its 20\.00 MiB segment of event 2, which is less\. The device is asked for 32\.00 MiB, and has 10\.00 MiB left\.' \
  ' 30\.00 MiB by model\.py:70 layer7 \(event 3\): the first does not ask for it; the second obtains 30\.00 MiB for it\.' \
  'the first obtains 32\.00 MiB for it; the second obtained more for the one above, and is refused it\. $'
refused 'a leak' serves.txt held.txt 75MiB freed 'taken taken' 'there it still lies when the first has freed it \(event 3\)\.' \
  'The first \(event 4\) has 52\.00 MiB free in 2 parts, the largest 40\.00 MiB, in its 40\.00 MiB segment of event 1\.'
sed 's/^ask last/ask extra 50 9\n&/' serves.program | trace >extra.txt
refused 'a segment that was returned for another request' serves.txt extra.txt 75MiB returned taken 'the second is refused it, for the second has returned that segment \(event 4\)\.'
sed 's/^ask last 31/ask last 51/' serves.program | trace >larger.txt
refused 'a larger request' serves.txt larger.txt 65MiB request taken '^Why the second is refused 51\.00 MiB' ' 51\.00 MiB, in the first 31\.00 MiB, by model\.py:40 layer4'
sed 's/^ask last/ask extra 70 9\n&/' serves.program | trace >most.txt
gemem-sim diff serves.txt most.txt --capacity 75MiB >unasked; check 'a request that the other does not make' grep -q '^  The first does not ask for it\.$' unasked
printf '# gemem-trace: 2\n# allocator: "pytorch-caching"\nalloc 1 size=41943040 stream=1\nfree 1\nalloc 2 size=8388608 stream=1\nalloc 3 size=20971520 stream=1\n# end: 4\n' >stream1.txt
sed 's/^alloc 3.*/alloc 3 size=20971520 stream=0/' stream1.txt >stream0.txt
refused 'the cache of another stream' stream1.txt stream0.txt 45MiB rule taken \
  'It has 32\.00 MiB free in one part, in its 40\.00 MiB segment of the beginning; it is large enough, but in the cache of another stream\. The device is asked for 20\.00 MiB, and has 5\.000 MiB left\.' \
  'is refused it, though it would fit into that one, too\. $'
# of one recording: the allocator that is refused a request first
run 0 gemem-sim diff "$recorded/gpt2-train.gmt" --capacity 2500MiB -a pytorch-expandable
says out '^Why the first is refused 9\.000 MiB \(event 2186\):$'
says out '^  It has 132\.6 MiB free in 95 parts, the largest 2\.000 MiB, in its 20\.00 MiB segment of event 2177;$'
says out '^    none is as large as the request\. The device is asked for 20\.00 MiB, and has 4\.000 MiB left\.$'
says out '^  The second \(event 2186\) has 35\.61 MiB free in 45 parts, the largest 10\.06 MiB, in its 20\.00 MiB$'
check "it is a screen" awk 'length > 100 || NR > 50 { bad = 1 } END { exit bad }' "$out"
gemem-sim replay "$recorded/gpt2-train.gmt" --capacity 2500MiB | grep -q '^  event 2186: block [0-9]* of 9\.000 MiB failed'; check "it is the first that fails" test $? -eq 0
if command -v jq >/dev/null; then
  run 0 gemem-sim diff "$recorded/gpt2-train.gmt" --capacity 2500MiB -a pytorch-expandable -f json
  check "the chain ends with that request" jq -e '.chain.fails and .chain.of_request and .chain.event == 2186 and (.chain.links[-1].first | .fails and .event == 2186)
    and .failure.of == "first" and .failure.first.parts == 95 and (.failure.first.largest | length) == 20' "$out"
fi
# what is too long to keep every block of
gemem-sim generate random:events=530000 --seed 3 -o long.gmt
run 0 gemem-sim diff long.gmt -a pytorch-expandable; says out '^Left out: how they come to differ, block by block; a recording has more than 524288 events\.$'
planted "a chain of one request" 'the second asks for 90' 's/^ask a24 9 4$/ask a24 90 4/'
run 0 gemem-sim diff base.txt changed.txt; says out '^  90\.00 MiB, in the first 9\.000 MiB, by model\.py:40 layer4 \(event 47\): the first '
run 0 gemem-sim diff "$recorded/gpt2-train.gmt" -a pytorch-expandable; says out 'where no segment grows as that of'
if command -v jq >/dev/null; then
  # each link is of an earlier event than the next, and the places of a link differ
  for pair in "$recorded/gpt2-train.gmt $recorded/gpt2-train-expandable.gmt" "$recorded/llama-train.gmt -a pytorch-expandable" "$recorded/llama-decode.gmt $recorded/llama-decode-roundup.gmt" \
    "$recorded/resnet50-train.gmt $recorded/resnet50-train-split.gmt" "$recorded/vit-train.gmt -a cupy-pool" "fits.txt kept.txt" "$recorded/llama-train.gmt $recorded/llama-decode.gmt"; do
    # shellcheck disable=SC2086 # words
    gemem-sim diff $pair -f json >there.json
    check "a chain, back in time: ${pair##*recorded/}" jq -e '.chain | (.links | length) > 0
      and ([.links[] | [(.first, .second) | select(. != null) | .event] | min] | . == (sort))
      and (.links | all(.first == null or .second == null or .first.segment_is_new != .second.segment_is_new or .first.segment != .second.segment
        or .first.segment_obtained != .second.segment_obtained or .first.event != .second.event or .differs != null))
      and (.links[-1] | (.[.differs]).segment_is_new)' there.json
  done
  gemem-sim diff base.txt base.txt -f json >same.json
  check "no chain where nothing differs" jq -e '.same and .chain == null and .parting == null' same.json
  gemem-sim diff "$recorded/gpt2-train-short.gmt" "$recorded/gpt2-train-too-short.gmt" -f json >failed.json
  check "where the one that fails holds no more: its limit" jq -e '.failure.of == "second" and .chain.cause == "device_full" and .failure.device_free > .failure.device_asked' failed.json
fi
done_testing
