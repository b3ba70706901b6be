#!/bin/sh
# build.sh - writes the driver of one version of CuPy's pool, which is a Python program in a dry run; called by oracle.py (see ../README.md
# for the variables).  CuPy's modules are those of Python 3.11.  A dry run reads its recording again, so that needs a file, which nobody reads.
set -eu
dry=$(PATH=${GEMEM_BUILDDIR:-.}:$PATH command -v gemem-dry-run) || { echo 'gemem-dry-run is not built' >&2; exit 77; }
python=$("$ORACLE_COMMON/find-python.sh" 3.11) || exit
cat >"$ORACLE_DRIVER" <<END
#!/bin/sh
recording=\$(mktemp -d) || exit
trap 'rm -rf "\$recording"' EXIT
PYTHONPATH='$ORACLE_WHEELS' PYTHONDONTWRITEBYTECODE=1 '$dry' --output="\$recording/trace" '$python' '$ORACLE_SYSTEM/driver.py' "\$@"
END
chmod +x "$ORACLE_DRIVER"
