/* survey.c - see survey.h. */
#include "config.h"

#include "base/compare.h"
#include "traces/paddle/survey.h"

static void
settle (PaddleSurvey *survey, const PaddleThread *thread)
{
  if (thread->asks == PADDLE_ASKS_GROWTH)
    g_array_append_val (survey->failed, thread->line);
  else if (thread->asks == PADDLE_ASKS_BUDDY)
    g_array_append_val (survey->failed_buddy, thread->line);
}

/* A log without lines of allocated blocks tells nothing about failures. */
static void
conclude (PaddleSurvey *survey)
{
  if (survey->growth == 0)
    g_array_set_size (survey->failed, 0);
  if (survey->buddy > 0)
    g_array_append_vals (survey->failed, survey->failed_buddy->data, survey->failed_buddy->len);
  g_array_unref (survey->failed_buddy);
  g_array_sort (survey->failed, gemem_compare_uint64);
}

static void
take_request (PaddleSurvey *survey, GememIdMap *threads, const PaddleLine *line, guint64 number)
{
  const guint64 asks = line->kind == PADDLE_LINE_GROWTH_REQUEST ? PADDLE_ASKS_GROWTH
                                                                : PADDLE_ASKS_BUDDY;
  PaddleThread *thread = gemem_idmap_insert (threads, line->thread, NULL);

  if (thread->asks == asks && thread->size == line->size)
    return; /* a retry of the same request */
  settle (survey, thread);
  *thread = (PaddleThread){ .asks = asks, .size = line->size, .line = number };
}

static void
take_line (PaddleSurvey *survey, GememIdMap *threads, const PaddleLine *line, guint64 number)
{
  survey->known++;
  survey->timeless |= !line->has_time;
  survey->first_time = MIN (survey->first_time, line->time);
  survey->growth += line->kind == PADDLE_LINE_GROWTH_ALLOC;
  survey->growth_frees += line->kind == PADDLE_LINE_GROWTH_FREE;
  survey->streams += line->kind == PADDLE_LINE_STREAM_ALLOC;
  survey->buddy += line->kind == PADDLE_LINE_BUDDY_ALLOC || line->kind == PADDLE_LINE_BUDDY_HUGE;
  survey->places += line->kind == PADDLE_LINE_PLACE_REQUEST;
  survey->chunks += line->kind == PADDLE_LINE_CHUNK;
  survey->bare_chunks += line->kind == PADDLE_LINE_CHUNK && line->address == 0;
  survey->hidden += (line->kind == PADDLE_LINE_CHUNK && line->address == 0)
                    || line->kind == PADDLE_LINE_CHUNK_FREE
                    || line->kind == PADDLE_LINE_BUDDY_REQUEST
                    || line->kind == PADDLE_LINE_PLACE_REQUEST;
  if (line->kind == PADDLE_LINE_GROWTH_REQUEST || line->kind == PADDLE_LINE_BUDDY_REQUEST)
    take_request (survey, threads, line, number);
  else if (line->kind == PADDLE_LINE_GROWTH_ALLOC || line->kind == PADDLE_LINE_BUDDY_ALLOC
           || line->kind == PADDLE_LINE_BUDDY_HUGE)
    gemem_idmap_remove (threads, line->thread, NULL);
}

gboolean
gemem_paddle_survey_read (PaddleSurvey *survey, GememInput *input, GError **error)
{
  GememIdMap *threads = gemem_idmap_new (sizeof (PaddleThread));
  const char *text;
  gpointer thread;
  gsize length, position = 0;

  survey->failed = g_array_new (FALSE, FALSE, sizeof (guint64));
  survey->failed_buddy = g_array_new (FALSE, FALSE, sizeof (guint64));
  survey->first_time = G_MAXUINT64;
  while (gemem_input_line (input, PADDLE_LINE_LONGEST, &text, &length, NULL) > 0)
    {
      PaddleLine line;
      gemem_paddle_line (text, text + length, &line);
      if (line.kind == PADDLE_LINE_DAMAGED) /* the damaged line may have named the block */
        gemem_idmap_remove (threads, line.thread, NULL);
      else if (line.kind != PADDLE_LINE_OTHER)
        take_line (survey, threads, &line, gemem_input_line_number (input));
    }
  while (gemem_idmap_next (threads, &position, NULL, &thread))
    settle (survey, thread);
  gemem_idmap_free (threads);
  conclude (survey);
  return gemem_input_rewind (input, error);
}
