/* probe.c - asks the driver what cuda-async.md 9 and addresses.md G leave open, and logs it.
 *
 *   probe FILE [ORDINAL]     FILE: probe.txt, or any other; the log goes to stdout
 *
 * Operations and log are those of ../shared/gpu/cuda-async/README.md, so that a log is a vector:
 * an operation a line, and in the log its line number, what it gave (an address in hexadecimal,
 * ok, or E and the number of the error), and what changed in the pools' attributes.  "@ TEXT"
 * begins a section, which runs in a process of its own: one that dies ("died of signal N") takes no
 * other with it, and the next begins with a fresh address space.  Of the operations there, these:
 *
 *   stream pool set a f trim destroy rec wait ssync dsync esync gate open settle info m mf v vf
 *
 * and beside them
 *
 *   sdestroy S | limit N BYTES    cuStreamDestroy | cuCtxSetLimit
 *   h ID SIZE | hf ID             cuMemHostAlloc, pinned host memory | cuMemFreeHost
 *   g ID SIZE                     cuMemAllocManaged; mf frees it
 *   maps                          mappings of the process, FROM-TO each, of 2 MiB and more
 *   held N SIZE [COLD]            N times cuMemAlloc, then N times cuMemFree, and what the calls
 *   again N SIZE [COLD]           took; the same, each block freed before the next.  Before each call
 *                                 COLD bytes of the host's memory are written, so that caches are cold
 *
 * Differs from the vectors: a gate is cuStreamWaitValue32, not a kernel.
 * Exit status: 0, 1 where the driver or a section fails, 2 wrong use, 77 no GPU. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DRIVER_CALLS(CALL) \
  CALL (cuInit) \
  CALL (cuDriverGetVersion) \
  CALL (cuDeviceGet) \
  CALL (cuDeviceGetName) \
  CALL (cuDeviceGetDefaultMemPool) \
  CALL (cuDevicePrimaryCtxRetain) \
  CALL (cuCtxSetCurrent) \
  CALL (cuCtxSetLimit) \
  CALL (cuCtxSynchronize) \
  CALL (cuMemGetInfo) \
  CALL (cuMemAlloc) \
  CALL (cuMemAllocManaged) \
  CALL (cuMemFree) \
  CALL (cuMemHostAlloc) \
  CALL (cuMemHostGetDevicePointer) \
  CALL (cuMemFreeHost) \
  CALL (cuMemAddressReserve) \
  CALL (cuMemAddressFree) \
  CALL (cuMemPoolCreate) \
  CALL (cuMemPoolDestroy) \
  CALL (cuMemPoolSetAttribute) \
  CALL (cuMemPoolGetAttribute) \
  CALL (cuMemPoolTrimTo) \
  CALL (cuMemAllocFromPoolAsync) \
  CALL (cuMemFreeAsync) \
  CALL (cuStreamCreate) \
  CALL (cuStreamDestroy) \
  CALL (cuStreamSynchronize) \
  CALL (cuStreamWaitEvent) \
  CALL (cuStreamWaitValue32) \
  CALL (cuStreamWriteValue32) \
  CALL (cuEventCreate) \
  CALL (cuEventRecord) \
  CALL (cuEventSynchronize)

#define CALL(name) __typeof__ (name) *name##_;
static struct
{
  DRIVER_CALLS (CALL)
} cu;
#undef CALL

enum
{
  NAMED = 16,     /* streams, pools, events of a section */
  BLOCKS = 4096,  /* numbers of blocks */
  ATTRIBUTES = 4, /* reserved, used, their high marks */
  GATE = NAMED,   /* words that the host and streams share: a mark for each stream, then gates */
  WORDS = 2 * NAMED
};

static struct
{
  CUdevice device;
  CUstream streams[NAMED];
  CUevent events[NAMED];
  CUmemoryPool pools[NAMED];
  cuuint64_t seen[NAMED][ATTRIBUTES];
  CUdeviceptr blocks[BLOCKS];
  size_t sizes[BLOCKS];
  volatile uint32_t *words; /* host memory, from the first gate or mark */
  CUdeviceptr words_device;
  uint32_t marks;
} now;

typedef struct
{
  unsigned long long n[6]; /* the words as numbers */
  const char *words[6];
} Operation;

/* ---- what operations give */

static void
say_code (CUresult code)
{
  if (code == CUDA_SUCCESS)
    printf (" ok");
  else
    printf (" E%d", (int) code);
}

static void
say_block (CUresult code, const Operation *o, const CUdeviceptr *address, unsigned long long size)
{
  unsigned long long id = o->n[0] % BLOCKS;
  if (code != CUDA_SUCCESS)
    {
      say_code (code);
      return;
    }
  now.blocks[id] = *address;
  now.sizes[id] = size;
  printf (" %llx", (unsigned long long) *address);
}

/* Forgets the block of the operation; its address, or 0: the request had failed. */
static CUdeviceptr
taken (const Operation *o)
{
  CUdeviceptr address = now.blocks[o->n[0] % BLOCKS];
  now.blocks[o->n[0] % BLOCKS] = 0;
  if (address == 0)
    printf (" skip");
  return address;
}

/* TRUE if there are words that streams can wait for and write. */
static int
have_words (void)
{
  void *host;
  if (now.words != NULL)
    return 1;
  if (cu.cuMemHostAlloc_ (&host, WORDS * sizeof (uint32_t), CU_MEMHOSTALLOC_DEVICEMAP) != 0
      || cu.cuMemHostGetDevicePointer_ (&now.words_device, host, 0) != 0)
    return 0;
  memset (host, 0, WORDS * sizeof (uint32_t));
  now.words = host;
  return 1;
}

#define STREAM(o, i) (now.streams[(o)->n[i] % NAMED])
#define EVENT(o, i) (now.events[(o)->n[i] % NAMED])
#define POOL(o, i) (now.pools[(o)->n[i] % NAMED])

/* ---- operations: one function each, named as in the file */

static void
op_stream (const Operation *o)
{
  say_code (cu.cuStreamCreate_ (&STREAM (o, 0), CU_STREAM_NON_BLOCKING));
}

static void
op_sdestroy (const Operation *o)
{
  say_code (cu.cuStreamDestroy_ (STREAM (o, 0)));
}

static void
op_pool (const Operation *o)
{
  CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
  props.location.id = now.device;
  if (strcmp (o->words[1], "default") == 0)
    say_code (cu.cuDeviceGetDefaultMemPool_ (&POOL (o, 0), now.device));
  else
    {
#if CUDA_VERSION >= 12020
      props.maxSize = o->n[2];
#endif
      say_code (cu.cuMemPoolCreate_ (&POOL (o, 0), &props));
    }
}

static void
op_set (const Operation *o)
{
  const struct
  {
    const char *name;
    CUmemPool_attribute attribute;
  } all[] = { { "thr", CU_MEMPOOL_ATTR_RELEASE_THRESHOLD },
              { "fol", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES },
              { "opp", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC },
              { "int", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES },
              { "rh", CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH },
              { "uh", CU_MEMPOOL_ATTR_USED_MEM_HIGH } };
  cuuint64_t value = o->n[2]; /* the flags are ints: the low half */
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp (o->words[1], all[i].name) == 0)
      say_code (cu.cuMemPoolSetAttribute_ (POOL (o, 0), all[i].attribute, &value));
}

static void
op_a (const Operation *o)
{
  CUdeviceptr address = 0;
  say_block (cu.cuMemAllocFromPoolAsync_ (&address, o->n[3], POOL (o, 1), STREAM (o, 2)), o,
             &address, o->n[3]);
}

static void
op_f (const Operation *o)
{
  CUdeviceptr address = taken (o);
  if (address != 0)
    say_code (cu.cuMemFreeAsync_ (address, STREAM (o, 1)));
}

static void
op_trim (const Operation *o)
{
  say_code (cu.cuMemPoolTrimTo_ (POOL (o, 0), o->n[1]));
}

static void
op_destroy (const Operation *o)
{
  say_code (cu.cuMemPoolDestroy_ (POOL (o, 0)));
  POOL (o, 0) = NULL;
}

static void
op_rec (const Operation *o)
{
  if (EVENT (o, 0) == NULL && cu.cuEventCreate_ (&EVENT (o, 0), CU_EVENT_DISABLE_TIMING) != 0)
    EVENT (o, 0) = NULL;
  say_code (cu.cuEventRecord_ (EVENT (o, 0), STREAM (o, 1)));
}

static void
op_wait (const Operation *o)
{
  say_code (cu.cuStreamWaitEvent_ (STREAM (o, 0), EVENT (o, 1), 0));
}

static void
op_ssync (const Operation *o)
{
  say_code (cu.cuStreamSynchronize_ (STREAM (o, 0)));
}

static void
op_dsync (const Operation *o)
{
  (void) o;
  say_code (cu.cuCtxSynchronize_ ());
}

static void
op_esync (const Operation *o)
{
  say_code (cu.cuEventSynchronize_ (EVENT (o, 0)));
}

static void
op_gate (const Operation *o)
{
  size_t word = GATE + o->n[0] % NAMED;
  if (!have_words ())
    return;
  now.words[word] = 0;
  say_code (cu.cuStreamWaitValue32_ (STREAM (o, 0), now.words_device + 4 * word, 1,
                                     CU_STREAM_WAIT_VALUE_GEQ));
}

/* A mark behind the work of the stream, polled for 0.2 s without a call of CUDA. */
static void
op_settle (const Operation *o)
{
  size_t word = o->n[0] % NAMED;
  uint32_t mark = ++now.marks;
  if (!have_words ())
    return;
  CUresult code = cu.cuStreamWriteValue32_ (STREAM (o, 0), now.words_device + 4 * word, mark, 0);
  for (int i = 0; code == CUDA_SUCCESS && now.words[word] != mark && i < 2000; i++)
    usleep (100);
  if (code != CUDA_SUCCESS)
    say_code (code);
  else
    printf (now.words[word] == mark ? " done" : " pending");
}

static void
op_open (const Operation *o)
{
  if (have_words ())
    now.words[GATE + o->n[0] % NAMED] = 1;
  op_settle (o);
}

static void
op_info (const Operation *o)
{
  size_t free_bytes, total;
  (void) o;
  CUresult code = cu.cuMemGetInfo_ (&free_bytes, &total);
  if (code != CUDA_SUCCESS)
    say_code (code);
  else
    printf (" free=%zu", free_bytes);
}

static void
op_limit (const Operation *o)
{
  say_code (cu.cuCtxSetLimit_ ((CUlimit) o->n[0], o->n[1]));
}

static void
op_m (const Operation *o)
{
  CUdeviceptr address = 0;
  say_block (cu.cuMemAlloc_ (&address, o->n[1]), o, &address, o->n[1]);
}

static void
op_g (const Operation *o)
{
  CUdeviceptr address = 0;
  say_block (cu.cuMemAllocManaged_ (&address, o->n[1], CU_MEM_ATTACH_GLOBAL), o, &address, o->n[1]);
}

static void
op_mf (const Operation *o)
{
  CUdeviceptr address = taken (o);
  if (address != 0)
    say_code (cu.cuMemFree_ (address));
}

static void
op_h (const Operation *o)
{
  void *host = NULL;
  CUresult code = cu.cuMemHostAlloc_ (&host, o->n[1], 0);
  CUdeviceptr address = (CUdeviceptr) (uintptr_t) host;
  say_block (code, o, &address, o->n[1]);
}

static void
op_hf (const Operation *o)
{
  CUdeviceptr address = taken (o);
  if (address != 0)
    say_code (cu.cuMemFreeHost_ ((void *) (uintptr_t) address));
}

static void
op_v (const Operation *o)
{
  CUdeviceptr address = 0;
  say_block (cu.cuMemAddressReserve_ (&address, o->n[1], o->n[2], o->n[3], 0), o, &address,
             o->n[1]);
}

static void
op_vf (const Operation *o)
{
  CUdeviceptr address = taken (o);
  if (address != 0)
    say_code (cu.cuMemAddressFree_ (address, now.sizes[o->n[0] % BLOCKS]));
}

static void
op_maps (const Operation *o)
{
  unsigned long long from, to;
  char line[512];
  FILE *maps = fopen ("/proc/self/maps", "r");
  (void) o;
  while (maps != NULL && fgets (line, sizeof line, maps) != NULL)
    if (sscanf (line, "%llx-%llx", &from, &to) == 2 && to - from >= 2 << 20)
      printf (" %llx-%llx", from, to);
  if (maps != NULL)
    fclose (maps);
}

/* ---- what calls take */

#define TIMED 512

static struct
{
  uint64_t alloc[TIMED], free[TIMED]; /* ns */
  CUdeviceptr blocks[TIMED];
} timed;

static uint64_t
clock_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void
chill (size_t bytes)
{
  static volatile char *memory;
  if (memory == NULL && bytes > 0)
    memory = malloc (bytes);
  for (size_t i = 0; memory != NULL && i < bytes; i += 64)
    memory[i]++;
}

static CUresult
timed_alloc (const Operation *o, unsigned i)
{
  chill (o->n[2]);
  const uint64_t began = clock_ns ();
  CUresult code = cu.cuMemAlloc_ (&timed.blocks[i], o->n[1]);
  timed.alloc[i] = clock_ns () - began;
  return code;
}

static void
timed_free (const Operation *o, unsigned i)
{
  chill (o->n[2]);
  const uint64_t began = clock_ns ();
  cu.cuMemFree_ (timed.blocks[i]);
  timed.free[i] = clock_ns () - began;
}

static int
compare_ns (const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
  return (x > y) - (x < y);
}

/* The first, which no later one is like; least, median, 90th percentile and most of all. */
static void
say_times (const char *what, uint64_t *ns, unsigned n)
{
  const uint64_t first = ns[0];
  qsort (ns, n, sizeof *ns, compare_ns);
  printf (" %s=%llu,%llu,%llu,%llu,%llu", what, (unsigned long long) first,
          (unsigned long long) ns[0], (unsigned long long) ns[n / 2],
          (unsigned long long) ns[n * 9 / 10], (unsigned long long) ns[n - 1]);
}

static void
measure (const Operation *o, int kept)
{
  const unsigned n = o->n[0] < TIMED ? (unsigned) o->n[0] : TIMED;
  unsigned got = 0;
  for (; got < n && timed_alloc (o, got) == CUDA_SUCCESS; got++)
    if (!kept)
      timed_free (o, got);
  for (unsigned i = 0; kept && i < got; i++)
    timed_free (o, i);
  printf (" %u", got);
  if (got == 0)
    return;
  say_times ("alloc", timed.alloc, got);
  say_times ("free", timed.free, got);
}

static void
op_held (const Operation *o)
{
  measure (o, 1);
}

static void
op_again (const Operation *o)
{
  measure (o, 0);
}

#define OPERATION(name) \
  { \
#name, op_##name \
  }
static const struct
{
  const char *name;
  void (*run) (const Operation *o);
} operations[] = { OPERATION (stream), OPERATION (sdestroy), OPERATION (pool),  OPERATION (set),
                   OPERATION (a),      OPERATION (f),        OPERATION (trim),  OPERATION (destroy),
                   OPERATION (rec),    OPERATION (wait),     OPERATION (ssync), OPERATION (dsync),
                   OPERATION (esync),  OPERATION (gate),     OPERATION (open),  OPERATION (settle),
                   OPERATION (info),   OPERATION (limit),    OPERATION (m),     OPERATION (g),
                   OPERATION (mf),     OPERATION (h),        OPERATION (hf),    OPERATION (v),
                   OPERATION (vf),     OPERATION (maps),     OPERATION (held),  OPERATION (again) };

/* ---- files, sections, lines */

static unsigned long long
number (const char *word)
{
  char *end;
  if (strcmp (word, "max") == 0)
    return UINT64_MAX;
  unsigned long long n = strtoull (word, &end, 10);
  return n << (*end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0);
}

/* The attributes of pools that have changed since they were said last. */
static void
say_changes (void)
{
  static const CUmemPool_attribute all[ATTRIBUTES] = { CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                                       CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                                                       CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                                       CU_MEMPOOL_ATTR_USED_MEM_HIGH };
  for (int p = 0; p < NAMED; p++)
    for (int i = 0; now.pools[p] != NULL && i < ATTRIBUTES; i++)
      {
        cuuint64_t value;
        if (cu.cuMemPoolGetAttribute_ (now.pools[p], all[i], &value) != 0
            || value == now.seen[p][i])
          continue;
        now.seen[p][i] = value;
        printf (" %c%d=%llu", "ruRU"[i], p, (unsigned long long) value);
      }
}

/* Runs one line.  Returns FALSE where no operation has that name. */
static int
run_line (char *line, int line_number)
{
  Operation o = { .words = { "", "", "", "", "", "" } };
  char *rest, *name = strtok_r (line, " \n", &rest);
  if (name == NULL || *name == '#')
    return 1;
  for (int i = 0; i < 6; i++)
    {
      const char *word = strtok_r (NULL, " \n", &rest);
      if (word == NULL)
        break;
      o.words[i] = word;
      o.n[i] = number (word);
    }
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (strcmp (name, operations[i].name) == 0)
      {
        printf ("%d", line_number);
        operations[i].run (&o);
        say_changes ();
        putchar ('\n');
        fflush (stdout); /* the next one may be its last */
        return 1;
      }
  fprintf (stderr, "probe: line %d: no operation is called '%s'\n", line_number, name);
  return 0;
}

static void
check (CUresult code, const char *what)
{
  if (code == CUDA_SUCCESS)
    return;
  fprintf (stderr, "probe: %s: error %d\n", what, (int) code);
  exit (code == CUDA_ERROR_NO_DEVICE ? 77 : 1);
}

static void
open_driver (int ordinal)
{
  char name[256];
  CUcontext context;
  size_t free_bytes, total;
  int version;
  void *library = dlopen ("libcuda.so.1", RTLD_NOW);
#define TEXT(name) #name
#define CALL(name) *(void **) &cu.name##_ = dlsym (library, TEXT (name));
  if (library == NULL)
    {
      fprintf (stderr, "probe: %s\n", dlerror ());
      exit (77);
    }
  DRIVER_CALLS (CALL)
#undef CALL
  check (cu.cuInit_ (0), "cuInit");
  check (cu.cuDeviceGet_ (&now.device, ordinal), "cuDeviceGet");
  check (cu.cuDevicePrimaryCtxRetain_ (&context, now.device), "cuDevicePrimaryCtxRetain");
  check (cu.cuCtxSetCurrent_ (context), "cuCtxSetCurrent");
  check (cu.cuDeviceGetName_ (name, sizeof name, now.device), "cuDeviceGetName");
  check (cu.cuDriverGetVersion_ (&version), "cuDriverGetVersion");
  check (cu.cuMemGetInfo_ (&free_bytes, &total), "cuMemGetInfo");
  printf ("# %s driver-api %d free %zu total %zu\n", name, version, free_bytes, total);
}

/* Runs the section that begins at the file's present line, in this process, and exits. */
static void
run_section (FILE *file, int line_number, int ordinal)
{
  char line[512];
  int good = 1;
  open_driver (ordinal);
  while (good && fgets (line, sizeof line, file) != NULL && *line != '@')
    good = run_line (line, ++line_number);
  fflush (stdout);
  _exit (good ? 0 : 2); /* what is held goes with the process */
}

/* Runs a section in a child that reads the file by itself.  Returns its exit status. */
static int
section (const char *path, long place, int line_number, int ordinal)
{
  int status = 0;
  fflush (stdout);
  pid_t child = fork ();
  if (child == 0)
    {
      FILE *file = fopen (path, "r");
      alarm (20);
      if (file == NULL || fseek (file, place, SEEK_SET) != 0)
        _exit (1);
      run_section (file, line_number, ordinal);
    }
  if (child < 0 || waitpid (child, &status, 0) < 0)
    return 1;
  if (!WIFSIGNALED (status))
    return WEXITSTATUS (status);
  printf ("# died of signal %d\n", WTERMSIG (status));
  return 0; /* an answer, too */
}

int
main (int argc, char **argv)
{
  char line[512];
  int worst = 0;
  FILE *file = argc > 1 ? fopen (argv[1], "r") : NULL;
  if (file == NULL)
    {
      fprintf (stderr, "probe: name a file of operations; see probe.txt\n");
      return 2;
    }
  for (int n = 1; worst != 77 && fgets (line, sizeof line, file) != NULL; n++)
    if (*line == '@')
      {
        printf ("%d %s", n, line);
        int status = section (argv[1], ftell (file), n, argc > 2 ? atoi (argv[2]) : 0);
        worst = status > worst ? status : worst;
      }
  fclose (file);
  return worst;
}
