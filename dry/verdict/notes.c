/* notes.c - reads what the libraries of a dry run, and Python, noted ($GEMEM_DRY_NOTES).  dry/protocol/notes.def says which words
 * there are, what each carries, and in which list of the verdict it is counted.
 *
 * Invariants: what is no such line is left out, for a program that was killed leaves a part of one.  The order of lines is that of
 * several processes.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"

/* Where the verdict keeps what is counted. */
enum
{
  IN_none = 0,
#define LIST(name) IN_##name = G_STRUCT_OFFSET (DryVerdict, name),
  DRY_COUNTS (LIST)
#undef LIST
};

static const struct
{
  const char *word, *fields;
  glong list; /* IN_... */
} known[] = {
#define GEMEM_DRY_NOTE(name, word, fields, list, ...) { word, fields, IN_##list },
#include "dry/protocol/notes.def"
#undef GEMEM_DRY_NOTE
};

/* ---- lines */

/* Cuts @line into @note, which keeps its text.  FALSE: it is none. */
static gboolean
parse (char *line, DryNote *note)
{
  char *text = strchr (line, ' ');
  guint n = 0;

  if (text == NULL)
    return FALSE;
  *text++ = '\0';
  for (note->word = 0; strcmp (known[note->word].word, line) != 0;)
    if (++note->word == GEMEM_DRY_N_NOTES)
      return FALSE;
  const char *field = known[note->word].fields;
  while (g_ascii_islower (*field))
    {
      if (!g_ascii_isdigit (*text))
        return FALSE;
      note->numbers[n++] = g_ascii_strtoull (text, &text, 10);
      if (*text != ' ' && *text != '\0')
        return FALSE;
      text += *text == ' ';
      field += strcspn (field, " ");
      field += *field == ' ';
    }
  note->text = text;
  return (*field != '\0') == (*text != '\0');
}

/* The same; for a line of TIMES the note is that which it repeats. */
static gboolean
read_line (char *line, DryNote *note)
{
  *note = (DryNote){ .times = 1 };
  if (!parse (line, note))
    return FALSE;
  if (note->word != GEMEM_DRY_NOTE_TIMES)
    return TRUE;
  const guint64 times = note->numbers[0];
  line = note->text;
  *note = (DryNote){ .times = times - 1, .again = TRUE }; /* one was told before */
  return times > 1 && parse (line, note) && note->word != GEMEM_DRY_NOTE_TIMES;
}

void
gemem_dry_notes_load (DryRun *run, char *text)
{
  DryNote note;

  run->notes = g_array_new (FALSE, FALSE, sizeof (DryNote));
  run->notes_text = text;
  for (char *line = run->notes_text, *end; line != NULL; line = end)
    {
      if ((end = strchr (line, '\n')) != NULL)
        *end++ = '\0';
      if (read_line (line, &note))
        g_array_append_val (run->notes, note);
    }
}

const DryNote *
gemem_dry_notes_next (const DryRun *run, GememDryNote word, gint64 pid, int device, guint *at)
{
  while (*at < run->notes->len)
    {
      const DryNote *note = &g_array_index (run->notes, DryNote, (*at)++);
      if (note->word == word && !note->again && (pid == 0 || note->numbers[0] == (guint64) pid)
          && (device < 0 || note->numbers[1] == (guint64) device))
        return note;
    }
  return NULL;
}

/* ---- what is counted */

/* Adds @count to the entry of @word called @name; @index: that of all lists, text to entry. */
static void
add_count (GHashTable *index, GPtrArray *counts, GememDryNote word, const char *name, guint64 count)
{
  g_autofree char *key = g_strdup_printf ("%p %s", (void *) counts, name);
  DryCount *entry = g_hash_table_lookup (index, key);

  if (entry == NULL)
    {
      entry = g_new0 (DryCount, 1);
      entry->word = word;
      entry->name = g_strdup (name);
      g_ptr_array_add (counts, entry);
      g_hash_table_insert (index, g_steal_pointer (&key), entry);
    }
  entry->count += count;
}

/* Adds the calls of function @name, of which one is counted, to what the entry of the function says. */
static void
add_failed (GPtrArray *missing, const char *name, guint64 calls)
{
  const gsize n = strlen (name);

  for (guint i = 0; i < missing->len; i++)
    {
      DryCount *entry = missing->pdata[i];
      if (strncmp (entry->name, name, n) == 0 && entry->name[n] == ' ')
        entry->count += calls > 0 ? calls - 1 : 0;
    }
}

static void
count_note (DryVerdict *verdict, GHashTable *index, const DryNote *note)
{
  GPtrArray *list = known[note->word].list != IN_none
                        ? G_STRUCT_MEMBER (GPtrArray *, verdict, known[note->word].list)
                        : NULL;

  if (note->word == GEMEM_DRY_NOTE_FAILED)
    add_failed (verdict->missing, note->text, note->numbers[0]);
  else if (note->word == GEMEM_DRY_NOTE_HARMLESS)
    add_count (index, verdict->harmless, note->word, note->text, note->numbers[0]);
  else if (note->word == GEMEM_DRY_NOTE_LAST && note->numbers[0] > verdict->last_times)
    {
      g_free (verdict->last_value);
      verdict->last_value = g_strdup (note->text);
      verdict->last_times = note->numbers[0];
    }
  else if (list != NULL)
    {
      g_autofree char *what = list == verdict->unknown
                                  ? g_strdup_printf ("%s %s", known[note->word].word, note->text)
                                  : g_strdup (note->text);
      add_count (index, list, note->word, what, note->times);
    }
}

static gint
compare_counts (gconstpointer a, gconstpointer b)
{
  const DryCount *x = *(DryCount *const *) a, *y = *(DryCount *const *) b;
  return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                              : strcmp (x->name, y->name);
}

void
gemem_dry_notes_read (const DryRun *run, DryVerdict *verdict)
{
  g_autoptr (GHashTable) index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < run->notes->len; i++)
    count_note (verdict, index, &g_array_index (run->notes, DryNote, i));
  g_ptr_array_sort (verdict->harmless, compare_counts);
  g_ptr_array_sort (verdict->missing, compare_counts);
  g_ptr_array_sort (verdict->values, compare_counts);
  g_ptr_array_sort (verdict->numbers, compare_counts);
  g_ptr_array_sort (verdict->truths, compare_counts);
  g_ptr_array_sort (verdict->sizes, compare_counts);
}

void
gemem_dry_notes_process (const DryRun *run, DryFinding *found)
{
  const gint64 pid = found->pid;
  const int device = found->device;
  const DryNote *note;
  guint ended = 0;

  found->ended_otherwise = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_ENDED, pid, -1, &ended)
                           != NULL;
  for (guint at = 0;
       (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_REFUSED, pid, device, &at)) != NULL;)
    {
      g_free (found->refused_by);
      found->refused_by = g_strdup (note->text);
    }
  for (guint at = 0;
       (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_VISIBLE, pid, device, &at)) != NULL;)
    found->gpu = (int) note->numbers[2];
  for (guint at = 0;
       (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_NCCL, pid, device, &at)) != NULL;)
    {
      found->nccl = note->numbers[2];
      found->nccl_given = note->numbers[3] != 0;
      g_free (found->nccl_on);
      found->nccl_on = g_strdup (note->text);
    }
}

/* ---- the lists */

static void
count_free (gpointer data)
{
  DryCount *count = data;
  g_free (count->name);
  g_free (count);
}

void
gemem_dry_counts_init (DryVerdict *verdict)
{
#define LIST(name) verdict->name = g_ptr_array_new_with_free_func (count_free);
  DRY_COUNTS (LIST)
#undef LIST
}

void
gemem_dry_counts_clear (DryVerdict *verdict)
{
#define LIST(name) g_clear_pointer (&verdict->name, g_ptr_array_unref);
  DRY_COUNTS (LIST)
#undef LIST
  g_clear_pointer (&verdict->last_value, g_free);
}
