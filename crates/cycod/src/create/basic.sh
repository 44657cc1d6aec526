text="{text}"
words=$(printf '%s\n' "$text" | wc -w | tr -d " ")
if [ "$words" -eq 0 ]; then
  echo 'there is nothing to measure: `text` is empty' >&2
  exit 1
fi
lines=$(printf '%s\n' "$text" | wc -l | tr -d " ")
echo "{label}"
echo "characters: ${#text}"
echo "words: $words"
echo "lines: $lines"
