# Reads the code of a tool from its input and says what is wrong with it. Nothing of it runs.
local({
  # A finding in a line: its kind, its place counted from 1 in lines and columns, and what it is.
  say <- function(kind, line, column, message) {
    cat(kind, line, column, gsub("\\s+", " ", message), sep = "\t")
    cat("\n")
  }
  input <- file("stdin", encoding = "UTF-8")
  lines <- readLines(input, warn = FALSE)
  close(input)

  # What an expression yields: "function", what else it certainly yields, or NA.
  yields <- function(expression, bound) {
    if (is.null(expression)) return("NULL")
    if (is.symbol(expression)) {
      name <- as.character(expression)
      return(if (name %in% names(bound)) bound[[name]] else NA_character_)
    }
    if (!is.call(expression)) return(if (is.numeric(expression)) "a number" else if (is.character(expression)) "text" else typeof(expression))
    if (!is.symbol(expression[[1]])) return(NA_character_)
    inner <- function(at) if (length(expression) >= at) yields(expression[[at]], bound) else "NULL"
    name <- as.character(expression[[1]])
    if (name %in% names(bound)) return(NA_character_)
    if (name == "function") return("function")
    if (name %in% c("<-", "<<-", "=")) return(inner(3))
    if (name %in% c("(", "invisible", "identity")) return(inner(2))
    if (name == "{") return(inner(length(expression)))
    if (name == "if") {
      branches <- c(inner(3), inner(4))
      return(if (anyNA(branches) || "function" %in% branches) NA_character_ else branches[1])
    }
    if (name %in% c("for", "while", "repeat")) return("NULL")
    if (name == "~") return("a formula")
    if (name %in% c("==", "!=", "<", "<=", ">", ">=", "!", "&", "&&", "|", "||", "%in%")) return("a truth value")
    if (name %in% c("+", "-", "*", "/", "^", "%%", "%/%", ":")) return("a number")
    NA_character_
  }
  has_function <- function(expression) {
    if (!is.call(expression) && !is.pairlist(expression) && !is.expression(expression)) return(FALSE)
    if (is.call(expression) && identical(expression[[1]], as.name("function"))) return(TRUE)
    any(vapply(as.list(expression), function(part) !missing(part) && has_function(part), NA))
  }

  check <- function() {
    source <- srcfilecopy("<tool>", lines)
    code <- tryCatch(parse(text = lines, srcfile = source, keep.source = TRUE), error = conditionMessage)
    if (is.character(code)) {
      # file:line:column: what, then the lines around it.
      first <- strsplit(code, "\n", fixed = TRUE)[[1]][1]
      pattern <- "^<tool>:(\\d+):(\\d+): *(.*)$"
      if (!grepl(pattern, first)) return(say("error", 1, 1, paste("the code is not R:", first)))
      part <- function(at) sub(pattern, paste0("\\", at), first)
      return(say("error", part(1), part(2), paste("the code is not R:", part(3))))
    }
    bound <- list()
    last <- "NULL"
    for (expression in as.list(code)) {
      last <- yields(expression, bound)
      is_assignment <- is.call(expression) && as.character(expression[[1]])[1] %in% c("<-", "<<-", "=")
      if (is_assignment && is.symbol(expression[[2]])) bound[[as.character(expression[[2]])]] <- last
    }
    if (identical(last, "function")) return(invisible())
    places <- attr(code, "srcref")
    place <- if (length(places)) places[[length(places)]] else c(1, 1, 1, 1, 1)
    if (!is.na(last)) {
      must <- "its last expression must be `function(...) { ... }`"
      return(say("error", place[1], place[5], paste0("the code yields ", last, " and no function; ", must)))
    }
    # A call whose function nobody here knows, in code that writes no function.
    final <- code[[length(code)]]
    is_access <- is.symbol(final) || as.character(final[[1]])[1] %in% c("::", ":::", "$", "[", "[[", "@")
    if (!is_access && !has_function(code)) {
      what <- paste(deparse(final[[1]]), collapse = "")
      say("warning", place[1], place[5], paste0("the code holds no function: what `", what, "()` returns must be one"))
    }
  }
  check()
  cat("done\n")
})
