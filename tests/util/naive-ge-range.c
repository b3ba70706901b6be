/* naive-ge-range.c - PhysicalMemoryAllocator and ExpandableActiveMemoryAllocatorImp; see
 * naive-ge.h. */
#include "config.h"

#include "tests/util/naive-ge.h"

/* ---- 4 */

static NaivePhysical *
physical (const NaivePages *pages, int i)
{
  return g_ptr_array_index (pages->pages, i);
}

static void
physical_free (gpointer data)
{
  g_array_unref (((NaivePhysical *) data)->mapped);
  g_free (data);
}

NaivePages *
naive_pages_new (NaiveDevice *device, guint64 size)
{
  NaivePages *pages = g_new0 (NaivePages, 1);

  pages->device = device;
  pages->size = size;
  pages->pages = g_ptr_array_new_with_free_func (physical_free);
  pages->free = g_array_new (FALSE, FALSE, sizeof (guint));
  return pages;
}

void
naive_pages_destroy (NaivePages *pages)
{
  if (pages == NULL)
    return;
  g_ptr_array_unref (pages->pages);
  g_array_unref (pages->free);
  g_free (pages);
}

static int
find_mapping (const NaivePhysical *page, guint64 va)
{
  for (guint j = 0; j < page->mapped->len; j++)
    if (g_array_index (page->mapped, guint64, j) == va)
      return (int) j;
  return -1;
}

gboolean
naive_pages_map (NaivePages *pages, int i, guint64 va)
{
  if (find_mapping (physical (pages, i), va) >= 0)
    return TRUE;
  if (!naive_device_map (pages->device))
    return FALSE;
  g_array_append_val (physical (pages, i)->mapped, va);
  return TRUE;
}

static void
pages_give (NaivePages *pages, int i)
{
  const guint entry = (guint) i;

  physical (pages, i)->ref = 0;
  if (physical (pages, i)->in_free)
    return;
  physical (pages, i)->in_free = TRUE;
  g_array_append_val (pages->free, entry);
}

static int
pop_page (NaivePages *pages)
{
  while (pages->free->len > 0)
    {
      const int i = (int) g_array_index (pages->free, guint, pages->free->len - 1);

      g_array_set_size (pages->free, pages->free->len - 1);
      physical (pages, i)->in_free = FALSE;
      if (physical (pages, i)->ref == 0 && !physical (pages, i)->gone)
        return i;
    }
  return -1;
}

/* Creates a page of the driver; a page that cannot be mapped is destroyed at once. */
static int
create_page (NaivePages *pages, int *last, guint64 va)
{
  NaivePhysical *page;

  if (!naive_device_create_page (pages->device, pages->size))
    {
      *last = (int) pages->pages->len; /* T */
      return -1;
    }
  page = g_new0 (NaivePhysical, 1);
  page->ref = 1;
  page->mapped = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_ptr_array_add (pages->pages, page);
  if (naive_pages_map (pages, (int) pages->pages->len - 1, va))
    return (int) pages->pages->len - 1;
  g_ptr_array_set_size (pages->pages, (int) pages->pages->len - 1);
  naive_device_destroy_page (pages->device, pages->size);
  return -1;
}

static int
take (NaivePages *pages, int *last, guint64 va)
{
  const gboolean known = *last >= 0 && *last < (int) pages->pages->len;
  int i = -1;

  if (known && physical (pages, *last)->ref == 0)
    i = *last;
  else if (known)
    {
      const int mapping = find_mapping (physical (pages, *last), va);

      if (mapping < 0)
        return -1;
      g_array_remove_index (physical (pages, *last)->mapped, (guint) mapping);
    }
  if (i < 0 && !pages->fresh)
    i = pop_page (pages);
  if (i < 0)
    return create_page (pages, last, va);
  physical (pages, i)->ref = 1;
  if (naive_pages_map (pages, i, va))
    return i;
  pages_give (pages, i);
  return -1;
}

/* MallocPhysical and MapMem at @va; -1: refused. */
static int
pages_take (NaivePages *pages, int *last, guint64 va)
{
  const int i = take (pages, last, va);

  if (i >= 0)
    *last = i;
  return i;
}

void
naive_pages_release (NaivePages *pages, guint64 va, guint64 size)
{
  for (guint i = 0; i < pages->pages->len; i++)
    for (guint j = 0; j < physical (pages, (int) i)->mapped->len;)
      if (g_array_index (physical (pages, (int) i)->mapped, guint64, j) - va < size)
        g_array_remove_index (physical (pages, (int) i)->mapped, j);
      else
        j++;
  naive_device_release (pages->device, va);
}

/* Initialize and ReserveMemAddress; 0: refused. */
static guint64
pages_open (NaivePages *pages, guint64 size)
{
  const guint64 va = naive_device_reserve (pages->device, size);

  pages->users += va != 0;
  return va;
}

/* After the last user nothing is mapped; a page that a range did not return stays. */
void
naive_pages_close (NaivePages *pages, guint64 va, guint64 size)
{
  guint kept = 0;

  naive_pages_release (pages, va, size);
  if (--pages->users > 0)
    return;
  for (guint i = 0; i < pages->pages->len; i++)
    if (physical (pages, (int) i)->ref > 0)
      kept++;
    else if (!physical (pages, (int) i)->gone)
      {
        physical (pages, (int) i)->gone = TRUE;
        naive_device_destroy_page (pages->device, pages->size);
      }
  if (kept > 0)
    return;
  g_ptr_array_set_size (pages->pages, 0);
  g_array_set_size (pages->free, 0);
}

/* ---- 5.1, 5.2 */

NaiveRange *
naive_range_new (NaivePages *pages, guint64 size)
{
  const guint64 n = (size + pages->size - 1) / pages->size,
                base = pages_open (pages, n * pages->size);
  NaiveRange *range;

  if (base == 0)
    return NULL;
  range = g_new0 (NaiveRange, 1);
  range->pages = pages;
  range->base = base;
  range->size = n * pages->size;
  range->page = pages->size;
  range->records = g_new0 (NaiveRecord, n);
  for (guint64 i = 0; i < n; i++)
    range->records[i].page = range->records[i].last = -1;
  range->free = g_array_new (FALSE, FALSE, sizeof (guint));
  range->list = g_array_new (FALSE, FALSE, sizeof (guint));
  return range;
}

void
naive_range_destroy (NaiveRange *range)
{
  if (range == NULL)
    return;
  g_free (range->records);
  g_array_unref (range->free);
  g_array_unref (range->list);
  g_free (range);
}

static gboolean
may_be_popped (const NaiveRecord *r)
{
  return r->ref == 0 && !r->using && r->page >= 0;
}

void
naive_range_push (NaiveRange *range, guint i)
{
  NaiveRecord *r = &range->records[i];

  if (r->in_free || !may_be_popped (r))
    return;
  r->in_free = TRUE;
  g_array_append_val (range->free, i);
}

static gboolean
pop_record (NaiveRange *range, guint *i)
{
  while (range->free->len > 0)
    {
      *i = g_array_index (range->free, guint, range->free->len - 1);
      g_array_set_size (range->free, range->free->len - 1);
      range->records[*i].in_free = FALSE;
      if (may_be_popped (&range->records[*i]))
        return TRUE;
    }
  return FALSE;
}

void
naive_range_release (NaiveRange *range, guint i)
{
  NaiveRecord *r = &range->records[i];

  r->maps -= r->maps > 0;
  if (r->page < 0 || r->maps > 0)
    return;
  pages_give (range->pages, r->page);
  r->page = -1;
  r->recycled = TRUE;
  range->phys -= range->page;
}

/* ---- 5.7 */

static void
undo (NaiveRange *range, guint i)
{
  NaiveRecord *r = &range->records[i];

  if (r->ref > 0)
    {
      r->ref--;
      if (r->ref == 0)
        naive_range_release (range, i);
    }
  if (r->ref == 0)
    r->using = FALSE;
}

static NaiveBacking
refuse (NaiveRange *range, gint64 i, gint64 ie)
{
  for (gint64 j = ie; j > i; j--)
    undo (range, (guint) j);
  for (guint j = 0; j < range->list->len; j++)
    undo (range, g_array_index (range->list, guint, j));
  return NAIVE_REFUSED;
}

/* ---- 5.4, the part of the range */

static NaiveBacking
in_use (NaiveRange *range, gint64 at, gint64 ib, gint64 ie, guint64 tail, guint64 bytes,
        guint64 *reuse)
{
  NaiveRecord *r = range->records;
  guint64 counted = tail;
  gint64 e = ie;

  *reuse = bytes;
  if (ie > 0 && tail > 0)
    {
      e--;
      r[ie].ref--;
    }
  if (r[ib].page < 0)
    {
      *reuse = tail;
      for (gint64 i = e; i >= 0 && r[i].page >= 0; i--)
        *reuse += range->page;
    }
  for (gint64 i = e; i > at && counted < *reuse; i--, counted += range->page)
    if (r[i].ref > 0 && r[i].using)
      {
        r[i].ref--;
        r[i].using = FALSE;
        naive_range_push (range, (guint) i);
      }
  return NAIVE_USING;
}

/* ---- 5.5, the part of the range.  Too short a list is a failure; then, and only in a session
 * (5.9), pages touched that are not in the list keep their user. */
static NaiveBacking
collected (NaiveRange *range, guint64 tail, gint64 ie, guint64 need)
{
  for (guint j = 0; j < range->list->len; j++)
    {
      NaiveRecord *r = &range->records[g_array_index (range->list, guint, j)];

      r->ref -= r->ref > 0;
      r->using = FALSE;
    }
  if (tail > 0)
    range->records[ie].ref--;
  return range->list->len == need ? NAIVE_NEW_VA : NAIVE_REFUSED;
}

/* ---- 5.3, in one function as in the text */

NaiveBacking
naive_range_back (NaiveRange *range, guint64 address, guint64 n, guint64 *reuse)
{
  const guint64 o = address - range->base, page = range->page, need = (n + page - 1) / page;
  NaiveRecord *r = range->records;
  gint64 ib = (gint64) (o / page), ie = (gint64) ((o + n - 1) / page), i;
  const guint64 tail = ib < ie && r[ie].ref > 0 ? (o + n) % page : 0;
  guint64 gathered = 0;
  gboolean recycle = FALSE;
  guint q;

  *reuse = 0;
  g_array_set_size (range->list, 0);
  for (i = ie; i >= ib; i--)
    {
      const guint index = (guint) i;

      if (r[i].page < 0)
        {
          if (!r[i].recycled && !recycle)
            {
              recycle = range->theory_min * 100 / (range->phys + page) < 99;
              while (recycle && range->list->len < need && pop_record (range, &q))
                {
                  r[q].using = TRUE;
                  g_array_append_val (range->list, q);
                  gathered++;
                }
              if (gathered > 0)
                {
                  ib = ie - (gint64) (need - gathered);
                  if (tail == 0 && ib < ie)
                    ib++;
                }
            }
          if ((gathered > 0 && range->list->len == need) || i < ib)
            break;
          const gboolean hole = r[ib].page < 0;
          r[i].page = pages_take (range->pages, &r[i].last, range->base + (guint64) i * page);
          if (r[i].page < 0)
            return refuse (range, i, ie);
          r[i].ref = 1;
          r[i].maps = 1;
          r[i].using = TRUE;
          r[i].recycled = FALSE;
          range->phys += page;
          *reuse += page;
          if (hole)
            g_array_append_val (range->list, index);
        }
      else if (r[i].ref > 0 && (i == ib || i == ie))
        r[i].ref++;
      else if (r[i].using)
        return in_use (range, i, ib, ie, tail, n, reuse);
      else
        {
          r[i].using = TRUE;
          r[i].ref++;
          *reuse += page;
          if (r[ib].page < 0)
            g_array_append_val (range->list, index);
        }
    }
  if (!recycle || gathered == 0)
    return NAIVE_BACKED;
  *reuse += tail;
  return collected (range, tail, ie, need);
}

/* ---- 5.6 */

void
naive_range_free (NaiveRange *range, guint64 address, guint64 bytes)
{
  for (guint64 i = (address - range->base) / range->page;
       i <= (address - range->base + bytes - 1) / range->page; i++)
    if (--range->records[i].ref == 0)
      {
        range->records[i].using = FALSE;
        naive_range_push (range, (guint) i);
      }
}

void
naive_range_recycle (NaiveRange *range, guint64 address, guint64 bytes)
{
  for (guint64 i = (address - range->base) / range->page;
       bytes > 0 && i <= (address - range->base + bytes - 1) / range->page; i++)
    if (may_be_popped (&range->records[i]))
      naive_range_release (range, (guint) i);
}
