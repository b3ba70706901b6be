/* diff-chain.c - see diff-chain.h. */
#include "config.h"

#include "sim/search/diff-chain.h"

#define NONE GEMEM_DIFF_NONE

typedef struct
{
  const GememHistory *histories[2];
  guint *pairs[2];
  guint
      refused; /* block of the side of the chain that stands for the request that it is refused; NONE: none */
  GememDiffChain *chain; /* its links in the order in which they are found: the latest first */
} Search;

/* The same request on both sides; NONE: that side does not make it. */
typedef struct
{
  guint blocks[2];
} Request;

static const GememHistoryBlock *
block_at (const Search *search, guint side, guint block)
{
  return &g_array_index (search->histories[side]->blocks, GememHistoryBlock, block);
}

static const GememHistoryBlock *
segment_at (const Search *search, guint side, guint segment)
{
  return &g_array_index (search->histories[side]->segments, GememHistoryBlock, segment);
}

static gboolean
is_there (const GememHistoryBlock *one, guint64 event)
{
  return one->begin <= event && event < one->end;
}

static gboolean
lies_in (const GememHistoryBlock *block, const GememHistoryBlock *segment)
{
  return segment->address <= block->address && block->address < segment->address + segment->size;
}

/* The first of @array, which is by birth, that begins at @event or later. */
static guint
first_from (const GArray *array, guint64 event)
{
  guint from = 0, to = array->len;

  while (from < to)
    {
      const guint middle = from + (to - from) / 2;
      if (g_array_index (array, GememHistoryBlock, middle).begin < event)
        from = middle + 1;
      else
        to = middle;
    }
  return from;
}

/* The first of @array that begins at @event; NONE. */
static guint
first_at (const GArray *array, guint64 event)
{
  const guint i = first_from (array, event);

  return i < array->len && g_array_index (array, GememHistoryBlock, i).begin == event ? i : NONE;
}

/* ---- segments */

/* In which segment @block lies; NONE: it is unknown. */
static guint
segment_of (const Search *search, guint side, guint block)
{
  const GArray *segments = search->histories[side]->segments;
  const GememHistoryBlock *one = block_at (search, side, block);

  for (guint i = 0; i < segments->len && segment_at (search, side, i)->begin <= one->begin; i++)
    if (is_there (segment_at (search, side, i), one->begin)
        && lies_in (one, segment_at (search, side, i)))
      return i;
  return NONE;
}

/* What @side obtains at @event. */
static guint64
obtained_at (const Search *search, guint side, guint64 event)
{
  const GArray *segments = search->histories[side]->segments;
  guint64 bytes = 0;

  for (guint i = first_at (segments, event);
       i < segments->len && segment_at (search, side, i)->begin == event; i++)
    bytes += segment_at (search, side, i)->size;
  return bytes;
}

/* The request for which @side obtained @segment; FALSE: none is known. */
static gboolean
request_of_segment (const Search *search, guint side, guint segment, Request *request)
{
  const guint block = first_at (search->histories[side]->blocks,
                                segment_at (search, side, segment)->begin);

  if (block == NONE)
    return FALSE;
  request->blocks[side] = block;
  request->blocks[1 - side] = search->pairs[side][block];
  return TRUE;
}

/* What the other side obtained for the request for which @side obtained @segment; of several, that of the same rank.
 * What was there before the recording is told apart by its rank alone. */
static guint
counterpart_of (const Search *search, guint side, guint segment)
{
  const guint64 begin = segment_at (search, side, segment)->begin;
  const GArray *others = search->histories[1 - side]->segments;
  Request request;
  guint64 event = 0;
  guint other;

  if (begin > 0)
    {
      if (!request_of_segment (search, side, segment, &request) || request.blocks[1 - side] == NONE)
        return NONE;
      event = block_at (search, 1 - side, request.blocks[1 - side])->begin;
    }
  other = first_at (others, event);
  if (other == NONE)
    return NONE;
  other += segment - first_at (search->histories[side]->segments, begin);
  return other < others->len && segment_at (search, 1 - side, other)->begin == event ? other : NONE;
}

/* ---- links */

static GememDiffPlace
place_of (const Search *search, guint side, guint block)
{
  const GememHistoryBlock *one = block_at (search, side, block);
  const guint segment = segment_of (search, side, block);
  GememDiffPlace place = { .event = one->begin, .size = one->requested };

  if (segment != NONE)
    {
      place.segment = segment_at (search, side, segment)->size;
      place.obtained = segment_at (search, side, segment)->begin;
      place.is_new = place.obtained == one->begin && place.obtained > 0;
    }
  return place;
}

static void
add_link (Search *search, const Request *request)
{
  const guint known = request->blocks[0] != NONE ? 0 : 1;
  const char *by = search->histories[known]
                       ->texts->pdata[block_at (search, known, request->blocks[known])->text];
  GememDiffLink link = { .side = search->chain->side, .by = *by != '\0' ? g_strdup (by) : NULL };

  for (guint s = 0; s < 2; s++)
    if (request->blocks[s] != NONE)
      {
        link.asks[s] = TRUE;
        link.places[s] = place_of (search, s, request->blocks[s]);
      }
  link.places[link.side].fails = search->refused != NONE
                                 && request->blocks[link.side] == search->refused;
  /* it is asked why the one that obtained memory did not do as the other */
  if (!link.places[link.side].fails && link.places[0].is_new != link.places[1].is_new)
    link.side = link.places[1].is_new ? 1 : 0;
  g_array_append_val (search->chain->links, link);
}

/* ---- why it does not fit there */

/* Whether @block of @side, which lies in a segment whose counterpart is @other, is not in the way on the other side
 * at its event @event. */
static gboolean
lies_elsewhere (const Search *search, guint side, guint block, guint other, guint64 event)
{
  const guint pair = search->pairs[side][block];
  const GememHistoryBlock *one;

  if (pair == NONE)
    return TRUE;
  one = block_at (search, 1 - side, pair);
  return !is_there (one, event) || !lies_in (one, segment_at (search, 1 - side, other));
}

static gboolean
overlaps (const GememHistoryBlock *block, guint64 from, guint64 to)
{
  return block->address < to && from < block->address + block->size;
}

/* The block that lies in @segment of @side, where the other side serves @request from @other: of those at its place the
 * largest, else the largest of all; NONE: there is none. */
static guint
find_blocker (const Search *search, guint side, guint segment, guint other, const Request *request)
{
  const GArray *blocks = search->histories[side]->blocks;
  const GememHistoryBlock *here = segment_at (search, side, segment),
                          *there = segment_at (search, 1 - side, other),
                          *served = block_at (search, 1 - side, request->blocks[1 - side]);
  const guint64 event = block_at (search, side, request->blocks[side])->begin,
                from = here->address + (served->address - there->address);
  guint best = NONE;
  gboolean best_overlaps = FALSE;

  for (guint i = 0; i < blocks->len && block_at (search, side, i)->begin < event; i++)
    {
      const GememHistoryBlock *block = block_at (search, side, i);
      const gboolean at_place = overlaps (block, from, from + served->size);

      if (!is_there (block, event) || !lies_in (block, here)
          || !lies_elsewhere (search, side, i, other, served->begin))
        continue;
      if (best == NONE || (at_place && !best_overlaps)
          || (at_place == best_overlaps && block->size > block_at (search, side, best)->size))
        {
          best = i;
          best_overlaps = at_place;
        }
    }
  return best;
}

/* Ends the chain. */
static gboolean
end_with (Search *search, GememDiffCause cause, guint64 event)
{
  search->chain->cause = cause;
  search->chain->cause_event = event;
  return FALSE;
}

static GememDiffLink *
last_link (Search *search)
{
  return &g_array_index (search->chain->links, GememDiffLink, search->chain->links->len - 1);
}

/* Replaces @request by that for which the other side than @side obtained @segment. */
static gboolean
go_to_segment (Search *search, guint side, guint segment, GememDiffWhy why, Request *request)
{
  if (!request_of_segment (search, 1 - side, segment, request))
    return end_with (search, GEMEM_DIFF_CAUSE_OTHER, 0);
  last_link (search)->why = why;
  return TRUE;
}

/* Replaces @request by the block that lies in @segment of @side, where the other serves it from @other. */
static gboolean
go_to_blocker (Search *search, guint side, guint segment, guint other, Request *request)
{
  const guint blocker = find_blocker (search, side, segment, other, request);
  const GememHistoryBlock *served = block_at (search, 1 - side, request->blocks[1 - side]), *pair,
                          *here = segment_at (search, side, segment),
                          *there = segment_at (search, 1 - side, other);

  if (blocker == NONE && served->address + served->size > there->address + there->size)
    return end_with (search, GEMEM_DIFF_CAUSE_GROWS, 0);
  if (blocker == NONE && served->address - there->address + served->size <= here->size)
    return end_with (search, GEMEM_DIFF_CAUSE_RULE, 0);
  if (blocker == NONE)
    return go_to_segment (search, side, other, GEMEM_DIFF_WHY_SMALLER, request);
  request->blocks[side] = blocker;
  request->blocks[1 - side] = search->pairs[side][blocker];
  if (request->blocks[1 - side] == NONE)
    return TRUE;
  pair = block_at (search, 1 - side, request->blocks[1 - side]);
  if (is_there (pair, served->begin))
    return TRUE;
  add_link (search, request);
  last_link (search)->side = side;
  return end_with (search, GEMEM_DIFF_CAUSE_FREED, pair->end);
}

/* The largest segment at the peak of @side at @event whose request the other side served with less, the earliest of
 * equally large ones; FALSE: there is none. */
static gboolean
find_segment (Search *search, guint side, guint64 event, Request *found)
{
  const GArray *segments = search->histories[side]->segments;
  guint64 most = 0;

  for (guint i = first_from (segments, 1); i < segments->len; i++)
    {
      const GememHistoryBlock *segment = segment_at (search, side, i);
      Request request;
      guint64 other = 0;

      if (segment->begin > event || (search->refused != NONE && segment->begin == event))
        break;
      if (!is_there (segment, event) || !request_of_segment (search, side, i, &request))
        continue;
      if (request.blocks[1 - side] != NONE)
        other = obtained_at (search, 1 - side,
                             block_at (search, 1 - side, request.blocks[1 - side])->begin);
      if (segment->size > other && segment->size - other > most)
        {
          most = segment->size - other;
          *found = request;
        }
    }
  search->chain->bytes = most;
  return most > 0;
}

/* Replaces @request, for which the device had no space on @side alone, by that for which @side obtained memory that the other
 * does not have. */
static gboolean
go_to_excess (Search *search, guint side, Request *request)
{
  if (!find_segment (search, side, search->chain->event, request))
    return end_with (search, GEMEM_DIFF_CAUSE_DEVICE, 0);
  last_link (search)->why = GEMEM_DIFF_WHY_DEVICE;
  return TRUE;
}

/* Replaces @request, the last link, which was placed differently, by the one because of which it was; FALSE: the chain
 * has ended. */
static gboolean
go_back (Search *search, Request *request)
{
  const GememDiffLink *link = last_link (search);
  const guint side = link->side;
  const gboolean fails = link->places[side].fails;
  guint segment, other;

  if (!link->asks[0] || !link->asks[1])
    return end_with (search, GEMEM_DIFF_CAUSE_NO_BLOCK, 0);
  if (link->places[0].size != link->places[1].size)
    return end_with (search, GEMEM_DIFF_CAUSE_REQUEST, 0);
  if (fails && link->places[1 - side].is_new)
    return go_to_excess (search, side, request);
  other = segment_of (search, 1 - side, request->blocks[1 - side]);
  if (other == NONE || (!fails && segment_of (search, side, request->blocks[side]) == NONE))
    return end_with (search, GEMEM_DIFF_CAUSE_OTHER, 0);
  if (link->places[0].is_new && link->places[1].is_new)
    return end_with (search, GEMEM_DIFF_CAUSE_SIZES, 0);
  segment = counterpart_of (search, 1 - side, other);
  if (segment == NONE)
    return go_to_segment (search, side, other, GEMEM_DIFF_WHY_NO_SEGMENT, request);
  /* what is returned for a request that fails all the same did not serve it */
  if (segment_at (search, side, segment)->end < link->places[side].event + (fails ? 0 : 1))
    return end_with (search, GEMEM_DIFF_CAUSE_RETURNED, segment_at (search, side, segment)->end);
  return go_to_blocker (search, side, segment, other, request);
}

/* ---- where it begins */

static void
turn_round (GArray *links)
{
  for (guint i = 0, j = links->len; i + 1 < j--; i++)
    {
      const GememDiffLink link = g_array_index (links, GememDiffLink, i);

      g_array_index (links, GememDiffLink, i) = g_array_index (links, GememDiffLink, j);
      g_array_index (links, GememDiffLink, j) = link;
    }
}

static void
link_clear (gpointer data)
{
  g_free (((GememDiffLink *) data)->by);
}

/* Makes the request that is refused at @event one of the blocks of @history, which is nowhere and at no time; NONE: it is
 * not known. */
static guint
add_refused (GememHistory *history, guint64 event)
{
  for (guint i = 0; i < history->refused->len; i++)
    {
      GememHistoryBlock request = g_array_index (history->refused, GememHistoryBlock, i);
      const guint at = first_from (history->blocks, event);

      if (request.begin != event)
        continue;
      request.size = 0;
      g_array_insert_val (history->blocks, at, request);
      return at;
    }
  return NONE;
}

/* What the chain is followed from; FALSE: there is nothing. */
static gboolean
begin (Search *search, guint side, guint64 event, Request *request)
{
  if (search->refused == NONE || search->pairs[side][search->refused] == NONE)
    return find_segment (search, side, event, request);
  request->blocks[side] = search->refused;
  request->blocks[1 - side] = search->pairs[side][search->refused];
  search->chain->of_request = TRUE;
  return TRUE;
}

GememDiffChain *
gemem_diff_chain (GememHistory *const histories[2], guint64 event, guint side, gboolean fails,
                  gboolean by_event)
{
  GememDiffChain *chain = g_new0 (GememDiffChain, 1);
  Search search = { { histories[0], histories[1] }, { NULL, NULL }, NONE, chain };
  Request request;
  gboolean goes_on;

  if (fails)
    search.refused = add_refused (histories[side], event);
  chain->side = side;
  chain->event = event;
  chain->fails = fails;
  chain->links = g_array_new (FALSE, FALSE, sizeof (GememDiffLink));
  g_array_set_clear_func (chain->links, link_clear);
  gemem_diff_pair ((const GememHistory *const *) histories, by_event, search.pairs);
  goes_on = begin (&search, side, event, &request);
  while (goes_on && chain->links->len < GEMEM_DIFF_LINKS)
    {
      add_link (&search, &request);
      goes_on = go_back (&search, &request);
    }
  g_free (search.pairs[0]);
  g_free (search.pairs[1]);
  if (chain->links->len == 0)
    g_clear_pointer (&chain, gemem_diff_chain_free);
  else
    turn_round (chain->links);
  return chain;
}

void
gemem_diff_chain_free (GememDiffChain *chain)
{
  if (chain == NULL)
    return;
  g_array_unref (chain->links);
  g_free (chain);
}
