#!/bin/sh
# build.sh - builds the driver of one version of PyTorch's CUDACachingAllocator; called by oracle.py (see ../README.md for the variables).
set -eu
lib=$ORACLE_WHEELS/torch/lib include=$ORACLE_WHEELS/torch/include folder=$(dirname "$ORACLE_DRIVER")
[ -n "$CUDA_INCLUDE" ] || { echo 'the CUDA headers are not here (cuda_runtime_api.h)' >&2; exit 77; }
version=$("$ORACLE_COMMON/cuda/build.sh" "$folder" "$lib/libc10_cuda.so")

set --
[ ! -e "$include/c10/cuda/PeerToPeerAccess.h" ] || set -- "$@" -DHAVE_PEER_ACCESS
! grep -q markCaptureBegin "$include/c10/cuda/CUDACachingAllocator.h" || set -- "$@" -DHAVE_MARK_CAPTURE
! grep -q num_oom_rejections "$include/c10/core/CachingDeviceAllocator.h" || set -- "$@" -DHAVE_REJECTIONS
# wheels up to 2.6 have the C++ library's older names
nm -DC "$lib/libc10.so" | grep -q 'c10::Error::Error(.*std::__cxx11' && abi=1 || abi=0
${CXX:-c++} -std=c++20 -O2 -w -D_GLIBCXX_USE_CXX11_ABI="$abi" "$@" -I"$include" -I"$CUDA_INCLUDE" -I"$ORACLE_COMMON" -o "$ORACLE_DRIVER" \
  "$ORACLE_SYSTEM/driver.cpp" -pthread -L"$lib" -L"$folder" -lc10 -lc10_cuda -l:"libcudart.so.$version" \
  -Wl,--no-as-needed -l:libcuda.so.1 -l:libnvidia-ml.so.1 -Wl,-rpath,"$folder:$lib" -Wl,--disable-new-dtags
