/* runtime-survey.c - see runtime-survey.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "traces/ge/runtime-survey.h"

#define MOST 65536u   /* processes, pools */
#define POLICY_MAX 16 /* letters of a policy; one in GE */
#define PAGE_MIN (2 * GEMEM_MIB)

static gboolean
too_many (GememInput *input, const char *what, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s:%" G_GUINT64_FORMAT ": more than %u %s in one log; split it",
               gemem_input_name (input), gemem_input_line_number (input), MOST, what);
  return FALSE;
}

static guint64
pool_key (const GeLine *line, guint process)
{
  return (guint64) process << 34 | (guint64) line->pool << 32 | line->pool_number;
}

/* Returns the number of @key, assigning @next if @key is new; @map has records of one word. */
static guint
number_of (GememIdMap *map, guint64 key, guint next, gboolean *existed)
{
  guint64 *number = gemem_idmap_insert (map, key, existed);

  if (!*existed)
    *number = next;
  return (guint) *number;
}

GeProcess *
gemem_ge_survey_process (const GeSurvey *survey, const GeLine *line, guint *index)
{
  *index = (guint) * (guint64 *) gemem_idmap_lookup (survey->process_index, line->process);
  return &g_array_index (survey->processes, GeProcess, *index);
}

GeLogPool *
gemem_ge_survey_pool (const GeSurvey *survey, const GeLine *line, guint process)
{
  return &g_array_index (
      survey->pools, GeLogPool,
      *(guint64 *) gemem_idmap_lookup (survey->pool_index, pool_key (line, process)));
}

GeLogPool *
gemem_ge_survey_refused (const GeSurvey *survey, const GeLine *line, guint process)
{
  const guint asked = g_array_index (survey->processes, GeProcess, process).asked;
  const guint64 *named = line->pool != GE_POOL_NONE
                             ? gemem_idmap_lookup (survey->pool_index, pool_key (line, process))
                             : NULL;

  if (named != NULL)
    return &g_array_index (survey->pools, GeLogPool, *named);
  return line->pool == GE_POOL_NONE && asked > 0
             ? &g_array_index (survey->pools, GeLogPool, asked - 1)
             : NULL;
}

/* ---- lines */

static void
settle (GeSurvey *survey, GeLogPool *pool, gboolean failed)
{
  if (pool->refused > 0 && failed)
    survey->refusals->data[pool->refused - 1] = 1;
  pool->refused = 0;
}

/* Pool @index allocated the address of @line: pools that allocated it just before are below. */
static void
put_above (GeSurvey *survey, GeProcess *process, guint index, const GeLine *line)
{
  const guint32 device = g_array_index (survey->pools, GeLogPool, index).device;

  for (guint i = 0; i < GE_RECENT; i++)
    {
      const GeRecent *recent = &process->recent[i];
      GeLogPool *other = recent->pool > 0
                             ? &g_array_index (survey->pools, GeLogPool, recent->pool - 1)
                             : NULL;
      if (other != NULL && recent->pool - 1 != index && recent->address == line->address
          && (other->device == device || other->device == GE_DEVICE_UNKNOWN
              || device == GE_DEVICE_UNKNOWN))
        other->below = TRUE;
    }
}

static void
take_alloc (GeSurvey *survey, GeProcess *process, guint index, const GeLine *line)
{
  GeLogPool *pool = &g_array_index (survey->pools, GeLogPool, index);

  settle (survey, pool, FALSE);
  pool->allocs++;
  process->upper |= pool->kind != GE_POOL_BOTTOM;
  if (pool->kind != GE_POOL_BOTTOM)
    put_above (survey, process, index, line);
  process->recent[process->next++ % GE_RECENT] = (GeRecent){ index + 1, line->address };
}

/* Forgets the address of @line, so that its next allocation is not related to earlier ones. */
static void
take_free (GeProcess *process, const GeLine *line)
{
  for (guint i = 0; i < GE_RECENT; i++)
    if (process->recent[i].address == line->address)
      process->recent[i].pool = 0;
}

static void
take_refusal (GeSurvey *survey, guint process, const GeLine *line)
{
  GeLogPool *pool = gemem_ge_survey_refused (survey, line, process);
  const guint8 failed = 0;

  g_byte_array_append (survey->refusals, &failed, 1);
  if (pool != NULL && pool->asked > 0 && pool->refused == 0)
    pool->refused = survey->refusals->len;
}

/* ALLOC, FREE and REQUEST of a pool. */
static gboolean
take_pool (GeSurvey *survey, GememInput *input, guint process, const GeLine *line, GError **error)
{
  GeProcess *own = &g_array_index (survey->processes, GeProcess, process);
  gboolean existed;
  const guint index = number_of (survey->pool_index, pool_key (line, process), survey->pools->len,
                                 &existed);
  GeLogPool *pool;

  if (!existed)
    {
      const GeLogPool fresh = { .process = process,
                                .kind = line->pool,
                                .device = GE_DEVICE_UNKNOWN };
      g_array_append_val (survey->pools, fresh);
      if (survey->pools->len > MOST)
        return too_many (input, "pools", error);
    }
  pool = &g_array_index (survey->pools, GeLogPool, index);
  if (pool->device == GE_DEVICE_UNKNOWN)
    pool->device = line->device;
  if (line->kind == GE_LINE_ALLOC)
    take_alloc (survey, own, index, line);
  else if (line->kind == GE_LINE_FREE)
    take_free (own, line);
  else
    {
      settle (survey, pool, TRUE);
      pool->asked = line->size;
      own->asked = index + 1;
    }
  return TRUE;
}

/* Appends the text of @line to `policy` unless it is there already. */
static void
take_policy (GeSurvey *survey, const GeLine *line)
{
  g_autofree char *text = g_strndup (line->text, MIN (line->length, POLICY_MAX));
  const char *before = survey->policy != NULL ? survey->policy : "";
  char *both;

  if (strstr (before, text) != NULL || strlen (before) > 4 * POLICY_MAX)
    return;
  both = g_strconcat (before, *before != '\0' ? ", " : "", text, NULL);
  g_free (survey->policy);
  survey->policy = both;
}

static gboolean
take_line (GeSurvey *survey, GememInput *input, const GeLine *line, GError **error)
{
  gboolean existed;
  const guint index = number_of (survey->process_index, line->process, survey->processes->len,
                                 &existed);
  GeProcess *process;

  if (!existed)
    {
      g_array_set_size (survey->processes, survey->processes->len + 1);
      if (survey->processes->len > MOST)
        return too_many (input, "processes", error);
    }
  process = &g_array_index (survey->processes, GeProcess, index);
  survey->known++;
  survey->timeless |= !line->has_time;
  survey->first_time = MIN (survey->first_time, line->time);
  if (!process->told && line->device != GE_DEVICE_UNKNOWN)
    {
      process->told = TRUE;
      process->device = (guint16) line->device;
    }
  if (line->kind == GE_LINE_ALLOC || line->kind == GE_LINE_FREE)
    survey->lines[line->source]++;
  survey->recycles += line->kind == GE_LINE_RECYCLE;
  if (line->kind == GE_LINE_PHYSICAL)
    process->page = gemem_common_divisor (process->page, line->size);
  if (line->kind == GE_LINE_TOTAL)
    survey->total = MAX (survey->total, line->size);
  if (line->kind == GE_LINE_POLICY)
    take_policy (survey, line);
  if (line->kind == GE_LINE_REFUSED)
    take_refusal (survey, index, line);
  if (((line->kind == GE_LINE_ALLOC || line->kind == GE_LINE_FREE)
       && line->source == GE_SOURCE_POOL)
      || line->kind == GE_LINE_REQUEST)
    return take_pool (survey, input, index, line, error);
  return TRUE;
}

/* ---- conclusions from all lines */

static void
conclude (GeSurvey *survey)
{
  for (guint i = 0; i < survey->processes->len; i++)
    {
      GeProcess *process = &g_array_index (survey->processes, GeProcess, i);
      process->number = (guint) ((GeDevice *) gemem_idmap_insert (survey->devices, process->device,
                                                                  NULL))
                            ->processes++;
      process->page = process->page >= PAGE_MIN && (process->page & (process->page - 1)) == 0
                          ? process->page
                          : 0;
      survey->pages |= process->page > 0;
      process->asked = 0; /* the second pass tracks the requests itself */
    }
  for (guint i = 0; i < survey->pools->len; i++)
    {
      GeLogPool *pool = &g_array_index (survey->pools, GeLogPool, i);
      const GeProcess *process = &g_array_index (survey->processes, GeProcess, pool->process);
      settle (survey, pool, TRUE);
      pool->below |= pool->kind == GE_POOL_BOTTOM && process->upper;
      if (pool->device == GE_DEVICE_UNKNOWN)
        pool->device = process->device;
      if (!pool->below)
        pool->number = (guint) ((GeDevice *) gemem_idmap_insert (survey->devices, pool->device,
                                                                 NULL))
                           ->pools++;
    }
  for (survey->source = 0; survey->source < GE_SOURCE_DRIVER && survey->lines[survey->source] == 0;)
    survey->source++;
}

gboolean
gemem_ge_survey_read (GeSurvey *survey, GememInput *input, GError **error)
{
  const char *text;
  gsize length;

  survey->processes = g_array_new (FALSE, TRUE, sizeof (GeProcess));
  survey->pools = g_array_new (FALSE, TRUE, sizeof (GeLogPool));
  survey->process_index = gemem_idmap_new (sizeof (guint64));
  survey->pool_index = gemem_idmap_new (sizeof (guint64));
  survey->devices = gemem_idmap_new (sizeof (GeDevice));
  survey->refusals = g_byte_array_new ();
  survey->first_time = G_MAXUINT64;
  while (gemem_input_line (input, GE_LINE_LONGEST, &text, &length, NULL) > 0)
    {
      GeLine line;
      gemem_ge_runtime_line (text, text + length, &line);
      if (line.kind != GE_LINE_OTHER && line.kind != GE_LINE_DAMAGED
          && !take_line (survey, input, &line, error))
        return FALSE;
    }
  conclude (survey);
  return gemem_input_rewind (input, error);
}

void
gemem_ge_survey_clear (GeSurvey *survey)
{
  g_free (survey->policy);
  g_array_unref (survey->processes);
  g_array_unref (survey->pools);
  g_byte_array_unref (survey->refusals);
  gemem_idmap_free (survey->process_index);
  gemem_idmap_free (survey->pool_index);
  gemem_idmap_free (survey->devices);
}
