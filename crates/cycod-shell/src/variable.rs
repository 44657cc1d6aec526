//! The environment variables from which a program takes values, if nothing can be placed into its code.

/// The variable that names the file with all values.
pub const PARAMETERS_FILE: &str = "CYCOD_PARAMS";

/// What the variables of the parameters begin with.
pub const PARAMETER_PREFIX: &str = "CYCOD_PARAM_";

/// The variable with the value of a parameter: its name in its own case, with `_` for what is no ASCII letter or digit.
pub fn parameter_variable(parameter: &str) -> String {
    let letters = parameter.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    PARAMETER_PREFIX.chars().chain(letters).collect()
}

/// What to write in place of a placeholder in such code.
pub(crate) fn advice(parameter: &str) -> String {
    format!("read it from the environment variable `{}` in the script", parameter_variable(parameter))
}
