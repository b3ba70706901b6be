#!/bin/sh
# build.sh - builds the driver of one version of ONNX Runtime's arena; called by oracle.py (see ../README.md for the variables).
set -eu
library=libonnxruntime.so.$ORACLE_VERSION folder=$(dirname "$ORACLE_DRIVER")
ln -sf "$ORACLE_WHEELS/onnxruntime/capi/$library" "$folder/libonnxruntime.so.1" # the name that programs look for
exec "$CXX" -std=c++17 -O2 -Wall -Wextra -I"$ORACLE_COMMON" -o "$ORACLE_DRIVER" "$ORACLE_SYSTEM/driver.cpp" "$ORACLE_COMMON/device.cpp" \
  -pthread -L"$folder" -l:libonnxruntime.so.1 -Wl,-rpath,"$folder"
