/* caching-watch.c - what the settings of `pytorch-caching` decided in a run, so that a search knows which
 * other settings would have decided the same without replaying them.
 *
 * Why: of a thousand settings most differ in thresholds that no request of the program ever meets.
 *
 * The event path puts every decision in which a setting takes part as a question of one or two numbers
 * to gemem_caching_answer(), a pure function of the settings.  Watching keeps each question once.  Other
 * settings that answer them all in the same way would have led to the same state after each, so to the same
 * next question: by induction they decide the whole run alike.
 *
 * Invariants: what is decided by a setting and put as no question is in have_same_rules(): such settings
 * must be equal.  Torch-npu, which has rules of its own, does not watch.
 * Cost: nothing but a test while nobody watches; then a look-up for each question, and one of memory for
 * each new one.  alike() is O(questions), and ends at the first that is answered otherwise.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"

typedef struct
{
  guint64 a, b;
  guint64 answer;
  CachingAsked asked;
} Question;

struct _CachingWatch
{
  GArray *questions; /* Question, in the order in which they were first asked */
  guint32 *table;    /* index into `questions` + 1, 0: empty; open addressing */
  guint mask;        /* its size - 1; a power of two, at least twice the questions */
  gboolean blind;    /* the settings were changed on the way */
};

#define FIRST_SIZE 256

/* ---- the questions */

static guint
place_of (const CachingWatch *watch, CachingAsked asked, guint64 a, guint64 b)
{
  const guint64 mixed = (a * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) ^ (b + (guint64) asked))
                        * G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  guint place = (guint) (mixed >> 32) & watch->mask;

  for (; watch->table[place] != 0; place = (place + 1) & watch->mask)
    {
      const Question *known = &g_array_index (watch->questions, Question, watch->table[place] - 1);

      if (known->a == a && known->b == b && known->asked == asked)
        break;
    }
  return place;
}

static void
grow (CachingWatch *watch)
{
  watch->mask = 2 * watch->mask + 1;
  g_free (watch->table);
  watch->table = g_new0 (guint32, (gsize) watch->mask + 1);
  for (guint i = 0; i < watch->questions->len; i++)
    {
      const Question *known = &g_array_index (watch->questions, Question, i);

      watch->table[place_of (watch, known->asked, known->a, known->b)] = i + 1;
    }
}

void
gemem_caching_note_question (Caching *caching, CachingAsked asked, guint64 a, guint64 b)
{
  CachingWatch *watch = caching->watch;
  const guint place = place_of (watch, asked, a, b);
  Question question = { a, b, 0, asked };

  if (watch->table[place] != 0)
    return;
  question.answer = gemem_caching_answer (&caching->settings, asked, a, b);
  g_array_append_val (watch->questions, question);
  watch->table[place] = watch->questions->len;
  if (2 * watch->questions->len > watch->mask)
    grow (watch);
}

/* ---- the class */

void
gemem_caching_watch_begin (GememAllocator *allocator)
{
  Caching *caching = (Caching *) allocator;

  caching->watch = g_new0 (CachingWatch, 1);
  caching->watch->questions = g_array_new (FALSE, FALSE, sizeof (Question));
  caching->watch->mask = FIRST_SIZE - 1;
  caching->watch->table = g_new0 (guint32, FIRST_SIZE);
}

void
gemem_caching_watch_blind (Caching *caching)
{
  if (caching->watch != NULL)
    caching->watch->blind = TRUE;
}

void
gemem_caching_watch_free (Caching *caching)
{
  if (caching->watch == NULL)
    return;
  g_array_unref (caching->watch->questions);
  g_free (caching->watch->table);
  g_clear_pointer (&caching->watch, g_free);
}

/* What no question is asked about. */
static gboolean
have_same_rules (const CachingSettings *a, const CachingSettings *b)
{
  return a->version == b->version && a->expandable == b->expandable
         && a->throw_on_oom == b->throw_on_oom
         && (!a->throw_on_oom || (a->limit == CACHING_UNLIMITED) == (b->limit == CACHING_UNLIMITED))
         && a->total == b->total && !(a->reserve_part < b->reserve_part)
         && !(a->reserve_part > b->reserve_part) && !(a->reserve_bytes < b->reserve_bytes)
         && !(a->reserve_bytes > b->reserve_bytes)
         && a->release_private_pools == b->release_private_pools
         && a->sleep_expandable == b->sleep_expandable;
}

gboolean
gemem_caching_watch_alike (const GememAllocator *allocator, const GememAllocator *other)
{
  const CachingWatch *watch = ((const Caching *) allocator)->watch;
  const CachingSettings *settings = &((const Caching *) other)->settings;

  if (watch->blind || !have_same_rules (&((const Caching *) allocator)->settings, settings))
    return FALSE;
  for (guint i = 0; i < watch->questions->len; i++)
    {
      const Question *known = &g_array_index (watch->questions, Question, i);

      if (gemem_caching_answer (settings, known->asked, known->a, known->b) != known->answer)
        return FALSE;
    }
  return TRUE;
}
