/* holders.c - see holders.h.
 *
 * The first pass finds the moment of each device, the second one keeps the live blocks up to the
 * last of these moments.  At its moment the blocks of a device are grouped: blocks with an equal
 * property (number of a stack, of a string, a size...) first, then properties with an equal name.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/params.h"
#include "base/units.h"
#include "traces/attribution.h"
#include "traces/holder-names.h"
#include "traces/holders.h"
#include "traces/origin.h"
#include "traces/summary.h"

typedef struct
{
  guint64 size, stream;
  guint32 stack, tag, pool, phase;
  guint16 device;
  gboolean initial;
  GememAttribution by; /* of rows by line */
} LiveBlock;

typedef struct
{
  guint16 device;
  GArray *open; /* guint32: names of the phases that have begun and not ended */
  GememAttributor attributor;
} DeviceState;

typedef struct
{
  const GememHoldersOptions *options;
  GememHolders *result;
  GememIdMap *live;    /* id -> LiveBlock */
  GPtrArray *states;   /* DeviceState */
  gboolean phases_end; /* the trace says where phases end */
  GError *unmatched;   /* why a text could not be compared with the focus */
} Pass;

/* ---- words */

const char *const *
gemem_hold_by_names (void)
{
  static const char *const names[GEMEM_HOLD_BY_COUNT + 1] = { "stack",    "line",     "file",
                                                              "operator", "category", "phase",
                                                              "size",     "stream",   "pool" };
  return names;
}

const char *const *
gemem_frame_choice_names (void)
{
  static const char *const names[GEMEM_FRAMES_COUNT + 1] = { "auto", "python", "native", "all" };
  return names;
}

gboolean
gemem_moment_parse (const char *text, GememMoment *moment, GError **error)
{
  static const char *const words[] = { "peak", "end", "oom", NULL };
  const gboolean numbered = g_str_has_prefix (text, "oom:");
  const char *near;

  *moment = (GememMoment){ GEMEM_MOMENT_PEAK, 0 };
  if (strcmp (text, "peak") == 0)
    return TRUE;
  moment->kind = strcmp (text, "end") == 0               ? GEMEM_MOMENT_END
                 : numbered || strcmp (text, "oom") == 0 ? GEMEM_MOMENT_OOM
                                                         : GEMEM_MOMENT_EVENT;
  if (moment->kind == GEMEM_MOMENT_END)
    return TRUE;
  moment->number = 1;
  if (moment->kind == GEMEM_MOMENT_OOM && !numbered)
    return TRUE;
  if (gemem_parse_uint (numbered ? text + strlen ("oom:") : text, &moment->number, NULL)
      && (!numbered || moment->number > 0))
    return TRUE;
  near = gemem_suggest (text, words);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "'%s' is no moment; %s%s%swrite peak, end, oom, oom:N (from 1) or the number of an "
               "event",
               text, near != NULL ? "did you mean " : "", near != NULL ? near : "",
               near != NULL ? "? " : "");
  return FALSE;
}

/* ---- one device */

static void
holder_free (gpointer data)
{
  GememHolder *holder = data;
  g_free (holder->name);
  g_clear_pointer (&holder->frames, g_array_unref);
  g_free (holder);
}

static void
device_free (gpointer data)
{
  GememDeviceHolders *device = data;
  g_ptr_array_unref (device->holders);
  g_free (device);
}

static GememDeviceHolders *
add_device (GememHolders *result, guint16 number, guint64 event)
{
  GememDeviceHolders *device = g_new0 (GememDeviceHolders, 1);

  device->device = number;
  device->event = event;
  device->holders = g_ptr_array_new_with_free_func (holder_free);
  g_ptr_array_add (result->devices, device);
  return device;
}

/* ---- the name of a property */

static const char *
unknown_name (const GememHoldersOptions *options)
{
  return options->frames == GEMEM_FRAMES_PYTHON   ? "unknown, or no Python frame"
         : options->frames == GEMEM_FRAMES_NATIVE ? "unknown, or no native frame"
                                                  : "unknown";
}

/* The frames of @stack that count. */
static GArray *
chosen_frames (const Pass *pass, guint32 stack)
{
  const GememTraceInfo *info = &pass->result->reader->info;
  GememFrameChoice choice = pass->options->frames;
  GArray *chosen = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n = 0;
  const guint32 *frames = stack > 0 ? gemem_call_stacks_get (info->stacks, stack, &n) : NULL;
  gboolean python = FALSE;

#define LANGUAGE(i) \
  gemem_frame_language (info, gemem_call_stacks_get_frame (info->stacks, frames[i]))
  for (guint i = 0; i < n && !python; i++)
    python = LANGUAGE (i) == GEMEM_FRAME_PYTHON;
  if (choice == GEMEM_FRAMES_AUTO)
    choice = python ? GEMEM_FRAMES_PYTHON : GEMEM_FRAMES_ALL;
  for (guint i = 0; i < n; i++)
    {
      const GememFrameLanguage language = LANGUAGE (i);
      if (choice == GEMEM_FRAMES_ALL || language == GEMEM_FRAME_OPERATOR
          || (language == GEMEM_FRAME_PYTHON) == (choice == GEMEM_FRAMES_PYTHON))
        g_array_append_val (chosen, frames[i]);
    }
#undef LANGUAGE
  if (pass->options->depth > 0 && chosen->len > pass->options->depth)
    g_array_set_size (chosen, pass->options->depth);
  return chosen;
}

/* The frame that stands for the line of the program among the frames of @stack that count; NULL:
 * none. */
static const GememFrame *
chosen_line (const Pass *pass, guint32 stack)
{
  const GememTraceInfo *info = &pass->result->reader->info;
  g_autoptr (GArray) frames = chosen_frames (pass, stack);
  const guint32 line = gemem_origin_choose (info, (const guint32 *) frames->data, frames->len);
  return line > 0 ? gemem_call_stacks_get_frame (info->stacks, line) : NULL;
}

/* Whether a row is what attribution.h says: a line, of all frames. */
static gboolean
is_attributed (const Pass *pass)
{
  return pass->options->by == GEMEM_HOLD_BY_LINE && pass->options->frames == GEMEM_FRAMES_AUTO
         && pass->options->depth == 0 && pass->result->reader->info.stacks != NULL;
}

/* The number that equal properties of blocks share. */
static guint64
property_of (const Pass *pass, const LiveBlock *block)
{
  switch (pass->options->by)
    {
    case GEMEM_HOLD_BY_CATEGORY:
      return block->tag;
    case GEMEM_HOLD_BY_PHASE:
      return block->phase;
    case GEMEM_HOLD_BY_SIZE:
      return block->size;
    case GEMEM_HOLD_BY_STREAM:
      return block->stream;
    case GEMEM_HOLD_BY_POOL:
      return block->pool;
    case GEMEM_HOLD_BY_STACK:
    case GEMEM_HOLD_BY_LINE:
      return is_attributed (pass) ? gemem_attribution_key (&block->by) : block->stack;
    case GEMEM_HOLD_BY_FILE:
    case GEMEM_HOLD_BY_OPERATOR:
    case GEMEM_HOLD_BY_COUNT:
    default:
      return block->stack;
    }
}

/* The name of a block's property as a new string; NULL: unknown. */
static char *
name_of (const Pass *pass, const LiveBlock *block)
{
  const GememTraceInfo *info = &pass->result->reader->info;
  const GememHoldBy by = pass->options->by;
  GString *text = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  if (is_attributed (pass))
    gemem_attribution_append (text, info, &block->by, FALSE, GEMEM_NO_TAG);
  else if (by == GEMEM_HOLD_BY_STACK || by == GEMEM_HOLD_BY_LINE || by == GEMEM_HOLD_BY_FILE)
    {
      const GememFrame *line = chosen_line (pass, block->stack);
      if (line != NULL && by == GEMEM_HOLD_BY_FILE)
        g_string_append (text, gemem_frame_file (info, line));
      else if (line != NULL)
        gemem_frame_append (text, info, line);
    }
  else if (by == GEMEM_HOLD_BY_OPERATOR)
    {
      g_autofree char *operator_name = gemem_origin_operator (info, block->stack);
      if (operator_name != NULL)
        g_string_append (text, operator_name);
    }
  else if (by == GEMEM_HOLD_BY_CATEGORY)
    g_string_append (text, info->strings->pdata[block->tag]);
  else if (by == GEMEM_HOLD_BY_PHASE)
    g_string_append (text, info->strings->pdata[block->phase]);
  else if (by == GEMEM_HOLD_BY_SIZE)
    g_string_printf (text, "%s (%" G_GUINT64_FORMAT " bytes)",
                     gemem_format_size (size, block->size), block->size);
  else if (by == GEMEM_HOLD_BY_STREAM)
    g_string_printf (text, "stream 0x%" G_GINT64_MODIFIER "x", block->stream);
  else
    g_string_printf (text, block->pool == 0 ? "default pool" : "private pool %u", block->pool);
  return g_string_free (text, text->len == 0);
}

/* A pattern can take too many steps, or find no memory. */
static gboolean
matches (Pass *pass, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  return pass->unmatched == NULL
         && g_regex_match_full (pass->options->focus, valid, -1, 0, 0, NULL, &pass->unmatched);
}

static gboolean
in_focus (Pass *pass, const LiveBlock *block)
{
  const GememTraceInfo *info = &pass->result->reader->info;
  guint n = 0;
  const guint32 *frames = block->stack > 0 ? gemem_call_stacks_get (info->stacks, block->stack, &n)
                                           : NULL;

  if (pass->options->focus == NULL
      || (block->tag != 0 && matches (pass, info->strings->pdata[block->tag])))
    return TRUE;
  for (guint i = 0; i < n; i++)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, frames[i]);
      if (matches (pass, gemem_frame_name (info, frame))
          || matches (pass, gemem_frame_file (info, frame)))
        return TRUE;
    }
  return FALSE;
}

/* ---- grouping */

typedef struct
{
  Pass *pass;
  GememDeviceHolders *device;
  GHashTable *by_key; /* text that equal rows share -> GememHolder */
} Grouping;

/* The row of a block, added if it is the first. */
static GememHolder *
row_of (Grouping *grouping, const LiveBlock *block)
{
  Pass *pass = grouping->pass;
  const gboolean focused = in_focus (pass, block);
  const gboolean by_stack = pass->options->by == GEMEM_HOLD_BY_STACK;
  g_autoptr (GArray) frames = by_stack && focused ? chosen_frames (pass, block->stack)
                                                  : g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree char *name = focused ? name_of (pass, block) : g_strdup ("outside of --focus");
  GString *key = g_string_new (focused ? "in " : "out ");
  GememHolder *holder;

  if (by_stack)
    for (guint i = 0; i < frames->len; i++)
      g_string_append_printf (key, "%u ", g_array_index (frames, guint32, i));
  else if (name != NULL)
    g_string_append (key, name);
  holder = g_hash_table_lookup (grouping->by_key, key->str);
  if (holder != NULL)
    {
      g_string_free (key, TRUE);
      return holder;
    }
  holder = g_new0 (GememHolder, 1);
  holder->unknown = name == NULL;
  holder->name = name != NULL ? g_steal_pointer (&name) : g_strdup (unknown_name (pass->options));
  holder->frames = g_steal_pointer (&frames);
  g_ptr_array_add (grouping->device->holders, holder);
  g_hash_table_insert (grouping->by_key, g_string_free (key, FALSE), holder);
  return holder;
}

static int
compare_holders (gconstpointer a, gconstpointer b)
{
  const GememHolder *x = *(const GememHolder *const *) a, *y = *(const GememHolder *const *) b;

  return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                              : strcmp (x->name, y->name);
}

/* The row of a block, by its property if @known may be used: whether a block is in focus depends on
 * its stack and its tag together. */
static GememHolder *
find_row (Grouping *grouping, GememIdMap *known, const LiveBlock *block)
{
  GememHolder **row;
  gboolean existed;

  if (grouping->pass->options->focus != NULL)
    return row_of (grouping, block);
  row = gemem_idmap_insert (known, property_of (grouping->pass, block), &existed);
  if (!existed)
    *row = row_of (grouping, block);
  return *row;
}

static void
group (Pass *pass, GememDeviceHolders *device)
{
  Grouping grouping = { pass, device,
                        g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  GememIdMap *known = gemem_idmap_new (sizeof (GememHolder *));
  gsize position = 0;
  guint64 id;
  LiveBlock *block;

  while (gemem_idmap_next (pass->live, &position, &id, (gpointer *) &block))
    {
      GememHolder *row;

      if (block->device != device->device)
        continue;
      row = find_row (&grouping, known, block);
      row->bytes += block->size;
      row->blocks++;
      if (block->initial && row->unknown)
        {
          device->initial_bytes += block->size;
          device->initial_blocks++;
        }
      device->bytes += block->size;
      device->blocks++;
    }
  if (pass->options->by == GEMEM_HOLD_BY_STACK)
    gemem_holders_tell_apart (&pass->result->reader->info, device->holders);
  g_ptr_array_sort (device->holders, compare_holders);
  gemem_idmap_free (known);
  g_hash_table_unref (grouping.by_key);
}

/* ---- what is known of each device at an event: phases, the line of the program */

static DeviceState *
state_of (Pass *pass, guint16 device)
{
  DeviceState *state;

  for (guint i = 0; i < pass->states->len; i++)
    {
      state = pass->states->pdata[i];
      if (state->device == device)
        return state;
    }
  state = g_new (DeviceState, 1);
  state->device = device;
  state->open = g_array_new (FALSE, FALSE, sizeof (guint32));
  gemem_attributor_init (&state->attributor, &pass->result->reader->info);
  g_ptr_array_add (pass->states, state);
  return state;
}

static void
state_free (gpointer data)
{
  DeviceState *state = data;
  g_array_unref (state->open);
  gemem_attributor_clear (&state->attributor);
  g_free (state);
}

static void
end_phase (GArray *open, guint32 tag)
{
  for (guint i = open->len; i-- > 0;)
    if (g_array_index (open, guint32, i) == tag)
      {
        g_array_remove_index (open, i);
        return;
      }
}

/* ---- the passes */

static void
on_alloc (Pass *pass, const GememTraceEvent *event, const GArray *open, GememAttribution by)
{
  gboolean existed;
  LiveBlock *block;

  if (event->flags & GEMEM_EVENT_FAILED)
    return;
  block = gemem_idmap_insert (pass->live, event->id, &existed);
  if (!existed) /* else validate reports it, and summary.h counts the first one too */
    *block = (LiveBlock){ .size = event->size,
                          .stream = event->stream,
                          .stack = event->stack,
                          .tag = event->tag,
                          .pool = event->pool,
                          .phase = open->len > 0 ? g_array_index (open, guint32, open->len - 1) : 0,
                          .device = event->device,
                          .initial = (event->flags & GEMEM_EVENT_INITIAL) != 0,
                          .by = by };
}

static void
on_event (Pass *pass, const GememTraceEvent *event)
{
  DeviceState *state = state_of (pass, event->device);
  GArray *open = state->open;
  GememAttribution by = { 0 };

  if (is_attributed (pass))
    by = gemem_attributor_next (&state->attributor, event);
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      on_alloc (pass, event, open, by);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
      gemem_idmap_remove (pass->live, event->id, NULL);
      break;
    case GEMEM_EVENT_PHASE:
      if (!pass->phases_end)
        g_array_set_size (open, 0);
      g_array_append_val (open, event->tag);
      break;
    case GEMEM_EVENT_PHASE_END:
      end_phase (open, event->tag);
      break;
    default:
      break;
    }
}

/* Groups the blocks of each device whose moment event number @seq is. */
static void
on_moment (Pass *pass, const GememTraceEvent *event, guint64 seq, guint *left)
{
  for (guint i = 0; i < pass->result->devices->len; i++)
    {
      GememDeviceHolders *device = pass->result->devices->pdata[i];
      if (device->event != seq)
        continue;
      device->time = event->time;
      group (pass, device);
      --*left;
    }
}

static gboolean
collect (Pass *pass, GError **error)
{
  GememTraceReader *reader = pass->result->reader;
  const GememTraceEvent *events;
  guint left = pass->result->devices->len;
  guint64 seq = 0;
  gssize n = 0;

  while (left > 0 && (n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n && left > 0; i++, seq++)
      {
        on_event (pass, &events[i]);
        on_moment (pass, &events[i], seq, &left);
      }
  return n >= 0;
}

/* A request that ran out of memory as recorded: an OOM event, or an ALLOC that failed. */
static gboolean
is_failure (const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_OOM
         || (event->kind == GEMEM_EVENT_ALLOC && (event->flags & GEMEM_EVENT_FAILED) != 0);
}

static gboolean
find_failure (GememTraceReader *reader, GememHolders *result, Pass *pass, GError **error)
{
  const guint64 number = pass->options->moment.number;
  const GememTraceEvent *events;
  guint64 seq = 0, found = 0;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n; i++, seq++)
      {
        pass->phases_end = pass->phases_end || events[i].kind == GEMEM_EVENT_PHASE_END;
        if (is_failure (&events[i]) && ++found == number)
          add_device (result, events[i].device, seq)->requested = events[i].size;
      }
  if (n == 0 && found >= number)
    return TRUE;
  if (n == 0 && found == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: no recorded request ran out of memory; use --at=peak", reader->info.path);
  else if (n == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: only %" G_GUINT64_FORMAT
                 " recorded requests ran out of memory; use --at=oom:%" G_GUINT64_FORMAT,
                 reader->info.path, found, found);
  return FALSE;
}

static gboolean
find_summarised (GememTraceReader *reader, GememHolders *result, Pass *pass, GError **error)
{
  const GememMoment moment = pass->options->moment;
  GememTraceSummary *summary = gemem_trace_summarise (reader, error);

  if (summary == NULL)
    return FALSE;
  if (moment.kind == GEMEM_MOMENT_EVENT && moment.number >= summary->events)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: there is no event %" G_GUINT64_FORMAT
                   "; it has events 0 to %" G_GINT64_FORMAT,
                   reader->info.path, moment.number, (gint64) summary->events - 1);
      gemem_trace_summary_free (summary);
      return FALSE;
    }
  for (guint i = 0; i < summary->devices->len; i++)
    {
      const GememDeviceSummary *device = summary->devices->pdata[i];
      pass->phases_end = pass->phases_end || device->by_kind[GEMEM_EVENT_PHASE_END] > 0;
      if (device->by_kind[GEMEM_EVENT_ALLOC] > 0)
        add_device (result, device->device,
                    moment.kind == GEMEM_MOMENT_PEAK    ? device->peak_live_seq
                    : moment.kind == GEMEM_MOMENT_EVENT ? moment.number
                                                        : summary->events - 1);
    }
  gemem_trace_summary_free (summary);
  return TRUE;
}

GememHolders *
gemem_holders_new (GememTraceSource open, gpointer data, const GememHoldersOptions *options,
                   GError **error)
{
  GememHolders *result = g_new0 (GememHolders, 1);
  GememTraceReader *reader = open (data, error);
  Pass pass = { options,
                result,
                gemem_idmap_new (sizeof (LiveBlock)),
                g_ptr_array_new_with_free_func (state_free),
                FALSE,
                NULL };
  gboolean ok = reader != NULL;

  result->devices = g_ptr_array_new_with_free_func (device_free);
  if (ok)
    ok = options->moment.kind == GEMEM_MOMENT_OOM ? find_failure (reader, result, &pass, error)
                                                  : find_summarised (reader, result, &pass, error);
  result->partial = ok && (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0;
  gemem_trace_close (reader);
  ok = ok && (result->reader = open (data, error)) != NULL && collect (&pass, error);
  gemem_idmap_free (pass.live);
  g_ptr_array_unref (pass.states);
  if (pass.unmatched != NULL && ok)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "--focus: %s", pass.unmatched->message);
  ok = ok && pass.unmatched == NULL;
  g_clear_error (&pass.unmatched);
  if (ok)
    return result;
  gemem_holders_free (result);
  return NULL;
}

const GememDeviceHolders *
gemem_holders_of (const GememHolders *holders, int device)
{
  for (guint i = 0; holders != NULL && i < holders->devices->len; i++)
    {
      const GememDeviceHolders *one = holders->devices->pdata[i];
      if (one->device == device)
        return one;
    }
  return NULL;
}

void
gemem_holders_free (GememHolders *holders)
{
  if (holders == NULL)
    return;
  gemem_trace_close (holders->reader);
  g_ptr_array_unref (holders->devices);
  g_free (holders);
}
