/* naive-ge-active.c - static graphs beside the dynamic pools: ActiveMemoryAllocator, the session's ranges, and policy 2 as documented.
 *
 * From ge-runtime.md 3.3, 5.9, 5.10 and 7.2, and for the documented policy 2 from what the user documentation says (3.4): see naive-ge.h.
 */
#include "config.h"

#include "tests/util/naive-ge.h"
#include "traces/trace.h"

#define MIB (G_GUINT64_CONSTANT (1) << 20)
#define NO_ALLOC GEMEM_GRAPH_SEGMENT_NO_ALLOC
#define ZERO_COPY GEMEM_GRAPH_SEGMENT_ZERO_COPY
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

/* 5.9: a growing range of a session. */
typedef struct
{
  NaivePages *pages;
  guint64     base, size, used, users;
  gboolean    unsupported;
  GArray     *physical; /* int per page of the range, -1: none; its `last` and `ref` beside it */
  GArray     *last, *refs;
} Session;

typedef struct
{
  guint64  address, total, used, age;
  gboolean fresh, plain;
} Block;

typedef struct
{
  guint64 offset, size, address;
  guint32 flags;
} Segment;

typedef struct
{
  guint32  id;
  gboolean shares, fixed, bound;
  guint64  apart; /* its fixed segments in a block of the device; 0: none */
  GArray  *active; /* Block: those that it uses, with `used` as it is for it */
} Graph;

typedef struct
{
  NaiveGe  ge;
  gboolean paged, documented;
  NaivePages *small; /* 2 MiB pages of the fixed range, unless paged */
  Session  range, fixed;
  GArray  *blocks; /* Block */
  GArray  *graphs; /* Graph */
  guint64  load_count, peak, max_address, age;
  guint64  address, size; /* documented */
} Active;

#define AT(array, type, i) (&g_array_index ((array), type, i))

/* ---- 5.9 */

static void
session_reset (Session *s)
{
  for (guint i = 0; i < s->physical->len; i++)
    if (*AT (s->physical, int, i) >= 0)
      naive_pages_give (s->pages, *AT (s->physical, int, i));
  if (s->base != 0)
    naive_pages_close (s->pages, s->base, s->size);
  g_array_set_size (s->physical, 0);
  g_array_set_size (s->last, 0);
  g_array_set_size (s->refs, 0);
  s->base = s->size = s->used = s->users = 0;
}

static void
session_drop (Session *s, guint64 i)
{
  if (--*AT (s->refs, guint, i) > 0)
    return;
  naive_pages_give (s->pages, *AT (s->physical, int, i));
  *AT (s->physical, int, i) = -1;
}

/* Pages under [@address, @address + @bytes), from the top down. */
static gboolean
session_bind (Session *s, guint64 address, guint64 bytes)
{
  const guint64 page = s->pages->size, first = (address - s->base) / page, last = (address - s->base + bytes - 1) / page;

  while (s->physical->len <= last)
    {
      const int none = -1;
      const guint zero = 0;

      g_array_append_val (s->physical, none);
      g_array_append_val (s->last, none);
      g_array_append_val (s->refs, zero);
    }
  for (guint64 i = last + 1; i-- > first;)
    {
      if (*AT (s->refs, guint, i) == 0)
        {
          const int got = naive_pages_take (s->pages, *AT (s->last, int, i), s->base + i * page);

          if (got < 0)
            {
              for (guint64 j = last; j > i; j--)
                session_drop (s, j);
              return FALSE;
            }
          *AT (s->physical, int, i) = *AT (s->last, int, i) = got;
        }
      ++*AT (s->refs, guint, i);
    }
  return TRUE;
}

static void
session_unbind (Session *s, guint64 address, guint64 bytes)
{
  for (guint64 i = (address - s->base) / s->pages->size; i <= (address - s->base + bytes - 1) / s->pages->size; i++)
    session_drop (s, i);
}

static gboolean
session_reserve (Session *s)
{
  const guint64 page = s->pages->size;

  if (s->base != 0 || s->unsupported)
    return !s->unsupported;
  s->size = (s->pages->device->capacity + page - 1) / page * page;
  s->base = naive_pages_open (s->pages, s->size);
  s->unsupported = s->base == 0;
  if (s->unsupported)
    s->size = 0;
  return !s->unsupported;
}

static guint64
session_append (Session *s, guint64 bytes)
{
  if (!session_reserve (s) || bytes > s->size - s->used || !session_bind (s, s->base + s->used, bytes))
    return 0;
  s->used += bytes;
  return s->base + s->used - bytes;
}

/* incremental=false: everybody gets the base. */
static guint64
session_share (Session *s, guint64 bytes)
{
  if (!session_reserve (s) || bytes > s->size || (bytes > s->used && session_append (s, bytes - s->used) == 0))
    return 0;
  s->users++;
  return s->base;
}

static void
session_unshare (Session *s)
{
  if (--s->users == 0)
    session_reset (s);
}

/* ---- 3.3 */

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  const Block *x = a, *y = b;

  if (x->total != y->total)
    return x->total > y->total ? -1 : 1;
  return (x->age > y->age) - (x->age < y->age);
}

/* A: the largest segment that has no address yet and fits goes into the largest block that has room. */
static void
place (Active *a, GArray *segments)
{
  for (guint b = 0; b < a->blocks->len; b++)
    {
      g_autofree gboolean *seen = g_new0 (gboolean, segments->len);

      for (guint round = 0; round < segments->len; round++)
        {
          int best = -1;

          for (guint s = 0; s < segments->len; s++)
            if (!seen[s] && (best < 0 || AT (segments, Segment, s)->size > AT (segments, Segment, best)->size))
              best = (int) s;
          seen[best] = TRUE;
          Segment *segment = AT (segments, Segment, best);
          Block *block = AT (a->blocks, Block, b);
          if (segment->address == 0 && segment->size <= block->total - block->used)
            {
              segment->address = block->address + block->used;
              block->used += segment->size;
            }
        }
    }
}

/* B */
static void
join (GArray *segments)
{
  for (guint i = 1; i < segments->len;)
    {
      Segment *before = AT (segments, Segment, i - 1);
      const Segment *s = AT (segments, Segment, i);
      const gboolean neighbours = before->offset + before->size == s->offset && (s->flags & (NO_ALLOC | ZERO_COPY)) == 0;
      const gboolean both_without = before->address == 0 && s->address == 0;
      const gboolean in_order = before->address != 0 && s->address == before->address + before->size;

      if (neighbours && (both_without || in_order))
        {
          before->size += s->size;
          g_array_remove_index (segments, i);
        }
      else
        i++;
    }
}

/* C */
static gboolean
make_block (Active *a, Segment *segment)
{
  Block block = { .total = segment->size, .used = segment->size, .age = ++a->age, .fresh = TRUE };

  if (a->paged)
    block.address = session_append (&a->range, segment->size);
  if (block.address == 0)
    {
      if (segment->size > 2 * MIB)
        block.total = (segment->size + 2 * MIB - 1) / (2 * MIB) * 2 * MIB;
      block.plain = TRUE;
      block.address = naive_device_malloc (&a->ge.base.device, block.total);
    }
  if (block.address == 0)
    return FALSE;
  segment->address = block.address;
  g_array_append_val (a->blocks, block);
  g_array_sort (a->blocks, compare_blocks);
  a->max_address = MAX (a->max_address, block.address + block.total);
  return TRUE;
}

static gboolean
allocate_rest (Active *a, GArray *segments)
{
  for (guint s = 0; s < segments->len; s++)
    {
      Segment *segment = AT (segments, Segment, s);

      if (segment->address == 0 && (segment->flags & NO_ALLOC) != 0)
        segment->address = a->max_address;
      else if (segment->address == 0 && !make_block (a, segment))
        return FALSE;
    }
  return TRUE;
}

/* The pages of the parts of @active that have some (@old: and are not new); FALSE, and nothing bound, when the device refuses. */
static gboolean
bind_all (Active *a, const GArray *active, gboolean old)
{
  for (guint i = 0; a->paged && i < active->len; i++)
    {
      const Block *b = AT (active, Block, i);

      if (b->plain || (old && b->fresh) || session_bind (&a->range, b->address, b->used))
        continue;
      for (guint j = i; j-- > 0;)
        {
          b = AT (active, Block, j);
          if (!b->plain && !(old && b->fresh))
            session_unbind (&a->range, b->address, b->used);
        }
      return FALSE;
    }
  return TRUE;
}

/* D */
static gboolean
activate (Active *a, GArray *active)
{
  guint64 total = 0;

  for (guint b = 0; b < a->blocks->len; b++)
    {
      total += AT (a->blocks, Block, b)->used;
      if (AT (a->blocks, Block, b)->used > 0)
        g_array_append_vals (active, AT (a->blocks, Block, b), 1);
    }
  a->peak = MAX (a->peak, total);
  return bind_all (a, active, TRUE);
}

static void
free_memory (Active *a)
{
  if (--a->load_count > 0)
    return;
  for (guint b = 0; b < a->blocks->len; b++)
    if (AT (a->blocks, Block, b)->plain)
      naive_device_free (&a->ge.base.device, AT (a->blocks, Block, b)->address);
  g_array_set_size (a->blocks, 0);
  if (a->paged)
    session_reset (&a->range);
  a->peak = a->max_address = 0;
}

static guint64
malloc_memory (Active *a, GArray *segments, GArray *active)
{
  a->load_count++;
  for (guint b = 0; b < a->blocks->len; b++)
    {
      AT (a->blocks, Block, b)->used = 0;
      AT (a->blocks, Block, b)->fresh = FALSE;
    }
  place (a, segments);
  join (segments);
  if (allocate_rest (a, segments) && activate (a, active) && AT (segments, Segment, 0)->address != 0)
    return AT (segments, Segment, 0)->address;
  free_memory (a);
  return 0;
}

/* ---- policy 2 as documented: one block, as large as the largest graph since the first load */

static guint64
replace_block (Active *a, const GArray *segments)
{
  NaiveDevice *device = &a->ge.base.device;
  const guint64 before = a->size;
  guint64 need = 0;

  for (guint s = 0; s < segments->len; s++)
    if ((AT (segments, Segment, s)->flags & NO_ALLOC) == 0)
      need = MAX (need, AT (segments, Segment, s)->offset + AT (segments, Segment, s)->size);
  if (need > before)
    {
      if (before > 0)
        naive_device_free (device, a->address);
      a->address = naive_device_malloc (device, need);
      a->size = need;
      if (a->address == 0)
        {
          a->address = before > 0 ? naive_device_malloc (device, before) : 0;
          a->size = a->address != 0 ? before : 0;
          return 0;
        }
    }
  if (a->size == 0)
    return 0;
  a->load_count++;
  return a->address + AT (segments, Segment, 0)->offset;
}

static void
release_block (Active *a)
{
  if (--a->load_count > 0 || a->size == 0)
    return;
  naive_device_free (&a->ge.base.device, a->address);
  a->size = 0;
}

/* ---- graphs */

static void
ready (Active *a)
{
  NaivePages *fixed_pages;

  if (a->fixed.pages != NULL)
    return;
  fixed_pages = a->paged ? naive_ge_pages (&a->ge) : (a->small = naive_pages_new (&a->ge.base.device, 2 * MIB));
  a->fixed.pages = fixed_pages;
  a->range.pages = fixed_pages;
}

static void
drop_fixed (Active *a, const Graph *graph)
{
  if (graph->fixed)
    session_unshare (&a->fixed);
  if (graph->apart != 0)
    naive_device_free (&a->ge.base.device, graph->apart);
}

static gboolean
graph_load (Naive *naive, guint32 id, const GememGraphSegment *segments, guint n, guint64 *address)
{
  Active *a = (Active *) naive;
  g_autoptr (GArray) rest = g_array_new (FALSE, FALSE, sizeof (Segment));
  Graph graph = { .id = id, .active = g_array_new (FALSE, FALSE, sizeof (Block)), .bound = TRUE };
  guint64 fixed = 0, base;

  ready (a);
  for (guint i = 0; i < n; i++)
    {
      const Segment segment = { segments[i].offset, segments[i].size, 0, segments[i].flags };

      if ((segment.flags & FIXED) != 0)
        fixed += segment.size;
      else
        g_array_append_val (rest, segment);
    }
  base = fixed > 0 ? session_share (&a->fixed, fixed) : 0;
  graph.fixed = base != 0;
  if (fixed > 0 && base == 0) /* 7.2: fallback aclrtMalloc */
    base = graph.apart = naive_device_malloc (&a->ge.base.device, fixed);
  graph.shares = rest->len > 0;
  *address = base;
  if (graph.shares && (fixed == 0 || base != 0))
    *address = a->documented ? replace_block (a, rest) : malloc_memory (a, rest, graph.active);
  if (*address != 0)
    {
      g_array_append_val (a->graphs, graph);
      return TRUE;
    }
  drop_fixed (a, &graph);
  g_array_unref (graph.active);
  return FALSE;
}

static guint
find (const Active *a, guint32 id)
{
  guint i = 0;

  while (AT (a->graphs, Graph, i)->id != id)
    i++;
  return i;
}

static gboolean
graph_run (Naive *naive, guint32 id, gboolean begin)
{
  Active *a = (Active *) naive;
  Graph *graph = AT (a->graphs, Graph, find (a, id));

  if (!a->paged || !graph->shares || graph->bound == begin)
    return TRUE;
  if (begin)
    return graph->bound = bind_all (a, graph->active, FALSE);
  for (guint i = 0; i < graph->active->len; i++)
    if (!AT (graph->active, Block, i)->plain)
      session_unbind (&a->range, AT (graph->active, Block, i)->address, AT (graph->active, Block, i)->used);
  graph->bound = FALSE;
  return TRUE;
}

static void
graph_unload (Naive *naive, guint32 id)
{
  Active *a = (Active *) naive;
  const guint i = find (a, id);
  const Graph graph = *AT (a->graphs, Graph, i);

  g_array_remove_index (a->graphs, i);
  drop_fixed (a, &graph);
  if (graph.shares && a->documented)
    release_block (a);
  else if (graph.shares)
    free_memory (a);
  g_array_unref (graph.active);
}

static gboolean
figure (Naive *naive, const char *name, guint64 *value)
{
  const Active *a = (const Active *) naive;

  if (g_str_equal (name, "static.load_count"))
    *value = a->load_count;
  else if (g_str_equal (name, "static.peak"))
    *value = a->documented ? a->size : a->peak;
  else if (g_str_equal (name, "static.fixed"))
    *value = a->fixed.used;
  else
    return naive_ge_figure (naive, name, value);
  return TRUE;
}

/* ---- life */

static void
session_init (Session *s)
{
  s->physical = g_array_new (FALSE, FALSE, sizeof (int));
  s->last = g_array_new (FALSE, FALSE, sizeof (int));
  s->refs = g_array_new (FALSE, FALSE, sizeof (guint));
}

static void
session_clear (Session *s)
{
  g_array_unref (s->physical);
  g_array_unref (s->last);
  g_array_unref (s->refs);
}

static Naive *
create (gboolean paged, gboolean documented)
{
  Active *a = g_new0 (Active, 1);

  naive_ge_init (&a->ge, paged);
  a->paged = paged;
  a->documented = documented;
  session_init (&a->range);
  session_init (&a->fixed);
  a->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  a->graphs = g_array_new (FALSE, FALSE, sizeof (Graph));
  return &a->ge.base;
}

static Naive *
create_documented (void)
{
  return create (FALSE, TRUE);
}

static Naive *
create_as_built (void)
{
  return create (FALSE, FALSE);
}

static Naive *
create_paged (void)
{
  return create (TRUE, FALSE);
}

static void
destroy (Naive *naive)
{
  Active *a = (Active *) naive;

  for (guint i = 0; i < a->graphs->len; i++)
    g_array_unref (AT (a->graphs, Graph, i)->active);
  g_array_unref (a->graphs);
  g_array_unref (a->blocks);
  session_clear (&a->range);
  session_clear (&a->fixed);
  naive_pages_destroy (a->small);
  naive_ge_destroy (naive);
}

#define ACTIVE(text, function) \
  .name = "ge-active", .settings = text, .create = function, .alloc = naive_ge_alloc, .free = naive_ge_free, .trim = naive_ge_trim, \
  .graph_load = graph_load, .graph_run = graph_run, .graph_unload = graph_unload, .figure = figure, .destroy = destroy

const NaiveClass naive_ge_documented = { ACTIVE ("policy=2", create_documented) };
const NaiveClass naive_ge_as_built = { ACTIVE ("policy=2,policy2=as-built", create_as_built) };
const NaiveClass naive_ge_as_built_faulty = { ACTIVE ("policy=2,policy2=as-built", create_as_built), .every = 7 };
const NaiveClass naive_ge_policy4 = { ACTIVE ("policy=4", create_paged) };
const NaiveClass naive_ge_policy4_plain = { ACTIVE ("policy=4", create_paged), .no_virtual = TRUE };
const NaiveClass naive_ge_policy4_faulty = { ACTIVE ("policy=4", create_paged), .every = 13 };
const NaiveClass naive_ge_policy4_poor = { ACTIVE ("policy=4", create_paged), .every = 3 };
