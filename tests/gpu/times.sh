#!/bin/sh
# times.sh - predicted beside measured time in the allocator, row by row, with plots: of results/gpu, or of what collect.sh left in another folder (-p).
#
#   tests/gpu/times.sh [-p PROFILE] [FOLDER]
#
# Why: one number for all rows hides whether calls of the device or the host were misjudged.  Measured is what FOLDER/compare.csv has; predicted is what the
# simulated device says of the same recordings (in FOLDER/host, or where they were) and allocators today, with PROFILE (h100 by default), whose prices were
# measured apart.
# Writes FOLDER/times.csv and times.md, and, where there is gnuplot, plots/times.svg, and plots/NAME.svg of each calibrated profile.  Nothing in them is chosen
# by hand.
# Needs a build: gemem-sim is taken from PATH.
set -eu
profile=h100
while getopts p: option; do case $option in p) profile=$OPTARG ;; *) exit 2 ;; esac; done
shift $((OPTIND - 1))
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../results/gpu}
LC_ALL=C; export LC_ALL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# column NAME: its values in compare.csv, each once, in the order of the rows.
column () { awk -F, -v name="$1" '/^#/ { next } !head { head = 1; for (i = 1; i <= NF; i++) if ($i == name) c = i; next } !seen[$c]++ { print $c }' "$folder/compare.csv"; }

set --
for trace in $(column trace); do
  [ -e "$folder/host/${trace##*/}" ] && trace=$folder/host/${trace##*/} || trace=$here/../../$trace
  set -- "$@" "$trace"
done
for allocator in $(column allocator); do set -- "$@" -a "$allocator"; done
gemem-sim compare "$@" -d "sim:address=cuda,profile=$profile" -f csv -o "$work/predicted.csv"

# A row: both times in ns, what calls of the device took of each, how many calls, and how many requests and frees.  Where no request made a call, all calls
# were made before the first one, and no time has them.
awk -F, -v OFS=, '
  FNR == 1 { head = 0; file++ }
  /^#/ { next }
  { gsub (/"[^"]*"/, "") }
  !head { head = 1; for (i = 1; i <= NF; i++) at[file, $i] = i; next }
  { trace = $at[file, "trace"]; gsub (/^.*\/|\.gmt$/, "", trace); row = trace OFS $at[file, "allocator"] }
  file == 1 { measured[row] = $at[1, "measured_time"]; calls[row] = $at[1, "calls"]; in_calls[row] = $at[1, "measured_call_time"]; next }
  !printed++ { print "recording,allocator,measured_ns,predicted_ns,measured_in_calls_ns,predicted_in_calls_ns,measured_calls,predicted_calls,requests" }
  { some = $at[2, "alloc_max"] != $at[2, "alloc_p50"]
    print row, measured[row], $at[2, "modelled_time"], some * in_calls[row], some * $at[2, "calls_time"], some * calls[row], some * $at[2, "calls"],
      $at[2, "allocs"] + $at[2, "frees"] }
' "$folder/compare.csv" "$work/predicted.csv" >"$folder/times.csv"

awk -F, -v profile="${profile##*/}" '
  function size (x) { return x < 0 ? -x : x }
  NR == 1 { next }
  { n++; m[n] = $3; p[n] = $4; mc[n] = $5; pc[n] = $6; calls[n] = $7; asked[n] = $9; predicted_calls = $8
    off[n] = size(p[n] / m[n] - 1); ten += off[n] <= 0.1; thirty += off[n] <= 0.3; if (off[n] > worst) worst = off[n]
    for (i = n; i > 1 && sorted[i - 1] > off[n]; i--) sorted[i] = sorted[i - 1]
    sorted[i] = off[n]
    row[n] = sprintf ("| %s | %s | %.2f ms | %.2f ms | %+.0f %% | %+.2f ms | %+.2f ms | %s | %.0f, %.0f ns |", $1, $2, m[n] / 1e6, p[n] / 1e6, 100 * (p[n] / m[n] - 1),
      (pc[n] - mc[n]) / 1e6, (p[n] - pc[n] - m[n] + mc[n]) / 1e6, calls[n] ? sprintf ("%.1f, %.1f us", mc[n] / calls[n] / 1e3, pc[n] / predicted_calls / 1e3) : "none",
      (m[n] - mc[n]) / asked[n], (p[n] - pc[n]) / asked[n]) }
  END {
    # How good any prices could be: all calls cheaper or dearer by one factor, and another time of the host, chosen to suit these very rows.
    for (factor = 0.5; factor <= 4; factor += 0.02)
      for (host = 20; host <= 320; host += 2) {
        suits = 0
        for (i = 1; i <= n; i++) suits += size((factor * pc[i] + host * asked[i]) / m[i] - 1) <= 0.1
        if (suits > most) most = suits
      }
    print "# Predicted and measured time in the allocator, row by row\n"
    middle = (sorted[int ((n + 1) / 2)] + sorted[int (n / 2) + 1]) / 2
    printf "Of %d rows %d are within 10 %%, %d within 30 %%; the median is %.0f %% off, the worst %.0f %%.\n", n, ten, thirty, 100 * middle, 100 * worst
    printf "With one factor on all calls and another time of the host, both chosen to suit these rows, %d would be within 10 %%.\n\n", most
    printf "Measured: compare.csv, which says on what. Predicted: the same recordings with -d sim:address=cuda,profile=%s.\n", profile
    print "Written by tests/gpu/times.sh. Off in calls and on the host: predicted less measured.\n"
    print "| recording | allocator | measured | predicted | off | in calls | on the host | a call: measured, predicted | a request, without calls |"
    print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n; i++) print row[i]
  }' "$folder/times.csv" >"$folder/times.md"

# ---- plots
command -v gnuplot >/dev/null || exit 0
mkdir -p "$folder/plots"
{
  awk -F, 'NR > 1 && !seen[$2]++ { order[++n] = $2 } NR > 1 { rows[$2] = rows[$2] $3 / 1e6 " " $4 / 1e6 "\n" }
    END { for (i = 1; i <= n; i++) printf "$row%d << END\n%sEND\n", i, rows[order[i]]
          print "set terminal svg size 820,600 font \"sans,13\" background \"white\""
          print "set logscale xy; set grid; set key outside right; set xrange [1:1000]; set yrange [1:1000]"
          print "set xlabel \"measured, ms\"; set ylabel \"predicted, ms\""
          print "set title \"Time in the allocator on an H100: 5 recordings, 8 allocators\""
          printf "plot x lc rgb \"black\" title \"equal\", 1.1 * x lc rgb \"gray\" dt 2 title \"10 %% off\", x / 1.1 lc rgb \"gray\" dt 2 notitle"
          for (i = 1; i <= n; i++) printf ", $row%d with points pt %d ps 1.3 title \"%s\"", i, i + 3, order[i]
          print "" }' "$folder/times.csv"
} >"$work/times.gp"
gnuplot "$work/times.gp" >"$folder/plots/times.svg"

# What calls cost by size, as calibrate left it: each median, up to the 99th percentile.
for profile in "$folder"/*.ini; do
  [ -e "$profile" ] || continue
  awk -F ', ' '/^#, / && ($2 ~ /^(malloc|free|create|map|unmap|destroy)$/) && !(seen[$2, $3]++) && $3 >= 2097152 { if (!($2 in rows)) order[++n] = $2; rows[$2] = rows[$2] $3 / 1048576 " " $6 / 1000 " " $7 / 1000 "\n" }
    /^name=/ { name = substr ($0, 6) }
    END { for (i = 1; i <= n; i++) printf "$row%d << END\n%sEND\n", i, rows[order[i]]
          print "set terminal svg size 820,600 font \"sans,13\" background \"white\""
          print "set logscale xy; set grid; set key outside right; set xlabel \"MiB\"; set ylabel \"us: median, and up to the 99th percentile\""
          printf "set title \"What one call costs, %s\"\n", name
          for (i = 1; i <= n; i++) printf "%s $row%d using ($1*%.2f):2:2:3 with yerrorlines lc %d title \"%s\"", i == 1 ? "plot" : ",", i, 1 + 0.02 * i, i, order[i]
          print "" }' "$profile" >"$work/costs.gp"
  name=${profile##*/}
  gnuplot "$work/costs.gp" >"$folder/plots/${name%.ini}.svg"
done
