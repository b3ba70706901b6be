/* variables.c - see variables.h. */
#include "config.h"

#include "allocators/ge/links.h"
#include "allocators/ge/variables.h"
#include "base/error.h"
#include "base/units.h"

#define ROUNDING 512
#define PADDING 1024 /* half of it before the variable, half behind */

struct _GeVariable
{
  guint64 address, size; /* of the piece */
  GeVariable *prev, *next;
  gboolean plain;
};

void
gemem_ge_variables_init (GeVariables *v, GememDevice *device, guint64 page_size, Ge1gOption option,
                         guint64 total, gboolean padded)
{
  *v = (GeVariables){ .padded = padded };
  gemem_ge_pages_init (&v->pages, device, page_size, option);
  gemem_ge_session_init (&v->range, &v->pages, total, !padded);
  gemem_slab_init (&v->slab, sizeof (GeVariable));
}

void
gemem_ge_variables_clear (GeVariables *v)
{
  gemem_device_lock (v->pages.device);
  for (const GeVariable *one = v->plain; one != NULL; one = one->next)
    gemem_device_free (v->pages.device, one->address, one->size);
  gemem_device_unlock (v->pages.device);
  gemem_ge_session_clear (&v->range);
  gemem_ge_pages_clear (&v->pages);
  gemem_slab_clear (&v->slab);
}

static guint64
padding (const GeVariables *v)
{
  return v->padded ? PADDING : 0;
}

/* Bytes of the piece for @bytes; 0: more than there are. */
static guint64
piece_size (const GeVariables *v, guint64 bytes)
{
  const guint64 most = G_MAXUINT64 - ROUNDING - PADDING;

  return bytes > most ? 0 : MAX (gemem_round_up (bytes, ROUNDING) + padding (v), ROUNDING);
}

/* Appends a piece of the range; puts a plain allocation first. */
static void
enter (GeVariables *v, GeVariable *one)
{
  if (one->plain)
    {
      GE_LINK_FIRST (v->plain, one, prev, next);
      return;
    }
  one->prev = v->last;
  if (one->prev != NULL)
    one->prev->next = one;
  else
    v->first = one;
  v->last = one;
}

static void
remove_one (GeVariables *v, GeVariable *one)
{
  if (one == v->last)
    v->last = one->prev;
  if (one->plain)
    GE_UNLINK (v->plain, one, prev, next);
  else
    GE_UNLINK (v->first, one, prev, next);
}

/* 7.4: without ranges a plain allocation, which has no pages of 1 GiB. */
static guint64
obtain (GeVariables *v, guint64 size, guint64 stream, gboolean *plain)
{
  const guint64 address = gemem_ge_session_append (&v->range, size);

  *plain = address == 0 && v->range.unsupported && v->pages.option != GE_1G_ONLY;
  return *plain ? gemem_device_malloc (v->pages.device, size, stream) : address;
}

gboolean
gemem_ge_variables_alloc (GeVariables *v, guint64 bytes, guint64 stream, GememBlock *block)
{
  const guint64 size = piece_size (v, bytes);
  GeVariable *one = NULL;
  guint64 address = 0;
  gboolean plain;

  gemem_device_lock (v->pages.device);
  if (size != 0)
    address = obtain (v, size, stream, &plain);
  if (address != 0)
    {
      one = gemem_slab_alloc (&v->slab);
      one->address = address;
      one->size = size;
      one->plain = plain;
      enter (v, one);
      *block = (GememBlock){ .address = address + padding (v) / 2, .size = size, .handle = one };
    }
  gemem_device_unlock (v->pages.device);
  return one != NULL;
}

void
gemem_ge_variables_free (GeVariables *v, const GememBlock *block)
{
  GeVariable *one = block->handle;

  gemem_device_lock (v->pages.device);
  remove_one (v, one);
  if (one->plain)
    gemem_device_free (v->pages.device, one->address, one->size);
  else if (v->first == NULL)
    gemem_ge_session_reset (&v->range);
  gemem_slab_free (&v->slab, one);
  gemem_device_unlock (v->pages.device);
}

/* ---- questions */

guint64
gemem_ge_variables_largest_free (const GeVariables *v)
{
  const guint64 space = gemem_ge_session_free_bytes (&v->range);

  return space > padding (v) ? (space - padding (v)) / ROUNDING * ROUNDING : 0;
}

typedef struct
{
  const GeVariables *v;
  GememSpanFunc func;
  gpointer data;
} Walk;

/* A part of @whole from *@from to @to, if there is any. */
static void
report (const Walk *w, const GememSpan *whole, guint64 *from, guint64 to, GememSpanState state)
{
  GememSpan span = *whole;

  if (to <= *from)
    return;
  span.address = *from;
  span.size = to - *from;
  span.state = state;
  span.user = state == GEMEM_SPAN_LIVE ? *from + padding (w->v) / 2 : 0;
  w->func (&span, w->data);
  *from = to;
}

/* The pages in use are one span from the base on, since no piece is ever unbound alone. */
static void
divide (const GememSpan *span, gpointer data)
{
  const Walk *w = data;
  const GeSessionRange *range = &w->v->range;
  guint64 from = span->address;

  if (span->state == GEMEM_SPAN_OVERHEAD)
    {
      for (const GeVariable *one = w->v->first; one != NULL; one = one->next)
        {
          report (w, span, &from, one->address, GEMEM_SPAN_OVERHEAD);
          report (w, span, &from, one->address + one->size, GEMEM_SPAN_LIVE);
        }
      report (w, span, &from, range->backing.base + range->used, GEMEM_SPAN_OVERHEAD);
      report (w, span, &from, span->address + span->size, GEMEM_SPAN_FREE);
    }
  else
    w->func (span, w->data);
}

void
gemem_ge_variables_walk (const GeVariables *v, GememSpanFunc func, gpointer data)
{
  Walk w = { v, func, data };

  gemem_device_lock (v->pages.device);
  gemem_ge_session_walk (&v->range, divide, &w);
  gemem_ge_session_walk_lost (&v->pages, func, data);
  for (const GeVariable *one = v->plain; one != NULL; one = one->next)
    {
      const GememSpan whole = { .segment = one->address, .segment_size = one->size };
      guint64 from = one->address;

      report (&w, &whole, &from, from + one->size, GEMEM_SPAN_LIVE);
    }
  gemem_device_unlock (v->pages.device);
}

static gboolean
pieces_are_in_order (const GeVariables *v)
{
  guint64 end = v->range.backing.base;

  for (const GeVariable *one = v->first; one != NULL; one = one->next)
    {
      if (one->address < end || (one->next == NULL) != (one == v->last))
        return FALSE;
      end = one->address + one->size;
    }
  return end <= v->range.backing.base + v->range.used;
}

gboolean
gemem_ge_variables_check (const GeVariables *v, const char *what, GError **error)
{
  gboolean ok;

  gemem_device_lock (v->pages.device);
  ok = gemem_ge_session_check (&v->range, what, error)
       && gemem_ge_pages_check (&v->pages, what, error);
  if (ok && !pieces_are_in_order (v))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "%s: pieces of the session's range overlap, or lie outside its used part", what);
      ok = FALSE;
    }
  gemem_device_unlock (v->pages.device);
  return ok;
}
