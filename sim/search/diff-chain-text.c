/* diff-chain-text.c - see diff-chain.h: the chain for a person, and for programs. */
#include "config.h"

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/engine/result.h"
#include "sim/search/diff-chain.h"

#define SHOWN 3 /* links for a person: the first ones and the last */

static const char *const sides[] = { "the first", "the second" };

/* ---- for a person */

/* "obtains 438.0 MiB for it", "puts it into its 438.0 MiB segment of event 96" */
static void
append_place (GString *out, const GememDiffLink *link, guint side)
{
  const GememDiffPlace *place = &link->places[side];
  char size[GEMEM_FORMAT_MAX];

  gemem_format_size (size, place->segment);
  if (!link->asks[side])
    g_string_append (out, "does not ask for it");
  else if (place->fails)
    g_string_append (out, "is refused it");
  else if (place->segment == 0)
    g_string_append (out, "has it in memory of unknown origin");
  else if (place->is_new)
    g_string_append_printf (out, "obtains %s for it", size);
  else if (place->obtained == 0)
    g_string_append_printf (out, "puts it into its %s segment of the beginning", size);
  else
    g_string_append_printf (out, "puts it into its %s segment of event %" G_GUINT64_FORMAT, size,
                            place->obtained);
}

/* "100.0 MiB by loss.py:31 (event 412)" */
static void
append_request (GString *out, const GememDiffLink *link)
{
  const guint known = link->asks[link->side] ? link->side : 1 - link->side;
  char size[GEMEM_FORMAT_MAX];

  g_string_append (out, gemem_format_size (size, link->places[known].size));
  if (link->asks[1 - known] && link->places[1 - known].size != link->places[known].size)
    g_string_append_printf (out, ", in %s %s,", sides[1 - known],
                            gemem_format_size (size, link->places[1 - known].size));
  gemem_origin_append_by (out, link->by);
  g_string_append_printf (out, " (event %" G_GUINT64_FORMAT, link->places[known].event);
  if (link->asks[1 - known] && link->places[1 - known].event != link->places[known].event)
    g_string_append_printf (out, ", in %s %" G_GUINT64_FORMAT, sides[1 - known],
                            link->places[1 - known].event);
  g_string_append (out, "): ");
}

/* Why the first link of @chain was placed differently. */
static void
append_cause (GString *out, const GememDiffChain *chain, const GememDiffLink *link)
{
  const char *one = sides[link->side], *other = sides[1 - link->side];

  switch (chain->cause)
    {
    case GEMEM_DIFF_CAUSE_FREED:
      g_string_append_printf (
          out, ", and there it still lies when %s has freed it (event %" G_GUINT64_FORMAT ")",
          other, chain->cause_event);
      break;
    case GEMEM_DIFF_CAUSE_RETURNED:
      g_string_append_printf (out,
                              ", for %s has returned that segment (event %" G_GUINT64_FORMAT ")",
                              one, chain->cause_event);
      break;
    case GEMEM_DIFF_CAUSE_RULE:
      g_string_append (out, ", though it would fit into that one, too");
      break;
    case GEMEM_DIFF_CAUSE_GROWS:
      g_string_append_printf (out, ", where no segment grows as that of %s did", other);
      break;
    case GEMEM_DIFF_CAUSE_DEVICE:
      g_string_append_printf (out, ", as there is no space for it beside what %s holds", one);
      break;
    case GEMEM_DIFF_CAUSE_REQUEST:
    case GEMEM_DIFF_CAUSE_OTHER:
    case GEMEM_DIFF_CAUSE_NO_BLOCK:
    case GEMEM_DIFF_CAUSE_SIZES:
      break;
    }
}

/* What hinders the side of @link; @follows: the link before it stands above it. */
static void
append_why (GString *out, const GememDiffLink *link, gboolean follows)
{
  const char *one = sides[link->side];

  if (link->why == GEMEM_DIFF_WHY_NO_SEGMENT)
    g_string_append_printf (out, "%s has no such segment, and ", one);
  else if (link->why == GEMEM_DIFF_WHY_SMALLER)
    g_string_append_printf (out, "that of %s is smaller, and it ", one);
  else if (link->why == GEMEM_DIFF_WHY_DEVICE)
    g_string_append_printf (out, "%s obtained more for %s, and ", one,
                            follows ? "the one above" : "another one");
  else
    g_string_append_printf (out, "in that of %s lies %s, and it ", one,
                            follows ? "the block above" : "another block");
}

static void
append_link (GString *out, const GememDiffChain *chain, guint i, gboolean follows)
{
  const GememDiffLink *link = &g_array_index (chain->links, GememDiffLink, i);
  g_autoptr (GString) text = g_string_new ("  ");

  append_request (text, link);
  g_string_append_printf (text, "%s ", sides[1 - link->side]);
  append_place (text, link, 1 - link->side);
  g_string_append (text, "; ");
  if (i > 0)
    append_why (text, link, follows);
  else
    g_string_append_printf (text, "%s ", sides[link->side]);
  append_place (text, link, link->side);
  if (i == 0)
    append_cause (text, chain, link);
  g_string_append_c (text, '.');
  gemem_text_wrap (out, text->str, "    ");
}

void
gemem_diff_chain_append (GString *out, const GememDiffChain *chain)
{
  const guint n = chain->links->len, left_out = n > SHOWN ? n - SHOWN : 0;
  char size[GEMEM_FORMAT_MAX];

  if (!chain->of_request)
    g_string_append_printf (out, "\nHow %s comes to hold a segment of %s more%s:\n",
                            sides[chain->side], gemem_format_size (size, chain->bytes),
                            chain->fails ? " when a request fails" : "");
  for (guint i = 0; i < n; i++)
    {
      if (i < SHOWN - 1 || i >= SHOWN - 1 + left_out)
        append_link (out, chain, i, left_out == 0 || i < SHOWN - 1);
      else if (i == SHOWN - 1)
        g_string_append_printf (out, "  ... and so on with %u more (-f json has all) ...\n",
                                left_out);
    }
}

/* ---- for programs */

static void
append_link_json (GString *out, const GememDiffLink *link)
{
  static const char *const names[] = { "first", "second" };
  static const char *const whys[] = { [GEMEM_DIFF_WHY_TAKEN] = "taken",
                                      [GEMEM_DIFF_WHY_NO_SEGMENT] = "no_such_segment",
                                      [GEMEM_DIFF_WHY_SMALLER] = "smaller_segment",
                                      [GEMEM_DIFF_WHY_DEVICE] = "device_full" };

  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "differs", names[link->side]);
  gemem_json_append_text_member (out, "why", whys[link->why]);
  gemem_json_append_text_member (out, "by", link->by);
  for (guint s = 0; s < 2; s++)
    {
      const GememDiffPlace *place = &link->places[s];

      gemem_json_append_name (out, names[s]);
      if (!link->asks[s])
        {
          g_string_append (out, "null");
          continue;
        }
      g_string_append_c (out, '{');
      gemem_json_append_number_member (out, "event", place->event);
      gemem_json_append_number_member (out, "requested", place->size);
      gemem_json_append_number_member (out, "segment", place->segment);
      gemem_json_append_number_member (out, "segment_obtained", place->obtained);
      gemem_json_append_bool_member (out, "segment_is_new", place->is_new);
      gemem_json_append_bool_member (out, "fails", place->fails);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, '}');
}

void
gemem_diff_chain_append_json (GString *out, const GememDiffChain *chain)
{
  static const char *const causes[] = {
    [GEMEM_DIFF_CAUSE_OTHER] = "unknown",     [GEMEM_DIFF_CAUSE_NO_BLOCK] = "not_asked",
    [GEMEM_DIFF_CAUSE_REQUEST] = "request",   [GEMEM_DIFF_CAUSE_GROWS] = "grows",
    [GEMEM_DIFF_CAUSE_FREED] = "freed",       [GEMEM_DIFF_CAUSE_RETURNED] = "returned",
    [GEMEM_DIFF_CAUSE_SIZES] = "sizes",       [GEMEM_DIFF_CAUSE_RULE] = "rule",
    [GEMEM_DIFF_CAUSE_DEVICE] = "device_full"
  };

  gemem_json_append_name (out, "chain");
  if (chain == NULL)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "holds_more", chain->side == 0 ? "first" : "second");
  gemem_json_append_number_member (out, "event", chain->event);
  gemem_json_append_bool_member (out, "fails", chain->fails);
  gemem_json_append_bool_member (out, "of_request", chain->of_request);
  gemem_json_append_number_member (out, "bytes", chain->bytes);
  gemem_json_append_text_member (out, "cause", causes[chain->cause]);
  gemem_json_append_number_member (out, "cause_event", chain->cause_event);
  gemem_json_append_name (out, "links");
  g_string_append_c (out, '[');
  for (guint i = 0; i < chain->links->len; i++)
    {
      g_string_append (out, i == 0 ? "\n    " : ",\n    ");
      append_link_json (out, &g_array_index (chain->links, GememDiffLink, i));
    }
  g_string_append (out, "]}");
}
