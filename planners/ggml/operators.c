/* operators.c - which operators ggml lets write over a source, by their names in many systems.
 *
 * Why: graphs of gemem have the types of PyTorch, ONNX, PaddlePaddle, GE or ggml itself.
 *
 * A type is compared without what surrounds the name (a namespace as in "aten::add", a leading
 * "elementwise_", underscores) and without regard to case.  Where a name means other things in two
 * systems, what the graph says of the node decides (graphs/overlay.h).
 * Origin: peers.md section 1l.2.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/ggml/model.h"

/* Ascending, for bsearch().  Names of ggml and, of the operators of its UNARY and for what has
 * another name elsewhere, those of other systems. */
static const char *const names[] = {
  "abs",
  "add",
  "add1",
  "addid",
  "biasadd",
  "ceil",
  "diagmaskinf",
  "diagmaskzero",
  "div",
  "elu",
  "exp",
  "fill",
  "floor",
  "gelu",
  "geluerf",
  "geluquick",
  "hardsigmoid",
  "hardswish",
  "log",
  "mul",
  "neg",
  "realdiv",
  "relu",
  "rmsnorm",
  "rmsnormalization",
  "rmsnormback",
  "rmsnormbackward",
  "rmsnormgrad",
  "rope",
  "ropeback",
  "rotaryembedding",
  "round",
  "scale",
  "sgn",
  "sigmoid",
  "sign",
  "silu",
  "siluback",
  "silubackward",
  "silugrad",
  "simplifiedlayernormalization",
  "softmax",
  "softmaxback",
  "softmaxbackwarddata",
  "softmaxgrad",
  "softmaxv2",
  "softplus",
  "sqr",
  "sqrt",
  "square",
  "step",
  "sub",
  "swish",
  "tanh",
  "truediv",
  "trunc",
  "unary",
};

static int
compare_names (const void *key, const void *element)
{
  return strcmp (key, *(const char *const *) element);
}

gboolean
gemem_ggml_runs_in_place (const char *type)
{
  static const char prefix[] = "elementwise_";
  const char *colon = strrchr (type, ':');
  char name[64];
  gsize n = 0;

  type = colon != NULL ? colon + 1 : type;
  if (g_str_has_prefix (type, prefix))
    type += strlen (prefix);
  for (; *type != '\0'; type++)
    {
      if (n == sizeof name - 1)
        return FALSE;
      if (*type != '_')
        name[n++] = g_ascii_tolower (*type);
    }
  name[n] = '\0';
  return bsearch (name, names, G_N_ELEMENTS (names), sizeof names[0], compare_names) != NULL;
}
