#!/bin/sh
# test-cli-text-plots.sh - --plot-terminal of replay, compare and plot: drawn without gnuplot, ASCII where the locale is, the numbers of the result.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
unset COLUMNS NO_COLOR
recorded=$GEMEM_SRCDIR/traces/recorded
mkdir none; PATH_WITHOUT=$PWD/none
for name in gnuplot; do printf '#!/bin/sh\ntouch "%s/ran"\nexit 1\n' "$PWD" >none/$name; chmod +x none/$name; done

run 0 env LC_ALL=C PATH="$PATH_WITHOUT:$PATH" gemem-sim replay -q "$recorded/gpt2-train.gmt" -a pytorch-caching -a direct --plot-terminal=timeline -f csv
check 'gnuplot is not asked' test ! -e ran
says out '^ *[0-9.]+ GiB \|'; says out '^pytorch-caching \(now\): at most [0-9.]+ GiB reserved, [0-9.]+ GiB live$'; says out '^# live  \. reserved beside it$'
check 'ASCII' sh -c "! LC_ALL=C grep -q '[^ -~]' '$out'"
check 'at most 80 columns' sh -c "grep -v , '$out' | awk 'length (\$0) > 80 { exit 1 }'"
run 0 env LC_ALL=C gemem-sim compare -q "$recorded/gpt2-train.gmt" -a pytorch-caching -a direct -a tf-bfc --capacity 2GiB --plot-terminal=comparison -f json -o saved.json
says out '^direct +/+ [0-9.]+ GiB, [0-9]+ failed$'; cp "$out" first
run 0 env LC_ALL=C gemem-sim plot saved.json --plot-terminal=comparison; check 'plot draws the same of saved results' cmp first "$out"
check 'and writes nothing else' test ! -e plots
run 0 env LC_ALL=C gemem-sim plot saved.json --plot-terminal=timeline; says out '^ +failed +.*x'; says out '  x a request failed$'
run 2 gemem-sim plot saved.json --plot-terminal=pie; says err "plot-terminal=pie: unknown plot; choose comparison, timeline or fragmentation"
if utf8=$(locale -a 2>/dev/null | grep -ix -m1 'C\.utf-*8'); then
  run 0 env LC_ALL="$utf8" gemem-sim plot saved.json --plot-terminal=fragmentation; says out '^     100 % │'; says out '[▁▂▃▄▅▆▇█]'
else
  skip 'blocks' 'there is no locale with UTF-8'
fi

# ---- the line of the least placement
run 0 env LC_ALL=C gemem-sim compare "$recorded/gpt2-train.gmt" -a pytorch-caching --optimal --plot-terminal=timeline -o /dev/null
says out '^= least placement: 2.383 GiB$'; says out '\|=+[.#_=]*'
run 0 env LC_ALL=C gemem-sim compare "$recorded/gpt2-train.gmt" -a pytorch-caching --optimal --plot-terminal=comparison -o /dev/null
says out '^! least placement: 2.383 GiB$'; says out '^pytorch-caching .now. +#+![.]+ 2.777 GiB$'
run 0 env LC_ALL=C gemem-sim compare "$recorded/gpt2-train.gmt" -a pytorch-caching --plot-terminal=comparison -o /dev/null
check 'without --optimal there is none' sh -c '! grep -q "least\|!" "$0"' "$out"

# ---- little to be seen
printf '# gemem-trace: 1\nalloc 1 size=100\n# end: 1\n' >one.txt
run 0 env LC_ALL=C gemem-sim replay -q one.txt -a direct --timeline-points=0 --plot-terminal=timeline; says out '^no run has a timeline'
run 0 env LC_ALL=C gemem-sim replay -q one.txt -a direct --plot-terminal=timeline; says out '^ *100 B \|#+'
run 0 env LC_ALL=C gemem-sim replay -q one.txt -a direct -d sim:capacity=64B --plot-terminal=comparison; says out '1 failed'
done_testing
