#!/bin/sh
# build.sh - writes the driver of one version of RMM's Python package, which is a Python program in a dry run on a GPU as large as the
# trace says; called by oracle.py (see ../README.md for the variables).
set -eu
dry=$(PATH=${GEMEM_BUILDDIR:-.}:$PATH command -v gemem-dry-run) || { echo 'gemem-dry-run is not built' >&2; exit 77; }
python=$("$ORACLE_COMMON/find-python.sh" 3.11) || exit
cat >"$ORACLE_DRIVER" <<END
#!/bin/sh
for trace do :; done
recording=\$(mktemp -d) || exit
trap 'rm -rf "\$recording"' EXIT
PYTHONPATH='$ORACLE_WHEELS' PYTHONDONTWRITEBYTECODE=1 '$dry' --capacity="\$(sed -n 's/^# device: .*capacity=\([0-9]*\).*/\1/p' "\$trace")" \
  --output="\$recording/trace" '$python' '$ORACLE_SYSTEM/driver.py' "\$@"
END
chmod +x "$ORACLE_DRIVER"
