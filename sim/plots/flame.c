/* flame.c - see flame.h.
 *
 * The stacks become a tree, whose nodes are laid out from the left, the largest first; a node ends where its bytes end, to the column, so
 * cells of one row never overlap and a cell is never wider than its caller's. What is narrower than MIN_CELL is left out and counted, and
 * so is what lies below MAX_ROWS.
 *
 * Colours say whose code it is; the edges of cells say the same widths without.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/flame.h"
#include "traces/origin.h"

#define WIDTH 80
#define MIN_WIDTH 20
#define MIN_CELL 2 /* an edge and a letter */
#define MAX_ROWS 100
#define EDGE 0x258f

typedef struct _Node Node;
struct _Node
{
  Node *parent;
  guint32 frame; /* 0: a row without stacks, named by `name` */
  const char *name;
  guint64 bytes;
  GPtrArray *children; /* Node, the largest first once they are sorted; NULL: none */
};

typedef struct
{
  const GememTraceInfo *info;
  GememCanvas *canvas;
  guint columns;
  guint64 all;        /* bytes of the whole width */
  guint64 left_bytes; /* in cells that are left out */
  guint left;
} Flame;

/* ---- the tree */

static guint
hash_node (gconstpointer key)
{
  const Node *node = key;

  return g_direct_hash (node->parent) * 31 + node->frame * 0x9e3779b9u + g_direct_hash (node->name);
}

static gboolean
same_node (gconstpointer a, gconstpointer b)
{
  const Node *x = a, *y = b;

  return x->parent == y->parent && x->frame == y->frame && x->name == y->name;
}

static void
node_free (gpointer data)
{
  Node *node = data;

  if (node->children != NULL)
    g_ptr_array_unref (node->children);
  g_free (node);
}

/* The child of @parent for @frame or @name, to which @bytes are added. */
static Node *
grow (GHashTable *nodes, Node *parent, guint32 frame, const char *name, guint64 bytes)
{
  const Node key = { .parent = parent, .frame = frame, .name = name };
  Node *node = g_hash_table_lookup (nodes, &key);

  if (node == NULL)
    {
      node = g_memdup2 (&key, sizeof key);
      g_hash_table_add (nodes, node);
      if (parent->children == NULL)
        parent->children = g_ptr_array_new ();
      g_ptr_array_add (parent->children, node);
    }
  node->bytes += bytes;
  return node;
}

static void
add_holder (GHashTable *nodes, Node *root, const GememHolder *holder)
{
  Node *node = root;

  for (guint f = holder->frames->len; f-- > 0;)
    node = grow (nodes, node, g_array_index (holder->frames, guint32, f), NULL, holder->bytes);
  if (holder->frames->len == 0)
    grow (nodes, root, 0, holder->name, holder->bytes);
}

/* Holders are sorted, so that of equal ones the first that was added stays first. */
static int
larger_first (gconstpointer a, gconstpointer b)
{
  const Node *x = *(const Node *const *) a, *y = *(const Node *const *) b;

  return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* ---- cells */

/* The column at which @bytes of all end. */
static guint
column_of (const Flame *flame, guint64 bytes)
{
  return (guint) ((double) bytes / (double) flame->all * flame->columns + 0.5);
}

static GememTint
tint_of (const Flame *flame, const Node *node)
{
  if (node->frame == 0)
    return GEMEM_TINT_NONE;
  const GememFrame *frame = gemem_call_stacks_get_frame (flame->info->stacks, node->frame);
  if (gemem_frame_language (flame->info, frame) == GEMEM_FRAME_OPERATOR)
    return GEMEM_TINT_WHITE;
  return gemem_frame_is_program (flame->info, frame) ? GEMEM_TINT_YELLOW : GEMEM_TINT_CYAN;
}

/* "train.py:12 step +3  1.500 GiB": without folders, since cells are narrow. */
static char *
text_of (const Flame *flame, const Node *node, guint others)
{
  g_autoptr (GString) text = g_string_new (node->name);
  char size[GEMEM_FORMAT_MAX];

  if (node->frame != 0)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (flame->info->stacks, node->frame);
      const char *file = gemem_frame_file (flame->info, frame), *slash = strrchr (file, '/');
      gemem_frame_append (text, flame->info, frame);
      if (slash != NULL && g_str_has_prefix (text->str, file))
        g_string_erase (text, 0, slash + 1 - file);
    }
  if (others > 0)
    g_string_append_printf (text, " +%u", others);
  g_string_append_printf (text, "  %s", gemem_format_size (size, node->bytes));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Draws the cell of @first and of those below it that hold the same bytes; returns the last of them. */
static const Node *
draw_chain (Flame *flame, guint row, guint from, guint to, const Node *first)
{
  const Node *last = first, *shown = first;
  g_autoptr (GArray) frames = g_array_new (FALSE, FALSE, sizeof (guint32));

  g_array_append_val (frames, first->frame);
  while (last->children != NULL && last->children->len == 1
         && ((const Node *) last->children->pdata[0])->bytes == last->bytes)
    {
      last = last->children->pdata[0];
      g_array_prepend_val (frames, last->frame);
    }
  if (first->frame != 0)
    {
      const guint32 line = gemem_origin_choose (flame->info, (const guint32 *) frames->data,
                                                frames->len);
      for (shown = last; shown != first && shown->frame != line;)
        shown = shown->parent;
    }
  g_autofree char *text = text_of (flame, shown, frames->len - 1);
  const GememTint tint = tint_of (flame, shown);
  gemem_canvas_put (flame->canvas, row, from, EDGE, tint);
  gemem_canvas_text (flame->canvas, row, from + 1, to - from - 1, text, tint);
  gemem_canvas_put (flame->canvas, row, to, EDGE,
                    GEMEM_TINT_NONE); /* until a neighbour begins there */
  return last;
}

/* Draws the children of @node, of which the first begins at byte @start of all. */
static void
draw_children (Flame *flame, guint row, guint64 start, const Node *node)
{
  for (guint i = 0; node->children != NULL && i < node->children->len; i++)
    {
      const Node *child = node->children->pdata[i];
      const guint from = column_of (flame, start), to = column_of (flame, start + child->bytes);
      if (to - from >= MIN_CELL && row < MAX_ROWS)
        draw_children (flame, row + 1, start, draw_chain (flame, row, from, to, child));
      else if (child->bytes > 0)
        {
          flame->left++;
          flame->left_bytes += child->bytes;
        }
      start += child->bytes;
    }
}

void
gemem_flame_text (GString *out, const GememTraceInfo *info, const GememDeviceHolders *device,
                  guint width, const GememTextLook *look)
{
  g_autoptr (GHashTable) nodes = g_hash_table_new_full (hash_node, same_node, node_free, NULL);
  Node root = { .bytes = device->bytes };
  Flame flame = { .info = info,
                  .columns = MAX (width > 0 ? width : WIDTH, MIN_WIDTH) - 1,
                  .all = device->bytes };
  char size[GEMEM_FORMAT_MAX];
  GHashTableIter iter;
  Node *node;

  if (device->bytes == 0)
    {
      g_string_append (out, "nothing is alive then\n");
      return;
    }
  for (guint i = 0; i < device->holders->len; i++)
    add_holder (nodes, &root, device->holders->pdata[i]);
  g_ptr_array_sort (root.children, larger_first);
  g_hash_table_iter_init (&iter, nodes);
  while (g_hash_table_iter_next (&iter, (gpointer *) &node, NULL))
    if (node->children != NULL)
      g_ptr_array_sort (node->children, larger_first);
  flame.canvas = gemem_canvas_new (flame.columns + 1);
  draw_children (&flame, 0, 0, &root);
  gemem_canvas_append (out, flame.canvas, look);
  gemem_canvas_free (flame.canvas);
  g_ptr_array_unref (root.children);
  if (flame.left > 0)
    g_string_append_printf (out, "too narrow or too deep to be drawn: %u, %s together\n",
                            flame.left, gemem_format_size (size, flame.left_bytes));
  if (look->colour)
    g_string_append (out,
                     "yellow: your program, cyan: packages and native code, white: operators\n");
}
