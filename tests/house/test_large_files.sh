#!/bin/sh
# No file over 1 MiB is tracked: models, engines and what a program left behind stay out.
cd "$1" || exit 1
git ls-files --error-unmatch README.md >/dev/null 2>&1 || { echo "skipped: this is no git checkout"; exit 77; }
large=$(git ls-files -z | xargs -0 sh -c 'find "$@" -maxdepth 0 -type f -size +1024k' sh)
[ -z "$large" ] || { echo "tracked, and over 1 MiB:"; echo "$large"; exit 1; }
