/* call-stacks.c - see call-stacks.h.
 *
 * Frames and stacks are kept in arrays that only grow; two maps lead from a hash to the number.  If
 * two entries have the same hash, the later one uses the next free key.
 * Invariants: number n is at index n - 1 of its array; the frames of a stack are pool[start ..
 * start + length).
 */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "traces/call-stacks.h"

#define MAX_NUMBER ((1u << 28) - 2)
#define MAX_POOL (1u << 30)

typedef struct
{
  guint32 start, length, flags;
} Stack;

struct _GememCallStacks
{
  guint references;
  GArray *frames;                  /* GememFrame */
  GArray *stacks;                  /* Stack */
  GArray *pool;                    /* guint32: numbers of frames */
  GememIdMap *by_frame, *by_stack; /* hash -> number */
};

static guint64
mix (guint64 hash, guint32 value)
{
  const guint64 product = (hash ^ value) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return product >> 32 ^ product;
}

GememCallStacks *
gemem_call_stacks_new (void)
{
  GememCallStacks *stacks = g_new0 (GememCallStacks, 1);

  stacks->references = 1;
  stacks->frames = g_array_new (FALSE, FALSE, sizeof (GememFrame));
  stacks->stacks = g_array_new (FALSE, FALSE, sizeof (Stack));
  stacks->pool = g_array_new (FALSE, FALSE, sizeof (guint32));
  stacks->by_frame = gemem_idmap_new (sizeof (guint64));
  stacks->by_stack = gemem_idmap_new (sizeof (guint64));
  return stacks;
}

GememCallStacks *
gemem_call_stacks_ref (GememCallStacks *stacks)
{
  stacks->references++;
  return stacks;
}

void
gemem_call_stacks_free (GememCallStacks *stacks)
{
  if (stacks == NULL || --stacks->references > 0)
    return;
  g_array_unref (stacks->frames);
  g_array_unref (stacks->stacks);
  g_array_unref (stacks->pool);
  gemem_idmap_free (stacks->by_frame);
  gemem_idmap_free (stacks->by_stack);
  g_free (stacks);
}

/* Returns the number of the last element of @array, entered in @map under @key; 0: none is left. */
static guint32
number_last (GememIdMap *map, guint64 key, GArray *array)
{
  if (array->len > MAX_NUMBER)
    {
      g_array_set_size (array, MAX_NUMBER);
      return 0;
    }
  *(guint64 *) gemem_idmap_insert (map, key, NULL) = array->len;
  return array->len;
}

/* ---- frames */

/* Returns the number of the frame equal to @frame, or 0 and in *@key the free key for it. */
static guint32
find_frame (const GememCallStacks *stacks, const GememFrame *frame, guint64 *key)
{
  const guint64 *number;

  *key = mix (mix (mix (1, frame->name), frame->file), frame->line);
  for (; (number = gemem_idmap_lookup (stacks->by_frame, *key)) != NULL; ++*key)
    {
      const GememFrame *known = &g_array_index (stacks->frames, GememFrame, *number - 1);
      if (known->name == frame->name && known->file == frame->file && known->line == frame->line)
        return (guint32) *number;
    }
  return 0;
}

guint32
gemem_call_stacks_frame (GememCallStacks *stacks, const GememFrame *frame)
{
  guint64 key;
  guint32 known = find_frame (stacks, frame, &key);

  if (known != 0)
    return known;
  g_array_append_vals (stacks->frames, frame, 1);
  return number_last (stacks->by_frame, key, stacks->frames);
}

const GememFrame *
gemem_call_stacks_get_frame (const GememCallStacks *stacks, guint32 frame)
{
  return &g_array_index (stacks->frames, GememFrame, frame - 1);
}

guint32
gemem_call_stacks_frames (const GememCallStacks *stacks)
{
  return stacks->frames->len;
}

void
gemem_call_stacks_rename (GememCallStacks *stacks, GememRenameString rename, gpointer data)
{
  gemem_idmap_free (stacks->by_frame);
  stacks->by_frame = gemem_idmap_new (sizeof (guint64));
  for (guint32 i = 0; i < stacks->frames->len; i++)
    {
      GememFrame *frame = &g_array_index (stacks->frames, GememFrame, i);
      guint64 key;

      frame->name = rename (data, frame->name, FALSE);
      frame->file = rename (data, frame->file, TRUE);
      if (find_frame (stacks, frame, &key) == 0)
        *(guint64 *) gemem_idmap_insert (stacks->by_frame, key, NULL) = i + 1;
    }
}

/* ---- stacks */

/* Returns the number of @stack, whose frames are the last of the pool; they are removed again if an
 * equal stack exists. */
static guint32
intern (GememCallStacks *stacks, const Stack *stack, guint64 key)
{
  const guint32 *pool = (const guint32 *) stacks->pool->data;
  const guint64 *number;
  guint32 added;

  for (; (number = gemem_idmap_lookup (stacks->by_stack, key)) != NULL; key++)
    {
      const Stack *known = &g_array_index (stacks->stacks, Stack, *number - 1);
      if (known->length == stack->length
          && memcmp (pool + known->start, pool + stack->start, stack->length * sizeof *pool) == 0)
        {
          g_array_set_size (stacks->pool, stack->start);
          return (guint32) *number;
        }
    }
  g_array_append_vals (stacks->stacks, stack, 1);
  added = number_last (stacks->by_stack, key, stacks->stacks);
  if (added == 0)
    g_array_set_size (stacks->pool, stack->start);
  return added;
}

static void
add_frame (GememCallStacks *stacks, Stack *stack, guint64 *hash, guint32 frame)
{
  g_array_index (stacks->pool, guint32, stack->start + stack->length++) = frame;
  *hash = mix (*hash, frame);
  stack->flags |= g_array_index (stacks->frames, GememFrame, frame - 1).flags;
}

guint32
gemem_call_stacks_extend (GememCallStacks *stacks, guint32 before, const guint32 *frames, guint n)
{
  Stack stack = { .start = stacks->pool->len };
  Stack first = before > 0 ? g_array_index (stacks->stacks, Stack, before - 1) : (Stack){ 0 };
  guint64 hash = 0;

  n = MIN (n, GEMEM_MAX_STACK - first.length);
  if ((guint64) stack.start + first.length + n > MAX_POOL)
    return 0;
  g_array_set_size (stacks->pool, stack.start + first.length + n);
  for (guint32 i = 0; i < first.length; i++)
    add_frame (stacks, &stack, &hash, g_array_index (stacks->pool, guint32, first.start + i));
  for (guint i = 0; i < n; i++)
    if (frames[i] > 0)
      add_frame (stacks, &stack, &hash, frames[i]);
  g_array_set_size (stacks->pool, stack.start + stack.length);
  return stack.length > 0 ? intern (stacks, &stack, hash) : 0;
}

guint32
gemem_call_stacks_count (const GememCallStacks *stacks)
{
  return stacks->stacks->len;
}

const guint32 *
gemem_call_stacks_get (const GememCallStacks *stacks, guint32 stack, guint *n)
{
  const Stack *found = stack > 0 ? &g_array_index (stacks->stacks, Stack, stack - 1) : NULL;

  *n = found != NULL ? found->length : 0;
  return found != NULL ? &g_array_index (stacks->pool, guint32, found->start) : NULL;
}

guint32
gemem_call_stacks_flags (const GememCallStacks *stacks, guint32 stack)
{
  return stack > 0 ? g_array_index (stacks->stacks, Stack, stack - 1).flags : 0;
}
