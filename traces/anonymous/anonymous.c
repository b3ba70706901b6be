/* anonymous.c - see anonymous.h; what is found in text, and how, is in text.c.
 *
 * The reader has tables of strings and stacks of its own.  Strings, frames and stacks of the source
 * get their substitute when an event first uses them.  A string has a substitute for each role that
 * it plays: a tag, a file...
 *
 * Invariants: within a role, substitutes are equal if and only if the strings are.
 */
#include "config.h"

#include <string.h>

#include "base/params.h"
#include "traces/anonymous/anonymous-private.h"
#include "traces/anonymous/anonymous.h"
#include "traces/native/format.h"

typedef enum
{
  ROLE_FUNCTION,
  ROLE_FILE,
  ROLE_OPERATOR,
  ROLE_PHASE,
  ROLE_TAG,
  ROLE_PROVENANCE,
  ROLE_COUNT
} Role;

struct _GememAnonymizer
{
  GememAnonymity anonymity;
  GememRedactor *redactor;
  GememNumbers names[ROLE_COUNT]; /* of GEMEM_ANONYMOUS_NAMES */
};

/* A substitute that is in use.  Redaction can make one of several texts ("/home/a/train.py" and
 * "/home/b/train.py"); to keep them apart, those after the first get a number: "train-2.py". */
typedef struct
{
  char *text; /* of the source */
  guint next; /* the number for the next text of which redaction makes the same */
} Substitute;

typedef struct
{
  GememTraceReader base;
  GememAnonymizer *anonymizer;
  GememTraceReader *source;
  GArray *batch;                 /* GememTraceEvent */
  GArray *strings[ROLE_COUNT];   /* guint32: string of the source -> own string; 0: none yet */
  GArray *frames, *stacks;       /* the same */
  GHashTable *taken[ROLE_COUNT]; /* substitute -> Substitute */
  guint from_source;             /* lines of provenance that come from the source */
} AnonymousReader;

static const char *const anonymities[] = { "paths", "names" }; /* GememAnonymity */

/* ---- one text */

/* Appends "f1", "op1"...; what recorders write for the unknown stays. */
static void
append_name (GememAnonymizer *anonymizer, GString *out, Role role, const char *text)
{
  static const char *const prefixes[ROLE_COUNT] = { "f", "file", "op", "phase", "tag", "name" };
  static const char dispatcher[] = "at::_ops::"; /* names an operator (origin.h) */

  if (strcmp (text, "??") == 0)
    g_string_append (out, text);
  else if (role == ROLE_FILE)
    gemem_redactor_append_file_number (out, text,
                                       gemem_numbers_get (&anonymizer->names[role], text, -1));
  else
    {
      if (role == ROLE_FUNCTION && g_str_has_prefix (text, dispatcher))
        {
          const char *operator= text + strlen (dispatcher);
          const char *end = strstr (operator, "::");
          if (end != NULL)
            g_string_append_printf (
                out, "%sop%u::", dispatcher,
                gemem_numbers_get (&anonymizer->names[ROLE_OPERATOR], operator, end - operator));
        }
      g_string_append_printf (out, "%s%u", prefixes[role],
                              gemem_numbers_get (&anonymizer->names[role], text, -1));
    }
}

static void
append_text (GememAnonymizer *anonymizer, GString *out, Role role, const char *text)
{
  if (anonymizer->anonymity == GEMEM_ANONYMOUS_NAMES)
    append_name (anonymizer, out, role, text);
  else if (role == ROLE_FILE)
    gemem_redactor_append_file (anonymizer->redactor, out, text);
  else
    gemem_redactor_append (anonymizer->redactor, out, text,
                           role == ROLE_FUNCTION ? GEMEM_TEXT_SYMBOL : GEMEM_TEXT_FREE);
}

static void
substitute_free (gpointer data)
{
  Substitute *substitute = data;

  g_free (substitute->text);
  g_free (substitute);
}

/* Makes @out, which stands for @text, different from what stands for other texts: "train-2.py". */
static void
make_unique (AnonymousReader *reader, Role role, GString *out, const char *text)
{
  GHashTable *taken = reader->taken[role];
  Substitute *first = g_hash_table_lookup (taken, out->str), *same = first;
  const gsize length = out->len;

  while (same != NULL && strcmp (same->text, text) != 0)
    {
      const char *dot = role == ROLE_FILE ? strrchr (out->str, '.') : NULL;
      g_autofree char *number = g_strdup_printf ("-%u", first->next++);
      g_autofree char *plain = g_strndup (out->str, length);

      g_string_insert (out, dot != NULL ? dot - out->str : -1, number);
      same = g_hash_table_lookup (taken, out->str);
      if (same != NULL && strcmp (same->text, text) != 0)
        g_string_assign (out, plain);
    }
  if (same == NULL)
    {
      Substitute *added = g_new (Substitute, 1);
      *added = (Substitute){ g_strdup (text), 2 };
      g_hash_table_insert (taken, g_strdup (out->str), added);
    }
}

/* ---- the tables of the trace */

static guint32 *
slot_of (GArray *numbers, guint32 index)
{
  if (index >= numbers->len)
    g_array_set_size (numbers, index + 1);
  return &g_array_index (numbers, guint32, index);
}

/* The own string for string @index of the source. */
static guint32
take_string (AnonymousReader *reader, Role role, guint32 index)
{
  const GPtrArray *strings = reader->source->info.strings;
  guint32 *own = slot_of (reader->strings[role], index);

  if (index == GEMEM_NO_TAG || index >= strings->len || *own != 0)
    return *own;
  g_autoptr (GString) out = g_string_new (NULL);
  const char *text = g_ptr_array_index (strings, index);
  append_text (reader->anonymizer, out, role, text);
  if (out->len > NATIVE_MAX_STRING)
    g_string_printf (out, "long%u", gemem_numbers_get (&reader->anonymizer->names[role], text, -1));
  make_unique (reader, role, out, text);
  *own = gemem_trace_info_intern (&reader->base.info, out->str);
  return *own;
}

static guint32
take_frame (AnonymousReader *reader, guint32 number)
{
  guint32 *own = slot_of (reader->frames, number);

  if (*own == 0)
    {
      GememFrame frame = *gemem_call_stacks_get_frame (reader->source->info.stacks, number);

      frame.name = take_string (reader, frame.file != 0 ? ROLE_FUNCTION : ROLE_OPERATOR,
                                frame.name);
      frame.file = take_string (reader, ROLE_FILE, frame.file);
      *own = gemem_call_stacks_frame (reader->base.info.stacks, &frame);
    }
  return *own;
}

static guint32
take_stack (AnonymousReader *reader, guint32 number)
{
  const GememCallStacks *stacks = reader->source->info.stacks;
  guint32 *own = slot_of (reader->stacks, number);
  g_autofree guint32 *frames = NULL;
  guint n;

  if (number == 0 || *own != 0 || stacks == NULL || number > gemem_call_stacks_count (stacks))
    return *own;
  const guint32 *from = gemem_call_stacks_get (stacks, number, &n);
  frames = g_new (guint32, n);
  for (guint i = 0; i < n; i++)
    frames[i] = take_frame (reader, from[i]);
  *own = gemem_call_stacks_extend (gemem_trace_info_stacks (&reader->base.info), 0, frames, n);
  return *own;
}

/* ---- provenance and settings */

/* Keys whose lines gemem writes itself, without a name in them. */
static const char *const own_keys[] = { "format",
                                        "PyTorch",
                                        "PYTORCH_CUDA_ALLOC_CONF",
                                        "PYTORCH_NPU_ALLOC_CONF",
                                        "releases",
                                        "ambiguous",
                                        "left out",
                                        "time",
                                        "pools",
                                        "static memory policy",
                                        "seed",
                                        "generator",
                                        "lowering",
                                        "planned",
                                        "gpu",
                                        "driver",
                                        "recorder",
                                        "tool",
                                        "anonymous",
                                        "ended",
                                        "before",
                                        "device",
                                        GEMEM_TRACE_HOST,
                                        GEMEM_TRACE_OPEN,
                                        NULL };
/* Other keys that gemem or the tools around recordings write. */
static const char *const known_keys[] = { "converted", "graph",   "host",      "hostname", "note",
                                          "partial",   "program", "recording", "source",   "plan",
                                          "date",      "model",   "pid",       "user",     NULL };

static gboolean
is_own_key (const AnonymousReader *reader, const char *key)
{
  const char *format = reader->source->info.format;

  /* the notes of other readers are gemem's; those in a file may be anybody's */
  return g_strv_contains (own_keys, key)
         || (strcmp (key, "note") == 0 && g_strcmp0 (format, "native") != 0
             && g_strcmp0 (format, "text") != 0);
}

static GememTextKind
kind_of_value (const char *key)
{
  return strcmp (key, "program") == 0 || strcmp (key, "command") == 0 ? GEMEM_TEXT_COMMAND
                                                                      : GEMEM_TEXT_FREE;
}

/* "from FILE by gemem-sim 0.1.0": sets *@file; returns " by gemem...", or NULL. */
static const char *
parse_converted (const char *key, const char *value, char **file)
{
  const char *by = strcmp (key, "converted") == 0 && g_str_has_prefix (value, "from ")
                       ? g_strrstr (value, " by " PACKAGE_NAME)
                       : NULL;

  *file = by != NULL && by > value + 5 ? g_strndup (value + 5, (gsize) (by - value) - 5) : NULL;
  return *file != NULL ? by : NULL;
}

static void
append_value (const AnonymousReader *reader, GString *out, const char *key, const char *value)
{
  GememAnonymizer *anonymizer = reader->anonymizer;
  g_autofree char *file = NULL;
  const char *by = parse_converted (key, value, &file), *path = reader->source->info.path;

  if (by != NULL)
    {
      g_string_append (out, "from ");
      append_text (anonymizer, out, ROLE_FILE, file);
      g_string_append (out, by);
    }
  else if (strcmp (key, "partial") == 0 && path != NULL && g_str_has_prefix (value, path))
    { /* the message of an error, which begins with the path as the user typed it */
      append_text (anonymizer, out, ROLE_FILE, path);
      append_value (reader, out, "", value + strlen (path));
    }
  else if (anonymizer->anonymity == GEMEM_ANONYMOUS_PATHS || is_own_key (reader, key))
    gemem_redactor_append (anonymizer->redactor, out, value, kind_of_value (key));
  else
    append_name (anonymizer, out, ROLE_PROVENANCE, value);
}

/* The line "KEY: VALUE" of provenance without what is to be hidden. */
static char *
anonymous_line (const AnonymousReader *reader, const char *line)
{
  GememAnonymizer *anonymizer = reader->anonymizer;
  GString *out = g_string_new (NULL);
  const char *colon = strstr (line, ": ");
  g_autofree char *key = g_strndup (line, colon != NULL ? (gsize) (colon - line) : 0);
  const gboolean known = g_strv_contains (own_keys, key) || g_strv_contains (known_keys, key);
  static const char *const processes[] = { "pid", "ppid", "process", "process id", NULL };

  if (known)
    g_string_append (out, key);
  else if (anonymizer->anonymity == GEMEM_ANONYMOUS_NAMES)
    g_string_assign (out, "note");
  else
    gemem_redactor_append (anonymizer->redactor, out, key, GEMEM_TEXT_FREE);
  g_string_append (out, out->len > 0 || colon != NULL ? ": " : "");
  if (colon != NULL && g_strv_contains (processes, key))
    {
      g_string_truncate (out, 0);
      gemem_redactor_append (anonymizer->redactor, out, line, GEMEM_TEXT_FREE);
    }
  else
    append_value (reader, out, key, colon != NULL ? colon + 2 : line);
  return g_string_free (out, FALSE);
}

/* Settings without paths.  Only values that can hold one are looked at, so that settings that a
 * replay goes by are unchanged. */
static char *
anonymous_settings (GememAnonymizer *anonymizer, const char *text)
{
  g_autoptr (GPtrArray) settings = text != NULL ? gemem_settings_parse (text, NULL) : NULL;
  GString *out;

  if (text == NULL || strpbrk (text, "/\\@") == NULL)
    return g_strdup (text);
  out = g_string_new (NULL);
  if (settings == NULL)
    gemem_redactor_append (anonymizer->redactor, out, text, GEMEM_TEXT_FREE);
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      g_autoptr (GString) value = g_string_new (NULL);
      g_autofree char *quoted = NULL;

      if (strpbrk (setting->value, "/\\@") != NULL)
        gemem_redactor_append (anonymizer->redactor, value, setting->value, GEMEM_TEXT_COMMAND);
      else
        g_string_assign (value, setting->value);
      quoted = gemem_settings_quote (value->str);
      g_string_append_printf (out, "%s%s=%s", i > 0 ? "," : "", setting->key, quoted);
    }
  return g_string_free (out, FALSE);
}

/* Takes over what the source says of the whole trace; lines that the caller added
 * stay behind it. */
static void
take_info (AnonymousReader *reader)
{
  GememTraceInfo *info = &reader->base.info;
  const GememTraceInfo *from = &reader->source->info;
  const char *what = anonymities[reader->anonymizer->anonymity];
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);

  info->format = from->format;
  info->flags = from->flags;
  info->events = from->events;
  info->ambiguities = from->ambiguities;
  info->skipped = from->skipped;
  g_free (info->allocator);
  g_free (info->settings);
  g_free (info->device);
  info->allocator = anonymous_settings (reader->anonymizer, from->allocator);
  info->settings = anonymous_settings (reader->anonymizer, from->settings);
  info->device = anonymous_settings (reader->anonymizer, from->device);
  for (guint i = 0; i < from->provenance->len; i++)
    if (!g_str_has_prefix (from->provenance->pdata[i], "anonymous: "))
      g_ptr_array_add (lines, anonymous_line (reader, from->provenance->pdata[i]));
  g_ptr_array_add (lines, g_strconcat ("anonymous: ", what, NULL));
  const guint taken = lines->len;
  for (guint i = reader->from_source; i < info->provenance->len; i++)
    g_ptr_array_add (lines, g_strdup (info->provenance->pdata[i]));
  g_ptr_array_unref (info->provenance);
  info->provenance = lines;
  reader->from_source = taken;
}

void
gemem_anonymous_note (GememTraceReader *base, const char *key, const char *value)
{
  g_autofree char *line = g_strdup_printf ("%s: %s", key, value);

  g_ptr_array_add (base->info.provenance, anonymous_line ((AnonymousReader *) base, line));
}

/* The names of memory that sleeps, which stand alone or several separated by commas, each by
 * itself: what names one pool in one event names it in all. */
static guint32
take_names (AnonymousReader *reader, guint32 tag)
{
  g_auto (GStrv)
      names = g_strsplit (g_ptr_array_index (reader->source->info.strings, tag), ",", -1);
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_string_append (list, i > 0 ? "," : "");
      if (*names[i] != '\0')
        append_text (reader->anonymizer, list, ROLE_TAG, names[i]);
    }
  return gemem_trace_info_intern (&reader->base.info, list->str);
}

/* Settings, which a replay reads: they stay, but for what can be a path. */
static guint32
take_settings (AnonymousReader *reader, guint32 tag)
{
  const char *text = g_ptr_array_index (reader->source->info.strings, tag);

  return strpbrk (text, "/\\@") != NULL ? take_string (reader, ROLE_TAG, tag)
                                        : gemem_trace_info_intern (&reader->base.info, text);
}

/* ---- the reader */

static gssize
anonymous_next (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  AnonymousReader *reader = (AnonymousReader *) base;
  const GememTraceEvent *from;
  gssize n = gemem_trace_next (reader->source, &from, error);

  if (n <= 0)
    {
      take_info (reader);
      return n;
    }
  g_array_set_size (reader->batch, 0);
  g_array_append_vals (reader->batch, from, (guint) n);
  for (guint i = 0; i < reader->batch->len; i++)
    {
      GememTraceEvent *event = &g_array_index (reader->batch, GememTraceEvent, i);
      const gboolean phase = event->kind == GEMEM_EVENT_PHASE
                             || event->kind == GEMEM_EVENT_PHASE_END;

      if (event->kind == GEMEM_EVENT_SETTINGS)
        event->tag = take_settings (reader, event->tag);
      else if (event->tag != GEMEM_NO_TAG && gemem_event_kind_sleeps (event->kind))
        event->tag = take_names (reader, event->tag);
      else if (event->tag != GEMEM_NO_TAG)
        event->tag = take_string (reader, phase ? ROLE_PHASE : ROLE_TAG, event->tag);
      if (event->stack != 0)
        event->stack = take_stack (reader, event->stack);
    }
  *events = (const GememTraceEvent *) (gpointer) reader->batch->data;
  return n;
}

static void
anonymous_close (GememTraceReader *base)
{
  AnonymousReader *reader = (AnonymousReader *) base;

  gemem_trace_close (reader->source);
  gemem_trace_info_clear (&base->info);
  for (guint i = 0; i < ROLE_COUNT; i++)
    {
      g_array_unref (reader->strings[i]);
      g_hash_table_unref (reader->taken[i]);
    }
  g_array_unref (reader->frames);
  g_array_unref (reader->stacks);
  g_array_unref (reader->batch);
  g_free (reader);
}

GememTraceReader *
gemem_anonymous_open (GememAnonymizer *anonymizer, GememTraceReader *source)
{
  AnonymousReader *reader = g_new0 (AnonymousReader, 1);

  reader->base.format = source->format;
  reader->base.next = anonymous_next;
  reader->base.close = anonymous_close;
  reader->anonymizer = anonymizer;
  reader->source = source;
  reader->batch = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  for (guint i = 0; i < ROLE_COUNT; i++)
    {
      reader->strings[i] = g_array_new (FALSE, TRUE, sizeof (guint32));
      reader->taken[i] = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, substitute_free);
    }
  reader->frames = g_array_new (FALSE, TRUE, sizeof (guint32));
  reader->stacks = g_array_new (FALSE, TRUE, sizeof (guint32));
  gemem_trace_info_init (&reader->base.info, source->info.format, source->info.path);
  if (source->info.stacks != NULL)
    gemem_trace_info_stacks (&reader->base.info);
  take_info (reader);
  return &reader->base;
}

/* ---- the survey */

/* Learns from the names and files of all frames; returns which strings they are. */
static GArray *
learn_frames (GememAnonymizer *anonymizer, const GememTraceInfo *info)
{
  const guint32 n = info->stacks != NULL ? gemem_call_stacks_frames (info->stacks) : 0;
  GArray *of_frames = g_array_new (FALSE, TRUE, sizeof (guint32));

  g_array_set_size (of_frames, info->strings->len);
  for (guint32 i = 1; i <= n; i++)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, i);
      const guint32 role = 1 + (frame->file != 0 ? ROLE_FUNCTION : ROLE_OPERATOR);

      if (frame->file != 0 && *slot_of (of_frames, frame->file) == 0)
        {
          *slot_of (of_frames, frame->file) = 1 + ROLE_FILE;
          gemem_redactor_learn_file (anonymizer->redactor,
                                     g_ptr_array_index (info->strings, frame->file));
        }
      if (frame->name != 0 && *slot_of (of_frames, frame->name) == 0)
        {
          *slot_of (of_frames, frame->name) = role;
          gemem_redactor_learn (anonymizer->redactor,
                                g_ptr_array_index (info->strings, frame->name),
                                frame->file != 0 ? GEMEM_TEXT_SYMBOL : GEMEM_TEXT_FREE);
        }
    }
  return of_frames;
}

/* Learns from a line of provenance, whose key may tell what the value is. */
static void
learn_line (GememAnonymizer *anonymizer, const char *line)
{
  static const char *const users[] = { "user",   "username", "logname",     "login",
                                       "author", "owner",    "recorded by", NULL };
  static const char *const hosts[] = { "host", "hostname", "node", "machine", "server", NULL };
  const char *colon = strstr (line, ": ");
  g_autofree char *key = g_ascii_strdown (line, colon != NULL ? colon - line : 0);
  const char *value = colon != NULL ? colon + 2 : line;
  g_autofree char *file = NULL;

  if (parse_converted (key, value, &file) != NULL)
    gemem_redactor_learn_file (anonymizer->redactor, file);
  else
    gemem_redactor_learn (anonymizer->redactor, value, kind_of_value (key));
  if (colon != NULL)
    { /* it may be text of which a part looks like a key: "LOGNAME=erin cwd: x" */
      g_autofree char *text = g_strndup (line, (gsize) (colon - line));
      gemem_redactor_learn (anonymizer->redactor, text, GEMEM_TEXT_FREE);
    }
  if (g_strv_contains (users, key))
    gemem_redactor_hide_user (anonymizer->redactor, value, (gssize) strcspn (value, ",;(<@"));
  else if (g_strv_contains (hosts, key))
    gemem_redactor_hide_host (anonymizer->redactor, value, (gssize) strcspn (value, " ,;(:/"));
}

gboolean
gemem_anonymizer_survey (GememAnonymizer *anonymizer, GememTraceReader *reader, GError **error)
{
  const GememTraceInfo *info = &reader->info;
  const GememTraceEvent *events;
  gssize n;

  for (guint i = 0; i < info->provenance->len; i++) /* a later header may replace them */
    learn_line (anonymizer, info->provenance->pdata[i]);
  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    continue;
  if (n < 0)
    return FALSE;
  for (guint i = 0; i < info->provenance->len; i++)
    learn_line (anonymizer, info->provenance->pdata[i]);
  g_autoptr (GArray) of_frames = learn_frames (anonymizer, info);
  for (guint i = 1; i < info->strings->len; i++)
    if (g_array_index (of_frames, guint32, i) == 0)
      gemem_redactor_learn (anonymizer->redactor, info->strings->pdata[i], GEMEM_TEXT_FREE);
  for (guint i = 0; i < 3; i++)
    {
      const char *text = i == 0 ? info->allocator : i == 1 ? info->settings : info->device;
      if (text != NULL)
        gemem_redactor_learn (anonymizer->redactor, text, GEMEM_TEXT_COMMAND);
    }
  return TRUE;
}

/* ---- the anonymizer */

gboolean
gemem_anonymity_parse (const char *text, GememAnonymity *anonymity, GError **error)
{
  *anonymity = GEMEM_ANONYMOUS_PATHS;
  if (*text == '\0')
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (anonymities); i++)
    if (g_ascii_strcasecmp (text, anonymities[i]) == 0)
      {
        *anonymity = (GememAnonymity) i;
        return TRUE;
      }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--anonymous=%s: unknown; choose paths (directories, users, hosts go) or names "
               "(every name goes)",
               text);
  return FALSE;
}

GememAnonymizer *
gemem_anonymizer_new (GememAnonymity anonymity)
{
  GememAnonymizer *anonymizer = g_new0 (GememAnonymizer, 1);

  anonymizer->anonymity = anonymity;
  anonymizer->redactor = gemem_redactor_new ();
  for (guint i = 0; i < ROLE_COUNT; i++)
    gemem_numbers_init (&anonymizer->names[i]);
  return anonymizer;
}

void
gemem_anonymizer_free (GememAnonymizer *anonymizer)
{
  if (anonymizer == NULL)
    return;
  gemem_redactor_free (anonymizer->redactor);
  for (guint i = 0; i < ROLE_COUNT; i++)
    gemem_numbers_clear (&anonymizer->names[i]);
  g_free (anonymizer);
}

void
gemem_anonymizer_hide_user (GememAnonymizer *anonymizer, const char *name)
{
  gemem_redactor_hide_user (anonymizer->redactor, name, -1);
}

void
gemem_anonymizer_hide_host (GememAnonymizer *anonymizer, const char *name)
{
  gemem_redactor_hide_host (anonymizer->redactor, name, -1);
}
