/* runtime-line.h - parses one line of the log of GE's run time: its content, and the level in
 * the stack of pools that it comes from (ge-runtime.md 10).
 *
 * A line is recognised by its first mark, at any position, because the prefix of slog may have any
 * form.  Two optional fields of the prefix are read: the process, which is the digits of the first
 * "(DIGITS," or "(DIGITS)", and the time, YYYY-MM-DD-HH:MM:SS with fractions.  Nothing is copied:
 * pieces point into the line.  O(line).
 */
#pragma once

#include <glib.h>

/* The kinds of lines that tell requests, the most informative first. */
typedef enum
{
  GE_SOURCE_POOL,     /* Malloc block, Free block */
  GE_SOURCE_KERNEL,   /* [KernelTrace]...[MEM] */
  GE_SOURCE_PROFILER, /* [CannMemoryProfiler] */
  GE_SOURCE_CALLER,   /* DeviceAllocator::Alloc: requests of upper pools to the bottom pool */
  GE_SOURCE_DRIVER,   /* MallocMemory, RtMemAllocator::free: the bottom pool's own calls */
  GE_SOURCE_COUNT
} GeSource;

typedef enum
{
  GE_LINE_OTHER,          /* not a line of GE's memory */
  GE_LINE_UNUSED,         /* such a line, but without a use here */
  GE_LINE_DAMAGED,        /* `text` is the field that is missing or not a number */
  GE_LINE_ALLOC,          /* source; pool or stream; size, block size, address */
  GE_LINE_FREE,           /* source; pool or stream (kernel: the block lives on); address */
  GE_LINE_REQUEST,        /* pool, size: a request to an L1 or bottom pool */
  GE_LINE_REFUSED,        /* pool, if named: the retry ladder begins */
  GE_LINE_RECYCLE,        /* stream, address: the block is back at its own stream */
  GE_LINE_BORROW_RECYCLE, /* stream, address: unused, kept by the borrowing stream */
  GE_LINE_WANDER,         /* stream (to), address */
  GE_LINE_EVENT_SENT,     /* event, stream */
  GE_LINE_EVENT_WAITED,   /* event, stream */
  GE_LINE_PHYSICAL,       /* size: bytes of pages in a range */
  GE_LINE_MAP,            /* address */
  GE_LINE_LOGICAL,        /* logical (offset), size, address; alloc */
  GE_LINE_GRAPH,          /* number, size */
  GE_LINE_TOTAL,          /* size: memory of the device */
  GE_LINE_POLICY,         /* `text`: the static memory policy */
} GeLineKind;

typedef enum
{
  GE_POOL_NONE,   /* the line names no pool */
  GE_POOL_UPPER,  /* [allocator_N] */
  GE_POOL_BOTTOM, /* [rts_allocator_N] */
  GE_POOL_FFTS,   /* [ffts_allocator_N] */
} GePoolKind;

#define GE_DEVICE_UNKNOWN G_MAXUINT32 /* no device named, or -1 (pools of streams) */
#define GE_NO_STREAM (-1)

typedef struct
{
  GeLineKind kind;
  GeSource source;
  GePoolKind pool;
  guint32 pool_number;
  guint32 device;
  guint64 process;     /* 0: unknown */
  guint64 size, block; /* requested; of the block (0: unknown) */
  guint64 address, logical, event, number;
  gint64 stream;
  gboolean alloc;
  gboolean has_time;
  guint64 time;     /* ns */
  const char *text; /* kernel, policy, or the field of a damaged line */
  gsize length;
} GeLine;

/* The line [p, end). */
void gemem_ge_runtime_line (const char *p, const char *end, GeLine *line);

/* TRUE if @head, the start of a file, has such a line. */
gboolean gemem_ge_runtime_probe (const guint8 *head, gsize size);
