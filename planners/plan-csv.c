/* plan-csv.c - plans as MiniMalloc's tables with offsets; see plan-file.h.
 *
 * The columns alignment and gaps are written where lifetimes have any; fixed offsets are what they say.
 * Invariant: ids are unique within a table; an id that recurs later in time is written "ID@BEGIN".
 */
#include "config.h"

#include <string.h>

#include "planners/convert.h"
#include "planners/plan-file-private.h"
#include "traces/minimalloc/table.h"

/* ---- writing */

typedef struct
{
  GString *out;
  GHashTable *seen;
  const GememLifetimes *lifetimes;
  gboolean alignments;
  guint gap; /* the next one */
} Writing;

static gboolean
has_alignments (const GememLifetimes *lifetimes)
{
  for (guint i = 0; i < lifetimes->items->len; i++)
    if (gemem_lifetimes_get (lifetimes, i)->alignment != 0)
      return TRUE;
  return FALSE;
}

/* "3-5 7-9@0:64," */
static void
append_gaps (Writing *writing, guint32 item)
{
  const GArray *gaps = writing->lifetimes->gaps;

  for (guint i = writing->gap; i < gaps->len && g_array_index (gaps, GememLifeGap, i).item == item;
       writing->gap = ++i)
    {
      const GememLifeGap *gap = &g_array_index (gaps, GememLifeGap, i);

      if (writing->out->str[writing->out->len - 1] != ',')
        g_string_append_c (writing->out, ' ');
      g_string_append_printf (writing->out, "%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT, gap->begin,
                              gap->end);
      if (gap->low < gap->high)
        g_string_append_printf (writing->out, "@%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, gap->low,
                                gap->high);
    }
  g_string_append_c (writing->out, ',');
}

static void
append_row (Writing *writing, guint32 item, guint64 offset)
{
  const GememLifetime *lifetime = gemem_lifetimes_get (writing->lifetimes, item);
  const gboolean again = !g_hash_table_add (writing->seen, GSIZE_TO_POINTER (lifetime->id + 1));
  GString *out = writing->out;

  g_string_append_printf (out, "%" G_GUINT64_FORMAT, lifetime->id);
  if (again)
    g_string_append_printf (out, "@%" G_GUINT64_FORMAT, lifetime->begin);
  g_string_append_printf (out,
                          ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",",
                          lifetime->begin, lifetime->safe_end, lifetime->size);
  if (writing->alignments && lifetime->alignment != 0)
    g_string_append_printf (out, "%" G_GUINT64_FORMAT, lifetime->alignment);
  if (writing->alignments)
    g_string_append_c (out, ',');
  if (writing->lifetimes->gaps != NULL)
    append_gaps (writing, item);
  if (offset != GEMEM_NO_OFFSET)
    g_string_append_printf (out, "%" G_GUINT64_FORMAT, offset);
  g_string_append_c (out, '\n');
}

/* Offset of each lifetime of a graph: its first item's offset minus that item's offset inside
 * it. */
static guint64 *
lifetime_offsets (const GememPlan *plan, const GememLifetimes *lifetimes,
                  const GememPlanPlace *places)
{
  guint64 *offsets = g_new (guint64, (gsize) lifetimes->items->len + 1);

  memset (offsets, 0xff, sizeof (guint64) * lifetimes->items->len);
  for (guint32 i = plan->n_items; i-- > 0;)
    if (places[i].lifetime != GEMEM_NONE && plan->offsets[i] != GEMEM_NO_OFFSET
        && plan->offsets[i] >= places[i].inner)
      offsets[places[i].lifetime] = plan->offsets[i] - places[i].inner;
  return offsets;
}

void
gemem_plan_write_csv (GString *out, const GememPlan *plan, const GememPlanInput *input)
{
  g_autofree GememPlanPlace *places = NULL;
  g_autoptr (GememLifetimes)
      made = input->graph != NULL ? gemem_graph_lifetimes (input->graph, &places) : NULL;
  const GememLifetimes *lifetimes = made != NULL ? made : input->lifetimes;
  g_autofree guint64 *offsets = made != NULL ? lifetime_offsets (plan, made, places) : NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  Writing writing = { out, seen, lifetimes, made == NULL && has_alignments (lifetimes), 0 };

  g_string_append_printf (out, "id,lower,upper,size,%s%soffset\n",
                          writing.alignments ? "alignment," : "",
                          lifetimes->gaps != NULL ? "gaps," : "");
  for (guint i = 0; i < lifetimes->items->len; i++)
    append_row (&writing, i, (offsets != NULL ? offsets : plan->offsets)[i]);
}

/* ---- reading */

typedef struct
{
  GArray *rows, *gaps;
  gint64 first;   /* smallest begin */
  guint64 placed; /* rows with an offset */
} Reading;

/* "12" and "12@34" yield 12; any other name yields the number of the row, from 1. */
static guint64
id_of (const char *name, guint32 number)
{
  const char *at = name + strspn (name, "0123456789");
  guint64 id;

  if (at == name || (*at != '\0' && *at != '@') || at - name > 20)
    return (guint64) number + 1;
  id = g_ascii_strtoull (name, NULL, 10);
  return id;
}

static void
add_row (const GememMinimallocRow *row, gpointer data)
{
  Reading *reading = data;
  const guint32 number = reading->rows->len;
  GememPlanRow item = { .id = id_of (row->name, number),
                        .begin = (guint64) row->lower,
                        .end = (guint64) row->upper,
                        .size = row->size,
                        .offset = row->has_offset ? (guint64) row->offset : GEMEM_NO_OFFSET,
                        .number = number };

  item.alignment = (guint64) row->alignment;
  for (guint i = 0; i < row->gaps->len; i++)
    {
      const GememMinimallocGap *gap = &g_array_index (row->gaps, GememMinimallocGap, i);
      const GememLifeGap own = { (guint64) gap->lower, (guint64) gap->upper, gap->low, gap->high,
                                 number };

      g_array_append_val (reading->gaps, own);
    }
  reading->first = MIN (reading->first, row->lower);
  reading->placed += row->has_offset;
  g_array_append_val (reading->rows, item);
}

gboolean
gemem_plan_read_csv (GememInput *input, GArray *rows, GArray *gaps, GError **error)
{
  Reading reading = { .rows = rows, .gaps = gaps, .first = G_MAXINT64 };
  guint64 behind;
  gboolean ok = gemem_minimalloc_read (input, add_row, &reading, &behind, error);

  if (ok && reading.placed == 0 && rows->len > 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: no buffer has an offset; this is a table of lifetimes, not yet a plan",
                 gemem_input_name (input));
  ok = ok && (reading.placed > 0 || rows->len == 0);
  for (guint i = 0; i < rows->len && reading.first < 0; i++) /* time counts from 0 */
    {
      GememPlanRow *row = &g_array_index (rows, GememPlanRow, i);

      row->begin -= (guint64) reading.first;
      row->end -= (guint64) reading.first;
    }
  for (guint i = 0; i < gaps->len && reading.first < 0; i++)
    {
      g_array_index (gaps, GememLifeGap, i).begin -= (guint64) reading.first;
      g_array_index (gaps, GememLifeGap, i).end -= (guint64) reading.first;
    }
  return ok;
}
