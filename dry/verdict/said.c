/* said.c - what a program says of its memory itself (dry/python/said.py): that there is too little, and how many tokens its KV cache holds.
 *
 * Why: a server that takes what is left of the memory for its cache (vLLM, SGLang) counts before it asks, and ends by an error of its
 * own where that is too little for one request.  No request was refused, so nothing else of the run tells.
 *
 * Invariants: what a text means, traces/messages/messages.def says, nothing here does.  The first refusal counts, and the last number
 * of tokens, which is the one that the server takes.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"

#define BEFORE 100 /* bytes that are quoted before the sign of a message ... */
#define QUOTED 400 /* ... and in all */

/* @text around the sign of @kind; g_free(). */
static char *
quote (const char *text, const GememMessageKind *kind)
{
  const gsize at = (gsize) (strstr (text, kind->sign) - text);
  const gsize from = at > QUOTED / 2 ? at - BEFORE : 0;
  g_autofree char *part = g_strndup (text + from, QUOTED);
  g_autofree char *valid = g_utf8_make_valid (part, -1);

  return g_strconcat (from > 0 ? "..." : "", valid, strlen (text + from) > QUOTED ? "..." : NULL,
                      NULL);
}

static void
take (DryVerdict *verdict, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
  GememInput *input = gemem_input_new_from_bytes (bytes, "notes");
  GememMessage message;

  if (gemem_message_read (input, &message, NULL) && message.kind->refuses
      && verdict->refusal == NULL)
    {
      verdict->refusal = quote (text, message.kind);
      verdict->refusal_kind = message.kind;
      verdict->longest = message.figures[GEMEM_FIGURE_LONGEST].bytes;
    }
  if (message.kind != NULL && message.figures[GEMEM_FIGURE_CACHED].known)
    {
      verdict->cached = message.figures[GEMEM_FIGURE_CACHED].bytes;
      verdict->cached_by = message.kind;
    }
  gemem_input_close (input);
}

void
gemem_library_said_read (const DryRun *run, DryVerdict *verdict)
{
  const DryNote *note;

  for (guint at = 0; (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_SAID, 0, -1, &at)) != NULL;)
    take (verdict, note->text);
}

gboolean
gemem_library_said_no (const DryVerdict *verdict)
{
  return verdict->refusal != NULL && verdict->status != 0;
}

void
gemem_library_said_clear (DryVerdict *verdict)
{
  g_clear_pointer (&verdict->refusal, g_free);
}
