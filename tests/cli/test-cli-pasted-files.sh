#!/bin/sh
# test-cli-pasted-files.sh - files as people have them: zipped for a tracker of issues, or no recording at all but a message. What can be read is read, the rest is called by its name, with what to record instead.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data/pytorch

# ---- messages, whatever their extension: refused by name where requests are needed (test-cli-messages.sh reads them)
message () { # NAME PATTERN TEXT
  printf '%s\n' "$3" >"$1"
  run 3 gemem-sim info "$1"; says err "^gemem-sim: error: $1: $2, which holds no requests; 'gemem-sim explain'"
}
for extension in txt log csv pickle; do
  message "oom.$extension" "PyTorch's out-of-memory message" \
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 62.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 10.00 MiB is free.'
done
message summary.txt 'what torch.cuda.memory_summary\(\) prints' '|                  PyTorch CUDA memory summary, device ID 0                 |'
message rmm.log "RMM's debug log" '[  1234][08:00:00:000001][info  ] ----- RMM LOG BEGIN [PTDS DISABLED] -----'
message llama.log "llama\.cpp's lines about its buffers" 'load_tensors:        CUDA0 model buffer size =  5000.00 MiB'
message hlo.txt "XLA's buffer assignment, a plan.*" 'BufferAssignment:'

# at the end of a log, too; and a log whose lines begin with a bracket is no list
{ yes '[rank0]: epoch 1 loss 0.3' | head -n 1000; echo '[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 62.00 MiB.'; } >rank.log
run 3 gemem-sim compare rank.log; says err "^gemem-sim: error: rank.log: PyTorch's out-of-memory message, which holds no requests"
echo '[1/2] NCCL INFO Bootstrap' >nccl.log; run 3 gemem-sim info nccl.log; says err 'nccl.log: not recognised'

# PyTorch's numbers and segments as JSON are called by their names
echo '[{"device": 0, "address": 1, "total_size": 2097152, "segment_type": "large", "blocks": []}]' >segments.json; run 3 gemem-sim segments.json; says err 'memory_snapshot\(\) as JSON; .*_dump_snapshot'
echo '{"allocated_bytes.all.current": 1, "allocated_bytes.all.peak": 2}' >stats.json; run 3 gemem-sim info stats.json; says err 'stats\.json: what torch\.cuda\.memory_stats\(\) returns, which holds no requests'

# the words in a recording's own texts do not make it a message
printf '# gemem-trace: 4\nalloc 1 size=1MiB tag="out of memory. Tried to allocate"\n# end: 1\n' >tagged.txt
run 0 gemem-sim info tagged.txt

# ---- text as PowerShell and editors on Windows write it: the same as in UTF-8
awk 'BEGIN { for (i = 0; i < 200000; i++) print (i % 3 == 2 ? "f n" i - 1 : "a n" i " " 512 * (i % 9 + 1)) }' >plain.ops
gemem-sim info plain.ops | sed 1d >expected
same () { # NAME: what is in it is read as plain.ops
  check "$1: the same as in UTF-8" sh -c "gemem-sim info '$1' | sed 1d | diff expected - && gemem-sim info - <'$1' | sed 1d | diff expected -"
}
{ printf '\357\273\277'; cat plain.ops; } >marked.ops; same marked.ops
if command -v iconv >/dev/null; then
  { printf '\377\376'; iconv -f UTF-8 -t UTF-16LE plain.ops; } >little.ops; same little.ops
  { printf '\376\377'; iconv -f UTF-8 -t UTF-16BE plain.ops; } >big.ops; same big.ops
  gzip -c little.ops >little.ops.gz; same little.ops.gz
  printf '# gemem-trace: 4\nalloc 1 size=1MiB tag="\303\251\360\237\230\200"\n# end: 1\n' >tag.txt
  { printf '\377\376'; iconv -f UTF-8 -t UTF-16LE tag.txt; } >wide.txt
  run 0 gemem-sim convert wide.txt out.txt; check 'characters beyond 16 bits' grep -q "tag=\"$(printf '\303\251\360\237\230\200')" out.txt
else
  skip 'UTF-16' 'iconv makes it'
fi
printf '\377\376a\0 \0\0\330b' >odd.ops; run 3 gemem-sim info odd.ops
printf '\377\376' >mark.txt; run 3 gemem-sim info mark.txt; says err 'the file is empty'
printf '\357\273' >half.txt; run 3 gemem-sim info half.txt; says err 'not recognised'

# ---- torch.profiler on Windows writes paths as they are
sed 's/@/\\/g' >windows.json <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "python_function", "name": "C:@users@me@cuda@u1Bapp.py(7): step", "pid": 1, "tid": 1, "ts": 99, "dur": 5, "args": {}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 100, "args": {"Device Type": 1, "Device Id": 0, "Addr": 139637976727552, "Bytes": 1048576, "Total Allocated": 1048576, "Total Reserved": 2097152}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 101, "args": {"Device Type": 1, "Device Id": 0, "Addr": 139637976727552, "Bytes": -1048576, "Total Allocated": 0, "Total Reserved": 2097152}}]}
END
run 0 gemem-sim info windows.json --at=peak --by=stack; says out 'C:\\users\\me\\cuda\\u1Bapp\.py:7 step'
printf '{"format": "gemem-graph", "name": "a\\cb"}' >graph.json; run 3 gemem-sim info graph.json; says err 'is no escape of JSON'

# ---- zip
if command -v python3 >/dev/null; then
  cat >make.py <<'END'
import gzip, os, random, sys, zipfile
snapshot = gzip.open (sys.argv[1]).read ()
open ("plain.pickle", "wb").write (snapshot)
for name, method in (("deflated", zipfile.ZIP_DEFLATED), ("stored", zipfile.ZIP_STORED)):
    with zipfile.ZipFile (name + ".zip", "w", method) as archive:
        archive.writestr ("run/snapshot.pickle", snapshot)
with zipfile.ZipFile ("gz.zip", "w", zipfile.ZIP_STORED) as archive: # what is compressed once is not decompressed twice
    archive.write (sys.argv[1], "snapshot.pickle.gz")
with zipfile.ZipFile ("two.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr ("a.pickle", snapshot); archive.writestr ("b.pickle", snapshot)
with zipfile.ZipFile ("weights.zip", "w", zipfile.ZIP_STORED) as archive: # as torch.save writes
    archive.writestr ("weights/data.pkl", b"\x80\x02}q\0."); archive.writestr ("weights/version", b"3\n")
class Pipe: # as `zip - file`: the sizes stand behind the data
    def __init__ (self, file): self.file = file
    def write (self, data): return self.file.write (data)
    def flush (self): self.file.flush ()
with open ("streamed.zip", "wb") as file, zipfile.ZipFile (Pipe (file), "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr ("snapshot.pickle", snapshot)
whole = open ("deflated.zip", "rb").read ()
for n in (10, 40, len (whole) // 2, len (whole) - 120):
    open ("cut-%d.zip" % n, "wb").write (whole[:n])
r = random.Random (39)
for i in range (40):
    damaged = bytearray (whole)
    for _ in range (3):
        damaged[r.randrange (len (damaged))] = r.randrange (256)
    open ("damaged-%d.zip" % i, "wb").write (damaged)
END
  python3 make.py "$data/expandable-2.6.pickle.gz" || ok 1 'zips are made'
  cat >rest.py <<'END'
import pickle
snapshot = pickle.load (open ("plain.pickle", "rb"))
pickle.dump ({"rank0": snapshot, "rank1": snapshot}, open ("ranks.pickle", "wb"))
pickle.dump ({"segments": [], "device_traces": [[]], "allocator_settings": {}, "external_annotations": []}, open ("empty.pickle", "wb"))
END
  python3 rest.py
  run 3 gemem-sim info ranks.pickle; says err "a dictionary of snapshots; write each into a file of its own"
  run 0 gemem-sim info empty.pickle; says out 'note: no GPU memory was in use, and no events were recorded'
  run 3 gemem-sim empty.pickle; says err 'empty\.pickle: no GPU memory was in use, and no events were recorded; call'
  gemem-sim info plain.pickle | sed 1d >expected
  for zip in deflated stored streamed; do
    check "$zip: the same as the file in it" sh -c "gemem-sim info $zip.zip | sed 1d | diff expected - && gemem-sim replay -q $zip.zip | grep -q 'reproduces the recording exactly: 151 of 151'"
    check "$zip: from a pipe" sh -c "gemem-sim info - <$zip.zip | sed 1d | diff expected -"
  done
  run 3 gemem-sim info gz.zip; says err 'not recognised'
  run 3 gemem-sim info two.zip; says err 'a zip archive of several files; unpack it and name one of them'
  python3 - "$data" <<'END'
import gzip, json, pickle, sys, zipfile
snapshot = pickle.load(gzip.open(sys.argv[1] + "/refused-2.11.pickle.gz"))
json.dump(snapshot, open("as.json", "w"))
with zipfile.ZipFile("saved.pt", "w") as archive: # as torch.save stores it
    archive.writestr("saved/data.pkl", pickle.dumps(snapshot, 2)); archive.writestr("saved/version", "3")
END
  run 3 gemem-sim as.json; says err 'a snapshot as JSON; pickle\.dump\(\) it'
  run 3 gemem-sim saved.pt; says err 'a snapshot in an archive of torch\.save; load it'
  run 3 gemem-sim info weights.zip; says err 'a zip archive \(as torch\.save'
  for cut in cut-*.zip; do gemem-sim info "$cut" >out.txt 2>err.txt; status=$?; check "$cut ends in an error (status $status)" sh -c "test $status = 3 && grep -q '^gemem-sim: error: $cut' err.txt"; done
  for damaged in damaged-*.zip; do timeout 20 gemem-sim info "$damaged" >out.txt 2>err.txt; status=$?; [ $status -le 3 ] || ok 1 "$damaged: status $status"; done
  check 'damaged archives end in an error or are read' true
else
  skip 'zip archives' 'python3 makes them'
fi

# ---- what is no recording by its first bytes
other () { run 3 gemem-sim "$1"; lines 1; says err "^gemem-sim: error: $1: $2"; } # NAME PATTERN
printf '\211PNG\r\n\032\n' >smi.png; other smi.png 'a picture; give the text itself'
printf '\377\330\377\340' >smi.jpg; other smi.jpg 'a picture'
printf 'GGUF\003' >model.gguf; other model.gguf 'weights of a model'
printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}' >model.safetensors; other model.safetensors 'weights of a model, not a recording; gemem-dry-run'
printf 'PAR1\025' >table.parquet; other table.parquet 'a table \(Parquet\)'
printf '\177ELF\002' >program; other ./program 'a program or library.*gemem-record PROGRAM'
printf '%s\n' '{"step":1}' '{"step":2}' >steps.jsonl; run 3 gemem-sim steps.jsonl; says err 'steps.jsonl:2: .*; it is a log of JSON lines, or damaged$'
done_testing
