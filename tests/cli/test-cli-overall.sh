#!/bin/sh
# test-cli-overall.sh - compare over several recordings: one table of all, by geometric mean, and one sentence.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# Overheads by hand: tf-bfc holds 2 MiB of 1 in use, and 4 of 4: the mean is the root of 2.
printf '# gemem-trace: 2\nalloc 1 size=1048576\n# end: 1\n' >small.txt
printf '# gemem-trace: 2\nalloc 1 size=4194304\n# end: 1\n' >large.txt
run 0 gemem-sim compare small.txt large.txt -a direct -a pytorch-caching -a tf-bfc:allow_growth=yes -d sim:granularity=2MiB,capacity=1GiB
says out '^all 2 recordings: overhead, geometric mean$'
says out '^direct +1\.000 +1\.000, '; says out '^tf-bfc:allow_growth=yes +1\.414 +2\.000, small\.txt$'
says out '^pytorch-caching +3\.162 +5\.000, large\.txt$' # 2 of 1 and 20 of 4
check "one sentence for all, about one that a program could have" test "$(grep -c '^Over all 2 recordings ' "$out")" -eq 1
says out '^Over all 2 recordings (pytorch-caching|tf-bfc)'
no_more () { check "$1" sh -c "! grep -q '$2' '$out'"; }
no_more "no sentence for each" 'needs least'

# Who fails on one has no mean, and stands last.
run 0 gemem-sim compare small.txt large.txt -a pytorch-caching -a direct -d sim:granularity=2MiB,capacity=8MiB
says out '^pytorch-caching +- +fails on 1 of 2$'; says out '^No real allocator served every request of all 2 recordings\.$'

# One recording, one allocator, or the least capacity: as before.
run 0 gemem-sim compare small.txt -a direct -a pytorch-caching; no_more "one recording" '^all '
run 0 gemem-sim compare small.txt large.txt -a direct; no_more "one allocator" '^all '
run 0 gemem-sim compare small.txt large.txt -a direct -a pytorch-caching --find-capacity; no_more "least capacities" '^all '
done_testing
