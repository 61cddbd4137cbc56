#!/bin/sh
# A tool for `hone diagnose --tools examples/tools`: candidates that launch more than four kernels.
profiles=$(cat)
launches=$(printf '%s' "$profiles" | grep -o '"scope":"launch"' | wc -l)
candidate=$(printf '%s' "$profiles" | sed -n 's/.*"scope":"plan","subject":"\([^"]*\)".*/\1/p')
if [ "$launches" -gt 4 ] && [ -n "$candidate" ]; then
  printf '{"findings": [{"subject": "%s", "title": "many kernels", "evidence": "%d launches a run", "advice": "Fuse neighbours.", "lost": 0.1}]}' \
    "$candidate" "$launches"
else
  printf '{"findings": []}'
fi
