#!/usr/bin/env bash
# abi.sh check LIBRARY: fails when the binary interface of ptxgraft.h is not the one of ptxgraft.abi beside this file, or when the
# library lacks a function of it. abi.sh renew: makes ptxgraft.abi anew, for a change that is meant: its difference is then a part of
# the commit, and says what callers of the version before will meet.
#
# The interface is that of a library whose functions are those of the header, each of which does nothing: so it does not matter how
# the library was built. Statuses may be added at any time; CApiNames sees to it that none changes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for tool in abidw abidiff gcc nm; do
    command -v "$tool" > /dev/null || { echo "skipped: there is no $tool (Debian: abigail-tools, gcc, binutils)"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

header() { printf '#include <ptxgraft/ptxgraft.h>\n' | gcc -E -P -x c -std=c99 -I "$here/../../include" -; }
prototypes() { header | tr '\n' ' ' | sed 's/;/;\n/g' | grep -oE '__attribute__\(\(visibility\("default"\)\)\) .*;'; }

# The header's functions as a library with types.
{ printf '#include <ptxgraft/ptxgraft.h>\n'; prototypes | sed 's/;$/ { __builtin_trap(); }/'; } > "$work/capi.c"
gcc -std=c99 -g -fPIC -shared -w "-fdebug-prefix-map=$work=." -I "$here/../../include" -Wl,-soname,libptxgraft.so.0 "$work/capi.c" -o "$work/libptxgraft.so"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$work/now.abi" "$work/libptxgraft.so"

if [[ $1 == renew ]]; then
    cp "$work/now.abi" "$here/ptxgraft.abi"
    exit 0
fi
functions() { nm -D --defined-only "$1" | awk '$3 ~ /^ptxgraft_/ { print $3 }' | sort; }
functions "$work/libptxgraft.so" > "$work/of_header"
functions "$2" > "$work/of_library"
diff "$work/of_header" "$work/of_library" || { echo "< is of the header alone, > of the library alone"; exit 1; }
printf '[suppress_type]\n  name = ptxgraft_status\n' > "$work/suppressions"
abidiff --suppressions "$work/suppressions" "$here/ptxgraft.abi" "$work/now.abi" ||
    { echo "The binary interface has changed. If that is meant: tests/capi/abi.sh renew"; exit 1; }
