file="{filepath}"
if [ -d "$file" ]; then
  echo "\`$file\` is a directory, not a file" >&2
  exit 1
fi
printf '%s\n' "{line}" >> "$file" || exit 1
lines=$(wc -l < "$file" | tr -d " ")
if [ "$lines" -eq 1 ]; then noun=line; else noun=lines; fi
echo "$file: $lines $noun"
tail -n {show} -- "$file"
