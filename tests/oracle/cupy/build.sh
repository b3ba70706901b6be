#!/bin/sh
# build.sh - writes the driver of one version of CuPy's pool, which is a Python program in a dry run; called by oracle.py (see ../README.md
# for the variables).  CuPy's modules are those of Python 3.11.
set -eu
dry=$(PATH=${GEMEM_BUILDDIR:-.}:$PATH command -v gemem-dry-run) || { echo 'gemem-dry-run is not built' >&2; exit 77; }
for python in python3.11 python3 ''; do
  [ -n "$python" ] || { echo 'there is no Python 3.11, for which the wheel is' >&2; exit 77; }
  ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || break
done
cat >"$ORACLE_DRIVER" <<END
#!/bin/sh
PYTHONPATH='$ORACLE_WHEELS' PYTHONDONTWRITEBYTECODE=1 exec '$dry' --output=/dev/null '$python' '$ORACLE_SYSTEM/driver.py' "\$@"
END
chmod +x "$ORACLE_DRIVER"
