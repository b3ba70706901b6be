# gemem.m4 - the project's own configure options, one macro each.

# --enable-checks=no|cheap|full
AC_DEFUN([GEMEM_ARG_CHECKS], [
AC_ARG_ENABLE([checks], [AS_HELP_STRING([--enable-checks=no|cheap|full], [internal assertions; full: walk and check every allocator as it runs (default: cheap)])],
  [], [enable_checks=cheap])
AS_CASE([$enable_checks],
  [no], [gemem_checks=0], [yes|cheap], [gemem_checks=1; enable_checks=cheap], [full], [gemem_checks=2],
  [AC_MSG_ERROR([--enable-checks takes no, cheap or full, not '$enable_checks'])])
AC_DEFINE_UNQUOTED([GEMEM_CHECKS], [$gemem_checks], [0: no internal checks, 1: cheap ones, 2: full.])
])

# --enable-asan --enable-ubsan --enable-tsan --enable-coverage
AC_DEFUN([GEMEM_ARG_SANITIZERS], [
AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [address sanitizer])])
AC_ARG_ENABLE([ubsan], [AS_HELP_STRING([--enable-ubsan], [undefined behaviour sanitizer])])
AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [thread sanitizer])])
AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage], [gcov coverage, for `make coverage'])])
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors (developers and CI)])])
for gemem_option in asan ubsan tsan coverage werror; do
  eval "gemem_value=\$enable_$gemem_option"
  AS_CASE([$gemem_value], [''|yes|no], [], [AC_MSG_ERROR([--enable-$gemem_option takes no value, or yes or no, not '$gemem_value'])])
done
AS_IF([test "$enable_asan" = yes && test "$enable_tsan" = yes], [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
gemem_sanitizers=
SANITIZE_CFLAGS=
AS_IF([test "$enable_asan" = yes], [gemem_sanitizers="$gemem_sanitizers address"; SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fsanitize=address -fno-omit-frame-pointer"])
AS_IF([test "$enable_ubsan" = yes], [gemem_sanitizers="$gemem_sanitizers undefined"; SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fsanitize=undefined -fno-sanitize-recover=undefined"])
AS_IF([test "$enable_tsan" = yes], [gemem_sanitizers="$gemem_sanitizers thread"; SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fsanitize=thread"])
AS_IF([test "$enable_coverage" = yes], [gemem_sanitizers="$gemem_sanitizers coverage"; SANITIZE_CFLAGS="$SANITIZE_CFLAGS --coverage"])
AC_SUBST([SANITIZE_CFLAGS])
AM_CONDITIONAL([SANITIZED], [test -n "$gemem_sanitizers"])
AC_SUBST([GEMEM_SANITIZED], ["$gemem_sanitizers"])
])

# --with-cuda[=DIR]: the toolkit's headers only; the driver is opened at run time.
AC_DEFUN([GEMEM_ARG_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build against the CUDA Toolkit headers (12.0 or newer) in DIR (default: auto)])],
  [], [with_cuda=auto])
gemem_cuda_text=no
gemem_cuda_unfit=
CUDA_CFLAGS=
AS_IF([test "$with_cuda" != no], [
  gemem_cuda_dirs="$with_cuda"
  AS_CASE([$with_cuda], [auto|yes], [gemem_cuda_dirs="$CUDA_HOME $CUDA_PATH /usr/local/cuda /opt/cuda /usr"])
  for gemem_dir in $gemem_cuda_dirs; do
    AS_IF([test -f "$gemem_dir/include/cuda.h"], [
      gemem_save_CPPFLAGS=$CPPFLAGS
      CPPFLAGS="$CPPFLAGS -isystem $gemem_dir/include"
      AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <cuda.h>
#if CUDA_VERSION < 12000
#error "too old"
#endif
      ]])], [CUDA_CFLAGS="-isystem $gemem_dir/include"; gemem_cuda_text="$gemem_dir"], [gemem_cuda_unfit=$gemem_dir/include/cuda.h])
      CPPFLAGS=$gemem_save_CPPFLAGS
      break])
  done
  AS_IF([test "$gemem_cuda_text" = no && test -n "$gemem_cuda_unfit"], [
    AS_IF([test "$with_cuda" != auto],
      [AC_MSG_ERROR([$gemem_cuda_unfit is of a CUDA older than 12.0, or cannot be used; give a newer toolkit's directory (--with-cuda=DIR) or --without-cuda])],
      [AC_MSG_WARN([$gemem_cuda_unfit is of a CUDA older than 12.0, or cannot be used: building without the CUDA device])])])
  AS_IF([test "$gemem_cuda_text" = no && test "$with_cuda" != auto],
    [AC_MSG_ERROR([--with-cuda=$with_cuda: no include/cuda.h there; give the toolkit's directory or --without-cuda])])
])
AS_IF([test "$gemem_cuda_text" != no], [AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA headers are there.])])
AM_CONDITIONAL([HAVE_CUDA], [test "$gemem_cuda_text" != no])
AC_SUBST([CUDA_CFLAGS])
# Kernels: code for sm_80 and sm_90, and PTX for all that came later.
AC_ARG_VAR([NVCC], [CUDA compiler (default: that of the toolkit); no: without kernels])
AS_IF([test "$gemem_cuda_text" = no], [NVCC=no],
  [test -z "$NVCC"], [AC_PATH_PROG([NVCC], [nvcc], [no], [$gemem_cuda_text/bin$PATH_SEPARATOR$PATH])])
NVCC_FLAGS="-gencode arch=compute_80,code=compute_80 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"
AS_IF([test "$NVCC" != no], [
  AC_CACHE_CHECK([whether $NVCC makes kernels], [gemem_cv_nvcc_works], [
    echo 'extern "C" __global__ void kernel (int *p) { *p = 1; }' > conftest.cu
    AS_IF([$NVCC $NVCC_FLAGS -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1], [gemem_cv_nvcc_works=yes], [gemem_cv_nvcc_works=no])
    rm -f conftest.cu conftest.fatbin])
  AS_IF([test "$gemem_cv_nvcc_works" = no], [NVCC=no])
])
AS_IF([test "$NVCC" != no], [AC_DEFINE([HAVE_CUDA_KERNELS], [1], [Define to 1 if nvcc makes the kernels of --touch.])])
AM_CONDITIONAL([HAVE_CUDA_KERNELS], [test "$NVCC" != no])
AC_SUBST([NVCC_FLAGS])
])

# --with-sqlite
AC_DEFUN([GEMEM_ARG_SQLITE], [
AC_ARG_WITH([sqlite], [AS_HELP_STRING([--with-sqlite], [result database (default: auto)])], [], [with_sqlite=auto])
gemem_sqlite_text=no
AS_IF([test "$with_sqlite" != no], [
  PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.24], [gemem_sqlite_text=yes
    AC_DEFINE([HAVE_SQLITE], [1], [Define to 1 if sqlite3 is there.])],
    [AS_IF([test "$with_sqlite" != auto], [AC_MSG_ERROR([--with-sqlite: sqlite3 was not found: $SQLITE_PKG_ERRORS])])])
])
])

# elfutils' libdw: names of functions and lines in the call stacks of gemem-record.
AC_DEFUN([GEMEM_ARG_LIBDW], [
AC_ARG_WITH([libdw], [AS_HELP_STRING([--with-libdw], [files and lines in native call stacks (default: auto)])], [], [with_libdw=auto])
gemem_libdw_text="no; native call stacks without files and lines (Debian: libdw-dev)"
AS_IF([test "$with_libdw" != no], [
  PKG_CHECK_MODULES([LIBDW], [libdw >= 0.176], [gemem_libdw_text=yes
    AC_DEFINE([HAVE_LIBDW], [1], [Define to 1 if libdw is there.])],
    [AS_IF([test "$with_libdw" != auto], [AC_MSG_ERROR([--with-libdw: libdw was not found: $LIBDW_PKG_ERRORS])])])
])
])

# Warnings, one by one, and --enable-werror.
AC_DEFUN([GEMEM_WARNINGS], [
AX_APPEND_COMPILE_FLAGS([-Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition dnl
  -Wwrite-strings -Wundef -Wformat=2 -Wno-format-nonliteral -Wvla -Wnull-dereference -Wduplicated-cond -Wlogical-op dnl
  -Wno-unused-parameter -Wno-missing-field-initializers], [WARN_CFLAGS], [-Werror])
dnl Without SLP: gcc 12 joins two neighbouring words in a vector to add to them or to copy them, and loading both waits for the stores of
dnl each, which were just before: 3 % of a replay.
AX_APPEND_COMPILE_FLAGS([-ffp-contract=off -fvisibility=hidden -fno-semantic-interposition -fno-tree-slp-vectorize], [CODE_CFLAGS], [-Werror])
enable_werror_text="on"
AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"; enable_werror_text="on, as errors"])
AC_SUBST([WARN_CFLAGS])
AC_SUBST([CODE_CFLAGS])
])

# Where the linker can, exported symbols carry the version node GEMEM_0, and calls within the library are direct.
AC_DEFUN([GEMEM_VERSION_SCRIPT], [
AC_CACHE_CHECK([whether the linker takes a version script], [gemem_cv_version_script], [
  echo 'GEMEM_TEST { global: gemem_*; local: *; };' > conftest.map
  gemem_save_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map -Wl,-Bsymbolic-functions"
  AC_LINK_IFELSE([AC_LANG_SOURCE([[int gemem_x (void); int gemem_x (void) { return 0; }]])], [gemem_cv_version_script=yes], [gemem_cv_version_script=no])
  LDFLAGS=$gemem_save_LDFLAGS
  rm -f conftest.map])
AM_CONDITIONAL([VERSION_SCRIPT], [test "$gemem_cv_version_script" = yes])
])
