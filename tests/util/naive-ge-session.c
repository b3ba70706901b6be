/* naive-ge-session.c - a session's growing range, from ge-runtime.md 5.9; see naive-ge-static.h. */
#include "config.h"

#include "tests/util/naive-ge-static.h"

#define AT(array, type, i) (&g_array_index ((array), type, i))

void
naive_session_init (NaiveSession *s)
{
  s->physical = g_array_new (FALSE, FALSE, sizeof (int));
  s->last = g_array_new (FALSE, FALSE, sizeof (int));
  s->refs = g_array_new (FALSE, FALSE, sizeof (guint));
}

void
naive_session_clear (NaiveSession *s)
{
  g_array_unref (s->physical);
  g_array_unref (s->last);
  g_array_unref (s->refs);
}

void
naive_session_reset (NaiveSession *s)
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
session_drop (NaiveSession *s, guint64 i)
{
  if (--*AT (s->refs, guint, i) > 0)
    return;
  naive_pages_give (s->pages, *AT (s->physical, int, i));
  *AT (s->physical, int, i) = -1;
}

/* From the top down. */
gboolean
naive_session_bind (NaiveSession *s, guint64 address, guint64 bytes)
{
  const guint64 page = s->pages->size, first = (address - s->base) / page,
                last = (address - s->base + bytes - 1) / page;

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

void
naive_session_unbind (NaiveSession *s, guint64 address, guint64 bytes)
{
  for (guint64 i = (address - s->base) / s->pages->size;
       i <= (address - s->base + bytes - 1) / s->pages->size; i++)
    session_drop (s, i);
}

static gboolean
session_reserve (NaiveSession *s)
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

guint64
naive_session_append (NaiveSession *s, guint64 bytes)
{
  if (!session_reserve (s) || bytes > s->size - s->used
      || !naive_session_bind (s, s->base + s->used, bytes))
    return 0;
  s->used += bytes;
  return s->base + s->used - bytes;
}

guint64
naive_session_share (NaiveSession *s, guint64 bytes)
{
  if (!session_reserve (s) || bytes > s->size
      || (bytes > s->used && naive_session_append (s, bytes - s->used) == 0))
    return 0;
  s->users++;
  return s->base;
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
  guint64 sum = 0;

  for (guint i = 0; i < s->physical->len; i++)
    sum += *AT (s->physical, int, i) >= 0 ? s->pages->size : 0;
  return sum;
}
