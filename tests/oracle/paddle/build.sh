#!/bin/sh
# build.sh - writes the driver of one version of PaddlePaddle's allocators, which is a Python program in a dry run; called by oracle.py
# (see ../README.md for the variables).  PaddlePaddle's modules are those of Python 3.11.
set -eu
dry=$(PATH=${GEMEM_BUILDDIR:-.}:$PATH command -v gemem-dry-run) || { echo 'gemem-dry-run is not built' >&2; exit 77; }
python=$("$ORACLE_COMMON/find-python.sh" 3.11) || exit
command -v "${CC%% *}" >/dev/null || { echo "there is no C compiler $CC" >&2; exit 77; }
# PaddlePaddle writes the stack of calls into each error, which takes a millisecond
echo 'int backtrace (void **frames, int n) { return 0; }' | $CC -shared -fPIC -x c -o "$ORACLE_DRIVER.so" -
cat >"$ORACLE_DRIVER" <<END
#!/bin/sh
export PYTHONPATH='$ORACLE_WHEELS' PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX='$ORACLE_DRIVER.cache' LD_PRELOAD='$ORACLE_DRIVER.so' GEMEM_DRY_CUDNN=8.6.0
exec '$python' '$ORACLE_SYSTEM/driver.py' '$dry' "\$@"
END
chmod +x "$ORACLE_DRIVER"
