#!/bin/sh
# test-cli-flame.sh - info --format=flame: the widths of cells, what stands in them, ASCII and colours only where they are shown, and what
# hostile names and deep stacks do.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
unset COLUMNS NO_COLOR

cat >t.txt <<'END'
# gemem-trace: 2
# frame: "aten::mm"
# frame: "linear" "/v/site-packages/torch/nn/functional.py" 9
# frame: "forward" "a/model.py" 31
# frame: "main" "a/train.py" 3
# frame: "evaluate" "a/eval.py" 5
# stack: 1 2 3 4
alloc 1 size=400 stack=1
# stack: 5 4
alloc 2 size=200 stack=2
alloc 3 size=395
# stack: 3 5 4
alloc 4 size=5 stack=3
# end: 4
END
# flame COLUMNS: the rows of cells in ASCII
flame () { LC_ALL=C COLUMNS=$1 gemem-sim info --format=flame t.txt | grep '^[| ]'; }
{ printf '|%-60s|%-38s|\n' 'train.py:3 main  605 B' 'unknown  395 B'; printf '|%-39s|%-19s|\n' 'model.py:31 forward +2  400 B' 'eval.py:5 evaluate ~'; } >wanted
flame 101 >got; check 'cells are as wide as their share, callers on top' diff wanted got
flame 41 >got; { printf '|%-23s|%-15s|\n' 'train.py:3 main  605 B' 'unknown  395 B'; printf '|%-15s|%-7s|\n' 'model.py:31 fo~' 'eval.p~'; } >wanted; check 'at less width in proportion' diff wanted got
run 0 env LC_ALL=C gemem-sim info --format=flame t.txt; says out '^too narrow or too deep to be drawn: 1, 5 B together$'
check '80 columns unless the terminal says otherwise' awk '{ if (length ($0) > m) m = length ($0) } END { exit m != 80 }' "$out"
check 'ASCII where the locale is' sh -c "! LC_ALL=C grep -q '[^ -~]' '$out'"
run 0 env LC_ALL=C gemem-sim info --format=flame --by=stream t.txt; says out '^\|stream 0x0  1000 B  *\|$'
printf '# gemem-trace: 1\nstep 1\n# end: 1\n' >none.txt
run 0 gemem-sim info --format=flame --at=end none.txt

# ---- UTF-8, wide letters, names that a terminal would obey, no UTF-8
printf '# gemem-trace: 2\n# frame: "\\033[31mred" "m.py" 1\n# frame: "名前名前名前名前" "n.py" 2\n# stack: 1\nalloc 1 size=50 stack=1\n# stack: 2\nalloc 2 size=50 stack=2\n# end: 2\n' | sed 's/\\033/\x1b/' >odd.txt
run 0 env LC_ALL=C COLUMNS=41 gemem-sim info --format=flame odd.txt; check 'ASCII, of any name' sh -c "! LC_ALL=C grep -q '[^ -~]' '$out'"
if utf8=$(locale -a 2>/dev/null | grep -ix -m1 'C\.utf-*8'); then
  run 0 env LC_ALL="$utf8" COLUMNS=41 gemem-sim info --format=flame odd.txt
  says out '▏.*▏.*▏$'; says out 'n\.py:2 名前名前名… ▏'; check 'no sequence of escape' sh -c "! grep -q '$(printf '\033')' '$out'"
else
  skip 'blocks' 'there is no locale with UTF-8'
fi

# ---- a stack as deep as stacks are, each frame with memory of its own
{ echo '# gemem-trace: 2'; awk 'BEGIN { for (i = 1; i <= 3000; i++) printf "# frame: \"f%d\" \"f.py\" %d\n", i, i; s = ""
  for (i = 1; i <= 3000; i++) { s = " " i s; if (i % 100 == 0) printf "# stack:%s\nalloc %d size=%d stack=%d\n", s, i, i == 3000 ? 100000 : 1, i / 100 } }'; echo '# end: 30'; } >deep.txt
run 0 env LC_ALL=C gemem-sim info --format=flame deep.txt; says out 'f\.py:[0-9]+ f[0-9]+ \+99 '

# ---- colours on a terminal alone, and not where they are unwanted
if python=$(command -v python3) && "$python" -c 'import pty; pty.openpty()' 2>/dev/null; then
  terminal () { "$python" "$GEMEM_SRCDIR/tests/util/on-terminal.py" --both "$@"; }
  coloured () { grep -q "$(printf '\033')\[30;43m" "$1/raw"; }
  terminal plain gemem-sim info --format=flame t.txt; check 'coloured on a terminal' coloured plain; check 'and says what colours mean' grep -q '^yellow: your program' plain/screen
  NO_COLOR=1 terminal none gemem-sim info --format=flame t.txt; check 'not with NO_COLOR' sh -c '! grep -q "$(printf "\033")" none/raw && grep -q "train.py:3 main" none/raw'
  TEST_TERM=dumb terminal dumb gemem-sim info --format=flame t.txt; check 'not on a dumb one' sh -c '! grep -q "$(printf "\033")" dumb/raw'
  terminal red gemem-sim info --format=flame odd.txt; check 'the name does not colour' sh -c '! grep -q "$(printf "\033")\[31m" red/raw'
else
  skip 'colours' 'there is no python3, or no pseudo terminal'
fi
done_testing
