/* rnn.c - cuDNN's recurrent networks: how large their parameters are and where each
 * lies (cudnn.h), and what they keep for the backward pass.
 *
 * The size of the parameters is that of all matrices and biases, one after the other, without gaps:
 * for each layer and direction the matrices of the input, those of the state, and with a projection
 * one more; then the biases in the same order.
 *
 * What is kept for the backward pass only the real library knows (library.h), but in training it is
 * something, and TensorFlow ends where it is nothing. So it is taken as 512 bytes, which is the
 * least that allocators give out, and the report says so.
 */
#include "config.h"

#include "base/units.h"
#include "dry/libraries/cudnn/cudnn.h"

#define NETWORK 16 /* attribute: a Network */
#define INPUT_BIAS 1
#define DOUBLE_BIAS 2
#define STATE_BIAS 3
#define BIDIRECTIONAL 1
#define SKIP_INPUT 1
#define TRAINING 1
#define KEPT_LEAST 512 /* bytes */

typedef struct
{
  int algorithm, cell, bias, direction, input_mode, type, precision, math_type;
  gint64 input, hidden, projection, layers;
  void *dropout;
  guint32 flags;
} Network;

DRY_FUNCTION (int, cudnnSetRNNDescriptor_v8, void *descriptor, int algorithm, int cell, int bias,
              int direction, int input_mode, int type, int precision, int math_type, int32_t input,
              int32_t hidden, int32_t projection, int32_t layers, void *dropout, uint32_t flags)
{
  const Network network = { algorithm, cell,  bias,   direction,  input_mode, type,    precision,
                            math_type, input, hidden, projection, layers,     dropout, flags };
  INVALID_VALUE_UNLESS (descriptor != NULL && hidden > 0 && layers > 0, CUDNN_BAD_PARAM);
  gemem_library_keep (descriptor, NETWORK, &network, sizeof network);
  return CUDNN_SUCCESS;
}

static gboolean
find_network (void *descriptor, Network *network)
{
  return gemem_library_kept (descriptor, NETWORK, network, sizeof *network) == sizeof *network;
}

/* Each answer may be NULL. */
DRY_FUNCTION (int, cudnnGetRNNDescriptor_v8, void *descriptor, int *algorithm, int *cell, int *bias,
              int *direction, int *input_mode, int *type, int *precision, int *math_type,
              int32_t *input, int32_t *hidden, int32_t *projection, int32_t *layers, void **dropout,
              uint32_t *flags)
{
  Network n;

  INVALID_VALUE_UNLESS (find_network (descriptor, &n), CUDNN_BAD_PARAM);
  int *const settings[] = {
    algorithm, cell, bias, direction, input_mode, type, precision, math_type
  };
  const int are[] = { n.algorithm,  n.cell, n.bias,      n.direction,
                      n.input_mode, n.type, n.precision, n.math_type };
  int32_t *const sizes[] = { input, hidden, projection, layers };
  const gint64 so_large[] = { n.input, n.hidden, n.projection, n.layers };
  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    if (settings[i] != NULL)
      *settings[i] = are[i];
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (sizes[i] != NULL)
      *sizes[i] = (int32_t) so_large[i];
  if (dropout != NULL)
    *dropout = n.dropout;
  if (flags != NULL)
    *flags = n.flags;
  return CUDNN_SUCCESS;
}

/* Matrices of the input, and as many of the state: RNN with ReLU or tanh, LSTM, GRU. */
static int
gates (const Network *network)
{
  static const guint8 counts[] = { 1, 1, 4, 3 };
  return network->cell >= 0 && network->cell < 4 ? counts[network->cell] : 1;
}

static int
directions (const Network *network)
{
  return network->direction == BIDIRECTIONAL ? 2 : 1;
}

static gboolean
projects (const Network *network)
{
  return network->projection > 0 && network->projection < network->hidden;
}

/* Rows and columns of matrix @number of pseudo-layer @layer; no rows: there is none. */
static void
matrix (const Network *n, int layer, int number, gint64 *rows, gint64 *columns)
{
  const gint64 state = projects (n) ? n->projection : n->hidden;
  const int g = gates (n);

  *rows = n->hidden;
  if (number < g)
    {
      *columns = layer >= directions (n) ? state * directions (n) : n->input;
      if (layer < directions (n) && n->input_mode == SKIP_INPUT)
        *rows = *columns = 0;
    }
  else if (number < 2 * g)
    *columns = state;
  else
    {
      *rows = projects (n) ? n->projection : 0;
      *columns = projects (n) ? n->hidden : 0;
    }
}

/* Whether matrix @number has a bias. */
static gboolean
has_bias (const Network *n, int number)
{
  const int g = gates (n), own = number < g ? INPUT_BIAS : STATE_BIAS;
  return number < 2 * g && (n->bias == DOUBLE_BIAS || n->bias == own);
}

/* The elements before matrix @number of pseudo-layer @layer, or before its bias. */
static gint64
offset (const Network *n, int layer, int number, gboolean bias)
{
  const int last = (int) n->layers * directions (n), all = 2 * gates (n) + 1;
  gint64 sum = 0;

  for (int l = 0; l < last; l++)
    for (int i = 0; i < all; i++)
      {
        gint64 rows, columns;
        if (!bias && l == layer && i == number)
          return sum;
        matrix (n, l, i, &rows, &columns);
        sum += rows * columns;
      }
  for (int l = 0; l < last; l++)
    for (int i = 0; i < all; i++)
      {
        if (l == layer && i == number)
          return sum;
        sum += has_bias (n, i) ? n->hidden : 0;
      }
  return sum;
}

DRY_FUNCTION (int, cudnnGetRNNWeightSpaceSize, void *handle, void *descriptor, size_t *size)
{
  Network n;
  INVALID_VALUE_UNLESS (size != NULL && find_network (descriptor, &n), CUDNN_BAD_PARAM);
  *size = (gsize) offset (&n, -1, 0, TRUE) * cudnn_type_size (n.type);
  return CUDNN_SUCCESS;
}

static void
answer (void *tensor, void **address, const Network *n, const char *space, gint64 at, gint64 rows,
        gint64 columns)
{
  const int dimensions[] = { 1, (int) rows, (int) columns };

  if (tensor != NULL)
    cudnn_set_tensor (tensor, n->type, 0, rows > 0 ? 3 : 0, dimensions, NULL);
  if (address != NULL)
    *address = rows > 0 ? (void *) (space + (gsize) at * cudnn_type_size (n->type)) : NULL;
}

DRY_FUNCTION (int, cudnnGetRNNWeightParams, void *handle, void *descriptor, int32_t layer,
              size_t size, const void *space, int32_t number, void *matrix_tensor,
              void **matrix_address, void *bias_tensor, void **bias_address)
{
  Network n;
  gint64 rows, columns;

  INVALID_VALUE_UNLESS (find_network (descriptor, &n) && number >= 0 && number <= 2 * gates (&n)
                            && layer >= 0 && layer < n.layers * directions (&n),
                        CUDNN_BAD_PARAM);
  matrix (&n, layer, number, &rows, &columns);
  answer (matrix_tensor, matrix_address, &n, space, offset (&n, layer, number, FALSE), rows,
          columns);
  answer (bias_tensor, bias_address, &n, space, offset (&n, layer, number, TRUE),
          has_bias (&n, number) ? n.hidden : 0, 1);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetRNNTempSpaceSizes, void *handle, void *descriptor, int mode, void *data,
              size_t *workspace, size_t *kept)
{
  if (workspace != NULL)
    *workspace = gemem_library_unknown_size ("cudnnGetRNNTempSpaceSizes", 0);
  if (kept != NULL)
    *kept = 0; /* in inference */
  if (kept != NULL && mode == TRAINING)
    {
      const gsize chosen = gemem_library_unknown_size (
          "cudnnGetRNNTempSpaceSizes (kept for the backward pass; 512 bytes instead of 0)", 0);
      *kept = gemem_align_up (MAX (chosen, 1), KEPT_LEAST);
    }
  return CUDNN_SUCCESS;
}
