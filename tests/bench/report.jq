# report.jq - from the rows of all benches to a table and a verdict.
#
#   jq -n -f report.jq --slurpfile rows ROWS --slurpfile goals goals.json --slurpfile baseline baseline.json --argjson environment {...}
#
# Output: { table: [[cell...]...], live: [[cell...]...], goals: {met, missed}, ratios: {name: value}, compared, unknown: [...] (ratios that the baseline lacks),
#   skipped: [...], regressions: [...] }.
# A ratio is compared with the baseline, larger is worse: time of one thing over time of another in the same run, or instructions per
# event.  Times are noisy, so only half as much again is a regression; instructions are exact: a tenth more is.

def round_to ($digits):
  if . == 0 then 0
  else . as $x | (fabs | log10 | floor) as $magnitude | pow (10; $digits - 1 - $magnitude) as $scale | ($x * $scale | round) / $scale
  end;

def figure ($value; $field):
  if $field == "events_per_s" then "\($value / 1e6 | round_to (3)) M/s"
  elif $field == "mb_per_s" then "\($value | round_to (3)) MB/s"
  elif $field == "growth" then "\($value * 1000 | round / 10) %"
  elif $field == "ratio" or $field == "over_real" or $field == "flatness" then "\($value | round_to (3)) x"
  elif $field | startswith ("ns_per_") then "\($value | round_to (3)) ns"
  elif $field == "instructions_per_event" then "\($value | round_to (4)) instr"
  else "\($value | round_to (3))"
  end;

# What distinguishes a row, in a few words.
def name: [.trace, .workload, .device, .what, .allocator, .n, .blocks, .live] | map (select (. != null) | tostring) | join (" ");

def cost_field: ["ns_per_event", "ns_per_op", "ns_per_pair", "instructions_per_event"] - (["ns_per_event", "ns_per_op", "ns_per_pair", "instructions_per_event"] - keys) | .[0];

def goal_of ($goals): . as $row | first ($goals[] | select (.match | to_entries | all (.value == $row[.key]))) // null;

def verdict ($goal):
  if $goal == null then ["", ""]
  else
    .[$goal.field] as $value
    | if $goal.min != null then [">= " + figure ($goal.min; $goal.field), (if $value >= $goal.min then "PASS" else "MISS" end)]
      else ["< " + figure ($goal.max; $goal.field), (if $value < $goal.max then "PASS" else "MISS" end)]
      end
  end;

def line ($goals):
  goal_of ($goals) as $goal
  | cost_field as $cost
  | ($goal.field // (if has ("events_per_s") then "events_per_s" elif has ("growth") then "growth" else null end)) as $field
  | [.bench, name, (if $cost then figure (.[$cost]; $cost) else "" end), (if $field then figure (.[$field]; $field) else "" end)] + verdict ($goal);

# Cost by number of live blocks, one line per allocator and workload (bench-flatness.c): what an event takes, what one visit of a random record in as much
# memory takes, and how many such visits the growth is worth.
def growth ($rows; $field): ($rows | max_by (.live) | .[$field]) - ($rows | min_by (.live) | .[$field]);

def time_growth: max_by (.live).ns_per_event / min_by (.live).ns_per_event;

def flatness_table ($rows):
  [$rows[] | select (.bench == "flatness")] as $all
  | if $all == [] then []
    else ($all | map (.live) | unique) as $counts
      | [["live blocks", ""] + ($counts | map (tostring)) + ["growth", "a visit", "growth in visits"]]
        + ($all | group_by ([.allocator, .workload]) | map (. as $of
             | [$of[0].allocator, $of[0].workload]
             + [$counts[] as $n | first ($of[] | select (.live == $n) | figure (.ns_per_event; "ns_per_event")) // ""]
             + [figure ($of | time_growth; "ratio"), figure ($of | max_by (.live).ns_per_touch; "ns_per_touch"),
                growth ($of; "ns_per_touch") as $visit | if $visit > 0 then growth ($of; "ns_per_event") / $visit | round_to (2) | tostring else "" end]))
    end;

# One row per allocator and workload from their counted instructions: the most over the least.
def flatness_of_instructions ($rows):
  [$rows[] | select (.bench == "instructions") | . + (.what | capture ("^flatness (?<allocator>[^ ]+) (?<workload>[^ ]+) (?<live>[0-9]+)$"))]
  | group_by ([.allocator, .workload])
  | map ({ bench: "flatness-instructions", allocator: .[0].allocator, workload: .[0].workload, instructions_per_event: (max_by (.live | tonumber).instructions_per_event),
           flatness: ((map (.instructions_per_event) | max) / (map (.instructions_per_event) | min)) });

# The same from times, where it is not the machine's memory that is measured: "any" visits all of it.
def flatness_of_time ($rows):
  [$rows[] | select (.bench == "flatness" and .workload == "recent")] | group_by (.allocator)
  | map ({ bench: "flatness-time", allocator: .[0].allocator, workload: "recent", ns_per_event: max_by (.live).ns_per_event,
           flatness: time_growth });

# ---- ratios

# Each allocator over `direct`, in the same bench on the same events.
def over_direct ($rows; $bench; $group):
  [$rows[] | select (.bench == $bench)] | group_by (.[$group])[]
  | (map (select (.allocator == "direct"))[0].ns_per_event) as $direct
  | .[] | select ($direct != null and .allocator != "direct" and .allocator != "(decoding only)")
  | { ("time: \(.bench) \(.[$group]) \(.allocator) over direct"): (.ns_per_event / $direct) };

# Ours over GLib's.
def over_glib ($rows): $rows[] | select (.ratio != null) | { ("time: \(.bench) \(.n) over GLib"): (1 / .ratio) };

def is_flatness: .bench == "flatness" or (.bench == "instructions" and (.what | startswith ("flatness ")));

def instructions ($rows): $rows[] | select (.bench == "instructions" and (is_flatness | not)) | { ("instructions: \(.what)"): .instructions_per_event };

def ratios ($rows):
  [over_direct ($rows; "allocator"; "workload"), over_direct ($rows; "vector"; "workload"), over_direct ($rows; "replay"; "trace"), over_glib ($rows), instructions ($rows)] | add // {};

def tolerance: if startswith ("instructions: ") then 1.1 else 1.5 end;

def regressions ($now; $before):
  [$now | to_entries[] | . as $entry | select ($before[.key] != null and .value > $before[.key] * (.key | tolerance))
   | "\(.key): \(.value | round_to (4)) now, \($before[.key] | round_to (4)) in the baseline (\((.value / $before[.key] - 1) * 100 | round) % more)"];

# Goals that the bench fails on.
def missed ($rows; $goals):
  [$rows[] | . as $row | goal_of ($goals) as $goal | select ($goal.must and verdict ($goal)[1] == "MISS")
   | "\(.bench) \(name): \(.[$goal.field] | round_to (4)), and the goal is \(verdict ($goal)[0])"];

# Counts say nothing about another compiler's.
def comparable ($baseline; $environment):
  if $baseline.environment == $environment then $baseline.ratios
  else $baseline.ratios | with_entries (select (.key | startswith ("instructions: ") | not))
  end;

($rows + flatness_of_instructions ($rows) + flatness_of_time ($rows)) as $rows | $goals[0] as $goals | ($baseline[0] // {}) as $old
| ratios ($rows) as $now
| (if $old.ratios then comparable ($old; $environment) else {} end) as $before
| ([$rows[] | . as $row | goal_of ($goals) as $goal | select ($goal != null) | verdict ($goal)[1]]) as $verdicts
| { table: ([["bench", "case", "cost", "figure", "goal", ""]] + [$rows[] | select (is_flatness | not) | line ($goals)]),
    live: flatness_table ($rows),
    goals: { met: ($verdicts | map (select (. == "PASS")) | length), missed: ($verdicts | map (select (. == "MISS")) | length) },
    ratios: $now,
    compared: ([$now | keys[] | select ($before[.] != null)] | length),
    unknown: (if $old.ratios then [$now | keys[] | select ($old.ratios[.] == null)] else [] end),
    skipped: (if $old.ratios and $old.environment != $environment
              then ["instruction counts are not compared: the baseline was made by \($old.environment | tojson), this is \($environment | tojson)"] else [] end
              + [($before | keys[]) as $key | select ($now[$key] == null) | "\($key): in the baseline, but not measured in this run"]),
    regressions: (regressions ($now; $before) + missed ($rows; $goals)) }
