/* attribution.c - see attribution.h. */
#include "config.h"

#include <string.h>

#include "traces/attribution.h"
#include "traces/origin.h"

void
gemem_attributor_init (GememAttributor *self, const GememTraceInfo *info)
{
  *self = (GememAttributor){ .info = info, .lines = g_byte_array_new () };
}

void
gemem_attributor_clear (GememAttributor *self)
{
  g_clear_pointer (&self->lines, g_byte_array_unref);
}

static const GememFrame *
line_of (const GememTraceInfo *info, guint32 stack)
{
  return gemem_call_stacks_get_frame (info->stacks, gemem_origin_line (info, stack));
}

/* Whether the program itself, and not a package alone, stands in @stack. */
static gboolean
has_program (GememAttributor *self, guint32 stack)
{
  if (self->lines->len <= stack)
    {
      const guint before = self->lines->len;
      g_byte_array_set_size (self->lines, stack + stack / 2 + 1);
      memset (self->lines->data + before, 0, self->lines->len - before);
    }
  if (self->lines->data[stack] == 0)
    self->lines->data[stack] = gemem_frame_is_program (self->info, line_of (self->info, stack)) ? 1
                                                                                                : 2;
  return self->lines->data[stack] == 1;
}

GememAttribution
gemem_attributor_next (GememAttributor *self, const GememTraceEvent *event)
{
  const gboolean program = event->stack != 0 && has_program (self, event->stack);

  if ((event->flags & GEMEM_EVENT_INITIAL) != 0)
    return (GememAttribution){ .stack = event->stack };
  if (event->stack != 0)
    self->known = event->stack;
  if (program)
    self->program = event->stack;
  return (GememAttribution){
    .stack = self->known,
    .program = self->known != 0 && has_program (self, self->known) ? 0 : self->program,
    .after = event->stack == 0,
  };
}

guint64
gemem_attribution_key (const GememAttribution *attribution)
{
  const guint32 stack = attribution->after && attribution->program != 0 ? 0 : attribution->stack;

  return (guint64) attribution->after << 63 | (guint64) attribution->program << 32 | stack;
}

/* "backward (MmBackward0)" of "torch::autograd::generated::MmBackward0::apply(...)" and of
 * "...MmBackward0_apply_functional(...)"; of the engine's own work the operator of @stack, if @whole. */
static void
append_gradient (GString *out, const GememTraceInfo *info, guint32 stack, gboolean whole)
{
  static const char helper[] = "_apply_functional";
  const char *name = gemem_frame_name (info, line_of (info, stack));
  gsize n = g_str_has_prefix (name, GEMEM_GRADIENT) ? strlen (GEMEM_GRADIENT) : 0;
  g_autofree char *inner = n > 0   ? g_strndup (name + n, strcspn (name + n, ":(<"))
                           : whole ? gemem_origin_operator (info, stack)
                                   : NULL;

  if (n > 0 && g_str_has_suffix (inner, helper))
    inner[strlen (inner) - strlen (helper)] = '\0';
  g_string_append (out, "backward");
  if (inner != NULL)
    g_string_append_printf (out, " (%s)", inner);
}

static void
append_stack (GString *out, const GememTraceInfo *info, guint32 stack, gboolean whole, guint32 tag)
{
  const GememFrame *line = stack != 0 ? line_of (info, stack) : NULL;

  if (line != NULL && gemem_frame_is_gradient (info, line))
    {
      append_gradient (out, info, stack, whole);
      if (whole && tag != GEMEM_NO_TAG)
        gemem_origin_append (g_string_append_c (out, ' '), info, 0, tag);
    }
  else if (whole)
    gemem_origin_append (out, info, stack, tag);
  else if (line != NULL)
    gemem_frame_append (out, info, line);
}

void
gemem_attribution_append (GString *out, const GememTraceInfo *info,
                          const GememAttribution *attribution, gboolean whole, guint32 tag)
{
  const guint32 program = attribution->program;
  const guint32 stack = attribution->after && program != 0 ? program : attribution->stack;

  if (attribution->after && stack != 0)
    {
      g_string_append (out, "after "); /* and not the operator that ran there */
      append_stack (out, info, stack, FALSE, tag);
      if (whole && tag != GEMEM_NO_TAG)
        gemem_origin_append (g_string_append_c (out, ' '), info, 0, tag);
    }
  else
    append_stack (out, info, stack, whole, tag);
  if (program != 0 && stack != program)
    {
      g_string_append (out, ", after ");
      append_stack (out, info, program, FALSE, GEMEM_NO_TAG); /* nor its operator */
    }
}
