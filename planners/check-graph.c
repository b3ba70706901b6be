/* check-graph.c - the rules of graphs for plans (ge-static.md 9.1 to 9.3): which item may follow
 * which on the same bytes, for any timing of the streams.
 *
 * y may follow x if every starter of y's class is known to run after every user of x's class
 * (check-roles.h).  9.1 asks for the writers of y's original symbol only.  The checker asks for
 * those of the extended symbol: its members overlap, so a node before one must be before all.
 *
 * Batch labels: one pass runs the nodes of one label and those without a label.  So there is a
 * sweep per label, over its items and the unlabelled ones; users and starters of other labels do
 * not count.
 * Cost: O((items without label x labels + items) log items).
 *
 * In place (8.3): an output may lie on an input of its own node where the node allows it, if all
 * other users are finished before it.
 */
#include "config.h"

#include "graphs/meaning.h"
#include "graphs/overlay.h"
#include "planners/check-private.h"
#include "planners/check-roles.h"
#include "planners/check-sweep.h"

typedef struct
{
  GememCheck *check;
  GememRoles *roles;
  guint32 now;       /* label of this sweep; 0: no labels in the graph */
  GHashTable *pairs; /* gint64: pairs (earlier, later) already reported */
} GraphCheck;

static gboolean
counts (const GraphCheck *self, guint32 label)
{
  return label == 0 || label == self->now;
}

/* ---- lives of items, for sorting and messages */

/* Id of the first starter; for an item without starter (a graph input), its own node. */
static guint32
begin_of (const GraphCheck *self, guint32 i)
{
  const GememDemand *item = &self->roles->demands->items[i];
  const GememPart *part = self->roles->starters.parts + self->roles->starters.first[item->wide];
  guint32 begin = GEMEM_NONE;

  for (guint32 k = 0; k < self->roles->starters.n[item->wide]; k++)
    if (counts (self, part[k].label))
      begin = MIN (begin, part[k].node);
  return begin != GEMEM_NONE ? begin : item->node;
}

static guint32
end_of (const GraphCheck *self, guint32 i)
{
  const GememDemand *item = &self->roles->demands->items[i];
  const GememPart *part = self->roles->users.parts + self->roles->users.first[item->wide];
  guint32 end = item->node;

  for (guint32 k = 0; k < self->roles->users.n[item->wide]; k++)
    if (counts (self, part[k].label))
      end = MAX (end, part[k].node);
  return end;
}

static char *
describe_item (gconstpointer data, guint32 i)
{
  const GraphCheck *self = data;
  const GememDemand *item = &self->roles->demands->items[i];
  const GememPlan *plan = self->check->plan;
  g_autofree char *name = gemem_graph_item_text (self->roles->graph, i);
  g_autofree char *begin = item->flags & GEMEM_DEMAND_FROM_START
                               ? g_strdup ("the start")
                               : g_strdup_printf ("%u", begin_of (self, i));
  g_autofree char *end = item->flags & GEMEM_DEMAND_TO_END
                             ? g_strdup ("the end")
                             : g_strdup_printf ("%u", end_of (self, i));
  g_autofree char *bytes = plan->offsets[i] == GEMEM_NO_OFFSET
                               ? g_strdup ("no bytes")
                               : g_strdup_printf (
                                   "bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                                   plan->offsets[i], plan->offsets[i] + plan->sizes[i]);

  return g_strdup_printf ("'%s' (nodes %s to %s, %s)", name, begin, end, bytes);
}

/* ---- who may follow whom */

/* TRUE if the node of output @later may write it over the node's input @earlier. */
static gboolean
is_in_place (const GraphCheck *self, guint32 earlier, guint32 later)
{
  const GememDemand *items = self->roles->demands->items;
  const guint32 id = items[later].node;
  const GememNode *node = gemem_graph_node (self->roles->graph, id);
  const guint32 output = later - gemem_node_item (node);

  for (guint32 i = 0; i < node->n_inputs && output < node->n_outputs; i++)
    {
      const guint32 item = gemem_graph_input_item (self->roles->graph, id, i);

      if (item != GEMEM_NONE && items[item].wide == items[earlier].wide
          && gemem_graph_may_overlay (self->roles->graph, id, i, output))
        return TRUE;
    }
  return FALSE;
}

/* TRUE if every starter of @later waits for every user of @earlier; else *user and *starter are a
 * pair that violates it. */
static gboolean
may_follow (const GraphCheck *self, guint32 earlier, guint32 later, guint32 *user, guint32 *starter)
{
  const GememDemand *items = self->roles->demands->items;
  const guint32 used = items[earlier].wide, started = items[later].wide;
  const GememPart *users = self->roles->users.parts + self->roles->users.first[used],
                  *starters = self->roles->starters.parts + self->roles->starters.first[started];

  for (guint32 u = 0; u < self->roles->users.n[used]; u++)
    for (guint32 s = 0; s < self->roles->starters.n[started]; s++)
      {
        *user = users[u].node;
        *starter = starters[s].node;
        if (counts (self, users[u].label) && counts (self, starters[s].label)
            && !gemem_graph_order_after (self->roles->order, *starter, *user)
            && !(*user == *starter && *user == items[later].node
                 && is_in_place (self, earlier, later)))
          return FALSE;
      }
  return TRUE;
}

/* FALSE if this pair was reported before: a pair may share bytes in several pieces, and in the
 * sweeps of several labels. */
static gboolean
is_new_pair (const GraphCheck *self, guint32 earlier, guint32 later)
{
  gint64 *pair = g_new (gint64, 1);

  *pair = (gint64) ((guint64) earlier << 32 | later);
  return g_hash_table_add (self->pairs, pair);
}

static gboolean
meet_items (gpointer data, guint32 earlier, guint32 later)
{
  const GraphCheck *self = data;
  const GememDemand *x = &self->roles->demands->items[earlier],
                    *y = &self->roles->demands->items[later];
  const gboolean always = (x->flags & GEMEM_DEMAND_TO_END) || (y->flags & GEMEM_DEMAND_FROM_START);
  guint32 user, starter;

  if (x->wide == y->wide)
    return TRUE;
  if (!always && may_follow (self, earlier, later, &user, &starter))
    {
      self->check->reused[later] = TRUE;
      return TRUE;
    }
  if (!is_new_pair (self, earlier, later))
    return TRUE;
  if (always)
    return gemem_check_report (self->check, GEMEM_VIOLATION_OVERLAP, earlier, later,
                               "share bytes while both are alive");
  if (user >= starter)
    return gemem_check_report (self->check, GEMEM_VIOLATION_OVERLAP, earlier, later,
                               "share bytes while both are alive: node '%s' still uses the first",
                               gemem_graph_node (self->roles->graph, user)->name);
  return gemem_check_report (self->check, GEMEM_VIOLATION_STREAM, earlier, later,
                             "share bytes, and nothing makes node '%s' wait for node '%s'",
                             gemem_graph_node (self->roles->graph, starter)->name,
                             gemem_graph_node (self->roles->graph, user)->name);
}

/* ---- sweeps */

/* The claims of the items without label or with the label of this sweep. */
static GArray *
find_claims (const GraphCheck *self, const guint8 *sound)
{
  GArray *claims = g_array_new (FALSE, FALSE, sizeof (GememClaim));
  const GememPlan *plan = self->check->plan;

  for (guint32 i = 0; i < self->roles->demands->n; i++)
    {
      const GememDemand *item = &self->roles->demands->items[i];
      const guint64 size = item->flags & GEMEM_DEMAND_PIECE ? item->bytes : plan->sizes[i];
      const guint64 begin = item->flags & GEMEM_DEMAND_FROM_START
                                ? 0
                                : (guint64) begin_of (self, i) + 1;
      const GememClaim claim = { gemem_check_space (self->check, i), plan->offsets[i],
                                 plan->offsets[i] + size, begin, i };

      if (sound[i] && counts (self, self->roles->label[item->node]))
        g_array_append_val (claims, claim);
    }
  return claims;
}

static void
sweep_labels (GraphCheck *self, const guint8 *sound)
{
  gboolean go_on = TRUE;

  for (self->now = MIN (1, self->roles->n_labels); self->now <= self->roles->n_labels && go_on;
       self->now++)
    {
      g_autoptr (GArray) claims = find_claims (self, sound);

      go_on = gemem_claims_sweep (claims, meet_items, self);
    }
}

/* ---- items and ties */

static gboolean
check_items (const GraphCheck *self, guint8 *sound)
{
  const guint64 alignment = self->check->plan->alignment;

  for (guint32 i = 0; i < self->roles->demands->n; i++)
    {
      const GememDemand *item = &self->roles->demands->items[i];
      const gboolean anywhere = (item->flags & GEMEM_DEMAND_ANYWHERE)
                                || (alignment > 1 && (guint64) item->inner % alignment != 0);
      gboolean is_sound = FALSE;

      if ((item->flags & GEMEM_DEMAND_MEMORY)
          && !gemem_check_item (self->check, i, item->bytes, anywhere ? 1 : alignment, &is_sound))
        return FALSE;
      sound[i] = is_sound;
    }
  return TRUE;
}

static gboolean
check_tie (const GraphCheck *self, const GememTie *tie)
{
  static const GememViolationKind kinds[] = {
    [GEMEM_TIE_REFERENCE] = GEMEM_VIOLATION_REFERENCE,
    [GEMEM_TIE_MERGED] = GEMEM_VIOLATION_REFERENCE,
    [GEMEM_TIE_NOPADDING] = GEMEM_VIOLATION_CONTINUOUS,
    [GEMEM_TIE_PADDED] = GEMEM_VIOLATION_CONTINUOUS,
    [GEMEM_TIE_POOL] = GEMEM_VIOLATION_FIXED,
  };
  const GememPlan *plan = self->check->plan;
  const guint64 expected = plan->offsets[tie->first] + (guint64) tie->delta;

  if (gemem_check_space (self->check, tie->first) != gemem_check_space (self->check, tie->second))
    return gemem_check_report (self->check, kinds[tie->kind], tie->first, tie->second,
                               "belong together and lie in different spaces");
  if (!tie->loose && plan->offsets[tie->second] != expected)
    return gemem_check_report (self->check, kinds[tie->kind], tie->first, tie->second,
                               "the second must begin at byte %" G_GUINT64_FORMAT, expected);
  return TRUE;
}

static gboolean
check_ties (const GraphCheck *self, const guint8 *sound)
{
  for (guint i = 0; i < self->roles->demands->ties->len; i++)
    {
      const GememTie *tie = &g_array_index (self->roles->demands->ties, GememTie, i);

      if (sound[tie->first] && sound[tie->second] && !check_tie (self, tie))
        return FALSE;
    }
  return TRUE;
}

/* An item that the planner gave the name of a variable that is fed lies in the memory of that, where
 * no item lay before. */
static void
count_in_fed (GememCheck *check, const GememGraph *graph)
{
  const guint32 n = gemem_graph_n_tensors (graph), *names = check->plan->variables;
  g_autofree guint8 *written = g_new0 (guint8, (gsize) gemem_graph_n_variables (graph) + 1);

  for (guint32 t = 0; names != NULL && t < n; t++)
    if (gemem_graph_tensor (graph, t)->variable != GEMEM_NONE)
      written[gemem_graph_tensor (graph, t)->variable] = TRUE;
  for (guint32 t = 0; names != NULL && t < n; t++)
    {
      const guint32 item = gemem_graph_tensor_item (graph, t);

      if (names[item] != GEMEM_NONE && !written[names[item]] && check->plan->sizes[item] > 0)
        check->reused[item] = TRUE;
    }
}

void
gemem_check_graph (GememCheck *check, const GememGraph *graph)
{
  g_autoptr (GememRoles) roles = gemem_roles_new (graph, check->plan->clears_apart);
  g_autofree guint8 *sound = g_new0 (guint8, (gsize) roles->demands->n + 1);
  GraphCheck self = { check, roles, 0,
                      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL) };

  check->describe = describe_item;
  check->data = &self;
  if (check_items (&self, sound) && check_ties (&self, sound))
    sweep_labels (&self, sound);
  g_hash_table_unref (self.pairs);
  count_in_fed (check, graph);
}
