# Serves calls: reads frames from descriptor 4 and answers each on descriptor 3. A frame is `cyR` and a byte 1, a length in
# four bytes, and a value in R's serialization. All that is printed goes to the log.
local({
  magic <- as.raw(c(0x63, 0x79, 0x52, 0x01))
  longest <- 64 * 1024^2
  quit_r <- base::quit
  me <- Sys.getpid()

  # Text is UTF-8 here, whatever the environment says.
  if (!isTRUE(l10n_info()[["UTF-8"]])) {
    for (locale in c("C.UTF-8", "C.utf8", "en_US.UTF-8", "UTF-8")) {
      if (nzchar(suppressWarnings(Sys.setlocale("LC_CTYPE", locale)))) break
    }
  }
  options(
    warn = 1, keep.source = TRUE, editor = "false", menu.graphics = FALSE, show.error.messages = TRUE,
    # A plot goes nowhere by itself; without this R would leave a file `Rplots.pdf` behind.
    device = function(...) grDevices::pdf(file = NULL)
  )

  # A handler ends by returning. What it keeps in memory is there for the next call.
  no_quit <- function(save = "default", status = 0, runLast = TRUE) {
    stop("`quit()` is not for a handler: return a value, or call `stop()`", call. = FALSE)
  }
  for (name in c("quit", "q")) {
    base::unlockBinding(name, baseenv())
    assign(name, no_quit, envir = baseenv())
    base::lockBinding(name, baseenv())
  }

  channel <- function(number, mode) {
    for (directory in c("/dev/fd/", "/proc/self/fd/")) {
      opened <- tryCatch(
        suppressWarnings(file(paste0(directory, number), mode, raw = TRUE)), error = function(e) NULL
      )
      if (!is.null(opened)) return(opened)
    }
    message("the channel of the worker cannot be opened: descriptor ", number, " is missing")
    quit_r(save = "no", status = 70)
  }
  input <- channel(4, "rb")
  output <- channel(3, "wb")
  # `closeAllConnections()` closes them too, and their numbers go to others then.
  is_ours <- function(connection, number) {
    tryCatch(basename(summary(connection)$description) == number, error = function(e) FALSE)
  }

  send <- function(message) {
    # Environments are what everything in R hangs on. They are no data, and are not written.
    bytes <- serialize(message, NULL, version = 2, refhook = function(reference) typeof(reference))
    if (length(bytes) + 8 > longest) {
      size <- format(length(bytes) / 1024^2, digits = 3)
      stop("the result takes ", size, " MiB; a worker can answer with 64", call. = FALSE)
    }
    if (!is_ours(output, 3)) output <<- channel(3, "wb")
    writeBin(c(magic, writeBin(length(bytes), raw(), size = 4, endian = "big")), output)
    writeBin(bytes, output)
    flush(output)
  }

  receive <- function() {
    if (!is_ours(input, 4)) input <<- channel(4, "rb")
    head <- readBin(input, "raw", 8)
    if (length(head) < 8) quit_r(save = "no")
    if (!identical(head[1:4], magic)) {
      message("the worker was told what is no message")
      quit_r(save = "no", status = 70)
    }
    unserialize(readBin(input, "raw", readBin(head[5:8], "integer", size = 4, endian = "big")))
  }

  # Tools by name: the key of the code, its function and where it comes from.
  tools <- new.env(parent = emptyenv())

  load_tool <- function(call) {
    known <- tools[[call$tool]]
    if (!is.null(known) && identical(known$key, call$key)) return(known)
    # Empty lines before the code, so that every line has the number that it has in the file.
    lines <- c(rep("", call$line - 1L), strsplit(call$code, "\r?\n")[[1]])
    source <- srcfilecopy(if (nzchar(call$file)) call$file else paste0("<", call$tool, ">"), lines)
    code <- tryCatch(
      parse(text = lines, srcfile = source, keep.source = TRUE),
      error = function(e) {
        # file:line:column: what, then the lines around it.
        text <- sub(paste0(source$filename, ":"), "", conditionMessage(e), fixed = TRUE)
        line <- suppressWarnings(as.integer(sub("^(\\d+):.*", "\\1", strsplit(text, "\n")[[1]][1])))
        stop(structure(
          class = c("cycod_located", "error", "condition"),
          list(message = paste0("the code is not R: ", sub("^\\d+:\\d+: *", "", text)), line = line, call = NULL)
        ))
      }
    )
    home <- new.env(parent = globalenv())
    attr(home, "name") <- paste0("tool:", call$tool)
    handler <- NULL
    for (expression in seq_along(code)) handler <- eval(code[expression], home)
    if (!is.function(handler)) {
      stop("the code yields ", typeof(handler), " and no function; its last expression must be `function(...) { ... }`",
        call. = FALSE
      )
    }
    known <- list(key = call$key, handler = handler, source = source, home = home)
    assign(call$tool, known, envir = tools)
    known
  }

  # The line of a call in the tool's file, or NA.
  line_of <- function(call, source) {
    place <- attr(call, "srcref")
    if (is.null(place) || !identical(attr(place, "srcfile")$filename, source)) NA_integer_ else as.integer(place)[1]
  }

  shorten <- function(call) {
    text <- tryCatch(deparse(call, width.cutoff = 60L, nlines = 1L)[1], error = function(e) "?")
    if (nchar(text) > 100) paste0(substr(text, 1, 100), "...") else text
  }

  # Whether a function belongs to the tool, or to what tools keep, and not to a package.
  is_own <- function(f, home) {
    place <- environment(f)
    while (!is.null(place) && !identical(place, emptyenv())) {
      if (identical(place, home) || identical(place, globalenv())) return(TRUE)
      if (isNamespace(place) || identical(place, baseenv()) || isTRUE(attr(place, "stand_in"))) return(FALSE)
      place <- parent.env(place)
    }
    FALSE
  }

  # What led to an error: the calls that the tool made since its handler was called, innermost first. What a package calls to do
  # its work, and R itself, tells the author of a tool nothing.
  trace_of <- function(seen, tool) {
    source <- tool$source$filename
    handler <- tool$handler
    calls <- seen$calls
    functions <- vapply(calls, function(call) if (is.symbol(call[[1]])) as.character(call[[1]]) else "", "")
    invoked <- match("invoke", functions, nomatch = 0L)
    # Without our own calls around the handler: `invoke`, `eval` and its like.
    first <- if (invoked > 0L) invoked + 3L else 1L
    last <- match(".handleSimpleError", functions, nomatch = length(calls)) - 1L
    own <- vapply(seen$functions, is_own, NA, home = tool$home)
    by_own <- vapply(seen$parents, function(parent) parent > 0L && own[parent], NA)
    kept <- if (last >= first) Filter(function(at) own[at] || by_own[at], seq.int(last, first)) else integer()
    calls <- calls[kept]
    lines <- vapply(calls, line_of, 0L, source = source)
    place <- ifelse(is.na(lines), "", paste0(" at ", basename(source), ":", lines))
    # Endless recursion is said in a line.
    runs <- rle(paste0(vapply(calls, shorten, ""), place))
    shown <- paste0(runs$values, ifelse(runs$lengths > 1, paste0(" (", runs$lengths, " times)"), ""))
    if (length(shown) > 30) shown <- c(shown[1:15], paste("...", length(shown) - 30, "more"), utils::tail(shown, 15))
    line <- lines[!is.na(lines)][1]
    # A function without braces has no lines within; its own is near.
    if (is.na(line) && !is.null(attr(handler, "srcref"))) line <- as.integer(attr(handler, "srcref"))[1]
    list(text = paste(shown, collapse = "\n"), line = line)
  }

  # A function that a stand-in lacks: says what to install.
  explain <- function(text) {
    pattern <- "^'([^']*)' is not an exported object from 'namespace:(rlang|cli|fs)'$"
    if (!grepl(pattern, text)) return(text)
    package <- sub(pattern, "\\2", text)
    if (is.null(asNamespace(package)$.stand_in)) return(text)
    paste0(
      "`", package, "::", sub(pattern, "\\1", text), "` needs the package ", package, ", which is not installed: run `",
      "apt install r-cran-", package, "`, or `install.packages(\"", package, "\")` in R"
    )
  }

  apply_environment <- function(values) {
    if (is.null(values) || length(values) == 0) return(function() NULL)
    before <- Sys.getenv(names(values), unset = NA, names = TRUE)
    do.call(Sys.setenv, values)
    function() {
      Sys.unsetenv(names(before)[is.na(before)])
      if (any(!is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
    }
  }

  # Calls `handler` by name with arguments by name, so that what R shows of the call stays short.
  invoke <- function(handler, arguments) {
    name <- "handler"
    while (name %in% names(arguments)) name <- paste0(".", name)
    frame <- list2env(as.list(arguments), parent = globalenv())
    assign(name, handler, envir = frame)
    eval(as.call(c(as.name(name), sapply(names(arguments), as.name, simplify = FALSE))), frame)
  }

  # The graphics device that draws a file of a media type, or NULL.
  device_for <- function(media_type, file) {
    cairo <- if (isTRUE(capabilities("cairo"))) "cairo" else getOption("bitmapType")
    size <- list(width = 1200, height = 900, res = 144)
    bitmap <- function(device) function(...) do.call(device, c(list(file, type = cairo), size))
    switch(sub(";.*", "", tolower(media_type)),
      "image/png" = bitmap(grDevices::png),
      "image/jpeg" = bitmap(grDevices::jpeg),
      "image/tiff" = bitmap(grDevices::tiff),
      "image/bmp" = bitmap(grDevices::bmp),
      "image/svg+xml" = function(...) grDevices::svg(file),
      "application/pdf" = function(...) grDevices::pdf(file),
      NULL
    )
  }

  # The bytes of the one file that a tool produces: what a handler returned, or what it drew.
  file_bytes <- function(value, drawing, media_type) {
    if (is.raw(value)) return(value)
    if (inherits(value, "fs_path")) return(readBin(value, "raw", file.size(value)))
    if (is.character(value) && length(value) == 1 && !is.na(value)) return(charToRaw(enc2utf8(value)))
    if (inherits(value, "magick-image")) return(asNamespace("magick")$image_write(value, format = basename(media_type)))
    # Pictures of ggplot2, lattice, patchwork and the like draw themselves when they are printed.
    if (inherits(value, c("gg", "ggplot", "trellis", "recordedplot", "pheatmap"))) {
      print(value)
    } else if (inherits(value, c("grob", "gTree"))) {
      asNamespace("grid")$grid.draw(value)
    }
    if ("grDevices" %in% loadedNamespaces()) while (grDevices::dev.cur() > 1) grDevices::dev.off()
    if (file.exists(drawing) && file.size(drawing) > 0) return(readBin(drawing, "raw", file.size(drawing)))
    what <- if (is.null(value)) "nothing" else paste0("a value of class ", class(value)[1])
    message <- paste0(
      "the handler returned ", what, " and drew nothing, and the tool produces ", media_type,
      "; return raw bytes or a plot, or draw one"
    )
    # No line of the handler is to blame.
    stop(structure(class = c("cycod_located", "error", "condition"), list(message = message, line = NA, call = NULL)))
  }

  # Carries a call out; returns the message that answers it.
  serve <- function(id, call) {
    failure <- NULL
    fail <- function(message, trace = NULL, line = NULL) {
      message <- enc2utf8(explain(paste(message, collapse = "\n")))
      failure <<- list(id = id, error = Filter(Negate(is.null), list(message = message, trace = trace, line = line)))
      NULL
    }
    home <- getwd()
    restore <- apply_environment(call$context$environment)
    on.exit({
      while (sink.number() > 0) sink()
      if (sink.number(type = "message") != 2) sink(type = "message")
      restore()
      try(if (!is.null(home)) setwd(home), silent = TRUE)
      flush(stdout())
    })
    seen <- NULL
    tool <- NULL
    drawing <- tempfile("picture")
    if (!is.null(call$produces)) {
      # What draws without a device of its own draws the file that the tool produces.
      device <- device_for(call$produces, drawing)
      if (!is.null(device)) {
        before <- options(device = device)
        on.exit(options(before), add = TRUE)
      }
      on.exit(unlink(drawing), add = TRUE)
    }
    run <- function() {
      # Nothing that runs here jumps past us to the top level, where R would end.
      withRestarts(
        withCallingHandlers(
          {
            if (!dir.exists(call$context$directory)) {
              stop("the working directory ", call$context$directory, " is not there", call. = FALSE)
            }
            setwd(call$context$directory)
            tool <<- load_tool(call)
            value <- invoke(tool$handler, call$args)
            # Who says that the call failed says it as data.
            is_failure <- is.list(value) && identical(value$success, FALSE)
            is_file <- !is.null(call$produces) && !is_failure
            if (is_file) list(file = file_bytes(value, drawing, call$produces)) else list(value = value)
          },
          error = function(e) {
            functions <- lapply(seq_len(sys.nframe()), sys.function)
            seen <<- list(error = e, calls = sys.calls(), functions = functions, parents = sys.parents())
          },
          warning = function(w) {
            level <- getOption("warn")
            if (is.numeric(level) && level >= 2) return(NULL)
            if (!is.numeric(level) || level >= 0) {
              source <- conditionCall(w)
              place <- if (is.null(source)) "" else paste0(" in ", shorten(source))
              cat("Warning", place, ": ", conditionMessage(w), "\n", sep = "", file = stderr())
            }
            tryInvokeRestart("muffleWarning")
          }
        ),
        abort = function(...) fail("the call was aborted")
      )
    }
    outcome <- tryCatch(
      run(),
      cycod_located = function(e) fail(conditionMessage(e), line = if (!is.na(e$line)) e$line),
      error = function(e) {
        text <- tryCatch(conditionMessage(e), error = function(e) paste0("a condition of class ", class(e)[1]))
        trace <- if (!is.null(tool) && !is.null(seen)) trace_of(seen, tool)
        fail(text, trace$text, if (!is.null(trace) && !is.na(trace$line)) trace$line)
      },
      interrupt = function(e) fail("the call was interrupted")
    )
    # A copy of this process, as `parallel` makes them, must not answer.
    if (Sys.getpid() != me) tools::pskill(Sys.getpid(), 9L)
    if ("grDevices" %in% loadedNamespaces()) while (grDevices::dev.cur() > 1) grDevices::dev.off()
    if (!is.null(failure)) return(failure)
    # A file is its bytes, which are no data of R.
    if (!is.null(outcome$file)) list(id = id, file = outcome$file) else list(id = id, result = outcome$value)
  }

  work <- function() {
    send(list(ready = list(version = paste0("R ", R.version$major, ".", R.version$minor))))
    repeat {
      message <- receive()
      if (is.null(message$call)) next
      answer <- serve(message$id, message$call)
      tryCatch(
        send(answer),
        error = function(e) send(list(id = message$id, error = list(message = conditionMessage(e))))
      )
    }
  }
  work()
})
