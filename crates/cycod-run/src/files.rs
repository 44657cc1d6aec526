use std::{collections::BTreeMap, io, io::Read, path::Path};

use cycod_plan::Plan;

use cycod_file::open_plain;

use crate::confine::Readable;

/// The most bytes of all files that one answer may name.
const MOST: u64 = 64 << 20;

/// The files that an output's content blocks name, by those names, or why they cannot be had.
pub type Files = BTreeMap<String, Result<Vec<u8>, UnreadFile>>;

/// Why a file that a content block names cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be read: {why}")]
pub struct UnreadFile {
    /// As the block names it.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// Reads the files that the blocks in `output` name, as long as they are there.
///
/// Names are paths from the tool's working directory. Only what lies below it, or below the run's temporary directory, is
/// read, and of that only what the tool itself may: a block may repeat what a tool was told from outside.
pub(crate) fn named_in(output: &[u8], plan: &Plan) -> Files {
    let blocks: Vec<serde_json::Value> = serde_json::from_slice(output).unwrap_or_default();
    let roots = [&plan.temp_directory, &plan.working_directory];
    let roots: Vec<_> = roots.into_iter().filter_map(|root| root.canonicalize().ok()).collect();
    let readable = std::cell::LazyCell::new(|| Readable::of(plan));
    let (mut files, mut left) = (Files::new(), MOST);
    for name in blocks.iter().filter_map(|block| block.get("file")?.as_str()) {
        if !files.contains_key(name) {
            let read = match plan.working_directory.join(name).canonicalize() {
                Ok(path) if roots.iter().any(|root| path.starts_with(root)) && readable.includes(&path) => {
                    read(&path, &mut left)
                }
                Ok(path) if roots.iter().any(|root| path.starts_with(root)) => {
                    Err("the tool itself may not read it".to_owned())
                }
                Ok(_) => Err("it lies outside the tool's working and temporary directories".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            files.insert(name.to_owned(), read.map_err(|why| UnreadFile { name: name.to_owned(), why }));
        }
    }
    files
}

fn read(path: &Path, left: &mut u64) -> Result<Vec<u8>, String> {
    let told = |error: io::Error| error.to_string();
    let file = open_plain(path).map_err(told)?;
    if !file.metadata().map_err(told)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = file.take(*left + 1).read_to_end(&mut bytes).map_err(told)?;
    *left =
        left.checked_sub(read as u64).ok_or_else(|| format!("all files together hold more than {} MB", MOST >> 20))?;
    Ok(bytes)
}
