//! `cli_ai_generate`: code that a language model writes.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use cycod_file::Folder;
use cycod_model::{Cancel, Delta, ErrorKind, Message, ModelError, Provider, Reply, Request, StopReason};
use serde_json::json;

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

/// The provider that is asked when nobody configured one.
const USUAL: &str = "openai";

/// Asks a model for code, and writes it where the caller wants it. The code is not run.
pub(crate) fn generate(call: &Call<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let prompt = call.text("prompt").unwrap_or_default();
    let language = call.text("language").unwrap_or("python");
    // Whether the file may be written is known before anything is spent.
    let output = call.text("output_path").map(|path| Output::at(call, path)).transpose()?;
    let provider = provider(call).map_err(|error| failed(&error))?;
    let request = Request {
        system: Some(format!(
            "You write {language}. Answer with one fenced code block that holds the whole code, complete and ready to be \
             saved as a file, and with nothing else."
        )),
        messages: vec![Message::User(prompt.to_owned())],
        tools: Vec::new(),
        max_tokens: call.number("max_tokens").and_then(|most| u32::try_from(most).ok()),
    };
    follow(&format!("asking {}/{}", provider.provider(), provider.model()));
    let platform = call.platform();
    let (stop, deadline) = (platform.stop().clone(), platform.deadline());
    let cancel = Cancel::when(move || stop.is_raised() || Instant::now() >= deadline);
    let reply = provider.complete(&request, &cancel, &mut |delta| {
        if let Delta::Again { why, pause } = delta {
            follow(&format!("{why}; again in {:.1} s", pause.as_secs_f64()));
        }
    });
    let reply = reply.map_err(|error| failed(&error))?;
    let spent = |failure: Failure| failure.with("tokens_used", reply.usage.total());
    let code = code(&reply, language).map_err(|why| spent(generation(&why)))?;
    let mut answer = json!({
        "success": true,
        "code": code,
        "language": language,
        "provider": provider.provider(),
        "model": reply.model,
        "tokens_used": reply.usage.total(),
    });
    if let Some(price) = provider.price() {
        answer["cost_usd"] = price.of(reply.usage).into();
    }
    if let Some(output) = output {
        // What was paid for is not lost with a full disk.
        output.write(code).map_err(|error| {
            let why = format!("the code cannot be written to `{}`: {error}", output.given);
            spent(generation(&why)).with("code", code)
        })?;
        answer["output_path"] = output.given.into();
    }
    Ok(answer.into())
}

/// Who is asked: whom the caller names, else the model that is configured, else who is usual.
fn provider(call: &Call<'_>) -> Result<Arc<dyn Provider>, ModelError> {
    let Some(models) = call.tools.models(&call.engine()) else {
        return Err(ModelError::new(ErrorKind::Provider, "no language model is connected"));
    };
    match call.text("provider") {
        None if !models.has_default() => models.provider(Some(USUAL)),
        named => models.provider(named),
    }
}

fn failed(error: &ModelError) -> Failure {
    let way_on = error.attempt.as_ref().map(|attempt| format!("; {attempt}")).unwrap_or_default();
    Failure::new(error.kind.name(), format!("Generation failed: {}{way_on}", error.message))
}

fn generation(why: &str) -> Failure {
    Failure::new(ErrorKind::Generation.name(), format!("Generation failed: {why}"))
}

/// The code of a reply: what stands in its fence.
fn code<'a>(reply: &'a Reply, language: &str) -> Result<&'a str, String> {
    match &reply.stop {
        StopReason::MaxTokens => {
            return Err(format!(
                "the answer was cut off after {} tokens; give it more with max_tokens",
                reply.usage.output
            ));
        }
        StopReason::Refused => return Err("the model does not want to".to_owned()),
        StopReason::Other(reason) => return Err(format!("the model ended early ({reason})")),
        StopReason::End | StopReason::Calls => {}
    }
    if reply.text.trim().is_empty() {
        return Err("the model returned no text".to_owned());
    }
    let fences = fences(&reply.text);
    let is_meant = |fence: &&Fence<'_>| fence.language.eq_ignore_ascii_case(language);
    // The one in the language that was asked for, else the longest: short ones are how to call it.
    let fence = fences.iter().find(is_meant).or_else(|| fences.iter().max_by_key(|fence| fence.code.len()));
    match fence.map(|fence| fence.code).filter(|code| !code.trim().is_empty()) {
        Some(code) => Ok(code),
        None => Err("the answer holds no fenced code".to_owned()),
    }
}

/// A fenced block of Markdown that is closed.
struct Fence<'a> {
    language: &'a str,
    code: &'a str,
}

fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begins = at;
        at += line.len();
        let trimmed = line.trim();
        let fence = fence_of(trimmed);
        match open {
            None => {
                if let Some(fence) = fence {
                    let language = trimmed[fence.len()..].split_whitespace().next().unwrap_or_default();
                    open = Some((fence, language, at));
                }
            }
            // Closed by as many of the same at least, and nothing behind them.
            Some((opening, language, from)) => {
                if fence.is_some_and(|fence| fence == trimmed && fence.starts_with(opening)) {
                    found.push(Fence { language, code: &text[from..begins] });
                    open = None;
                }
            }
        }
    }
    found
}

/// The backticks or tildes, three at least, with which a line begins.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let end = line.find(|c| c != mark).unwrap_or(line.len());
    (end >= 3).then(|| &line[..end])
}

/// A file that may be written.
struct Output<'a> {
    /// As the caller names it.
    given: &'a str,
    path: PathBuf,
}

impl<'a> Output<'a> {
    fn at(call: &Call<'a>, given: &'a str) -> Result<Self, Failure> {
        let platform = call.platform();
        let path = platform.may_write(Path::new(given))?;
        if given.is_empty() || path.is_dir() {
            return Err(generation(&format!("`{given}` is a directory; name a file in it")));
        }
        Ok(Self { given, path })
    }

    /// Writes the whole file or nothing.
    fn write(&self, code: &str) -> io::Result<()> {
        let (Some(directory), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Folder::make(directory)?.put(name, code.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, language: &str) -> Result<String, String> {
        code(&Reply { text: text.to_owned(), ..Reply::default() }, language).map(str::to_owned)
    }

    #[test]
    fn code_is_what_stands_in_the_fence() {
        assert_eq!(found("Here:\n```python\nprint(1)\n```\nDone.", "python").as_deref(), Ok("print(1)\n"));
        assert_eq!(found("~~~~\na\n~~~\nb\n~~~~~", "go").as_deref(), Ok("a\n~~~\nb\n"));
        let two = "```sh\npip install a lot of things that are long\n```\n```Python\nx = 1\n```";
        assert_eq!(found(two, "python").as_deref(), Ok("x = 1\n"));
        assert_eq!(found("````markdown\n```js\nx\n```\n````", "markdown").as_deref(), Ok("```js\nx\n```\n"));
        for none in ["print(1)", "```python\nprint(1)\n", "```\n\n```", "``\nx\n``"] {
            assert!(found(none, "python").is_err_and(|why| why.contains("no fenced code")), "{none}");
        }
        assert!(found(" \n", "python").is_err_and(|why| why.contains("returned no text")));
    }

    #[test]
    fn an_answer_that_was_cut_off_is_no_code() {
        let text = "```python\nx\n```".to_owned();
        let reply = |stop| Reply { text: text.clone(), stop, ..Reply::default() };
        assert!(code(&reply(StopReason::MaxTokens), "python").is_err_and(|why| why.contains("max_tokens")));
        assert!(code(&reply(StopReason::Refused), "python").is_err());
        assert_eq!(code(&reply(StopReason::End), "python"), Ok("x\n"));
    }
}
