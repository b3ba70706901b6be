/* diff-json.c - see diff.h: a difference for programs, with the fields of the screen and all rows. */
#include "config.h"

#include "base/io/json-text.h"
#include "sim/search/diff.h"

static void
append_side_json (GString *out, const GememDiffSide *side, const char *name)
{
  const GememResult *result = side->result;

  gemem_json_append_name (out, name);
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "trace", side->name);
  gemem_json_append_text_member (out, "allocator", side->result->label);
  gemem_json_append_bool_member (out, "allocator_assumed", side->assumed);
  gemem_json_append_text_member (out, "device", result->device);
  gemem_json_append_number_member (out, "device_number", (guint64) result->device_ordinal);
  gemem_json_append_number_member (out, "peak_reserved", result->peak_reserved);
  gemem_json_append_number_member (out, "in_use_then", result->idle_live);
  gemem_json_append_number_member (out, "idle_then", result->idle_reserved - result->idle_live);
  gemem_json_append_number_member (out, "peak_live", result->peak_live);
  gemem_json_append_number_member (out, "requests", result->allocs);
  gemem_json_append_number_member (out, "failed", result->ooms);
  gemem_json_append_number_member (out, "device_calls", gemem_result_calls (result));
  g_string_append_c (out, '}');
}

void
gemem_diff_append_rows_json (GString *out, const char *name, const GArray *rows)
{
  gemem_json_append_name (out, name);
  g_string_append_c (out, '[');
  for (guint i = 0; i < rows->len; i++)
    {
      const GememDiffRow *row = &g_array_index (rows, GememDiffRow, i);

      g_string_append (out, i == 0 ? "\n    {" : ",\n    {");
      gemem_json_append_text_member (out, "name", row->name);
      gemem_json_append_number_member (out, "first_bytes", row->bytes[0]);
      gemem_json_append_number_member (out, "second_bytes", row->bytes[1]);
      gemem_json_append_number_member (out, "first_blocks", row->blocks[0]);
      gemem_json_append_number_member (out, "second_blocks", row->blocks[1]);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_steps_json (GString *out, const char *name, const GArray *steps)
{
  gemem_json_append_name (out, name);
  g_string_append_c (out, '[');
  for (guint i = 0; i < steps->len; i++)
    g_string_append_printf (out, "%s%" G_GUINT64_FORMAT, i > 0 ? ", " : "",
                            g_array_index (steps, guint64, i));
  g_string_append_c (out, ']');
}

static void
append_settings_json (GString *out, const GArray *settings)
{
  gemem_json_append_name (out, "settings");
  g_string_append_c (out, '[');
  for (guint i = 0; i < settings->len; i++)
    {
      const GememDiffSetting *setting = &g_array_index (settings, GememDiffSetting, i);

      g_string_append (out, i == 0 ? "\n    {" : ",\n    {");
      gemem_json_append_text_member (out, "name", setting->name);
      gemem_json_append_text_member (out, "first", setting->values[0]);
      gemem_json_append_text_member (out, "second", setting->values[1]);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_step_json (GString *out, const char *name, const GememDiffStep *step)
{
  gemem_json_append_name (out, name);
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "does",
                                 step->ended     ? "end"
                                 : step->frees   ? "free"
                                 : step->refused ? "refused"
                                                 : "ask");
  gemem_json_append_number_member (out, "event", step->event);
  gemem_json_append_number_member (out, "bytes", step->size);
  gemem_json_append_text_member (out, "by", step->by);
  g_string_append_c (out, '}');
}

static const char *const changes[] = {
  [GEMEM_DIFF_CHANGE_OTHER] = "other", [GEMEM_DIFF_CHANGE_SIZE] = "size",
  [GEMEM_DIFF_CHANGE_MORE] = "more",   [GEMEM_DIFF_CHANGE_ORDER] = "order",
  [GEMEM_DIFF_CHANGE_LATER] = "later", [GEMEM_DIFF_CHANGE_LEAK] = "leak",
};

static void
append_parting_json (GString *out, const GememDiff *diff)
{
  gemem_json_append_name (out, "parting");
  if (diff->parting.found)
    {
      g_string_append_c (out, '{');
      gemem_json_append_number_member (out, "same", diff->parting.same);
      gemem_json_append_text_member (out, "change", changes[diff->parting.change]);
      gemem_json_append_text_member (out, "of", diff->parting.side == 0 ? "first" : "second");
      append_step_json (out, "first", &diff->parting.steps[0]);
      append_step_json (out, "second", &diff->parting.steps[1]);
      g_string_append_c (out, '}');
    }
  else if (diff->reserve.found)
    {
      g_string_append_c (out, '{');
      gemem_json_append_number_member (out, "event", diff->reserve.event);
      gemem_json_append_bool_member (out, "exact", diff->reserve.exact);
      gemem_json_append_number_member (out, "requested", diff->reserve.size);
      gemem_json_append_text_member (out, "by", diff->reserve.by);
      gemem_json_append_number_member (out, "first_reserved", diff->reserve.reserved[0]);
      gemem_json_append_number_member (out, "second_reserved", diff->reserve.reserved[1]);
      g_string_append_c (out, '}');
    }
  else
    g_string_append (out, "null");
}

void
gemem_diff_append_json (GString *out, const GememDiff *diff)
{
  g_autofree char *sentence = gemem_diff_sentence (diff);

  g_string_append (out, "{\"schema\": \"gemem-diff\", \"version\": 1");
  gemem_json_append_bool_member (out, "same", gemem_diff_is_empty (diff));
  gemem_json_append_text_member (out, "sentence", sentence);
  append_side_json (out, &diff->sides[0], "first");
  append_side_json (out, &diff->sides[1], "second");
  gemem_json_append_text_member (out, "by", gemem_hold_by_names ()[diff->by]);
  gemem_diff_append_rows_json (out, "in_use", diff->rows);
  gemem_diff_append_rows_json (out, "in_use_by_category", diff->categories);
  gemem_diff_append_rows_json (out, "in_use_by_size_class", diff->classes);
  gemem_diff_append_rows_json (out, "idle", diff->idle);
  append_settings_json (out, diff->settings);
  append_parting_json (out, diff);
  append_steps_json (out, "first_only_steps", diff->lone_steps[0]);
  append_steps_json (out, "second_only_steps", diff->lone_steps[1]);
  gemem_diff_failure_append_json (out, &diff->failure);
  gemem_diff_chain_append_json (out, diff->chain);
  gemem_json_append_bool_member (out, "chain_too_long", diff->too_long);
  g_string_append (out, "}\n");
}
