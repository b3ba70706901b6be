#!/bin/sh
# test-dry-installed.sh - gemem-dry-run lets cuDNN run where it is installed, and puts a stand-in in its place where it cannot: with libraries made here that have
# its names; and finds CUDA's runtime in a program that was stripped.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi
cc=${CC:-cc}; cc=${cc%% *}
command -v "$cc" >/dev/null || { skip 'installed libraries' 'no C compiler'; done_testing; }

# library FOLDER FILE SOURCE FLAGS...: makes FOLDER/FILE with that soname.
library () {
  mkdir -p "$1"; printf '%s\n' "$3" >"$2.c"; folder=$1 file=$2; shift 3
  "$cc" -shared -fPIC -o "$folder/$file" -Wl,-soname,"$file" "$file.c" "$@"
}
library fake libcudart.so.12 'int cudaMalloc (void **place, unsigned long size) { return 99; }'
# The first opens the second, which asks the runtime for memory, as cuDNN does.
library installed libcudnn.so.9 '#include <dlfcn.h>
int cudnnCreate (void **handle) { int (*make) (void **) = (int (*) (void **)) dlsym (dlopen ("libcudnn_graph.so.9", RTLD_NOW), "graph_create"); return make ? make (handle) : 7; }
int cudnnGetConvolutionForwardWorkspaceSize (void *h, void *x, void *w, void *c, void *y, int a, unsigned long *size) { *size = 12345; return 0; }' -Wl,-rpath,'$ORIGIN'
library installed libcudnn_graph.so.9 'int cudaMalloc (void **, unsigned long);
int graph_create (void **handle) { return cudaMalloc (handle, 700); }' "$PWD/fake/libcudart.so.12"
cat >program.c <<'END'
#include <stdio.h>
int cudaMalloc (void **, unsigned long), cudnnCreate (void **);
int cudnnGetConvolutionForwardWorkspaceSize (void *, void *, void *, void *, void *, int, unsigned long *);
int main (void)
{
  void *handle = NULL, *memory;
  unsigned long size = 1;
  int made = cudnnCreate (&handle), asked = cudnnGetConvolutionForwardWorkspaceSize (handle, 0, 0, 0, 0, 1, &size);
  printf ("%d %d %lu %d\n", made, asked, size, cudaMalloc (&memory, 1000 + size));
  return 0;
}
END
"$cc" -o program program.c installed/libcudnn.so.9 fake/libcudart.so.12 -Wl,-rpath,"$PWD/installed" -Wl,--allow-shlib-undefined 2>cc.err || { skip 'installed libraries' "$(head -n 1 cc.err)"; done_testing; }

run 0 gemem-dry-run --details ./program; says out '^0 0 12345 0$'; says err '^  libraries +libcudnn\.so\.9 ran as installed'
says err '^  h100 +fits: '; check "no workspace is unknown" sh -c "! grep -q '^  workspaces' $err"
gemem-sim convert -q out.gmt events.txt; check "what the library took and what followed" test "$(sed -n 's/^alloc .*size=\([0-9]*\).*/\1/p' events.txt | paste -s -d ' ')" = '700 13345'
run 0 gemem-dry-run --json verdict.json ./program; command -v jq >/dev/null && run 0 jq -e '.installed[0].name == "libcudnn.so.9" and .workspaces == []' verdict.json
run 0 gemem-dry-run --details --stand-ins ./program; says out '^0 0 0 0$'; says err '^  workspaces +1 sizes .*cudnnGetConvolutionForwardWorkspaceSize 0\.\.unknown$'; check "nothing ran" sh -c "! grep -q '^  libraries' $err"

# A program that looks it up by name.
cat >opens.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int cudaMalloc (void **, unsigned long);
int main (void)
{
  unsigned long size = 1;
  void *memory, *library = dlopen ("libcudnn.so.9", RTLD_NOW);
  int (*ask) (void *, void *, void *, void *, void *, int, unsigned long *) = library ? dlsym (library, "cudnnGetConvolutionForwardWorkspaceSize") : NULL;
  printf ("%d\n", ask ? ask (0, 0, 0, 0, 0, 1, &size) : -1);
  printf ("%lu %d\n", size, cudaMalloc (&memory, 1000 + size));
  return 0;
}
END
"$cc" -o opens opens.c fake/libcudart.so.12 -ldl
LD_LIBRARY_PATH=$PWD/installed run 0 gemem-dry-run --stand-ins ./opens; says out '^0 0$'
LD_LIBRARY_PATH=$PWD/installed run 0 gemem-dry-run --details ./opens installed/libcudnn.so.9; says out '^12345 0$'; says err '^  libraries +libcudnn\.so\.9 ran as installed'

# ---- two copies, with CUDA's runtime linked in: the packages' one is found, and the loader opens that of a toolkit by its name
linked='#include <dlfcn.h>
int cudaMalloc (void **place, unsigned long size); int __cudaRegisterFatBinary (void *);
void *driver (void) { return dlsym (RTLD_DEFAULT, "cuInit"); }
__attribute__ ((visibility ("hidden"), noinline)) int cudaMalloc (void **place, unsigned long size) { __asm__ volatile ("nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop"); return 99; }
__attribute__ ((visibility ("hidden"), noinline)) int __cudaRegisterFatBinary (void *image) { __asm__ volatile ("nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop"); return 99; }
__attribute__ ((section (".nv_fatbin"))) int image = 1;
int curandCreateGenerator (void **place, int kind) { static int once; once = once ? once : (__cudaRegisterFatBinary (&image), 1); return cudaMalloc (place, 700); }'
library packages libcurand.so.10 "$linked"
library toolkit libcurand.so.10 "$linked"
cat >draws.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main (void)
{
  void *memory, *library = dlopen ("libcurand.so.10", RTLD_NOW);
  int (*make) (void **, int) = library ? (int (*) (void **, int)) dlsym (library, "curandCreateGenerator") : NULL;
  printf ("%d\n", make ? make (&memory, 100) : -1);
  return 0;
}
END
"$cc" -o draws draws.c -ldl
LD_LIBRARY_PATH=$PWD/toolkit run 0 ./draws; says out '^99$'
LD_LIBRARY_PATH=$PWD/toolkit run 0 gemem-dry-run --details ./draws packages/libcurand.so.10; says out '^0$'; says err '^  libraries +libcurand\.so\.10 ran as installed'

# ---- cuBLASLt says how large a workspace is; what multiplies stays the stand-in's
library lt libcublasLt.so.13 'struct result { long algorithm[8]; unsigned long workspace; int state; };
struct thing { int kind; long got[64]; };
static struct thing things[64]; static int n;
static int make (struct thing **thing, int kind) { *thing = &things[n++ % 64]; (*thing)->kind = kind; return 0; }
static int set (struct thing *thing, int id, const long *data, unsigned long size) { thing->got[id] = size == 8 ? *data : *(const int *) data; return 0; }
int cublasLtCreate (struct thing **it) { return make (it, 1); }
int cublasLtMatmulDescCreate (struct thing **it, int compute, int scale) { make (it, 2); (*it)->got[60] = compute; return 0; }
int cublasLtMatmulDescSetAttribute (struct thing *it, int id, const void *data, unsigned long size) { return set (it, id, data, size); }
int cublasLtMatmulDescDestroy (void *it) { return 0; }
int cublasLtMatrixLayoutCreate (struct thing **it, int type, unsigned long rows, unsigned long columns, long leading) { make (it, 3); (*it)->got[61] = rows * columns; return 0; }
int cublasLtMatrixLayoutSetAttribute (struct thing *it, int id, const void *data, unsigned long size) { return set (it, id, data, size); }
int cublasLtMatrixLayoutDestroy (void *it) { return 0; }
int cublasLtMatmulPreferenceCreate (struct thing **it) { return make (it, 4); }
int cublasLtMatmulPreferenceSetAttribute (struct thing *it, int id, const void *data, unsigned long size) { return set (it, id, data, size); }
int cublasLtMatmulPreferenceDestroy (void *it) { return 0; }
int cublasLtMatmulAlgoGetHeuristic (struct thing *handle, struct thing *desc, struct thing *a, struct thing *b, struct thing *c, struct thing *d, struct thing *wish, int wanted, struct result *results, int *found)
{
  if (handle->kind != 1 || desc->got[60] != 68 || d->got[61] < 6 || wish->got[1] != 1000) return 15;
  results[0].workspace = 272; results[0].state = 0; *found = 1; return 0;
}
int cublasLtMatmul () { return 99; }'
cat >multiplies.c <<'END'
#include <stdio.h>
struct result { long algorithm[8]; unsigned long workspace; int state; float waves; int reserved[4]; };
int cublasLtCreate (void **), cublasLtMatmulDescCreate (void **, int, int), cublasLtMatrixLayoutCreate (void **, int, unsigned long, unsigned long, long), cublasLtMatmulPreferenceCreate (void **),
    cublasLtMatmulPreferenceSetAttribute (void *, int, const void *, unsigned long),
    cublasLtMatmulAlgoGetHeuristic (void *, void *, void *, void *, void *, void *, void *, int, struct result *, int *),
    cublasLtMatmul (void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *, void *, void *, void *, const void *, void *, unsigned long, void *);
int main (int argc, char **argv)
{
  void *handle, *desc, *layout, *wish;
  unsigned long most = 1000;
  struct result result = { { 0 } };
  int found = 0;
  cublasLtCreate (&handle); cublasLtMatmulDescCreate (&desc, 68, 0); cublasLtMatrixLayoutCreate (&layout, 0, argc > 1 ? 1 : 2, 3, 2); cublasLtMatmulPreferenceCreate (&wish);
  cublasLtMatmulPreferenceSetAttribute (wish, 1, &most, sizeof most);
  int status = cublasLtMatmulAlgoGetHeuristic (handle, desc, layout, layout, layout, layout, wish, 1, &result, &found);
  printf ("%d %d %lu %d\n", status, found, result.workspace, cublasLtMatmul (handle, desc, 0, 0, layout, 0, layout, 0, 0, layout, 0, layout, result.algorithm, 0, result.workspace, 0));
  return 0;
}
END
"$cc" -o multiplies multiplies.c lt/libcublasLt.so.13 -Wl,-rpath,"$PWD/lt"
run 0 gemem-dry-run --details ./multiplies; says out '^0 1 272 0$'; says err '^  libraries +libcublasLt\.so\.13 ran as installed'; lacks err '^  workspaces'
# what it does not answer is not known
run 0 gemem-dry-run --details ./multiplies small; says out '^0 1 0 0$'; says err '^  workspaces +1 sizes .*cublasLtMatmulAlgoGetHeuristic 0\.\.1000$'; lacks err '^  libraries'
run 0 gemem-dry-run --details --stand-ins ./multiplies; says out '^0 1 0 0$'; says err '^  workspaces +1 sizes .*cublasLtMatmulAlgoGetHeuristic 0\.\.1000$'

# ---- cuBLAS takes memory of the device for each handle, and asks its own cuBLASLt, though the stand-in's is loaded
library handles libcublasLt.so.13 'int cublasLtInside (void) { return 5; }'
library handles libcublas.so.13 "$(printf '%s\n' "$linked" | sed '$d')
int cublasLtInside (void);
int cublasCreate_v2 (void **it) { static int once; once = once ? once : (__cudaRegisterFatBinary (&image), 1); *it = &once; return cublasLtInside () != 5 ? 99 : cudaMalloc (it, 3 << 20) ? 3 : 0; }
int cublasDestroy_v2 (void *it) { return 0; }
int cublasSgemm_v2 () { return 99; }" "$PWD/handles/libcublasLt.so.13"
cat >handles.c <<'END'
#include <stdio.h>
int cublasCreate_v2 (void **), cublasDestroy_v2 (void *), cublasSgemm_v2 (void *, int, int, int, int, int, const float *, const void *, int, const void *, int, const float *, void *, int);
int main (void)
{
  void *one, *two, *three;
  int made = cublasCreate_v2 (&one), again = cublasCreate_v2 (&two);
  cublasDestroy_v2 (one);
  printf ("%d %d %d %d\n", made, again, cublasCreate_v2 (&three), cublasSgemm_v2 (two, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1));
  return 0;
}
END
"$cc" -o handles.x handles.c -Wl,--no-as-needed handles/libcublas.so.13 fake/libcudart.so.12 -Wl,-rpath,"$PWD/handles" -Wl,--allow-shlib-undefined
run 0 gemem-dry-run --details ./handles.x; says out '^0 0 0 0$'; says err '^  peak live +9\.000 MiB'; says err '^  libraries +libcublas\.so\.13 ran as installed'
run 0 gemem-dry-run --capacity 4MiB ./handles.x; says out '^0 3 3 0$' # what is refused is not made
run 0 gemem-dry-run --stand-ins ./handles.x; says out '^0 0 0 0$'; lacks err '^  peak live +9'

# ---- candidates that are measured: each has a workspace of another size, and a dry run has no times
library measured libcudnn.so.9 'int cudnnBackendGetAttribute (long *plan, int id, int type, long wanted, long *count, long *size) { *count = 1; *size = *plan; return id != 402 || type != 3; }
static int ran;
int cudnnBackendExecute (void *handle, long *plan, void *pack) { ran++; return 0; }
int cudnnRan (void) { return ran; }'
library timed libcudart.so.12 'int cudaMalloc (void **place, unsigned long size) { return 99; }
int cudaEventCreate (void **event) { return 99; }
int cudaEventRecord (void *event, void *stream) { return 99; }
int cudaEventSynchronize (void *event) { return 99; }
int cudaEventElapsedTime (float *time, void *from, void *to) { return 99; }'
cat >measures.c <<'END'
#include <stdio.h>
int cudaMalloc (void **, unsigned long), cudaEventCreate (void **), cudaEventRecord (void *, void *), cudaEventSynchronize (void *), cudaEventElapsedTime (float *, void *, void *);
int cudnnBackendExecute (void *, long *, void *), cudnnRan (void);
int main (int argc, char **argv)
{
  long plans[] = { 2 << 20, 8 << 20, 3 << 20, 1 << 20 }, best = 0;
  float least = 1e30f, time;
  void *from, *to, *memory;
  cudaEventCreate (&from); cudaEventCreate (&to);
  for (int i = 0; i < 4; i++)
    {
      cudaEventRecord (from, 0); if (argc < 2) cudnnBackendExecute (0, &plans[i], 0);
      cudaEventRecord (to, 0); cudaEventSynchronize (to); cudaEventElapsedTime (&time, from, to);
      if (time < least) { least = time; best = plans[i]; }
    }
  int failed = cudaMalloc (&memory, best);
  printf ("%d %ld %d\n", cudnnRan (), best >> 20, failed);
  return failed;
}
END
"$cc" -o measures measures.c measured/libcudnn.so.9 timed/libcudart.so.12 -Wl,-rpath,"$PWD/measured"
run 0 gemem-dry-run --context 0 --json times.json ./measures; says out '^4 2 0$'; says err '^  h100 +fits: 2\.000 MiB'; says err "^ +up to 8\.000 MiB \(8388608 bytes\) where times of the GPU choose other workspaces"
says err "^  times +the program measured cuDNN's candidates, .*torch\.backends\.cudnn\.benchmark=False"; says err '^ +where what takes the largest workspace is the fastest, it needs 8\.000 MiB \(8388608 bytes\); where what takes the smallest workspace is the fastest, it needs 1\.000 MiB \(1048576 bytes\)$'
lacks err '^  note +the program measured'; command -v jq >/dev/null && run 0 jq -e '.fits and .needed == 2097152 and .needed_most == 8388608 and .needed_least == 1048576 and .measured[0].count == 4 and (.times | test("8.000 MiB"))' times.json
run 0 gemem-dry-run --context 0 --once ./measures; says err '^  h100 +fits only if '; says err "^ +- times of the GPU choose no other workspaces \('times', below\); without --once a second run tells"
run 0 gemem-dry-run --capacity 4MiB ./measures; says err '^  h100 +fits only if '; says err '^ +- times of the GPU choose no other workspaces .*: where what takes the largest workspace is the fastest, a request of 8\.000 MiB is refused'
# what is measured without a candidate is another matter
run 0 gemem-dry-run --details --context 0 ./measures plain; says out '^0 [0-9]* 0$'; says err '^  note +the program measured times of the GPU'; lacks err '^  times |runs .* again'

# One with kernels, and a runtime that is not known.
library unknown libcudnn.so.9 '#include <dlfcn.h>
__attribute__ ((section (".nv_fatbin"))) int image = 1;
const char *cudaGetErrorName (int error) { return "cudaErrorMemoryAllocation"; }
int cudnnCreate (void **handle) { return dlsym (0, "cudaMalloc") != 0; }
int cudnnGetConvolutionForwardWorkspaceSize (void *h, void *x, void *w, void *c, void *y, int a, unsigned long *size) { *size = 12345; return 0; }'
"$cc" -o program program.c unknown/libcudnn.so.9 fake/libcudart.so.12 -Wl,-rpath,"$PWD/unknown"
run 0 gemem-dry-run ./program; says out '^0 0 0 0$'; says err "^  note +libcudnn\.so\.9 is installed and does not run: the version of CUDA's runtime that is linked into it is not known$"

# One with kernels, and no runtime: it calls the driver itself, as cuFFT does.
library driver libcufft.so.12 '__attribute__ ((section (".nv_fatbin"))) int image = 1;
int cuInit (unsigned);
int cufftCreate (int *plan) { *plan = 7; return cuInit (0); }
int cufftGetSize (int plan, unsigned long *size) { *size = 4321 * (plan == 7); return 0; }' -Wl,--allow-shlib-undefined
cat >plans.c <<'END'
#include <stdio.h>
int cufftCreate (int *), cufftGetSize (int, unsigned long *), cudaMalloc (void **, unsigned long);
int main (void)
{
  int plan = 0, made = cufftCreate (&plan);
  unsigned long size = 1;
  void *memory;
  cufftGetSize (plan, &size);
  printf ("%d %lu %d\n", made, size, cudaMalloc (&memory, 1000 + size));
  return 0;
}
END
"$cc" -o plans plans.c driver/libcufft.so.12 fake/libcudart.so.12 -Wl,-rpath,"$PWD/driver" -Wl,--allow-shlib-undefined
run 0 gemem-dry-run --details ./plans; says out '^0 4321 0$'; says err '^  libraries +libcufft\.so\.12 ran as installed'; says err '^  h100 +fits: '
run 0 gemem-dry-run --details --stand-ins ./plans; says out '^0 0 0$'; says err '^  workspaces +1 sizes .*cufftGetSize 0\.\.unknown$'

# ---- CUDA's runtime in a program that was stripped
static=${CUDA_HOME:-/usr/local/cuda}/lib64/libcudart_static.a
[ -e "$static" ] || static=${CUDA_HOME:-/usr/local/cuda}/lib/libcudart_static.a
printf '#include <stdio.h>\nint cudaMalloc (void **, unsigned long);\nint main (void) { void *p; printf ("%%d\\n", cudaMalloc (&p, 1000)); return 0; }\n' >stripped.c
if [ ! -e "$static" ]; then skip 'a stripped program' "no $static"
elif ! "$cc" -o stripped stripped.c "$static" -lpthread -ldl -lrt 2>cc.err; then skip 'a stripped program' "$(head -n 1 cc.err)"
else
  strip stripped
  run 0 gemem-dry-run --details ./stripped; says out '^0$'; says err '^  requests of +CUDA.s runtime and driver \(1 events\)$'
fi
done_testing
