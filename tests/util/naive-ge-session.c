/* naive-ge-session.c - a session's growing range, from ge-runtime.md 5.9; see naive-ge-static.h. */
#include "config.h"

#include "tests/util/naive-ge-static.h"

void
naive_session_init (NaiveSession *s)
{
  s->stack = g_array_new (FALSE, FALSE, sizeof (guint));
  s->pieces = g_array_new (FALSE, FALSE, sizeof (guint64));
}

void
naive_session_clear (NaiveSession *s)
{
  naive_range_destroy (s->range);
  g_array_unref (s->stack);
  g_array_unref (s->pieces);
}

static gboolean
lies_inside (const NaiveSession *s, guint64 address)
{
  return s->range != NULL && address >= s->range->base && address < s->range->base + s->range->size;
}

/* "let go" */
void
naive_session_unbind (NaiveSession *s, guint64 address, guint64 bytes)
{
  NaiveRange *range = s->range;

  if (bytes == 0 || !lies_inside (s, address))
    return;
  for (guint64 i = (address - range->base) / range->page;
       i <= (address - range->base + bytes - 1) / range->page; i++)
    {
      NaiveRecord *r = &range->records[i];

      if (r->page < 0)
        continue;
      if (r->ref > 0)
        r->ref--;
      if (r->ref > 0)
        continue;
      r->using = FALSE;
      naive_range_push (range, (guint) i);
      naive_range_release (range, (guint) i);
    }
}

/* FreeMemory at 0. */
void
naive_session_reset (NaiveSession *s)
{
  NaiveRange *range = s->range;

  if (range == NULL)
    return;
  for (guint i = 0; i < s->pieces->len; i += 2)
    naive_session_unbind (s, g_array_index (s->pieces, guint64, i),
                          g_array_index (s->pieces, guint64, i + 1));
  naive_session_unbind (s, range->base, range->size);
  naive_pages_close (s->pages, range->base, range->size);
  naive_range_destroy (range);
  s->range = NULL;
  g_array_set_size (s->pieces, 0);
  s->used = s->users = 0;
}

gboolean
naive_session_bind (NaiveSession *s, guint64 address, guint64 bytes)
{
  guint64 reuse;

  if (bytes == 0 || !lies_inside (s, address))
    return TRUE;
  return address + bytes <= s->range->base + s->range->size
         && naive_range_back (s->range, address, bytes, &reuse) == NAIVE_BACKED;
}

/* First use, by @bytes. */
static gboolean
session_reserve (NaiveSession *s, guint64 bytes)
{
  const guint64 total = s->pages->device->capacity;

  if (s->range != NULL || s->unsupported)
    return !s->unsupported;
  s->range = bytes <= total ? naive_range_new (s->pages, total) : NULL;
  s->unsupported = s->range == NULL;
  if (s->unsupported)
    return FALSE;
  g_array_unref (s->range->free);
  s->range->free = g_array_ref (s->stack);
  return TRUE;
}

guint64
naive_session_append (NaiveSession *s, guint64 bytes)
{
  guint64 address;

  if (!session_reserve (s, bytes) || bytes > s->range->size - s->used)
    return 0;
  address = s->range->base + s->used;
  if (!naive_session_bind (s, address, bytes))
    return 0;
  if (bytes > 0)
    {
      g_array_append_val (s->pieces, address);
      g_array_append_val (s->pieces, bytes);
    }
  s->used += bytes;
  return address;
}

guint64
naive_session_share (NaiveSession *s, guint64 bytes)
{
  if (!session_reserve (s, bytes) || bytes > s->range->size
      || (bytes > s->used && naive_session_append (s, bytes - s->used) == 0))
    return 0;
  s->users++;
  return s->range->base;
}

void
naive_session_unshare (NaiveSession *s)
{
  if (--s->users == 0)
    naive_session_reset (s);
}

guint64
naive_session_phys (const NaiveSession *s)
{
  return s->range != NULL ? s->range->phys : 0;
}
