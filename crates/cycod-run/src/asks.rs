//! What scripts of the engine ask the host for: files, programs, containers and the network, as far as their plan allows.

use std::{
    ffi::OsStr,
    fs, io,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cycod_diagnostic::{Code, Refusal, caught};
use cycod_file::{EntryKind, Folder, open_plain};
use cycod_script::protocol::{HostRequest, ReplyError};
use serde_json::{Map, Value, json};

use crate::{
    Execute, Executed, GlobError, Hidden, ModelAsk, ToolPlatform, container::container_engine, models::ModelSpending,
    workers::Answerer,
};

/// The largest file that is handed to a script, and the largest text of a program or an answer.
const LARGEST: u64 = 32 << 20;

/// How many names a directory, or a pattern, may give.
const MOST_NAMES: usize = 100_000;

/// Does what a script asks for, in its place and under its terms.
pub(crate) struct Asks<'a> {
    platform: &'a ToolPlatform<'a>,
    spending: ModelSpending,
}

/// The arguments of an ask.
struct Given<'a> {
    what: &'a str,
    with: &'a [Value],
}

impl<'a> Asks<'a> {
    pub(crate) fn new(platform: &'a ToolPlatform<'a>) -> Self {
        Self { platform, spending: ModelSpending::default() }
    }

    /// What was spent on language models, for the log.
    pub(crate) fn spent(&self) -> Option<String> {
        self.spending.line()
    }
}

impl Answerer for Asks<'_> {
    fn is_slow(&self, ask: &HostRequest) -> bool {
        !ask.what.starts_with("fs.")
    }

    fn answer(&self, ask: &HostRequest) -> Result<Value, ReplyError> {
        // Code that asks waits for its answer.
        caught(|| self.answer_to(ask)).unwrap_or_else(|refusal| {
            Err(ReplyError { message: refusal.why, code: Some(refusal.code.name().to_owned()) })
        })
    }
}

impl Asks<'_> {
    fn answer_to(&self, ask: &HostRequest) -> Result<Value, ReplyError> {
        let given = Given { what: &ask.what, with: &ask.with };
        match ask.what.as_str() {
            "fs.readFile" => self.read_file(&given),
            "fs.writeFile" => self.write_file(&given, false),
            "fs.appendFile" => self.write_file(&given, true),
            "fs.exists" => self.exists(&given),
            "fs.stat" => self.stat(&given),
            "fs.readdir" => self.readdir(&given),
            "fs.glob" => self.glob(&given),
            "fs.mkdir" | "fs.ensureDir" => self.mkdir(&given),
            "fs.unlink" | "fs.rm" => self.remove(&given),
            "fs.remove" => self.remove_whatever(&given),
            "fs.rename" => self.rename(&given),
            "fs.copyFile" => self.copy(&given),
            "executor.execute" => self.execute(&given),
            "docker.run" => self.run_container(&given),
            "permissions.check" => self.may_start(&given),
            "fetch" => self.fetch(&given),
            "llm.complete" => self.ask_model(&given),
            what => Err(error("unknown-ask", format!("there is no `{what}`"))),
        }
    }

    fn read_file(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let path = self.platform.may_read(Path::new(name)).map_err(refused)?;
        let wrong = |error: io::Error| io_error(name, &error);
        let file = self.platform.open(&path).map_err(wrong)?;
        let metadata = file.metadata().map_err(wrong)?;
        if metadata.is_dir() {
            return Err(error("EISDIR", format!("`{name}` is a directory")));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(wrong)?;
        if bytes.len() as u64 > LARGEST {
            return Err(error("EFBIG", format!("`{name}` has more than {} MiB", LARGEST >> 20)));
        }
        let encoding = given.with.get(1).and_then(|options| match options {
            Value::String(encoding) => Some(encoding.as_str()),
            options => options.get("encoding").and_then(Value::as_str),
        });
        match encoding {
            Some("base64") => Ok(Value::String(BASE64_STANDARD.encode(&bytes))),
            Some("latin1" | "binary") => Ok(Value::String(bytes.into_iter().map(char::from).collect())),
            None | Some("utf8" | "utf-8" | "UTF-8") => String::from_utf8(bytes).map(Value::String).map_err(|wrong| {
                let at = wrong.utf8_error().valid_up_to() + 1;
                error("EILSEQ", format!("byte {at} of `{name}` is not UTF-8; read it as 'base64'"))
            }),
            Some(other) => Err(error("EINVAL", format!("`{other}` is no encoding: utf-8, base64, latin1"))),
        }
    }

    fn write_file(&self, given: &Given<'_>, appends: bool) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let text = given.text(1, "content")?;
        let is_base64 = given
            .with
            .get(2)
            .is_some_and(|options| options.as_str().or_else(|| options.get("encoding")?.as_str()) == Some("base64"));
        let bytes = match is_base64 {
            true => BASE64_STANDARD
                .decode(text)
                .map_err(|wrong| error("EINVAL", format!("the content is no Base64: {wrong}")))?,
            false => text.as_bytes().to_vec(),
        };
        let path = self.platform.may_write(Path::new(name)).map_err(refused)?;
        let wrong = |error: io::Error| io_error(name, &error);
        if appends {
            self.platform.append(&path).and_then(|mut file| file.write_all(&bytes)).map_err(wrong)?;
        } else {
            self.platform.create(&path).and_then(|mut file| file.write_all(&bytes)).map_err(wrong)?;
        }
        Ok(Value::Null)
    }

    fn exists(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let path = self.platform.may_read(Path::new(given.text(0, "path")?)).map_err(refused)?;
        Ok(metadata(&path).is_ok().into())
    }

    fn stat(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let path = self.platform.may_read(Path::new(name)).map_err(refused)?;
        let metadata = metadata(&path).map_err(|error| io_error(name, &error))?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(json!({
            "size": metadata.len(),
            "isFile": metadata.is_file(),
            "isDirectory": metadata.is_dir(),
            "mtimeMs": modified.map(|since| since.as_millis() as u64),
        }))
    }

    fn readdir(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let path = self.platform.may_read(Path::new(name)).map_err(refused)?;
        let mut names = Vec::new();
        let listed = Folder::open(&path).and_then(|folder| {
            folder.names(|entry| {
                names.push(entry.to_string_lossy().into_owned());
                if names.len() > MOST_NAMES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
            })
        });
        listed.map_err(|wrong| match wrong.kind() {
            io::ErrorKind::FileTooLarge => error("EFBIG", format!("`{name}` has more than {MOST_NAMES} entries")),
            _ => io_error(name, &wrong),
        })?;
        names.sort_unstable();
        Ok(names.into())
    }

    fn glob(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let pattern = given.text(0, "pattern")?;
        let base = given.with.get(1).and_then(|options| options.get("cwd")?.as_str()).unwrap_or(".");
        let found = self.platform.glob(Path::new(base), pattern, Hidden::Included, MOST_NAMES);
        let found = found.map_err(|wrong| match wrong {
            GlobError::Pattern(why) => error("EINVAL", why),
            GlobError::Refused(refusal) => refused(refusal),
            GlobError::TooMany(most) => error("EFBIG", format!("`{pattern}` has more than {most} matches")),
            GlobError::Over => error("ETIMEDOUT", "the time of the call is over"),
        })?;
        Ok(found.iter().map(|path| path.to_string_lossy()).collect())
    }

    fn mkdir(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let path = self.platform.may_write(Path::new(name)).map_err(refused)?;
        Folder::make(&path).map_err(|error| io_error(name, &error))?;
        Ok(Value::Null)
    }

    fn remove(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let path = self.platform.may_replace(Path::new(name)).map_err(refused)?;
        let is_recursive = given.with.get(1).and_then(|options| options.get("recursive")?.as_bool()).unwrap_or(false);
        let removed = entry(&path).and_then(|(folder, entry)| match (folder.kind(entry)?, is_recursive) {
            (EntryKind::Directory, true) => folder.remove_all(entry),
            (EntryKind::Directory, false) => folder.remove_directory(entry),
            _ => folder.remove_file(entry),
        });
        removed.map_err(|error| io_error(name, &error))?;
        Ok(Value::Null)
    }

    /// Removes a file, or a directory with everything in it; where there is none, nothing is to be done.
    fn remove_whatever(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let name = given.text(0, "path")?;
        let path = self.platform.may_replace(Path::new(name)).map_err(refused)?;
        let removed = entry(&path).and_then(|(folder, entry)| match folder.kind(entry)? {
            EntryKind::Directory => folder.remove_all(entry),
            _ => folder.remove_file(entry),
        });
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(name, &error)),
            _ => Ok(Value::Null),
        }
    }

    fn rename(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let (from, to) = (given.text(0, "path")?, given.text(1, "path")?);
        let source = self.platform.may_replace(Path::new(from)).map_err(refused)?;
        let target = self.platform.may_replace(Path::new(to)).map_err(refused)?;
        // Under its new name it could be read.
        self.platform.may_expose(&source).map_err(refused)?;
        let moved = entry(&source).and_then(|(folder, source)| {
            let (other, target) = entry(&target)?;
            folder.move_into(source, &other, target)
        });
        moved.map_err(|error| io_error(from, &error))?;
        Ok(Value::Null)
    }

    fn copy(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let (from, to) = (given.text(0, "path")?, given.text(1, "path")?);
        let source = self.platform.may_read(Path::new(from)).map_err(refused)?;
        let target = self.platform.may_write(Path::new(to)).map_err(refused)?;
        let mut read = self.platform.open(&source).map_err(|error| io_error(from, &error))?;
        let mut write = self.platform.create(&target).map_err(|error| io_error(to, &error))?;
        io::copy(&mut read, &mut write).map_err(|error| io_error(from, &error))?;
        Ok(Value::Null)
    }

    /// Whether a command line, written with spaces between its words, may be started.
    fn may_start(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let mut words = given.text(0, "command")?.split_whitespace().map(str::to_owned);
        let Some(program) = words.next() else { return Err(error("EINVAL", "there is no command to check")) };
        Ok(self.platform.may_start(&program, &words.collect::<Vec<_>>(), &[]).into())
    }

    /// `execute({command, args, cwd, env, input, timeout})` or `execute(command, args, options)`.
    fn execute(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let (program, arguments, options) = match given.with.first() {
            Some(Value::Object(options)) => (options.get("command"), options.get("args"), Some(options)),
            program => (program, given.with.get(1), given.with.get(2).and_then(Value::as_object)),
        };
        let Some(program) = program.and_then(Value::as_str) else {
            return Err(error("EINVAL", "execute needs the program as `command`, and its arguments as `args`"));
        };
        let execute = Execute {
            program: program.to_owned(),
            arguments: texts(arguments, "args")?,
            directory: option(options, "cwd").map(PathBuf::from),
            environment: variables(options)?,
            input: option(options, "input").map(|input| input.as_bytes().to_vec()),
            timeout: limit(options)?,
            keep: Some(LARGEST),
        };
        self.platform.execute(&execute, &mut |_, _| {}).map(|executed| shown(&executed)).map_err(refused)
    }

    /// `run({image, command, env, timeout, memory, cpus})`.
    fn run_container(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let Some(options) = given.with.first().and_then(Value::as_object) else {
            return Err(error("EINVAL", "a container needs `{image, command}`"));
        };
        if self.platform.is_confined() {
            let why = "a container is not part of what this tool is restricted to: leave `required-permissions` out, or the container";
            return Err(error(Code::PermissionMissing.name(), why));
        }
        let Some(image) = option(Some(options), "image").filter(|image| !image.starts_with('-') && !image.is_empty())
        else {
            return Err(error("EINVAL", "a container needs an `image`"));
        };
        let command = texts(options.get("command"), "command")?;
        let variables = variables(Some(options))?;
        let words: Vec<String> = ["run", image].into_iter().map(str::to_owned).chain(command.iter().cloned()).collect();
        if !self.platform.may_start("docker", &words, &variables) {
            let why = format!(
                "`{}` may not run `{image}`: add `docker run {image}` to its `allowlist`",
                self.platform.tool()
            );
            return Err(error(Code::NotOnAllowlist.name(), why));
        }
        let host = self.platform.host();
        let engine = container_engine(&host.environment, &host.working_directory).map_err(|why| {
            error("unavailable", format!("there is no container engine: {why}; install podman or docker"))
        })?;
        let mut arguments: Vec<String> = ["run", "--rm", "--network", "none"].map(str::to_owned).into();
        for (key, flag) in [("memory", "--memory"), ("cpus", "--cpus")] {
            match options.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') => {
                    arguments.push(format!("{flag}={text}"));
                }
                Some(Value::Number(number)) => arguments.push(format!("{flag}={number}")),
                Some(other) => return Err(error("EINVAL", format!("`{key}` cannot be {other}"))),
            }
        }
        for (name, value) in variables {
            arguments.push(format!("--env={name}={value}"));
        }
        arguments.push("--".to_owned());
        arguments.push(image.to_owned());
        arguments.extend(command);
        let execute = Execute {
            program: engine.to_string_lossy().into_owned(),
            arguments,
            timeout: limit(Some(options))?,
            keep: Some(LARGEST),
            ..Execute::default()
        };
        self.run_ours(&execute).map(|executed| shown(&executed))
    }

    /// `fetch(url, {method, headers, body})`: curl, under the tool's own terms, so that the way out is the one it declared.
    fn fetch(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let url = given.text(0, "url")?;
        let options = given.with.get(1).and_then(Value::as_object);
        if !self.platform.reaches_hosts().map_err(refused)? {
            let why = format!(
                "`{}` declares no host: add \"network:external:HOST\" to its `required-permissions`",
                self.platform.tool()
            );
            return Err(error(Code::PermissionMissing.name(), why));
        }
        let is_known = ["http://", "https://"]
            .iter()
            .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if !is_known || url.contains(|c: char| c.is_control() || c == ' ') {
            return Err(error("EINVAL", format!("`{url}` is no address of http or https")));
        }
        let method = option(options, "method").unwrap_or("GET");
        if !method.bytes().all(|byte| byte.is_ascii_alphabetic()) || method.is_empty() {
            return Err(error("EINVAL", format!("`{method}` is no method")));
        }
        const REPORT: &str = r#"%{stderr}{"status":%{http_code},"url":"%{url_effective}","headers":%{header_json}}"#;
        let mut arguments: Vec<String> = [
            "--silent",
            "--show-error",
            "--globoff",
            "--location",
            "--max-redirs",
            "10",
            "--proto",
            "=http,https",
            "--write-out",
            REPORT,
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--max-filesize={LARGEST}"));
        match method.to_ascii_uppercase().as_str() {
            "HEAD" => arguments.push("--head".to_owned()),
            method => arguments.push(format!("--request={method}")),
        }
        for (name, value) in pairs(options, "headers")? {
            if format!("{name}{value}").contains(['\r', '\n', '\0']) || name.contains(':') || name.starts_with('@') {
                return Err(error("EINVAL", format!("`{name}` is no header")));
            }
            arguments.push(format!("--header={name}: {value}"));
        }
        let body = option(options, "body");
        if body.is_some() {
            arguments.push("--data-binary=@-".to_owned());
        }
        arguments.extend(["--url".to_owned(), url.to_owned()]);
        let execute = Execute {
            program: "curl".to_owned(),
            arguments,
            input: body.map(|body| body.as_bytes().to_vec()),
            keep: Some(LARGEST),
            ..Execute::default()
        };
        let executed = self.run_ours(&execute)?;
        let said = String::from_utf8_lossy(&executed.stderr);
        let report = said.find('{').and_then(|at| serde_json::from_str::<Value>(said[at..].trim()).ok());
        match report.filter(|_| executed.exit_code == 0) {
            Some(report) => Ok(json!({
                "status": report["status"],
                "url": report["url"],
                "headers": flat(report["headers"].as_object()),
                "body": String::from_utf8_lossy(&executed.stdout),
            })),
            None => {
                let said = said.lines().find(|line| line.starts_with("curl:")).unwrap_or("it gives no reason");
                Err(error("network", format!("`{url}` cannot be fetched: {said}")))
            }
        }
    }

    /// `complete(prompt, {model, system, maxTokens})`; the prompt is a text, or `[{role, content}]`.
    fn ask_model(&self, given: &Given<'_>) -> Result<Value, ReplyError> {
        let options = given.with.get(1).and_then(Value::as_object);
        let Some(models) = self.platform.models() else {
            return Err(error("unavailable", "no language model is connected here"));
        };
        let model = models.full_name(option(options, "model")).map_err(refused)?;
        if !self.platform.may_ask(&model) {
            let why = format!(
                "`{}` may not ask `{model}`: add \"model:complete:{model}\" to its `required-permissions`",
                self.platform.tool()
            );
            return Err(error(Code::PermissionMissing.name(), why));
        }
        let (mut system, messages) = conversation(given.with.first())?;
        if let Some(given) = option(options, "system") {
            system = Some(given.to_owned());
        }
        let wanted = match options.and_then(|options| options.get("maxTokens")) {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_f64() {
                Some(most) if (1.0..=1e9).contains(&most) => Some(most as u32),
                _ => return Err(error("EINVAL", format!("`maxTokens` must be a whole number, not {value}"))),
            },
        };
        let left = self.spending.take(models.budget()).map_err(refused)?;
        let (stop, deadline) = (self.platform.stop(), self.platform.deadline());
        let max_tokens = wanted.unwrap_or(left).min(left);
        let ask = ModelAsk { model: &model, system, messages, max_tokens, stop, deadline };
        let answer = models.complete(&ask).map_err(refused)?;
        self.spending.add(&answer);
        Ok(json!({
            "text": answer.text,
            "model": answer.model,
            "tokensUsed": answer.tokens,
            "cost": answer.cost,
            "truncated": answer.is_cut,
        }))
    }

    fn run_ours(&self, execute: &Execute) -> Result<Executed, ReplyError> {
        self.platform.execute_ours(execute, &mut |_, _| {}).map_err(refused)
    }
}

/// What is at a path whose links have been followed; a link that has come since is looked at, not followed.
fn metadata(path: &Path) -> io::Result<fs::Metadata> {
    match entry(path) {
        // The root has no name.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => open_plain(path)?.metadata(),
        entry => entry.and_then(|(folder, name)| folder.metadata(name)),
    }
}

/// The directory of a path, opened through no link, and the name in it.
fn entry(path: &Path) -> io::Result<(Folder, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((Folder::open(parent)?, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl<'a> Given<'a> {
    fn text(&self, at: usize, name: &str) -> Result<&'a str, ReplyError> {
        self.with.get(at).and_then(Value::as_str).ok_or_else(|| {
            error("EINVAL", format!("`{}` needs a text as its argument {}, the {name}", self.what, at + 1))
        })
    }
}

fn error(code: &str, message: impl Into<String>) -> ReplyError {
    ReplyError { message: message.into(), code: Some(code.to_owned()) }
}

fn refused(refusal: Refusal) -> ReplyError {
    let mut message = refusal.why;
    if let Some(attempt) = refusal.attempt {
        message.push_str(&format!("; {attempt}"));
    }
    error(refusal.code.name(), message)
}

fn io_error(path: &str, wrong: &io::Error) -> ReplyError {
    let code = match wrong.kind() {
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::AlreadyExists => "EEXIST",
        io::ErrorKind::NotADirectory => "ENOTDIR",
        io::ErrorKind::IsADirectory => "EISDIR",
        io::ErrorKind::DirectoryNotEmpty => "ENOTEMPTY",
        _ => "EIO",
    };
    error(code, format!("{code}: `{path}`: {wrong}"))
}

/// What holds for a whole conversation, and its messages.
type Conversation = (Option<String>, Vec<(bool, String)>);

/// What a script wants said: what holds for all of it, and the messages, with whether the model said them.
fn conversation(prompt: Option<&Value>) -> Result<Conversation, ReplyError> {
    let wrong =
        || error("EINVAL", "a model needs a text, or a list of `{role, content}` with texts, which ends with the user");
    let items = match prompt {
        Some(Value::String(text)) if !text.trim().is_empty() => return Ok((None, vec![(false, text.clone())])),
        Some(Value::Array(items)) => items,
        _ => return Err(wrong()),
    };
    let (mut system, mut messages) = (None, Vec::new());
    for item in items {
        let text = item.get("content").and_then(Value::as_str).ok_or_else(wrong)?.to_owned();
        match item.get("role").and_then(Value::as_str) {
            Some("system") if messages.is_empty() && system.is_none() => system = Some(text),
            Some("user") => messages.push((false, text)),
            Some("assistant") => messages.push((true, text)),
            _ => return Err(wrong()),
        }
    }
    let ends_well = messages.last().is_some_and(|(is_models, _)| !is_models);
    if ends_well { Ok((system, messages)) } else { Err(wrong()) }
}

fn option<'a>(options: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a str> {
    options?.get(name)?.as_str()
}

fn texts(value: Option<&Value>, name: &str) -> Result<Vec<String>, ReplyError> {
    let wrong = || error("EINVAL", format!("`{name}` must be a list of texts: no shell reads them"));
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => Ok(text.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(wrong()),
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

fn pairs(options: Option<&Map<String, Value>>, name: &str) -> Result<Vec<(String, String)>, ReplyError> {
    let Some(value) = options.and_then(|options| options.get(name)).filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let wrong = || error("EINVAL", format!("`{name}` must be an object of texts"));
    let object = value.as_object().ok_or_else(wrong)?;
    object
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(wrong()),
        })
        .collect()
}

fn variables(options: Option<&Map<String, Value>>) -> Result<Vec<(String, String)>, ReplyError> {
    let variables = pairs(options, "env")?;
    match variables.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
        Some((name, _)) => Err(error("EINVAL", format!("`{name}` cannot name a variable"))),
        None => Ok(variables),
    }
}

fn limit(options: Option<&Map<String, Value>>) -> Result<Option<Duration>, ReplyError> {
    match options.and_then(|options| options.get("timeout")) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(millis) if (0.0..=1e9).contains(&millis) => Ok(Some(Duration::from_millis(millis as u64))),
            _ => Err(error("EINVAL", format!("`timeout` must be milliseconds, not {value}"))),
        },
    }
}

fn shown(executed: &Executed) -> Value {
    json!({
        "stdout": String::from_utf8_lossy(&executed.stdout),
        "stderr": String::from_utf8_lossy(&executed.stderr),
        "exitCode": executed.exit_code,
        "timedOut": executed.timed_out,
        "truncated": executed.truncated,
    })
}

/// Headers by name; several of one name are joined, as HTTP allows.
fn flat(headers: Option<&Map<String, Value>>) -> Value {
    let all = headers.into_iter().flatten().map(|(name, values)| {
        let values: Vec<&str> = values.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        (name.clone(), Value::String(values.join(", ")))
    });
    Value::Object(all.collect())
}
