/* info-holders.c - see info-holders.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/json-text.h"
#include "base/params.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/cli/info-holders.h"
#include "sim/cli/options.h"
#include "sim/cli/source.h"
#include "sim/plots/flame.h"
#include "traces/holders.h"
#include "traces/origin.h"

#define TABLE_ROWS 20  /* unless --top says otherwise */
#define TABLE_FRAMES 6 /* of a stack, below its line, unless --depth says otherwise */
#define NAME_WIDTH 110 /* characters of a frame in the table; C++ names are longer than a screen */

static char *at_text, *by_name, *frames_name, *focus_text;
static int depth, top = TABLE_ROWS;

const GOptionEntry gemem_info_holders_entries[] = {
  { "at", 0, 0, G_OPTION_ARG_STRING, &at_text,
    "Who holds the memory then: at the peak of each device, the end, the N-th request that ran "
    "out of memory, after an event",
    "peak|end|oom|oom:N|EVENT" },
  { "by", 0, 0, G_OPTION_ARG_STRING, &by_name, "Group the blocks by this (default: stack)",
    "stack|line|file|operator|category|phase|size|stream|pool" },
  { "frames", 0, 0, G_OPTION_ARG_STRING, &frames_name,
    "Frames that count (default auto: Python's if there are any)", "auto|python|native|all" },
  { "depth", 0, 0, G_OPTION_ARG_INT, &depth, "Take at most N frames of a stack, from the innermost",
    "N" },
  { "focus", 0, 0, G_OPTION_ARG_STRING, &focus_text,
    "Only blocks whose frames or category match; the others are one row", "REGEX" },
  { "top", 0, 0, G_OPTION_ARG_INT, &top, "Rows of a table (default 20; 0: all)", "N" },
  { NULL }
};

gboolean
gemem_info_holders_wanted (const char *format)
{
  return (format != NULL && strcmp (format, "table") != 0 && strcmp (format, "json") != 0)
         || at_text != NULL || by_name != NULL || frames_name != NULL || focus_text != NULL
         || depth != 0 || top != TABLE_ROWS;
}

/* ---- options */

/* Sets *@index to the place of @name in @names (NULL: 0). */
static gboolean
choose (const char *option, const char *name, const char *const *names, guint *index,
        GError **error)
{
  g_autofree char *all = g_strjoinv (", ", (char **) names);
  const char *near = name != NULL ? gemem_suggest (name, names) : NULL;

  for (*index = 0; name != NULL && names[*index] != NULL; ++*index)
    if (strcmp (names[*index], name) == 0)
      return TRUE;
  if (name == NULL)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--%s=%s: %s%s%swrite one of %s", option,
               name, near != NULL ? "did you mean " : "", near != NULL ? near : "",
               near != NULL ? "? " : "", all);
  return FALSE;
}

static gboolean
read_options (GememHoldersOptions *options, GError **error)
{
  guint by, frames;

  if (!gemem_moment_parse (at_text != NULL ? at_text : "peak", &options->moment, error))
    {
      g_prefix_error (error, "--at: ");
      return FALSE;
    }
  if (!choose ("by", by_name, gemem_hold_by_names (), &by, error)
      || !choose ("frames", frames_name, gemem_frame_choice_names (), &frames, error)
      || !gemem_want_at_least ("depth", depth, 0, error)
      || !gemem_want_at_least ("top", top, 0, error))
    return FALSE;
  options->by = (GememHoldBy) by;
  options->frames = (GememFrameChoice) frames;
  options->depth = (guint) depth;
  if (focus_text == NULL)
    return TRUE;
  options->focus = g_regex_new (focus_text, G_REGEX_OPTIMIZE, 0, error);
  if (options->focus != NULL)
    return TRUE;
  (*error)->domain = GEMEM_ERROR;
  (*error)->code = GEMEM_ERROR_USAGE;
  g_prefix_error (error, "--focus=%s: ", focus_text);
  return FALSE;
}

/* ---- table */

/* Appends one line of at most NAME_WIDTH characters. */
static void
append_line (GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *cut = g_utf8_strlen (valid, -1) > NAME_WIDTH
                             ? g_utf8_substring (valid, 0, NAME_WIDTH - 3)
                             : NULL;

  g_string_append (out, cut != NULL ? cut : valid);
  g_string_append (out, cut != NULL ? "...\n" : "\n");
}

/* The index in @frames after the frame that is the name of the row. */
static guint
after_line (const GememTraceInfo *info, const GArray *frames)
{
  const guint32 line = gemem_origin_choose (info, (const guint32 *) frames->data, frames->len);
  guint i = 0;
  while (i < frames->len && g_array_index (frames, guint32, i) != line)
    i++;
  return i + 1;
}

/* Appends the callers of a row's line below it: those of the program, unless it has none or --depth
 * asks for frames. */
static void
append_callers (GString *out, const GememTraceInfo *info, const GArray *frames)
{
  const guint most = depth > 0 ? (guint) depth : TABLE_FRAMES;
  const guint first = depth > 0 ? 0 : after_line (info, frames);
  gboolean program = FALSE;
  guint shown = 0, more = 0;

#define FRAME(i) gemem_call_stacks_get_frame (info->stacks, g_array_index (frames, guint32, i))
  for (guint i = first; i < frames->len && depth == 0; i++)
    program = program || gemem_frame_is_program (info, FRAME (i));
  for (guint i = first; i < frames->len; i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);

      if (shown >= most || (program && !gemem_frame_is_program (info, FRAME (i))))
        {
          more++;
          continue;
        }
      shown++;
      gemem_frame_append (text, info, FRAME (i));
      g_string_append_printf (out, "%36s", "");
      append_line (out, text->str);
    }
#undef FRAME
  if (more > 0 && shown >= most)
    g_string_append_printf (out, "%36s...\n", "");
}

static void
append_row (GString *out, guint64 bytes, guint64 of, guint64 blocks, const char *name)
{
  char size[GEMEM_FORMAT_MAX];
  g_string_append_printf (out, "  %10s  %5.1f %%  %8" G_GUINT64_FORMAT "  ",
                          gemem_format_size (size, bytes),
                          of > 0 ? 100 * (double) bytes / (double) of : 0, blocks);
  append_line (out, name);
}

/* "device 0: 1.5 GiB (1610612736 bytes) in 7 blocks at the peak, after event 12 at 3.1 ms" */
static void
append_moment (GString *out, const GememTraceInfo *info, const GememDeviceHolders *device,
               const GememHoldersOptions *options)
{
  char size[GEMEM_FORMAT_MAX], text[GEMEM_FORMAT_MAX];

  if (device->device == GEMEM_DEVICE_HOST)
    g_string_append (out, "\nhost memory: ");
  else
    g_string_append_printf (out, "\ndevice %u: ", device->device);
  g_string_append_printf (out,
                          "%s (%" G_GUINT64_FORMAT " bytes) in %" G_GUINT64_FORMAT " block%s%s, "
                          "after event %" G_GUINT64_FORMAT,
                          gemem_format_size (size, device->bytes), device->bytes, device->blocks,
                          gemem_plural (device->blocks),
                          options->moment.kind == GEMEM_MOMENT_PEAK  ? " at the peak"
                          : options->moment.kind == GEMEM_MOMENT_END ? " at the end"
                                                                     : "",
                          device->event);
  if (info->flags & GEMEM_TRACE_HAS_TIME)
    g_string_append_printf (out, " at %s", gemem_format_time (text, device->time));
  if (device->requested > 0)
    g_string_append_printf (out, ", when a request of %s ran out of memory",
                            gemem_format_size (size, device->requested));
  g_string_append (out, "\n\n");
}

static void
append_initial (GString *out, const GememDeviceHolders *device)
{
  char size[GEMEM_FORMAT_MAX];

  if (device->initial_blocks > 0)
    g_string_append_printf (out,
                            "\n  %" G_GUINT64_FORMAT
                            " of the unknown blocks, %s, are from before the recording began\n",
                            device->initial_blocks,
                            gemem_format_size (size, device->initial_bytes));
}

/* What a reader of the rows may miss, and why. */
static void
append_what_is_missing (GString *out, const GememHolders *holders,
                        const GememHoldersOptions *options)
{
  if (holders->partial)
    g_string_append (out,
                     "\nThe end of the recording is missing; more may have been alive there.\n");
  if (holders->reader->info.stacks == NULL && options->by <= GEMEM_HOLD_BY_OPERATOR)
    g_string_append (
        out,
        "\nThe recording has no call stacks. PyTorch records them with\n"
        "torch.cuda.memory._record_memory_history(stacks=\"all\"), gemem-record with --stacks;\n"
        "--by=size, category, phase, stream or pool work without.\n");
}

static void
append_table (GString *out, const char *path, const GememHolders *holders,
              const GememHoldersOptions *options)
{
  const GememTraceInfo *info = &holders->reader->info;
  const guint rows = top == 0 ? G_MAXUINT : (guint) top;

  gemem_text_append_visible (out, path, -1, FALSE);
  g_string_append_c (out, '\n');
  for (guint d = 0; d < holders->devices->len; d++)
    {
      const GememDeviceHolders *device = holders->devices->pdata[d];
      guint64 rest_bytes = 0, rest_blocks = 0;

      append_moment (out, info, device, options);
      g_string_append_printf (out, "  %10s  %7s  %8s  %s\n", "bytes", "share", "blocks",
                              gemem_hold_by_names ()[options->by]);
      for (guint i = 0; i < device->holders->len; i++)
        {
          const GememHolder *holder = device->holders->pdata[i];
          if (i >= rows)
            {
              rest_bytes += holder->bytes;
              rest_blocks += holder->blocks;
              continue;
            }
          append_row (out, holder->bytes, device->bytes, holder->blocks, holder->name);
          append_callers (out, info, holder->frames);
        }
      if (rest_blocks > 0)
        {
          g_autofree char *name = g_strdup_printf ("%u more rows; --top=0 shows them",
                                                   device->holders->len - rows);
          append_row (out, rest_bytes, device->bytes, rest_blocks, name);
        }
      append_initial (out, device);
    }
  append_what_is_missing (out, holders, options);
}

/* ---- JSON */

static void
append_json_frames (GString *out, const GememTraceInfo *info, const GememHolder *holder)
{
  static const char *const languages[] = { "operator", "python", "native" };

  gemem_json_append_name (out, "frames");
  g_string_append_c (out, '[');
  for (guint i = 0; i < holder->frames->len; i++)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (
          info->stacks, g_array_index (holder->frames, guint32, i));
      g_string_append (out, i == 0 ? "{" : ", {");
      gemem_json_append_text_member (out, "name", gemem_frame_name (info, frame));
      gemem_json_append_text_member (out, "file", gemem_frame_file (info, frame));
      gemem_json_append_number_member (out, "line", frame->line);
      gemem_json_append_text_member (out, "language",
                                     languages[gemem_frame_language (info, frame)]);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_json_device (GString *out, const GememTraceInfo *info, const GememDeviceHolders *device,
                    gboolean stacks)
{
  gemem_json_append_number_member (out, "device", device->device);
  gemem_json_append_number_member (out, "event", device->event);
  gemem_json_append_number_member (out, "time_ns", device->time);
  if (device->requested > 0)
    gemem_json_append_number_member (out, "requested_bytes", device->requested);
  gemem_json_append_number_member (out, "bytes", device->bytes);
  gemem_json_append_number_member (out, "blocks", device->blocks);
  gemem_json_append_name (out, "rows");
  g_string_append_c (out, '[');
  for (guint i = 0; i < device->holders->len; i++)
    {
      const GememHolder *holder = device->holders->pdata[i];
      g_string_append (out, i == 0 ? "\n    {" : ",\n    {");
      gemem_json_append_text_member (out, "name", holder->unknown ? NULL : holder->name);
      gemem_json_append_number_member (out, "bytes", holder->bytes);
      gemem_json_append_number_member (out, "blocks", holder->blocks);
      if (stacks)
        append_json_frames (out, info, holder);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_json (GString *out, const char *path, const GememHolders *holders,
             const GememHoldersOptions *options)
{
  g_string_append (out, "{\"schema\": \"gemem-holders\", \"version\": 1");
  gemem_json_append_text_member (out, "trace", path);
  gemem_json_append_text_member (out, "at", at_text != NULL ? at_text : "peak");
  gemem_json_append_text_member (out, "by", gemem_hold_by_names ()[options->by]);
  gemem_json_append_text_member (out, "frames", gemem_frame_choice_names ()[options->frames]);
  gemem_json_append_bool_member (out, "partial", holders->partial);
  gemem_json_append_name (out, "devices");
  g_string_append_c (out, '[');
  for (guint i = 0; i < holders->devices->len; i++)
    {
      g_string_append (out, i == 0 ? "\n  {" : ",\n  {");
      append_json_device (out, &holders->reader->info, holders->devices->pdata[i],
                          options->by == GEMEM_HOLD_BY_STACK);
      g_string_append_c (out, '}');
    }
  g_string_append (out, "]}\n");
}

/* ---- folded */

/* Appends a name of the folded format, in which ';' separates frames and a space the bytes. */
static void
append_folded (GString *out, const char *name)
{
  g_autofree char *valid = g_utf8_make_valid (name, -1);
  for (char *p = valid; *p != '\0'; p++)
    g_string_append_c (out, *p == ';' ? ',' : g_ascii_iscntrl (*p) ? ' ' : *p);
}

static void
append_folded_device (GString *out, const GememHolders *holders, const GememDeviceHolders *device,
                      const char *root)
{
  const GememTraceInfo *info = &holders->reader->info;

  for (guint i = 0; i < device->holders->len; i++)
    {
      const GememHolder *holder = device->holders->pdata[i];
      if (root != NULL)
        {
          append_folded (out, root);
          g_string_append_c (out, ';');
        }
      if (holders->devices->len > 1 && device->device == GEMEM_DEVICE_HOST)
        g_string_append (out, "host memory;");
      else if (holders->devices->len > 1)
        g_string_append_printf (out, "device %u;", device->device);
      for (guint f = holder->frames->len; f-- > 0;)
        {
          const GememFrame *frame = gemem_call_stacks_get_frame (
              info->stacks, g_array_index (holder->frames, guint32, f));
          append_folded (out, gemem_frame_name (info, frame));
          if (frame->line > 0)
            {
              g_string_append (out, " (");
              append_folded (out, gemem_frame_file (info, frame));
              g_string_append_printf (out, ":%u)", frame->line);
            }
          if (f > 0)
            g_string_append_c (out, ';');
        }
      if (holder->frames->len == 0)
        append_folded (out, holder->name);
      g_string_append_printf (out, " %" G_GUINT64_FORMAT "\n", holder->bytes);
    }
}

/* ---- a flame graph */

static void
append_flames (GString *out, const char *path, const GememHolders *holders,
               const GememHoldersOptions *options, const GememTextLook *look)
{
  const GememTraceInfo *info = &holders->reader->info;

  gemem_text_append_visible (out, path, -1, FALSE);
  g_string_append_c (out, '\n');
  for (guint i = 0; i < holders->devices->len; i++)
    {
      append_moment (out, info, holders->devices->pdata[i], options);
      gemem_flame_text (out, info, holders->devices->pdata[i], gemem_terminal_width (), look);
    }
  append_what_is_missing (out, holders, options);
}

/* ---- the command */

/* @root: the outermost frame of folded stacks, or NULL.  *@partial is set if the end of the
 * trace is missing. */
static gboolean
show (const char *path, const char *format, const GememHoldersOptions *options, const char *root,
      gboolean *partial, GError **error)
{
  GememSourceFile *file = gemem_source_file_new (path, error);
  GememHolders *holders = file != NULL
                              ? gemem_holders_new (gemem_source_file_open, file, options, error)
                              : NULL;
  const gboolean drawn = strcmp (format, "flame") == 0;
  const GememTextLook look = drawn ? gemem_terminal_look () : (GememTextLook){ 0 };
  gboolean ok = holders != NULL;

  if (ok)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      if (strcmp (format, "json") == 0)
        append_json (out, file->path, holders, options);
      else if (strcmp (format, "table") == 0)
        append_table (out, file->path, holders, options);
      else if (drawn)
        append_flames (out, file->path, holders, options, &look);
      else
        for (guint i = 0; i < holders->devices->len; i++)
          append_folded_device (out, holders, holders->devices->pdata[i], root);
      ok = look.colour ? gemem_put_drawing (out, error)
                       : gemem_put (NULL, out->str, out->len, error);
      *partial = *partial || holders->partial;
    }
  gemem_holders_free (holders);
  gemem_source_file_free (file);
  return ok;
}

int
gemem_info_holders (char **paths, const char *format, GError **error)
{
  static const char *const formats[] = { "table", "json", "folded", "flame", NULL };
  GememHoldersOptions options = { 0 };
  const gboolean several = g_strv_length (paths) > 1;
  gboolean partial = FALSE;
  guint chosen;
  gboolean ok = choose ("format", format, formats, &chosen, error)
                && read_options (&options, error);
  int status = ok ? 0 : 2;

  for (; status == 0 && *paths != NULL; paths++)
    if (!show (*paths, formats[chosen], &options, several ? *paths : NULL, &partial, error))
      status = 1;
  if (status == 0 && partial && gemem_source_allow_partial ())
    status = 3;
  g_clear_pointer (&options.focus, g_regex_unref);
  return status;
}
