#!/bin/sh
# long-sweep.sh - what sweeps cost: every view of a million rows within a second, the merge of a million rows, and the processor time of two workers
# beside that of one.  The rows are made in SQL from one of a real run.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v sqlite3 >/dev/null && gemem-sim version | grep -q 'SQLite yes' || { skip 'a million rows' 'no sqlite3 here'; done_testing; }
ln -s "$GEMEM_SRCDIR/traces" .
rows=${GEMEM_ROWS:-1000000}

# ---- a million rows: 200 recordings, 1000 settings, 5 capacities
printf '[a]\ntrace=traces/recorded/vit-train.gmt\nallocator=pytorch-caching\n' >a.ini
gemem-sim sweep a.ini -o million.db >/dev/null
sqlite3 million.db <<END
PRAGMA synchronous = 0;
BEGIN;
CREATE TEMP TABLE proto AS SELECT * FROM results;
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $rows - 1)
INSERT INTO results (gemem, trace, trace_sha256, device_ordinal, allocator, label, parameters, device, device_settings, partial, key, job, setting, lower,
  repeat, warm_up, capacity, fits, run_time, peak_reserved, lower_bound, overhead, utilisation, peak_live, peak_allocated, ooms, calls)
SELECT p.gemem, 'traces/' || (i % 200) || '.gmt', p.trace_sha256, 0, p.allocator, p.label, p.parameters, p.device, p.device_settings, 0,
  printf ('%032x', i), 'a', 'pytorch-caching:max_split_size_mb=' || (i / 1000), '', 1, 0, (1 + i / 200 % 5) << 34, i * 7919 % 10 > 0, 1000,
  (1 + i * 7919 % 1000) * 2097152, 2097152, 1 + i * 7919 % 1000 / 999.0, 0.5, 1, 1, 0, i FROM n, proto p;
COMMIT;
END
check 'the rows are there' test "$(sqlite3 million.db 'SELECT count (*) FROM results')" = $((rows + 1))
for view in best fits worst means 'select * from runs limit 100'; do
  took=
  for _ in 1 2 3; do # the first reads the disk, and others use this machine too
    begin=$(date +%s%N); gemem-sim query million.db "$view" -f csv >answer.csv; now=$((($(date +%s%N) - begin) / 1000000))
    [ -n "$took" ] && [ "$took" -le $now ] || took=$now
  done
  echo "# $view: $took ms, $(($(wc -l <answer.csv) - 1)) rows of the answer"
  check "within a second: $view" test $took -le 1000
done
begin=$(date +%s%N); run 0 gemem-sim sweep --merge million.db -o merged.db; took=$((($(date +%s%N) - begin) / 1000000))
says out "^$((rows + 1)) runs added to merged.db"
echo "# merge: $took ms"
rm -f million.db merged.db

# ---- processor time: the lesser of two tries of each, in clock ticks of user and system
printf '[a]\ntrace=traces/recorded/*-train*.gmt; traces/recorded/llama-decode*.gmt\nallocator=pytorch-caching:max_split_size_mb=20..59; bfc; direct\n' >w.ini
ticks () { # COMMAND...: of its children
  sh -c '"$@" >/dev/null 2>&1 & wait $!; read -r line </proc/$$/stat; set -- ${line##*) }; echo $((${14} + ${15}))' - "$@"
}
least () { # WORKERS
  best=
  for _ in 1 2; do
    rm -f w.db; now=$(ticks gemem-sim sweep w.ini -o w.db -j "$1")
    [ -n "$best" ] && [ "$best" -le "$now" ] || best=$now
  done
  echo "$best"
}
one=$(least 1) two=$(least 2)
echo "# processor time: one worker $one ticks, two $two: $(awk -v a="$one" -v b="$two" 'BEGIN { printf "%.3f", b / a }')"
check 'two workers take at most 1.05 of the processor time of one' test $((two * 100)) -le $((one * 105))
done_testing
