/* dry-asked.c - what tests/programs/dry-asks is linked with: a libcublas.so.12 with versions and, with
 * ASKED_NCCL, a libnccl.so.2 without.  Only their names matter: in a dry run other objects stand for
 * them (tests/dry/test-dry-stubs.c), and a function that returns 99 was not replaced. */
#define FUNCTION(name) \
  int name (void); \
  int name (void) \
  { \
    return 99; \
  }

#ifdef ASKED_NCCL
FUNCTION (ncclAllReduce)
FUNCTION (ncclMadeUp)
FUNCTION (ncclMadeUpWeak)
#else
FUNCTION (cublasCreate_v2)
FUNCTION (cublasStrsm_v2)
FUNCTION (cublasMadeUp)
FUNCTION (cublasMadeUpWeak)
extern int cublasMadeUpTable[4];
int cublasMadeUpTable[4] = { 99, 99, 99, 99 };
#endif
