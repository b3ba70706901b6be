#!/bin/sh
# test-oracle.sh - does the comparison with real allocators notice what it is for?  Without wheels and network: the drivers here are
# gemem-sim itself, of whose rows one is changed, and the smallest driver in C++.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v python3 >/dev/null || { skip 'the oracles' 'there is no python3'; done_testing; }
oracle=$GEMEM_SRCDIR/tests/oracle/oracle.py
GEMEM_ORACLE_SYSTEMS=$PWD/systems GEMEM_ORACLE_WORK=$PWD/work GEMEM_ORACLE_CACHE=$PWD/cache
export GEMEM_ORACLE_SYSTEMS GEMEM_ORACLE_WORK GEMEM_ORACLE_CACHE
oracle () { python3 "$oracle" "$@"; }
first_case () { sed -n 's/^# smallest case: //p' "$out" | head -n 1; }

# ---- a system whose versions are wrong in one way each
mkdir -p systems/fake
printf '%s -\n' equal unsaid blocks calls stats refuses crashes away >systems/fake/wheels.list
cat >systems/fake/build.sh <<'END'
case $ORACLE_VERSION in away) echo 'something is not here' >&2; exit 77 ;; esac
{ echo '#!/bin/sh'; echo "version=$ORACLE_VERSION"; cat "$ORACLE_SYSTEM/driver"; } >"$ORACLE_DRIVER"
chmod +x "$ORACLE_DRIVER"
END
cat >systems/fake/driver <<'END'
for argument do
  case $argument in
    events=*) events=${argument#*=} ;;
    calls=*) calls=${argument#*=} ;;
    stats=*) stats=${argument#*=} ;;
    conf=*) conf=${argument#*=} ;;
    *) trace=$argument ;;
  esac
done
case $version-${conf:-} in unsaid-?*) conf=roundup_power2_divisions:1 ;; refuses-?*) echo 'refused: no such setting' >&2; exit 2 ;; esac
case $version in refuses) echo 'refused: never' >&2; exit 2 ;; crashes) exit 134 ;; esac
sed 's/_ns=.*/_ns=0/' "$GEMEM_PROFILES/generic.ini" >"$events.ini"
libraries=$GEMEM_BUILDDIR/.libs # without libtool's script, which takes longer to start than the rest
[ ! -x "$libraries/gemem-sim" ] || { LD_LIBRARY_PATH=$libraries PATH=$libraries:$PATH; export LD_LIBRARY_PATH; }
gemem-sim replay "$trace" ${conf:+-a "PYTORCH_CUDA_ALLOC_CONF=$conf"} -d "sim:profile=$events.ini" --events "$events" ${calls:+--calls "$calls"} -o /dev/null || exit 1
end=$(sed -n 's/^# end: //p' "$trace")
if [ -n "${calls:-}" ]; then sed "/^$end,/d" "$calls" >"$calls.1" && mv "$calls.1" "$calls"; fi
case $version in
  unsaid) sed 's/^\(\([^,]*,\)\{5\}\)[0-9][0-9]*,/\1-,/' "$events" >"$events.1" && mv "$events.1" "$events" ;;
  blocks) sed 's/^\([0-9]*,alloc,[0-9]*,777777,[^,]*\),[0-9]*/\1,1/' "$events" >"$events.1" && mv "$events.1" "$events" ;;
  calls) sed '/,malloc,0,20971520,/s/malloc/reserve/' "$calls" >"$calls.1" && mv "$calls.1" "$calls" ;;
esac
[ -z "${stats:-}" ] || case $version in stats) echo 'num_ooms 4711'; echo 'unheard_of 1' ;; esac >"$stats"
END
cat >systems/fake/scenarios.py <<'END'
import advice
from sequences import GiB, MiB, Case, mixed

ALLOCATOR, CALLS = 'pytorch-caching', ('malloc', 'free')


def some(random):
    return Case(lambda random, n: mixed(random, n, edges=(777777, 4096), most=4 * MiB, streams=2, record=0.1, clock=100),
                {'max_split_size_mb': 32}, {'capacity': 4 * GiB})


def other(settings, device):
    return dict(settings, roundup_power2_divisions=4), device


SCENARIOS = {'some': some}
BENCH = {'some': some}
ADVICE = {'some': lambda random: Case(some(random).operations, device={'capacity': 4 * GiB})}


def pasted(line):
    return {'conf': advice.assignments(line)['PYTORCH_CUDA_ALLOC_CONF']}, {}


SHARPNESS = [('some', 'rounding', other), ('some', 'a change of nothing that matters', lambda settings, device: (settings, dict(device, granularity=4 * MiB)))]
END

run 0 oracle check fake-equal -n 4000
says out '^ok 1 - fake-equal some: 40[0-9]* operations in 2 sequences, 0 requests failed, [1-9]'
run 0 oracle check fake-unsaid -n 4000
says out '^ok 1 - fake-unsaid some'
run 0 oracle check fake-away -n 4000
says out '^ok 1 - fake-away # SKIP something is not here'
run 0 oracle bench fake-away; silent out; says err '^ok 1 - fake-away # SKIP something is not here' # make bench takes rows alone

run 1 oracle check fake-blocks -n 2000
says out '^not ok 1 - fake-blocks some'
says out '^#   real:  0,alloc,1,777777,0x[0-9a-f]*,1,'
says out '^#   gemem: 0,alloc,1,777777,0x[0-9a-f]*,778240,'
cp "$(first_case)" smallest.txt
check 'the smallest case is one request, without settings' sh -c 'test "$(cat "$1")" = "$(printf %s "$2")"' x smallest.txt '# gemem-trace: 1
# allocator: "pytorch-caching"
alloc 1 size=777777
# end: 1'
run 0 gemem-sim replay -v smallest.txt --events -
says out '^0,alloc,1,777777,0x[0-9a-f]*,778240,'
run 1 oracle run fake-blocks smallest.txt
says out ',1,2097152,0   <- real; gemem -> 0,alloc,1,777777,0x[0-9a-f]*,778240,2097152,0$'
run 0 oracle run fake-equal smallest.txt
run 2 oracle check fake-unheard
says err 'no system or version fake-unheard; there are fake-equal, '

run 1 oracle check fake-calls -n 2000 --trials 0
says out '^# call at event [0-9]* malloc|^# call at event [0-9]* reserve'
says out '^#   gemem: [0-9]*,malloc,'
run 1 oracle check fake-stats -n 2000 --trials 0
says out '^# stat num_ooms$'
run 1 oracle check fake-refuses -n 2000 --trials 0
says out '^# refusal with 2 and 0$'
says out '^#   real:  exit status 2 refused: never$'
run 1 oracle check fake-crashes -n 2000 --trials 0
says out '^# failed with 134 and 0$'

# ---- known differences are excused, and only while there are any
printf 'fake stats some stat:num_o* because\nfake blocks * decision because\n' >systems/known-differences
run 0 oracle check fake-stats fake-blocks -n 2000
says out '^ok 1 - fake-blocks some: .*; 1 differ as known$'
printf 'fake equal some stat:num_ooms because\n' >systems/known-differences
run 1 oracle check fake-equal -n 20000
says out '^not ok 2 - known difference: fake equal some stat:num_ooms because$'
echo 'fake equal some' >systems/known-differences
run 1 oracle check fake-equal -n 2000
says err 'known-differences:1: not SYSTEM VERSION SCENARIO WHAT REASON'
rm systems/known-differences

# ---- a change that nothing notices is a failure
run 1 oracle sharpness fake-equal --count 2
says out '^ok 1 - fake-equal some: rounding is noticed in [1-9]'
says out '^not ok 2 - fake-equal some: a change of nothing that matters is noticed in 0 of 2 sequences$'

# ---- lines of advise: accepted, and as much as was said
run 0 oracle advice fake-equal --count 2
says out '^ok 1 - fake-equal some: [1-9][0-9]* lines, [1-9][0-9]* different, in 2 sequences are accepted and need what was said$'
says out '^# export PYTORCH_CUDA_ALLOC_CONF='
run 1 oracle advice fake-unsaid --count 2 # which reads another line than it is told
says out '^not ok 1 - fake-unsaid some'; says out '^#   gemem: holds [0-9]*, 0 refused$'; says out '^#   real:  holds [0-9]*, [0-9]* refused$'
run 1 oracle advice fake-refuses --count 1; says out '^#   real:  exit status 2 refused: '
run 0 oracle advice fake-away; says out '^ok 1 - fake-away # SKIP something is not here$'

# ---- wheels: taken from a folder instead of the network
if python3 -m pip --version >/dev/null 2>&1 && [ "$(uname -sm)" = 'Linux x86_64' ]; then
  PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD PIP_CONFIG_FILE=/dev/null
  export PIP_NO_INDEX PIP_FIND_LINKS PIP_CONFIG_FILE
  python3 - <<'END'
import zipfile

with zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('tiny/data/a.txt', 'here')
    wheel.writestr('tiny/other.txt', 'not wanted')
    wheel.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n')
    wheel.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr('tiny-1.0.dist-info/RECORD', '')
END
  mkdir systems/whole
  cp systems/fake/driver systems/fake/scenarios.py systems/whole
  cat >systems/whole/build.sh <<'END'
[ "$(cat "$ORACLE_WHEELS/tiny/data/a.txt")" = here ] && { echo '#!/bin/sh'; echo version=; cat "$ORACLE_SYSTEM/driver"; } >"$ORACLE_DRIVER" && chmod +x "$ORACLE_DRIVER"
END
  sum=$(sha256sum tiny-1.0-py3-none-any.whl | cut -d' ' -f1)
  line="tiny==1.0 3.11 manylinux_2_28_x86_64 $sum"
  printf 'good %s tiny/d*\nbad %s0 tiny/d*\nlost %s nothing/*\nnone no-such==1 3.11 any 0 *\n' "$line" "$line" "$line" >systems/whole/wheels.list
  run 0 env GEMEM_ORACLE_OFFLINE=1 python3 "$GEMEM_SRCDIR/tests/oracle/oracle.py" check whole-good
  says out '^ok 1 - whole-good # SKIP not in the cache'
  run 0 oracle check whole-good -n 2000
  says out '^ok 1 - whole-good some: '
  check 'only what is named is kept, and no wheel' sh -c 'test "$(cd cache && find . -type f | sort | tr "\n" " ")" = "./whole-good/ready ./whole-good/tiny/data/a.txt "'
  run 0 env GEMEM_ORACLE_OFFLINE=1 python3 "$GEMEM_SRCDIR/tests/oracle/oracle.py" fetch whole-good
  says out '^ok 1 - whole-good$'
  run 1 oracle fetch whole-bad
  says out "checksum is not that of wheels.list: $sum"
  run 1 oracle fetch whole-lost
  says out 'tiny-1.0-py3-none-any.whl has no member nothing/\*'
  run 0 oracle fetch whole-none
  says out '^ok 1 - whole-none # SKIP no-such==1 cannot be downloaded: '
else
  skip 'wheels' 'there is no pip, or this is no Linux on x86_64'
fi

# ---- what drivers in C++ share
unset GEMEM_ORACLE_SYSTEMS
if command -v "${CXX:-c++}" >/dev/null; then
  run 0 oracle all direct -n 12000 --count 2
  says out '^ok 2 - direct-1 out-of-memory: [0-9]* operations in 3 sequences, [1-9]'
  says out '^ok 4 - direct-1 out-of-memory: capacity - 1 MiB is noticed in [1-9]'
  driver=$GEMEM_ORACLE_WORK/built/direct-1/driver
  run 0 "$driver" events=/dev/stdout smallest.txt
  says out '^0,alloc,1,777777,0x100000000000,777777,777777,0$'
  run 0 "$driver" bench=1 smallest.txt
  says out '^operations=1 cpu_ns=[0-9]* failed=0$'
  printf '# gemem-trace: 1\nfree 3\n# end: 1\n' >wrong.txt
  run 1 "$driver" wrong.txt
  says err 'event 0: id 3 is live already, or not'
  printf '# gemem-trace: 1\ngraph-load 3\n# end: 1\n' >wrong.txt
  run 1 "$driver" wrong.txt
  says err 'event graph-load: drivers do not have it'
else
  skip 'drivers in C++' 'there is no C++ compiler'
fi

done_testing
