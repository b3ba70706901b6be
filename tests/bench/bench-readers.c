/* bench-readers.c - the speed of the readers of foreign formats, in MB/s of the (uncompressed)
 * file, one core, best of five.
 *
 *   bench-readers [MB [NAME]]   (default 256, all)
 *   bench-readers list          arguments whose instructions can be counted (in counted(), see
 *                               run-bench.sh), one set per line
 *
 * The files are synthesised: a PyTorch snapshot as Python pickles it (memoised keys, shared call
 * stacks, lists in batches of 1000; about 58 bytes an event), the log of RMM, a profiler trace with
 * one [memory] event in four, the logs of GE's pools and of Paddle's auto growth. "pickle" is the
 * pickle machine alone, one pass; "pytorch-snapshot" is opening and reading to the end, which takes
 * two passes. Prints one JSON line per measurement.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/input.h"
#include "tests/bench/bench.h"
#include "tests/util/testutil.h"
#include "traces/pytorch/pickle.h"
#include "traces/trace.h"

#define LIVE 4096
#define STACKS 500
#define FRAMES 40

static FILE *file;
static guint32 memo;

static void
put (const char *bytes, gsize size)
{
  if (fwrite (bytes, 1, size, file) != size)
    {
      fprintf (stderr, "bench-readers: the temporary folder is full\n");
      exit (1);
    }
}

#define PUT(literal) put (literal, sizeof (literal) - 1)

static void
put_number (guint64 number, guint size)
{
  char bytes[8];
  for (guint i = 0; i < size; i++)
    bytes[i] = (char) (number >> (8 * i) & 0xff);
  put (bytes, size);
}

/* Writes a string for the first time; returns its memo entry. */
static guint32
put_string (const char *string)
{
  gsize length = strlen (string);
  PUT ("\x8c");
  put_number (length, 1);
  put (string, length);
  PUT ("\x94");
  return memo++;
}

static void
get (guint32 entry)
{
  if (entry < 256)
    PUT ("h"), put_number (entry, 1);
  else
    PUT ("j"), put_number (entry, 4);
}

static void
open_container (const char *opcode)
{
  put (opcode, 1);
  PUT ("\x94(");
  memo++;
}

/* Writes one call stack as a list of frames, which stays in the memo. */
static guint32
put_stack (guint number, const guint32 *keys)
{
  guint32 entry = memo;
  open_container ("]");
  for (guint i = 0; i < FRAMES; i++)
    {
      char name[64];
      open_container ("}");
      get (keys[0]);
      g_snprintf (name, sizeof name, "/usr/lib/python3/site-packages/torch/module%u.py",
                  (number * 7 + i) % 300);
      put_string (name);
      get (keys[1]);
      PUT ("M");
      put_number (number + i + 300, 2);
      get (keys[2]);
      g_snprintf (name, sizeof name, "forward_%u", (number * 3 + i) % 700);
      put_string (name);
      PUT ("u");
    }
  PUT ("e");
  return entry;
}

static void
write_snapshot (const char *path, guint64 size)
{
  static const char *const words[] = { "action", "addr",           "size",
                                       "stream", "time_us",        "frames",
                                       "alloc",  "free_requested", "free_completed" };
  guint32 keys[G_N_ELEMENTS (words)] = { 0 }, frame_keys[3], stacks[STACKS];
  guint64 events = 0;

  file = fopen (path, "wb");
  memo = 0;
  PUT ("\x80\x04");
  open_container ("}");
  put_string ("segments");
  PUT ("]\x94");
  memo++;
  put_string ("device_traces");
  open_container ("]");
  open_container ("]");
  for (; (guint64) ftell (file) < size; events++)
    {
      guint phase = events % 3;
      guint64 block = events / 3 - (phase > 0 && events / 3 >= LIVE / 2 ? LIVE / 2 : 0);
      if (phase > 0 && events / 3 < LIVE / 2)
        continue;
      open_container ("}");
      for (guint i = 0; i < 6; i++)
        {
          if (keys[i] == 0)
            keys[i] = put_string (words[i]);
          else
            get (keys[i]);
          if (i == 0 && keys[6 + phase] == 0)
            keys[6 + phase] = put_string (words[6 + phase]);
          else if (i == 0)
            get (keys[6 + phase]);
          else if (i == 1)
            PUT ("\x8a\x06"),
                put_number (G_GUINT64_CONSTANT (0x7f0000000000) + block % LIVE * 2097152, 6);
          else if (i == 2)
            PUT ("J"), put_number (512 + block % 4000 * 256, 4);
          else if (i == 3)
            PUT ("K"), put_number (0, 1);
          else if (i == 4)
            PUT ("\x8a\x07"), put_number (G_GUINT64_CONSTANT (1762906604191587) + events * 3, 7);
          else if (events < STACKS * 3 && phase == 0)
            {
              if (events == 0)
                for (guint k = 0; k < 3; k++)
                  {
                    static const char *const names[] = { "filename", "line", "name" };
                    frame_keys[k] = put_string (names[k]);
                    PUT ("0");
                  }
              stacks[events / 3] = put_stack ((guint) (events / 3), frame_keys);
            }
          else
            get (stacks[block * 7 % STACKS]);
        }
      PUT ("u");
      if (events % 1000 == 999)
        PUT ("e(");
    }
  PUT ("eeu.");
  fclose (file);
}

static void
write_rmm (const char *path, guint64 size)
{
  file = fopen (path, "wb");
  fprintf (file, "Thread,Time,Action,Pointer,Size,Stream\n");
  for (guint64 i = 0; (guint64) ftell (file) < size; i++)
    {
      guint64 ms = i / 100, block = i / 2 % LIVE;
      fprintf (file, "2342727,%02u:%02u:%02u.%06u,%s,0x7f%010x,%u,0x%x\n",
               (guint) (ms / 3600000 % 24), (guint) (ms / 60000 % 60), (guint) (ms / 1000 % 60),
               (guint) (ms % 1000 * 1000 + i % 100 * 10), i % 2 == 0 ? "allocate" : "free",
               (guint) block * 65536, (guint) (block * 77 + 1), (guint) block % 3);
    }
  fclose (file);
}

/* Lines of a pool as slog writes them, and as many lines of other modules. */
static void
write_ge (const char *path, guint64 size)
{
  file = fopen (path, "wb");
  for (guint64 i = 0; (guint64) ftell (file) < size; i++)
    {
      const guint block = (guint) (i / 4 % LIVE), bytes = (block * 77 + 65536) / 65536 * 65536;
      fprintf (file,
               "[INFO] GE(2342727,python3):2026-08-21-10:%02u:%02u.%03u.%03u "
               "[scalable_allocator.cc:%u]2342790 ",
               (guint) (i / 60000000 % 60), (guint) (i / 1000000 % 60), (guint) (i / 1000 % 1000),
               (guint) (i % 1000), (guint) (i % 900 + 100));
      if (i % 2 == 1)
        fprintf (
            file,
            "LaunchKernel: Launch of MatMul_%u with 24 blocks, args at 0x%x, returned success.\n",
            (guint) i % 1000, (guint) i);
      else if (i % 4 == 0)
        fprintf (file,
                 "[allocator_7] Alloc: Malloc block device_id:0 size:%u allocate_size:%u "
                 "mem_addr:0x12%010x. span addr 0x55d0%x\n",
                 block * 77 + 1, bytes, block * 65536, block * 64);
      else
        fprintf (file,
                 "[allocator_7] Free: Free block device_id:0 theory_size_:%u theory_min_size_:%u "
                 "allock_size:%u mem_addr:0x12%010x."
                 "\n",
                 block, block, bytes, block * 65536);
    }
  fclose (file);
}

static void
write_paddle (const char *path, guint64 size)
{
  file = fopen (path, "wb");
  for (guint64 i = 0; (guint64) ftell (file) < size; i++)
    {
      const guint block = (guint) (i / 3 % LIVE), bytes = (block * 77 + 256) / 256 * 256;
      fprintf (file, "I1121 10:%02u:%02u.%06u 2342790 auto_growth_best_fit_allocator.cc:%u] ",
               (guint) (i / 60000000 % 60), (guint) (i / 1000000 % 60), (guint) (i % 1000000),
               (guint) (i % 90 + 10));
      if (i % 3 == 0)
        fprintf (file, "Allocate %u bytes, aligned to %u\n", block * 77 + 1, bytes);
      else
        fprintf (file, "%s %u bytes, ptr = 0x7f%010x\n", i % 3 == 1 ? "Alloc" : "Free", bytes,
                 block * 65536);
    }
  fclose (file);
}

static void
write_kineto (const char *path, guint64 size)
{
  file = fopen (path, "wb");
  fprintf (file, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
  for (guint64 i = 0; (guint64) ftell (file) < size; i++)
    if (i % 4 != 0)
      fprintf (file,
               "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mul\", \"pid\": "
               "783658, \"tid\": 785244,\n    \"ts\": %u, "
               "\"dur\": 28,\n"
               "    \"args\": {\n      \"External id\": 3427,\"Ev Idx\": %u\n    }\n  },\n",
               (guint) i, (guint) i);
    else
      fprintf (file,
               "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
               "\"[memory]\",\n    \"pid\": 783658, "
               "\"tid\": 785244,\n"
               "    \"ts\": %u,\n    \"args\": {\n      \"Ev Idx\": %u, \"Device Type\": 1, "
               "\"Device Id\": 1, \"Addr\": %u, \"Bytes\": "
               "%s5242880, "
               "\"Total Allocated\": 5435638784, \"Total Reserved\": 12782141440\n    }\n  },\n",
               (guint) i, (guint) i, (guint) (i / 8 % LIVE + 1) * 512, i % 8 == 0 ? "" : "-");
  fprintf (file, "  {\"ph\": \"i\"}\n  ]\n}\n");
  fclose (file);
}

/* ---- measuring */

static void
check (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-readers: %s\n", error->message);
  exit (1);
}

static gssize
fill (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error)
{
  gemem_input_consume (data, used);
  return gemem_input_fill (data, want, bytes, error);
}

/* Runs the pickle machine alone; returns the number of records. */
static guint64
run_pickle (const char *path)
{
  static const char *const keys[] = { "action",         "addr",           "size",
                                      "stream",         "time_us",        "alloc",
                                      "free_requested", "free_completed", NULL };
  GError *error = NULL;
  GememInput *input = gemem_input_open (path, &error);
  guint64 count = 0;

  check (error);
  GememPickleSource source = { fill, input, path };
  GememPickle *pickle = gemem_pickle_new (&source, keys);
  while (gemem_pickle_next (pickle, &error) > 0)
    count++;
  check (error);
  gemem_pickle_free (pickle);
  gemem_input_close (input);
  return count;
}

static guint64
run_reader (const char *path)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  const GememTraceEvent *events;
  guint64 count = 0;
  gssize n;

  check (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    count += (guint64) n;
  check (error);
  gemem_trace_close (reader);
  return count;
}

static G_GNUC_NO_INLINE guint64
counted (guint64 (*run) (const char *path), const char *path)
{
  return run (path);
}

static void
measure (const char *name, const char *path, guint64 (*run) (const char *path), guint64 runs)
{
  double best = G_MAXDOUBLE;
  guint64 events = 0;
  GStatBuf status;

  g_stat (path, &status);
  for (guint64 i = 0; i < runs; i++)
    {
      gint64 start = bench_clock ();
      events = counted (run, path);
      best = MIN (best, (double) (bench_clock () - start) / 1e6);
    }
  printf ("{\"bench\":\"%s-read\",\"bytes\":%" G_GINT64_FORMAT ",\"events\":%" G_GUINT64_FORMAT
          ",\"mb_per_s\":%.0f,\"events_per_s\":%.0f}\n",
          name, (gint64) status.st_size, events, (double) status.st_size / best / 1e6,
          (double) events / best);
  fflush (stdout);
}

static const struct
{
  const char *name;
  void (*write) (const char *path, guint64 size);
  guint64 (*run) (const char *path);
} readers[] = {
  { "pickle", write_snapshot, run_pickle },   { "pytorch-snapshot", write_snapshot, run_reader },
  { "rmm-csv", write_rmm, run_reader },       { "kineto", write_kineto, run_reader },
  { "ge-runtime-log", write_ge, run_reader }, { "paddle-log", write_paddle, run_reader },
};

int
main (int argc, char **argv)
{
  const char *wanted = argc > 2 ? argv[2] : NULL;
  const gboolean listing = argc == 2 && g_str_equal (argv[1], "list");
  guint64 size = 1000000 * (argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : bench_size (256, 2));
  g_autofree char *path = g_build_filename (test_tmpdir (), "trace", NULL);
  guint done = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (readers); i++)
    if (listing)
      done += printf ("8 %s\n", readers[i].name) > 0;
    else if (size > 0 && (wanted == NULL || g_str_equal (wanted, readers[i].name)))
      {
        readers[i].write (path, size);
        measure (readers[i].name, path, readers[i].run, wanted != NULL ? 1 : bench_size (5, 1));
        done++;
      }
  if (done == 0)
    fprintf (stderr, "usage: bench-readers list | [MB [NAME]]\n");
  return done > 0 ? 0 : 2;
}
