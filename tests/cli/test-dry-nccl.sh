#!/bin/sh
# test-dry-nccl.sh - gemem-dry-run lets an installed NCCL take its buffers beside the stand-in: with a library made here that has its name, and says what it is asked.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
unset NCCL_TOPO_FILE
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi
cc=${CC:-cc}; cc=${cc%% *}
command -v "$cc" >/dev/null || { skip 'an installed NCCL' 'no C compiler'; done_testing; }

mkdir -p fake installed
printf 'int cudaMalloc (void **place, unsigned long size) { return 99; }\nint cudaFree (void *place) { return 99; }\nint cudaMemcpy (void *to, const void *from, unsigned long size, int kind) { return 99; }\n' >cudart.c
"$cc" -shared -fPIC -o fake/libcudart.so.12 -Wl,-soname,libcudart.so.12 cudart.c
# A communicator takes 1 MiB, each collective 4 KiB, each send 64 KiB; rank 1 of 3 finds that NCCL fails.
cat >nccl.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int cudaMalloc (void **, unsigned long), cudaFree (void *);
typedef struct { char bytes[128]; } Id;
typedef struct { int ranks, rank; void *memory; } Comm;
static int say (const char *what, long number, void *comm) { void *p; Comm *c = comm; fprintf (stderr, "own %s %ld %d\n", what, number, c ? c->ranks : 0); return cudaMalloc (&p, strcmp (what, "send") == 0 ? 65536 : 4096); }
static const char *why = "no way\nhere";
const char *ncclGetLastError (void *c) { return why; }
int ncclGetUniqueId (Id *id) { strcpy (id->bytes, "own id"); return 0; }
int ncclCommInitRank (void **place, int ranks, Id id, int rank)
{
  Comm *c = malloc (sizeof *c);
  const char *file = getenv ("NCCL_TOPO_FILE");
  char line[1024]; int links = 0;
  FILE *topology = file != NULL ? fopen (file, "r") : NULL;
  while (topology != NULL && fgets (line, sizeof line, topology)) { if (getenv ("SHOW")) fprintf (stderr, "own topology %s", line); links += strstr (line, "<nvlink ") != NULL && strstr (line, "count=\"18\"") != NULL; }
  fprintf (stderr, "own init %s %d of %d, %s, links of %d GPUs\n", id.bytes, rank, ranks, getenv ("NCCL_SOCKET_IFNAME"), links);
  if (ranks == 3) return 5;
  c->ranks = ranks; c->rank = rank; *place = c;
  if (cudaMalloc (&c->memory, 1048576) != 0) { why = "Cuda failure 2 'out of memory'"; return 1; }
  return 0;
}
int ncclCommInitRankConfig (void **c, int n, Id id, int r, void *config) { return ncclCommInitRank (c, n, id, r); }
int ncclCommInitAll (void **c, int n, const int *list) { return 5; }
int ncclCommSplit (void *c, int color, int key, void **place, void *config) { Comm *n = malloc (sizeof *n); n->ranks = 2; n->rank = key; if (color < 0) return 0; *place = n; return cudaMalloc (&n->memory, 1048576); }
int ncclCommDestroy (void *c) { fprintf (stderr, "own destroy\n"); return cudaFree (((Comm *) c)->memory); }
int ncclCommAbort (void *c) { return 0; }
int ncclCommCount (void *c, int *n) { *n = ((Comm *) c)->ranks; return 0; }
int ncclCommUserRank (void *c, int *n) { *n = ((Comm *) c)->rank; return 0; }
int ncclCommGetAsyncError (void *c, int *e) { *e = 0; return 0; }
int ncclGroupStart (void) { fprintf (stderr, "own start\n"); return 0; }
int ncclGroupEnd (void) { fprintf (stderr, "own end\n"); return 0; }
int ncclAllReduce (const void *f, void *t, unsigned long n, int type, int op, void *c, void *s) { return n == 77 ? 6 : say ("allreduce", n, c); }
int ncclReduce (const void *f, void *t, unsigned long n, int type, int op, int root, void *c, void *s) { return say ("reduce", root, c); }
int ncclReduceScatter (const void *f, void *t, unsigned long n, int type, int op, void *c, void *s) { return say ("reducescatter", n, c); }
int ncclAllGather (const void *f, void *t, unsigned long n, int type, void *c, void *s) { return say ("allgather", n, c); }
int ncclBroadcast (const void *f, void *t, unsigned long n, int type, int root, void *c, void *s) { return say ("broadcast", root, c); }
int ncclSend (const void *f, unsigned long n, int type, int peer, void *c, void *s) { return say ("send", peer, c); }
int ncclRecv (void *t, unsigned long n, int type, int peer, void *c, void *s) { return say ("receive", peer, c); }
END
cp nccl.c new.c # 2.28
cat >>new.c <<'END'
int ncclAlltoAll (const void *f, void *t, unsigned long n, int type, void *c, void *s) { return say ("alltoall", n, c); }
int ncclGather (const void *f, void *t, unsigned long n, int type, int root, void *c, void *s) { return say ("gather", root, c); }
int ncclScatter (const void *f, void *t, unsigned long n, int type, int root, void *c, void *s) { return say ("scatter", root, c); }
int ncclCommShrink (void *c, int *out, int n, void **place, void *config, int flags) { fprintf (stderr, "own shrink %d %d\n", n, out[0]); return ncclCommSplit (c, 0, 0, place, config); }
END
own () { "$cc" -w -shared -fPIC -o installed/libnccl.so.2 -Wl,-soname,libnccl.so.2 "$1"; }
own new.c
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int cudaMalloc (void **, unsigned long), cudaFree (void *), cudaMemcpy (void *, const void *, unsigned long, int);
typedef struct { char bytes[128]; } Id;
int ncclGetUniqueId (Id *), ncclCommInitRank (void **, int, Id, int), ncclCommSplit (void *, int, int, void **, void *), ncclCommDestroy (void *), ncclCommCount (void *, int *);
int ncclAllReduce (const void *, void *, unsigned long, int, int, void *, void *), ncclAllGather (const void *, void *, unsigned long, int, void *, void *);
int ncclAlltoAll (const void *, void *, unsigned long, int, void *, void *), ncclCommShrink (void *, int *, int, void **, void *, int);
int ncclGather (const void *, void *, unsigned long, int, int, void *, void *), ncclScatter (const void *, void *, unsigned long, int, int, void *, void *);
int ncclSend (const void *, unsigned long, int, int, void *, void *), ncclRecv (void *, unsigned long, int, int, void *, void *), ncclGroupStart (void), ncclGroupEnd (void);
int main (int argc, char **argv)
{
  int ranks = atoi (argv[1]), many = atoi (argv[2]), in[2] = { 7, 8 }, out[2] = { 0, 0 }, count = 0, result = 0;
  void *comm, *part, *memory;
  Id id;
  result |= ncclGetUniqueId (&id);
  result |= ncclCommInitRank (&comm, ranks, id, 1);
  result |= cudaMalloc (&memory, 65536);
  for (int i = 0; i < 3; i++) /* alike: the first alone is handed on */
    {
      result |= cudaMemcpy (memory, in, sizeof in, 1);
      result |= ncclAllReduce (memory, memory, 2, 2, 0, comm, NULL);
      result |= cudaMemcpy (out, memory, sizeof out, 2);
      ncclGroupStart ();
      result |= ncclSend (memory, 8, 0, 0, comm, NULL) | ncclRecv (memory, 8, 0, 0, comm, NULL);
      result |= ncclGroupEnd ();
    }
  for (int i = 0; i < many; i++)
    result |= ncclAllGather (memory, memory, 1 + i, 0, comm, NULL);
  result |= ncclCommSplit (comm, 0, 1, &part, NULL);
  result |= ncclCommCount (part, &count);
  result |= ncclAllReduce (memory, memory, 2, 2, 0, part, NULL);
  if (argc > 3 && strcmp (argv[3], "new") == 0)
    for (int i = 0, first = 0; i < 2; i++)
      {
        void *rest;
        result |= ncclAlltoAll (memory, (char *) memory + 4096, 5, 0, comm, NULL) | ncclGather (memory, memory, 6, 0, 0, comm, NULL);
        result |= ncclScatter (memory, memory, 7, 0, 1, comm, NULL);
        if (i == 1) result |= ncclCommShrink (comm, &first, 1, &rest, NULL, 0) | ncclCommDestroy (rest);
      }
  else if (argc > 3) result |= ncclAllReduce (memory, memory, 77, 2, 0, part, NULL) | ncclAllReduce (memory, memory, 78, 2, 0, part, NULL);
  result |= ncclCommDestroy (part) | ncclCommDestroy (comm);
  printf ("%d %d %d, of %d\n", result, out[0], out[1], count);
  return 0;
}
END
"$cc" -o program program.c installed/libnccl.so.2 fake/libcudart.so.12 -Wl,-rpath,"$PWD/installed" -Wl,--allow-shlib-undefined 2>cc.err || { skip 'an installed NCCL' "$(head -n 1 cc.err)"; done_testing; }
own nccl.c
called () { check "the installed one: $1 is called $2 times" test "$(grep -c "^own $1" "$err")" = "$2"; }

run 0 gemem-dry-run --gpus 2 --gpu h100 --json verdict.json ./program 2 0; says out '^0 14 16, of 2$'
says err '^own init own id 1 of 2, lo, links of 2 GPUs$'; called 'allreduce 2 2' 2; called 'send 0 2' 1; called 'receive 0 2' 1; called start 3; called end 3; called destroy 2
says err '^  h100 +fits: 528\.9 MiB'; says err '^  NCCL +took 2\.0.. MiB of that for itself, as on a machine where 18 NVLinks of each GPU lead to NVSwitch; NCCL_TOPO_FILE names another$'
check "nothing is unknown" sh -c "! grep -q '^  unknown' $err"
! command -v jq >/dev/null || run 0 jq -e '.processes[0].nccl == 2 * 1048576 + 65536 + 3 * 4096 and .fits == true' verdict.json
gemem-sim convert -q out.gmt events.txt; check "what was asked for, in order" test "$(sed -n 's/^alloc .*size=\([0-9]*\).*/\1/p' events.txt | paste -s -d ' ')" = '1048576 65536 4096 65536 4096 1048576 4096'

# Too little is left for other links; a machine that the user names; GPUs that do not reach each other.
run 0 gemem-dry-run --capacity 4MiB --gpu h100 ./program 2 0; says err "^ +- NCCL finds links like those that were assumed .* no more than the 1\.... MiB that are left"
cat >mine.xml <<'END'
<system version="1"><cpu host_hash="0x77" numaid="0"><pci busid="0000:01:00.0" class="0x060400"><pci busid="0000:C9:00.0" class="0x030200">
<gpu dev="1" sm="90"><nvlink target="0000:18:00.0" count="4"/></gpu></pci><pci busid="0000:18:00.0" class="0x030200"><gpu dev="0" sm="90"><nvlink target="0000:C9:00.0" count="4"/></gpu></pci></pci></cpu></system>
END
NCCL_TOPO_FILE=$PWD/mine.xml SHOW=1 run 0 gemem-dry-run --gpus 2 --capacity 4MiB ./program 2 0; says err '^own topology .*busid="fffe:01:00.0" class="0x060400"><pci busid="0000:02:00.0"'
says err '^own topology <gpu dev="1" sm="90"><nvlink target="0000:01:00.0" count="4"/></gpu></pci><pci busid="0000:01:00.0" .*<nvlink target="0000:02:00.0"'; check "the hash of another host is left out" sh -c "! grep -q host_hash $err"
 says err '^  NCCL +took .* as on the topology of /.*/mine\.xml$'; check "no condition" sh -c "! grep -q 'NCCL finds links' $err"
printf '<system version="1"/>\n' >none.xml
NCCL_TOPO_FILE=$PWD/none.xml run 0 gemem-dry-run ./program 2 0; says err "^  unknown .*buffers of NCCL: /.*/none\.xml does not describe a machine with so many GPUs"; called init 0
run 0 gemem-dry-run --gpu rtx4090 --gpus 2 ./program 2 0; says err '^  NCCL +took .* GPUs do not reach each other'

# What fails, and too many that differ, are not known.
run 0 gemem-dry-run ./program 3 0; says out '^0 21 24, of 1$'; says err "^  unknown .*buffers of NCCL's communicator of 3 ranks: ncclCommInitRank failed: no way here"
run 0 gemem-dry-run ./program 2 0 fail; says out '^0 14 16, of 2$'; says err "buffers of NCCL's communicator of 2 ranks: ncclAllReduce failed: no way here"; called 'allreduce 78' 0
run 0 gemem-dry-run ./program 2 1500; says err "buffers of NCCL's for collectives after the first 1000 that differ"; called allgather 997

run 0 gemem-dry-run --capacity 512KiB ./program 2 0; says err '^  h100 +DOES NOT FIT: 64\.00 KiB of 512\.0 KiB .*, and more was asked for$'; says err '^  NCCL +asked for memory that the GPU did not have$'

# What is new in 2.28 is handed on, too; what an older one takes for it is not known.
run 0 gemem-dry-run ./program 2 0 new; says err "buffers of NCCL's for ncclGather, which the installed one has not"; says err "of NCCL's for ncclAlltoAll,"; says err "of NCCL's for ncclScatter,"
own new.c
run 0 gemem-dry-run ./program 2 0 new; called 'alltoall 5 2' 1; called 'gather 0 2' 1; called 'scatter 1 2' 1; called 'shrink 1 0' 1; called destroy 3
check "nothing is unknown" sh -c "! grep -q '^  unknown' $err"

# Without it.
run 0 gemem-dry-run --stand-ins ./program 2 0; says out '^0 14 16, of 1$'; says err "^  unknown .*buffers of NCCL's communicator of 2 ranks"; check "it is not called" sh -c "! grep -q '^own' $err"
run 0 gemem-dry-run --rank 1 --world 2 ./program 2 0; says err "^  unknown .*buffers of NCCL's communicator of 2 ranks"; check "it is not called" sh -c "! grep -q '^own' $err"
done_testing
