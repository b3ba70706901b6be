#!/bin/sh
# test-cli-memory-optimize.sh - memory_optimize and release_memory of PaddlePaddle as a user tries them: the log, the releases, the
# rewritten program, wrong values.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cd "$GEMEM_TMP" || exit 99

# x is fed; XShape has no elements; everything else is as large as x
cat >program.json <<'EOF'
{"variables": [{"name": "x", "shape": [8, 8], "dtype": "float32"}, {"name": "a", "shape": [8, 8], "dtype": "float32"},
  {"name": "b", "shape": [8, 8], "dtype": "float32"}, {"name": "c", "shape": [8, 8], "dtype": "float32"},
  {"name": "s", "shape": [0, 8, 8], "dtype": "float32"}, {"name": "t", "shape": [0, 8, 8], "dtype": "float32"},
  {"name": "u", "shape": [0, 8, 8], "dtype": "float32"}],
 "nodes": [
  {"name": "n0", "type": "reshape2", "inputs": ["x"], "outputs": [{"variable": "a", "shape": [8, 8], "dtype": "float32"}, {"variable": "s", "shape": [0, 8, 8], "dtype": "float32"}]},
  {"name": "n1", "type": "op", "inputs": [["n0", 0], ["n0", 1]], "outputs": [{"variable": "b", "shape": [8, 8], "dtype": "float32"}, {"variable": "t", "shape": [0, 8, 8], "dtype": "float32"}]},
  {"name": "n2", "type": "op", "inputs": [["n1", 0], ["n1", 1]], "outputs": [{"variable": "c", "shape": [8, 8], "dtype": "float32"}, {"variable": "u", "shape": [0, 8, 8], "dtype": "float32"}]}]}
EOF

# ---- print_log alone prints
run 0 gemem-sim plan program.json -p paddle-memory-optimize:print_log=True --no-time
says out '^!!! 0,  c\[8, 8\] => a\[8, 8\], cache idx 1, pool size 2$'
says out '^!!! 1,  u\[0, 8, 8\] => s\[0, 8, 8\], cache idx 0, pool size 1$'
run 0 gemem-sim plan program.json -p paddle-memory-optimize --no-time
check 'nothing is printed unasked' sh -c "! grep -q '=>' '$out'"
run 0 gemem-sim plan program.json -p paddle-release-memory:print_log=True --no-time
says out '^delete_var block 0 index 1: x$'
says out '^delete_var block 0 index 3: a, s$'
run 0 gemem-sim plan program.json -p paddle-release-memory --no-time
check 'nothing is printed unasked' sh -c "! grep -q delete_var '$out'"
run 0 gemem-sim plan program.json -p paddle-memory-optimize:print_log=True -f json
check 'the log leaves JSON alone' python3 -m json.tool "$out"
says err '^!!! 0,  c\[8, 8\] => a\[8, 8\]'

# ---- releases
for version in 1.0 1.1 1.2; do
  run 0 gemem-sim plan program.json -p "paddle-memory-optimize:print_log=True,version=$version"
  says out '^Hit Cache !!!! cache pool index is 0, var name is b, cached var name is x, var shape is \[8, 8\] $'
done
for version in 1.3 1.4 1.5 2019-02-01; do
  run 0 gemem-sim plan program.json -p "paddle-memory-optimize:print_log=True,era=$version"
  says out '^!!! 0,  c'
done
run 0 gemem-sim plan program.json -p 'paddle-release-memory:version=*' -f csv
check 'a row per release' test "$(wc -l <"$out")" = 8

# ---- the program afterwards: also outputs without bytes, and into memory of fed variables
run 0 gemem-sim plan program.json -p paddle-memory-optimize --rewrite optimized.json
check 'c is a, u is s' sh -c "grep '\"name\":\"n2\"' optimized.json | grep -q '\"variable\":\"a\".*\"variable\":\"s\"'"
run 0 gemem-sim plan program.json -p paddle-memory-optimize:version=1.2 --rewrite optimized.json
check 'b is x' sh -c "grep '\"name\":\"n1\"' optimized.json | grep -q '\"variable\":\"x\"'"
run 0 gemem-sim validate optimized.json

# ---- skip_grads on a graph that PyTorch made: all gradients of parameters, or the whole backward part
graph=$GEMEM_SRCDIR/graphs/bundled/moe-train.json.gz
reused ()
{
  gemem-sim plan "$graph" -p "paddle-memory-optimize:level=1,$1" -f json | sed -n 's/.*"reused": \([0-9]*\).*/\1/p'
}
none=$(reused skip_grads=no) built=$(reused skip_grads=True) documented=$(reused skip_grads=True,rules=documented)
check "fewer reuses without gradients ($none, $built, $documented)" test "$none" -gt "$built" -a "$built" -gt "$documented"
check 'version=1.5 leaves them out by itself' test "$(reused version=1.5)" = "$built"

# ---- a real program with loops, branches and their gradients: without the declaring blocks, and with one variable for equal
# names, every line is the same
gemem-sim plan "$GEMEM_SRCDIR/tests/data/paddle/control-train.pdmodel" -p no-reuse --rewrite said.json >said.txt
check 'blocks are written' grep -q '"name":"exp_0.tmp_0@GRAD",.*"block":5' said.json
python3 - <<'EOF'
import json
graph = json.load(open("said.json"))
name = lambda reference: reference if isinstance(reference, str) else reference["name"]
written = {(n["name"], i): name(o["variable"]) for n in graph["nodes"] for i, o in enumerate(n["outputs"])}
last = {}
for node in graph["nodes"]:
    names = [written[tuple(x)] if isinstance(x, list) else name(x) for x in node["inputs"]]
    node["inputs"] = [list(last[x]) if x in last else x for x in names]
    for i, output in enumerate(node["outputs"]):
        output["variable"] = name(output["variable"])
        output.pop("consumers", None)
        if output["variable"] != "@EMPTY@":
            last[output["variable"]] = (node["name"], i)
graph["variables"] = list({v["name"]: {k: x for k, x in v.items() if k != "block"} for v in reversed(graph["variables"])}.values())
json.dump(graph, open("unsaid.json", "w"))
EOF
for planner in memory-optimize:level=0 memory-optimize:level=1 release-memory:skip_grads=no; do
  for version in 1.2 1.4; do
    for graph in said unsaid; do
      gemem-sim plan $graph.json -p "paddle-$planner,print_log=True,version=$version" --no-time -f csv -o /dev/null >$graph.log
    done
    check "$planner, $version: the same lines" cmp said.log unsaid.log
    check "$planner, $version: some lines" test "$(wc -l <said.log)" -gt 1
  done
done

# ---- skip_opt_set, as Python writes a set, a tuple, a list of names
kept=$(gemem-sim plan said.json -p paddle-memory-optimize:print_log=True --no-time -f csv -o /dev/null | sed -n 's/.* => \([a-z_0-9.]*\)\[.*/\1/p' | head -n 1)
numbers () { tail -n 1 "$1" | rev | cut -d , -f 1-9 | rev; }
gemem-sim plan said.json -p "paddle-memory-optimize:skip_opt_set=$kept" --no-time -f csv >plain.csv
for given in "(\"$kept\")" "[$kept]" "'(\"$kept\",)'" "'{\"$kept\"}'" "'set([\"$kept\"])'" "[\"$kept\", \"$kept\"]"; do
  run 0 gemem-sim plan said.json -p "paddle-memory-optimize:skip_opt_set=$given" --no-time -f csv
  check "skip_opt_set=$given" test "$(numbers "$out")" = "$(numbers plain.csv)"
done
gemem-sim plan said.json -p paddle-memory-optimize --no-time -f csv >none.csv
check 'and it has an effect' test "$(numbers none.csv)" != "$(numbers plain.csv)"

# ---- wrong values: one line, status 2
for planner in memory-optimize release-memory; do
  for setting in skip_grads=maybe skip_grads= print_log=2 version=1.6 version= version=1.3.0 rules=manual skip_opt_set=nope era=1.2,version=1.2; do
    run 2 gemem-sim plan program.json -p "paddle-$planner:$setting"
    check "$planner, $setting: one line" test "$(wc -l <"$err")" = 1
  done
done
for level in 2 -1 text '' 0.5 1.0 01x; do
  run 2 gemem-sim plan program.json -p "paddle-memory-optimize:level=$level"
  check "level='$level': one line" test "$(wc -l <"$err")" = 1
done
done_testing
