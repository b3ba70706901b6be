/* questions.c - see questions.h. */
#include "config.h"

#include "allocators/questions.h"

typedef struct
{
  guint64 a, b;
  guint64 answer;
  guint asked;
} Question;

#define RECENT 4

struct _GememQuestions
{
  GememAnswerFunc answer;
  GArray *list;   /* Question, in the order in which they were first asked */
  guint32 *table; /* index into `list` + 1, 0: empty; open addressing */
  guint mask;     /* its size - 1; a power of two, at least twice the questions */
  gboolean blind; /* the settings were changed on the way */
  guint recent[RECENT],
      n_recent; /* questions that others answered otherwise; how many there were */
};

#define FIRST_SIZE 256

static guint
place_of (const GememQuestions *questions, guint asked, guint64 a, guint64 b)
{
  const guint64 mixed = (a * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) ^ (b + asked))
                        * G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  guint place = (guint) (mixed >> 32) & questions->mask;

  for (; questions->table[place] != 0; place = (place + 1) & questions->mask)
    {
      const Question *known = &g_array_index (questions->list, Question,
                                              questions->table[place] - 1);

      if (known->a == a && known->b == b && known->asked == asked)
        break;
    }
  return place;
}

static void
grow (GememQuestions *questions)
{
  questions->mask = 2 * questions->mask + 1;
  g_free (questions->table);
  questions->table = g_new0 (guint32, (gsize) questions->mask + 1);
  for (guint i = 0; i < questions->list->len; i++)
    {
      const Question *known = &g_array_index (questions->list, Question, i);

      questions->table[place_of (questions, known->asked, known->a, known->b)] = i + 1;
    }
}

GememQuestions *
gemem_questions_new (GememAnswerFunc answer)
{
  GememQuestions *questions = g_new0 (GememQuestions, 1);

  questions->answer = answer;
  questions->list = g_array_new (FALSE, FALSE, sizeof (Question));
  questions->mask = FIRST_SIZE - 1;
  questions->table = g_new0 (guint32, FIRST_SIZE);
  return questions;
}

void
gemem_questions_free (GememQuestions *questions)
{
  if (questions == NULL)
    return;
  g_array_unref (questions->list);
  g_free (questions->table);
  g_free (questions);
}

void
gemem_questions_note (GememQuestions *questions, gconstpointer settings, guint asked, guint64 a,
                      guint64 b)
{
  const guint place = place_of (questions, asked, a, b);
  Question question = { a, b, 0, asked };

  if (questions->table[place] != 0)
    return;
  question.answer = questions->answer (settings, asked, a, b);
  g_array_append_val (questions->list, question);
  questions->table[place] = questions->list->len;
  if (2 * questions->list->len > questions->mask)
    grow (questions);
}

void
gemem_questions_blind (GememQuestions *questions)
{
  questions->blind = TRUE;
}

static gboolean
answers_alike (const GememQuestions *questions, gconstpointer settings, guint i)
{
  const Question *known = &g_array_index (questions->list, Question, i);

  return questions->answer (settings, known->asked, known->a, known->b) == known->answer;
}

gboolean
gemem_questions_alike (GememQuestions *questions, gconstpointer settings)
{
  if (questions->blind)
    return FALSE;
  for (guint r = 0; r < MIN (questions->n_recent, RECENT); r++)
    if (!answers_alike (questions, settings, questions->recent[r]))
      return FALSE;
  for (guint i = 0; i < questions->list->len; i++)
    if (!answers_alike (questions, settings, i))
      {
        questions->recent[questions->n_recent++ % RECENT] = i;
        return FALSE;
      }
  return TRUE;
}
