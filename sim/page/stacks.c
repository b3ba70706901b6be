/* stacks.c - see stacks.h. */
#include "config.h"

#include "base/io/json-text.h"
#include "base/text.h"
#include "sim/page/columns.h"
#include "sim/page/stacks.h"
#include "traces/origin.h"

typedef struct
{
  guint32 parent, frame; /* frame: an index of `frames` */
} Node;

struct _GememPageStacks
{
  const GememTraceInfo *info;
  GArray *nodes;       /* Node; [0] is none */
  GArray *frames;      /* guint32: frames of the trace */
  GHashTable *of_node; /* guint64 parent << 32 | frame -> its node */
  GHashTable *of_frame, *of_stack;
};

GememPageStacks *
gemem_page_stacks_new (const GememTraceInfo *info)
{
  GememPageStacks *self = g_new0 (GememPageStacks, 1);

  self->info = info;
  self->nodes = g_array_new (FALSE, TRUE, sizeof (Node));
  g_array_set_size (self->nodes, 1);
  self->frames = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->of_node = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->of_frame = g_hash_table_new (NULL, NULL);
  self->of_stack = g_hash_table_new (NULL, NULL);
  return self;
}

void
gemem_page_stacks_free (GememPageStacks *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->nodes);
  g_array_unref (self->frames);
  g_hash_table_unref (self->of_node);
  g_hash_table_unref (self->of_frame);
  g_hash_table_unref (self->of_stack);
  g_free (self);
}

static guint32
index_of_frame (GememPageStacks *self, guint32 frame)
{
  gpointer index = g_hash_table_lookup (self->of_frame, GUINT_TO_POINTER (frame));

  if (index != NULL)
    return GPOINTER_TO_UINT (index) - 1;
  g_array_append_val (self->frames, frame);
  g_hash_table_insert (self->of_frame, GUINT_TO_POINTER (frame),
                       GUINT_TO_POINTER (self->frames->len));
  return self->frames->len - 1;
}

/* The node of @frame below @parent. */
static guint32
child_of (GememPageStacks *self, guint32 parent, guint32 frame)
{
  const Node node = { parent, index_of_frame (self, frame) };
  guint64 key = (guint64) parent << 32 | node.frame;
  gpointer found = g_hash_table_lookup (self->of_node, &key);

  if (found != NULL)
    return GPOINTER_TO_UINT (found);
  g_hash_table_insert (self->of_node, g_memdup2 (&key, sizeof key),
                       GUINT_TO_POINTER (self->nodes->len));
  g_array_append_val (self->nodes, node);
  return self->nodes->len - 1;
}

static GememFrameLanguage
language_of (const GememPageStacks *self, guint32 frame)
{
  return gemem_frame_language (self->info, gemem_call_stacks_get_frame (self->info->stacks, frame));
}

guint32
gemem_page_stacks_node (GememPageStacks *self, guint32 stack)
{
  gpointer found = g_hash_table_lookup (self->of_stack, GUINT_TO_POINTER (stack));
  const guint32 *frames;
  gboolean python = FALSE;
  guint32 node = 0;
  guint n;

  if (stack == 0 || self->info->stacks == NULL || found != NULL)
    return GPOINTER_TO_UINT (found);
  frames = gemem_call_stacks_get (self->info->stacks, stack, &n);
  for (guint i = 0; i < n; i++)
    python = python || language_of (self, frames[i]) == GEMEM_FRAME_PYTHON;
  for (guint i = n; i-- > 0;)
    if (!python || language_of (self, frames[i]) != GEMEM_FRAME_NATIVE)
      node = child_of (self, node, frames[i]);
  g_hash_table_insert (self->of_stack, GUINT_TO_POINTER (stack), GUINT_TO_POINTER (node));
  return node;
}

static void
append_frame (GString *out, const GememPageStacks *self, guint32 frame)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *line = NULL;

  gemem_frame_append (text, self->info, gemem_call_stacks_get_frame (self->info->stacks, frame));
  line = gemem_text_cut (text->str, GEMEM_PAGE_TEXT);
  gemem_json_append_name (out, NULL);
  gemem_json_append_string (out, line);
}

void
gemem_page_stacks_append (GString *out, const GememPageStacks *self)
{
  static const GememColumn columns[] = { { "parent", G_STRUCT_OFFSET (Node, parent), TRUE },
                                         { "frame", G_STRUCT_OFFSET (Node, frame), TRUE },
                                         { NULL, 0, FALSE } };

  g_string_append_c (out, '{');
  gemem_columns_append (out, columns, self->nodes);
  gemem_json_append_name (out, "frames");
  g_string_append_c (out, '[');
  for (guint i = 0; i < self->frames->len; i++)
    append_frame (out, self, g_array_index (self->frames, guint32, i));
  g_string_append (out, "]}");
}
