function(filepath, line, show = 3) {
  if (dir.exists(filepath)) {
    stop("`", filepath, "` is a directory, not a file")
  }
  before <- if (file.exists(filepath)) readLines(filepath, warn = FALSE) else character()
  # Written as a whole, so that the last line ends even if it did not before.
  writeLines(c(before, line), filepath)
  lines <- readLines(filepath, warn = FALSE)
  count <- paste(length(lines), if (length(lines) == 1) "line" else "lines")
  paste(c(paste0(filepath, ": ", count), tail(lines, show)), collapse = "\n")
}
