/* runtime-line.c - see runtime-line.h. */
#include "config.h"

#include "traces/ge/runtime-fields.h"

/* ---- pools */

/* Reads "[allocator_N]" before the mark. */
static void
take_pool (Scan *scan, const char *mark)
{
  static const struct
  {
    const char *name;
    GePoolKind kind;
  } pools[] = {
    { "[allocator_", GE_POOL_UPPER },
    { "[rts_allocator_", GE_POOL_BOTTOM },
    { "[ffts_allocator_", GE_POOL_FFTS },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pools); i++)
    {
      const char *p = scan_find (scan->start, mark, pools[i].name);
      guint64 number;
      if (p == NULL)
        continue;
      p += strlen (pools[i].name);
      if (!scan_uint (&p, mark, &number) || number > G_MAXUINT32 || p == mark || *p != ']')
        continue;
      scan->line->pool = pools[i].kind;
      scan->line->pool_number = (guint32) number;
      return;
    }
}

static void
pool_malloc (Scan *scan)
{
  take_pool (scan, scan->p);
  scan->line->kind = GE_LINE_ALLOC;
  if (take_device (scan, "device_id:") && take_size (scan, " size:", &scan->line->size)
      && take_size (scan, "allocate_size:", &scan->line->block)
      && take_pointer (scan, "mem_addr:", &scan->line->address))
    seek (scan, ".");
}

static void
pool_free (Scan *scan)
{
  take_pool (scan, scan->p);
  scan->line->kind = GE_LINE_FREE;
  if (take_device (scan, "device_id:") && take_size (scan, "allock_size:", &scan->line->block)
      && take_pointer (scan, "mem_addr:", &scan->line->address))
    seek (scan, ".");
}

/* "Malloc size:" may come from other modules; a line without a pool and an integer is ignored. */
static void
pool_request (Scan *scan)
{
  take_pool (scan, scan->p);
  scan->line->kind = GE_LINE_REQUEST;
  if (scan->line->pool == GE_POOL_NONE || !take_size (scan, "size:", &scan->line->size))
    scan->line->kind = GE_LINE_OTHER;
}

static void
pool_refused (Scan *scan)
{
  take_pool (scan, scan->p);
  scan->line->kind = scan_find (scan->p, scan->end, "free memory from memory pool") != NULL
                         ? GE_LINE_REFUSED
                         : GE_LINE_OTHER;
}

/* ---- kernel trace */

static void
memory_alloc (Scan *scan)
{
  GeLine *line = scan->line;

  if (!take_stream (scan, "stream") || !take_pointer (scan, "address ", &line->address)
      || !take_size (scan, "size ", &line->block))
    return;
  line->size = line->block;
  line->kind = GE_LINE_ALLOC;
  if (scan_find (scan->p, scan->end, "tensor size ") != NULL)
    take_size (scan, "tensor size ", &line->size);
}

static void
memory_at (Scan *scan, GeLineKind kind, const char *stream)
{
  if (take_stream (scan, stream) && take_pointer (scan, "address ", &scan->line->address))
    scan->line->kind = kind;
}

static void
kernel_memory (Scan *scan)
{
  static const struct
  {
    const char *text;
    GeLineKind kind;
    const char *stream;
  } messages[] = {
    { "Free memory at", GE_LINE_FREE, "stream " },
    { "Recycle memory at", GE_LINE_RECYCLE, "stream " },
    { "Borrow-recycle memory at", GE_LINE_BORROW_RECYCLE, "stream " },
    { "Memory wandering from", GE_LINE_WANDER, " to " },
  };

  scan->line->kind = GE_LINE_UNUSED;
  if (begins (scan, "Alloc memory at"))
    {
      memory_alloc (scan);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (messages); i++)
    if (begins (scan, messages[i].text))
      memory_at (scan, messages[i].kind, messages[i].stream);
}

/* "[KernelTrace][NAME]..."; the name may hold brackets. */
static void
kernel_trace (Scan *scan)
{
  const char *name = scan_find (scan->p, scan->end, "["),
             *memory = scan_find (scan->p, scan->end, "][MEM]"), *sent, *waited;

  if (name == NULL)
    return;
  scan->line->source = GE_SOURCE_KERNEL;
  if (memory != NULL)
    {
      scan->line->text = name + 1;
      scan->line->length = memory > name ? (gsize) (memory - name - 1) : 0;
      scan->p = memory + strlen ("][MEM]");
      kernel_memory (scan);
      return;
    }
  sent = scan_find (name, scan->end, "]Sent event ");
  waited = sent == NULL ? scan_find (name, scan->end, "]Waited event ") : NULL;
  if (sent == NULL && waited == NULL)
    return;
  scan->p = sent != NULL ? sent : waited;
  if (take_small (scan, "event ", &scan->line->event) && take_stream (scan, " stream "))
    scan->line->kind = sent != NULL ? GE_LINE_EVENT_SENT : GE_LINE_EVENT_WAITED;
}

/* ---- driver, profiler */

static void
driver_malloc (Scan *scan)
{
  static const char paging[] = "purpose=page caching";
  const gboolean own = begins (scan, "aclrtMalloc")
                       && scan_find (scan->p, scan->end, paging) != NULL;

  scan->line->source = GE_SOURCE_DRIVER;
  /* static memory, or memory that an L1 pool obtains from the bottom pool */
  scan->line->kind = GE_LINE_UNUSED;
  if (own && take_size (scan, " size=", &scan->line->size) && seek (scan, paging)
      && take_pointer (scan, "ptr=", &scan->line->address) && take_device (scan, "device_id="))
    scan->line->kind = GE_LINE_ALLOC;
}

static void
driver_free (Scan *scan)
{
  scan->line->source = GE_SOURCE_DRIVER;
  if (take_device (scan, "device_id:") && take_size (scan, "size:", &scan->line->size)
      && take_pointer (scan, "mem_addr:", &scan->line->address))
    scan->line->kind = GE_LINE_FREE;
}

static void
caller (Scan *scan)
{
  const gboolean alloc = begins (scan, "Alloc ");

  scan->line->source = GE_SOURCE_CALLER;
  if (!alloc && !begins (scan, "free "))
    return;
  if (take_device (scan, "device_id:") && take_size (scan, "size:", &scan->line->size)
      && take_pointer (scan, "block_addr:", &scan->line->address))
    scan->line->kind = alloc ? GE_LINE_ALLOC : GE_LINE_FREE;
}

static void
profiler (Scan *scan)
{
  gint64 size;

  scan->line->source = GE_SOURCE_PROFILER;
  if (scan_find (scan->p, scan->end, "addr: ") == NULL)
    return;
  if (!take_number (scan, "addr: ", &scan->line->address) || !take_signed (scan, "size: ", &size))
    return;
  scan->line->kind = size < 0 ? GE_LINE_FREE : GE_LINE_ALLOC;
  scan->line->size = (guint64) ABS (size);
}

/* ---- pages, static memory */

static void
physical (Scan *scan)
{
  if (take_size (scan, "current physical memory size:", &scan->line->size))
    scan->line->kind = GE_LINE_PHYSICAL;
}

static void
map (Scan *scan)
{
  if (take_pointer (scan, "addr:", &scan->line->address))
    scan->line->kind = GE_LINE_MAP;
}

static void
logical (Scan *scan)
{
  guint64 alloc;

  if (!take_size (scan, "logical_addr:", &scan->line->logical)
      || !take_size (scan, "memory_size:", &scan->line->size)
      || !take_pointer (scan, "active_addr:", &scan->line->address)
      || !take_number (scan, "alloc:", &alloc))
    return;
  scan->line->alloc = alloc != 0;
  scan->line->kind = GE_LINE_LOGICAL;
}

static void
graph (Scan *scan)
{
  if (take_small (scan, "graph_", &scan->line->number)
      && take_size (scan, "mem_size[", &scan->line->size))
    scan->line->kind = GE_LINE_GRAPH;
}

static void
total (Scan *scan)
{
  if (take_size (scan, "size: ", &scan->line->size))
    scan->line->kind = GE_LINE_TOTAL;
}

static void
policy (Scan *scan)
{
  const char *stop = scan->p;

  while (stop < scan->end && g_ascii_isalnum (*stop))
    stop++;
  scan->line->text = scan->p;
  scan->line->length = (gsize) (stop - scan->p);
  scan->line->kind = GE_LINE_POLICY;
}

static void
unused (Scan *scan)
{
  scan->line->kind = GE_LINE_UNUSED;
}

/* ---- the line */

static const struct
{
  const char *text;
  gsize skip;
  void (*read) (Scan *scan);
} marks[] = {
  { NULL, 0, NULL },
  /* The last `skip` bytes of a mark are read again, as part of a field. */
  { "Malloc block device_id:", 10, pool_malloc },
  { "Malloc size:", 5, pool_request },
  { "MallocMemory, func=", 0, driver_malloc },
  { "Free block device_id:", 10, pool_free },
  { "Failed to apply for memory", 0, pool_refused },
  { "Final StaticMemoryPolicy is set to ", 0, policy },
  { "[KernelTrace]", 0, kernel_trace },
  { "[MEM]", 0, unused }, /* Expand and Shrink: transfers between pools */
  { "[CannMemoryProfiler][RecordMemory]", 0, profiler },
  { "[IMAS]InitFeatureMapAndP2PMem ", 0, graph },
  { "RtMemAllocator::free ", 0, driver_free },
  { "DeviceAllocator::", 0, caller },
  { "rtMallocPhysical success ", 0, physical },
  { "aclrtMapMem success ", 0, map },
  { "LogicalMemoryBlock logical_addr:", 13, logical },
  { "ActiveMemoryBlock active_addr_begin:", 0, unused },
  { "device total max size: ", 6, total },
};

/* Index of the first mark for each initial letter; marks with one initial are adjacent. */
static const guint8 first[256] = { ['M'] = 1,  ['F'] = 4,  ['['] = 7,  ['R'] = 11, ['D'] = 12,
                                   ['r'] = 13, ['a'] = 14, ['L'] = 15, ['A'] = 16, ['d'] = 17 };

static const char *
find_mark (const char *p, const char *end, guint *found)
{
  for (; p < end; p++)
    for (guint i = first[(guchar) *p]; i != 0 && i < G_N_ELEMENTS (marks) && marks[i].text[0] == *p;
         i++)
      {
        const gsize length = strlen (marks[i].text);
        if (p[1 < end - p] == marks[i].text[1] && (gsize) (end - p) >= length
            && memcmp (p, marks[i].text, length) == 0)
          {
            *found = i;
            return p;
          }
      }
  return NULL;
}

void
gemem_ge_runtime_line (const char *p, const char *end, GeLine *line)
{
  guint found = 0;
  const char *mark = find_mark (p, end, &found);
  Scan scan = { p, mark, end, line };

  memset (line, 0, sizeof *line);
  line->device = GE_DEVICE_UNKNOWN;
  if (mark == NULL)
    return;
  scan.p += strlen (marks[found].text) - marks[found].skip;
  marks[found].read (&scan);
  if (line->kind == GE_LINE_OTHER)
    return;
  gemem_ge_runtime_prefix (&scan, mark);
  if ((line->kind == GE_LINE_ALLOC || line->kind == GE_LINE_FREE || line->kind == GE_LINE_MAP)
      && line->address >= G_MAXUINT64 - GE_MAX_SIZE)
    damaged (&scan, "address");
}

gboolean
gemem_ge_runtime_probe (const guint8 *head, gsize size)
{
  const char *p = (const char *) head, *end = p + size;
  guint found;

  while ((p = find_mark (p, end, &found)) != NULL)
    {
      const char *stop = memchr (p, '\n', (gsize) (end - p));
      GeLine line;
      gemem_ge_runtime_line (p, stop != NULL ? stop : end, &line);
      if (line.kind != GE_LINE_OTHER && line.kind != GE_LINE_DAMAGED)
        return TRUE;
      p = stop != NULL ? stop : end;
    }
  return FALSE;
}
