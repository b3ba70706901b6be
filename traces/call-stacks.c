/* call-stacks.c - see call-stacks.h.
 *
 * Two open-addressing tables of numbers, of frames and of stacks, over arrays that only grow.
 * Invariants: number n is at index n - 1 of its array; a stack's frames are pool[start .. start +
 * length).
 */
#include "config.h"

#include <string.h>

#include "traces/call-stacks.h"

#define MAX_NUMBER ((1u << 28) - 2)
#define MAX_POOL (1u << 30)

typedef struct
{
  guint32 start, length, flags, hash;
} Stack;

typedef struct
{
  guint32 *slots; /* number, or 0 */
  guint32 mask;
} Table;

struct _GememCallStacks
{
  GArray *frames; /* GememFrame */
  GArray *stacks; /* Stack */
  GArray *pool;   /* guint32: numbers of frames */
  Table by_frame, by_stack;
};

static guint32
mix (guint32 hash, guint32 value)
{
  guint64 product = (hash ^ value) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (guint32) (product >> 32) ^ (guint32) product;
}

static guint32
hash_frame (const GememFrame *frame)
{
  return mix (mix (mix (1, frame->name), frame->file), frame->line);
}

GememCallStacks *
gemem_call_stacks_new (void)
{
  GememCallStacks *stacks = g_new0 (GememCallStacks, 1);

  stacks->frames = g_array_new (FALSE, FALSE, sizeof (GememFrame));
  stacks->stacks = g_array_new (FALSE, FALSE, sizeof (Stack));
  stacks->pool = g_array_new (FALSE, FALSE, sizeof (guint32));
  stacks->by_frame.mask = stacks->by_stack.mask = 255;
  stacks->by_frame.slots = g_new0 (guint32, 256);
  stacks->by_stack.slots = g_new0 (guint32, 256);
  return stacks;
}

void
gemem_call_stacks_free (GememCallStacks *stacks)
{
  g_array_unref (stacks->frames);
  g_array_unref (stacks->stacks);
  g_array_unref (stacks->pool);
  g_free (stacks->by_frame.slots);
  g_free (stacks->by_stack.slots);
  g_free (stacks);
}

/* ---- tables */

static void
table_put (Table *table, guint32 hash, guint32 number)
{
  guint32 slot = hash & table->mask;
  while (table->slots[slot] != 0)
    slot = (slot + 1) & table->mask;
  table->slots[slot] = number;
}

/* Room for one more than @n; afterwards the caller puts all in again if TRUE. */
static gboolean
table_grow (Table *table, guint32 n)
{
  if (n < table->mask / 2)
    return FALSE;
  table->mask = table->mask * 2 + 1;
  g_free (table->slots);
  table->slots = g_new0 (guint32, (gsize) table->mask + 1);
  return TRUE;
}

/* ---- frames */

guint32
gemem_call_stacks_frame (GememCallStacks *stacks, const GememFrame *frame)
{
  Table *table = &stacks->by_frame;
  guint32 hash = hash_frame (frame), n = stacks->frames->len;

  for (guint32 slot = hash & table->mask; table->slots[slot] != 0; slot = (slot + 1) & table->mask)
    {
      const GememFrame *known = &g_array_index (stacks->frames, GememFrame, table->slots[slot] - 1);
      if (known->name == frame->name && known->file == frame->file && known->line == frame->line)
        return table->slots[slot];
    }
  if (n == MAX_NUMBER)
    return 0;
  if (table_grow (table, n))
    for (guint32 i = 0; i < n; i++)
      table_put (table, hash_frame (&g_array_index (stacks->frames, GememFrame, i)), i + 1);
  g_array_append_vals (stacks->frames, frame, 1);
  table_put (table, hash, n + 1);
  return n + 1;
}

/* ---- stacks */

/* The frames of pool[start ..) become a stack, or go again if there is one like it. */
static guint32
settle (GememCallStacks *stacks, Stack *stack)
{
  Table *table = &stacks->by_stack;
  const guint32 *pool = (const guint32 *) stacks->pool->data, n = stacks->stacks->len;

  for (guint32 slot = stack->hash & table->mask; table->slots[slot] != 0;
       slot = (slot + 1) & table->mask)
    {
      const Stack *known = &g_array_index (stacks->stacks, Stack, table->slots[slot] - 1);
      if (known->hash == stack->hash && known->length == stack->length
          && memcmp (pool + known->start, pool + stack->start, stack->length * sizeof *pool) == 0)
        {
          g_array_set_size (stacks->pool, stack->start);
          return table->slots[slot];
        }
    }
  if (n == MAX_NUMBER)
    {
      g_array_set_size (stacks->pool, stack->start);
      return 0;
    }
  if (table_grow (table, n))
    for (guint32 i = 0; i < n; i++)
      table_put (table, g_array_index (stacks->stacks, Stack, i).hash, i + 1);
  g_array_append_vals (stacks->stacks, stack, 1);
  table_put (table, stack->hash, n + 1);
  return n + 1;
}

static void
add_frame (GememCallStacks *stacks, Stack *stack, guint32 frame)
{
  g_array_append_val (stacks->pool, frame);
  stack->length++;
  stack->hash = mix (stack->hash, frame);
  stack->flags |= g_array_index (stacks->frames, GememFrame, frame - 1).flags;
}

guint32
gemem_call_stacks_extend (GememCallStacks *stacks, guint32 before, const guint32 *frames, guint n)
{
  Stack stack = { .start = stacks->pool->len };
  Stack first = before > 0 ? g_array_index (stacks->stacks, Stack, before - 1) : (Stack){ 0 };

  if ((guint64) stack.start + first.length + n > MAX_POOL)
    return 0;
  for (guint32 i = 0; i < first.length; i++)
    add_frame (stacks, &stack, g_array_index (stacks->pool, guint32, first.start + i));
  for (guint i = 0; i < n; i++)
    if (frames[i] > 0)
      add_frame (stacks, &stack, frames[i]);
  return stack.length > 0 ? settle (stacks, &stack) : 0;
}

guint32
gemem_call_stacks_flags (const GememCallStacks *stacks, guint32 stack)
{
  return stack > 0 ? g_array_index (stacks->stacks, Stack, stack - 1).flags : 0;
}
