numbers=({numbers})
case "{operation}" in
  sorted)
    printf '%s\n' "${numbers[@]}" | sort -g | paste -s -d ' ' -
    ;;
  totals)
    printf '%s\n' "${numbers[@]}" | awk '{ total += $1; print total }' | paste -s -d ' ' -
    ;;
  *)
    printf '%s\n' "${numbers[@]}" | awk '
      NR == 1 { least = $1; most = $1 }
      { total += $1; if ($1 < least) least = $1; if ($1 > most) most = $1 }
      END { print "count: " NR; print "mean: " total / NR; print "min: " least; print "max: " most }'
    ;;
esac
