/* pools.c - the memory pools of a recording: which pool a request is of, and how it is set (journal.h).
 *
 * Why: a replay has one pool, whose settings it is told in the order in which the program set them; a limit
 * counts as long as all memory is of the pool that has it.
 *
 * Invariants: a pool that the program did not create has number 0, and its memory is on its own device.
 */
#include "config.h"

#include "traces/journal/journal-private.h"

/* Returns the pool with @handle; a new pool gets the next number and has its memory on @device. */
static JournalPool *
pool_with (JournalState *state, guint64 handle, guint64 device)
{
  gboolean existed;
  JournalPool *pool = gemem_idmap_insert (state->pools, handle, &existed);

  if (!existed)
    *pool = (JournalPool){ .number = ++state->last_pool, .device = device };
  return pool;
}

JournalPool
gemem_journal_pool_of (JournalState *state, const JournalRecord *record)
{
  JournalPool pool = { .device = record->device };

  if (record->call == JOURNAL_ALLOC_MANAGED && state->managed_on_host)
    pool.device = GEMEM_DEVICE_HOST;
  if (record->call == JOURNAL_ALLOC_POOL)
    pool = *pool_with (state, record->s, record->device);
  else if (record->call == JOURNAL_ALLOC_ASYNC && record->device < JOURNAL_MAX_DEVICES)
    {
      const JournalPool *current = gemem_idmap_lookup (state->pools,
                                                       state->current_pool[record->device]);
      if (current != NULL)
        pool = *current;
      pool.device = record->device;
    }
  return pool;
}

/* The limit of @pool, as long as all memory is of it; of one among several there is none. */
static guint64
limit_of (const JournalPools *told, const JournalPool *pool)
{
  return told->only == 0 || told->only == pool->number + 1 ? pool->limit : 0;
}

/* How @pool is set, as `settings` of cuda-async. */
static void
emit_settings (JournalState *state, const JournalPool *pool)
{
  static const char *const switches[] = { [JOURNAL_POOL_FOLLOW] = "reuse_follow_event_dependencies",
                                          [JOURNAL_POOL_OPPORTUNISTIC] = "reuse_allow_"
                                                                         "opportunistic",
                                          [JOURNAL_POOL_INTERNAL] = "reuse_allow_internal_"
                                                                    "dependencies" };
  g_autoptr (GString) text = g_string_new ("release_threshold=");

  if (!state->attributes || pool->device >= JOURNAL_MAX_DEVICES)
    return;
  JournalPools *told = &state->told[pool->device];
  const guint64 limit = limit_of (told, pool);
  if (pool->threshold == G_MAXUINT64)
    g_string_append (text, "unlimited");
  else
    g_string_append_printf (text, "%" G_GUINT64_FORMAT "B", pool->threshold);
  if (pool->keeps > 0)
    g_string_append_printf (text, ",trim_to=%" G_GUINT64_FORMAT "B", pool->keeps);
  for (guint i = JOURNAL_POOL_FOLLOW; i <= JOURNAL_POOL_INTERNAL; i++)
    if ((pool->off >> i & 1) != 0)
      g_string_append_printf (text, ",%s=no", switches[i]);
  if (limit > 0)
    g_string_append_printf (text, ",max_size=%" G_GUINT64_FORMAT "B", limit);
  else if (told->limit > 0)
    g_string_append (text, ",max_size=none");
  told->limit = limit;
  told->set = *pool;
  state->set_several |= state->set_pool != 0 && state->set_pool != pool->number + 1;
  state->set_pool = pool->number + 1;
  guint32 tag = gemem_trace_info_intern (state->info, text->str);
  gemem_journal_emit (state, GEMEM_EVENT_SETTINGS, pool->device, 0)->tag = tag;
}

void
gemem_journal_pool_follow_limit (JournalState *state, const JournalRecord *record)
{
  const JournalPool pool = gemem_journal_pool_of (state, record);

  if (!state->attributes || pool.device >= JOURNAL_MAX_DEVICES)
    return;
  JournalPools *told = &state->told[pool.device];
  if (told->only != pool.number + 1)
    told->only = told->only == 0 ? pool.number + 1 : JOURNAL_SEVERAL;
  const guint64 limit = limit_of (told, &pool);
  state->unlimited |= limit == 0 && (pool.limit > 0 || told->limit > 0);
  if (limit == told->limit)
    return;
  const JournalPool set = limit > 0 ? pool : told->set;
  emit_settings (state, &set);
}

static void
set_attribute (JournalState *state, const JournalRecord *record)
{
  JournalPool *pool = pool_with (state, record->p, record->device);

  if (record->q == JOURNAL_POOL_THRESHOLD)
    pool->threshold = record->r;
  else if (record->q >= JOURNAL_POOL_FOLLOW && record->q <= JOURNAL_POOL_INTERNAL)
    pool->off = record->r != 0 ? pool->off & ~(1u << record->q) : pool->off | 1u << record->q;
  else
    return;
  emit_settings (state, pool);
}

static void
create_pool (JournalState *state, const JournalRecord *record)
{
  JournalPool *pool = pool_with (state, record->p, record->device);

  pool->limit = record->q;
  if (pool->limit > 0 && pool->device < JOURNAL_MAX_DEVICES && state->told[pool->device].only == 0)
    emit_settings (state, pool); /* before its first request, which may be refused */
}

/* A pool returns what it does not use above @record->q bytes. */
static void
trim (JournalState *state, const JournalRecord *record)
{
  JournalPool *pool = gemem_idmap_lookup (state->pools, record->p);
  const guint64 device = pool != NULL ? pool->device : record->device;

  if (pool != NULL && pool->keeps != record->q)
    {
      pool->keeps = record->q;
      emit_settings (state, pool);
    }
  gemem_journal_emit (state, GEMEM_EVENT_TRIM, device, 0);
}

void
gemem_journal_pool_call (JournalState *state, const JournalRecord *record)
{
  switch (record->call)
    {
    case JOURNAL_POOL_CREATE:
      gemem_idmap_remove (state->pools, record->p, NULL);
      create_pool (state, record);
      break;
    case JOURNAL_POOL_DEFAULT:
      if (gemem_idmap_lookup (state->pools, record->p) == NULL)
        *(JournalPool *) gemem_idmap_insert (state->pools, record->p,
                                             NULL) = (JournalPool){ .device = record->device };
      break;
    case JOURNAL_POOL_SET:
      if (record->device < JOURNAL_MAX_DEVICES)
        {
          pool_with (state, record->p, record->device);
          state->current_pool[record->device] = record->p;
        }
      break;
    case JOURNAL_POOL_TRIM:
      trim (state, record);
      break;
    case JOURNAL_POOL_ATTRIBUTE:
      set_attribute (state, record);
      break;
    default:
      gemem_idmap_remove (state->pools, record->p, NULL);
      for (guint i = 0; i < JOURNAL_MAX_DEVICES; i++)
        if (state->current_pool[i] == record->p)
          state->current_pool[i] = 0;
      break;
    }
}
