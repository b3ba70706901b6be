#!/bin/sh
# build.sh - builds the driver of torch_npu's NPUCachingAllocator, which is a library in a process of Python 3.11, for which the
# wheel is; called by oracle.py (see ../README.md for the variables).
#
# libascendcl.so is acl.cpp, with every function that the wheels want of CANN, CUDA and torch_python and that is not there added as one
# that says its name (oracle_missing); the other libraries that they want are empty and lead to it.
set -eu
torch=$ORACLE_WHEELS/torch npu=$ORACLE_WHEELS/torch_npu folder=$(dirname "$ORACLE_DRIVER")
python=$("$ORACLE_COMMON/find-python.sh" 3.11) || exit
# wheels up to 2.6 have the C++ library's older names
nm -DC "$torch/lib/libc10.so" | grep -q 'c10::Error::Error(.*std::__cxx11' && abi=1 || abi=0
cxx () { ${CXX:-c++} -std=c++20 -O2 -w -fPIC -D_GLIBCXX_USE_CXX11_ABI="$abi" -I"$ORACLE_COMMON" "$@"; }
names () { awk 'NF > 1 { sub(/@.*/, "", $NF); print $NF }' | LC_ALL=C sort -u; }

cxx -c -o "$folder/acl.o" "$ORACLE_SYSTEM/acl.cpp"
cxx -c -o "$folder/device.o" "$ORACLE_COMMON/device.cpp"
set -- "$npu"/lib/lib*.so "$torch/lib/libtorch_cpu.so"
nm -D --undefined-only "$@" | awk '$1 == "U" && $2 !~ /@/' | names >"$folder/wanted"
{ nm -D --defined-only "$@" "$torch"/lib/libc10.so "$torch"/lib/libgomp*; nm --defined-only "$folder/acl.o"
  for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libstdc++.so.6 libgcc_s.so.1; do
    nm -D --defined-only "$(${CC:-cc} -print-file-name=$library)"
  done; } | names >"$folder/there"
LC_ALL=C comm -23 "$folder/wanted" "$folder/there" | grep -v '^_*Py' | awk 'BEGIN { print ".text" }
  { printf ".globl %s\n%s: lea 1f(%%rip), %%rdi\n jmp oracle_missing@PLT\n1: .asciz \"%s\"\n", $1, $1, $1 }
  END { print ".section .note.GNU-stack,\"\",@progbits" }' >"$folder/missing.S"
cxx -shared -o "$folder/libascendcl.so" -Wl,-soname,libascendcl.so "$folder/acl.o" "$folder/device.o" "$folder/missing.S"
readelf -d "$@" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort -u | while read -r library; do
  case $library in libascendcl.so | libc.so* | libm.so* | librt.so* | libdl.so* | libgcc_s.so* | libstdc++.so* | libpthread.so* | ld-linux*) continue ;; esac
  [ -e "$torch/lib/$library" ] || [ -e "$npu/lib/$library" ] ||
    cxx -shared -o "$folder/$library" -Wl,-soname,"$library" -Wl,--no-as-needed -L"$folder" -lascendcl -Wl,-rpath,"\$ORIGIN" -x c++ /dev/null
done

set --
for name in beginAllocateToPool markCaptureBegin num_oom_rejections; do
  ! grep -rq $name "$npu/include/torch_npu/csrc/core/npu" "$torch/include/c10/core" || set -- "$@" -DHAVE_$name
done
cxx -shared -o "$folder/driver.so" "$@" -I"$torch/include" -I"$torch/include/torch/csrc/api/include" -I"$npu/include" -I"$npu/include/third_party/acl/inc" \
  -I"$npu/include/third_party/hccl/inc" "$ORACLE_SYSTEM/driver.cpp" -pthread -L"$folder" -L"$torch/lib" -L"$npu/lib" -ltorch_npu -lc10 -ltorch_cpu -lascendcl \
  -Wl,-rpath,"$folder:$torch/lib:$npu/lib" -Wl,--disable-new-dtags -Wl,--unresolved-symbols=ignore-in-shared-libs
cat >"$ORACLE_DRIVER" <<END
#!/bin/sh
exec $python -B -S '$ORACLE_SYSTEM/driver.py' '$folder/driver.so' "\$@"
END
chmod +x "$ORACLE_DRIVER"
