# comma-locale.sh - in_comma_locale COMMAND...: runs it in a locale with a decimal comma and thousands separators, made with localedef where
# that is possible, else one that is installed; $comma_locale is empty where there is neither.  Sourced after tap.sh.
# shellcheck shell=sh disable=SC2034,SC2154 # for who sources it; GEMEM_TMP comes from tap.sh
has_comma () { [ "$(LC_ALL=de_DE.UTF-8 locale decimal_point 2>/dev/null)" = , ]; }
comma_locale=yes
locale_dir=$GEMEM_TMP/locale; mkdir "$locale_dir"
if localedef -i de_DE -f UTF-8 "$locale_dir/de_DE.UTF-8" >/dev/null 2>&1 && LOCPATH=$locale_dir has_comma; then
  in_comma_locale () { env LOCPATH="$locale_dir" LC_ALL=de_DE.UTF-8 LANGUAGE=de "$@"; }
elif has_comma; then
  in_comma_locale () { env LC_ALL=de_DE.UTF-8 LANGUAGE=de "$@"; }
else
  comma_locale=
fi
