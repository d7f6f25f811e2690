cat
echo canary stderr > /dev/stderr
cat input/original > output/copy
exit 7
