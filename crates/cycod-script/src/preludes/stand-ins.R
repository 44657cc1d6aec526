# What handlers use most of rlang, cli and fs, for machines without these packages. An installed package is always used
# itself; what a stand-in lacks is an error that says what to install.
local({
  # How the functions of this place do their work is told nobody who looks at an error.
  here <- environment()
  attr(here, "stand_in") <- TRUE

  stand_in <- function(name, functions) {
    if (nzchar(system.file(package = name))) return(invisible())
    # As `loadNamespace` makes a namespace, which has no public function for it.
    imports <- new.env(parent = .BaseNamespaceEnv)
    namespace <- new.env(parent = imports)
    information <- new.env(parent = baseenv())
    assign(".__NAMESPACE__.", information, envir = namespace)
    information$spec <- c(name = name, version = "0.0.0")
    information$exports <- new.env(parent = baseenv())
    information$path <- tempdir()
    information$lazydata <- new.env(parent = baseenv())
    information$S3methods <- matrix(NA_character_, 0L, 4L)
    assign(".__S3MethodsTable__.", new.env(parent = baseenv()), envir = namespace)
    assign(".stand_in", TRUE, envir = namespace)
    list2env(functions, envir = namespace)
    for (exported in names(functions)) assign(exported, exported, envir = information$exports)
    .Internal(registerNamespace(name, namespace))
    invisible()
  }

  # --- cli: texts with `{expressions}`, `{.style text}` and `{?s}` ---

  # Ends of the braces that open at `start`: the place of the closing one.
  closing <- function(characters, start) {
    depth <- 0L
    for (at in seq.int(start, length(characters))) {
      if (characters[at] == "{") depth <- depth + 1L
      if (characters[at] == "}") depth <- depth - 1L
      if (depth == 0L) return(at)
    }
    stop("a `{` in `", paste(characters, collapse = ""), "` is not closed", call. = FALSE)
  }

  # Splits a text into a list of literal texts and of what stands in braces.
  pieces <- function(text) {
    characters <- strsplit(text, "")[[1]]
    found <- list()
    literal <- character()
    at <- 1L
    while (at <= length(characters)) {
      character <- characters[at]
      following <- if (at < length(characters)) characters[at + 1L] else ""
      if (character %in% c("{", "}") && following == character) {
        literal <- c(literal, character)
        at <- at + 2L
      } else if (character == "{") {
        end <- closing(characters, at)
        if (length(literal)) found <- c(found, list(list(literal = paste(literal, collapse = ""))))
        literal <- character()
        inside <- if (end > at + 1L) paste(characters[(at + 1L):(end - 1L)], collapse = "") else ""
        found <- c(found, list(list(inside = inside)))
        at <- end + 1L
      } else {
        literal <- c(literal, character)
        at <- at + 1L
      }
    }
    if (length(literal)) found <- c(found, list(list(literal = paste(literal, collapse = ""))))
    found
  }

  # How styles look without colors.
  styles <- list(
    file = function(x) paste0("'", x, "'"), path = function(x) paste0("'", x, "'"),
    email = function(x) paste0("'", x, "'"), code = function(x) paste0("`", x, "`"),
    arg = function(x) paste0("`", x, "`"), var = function(x) paste0("`", x, "`"),
    envvar = function(x) paste0("`", x, "`"), kbd = function(x) paste0("[", x, "]"),
    key = function(x) paste0("[", x, "]"), fn = function(x) paste0("`", sub("\\(\\)$", "", x), "()`"),
    fun = function(x) paste0("`", sub("\\(\\)$", "", x), "()`"), url = function(x) paste0("<", x, ">"),
    href = function(x) sub("^\\[(.*)\\]\\((.*)\\)$", "\\1 (<\\2>)", x), str = function(x) paste0("\"", x, "\""),
    val = function(x) if (is.character(x) || is.factor(x)) paste0("\"", x, "\"") else as.character(x),
    run = function(x) paste0("`", x, "`"), topic = function(x) paste0("`", x, "`")
  )

  join <- function(words) {
    words <- as.character(words)
    count <- length(words)
    if (count > 20L) words <- c(words[1:18], paste0("...", count - 18L, " more"))
    count <- length(words)
    if (count <= 1L) return(paste(words, collapse = ""))
    if (count == 2L) return(paste(words, collapse = " and "))
    paste0(paste(words[-count], collapse = ", "), ", and ", words[count])
  }

  quantity <- function(value) if (is.numeric(value) && length(value) == 1L) value else length(value)

  plural <- function(forms, count) {
    forms <- strsplit(paste0(forms, "/"), "/", fixed = TRUE)[[1]]
    if (length(forms) == 0L) forms <- ""
    if (length(forms) == 1L) return(if (count == 1) "" else forms)
    if (length(forms) == 2L) return(if (count == 1) forms[1] else forms[2])
    if (count == 0) forms[1] else if (count == 1) forms[2] else forms[3]
  }

  # What only counts, and `no` for none.
  qty <- function(expr) structure(list(count = quantity(expr), text = ""), class = "cli_qty")
  no <- function(expr) {
    count <- quantity(expr)
    structure(list(count = count, text = if (count == 0) "no" else as.character(count)), class = "cli_qty")
  }

  evaluate <- function(text, env) {
    expression <- parse(text = text, keep.source = FALSE)
    is_count <- length(expression) == 1L && is.call(expression[[1]]) &&
      (identical(expression[[1]][[1]], quote(qty)) || identical(expression[[1]][[1]], quote(no)))
    if (is_count) eval(expression, list(qty = qty, no = no), env) else eval(expression, env)
  }

  # Fills in a text; `{?}` counts what came before it, or else what comes first.
  fill <- function(text, env) {
    parts <- pieces(paste(text, collapse = ""))
    texts <- character(length(parts))
    counts <- rep(NA_real_, length(parts))
    for (at in seq_along(parts)) {
      part <- parts[[at]]
      if (!is.null(part$literal)) {
        texts[at] <- part$literal
      } else if (startsWith(part$inside, "?")) {
        texts[at] <- NA
      } else if (grepl("^\\.[[:alnum:]_-]+($|\\s)", part$inside)) {
        style <- sub("^\\.([[:alnum:]_-]+).*", "\\1", part$inside)
        rest <- sub("^\\.[[:alnum:]_-]+\\s?", "", part$inside)
        inner <- pieces(rest)
        apply_style <- styles[[style]]
        if (style %in% c("cls", "class")) {
          apply_style <- function(x) paste0("<", paste(x, collapse = "/"), ">")
        } else if (is.null(apply_style)) {
          apply_style <- identity
        }
        if (length(inner) == 1L && !is.null(inner[[1]]$inside) && !grepl("^[.?]", inner[[1]]$inside)) {
          value <- evaluate(inner[[1]]$inside, env)
          counts[at] <- quantity(value)
          texts[at] <- join(apply_style(value))
        } else {
          texts[at] <- apply_style(fill(rest, env))
        }
      } else {
        value <- evaluate(part$inside, env)
        if (inherits(value, "cli_qty")) {
          counts[at] <- value$count
          texts[at] <- value$text
        } else {
          counts[at] <- quantity(value)
          texts[at] <- join(value)
        }
      }
    }
    for (at in which(is.na(texts))) {
      known <- which(!is.na(counts))
      before <- known[known < at]
      from <- if (length(before)) max(before) else if (length(known)) known[1] else NA
      if (is.na(from)) stop("`{", parts[[at]]$inside, "}` has nothing to count", call. = FALSE)
      texts[at] <- plural(substring(parts[[at]]$inside, 2L), counts[from])
    }
    paste(texts, collapse = "")
  }

  fill_each <- function(message, env) {
    filled <- vapply(as.character(message), fill, "", env = env, USE.NAMES = FALSE)
    names(filled) <- names(message)
    filled
  }

  signs <- c(x = "\u2716", i = "\u2139", "!" = "!", v = "\u2714", "*" = "\u2022", ">" = "\u2192")

  # A message of several lines, each with the sign that its name stands for.
  bullets <- function(message) {
    kinds <- names(message)
    if (is.null(kinds)) kinds <- c("", rep("*", max(length(message) - 1L, 0L)))[seq_along(message)]
    sign <- ifelse(kinds %in% names(signs), paste0(signs[kinds], " "), ifelse(kinds == " ", "  ", ""))
    paste(paste0(sign, message), collapse = "\n")
  }

  condition <- function(kind, message, class, call, fields) {
    structure(
      class = unique(c(class, paste0("rlang_", kind), kind, "condition")),
      c(list(message = message, call = call), fields)
    )
  }

  abort <- function(message = NULL, class = NULL, ..., call = NULL, body = NULL, footer = NULL, trace = NULL,
                    parent = NULL, use_cli_format = NULL, .inherit = TRUE, .internal = FALSE, .file = NULL,
                    .frame = NULL, .trace_bottom = NULL) {
    text <- bullets(c(message, body, footer))
    if (inherits(parent, "condition")) text <- paste0(text, "\nCaused by error: ", conditionMessage(parent))
    stop(condition("error", text, class, if (is.call(call)) call, c(list(parent = parent), list(...))))
  }
  warn <- function(message = NULL, class = NULL, ..., body = NULL, footer = NULL, call = NULL) {
    warning(condition("warning", bullets(c(message, body, footer)), class, NULL, list(...)))
  }
  inform <- function(message = NULL, class = NULL, ..., body = NULL, footer = NULL, call = NULL) {
    message(condition("message", paste0(bullets(c(message, body, footer)), "\n"), class, NULL, list(...)))
  }
  say <- function(..., sign = "") base::message(paste0(sign, ...))

  alert <- function(sign) {
    force(sign)
    function(text, id = NULL, class = NULL, wrap = FALSE, .envir = parent.frame()) {
      say(fill(text, .envir), sign = sign)
      invisible()
    }
  }
  heading <- function(text, id = NULL, class = NULL, .envir = parent.frame()) {
    say(fill(text, .envir), sign = "## ")
    invisible()
  }
  items <- function(sign) {
    force(sign)
    function(items = NULL, ..., .envir = parent.frame()) {
      if (length(items)) say(paste0(sign(seq_along(items)), fill_each(items, .envir), collapse = "\n"))
      invisible()
    }
  }
  nothing <- function(...) invisible()
  unstyled <- function(...) paste0(...)

  cli <- list(
    cli_abort = function(message, ..., call = NULL, .envir = parent.frame(), .frame = NULL) {
      abort(fill_each(message, .envir), ..., call = call)
    },
    cli_warn = function(message, ..., .envir = parent.frame()) warn(fill_each(message, .envir), ...),
    cli_inform = function(message, ..., .envir = parent.frame()) inform(fill_each(message, .envir), ...),
    cli_alert = alert("\u2192 "), cli_alert_success = alert("\u2714 "), cli_alert_danger = alert("\u2716 "),
    cli_alert_warning = alert("! "), cli_alert_info = alert("\u2139 "),
    cli_text = function(..., .envir = parent.frame()) {
      say(fill(paste0(...), .envir))
      invisible()
    },
    cli_h1 = heading, cli_h2 = heading, cli_h3 = heading,
    cli_ul = items(function(at) "\u2022 "), cli_ol = items(function(at) paste0(at, ". ")),
    cli_li = items(function(at) "\u2022 "),
    cli_dl = function(items = NULL, ..., .envir = parent.frame()) {
      say(paste0(names(items), ": ", fill_each(items, .envir), collapse = "\n"))
      invisible()
    },
    cli_bullets = function(text, ..., .envir = parent.frame()) {
      say(bullets(fill_each(text, .envir)))
      invisible()
    },
    cli_rule = function(left = "", ..., .envir = parent.frame()) {
      say(fill(left, .envir), sign = "-- ")
      invisible()
    },
    cli_verbatim = function(..., .envir = NULL) {
      say(paste(..., sep = "\n"))
      invisible()
    },
    cli_code = function(lines = NULL, ...) {
      say(paste(lines, collapse = "\n"))
      invisible()
    },
    cat_line = function(..., col = NULL, background_col = NULL, file = stdout()) {
      cat(paste0(..., "\n"), sep = "", file = file)
    },
    cli_par = nothing, cli_end = nothing, cli_div = nothing, cli_progress_bar = nothing,
    cli_progress_update = nothing, cli_progress_done = nothing, cli_progress_cleanup = nothing,
    cli_progress_step = alert("\u2139 "), cli_progress_message = alert(""),
    format_inline = function(..., .envir = parent.frame()) fill(paste0(...), .envir),
    format_error = function(message, .envir = parent.frame()) bullets(fill_each(message, .envir)),
    format_warning = function(message, .envir = parent.frame()) bullets(fill_each(message, .envir)),
    format_message = function(message, .envir = parent.frame()) bullets(fill_each(message, .envir)),
    pluralize = function(..., .envir = parent.frame()) fill(paste0(...), .envir),
    qty = qty, no = no,
    rule = function(left = "", ...) paste0("-- ", left, " "),
    ansi_strip = function(string, ...) gsub("\033\\[[0-9;]*[A-Za-z]", "", string),
    ansi_nchar = function(x, type = "chars", ...) nchar(gsub("\033\\[[0-9;]*[A-Za-z]", "", x), type),
    is_utf8_output = function() TRUE, is_dynamic_tty = function(...) FALSE, num_ansi_colors = function(...) 1L,
    console_width = function() 80L,
    symbol = list(
      tick = "\u2714", cross = "\u2716", bullet = "\u2022", info = "\u2139", warning = "!", arrow_right = "\u2192",
      ellipsis = "\u2026", line = "\u2500", star = "\u2605"
    )
  )
  colors <- c("black", "blue", "cyan", "green", "grey", "magenta", "red", "silver", "white", "yellow", "none")
  cli[paste0("col_", colors)] <- list(unstyled)
  cli[paste0("bg_", setdiff(colors, c("grey", "silver")))] <- list(unstyled)
  cli[paste0("style_", c("bold", "dim", "italic", "underline", "inverse", "hidden", "strikethrough", "reset"))] <-
    list(unstyled)

  # --- rlang: questions about values, and conditions ---

  of_length <- function(x, n) is.null(n) || length(x) == n
  is_whole <- function(x) is.integer(x) || (is.double(x) && all(is.na(x) | (is.finite(x) & x == trunc(x))))
  bare <- function(x) !is.object(x)
  is_named <- function(x) length(x) > 0L && !is.null(names(x)) && !any(is.na(names(x)) | names(x) == "")
  chosen <- function(arg, values, name) {
    if (identical(arg, values)) return(values[1])
    if (is.character(arg) && length(arg) == 1L && arg %in% values) return(arg)
    abort(paste0("`", name, "` must be one of ", join(paste0("\"", values, "\"")), ", not ",
      if (is.character(arg)) join(paste0("\"", arg, "\"")) else typeof(arg)))
  }
  installed <- function(pkg, ..., version = NULL) {
    all(vapply(seq_along(pkg), function(at) {
      nzchar(system.file(package = pkg[at])) &&
        (is.null(version) || is.na(version[at]) || utils::packageVersion(pkg[at]) >= version[at])
    }, NA))
  }
  rlang <- list(
    abort = abort, warn = warn, inform = inform, signal = function(message = "", class, ...) {
      signalCondition(condition("message", message, class, NULL, list(...)))
    },
    is_string = function(x, string = NULL, empty = NULL) {
      is.character(x) && length(x) == 1L && !is.na(x) && (is.null(string) || x %in% string) &&
        (is.null(empty) || empty == !nzchar(x))
    },
    is_character = function(x, n = NULL) is.character(x) && of_length(x, n),
    is_double = function(x, n = NULL, finite = NULL) {
      is.double(x) && of_length(x, n) && (is.null(finite) || finite == all(is.finite(x)))
    },
    is_integer = function(x, n = NULL) is.integer(x) && of_length(x, n),
    is_integerish = function(x, n = NULL, finite = NULL) {
      is.numeric(x) && of_length(x, n) && is_whole(x) && (is.null(finite) || finite == all(is.finite(x)))
    },
    is_logical = function(x, n = NULL) is.logical(x) && of_length(x, n),
    is_complex = function(x, n = NULL) is.complex(x) && of_length(x, n),
    is_raw = function(x, n = NULL) is.raw(x) && of_length(x, n),
    is_list = function(x, n = NULL) is.list(x) && of_length(x, n),
    is_vector = function(x, n = NULL) (is.atomic(x) && !is.null(x) || is.list(x)) && of_length(x, n),
    is_atomic = function(x, n = NULL) is.atomic(x) && !is.null(x) && of_length(x, n),
    is_bool = function(x) is.logical(x) && length(x) == 1L && !is.na(x),
    is_true = isTRUE, is_false = isFALSE,
    is_scalar_character = function(x) is.character(x) && length(x) == 1L,
    is_scalar_double = function(x) is.double(x) && length(x) == 1L,
    is_scalar_integer = function(x) is.integer(x) && length(x) == 1L,
    is_scalar_integerish = function(x, finite = NULL) is.numeric(x) && length(x) == 1L && is_whole(x),
    is_scalar_logical = function(x) is.logical(x) && length(x) == 1L,
    is_scalar_list = function(x) is.list(x) && length(x) == 1L,
    is_scalar_vector = function(x) (is.atomic(x) || is.list(x)) && length(x) == 1L,
    is_scalar_atomic = function(x) is.atomic(x) && length(x) == 1L,
    is_bare_character = function(x, n = NULL) bare(x) && is.character(x) && of_length(x, n),
    is_bare_numeric = function(x, n = NULL) bare(x) && is.numeric(x) && of_length(x, n),
    is_bare_double = function(x, n = NULL) bare(x) && is.double(x) && of_length(x, n),
    is_bare_integer = function(x, n = NULL) bare(x) && is.integer(x) && of_length(x, n),
    is_bare_logical = function(x, n = NULL) bare(x) && is.logical(x) && of_length(x, n),
    is_bare_list = function(x, n = NULL) bare(x) && is.list(x) && of_length(x, n),
    is_bare_string = function(x, n = NULL) bare(x) && is.character(x) && length(x) == 1L,
    is_null = is.null, is_na = function(x) is.atomic(x) && length(x) == 1L && is.na(x),
    is_empty = function(x) length(x) == 0L, is_named = is_named,
    is_named2 = function(x) length(x) == 0L || is_named(x), is_function = is.function,
    is_closure = function(x) typeof(x) == "closure", is_environment = is.environment,
    is_formula = function(x, ...) inherits(x, "formula"), is_symbol = function(x, ...) is.symbol(x),
    is_call = function(x, name = NULL, ...) {
      is.call(x) && (is.null(name) || (is.symbol(x[[1]]) && as.character(x[[1]]) %in% name))
    },
    is_expression = function(x) is.call(x) || is.symbol(x) || (is.atomic(x) && length(x) == 1L),
    is_missing = function(x) eval.parent(call("missing", substitute(x))),
    is_error = function(x) inherits(x, "error"), is_condition = function(x) inherits(x, "condition"),
    is_interactive = function() FALSE,
    has_name = function(x, name) name %in% names(x), inherits_any = function(x, class) inherits(x, class),
    inherits_all = function(x, class) all(class %in% class(x)),
    is_installed = installed,
    check_installed = function(pkg, reason = NULL, ..., version = NULL) {
      if (installed(pkg, version = version)) return(invisible())
      because <- if (is.null(reason)) "" else paste0(" ", reason)
      missing <- pkg[!vapply(pkg, installed, NA)]
      abort(paste0("the package ", join(missing), " is needed", because, " and not installed"))
    },
    set_names = function(x, nm = x, ...) {
      if (is.function(nm)) nm <- nm(names(x)) else if (length(c(...))) nm <- c(nm, ...)
      stats::setNames(x, if (is.null(nm)) NULL else as.character(nm))
    },
    names2 = function(x) {
      found <- if (is.null(names(x))) rep("", length(x)) else names(x)
      ifelse(is.na(found), "", found)
    },
    `%||%` = function(x, y) if (is.null(x)) y else x,
    arg_match = function(arg, values = NULL, ...) {
      name <- deparse(substitute(arg))
      if (is.null(values)) values <- eval(formals(sys.function(sys.parent()))[[name]], parent.frame())
      chosen(arg, values, name)
    },
    arg_match0 = function(arg, values, arg_nm = deparse(substitute(arg)), ...) chosen(arg, values, arg_nm),
    caller_env = function(n = 1) parent.frame(n + 1), current_env = function() parent.frame(),
    caller_arg = function(arg) {
      paste(deparse(eval.parent(call("substitute", substitute(arg)))), collapse = "")
    },
    global_env = globalenv, base_env = baseenv, empty_env = emptyenv,
    new_environment = function(data = list(), parent = emptyenv()) list2env(data, parent = parent),
    env_has = function(env = parent.frame(), nms, inherit = FALSE) {
      vapply(nms, exists, NA, envir = env, inherits = inherit)
    },
    env_get = function(env = parent.frame(), nm, default, inherit = FALSE) {
      if (exists(nm, envir = env, inherits = inherit)) get(nm, envir = env, inherits = inherit) else default
    },
    env_names = function(env) ls(env, all.names = TRUE, sorted = FALSE),
    cnd_message = function(cnd, ...) conditionMessage(cnd), cnd_signal = function(cnd, ...) {
      if (inherits(cnd, "error")) stop(cnd) else if (inherits(cnd, "warning")) warning(cnd) else message(cnd)
    },
    try_fetch = function(expr, ...) tryCatch(expr, ...),
    catch_cnd = function(expr, classes = "condition") {
      catch <- list(function(cnd) cnd)
      do.call(tryCatch, c(list(quote({ expr; NULL })), stats::setNames(rep(catch, length(classes)), classes)))
    },
    as_function = function(x, ...) {
      if (!inherits(x, "formula")) return(match.fun(x))
      eval(call("function", as.pairlist(alist(.x = , .y = , ... = )), x[[length(x)]]), environment(x))
    },
    exec = function(.fn, ..., .env = parent.frame()) do.call(.fn, list(...), envir = .env),
    list2 = list, dots_list = list, seq2 = function(from, to) if (from > to) integer() else seq.int(from, to),
    as_string = as.character, sym = as.symbol
  )
  rlang$as_label <- rlang$as_name <- function(x) paste(deparse(x), collapse = "")

  # --- fs: files, with paths in UTF-8 and `/` ---

  tidy <- function(path) {
    path <- gsub("//+", "/", gsub("\\", "/", enc2utf8(as.character(path)), fixed = TRUE))
    path <- ifelse(nchar(path) > 1L, sub("/$", "", path), path)
    structure(path, class = c("fs_path", "character"))
  }
  plain <- function(path) unclass(as.character(path))
  named <- function(values, path) stats::setNames(values, plain(path))
  expand <- function(path) tidy(path.expand(plain(path)))
  is_absolute <- function(path) grepl("^(/|~|[A-Za-z]:[/\\\\])", plain(path))
  # Without `.` and `..`, and without asking the disk.
  normal <- function(path) {
    tidy(vapply(plain(path), function(one) {
      if (is.na(one)) return(NA_character_)
      kept <- character()
      for (part in strsplit(one, "/", fixed = TRUE)[[1]]) {
        if (part == "..") {
          if (length(kept) && !tail_is(kept, c("..", ""))) kept <- kept[-length(kept)]
          else if (!tail_is(kept, "")) kept <- c(kept, part)
        } else if (part != "." && (part != "" || !length(kept))) kept <- c(kept, part)
      }
      result <- paste(kept, collapse = "/")
      if (identical(kept, "")) "/" else if (result == "") "." else result
    }, "", USE.NAMES = FALSE))
  }
  tail_is <- function(parts, values) length(parts) > 0L && parts[length(parts)] %in% values
  absolute <- function(path, start = getwd()) {
    path <- plain(expand(path))
    normal(ifelse(is_absolute(path), path, paste0(plain(start), "/", path)))
  }
  need <- function(done, doing, path) {
    if (all(done)) return(invisible())
    class <- if (all(file.exists(plain(path)[!done]))) "EACCES" else "ENOENT"
    abort(paste0("[", class, "] cannot ", doing, " ", join(paste0("'", plain(path)[!done], "'"))), class = class)
  }
  kind <- function(path) {
    information <- file.info(plain(path), extra_cols = FALSE)
    link <- Sys.readlink(plain(path))
    found <- ifelse(is.na(information$isdir), NA, ifelse(information$isdir, "directory", "file"))
    factor(ifelse(!is.na(link) & nzchar(link), "symlink", found), levels = c("any", "directory", "file", "symlink"))
  }
  listing <- function(path = ".", all = FALSE, recurse = FALSE, type = "any", glob = NULL, regexp = NULL,
                      invert = FALSE, fail = TRUE, ..., recursive) {
    if (!missing(recursive)) recurse <- recursive
    path <- plain(expand(path))
    if (fail) need(dir.exists(path), "list", path)
    if (is.numeric(recurse)) recurse <- if (recurse > 0) TRUE else FALSE
    found <- unlist(lapply(path, function(directory) {
      below <- list.files(directory, all.files = all, recursive = recurse, include.dirs = TRUE, no.. = TRUE)
      if (directory == ".") below else paste0(sub("/$", "", directory), if (length(below)) "/", below)
    }))
    found <- if (length(found)) found else character()
    if (length(type) && !("any" %in% type)) found <- found[as.character(kind(found)) %in% type]
    if (!is.null(glob)) regexp <- utils::glob2rx(glob)
    if (!is.null(regexp)) {
      fits <- grepl(regexp, found, ...)
      found <- found[if (invert) !fits else fits]
    }
    found <- tidy(found)
    names(found) <- plain(found)
    found
  }
  facts <- function(path, fail = TRUE, follow = FALSE) {
    path <- plain(expand(path))
    if (fail) need(file.exists(path), "read", path)
    known <- file.info(path)
    data.frame(
      path = I(tidy(path)), type = kind(path), size = known$size, permissions = format(known$mode),
      modification_time = known$mtime, user = if (is.null(known$uname)) NA_character_ else known$uname,
      group = if (is.null(known$grname)) NA_character_ else known$grname, access_time = known$atime,
      change_time = known$ctime, row.names = NULL, stringsAsFactors = FALSE
    )
  }
  extension <- function(path) {
    name <- basename(plain(path))
    if (!length(name)) return(character())
    ifelse(grepl(".\\.[^.]+$", name), sub("^.*\\.", "", name), "")
  }
  without_extension <- function(path) tidy(ifelse(nzchar(extension(path)), sub("\\.[^./]+$", "", plain(path)), plain(path)))
  target <- function(path, new_path) {
    new_path <- plain(expand(new_path))
    ifelse(dir.exists(new_path), paste0(new_path, "/", basename(path)), new_path)
  }
  delete <- function(path) {
    path <- plain(expand(path))
    there <- file.exists(path) | nzchar(ifelse(is.na(Sys.readlink(path)), "", Sys.readlink(path)))
    need(there, "delete", path)
    need(vapply(path, function(one) unlink(one, recursive = TRUE) == 0L, NA), "delete", path)
    invisible(tidy(path))
  }
  fs <- list(
    path = function(..., ext = "") {
      parts <- lapply(list(...), plain)
      if (!length(parts)) return(tidy(character()))
      joined <- do.call(file.path, parts)
      tidy(if (nzchar(ext[1])) paste0(joined, ".", ext) else joined)
    },
    path_wd = function(..., ext = "") {
      joined <- do.call(file.path, c(list(getwd()), lapply(list(...), plain)))
      tidy(if (nzchar(ext[1])) paste0(joined, ".", ext) else joined)
    },
    path_home = function(...) tidy(do.call(file.path, c(list(path.expand("~")), lapply(list(...), plain)))),
    path_temp = function(...) tidy(do.call(file.path, c(list(tempdir()), lapply(list(...), plain)))),
    path_join = function(parts) {
      if (is.list(parts)) tidy(vapply(parts, paste, "", collapse = "/")) else tidy(paste(parts, collapse = "/"))
    },
    path_split = function(path) {
      lapply(plain(tidy(path)), function(one) {
        parts <- strsplit(one, "/", fixed = TRUE)[[1]]
        if (length(parts) && parts[1] == "") c("/", parts[-1]) else parts
      })
    },
    path_abs = absolute, path_norm = normal, path_expand = expand, path_tidy = tidy, as_fs_path = tidy,
    fs_path = tidy, path_expand_r = expand,
    path_real = function(path) {
      path <- plain(expand(path))
      need(file.exists(path), "resolve", path)
      tidy(normalizePath(path))
    },
    path_rel = function(path, start = ".") {
      from <- strsplit(plain(absolute(start)), "/", fixed = TRUE)[[1]]
      tidy(vapply(plain(absolute(path)), function(one) {
        to <- strsplit(one, "/", fixed = TRUE)[[1]]
        shared <- 0L
        while (shared < min(length(from), length(to)) && from[shared + 1L] == to[shared + 1L]) shared <- shared + 1L
        parts <- c(rep("..", length(from) - shared), to[seq_along(to) > shared])
        if (length(parts)) paste(parts, collapse = "/") else "."
      }, "", USE.NAMES = FALSE))
    },
    path_file = function(path) basename(plain(path)), path_dir = function(path) dirname(plain(path)),
    path_ext = extension, path_ext_remove = without_extension,
    path_ext_set = function(path, ext) tidy(paste0(plain(without_extension(path)), ".", sub("^\\.", "", ext))),
    path_sanitize = function(filename, replacement = "") gsub("[/\\?<>\\:*|\":[:cntrl:]]", replacement, filename),
    path_has_parent = function(path, parent) {
      path <- plain(absolute(path))
      parent <- plain(absolute(parent))
      path == parent | startsWith(path, paste0(sub("/$", "", parent), "/"))
    },
    path_filter = function(path, glob = NULL, regexp = NULL, invert = FALSE, ...) {
      fits <- grepl(if (is.null(glob)) regexp else utils::glob2rx(glob), plain(path), ...)
      tidy(plain(path)[if (invert) !fits else fits])
    },
    is_absolute_path = is_absolute,
    file_exists = function(path) named(file.exists(plain(expand(path))), path),
    dir_exists = function(path) named(dir.exists(plain(expand(path))), path),
    link_exists = function(path) named(as.character(kind(expand(path))) %in% "symlink", path),
    is_file = function(path, follow = TRUE) {
      named(file.exists(plain(expand(path))) & !dir.exists(plain(expand(path))), path)
    },
    is_dir = function(path, follow = TRUE) named(dir.exists(plain(expand(path))), path),
    is_link = function(path) named(as.character(kind(expand(path))) %in% "symlink", path),
    is_file_empty = function(path, follow = TRUE) named(file.size(plain(expand(path))) %in% 0, path),
    file_info = facts, file_size = function(path, fail = TRUE) facts(path, fail)$size,
    file_access = function(path, mode = "exists") {
      named(file.access(plain(expand(path)), c(exists = 0L, read = 4L, write = 2L, execute = 1L)[[mode[1]]]) == 0L, path)
    },
    dir_ls = listing,
    dir_info = function(path = ".", ...) facts(listing(path, ...)),
    dir_map = function(path = ".", fun, ...) lapply(listing(path, ...), fun),
    dir_walk = function(path = ".", fun, ...) {
      lapply(listing(path, ...), fun)
      invisible(tidy(path))
    },
    dir_create = function(path, ..., mode = "u=rwx,go=rx", recurse = TRUE) {
      paths <- plain(expand(do.call(file.path, c(list(plain(path)), lapply(list(...), plain)))))
      for (one in paths[!dir.exists(paths)]) dir.create(one, recursive = recurse, showWarnings = FALSE)
      need(dir.exists(paths), "create the directory", paths)
      invisible(tidy(paths))
    },
    dir_delete = delete, file_delete = delete, link_delete = delete,
    file_create = function(path, ...) {
      paths <- plain(expand(do.call(file.path, c(list(plain(path)), lapply(list(...), plain)))))
      missing <- paths[!file.exists(paths)]
      need(suppressWarnings(file.create(missing)), "create", missing)
      invisible(tidy(paths))
    },
    file_touch = function(path, access_time = Sys.time(), modification_time = access_time) {
      path <- plain(expand(path))
      need(suppressWarnings(file.create(path[!file.exists(path)])), "create", path[!file.exists(path)])
      Sys.setFileTime(path, modification_time)
      invisible(tidy(path))
    },
    file_copy = function(path, new_path, overwrite = FALSE) {
      path <- plain(expand(path))
      to <- target(path, new_path)
      need(file.exists(path), "copy", path)
      if (!overwrite && any(file.exists(to))) {
        abort(paste0("[EEXIST] cannot copy to ", join(paste0("'", to[file.exists(to)], "'")), ", which exists"), "EEXIST")
      }
      need(suppressWarnings(file.copy(path, to, overwrite = overwrite, copy.date = TRUE)), "copy", path)
      invisible(tidy(to))
    },
    file_move = function(path, new_path) {
      path <- plain(expand(path))
      to <- target(path, new_path)
      need(suppressWarnings(file.rename(path, to)), "move", path)
      invisible(tidy(to))
    },
    dir_copy = function(path, new_path, overwrite = FALSE) {
      path <- plain(expand(path))
      to <- target(path, new_path)
      need(dir.exists(path), "copy", path)
      for (at in seq_along(path)) {
        dir.create(to[at], recursive = TRUE, showWarnings = FALSE)
        inside <- list.files(path[at], all.files = TRUE, no.. = TRUE, full.names = TRUE)
        need(file.copy(inside, to[at], recursive = TRUE, overwrite = overwrite, copy.date = TRUE), "copy", inside)
      }
      invisible(tidy(to))
    },
    file_temp = function(pattern = "file", tmp_dir = tempdir(), ext = "") {
      tidy(tempfile(pattern, tmp_dir, if (nzchar(ext)) paste0(".", sub("^\\.", "", ext)) else ""))
    },
    file_chmod = function(path, mode) {
      need(Sys.chmod(plain(expand(path)), mode, use_umask = FALSE), "change the mode of", path)
      invisible(tidy(path))
    },
    link_create = function(path, new_path, symbolic = TRUE) {
      link <- if (symbolic) file.symlink else file.link
      need(link(plain(path), plain(expand(new_path))), "link to", new_path)
      invisible(tidy(new_path))
    },
    link_path = function(path) tidy(Sys.readlink(plain(expand(path))))
  )

  stand_in("rlang", rlang)
  stand_in("cli", cli)
  stand_in("fs", fs)
  # So that a path prints and is put into text as any text is. The package has a method of its own.
  if (!nzchar(system.file(package = "fs"))) {
    registerS3method("print", "fs_path", function(x, ...) invisible({ print(unclass(x), ...); x }), baseenv())
  }
})
