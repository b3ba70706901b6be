/* origin.c - see origin.h. */
#include "config.h"

#include <string.h>

#include "traces/origin.h"

/* ---- one frame */

static const char *
text_of (const GememTraceInfo *info, guint32 string)
{
  return string < info->strings->len ? g_ptr_array_index (info->strings, string) : "";
}

const char *
gemem_frame_name (const GememTraceInfo *info, const GememFrame *frame)
{
  return text_of (info, frame->name);
}

const char *
gemem_frame_file (const GememTraceInfo *info, const GememFrame *frame)
{
  return text_of (info, frame->file);
}

GememFrameLanguage
gemem_frame_language (const GememTraceInfo *info, const GememFrame *frame)
{
  const char *file = gemem_frame_file (info, frame);

  if (*file == '\0')
    return GEMEM_FRAME_OPERATOR;
  return g_str_has_suffix (file, ".py") || *file == '<' ? GEMEM_FRAME_PYTHON : GEMEM_FRAME_NATIVE;
}

/* Length of @name without the list of arguments that ends it. */
static gsize
without_arguments (const char *name)
{
  gsize end = strlen (name);
  guint depth = 0;

  if (g_str_has_suffix (name, " const"))
    end -= strlen (" const");
  if (end == 0 || name[end - 1] != ')')
    return strlen (name);
  while (end > 0)
    {
      end--;
      depth += name[end] == ')';
      if (name[end] == '(' && --depth == 0)
        break;
    }
  return end > 0 ? end : strlen (name);
}

/* Appends @n bytes of @text without control characters, which a recording may contain and a
 * terminal obeys. */
static void
append_printable (GString *out, const char *text, gsize n)
{
  for (gsize i = 0; i < n; i++)
    g_string_append_c (out, g_ascii_iscntrl (text[i]) ? '?' : text[i]);
}

/* Whether @file is a shared library: its functions are known by their offset in it, and by no line of source. */
static gboolean
is_library (const char *file)
{
  const char *extension = g_strrstr (file, ".so");

  return extension != NULL && (extension[3] == '\0' || extension[3] == '.');
}

void
gemem_frame_append (GString *out, const GememTraceInfo *info, const GememFrame *frame)
{
  const char *file = gemem_frame_file (info, frame), *name = gemem_frame_name (info, frame);

  if (*file != '\0' && strcmp (file, "??") != 0)
    {
      const gboolean library = is_library (file);
      const char *slash = library ? strrchr (file, '/') : NULL;

      file = slash != NULL ? slash + 1 : file;
      append_printable (out, file, strlen (file));
      if (frame->line > 0 && !library)
        g_string_append_printf (out, ":%u", frame->line);
      g_string_append_c (out, ' ');
    }
  append_printable (out, name, without_arguments (name));
}

gboolean
gemem_frame_is_program (const GememTraceInfo *info, const GememFrame *frame)
{
  static const char *const others[] = {
    "site-packages/", "dist-packages/", "/lib/python",
    /* written while the program ran, by PyTorch's compiler and from a template */
    "/torchinductor_", "/torch_geometric."
  };
  const char *file = gemem_frame_file (info, frame);

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (strstr (file, others[i]) != NULL)
      return FALSE;
  return gemem_frame_language (info, frame) == GEMEM_FRAME_PYTHON && *file != '<'
         && !g_str_has_prefix (file, "torch/");
}

gboolean
gemem_frame_is_gradient (const GememTraceInfo *info, const GememFrame *frame)
{
  static const char helpers[] = GEMEM_GRADIENT "details::"; /* which several gradients share */
  static const char engine[] = "torch::autograd::Engine::"; /* sums and copies of its own */
  const char *name = gemem_frame_name (info, frame);

  return gemem_frame_language (info, frame) == GEMEM_FRAME_NATIVE
         && ((g_str_has_prefix (name, GEMEM_GRADIENT) && !g_str_has_prefix (name, helpers))
             || g_str_has_prefix (name, engine));
}

/* ---- choosing the line */

/* TRUE for a function of a framework or of the runtime below it, which may follow its return
 * type. */
static gboolean
is_framework (const char *name)
{
  static const char *const names[] = { "c10::",
                                       "at::",
                                       "torch::",
                                       "THP",
                                       "Py",
                                       "_Py",
                                       "__",
                                       "_start",
                                       "rmm::",
                                       "paddle::",
                                       "phi::",
                                       "tensorflow::",
                                       "tsl::",
                                       "stream_executor::",
                                       "execute_native_thread_routine",
                                       "start_thread",
                                       "clone",
                                       "cuda",
                                       "cu",
                                       "??",
                                       "std::",
                                       NULL };
  const char *end = name + strcspn (name, "(<");

  for (guint i = 0; names[i] != NULL; i++)
    for (const char *word = name; word != NULL && word < end; word = strchr (word, ' '))
      {
        word += *word == ' ';
        if (g_str_has_prefix (word, names[i]))
          return TRUE;
      }
  return FALSE;
}

static gboolean
has_any_prefix (const char *text, const char *const *prefixes)
{
  for (; *prefixes != NULL; prefixes++)
    if (g_str_has_prefix (text, *prefixes))
      return TRUE;
  return FALSE;
}

/* Whether a Python @file is an installed package other than PyTorch, which asks for memory in the name of all others. */
static gboolean
is_package (const char *file)
{
  const char *packages = strstr (file, "-packages/");

  return packages != NULL && !g_str_has_prefix (packages, "-packages/torch/");
}

/* How well a frame stands for the program's line; 0: hardly. */
static guint
rank (const GememTraceInfo *info, const GememFrame *frame)
{
  switch (gemem_frame_language (info, frame))
    {
    case GEMEM_FRAME_PYTHON:
      if (strstr (gemem_frame_file (info, frame), "site-packages/gemem/") != NULL)
        return 0; /* what gemem-dry-run put before a function of PyTorch */
      if (gemem_frame_is_program (info, frame))
        return 7;
      return is_package (gemem_frame_file (info, frame)) ? 6 : 5;
    case GEMEM_FRAME_NATIVE:
      if (gemem_frame_is_gradient (info, frame))
        return 3; /* the operator whose gradient is computed */
      if (is_framework (gemem_frame_name (info, frame)))
        return 1;
      return frame->line > 0 && !is_library (gemem_frame_file (info, frame)) ? 4 : 2;
    case GEMEM_FRAME_OPERATOR:
    default:
      return 0;
    }
}

guint32
gemem_origin_choose (const GememTraceInfo *info, const guint32 *frames, guint n)
{
  guint best_rank = 0;
  guint32 best = n > 0 ? frames[0] : 0;

  for (guint i = 0; i < n; i++)
    {
      const guint r = rank (info, gemem_call_stacks_get_frame (info->stacks, frames[i]));
      if (r > best_rank)
        {
          best_rank = r;
          best = frames[i];
        }
    }
  return best;
}

guint32
gemem_origin_line (const GememTraceInfo *info, guint32 stack)
{
  guint n = 0;
  const guint32 *frames = stack > 0 ? gemem_call_stacks_get (info->stacks, stack, &n) : NULL;
  return gemem_origin_choose (info, frames, n);
}

/* ---- choosing the operator */

/* The operator that @frame is, as a new string; NULL: it is none. */
static char *
operator_of (const GememTraceInfo *info, const GememFrame *frame)
{
  static const char dispatcher[] = "at::_ops::";
  const char *name = gemem_frame_name (info, frame);
  const char *end;

  if (gemem_frame_language (info, frame) == GEMEM_FRAME_OPERATOR)
    return g_strdup (name);
  if (!g_str_has_prefix (name, dispatcher))
    return NULL;
  name += strlen (dispatcher);
  end = strstr (name, "::");
  return end != NULL ? g_strndup (name, (gsize) (end - name)) : NULL;
}

static gboolean
only_allocates (const char *op)
{
  static const char *const names[] = { "empty", "new_empty", "resize_", NULL };
  if (g_str_has_prefix (op, "aten::"))
    op += strlen ("aten::");
  return has_any_prefix (op, names);
}

char *
gemem_origin_operator (const GememTraceInfo *info, guint32 stack)
{
  guint n = 0;
  const guint32 *frames = stack > 0 ? gemem_call_stacks_get (info->stacks, stack, &n) : NULL;
  g_autofree char *allocates = NULL;

  for (guint i = 0; i < n; i++)
    {
      char *op = operator_of (info, gemem_call_stacks_get_frame (info->stacks, frames[i]));
      if (op == NULL)
        continue;
      if (!only_allocates (op))
        return op;
      g_free (allocates);
      allocates = op;
    }
  return g_steal_pointer (&allocates);
}

/* ---- both */

void
gemem_origin_append (GString *out, const GememTraceInfo *info, guint32 stack, guint32 tag)
{
  const char *separator = "";

  if (stack > 0)
    {
      const GememFrame *line = gemem_call_stacks_get_frame (info->stacks,
                                                            gemem_origin_line (info, stack));
      g_autofree char *op = gemem_origin_operator (info, stack);

      gemem_frame_append (out, info, line);
      if (op != NULL && strcmp (op, gemem_frame_name (info, line)) != 0)
        g_string_append_printf (out, " (%s)", op);
      separator = " ";
    }
  if (tag != GEMEM_NO_TAG)
    {
      g_string_append_printf (out, "%s[", separator);
      append_printable (out, text_of (info, tag), strlen (text_of (info, tag)));
      g_string_append_c (out, ']');
    }
}
