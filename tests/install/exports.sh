#!/usr/bin/env bash
# exports.sh LIBRARY: fails when it exports a name that is not ours. nvPTXCompiler, linked in, must stay inside. Weak symbols of the
# standard library's and tl::expected's templates are no definitions of ours and are harmless.
set -euo pipefail
exported=$(nm -D --defined-only --demangle "$1")
grep -q ' T ptxgraft::describe' <<< "$exported" || { echo "$1 does not export ptxgraft::describe"; exit 1; }
foreign=$(grep -vE ' [A-Za-z] .*ptxgraft| [WVu] .*(std::|tl::|__gnu_cxx::|nlohmann::|fmt::)' <<< "$exported" || true)
[[ -z $foreign ]] || { printf 'not ours:\n%s\n' "$foreign"; exit 1; }
wc -l <<< "$exported"
