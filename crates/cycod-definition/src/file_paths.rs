use cycod_syntax::template::Template;

/// `file-paths` and `working-directory`.
#[derive(Clone, Debug)]
pub struct FilePaths {
    /// Whether path parameters and directories get the platform's separator.
    pub normalize: bool,
    /// Where commands run; the caller's directory when absent.
    pub working_directory: Option<Template>,
    /// The directory for temporary files; each run gets its own below it.
    pub temp_directory: Option<Template>,
    /// The separator to write on Windows.
    pub windows_separator: char,
    /// The separator to write elsewhere.
    pub unix_separator: char,
}

impl Default for FilePaths {
    fn default() -> Self {
        Self {
            normalize: false,
            working_directory: None,
            temp_directory: None,
            windows_separator: '\\',
            unix_separator: '/',
        }
    }
}
