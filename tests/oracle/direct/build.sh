#!/bin/sh
# build.sh - builds the driver of `direct`, which needs no wheel; called by oracle.py (see ../README.md for the variables).
set -eu
"$CXX" -std=c++17 -O1 -Wall -Wextra -I"$ORACLE_COMMON" -o "$ORACLE_DRIVER" "$ORACLE_SYSTEM/driver.cpp" "$ORACLE_COMMON/device.cpp" -pthread
