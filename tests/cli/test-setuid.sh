#!/bin/sh
# test-setuid.sh - programs with rights that their user lacks: the loader preloads nothing into them, so gemem-record says that nothing was recorded, and
# gemem-dry-run refuses. Where the rights are the user's own, the program is one like any other.
# shellcheck disable=SC2016 # a script for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

other=65534 # a user who owns nothing here
cat=$(command -v cat)
cp "$cat" own && chmod u+s own
run 0 gemem-record -o own.gmt ./own /proc/self/maps; says err '\./own made no CUDA calls that are recorded; .*own.gmt holds no events$'
if is_sanitized; then skip 'into a program of the user' 'what is preloaded is instrumented, and cat is not'; else
  run 0 gemem-record -o own.gmt ./own /proc/self/maps; says out 'libgemem-record\.so'
  run 0 gemem-dry-run -o own.gmt ./own /proc/self/maps; says out 'libgemem-dry\.so'
fi

cp "$(command -v id)" theirs
chown $other theirs 2>/dev/null && chmod u+s theirs
if [ "$(id -u)" -ne 0 ]; then skip 'the rights of another user' 'only root gives them'; done_testing; fi
if [ "$(./theirs -u)" != $other ]; then skip 'the rights of another user' 'this file system has none (nosuid), or no process here may gain any'; done_testing; fi

# refused PROGRAM WHAT: both launchers say so in one line, and the program runs under gemem-record alone.
refused () {
  run 0 gemem-record -o out.gmt "$1"
  says err "^gemem-record: $1: LD_PRELOAD has no effect on it, so nothing was recorded: $2; run a copy .*; .*/out.gmt holds no events\$"
  check 'in one line' test "$(wc -l <"$err")" -eq 1
  run 0 gemem-sim info out.gmt
  run 126 gemem-dry-run -o dry.gmt "$1"; says err "^gemem-dry-run: .*$1: LD_PRELOAD has no effect on it, so nothing can stand for the GPU: $2; run a copy"
  check 'in one line' test "$(wc -l <"$err")" -eq 1
}
refused ./theirs 'it runs with the rights of its owner \(setuid\)'
chmod u-s theirs && chgrp $other theirs && chmod g+s theirs
refused ./theirs 'it runs with the rights of its group \(setgid\)'
chmod g-s theirs
run 0 gemem-record -o out.gmt ./theirs; says err 'made no CUDA calls'

# A script has no rights of its file.
printf '#!/bin/sh\necho said\n' >script && chmod 755 script && chown $other script && chmod u+s script
run 0 gemem-record -o out.gmt ./script; says err 'made no CUDA calls'

# A user who runs a program of root's.
if ! command -v setpriv >/dev/null; then skip 'a user who is not root' 'there is no setpriv'; done_testing; fi
chmod 711 . && mkdir -m 777 folder && cp theirs roots && chown 0:0 roots && chmod u+s roots
as_user () { (cd folder && setpriv --reuid $other --regid $other --clear-groups "$@"); }
if ! as_user gemem-record -o /dev/null --version >/dev/null 2>&1; then skip 'a user who is not root' 'the build cannot be read by others'; done_testing; fi
as_user gemem-record -o user.gmt ../roots >/dev/null 2>"$err"; says err '^gemem-record: ../roots: LD_PRELOAD has no effect on it, so nothing was recorded'
as_user gemem-dry-run -o user.gmt ../roots >/dev/null 2>"$err"; says err 'roots: LD_PRELOAD has no effect on it, so nothing can stand'
done_testing
