#!/bin/sh
# test-trust.sh - what programs and other users put in our way: in place of the folder of a recording or a file in it, in the cache of generated
# libraries, in the folder of a plugin.  Nothing outside is removed, nothing waits, no code of others is loaded, and no failed run replaces a good output.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# ---- plugins
plugin=$GEMEM_BUILDDIR/tests/programs/.libs/plugin-good.so
mkdir plugins; cp "$plugin" plugins/f.so; chmod 755 plugins/f.so
name=$(GEMEM_PLUGIN_PATH=plugins gemem-sim list allocators | awk '{ print $1 }' >with; gemem-sim list allocators | awk '{ print $1 }' >without; grep -vxFf without with | head -n 1)
check 'a plugin is loaded' test -n "$name"
mkfifo plugins/a.so; mkdir plugins/b.so
run 0 env GEMEM_PLUGIN_PATH=plugins timeout 20 gemem-sim list allocators; says out "^ *$name "; silent err
chmod 666 plugins/f.so; run 0 env GEMEM_PLUGIN_PATH=plugins gemem-sim list allocators
lacks out "^ *$name "; says err 'f\.so: all users may write to it; copy it to a folder of your own'
chmod 755 plugins/f.so
if [ "$(id -u)" = 0 ]; then
  chmod 777 plugins; chown 65534 plugins/f.so; run 0 env GEMEM_PLUGIN_PATH=plugins gemem-sim list allocators
  lacks out "^ *$name "; says err 'f\.so: it belongs to another user; copy it'
  chown 65534 plugins; run 0 env GEMEM_PLUGIN_PATH=plugins gemem-sim list allocators
  lacks out "^ *$name "; says err "plugins: another user's folder, and all users may write to it; copy the plugins to a folder of your own"
  chmod 755 plugins; run 0 env GEMEM_PLUGIN_PATH=plugins gemem-sim list allocators; says out "^ *$name " # another user's, who publishes it
else
  skip 'plugins of other users' 'not root'
fi

if is_sanitized; then
  skip 'programs that are recorded' 'the preloaded libraries are instrumented, and the programs are not'; done_testing
fi
program=$GEMEM_BUILDDIR/tests/programs/dry-memory

# ---- the cache of generated libraries
good () { says err '^  h100 +fits: 528\.8 MiB'; }
XDG_CACHE_HOME=$GEMEM_TMP/cache; export XDG_CACHE_HOME
run 0 gemem-dry-run "$program" runtime; good; lacks err 'this run alone'
library=$(find cache -name 'libcuda.so.1*' | head -n 1) folder=$(dirname "$library")
check 'there are libraries' test -s "$library"
chmod 666 "$library"; run 0 gemem-dry-run "$program" runtime; good; check 'a library that all may write is made anew' test "$(stat -c %a "$library")" = 755
chmod 777 "$folder"; run 0 gemem-dry-run "$program" runtime; good; check 'and so is its folder' test "$(stat -c %a "$folder")" = 755
mv "$folder" planted; ln -s "$PWD/planted" "$folder"; run 0 gemem-dry-run "$program" runtime; good; says err 'made for this run alone$'
check 'what a link leads to is not removed' test -s "planted/$(basename "$library")"
rm "$folder"; rm cache/gemem/dry/lock; ln -s "$PWD/elsewhere" cache/gemem/dry/lock
run 0 gemem-dry-run "$program" runtime; good; says err 'Too many levels of symbolic links; .*; made for this run alone$'; check 'no lock is made through a link' test ! -e elsewhere
rm cache/gemem/dry/lock
chmod 777 cache; run 0 gemem-dry-run "$program" runtime; good; says err "libraries are not loaded from $PWD/cache/gemem/dry: $PWD/cache: all users may write to it; made for this run alone$"
chmod 1777 cache; run 0 gemem-dry-run "$program" runtime; good; lacks err 'this run alone' # as /tmp is
if [ "$(id -u)" = 0 ]; then
  chmod 755 cache; chown 65534 cache; run 0 gemem-dry-run "$program" runtime; good; says err "/cache: it belongs to another user; made for this run alone$"
  chown 0 cache; chown -R 65534 "$folder"; run 0 gemem-dry-run "$program" runtime; good; check "another user's libraries are replaced" test "$(stat -c %u "$library")" = 0
else
  skip 'the cache of another user' 'not root'
fi
rm -rf cache planted; XDG_CACHE_HOME=$GEMEM_TMP/.cache

# ---- the folder of a recording
mkdir precious; for name in 5.gmj 6.pickle 7.torch notes probe letter; do echo precious >precious/$name; done
is_whole () { check "nothing outside is touched: $*" sh -c 'test "$(cat precious/* | grep -c "^precious$")" = 6'; }
for tool in gemem-record gemem-dry-run; do
  status=$([ $tool = gemem-record ] && echo 0 || echo 1)
  run "$status" timeout 60 $tool sh -c 'mv "$GEMEM_JOURNALS" moved && ln -s "$PWD/precious" "$GEMEM_JOURNALS"'
  says err 'recording-[^ ]*: it was moved or replaced while the program ran, so its recordings are lost$'; is_whole $tool, a link
  check 'and what was made is empty' sh -c 'test -z "$(ls moved)"'
  rm -rf moved out.gmt*
  run "$status" timeout 60 $tool sh -c 'mv "$GEMEM_JOURNALS" moved && cp -r precious "$GEMEM_JOURNALS"'
  check 'another folder stays' test -s "$(echo out.gmt.recording-*/letter)"; rm -rf moved out.gmt*
  run 0 timeout 60 $tool sh -c 'cd "$GEMEM_JOURNALS" && mkdir below && ln -s "$OLDPWD/precious" link && ln -s "$OLDPWD/precious" below/link && ln -s "$OLDPWD/precious/5.gmj" 5.gmj'
  is_whole $tool, links below; check 'the folder is removed' sh -c '! ls -d out.gmt.recording-* 2>/dev/null'
  run 0 timeout 60 $tool sh -c 'cd "$GEMEM_JOURNALS" && rm -f notes && mkfifo 7.gmj 8.pickle 9.torch notes && ln -s /dev/zero 10.gmj && ln -s /dev/zero 11.torch'
  says err 'made no CUDA calls'
  run 0 timeout 60 $tool sh -c 'cd "$GEMEM_JOURNALS" && echo >-1.gmj && echo >0.gmj && echo >x.gmj && echo >1x.gmj && echo >99999999999.gmj'
  lacks err 'still runs|recording is still in'
  rm -rf out.gmt*
done

# ---- a failed run
run 0 gemem-record "$program" none; says err 'out\.gmt holds no events'; rm out.gmt
for tool in gemem-record gemem-dry-run; do
  option=$([ $tool = gemem-record ] || echo --json=verdict.json)
  echo good >out.gmt; echo good >verdict.json
  printf '#!/no/such/interpreter\n' >orphan; chmod +x orphan
  # shellcheck disable=SC2086 # none, or one option
  run 1 $tool $option false; says err 'out\.gmt is left as it was'
  # shellcheck disable=SC2086 # none, or one option
  run 127 $tool $option ./orphan
  check "$tool: a failed run leaves good outputs" sh -c 'grep -qx good out.gmt && grep -qx good verdict.json'
done
says err 'verdict\.json: is left as it was, for nothing was found'
rm verdict.json; run 1 gemem-dry-run --json verdict.json false; check 'where there is none it is written' grep -q '"exit_status": 1' verdict.json
done_testing
