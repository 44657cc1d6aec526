//! JSON Schema: compiled, applied, and written in the dialects of model providers.
