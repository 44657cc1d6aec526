function(text, label = "text") {
  words <- strsplit(trimws(text), "[[:space:]]+")[[1]]
  if (length(words) == 0 || !nzchar(words[1])) {
    stop("there is nothing to measure: `text` is empty")
  }
  lines <- strsplit(sub("\n$", "", text), "\n", fixed = TRUE)[[1]]
  paste(
    label,
    paste("characters:", nchar(text)),
    paste("words:", length(words)),
    paste("lines:", length(lines)),
    sep = "\n"
  )
}
