#!/bin/sh
# test-bombs.sh - inputs that are small and unpack to much, or nest, or name a great many things: within the bounds of doc/bounds.md, each command
# ends with a result or with one line. long-bombs.sh takes ten times as much of each.
# shellcheck disable=SC2154,SC2086,SC2016 # err comes from tap.sh; commands are words; a program of awk
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip 'bombs' 'there is no python3'; done_testing; }
if is_sanitized; then
  skip 'bombs' 'sanitizers cost several times as much'; done_testing
fi

times=${GEMEM_BOMBS:-1}
cat >make.py <<'END'
import gzip, sys
n, mega = 100000 * int(sys.argv[1]), 1000000 * int(sys.argv[1])
def text(name, line):
    with open(name, "w") as f:
        f.write("# gemem-trace: 1\n")
        for i in range(1, n + 1):
            f.write(line.format(i))
        f.write(f"# end: {n}\n")
text("streams.txt", "alloc {0} size=512 stream={0}\n")
text("pools.txt", "alloc {0} size=512 pool={0}\n")
text("tags.txt", 'alloc {0} size=512 tag="name{0}"\n')
text("stacks.txt", '# frame: "f{0}" "file{0}.py" {0}\n# stack: {0}\nalloc {0} size=512 stack={0}\n')
meet = pow(0x9E3779B97F4A7C15, -1, 1 << 64)  # ids that a multiplication by 2^64/phi gives neighbouring places
with open("meeting.txt", "w") as f:
    f.write("# gemem-trace: 1\n")
    for verb in "alloc {0} size=512\n", "free {0}\n":
        for i in range(n):
            f.write(verb.format(i * meet % (1 << 64)))
    f.write(f"# end: {2 * n}\n")
with open("many-devices.txt", "w") as f:
    f.write("# gemem-trace: 1\n" + "".join(f"alloc {i} size=512 device={i % 60000}\n" for i in range(1, n)) + f"# end: {n - 1}\n")
with open("devices.txt", "w") as f:
    f.write("# gemem-trace: 1\n" + "".join(f"alloc {i} size=512 device={i}\n" for i in range(1, 1001)) + "# end: 1000\n")
with open("name.txt", "w") as f: f.write('# gemem-trace: 1\nalloc 1 size=512 tag="' + "x" * (10 * mega) + '"\n# end: 1\n')
with open("name.json", "w") as f: f.write('{"traceEvents":[{"name":"' + "x" * (10 * mega) + '"}]}')
with open("arrays.json", "w") as f: f.write("[" * (5 * mega))
with open("objects.json", "w") as f: f.write('{"a":' * mega)
with open("nested.pickle", "wb") as f: f.write(b"\x80\x04" + b"(" * (3 * mega))
with open("member.gz", "wb") as f: f.write(gzip.compress(bytes(100 * 1000000), 1))
END
"$python" make.py "$times"
for _ in 1 2 3 4 5 6 7 8 9 10; do n=$times; while [ "$n" -gt 0 ]; do cat member.gz; n=$((n - 1)); done; done >zeros.gz # 1 GB and more
if command -v zstd >/dev/null; then head -c "${times}000000000" /dev/zero | zstd -q -1 -o zeros.zst; else cp zeros.gz zeros.zst; fi
cat >measure.py <<'END'
import resource, subprocess, sys
seconds, mib = float(sys.argv[1]), int(sys.argv[2])
run = subprocess.run(sys.argv[3:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20 * seconds)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
spent, memory = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
print(f"{run.returncode}, {spent:.2f} s, {memory} MiB")
sys.stderr.buffer.write(run.stderr)
lines = [l for l in run.stderr.splitlines() if not l.startswith(b"gemem-sim: note")]
sys.exit(run.returncode not in (0, 3) or (run.returncode == 3 and len(lines) > 1) or spent > seconds or memory > mib)
END
# bound SECONDS MIB COMMAND...: for one unit; both grow with $times.
bound () {
  seconds=$(($1 * times)) mib=$(($2 * times + 32)); shift 2
  "$python" measure.py $seconds $mib gemem-sim "$@" >cost 2>said; status=$?
  ok $status "$*: $(cat cost), at most $seconds s and $mib MiB"
  [ $status = 0 ] || sed 's/^/# /' said
}

commands='info'; [ "$times" = 1 ] || commands='info validate replay plan convert'
for command in $commands; do
  for file in zeros.gz zeros.zst name.json arrays.json objects.json nested.pickle name.txt; do
    case $command in
      convert) set -- convert $file out.txt -f text ;;
      replay) set -- replay -a direct $file ;;
      *) set -- $command $file ;;
    esac
    bound 2 16 "$@"
  done
done
for file in streams pools tags; do
  bound 2 64 info $file.txt
  bound 2 64 replay -a direct $file.txt
  bound 3 600 replay -a pytorch-caching -d sim:capacity=64TiB $file.txt
  bound 2 40 validate $file.txt
  [ $times = 1 ] || bound 2 64 convert $file.txt out.gmt
  [ $times = 1 ] || bound 2 96 plan -p no-reuse $file.txt
done
for command in info 'replay -a direct' validate 'plan -p no-reuse'; do bound 2 96 $command meeting.txt; done
bound 2 128 info stacks.txt
bound 2 192 replay -a direct stacks.txt
bound 2 128 validate stacks.txt
[ $times = 1 ] || bound 2 192 convert stacks.txt out.gmt
for command in info 'replay -a direct' 'plan -p no-reuse'; do # refused: a run for each would read all of it
  bound 2 64 $command many-devices.txt
  check 'the message says which option' grep -q 'devices.*--trace-device' said
done
bound 2 64 validate many-devices.txt
bound 2 100 info devices.txt
bound 2 32 replay -a direct --trace-device 7 devices.txt

# Graphs: as many nodes, inputs, outputs, weights; what is nested too deep, or has a name or a shape that no program has, ends with a line and no memory.
nodes=20000; [ "$times" = 1 ] || nodes=1000000
mkdir graphs && (cd graphs && "$python" "$GEMEM_SRCDIR/tests/fuzz/graph-bombs.py" "$nodes")
commands='info'; [ "$times" = 1 ] || commands='info validate plan replay'
for command in $commands; do
  case $command in plan) option='-p no-reuse' ;; replay) option='-a direct' ;; *) option='' ;; esac
  for file in graphs/*; do
    case $file in graphs/bad-*) mib=64 ;; *) mib=$((64 + nodes / 500)) ;; esac
    "$python" measure.py $((2 + nodes / 20000)) $mib gemem-sim $command $option "$file" >cost 2>said; status=$?
    case $file in graphs/bad-*) grep -q '^3,' cost || status=1 ;; *) grep -q '^0,' cost || status=1 ;; esac
    ok $status "$command $file, $(stat -c %s "$file") bytes: $(cat cost), at most $((2 + nodes / 20000)) s and $mib MiB"
    [ $status = 0 ] || sed 's/^/# /' said
  done
done
rm -rf graphs

[ "$times" != 1 ] || done_testing
# New-VA blocks of ge-expandable stay until a recycle, as in GE (ge-runtime.md 5.5), so its memory grows with their number, not with the trace.
for n in 300000 1200000; do
  gemem-sim generate random:events=$n,live=2000 -o g.gmt
  "$python" - $n >>growth <<'END'
import json, resource, subprocess, sys
out = subprocess.run(["gemem-sim", "replay", "g.gmt", "-a", "ge-expandable", "-f", "json"], capture_output=True, text=True, check=True).stdout
def find(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.endswith("new_va_count"): yield inner
            else: yield from find(inner)
    elif isinstance(value, list):
        for inner in value: yield from find(inner)
count = sum(int(v["value"] if isinstance(v, dict) else v) for v in find(json.loads(out)))
print(count, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
done
check "ge-expandable grows by at most 4 KiB for a new-VA block: $(tr '\n' ' ' <growth)" \
  awk 'NR == 1 { n = $1; m = $2 } NR == 2 { exit ! ($1 > n && $2 - m <= 4 * ($1 - n) + 2048) } END { if (NR != 2) exit 1 }' growth
done_testing
