/* dry-threads.c - threads that allocate and free through CUDA's runtime and driver at once, on streams of
 * their own, for tests/dry/long-dry-threads.sh; linked with libgemem-dry.
 *
 *   dry-threads SECONDS THREADS     fails if a call fails that must not
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern int cudaMalloc (void **place, size_t size);
extern int cudaMallocAsync (void **place, size_t size, void *stream);
extern int cudaFree (void *block);
extern int cudaFreeAsync (void *block, void *stream);
extern int cudaMemsetAsync (void *block, int value, size_t size, void *stream);
extern int cudaMemGetInfo (size_t *available, size_t *total);
extern int cudaStreamCreate (void **stream);
extern int cudaStreamSynchronize (void *stream);
extern int cudaStreamDestroy (void *stream);
extern int cudaEventCreate (void **event);
extern int cudaEventRecord (void *event, void *stream);
extern int cudaEventQuery (void *event);
extern int cudaEventDestroy (void *event);

#define OUT_OF_MEMORY 2
#define LIVE 32

static time_t end;

static int
one_round (unsigned *seed, void *stream, void **blocks, int *pooled)
{
  const int i = rand_r (seed) % LIVE;
  const size_t size = (size_t) (1 + rand_r (seed) % 4096) << 12;
  size_t available, total;
  int result = 0;

  if (blocks[i] != NULL)
    {
      result = pooled[i] ? cudaFreeAsync (blocks[i], stream) : cudaFree (blocks[i]);
      blocks[i] = NULL;
      return result;
    }
  pooled[i] = rand_r (seed) % 2;
  result = pooled[i] ? cudaMallocAsync (&blocks[i], size, stream) : cudaMalloc (&blocks[i], size);
  if (result == OUT_OF_MEMORY)
    {
      blocks[i] = NULL;
      return cudaMemGetInfo (&available, &total);
    }
  return result == 0 ? cudaMemsetAsync (blocks[i], 0, size, stream) : result;
}

static void *
work (void *number)
{
  unsigned seed = *(unsigned *) number;
  void *blocks[LIVE] = { NULL }, *stream = NULL, *event = NULL;
  int pooled[LIVE] = { 0 };
  size_t failed = 0;

  failed += cudaStreamCreate (&stream) != 0;
  failed += cudaEventCreate (&event) != 0;
  while (time (NULL) < end)
    {
      for (int k = 0; k < 100; k++)
        failed += one_round (&seed, stream, blocks, pooled) != 0;
      failed += cudaEventRecord (event, stream) != 0;
      failed += cudaStreamSynchronize (stream) != 0;
      failed += cudaEventQuery (event) != 0;
    }
  for (int i = 0; i < LIVE; i++)
    if (blocks[i] != NULL)
      failed += (pooled[i] ? cudaFreeAsync (blocks[i], stream) : cudaFree (blocks[i])) != 0;
  failed += cudaEventDestroy (event) != 0;
  failed += cudaStreamDestroy (stream) != 0;
  return (void *) failed;
}

int
main (int count, char **arguments)
{
  const int n = count > 2 ? atoi (arguments[2]) : 16;
  pthread_t *threads = calloc ((size_t) n, sizeof *threads);
  unsigned *seeds = calloc ((size_t) n, sizeof *seeds);
  size_t failed = 0;

  end = time (NULL) + (count > 1 ? atoi (arguments[1]) : 60);
  for (int i = 0; i < n; i++)
    {
      seeds[i] = (unsigned) i + 1;
      pthread_create (&threads[i], NULL, work, &seeds[i]);
    }
  for (int i = 0; i < n; i++)
    {
      void *result;
      pthread_join (threads[i], &result);
      failed += (size_t) result;
    }
  printf ("%zu calls failed\n", failed);
  free (threads);
  free (seeds);
  return failed > 0;
}
