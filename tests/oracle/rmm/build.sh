#!/bin/sh
# build.sh - builds the driver of one version of RMM; called by oracle.py (see ../README.md for the variables).
set -eu
[ -n "$CUDA_INCLUDE" ] || { echo 'the CUDA headers are not here (cuda_runtime_api.h)' >&2; exit 77; }
lib=$ORACLE_WHEELS/librmm/lib64 include=$ORACLE_WHEELS/librmm/include
set -- -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE -DNDEBUG
if [ -e "$lib/librmm.so" ]; then
  log=$ORACLE_WHEELS/rapids_logger
  set -- "$@" -I"$include" -I"$include/rapids" -I"$log/include" "$ORACLE_SYSTEM/driver.cpp" -L"$lib" -lrmm -L"$log/lib64" -lrapids_logger -Wl,-rpath,"$lib:$log/lib64"
else
  case $ORACLE_VERSION in *-classes) set -- "$@" -DRMM_ARENA_USE_SIZE_CLASSES ;; esac
  set -- "$@" -DHEADERS_ALONE -DSPDLOG_FMT_EXTERNAL -DSPDLOG_COMPILED_LIB -DFMT_SHARED -I"$include" -I"$include/rapids/libcudacxx" -I"$include/rapids" \
    "$ORACLE_SYSTEM/driver.cpp" -L"$lib" -l:libspdlog.so.1.14 -l:libfmt.so.11 -Wl,-rpath,"$lib"
fi
exec "$CXX" -std=c++20 -O2 -w -I"$CUDA_INCLUDE" -I"$ORACLE_COMMON" -o "$ORACLE_DRIVER" "$@" "$ORACLE_SYSTEM/runtime.cpp" "$ORACLE_COMMON/device.cpp" -pthread -ldl \
  -Wl,--disable-new-dtags
