#!/bin/sh
# test-cli-anonymous.sh - a recording before it is given away: convert --anonymous leaves no trace of user, host and directory, for any source
# format, into both written formats, and replays of it give the same results.
# shellcheck disable=SC2154,SC2086,SC2016 # out and err come from tap.sh; words on purpose; 'sh -c' expands
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data

# same FILE: the replay of a.gmt and a.txt gives the results of FILE's.
results () { gemem-sim replay -a pytorch-caching -a direct -f json "$1" 2>/dev/null | jq -c '[.results[] | del(.trace, .trace_sha256)] | walk(if type == "object" then del(.origin, .blocking_origin) else . end)'; }
same () {
  results "$1" >recorded.json
  for mode in paths names; do
    for target in a.gmt a.txt; do
      run 0 gemem-sim convert --anonymous=$mode "$1" $target
      results $target >anonymous.json
      check "$(basename "$1"), $mode, $target: the same results" cmp recorded.json anonymous.json
    done
  done
  check 'there are results' sh -c 'test -s recorded.json && jq -e "length >= 2" recorded.json'
}

# clean WORD...: neither a.txt nor what a.gmt holds has any of the words.
clean () {
  gemem-sim convert a.gmt b.txt 2>/dev/null
  for word; do
    check "no $word" sh -c "test -s a.txt && test -s b.txt && ! grep -aiq '$word' a.txt && ! sed 's/^# sha256.*//' b.txt | grep -aiq '$word'"
  done
}

# ---- the source formats
for file in pytorch/all-stacks-2.15.pickle.gz pytorch/empty-cache-2.6.pickle.gz kineto/middle-2.15.0.json.gz memory-viz/trace-plot-2.15.0.html.gz \
  paddle/gpu-log.txt ge/plan-log.txt ge/runtime-log.txt onnx/mlp.onnx; do
  same "$data/$file"
done
same "$GEMEM_SRCDIR/traces/recorded/llama-decode.gmt"
printf 'id,lower,upper,size\n/home/zorro/x,0,4,8\nb,2,6,8\n' >secretdir.csv
same secretdir.csv; clean zorro /home
run 0 gemem-sim convert --without-initial --anonymous "$data/pytorch/middle-2.15.pickle.gz" - -f text
check 'no initial event' sh -c "! grep -q 'flags=initial' '$out'"

# ---- a recording full of names
cat >run.txt <<'END'
# gemem-trace: 2
# flags: has-time,has-addresses
# sha256: "5f2795e11a7cd6bf9b72c70a92f6d485eb99a11688a1f63673ddb08f9fe5524f"
# allocator: "pytorch-caching"
# settings: "max_split_size_mb=20"
# device: "capacity=8GiB"
# provenance: "host: quarkbox.lab.example, 2 CPUs"
# provenance: "program: python3 secretdir/train.py --out secretdir/run --as zorro"
# provenance: "HOME: /home/zorro"
# provenance: "pid: 31337"
# provenance: "note: see https://quarkbox.lab.example/zorro?x=1, LD_LIBRARY_PATH=/opt/secretdir/lib:/usr/lib"
# provenance: "converted: from /data/secretdir/zorro.pickle.gz by gemem-sim 0.1.0"
phase t=0 tag="zorro: bobsled of zorros on quarkbox"
# frame: "forward" "/home/zorro/secretdir/train.py" 212
# frame: "forward" "/home/zorro/secretdir/other/train.py" 212
# frame: "Linear" "/home/zorro/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py" 12
# frame: "win" "C:\\Users\\zorro\\secretdir\\w.py" 9
# frame: "unc" "\\\\quarkbox\\share\\secretdir\\u.py" 9
# frame: "url" "file:///home/zorro/secretdir/fu.py" 9
# frame: "dots" "../../secretdir/dots.py" 9
# frame: "aten::mm"
# stack: 8 3 1
# stack: 3 2 4 5 6 7
alloc 1 size=512 block=512 addr=0x7f0000000000 t=10 tag="zorro@quarkbox \"/home/zorro/secretdir/x\" -I/home/zorro/i \xff\xfe [pid 31337]" stack=1
alloc 2 size=2048 block=2048 addr=0x7f0000010000 t=11 tag="weights" stack=2
free 1 t=20 stack=1
phase-end t=30 tag="zorro: bobsled of zorros on quarkbox"
# end: 5
END
same run.txt # names, at the end
clean zorro quarkbox secretdir 31337 5f2795e1 /home train forward linear modules bobsled weights aten
check 'numbered by first use' sh -c 'grep -q "^# frame: \"op1\"$" a.txt && grep -q "^# frame: \"f2\" \"file4.py\" 212$" a.txt && grep -q "tag=\"tag2\"" a.txt && grep -c "tag=\"phase1\"" a.txt | grep -q 2'
check 'it says so' grep -q '^# provenance: "anonymous: names"$' a.txt
for target in a.txt a.gmt; do run 0 gemem-sim convert --anonymous run.txt $target; done
clean '\bzorro\b' quarkbox secretdir 31337 5f2795e1 /home
check 'what is within a word stays' grep -q 'tag="user1: bobsled of zorros on host[0-9]"' a.txt
check 'two directories' sh -c 'grep -q "\"forward\" \"d[0-9]*/train.py\" 212" a.txt && test "$(grep "/train.py" a.txt | grep frame | sort -u | wc -l)" = 2'
check 'packages' grep -q '"Linear" "site-packages/torch/nn/modules/linear.py" 12' a.txt
check 'addresses, times and settings' sh -c 'grep -q "addr=0x7f0000010000 t=11" a.txt && grep -q "^# settings: \"max_split_size_mb=20\"" a.txt'
check 'it says so' grep -q '^# provenance: "anonymous: paths"$' a.txt
check 'no sha256' sh -c '! grep -q "^# sha256" a.txt'
run 0 gemem-sim validate a.gmt
run 0 gemem-sim convert --anonymous a.txt b.txt
plain () { grep -av '^# provenance: "converted\|^# sha256' | sed 's/\bd[0-9]*\b/d/g'; } # numbers of directories may be others
plain <a.txt >once.txt; plain <b.txt >twice.txt
check 'twice is as once' cmp once.txt twice.txt
gemem-sim convert --anonymous - - <run.txt | plain >piped.txt
check 'piped' cmp once.txt piped.txt
run 0 gemem-sim convert --anonymous run.txt - --note 'where=/as/given'
says out '^# provenance: "where: /as/given"$'
head -n 27 run.txt >cut.txt
rm a.txt
run 3 gemem-sim convert --anonymous --allow-partial cut.txt a.txt
lacks a.txt 'zorro\b|secretdir' # of a damaged file

# ---- names in keys of provenance, and where only a key word, an option or a domain tells what they are
cat >keys.txt <<'END'
# gemem-trace: 2
# provenance: "LOGNAME=erinx cwd: x"
# provenance: "on host=gpuq7 by USER=zorro: started"
# provenance: "note: kurtx@10.0.0.5, ssh bobx@[2001:db8::1], 00:1a:2b:3c:4d:5e, https://quark.example/x, bastion-17.cluster.quark.example"
# provenance: "program: run --user userx --node login=davex"
phase tag="gpuq7 MASTER_ADDR=masterx SLURM_NODELIST=nodeq[1-3] nodeq2, scp x filer9:/srv/y, wandb.ai/alicex/proj www.corpx.com"
phase tag="erinx torch.nn.functional train.py"
# end: 2
END
for target in a.txt a.gmt; do run 0 gemem-sim convert --anonymous keys.txt $target; done
clean erinx gpuq7 zorro kurtx 10.0.0.5 bobx 2001:db8 1a:2b bastion quark userx davex masterx nodeq filer9 alicex corpx
check 'modules and files stay' grep -q 'tag="user[0-9]* torch.nn.functional train.py"' a.txt

# ---- a snapshot of PyTorch
if command -v python3 >/dev/null; then
  python3 - <<'END'
import pickle
frames = [{"name": "forward", "filename": "/home/zorro/secretdir/net.py", "line": 3}, {"name": "main", "filename": "/home/zorro/run.py", "line": 1}]
events = [{"action": a, "addr": 1 << 32, "size": 512, "stream": 0, "time_us": t, "frames": frames} for t, a in ((1, "alloc"), (2, "free_requested"), (2, "free_completed"))]
pickle.dump({"segments": [], "device_traces": [events], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"},
             "external_annotations": [{"name": "zorro in /home/zorro/x", "device": 0, "stage": "START", "time_us": 0}]}, open("zorro.pickle", "wb"))
END
  for target in a.txt a.gmt; do run 0 gemem-sim convert --anonymous zorro.pickle $target; done
  clean zorro secretdir /home
  check 'frames and settings' sh -c 'grep -q "\"forward\" \"net.py\" 3" a.txt && grep -q "max_split_size_mb:64" a.txt && grep -q "from user1.pickle by" a.txt'
else
  skip 'a snapshot' 'there is no python3'
fi

# ---- the options
run 2 gemem-sim convert --anonymous=all run.txt a.txt; says err '^gemem-sim: error: --anonymous=all: unknown; choose paths .* or names'
run 2 gemem-sim convert --anonymous "$data/onnx/mlp.onnx" a.json; says err 'a\.json would be a graph.*end OUTPUT in \.gmt'
run 0 gemem-sim convert run.txt -o c.txt; run 0 gemem-sim convert --output=d.txt run.txt
check '-o is OUTPUT' cmp c.txt d.txt
run 0 gemem-sim convert run.txt -o -; says out '^# gemem-trace'
run 2 gemem-sim convert run.txt e.txt -o c.txt; says err 'too many arguments, from .e\.txt. on'
run 2 gemem-sim convert run.txt; says err 'an argument is missing'
run 2 gemem-sim convert -o c.txt; says err 'is missing'
run 2 gemem-sim convert run.txt -o run.txt; says err 'run.txt: --output would overwrite'
run 0 gemem-sim convert -h; says out '\-\-anonymous\[=paths|names\]'; says out 'addresses .fidelity is checked against them'; says out 'sha256 of the source'
run 0 gemem-sim help --man convert; says out 'anonymous.*\[=.*names.*\]'
done_testing
