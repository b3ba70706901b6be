#!/bin/sh
# test-cli-figures.sh - figures for a paper, a screen and a slide: formats, widths, letters, files under 200 kB, rows that are sorted,
# merged and counted, broken bars, names that TeX must not read.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded
llama=$recorded/llama-train.gmt

# What is not known is refused before anything runs.
refused () { # PATTERN OPTION
  run 2 gemem-sim compare "$llama" --plots none "$2"; says err "$1"
}
refused 'plot-style=poster: choose screen, paper, slide' --plot-style=poster
refused 'plot-format=svg,gif: choose svg, png, pdf, tikz' --plot-format=svg,gif
refused 'plot-axis=steps: choose events, time' --plot-axis=steps
for size in 3.3 0in -3in 1in 101in nanin 7in,; do refused 'a width from 1.5in to 100in is wanted' --plot-size=$size; done
run 2 gemem-sim plan "$llama" --plots none --plot-style=poster; says err 'choose screen, paper, slide'
check 'nothing was begun' sh -c '! ls none 2>/dev/null'

# The scripts say what they draw.
run 0 gemem-sim compare "$llama" --zoo -f json -o all.json --plots bare --plot-style paper --plot-format pdf,tikz
check 'a script for each width' sh -c 'ls bare/comparison-llama-train-3.3in.gp bare/comparison-llama-train-7in.gp bare/comparison-llama-train.dat'
check 'of the formats asked for' grep -q '^# gnuplot comparison-llama-train-7in.gp: draws comparison-llama-train-7in.pdf and comparison-llama-train-7in.tex$' bare/comparison-llama-train-7in.gp
check 'a paper has no title' sh -c '! grep -q "peak memory and cost by allocator" bare/comparison-llama-train-7in.gp'
check 'a slim page has one panel' sh -c '! grep -q "modelled latency" bare/comparison-llama-train-3.3in.gp && grep -q "modelled latency" bare/comparison-llama-train-7in.gp'

# Rows: what needs least first, failed ones last; equal ones are one; twenty at most, the rest counted.
grep -v '^#' bare/comparison-llama-train.dat >rows
check 'sorted by the peak' sh -c 'awk "\$11 == 0 { print \$4 }" rows >peaks && sort -n peaks | cmp - peaks'
check 'twenty rows' test "$(wc -l <rows)" = 20
check 'the rest is counted' grep -q 'set label t("and [0-9]* more, not drawn")' bare/comparison-llama-train-7in.gp
check 'equal ones are one' grep -q '"ge = ge-active = ge-fixed-base"' rows
run 0 gemem-sim compare "$llama" --plots settings -o /dev/null
check 'settings of one allocator: what differs' grep -q '"expandable_segments=yes"' settings/comparison-llama-train.dat
check 'what the program has is marked' grep -q '"pytorch-caching (now)"' settings/comparison-llama-train.dat
check 'events along the axis' grep -q "set xlabel 'event'" settings/timeline-llama-train.gp
run 0 gemem-sim compare "$llama" --plots timed --plot-axis time -o /dev/null
check 'time without what is idle' grep -q "set xlabel 'time without 6.524 s of idle time (s)'" timed/timeline-llama-train.gp

# Bars far longer than the others are broken, and the axis has no tics behind the break.
run 0 gemem-sim compare "$llama" -a direct -a ge -a pytorch-caching -a paddle-buddy --plots far -o /dev/null
check 'the axis ends at the break' grep -q '^set xtics 0,step,brk' far/comparison-llama-train.gp
check 'the bar is broken' grep -q '($4 > end ? $1+0.4 : NaN)' far/comparison-llama-train.gp
run 0 gemem-sim compare "$llama" -a direct -a ge -a pytorch-caching --plots near -o /dev/null
check 'else nothing is' sh -c '! grep -q brk near/comparison-llama-train.gp'

# Several recordings in one figure: overheads and their geometric mean, which failed runs do not have.
set -- "$llama" "$recorded/gpt2-train.gmt" "$recorded/vit-train.gmt"
run 0 gemem-sim compare "$@" -a direct -a rmm-limiting -a pytorch-caching -a ge -a rmm-arena -a rmm-fixed-size --plots over -f json -o over.json
cat >over.py <<'END'
import json, math, os, re
measures = {}
for result in json.load(open("over.json"))["results"]:
    measures.setdefault(result["label"], []).append(result["measures"])
blocks = open("over/overall.dat").read().split("\n\n\n")
assert [re.search("index .: (.*)", block).group(1) for block in blocks] == ["pytorch-caching", "rmm-limiting = direct", "ge", "rmm-arena", "rmm-fixed-size"], blocks
for block in blocks:
    label = re.search("index .: (.*)", block).group(1).split(" = ")[0]
    rows = [line.split(" ", 2) for line in block.splitlines() if line[0] != "#"]
    want = [0 if one["ooms"] else one["peak_reserved"] / one["lower_bound"] for one in measures[label]]
    want.append(math.exp(sum(map(math.log, want)) / 3) if all(want) else 0)
    assert all(abs(float(row[1]) - value) < 1e-6 for row, value in zip(rows, want)) and len(rows) == 4, (label, rows, want)
    assert [row[2] for row in rows] == ['"llama-train"', '"gpt2-train"', '"vit-train"', '"geometric mean"'], rows
END
run 0 python3 over.py
check 'a bar that dwarfs the others is broken' grep -q '($2 > end ? 1+(end-1)' over/overall.gp
check 'failed requests are marked' grep -q '"failed requests"' over/overall.gp
run 0 gemem-sim compare "$@" -a direct -a ge --plots two -o /dev/null
check 'none is broken without need' sh -c '! grep -q "> end ? 1+" two/overall.gp && ! grep -q "failed requests" two/overall.gp'
run 0 gemem-sim compare "$llama" -a direct -a ge --plots one -o /dev/null
check 'one recording has no such figure' sh -c '! ls one/overall.gp 2>/dev/null'

# A search: a curve of one setting, a heat map of two, the front of memory and time, the least capacities, the latencies.
gpt2=$recorded/gpt2-train.gmt
run 0 gemem-sim compare "$gpt2" -a 'pytorch-caching:large_segment_size_mb=1024|20|128' --plots curve -f json -o curve.json
run 0 gemem-sim compare "$gpt2" -a 'pytorch-caching:max_split_size_mb=20|128,roundup_power2_divisions=4|1' --plots heat -f json -o heat.json
run 0 gemem-sim compare "$gpt2" --find-capacity -a direct -a 'pytorch-*' -a ge -a tf-bfc -a rmm-fixed-size --plots front -f json -o front.json
cat >search.py <<'END'
import json
results = lambda name: json.load(open(name + ".json"))["results"]
rows = lambda path: [line.split(" ") for line in open(path) if line[0] not in "#\n"]
peak = lambda result: result["measures"]["peak_reserved"]
curve = {result["parameters"]["large_segment_size_mb"]: peak(result) for result in results("curve")}
assert [int(row[2]) for row in rows("curve/sweep-gpt2-train.dat")] == [curve[value] for value in ("20MiB", "128MiB", "1GiB")]
heat = {(r["parameters"]["max_split_size_mb"], r["parameters"]["roundup_power2_divisions"]): peak(r) for r in results("heat")}
cells = {(int(row[0]), int(row[1])): int(row[2]) for row in rows("heat/sweep-gpt2-train.dat")}
assert cells == {(x, y): heat[a, b] for x, a in enumerate(("20MiB", "128MiB")) for y, b in enumerate("14")}, (cells, heat)
points = [(r["measures"]["modelled_time"], peak(r)) for r in results("front") if r["measures"]["ooms"] == 0 and r["allocator"] != "direct"]
front = sorted(p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points))
blocks = open("front/front-gpt2-train.dat").read().split("\n\n\n")
drawn = [[tuple(map(int, line.split(" ")[:2])) for line in block.splitlines() if line[0] != "#"] for block in blocks]
assert drawn[0] == front and sorted(drawn[0] + drawn[1]) == sorted(points), (drawn, points)
least = [r["measures"]["least_capacity"] for r in results("front")]
bars = [int(row[1]) for row in rows("front/capacity-gpt2-train.dat")]
assert bars == sorted(bars, key=lambda bar: bar or 1 << 70) and sorted(bars) == sorted(value or 0 for value in least), (bars, least)
for block in open("front/cumulative-gpt2-train.dat").read().split("\n\n\n"):
    counts = [int(line.split(" ")[1]) for line in block.splitlines() if line[0] != "#"]
    assert counts == sorted(counts) and counts[0] == 0
END
run 0 python3 search.py
check 'values in their order' grep -q 't("20MiB") 0, t("128MiB") 1, t("1GiB") 2' curve/sweep-gpt2-train.gp
check 'other searches have no such figure' sh -c '! ls front/sweep* two/sweep* 2>/dev/null'
# the same pairs of values of the front, by number and name below the picture
run 0 gemem-sim compare "$gpt2" -a pytorch-caching -a ge -a tf-bfc --plots few; check 'where there are few, all are numbered' test "$(grep -c '^set label t("[1-3]:  [0-9.]* GiB' few/front-gpt2-train.gp)" -eq 3
check 'and so are their points' test "$(awk '/^[0-9]/ { print $3 }' few/front-gpt2-train.dat | tr '\n' ' ')" = '1 2 3 '
check 'the front is numbered' grep -q '^set label t("1:  [0-9.]* GiB, [0-9.]* ms  ' front/front-gpt2-train.gp

# tune draws what it found: the figures of compare, though most settings are settled by a proof.
space='pytorch-caching:large_segment_size_mb=20|22|96,expandable_segments=*'
run 0 gemem-sim tune "$gpt2" -a "$space" --plots tuned -o /dev/null
run 0 gemem-sim compare "$gpt2" -a "$space" --plots compared -o /dev/null
for figure in sweep front; do
  for folder in tuned compared; do grep -v '^#' $folder/$figure-gpt2-train.dat | cut -d' ' -f1-4 | cut -d'"' -f1 | sort >$folder.numbers; done
  check "tune draws the $figure of compare" sh -c 'cmp tuned.numbers compared.numbers && test $(wc -l <tuned.numbers) -ge 6'
done
run 0 gemem-sim tune "$gpt2" --plots wide
check 'no replay is stopped for figures' sh -c '! grep -q "stopped above" "$0"' "$out"
check 'of many settings a curve each, and the heat map that differs most' \
  sh -c 'test "$(ls wide/sweep-gpt2-train-*_*.gp | wc -l)" -ge 4 -a "$(grep -l "lc palette" wide/*.gp | wc -l)" = 1'
best=$(grep -o 'Needs\|needs [0-9.]* [GM]iB' "$out" | head -n 1); best=${best#needs }
check "each has the best among its points: $best" sh -c 'for file in wide/sweep-*.dat; do grep -q "\"$0\"" $file || exit 1; done' "$best"
run 0 gemem-sim tune "$gpt2" -a pytorch-caching:max_split_size_mb=64 --plots few
says err 'note: no figures in few: they need three settings that differ'

# Little to be drawn: every figure is there, and says what there is.
printf '# gemem-trace: 1\n# end: 0\n' >none.txt
run 3 gemem-sim compare none.txt -a direct --plots none
check 'no events: a figure says so' grep -q '^set label t("none.txt: no allocation events; there is nothing to replay or plan")' none/comparison-none.gp
printf '# gemem-trace: 1\nalloc 1 size=100\n# end: 1\n' >one.txt
run 0 gemem-sim compare one.txt -a direct --plots one-event -o /dev/null
check 'one event' sh -c 'grep -q "100 B" one-event/comparison-one.dat && ls one-event/timeline-one.gp one-event/calls-one.gp'
run 0 gemem-sim compare one.txt -a direct -a pytorch-caching -d sim:capacity=64B --plots refused -o /dev/null
check 'all requests failed' sh -c 'grep -q "0 B, 1 failed" refused/comparison-one.dat && grep -q "failed requests" refused/comparison-one.gp'
run 2 gemem-sim compare one.txt -a direct -d sim:capacity=0 --plots zero
says err "capacity='0': too small; use at least 1"

if ! command -v gnuplot >/dev/null; then
  skip 'drawn figures' 'gnuplot is not installed'; done_testing; exit
fi

# A paper: 237 and 504 pt wide, letters of 7 pt, fonts embedded.
run 0 gemem-sim plot all.json -o paper --plot-style paper
for width in '3.3in 237' '7in 504'; do
  for figure in comparison timeline calls fragmentation; do
    file=paper/$figure-llama-train-${width% *}.pdf
    said=$(python3 "$GEMEM_SRCDIR/tests/cli/pdf-letters.py" "$file")
    check "$file: $said" test "$said" = "${width#* } pt, fonts embedded, letters of 7.0 pt"
  done
done
run 0 gemem-sim plot all.json -o both --plot-style slide --plot-format png,pdf,svg --plot-size 10in
check 'one width has no suffix' test -s both/comparison-llama-train.pdf -a -s both/comparison-llama-train.png -a -s both/comparison-llama-train.svg
said=$(python3 "$GEMEM_SRCDIR/tests/cli/pdf-letters.py" both/comparison-llama-train.pdf)
check "letters of a slide: $said" test "$said" = '720 pt, fonts embedded, letters of 16.0 pt'
check 'PNG: 144 dots an inch' sh -c 'test "$(od -An -tu1 -j16 -N4 both/comparison-llama-train.png | awk "{ print \$3 * 256 + \$4 }")" = 1440'
run 0 gemem-sim plot all.json -o screen
check 'files under 200 kB' sh -c 'test -z "$(find screen paper -size +200k | tee /dev/stderr)"'
run 0 gemem-sim plan "$llama" -p first-fit-by-size --plots plans --plot-style paper -o /dev/null
check 'plans, too' sh -c 'ls plans/*-3.3in.pdf plans/*-7in.pdf && ! ls plans/*.svg'
for width in '3.3in 237' '7in 504'; do
  said=$(python3 "$GEMEM_SRCDIR/tests/cli/pdf-letters.py" plans/*-${width% *}.pdf)
  check "a plan of ${width% *}: $said" test "$said" = "${width#* } pt, fonts embedded, letters of 7.0 pt"
done

# Names are text in TeX.
cp "$recorded/resnet50-train.gmt" 'a_b%$&#{x}~^ \input{secret} `id`.gmt'
run 0 gemem-sim replay -a direct 'a_b%$&#{x}~^ \input{secret} `id`.gmt' --plots tex --plot-format tikz -o /dev/null
tex=$(ls tex/comparison-*.tex)
check 'no command of TeX' sh -c '! grep -F "\\input" "$1" && grep -F "a\\_b\\%\\$\\&\\#\\{x\\}\\textasciitilde{}\\textasciicircum{} \\textbackslash{}input\\{secret\\}" "$1"' - "$tex"
check 'no comment begins in a label' sh -c '! grep "^.node" "$1" | grep "[^\\]%"' - "$tex"
if command -v pdflatex >/dev/null; then
  gnuplot -e 'set terminal tikz createstyle'
  printf '%s\n' '\documentclass{article}\usepackage[T1]{fontenc}\usepackage{textcomp}\usepackage{gnuplot-lua-tikz}\begin{document}' \
    "\\input{${tex%.tex}}" '\end{document}' >paper.tex
  run 0 pdflatex -interaction=nonstopmode -halt-on-error paper.tex
else skip 'TeX reads it' 'pdflatex is not installed'; fi
done_testing
