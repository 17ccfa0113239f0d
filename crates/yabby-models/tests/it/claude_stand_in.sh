#!/bin/sh
# A program that does as if it were `claude`: the n-th run takes down what it is asked, and prints what
# lies ready in $STAND_IN.
folder=$(pwd -P)
cd "$STAND_IN" || exit 9
n=1
while [ -e "arguments-$n" ]; do n=$((n + 1)); done
printf '%s\n' "$@" > "arguments-$n"
env > "environment-$n"
printf '%s\n' "$folder" > "folder-$n"
cat > "prompt-$n"
[ -e "errors-$n" ] && cat "errors-$n" >&2
[ -e "lines-$n" ] && cat "lines-$n"
if [ -e "hang-$n" ]; then
    sleep 600 &
    echo "$!" > child
    wait
fi
[ -e "exit-$n" ] && exit "$(cat "exit-$n")"
exit 0
