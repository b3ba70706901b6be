#!/bin/sh
# build.sh - builds the driver of one version of TensorFlow's BFCAllocator; called by oracle.py (see ../README.md for the variables).
set -eu
package=$ORACLE_WHEELS/tensorflow
! grep -q enable_spatial_partitioning "$package/include/xla/tsl/framework/bfc_allocator.h" || set -- -DHAS_ENDS
${CXX:-c++} -std=c++17 -O2 -w -DNDEBUG "$@" -I"$package/include" -I"$ORACLE_COMMON" -o "$ORACLE_DRIVER" "$ORACLE_SYSTEM/driver.cpp" "$ORACLE_COMMON/device.cpp" \
  -pthread -L"$package" -l:libtensorflow_framework.so.2 -Wl,-rpath,"$package"
