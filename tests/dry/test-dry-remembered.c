/* test-dry-remembered.c - what a dry run knows of device memory: small copies from the host, until a kernel, a library or
 * another copy may have written there, and what NCCL's collectives make of it.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#define DRIVER_API_LATEST
#include "dry/driver/api.h"
#include "dry/driver/remembered.h"
#include "dry/libraries/missing.h"
#include "tests/util/testutil.h"

static void *library;
static CUdeviceptr memory; /* 1 MiB */
static CUfunction kernel, unknown;
static CUcontext context;
static guint64 block; /* where the program's blocks begin, in the answer of on_block() */

#define CALL(name, types, ...) (((int (*) types) test_symbol (library, name)) (__VA_ARGS__))
#define OK(call) g_assert_cmpint (call, ==, 0)
#define MIB ((size_t) 1 << 20)

static guint64
on_block (guint64 address)
{
  return block;
}

/* ---- the device */

static void
put (guint64 offset, const void *data, size_t size)
{
  OK (CALL ("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), memory + offset, data, size));
}

static void
put_int (guint64 offset, gint32 value)
{
  put (offset, &value, sizeof value);
}

static gint32
get_int (guint64 offset)
{
  gint32 value = -1;
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, memory + offset, 4));
  return value;
}

static void
launch (CUfunction function, CUdeviceptr first, CUdeviceptr in_struct)
{
  guint64 parts[4] = { 1, 2, in_struct, 3 };
  void *parameters[] = { &first, parts };

  OK (CALL ("cuLaunchKernel",
            (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
             CUstream, void **, void **),
            function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
}

/* ---- copies */

static void
test_copies (void)
{
  g_autofree guint8 *large = g_malloc (MIB);
  g_autofree guint8 *back = g_malloc (MIB);

  put_int (0, 7);
  g_assert_cmpint (get_int (0), ==, 7);
  g_assert_cmpint (get_int (4), ==, 0);
  memset (large, 9, MIB);
  put (0, large, MIB); /* too large: what was there is gone */
  g_assert_cmpint (get_int (0), ==, 0);
  put (0, large, 65536);
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), back, memory, MIB));
  g_assert_cmpmem (back, 65536, large, 65536);
  g_assert_cmpint (back[65536], ==, 0);

  /* a memset in the middle, and a copy on the device that takes along what is left, over itself */
  OK (CALL ("cuMemsetD8_v2", (CUdeviceptr, unsigned char, size_t), memory + 16, 5, 16));
  g_assert_cmpint (get_int (12), ==, 0x09090909);
  g_assert_cmpint (get_int (16), ==, 0);
  g_assert_cmpint (get_int (32), ==, 0x09090909);
  OK (CALL ("cuMemcpyDtoD_v2", (CUdeviceptr, CUdeviceptr, size_t), memory + 8, memory, 24));
  g_assert_cmpint (get_int (20), ==, 0x09090909);
  g_assert_cmpint (get_int (24), ==, 0);
  g_assert_cmpint (get_int (28), ==, 0);
  g_assert_cmpint (get_int (32), ==, 0x09090909);
}

static void
test_release (void)
{
  const CUdeviceptr before = memory;
  CUdeviceptr other = 0;

  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &other, MIB));
  memory = other;
  put_int (0, 7);
  OK (CALL ("cuMemFree_v2", (CUdeviceptr), other));
  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &memory, MIB));
  g_assert_cmpint (get_int (0), ==, 0);
  OK (CALL ("cuMemFree_v2", (CUdeviceptr), memory));
  memory = before;
}

/* What another process may change is not known. */
static void
test_shared (void)
{
  const CUdeviceptr before = memory;
  CUdeviceptr other = 0;
  char handle[64];

  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &other, MIB));
  memory = other;
  put_int (0, 7);
  OK (CALL ("cuIpcGetMemHandle", (void *, CUdeviceptr), handle, other));
  g_assert_cmpint (get_int (0), ==, 0);
  put_int (0, 7);
  g_assert_cmpint (get_int (0), ==, 0);
  OK (CALL ("cuMemFree_v2", (CUdeviceptr), other));
  memory = before;
}

/* The oldest go first. */
/* A page that another process may write to is forgotten, and nothing else. */
static void
test_pages (void)
{
  const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
  const CUmemAccessDesc access = { properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
  const size_t size = 2 * MIB;
  CUmemGenericAllocationHandle page;
  CUdeviceptr range;
  int file;
  gint32 value = 9;

  put_int (0, 7);
  OK (CALL (
      "cuMemCreate",
      (CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long),
      &page, size, &properties, 0));
  OK (CALL ("cuMemAddressReserve", (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long),
            &range, size, 0, 0, 0));
  OK (CALL ("cuMemMap",
            (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long), range,
            size, 0, page, 0));
  OK (CALL ("cuMemSetAccess", (CUdeviceptr, size_t, const CUmemAccessDesc *, size_t), range, size,
            &access, 1));
  OK (CALL ("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), range, &value, 4));
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, range, 4));
  g_assert_cmpint (value, ==, 9);
  OK (CALL ("cuMemExportToShareableHandle",
            (void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long),
            &file, page, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, range, 4));
  g_assert_cmpint (value, ==, 0);
  g_assert_cmpint (get_int (0), ==, 7);
}

static void
test_bounds (void)
{
  for (guint i = 0; i < 300; i++)
    put_int (i * 8, (gint32) i + 1);
  g_assert_cmpint (get_int (0), ==, 0);
  g_assert_cmpint (get_int (299 * 8), ==, 300);
}

/* ---- kernels */

static void
test_kernels (void)
{
  const CUdeviceptr table[] = { 1, memory + 1024 };

  put_int (1024, 7);
  launch (kernel, 0, 0);
  launch (kernel, memory + 1028, memory + 4096); /* above it */
  g_assert_cmpint (get_int (1024), ==, 7);
  launch (kernel, memory + 4096, memory + 1026);
  g_assert_cmpint (get_int (1024), ==, 0);
  put_int (1024, 7);
  put (8192, table, sizeof table); /* a kernel finds it there */
  g_assert_cmpint (get_int (1024), ==, 0);
  put_int (1024, 7);
  launch (unknown, 0, 0); /* nothing is known of its parameters */
  g_assert_cmpint (get_int (1024), ==, 0);
}

/* A kernel that got a lower address has written there if the address is in the same block. */
static void
test_blocks (void)
{
  put_int (1024, 7);
  launch (kernel, memory + 512, 0);
  g_assert_cmpint (get_int (1024), ==, 0);

  CALL ("gemem_dry_on_block", (GememDryBlockFunc), on_block);
  put_int (1024, 7);
  block = memory + 1024;
  launch (kernel, memory + 512, 0);
  g_assert_cmpint (get_int (1024), ==, 7);
  block = memory + 512;
  launch (kernel, memory + 512, 0);
  g_assert_cmpint (get_int (1024), ==, 0);

  put_int (512, 6); /* its own range is in the way, and the kernel goes on behind it */
  put_int (1024, 7);
  launch (kernel, memory + 512, 0);
  g_assert_cmpint (get_int (512), ==, 0);
  g_assert_cmpint (get_int (1024), ==, 0);
  put_int (1024, 7);
  block = 0; /* not known */
  launch (kernel, memory + 512, 0);
  g_assert_cmpint (get_int (1024), ==, 0);
  CALL ("gemem_dry_on_block", (GememDryBlockFunc), NULL);
}

static void
test_libraries (void)
{
  static GememDryStub stub, product;

  put_int (0, 7);
  CALL ("gemem_dry_stub", (const char *, const char *, GememDryStub *), "cublasLoggerConfigure",
        "libcublas.so.12", &stub);
  stub.calls++;
  g_assert_cmpint (get_int (0), ==, 7);
  CALL ("gemem_dry_stub", (const char *, const char *, GememDryStub *), "cublasStrsm_v2",
        "libcublas.so.12", &product);
  product.calls++;
  g_assert_cmpint (get_int (0), ==, 0);
  put_int (0, 8);
  g_assert_cmpint (get_int (0), ==, 8);
  product.calls++;
  g_assert_cmpint (get_int (0), ==, 0);
}

/* In an allocation of its own, for a kernel may write to all of one. */
static gpointer
write_and_launch (gpointer data)
{
  CUdeviceptr own = 0;

  OK (CALL ("cuCtxSetCurrent", (CUcontext), context));
  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &own, MIB));
  for (gint32 i = 1, back; i < 2000; i++)
    {
      OK (CALL ("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), own, &i, 4));
      OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &back, own, 4));
      g_assert_cmpint (back, ==, i);
      launch (kernel, own, 0);
      OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &back, own, 4));
      g_assert_cmpint (back, ==, 0);
    }
  OK (CALL ("cuMemFree_v2", (CUdeviceptr), own));
  return NULL;
}

static void
test_threads (void)
{
  GThread *threads[8];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new (NULL, write_and_launch, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

/* ---- NCCL */

typedef struct
{
  char bytes[128];
} UniqueId;

enum
{
  INT32 = 2,
  FLOAT32 = 7,
  SUM = 0,
  MAXIMUM = 2,
};

/* The communicator of rank 1 of 4. */
static void *
communicator (void)
{
  UniqueId id = { "" };
  void *one = NULL;

  OK (CALL ("ncclCommInitRank", (void **, int, UniqueId, int), &one, 4, id, 1));
  return one;
}

#define NCCL(name, types, ...) OK (CALL (name, types, __VA_ARGS__))
#define POINTER(offset) ((void *) (guintptr) (memory + (offset)))
#define REDUCE (void *, void *, size_t, int, int, void *, void *)
#define FROM_ROOT (void *, void *, size_t, int, int, void *, void *)
#define BETWEEN (void *, size_t, int, int, void *, void *)

static void
test_collectives (void)
{
  void *const all = communicator ();
  float real = 2.5f;

  put_int (0, 7);
  NCCL ("ncclAllGather", (void *, void *, size_t, int, void *, void *), POINTER (0), POINTER (64),
        1, INT32, all, NULL);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (get_int (64 + 4 * i), ==, 7);
  NCCL ("ncclAllReduce", REDUCE, POINTER (0), POINTER (128), 1, INT32, SUM, all, NULL);
  g_assert_cmpint (get_int (128), ==, 28);
  NCCL ("ncclAllReduce", REDUCE, POINTER (128), POINTER (128), 1, INT32, MAXIMUM, all, NULL);
  g_assert_cmpint (get_int (128), ==, 28);
  put (256, &real, 4);
  NCCL ("ncclAllReduce", REDUCE, POINTER (256), POINTER (256), 1, FLOAT32, SUM, all, NULL);
  real = 10;
  g_assert_cmpint (memcmp (&(gint32){ get_int (256) }, &real, 4), ==, 0);
  NCCL ("ncclReduceScatter", REDUCE, POINTER (64), POINTER (300), 1, INT32, SUM, all, NULL);
  g_assert_cmpint (get_int (300), ==, 28);

  /* an unknown value stays unknown, and covers what was there */
  put_int (0, 7);
  NCCL ("ncclAllReduce", REDUCE, POINTER (4096), POINTER (0), 1, INT32, SUM, all, NULL);
  g_assert_cmpint (get_int (0), ==, 0);
  OK (CALL ("ncclCommDestroy", (void *), all));
}

static void
test_groups (void)
{
  void *const all = communicator ();

  put_int (0, 7);
  NCCL ("ncclBroadcast", FROM_ROOT, POINTER (0), POINTER (0), 1, INT32, 3, all, NULL);
  g_assert_cmpint (get_int (0), ==, 7);
  NCCL ("ncclBroadcast", FROM_ROOT, NULL, POINTER (8), 1, INT32, 3, all, NULL);
  g_assert_cmpint (get_int (8), ==, 0);

  OK (CALL ("ncclGroupStart", (void) ));
  for (int i = 0; i < 4; i++)
    NCCL ("ncclBroadcast", FROM_ROOT, POINTER (0), POINTER (64 + 4 * i), 1, INT32, i, all, NULL);
  OK (CALL ("ncclGroupEnd", (void) ));
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (get_int (64 + 4 * i), ==, 7);

  OK (CALL ("ncclGroupStart", (void) ));
  for (int i = 0; i < 4; i++)
    {
      put_int (128, 20 + i);
      NCCL ("ncclSend", BETWEEN, POINTER (128), 1, INT32, i, all, NULL);
      NCCL ("ncclRecv", BETWEEN, POINTER (192 + 4 * i), 1, INT32, i, all, NULL);
    }
  OK (CALL ("ncclGroupEnd", (void) ));
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (get_int (192 + 4 * i), ==,
                     21); /* what rank 1 gets of this rank, which is rank 1 */
  NCCL ("ncclRecv", BETWEEN, POINTER (192), 1, INT32, 2, all, NULL);
  g_assert_cmpint (get_int (192), ==, 0);
  g_assert_cmpint (CALL ("ncclGroupEnd", (void) ), ==, 5);
  OK (CALL ("ncclCommDestroy", (void *), all));
}

/* A part of the ranks: how many there are is told, or nothing is known of what they exchange. */
static void
test_split (void)
{
  void *const all = communicator ();
  void *part = NULL, *some = NULL;
  int count = 0;

  CALL ("gemem_dry_next_group", (int, int), 2, 1);
  OK (CALL ("ncclCommSplit", (void *, int, int, void **, void *), all, 1, 1, &part, NULL));
  CALL ("gemem_dry_next_group", (int, int), 0, 0);
  OK (CALL ("ncclCommCount", (void *, int *), part, &count));
  g_assert_cmpint (count, ==, 2);
  put_int (0, 7);
  NCCL ("ncclAllReduce", REDUCE, POINTER (0), POINTER (64), 1, INT32, SUM, part, NULL);
  g_assert_cmpint (get_int (64), ==, 14);
  OK (CALL ("ncclCommSplit", (void *, int, int, void **, void *), all, 1, 1, &some, NULL));
  for (guint i = 0; i < 5; i++)
    put_int (64 + 4 * i, 9);
  NCCL ("ncclAllGather", (void *, void *, size_t, int, void *, void *), POINTER (0), POINTER (64),
        1, INT32, some, NULL);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint (get_int (64 + 4 * i), ==, 0);
  g_assert_cmpint (get_int (64 + 16), ==, 9);
}

/* Reads of what is not known, and of what rests on the other ranks; the first read of the host's own value is neither. */
static void
test_notes (void)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "notes", NULL), *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "number 4 bytes\n"));
  g_assert_nonnull (strstr (text, "assumed 4 bytes\n"));
  g_assert_nonnull (strstr (text, "buffers of NCCL's communicator of 4 ranks\n"));
  g_assert_nonnull (strstr (text, " 5\n"));
  g_assert_nonnull (strstr (text, "rank "));
}

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".entry k (.param .u64 first, .param .align 8 .b8 parts[32]) { ret; }\n";

int
main (int argc, char **argv)
{
  CUmodule module;

  g_test_init (&argc, &argv, NULL);
  g_autofree char *notes = g_build_filename (test_tmpdir (), "notes", NULL);
  g_setenv ("GEMEM_DRY", "1", TRUE);
  g_setenv ("GEMEM_DRY_NOTES", notes, TRUE);
  g_setenv ("RANK", "5", TRUE);
  library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_LOCAL);
  OK (CALL ("cuInit", (unsigned), 0));
  OK (CALL ("cuDevicePrimaryCtxRetain", (CUcontext *, int), &context, 0));
  OK (CALL ("cuCtxSetCurrent", (CUcontext), context));
  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &memory, MIB));
  OK (CALL ("cuModuleLoadData", (CUmodule *, const void *), &module, ptx));
  OK (CALL ("cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &kernel, module, "k"));
  OK (CALL ("cuModuleLoadData", (CUmodule *, const void *), &module, "whatever"));
  OK (CALL ("cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &unknown, module, "u"));
  g_test_add_func ("/remembered/copies", test_copies);
  g_test_add_func ("/remembered/release", test_release);
  g_test_add_func ("/remembered/shared", test_shared);
  g_test_add_func ("/remembered/pages", test_pages);
  g_test_add_func ("/remembered/bounds", test_bounds);
  g_test_add_func ("/remembered/kernels", test_kernels);
  g_test_add_func ("/remembered/blocks", test_blocks);
  g_test_add_func ("/remembered/libraries", test_libraries);
  g_test_add_func ("/remembered/threads", test_threads);
  g_test_add_func ("/remembered/collectives", test_collectives);
  g_test_add_func ("/remembered/groups", test_groups);
  g_test_add_func ("/remembered/split", test_split);
  g_test_add_func ("/remembered/notes", test_notes);
  const int status = g_test_run ();
  g_unsetenv ("GEMEM_DRY_NOTES"); /* its folder is gone */
  return status;
}
