/* replay.c - does again, on the host, what led to the bytes that the program reads (replay.h).
 *
 * Invariants: blocks of at most BYTES_MAX bytes together, INSTRUCTIONS_MAX instructions for a read
 * (LITTLE_MAX for one of little worth) and ALL_MAX for the process; beyond it what is read is
 * unknown. Two blocks that had the same address one after the other are two pieces of memory.
 */
#include "config.h"

#include <string.h>

#include "dry/replay/replay-private.h"

#define BYTES_MAX ((guint64) 48 << 20)
#define INSTRUCTIONS_MAX ((guint64) 1 << 29)
#define LITTLE_MAX ((guint64) 1 << 24) /* for what is not worth much */
#define ALL_MAX ((guint64) 1 << 32)

static guint64 left = ALL_MAX;

static guint8 *
bytes_at (const ReplayBlock *block, guint64 address)
{
  return block->memory.bytes + (address - block->address);
}

static guint8 *
states_at (const ReplayBlock *block, guint64 address)
{
  return block->memory.states + (address - block->address);
}

static void
set_states (const ReplayBlock *block, guint64 address, guint64 size, guint8 state)
{
  memset (states_at (block, address), state, size);
}

/* All that @event may have written has at least @state. */
static void
worsen (const ReplayEvent *event, guint8 state)
{
  for (guint i = 0; i < event->n_touches; i++)
    for (guint64 k = 0; event->touches[i].writes && event->touches[i].block->memory.states != NULL
                        && k < event->touches[i].block->size;
         k++)
      event->touches[i].block->memory.states[k] = MAX (event->touches[i].block->memory.states[k],
                                                       state);
}

static void
fill (const ReplayEvent *event)
{
  guint8 *to = bytes_at (event->touches[0].block, event->address);

  for (guint64 i = 0; i < event->size; i++)
    to[i] = (guint8) (event->value >> (8 * (i % event->unit)));
  set_states (event->touches[0].block, event->address, event->size, GEMEM_PTX_KNOWN);
}

/* The parameters as the code wants them, at their places; NULL: they are others. */
static guint8 *
lay_out (const ReplayEvent *event, const GememPtxFunction *code)
{
  const GArray *known = gemem_replay_parameters (event->source, event->name),
               *wanted = gemem_ptx_parameters (code);
  guint8 *block;
  gsize from = 0;

  if (known == NULL || known->len != wanted->len / 2)
    return NULL;
  block = g_malloc0 (gemem_ptx_parameter_size (code) + 1);
  for (guint i = 0; i < known->len; i++)
    {
      const guint16 at = g_array_index (wanted, guint16, 2 * i),
                    size = g_array_index (wanted, guint16, 2 * i + 1);
      if (size != g_array_index (known, ReplayParameter, i).size)
        {
          g_free (block);
          return NULL;
        }
      memcpy (block + at, event->bytes + from, size);
      from += size;
    }
  return block;
}

static GememPtxEnd
launch (const ReplayEvent *event, guint64 *budget)
{
  const GememPtxFunction *code = gemem_replay_code (event->source, event->name);
  g_autofree guint8 *parameters = code != NULL ? lay_out (event, code) : NULL;
  g_autofree GememPtxMemory *memory = g_new (GememPtxMemory, event->n_touches);
  GememPtxLaunch what = { .shared = event->shared,
                          .parameters = parameters,
                          .memory = memory,
                          .n_memory = event->n_touches,
                          .budget = budget };

  if (parameters == NULL)
    return GEMEM_PTX_LOST;
  for (guint i = 0; i < event->n_touches; i++)
    memory[i] = event->touches[i].block->memory;
  memcpy (what.grid, event->grid, sizeof what.grid);
  memcpy (what.block, event->block, sizeof what.block);
  return gemem_ptx_run (code, &what);
}

static gboolean
call (const ReplayEvent *event)
{
  g_autofree guint8 **bytes = g_new (guint8 *, event->n_touches);
  g_autofree guint8 **states = g_new (guint8 *, event->n_touches);

  for (guint i = 0; i < event->n_touches; i++)
    {
      bytes[i] = bytes_at (event->touches[i].block, event->addresses[i]);
      states[i] = states_at (event->touches[i].block, event->addresses[i]);
    }
  return gemem_replay_function (event, bytes, states) != 0;
}

static void
do_again (const ReplayEvent *event, guint64 *budget)
{
  const ReplayBlock *block = event->touches[0].block;
  GememPtxEnd end;

  switch (event->kind)
    {
    case EVENT_HOST:
      memcpy (bytes_at (block, event->address), event->bytes, event->size);
      set_states (block, event->address, event->size, GEMEM_PTX_KNOWN);
      break;
    case EVENT_FILL:
      fill (event);
      break;
    case EVENT_CARRY:
      memmove (bytes_at (block, event->address), bytes_at (event->touches[1].block, event->from),
               event->size);
      memmove (states_at (block, event->address), states_at (event->touches[1].block, event->from),
               event->size);
      break;
    case EVENT_LAUNCH:
      end = launch (event, budget);
      if (end != GEMEM_PTX_DONE)
        worsen (event, end == GEMEM_PTX_LOST ? GEMEM_PTX_UNKNOWN : GEMEM_PTX_ASSUMED);
      break;
    case EVENT_FUNCTION:
      if (!call (event))
        worsen (event, GEMEM_PTX_UNKNOWN);
      break;
    case EVENT_FOUND:
      memcpy (block->memory.bytes, event->bytes, block->size);
      memcpy (block->memory.states, event->bytes + block->size, block->size);
      break;
    default:
      if (event->n_touches == 1 && event->size > 0)
        set_states (block, event->address, event->size, GEMEM_PTX_UNKNOWN);
      else
        worsen (event, GEMEM_PTX_UNKNOWN);
    }
}

/* What may be written at any time is never known. */
static void
forget_escaped (const ReplayEvent *event)
{
  for (guint i = 0; i < event->n_touches; i++)
    if (event->touches[i].block->escaped)
      set_states (event->touches[i].block, event->touches[i].block->address,
                  event->touches[i].block->size, GEMEM_PTX_UNKNOWN);
}

/* Gives the blocks memory; FALSE: they are too large. */
static gboolean
give_memory (GPtrArray *blocks)
{
  guint64 size = 0;

  for (guint i = 0; i < blocks->len; i++)
    size += 2 * ((ReplayBlock *) blocks->pdata[i])->size;
  if (size > 2 * BYTES_MAX)
    return FALSE;
  for (guint i = 0; i < blocks->len; i++)
    {
      ReplayBlock *block = blocks->pdata[i];
      block->memory = (GememPtxMemory){ block->address, block->size, g_malloc0 (block->size),
                                        g_malloc (block->size) };
      memset (block->memory.states, GEMEM_PTX_UNKNOWN, block->size);
    }
  return TRUE;
}

static void
take_memory (GPtrArray *blocks)
{
  for (guint i = 0; i < blocks->len; i++)
    {
      ReplayBlock *block = blocks->pdata[i];
      g_clear_pointer (&block->memory.bytes, g_free);
      g_clear_pointer (&block->memory.states, g_free);
    }
}

/* Keeps what living blocks were found to hold now, for the next read. */
static void
keep_found (GPtrArray *blocks)
{
  for (guint i = 0; i < blocks->len; i++)
    {
      ReplayBlock *block = blocks->pdata[i];
      const ReplayEvent *last = block->writers->len > 0
                                    ? block->writers->pdata[block->writers->len - 1]
                                    : NULL;
      if (block->live && last != NULL && last->sequence <= block->need && last->kind != EVENT_FOUND
          && last->kind != EVENT_LOST)
        gemem_replay_found (block, &block->memory);
    }
}

/* Whether a function drew numbers that led here. */
static gboolean
has_drawn (const GPtrArray *events)
{
  for (guint i = 0; i < events->len; i++)
    if (((const ReplayEvent *) events->pdata[i])->drawn)
      return TRUE;
  return FALSE;
}

static int
read_block (ReplayBlock *block, guint64 from, gsize size, gpointer to, gboolean little)
{
  g_autoptr (GPtrArray) blocks = NULL;
  g_autoptr (GPtrArray) events = gemem_replay_collect (block, &blocks);
  guint64 budget = MIN (little ? LITTLE_MAX : INSTRUCTIONS_MAX, left);
  const guint64 before = budget;
  int state = GEMEM_PTX_UNKNOWN;

  if (!(little && has_drawn (events)) && give_memory (blocks))
    {
      for (guint i = 0; i < events->len; i++)
        {
          do_again (events->pdata[i], &budget);
          forget_escaped (events->pdata[i]);
        }
      state = GEMEM_PTX_KNOWN;
      for (guint64 i = 0; i < size; i++)
        state = MAX (state, states_at (block, from)[i]);
      if (state != GEMEM_PTX_UNKNOWN)
        memcpy (to, bytes_at (block, from), size);
      left -= before - budget;
      keep_found (blocks);
      take_memory (blocks);
    }
  return state;
}

int
gemem_dry_replay (guint64 from, gsize size, gpointer to, int little)
{
  int state = GEMEM_PTX_UNKNOWN;

  gemem_replay_lock ();
  ReplayBlock *block = gemem_replay_block_at (from, size);
  if (block != NULL && size > 0 && !block->escaped && block->writers->len > 0)
    state = read_block (block, from, size, to, little != 0);
  gemem_replay_unlock ();
  return state;
}
