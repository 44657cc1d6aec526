function(data_name, operation = "summary", rows = 6) {
  data <- get0(data_name, envir = globalenv())
  if (!is.data.frame(data)) {
    stop("there is no data frame `", data_name, "` in this session")
  }
  printed <- function(x) paste(capture.output(print(x)), collapse = "\n")
  switch(operation,
    summary = paste(
      paste0(data_name, ": ", nrow(data), " rows, ", ncol(data), " columns"),
      printed(summary(data)),
      sep = "\n\n"
    ),
    head = printed(head(data, rows)),
    columns = paste(names(data), vapply(data, function(column) class(column)[1], ""), sep = ": ", collapse = "\n")
  )
}
