#!/bin/sh
# test-cli-sessions.sh - the bundled sessions: each is what its generator makes, and shows of the static memory policies what its README
# claims, every number of it.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
sessions=$GEMEM_SRCDIR/workloads/sessions

# ---- made again
for file in "$sessions"/*.gmt; do
  gemem-sim convert "$file" - -f text > bundled.txt
  settings=$(sed -n "s/^| .$(basename "$file"). .*| .\(steps=.*\). |$/\1/p" "$sessions/README.md")
  gemem-sim generate "ge-session:$settings" > made.txt
  check "$(basename "$file") is what its README says: $settings" sh -c 'grep -v "^#" bundled.txt > a; grep -v "^#" made.txt > b; test -s a && cmp a b'
  run 0 gemem-sim validate "$file"
done

# ---- static memory in info: what policies 0 and 2 need at least
run 0 gemem-sim info "$sessions/growing.gmt"
says out '^  static memory +9\.000 GiB \(9663676416 bytes\) in 8 loads of graphs, 2\.000 GiB in the largest; '
check 'the same in JSON' sh -c 'gemem-sim info "$1" -f json | jq -en "input | .devices[0] | .graph_loads == 8 and .graph_bytes == 9663676416 and .largest_graph == 2147483648"' \
  sh "$sessions/growing.gmt"

# ---- what it shows
policies='-a ge:static_memory_policy=0 -a ge:static_memory_policy=2,rules=documented|as-built -a ge:static_memory_policy=3|4'
names='zero two built three four'

# measure FILE: reserved_NAME (MiB) and time_NAME (us) of every policy in names.
measure () {
  # shellcheck disable=SC2086 # options
  gemem-sim compare "$sessions/$1" $policies -f csv > table.csv 2>/dev/null
  eval "$(awk -F, -v names="$names" 'BEGIN { split (names, name, " ") }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i - NF; next }
    { printf "reserved_%s=%d\ntime_%s=%d\nfailed_%s=%d\n", name[NR - 1], $(NF + column["peak_reserved"]) / 1048576,
             name[NR - 1], $(NF + column["modelled_time"]) / 1000, name[NR - 1], $(NF + column["ooms"]) }' table.csv)"
  row=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i - NF; next }
    { ms = $(NF + column["modelled_time"]) / 1e6
      printf ms < 10 ? " %.3f GiB / %.1f ms |" : " %.3f GiB / %.0f ms |", $(NF + column["peak_reserved"]) / 1073741824, ms }' table.csv)
  check "$1: the README shows$row" grep -qF "| \`$(basename "$1" .gmt)\` |$row" "$sessions/README.md"
  # shellcheck disable=SC2086
  run 0 gemem-sim compare -v "$sessions/$1" $policies --check-release-order
  check "$1: nothing fails" test "$((failed_zero + failed_two + failed_built + failed_three + failed_four))" = 0
}
# holds EXPRESSION WORDS
holds () { check "$2: $1" test "$(($1))" = 1; }

measure same-size.gmt
holds "reserved_two == 1024 && reserved_zero == 8 * reserved_two" 'policy 2: the largest graph, policy 0: all of them'
holds "reserved_three == reserved_zero && reserved_four == reserved_two" 'policy 3 as 0, policy 4 as 2'
holds "time_two * 20 < time_four && time_two < time_zero" 'policy 2 is the fastest'

measure growing.gmt
holds "reserved_two == 2048 && reserved_built == 9216 && reserved_built == reserved_zero" 'policy 2 as built keeps what is too small: as much as no sharing'
holds "reserved_four == reserved_two && time_four > 5 * time_two" 'policy 4 shares as the documents say, and pays for it'

measure dynamic-shapes.gmt
holds "reserved_three * 5 < reserved_zero * 4 && reserved_two == reserved_zero" 'policy 3 saves a fifth, policy 2 nothing'
holds "time_three > 10 * time_zero" 'policy 3 pays for it'

measure short-requests.gmt
holds "time_three > 15 * time_two && time_four > 15 * time_two" 'policies 3 and 4 are the slowest'
holds "reserved_three >= reserved_two && reserved_four >= reserved_two" 'and save nothing'

measure alternating.gmt
holds "reserved_four * 5 < reserved_three * 3 && reserved_four * 2 < reserved_zero && reserved_four * 2 < reserved_two" 'policy 4 lends the pages of the graph'
holds "reserved_four == 3072" 'policy 4: as much as the graph'

measure two-streams.gmt
holds "reserved_four < reserved_two && reserved_two < reserved_three && reserved_three < reserved_zero" 'policy 4 < 2 < 3 < 0'
done_testing
