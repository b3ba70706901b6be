#!/bin/sh
# test-torch-throws.sh - where PyTorch is in the process (here a library with its name), out of memory is an exception that C++ catches, and the library goes on;
# elsewhere it is NULL.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
library=$GEMEM_BUILDDIR/.libs/libgemem-torch.so
[ -e "$library" ] || { echo '1..0 # SKIP built without shared libraries'; exit 0; }
if nm -D "$library" | grep -q '__[aut]b\{0,1\}san'; then echo '1..0 # SKIP built with sanitizers'; exit 0; fi
cxx=$(command -v c++ || command -v g++ || command -v clang++) || { echo '1..0 # SKIP there is no C++ compiler'; exit 0; }

cat >catch.cpp <<'END'
#include <dlfcn.h>
#include <cstdio>
#include <new>
#include <string>

int main (int argc, char **argv)
{
  if (argc > 2)
    dlopen (argv[2], RTLD_NOW | RTLD_LOCAL);
  void *library = dlopen (argv[1], RTLD_NOW | RTLD_LOCAL);
  auto allocate = reinterpret_cast<void *(*) (long, int, void *)> (dlsym (library, "gemem_torch_malloc"));
  std::string said;
  for (int i = 0; i < 3; i++)
    {
      try { said += allocate (1L << 40, 0, nullptr) == nullptr ? "NULL " : "memory "; }
      catch (const std::bad_alloc &) { said += "caught "; }
      said += allocate (1L << 20, 0, nullptr) == nullptr ? "NULL " : "memory ";
    }
  std::puts (said.c_str ());
}
END
echo 'int nothing;' >nothing.cpp
if ! "$cxx" -o catch catch.cpp -ldl 2>compiler || ! "$cxx" -shared -fPIC -Wl,-soname,libtorch_cuda.so -o libtorch_cuda.so nothing.cpp 2>compiler; then
  echo "1..0 # SKIP $cxx makes no programs"; exit 0
fi
GEMEM_DEVICE=sim:capacity=1GiB; export GEMEM_DEVICE
run 0 ./catch "$library" ./libtorch_cuda.so; says out '^caught memory caught memory caught memory $'; says err 'out of memory: 1.000 TiB asked for'
run 0 ./catch "$library"; says out '^NULL memory NULL memory NULL memory $'
done_testing
